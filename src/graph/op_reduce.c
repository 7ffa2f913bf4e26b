/* Sums, means and maxima over chosen axes, which stay with length 1. */
#include "graph/node.h"

#include <assert.h>

static bool infer_reduce(ll_graph *g, const ll_node *n, ll_shape *out)
{
    (void)g;
    *out = n->in[0]->shape;
    assert(n->attr.reduce.axes != 0 && n->attr.reduce.axes >> out->rank == 0);
    for (int i = 0; i < out->rank; i++)
        if ((n->attr.reduce.axes & LL_AXIS(i)) != 0) out->dim[i] = 1;
    return true;
}

static void vjp_sum(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    dx[0] = ll_expand(g, dy[0], n->in[0]->shape);
}

const ll_op_desc ll_desc_sum = { "x",           .n_required = 1,       .n_out = 1,
                                 .layout = "d", .infer = infer_reduce, .vjp = vjp_sum };

/* All that reach the maximum share the gradient evenly. */
static void vjp_max(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    ll_tensor *top = ll_at_least(g, n->in[0], n->out[0]);
    ll_tensor *ties = ll_sum(g, top, n->attr.reduce.axes);
    dx[0] = ll_mul(g, top, ll_div(g, dy[0], ties));
}

static bool infer_squares(ll_graph *g, const ll_node *n, ll_shape *out)
{
    (void)g, (void)n;
    *out = LL_SCALAR;
    return true;
}

static void vjp_squares(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    for (int i = 0; i < n->n_in; i++) dx[i] = ll_mul(g, ll_scale(g, n->in[i], 2.0), dy[0]);
}

const ll_op_desc ll_desc_squares = { "x",           .n_required = 1 << 20,  .n_out = 1,
                                     .layout = "d", .infer = infer_squares, .vjp = vjp_squares };

static bool infer_max(ll_graph *g, const ll_node *n, ll_shape *out)
{
    for (int i = 0; i < n->in[0]->shape.rank; i++)
        if ((n->attr.reduce.axes & LL_AXIS(i)) != 0 && n->in[0]->shape.dim[i] == 0)
            return ll_node_fail(g, n, "nothing has no maximum");
    return infer_reduce(g, n, out);
}

const ll_op_desc ll_desc_max = { "x",           .n_required = 1,    .n_out = 1,
                                 .layout = "a", .infer = infer_max, .vjp = vjp_max };

static ll_tensor *reduce(ll_graph *g, ll_op op, ll_tensor *x, unsigned axes)
{
    if (x != NULL) axes &= LL_AXIS(x->shape.rank) - 1u;
    if (x != NULL && axes == 0) return x;
    const ll_attr attr = { .reduce = { axes } };
    return ll_node_add1(g, op, &attr, &x, 1);
}

ll_tensor *ll_sum(ll_graph *g, ll_tensor *x, unsigned axes)
{
    return reduce(g, LL_OP_SUM, x, axes);
}

ll_tensor *ll_max(ll_graph *g, ll_tensor *x, unsigned axes)
{
    return reduce(g, LL_OP_MAX, x, axes);
}

ll_tensor *ll_squares(ll_graph *g, ll_tensor *const *x, int n)
{
    return ll_node_add1(g, LL_OP_SQUARES, NULL, x, n);
}

ll_tensor *ll_mean(ll_graph *g, ll_tensor *x, unsigned axes)
{
    ll_tensor *sum = ll_sum(g, x, axes);
    if (sum == NULL) return NULL;
    const int64_t left = ll_shape_count(&sum->shape), all = ll_shape_count(&x->shape);
    return ll_scale(g, sum, all == 0 ? 0.0 : (double)left / (double)all);
}

ll_tensor *ll_masked_sum(ll_graph *g, ll_tensor *x, ll_tensor *m, unsigned axes)
{
    return ll_sum(g, ll_mul(g, ll_mask(g, x, m), m), axes);
}

ll_tensor *ll_masked_mean(ll_graph *g, ll_tensor *x, ll_tensor *m, unsigned axes)
{
    ll_tensor *weighted = ll_mul(g, ll_mask(g, x, m), m);
    if (weighted == NULL) return NULL;
    ll_tensor *count = ll_sum(g, ll_expand(g, m, weighted->shape), axes);
    return ll_div(g, ll_sum(g, weighted, axes), ll_maximum(g, count, ll_full(g, LL_SCALAR, 1.0)));
}
