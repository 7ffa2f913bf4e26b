/* Which results are kept as bf16: those that their producer may write and all their readers may
 * read so, as the backend says. All are taken for such at first; whatever a step refuses is struck
 * out, until nobody refuses anything. */
#include "graph/planner.h"

#include "base/alloc.h"

#include <assert.h>

static void mark_candidates(ll_planner *p)
{
    const ll_graph *g = p->g;
    for (int i = 0; i < p->n_drafts; i++)
        for (int o = 0; o < p->draft[i].n_out; o++) {
            const ll_tensor *t = p->draft[i].out[o];
            p->half[t->id] = t->elem == LL_REAL && t->base == t && t->leaf == LL_LEAF_NONE;
        }
    for (int i = 0; i < g->n_tensors && p->half_params; i++) {
        const ll_tensor *t = g->tensor[i];
        const bool       kept = t->leaf == LL_LEAF_PARAM || t->leaf == LL_LEAF_STATE;
        if (kept && t->elem == LL_REAL && t->update == NULL) p->half[t->id] = true;
    }
    for (int i = 0; i < g->n_tensors; i++)
        if (g->tensor[i]->half) p->half[i] = true;
    for (int i = 0; i < g->n_outputs; i++)
        if (!g->output[i].half) p->half[g->output[i].tensor->base->id] = false;
    for (int i = 0; i < g->n_tensors; i++)
        if (g->tensor[i]->update != NULL) p->half[g->tensor[i]->update->base->id] = false;
}

static ll_view view_of(const ll_planner *p, const ll_tensor *t)
{
    ll_view v = ll_tensor_view(t);
    if (t != NULL && p->half[t->base->id]) v.elem = LL_HALF;
    return v;
}

/* Plans for sampling hand bf16 from layer to layer alone: what lies between, which they repeat many
 * times, stays in floats. */
static bool is_asked(const ll_planner *p, ll_op op)
{
    return !p->half_params || op == LL_OP_LINEAR || op == LL_OP_NORM || op == LL_OP_COPY ||
           op == LL_OP_ATTENTION || op == LL_OP_LAYERS || op == LL_OP_GATED;
}

/* True when the step refused one. v has room for its operands and results. */
static bool strike_out(ll_planner *p, const ll_draft *d, ll_view *v)
{
    const int     n = d->n_in + d->n_out;
    const ll_call c = { .op = d->op,
                        .attr = &d->attr,
                        .in = v,
                        .n_in = d->n_in,
                        .out = v + d->n_in,
                        .n_out = d->n_out };
    for (int k = 0; k < n; k++) v[k] = view_of(p, k < d->n_in ? d->in[k] : d->out[k - d->n_in]);
    for (int k = 0; k < n; k++) {
        const ll_tensor *t = k < d->n_in ? d->in[k] : d->out[k - d->n_in];
        if (t == NULL || !p->half[t->base->id]) continue;
        assert(t->elem == LL_REAL);
        if (is_asked(p, d->op) && p->backend->half(&c, k)) continue;
        p->half[t->base->id] = false;
        return true;
    }
    return false;
}

llap_status ll_plan_halve(ll_planner *p)
{
    int widest = 0;
    p->half = ll_arena_new(&p->arena, (size_t)p->g->n_tensors, sizeof *p->half);
    if (p->half == NULL) return LLAP_ENOMEM;
    if (p->backend->half == NULL) return LLAP_OK;
    mark_candidates(p);
    for (int i = 0; i < p->n_drafts; i++)
        if (p->draft[i].n_in + p->draft[i].n_out > widest)
            widest = p->draft[i].n_in + p->draft[i].n_out;
    ll_view *v = ll_new((size_t)widest, sizeof *v);
    if (v == NULL) return LLAP_ENOMEM;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < p->n_drafts; i++)
            while (strike_out(p, &p->draft[i], v)) changed = true;
    }
    ll_free(v);
    return LLAP_OK;
}
