/* The fixed list of fusions. Each gives the same bits as the separate ops: it saves passes over
 * memory, not roundings (except for the mlp's, whose inner product has another order of sums).
 *
 *     linear, then GELU               -> linear with attr.gelu
 *     linear, then GELU and others    -> linear with attr.gelu and two results, where the backend
 *                                        takes it
 *     linear [GELU], then + residual  -> linear with a residual operand,
 *                                        broadcast where the backend takes it
 *     linear, then norm of its rows   -> linear with two results, where weights are bf16 and the
 *                                        backend takes it
 *     linear and norm of the same rows, one behind the other
 *                                     -> layers, likewise (fuse_layers.c)
 *     norm, linear, GELU, linear [+]  -> mlp, where weights stay and the backend takes it
 *     norm, then linear [GELU] [+]    -> linear with attr.normed, where the backend takes it
 *     copy for attention's gradient   -> rows read where they lie, where the backend takes it
 *     attention's gradients side by side
 *                                     -> written there, likewise
 *     norm's gradient, then + dense   -> one step, likewise
 *     product, then GELU's gradient   -> product with a third operand, likewise
 *     product x^T y, and sum of x's rows
 *                                     -> product with two results, likewise
 *     elementwise into elementwise    -> chain
 *
 * (Norm and modulation are one op from the start.) A fused step stands where its last part stood;
 * one that gets another result, or writes elsewhere, stays where it is. */
#include "graph/planner.h"

#include <assert.h>
#include <string.h>

/* The draft that made t, if t shows all of a result that nothing else reads; else NULL. */
static ll_draft *sole_source(ll_planner *p, ll_draft *const *by_tensor, const ll_tensor *t)
{
    if (t == NULL || t->base->leaf != LL_LEAF_NONE || p->readers[t->base->id] != 1) return NULL;
    if (!ll_shows_all(t)) return NULL;
    ll_draft *d = by_tensor[t->base->id];
    return d == NULL || d->gone || d->n_out != 1 ? NULL : d;
}

static ll_tensor **new_operands(ll_planner *p, ll_tensor *const *in, int n, int room)
{
    assert(n <= room);
    ll_tensor **all = ll_arena_new(&p->arena, (size_t)room, sizeof *all);
    for (int i = 0; all != NULL && i < n; i++) all[i] = in[i];
    return all;
}

/* Whether the backend computes the draft as it is now. */
static bool taken(const ll_planner *p, const ll_draft *d)
{
    enum { MOST = 16 };
    ll_view v[MOST];
    if (p->backend->takes == NULL || d->n_in + d->n_out > MOST) return false;
    for (int k = 0; k < d->n_in; k++) v[k] = ll_tensor_view(d->in[k]);
    for (int k = 0; k < d->n_out; k++) v[d->n_in + k] = ll_tensor_view(d->out[k]);
    return p->backend->takes(&(ll_call){ .op = d->op,
                                         .attr = &d->attr,
                                         .in = v,
                                         .n_in = d->n_in,
                                         .out = v + d->n_in,
                                         .n_out = d->n_out });
}

static bool is_plain_linear(const ll_draft *d)
{
    return d != NULL && d->op == LL_OP_LINEAR && d->n_in < 4;
}

/* t has the rows that the draft made, in the form that they have there: not those of another width
 * in the same memory. */
static bool has_rows_of(const ll_tensor *t, const ll_draft *made)
{
    return ll_dim(t, -1) == ll_dim(made->out[0], -1);
}

/* d is GELU of a linear: becomes the linear. */
static bool fuse_gelu(ll_planner *p, ll_draft *const *by_tensor, ll_draft *d)
{
    ll_draft *lin = d->op == LL_OP_GELU ? sole_source(p, by_tensor, d->in[0]) : NULL;
    if (!is_plain_linear(lin) || lin->attr.linear.gelu || !has_rows_of(d->in[0], lin)) return false;
    d->op = LL_OP_LINEAR;
    d->attr.linear.gelu = true;
    d->label = lin->label;
    d->in = lin->in;
    d->n_in = lin->n_in;
    lin->gone = true;
    return true;
}

