/* From graph to plan: keep what the results need, fuse, give memory, write the steps down. */
#include "backend/device_memory.h"
#include "base/alloc.h"
#include "base/error.h"
#include "graph/planner.h"

#include <assert.h>
#include <string.h>

bool ll_shows_all(const ll_tensor *t)
{
    const ll_view v = ll_tensor_view(t);
    return t->offset == 0 && ll_view_dense(&v) &&
           ll_shape_count(&t->shape) == ll_shape_count(&t->base->shape);
}

/* -------- which nodes are needed -------- */

static void need(bool *needed, const ll_tensor *t)
{
    if (t != NULL && t->node != NULL) needed[t->node->id] = true;
}

static llap_status keep_needed(ll_planner *p)
{
    const ll_graph *g = p->g;
    bool           *needed = ll_arena_new(&p->arena, (size_t)g->n_nodes, sizeof *needed);
    p->draft = ll_arena_new(&p->arena, (size_t)g->n_nodes, sizeof *p->draft);
    p->readers = ll_arena_new(&p->arena, (size_t)g->n_tensors, sizeof *p->readers);
    if (needed == NULL || p->draft == NULL || p->readers == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < g->n_outputs; i++) need(needed, g->output[i].tensor);
    for (int i = 0; i < g->n_tensors; i++) need(needed, g->tensor[i]->update);
    for (int i = g->n_nodes - 1; i >= 0; i--)
        for (int k = 0; needed[i] && k < g->node[i]->n_in; k++) need(needed, g->node[i]->in[k]);

    for (int i = 0; i < g->n_outputs; i++) p->readers[g->output[i].tensor->base->id]++;
    for (int i = 0; i < g->n_tensors; i++)
        if (g->tensor[i]->update != NULL) p->readers[g->tensor[i]->update->base->id]++;
    for (int i = 0; i < g->n_nodes; i++) {
        const ll_node *n = g->node[i];
        if (!needed[i] || ll_op_is_view(n->op)) continue;
        p->draft[p->n_drafts++] = (ll_draft){ .op = n->op,
                                              .attr = n->attr,
                                              .label = n->label,
                                              .n_in = n->n_in,
                                              .n_out = n->n_out,
                                              .in = n->in,
                                              .out = n->out };
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] != NULL) p->readers[n->in[k]->base->id]++;
    }
    return LLAP_OK;
}

static void drop_merged(ll_planner *p)
{
    int kept = 0;
    for (int i = 0; i < p->n_drafts; i++)
        if (!p->draft[i].gone) p->draft[kept++] = p->draft[i];
    p->n_drafts = kept;
}

/* -------- writing the plan -------- */

static ll_place place_of(const ll_planner *p, const ll_tensor *t)
{
    ll_place place = { .view = ll_tensor_view(t), .slot = -1 };
    if (t == NULL) return place;
    const ll_storage *root = &p->store[p->store[t->base->id].root];
    assert(root->kind != STORE_NONE && t->offset >= 0);
    assert(root->kind != STORE_WORK || root->offset + root->n_bytes <= p->workspace);
    assert(root->kind != STORE_CONST || root->offset + root->n_bytes <= p->constants);
    place.offset = root->offset + (size_t)t->offset * ll_plan_elem_bytes(p, t);
    if (p->half[t->base->id]) place.view.elem = LL_HALF;
    if (root->kind == STORE_SLOT) place.slot = root->slot;
    place.constant = root->kind == STORE_CONST;
    return place;
}

static llap_status copy_layers(ll_plan *plan, ll_plan_step *s)
{
    ll_op_layers *kept = ll_arena_new(&plan->arena, 1, sizeof *kept);
    if (kept == NULL) return LLAP_ENOMEM;
    *kept = *s->attr.layers;
    s->attr.layers = kept;
    return LLAP_OK;
}

static llap_status copy_chain(ll_plan *plan, ll_plan_step *s)
{
    if (s->op == LL_OP_LAYERS) return copy_layers(plan, s);
    if (s->op != LL_OP_CHAIN) return LLAP_OK;
    ll_op_chain *kept = ll_arena_new(&plan->arena, 1, sizeof *kept);
    if (kept == NULL) return LLAP_ENOMEM;
    *kept = *s->attr.chain;
    s->attr.chain = kept;
    return LLAP_OK;
}

