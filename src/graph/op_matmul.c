/* Matrix products: batched matmul, linear layers, convolution as windows times weight. */
#include "graph/node.h"

#include <assert.h>

static bool infer_matmul(ll_graph *g, const ll_node *n, ll_shape *out)
{
    if (!ll_node_rank(g, n, 0, 2) || !ll_node_rank(g, n, 1, 2)) return false;
    const ll_shape *a = &n->in[0]->shape, *b = &n->in[1]->shape;
    const int       r = a->rank;
    const int64_t   m = a->dim[n->attr.matmul.ta ? r - 1 : r - 2];
    const int64_t   k = a->dim[n->attr.matmul.ta ? r - 2 : r - 1];
    const int64_t   cols = b->dim[n->attr.matmul.tb ? b->rank - 2 : b->rank - 1];
    ll_shape        expected = *a;
    expected.dim[r - 2] = n->attr.matmul.tb ? cols : k;
    expected.dim[r - 1] = n->attr.matmul.tb ? k : cols;
    if (!ll_node_expect(g, n, 1, expected)) return false;
    *out = *a;
    out->dim[r - 2] = m;
    out->dim[r - 1] = cols;
    return true;
}

static void vjp_matmul(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    ll_tensor *a = n->in[0], *b = n->in[1], *d = dy[0];
    const bool ta = n->attr.matmul.ta, tb = n->attr.matmul.tb;
    dx[0] = ta ? ll_matmul(g, b, tb, d, true) : ll_matmul(g, d, false, b, !tb);
    dx[1] = tb ? ll_matmul(g, d, true, a, ta) : ll_matmul(g, a, !ta, d, false);
}

const ll_op_desc ll_desc_matmul = { "a b",         .n_required = 2,       .n_out = 1,
                                    .layout = "r", .infer = infer_matmul, .vjp = vjp_matmul };

ll_tensor *ll_matmul(ll_graph *g, ll_tensor *a, bool ta, ll_tensor *b, bool tb)
{
    if (g->status != LLAP_OK) return NULL;
    const ll_attr attr = { .matmul = { ta, tb } };
    ll_tensor    *in[] = { a, b };
    ll_shape      lead;
    if (a != NULL && b != NULL && a->shape.rank >= 2 && b->shape.rank >= 2) {
        if (!ll_broadcast_lead(g, LL_OP_MATMUL, in, (int[]){ 2, 2 }, 2, &lead)) return NULL;
        in[0] = ll_expand_lead(g, a, &lead, 2);
        in[1] = ll_expand_lead(g, b, &lead, 2);
    }
    return ll_node_add1(g, LL_OP_MATMUL, &attr, in, 2);
}

/* -------- linear -------- */

static bool infer_linear(ll_graph *g, const ll_node *n, ll_shape *out)
{
    if (!ll_node_rank(g, n, 0, 1) || !ll_node_rank(g, n, 1, 1)) return false;
    *out = n->in[0]->shape;
    const int64_t width = n->in[1]->shape.dim[0];
    if (!ll_node_expect(g, n, 1, LL_SHAPE(width, out->dim[out->rank - 1]))) return false;
    out->dim[out->rank - 1] = width;
    if (n->n_in > 2 && n->in[2] != NULL && !ll_node_expect(g, n, 2, LL_SHAPE(width))) return false;
    return n->n_in < 4 || n->in[3] == NULL || ll_node_expect(g, n, 3, *out);
}

/* Fused forms are made by the planner, after differentiation: here there is only x W^T + b. */
static void vjp_linear(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    assert(n->n_in <= 3 && !n->attr.linear.gelu);
    ll_tensor    *x = n->in[0], *w = n->in[1];
    const int64_t in = w->shape.dim[1], out = w->shape.dim[0];
    ll_tensor    *rows = ll_reshape(g, x, LL_SHAPE(ll_shape_count(&x->shape) / (in ? in : 1), in));
    ll_tensor    *drows = ll_reshape(g, dy[0], LL_SHAPE(ll_dim(rows, 0), out));
    dx[0] = ll_reshape(g, ll_matmul(g, drows, false, w, false), x->shape);
    dx[1] = ll_matmul(g, drows, true, rows, false);
    if (n->n_in > 2 && n->in[2] != NULL)
        dx[2] = ll_reshape(g, ll_sum(g, drows, LL_AXIS(0)), LL_SHAPE(out));
}

const ll_op_desc ll_desc_linear = {
    "x weight bias residual", .n_required = 2,       .n_out = 1,
    .layout = "dddd",         .infer = infer_linear, .vjp = vjp_linear
};

ll_tensor *ll_linear(ll_graph *g, ll_tensor *x, ll_tensor *weight, ll_tensor *bias)
{
    const ll_attr attr = { .linear = { .gelu = false } };
    return ll_node_add1(g, LL_OP_LINEAR, &attr, (ll_tensor *[]){ x, weight, bias },
                        bias == NULL ? 2 : 3);
}

/* -------- behind a norm -------- */