/* d is GELU of a linear that others read too: the linear has two results. */
static llap_status fuse_gelu_beside(ll_planner *p, ll_draft **by_tensor, ll_draft *d)
{
    if (d->op != LL_OP_GELU || d->gone || !ll_shows_all(d->in[0])) return LLAP_OK;
    ll_draft *lin = by_tensor[d->in[0]->base->id];
    if (!is_plain_linear(lin) || lin->gone || lin->attr.linear.gelu || lin->n_out != 1 ||
        !ll_shape_equal(&lin->out[0]->shape, &d->out[0]->shape) || !taken(p, d))
        return LLAP_OK;
    ll_tensor **out = new_operands(p, d->out, 1, 2);
    if (out == NULL) return LLAP_ENOMEM;
    out[1] = lin->out[0];
    lin->out = out;
    lin->n_out = 2;
    lin->attr.linear.gelu = true;
    by_tensor[out[0]->id] = lin;
    d->gone = true;
    return LLAP_OK;
}

/* d is the sum of a linear and something dense: becomes the linear with a residual. */
static llap_status fuse_residual(ll_planner *p, ll_draft *const *by_tensor, ll_draft *d)
{
    for (int k = 0; k < 2 && d->op == LL_OP_ADD; k++) {
        ll_draft     *lin = sole_source(p, by_tensor, d->in[k]);
        ll_tensor    *other = d->in[1 - k];
        const ll_view v = ll_tensor_view(other);
        if (!is_plain_linear(lin) || !has_rows_of(d->in[k], lin)) continue;
        ll_tensor **in = new_operands(p, lin->in, lin->n_in, 4);
        if (in == NULL) return LLAP_ENOMEM;
        in[3] = other;
        ll_draft joined = *d;
        joined.op = LL_OP_LINEAR;
        joined.attr = lin->attr;
        joined.label = lin->label;
        joined.in = in;
        joined.n_in = 4;
        if (!ll_view_dense(&v) && !taken(p, &joined)) continue;
        *d = joined;
        lin->gone = true;
    }
    return LLAP_OK;
}

/* Is t there when the draft runs? */
static bool there_before(ll_draft *const *by_tensor, const ll_tensor *t, const ll_draft *d)
{
    return t == NULL || by_tensor[t->base->id] == NULL || by_tensor[t->base->id] < d;
}

/* d is the norm of a linear's rows: becomes its second result. */
static llap_status fuse_norm(ll_planner *p, ll_draft *const *by_tensor, ll_draft *d)
{
    if (d->op != LL_OP_NORM || d->in[0] == NULL || !ll_shows_all(d->in[0])) return LLAP_OK;
    ll_draft *lin = by_tensor[d->in[0]->base->id];
    if (lin == NULL || lin->gone || lin->op != LL_OP_LINEAR || lin->n_out != 1) return LLAP_OK;
    if (!there_before(by_tensor, d->in[1], lin) || !there_before(by_tensor, d->in[2], lin))
        return LLAP_OK;
    if (ll_dim(lin->out[0], -1) != ll_dim(d->in[0], -1)) return LLAP_OK;
    ll_draft joined = *lin;
    assert(lin->n_in <= 4); /* 4 and 5 are free */
    joined.in = new_operands(p, lin->in, lin->n_in, 6);
    joined.out = new_operands(p, lin->out, 1, 2);
    if (joined.in == NULL || joined.out == NULL) return LLAP_ENOMEM;
    joined.in[4] = d->in[1];
    joined.in[5] = d->in[2];
    joined.out[1] = d->out[0];
    joined.n_in = 6;
    joined.n_out = 2;
    joined.attr.linear.norm = true;
    joined.attr.linear.eps = d->attr.norm.eps;
    joined.attr.linear.offset = d->attr.norm.offset;
    if (!taken(p, &joined)) return LLAP_OK;
    *lin = joined;
    d->gone = true;
    return LLAP_OK;
}

