/* Elementwise ops. Operands broadcast by becoming views of the common shape, so that kernels see
 * equal shapes and only expand has a reduction in its gradient. */
#include "graph/node.h"

#include <string.h>

static bool infer_same(llap_graph *g, const llap_node *n, llap_shape *out)
{
    *out = n->in[0]->shape;
    return n->n_in < 2 || llap_node_expect(g, n, 1, *out);
}

#define VJP(id)                                                                     \
    static void vjp_##id(llap_graph *g, const llap_node *n, llap_tensor *const *dy, \
                         llap_tensor **dx)

static llap_tensor *grad_op(llap_graph *g, llap_op op, const llap_node *n, llap_tensor *dy)
{
    return llap_node_add1(g, op, &n->attr, (llap_tensor *[]){ n->in[0], dy }, 2);
}

VJP(copy) { (void)g, (void)n, dx[0] = dy[0]; }
VJP(neg) { (void)n, dx[0] = llap_neg(g, dy[0]); }
VJP(exp) { dx[0] = llap_mul(g, dy[0], n->out[0]); }
VJP(log) { dx[0] = llap_div(g, dy[0], n->in[0]); }
VJP(sin) { dx[0] = llap_mul(g, dy[0], llap_cos(g, n->in[0])); }
VJP(cos) { dx[0] = llap_neg(g, llap_mul(g, dy[0], llap_sin(g, n->in[0]))); }
VJP(tanh) { dx[0] = llap_mul(g, dy[0], llap_affine(g, llap_square(g, n->out[0]), -1.0, 1.0)); }
VJP(sigmoid)
{
    dx[0] = llap_mul(g, llap_mul(g, dy[0], n->out[0]), llap_affine(g, n->out[0], -1.0, 1.0));
}
VJP(silu) { dx[0] = grad_op(g, LLAP_OP_SILU_GRAD, n, dy[0]); }
VJP(softplus) { dx[0] = llap_mul(g, dy[0], llap_sigmoid(g, n->in[0])); }
VJP(gelu) { dx[0] = grad_op(g, LLAP_OP_GELU_GRAD, n, dy[0]); }
VJP(sqrt) { dx[0] = llap_div(g, llap_scale(g, dy[0], 0.5), n->out[0]); }
VJP(square) { dx[0] = llap_mul(g, llap_scale(g, dy[0], 2.0), n->in[0]); }
VJP(abs) { dx[0] = llap_mul(g, dy[0], llap_node_add1(g, LLAP_OP_SIGN, NULL, n->in, 1)); }
VJP(sign) { (void)g, (void)n, (void)dy, (void)dx; } /* 0 almost everywhere */
VJP(clamp) { dx[0] = grad_op(g, LLAP_OP_CLAMP_GRAD, n, dy[0]); }
VJP(affine) { dx[0] = llap_scale(g, dy[0], n->attr.scalar.a); }

VJP(add) { (void)g, (void)n, dx[0] = dx[1] = dy[0]; }
VJP(sub) { (void)n, dx[0] = dy[0], dx[1] = llap_neg(g, dy[0]); }
VJP(mul)
{
    dx[0] = llap_mul(g, dy[0], n->in[1]);
    dx[1] = llap_mul(g, dy[0], n->in[0]);
}
VJP(div)
{
    dx[0] = llap_div(g, dy[0], n->in[1]);
    dx[1] = llap_neg(g, llap_div(g, llap_mul(g, dy[0], n->out[0]), n->in[1]));
}
/* At a tie the first operand takes the gradient. */
VJP(maximum)
{
    llap_tensor *first = llap_at_least(g, n->in[0], n->in[1]);
    dx[0] = llap_mul(g, dy[0], first);
    dx[1] = llap_sub(g, dy[0], dx[0]);
}
VJP(minimum)
{
    llap_tensor *first = llap_at_least(g, n->in[1], n->in[0]);
    dx[0] = llap_mul(g, dy[0], first);
    dx[1] = llap_sub(g, dy[0], dx[0]);
}
VJP(at_least) { (void)g, (void)n, (void)dy, (void)dx; }
VJP(mask) { dx[0] = llap_mask(g, dy[0], n->in[1]); }

static llap_tensor *unary(llap_graph *g, llap_op op, llap_tensor *x, double a, double b)
{
    const llap_attr attr = { .scalar = { a, b } };
    return llap_node_add1(g, op, &attr, &x, 1);
}

/* AdaLN asks for the same one in every block: it is computed once. */
llap_tensor *llap_silu(llap_graph *g, llap_tensor *x)
{
    for (int i = g->n_nodes - 1; g->status == LLAP_OK && x != NULL && i >= 0; i--)
        if (g->node[i]->op == LLAP_OP_SILU && g->node[i]->in[0] == x) return g->node[i]->out[0];
    return unary(g, LLAP_OP_SILU, x, 0, 0);
}

