/* Who lives where: lifetimes, results that overwrite operands, and places in the workspace. */
#include "base/alloc.h"
#include "graph/planner.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static ll_storage *root_of(const ll_planner *p, const ll_tensor *t)
{
    const int root = p->store[t->base->id].root;
    assert(p->store[root].kind != STORE_NONE && p->store[root].root == root);
    return &p->store[root];
}

/* -------- lifetimes -------- */

static void touch(ll_planner *p, const ll_tensor *t, int step, int *n_slots)
{
    if (t == NULL) return;
    ll_storage *s = &p->store[t->base->id];
    if (s->kind == STORE_NONE) {
        s->n_bytes =
            ll_plan_round((size_t)ll_shape_count(&t->base->shape) * ll_plan_elem_bytes(p, t));
        s->root = t->base->id;
        s->first = step;
        s->kind = t->base->leaf == LL_LEAF_NONE       ? STORE_WORK
                  : t->base->leaf == LL_LEAF_CONSTANT ? STORE_CONST
                                                      : STORE_SLOT;
        if (s->kind == STORE_SLOT) s->slot = (*n_slots)++;
        if (s->kind == STORE_CONST) {
            s->offset = p->constants;
            p->constants += s->n_bytes;
        }
    }
    if (step > s->last) s->last = step;
    assert(s->first <= s->last);
}

static void find_lifetimes(ll_planner *p)
{
    const ll_graph *g = p->g;
    int             n_slots = 0;
    for (int i = 0; i < p->n_drafts; i++) {
        for (int k = 0; k < p->draft[i].n_in; k++) {
            const ll_tensor *t = p->draft[i].in[k];
            assert(t == NULL || t->base->leaf != LL_LEAF_NONE ||
                   p->store[t->base->id].kind == STORE_WORK); /* an earlier step made it */
            touch(p, t, i, &n_slots);
        }
        for (int k = 0; k < p->draft[i].n_out; k++) touch(p, p->draft[i].out[k], i, &n_slots);
    }
    for (int i = 0; i < g->n_outputs; i++) touch(p, g->output[i].tensor, INT_MAX, &n_slots);
    for (int i = 0; i < g->n_tensors; i++) {
        if (g->tensor[i]->update == NULL) continue;
        touch(p, g->tensor[i], p->n_drafts, &n_slots);
        touch(p, g->tensor[i]->update, p->n_drafts, &n_slots);
    }
}

static bool is_grouped(const ll_planner *p, int i)
{
    return p->group != NULL && p->group[i].last > p->group[i].first;
}

/* What is done at once is written by the first and read by the last. */
static void widen_groups(ll_planner *p)
{
    for (int i = 0; i < p->n_drafts; i++) {
        if (!is_grouped(p, i)) continue;
        assert(p->group[i].first <= i && i <= p->group[i].last);
        const ll_draft *d = &p->draft[i];
        for (int k = 0; k < d->n_in; k++) {
            ll_storage *s = d->in[k] == NULL ? NULL : &p->store[d->in[k]->base->id];
            if (s != NULL && s->last < p->group[i].last) s->last = p->group[i].last;
        }
        for (int k = 0; k < d->n_out; k++)
            if (p->store[d->out[k]->id].first > p->group[i].first)
                p->store[d->out[k]->id].first = p->group[i].first;
    }
}

/* -------- steps aside -------- */

/* Nobody reads the draft's results soon. */
static bool is_late(const ll_planner *p, int i)
{
    const ll_draft *d = &p->draft[i];
    for (int j = i + 1; j <= i + LL_ASIDE_DEVICE && j < p->n_drafts; j++)
        for (int k = 0; k < p->draft[j].n_in; k++)
            for (int o = 0; o < d->n_out; o++)
                if (p->draft[j].in[k] != NULL && p->draft[j].in[k]->base == d->out[o]) return false;
    return true;
}

static void keep_until(ll_planner *p, const ll_tensor *t, int step)
{
    if (t != NULL && p->store[t->base->id].last < step) p->store[t->base->id].last = step;
}

/* The draft's result is what a leaf becomes. */
static bool is_update(const ll_planner *p, const ll_draft *d)
{
    for (int i = 0; i < p->g->n_tensors; i++)
        for (int k = 0; k < d->n_out && p->g->tensor[i]->update != NULL; k++)
            if (p->g->tensor[i]->update->base == d->out[k]) return true;
    return false;
}