/* Weights that no run changes. */
static bool stays(const ll_planner *p, const ll_tensor *w)
{
    return p->fixed_params && ll_shows_all(w) && w->base->update == NULL &&
           (w->base->leaf == LL_LEAF_PARAM || w->base->leaf == LL_LEAF_STATE);
}

/* d is the linear behind one with GELU, which is behind a norm: becomes all of them. */
static llap_status fuse_mlp(ll_planner *p, ll_draft *const *by_tensor, ll_draft *d)
{
    if (d->gone || d->op != LL_OP_LINEAR || d->attr.linear.gelu || !stays(p, d->in[1]))
        return LLAP_OK;
    ll_draft *up = sole_source(p, by_tensor, d->in[0]);
    if (!is_plain_linear(up) || !up->attr.linear.gelu || !stays(p, up->in[1]) ||
        !has_rows_of(d->in[0], up))
        return LLAP_OK;
    ll_draft *norm = sole_source(p, by_tensor, up->in[0]);
    if (norm == NULL || norm->op != LL_OP_NORM || !has_rows_of(up->in[0], norm)) return LLAP_OK;
    ll_draft joined = *d;
    joined.op = LL_OP_MLP;
    joined.attr.norm.eps = norm->attr.norm.eps;
    joined.attr.norm.offset = norm->attr.norm.offset;
    assert(norm->n_in <= 3);
    joined.in = new_operands(p, norm->in, norm->n_in, 8);
    if (joined.in == NULL) return LLAP_ENOMEM;
    for (int k = 0; k < 2; k++) joined.in[3 + k] = k + 1 < up->n_in ? up->in[k + 1] : NULL;
    for (int k = 0; k < 3; k++) joined.in[5 + k] = k + 1 < d->n_in ? d->in[k + 1] : NULL;
    joined.n_in = 8;
    if (!taken(p, &joined)) return LLAP_OK;
    *d = joined;
    up->gone = norm->gone = true;
    return LLAP_OK;
}

/* d is the linear behind a norm that nothing else reads: becomes both. */
static llap_status fuse_normed(ll_planner *p, ll_draft *const *by_tensor, ll_draft *d)
{
    if (d->gone || d->op != LL_OP_LINEAR || d->n_in > 4) return LLAP_OK;
    ll_draft *norm = sole_source(p, by_tensor, d->in[0]);
    if (norm == NULL || norm->op != LL_OP_NORM || ll_dim(d->in[0], -1) != ll_dim(norm->in[0], -1))
        return LLAP_OK;
    ll_draft joined = *d;
    joined.in = new_operands(p, d->in, d->n_in, 6);
    if (joined.in == NULL) return LLAP_ENOMEM;
    joined.in[0] = norm->in[0];
    joined.in[4] = norm->in[1];
    joined.in[5] = norm->in[2];
    joined.n_in = 6;
    joined.attr.linear.normed = true;
    joined.attr.linear.eps = norm->attr.norm.eps;
    joined.attr.linear.offset = norm->attr.norm.offset;
    if (!taken(p, &joined)) return LLAP_OK;
    *d = joined;
    norm->gone = true;
    return LLAP_OK;
}

/* -------- gradients -------- */

/* d is attention's gradient: queries, keys and values that were copied for it alone are read where
 * they lie. */
