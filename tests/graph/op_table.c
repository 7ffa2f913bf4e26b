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

ll_tensor *op_leaf(op_build *o, const char *name, op_fill fill, bool batched, ll_shape shape)
{
    char full[64];
    snprintf(full, sizeof full, "%c%c:%s", fill_letter[fill], batched ? 'b' : 's', name);
    if (fill >= FILL_INDEX) return ll_input_int(o->g, full, shape);
    ll_shape  stored = shape;
    const int r = shape.rank;
    if (o->layout == OP_SLICED && r > 0) {
        stored.dim[r - 1] += 3;
        return ll_slice(o->g, ll_input(o->g, full, stored), r - 1, 2, shape.dim[r - 1]);
    }
    if (o->layout == OP_SWAPPED && r >= 3) {
        stored.dim[r - 1] = shape.dim[r - 2];
        stored.dim[r - 2] = shape.dim[r - 1];
        return ll_transpose(o->g, ll_input(o->g, full, stored));
    }
    return ll_input(o->g, full, shape);
}

static ll_tensor *real3(op_build *o, const char *name)
{
    return op_leaf(o, name, FILL_REAL, true, LL_SHAPE(o->b, o->l, o->n));
}

static ll_tensor *positive3(op_build *o, const char *name)
{
    return op_leaf(o, name, FILL_POSITIVE, true, LL_SHAPE(o->b, o->l, o->n));
}

static ll_tensor *vector(op_build *o, const char *name, int64_t n)
{
    return op_leaf(o, name, FILL_REAL, false, LL_SHAPE(n));
}

static ll_tensor *matrix(op_build *o, const char *name, int64_t m, int64_t n)
{
    return op_leaf(o, name, FILL_REAL, false, LL_SHAPE(m, n));
}

/* -------- elementwise -------- */

#define UNARY(id, leaf) \
    static ll_tensor *b_##id(op_build *o) { return ll_##id(o->g, leaf(o, "x")); }
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

static ll_tensor *b_copy(op_build *o)
{
    ll_tensor *x = ll_transpose(o->g, real3(o, "x"));
    return ll_reshape(o->g, x, LL_SHAPE(o->b, o->l * o->n));
}

static ll_tensor *b_clamp(op_build *o) { return ll_clamp(o->g, real3(o, "x"), -0.5, 0.7); }
static ll_tensor *b_affine(op_build *o) { return ll_affine(o->g, real3(o, "x"), -1.75, 0.3); }

