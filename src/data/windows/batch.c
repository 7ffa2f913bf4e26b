#include "data/windows/batch.h"

#include "base/alloc.h"
#include "base/error.h"
#include "data/windows/missing.h"

#include <assert.h>
#include <string.h>

ll_batch ll_batch_view(const ll_batch *b, int64_t first, int64_t n)
{
    const int64_t N = b->n_slots, x = first * N * b->n_context, y = first * N * b->n_query;
    ll_batch      v = *b;
    assert(first >= 0 && first + n <= b->n_examples);
    v.n_examples = n;
    v.v += x * b->n_features;
    if (v.dv != NULL) v.dv += x * b->n_features;
    v.x_obs += x * b->n_features;
    v.y += y * b->n_targets;
    v.y_obs += y * b->n_targets;
    v.entity_mask += first * N;
    v.valid += first * N;
    v.delta_t += x;
    v.delta_t_y += y;
    v.tau += first * b->n_query;
    v.any_obs += first * b->n_query;
    v.window += first * N;
    v.id += first;
    v.end += first;
    v.block = NULL;
    return v;
}

void ll_batch_deinit(ll_batch *b)
{
    ll_free(b->block);
    *b = (ll_batch){ 0 };
}

/* Hands out the block piece by piece, each on a cache line; without a block it only adds up. */
typedef struct layout {
    char  *base;
    size_t used, n_bytes;
    bool   overflow;
} layout;

static void *piece(layout *l, int64_t n, size_t size)
{
    size_t n_bytes, padded, used;
    if (__builtin_mul_overflow((size_t)n, size, &n_bytes) ||
        __builtin_add_overflow(n_bytes, (size_t)(LL_ALIGN - 1), &padded) ||
        __builtin_add_overflow(l->used, padded & ~(size_t)(LL_ALIGN - 1), &used) ||
        used > (SIZE_MAX >> 2)) {
        l->overflow = true;
        return NULL;
    }
    void *p = l->base == NULL ? NULL : l->base + l->used;
    l->used = used;
    l->n_bytes += n_bytes;
    return p;
}

static bool times(int64_t *n, int64_t by) { return !__builtin_mul_overflow(*n, by, n); }

static bool lay_out(ll_batch *b, bool with_diff, layout *l)
{
    int64_t slots = b->n_examples, queries, context, cells, query, targets;
    bool    ok = times(&slots, b->n_slots);
    context = cells = query = slots;
    queries = b->n_examples;
    ok = ok && times(&context, b->n_context) && times(&query, b->n_query) &&
         times(&queries, b->n_query);
    cells = context;
    targets = query;
    ok = ok && times(&cells, b->n_features) && times(&targets, b->n_targets);
    if (!ok) return false;
    b->v = piece(l, cells, sizeof *b->v);
    b->dv = with_diff ? piece(l, cells, sizeof *b->dv) : NULL;
    b->y = piece(l, targets, sizeof *b->y);
    b->x_obs = piece(l, cells, sizeof *b->x_obs);
    b->y_obs = piece(l, targets, sizeof *b->y_obs);
    b->entity_mask = piece(l, slots, sizeof *b->entity_mask);
    b->valid = piece(l, slots, sizeof *b->valid);
    b->delta_t = piece(l, context, sizeof *b->delta_t);
    b->delta_t_y = piece(l, query, sizeof *b->delta_t_y);
    b->tau = piece(l, queries, sizeof *b->tau);
    b->any_obs = piece(l, queries, sizeof *b->any_obs);
    b->window = piece(l, slots, sizeof *b->window);
    b->id = piece(l, b->n_examples, sizeof *b->id);
    b->end = piece(l, b->n_examples, sizeof *b->end);
    return !l->overflow;
}

/* Points the tensors into the block, which is made larger when it must be. */
static llap_status reshape(ll_batch *b, bool with_diff)
{
    layout size = { 0 };
    if (!lay_out(b, with_diff, &size))
        return ll_fail(LLAP_ELIMIT, "batch: [%lld,%lld,%lld,%lld] is too large",
                       (long long)b->n_examples, (long long)b->n_slots, (long long)b->n_context,
                       (long long)b->n_features);
    if (size.used > b->capacity || b->block == NULL) {
        void *block = ll_new_aligned(size.used, 1);
        if (block == NULL) {
            ll_batch_deinit(b);
            return LLAP_ENOMEM;
        }
        ll_free(b->block);
        b->block = block;
        b->capacity = size.used;
    }
    layout real = { .base = b->block };
    (void)lay_out(b, with_diff, &real);
    assert(real.used == size.used && real.used <= b->capacity);
    b->n_bytes = real.n_bytes;
    return LLAP_OK;
}

