/* Ops of sampling alone: no gradients, and not on every backend. */
#include "graph/node.h"

/* -------- a step -------- */

static bool infer_move(ll_graph *g, const ll_node *n, ll_shape *out)
{
    out[0] = out[1] = n->in[0]->shape;
    return ll_node_rank(g, n, 0, 2) && ll_node_expect(g, n, 1, out[0]) &&
           ll_node_expect(g, n, 2, LL_SHAPE(LL_MOVE_NUMBERS)) && ll_node_expect(g, n, 3, out[0]) &&
           (n->in[4] == NULL || ll_node_expect(g, n, 4, out[0]));
}

const ll_op_desc ll_desc_move = {
    "x before table given free", .n_required = 4,    .n_out = 2, .layout = "d",
    .in_place = { 1, 2 },        .infer = infer_move
};

void ll_move(ll_graph *g, const ll_move_in *in, ll_tensor **next, ll_tensor **x0)
{
    const ll_attr attr = { .move = { .clip = in->clip, .rescale = in->rescale } };
    ll_node      *n =
        ll_node_add(g, LL_OP_MOVE, &attr,
                    (ll_tensor *[]){ in->x, in->before, in->table, in->given, in->free }, 5);
    *next = n == NULL ? NULL : n->out[0];
    *x0 = n == NULL ? NULL : n->out[1];
}

/* -------- a gated layer and the head -------- */

enum { BASIS, THETA, NORM, IN = 4, OUT = 6, HEAD_NORM = 8, HEAD = 10, SKIP = 12 };

static bool expect_pair(ll_graph *g, const ll_node *n, int i, ll_shape weight, int64_t bias)
{
    return ll_node_expect(g, n, i, weight) && ll_node_expect(g, n, i + 1, LL_SHAPE(bias));
}

static bool infer_gated(ll_graph *g, const ll_node *n, ll_shape *out)
{
    if (!ll_node_rank(g, n, BASIS, 4) || !ll_node_rank(g, n, THETA, 4) ||
        !ll_node_rank(g, n, OUT, 2))
        return false;
    const ll_shape *theta = &n->in[THETA]->shape, *basis = &n->in[BASIS]->shape;
    const int64_t   z = theta->dim[3], h = ll_dim(n->in[OUT], -1);
    *out = LL_SHAPE(theta->dim[0], theta->dim[1], basis->dim[2], z);
    return ll_node_expect(g, n, BASIS, LL_SHAPE(theta->dim[0], 1, basis->dim[2], theta->dim[2])) &&
           expect_pair(g, n, NORM, LL_SHAPE(z), z) &&
           expect_pair(g, n, IN, LL_SHAPE(2 * h, z), 2 * h) &&
           expect_pair(g, n, OUT, LL_SHAPE(z, h), z) &&
           expect_pair(g, n, HEAD_NORM, LL_SHAPE(z), z) &&
           expect_pair(g, n, HEAD, LL_SHAPE(z, z), z) && ll_node_expect(g, n, SKIP, LL_SCALAR);
}

const ll_op_desc ll_desc_gated = {
    "basis theta norm_weight norm_bias in_weight in_bias out_weight out_bias head_norm_weight "
    "head_norm_bias head_weight head_bias skip",
    .n_required = SKIP + 1, .n_out = 1, .layout = "d", .infer = infer_gated
};

ll_tensor *ll_gated(ll_graph *g, const ll_gated_in *in, double eps)
{
    const ll_attr attr = { .norm = { .eps = eps } };
    return ll_node_add1(g, LL_OP_GATED, &attr,
                        (ll_tensor *[]){ in->basis, in->theta, in->norm[0], in->norm[1], in->in[0],
                                         in->in[1], in->out[0], in->out[1], in->head_norm[0],
                                         in->head_norm[1], in->head[0], in->head[1], in->skip },
                        SKIP + 1);
}