static llap_status write_step(ll_plan *plan, const ll_planner *p, ll_op op, const ll_attr *attr,
                              ll_tensor *const *in, int n_in, ll_tensor *const *out, int n_out)
{
    ll_plan_step *s = &plan->step[plan->n_steps++];
    *s = (ll_plan_step){ .op = op,
                         .fn = p->backend->kernel[op],
                         .n_in = n_in,
                         .n_out = n_out,
                         .place =
                             ll_arena_new(&plan->arena, (size_t)(n_in + n_out), sizeof *s->place) };
    if (s->place == NULL) return LLAP_ENOMEM;
    if (s->fn == NULL)
        return ll_fail(LLAP_EUNSUPPORTED, "%s: not on backend '%s'", ll_op_name(op),
                       p->backend->name);
    if (attr != NULL) s->attr = *attr;
    plan->n_places += n_in + n_out;
    for (int k = 0; k < n_in; k++) s->place[k] = place_of(p, in[k]);
    for (int k = 0; k < n_out; k++) s->place[n_in + k] = place_of(p, out[k]);
    return copy_chain(plan, s);
}

/* The last draft aside whose result draft i reads, or -1. */
static bool made_by(const ll_draft *d, const ll_tensor *t)
{
    for (int k = 0; k < d->n_out && t != NULL; k++)
        if (d->out[k] == t->base) return true;
    return false;
}

static int last_aside(const ll_planner *p, int i)
{
    for (int j = i - 1; j >= 0 && p->aside != NULL; j--)
        for (int k = 0; k < p->draft[i].n_in && p->aside[j]; k++)
            if (made_by(&p->draft[j], p->draft[i].in[k])) return j;
    return -1;
}

static llap_status write_steps(ll_plan *plan, const ll_planner *p)
{
    const ll_graph *g = p->g;
    int             n_updates = 0;
    for (int i = 0; i < g->n_tensors; i++) n_updates += g->tensor[i]->update != NULL;
    plan->step = ll_arena_new(&plan->arena, (size_t)(p->n_drafts + n_updates), sizeof *plan->step);
    if (plan->step == NULL) return LLAP_ENOMEM;
    llap_status st = LLAP_OK;
    for (int i = 0; i < p->n_drafts && st == LLAP_OK; i++) {
        const ll_draft *d = &p->draft[i];
        st = write_step(plan, p, d->op, &d->attr, d->in, d->n_in, d->out, d->n_out);
        plan->step[plan->n_steps - 1].work_offset = p->work_offset[i];
        plan->step[plan->n_steps - 1].aside = p->aside != NULL && p->aside[i];
        plan->step[plan->n_steps - 1].after = last_aside(p, i);
    }
    /* Updates that could not be written in place: all old content has been read by now. */
    for (int i = 0; i < g->n_tensors && st == LLAP_OK; i++) {
        ll_tensor *leaf = g->tensor[i], *value = leaf->update;
        if (value == NULL) continue;
        if (p->store[p->store[value->base->id].root].kind == STORE_SLOT) continue;
        st = write_step(plan, p, LL_OP_COPY, NULL, &value, 1, &leaf, 1);
        plan->step[plan->n_steps - 1].after = -1;
    }
    assert(plan->n_steps <= p->n_drafts + n_updates);
    return st;
}

static llap_status write_slots(ll_plan *plan, ll_planner *p)
{
    const ll_graph *g = p->g;
    plan->slot = ll_arena_new(&plan->arena, (size_t)g->n_tensors, sizeof *plan->slot);
    if (plan->slot == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < g->n_tensors; i++) {
        const ll_tensor *t = g->tensor[i];
        if (p->store[i].kind != STORE_SLOT || t->leaf == LL_LEAF_NONE) continue;
        ll_slot *s = &plan->slot[p->store[i].slot];
        assert(t->name != NULL && s->name == NULL); /* each slot once */
        *s = (ll_slot){ .name = ll_arena_strndup(&plan->arena, t->name, strlen(t->name)),
                        .leaf = t->leaf,
                        .elem = p->half[i] ? LL_HALF : t->elem,
                        .shape = t->shape,
                        .init = t->init };
        if (s->name == NULL) return LLAP_ENOMEM;
        plan->n_slots++;
    }
    return LLAP_OK;
}