llap_status ll_batch_shape(ll_batch *b, bool with_diff)
{
    const llap_status st = reshape(b, with_diff);
    if (st != LLAP_OK) return st;
    memset(b->block, 0, b->capacity);
    for (int64_t i = 0; i < b->n_examples * b->n_slots; i++) b->window[i] = LL_NO_WINDOW;
    return LLAP_OK;
}

/* ---- filling ----------------------------------------------------------------------------------
 */

typedef struct job {
    const llap_panel    *p;
    const ll_scaled     *x; /* the panel after scaling; NULL: rows are scaled as they are taken */
    const ll_scaling    *s; /* by these statistics; else NULL */
    const ll_batch_opts *o;
} job;

static void zero(void *p, int64_t n, size_t size) { memset(p, 0, (size_t)n * size); }

static void copy(void *to, const void *from, int64_t n, size_t size)
{
    memcpy(to, from, (size_t)n * size);
}

static void empty_slot(ll_batch *b, int64_t slot)
{
    const int64_t n = b->n_context, cells = n * b->n_features, h = b->n_query;
    const int64_t targets = h * b->n_targets;
    zero(b->v + slot * cells, cells, sizeof *b->v);
    if (b->dv != NULL) zero(b->dv + slot * cells, cells, sizeof *b->dv);
    zero(b->x_obs + slot * cells, cells, sizeof *b->x_obs);
    zero(b->y + slot * targets, targets, sizeof *b->y);
    zero(b->y_obs + slot * targets, targets, sizeof *b->y_obs);
    zero(b->delta_t + slot * n, n, sizeof *b->delta_t);
    zero(b->delta_t_y + slot * h, h, sizeof *b->delta_t_y);
    b->entity_mask[slot] = b->valid[slot] = 0;
    b->window[slot] = LL_NO_WINDOW;
}

/* d [n,D] of v [n,D]; the first row has none. */
static void difference(const float *restrict v, const uint8_t *restrict obs, bool masked, int64_t n,
                       int64_t width, float *restrict d)
{
    zero(d, width, sizeof *d);
    if (!masked)
        for (int64_t i = width; i < n * width; i++) d[i] = v[i] - v[i - width];
    else
        for (int64_t i = width; i < n * width; i++)
            d[i] = obs[i] && obs[i - width] ? v[i] - v[i - width] : 0.0f;
}

/* The features of n rows from `row` on, all of entity e. */
static void take_features(const job *j, int64_t e, int64_t row, int64_t n, float *v, uint8_t *obs)
{
    assert((j->x == NULL) != (j->s == NULL));
    if (j->x == NULL) {
        ll_scale_features(j->s, j->p, e, row, n, v, obs);
        return;
    }
    const int64_t width = j->x->n_features;
    copy(v, j->x->x + row * width, n * width, sizeof *v);
    copy(obs, j->x->x_obs + row * width, n * width, sizeof *obs);
}

/* Likewise the targets. */
static void take_targets(const job *j, int64_t e, int64_t row, int64_t n, float *y, uint8_t *obs)
{
    if (j->x == NULL) {
        ll_scale_targets(j->s, j->p, e, row, n, y, obs);
        return;
    }
    const int64_t width = j->x->n_targets;
    copy(y, j->x->y + row * width, n * width, sizeof *y);
    copy(obs, j->x->y_obs + row * width, n * width, sizeof *obs);
}

