/* Views: another shape, order or part of the same memory; and their inverses, concat and pad. */
#include "graph/node.h"

#include <assert.h>
#include <string.h>

/* A failure of a view op, which has no node yet. */
static void *refuse(ll_graph *g, ll_op op, const ll_tensor *x, const char *why)
{
    char          text[LL_SHAPE_TEXT];
    const ll_node n = { .op = op, .label = g->depth == 0 ? NULL : g->scope[g->depth - 1] };
    (void)ll_node_fail(g, &n, "%s: %s", ll_shape_text(&x->shape, text), why);
    return NULL;
}

static bool usable(const ll_graph *g, const ll_tensor *x)
{
    return g->status == LLAP_OK && x != NULL;
}

static int real_axis(const ll_tensor *x, int axis)
{
    return axis < 0 ? axis + x->shape.rank : axis;
}

/* -------- reshape -------- */

/* Strides that show x in the new shape without moving anything; false when there are none. x is
 * first read as as few evenly spaced runs as possible; each new axis must lie inside one run. */
static bool restride(const ll_tensor *x, const ll_shape *to, int64_t *stride)
{
    int64_t run[LL_MAX_RANK + 1] = { 1 }, step[LL_MAX_RANK + 1] = { 1 };
    int     n = 0;
    assert(ll_shape_count(to) == ll_shape_count(&x->shape));
    ll_dense_strides(to, stride);
    if (ll_shape_count(&x->shape) == 0) return true;
    for (int i = 0; i < x->shape.rank; i++) {
        const int64_t d = x->shape.dim[i];
        if (d == 1) continue;
        if (n > 0 && step[n - 1] == d * x->stride[i]) run[n - 1] *= d;
        else run[n++] = d;
        step[n - 1] = x->stride[i];
    }
    for (int j = to->rank - 1, i = n > 0 ? n - 1 : 0; j >= 0; j--) {
        if (to->dim[j] == 1) continue;
        if (run[i] == 1) i--;
        assert(i >= 0); /* as many elements on both sides */
        if (run[i] % to->dim[j] != 0) return false;
        stride[j] = step[i];
        step[i] *= to->dim[j];
        run[i] /= to->dim[j];
    }
    return true;
}

static bool resolve_shape(ll_graph *g, const ll_tensor *x, ll_shape *shape)
{
    int64_t known = 1;
    int     open = -1;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] != -1) known *= shape->dim[i];
        else if (open >= 0) return refuse(g, LL_OP_RESHAPE, x, "two dims are -1");
        else open = i;
    }
    const int64_t n = ll_shape_count(&x->shape);
    if (open >= 0) shape->dim[open] = known == 0 ? 0 : n / known;
    if (ll_shape_count(shape) == n) return true;
    char text[LL_SHAPE_TEXT + 32];
    memcpy(text, "cannot become ", 15);
    ll_shape_text(shape, text + 14);
    return refuse(g, LL_OP_RESHAPE, x, text);
}

ll_tensor *ll_reshape(ll_graph *g, ll_tensor *x, ll_shape shape)
{
    if (!usable(g, x) || !resolve_shape(g, x, &shape)) return NULL;
    if (ll_shape_equal(&x->shape, &shape)) return x;
    int64_t stride[LL_MAX_RANK];
    if (!restride(x, &shape, stride)) {
        x = ll_node_add1(g, LL_OP_COPY, NULL, &x, 1);
        if (x == NULL) return NULL;
        ll_dense_strides(&shape, stride);
    }
    ll_node *n = ll_view_add(g, LL_OP_RESHAPE, NULL, x, &shape, 1);
    if (n == NULL) return NULL;
    memcpy(n->out[0]->stride, stride, sizeof stride);
    return n->out[0];
}

void ll_vjp_reshape(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    dx[0] = ll_reshape(g, dy[0], n->in[0]->shape);
}

