#include "op_table.h"

#include <stdio.h>
#include <string.h>

/* A leaf is called "<fill letter><b|s>:<name>". */
static const char fill_letter[] = "rpmtic";

op_fill op_leaf_fill(const char *name)
{
    return (op_fill)(strchr(fill_letter, name[0]) - fill_letter);
}

bool op_leaf_batched(const char *name) { return name[1] == 'b'; }

llap_tensor *op_leaf(op_build *o, const char *name, op_fill fill, bool batched, llap_shape shape)
{
    char full[64];
    snprintf(full, sizeof full, "%c%c:%s", fill_letter[fill], batched ? 'b' : 's', name);
    if (fill >= FILL_INDEX) return llap_input_int(o->g, full, shape);
    llap_shape stored = shape;
    const int  r = shape.rank;
    if (o->layout == OP_SLICED && r > 0) {
        stored.dim[r - 1] += 3;
        return llap_slice(o->g, llap_input(o->g, full, stored), r - 1, 2, shape.dim[r - 1]);
    }
    if (o->layout == OP_SWAPPED && r >= 3) {
        stored.dim[r - 1] = shape.dim[r - 2];
        stored.dim[r - 2] = shape.dim[r - 1];
        return llap_transpose(o->g, llap_input(o->g, full, stored));
    }
    return llap_input(o->g, full, shape);
}

static llap_tensor *real3(op_build *o, const char *name)
{
    return op_leaf(o, name, FILL_REAL, true, LLAP_SHAPE(o->b, o->l, o->n));
}

static llap_tensor *positive3(op_build *o, const char *name)
{
    return op_leaf(o, name, FILL_POSITIVE, true, LLAP_SHAPE(o->b, o->l, o->n));
}

static llap_tensor *vector(op_build *o, const char *name, int64_t n)
{
    return op_leaf(o, name, FILL_REAL, false, LLAP_SHAPE(n));
}

static llap_tensor *matrix(op_build *o, const char *name, int64_t m, int64_t n)
{
    return op_leaf(o, name, FILL_REAL, false, LLAP_SHAPE(m, n));
}

/* -------- elementwise -------- */

#define UNARY(id, leaf) \
    static llap_tensor *b_##id(op_build *o) { return llap_##id(o->g, leaf(o, "x")); }
UNARY(neg, real3)
UNARY(exp, real3)
UNARY(ln, positive3)
UNARY(sin, real3)
UNARY(cos, real3)
UNARY(tanh, real3)
UNARY(sigmoid, real3)
UNARY(silu, real3)
UNARY(softplus, real3)
UNARY(gelu, real3)
UNARY(sqrt, positive3)
UNARY(square, real3)
UNARY(abs, real3)

static llap_tensor *b_copy(op_build *o)
{
    llap_tensor *x = llap_transpose(o->g, real3(o, "x"));
    return llap_reshape(o->g, x, LLAP_SHAPE(o->b, o->l * o->n));
}

static llap_tensor *b_clamp(op_build *o) { return llap_clamp(o->g, real3(o, "x"), -0.5, 0.7); }
static llap_tensor *b_affine(op_build *o) { return llap_affine(o->g, real3(o, "x"), -1.75, 0.3); }

