/* Ops of sampling alone: no gradients, and not on every backend. */
#include "graph/node.h"

/* -------- a step -------- */

static bool infer_move(llap_graph *g, const llap_node *n, llap_shape *out)
{
    out[0] = out[1] = n->in[0]->shape;
    return llap_node_rank(g, n, 0, 2) && llap_node_expect(g, n, 1, out[0]) &&
           llap_node_expect(g, n, 2, LLAP_SHAPE(LLAP_MOVE_NUMBERS)) &&
           llap_node_expect(g, n, 3, out[0]) &&
           (n->in[4] == NULL || llap_node_expect(g, n, 4, out[0]));
}

const llap_op_desc llap_desc_move = {
    "x before table given free", .n_required = 4,    .n_out = 2, .layout = "d",
    .in_place = { 1, 2 },        .infer = infer_move
};

void llap_move(llap_graph *g, const llap_move_in *in, llap_tensor **next, llap_tensor **x0)
{
    const llap_attr attr = { .move = { .clip = in->clip, .rescale = in->rescale } };
    llap_node      *n =
        llap_node_add(g, LLAP_OP_MOVE, &attr,
                      (llap_tensor *[]){ in->x, in->before, in->table, in->given, in->free }, 5);
    *next = n == NULL ? NULL : n->out[0];
    *x0 = n == NULL ? NULL : n->out[1];
}

/* -------- a gated layer and the head -------- */

enum { BASIS, THETA, NORM, IN = 4, OUT = 6, HEAD_NORM = 8, HEAD = 10, SKIP = 12 };

static bool expect_pair(llap_graph *g, const llap_node *n, int i, llap_shape weight, int64_t bias)
{
    return llap_node_expect(g, n, i, weight) && llap_node_expect(g, n, i + 1, LLAP_SHAPE(bias));
}

static bool infer_gated(llap_graph *g, const llap_node *n, llap_shape *out)
{
    if (!llap_node_rank(g, n, BASIS, 4) || !llap_node_rank(g, n, THETA, 4) ||
        !llap_node_rank(g, n, OUT, 2))
        return false;
    const llap_shape *theta = &n->in[THETA]->shape, *basis = &n->in[BASIS]->shape;
    const int64_t     z = theta->dim[3], h = llap_dim(n->in[OUT], -1);
    *out = LLAP_SHAPE(theta->dim[0], theta->dim[1], basis->dim[2], z);
    return llap_node_expect(g, n, BASIS,
                            LLAP_SHAPE(theta->dim[0], 1, basis->dim[2], theta->dim[2])) &&
           expect_pair(g, n, NORM, LLAP_SHAPE(z), z) &&
           expect_pair(g, n, IN, LLAP_SHAPE(2 * h, z), 2 * h) &&
           expect_pair(g, n, OUT, LLAP_SHAPE(z, h), z) &&
           expect_pair(g, n, HEAD_NORM, LLAP_SHAPE(z), z) &&
           expect_pair(g, n, HEAD, LLAP_SHAPE(z, z), z) &&
           llap_node_expect(g, n, SKIP, LLAP_SCALAR);
}

const llap_op_desc llap_desc_gated = {
    "basis theta norm_weight norm_bias in_weight in_bias out_weight out_bias head_norm_weight "
    "head_norm_bias head_weight head_bias skip",
    .n_required = SKIP + 1, .n_out = 1, .layout = "d", .infer = infer_gated
};

llap_tensor *llap_gated(llap_graph *g, const llap_gated_in *in, double eps)
{
    const llap_attr attr = { .norm = { .eps = eps } };
    return llap_node_add1(g, LLAP_OP_GATED, &attr,
                          (llap_tensor *[]){ in->basis, in->theta, in->norm[0], in->norm[1],
                                             in->in[0], in->in[1], in->out[0], in->out[1],
                                             in->head_norm[0], in->head_norm[1], in->head[0],
                                             in->head[1], in->skip },
                          SKIP + 1);
}