static llap_status fuse_copies(ll_planner *p, ll_draft *const *by_tensor, ll_draft *d)
{
    for (int k = 0; k < 3 && d->op == LL_OP_ATTENTION_GRAD; k++) {
        ll_draft *copy = sole_source(p, by_tensor, d->in[k]);
        if (copy == NULL || copy->op != LL_OP_COPY ||
            !ll_shape_equal(&copy->in[0]->shape, &d->in[k]->shape))
            continue;
        ll_draft joined = *d;
        joined.in = new_operands(p, d->in, d->n_in, d->n_in);
        if (joined.in == NULL) return LLAP_ENOMEM;
        joined.in[k] = copy->in[0];
        if (!taken(p, &joined)) continue;
        *d = joined;
        copy->gone = true;
    }
    return LLAP_OK;
}

/* d puts gradients of an attention side by side, as parts of one product have them: they are
 * written there. */
static llap_status fuse_joined(ll_planner *p, ll_draft **by_tensor, ll_draft *d)
{
    if (d->op != LL_OP_CONCAT || d->n_in < 2 || d->n_in > 3 ||
        d->attr.part.axis != d->out[0]->shape.rank - 1)
        return LLAP_OK;
    const int first = 3 - d->n_in;
    ll_draft *back = by_tensor[d->in[0]->base->id];
    if (back == NULL || back->gone || back->op != LL_OP_ATTENTION_GRAD || back->n_out != 4)
        return LLAP_OK;
    for (int k = 0; k < d->n_in; k++)
        if (d->in[k] != back->out[first + k] || p->readers[d->in[k]->id] != 1) return LLAP_OK;
    if (!taken(p, d)) return LLAP_OK;
    ll_tensor **out = new_operands(p, back->out, first, first + 2);
    if (out == NULL) return LLAP_ENOMEM;
    out[first] = d->out[0];
    out[first + 1] = back->out[3];
    back->out = out;
    back->n_out = first + 2;
    back->attr.attention.joined = d->n_in;
    by_tensor[d->out[0]->id] = back;
    d->gone = true;
    return LLAP_OK;
}

/* d is the sum of a norm's gradient and something dense: becomes part of it, as operand 4. */
static llap_status fuse_norm_grad(ll_planner *p, ll_draft **by_tensor, ll_draft *d)
{
    for (int k = 0; k < 2 && d->op == LL_OP_ADD && !d->gone; k++) {
        const ll_tensor *dx = d->in[k];
        ll_draft        *back = by_tensor[dx->base->id];
        if (back == NULL || back->gone || back->op != LL_OP_NORM_GRAD || back->n_in > 4 ||
            back->out[0] != dx->base || p->readers[dx->base->id] != 1 || !ll_shows_all(dx) ||
            !ll_shows_all(d->in[1 - k]) || !there_before(by_tensor, d->in[1 - k], back))
            continue;
        ll_draft joined = *back;
        joined.in = new_operands(p, back->in, back->n_in, 5);
        joined.out = new_operands(p, back->out, back->n_out, back->n_out);
        if (joined.in == NULL || joined.out == NULL) return LLAP_ENOMEM;
        joined.in[4] = d->in[1 - k];
        joined.n_in = 5;
        joined.out[0] = d->out[0];
        if (!taken(p, &joined)) continue;
        *back = joined;
        by_tensor[d->out[0]->id] = back;
        d->gone = true;
    }
    return LLAP_OK;
}

/* d is GELU's gradient, of a product of matrices: becomes that, with a third operand. */
static llap_status fuse_slope(ll_planner *p, ll_draft *const *by_tensor, ll_draft *d)
{
    ll_draft *product = d->op == LL_OP_GELU_GRAD ? sole_source(p, by_tensor, d->in[1]) : NULL;
    if (product == NULL || product->op != LL_OP_MATMUL || product->n_in != 2 ||
        product->attr.matmul.ta || product->out[0]->shape.rank != 2 || !ll_shows_all(d->in[0]) ||
        !taken(p, d) || ll_dim(product->out[0], -1) != ll_dim(d->out[0], -1))
        return LLAP_OK;
    ll_tensor **in = new_operands(p, product->in, 2, 3);
    if (in == NULL) return LLAP_ENOMEM;
    in[2] = d->in[0];
    d->op = LL_OP_MATMUL;
    d->attr = product->attr;
    d->label = product->label;
    d->in = in;
    d->n_in = 3;
    product->gone = true;
    return LLAP_OK;
}