ll_tensor *ll_unsqueeze(ll_graph *g, ll_tensor *x, int axis)
{
    if (!usable(g, x)) return NULL;
    if (axis < 0) axis += x->shape.rank + 1;
    if (axis < 0 || axis > x->shape.rank || x->shape.rank == LL_MAX_RANK)
        return refuse(g, LL_OP_RESHAPE, x, "no room for a new axis there");
    ll_shape s = { .rank = x->shape.rank + 1 };
    for (int i = 0, j = 0; i < s.rank; i++) s.dim[i] = i == axis ? 1 : x->shape.dim[j++];
    return ll_reshape(g, x, s);
}

ll_tensor *ll_squeeze(ll_graph *g, ll_tensor *x, unsigned axes)
{
    if (!usable(g, x)) return NULL;
    ll_shape s = { .rank = 0 };
    for (int i = 0; i < x->shape.rank; i++)
        if ((axes & LL_AXIS(i)) == 0 || x->shape.dim[i] != 1) s.dim[s.rank++] = x->shape.dim[i];
    return ll_reshape(g, x, s);
}

/* -------- permute -------- */

ll_tensor *ll_permute(ll_graph *g, ll_tensor *x, const int *axes)
{
    if (!usable(g, x)) return NULL;
    ll_shape s = { .rank = x->shape.rank };
    ll_attr  attr = { .permute = { { 0 } } };
    unsigned seen = 0;
    for (int i = 0; i < s.rank; i++) {
        if (axes[i] < 0 || axes[i] >= s.rank || (seen & LL_AXIS(axes[i])) != 0)
            return refuse(g, LL_OP_PERMUTE, x, "axes are not an order of its axes");
        seen |= LL_AXIS(axes[i]);
        s.dim[i] = x->shape.dim[axes[i]];
        attr.permute.axis[i] = axes[i];
    }
    ll_node *n = ll_view_add(g, LL_OP_PERMUTE, &attr, x, &s, 1);
    for (int i = 0; n != NULL && i < s.rank; i++) n->out[0]->stride[i] = x->stride[axes[i]];
    return n == NULL ? NULL : n->out[0];
}

void ll_vjp_permute(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    int back[LL_MAX_RANK] = { 0 };
    for (int i = 0; i < n->in[0]->shape.rank; i++) back[n->attr.permute.axis[i]] = i;
    dx[0] = ll_permute(g, dy[0], back);
}

ll_tensor *ll_transpose(ll_graph *g, ll_tensor *x)
{
    if (!usable(g, x)) return NULL;
    const int r = x->shape.rank;
    int       axes[LL_MAX_RANK];
    if (r < 2) return refuse(g, LL_OP_PERMUTE, x, "fewer than two axes");
    for (int i = 0; i < r; i++) axes[i] = i;
    axes[r - 2] = r - 1;
    axes[r - 1] = r - 2;
    return ll_permute(g, x, axes);
}

/* -------- slice, split and their inverses -------- */

ll_tensor *ll_slice(ll_graph *g, ll_tensor *x, int axis, int64_t start, int64_t count)
{
    if (!usable(g, x)) return NULL;
    axis = real_axis(x, axis);
    if (axis < 0 || axis >= x->shape.rank) return refuse(g, LL_OP_SLICE, x, "no such axis");
    if (start < 0 || count < 0 || start > x->shape.dim[axis] - count)
        return refuse(g, LL_OP_SLICE, x, "slice reaches outside");
    if (count == x->shape.dim[axis]) return x;
    ll_shape      s = x->shape;
    const ll_attr attr = { .part = { axis, start, x->shape.dim[axis] } };
    s.dim[axis] = count;
    ll_node *n = ll_view_add(g, LL_OP_SLICE, &attr, x, &s, 1);
    if (n == NULL) return NULL;
    memcpy(n->out[0]->stride, x->stride, sizeof x->stride);
    n->out[0]->offset += start * x->stride[axis];
    return n->out[0];
}

void ll_vjp_slice(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    dx[0] = ll_node_add1(g, LL_OP_PAD, &n->attr, dy, 1);
}

