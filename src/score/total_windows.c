#include "score/total_windows.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/error.h"
#include "predict/totals.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void ll_total_windows_deinit(ll_total_windows *t)
{
    llap_panel_destroy(t->panel);
    ll_free(t->w);
    ll_free(t->first);
    ll_free(t->part);
    ll_free(t->asked);
    ll_free(t->time);
    ll_free(t->row);
    ll_free(t->lead);
    ll_free(t->truth);
    ll_free(t->scale);
    *t = (ll_total_windows){ 0 };
}

/* ---- windows ---- */

static llap_status make_room(ll_total_windows *t, const scoring_input *in)
{
    size_t       queries = 0;
    const size_t n = (size_t)in->n, C = (size_t)in->n_targets;
    for (int64_t i = 0; i < in->n; i++) queries += (size_t)in->w[i].n_query;
    t->w = ll_new(n, sizeof *t->w);
    t->first = ll_new(n + 1, sizeof *t->first);
    t->part = ll_new(n, sizeof *t->part);
    t->asked = ll_new(queries, sizeof *t->asked);
    t->time = ll_new(queries, sizeof *t->time);
    t->row = ll_new(queries, sizeof *t->row);
    t->lead = ll_new(queries * C, sizeof *t->lead);
    t->truth = ll_new(queries * C, sizeof *t->truth);
    const bool ok = t->w != NULL && t->first != NULL && t->part != NULL && t->asked != NULL &&
                    t->time != NULL && t->row != NULL && t->lead != NULL && t->truth != NULL;
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

static bool asks(const ll_forecast_window *w, int64_t time)
{
    const int64_t q = ll_first_from(w->time, 0, w->n_query, time);
    return q < w->n_query && w->time[q] == time;
}

/* The times that all n windows ask about; how many. */
static int64_t common_times(const ll_forecast_window *w, int64_t n, int64_t *out)
{
    int64_t h = 0;
    for (int64_t q = 0; q < w->n_query; q++) {
        int64_t all = 1;
        while (all < n && asks(&w[all], w->time[q])) all++;
        if (all == n) out[h++] = w->time[q];
    }
    return h;
}

/* Times of a horizon where most windows have as many: the data comes at even steps, and a window of
 * fewer lacks a row. 0: it does not. */
static int64_t even_steps(const scoring_input *in)
{
    int64_t most = 0, n = 0;
    for (int64_t i = 0; i < in->n; i++) {
        if (in->w[i].n_query > most) most = in->w[i].n_query, n = 0;
        n += in->w[i].n_query == most;
    }
    return 2 * n > in->n ? most : 0;
}

/* A target of one part at a time; NaN: not observed. */
static double value_at(const scoring_input *in, const ll_forecast_window *w, int64_t time,
                       int64_t target)
{
    const llap_panel *p = in->panel;
    const int64_t     row = ll_panel_find_row(p, w->entity, time);
    if (row < 0 || !scoring_known(in, row, target)) return (double)NAN;
    return (double)p->value[row * p->n_vars + in->var[target]];
}

/* What the sum number q of parts [n] came to, asked about h times. */
static double truth_of(const ll_total_windows *t, const scoring_input *in,
                       const ll_forecast_window *part, int64_t n, int64_t q, int64_t target)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = t->over_horizon ? 0 : q, end = t->over_horizon ? part->n_query : q + 1;
        for (int64_t k = from; k < end; k++) sum += value_at(in, &part[i], part[i].time[k], target);
    }
    return sum;
}

/* Adds the window of the n windows w, whose times are asked, [h], and the sums from *at on. */
static void add_window(ll_total_windows *t, const scoring_input *in, const ll_forecast_window *w,
                       int64_t n, const int64_t *asked, int64_t h, int64_t *at)
{
    const int64_t       i = t->n++, out = t->over_horizon ? 1 : h;
    ll_forecast_window *part = t->part + t->first[i];
    assert(h > 0 && n > 0);
    t->first[i + 1] = t->first[i] + n;
    for (int64_t k = 0; k < n; k++) {
        part[k] = w[k];
        part[k].n_query = h;
        part[k].time = asked;
    }
    const int64_t lacking = t->over_horizon || h > t->steps ? 0 : t->steps - h; /* rows */
    t->n_sums += lacking * t->n_targets;
    t->n_left_out += lacking * t->n_targets;
    t->w[i] = w[0];
    t->w[i].n_query = out;
    t->w[i].time = t->time + *at;
    if (t->over_entities) t->w[i].entity = 0;
    for (int64_t q = 0; q < out; q++, ++*at) {
        t->time[*at] = t->over_horizon ? asked[h - 1] : asked[q];
        for (int64_t k = 0; k < t->n_targets; k++) {
            const int64_t to = *at * t->n_targets + k;
            t->lead[to] = ll_lead(&in->leads, t->time[*at] - w->origin);
            t->truth[to] =
                t->over_horizon && h < t->steps ? (double)NAN : truth_of(t, in, part, n, q, k);
            t->n_sums++;
            t->n_left_out += isnan(t->truth[to]);
        }
    }
}

