/* Elementwise ops. Operands broadcast by becoming views of the common shape, so that kernels see
 * equal shapes and only expand has a reduction in its gradient. */
#include "graph/node.h"

#include <assert.h>
#include <string.h>

static bool infer_same(ll_graph *g, const ll_node *n, ll_shape *out)
{
    *out = n->in[0]->shape;
    return n->n_in < 2 || ll_node_expect(g, n, 1, *out);
}

#define VJP(id) \
    static void vjp_##id(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)

static ll_tensor *grad_op(ll_graph *g, ll_op op, const ll_node *n, ll_tensor *dy)
{
    return ll_node_add1(g, op, &n->attr, (ll_tensor *[]){ n->in[0], dy }, 2);
}

VJP(copy) { (void)g, (void)n, dx[0] = dy[0]; }
VJP(neg) { (void)n, dx[0] = ll_neg(g, dy[0]); }
VJP(exp) { dx[0] = ll_mul(g, dy[0], n->out[0]); }
VJP(log) { dx[0] = ll_div(g, dy[0], n->in[0]); }
VJP(sin) { dx[0] = ll_mul(g, dy[0], ll_cos(g, n->in[0])); }
VJP(cos) { dx[0] = ll_neg(g, ll_mul(g, dy[0], ll_sin(g, n->in[0]))); }
VJP(tanh) { dx[0] = ll_mul(g, dy[0], ll_affine(g, ll_square(g, n->out[0]), -1.0, 1.0)); }
VJP(sigmoid) { dx[0] = ll_mul(g, ll_mul(g, dy[0], n->out[0]), ll_affine(g, n->out[0], -1.0, 1.0)); }
VJP(silu) { dx[0] = grad_op(g, LL_OP_SILU_GRAD, n, dy[0]); }
VJP(softplus) { dx[0] = ll_mul(g, dy[0], ll_sigmoid(g, n->in[0])); }
VJP(gelu) { dx[0] = grad_op(g, LL_OP_GELU_GRAD, n, dy[0]); }
VJP(sqrt) { dx[0] = ll_div(g, ll_scale(g, dy[0], 0.5), n->out[0]); }
VJP(square) { dx[0] = ll_mul(g, ll_scale(g, dy[0], 2.0), n->in[0]); }
VJP(abs) { dx[0] = ll_mul(g, dy[0], ll_node_add1(g, LL_OP_SIGN, NULL, n->in, 1)); }
VJP(sign) { (void)g, (void)n, (void)dy, (void)dx; } /* 0 almost everywhere */
VJP(clamp) { dx[0] = grad_op(g, LL_OP_CLAMP_GRAD, n, dy[0]); }
VJP(affine) { dx[0] = ll_scale(g, dy[0], n->attr.scalar.a); }

VJP(add) { (void)g, (void)n, dx[0] = dx[1] = dy[0]; }
VJP(sub) { (void)n, dx[0] = dy[0], dx[1] = ll_neg(g, dy[0]); }
VJP(mul)
{
    dx[0] = ll_mul(g, dy[0], n->in[1]);
    dx[1] = ll_mul(g, dy[0], n->in[0]);
}
VJP(div)
{
    dx[0] = ll_div(g, dy[0], n->in[1]);
    dx[1] = ll_neg(g, ll_div(g, ll_mul(g, dy[0], n->out[0]), n->in[1]));
}
/* At a tie the first operand takes the gradient. */
VJP(maximum)
{
    ll_tensor *first = ll_at_least(g, n->in[0], n->in[1]);
    dx[0] = ll_mul(g, dy[0], first);
    dx[1] = ll_sub(g, dy[0], dx[0]);
}
VJP(minimum)
{
    ll_tensor *first = ll_at_least(g, n->in[1], n->in[0]);
    dx[0] = ll_mul(g, dy[0], first);
    dx[1] = ll_sub(g, dy[0], dx[0]);
}
VJP(at_least) { (void)g, (void)n, (void)dy, (void)dx; }
VJP(mask) { dx[0] = ll_mask(g, dy[0], n->in[1]); }

static ll_tensor *unary(ll_graph *g, ll_op op, ll_tensor *x, double a, double b)
{
    const ll_attr attr = { .scalar = { a, b } };
    return ll_node_add1(g, op, &attr, &x, 1);
}

/* AdaLN asks for the same one in every block: it is computed once. */
ll_tensor *ll_silu(ll_graph *g, ll_tensor *x)
{
    for (int i = g->n_nodes - 1; g->status == LLAP_OK && x != NULL && i >= 0; i--)
        if (g->node[i]->op == LL_OP_SILU && g->node[i]->in[0] == x) return g->node[i]->out[0];
    return unary(g, LL_OP_SILU, x, 0, 0);
}