void ll_split_axis(ll_graph *g, ll_tensor *x, int axis, int n_parts, ll_tensor **parts)
{
    for (int i = 0; i < n_parts; i++) parts[i] = NULL;
    if (!usable(g, x)) return;
    axis = real_axis(x, axis);
    if (axis < 0 || axis >= x->shape.rank || n_parts < 1 || x->shape.dim[axis] % n_parts != 0) {
        (void)refuse(g, LL_OP_SPLIT, x, "axis is not a multiple of the parts");
        return;
    }
    ll_shape      s = x->shape;
    const ll_attr attr = { .part = { axis, 0, s.dim[axis] } };
    s.dim[axis] /= n_parts;
    ll_node *n = ll_view_add(g, LL_OP_SPLIT, &attr, x, &s, n_parts);
    for (int i = 0; n != NULL && i < n_parts; i++) {
        memcpy(n->out[i]->stride, x->stride, sizeof x->stride);
        n->out[i]->offset += i * s.dim[axis] * x->stride[axis];
        parts[i] = n->out[i];
    }
}

void ll_vjp_split(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    ll_tensor **all = ll_arena_new(&g->arena, (size_t)n->n_out, sizeof *all);
    if (all == NULL) {
        ll_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return;
    }
    for (int i = 0; i < n->n_out; i++)
        all[i] = dy[i] != NULL ? dy[i] : ll_full(g, n->out[i]->shape, 0.0);
    dx[0] = ll_concat(g, all, n->n_out, n->attr.part.axis);
}

static bool infer_concat(ll_graph *g, const ll_node *n, ll_shape *out)
{
    const int axis = n->attr.part.axis;
    *out = n->in[0]->shape;
    if (axis < 0 || axis >= out->rank) return ll_node_fail(g, n, "no such axis");
    for (int i = 1; i < n->n_in; i++) {
        ll_shape expected = n->in[0]->shape;
        if (n->in[i]->shape.rank == expected.rank) expected.dim[axis] = n->in[i]->shape.dim[axis];
        if (!ll_node_expect(g, n, i, expected)) return false;
        out->dim[axis] += expected.dim[axis];
    }
    return true;
}

static void vjp_concat(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    int64_t start = 0;
    for (int i = 0; i < n->n_in; i++) {
        const int64_t len = n->in[i]->shape.dim[n->attr.part.axis];
        dx[i] = ll_slice(g, dy[0], n->attr.part.axis, start, len);
        start += len;
    }
    assert(start == n->out[0]->shape.dim[n->attr.part.axis]);
}

const ll_op_desc ll_desc_concat = { "x",           .n_required = 1 << 20, .n_out = 1,
                                    .layout = "a", .infer = infer_concat, .vjp = vjp_concat };

ll_tensor *ll_concat(ll_graph *g, ll_tensor *const *x, int n, int axis)
{
    if (g->status != LLAP_OK || n < 1 || x[0] == NULL) return NULL;
    const ll_attr attr = { .part = { .axis = real_axis(x[0], axis) } };
    return ll_node_add1(g, LL_OP_CONCAT, &attr, x, n);
}

static bool infer_pad(ll_graph *g, const ll_node *n, ll_shape *out)
{
    (void)g; /* made by the gradient of a slice only */
    *out = n->in[0]->shape;
    assert(n->attr.part.axis < out->rank);
    assert(n->attr.part.start + out->dim[n->attr.part.axis] <= n->attr.part.count);
    out->dim[n->attr.part.axis] = n->attr.part.count;
    return true;
}

static void vjp_pad(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    dx[0] = ll_slice(g, dy[0], n->attr.part.axis, n->attr.part.start,
                     n->in[0]->shape.dim[n->attr.part.axis]);
}

const ll_op_desc ll_desc_pad = { "x",           .n_required = 1,    .n_out = 1,
                                 .layout = "a", .infer = infer_pad, .vjp = vjp_pad };

/* -------- expand -------- */

