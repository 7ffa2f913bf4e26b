/* Normalisation over the last axis: softmax, layer norm with affine or modulation. */
#include "graph/node.h"

#include <assert.h>

static bool infer_softmax(ll_graph *g, const ll_node *n, ll_shape *out)
{
    *out = n->in[0]->shape;
    return ll_node_rank(g, n, 0, 1);
}

static void vjp_softmax(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    dx[0] = ll_node_add1(g, LL_OP_SOFTMAX_GRAD, NULL, (ll_tensor *[]){ n->out[0], dy[0] }, 2);
}

const ll_op_desc ll_desc_softmax = { "x",
                                     .n_required = 1,
                                     .n_out = 1,
                                     .layout = "d",
                                     .in_place = { 1 },
                                     .infer = infer_softmax,
                                     .vjp = vjp_softmax };

const ll_op_desc ll_desc_softmax_grad = {
    "y dy", .n_required = 2, .n_out = 1, .layout = "d", .in_place = { 2 }, .infer = infer_softmax
};

ll_tensor *ll_softmax(ll_graph *g, ll_tensor *x)
{
    return ll_node_add1(g, LL_OP_SOFTMAX, NULL, &x, 1);
}

/* -------- layer norm: x, weight, bias (both or neither) -> y. Weight and bias are [x's first axes,
 * 1, .., 1, n]: a row of them holds for a run of rows of x. align_operands makes them so. --------
 */

static bool infer_norm(ll_graph *g, const ll_node *n, ll_shape *out)
{
    if (!ll_node_rank(g, n, 0, 1)) return false;
    *out = n->in[0]->shape;
    if ((n->in[1] == NULL) != (n->in[2] == NULL))
        return ll_node_fail(g, n, "weight and bias expected both or neither");
    if (n->in[1] == NULL) return true;
    ll_shape expected = *out;
    for (int i = 0; i < out->rank - 1; i++) expected.dim[i] = ll_dim(n->in[1], i);
    return ll_node_expect(g, n, 1, expected) && ll_node_expect(g, n, 2, expected);
}

static void vjp_norm(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    ll_tensor *w = n->in[1], *b = n->in[2];
    ll_node   *back =
        ll_node_add(g, LL_OP_NORM_GRAD, &n->attr, (ll_tensor *[]){ n->in[0], dy[0], w, b }, 4);
    if (back == NULL) return;
    dx[0] = back->out[0];
    if (w != NULL) dx[1] = back->out[1];
    if (b != NULL) dx[2] = back->out[2];
}

const ll_op_desc ll_desc_norm = { "x weight bias", .n_required = 1,   .n_out = 1,
                                  .layout = "drr", .in_place = { 1 }, .infer = infer_norm,
                                  .vjp = vjp_norm };

/* x, dy, weight?, bias? -> dx, dweight, dbias (empty where the operand is absent); what is added to
 * dx may be a fifth operand, which the planner makes */
static bool infer_norm_grad(ll_graph *g, const ll_node *n, ll_shape *out)
{
    (void)g;
    assert(n->n_in == 4);
    out[0] = n->in[0]->shape;
    out[1] = n->in[2] == NULL ? LL_SHAPE(0) : n->in[2]->shape;
    out[2] = n->in[3] == NULL ? LL_SHAPE(0) : n->in[3]->shape;
    return true;
}

const ll_op_desc ll_desc_norm_grad = { "x dy weight bias", .n_required = 2, .n_out = 3,
                                       .layout = "ddrr", .infer = infer_norm_grad };

/* Gives w leading axes of length 1 up to x's rank. */
static ll_tensor *align_rank(ll_graph *g, ll_tensor *w, const ll_tensor *x)
{
    if (w == NULL || w->shape.rank >= x->shape.rank) return w;
    ll_shape  s = { .rank = x->shape.rank };
    const int lead = s.rank - w->shape.rank;
    for (int i = 0; i < s.rank; i++) s.dim[i] = i < lead ? 1 : w->shape.dim[i - lead];
    return ll_reshape(g, w, s);
}

/* Brings weight and bias to the form above: x's axes up to the last one in which either varies. */
static void align_operands(ll_graph *g, const ll_tensor *x, ll_tensor **w, ll_tensor **b)
{
    ll_shape s = x->shape, both;
    bool     varies = false;
    *w = align_rank(g, *w, x);
    *b = align_rank(g, *b, x);
    if (*w == NULL || *b == NULL) return;
    if (!ll_broadcast_shape(g, LL_OP_NORM, &(*w)->shape, &(*b)->shape, &both)) return;
    if (both.rank != s.rank) return; /* the shape rule reports it */
    for (int i = s.rank - 2; i >= 0; i--) {
        if (both.dim[i] != 1) varies = true;
        if (!varies) s.dim[i] = 1;
    }
    *w = ll_expand(g, *w, s);
    *b = ll_expand(g, *b, s);
}

static ll_tensor *norm(ll_graph *g, ll_tensor *x, ll_tensor *w, ll_tensor *b, double eps,
                       double offset)
{
    if (g->status != LLAP_OK || x == NULL) return NULL;
    const ll_attr attr = { .norm = { eps, offset } };
    align_operands(g, x, &w, &b);
    return ll_node_add1(g, LL_OP_NORM, &attr, (ll_tensor *[]){ x, w, b }, 3);
}

ll_tensor *ll_layer_norm(ll_graph *g, ll_tensor *x, ll_tensor *weight, ll_tensor *bias, double eps)
{
    return norm(g, x, weight, bias, eps, 0.0);
}

ll_tensor *ll_modulated_norm(ll_graph *g, ll_tensor *x, ll_tensor *scale, ll_tensor *shift,
                             double eps)
{
    return norm(g, x, scale, shift, eps, 1.0);
}