/* clang-format off */
llap_tensor *llap_neg(llap_graph *g, llap_tensor *x) { return unary(g, LLAP_OP_NEG, x, 0, 0); }
llap_tensor *llap_exp(llap_graph *g, llap_tensor *x) { return unary(g, LLAP_OP_EXP, x, 0, 0); }
llap_tensor *llap_ln(llap_graph *g, llap_tensor *x) { return unary(g, LLAP_OP_LOG, x, 0, 0); }
llap_tensor *llap_sin(llap_graph *g, llap_tensor *x) { return unary(g, LLAP_OP_SIN, x, 0, 0); }
llap_tensor *llap_cos(llap_graph *g, llap_tensor *x) { return unary(g, LLAP_OP_COS, x, 0, 0); }
llap_tensor *llap_tanh(llap_graph *g, llap_tensor *x) { return unary(g, LLAP_OP_TANH, x, 0, 0); }
llap_tensor *llap_sigmoid(llap_graph *g, llap_tensor *x) { return unary(g, LLAP_OP_SIGMOID, x, 0, 0); }
llap_tensor *llap_softplus(llap_graph *g, llap_tensor *x) { return unary(g, LLAP_OP_SOFTPLUS, x, 0, 0); }
llap_tensor *llap_gelu(llap_graph *g, llap_tensor *x) { return unary(g, LLAP_OP_GELU, x, 0, 0); }
llap_tensor *llap_sqrt(llap_graph *g, llap_tensor *x) { return unary(g, LLAP_OP_SQRT, x, 0, 0); }
llap_tensor *llap_square(llap_graph *g, llap_tensor *x) { return unary(g, LLAP_OP_SQUARE, x, 0, 0); }
llap_tensor *llap_abs(llap_graph *g, llap_tensor *x) { return unary(g, LLAP_OP_ABS, x, 0, 0); }
llap_tensor *llap_clamp(llap_graph *g, llap_tensor *x, double lo, double hi) { return unary(g, LLAP_OP_CLAMP, x, lo, hi); }
llap_tensor *llap_affine(llap_graph *g, llap_tensor *x, double a, double b) { return unary(g, LLAP_OP_AFFINE, x, a, b); }
llap_tensor *llap_scale(llap_graph *g, llap_tensor *x, double a) { return unary(g, LLAP_OP_AFFINE, x, a, 0); }
/* clang-format on */

static llap_tensor *binary(llap_graph *g, llap_op op, llap_tensor *a, llap_tensor *b)
{
    llap_shape both;
    if (g->status != LLAP_OK) return NULL;
    llap_tensor *in[] = { a, b };
    if (a != NULL && b != NULL) { /* else the node reports it */
        if (!llap_broadcast_shape(g, op, &a->shape, &b->shape, &both)) return NULL;
        in[0] = llap_expand(g, a, both);
        in[1] = llap_expand(g, b, both);
    }
    return llap_node_add1(g, op, NULL, in, 2);
}

/* clang-format off */
llap_tensor *llap_add(llap_graph *g, llap_tensor *a, llap_tensor *b) { return binary(g, LLAP_OP_ADD, a, b); }
llap_tensor *llap_sub(llap_graph *g, llap_tensor *a, llap_tensor *b) { return binary(g, LLAP_OP_SUB, a, b); }
llap_tensor *llap_mul(llap_graph *g, llap_tensor *a, llap_tensor *b) { return binary(g, LLAP_OP_MUL, a, b); }
llap_tensor *llap_div(llap_graph *g, llap_tensor *a, llap_tensor *b) { return binary(g, LLAP_OP_DIV, a, b); }
llap_tensor *llap_maximum(llap_graph *g, llap_tensor *a, llap_tensor *b) { return binary(g, LLAP_OP_MAXIMUM, a, b); }
llap_tensor *llap_minimum(llap_graph *g, llap_tensor *a, llap_tensor *b) { return binary(g, LLAP_OP_MINIMUM, a, b); }
llap_tensor *llap_at_least(llap_graph *g, llap_tensor *a, llap_tensor *b) { return binary(g, LLAP_OP_AT_LEAST, a, b); }
llap_tensor *llap_mask(llap_graph *g, llap_tensor *x, llap_tensor *keep) { return binary(g, LLAP_OP_MASK, x, keep); }
/* clang-format on */

/* -------- the table of all descriptors -------- */

void llap_vjp_detach(llap_graph *g, const llap_node *n, llap_tensor *const *dy, llap_tensor **dx)
{
    (void)g, (void)n, (void)dy, (void)dx;
}

#define vjp_gelu_grad NULL
#define vjp_silu_grad NULL
#define vjp_clamp_grad NULL

static const llap_op_desc elementwise_or_view[] = {
#define X(ID, id) \
    [LLAP_OP_##ID] = { "x", .n_required = 1, .n_out = 1, .layout = "a", .vjp = llap_vjp_##id },
    LLAP_VIEW_LIST(X)
#undef X
#define X(ID, id)                           \
    [LLAP_OP_##ID] = { "x",                 \
                       .n_required = 1,     \
                       .n_out = 1,          \
                       .layout = "a",       \
                       .in_place = { 1 },   \
                       .infer = infer_same, \
                       .vjp = vjp_##id },
        LLAP_UNARY_LIST(X)
#undef X
#define X(ID, id)                                                              \
    [LLAP_OP_##ID] = { "a b",          .n_required = 2,   .n_out = 1,          \
                       .layout = "a",  .in_place = { 3 }, .infer = infer_same, \
                       .vjp = vjp_##id },
            LLAP_BINARY_LIST(X)
#undef X
};

static const llap_op_desc *const shaped[LLAP_OP_COUNT] = {
#define X(ID, id) [LLAP_OP_##ID] = &llap_desc_##id,
    LLAP_SHAPED_LIST(X) LLAP_EXTRA_LIST(X) LLAP_FUSED_LIST(X) LLAP_TAKEN_LIST(X)
#undef X
};

const llap_op_desc *llap_op_desc_of(llap_op op)
{
    return shaped[op] != NULL ? shaped[op] : &elementwise_or_view[op];
}