static llap_status write_constants(ll_plan *plan, const ll_planner *p)
{
    unsigned char *values = ll_arena_new(&plan->arena, p->constants, 1);
    void          *device_data = NULL;
    if (values == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < p->g->n_tensors; i++) {
        const ll_tensor *t = p->g->tensor[i];
        if (p->store[i].kind != STORE_CONST) continue;
        assert(t->elem == LL_REAL && !p->half[i] && t->values != NULL);
        const int64_t n = ll_shape_count(&t->shape);
        void         *at = values + p->store[i].offset;
        for (int64_t k = 0; k < n; k++) {
            if (p->backend->real_bytes == sizeof(double)) ((double *)at)[k] = t->values[k];
            else ((float *)at)[k] = (float)t->values[k];
        }
    }
    if (p->backend->memory == NULL || p->constants == 0) {
        plan->constants = values;
        return LLAP_OK;
    }
    llap_status st = ll_device_alloc(p->backend, p->constants, &device_data);
    plan->constants = device_data;
    if (st == LLAP_OK) st = ll_device_put(p->backend, device_data, values, p->constants);
    return st;
}

static llap_status write_results(ll_plan *plan, const ll_planner *p)
{
    const ll_graph *g = p->g;
    plan->result = ll_arena_new(&plan->arena, (size_t)g->n_outputs, sizeof *plan->result);
    if (plan->result == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < g->n_outputs; i++) {
        const ll_named *o = &g->output[i];
        const ll_place  at = place_of(p, o->tensor);
        assert(at.slot < 0 && !at.constant); /* the run owns it */
        plan->result[i] =
            (ll_result){ .name = ll_arena_strndup(&plan->arena, o->name, strlen(o->name)),
                         .shape = o->tensor->shape,
                         .elem = at.view.elem,
                         .offset = at.offset };
        if (plan->result[i].name == NULL) return LLAP_ENOMEM;
        plan->n_results++;
    }
    return LLAP_OK;
}

/* Scratch memory of each step, as the backend asks for it. */
static llap_status ask_scratch(ll_planner *p, int n_threads)
{
    p->work_bytes = ll_arena_new(&p->arena, (size_t)p->n_drafts, sizeof *p->work_bytes);
    p->work_offset = ll_arena_new(&p->arena, (size_t)p->n_drafts, sizeof *p->work_offset);
    if (p->work_bytes == NULL || p->work_offset == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < p->n_drafts && p->backend->work_bytes != NULL; i++) {
        const ll_draft *d = &p->draft[i];
        ll_view        *v = ll_new((size_t)(d->n_in + d->n_out), sizeof *v);
        if (v == NULL) return LLAP_ENOMEM;
        for (int k = 0; k < d->n_in; k++) v[k] = ll_tensor_view(d->in[k]);
        for (int k = 0; k < d->n_out; k++) v[d->n_in + k] = ll_tensor_view(d->out[k]);
        p->work_bytes[i] = p->backend->work_bytes(&(ll_call){ .op = d->op,
                                                              .attr = &d->attr,
                                                              .in = v,
                                                              .n_in = d->n_in,
                                                              .out = v + d->n_in,
                                                              .n_out = d->n_out,
                                                              .n_threads = n_threads });
        ll_free(v);
    }
    return LLAP_OK;
}

static bool is_written(const ll_plan *plan, int slot)
{
    for (int i = 0; i < plan->n_steps; i++)
        for (int k = 0; k < plan->step[i].n_out; k++)
            if (plan->step[i].place[plan->step[i].n_in + k].slot == slot) return true;
    return false;
}

