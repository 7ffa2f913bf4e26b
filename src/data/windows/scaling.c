#include "data/windows/scaling.h"

#include "base/alloc.h"
#include "base/error.h"

#include <assert.h>
#include <string.h>

static const double VARIANCE_FLOOR = 1e-12;

/* Count, mean and sum of squared distances from it. */
typedef struct moments {
    double n, mean, m2;
} moments;

/* Of the finite values of one variable in rows first .. stop - 1. The sums are taken about the
 * first value, so that a constant has a variance of exactly 0. */
static moments moments_of(const llap_panel *p, int64_t var, int64_t first, int64_t stop)
{
    double n = 0, shift = 0, sum = 0, square = 0;
    for (int64_t r = first; r < stop; r++) {
        const float x = p->value[r * p->n_vars + var];
        if (isnan(x)) continue;
        if (n == 0) shift = (double)x;
        const double d = (double)x - shift;
        n += 1;
        sum += d;
        square += d * d;
    }
    if (n == 0) return (moments){ 0 };
    const double m = sum / n, m2 = square - n * m * m;
    return (moments){ .n = n, .mean = shift + m, .m2 = m2 > 0 ? m2 : 0 };
}

static moments merge(moments a, moments b)
{
    if (a.n == 0) return b;
    if (b.n == 0) return a;
    const double n = a.n + b.n, d = b.mean - a.mean;
    return (moments){ .n = n,
                      .mean = a.mean + d * (b.n / n),
                      .m2 = a.m2 + b.m2 + d * d * (a.n * (b.n / n)) };
}

static void store(moments m, float *mean, float *std)
{
    const double variance = m.n > 0 ? m.m2 / m.n : 1;
    *mean = m.n > 0 ? (float)m.mean : 0.0f;
    *std = (float)sqrt(variance > VARIANCE_FLOOR ? variance : VARIANCE_FLOOR);
}

/* Where the statistics of an entity start. */
static int64_t first_row(const llap_panel *p, const ll_scaling_opts *o, int64_t var, int64_t e)
{
    int64_t r = p->start[e];
    if (o->own_rows)
        while (r < p->start[e + 1] && !ll_panel_observed(p, r, var)) r++;
    return r;
}

/* Statistics of n_vars variables over the rows start[e] .. stop[e] - 1 of each entity. */
static void statistics(const llap_panel *p, const ll_scaling_opts *o, const int64_t *var,
                       int64_t n_vars, const int64_t *stop, float *mean, float *std)
{
    const int64_t n = p->n_entities;
    for (int64_t v = 0; v < n_vars; v++) {
        moments pooled = { 0 };
        for (int64_t e = 0; e < n && o->by != LL_SCALE_NONE; e++)
            pooled = merge(pooled, moments_of(p, var[v], first_row(p, o, var[v], e), stop[e]));
        for (int64_t e = 0; e <= n; e++) {
            moments own = { 0 };
            if (e < n && o->by == LL_SCALE_BY_ENTITY)
                own = moments_of(p, var[v], first_row(p, o, var[v], e), stop[e]);
            store(own.n > 0 ? own : pooled, &mean[e * n_vars + v], &std[e * n_vars + v]);
        }
    }
}

void ll_training_rows(const ll_windows *w, const ll_split *split, int64_t *context, int64_t *query)
{
    const size_t n_bytes = (size_t)w->panel->n_entities * sizeof *context;
    memcpy(context, w->panel->start, n_bytes);
    memcpy(query, w->panel->start, n_bytes);
    for (int64_t i = 0; i < w->n; i++) {
        if (split->part[i] != LL_PART_TRAIN) continue;
        const ll_window *v = &w->at[i];
        const int64_t    a = ll_window_query(v), b = ll_window_last(v) + 1;
        assert(a < b && b <= w->panel->start[v->entity + 1]);
        if (a > context[v->entity]) context[v->entity] = a;
        if (b > query[v->entity]) query[v->entity] = b;
    }
}

void ll_scaling_destroy(ll_scaling *s)
{
    if (s == NULL) return;
    ll_free(s->feature);
    ll_free(s->target);
    ll_free(s->x_mean);
    ll_free(s->x_std);
    ll_free(s->y_mean);
    ll_free(s->y_std);
    ll_free(s);
}

