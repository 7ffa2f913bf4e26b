/* Matrix products: batched matmul, linear layers, convolution as windows times weight. */
#include "graph/node.h"

static bool infer_matmul(llap_graph *g, const llap_node *n, llap_shape *out)
{
    if (!llap_node_rank(g, n, 0, 2) || !llap_node_rank(g, n, 1, 2)) return false;
    const llap_shape *a = &n->in[0]->shape, *b = &n->in[1]->shape;
    const int         r = a->rank;
    const int64_t     m = a->dim[n->attr.matmul.ta ? r - 1 : r - 2];
    const int64_t     k = a->dim[n->attr.matmul.ta ? r - 2 : r - 1];
    const int64_t     cols = b->dim[n->attr.matmul.tb ? b->rank - 2 : b->rank - 1];
    llap_shape        expected = *a;
    expected.dim[r - 2] = n->attr.matmul.tb ? cols : k;
    expected.dim[r - 1] = n->attr.matmul.tb ? k : cols;
    if (!llap_node_expect(g, n, 1, expected)) return false;
    *out = *a;
    out->dim[r - 2] = m;
    out->dim[r - 1] = cols;
    return true;
}

static void vjp_matmul(llap_graph *g, const llap_node *n, llap_tensor *const *dy, llap_tensor **dx)
{
    llap_tensor *a = n->in[0], *b = n->in[1], *d = dy[0];
    const bool   ta = n->attr.matmul.ta, tb = n->attr.matmul.tb;
    dx[0] = ta ? llap_matmul(g, b, tb, d, true) : llap_matmul(g, d, false, b, !tb);
    dx[1] = tb ? llap_matmul(g, d, true, a, ta) : llap_matmul(g, a, !ta, d, false);
}

const llap_op_desc llap_desc_matmul = { "a b",         .n_required = 2,       .n_out = 1,
                                        .layout = "r", .infer = infer_matmul, .vjp = vjp_matmul };

llap_tensor *llap_matmul(llap_graph *g, llap_tensor *a, bool ta, llap_tensor *b, bool tb)
{
    if (g->status != LLAP_OK) return NULL;
    const llap_attr attr = { .matmul = { ta, tb } };
    llap_tensor    *in[] = { a, b };
    llap_shape      lead;
    if (a != NULL && b != NULL && a->shape.rank >= 2 && b->shape.rank >= 2) {
        if (!llap_broadcast_lead(g, LLAP_OP_MATMUL, in, (int[]){ 2, 2 }, 2, &lead)) return NULL;
        in[0] = llap_expand_lead(g, a, &lead, 2);
        in[1] = llap_expand_lead(g, b, &lead, 2);
    }
    return llap_node_add1(g, LLAP_OP_MATMUL, &attr, in, 2);
}

/* -------- linear -------- */

static bool infer_linear(llap_graph *g, const llap_node *n, llap_shape *out)
{
    if (!llap_node_rank(g, n, 0, 1) || !llap_node_rank(g, n, 1, 1)) return false;
    *out = n->in[0]->shape;
    const int64_t width = n->in[1]->shape.dim[0];
    if (!llap_node_expect(g, n, 1, LLAP_SHAPE(width, out->dim[out->rank - 1]))) return false;
    out->dim[out->rank - 1] = width;
    if (n->n_in > 2 && n->in[2] != NULL && !llap_node_expect(g, n, 2, LLAP_SHAPE(width)))
        return false;
    return n->n_in < 4 || n->in[3] == NULL || llap_node_expect(g, n, 3, *out);
}

/* Fused forms are made by the planner, after differentiation: here there is only x W^T + b. */
static void vjp_linear(llap_graph *g, const llap_node *n, llap_tensor *const *dy, llap_tensor **dx)
{
    llap_tensor  *x = n->in[0], *w = n->in[1];
    const int64_t in = w->shape.dim[1], out = w->shape.dim[0];
    llap_tensor  *rows =
        llap_reshape(g, x, LLAP_SHAPE(llap_shape_count(&x->shape) / (in ? in : 1), in));
    llap_tensor *drows = llap_reshape(g, dy[0], LLAP_SHAPE(llap_dim(rows, 0), out));
    dx[0] = llap_reshape(g, llap_matmul(g, drows, false, w, false), x->shape);
    dx[1] = llap_matmul(g, drows, true, rows, false);
    if (n->n_in > 2 && n->in[2] != NULL)
        dx[2] = llap_reshape(g, llap_sum(g, drows, LLAP_AXIS(0)), LLAP_SHAPE(out));
}

const llap_op_desc llap_desc_linear = {
    "x weight bias residual", .n_required = 2,       .n_out = 1,
    .layout = "dddd",         .infer = infer_linear, .vjp = vjp_linear
};

llap_tensor *llap_linear(llap_graph *g, llap_tensor *x, llap_tensor *weight, llap_tensor *bias)
{
    const llap_attr attr = { .linear = { .gelu = false } };
    return llap_node_add1(g, LLAP_OP_LINEAR, &attr, (llap_tensor *[]){ x, weight, bias },
                          bias == NULL ? 2 : 3);
}

/* -------- behind a norm -------- */