ll_tensor *ll_expand(ll_graph *g, ll_tensor *x, ll_shape shape)
{
    if (!usable(g, x)) return NULL;
    if (ll_shape_equal(&x->shape, &shape)) return x;
    const int lead = shape.rank - x->shape.rank;
    int64_t   stride[LL_MAX_RANK] = { 0 };
    bool      fits = lead >= 0;
    for (int i = 0; fits && i < x->shape.rank; i++) {
        const int64_t d = x->shape.dim[i];
        if (d == shape.dim[lead + i]) stride[lead + i] = d == 1 ? 0 : x->stride[i];
        else if (d != 1) fits = false;
    }
    if (!fits) {
        char text[LL_SHAPE_TEXT + 32];
        memcpy(text, "does not broadcast to ", 23);
        ll_shape_text(&shape, text + 22);
        return refuse(g, LL_OP_EXPAND, x, text);
    }
    ll_node *n = ll_view_add(g, LL_OP_EXPAND, NULL, x, &shape, 1);
    if (n == NULL) return NULL;
    memcpy(n->out[0]->stride, stride, sizeof stride);
    return n->out[0];
}

void ll_vjp_expand(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    const ll_shape *small = &n->in[0]->shape, *large = &n->out[0]->shape;
    const int       lead = large->rank - small->rank;
    unsigned        axes = 0;
    assert(lead >= 0);
    for (int i = 0; i < large->rank; i++)
        if (i < lead || (small->dim[i - lead] == 1 && large->dim[i] != 1)) axes |= LL_AXIS(i);
    dx[0] = ll_reshape(g, ll_sum(g, dy[0], axes), *small);
}

/* -------- detach -------- */

ll_tensor *ll_detach(ll_graph *g, ll_tensor *x)
{
    if (!usable(g, x)) return NULL;
    ll_node *n = ll_view_add(g, LL_OP_DETACH, NULL, x, &x->shape, 1);
    if (n == NULL) return NULL;
    memcpy(n->out[0]->stride, x->stride, sizeof x->stride);
    return n->out[0];
}

/* -------- broadcasting of several operands -------- */

bool ll_broadcast_shape(ll_graph *g, ll_op op, const ll_shape *a, const ll_shape *b, ll_shape *out)
{
    out->rank = a->rank > b->rank ? a->rank : b->rank;
    for (int i = 0; i < out->rank; i++) {
        const int     ia = i - (out->rank - a->rank), ib = i - (out->rank - b->rank);
        const int64_t da = ia < 0 ? 1 : a->dim[ia], db = ib < 0 ? 1 : b->dim[ib];
        out->dim[i] = da == 1 ? db : da;
        if (da == db || da == 1 || db == 1) continue;
        char          ta[LL_SHAPE_TEXT], tb[LL_SHAPE_TEXT];
        const ll_node n = { .op = op, .label = g->depth == 0 ? NULL : g->scope[g->depth - 1] };
        return ll_node_fail(g, &n, "%s and %s do not broadcast", ll_shape_text(a, ta),
                            ll_shape_text(b, tb));
    }
    return true;
}

ll_tensor *ll_expand_lead(ll_graph *g, ll_tensor *x, const ll_shape *lead, int n)
{
    if (!usable(g, x)) return NULL;
    ll_shape s = *lead;
    assert(n <= x->shape.rank);
    if (s.rank + n > LL_MAX_RANK) return refuse(g, LL_OP_EXPAND, x, "too many axes");
    for (int i = 0; i < n; i++) s.dim[s.rank++] = x->shape.dim[x->shape.rank - n + i];
    return ll_expand(g, x, s);
}

bool ll_broadcast_lead(ll_graph *g, ll_op op, ll_tensor *const *x, const int *keep, int n,
                       ll_shape *lead)
{
    *lead = LL_SCALAR;
    for (int i = 0; i < n; i++) {
        if (x[i] == NULL) continue;
        ll_shape s = x[i]->shape, both = { 0 };
        if (s.rank < keep[i]) {
            const ll_node at = { .op = op, .label = g->depth == 0 ? NULL : g->scope[g->depth - 1] };
            char          text[LL_SHAPE_TEXT];
            return ll_node_fail(g, &at, "operand %d expected %d axes or more, found %s", i, keep[i],
                                ll_shape_text(&s, text));
        }
        s.rank -= keep[i];
        if (!ll_broadcast_shape(g, op, lead, &s, &both)) return false;
        *lead = both;
    }
    return true;
}
