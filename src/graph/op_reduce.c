/* Sums, means and maxima over chosen axes, which stay with length 1. */
#include "graph/node.h"

static bool infer_reduce(llap_graph *g, const llap_node *n, llap_shape *out)
{
    (void)g;
    *out = n->in[0]->shape;
    for (int i = 0; i < out->rank; i++)
        if ((n->attr.reduce.axes & LLAP_AXIS(i)) != 0) out->dim[i] = 1;
    return true;
}

static void vjp_sum(llap_graph *g, const llap_node *n, llap_tensor *const *dy, llap_tensor **dx)
{
    dx[0] = llap_expand(g, dy[0], n->in[0]->shape);
}

const llap_op_desc llap_desc_sum = { "x",           .n_required = 1,       .n_out = 1,
                                     .layout = "d", .infer = infer_reduce, .vjp = vjp_sum };

/* All that reach the maximum share the gradient evenly. */
static void vjp_max(llap_graph *g, const llap_node *n, llap_tensor *const *dy, llap_tensor **dx)
{
    llap_tensor *top = llap_at_least(g, n->in[0], n->out[0]);
    llap_tensor *ties = llap_sum(g, top, n->attr.reduce.axes);
    dx[0] = llap_mul(g, top, llap_div(g, dy[0], ties));
}

static bool infer_squares(llap_graph *g, const llap_node *n, llap_shape *out)
{
    (void)g, (void)n;
    *out = LLAP_SCALAR;
    return true;
}

static void vjp_squares(llap_graph *g, const llap_node *n, llap_tensor *const *dy, llap_tensor **dx)
{
    for (int i = 0; i < n->n_in; i++) dx[i] = llap_mul(g, llap_scale(g, n->in[i], 2.0), dy[0]);
}

const llap_op_desc llap_desc_squares = {
    "x",           .n_required = 1 << 20,  .n_out = 1,
    .layout = "d", .infer = infer_squares, .vjp = vjp_squares
};

static bool infer_max(llap_graph *g, const llap_node *n, llap_shape *out)
{
    for (int i = 0; i < n->in[0]->shape.rank; i++)
        if ((n->attr.reduce.axes & LLAP_AXIS(i)) != 0 && n->in[0]->shape.dim[i] == 0)
            return llap_node_fail(g, n, "nothing has no maximum");
    return infer_reduce(g, n, out);
}

const llap_op_desc llap_desc_max = { "x",           .n_required = 1,    .n_out = 1,
                                     .layout = "a", .infer = infer_max, .vjp = vjp_max };

static llap_tensor *reduce(llap_graph *g, llap_op op, llap_tensor *x, unsigned axes)
{
    if (x != NULL) axes &= LLAP_AXIS(x->shape.rank) - 1u;
    if (x != NULL && axes == 0) return x;
    const llap_attr attr = { .reduce = { axes } };
    return llap_node_add1(g, op, &attr, &x, 1);
}

llap_tensor *llap_sum(llap_graph *g, llap_tensor *x, unsigned axes)
{
    return reduce(g, LLAP_OP_SUM, x, axes);
}

llap_tensor *llap_max(llap_graph *g, llap_tensor *x, unsigned axes)
{
    return reduce(g, LLAP_OP_MAX, x, axes);
}

llap_tensor *llap_squares(llap_graph *g, llap_tensor *const *x, int n)
{
    return llap_node_add1(g, LLAP_OP_SQUARES, NULL, x, n);
}

llap_tensor *llap_mean(llap_graph *g, llap_tensor *x, unsigned axes)
{
    llap_tensor *sum = llap_sum(g, x, axes);
    if (sum == NULL) return NULL;
    const int64_t left = llap_shape_count(&sum->shape), all = llap_shape_count(&x->shape);
    return llap_scale(g, sum, all == 0 ? 0.0 : (double)left / (double)all);
}

llap_tensor *llap_masked_sum(llap_graph *g, llap_tensor *x, llap_tensor *m, unsigned axes)
{
    return llap_sum(g, llap_mul(g, llap_mask(g, x, m), m), axes);
}

llap_tensor *llap_masked_mean(llap_graph *g, llap_tensor *x, llap_tensor *m, unsigned axes)
{
    llap_tensor *weighted = llap_mul(g, llap_mask(g, x, m), m);
    if (weighted == NULL) return NULL;
    llap_tensor *count = llap_sum(g, llap_expand(g, m, weighted->shape), axes);
    return llap_div(g, llap_sum(g, weighted, axes),
                    llap_maximum(g, count, llap_full(g, LLAP_SCALAR, 1.0)));
}