static bool infer_normed(llap_graph *g, const llap_node *n, llap_shape *out)
{
    if (!llap_node_rank(g, n, 0, 2) || !llap_node_rank(g, n, 1, 2)) return false;
    *out = n->in[0]->shape;
    const int     r = out->rank;
    const int64_t width = n->in[1]->shape.dim[0], m = out->dim[r - 2];
    llap_shape    like = *out;
    like.dim[r - 1] = llap_dim(n->in[4], -1);
    if (!llap_node_expect(g, n, 1, LLAP_SHAPE(width, out->dim[r - 1]))) return false;
    out->dim[r - 1] = width;
    return llap_node_expect(g, n, 2, LLAP_SHAPE(m, width)) &&
           llap_node_expect(g, n, 3, LLAP_SHAPE(width)) && llap_node_expect(g, n, 4, like);
}

const llap_op_desc llap_desc_normed = { "x weight table bias like", .n_required = 5, .n_out = 1,
                                        .layout = "d", .infer = infer_normed };

llap_tensor *llap_normed(llap_graph *g, llap_tensor *x, llap_tensor *weight, llap_tensor *table,
                         llap_tensor *bias, llap_tensor *like, double eps)
{
    const llap_attr attr = { .norm = { .eps = eps } };
    return llap_node_add1(g, LLAP_OP_NORMED, &attr,
                          (llap_tensor *[]){ x, weight, table, bias, like }, 5);
}

/* -------- layers one behind the other, made by the planner -------- */

static bool infer_layers(llap_graph *g, const llap_node *n, llap_shape *out)
{
    (void)g;
    *out = n->in[0]->shape;
    return true;
}

const llap_op_desc llap_desc_layers = { "x", .n_required = 1, .n_out = 1, .layout = "a",
                                        .infer = infer_layers };

/* -------- two layers, made by the planner -------- */

static bool infer_mlp(llap_graph *g, const llap_node *n, llap_shape *out)
{
    (void)g;
    *out = n->in[0]->shape;
    out->dim[out->rank - 1] = n->in[5]->shape.dim[0];
    return true;
}

const llap_op_desc llap_desc_mlp = { "x norm_weight norm_bias up up_bias down down_bias residual",
                                     .n_required = 7, .n_out = 1, .layout = "drrd",
                                     .infer = infer_mlp };

/* -------- convolution -------- */

/* x [...,l,c] -> [...,l,c width]: element c width + k is x at time j + k - (width - 1) / 2. */
static bool infer_unfold(llap_graph *g, const llap_node *n, llap_shape *out)
{
    if (!llap_node_rank(g, n, 0, 2)) return false;
    if (n->attr.unfold.width < 1 || n->attr.unfold.width % 2 == 0)
        return llap_node_fail(g, n, "width expected odd, found %d", n->attr.unfold.width);
    *out = n->in[0]->shape;
    out->dim[out->rank - 1] *= n->attr.unfold.width;
    return true;
}

static void vjp_unfold(llap_graph *g, const llap_node *n, llap_tensor *const *dy, llap_tensor **dx)
{
    dx[0] = llap_node_add1(g, LLAP_OP_FOLD, &n->attr, dy, 1);
}

const llap_op_desc llap_desc_unfold = { "x",           .n_required = 1,       .n_out = 1,
                                        .layout = "d", .infer = infer_unfold, .vjp = vjp_unfold };

static bool infer_fold(llap_graph *g, const llap_node *n, llap_shape *out)
{
    (void)g; /* made by the gradient of unfold only */
    *out = n->in[0]->shape;
    out->dim[out->rank - 1] /= n->attr.unfold.width;
    return true;
}

static void vjp_fold(llap_graph *g, const llap_node *n, llap_tensor *const *dy, llap_tensor **dx)
{
    dx[0] = llap_node_add1(g, LLAP_OP_UNFOLD, &n->attr, dy, 1);
}

const llap_op_desc llap_desc_fold = { "x",           .n_required = 1,     .n_out = 1,
                                      .layout = "d", .infer = infer_fold, .vjp = vjp_fold };

llap_tensor *llap_conv1d(llap_graph *g, llap_tensor *x, llap_tensor *weight, llap_tensor *bias)
{
    if (g->status != LLAP_OK) return NULL;
    const llap_shape s = llap_shape_of(weight);
    if (s.rank != 3 || s.dim[1] != llap_dim(x, -1)) {
        const llap_shape expected = LLAP_SHAPE(s.dim[0], llap_dim(x, -1), s.dim[2]);
        char             e[LLAP_SHAPE_TEXT], f[LLAP_SHAPE_TEXT];
        const llap_node  n = { .op = LLAP_OP_UNFOLD,
                               .label = g->depth == 0 ? NULL : g->scope[g->depth - 1] };
        (void)llap_node_fail(g, &n, "weight expected %s, found %s", llap_shape_text(&expected, e),
                             llap_shape_text(&s, f));
        return NULL;
    }
    const llap_attr attr = { .unfold = { (int)s.dim[2] } };
    llap_tensor    *windows = llap_node_add1(g, LLAP_OP_UNFOLD, &attr, &x, 1);
    return llap_linear(g, windows,
                       llap_reshape(g, weight, LLAP_SHAPE(s.dim[0], s.dim[1] * s.dim[2])), bias);
}
