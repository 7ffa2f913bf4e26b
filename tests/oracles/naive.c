#include "oracles/naive.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/sort.h"

#include <assert.h>
#include <string.h>

const char *ll_naive_name(ll_naive which)
{
    static const char *const name[LL_NAIVE_COUNT] = { "train_mean",        "persistence",
                                                      "seasonal_naive",    "context_mean",
                                                      "train_climatology", "context_empirical" };
    return which < LL_NAIVE_COUNT ? name[which] : "?";
}

/* The rest, for values in order. */
static void add_up(ll_empirical *d, int64_t n, double *value, double *sum)
{
    double spread = 0;
    sum[0] = 0;
    for (int64_t k = 0; k < n; k++) {
        assert(k == 0 || value[k - 1] <= value[k]);
        sum[k + 1] = sum[k] + value[k];
        spread += (double)(2 * k + 1 - n) * value[k];
    }
    *d = (ll_empirical){ .n = n,
                         .value = value,
                         .sum = sum,
                         .spread = spread / ((double)n * (double)n),
                         .mean = sum[n] / (double)n };
}

void ll_empirical_init(ll_empirical *d, int64_t n, double *value, double *sum)
{
    ll_sort_doubles(value, (size_t)n);
    add_up(d, n, value, sum);
}

/* How many of n sorted values are below y. */
static int64_t count_below(const double *value, int64_t n, double y)
{
    int64_t low = 0, high = n; /* the values before low are < y, those from high on >= y */
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (value[mid] < y) low = mid + 1;
        else high = mid;
    }
    return low;
}

double ll_empirical_crps(const ll_empirical *d, double y)
{
    const int64_t low = count_below(d->value, d->n, y);
    const double  below = (double)low, above = (double)(d->n - low);
    const double  distance = y * below - d->sum[low] + (d->sum[d->n] - d->sum[low]) - y * above;
    return distance / (double)d->n - d->spread;
}

static void add(ll_score *s, double crps, double error)
{
    s->crps += crps;
    s->mae += fabs(error);
    s->mse += error * error;
    s->n++;
}

static void add_point(ll_score *s, double y, double point) { add(s, fabs(y - point), y - point); }

/* Scratch: the context values of one window, or the training targets of one entity. */
typedef struct work {
    const ll_windows *w;
    const ll_split   *split;
    const ll_scaled  *x;
    int64_t           period, n_targets, channel;
    bool              own_unseen;
    double           *value, *sum;     /* [most], [most + 1] for contexts */
    int64_t           n_values;        /* sorted context values of the window before, */
    ll_window         before;          /* which is this one; n_context 0: none */
    double           *row_crps;        /* [rows] climatology scores of the rows of one entity */
    double           *c_value, *c_sum; /* for climatologies */
    double           *season;          /* [period] */
} work;

static double target(const work *k, int64_t row)
{
    return (double)k->x->y[row * k->n_targets + k->channel];
}

static bool observed(const work *k, int64_t row)
{
    return k->x->y_obs[row * k->n_targets + k->channel];
}

static int64_t gather(const work *k, int64_t first, int64_t stop, int64_t n)
{
    for (int64_t r = first; r < stop; r++)
        if (observed(k, r)) k->c_value[n++] = target(k, r);
    return n;
}

/* The observed training targets of entity e, or what stands for them. */
static bool climatology(const work *k, const int64_t *stop, int64_t e, ll_empirical *d)
{
    const llap_panel *p = k->w->panel;
    const bool        unseen = stop[e] == p->start[e];
    int64_t           n = 0;
    if (!unseen || k->own_unseen) n = gather(k, p->start[e], unseen ? p->start[e + 1] : stop[e], 0);
    for (int64_t i = 0; i < p->n_entities && unseen && !k->own_unseen; i++)
        n = gather(k, p->start[i], stop[i], n);
    if (n > 0) ll_empirical_init(d, n, k->c_value, k->c_sum);
    return n > 0;
}

/* Season: the phase of query r is r % period, whose candidates are the context rows period,
 * 2 period, ... before it. */
static void find_seasons(const work *k, const ll_window *v, double otherwise)
{
    const int64_t end = ll_window_query(v);
    for (int64_t i = 0; i < k->period; i++) {
        k->season[i] = otherwise;
        for (int64_t r = end - k->period + i; r >= v->first; r -= k->period)
            if (observed(k, r)) {
                k->season[i] = target(k, r);
                break;
            }
    }
}

static void insert(work *k, double x)
{
    const int64_t at = count_below(k->value, k->n_values, x);
    memmove(k->value + at + 1, k->value + at, (size_t)(k->n_values - at) * sizeof *k->value);
    k->value[at] = x;
    k->n_values++;
}

static void take_out(work *k, double x)
{
    const int64_t at = count_below(k->value, k->n_values, x);
    assert(at < k->n_values && k->value[at] == x);
    k->n_values--;
    memmove(k->value + at, k->value + at + 1, (size_t)(k->n_values - at) * sizeof *k->value);
}

/* The observed context values in order. The next window of an entity has one row less in front
 * and one more at the end, so most of the order is there already. */
static void sort_context(work *k, const ll_window *v)
{
    const ll_window *b = &k->before;
    const int64_t    end = ll_window_query(v);
    if (b->n_context == v->n_context && b->entity == v->entity && b->first + 1 == v->first) {
        if (observed(k, b->first)) take_out(k, target(k, b->first));
        if (observed(k, end - 1)) insert(k, target(k, end - 1));
    } else {
        k->n_values = 0;
        for (int64_t r = v->first; r < end; r++)
            if (observed(k, r)) k->value[k->n_values++] = target(k, r);
        ll_sort_doubles(k->value, (size_t)k->n_values);
    }
    k->before = *v;
}

