/* A gated recurrent unit over rows of time. */
#include "graph/node.h"

#include <assert.h>

enum { X, WEIGHT, BIAS, FIRST, N_OPERANDS };

static bool infer_gru(ll_graph *g, const ll_node *n, ll_shape *out)
{
    const int64_t h = ll_dim(n->in[WEIGHT], -1);
    if (n->in[X]->shape.rank != 3) return ll_node_fail(g, n, "x expected [B,n,3h]");
    const int64_t b = ll_dim(n->in[X], 0), rows = ll_dim(n->in[X], 1);
    if (!ll_node_expect(g, n, X, LL_SHAPE(b, rows, 3 * h)) ||
        !ll_node_expect(g, n, WEIGHT, LL_SHAPE(3 * h, h)) ||
        !ll_node_expect(g, n, BIAS, LL_SHAPE(3 * h)) ||
        !ll_node_expect(g, n, FIRST, LL_SHAPE(b, h)))
        return false;
    out[0] = LL_SHAPE(b, rows, h);
    out[1] = LL_SHAPE(b, rows, 4 * h); /* r, z, n and g_n, for the gradient */
    return true;
}

/* The gradients of W h + b come from the kernel; those of W and b are products and sums of them. */
static void vjp_gru(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    assert(dy[0] != NULL && dy[1] == NULL); /* nobody is given the second result */
    const int64_t b = ll_dim(n->out[0], 0), rows = ll_dim(n->out[0], 1), h = ll_dim(n->out[0], 2);
    if (rows == 0) return; /* nothing depends on anything */
    ll_node *back =
        ll_node_add(g, LL_OP_GRU_GRAD, &n->attr,
                    (ll_tensor *[]){ n->in[WEIGHT], n->in[FIRST], n->out[0], n->out[1], dy[0] }, 5);
    if (back == NULL) return;
    const bool reverse = n->attr.gru.reverse;
    ll_tensor *first = ll_unsqueeze(g, n->in[FIRST], 1);
    ll_tensor *others = ll_slice(g, n->out[0], 1, reverse ? 1 : 0, rows - 1);
    ll_tensor *before =
        ll_concat(g, (ll_tensor *[]){ reverse ? others : first, reverse ? first : others }, 2, 1);
    ll_tensor *dg = ll_reshape(g, back->out[1], LL_SHAPE(b * rows, 3 * h));
    dx[X] = back->out[0];
    dx[WEIGHT] = ll_matmul(g, dg, true, ll_reshape(g, before, LL_SHAPE(b * rows, h)), false);
    dx[BIAS] = ll_reshape(g, ll_sum(g, dg, LL_AXIS(0)), LL_SHAPE(3 * h));
    dx[FIRST] = back->out[2];
}

const ll_op_desc ll_desc_gru = { "x weight bias first", .n_required = N_OPERANDS, .n_out = 2,
                                 .layout = "d",         .infer = infer_gru,       .vjp = vjp_gru };

static bool infer_gru_grad(ll_graph *g, const ll_node *n, ll_shape *out)
{
    (void)g;
    const ll_shape *y = &n->in[2]->shape;
    out[0] = out[1] = LL_SHAPE(y->dim[0], y->dim[1], 3 * y->dim[2]); /* of x, and of W h + b */
    out[2] = LL_SHAPE(y->dim[0], y->dim[2]);
    return true;
}

const ll_op_desc ll_desc_gru_grad = { "weight first y gates dy", .n_required = 5, .n_out = 3,
                                      .layout = "d", .infer = infer_gru_grad };

ll_tensor *ll_gru(ll_graph *g, ll_tensor *x, ll_tensor *weight, ll_tensor *bias, ll_tensor *first,
                  bool reverse)
{
    if (g->status != LLAP_OK || x == NULL || weight == NULL || bias == NULL) return NULL;
    if (first == NULL) first = ll_full(g, LL_SHAPE(ll_dim(x, 0), ll_dim(weight, -1)), 0.0);
    const ll_attr attr = { .gru = { reverse } };
    return ll_node_add1(g, LL_OP_GRU, &attr, (ll_tensor *[]){ x, weight, bias, first }, N_OPERANDS);
}