#define BINARY(id, leaf)                                                                \
    static llap_tensor *b_##id(op_build *o)                                             \
    {                                                                                   \
        llap_tensor *row = op_leaf(o, "v", FILL_POSITIVE, false, LLAP_SHAPE(o->n));     \
        llap_tensor *col = op_leaf(o, "u", FILL_REAL, true, LLAP_SHAPE(o->b, o->l, 1)); \
        llap_tensor *y = llap_##id(o->g, leaf(o, "x"), leaf(o, "y"));                   \
        return llap_add(o->g, llap_##id(o->g, y, row), llap_##id(o->g, col, row));      \
    }
BINARY(add, real3)
BINARY(sub, real3)
BINARY(mul, real3)
BINARY(div, positive3)
BINARY(maximum, real3)
BINARY(minimum, real3)

static llap_tensor *b_at_least(op_build *o)
{
    llap_tensor *x = real3(o, "x"), *y = real3(o, "y");
    return llap_mul(o->g, x, llap_at_least(o->g, x, y));
}

static llap_tensor *b_mask(op_build *o)
{
    llap_tensor *m = op_leaf(o, "m", FILL_MASK, true, LLAP_SHAPE(o->b, o->l, 1));
    return llap_mask(o->g, real3(o, "x"), m);
}

/* Long enough to be cut into more than one chain, with a value used twice. */
static llap_tensor *b_chain(op_build *o)
{
    llap_tensor *x = real3(o, "x"), *y = real3(o, "y");
    llap_tensor *v = vector(o, "v", o->n);
    for (int i = 0; i < 5; i++) {
        llap_tensor *t = llap_tanh(o->g, llap_affine(o->g, llap_mul(o->g, x, v), 0.5, 0.1));
        x = llap_add(o->g, llap_sigmoid(o->g, llap_neg(o->g, y)), t);
        y = llap_sub(o->g, y, llap_square(o->g, x));
    }
    return llap_add(o->g, x, y);
}

/* Rows of seven ids, some of them twice. */
static llap_tensor *draws(op_build *o, bool normal, uint32_t below)
{
    llap_tensor         *key = op_leaf(o, "k", FILL_INDEX, false, LLAP_SHAPE(4));
    llap_tensor         *ids = op_leaf(o, "d", FILL_INDEX, false, LLAP_SHAPE(7, 2));
    llap_tensor         *i = op_leaf(o, "i", FILL_INDEX, true, LLAP_SHAPE(o->b));
    const llap_draw_attr a = {
        .width = o->l * o->n, .stream = 4, .sample = 2, .normal = normal, .below = below
    };
    return llap_draw(o->g, key, ids, i, &a);
}
static llap_tensor *b_normals(op_build *o) { return draws(o, true, 0); }
static llap_tensor *b_uniforms(op_build *o) { return draws(o, false, 0); }
static llap_tensor *b_below(op_build *o) { return draws(o, false, 1000); }

static llap_tensor *b_dropout(op_build *o) { return llap_dropout(o->g, real3(o, "x"), 0.3); }

/* -------- reductions and parts -------- */

static llap_tensor *b_sum_last(op_build *o) { return llap_sum(o->g, real3(o, "x"), LLAP_AXIS(2)); }
static llap_tensor *b_sum_mid(op_build *o) { return llap_sum(o->g, real3(o, "x"), LLAP_AXIS(1)); }
static llap_tensor *b_sum_tail(op_build *o)
{
    return llap_sum(o->g, real3(o, "x"), LLAP_AXIS(1) | LLAP_AXIS(2));
}
static llap_tensor *b_mean(op_build *o) { return llap_mean(o->g, real3(o, "x"), LLAP_AXIS(1)); }
static llap_tensor *b_max(op_build *o)
{
    if (o->l == 0) return llap_sum(o->g, real3(o, "x"), LLAP_AXIS(1));
    return llap_max(o->g, real3(o, "x"), LLAP_AXIS(1));
}
static llap_tensor *b_masked_mean(op_build *o)
{
    llap_tensor *m = op_leaf(o, "m", FILL_MASK, true, LLAP_SHAPE(o->b, o->l, 1));
    return llap_masked_mean(o->g, real3(o, "x"), m, LLAP_AXIS(1));
}

static llap_tensor *b_squares(op_build *o)
{
    llap_tensor *x[] = { vector(o, "a", 3 * o->n), matrix(o, "b", o->l, o->n), vector(o, "c", 1) };
    return llap_mul(o->g, real3(o, "x"), llap_squares(o->g, x, 3));
}

static llap_tensor *b_concat(op_build *o)
{
    llap_tensor *x = real3(o, "x"),
                *y = op_leaf(o, "y", FILL_REAL, true, LLAP_SHAPE(o->b, o->l + 2, o->n));
    llap_tensor *parts[] = { x, y, x };
    return llap_concat(o->g, parts, 3, 1);
}

static llap_tensor *b_pad(op_build *o) /* by the gradient of slice */
{
    llap_tensor *x = op_leaf(o, "x", FILL_REAL, true, LLAP_SHAPE(o->b, o->l + 3, o->n));
    return llap_slice(o->g, llap_square(o->g, x), 1, 1, o->l);
}

static llap_tensor *b_split(op_build *o)
{
    llap_tensor *x = op_leaf(o, "x", FILL_REAL, true, LLAP_SHAPE(o->b, o->l, 3 * o->n)), *p[3];
    llap_split_axis(o->g, llap_neg(o->g, x), -1, 3, p);
    return llap_mul(o->g, p[0], p[2]);
}

static llap_tensor *b_repeat(op_build *o)
{
    return llap_square(o->g, llap_repeat(o->g, real3(o, "x"), 1, 3));
}

/* -------- products -------- */

static llap_tensor *product(op_build *o, bool ta, bool tb)
{
    llap_tensor *a = op_leaf(o, "a", FILL_REAL, true,
                             ta ? LLAP_SHAPE(o->b, o->n, o->l) : LLAP_SHAPE(o->b, o->l, o->n));
    llap_tensor *b = op_leaf(o, "b", FILL_REAL, true,
                             tb ? LLAP_SHAPE(o->b, 5, o->n) : LLAP_SHAPE(o->b, o->n, 5));
    return llap_matmul(o->g, a, ta, b, tb);
}
static llap_tensor *b_matmul(op_build *o) { return product(o, false, false); }
static llap_tensor *b_matmul_ta(op_build *o) { return product(o, true, false); }
static llap_tensor *b_matmul_tb(op_build *o) { return product(o, false, true); }
static llap_tensor *b_matmul_tatb(op_build *o) { return product(o, true, true); }

static llap_tensor *b_matmul_shared(op_build *o) /* [B,3,l,n] x [B,1,n,5], one b for three a */
{
    llap_tensor *a = op_leaf(o, "a", FILL_REAL, true, LLAP_SHAPE(o->b, 3, o->l, o->n));
    llap_tensor *b = op_leaf(o, "b", FILL_REAL, true, LLAP_SHAPE(o->b, 1, o->n, 5));
    return llap_matmul(o->g, a, false, b, false);
}

static llap_tensor *b_linear(op_build *o)
{
    return llap_linear(o->g, real3(o, "x"), matrix(o, "w", 9, o->n), vector(o, "c", 9));
}

static llap_tensor *b_linear_gelu_residual(op_build *o)
{
    llap_tensor *y = llap_linear(o->g, real3(o, "x"), matrix(o, "w", 9, o->n), vector(o, "c", 9));
    llap_tensor *z = op_leaf(o, "z", FILL_REAL, true, LLAP_SHAPE(o->b, o->l, 9));
    return llap_add(o->g, z, llap_gelu(o->g, y));
}

static llap_tensor *b_linear_residual(op_build *o)
{
    llap_tensor *y = llap_linear(o->g, real3(o, "x"), matrix(o, "w", 9, o->n), NULL);
    llap_tensor *z = op_leaf(o, "z", FILL_REAL, true, LLAP_SHAPE(o->b, o->l, 9));
    return llap_add(o->g, y, llap_neg(o->g, z));
}

static llap_tensor *b_normed(op_build *o)
{
    llap_tensor *table = matrix(o, "table", o->l, 9);
    llap_tensor *like = op_leaf(o, "like", FILL_REAL, true, LLAP_SHAPE(o->b, o->l, 19));
    return llap_normed(o->g, real3(o, "x"), matrix(o, "w", 9, o->n), table, vector(o, "c", 9), like,
                       1e-5);
}

static llap_tensor *b_conv1d(op_build *o)
{
    llap_tensor *w = op_leaf(o, "w", FILL_REAL, false, LLAP_SHAPE(4, o->n, 3));
    return llap_conv1d(o->g, real3(o, "x"), w, vector(o, "c", 4));
}

/* -------- rows -------- */

UNARY(softmax, real3)

static llap_tensor *b_norm(op_build *o)
{
    return llap_layer_norm(o->g, real3(o, "x"), NULL, NULL, 1e-5);
}
static llap_tensor *b_norm_affine(op_build *o)
{
    return llap_layer_norm(o->g, real3(o, "x"), vector(o, "w", o->n), vector(o, "c", o->n), 1e-5);
}
static llap_tensor *b_norm_modulated(op_build *o)
{
    llap_tensor *ss = op_leaf(o, "s", FILL_REAL, true, LLAP_SHAPE(o->b, 1, 2 * o->n)), *p[2];
    llap_split_axis(o->g, ss, -1, 2, p);
    return llap_modulated_norm(o->g, real3(o, "x"), p[0], p[1], 1e-5);
}

static llap_tensor *b_rotary(op_build *o)
{
    llap_tensor *t = op_leaf(o, "t", FILL_TIME, true, LLAP_SHAPE(o->b, o->l));
    llap_tensor *x = op_leaf(o, "x", FILL_REAL, true, LLAP_SHAPE(o->b, o->l, 2 * o->n));
    return llap_rotary(o->g, x, t, 2, 10000.0);
}

static llap_tensor *b_embedding(op_build *o)
{
    llap_tensor *i = op_leaf(o, "i", FILL_INDEX, true, LLAP_SHAPE(o->b, o->l));
    return llap_embedding(o->g, matrix(o, "w", 7, o->n), i);
}
static llap_tensor *b_whole(op_build *o)
{
    return llap_embedding(o->g, matrix(o, "w", 7, o->n), llap_whole(o->g, draws(o, false, 7)));
}

static llap_tensor *b_basis(op_build *o)
{
    llap_tensor *t = op_leaf(o, "t", FILL_TIME, true, LLAP_SHAPE(o->b, o->l));
    llap_tensor *rho = op_leaf(o, "rho", FILL_POSITIVE, true, LLAP_SHAPE(o->b, o->n));
    llap_tensor *omega = op_leaf(o, "omega", FILL_POSITIVE, true, LLAP_SHAPE(o->b, o->n));
    return llap_modal_basis(o->g, t, llap_scale(o->g, rho, 0.02), omega);
}

/* -------- attention -------- */

static llap_tensor *b_attention(op_build *o)
{
    llap_tensor *x = op_leaf(o, "x", FILL_REAL, true, LLAP_SHAPE(o->b, o->l, 6 * o->n)), *p[3];
    llap_split_axis(o->g, x, -1, 3, p);
    return llap_attention(o->g, p[0], p[1], p[2], &(llap_attention_opts){ .n_heads = 2 });
}

static llap_tensor *
b_attention_cross(op_build *o) /* masked and biased, other key length and width */
{
    const int64_t lk = o->l + 4;
    llap_tensor  *q = op_leaf(o, "q", FILL_REAL, true, LLAP_SHAPE(o->b, o->l, 2 * o->n));
    llap_tensor  *k = op_leaf(o, "k", FILL_REAL, true, LLAP_SHAPE(o->b, lk, 2 * o->n));
    llap_tensor  *v = op_leaf(o, "v", FILL_REAL, true, LLAP_SHAPE(o->b, lk, 2 * o->n));
    return llap_attention(
        o->g, q, k, v,
        &(llap_attention_opts){
            .n_heads = 2,
            .key_padding = op_leaf(o, "m", FILL_MASK, true, LLAP_SHAPE(o->b, lk)),
            .bias = op_leaf(o, "e", FILL_REAL, true, LLAP_SHAPE(o->b, 2, o->l, lk)) });
}

static llap_tensor *
b_attention_samples(op_build *o) /* [B,3,...] queries, keys shared by the three */
{
    llap_tensor *q = op_leaf(o, "q", FILL_REAL, true, LLAP_SHAPE(o->b, 3, o->l, 2 * o->n));
    llap_tensor *k = op_leaf(o, "k", FILL_REAL, true, LLAP_SHAPE(o->b, 1, o->l, 2 * o->n));
    llap_tensor *v = op_leaf(o, "v", FILL_REAL, true, LLAP_SHAPE(o->b, 1, o->l, 2 * o->n));
    return llap_attention(o->g, q, k, v, &(llap_attention_opts){ .n_heads = 2 });
}

static llap_tensor *b_attention_dropout(op_build *o)
{
    llap_tensor *x = op_leaf(o, "x", FILL_REAL, true, LLAP_SHAPE(o->b, o->l, 6 * o->n)), *p[3];
    llap_split_axis(o->g, x, -1, 3, p);
    return llap_attention(o->g, p[0], p[1], p[2],
                          &(llap_attention_opts){ .n_heads = 2, .dropout = 0.25 });
}

/* -------- leading axes that do not merge into one -------- */

static llap_tensor *b_sum_apart(op_build *o)
{
    llap_tensor *x = op_leaf(o, "x", FILL_REAL, true, LLAP_SHAPE(o->b, o->l, 3, o->n));
    return llap_sum(o->g, x, LLAP_AXIS(1) | LLAP_AXIS(3));
}

static llap_tensor *b_norm_uneven(op_build *o) /* factors by the middle axis, stored apart */
{
    llap_tensor *x = op_leaf(o, "x", FILL_REAL, true, LLAP_SHAPE(o->b, 3, o->l, o->n));
    llap_tensor *s = op_leaf(o, "s", FILL_REAL, false, LLAP_SHAPE(3, 1, o->n));
    llap_tensor *t = op_leaf(o, "t", FILL_REAL, false, LLAP_SHAPE(3, 1, o->n));
    llap_tensor *y = llap_modulated_norm(o->g, x, s, t, 1e-5);
    return llap_layer_norm(o->g, y, s, t, 1e-5);
}

static llap_tensor *b_matmul_uneven(op_build *o)
{
    llap_tensor *a = op_leaf(o, "a", FILL_REAL, true, LLAP_SHAPE(o->b, 3, 2, o->l, o->n));
    llap_tensor *b = op_leaf(o, "b", FILL_REAL, true, LLAP_SHAPE(o->b, 1, 2, o->n, 5));
    return llap_matmul(o->g, a, false, b, false);
}

static llap_tensor *uneven_attention(op_build *o, double dropout)
{
    llap_tensor *q = op_leaf(o, "q", FILL_REAL, true, LLAP_SHAPE(o->b, 2, 3, o->l, 2 * o->n));
    llap_tensor *k = op_leaf(o, "k", FILL_REAL, true, LLAP_SHAPE(o->b, 1, 3, o->l, 2 * o->n));
    llap_tensor *m = op_leaf(o, "m", FILL_MASK, true, LLAP_SHAPE(o->b, 1, 3, o->l));
    llap_tensor *e = op_leaf(o, "e", FILL_REAL, false, LLAP_SHAPE(o->l, o->l));
    return llap_attention(
        o->g, q, k, llap_neg(o->g, k),
        &(llap_attention_opts){ .n_heads = 2, .key_padding = m, .bias = e, .dropout = dropout });
}
static llap_tensor *b_attention_uneven(op_build *o) { return uneven_attention(o, 0.0); }
static llap_tensor *b_attention_uneven_dropout(op_build *o) { return uneven_attention(o, 0.25); }

static llap_tensor *b_rotary_uneven(op_build *o)
{
    llap_tensor *t = op_leaf(o, "t", FILL_TIME, true, LLAP_SHAPE(o->b, 1, o->l));
    llap_tensor *x = op_leaf(o, "x", FILL_REAL, true, LLAP_SHAPE(o->b, o->l, 3, 2 * o->n));
    return llap_rotary(o->g, llap_permute(o->g, x, (int[]){ 0, 2, 1, 3 }), t, 2, 100.0);
}

static llap_tensor *b_basis_shared(op_build *o) /* one grid of times, samples of poles */
{
    llap_tensor *t = op_leaf(o, "t", FILL_TIME, false, LLAP_SHAPE(o->l));
    llap_tensor *rho = op_leaf(o, "rho", FILL_POSITIVE, true, LLAP_SHAPE(o->b, 2, o->n));
    llap_tensor *omega = op_leaf(o, "omega", FILL_POSITIVE, true, LLAP_SHAPE(o->b, 1, o->n));
    return llap_modal_basis(o->g, t, llap_scale(o->g, rho, 0.02), omega);
}

/* -------- the optimiser -------- */

static llap_tensor *b_adamw(op_build *o)
{
    llap_tensor *out[3], *step = op_leaf(o, "k", FILL_COUNT, false, LLAP_SCALAR);
    llap_adamw_step(o->g, real3(o, "p"), real3(o, "m"), positive3(o, "v"), real3(o, "g"),
                    llap_full(o->g, LLAP_SCALAR, 0.75), llap_full(o->g, LLAP_SCALAR, 0.125), step,
                    &(llap_adamw_attr){ 0.9, 0.999, 1e-8, 5e-4 }, out);
    return llap_concat(o->g, out, 3, 1);
}

/* clang-format off */
const op_row op_table[] = {
    { "copy",       LLAP_OP_COPY,       b_copy,       1e-6, false, false },
    { "neg",        LLAP_OP_NEG,        b_neg,        1e-6, false, false },
    { "exp",        LLAP_OP_EXP,        b_exp,        1e-6, false, false },
    { "log",        LLAP_OP_LOG,        b_ln,         1e-6, false, false },
    { "sin",        LLAP_OP_SIN,        b_sin,        1e-6, false, false },
    { "cos",        LLAP_OP_COS,        b_cos,        1e-6, false, false },
    { "tanh",       LLAP_OP_TANH,       b_tanh,       1e-6, false, false },
    { "sigmoid",    LLAP_OP_SIGMOID,    b_sigmoid,    1e-6, false, false },
    { "silu",       LLAP_OP_SILU,       b_silu,       1e-6, false, false },
    { "softplus",   LLAP_OP_SOFTPLUS,   b_softplus,   1e-6, false, false },
    { "gelu",       LLAP_OP_GELU,       b_gelu,       1e-6, false, false },
    { "sqrt",       LLAP_OP_SQRT,       b_sqrt,       1e-6, false, false },
    { "square",     LLAP_OP_SQUARE,     b_square,     1e-6, false, false },
    { "abs",        LLAP_OP_ABS,        b_abs,        1e-6, false, false },
    { "sign",       LLAP_OP_SIGN,       b_abs,        1e-6, false, false },
    { "clamp",      LLAP_OP_CLAMP,      b_clamp,      1e-6, false, false },
    { "affine",     LLAP_OP_AFFINE,     b_affine,     1e-6, false, false },
    { "add",        LLAP_OP_ADD,        b_add,        1e-6, false, false },
    { "sub",        LLAP_OP_SUB,        b_sub,        1e-6, false, false },
    { "mul",        LLAP_OP_MUL,        b_mul,        1e-6, false, false },
    { "div",        LLAP_OP_DIV,        b_div,        1e-6, false, false },
    { "maximum",    LLAP_OP_MAXIMUM,    b_maximum,    1e-6, false, false },
    { "minimum",    LLAP_OP_MINIMUM,    b_minimum,    1e-6, false, false },
    { "at_least",   LLAP_OP_AT_LEAST,   b_at_least,   1e-6, false, false },
    { "mask",       LLAP_OP_MASK,       b_mask,       1e-6, false, false },
    { "gelu_grad",  LLAP_OP_GELU_GRAD,  b_gelu,       1e-6, false, false },
    { "silu_grad",  LLAP_OP_SILU_GRAD,  b_silu,       1e-6, false, false },
    { "clamp_grad", LLAP_OP_CLAMP_GRAD, b_clamp,      1e-6, false, false },
    { "chain",      LLAP_OP_CHAIN,      b_chain,      1e-5, false, false },
    { "dropout",    LLAP_OP_DROPOUT,    b_dropout,    1e-6, false, false },
    { "normals",    LLAP_OP_DRAW,       b_normals,    0,    true, false },
    { "uniforms",   LLAP_OP_DRAW,       b_uniforms,   0,    true, false },
    { "below",      LLAP_OP_DRAW,       b_below,      0,    true, false },
    { "sum last",   LLAP_OP_SUM,        b_sum_last,   1e-6, false, false },
    { "sum mid",    LLAP_OP_SUM,        b_sum_mid,    1e-6, false, false },
    { "sum tail",   LLAP_OP_SUM,        b_sum_tail,   1e-6, false, false },
    { "mean",       LLAP_OP_SUM,        b_mean,       1e-6, false, false },
    { "masked mean",LLAP_OP_SUM,        b_masked_mean,1e-6, false, false },
    { "max",        LLAP_OP_MAX,        b_max,        1e-6, false, false },
    { "squares",    LLAP_OP_SQUARES,    b_squares,    1e-6, false, false },
    { "concat",     LLAP_OP_CONCAT,     b_concat,     1e-6, false, false },
    { "pad",        LLAP_OP_PAD,        b_pad,        1e-6, false, false },
    { "split",      LLAP_OP_SPLIT,      b_split,      1e-6, false, false },
    { "repeat",     LLAP_OP_EXPAND,     b_repeat,     1e-6, false, false },
    { "matmul",     LLAP_OP_MATMUL,     b_matmul,     1e-5, false, false },
    { "matmul ta",  LLAP_OP_MATMUL,     b_matmul_ta,  1e-5, false, false },
    { "matmul tb",  LLAP_OP_MATMUL,     b_matmul_tb,  1e-5, false, false },
    { "matmul tatb",LLAP_OP_MATMUL,     b_matmul_tatb,1e-5, false, false },
    { "matmul shared",LLAP_OP_MATMUL,   b_matmul_shared,1e-5, false, false },
    { "linear",     LLAP_OP_LINEAR,     b_linear,     1e-5, false, false },
    { "linear+residual",LLAP_OP_LINEAR, b_linear_residual,1e-5, false, false },
    { "linear+gelu+residual",LLAP_OP_LINEAR,b_linear_gelu_residual,1e-5, false, false },
    { "normed",     LLAP_OP_NORMED,     b_normed,     1e-5, true, false },
    { "unfold",     LLAP_OP_UNFOLD,     b_conv1d,     1e-5, false, false },
    { "fold",       LLAP_OP_FOLD,       b_conv1d,     1e-5, false, false },
    { "softmax",    LLAP_OP_SOFTMAX,    b_softmax,    1e-5, false, false },
    { "softmax_grad",LLAP_OP_SOFTMAX_GRAD,b_softmax,  1e-5, false, false },
    { "norm",       LLAP_OP_NORM,       b_norm,       1e-5, false, false },
    { "norm affine",LLAP_OP_NORM,       b_norm_affine,1e-5, false, false },
    { "norm modulated",LLAP_OP_NORM_GRAD,b_norm_modulated,1e-5, false, false },
    { "rotary",     LLAP_OP_ROTARY,     b_rotary,     2e-5, false, false },
    { "embedding",  LLAP_OP_EMBEDDING,  b_embedding,  1e-5, false, false },
    { "whole",      LLAP_OP_WHOLE,      b_whole,      1e-5, false, true },
    { "embedding_grad",LLAP_OP_EMBEDDING_GRAD,b_embedding,1e-5, false, false },
    { "basis",      LLAP_OP_BASIS,      b_basis,      3e-5, false, false },
    { "basis_grad", LLAP_OP_BASIS_GRAD, b_basis,      3e-5, false, false },
    { "attention",  LLAP_OP_ATTENTION,  b_attention,  1e-5, false, true },
    { "attention cross",LLAP_OP_ATTENTION_GRAD,b_attention_cross,1e-5, false, true },
    { "attention samples",LLAP_OP_ATTENTION,b_attention_samples,1e-5, false, true },
    { "attention dropout",LLAP_OP_ATTENTION,b_attention_dropout,1e-5, false, true },
    { "sum apart",  LLAP_OP_SUM,        b_sum_apart,  1e-6, false, false },
    { "norm uneven",LLAP_OP_NORM,       b_norm_uneven,2e-5, false, false },
    { "matmul uneven",LLAP_OP_MATMUL,   b_matmul_uneven,1e-5, false, false },
    { "rotary uneven",LLAP_OP_ROTARY,   b_rotary_uneven,2e-5, false, false },
    { "basis shared",LLAP_OP_BASIS,     b_basis_shared,3e-5, false, false },
    { "attention uneven",LLAP_OP_ATTENTION,b_attention_uneven,1e-5, false, true },
    { "attention uneven dropout",LLAP_OP_ATTENTION,b_attention_uneven_dropout,1e-5, false, true },
    { "adamw",      LLAP_OP_ADAMW,      b_adamw,      1e-6, true, false },
};
/* clang-format on */
const int op_table_len = (int)(sizeof op_table / sizeof *op_table);