#define BINARY(id, leaf)                                                            \
    static ll_tensor *b_##id(op_build *o)                                           \
    {                                                                               \
        ll_tensor *row = op_leaf(o, "v", FILL_POSITIVE, false, LL_SHAPE(o->n));     \
        ll_tensor *col = op_leaf(o, "u", FILL_REAL, true, LL_SHAPE(o->b, o->l, 1)); \
        ll_tensor *y = ll_##id(o->g, leaf(o, "x"), leaf(o, "y"));                   \
        return ll_add(o->g, ll_##id(o->g, y, row), ll_##id(o->g, col, row));        \
    }
BINARY(add, real3)
BINARY(sub, real3)
BINARY(mul, real3)
BINARY(div, positive3)
BINARY(maximum, real3)
BINARY(minimum, real3)

static ll_tensor *b_at_least(op_build *o)
{
    ll_tensor *x = real3(o, "x"), *y = real3(o, "y");
    return ll_mul(o->g, x, ll_at_least(o->g, x, y));
}

static ll_tensor *b_mask(op_build *o)
{
    ll_tensor *m = op_leaf(o, "m", FILL_MASK, true, LL_SHAPE(o->b, o->l, 1));
    return ll_mask(o->g, real3(o, "x"), m);
}

/* Long enough to be cut into more than one chain, with a value used twice. */
static ll_tensor *b_chain(op_build *o)
{
    ll_tensor *x = real3(o, "x"), *y = real3(o, "y");
    ll_tensor *v = vector(o, "v", o->n);
    for (int i = 0; i < 5; i++) {
        ll_tensor *t = ll_tanh(o->g, ll_affine(o->g, ll_mul(o->g, x, v), 0.5, 0.1));
        x = ll_add(o->g, ll_sigmoid(o->g, ll_neg(o->g, y)), t);
        y = ll_sub(o->g, y, ll_square(o->g, x));
    }
    return ll_add(o->g, x, y);
}

/* Rows of seven ids, some of them twice. */
static ll_tensor *draws(op_build *o, bool normal, uint32_t below)
{
    ll_tensor         *key = op_leaf(o, "k", FILL_INDEX, false, LL_SHAPE(4));
    ll_tensor         *ids = op_leaf(o, "d", FILL_INDEX, false, LL_SHAPE(7, 2));
    ll_tensor         *i = op_leaf(o, "i", FILL_INDEX, true, LL_SHAPE(o->b));
    const ll_draw_attr a = {
        .width = o->l * o->n, .stream = 4, .sample = 2, .normal = normal, .below = below
    };
    return ll_draw(o->g, key, ids, i, &a);
}
static ll_tensor *b_normals(op_build *o) { return draws(o, true, 0); }
static ll_tensor *b_uniforms(op_build *o) { return draws(o, false, 0); }
static ll_tensor *b_below(op_build *o) { return draws(o, false, 1000); }

static ll_tensor *b_dropout(op_build *o) { return ll_dropout(o->g, real3(o, "x"), 0.3); }

/* -------- reductions and parts -------- */

static ll_tensor *b_sum_last(op_build *o) { return ll_sum(o->g, real3(o, "x"), LL_AXIS(2)); }
static ll_tensor *b_sum_mid(op_build *o) { return ll_sum(o->g, real3(o, "x"), LL_AXIS(1)); }
static ll_tensor *b_sum_tail(op_build *o)
{
    return ll_sum(o->g, real3(o, "x"), LL_AXIS(1) | LL_AXIS(2));
}
static ll_tensor *b_mean(op_build *o) { return ll_mean(o->g, real3(o, "x"), LL_AXIS(1)); }
static ll_tensor *b_max(op_build *o)
{
    if (o->l == 0) return ll_sum(o->g, real3(o, "x"), LL_AXIS(1));
    return ll_max(o->g, real3(o, "x"), LL_AXIS(1));
}
static ll_tensor *b_masked_mean(op_build *o)
{
    ll_tensor *m = op_leaf(o, "m", FILL_MASK, true, LL_SHAPE(o->b, o->l, 1));
    return ll_masked_mean(o->g, real3(o, "x"), m, LL_AXIS(1));
}

static ll_tensor *b_squares(op_build *o)
{
    ll_tensor *x[] = { vector(o, "a", 3 * o->n), matrix(o, "b", o->l, o->n), vector(o, "c", 1) };
    return ll_mul(o->g, real3(o, "x"), ll_squares(o->g, x, 3));
}

static ll_tensor *b_concat(op_build *o)
{
    ll_tensor *x = real3(o, "x"),
              *y = op_leaf(o, "y", FILL_REAL, true, LL_SHAPE(o->b, o->l + 2, o->n));
    ll_tensor *parts[] = { x, y, x };
    return ll_concat(o->g, parts, 3, 1);
}

static ll_tensor *b_pad(op_build *o) /* by the gradient of slice */
{
    ll_tensor *x = op_leaf(o, "x", FILL_REAL, true, LL_SHAPE(o->b, o->l + 3, o->n));
    return ll_slice(o->g, ll_square(o->g, x), 1, 1, o->l);
}

static ll_tensor *b_split(op_build *o)
{
    ll_tensor *x = op_leaf(o, "x", FILL_REAL, true, LL_SHAPE(o->b, o->l, 3 * o->n)), *p[3];
    ll_split_axis(o->g, ll_neg(o->g, x), -1, 3, p);
    return ll_mul(o->g, p[0], p[2]);
}

/* -------- products -------- */

static ll_tensor *product(op_build *o, bool ta, bool tb)
{
    ll_tensor *a = op_leaf(o, "a", FILL_REAL, true,
                           ta ? LL_SHAPE(o->b, o->n, o->l) : LL_SHAPE(o->b, o->l, o->n));
    ll_tensor *b =
        op_leaf(o, "b", FILL_REAL, true, tb ? LL_SHAPE(o->b, 5, o->n) : LL_SHAPE(o->b, o->n, 5));
    return ll_matmul(o->g, a, ta, b, tb);
}
static ll_tensor *b_matmul(op_build *o) { return product(o, false, false); }
static ll_tensor *b_matmul_ta(op_build *o) { return product(o, true, false); }
static ll_tensor *b_matmul_tb(op_build *o) { return product(o, false, true); }
static ll_tensor *b_matmul_tatb(op_build *o) { return product(o, true, true); }

static ll_tensor *b_matmul_shared(op_build *o) /* [B,3,l,n] x [B,1,n,5], one b for three a */
{
    ll_tensor *a = op_leaf(o, "a", FILL_REAL, true, LL_SHAPE(o->b, 3, o->l, o->n));
    ll_tensor *b = op_leaf(o, "b", FILL_REAL, true, LL_SHAPE(o->b, 1, o->n, 5));
    return ll_matmul(o->g, a, false, b, false);
}

static ll_tensor *b_linear(op_build *o)
{
    return ll_linear(o->g, real3(o, "x"), matrix(o, "w", 9, o->n), vector(o, "c", 9));
}

static ll_tensor *b_linear_gelu_residual(op_build *o)
{
    ll_tensor *y = ll_linear(o->g, real3(o, "x"), matrix(o, "w", 9, o->n), vector(o, "c", 9));
    ll_tensor *z = op_leaf(o, "z", FILL_REAL, true, LL_SHAPE(o->b, o->l, 9));
    return ll_add(o->g, z, ll_gelu(o->g, y));
}

static ll_tensor *b_linear_residual(op_build *o)
{
    ll_tensor *y = ll_linear(o->g, real3(o, "x"), matrix(o, "w", 9, o->n), NULL);
    ll_tensor *z = op_leaf(o, "z", FILL_REAL, true, LL_SHAPE(o->b, o->l, 9));
    return ll_add(o->g, y, ll_neg(o->g, z));
}

static ll_tensor *b_normed(op_build *o)
{
    ll_tensor *table = matrix(o, "table", o->l, 9);
    ll_tensor *like = op_leaf(o, "like", FILL_REAL, true, LL_SHAPE(o->b, o->l, 19));
    return ll_normed(o->g, real3(o, "x"), matrix(o, "w", 9, o->n), table, vector(o, "c", 9), like,
                     1e-5);
}

static ll_tensor *b_conv1d(op_build *o)
{
    ll_tensor *w = op_leaf(o, "w", FILL_REAL, false, LL_SHAPE(4, o->n, 3));
    return ll_conv1d(o->g, real3(o, "x"), w, vector(o, "c", 4));
}

/* -------- rows -------- */

UNARY(softmax, real3)

static ll_tensor *b_norm(op_build *o)
{
    return ll_layer_norm(o->g, real3(o, "x"), NULL, NULL, 1e-5);
}
static ll_tensor *b_norm_affine(op_build *o)
{
    return ll_layer_norm(o->g, real3(o, "x"), vector(o, "w", o->n), vector(o, "c", o->n), 1e-5);
}
static ll_tensor *b_norm_modulated(op_build *o)
{
    ll_tensor *ss = op_leaf(o, "s", FILL_REAL, true, LL_SHAPE(o->b, 1, 2 * o->n)), *p[2];
    ll_split_axis(o->g, ss, -1, 2, p);
    return ll_modulated_norm(o->g, real3(o, "x"), p[0], p[1], 1e-5);
}

static ll_tensor *b_rotary(op_build *o)
{
    ll_tensor *t = op_leaf(o, "t", FILL_TIME, true, LL_SHAPE(o->b, o->l));
    ll_tensor *x = op_leaf(o, "x", FILL_REAL, true, LL_SHAPE(o->b, o->l, 2 * o->n));
    return ll_rotary(o->g, x, t, 2, 10000.0);
}

static ll_tensor *b_embedding(op_build *o)
{
    ll_tensor *i = op_leaf(o, "i", FILL_INDEX, true, LL_SHAPE(o->b, o->l));
    return ll_embedding(o->g, matrix(o, "w", 7, o->n), i);
}
static ll_tensor *b_whole(op_build *o)
{
    return ll_embedding(o->g, matrix(o, "w", 7, o->n), ll_whole(o->g, draws(o, false, 7)));
}

static ll_tensor *b_basis(op_build *o)
{
    ll_tensor *t = op_leaf(o, "t", FILL_TIME, true, LL_SHAPE(o->b, o->l));
    ll_tensor *rho = op_leaf(o, "rho", FILL_POSITIVE, true, LL_SHAPE(o->b, o->n));
    ll_tensor *omega = op_leaf(o, "omega", FILL_POSITIVE, true, LL_SHAPE(o->b, o->n));
    return ll_modal_basis(o->g, t, ll_scale(o->g, rho, 0.02), omega);
}

static ll_tensor *gru(op_build *o, bool reverse, bool first)
{
    ll_tensor *x = op_leaf(o, "x", FILL_REAL, true, LL_SHAPE(o->b, o->l, 3 * o->n));
    ll_tensor *w = ll_scale(o->g, matrix(o, "w", 3 * o->n, o->n), 1.0 / (double)(o->n + 3));
    return ll_gru(o->g, x, w, vector(o, "b", 3 * o->n),
                  first ? op_leaf(o, "h", FILL_REAL, true, LL_SHAPE(o->b, o->n)) : NULL, reverse);
}

static ll_tensor *b_gru(op_build *o) { return gru(o, false, true); }
static ll_tensor *b_gru_reverse(op_build *o) { return gru(o, true, false); }

/* -------- attention -------- */

static ll_tensor *b_attention(op_build *o)
{
    ll_tensor *x = op_leaf(o, "x", FILL_REAL, true, LL_SHAPE(o->b, o->l, 6 * o->n)), *p[3];
    ll_split_axis(o->g, x, -1, 3, p);
    return ll_attention(o->g, p[0], p[1], p[2], &(ll_attention_opts){ .n_heads = 2 });
}

static ll_tensor *b_attention_cross(op_build *o) /* masked and biased, other key length and width */
{
    const int64_t lk = o->l + 4;
    ll_tensor    *q = op_leaf(o, "q", FILL_REAL, true, LL_SHAPE(o->b, o->l, 2 * o->n));
    ll_tensor    *k = op_leaf(o, "k", FILL_REAL, true, LL_SHAPE(o->b, lk, 2 * o->n));
    ll_tensor    *v = op_leaf(o, "v", FILL_REAL, true, LL_SHAPE(o->b, lk, 2 * o->n));
    return ll_attention(
        o->g, q, k, v,
        &(ll_attention_opts){ .n_heads = 2,
                              .key_padding = op_leaf(o, "m", FILL_MASK, true, LL_SHAPE(o->b, lk)),
                              .bias =
                                  op_leaf(o, "e", FILL_REAL, true, LL_SHAPE(o->b, 2, o->l, lk)) });
}

static ll_tensor *b_attention_samples(op_build *o) /* [B,3,...] queries, keys shared by the three */
{
    ll_tensor *q = op_leaf(o, "q", FILL_REAL, true, LL_SHAPE(o->b, 3, o->l, 2 * o->n));
    ll_tensor *k = op_leaf(o, "k", FILL_REAL, true, LL_SHAPE(o->b, 1, o->l, 2 * o->n));
    ll_tensor *v = op_leaf(o, "v", FILL_REAL, true, LL_SHAPE(o->b, 1, o->l, 2 * o->n));
    return ll_attention(o->g, q, k, v, &(ll_attention_opts){ .n_heads = 2 });
}

static ll_tensor *b_attention_padded_samples(op_build *o) /* and the keys that are left out */
{
    ll_tensor *q = op_leaf(o, "q", FILL_REAL, true, LL_SHAPE(o->b, 3, o->l, 2 * o->n));
    ll_tensor *k = op_leaf(o, "k", FILL_REAL, true, LL_SHAPE(o->b, 1, o->l, 2 * o->n));
    ll_tensor *v = op_leaf(o, "v", FILL_REAL, true, LL_SHAPE(o->b, 1, o->l, 2 * o->n));
    ll_tensor *m = op_leaf(o, "m", FILL_MASK, true, LL_SHAPE(o->b, 1, o->l));
    return ll_attention(o->g, q, k, v, &(ll_attention_opts){ .n_heads = 2, .key_padding = m });
}

static ll_tensor *b_attention_dropout(op_build *o)
{
    ll_tensor *x = op_leaf(o, "x", FILL_REAL, true, LL_SHAPE(o->b, o->l, 6 * o->n)), *p[3];
    ll_split_axis(o->g, x, -1, 3, p);
    return ll_attention(o->g, p[0], p[1], p[2],
                        &(ll_attention_opts){ .n_heads = 2, .dropout = 0.25 });
}

/* -------- leading axes that do not merge into one -------- */

static ll_tensor *b_sum_apart(op_build *o)
{
    ll_tensor *x = op_leaf(o, "x", FILL_REAL, true, LL_SHAPE(o->b, o->l, 3, o->n));
    return ll_sum(o->g, x, LL_AXIS(1) | LL_AXIS(3));
}

static ll_tensor *b_norm_uneven(op_build *o) /* factors by the middle axis, stored apart */
{
    ll_tensor *x = op_leaf(o, "x", FILL_REAL, true, LL_SHAPE(o->b, 3, o->l, o->n));
    ll_tensor *s = op_leaf(o, "s", FILL_REAL, false, LL_SHAPE(3, 1, o->n));
    ll_tensor *t = op_leaf(o, "t", FILL_REAL, false, LL_SHAPE(3, 1, o->n));
    ll_tensor *y = ll_modulated_norm(o->g, x, s, t, 1e-5);
    return ll_layer_norm(o->g, y, s, t, 1e-5);
}

static ll_tensor *b_matmul_uneven(op_build *o)
{
    ll_tensor *a = op_leaf(o, "a", FILL_REAL, true, LL_SHAPE(o->b, 3, 2, o->l, o->n));
    ll_tensor *b = op_leaf(o, "b", FILL_REAL, true, LL_SHAPE(o->b, 1, 2, o->n, 5));
    return ll_matmul(o->g, a, false, b, false);
}

static ll_tensor *uneven_attention(op_build *o, double dropout)
{
    ll_tensor *q = op_leaf(o, "q", FILL_REAL, true, LL_SHAPE(o->b, 2, 3, o->l, 2 * o->n));
    ll_tensor *k = op_leaf(o, "k", FILL_REAL, true, LL_SHAPE(o->b, 1, 3, o->l, 2 * o->n));
    ll_tensor *m = op_leaf(o, "m", FILL_MASK, true, LL_SHAPE(o->b, 1, 3, o->l));
    ll_tensor *e = op_leaf(o, "e", FILL_REAL, false, LL_SHAPE(o->l, o->l));
    return ll_attention(
        o->g, q, k, ll_neg(o->g, k),
        &(ll_attention_opts){ .n_heads = 2, .key_padding = m, .bias = e, .dropout = dropout });
}
static ll_tensor *b_attention_uneven(op_build *o) { return uneven_attention(o, 0.0); }
static ll_tensor *b_attention_uneven_dropout(op_build *o) { return uneven_attention(o, 0.25); }

static ll_tensor *b_rotary_uneven(op_build *o)
{
    ll_tensor *t = op_leaf(o, "t", FILL_TIME, true, LL_SHAPE(o->b, 1, o->l));
    ll_tensor *x = op_leaf(o, "x", FILL_REAL, true, LL_SHAPE(o->b, o->l, 3, 2 * o->n));
    return ll_rotary(o->g, ll_permute(o->g, x, (int[]){ 0, 2, 1, 3 }), t, 2, 100.0);
}

static ll_tensor *b_basis_shared(op_build *o) /* one grid of times, samples of poles */
{
    ll_tensor *t = op_leaf(o, "t", FILL_TIME, false, LL_SHAPE(o->l));
    ll_tensor *rho = op_leaf(o, "rho", FILL_POSITIVE, true, LL_SHAPE(o->b, 2, o->n));
    ll_tensor *omega = op_leaf(o, "omega", FILL_POSITIVE, true, LL_SHAPE(o->b, 1, o->n));
    return ll_modal_basis(o->g, t, ll_scale(o->g, rho, 0.02), omega);
}

/* -------- the optimiser -------- */

static ll_tensor *b_adamw(op_build *o)
{
    ll_tensor *out[3], *step = op_leaf(o, "k", FILL_COUNT, false, LL_SCALAR);
    ll_adamw_step(o->g, real3(o, "p"), real3(o, "m"), positive3(o, "v"), real3(o, "g"),
                  ll_full(o->g, LL_SCALAR, 0.75), ll_full(o->g, LL_SCALAR, 0.125), step,
                  &(ll_adamw_attr){ 0.9, 0.999, 1e-8, 5e-4 }, out);
    return ll_concat(o->g, out, 3, 1);
}

/* clang-format off */
const op_row op_table[] = {
    { "copy",       LL_OP_COPY,       b_copy,       1e-6, false, false },
    { "neg",        LL_OP_NEG,        b_neg,        1e-6, false, false },
    { "exp",        LL_OP_EXP,        b_exp,        1e-6, false, false },
    { "log",        LL_OP_LOG,        b_ln,         1e-6, false, false },
    { "sin",        LL_OP_SIN,        b_sin,        1e-6, false, false },
    { "cos",        LL_OP_COS,        b_cos,        1e-6, false, false },
    { "tanh",       LL_OP_TANH,       b_tanh,       1e-6, false, false },
    { "sigmoid",    LL_OP_SIGMOID,    b_sigmoid,    1e-6, false, false },
    { "silu",       LL_OP_SILU,       b_silu,       1e-6, false, false },
    { "softplus",   LL_OP_SOFTPLUS,   b_softplus,   1e-6, false, false },
    { "gelu",       LL_OP_GELU,       b_gelu,       1e-6, false, false },
    { "sqrt",       LL_OP_SQRT,       b_sqrt,       1e-6, false, false },
    { "square",     LL_OP_SQUARE,     b_square,     1e-6, false, false },
    { "abs",        LL_OP_ABS,        b_abs,        1e-6, false, false },
    { "sign",       LL_OP_SIGN,       b_abs,        1e-6, false, false },
    { "clamp",      LL_OP_CLAMP,      b_clamp,      1e-6, false, false },
    { "affine",     LL_OP_AFFINE,     b_affine,     1e-6, false, false },
    { "add",        LL_OP_ADD,        b_add,        1e-6, false, false },
    { "sub",        LL_OP_SUB,        b_sub,        1e-6, false, false },
    { "mul",        LL_OP_MUL,        b_mul,        1e-6, false, false },
    { "div",        LL_OP_DIV,        b_div,        1e-6, false, false },
    { "maximum",    LL_OP_MAXIMUM,    b_maximum,    1e-6, false, false },
    { "minimum",    LL_OP_MINIMUM,    b_minimum,    1e-6, false, false },
    { "at_least",   LL_OP_AT_LEAST,   b_at_least,   1e-6, false, false },
    { "mask",       LL_OP_MASK,       b_mask,       1e-6, false, false },
    { "gelu_grad",  LL_OP_GELU_GRAD,  b_gelu,       1e-6, false, false },
    { "silu_grad",  LL_OP_SILU_GRAD,  b_silu,       1e-6, false, false },
    { "clamp_grad", LL_OP_CLAMP_GRAD, b_clamp,      1e-6, false, false },
    { "chain",      LL_OP_CHAIN,      b_chain,      1e-5, false, false },
    { "dropout",    LL_OP_DROPOUT,    b_dropout,    1e-6, false, false },
    { "normals",    LL_OP_DRAW,       b_normals,    0,    true, false },
    { "uniforms",   LL_OP_DRAW,       b_uniforms,   0,    true, false },
    { "below",      LL_OP_DRAW,       b_below,      0,    true, false },
    { "sum last",   LL_OP_SUM,        b_sum_last,   1e-6, false, false },
    { "sum mid",    LL_OP_SUM,        b_sum_mid,    1e-6, false, false },
    { "sum tail",   LL_OP_SUM,        b_sum_tail,   1e-6, false, false },
    { "mean",       LL_OP_SUM,        b_mean,       1e-6, false, false },
    { "masked mean",LL_OP_SUM,        b_masked_mean,1e-6, false, false },
    { "max",        LL_OP_MAX,        b_max,        1e-6, false, false },
    { "squares",    LL_OP_SQUARES,    b_squares,    1e-6, false, false },
    { "concat",     LL_OP_CONCAT,     b_concat,     1e-6, false, false },
    { "pad",        LL_OP_PAD,        b_pad,        1e-6, false, false },
    { "split",      LL_OP_SPLIT,      b_split,      1e-6, false, false },
    { "matmul",     LL_OP_MATMUL,     b_matmul,     1e-5, false, false },
    { "matmul ta",  LL_OP_MATMUL,     b_matmul_ta,  1e-5, false, false },
    { "matmul tb",  LL_OP_MATMUL,     b_matmul_tb,  1e-5, false, false },
    { "matmul tatb",LL_OP_MATMUL,     b_matmul_tatb,1e-5, false, false },
    { "matmul shared",LL_OP_MATMUL,   b_matmul_shared,1e-5, false, false },
    { "linear",     LL_OP_LINEAR,     b_linear,     1e-5, false, false },
    { "linear+residual",LL_OP_LINEAR, b_linear_residual,1e-5, false, false },
    { "linear+gelu+residual",LL_OP_LINEAR,b_linear_gelu_residual,1e-5, false, false },
    { "normed",     LL_OP_NORMED,     b_normed,     1e-5, true, false },
    { "unfold",     LL_OP_UNFOLD,     b_conv1d,     1e-5, false, false },
    { "fold",       LL_OP_FOLD,       b_conv1d,     1e-5, false, false },
    { "softmax",    LL_OP_SOFTMAX,    b_softmax,    1e-5, false, false },
    { "softmax_grad",LL_OP_SOFTMAX_GRAD,b_softmax,  1e-5, false, false },
    { "norm",       LL_OP_NORM,       b_norm,       1e-5, false, false },
    { "norm affine",LL_OP_NORM,       b_norm_affine,1e-5, false, false },
    { "norm modulated",LL_OP_NORM_GRAD,b_norm_modulated,1e-5, false, false },
    { "rotary",     LL_OP_ROTARY,     b_rotary,     2e-5, false, false },
    { "embedding",  LL_OP_EMBEDDING,  b_embedding,  1e-5, false, false },
    { "whole",      LL_OP_WHOLE,      b_whole,      1e-5, false, true },
    { "embedding_grad",LL_OP_EMBEDDING_GRAD,b_embedding,1e-5, false, false },
    { "basis",      LL_OP_BASIS,      b_basis,      3e-5, false, false },
    { "basis_grad", LL_OP_BASIS_GRAD, b_basis,      3e-5, false, false },
    { "gru",        LL_OP_GRU,        b_gru,        2e-5, false, true },
    { "gru reverse",LL_OP_GRU_GRAD,   b_gru_reverse,2e-5, false, true },
    { "attention",  LL_OP_ATTENTION,  b_attention,  1e-5, false, true },
    { "attention cross",LL_OP_ATTENTION_GRAD,b_attention_cross,1e-5, false, true },
    { "attention samples",LL_OP_ATTENTION,b_attention_samples,1e-5, false, true },
    { "attention padded samples",LL_OP_ATTENTION,b_attention_padded_samples,1e-5, false, true },
    { "attention dropout",LL_OP_ATTENTION,b_attention_dropout,1e-5, false, true },
    { "sum apart",  LL_OP_SUM,        b_sum_apart,  1e-6, false, false },
    { "norm uneven",LL_OP_NORM,       b_norm_uneven,2e-5, false, false },
    { "matmul uneven",LL_OP_MATMUL,   b_matmul_uneven,1e-5, false, false },
    { "rotary uneven",LL_OP_ROTARY,   b_rotary_uneven,2e-5, false, false },
    { "basis shared",LL_OP_BASIS,     b_basis_shared,3e-5, false, false },
    { "attention uneven",LL_OP_ATTENTION,b_attention_uneven,1e-5, false, true },
    { "attention uneven dropout",LL_OP_ATTENTION,b_attention_uneven_dropout,1e-5, false, true },
    { "adamw",      LL_OP_ADAMW,      b_adamw,      1e-6, true, false },
};
/* clang-format on */
const int op_table_len = (int)(sizeof op_table / sizeof *op_table);