static llap_status make_room(ll_scaling *s)
{
    const size_t rows = (size_t)s->n_entities + 1;
    const size_t nx = rows * (size_t)s->n_features, ny = rows * (size_t)s->n_targets;
    s->feature = ll_new((size_t)s->n_features, sizeof *s->feature);
    s->target = ll_new((size_t)s->n_targets, sizeof *s->target);
    s->x_mean = ll_new(nx, sizeof *s->x_mean);
    s->x_std = ll_new(nx, sizeof *s->x_std);
    s->y_mean = ll_new(ny, sizeof *s->y_mean);
    s->y_std = ll_new(ny, sizeof *s->y_std);
    return s->feature != NULL && s->target != NULL && s->x_mean != NULL && s->x_std != NULL &&
                   s->y_mean != NULL && s->y_std != NULL
               ? LLAP_OK
               : LLAP_ENOMEM;
}

static llap_status choose(const ll_windows *w, const ll_scaling_opts *o, ll_scaling *s)
{
    for (int64_t f = 0; f < s->n_features; f++) {
        s->feature[f] = o->feature == NULL ? f : o->feature[f];
        if (s->feature[f] < 0 || s->feature[f] >= w->panel->n_vars)
            return ll_fail(LLAP_EINVAL, "scaling: feature %lld of %lld variables",
                           (long long)s->feature[f], (long long)w->panel->n_vars);
    }
    memcpy(s->target, w->target, (size_t)s->n_targets * sizeof *s->target);
    return LLAP_OK;
}

static llap_status measure(const ll_windows *w, const ll_split *split, const ll_scaling_opts *o,
                           ll_scaling *s)
{
    llap_status st = choose(w, o, s);
    if (st != LLAP_OK) return st;
    const llap_panel *p = w->panel;
    int64_t          *stop = ll_new(2 * (size_t)p->n_entities, sizeof *stop);
    if (stop == NULL) return LLAP_ENOMEM;
    int64_t *query = stop + p->n_entities;
    ll_training_rows(w, split, stop, query);
    for (int64_t e = 0; e < p->n_entities && o->own_rows; e++)
        if (query[e] == p->start[e]) stop[e] = query[e] = p->start[e + 1];
    statistics(p, o, s->feature, s->n_features, stop, s->x_mean, s->x_std);
    statistics(p, o, s->target, s->n_targets, o->target_as_feature ? stop : query, s->y_mean,
               s->y_std);
    ll_free(stop);
    return LLAP_OK;
}

llap_status ll_scaling_create(const ll_windows *w, const ll_split *split, const ll_scaling_opts *o,
                              ll_scaling **out)
{
    *out = NULL;
    if (split->n_windows != w->n)
        return ll_fail(LLAP_EINVAL, "scaling: a split of %lld windows for %lld windows",
                       (long long)split->n_windows, (long long)w->n);
    ll_scaling *s = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    s->n_entities = w->panel->n_entities;
    s->n_features = o->feature == NULL ? w->panel->n_vars : o->n_features;
    s->n_targets = w->n_targets;
    s->clip = o->clip;
    llap_status st = make_room(s);
    if (st == LLAP_OK) st = measure(w, split, o, s);
    if (st == LLAP_OK) *out = s;
    else ll_scaling_destroy(s);
    return st;
}

/* Variables of the panel that have the names of those numbered in from. */
static llap_status find_vars(const int64_t *from, int64_t n, const char *const *var,
                             const llap_panel *to, int64_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = ll_panel_find_var(to, var[from[i]]);
        if (out[i] < 0)
            return ll_fail(LLAP_EINVAL, "scaling: the panel has no variable '%s'", var[from[i]]);
    }
    return LLAP_OK;
}

/* Row of the statistics of an entity; names are in byte order. */
static int64_t find_entity(const ll_scaling *s, const char *const *entity, const char *name)
{
    int64_t low = 0, high = s->n_entities;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        const int     order = strcmp(entity[mid], name);
        if (order == 0) return mid;
        if (order < 0) low = mid + 1;
        else high = mid;
    }
    return s->n_entities;
}

static void copy_numbers(const float *from, float *to, int64_t n)
{
    if (n > 0) memcpy(to, from, (size_t)n * sizeof *to); /* without columns both are NULL */
}

static void copy_row(const ll_scaling *s, int64_t from, ll_scaling *t, int64_t to)
{
    assert(s->n_features == t->n_features && s->n_targets == t->n_targets);
    assert(from <= s->n_entities && to <= t->n_entities);
    const int64_t nx = s->n_features, ny = s->n_targets;
    copy_numbers(s->x_mean + from * nx, t->x_mean + to * nx, nx);
    copy_numbers(s->x_std + from * nx, t->x_std + to * nx, nx);
    copy_numbers(s->y_mean + from * ny, t->y_mean + to * ny, ny);
    copy_numbers(s->y_std + from * ny, t->y_std + to * ny, ny);
}

