// What the planner asks before it makes a plan: scratch memory of a call, calls that only this
// backend takes, and which operands may lie in memory as bf16.
#include "backend/cuda/object/columns.cuh"
#include "backend/cuda/object/norm.cuh"
#include "backend/cuda/object/product.cuh"

size_t ll_cuda_reduce_bytes(const ll_call *c);
size_t ll_cuda_squares_bytes(const ll_call *c);
size_t ll_cuda_norm_grad_bytes(const ll_call *c);
size_t ll_cuda_attention_grad_bytes(const ll_call *c);
bool   ll_cuda_attention_reads(const ll_call *c);
bool   ll_cuda_attention_fits(const ll_call *c);
bool   ll_cuda_gated_half(int k);

// -------- scratch --------

extern "C" size_t ll_cuda_work_bytes(const ll_call *c)
{
    switch (c->op) {
    case LL_OP_SUM:
    case LL_OP_MAX:
        return ll_cuda_reduce_bytes(c);
    case LL_OP_SQUARES:
        return ll_cuda_squares_bytes(c);
    case LL_OP_NORM_GRAD:
        return ll_cuda_norm_grad_bytes(c);
    case LL_OP_ATTENTION_GRAD:
        return ll_cuda_attention_grad_bytes(c);
    case LL_OP_MATMUL:
    case LL_OP_LINEAR:
        return ll_cuda_product_bytes();
    default:
        return 0;
    }
}

// -------- calls taken --------

// A residual that rows of a LINEAR share, or a norm behind it; runs of layers; parts of gradients.
extern "C" bool ll_cuda_takes(const ll_call *c)
{
    if (c->op == LL_OP_LAYERS) return ll_cuda_layers_take(c);
    if (c->op == LL_OP_ATTENTION_GRAD) return ll_cuda_attention_reads(c);
    if (c->op == LL_OP_NORM_GRAD) return ll_cuda_norm_grad_fits(c);
    if (c->op != LL_OP_LINEAR || c->attr->linear.normed) return false;
    const ll_shape &w = c->in[1].shape;
    int64_t         repeat, group, step;
    if (c->n_in > 3 && c->in[3].present && !ll_view_dense(&c->in[3]) &&
        !ll_cuda_find_repeat(c->in[3], &repeat, &group, &step))
        return false;
    return !c->attr->linear.norm ||
           ll_cuda_product_norm_fits(ll_view_rows(&c->out[0]), w.dim[0], w.dim[1]);
}

// -------- bf16 --------

// Large results of wide rows: what a block hands on. Narrow ones, such as the data itself, poles
// and the loss, stay floats.
static bool is_wide(const ll_view &v)
{
    return v.shape.rank > 0 && width_of(v) >= 128 && width_of(v) % 8 == 0 && count_of(v) >= 1 << 18;
}

// Rows start at multiples of sixteen bytes of bf16.
static bool in_eights(const ll_view &v)
{
    bool ok = width_of(v) % 8 == 0;
    for (int i = 0; i < v.shape.rank - 1; i++)
        ok = ok && (v.shape.dim[i] == 1 || v.stride[i] % 8 == 0);
    return ok;
}

// Parts and the whole are of one kind.
static bool all_half(const ll_call *c)
{
    bool all = c->out[0].elem == LL_HALF;
    for (int i = 0; i < c->n_in; i++) all = all && c->in[i].elem == LL_HALF;
    return all;
}

// Operands and dy are of one kind; with a bias all is in floats.
static bool attention_grad_half(const ll_call *c, int k)
{
    static const int kinds[] = { 0, 1, 2, 6, 8 };
    if (!ll_cuda_attention_fits(c) || c->in[4].present || k == 7 || k > c->n_in + 2) return false;
    for (int i : kinds)
        if (c->in[i].elem != LL_HALF || !in_eights(c->in[i])) return false;
    return true;
}

// The result of a product; gradients of weights, which add up over pieces of a batch, stay floats,
// and so does what has no inner length.
static bool matmul_half(const ll_call *c)
{
    const ll_shape &a = c->in[0].shape;
    const bool      ta = c->attr->matmul.ta, weight = ta && !c->attr->matmul.tb && a.rank == 2;
    return is_wide(c->out[0]) && !weight && a.dim[a.rank - (ta ? 2 : 1)] > 0;
}

static bool elementwise_half(const ll_call *c, int k)
{
    return is_wide(k < c->n_in ? c->in[k] : c->out[0]);
}

// Norms write, products and attention read and write bf16, and so does what lies between them.
extern "C" bool ll_cuda_half(const ll_call *c, int k)
{
    switch (c->op) {
    case LL_OP_LAYERS:
        return ll_cuda_layers_half(c, k);
    case LL_OP_GATED:
        return ll_cuda_gated_half(k);
    case LL_OP_NORM:
        return k == c->n_in && width_of(c->out[0]) % 8 == 0;
    case LL_OP_LINEAR: // rows of 16 bytes, pairs of results
        if (k < 2) return c->in[1].shape.dim[1] > 0 && c->in[1].shape.dim[1] % 8 == 0;
        if (c->attr->linear.norm) return k == c->n_in + 1; // what is normed stays in floats
        return k == c->n_in && c->in[1].shape.dim[0] % 8 == 0 && c->in[1].shape.dim[1] > 0;
    case LL_OP_ATTENTION:
        if (!ll_cuda_attention_fits(c)) return false;
        if (k == 1 || k == 2) return c->in[1].elem == c->in[2].elem;
        return k == 0 || k == c->n_in;
    case LL_OP_MATMUL:
        return k < c->n_in ? is_wide(c->in[k]) && in_eights(c->in[k]) : matmul_half(c);
    case LL_OP_ATTENTION_GRAD:
        return attention_grad_half(c, k);
    case LL_OP_NORM_GRAD:
        return (k == 1 || k == c->n_in || (k == 4 && c->n_in == 5)) && is_wide(c->in[0]) &&
               ll_cuda_norm_grad_fits(c);
    case LL_OP_SUM:
        return k == 0 && is_wide(c->in[0]) && ll_cuda_columns_fit(c);
    case LL_OP_CONCAT:
    case LL_OP_PAD:
        return is_wide(c->out[0]) && all_half(c);
    case LL_OP_DROPOUT:
    case LL_OP_CHAIN:
        return k != 1 || c->op == LL_OP_CHAIN ? elementwise_half(c, k) : false;
    default:
        return (ll_op_is_unary(c->op) || ll_op_is_binary(c->op)) && elementwise_half(c, k);
    }
}