static void fill_context(const job *j, ll_batch *b, int64_t slot, const ll_window *w)
{
    const int64_t     width = b->n_features, at = slot * b->n_context * width;
    const int64_t     pad = (b->n_context - w->n_context) * width, n = w->n_context * width;
    const llap_panel *p = j->p;
    float            *v = b->v + at;
    uint8_t          *obs = b->x_obs + at;
    assert(w->n_context > 0 && w->n_context <= b->n_context);
    zero(v, pad, sizeof *v);
    zero(obs, pad, sizeof *obs);
    take_features(j, w->entity, w->first, w->n_context, v + pad, obs + pad);
    if (j->o->hide_rate > 0)
        ll_hide_cells(j->o->hide_seed, p->entity[w->entity], w->first - p->start[w->entity],
                      j->o->hide_rate, n, obs + pad, v + pad);
    if (b->dv != NULL) {
        zero(b->dv + at, pad, sizeof *b->dv);
        difference(v + pad, obs + pad, j->o->diff == LL_DIFF_MASKED, w->n_context, width,
                   b->dv + at + pad);
    }
    b->valid[slot] = memchr(obs + pad, 1, (size_t)n) != NULL;
}

static void fill_query(const job *j, ll_batch *b, int64_t slot, const ll_window *w)
{
    const int64_t width = b->n_targets, at = slot * b->n_query * width;
    const int64_t n = w->n_query * width, rest = b->n_query * width - n;
    assert(w->n_query > 0 && w->n_query <= b->n_query);
    take_targets(j, w->entity, ll_window_query(w), w->n_query, b->y + at, b->y_obs + at);
    zero(b->y + at + n, rest, sizeof *b->y);
    zero(b->y_obs + at + n, rest, sizeof *b->y_obs);
}

/* When an example is asked for something, and from where its offsets are counted. */
typedef struct query_times {
    const int64_t *time; /* [n], at least one unless nothing is asked */
    int64_t        n, origin;
} query_times;

static query_times times_of(const job *j, const ll_window *w)
{
    const int64_t *q = j->p->time + ll_window_query(w);
    return (query_times){ q, w->n_query, j->o->from_first ? q[0] : q[-1] };
}

/* The offsets of the queries, the last one repeated up to [H]. */
static void compute_query_times(const job *j, const ll_batch *b, query_times q, float *out)
{
    ll_time_offsets(q.time, q.n, q.origin, j->o->unit_ns, out);
    for (int64_t i = q.n; i < b->n_query; i++) out[i] = q.n > 0 ? out[q.n - 1] : 0;
}

static void compute_context_times(const job *j, ll_batch *b, int64_t slot, const ll_window *w)
{
    const int64_t pad = b->n_context - w->n_context, *time = j->p->time + w->first;
    float        *t = b->delta_t + slot * b->n_context;
    zero(t, pad, sizeof *t);
    ll_time_offsets(time, w->n_context, time[0], j->o->unit_ns, t + pad);
}

/* Entities of an example mostly have the same times: computed once, then copied. */
static void fill_times(const job *j, ll_batch *b, int64_t slot, const ll_window *w,
                       int64_t model_slot, const ll_window *model)
{
    const int64_t *time = j->p->time;
    const size_t   rows = (size_t)w->n_context + (size_t)w->n_query;
    if (model != NULL && model->n_context == w->n_context && model->n_query == w->n_query &&
        memcmp(time + model->first, time + w->first, rows * sizeof *time) == 0) {
        copy(b->delta_t + slot * b->n_context, b->delta_t + model_slot * b->n_context, b->n_context,
             sizeof *b->delta_t);
        copy(b->delta_t_y + slot * b->n_query, b->delta_t_y + model_slot * b->n_query, b->n_query,
             sizeof *b->delta_t_y);
    } else {
        compute_context_times(j, b, slot, w);
        compute_query_times(j, b, times_of(j, w), b->delta_t_y + slot * b->n_query);
    }
}

/* At which queries of the example anything is known, by one slot more. */
static void add_observed(ll_batch *b, int64_t example, int64_t slot)
{
    const int64_t  h = b->n_query, c = b->n_targets;
    const uint8_t *obs = b->y_obs + slot * h * c;
    for (int64_t i = 0; i < h; i++)
        for (int64_t k = 0; k < c; k++) b->any_obs[example * h + i] |= *obs++;
}