/* clang-format off */
ll_tensor *ll_neg(ll_graph *g, ll_tensor *x) { return unary(g, LL_OP_NEG, x, 0, 0); }
ll_tensor *ll_exp(ll_graph *g, ll_tensor *x) { return unary(g, LL_OP_EXP, x, 0, 0); }
ll_tensor *ll_ln(ll_graph *g, ll_tensor *x) { return unary(g, LL_OP_LOG, x, 0, 0); }
ll_tensor *ll_sin(ll_graph *g, ll_tensor *x) { return unary(g, LL_OP_SIN, x, 0, 0); }
ll_tensor *ll_cos(ll_graph *g, ll_tensor *x) { return unary(g, LL_OP_COS, x, 0, 0); }
ll_tensor *ll_tanh(ll_graph *g, ll_tensor *x) { return unary(g, LL_OP_TANH, x, 0, 0); }
ll_tensor *ll_sigmoid(ll_graph *g, ll_tensor *x) { return unary(g, LL_OP_SIGMOID, x, 0, 0); }
ll_tensor *ll_softplus(ll_graph *g, ll_tensor *x) { return unary(g, LL_OP_SOFTPLUS, x, 0, 0); }
ll_tensor *ll_gelu(ll_graph *g, ll_tensor *x) { return unary(g, LL_OP_GELU, x, 0, 0); }
ll_tensor *ll_sqrt(ll_graph *g, ll_tensor *x) { return unary(g, LL_OP_SQRT, x, 0, 0); }
ll_tensor *ll_square(ll_graph *g, ll_tensor *x) { return unary(g, LL_OP_SQUARE, x, 0, 0); }
ll_tensor *ll_abs(ll_graph *g, ll_tensor *x) { return unary(g, LL_OP_ABS, x, 0, 0); }
ll_tensor *ll_clamp(ll_graph *g, ll_tensor *x, double lo, double hi) { return unary(g, LL_OP_CLAMP, x, lo, hi); }
ll_tensor *ll_affine(ll_graph *g, ll_tensor *x, double a, double b) { return unary(g, LL_OP_AFFINE, x, a, b); }
ll_tensor *ll_scale(ll_graph *g, ll_tensor *x, double a) { return unary(g, LL_OP_AFFINE, x, a, 0); }
/* clang-format on */

static ll_tensor *binary(ll_graph *g, ll_op op, ll_tensor *a, ll_tensor *b)
{
    ll_shape both;
    if (g->status != LLAP_OK) return NULL;
    ll_tensor *in[] = { a, b };
    if (a != NULL && b != NULL) { /* else the node reports it */
        if (!ll_broadcast_shape(g, op, &a->shape, &b->shape, &both)) return NULL;
        in[0] = ll_expand(g, a, both);
        in[1] = ll_expand(g, b, both);
    }
    return ll_node_add1(g, op, NULL, in, 2);
}

/* clang-format off */
ll_tensor *ll_add(ll_graph *g, ll_tensor *a, ll_tensor *b) { return binary(g, LL_OP_ADD, a, b); }
ll_tensor *ll_sub(ll_graph *g, ll_tensor *a, ll_tensor *b) { return binary(g, LL_OP_SUB, a, b); }
ll_tensor *ll_mul(ll_graph *g, ll_tensor *a, ll_tensor *b) { return binary(g, LL_OP_MUL, a, b); }
ll_tensor *ll_div(ll_graph *g, ll_tensor *a, ll_tensor *b) { return binary(g, LL_OP_DIV, a, b); }
ll_tensor *ll_maximum(ll_graph *g, ll_tensor *a, ll_tensor *b) { return binary(g, LL_OP_MAXIMUM, a, b); }
ll_tensor *ll_minimum(ll_graph *g, ll_tensor *a, ll_tensor *b) { return binary(g, LL_OP_MINIMUM, a, b); }
ll_tensor *ll_at_least(ll_graph *g, ll_tensor *a, ll_tensor *b) { return binary(g, LL_OP_AT_LEAST, a, b); }
ll_tensor *ll_mask(ll_graph *g, ll_tensor *x, ll_tensor *keep) { return binary(g, LL_OP_MASK, x, keep); }
/* clang-format on */

/* -------- the table of all descriptors -------- */

void ll_vjp_detach(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    (void)g, (void)n, (void)dy, (void)dx;
}

#define vjp_gelu_grad NULL
#define vjp_silu_grad NULL
#define vjp_clamp_grad NULL

static const ll_op_desc elementwise_or_view[] = {
#define X(ID, id) \
    [LL_OP_##ID] = { "x", .n_required = 1, .n_out = 1, .layout = "a", .vjp = ll_vjp_##id },
    LL_VIEW_LIST(X)
#undef X
#define X(ID, id)                         \
    [LL_OP_##ID] = { "x",                 \
                     .n_required = 1,     \
                     .n_out = 1,          \
                     .layout = "a",       \
                     .in_place = { 1 },   \
                     .infer = infer_same, \
                     .vjp = vjp_##id },
        LL_UNARY_LIST(X)
#undef X
#define X(ID, id)                                                            \
    [LL_OP_##ID] = { "a b",          .n_required = 2,   .n_out = 1,          \
                     .layout = "a",  .in_place = { 3 }, .infer = infer_same, \
                     .vjp = vjp_##id },
            LL_BINARY_LIST(X)
#undef X
};

static const ll_op_desc *const shaped[LL_OP_COUNT] = {
#define X(ID, id) [LL_OP_##ID] = &ll_desc_##id,
    LL_SHAPED_LIST(X) LL_EXTRA_LIST(X) LL_FUSED_LIST(X) LL_TAKEN_LIST(X)
#undef X
};

const ll_op_desc *ll_op_desc_of(ll_op op)
{
    assert(op < LL_OP_COUNT);
    assert(shaped[op] != NULL || ll_op_is_view(op) || ll_op_is_unary(op) || ll_op_is_binary(op));
    return shaped[op] != NULL ? shaped[op] : &elementwise_or_view[op];
}