static double last_value(const work *k, const ll_window *v)
{
    for (int64_t r = ll_window_query(v) - 1; r >= v->first; r--)
        if (observed(k, r)) return target(k, r);
    return 0;
}

static void score_window(work *k, const ll_window *v, const ll_empirical *climate, ll_score *out)
{
    const int64_t start = k->w->panel->start[v->entity];
    const double  last = last_value(k, v);
    double        mean_only[1] = { 0 }, no_sum[2];
    sort_context(k, v);
    ll_empirical context;
    if (k->n_values > 0) add_up(&context, k->n_values, k->value, k->sum);
    else add_up(&context, 1, mean_only, no_sum);
    find_seasons(k, v, last);
    for (int64_t h = 0; h < v->n_query; h++) {
        const int64_t r = ll_window_query(v) + h;
        if (!observed(k, r)) continue;
        const double y = target(k, r);
        add_point(&out[LL_NAIVE_MEAN], y, 0);
        add_point(&out[LL_NAIVE_LAST], y, last);
        add_point(&out[LL_NAIVE_SEASONAL], y, k->season[h % k->period]);
        add_point(&out[LL_NAIVE_CONTEXT_MEAN], y, context.mean);
        add(&out[LL_NAIVE_CONTEXT], ll_empirical_crps(&context, y), y - context.mean);
        if (climate != NULL)
            add(&out[LL_NAIVE_CLIMATOLOGY], k->row_crps[r - start], y - climate->mean);
    }
}

/* Rows are scored against the climatology once, not once for each window they are in. */
static bool prepare_entity(work *k, const int64_t *stop, int64_t e, ll_empirical *climate)
{
    const int64_t *start = k->w->panel->start;
    const bool     have = climatology(k, stop, e, climate);
    for (int64_t r = start[e]; r < start[e + 1] && have; r++)
        if (observed(k, r)) k->row_crps[r - start[e]] = ll_empirical_crps(climate, target(k, r));
    return have;
}

static void score_all(work *k, const int64_t *stop, ll_part part, ll_score *out)
{
    const ll_windows *w = k->w;
    for (k->channel = 0; k->channel < k->n_targets; k->channel++) {
        ll_empirical climate;
        bool         have = false;
        int64_t      entity = -1;
        k->before.n_context = 0;
        for (int64_t i = 0; i < w->n; i++) {
            const ll_window *v = &w->at[i];
            if (k->split->part[i] != part) continue;
            if (v->entity != entity) have = prepare_entity(k, stop, v->entity, &climate);
            entity = v->entity;
            score_window(k, v, have ? &climate : NULL, out);
        }
    }
}

static bool make_room(work *k, int64_t n_context, int64_t n_rows)
{
    k->value = ll_new((size_t)n_context + 1, sizeof *k->value);
    k->sum = ll_new((size_t)n_context + 2, sizeof *k->sum);
    k->c_value = ll_new((size_t)n_rows, sizeof *k->c_value);
    k->c_sum = ll_new((size_t)n_rows + 1, sizeof *k->c_sum);
    k->season = ll_new((size_t)k->period, sizeof *k->season);
    k->row_crps = ll_new((size_t)n_rows, sizeof *k->row_crps);
    return k->value != NULL && k->sum != NULL && k->c_value != NULL && k->c_sum != NULL &&
           k->season != NULL && k->row_crps != NULL;
}

static void free_room(work *k)
{
    ll_free(k->value);
    ll_free(k->sum);
    ll_free(k->c_value);
    ll_free(k->c_sum);
    ll_free(k->season);
    ll_free(k->row_crps);
}

static void take_means(ll_score *s)
{
    const double n = s->n > 0 ? (double)s->n : NAN; /* no climatology at all: not a number */
    s->crps /= n;
    s->mae /= n;
    s->mse /= n;
}

llap_status ll_naive_scores(const ll_windows *w, const ll_split *split, const ll_scaled *x,
                            const ll_naive_opts *o, ll_score out[LL_NAIVE_COUNT])
{
    for (int i = 0; i < LL_NAIVE_COUNT; i++) out[i] = (ll_score){ 0 };
    if (o->period_rows < 1)
        return ll_fail(LLAP_EINVAL, "naive scores: a period of %lld rows",
                       (long long)o->period_rows);
    assert(split->n_windows == w->n && x->n_rows == w->panel->n_rows);
    const int64_t n = w->panel->n_entities;
    work          k = { .w = w, .split = split, .x = x, .period = o->period_rows };
    k.own_unseen = o->own_unseen;
    k.n_targets = x->n_targets;
    int64_t    *stop = ll_new(2 * (size_t)n, sizeof *stop);
    llap_status st = LLAP_OK;
    if (!make_room(&k, w->n_context, w->panel->n_rows) || stop == NULL) st = LLAP_ENOMEM;
    if (st == LLAP_OK) {
        ll_training_rows(w, split, stop + n, stop);
        score_all(&k, stop, o->part, out);
        if (out[LL_NAIVE_MEAN].n == 0)
            st = ll_fail(LLAP_EINVAL, "naive scores: no observed target in the %s part",
                         ll_part_name(o->part));
    }
    for (int i = 0; i < LL_NAIVE_COUNT; i++) take_means(&out[i]);
    ll_free(stop);
    free_room(&k);
    return st;
}