/* What an example as a whole is asked: when, and whether anything is known there. */
static void summarise_example(ll_batch *b, int64_t example)
{
    const int64_t h = b->n_query;
    float        *tau = b->tau + example * h;
    bool          first = true;
    zero(tau, h, sizeof *tau);
    zero(b->any_obs + example * h, h, sizeof *b->any_obs);
    for (int64_t s = example * b->n_slots; s < (example + 1) * b->n_slots; s++) {
        if (!b->valid[s]) continue;
        if (first) copy(tau, b->delta_t_y + s * h, h, sizeof *tau);
        first = false;
        add_observed(b, example, s);
    }
}

static void fill_example(const job *j, const ll_example_list *r, ll_batch *b, int64_t i,
                         int64_t example)
{
    const ll_windows *w = r->windows;
    const ll_window  *model = NULL;
    int64_t           m = r->first[example], model_slot = 0;
    for (int64_t n = 0; n < b->n_slots; n++) {
        const int64_t    slot = i * b->n_slots + n;
        const ll_window *v = m < r->first[example + 1] ? &w->at[r->member[m]] : NULL;
        if (v == NULL || (r->view == LL_VIEW_JOINT && v->entity != n)) {
            empty_slot(b, slot);
            continue;
        }
        b->window[slot] = r->member[m++];
        b->entity_mask[slot] = 1;
        fill_context(j, b, slot, v);
        fill_query(j, b, slot, v);
        fill_times(j, b, slot, v, model_slot, model);
        model = v;
        model_slot = slot;
    }
    assert(m == r->first[example + 1]); /* every window of the example has its slot */
    b->id[i] = ll_example_list_id(r, example);
    b->end[i] = ll_example_list_end(r, example);
    summarise_example(b, i);
}

/* Windows by duration differ in size: the batch is as large as its largest. */
static void set_sizes(ll_batch *b, const ll_example_list *r, const ll_scaled *x,
                      const int64_t *example, int64_t n)
{
    const ll_windows *w = r->windows;
    b->n_examples = n;
    b->n_slots = r->n_slots;
    b->n_features = x->n_features;
    b->n_targets = x->n_targets;
    b->n_context = w->by_rows ? w->n_context : 0;
    b->n_query = w->by_rows ? w->n_query : 0;
    for (int64_t i = 0; i < n && !w->by_rows; i++)
        for (int64_t m = r->first[example[i]]; m < r->first[example[i] + 1]; m++) {
            const ll_window *v = &w->at[r->member[m]];
            if (v->n_context > b->n_context) b->n_context = v->n_context;
            if (v->n_query > b->n_query) b->n_query = v->n_query;
        }
}

static llap_status check_opts(const ll_batch_opts *o)
{
    if (o->unit_ns >= 1 && o->hide_rate >= 0 && o->hide_rate < 1) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "batch: a time unit of %lld ns, %g of the context hidden",
                   (long long)o->unit_ns, o->hide_rate);
}

llap_status ll_batch_fill(ll_batch *b, const ll_example_list *r, const ll_scaled *x,
                          const ll_batch_opts *o, const int64_t *example, int64_t n)
{
    llap_status st = check_opts(o);
    if (st != LLAP_OK) return st;
    const job j = { .p = r->windows->panel, .x = x, .o = o };
    assert(x->n_rows == j.p->n_rows);
    set_sizes(b, r, x, example, n);
    st = reshape(b, o->diff != LL_DIFF_NONE);
    if (st != LLAP_OK) return st;
    for (int64_t i = 0; i < n; i++) fill_example(&j, r, b, i, example[i]);
    return LLAP_OK;
}

/* ---- examples that are asked about ---- */

static void ask_slot(const job *j, ll_batch *b, int64_t i, int64_t slot, const ll_batch_query *q)
{
    const ll_window *w = &q->slot[slot - i * b->n_slots];
    empty_slot(b, slot);
    if (w->entity < 0) return;
    b->entity_mask[slot] = 1;
    copy(b->delta_t_y + slot * b->n_query, b->tau + i * b->n_query, b->n_query, sizeof *b->tau);
    if (w->n_context > 0) {
        fill_context(j, b, slot, w);
        compute_context_times(j, b, slot, w);
    }
    for (int64_t k = 0; k < q->n_query && q->observed; k++) {
        const int64_t row = ll_panel_find_row(j->p, w->entity, q->time[k]);
        const int64_t at = (slot * b->n_query + k) * b->n_targets;
        if (row >= 0) take_targets(j, w->entity, row, 1, b->y + at, b->y_obs + at);
    }
    add_observed(b, i, slot);
}