static bool infer_normed(ll_graph *g, const ll_node *n, ll_shape *out)
{
    if (!ll_node_rank(g, n, 0, 2) || !ll_node_rank(g, n, 1, 2)) return false;
    *out = n->in[0]->shape;
    const int     r = out->rank;
    const int64_t width = n->in[1]->shape.dim[0], m = out->dim[r - 2];
    ll_shape      like = *out;
    like.dim[r - 1] = ll_dim(n->in[4], -1);
    if (!ll_node_expect(g, n, 1, LL_SHAPE(width, out->dim[r - 1]))) return false;
    out->dim[r - 1] = width;
    return ll_node_expect(g, n, 2, LL_SHAPE(m, width)) &&
           ll_node_expect(g, n, 3, LL_SHAPE(width)) && ll_node_expect(g, n, 4, like);
}

const ll_op_desc ll_desc_normed = { "x weight table bias like", .n_required = 5, .n_out = 1,
                                    .layout = "d", .infer = infer_normed };

ll_tensor *ll_normed(ll_graph *g, ll_tensor *x, ll_tensor *weight, ll_tensor *table,
                     ll_tensor *bias, ll_tensor *like, double eps)
{
    const ll_attr attr = { .norm = { .eps = eps } };
    return ll_node_add1(g, LL_OP_NORMED, &attr, (ll_tensor *[]){ x, weight, table, bias, like }, 5);
}

/* -------- layers one behind the other, made by the planner -------- */

static bool infer_layers(ll_graph *g, const ll_node *n, ll_shape *out)
{
    (void)g;
    *out = n->in[0]->shape;
    return true;
}

const ll_op_desc ll_desc_layers = { "x", .n_required = 1, .n_out = 1, .layout = "a",
                                    .infer = infer_layers };

/* -------- two layers, made by the planner -------- */

static bool infer_mlp(ll_graph *g, const ll_node *n, ll_shape *out)
{
    (void)g;
    *out = n->in[0]->shape;
    out->dim[out->rank - 1] = n->in[5]->shape.dim[0];
    return true;
}

const ll_op_desc ll_desc_mlp = { "x norm_weight norm_bias up up_bias down down_bias residual",
                                 .n_required = 7, .n_out = 1, .layout = "drrd",
                                 .infer = infer_mlp };

/* -------- convolution -------- */

/* x [...,l,c] -> [...,l,c width]: element c width + k is x at time j + k - (width - 1) / 2. */
static bool infer_unfold(ll_graph *g, const ll_node *n, ll_shape *out)
{
    if (!ll_node_rank(g, n, 0, 2)) return false;
    if (n->attr.unfold.width < 1 || n->attr.unfold.width % 2 == 0)
        return ll_node_fail(g, n, "width expected odd, found %d", n->attr.unfold.width);
    *out = n->in[0]->shape;
    out->dim[out->rank - 1] *= n->attr.unfold.width;
    return true;
}

static void vjp_unfold(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    dx[0] = ll_node_add1(g, LL_OP_FOLD, &n->attr, dy, 1);
}

const ll_op_desc ll_desc_unfold = { "x",           .n_required = 1,       .n_out = 1,
                                    .layout = "d", .infer = infer_unfold, .vjp = vjp_unfold };

static bool infer_fold(ll_graph *g, const ll_node *n, ll_shape *out)
{
    (void)g; /* made by the gradient of unfold only */
    *out = n->in[0]->shape;
    assert(out->dim[out->rank - 1] % n->attr.unfold.width == 0);
    out->dim[out->rank - 1] /= n->attr.unfold.width;
    return true;
}

static void vjp_fold(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    dx[0] = ll_node_add1(g, LL_OP_UNFOLD, &n->attr, dy, 1);
}

const ll_op_desc ll_desc_fold = { "x",           .n_required = 1,     .n_out = 1,
                                  .layout = "d", .infer = infer_fold, .vjp = vjp_fold };

ll_tensor *ll_conv1d(ll_graph *g, ll_tensor *x, ll_tensor *weight, ll_tensor *bias)
{
    if (g->status != LLAP_OK) return NULL;
    const ll_shape s = ll_shape_of(weight);
    if (s.rank != 3 || s.dim[1] != ll_dim(x, -1)) {
        const ll_shape expected = LL_SHAPE(s.dim[0], ll_dim(x, -1), s.dim[2]);
        char           e[LL_SHAPE_TEXT], f[LL_SHAPE_TEXT];
        const ll_node  n = { .op = LL_OP_UNFOLD,
                             .label = g->depth == 0 ? NULL : g->scope[g->depth - 1] };
        (void)ll_node_fail(g, &n, "weight expected %s, found %s", ll_shape_text(&expected, e),
                           ll_shape_text(&s, f));
        return NULL;
    }
    const ll_attr attr = { .unfold = { (int)s.dim[2] } };
    ll_tensor    *windows = ll_node_add1(g, LL_OP_UNFOLD, &attr, &x, 1);
    return ll_linear(g, windows, ll_reshape(g, weight, LL_SHAPE(s.dim[0], s.dim[1] * s.dim[2])),
                     bias);
}
