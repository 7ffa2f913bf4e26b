/* What the stages of the `reference` profile look at. */
#include "base/alloc.h"
#include "base/error.h"
#include "predict/reference_inputs.h"
#include "predict/view/frame.h"
#include "train/reference/reference.h"

#include <assert.h>
#include <string.h>

enum { GROUPS = 10 }; /* of a batch, unless told */

/* -------- windows, scales, rows -------- */

static llap_status scale(ll_reference *r, const llap_panel *p)
{
    ll_scaling_opts so = LL_SCALING_DEFAULT;
    so.by = r->frame.by_entity ? LL_SCALE_GLOBAL : LL_SCALE_BY_ENTITY;
    so.target_as_feature = r->frame.n_targets > 1;
    llap_status st = ll_scaling_create(r->windows, r->split, &so, &r->scaling);
    return st == LLAP_OK ? ll_scaled_create(p, r->scaling, &r->scaled) : st;
}

/* The most rows that so many groups in a row have. */
static int64_t most_rows(const ll_example_list *rows, int64_t groups)
{
    int64_t most = 1;
    assert(groups > 0);
    for (int64_t i = 0; i < rows->n_groups; i += groups) {
        const int64_t end = i + groups < rows->n_groups ? i + groups : rows->n_groups;
        const int64_t n = rows->group[end] - rows->group[i];
        if (n > most) most = n;
    }
    return most;
}

/* Does the usual gap fill the data? */
static bool is_irregular(const ll_windows *w, int64_t step)
{
    int64_t n_odd = 0, n = 0;
    for (int64_t e = 0; e < w->panel->n_entities; e++)
        for (int64_t i = w->panel->start[e] + 1; i < w->panel->start[e + 1]; i++, n++)
            n_odd += w->panel->time[i] - w->panel->time[i - 1] != step;
    return (double)n_odd > 0.01 * (double)n;
}

llap_status ll_reference_look(ll_reference *r, const llap_panel *p, const int64_t *var)
{
    const ll_example_view view = r->frame.by_entity ? LL_VIEW_INDEPENDENT : LL_VIEW_JOINT;
    r->groups = r->o->batch > 0 ? r->o->batch : GROUPS;
    llap_status st = ll_frame_windows(&r->frame, p, var, r->frame.n_targets, &r->windows);
    if (st == LLAP_OK) st = ll_frame_split(&r->frame, r->windows, &r->split);
    if (st == LLAP_OK && (r->split->n[LL_PART_TRAIN] == 0 || r->split->n[LL_PART_VAL] == 0))
        st = ll_fail(LLAP_EINVAL, "nothing observed in the part for training or for validation");
    if (st == LLAP_OK) st = scale(r, p);
    if (st == LLAP_OK)
        st = ll_example_list_create(r->windows, r->split, LL_PART_TRAIN, view, &r->train);
    if (st == LLAP_OK)
        st = ll_example_list_create(r->windows, r->split, LL_PART_VAL, view, &r->val);
    if (st != LLAP_OK) return st;
    r->irregular = is_irregular(r->windows, r->frame.step);
    r->batch = ll_reference_batch_opts(&r->frame);
    r->N = r->train->n_slots;
    r->l = r->windows->n_context;
    r->h = r->windows->n_query;
    r->D = r->scaling->n_features;
    r->C = r->scaling->n_targets;
    r->n_batches = ll_example_list_batches(r->train, r->groups);
    r->B = most_rows(r->train, r->groups);
    return LLAP_OK;
}

void ll_reference_deinit(ll_reference *r)
{
    ll_example_list_destroy(r->train);
    ll_example_list_destroy(r->val);
    ll_scaled_destroy(r->scaled);
    ll_scaling_destroy(r->scaling);
    ll_split_destroy(r->split);
    ll_windows_destroy(r->windows);
}

/* -------- batches to inputs -------- */

void ll_reference_targets(const ll_reference *r, const ll_batch *b, int64_t B, float *y, float *obs,
                          float *ent)
{
    ll_batch_targets(b, B, r->h, b->valid, y, obs, ent);
}

void ll_reference_seen(const ll_reference *r, const ll_batch *b, int64_t B, float *seen, float *ent)
{
    ll_batch_seen(b, B, r->l, seen, ent);
}

void ll_reference_history(const ll_reference *r, const ll_batch *b, int64_t B, ll_session *net)
{
    ll_batch_history(b, B, r->l, net);
}

/* -------- the order of training -------- */

llap_status ll_reference_batch(const ll_reference *r, int64_t k, ll_batch *b)
{
    assert(k >= 0 && k < r->n_batches);
    const ll_example_list *rows = r->train;
    const int64_t end = (k + 1) * r->groups < rows->n_groups ? (k + 1) * r->groups : rows->n_groups;
    const int64_t first = rows->group[k * r->groups], n = rows->group[end] - first;
    int64_t      *list = ll_new((size_t)n, sizeof *list);
    if (list == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n; i++) list[i] = first + i;
    const llap_status st = ll_batch_fill(b, rows, r->scaled, &r->batch, list, n);
    ll_free(list);
    return st;
}

llap_status ll_batch_feed_init(ll_batch_feed *f, const ll_reference *r)
{
    ll_loader_opts o = LL_LOADER_DEFAULT;
    o.batch = r->batch;
    o.n_groups = r->groups;
    o.seed = r->seed;
    o.threads = (int)r->o->prefetch;
    o.order = r->recipe.data.shuffle ? LL_ORDER_BATCHES : LL_ORDER_TIME;
    *f = (ll_batch_feed){ .next = -1 };
    return ll_loader_create(r->train, r->scaled, &o, &f->loader);
}

void ll_batch_feed_deinit(ll_batch_feed *f)
{
    ll_loader_destroy(f->loader);
    *f = (ll_batch_feed){ 0 };
}

llap_status ll_batch_feed_at(ll_batch_feed *f, int64_t step, const ll_batch **out)
{
    const int64_t n = ll_loader_batches(f->loader), place = step % n;
    llap_status   st = LLAP_OK;
    if (f->next != step || place == 0) {
        st = ll_loader_start(f->loader, step / n);
        for (int64_t i = 0; i < place && st == LLAP_OK; i++)
            st = ll_loader_next(f->loader, &f->now);
    }
    if (st == LLAP_OK) st = ll_loader_next(f->loader, &f->now);
    assert(st != LLAP_OK || f->now != NULL);
    f->next = st == LLAP_OK ? step + 1 : -1;
    *out = f->now;
    return st;
}

/* -------- validation -------- */

int64_t ll_reference_val_batches(const ll_reference *r)
{
    const int64_t all = (r->val->n_examples + r->B - 1) / r->B;
    return all < r->recipe.data.val_batches ? all : r->recipe.data.val_batches;
}

llap_status ll_reference_val(const ll_reference *r, int64_t i, ll_batch *b)
{
    const int64_t n = ll_reference_val_batches(r), rows = r->val->n_examples;
    const int64_t all = (rows + r->B - 1) / r->B, first = i * all / n * r->B;
    const int64_t count = rows - first < r->B ? rows - first : r->B;
    int64_t      *list = ll_new((size_t)count, sizeof *list);
    if (list == NULL) return LLAP_ENOMEM;
    assert(i >= 0 && i < n && count > 0);
    for (int64_t k = 0; k < count; k++) list[k] = first + k;
    const llap_status st = ll_batch_fill(b, r->val, r->scaled, &r->batch, list, count);
    ll_free(list);
    return st;
}

/* -------- names -------- */