static void ask_example(const job *j, ll_batch *b, int64_t i, const ll_batch_query *q)
{
    const bool        from_first = j->o->from_first && q->n_query > 0;
    const query_times when = { q->time, q->n_query, from_first ? q->time[0] : q->origin };
    compute_query_times(j, b, when, b->tau + i * b->n_query);
    zero(b->any_obs + i * b->n_query, b->n_query, sizeof *b->any_obs);
    for (int64_t k = 0; k < b->n_slots; k++) ask_slot(j, b, i, i * b->n_slots + k, q);
    b->id[i] = q->id;
    b->end[i] = q->origin;
}

llap_status ll_batch_ask(ll_batch *b, const llap_panel *p, const ll_scaling *s,
                         const ll_batch_opts *o, int64_t n_slots, const ll_batch_query *query,
                         int64_t n)
{
    llap_status st = check_opts(o);
    if (st != LLAP_OK) return st;
    const job j = { .p = p, .s = s, .o = o };
    assert(s->n_entities == p->n_entities);
    b->n_examples = n;
    b->n_slots = n_slots;
    b->n_features = s->n_features;
    b->n_targets = s->n_targets;
    b->n_context = b->n_query = 0;
    for (int64_t i = 0; i < n; i++) {
        if (query[i].n_query > b->n_query) b->n_query = query[i].n_query;
        for (int64_t k = 0; k < n_slots; k++)
            if (query[i].slot[k].n_context > b->n_context)
                b->n_context = query[i].slot[k].n_context;
    }
    st = reshape(b, o->diff != LL_DIFF_NONE);
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) ask_example(&j, b, i, &query[i]);
    return st;
}

/* ---- tensors from elsewhere -------------------------------------------------------------------
 */

static void sanitise(float *x, uint8_t *obs, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        obs[i] = obs[i] && isfinite(x[i]);
        if (!isfinite(x[i])) x[i] = 0.0f;
    }
}

static llap_status check_offsets(const ll_batch *b, int64_t example)
{
    const float *tau = b->tau + example * b->n_query;
    for (int64_t n = 0; n < b->n_slots; n++) {
        const int64_t slot = example * b->n_slots + n;
        const float  *q = b->delta_t_y + slot * b->n_query;
        for (int64_t h = 0; h < b->n_query && b->valid[slot]; h++) {
            const double tolerance = 1e-6 + 1e-5 * fabs((double)tau[h]);
            if (!isfinite(q[h]) || (h > 0 && (double)q[h] < (double)q[h - 1] - 1e-6))
                return ll_fail(
                    LLAP_EINVAL,
                    "delta_t_y: example %lld, slot %lld: query %lld at %g: expected finite "
                    "offsets that do not decrease",
                    (long long)example, (long long)n, (long long)h, (double)q[h]);
            if (fabs((double)q[h] - (double)tau[h]) > tolerance)
                return ll_fail(
                    LLAP_EINVAL,
                    "delta_t_y: example %lld, slot %lld: query %lld at %g: expected %g as "
                    "in the other slots of the example",
                    (long long)example, (long long)n, (long long)h, (double)q[h], (double)tau[h]);
        }
    }
    return LLAP_OK;
}

llap_status ll_batch_check(ll_batch *b)
{
    const int64_t slots = b->n_examples * b->n_slots, cells = b->n_context * b->n_features;
    const int64_t targets = b->n_query * b->n_targets;
    sanitise(b->v, b->x_obs, slots * cells);
    for (int64_t i = 0; b->dv != NULL && i < slots * cells; i++)
        if (!isfinite(b->dv[i])) b->dv[i] = 0.0f;
    sanitise(b->y, b->y_obs, slots * targets);
    for (int64_t s = 0; s < slots; s++)
        b->valid[s] = b->entity_mask[s] && memchr(b->x_obs + s * cells, 1, (size_t)cells) != NULL;
    for (int64_t i = 0; i < b->n_examples; i++) {
        summarise_example(b, i);
        const llap_status st = check_offsets(b, i);
        if (st != LLAP_OK) return st;
    }
    return LLAP_OK;
}