/* d sums the rows of x, of which the product x^T y came shortly before: becomes its second result
 * (a layer's bias beside its weight). */
static llap_status fuse_sums(ll_planner *p, ll_draft **by_tensor, ll_draft *d)
{
    enum { SHORTLY = 3 };
    if (d->op != LL_OP_SUM || d->attr.reduce.axes != 1u || d->in[0]->shape.rank != 2 ||
        !ll_shows_all(d->in[0]) || ll_shape_count(&d->in[0]->shape) == 0 || !taken(p, d))
        return LLAP_OK;
    const int at = (int)(d - p->draft);
    for (int i = at - 1; i >= 0 && i >= at - SHORTLY; i--) {
        ll_draft *e = &p->draft[i];
        if (e->gone || ll_shape_count(&e->out[0]->shape) == 0 || e->op != LL_OP_MATMUL ||
            e->n_in != 2 || e->n_out != 1 || !e->attr.matmul.ta ||
            e->in[0]->base != d->in[0]->base || !ll_shows_all(e->in[0]) ||
            !ll_shape_equal(&e->in[0]->shape, &d->in[0]->shape))
            continue;
        ll_tensor **out = new_operands(p, e->out, 1, 2);
        if (out == NULL) return LLAP_ENOMEM;
        out[1] = d->out[0];
        e->out = out;
        e->n_out = 2;
        by_tensor[d->out[0]->id] = e;
        d->gone = true;
        return LLAP_OK;
    }
    return LLAP_OK;
}

/* -------- chains -------- */

static bool is_elementwise(const ll_draft *d)
{
    return ll_op_is_unary(d->op) || ll_op_is_binary(d->op) || d->op == LL_OP_CHAIN;
}

/* The draft as a chain, by itself. */
static ll_op_chain as_chain(const ll_draft *d)
{
    if (d->op == LL_OP_CHAIN) return *d->attr.chain;
    assert(d->n_in == 1 || d->n_in == 2);
    ll_op_chain c = { .n_in = d->n_in, .n_steps = 1 };
    c.step[0] = (ll_chain_step){
        .op = d->op, .arg = { 0, d->n_in - 1 }, .a = d->attr.scalar.a, .b = d->attr.scalar.b
    };
    return c;
}

/* Joins the chain of operand k (made by source) in front of d's. False when it does not fit. */
static bool join(const ll_draft *source, const ll_draft *d, int k, ll_op_chain *out, ll_tensor **in)
{
    const ll_op_chain first = as_chain(source), second = as_chain(d);
    int               map_first[LL_CHAIN_INPUTS], map_second[LL_CHAIN_INPUTS], n_in = 0;
    assert(first.n_in == source->n_in && second.n_in == d->n_in && k < d->n_in);
    if (first.n_steps + second.n_steps > LL_CHAIN_STEPS) return false;
    for (int pass = 0; pass < 2; pass++) {
        const ll_draft *from = pass == 0 ? source : d;
        for (int i = 0; i < from->n_in; i++) {
            if (pass == 1 && i == k) continue;
            int at = 0;
            while (at < n_in && in[at] != from->in[i]) at++;
            if (at == LL_CHAIN_INPUTS) return false;
            if (at == n_in) in[n_in++] = from->in[i];
            (pass == 0 ? map_first : map_second)[i] = at;
        }
    }
    *out = (ll_op_chain){ .n_in = n_in, .n_steps = first.n_steps + second.n_steps };
    const int joined = n_in + first.n_steps - 1; /* where operand k is now */
    for (int s = 0; s < out->n_steps; s++) {
        const bool     early = s < first.n_steps;
        ll_chain_step *to = &out->step[s];
        *to = early ? first.step[s] : second.step[s - first.n_steps];
        for (int a = 0; a < 2; a++) {
            const int old = to->arg[a], own = early ? first.n_in : second.n_in;
            if (old >= own) to->arg[a] = n_in + (early ? 0 : first.n_steps) + old - own;
            else if (!early && old == k) to->arg[a] = joined;
            else to->arg[a] = (early ? map_first : map_second)[old];
            assert(to->arg[a] >= 0 && to->arg[a] < n_in + s); /* an operand or an earlier step */
        }
    }
    return true;
}