static void choose_aside(ll_planner *p)
{
    for (int i = 0; i < p->n_drafts && p->aside != NULL; i++) {
        const ll_draft *d = &p->draft[i];
        /* Behind the last step too: that one must not write over what is still read. */
        const int until = i + LL_ASIDE_FAR < p->n_drafts ? i + LL_ASIDE_FAR : p->n_drafts;
        p->aside[i] = (d->op == LL_OP_MATMUL || d->op == LL_OP_SUM) && !is_grouped(p, i) &&
                      is_late(p, i) && !is_update(p, d);
        for (int k = 0; k < d->n_in && p->aside[i]; k++) keep_until(p, d->in[k], until);
        for (int k = 0; k < d->n_out && p->aside[i]; k++) keep_until(p, d->out[k], until);
    }
}

/* -------- results over operands -------- */

/* Operand k of the draft may be overwritten: no other operand reads the same memory differently. */
static bool alone(const ll_planner *p, const ll_draft *d, int k)
{
    for (int i = 0; i < d->n_in; i++) {
        if (i == k || d->in[i] == NULL || root_of(p, d->in[i]) != root_of(p, d->in[k])) continue;
        if (d->in[i]->base != d->in[k]->base || !ll_shows_all(d->in[i])) return false;
        if (!ll_shape_equal(&d->in[i]->shape, &d->in[k]->shape)) return false;
    }
    return true;
}

static bool may_overwrite(const ll_planner *p, const ll_draft *d, int k, int o)
{
    if (o >= 3 || k >= 32 || (ll_op_desc_of(d->op)->in_place[o] & 1u << k) == 0) return false;
    return d->in[k] != NULL && d->in[k]->elem == d->out[o]->elem && ll_shows_all(d->in[k]) &&
           p->half[d->in[k]->base->id] == p->half[d->out[o]->base->id] &&
           ll_shape_count(&d->in[k]->shape) == ll_shape_count(&d->out[o]->shape) && alone(p, d, k);
}

static void overwrite_operands(ll_planner *p)
{
    for (int i = 0; i < p->n_drafts; i++) {
        const ll_draft *d = &p->draft[i];
        for (int o = 0; o < d->n_out; o++) {
            ll_storage *out = &p->store[d->out[o]->id];
            for (int k = 0; k < d->n_in && out->root == d->out[o]->id; k++) {
                if (!may_overwrite(p, d, k, o)) continue;
                ll_storage *in = root_of(p, d->in[k]);
                if (in->kind != STORE_WORK || in->last != i) continue;
                assert(out->n_bytes == in->n_bytes);
                out->root = in->root;
                in->last = out->last;
            }
        }
    }
}

/* -------- updates written straight into the caller's memory -------- */

static int producer_of(const ll_planner *p, const ll_tensor *t, int *out)
{
    for (int i = 0; i < p->n_drafts; i++)
        for (int o = 0; o < p->draft[i].n_out; o++)
            if (p->draft[i].out[o] == t->base) {
                *out = o;
                return i;
            }
    return -1;
}

/* The value may be computed in the leaf's memory when nobody reads the leaf later, and its own
 * step only in the way the op allows. Reads that alias it count by the leaf's storage. */
static bool may_write_through(const ll_planner *p, const ll_tensor *leaf)
{
    const ll_tensor *value = leaf->update;
    int              o = 0;
    const int        step = producer_of(p, value, &o);
    if (step < 0 || p->store[value->base->id].last > p->n_drafts || !ll_shows_all(value))
        return false; /* a leaf, or also an output */
    const ll_draft *d = &p->draft[step];
    for (int k = 0; k < d->n_in; k++)
        if (d->in[k] != NULL && d->in[k]->base == leaf && !may_overwrite(p, d, k, o)) return false;
    for (int i = step + 1; i < p->n_drafts; i++)
        for (int k = 0; k < p->draft[i].n_in; k++)
            if (p->draft[i].in[k] != NULL && p->draft[i].in[k]->base == leaf) return false;
    for (int i = 0; i < p->g->n_tensors; i++) /* the value of two leaves */
        if (p->g->tensor[i] != leaf && p->g->tensor[i]->update != NULL &&
            p->g->tensor[i]->update->base == value->base)
            return false;
    return true;
}