/* What steps keep of parameters from run to run. */
static llap_status ask_kept(ll_plan *plan)
{
    for (int i = 0; i < plan->n_steps && plan->backend->kept_bytes != NULL; i++) {
        ll_plan_step *s = &plan->step[i];
        ll_view      *v = ll_new((size_t)(s->n_in + s->n_out), sizeof *v);
        int           operand = 0;
        if (v == NULL) return LLAP_ENOMEM;
        for (int k = 0; k < s->n_in + s->n_out; k++) v[k] = s->place[k].view;
        const ll_call c = { .op = s->op,
                            .attr = &s->attr,
                            .in = v,
                            .n_in = s->n_in,
                            .out = v + s->n_in,
                            .n_out = s->n_out,
                            .n_threads = plan->n_threads };
        const size_t  n_bytes = plan->backend->kept_bytes(&c, &operand);
        assert(n_bytes == 0 || (operand >= 0 && operand < s->n_in));
        const int     slot = n_bytes == 0 ? -1 : s->place[operand].slot;
        const ll_leaf leaf = slot < 0 ? LL_LEAF_NONE : plan->slot[slot].leaf;
        if ((leaf == LL_LEAF_PARAM || leaf == LL_LEAF_STATE) && !is_written(plan, slot))
            plan->kept += s->kept_bytes = (n_bytes + 63) / 64 * 64;
        ll_free(v);
    }
    return LLAP_OK;
}

llap_status ll_plan_create(const ll_graph *g, const ll_plan_opts *opts, ll_plan **out)
{
    *out = NULL;
    llap_status st = ll_graph_status(g);
    if (st != LLAP_OK) return st;
    ll_plan *plan = ll_new(1, sizeof *plan);
    if (plan == NULL) return LLAP_ENOMEM;
    atomic_init(&plan->refs, 1);
    plan->backend = opts->backend;
    plan->n_threads = opts->n_threads < 1 ? 1 : opts->n_threads;

    ll_planner p = { .g = g,
                     .backend = opts->backend,
                     .half_params = opts->half_params,
                     .fixed_params = opts->fixed_params };
    st = keep_needed(&p);
    if (st == LLAP_OK && !opts->plain) st = ll_plan_fuse(&p);
    drop_merged(&p);
    if (st == LLAP_OK && !opts->plain) st = ll_plan_gather(&p);
    if (st == LLAP_OK) st = ll_plan_halve(&p);
    if (st == LLAP_OK) st = ask_scratch(&p, plan->n_threads);
    if (opts->beside && !opts->plain && opts->backend->memory != NULL &&
        opts->backend->memory->aside != NULL) {
        p.aside = ll_arena_new(&p.arena, (size_t)p.n_drafts, sizeof *p.aside);
        if (p.aside == NULL) st = LLAP_ENOMEM;
    }
    if (st == LLAP_OK) st = ll_plan_memory(&p, opts->plain);
    if (st == LLAP_OK) st = write_slots(plan, &p);
    if (st == LLAP_OK) st = write_constants(plan, &p);
    if (st == LLAP_OK) st = write_steps(plan, &p);
    if (st == LLAP_OK) st = write_results(plan, &p);
    if (st == LLAP_OK && opts->fixed_params) st = ask_kept(plan);
    plan->workspace = p.workspace;
    plan->n_constants = p.constants;
    ll_arena_deinit(&p.arena);
    if (st == LLAP_OK) *out = plan;
    else ll_plan_release(plan);
    return st;
}

void ll_plan_retain(ll_plan *p)
{
    assert(atomic_load(&p->refs) > 0);
    atomic_fetch_add(&p->refs, 1);
}

void ll_plan_release(ll_plan *p)
{
    if (p == NULL || atomic_fetch_sub(&p->refs, 1) > 1) return;
    if (p->backend->memory != NULL && p->n_constants > 0)
        ll_device_release(p->backend, p->constants);
    ll_arena_deinit(&p->arena);
    ll_free(p);
}

size_t ll_plan_workspace(const ll_plan *p) { return p->workspace + p->kept; }
int    ll_plan_n_steps(const ll_plan *p) { return p->n_steps; }
int    ll_plan_n_slots(const ll_plan *p) { return p->n_slots; }

ll_elem ll_plan_output_elem(const ll_plan *p, const char *name)
{
    for (int i = 0; i < p->n_results; i++)
        if (strcmp(p->result[i].name, name) == 0) return p->result[i].elem;
    return LL_REAL;
}

const ll_slot *ll_plan_slot(const ll_plan *p, int i)
{
    assert(i >= 0 && i < p->n_slots);
    return &p->slot[i];
}