llap_status ll_scaling_transfer(const ll_scaling *s, const char *const *entity,
                                const char *const *var, const llap_panel *to, ll_scaling **out)
{
    *out = NULL;
    ll_scaling *t = ll_new(1, sizeof *t);
    if (t == NULL) return LLAP_ENOMEM;
    t->n_entities = to->n_entities;
    t->n_features = s->n_features;
    t->n_targets = s->n_targets;
    t->clip = s->clip;
    llap_status st = make_room(t);
    if (st == LLAP_OK) st = find_vars(s->feature, s->n_features, var, to, t->feature);
    if (st == LLAP_OK) st = find_vars(s->target, s->n_targets, var, to, t->target);
    if (st != LLAP_OK) {
        ll_scaling_destroy(t);
        return st;
    }
    for (int64_t e = 0; e < to->n_entities; e++)
        copy_row(s, find_entity(s, entity, to->entity[e]), t, e);
    copy_row(s, s->n_entities, t, to->n_entities);
    *out = t;
    return LLAP_OK;
}

void ll_scaled_destroy(ll_scaled *x)
{
    if (x == NULL) return;
    ll_free(x->x);
    ll_free(x->y);
    ll_free(x->x_obs);
    ll_free(x->y_obs);
    ll_free(x);
}

/* Variables var [n_vars] of rows first .. first + n - 1, by statistics [n_vars]. */
static void scale_rows(const llap_panel *p, int64_t first, int64_t n, const int64_t *var,
                       int64_t n_vars, const float *mean, const float *std, float clip, float *out,
                       uint8_t *obs)
{
    assert(first >= 0 && n >= 0 && first + n <= p->n_rows);
    for (int64_t r = first; r < first + n; r++)
        for (int64_t v = 0; v < n_vars; v++) {
            *out++ = ll_scale_value(p->value[r * p->n_vars + var[v]], mean[v], std[v], clip);
            *obs++ = ll_panel_observed(p, r, var[v]);
        }
}

void ll_scale_features(const ll_scaling *s, const llap_panel *p, int64_t e, int64_t first,
                       int64_t n, float *x, uint8_t *obs)
{
    const int64_t at = e * s->n_features;
    scale_rows(p, first, n, s->feature, s->n_features, s->x_mean + at, s->x_std + at, s->clip, x,
               obs);
}

void ll_scale_targets(const ll_scaling *s, const llap_panel *p, int64_t e, int64_t first, int64_t n,
                      float *y, uint8_t *obs)
{
    const int64_t at = e * s->n_targets;
    scale_rows(p, first, n, s->target, s->n_targets, s->y_mean + at, s->y_std + at, s->clip, y,
               obs);
}

llap_status ll_scaled_create(const llap_panel *p, const ll_scaling *s, ll_scaled **out)
{
    *out = NULL;
    if (s->n_entities != p->n_entities)
        return ll_fail(LLAP_EINVAL, "scaling: statistics of %lld entities for %lld entities",
                       (long long)s->n_entities, (long long)p->n_entities);
    ll_scaled *x = ll_new(1, sizeof *x);
    if (x == NULL) return LLAP_ENOMEM;
    x->n_rows = p->n_rows;
    x->n_features = s->n_features;
    x->n_targets = s->n_targets;
    const size_t nx = (size_t)(p->n_rows * s->n_features), ny = (size_t)(p->n_rows * s->n_targets);
    x->x = ll_new_aligned(nx, sizeof *x->x);
    x->y = ll_new_aligned(ny, sizeof *x->y);
    x->x_obs = ll_new_aligned(nx, sizeof *x->x_obs);
    x->y_obs = ll_new_aligned(ny, sizeof *x->y_obs);
    if (x->x == NULL || x->y == NULL || x->x_obs == NULL || x->y_obs == NULL) {
        ll_scaled_destroy(x);
        return LLAP_ENOMEM;
    }
    for (int64_t e = 0; e < p->n_entities; e++) {
        const int64_t first = p->start[e], n = p->start[e + 1] - first;
        const int64_t fx = first * s->n_features, fy = first * s->n_targets;
        ll_scale_features(s, p, e, first, n, x->x + fx, x->x_obs + fx);
        ll_scale_targets(s, p, e, first, n, x->y + fy, x->y_obs + fy);
    }
    *out = x;
    return LLAP_OK;
}
