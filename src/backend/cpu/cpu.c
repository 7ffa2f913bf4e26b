#include "backend/cpu/cpu.h"

#include "backend/cpu/glue.h"

cpu_axes ll_cpu_merge(const ll_view *const *v, int n_views, int n_axes)
{
    cpu_axes a = { 0 };
    for (int i = 0; i < n_axes; i++) {
        const int64_t d = v[0]->shape.dim[i];
        bool          fits = a.n > 0;
        if (d == 1) continue;
        for (int k = 0; k < n_views && fits; k++)
            fits = a.stride[k][a.n - 1] == d * v[k]->stride[i];
        if (fits) a.dim[a.n - 1] *= d;
        else a.dim[a.n++] = d;
        for (int k = 0; k < n_views; k++) a.stride[k][a.n - 1] = v[k]->stride[i];
    }
    return a;
}

int64_t ll_cpu_at(const cpu_axes *a, int k, int64_t i, int n_axes)
{
    int64_t at = 0;
    for (int axis = n_axes - 1; axis >= 0; axis--) {
        at += i % a->dim[axis] * a->stride[k][axis];
        i /= a->dim[axis];
    }
    return at;
}

static size_t work_bytes(const ll_call *c)
{
    switch (c->op) {
    case LL_OP_SUM:
        return ll_cpu_sum_work(c);
    case LL_OP_SQUARES:
        return ll_cpu_squares_work(c);
    case LL_OP_MATMUL:
        return ll_cpu_matmul_work(c);
    case LL_OP_LINEAR:
        return ll_cpu_linear_work(c);
    case LL_OP_NORMED:
        return ll_cpu_normed_work(c);
    case LL_OP_MLP:
        return ll_cpu_mlp_work(c);
    case LL_OP_NORM_GRAD:
        return ll_cpu_norm_grad_work(c);
    case LL_OP_GRU:
        return ll_cpu_gru_work(c);
    case LL_OP_GRU_GRAD:
        return ll_cpu_gru_grad_work(c);
    case LL_OP_ATTENTION:
        return ll_cpu_attention_work(c);
    case LL_OP_ATTENTION_GRAD:
        return ll_cpu_attention_grad_work(c);
    default:
        return 0;
    }
}

/* Weights of linear layers, packed. */
static size_t kept_bytes(const ll_call *c, int *operand)
{
    *operand = c->op == LL_OP_MLP ? 3 : 1;
    return c->op == LL_OP_LINEAR ? ll_cpu_linear_kept(c)
           : c->op == LL_OP_MLP  ? ll_cpu_mlp_kept(c)
                                 : 0;
}

static bool takes(const ll_call *c)
{
    switch (c->op) {
    case LL_OP_MLP:
        return ll_cpu_mlp_takes(c);
    case LL_OP_LINEAR: /* with a residual that is broadcast, or behind a norm */
        return ll_cpu_linear_takes(c);
    case LL_OP_ATTENTION_GRAD:
        return ll_cpu_attention_grad_takes(c);
    case LL_OP_SUM:
    case LL_OP_GELU:
    case LL_OP_GELU_GRAD:
    case LL_OP_CONCAT:
    case LL_OP_NORM_GRAD:
        return true;
    default:
        return false;
    }
}

static double mlp_share(void)
{
    const ll_kern kn = ll_kern_best(1);
    return ll_kern_mlp_share(&kn);
}

static bool all_zero(const ll_view *x, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
    const int64_t step = x->stride[x->shape.rank - 1];
    for (int64_t r = row; r < row + rows; r++) {
        const float *from = (const float *)x->data + ll_view_row_offset(x, r) + col * step;
        for (int64_t i = 0; i < cols; i++)
            if (from[i * step] != 0.0f) return false;
    }
    return true;
}

/* Numbers of x that lie in blocks of zeros. */
static int64_t count_zeros(const ll_view *x, int64_t high, int64_t wide)
{
    const int64_t rows = x->shape.dim[x->shape.rank - 2], cols = x->shape.dim[x->shape.rank - 1];
    int64_t       n = 0;
    for (int64_t item = 0; item < ll_view_rows(x); item += rows)
        for (int64_t r = 0; r < rows; r += high)
            for (int64_t c = 0; c < cols; c += wide) {
                const int64_t h = rows - r < high ? rows - r : high;
                const int64_t w = cols - c < wide ? cols - c : wide;
                if (all_zero(x, item + r, h, c, w)) n += h * w;
            }
    return n;
}

/* As the products look for them: in a block of rows, or of a transpose of columns, and of inner
 * steps. */
static double zero_share(const ll_call *c)
{
    const ll_view *x = &c->in[0];
    const bool     turned = c->op == LL_OP_MATMUL && c->attr->matmul.ta;
    const int64_t  n = ll_shape_count(&x->shape);
    if ((c->op != LL_OP_LINEAR && c->op != LL_OP_MATMUL) || x->shape.rank < 2 || n == 0) return 0.0;
    const int64_t zeros =
        turned ? count_zeros(x, LL_KERN_KBLOCK, 96) : count_zeros(x, 32, LL_KERN_KBLOCK);
    return (double)zeros / (double)n;
}

const char *ll_cpu_instructions(void)
{
    const ll_kern kn = ll_kern_best(1);
    return ll_kern_name(&kn);
}

const ll_backend ll_backend_cpu = {
    .name = "cpu",
    .real_bytes = sizeof(float),
    .work_bytes = work_bytes,
    .kept_bytes = kept_bytes,
    .together = ll_cpu_together,
    .takes = takes,
    .mlp_share = mlp_share,
    .zero_share = zero_share,
    .several = ll_cpu_several,
    .kernel = {
#define X(ID, id) [LL_OP_##ID] = ll_cpu_unary,
        LL_UNARY_LIST(X)
#undef X
#define X(ID, id) [LL_OP_##ID] = ll_cpu_binary,
        LL_BINARY_LIST(X)
#undef X
#define X(ID, id) [LL_OP_##ID] = ll_cpu_##id,
        LL_SHAPED_LIST(X) LL_EXTRA_LIST(X) LL_FUSED_LIST(X)
#undef X
    },
};