static void write_through(ll_planner *p)
{
    for (int i = 0; i < p->g->n_tensors; i++) {
        const ll_tensor *leaf = p->g->tensor[i];
        if (leaf->update == NULL || !may_write_through(p, leaf)) continue;
        ll_storage *value = &p->store[leaf->update->base->id];
        assert(p->store[leaf->id].kind == STORE_SLOT);
        assert(value->n_bytes == p->store[leaf->id].n_bytes);
        value->root = leaf->id;
    }
}

/* -------- places in the workspace -------- */

typedef struct block {
    size_t  n_bytes;
    int     first, last;
    size_t *offset;
} block;

static int larger_first(const void *a, const void *b)
{
    const block *x = a, *y = b;
    if (x->n_bytes != y->n_bytes) return x->n_bytes < y->n_bytes ? 1 : -1;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The lowest free place beside the blocks placed before (kept in order of offset). */
static size_t lowest_place(block *const *placed, int n, const block *b)
{
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        const block *other = placed[i];
        assert(i == 0 || *placed[i - 1]->offset <= *other->offset);
        if (other->last < b->first || other->first > b->last) continue;
        if (*other->offset >= at + b->n_bytes) break;
        if (*other->offset + other->n_bytes > at) at = *other->offset + other->n_bytes;
    }
    return at;
}

static void place_blocks(ll_planner *p, block *blocks, block **placed, int n, bool plain)
{
    if (!plain) qsort(blocks, (size_t)n, sizeof *blocks, larger_first);
    for (int i = 0; i < n; i++) {
        block       *b = &blocks[i];
        const size_t at = plain ? p->workspace : lowest_place(placed, i, b);
        int          k = i;
        assert(b->first <= b->last && b->n_bytes % LL_PLAN_ALIGN == 0);
        *b->offset = at;
        for (; k > 0 && *placed[k - 1]->offset > at; k--) placed[k] = placed[k - 1];
        placed[k] = b;
        if (at + b->n_bytes > p->workspace) p->workspace = at + b->n_bytes;
    }
}

static bool is_aside(const ll_planner *p, int i) { return p->aside != NULL && p->aside[i]; }

static llap_status place_all(ll_planner *p, bool plain)
{
    const int    n_tensors = p->g->n_tensors;
    const size_t most = (size_t)(n_tensors + p->n_drafts + 1);
    block       *blocks = ll_arena_new(&p->arena, most, sizeof *blocks);
    block      **placed = ll_arena_new(&p->arena, most, sizeof *placed);
    size_t       shared_at = 0;
    int          n = 0;
    if (blocks == NULL || placed == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < n_tensors; i++) {
        ll_storage *s = &p->store[i];
        if (s->kind == STORE_WORK && s->root == i)
            blocks[n++] = (block){ s->n_bytes, s->first, s->last, &s->offset };
    }
    block shared = { 0, 0, p->n_drafts, &shared_at }; /* of steps aside, one behind the other */
    for (int i = 0; i < p->n_drafts; i++) {
        const size_t size = ll_plan_round(p->work_bytes[i]);
        if (is_aside(p, i)) {
            if (size > shared.n_bytes) shared.n_bytes = size;
        } else if (size > 0) { /* what is done at once needs none */
            blocks[n++] = (block){ size, i, i, &p->work_offset[i] };
        }
    }
    if (shared.n_bytes > 0) blocks[n++] = shared;
    assert((size_t)n <= most);
    place_blocks(p, blocks, placed, n, plain);
    for (int i = 0; i < p->n_drafts; i++)
        if (is_aside(p, i)) p->work_offset[i] = shared_at;
    return LLAP_OK;
}

llap_status ll_plan_memory(ll_planner *p, bool plain)
{
    p->store = ll_arena_new(&p->arena, (size_t)p->g->n_tensors, sizeof *p->store);
    if (p->store == NULL) return LLAP_ENOMEM;
    find_lifetimes(p);
    widen_groups(p);
    choose_aside(p);
    if (!plain) {
        write_through(p);
        overwrite_operands(p);
    }
    return place_all(p, plain);
}