/* Entities that have a window. */
static llap_status count_entities(const scoring_input *in, bool **there, int64_t *n)
{
    *there = ll_new((size_t)in->panel->n_entities, sizeof **there);
    if (*there == NULL) return LLAP_ENOMEM;
    *n = 0;
    for (int64_t i = 0; i < in->n; i++) {
        *n += !(*there)[in->w[i].entity];
        (*there)[in->w[i].entity] = true;
    }
    return LLAP_OK;
}

static void add_windows(ll_total_windows *t, const scoring_input *in, int64_t entities)
{
    int64_t at = 0, asked = 0;
    t->steps = even_steps(in);
    for (int64_t i = 0, end; i < in->n; i = end) {
        end = i + 1;
        while (t->over_entities && end < in->n && in->w[end].origin == in->w[i].origin) end++;
        if (t->over_entities && end - i < entities) {
            t->n_origins_left_out++;
            continue;
        }
        const int64_t h = common_times(in->w + i, end - i, t->asked + asked);
        if (h > 0) add_window(t, in, in->w + i, end - i, t->asked + asked, h, &at);
        else t->n_origins_left_out++;
        asked += h;
    }
}

/* ---- scale ---- */

/* Times that a window of entity e (-1: any) adds up, on average. */
static double mean_times(const ll_total_windows *t, int64_t e)
{
    double sum = 0, n = 0;
    for (int64_t i = 0; i < t->first[t->n]; i++)
        if (e < 0 || t->part[i].entity == e) sum += (double)t->part[i].n_query, n++;
    return t->over_horizon && n > 0 ? sum / n : 1;
}

static void add_scale(ll_score_scale *to, const ll_score_scale *from, double times)
{
    to->mean += times * from->mean;
    to->sd += times * from->sd;
    to->lo = -INFINITY; /* the paper's tables know no sums: nothing is held */
    to->hi = INFINITY;
    to->clip = INFINITY;
}

static llap_status make_scale(ll_total_windows *t, const scoring_input *in, const bool *there)
{
    const int64_t E = in->panel->n_entities, width = t->over_entities ? 1 : E;
    t->scale = ll_new((size_t)(in->n_targets * width), sizeof *t->scale);
    if (t->scale == NULL) return LLAP_ENOMEM;
    for (int64_t e = 0; e < E; e++) {
        const double times = mean_times(t, t->over_entities ? -1 : e);
        for (int64_t k = 0; k < in->n_targets; k++)
            if (!t->over_entities || there[e])
                add_scale(&t->scale[k * width + (t->over_entities ? 0 : e)], &in->scale[k * E + e],
                          times);
    }
    return LLAP_OK;
}

static llap_status make_panel(ll_total_windows *t, const llap_panel *p)
{
    static const char *const name[] = { LL_TOTAL_NAME };
    const int64_t            start[2] = { 0 };
    ll_panel_draft           d = { .axis = p->axis,
                                   .n_entities = 1,
                                   .n_vars = p->n_vars,
                                   .entity = name,
                                   .var = p->var,
                                   .start = start };
    return t->over_entities ? ll_panel_create(&d, &t->panel) : LLAP_OK;
}

llap_status ll_total_windows_init(ll_total_windows *t, const scoring_input *in,
                                  llap_forecast_total total)
{
    bool   *there = NULL;
    int64_t entities = 0;
    assert(total != LLAP_FORECAST_TOTAL_DEFAULT && in->time == NULL);
    *t = (ll_total_windows){ .n_targets = in->n_targets,
                             .over_entities = total >= LLAP_FORECAST_TOTAL_ENTITIES,
                             .over_horizon = total != LLAP_FORECAST_TOTAL_ENTITIES };
    llap_status st = make_room(t, in);
    if (st == LLAP_OK) st = count_entities(in, &there, &entities);
    if (st == LLAP_OK) add_windows(t, in, entities);
    if (st == LLAP_OK) st = make_scale(t, in, there);
    if (st == LLAP_OK) st = make_panel(t, in->panel);
    ll_free(there);
    if (st == LLAP_OK && t->n_left_out == t->n_sums)
        st = ll_fail(LLAP_EINVAL,
                     "total: there is no sum to score: of %lld sums not one had all of its values "
                     "observed, and at %lld origins an entity has no window",
                     (long long)t->n_sums, (long long)t->n_origins_left_out);
    return st;
}

scoring_input ll_total_windows_input(const ll_total_windows *t, const scoring_input *in)
{
    scoring_input sums = *in;
    if (t->panel != NULL) sums.panel = t->panel;
    sums.glitch = NULL; /* they are in the truth already */
    sums.w = t->w;
    sums.n = t->n;
    sums.time = t->time;
    sums.row = t->row;
    sums.lead = t->lead;
    sums.truth = t->truth;
    sums.scale = t->scale;
    return sums;
}