static llap_status fuse_chain(ll_planner *p, ll_draft *const *by_tensor, ll_draft *d)
{
    for (int k = 0; k < d->n_in && is_elementwise(d) && !d->gone; k++) {
        ll_draft   *source = sole_source(p, by_tensor, d->in[k]);
        ll_op_chain joined;
        ll_tensor  *in[LL_CHAIN_INPUTS + 1];
        if (source == NULL || !is_elementwise(source) || d->in[k]->elem != LL_REAL) continue;
        if (!ll_shape_equal(&d->in[k]->shape, &source->out[0]->shape)) continue;
        if (!join(source, d, k, &joined, in)) continue;
        ll_op_chain *kept = ll_arena_new(&p->arena, 1, sizeof *kept);
        d->in = new_operands(p, in, joined.n_in, joined.n_in);
        if (kept == NULL || d->in == NULL) return LLAP_ENOMEM;
        *kept = joined;
        d->op = LL_OP_CHAIN;
        d->attr.chain = kept;
        d->n_in = joined.n_in;
        source->gone = true;
        k = -1; /* look at the new operands too */
    }
    return LLAP_OK;
}

llap_status ll_plan_fuse(ll_planner *p)
{
    ll_draft **by_tensor = ll_arena_new(&p->arena, (size_t)p->g->n_tensors, sizeof *by_tensor);
    if (by_tensor == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < p->n_drafts; i++)
        for (int o = 0; o < p->draft[i].n_out; o++)
            by_tensor[p->draft[i].out[o]->id] = &p->draft[i];
    llap_status st = LLAP_OK;
    for (int i = 0; i < p->n_drafts && st == LLAP_OK; i++) {
        if (fuse_gelu(p, by_tensor, &p->draft[i])) continue;
        st = fuse_gelu_beside(p, by_tensor, &p->draft[i]);
        if (st == LLAP_OK) st = fuse_residual(p, by_tensor, &p->draft[i]);
    }
    if (st == LLAP_OK && p->half_params) st = ll_plan_fuse_layers(p, by_tensor);
    for (int i = 0; i < p->n_drafts && st == LLAP_OK && p->half_params; i++)
        st = fuse_norm(p, by_tensor, &p->draft[i]);
    for (int i = 0; i < p->n_drafts && st == LLAP_OK; i++)
        st = fuse_mlp(p, by_tensor, &p->draft[i]);
    for (int i = 0; i < p->n_drafts && st == LLAP_OK; i++)
        st = fuse_normed(p, by_tensor, &p->draft[i]);
    for (int i = 0; i < p->n_drafts && st == LLAP_OK; i++) {
        st = fuse_copies(p, by_tensor, &p->draft[i]);
        if (st == LLAP_OK) st = fuse_slope(p, by_tensor, &p->draft[i]);
        if (st == LLAP_OK) st = fuse_sums(p, by_tensor, &p->draft[i]);
        if (st == LLAP_OK) st = fuse_joined(p, by_tensor, &p->draft[i]);
        if (st == LLAP_OK) st = fuse_norm_grad(p, by_tensor, &p->draft[i]);
    }
    for (int i = 0; i < p->n_drafts && st == LLAP_OK; i++)
        st = fuse_chain(p, by_tensor, &p->draft[i]);
    return st;
}
