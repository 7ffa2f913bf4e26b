#include "score/against.h"

#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The rows of one time within those of a forecast, which are in order of time. */
static ll_given_range rows_at(const ll_given *g, ll_given_range r, int64_t time)
{
    int64_t low = r.first, high = r.end;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (g->row[mid].time < time) low = mid + 1;
        else high = mid;
    }
    for (high = low; high < r.end && g->row[high].time == time;) high++;
    return (ll_given_range){ low, high };
}

bool ll_against_covers(const ll_against *a, const ll_forecast_window *w, const scoring_input *in)
{
    for (int64_t k = 0; k < in->n_targets; k++) {
        const ll_given_range r = ll_given_find(a->given, w->entity, k, w->origin);
        for (int64_t q = 0; q < w->n_query; q++) {
            const ll_given_range x = rows_at(a->given, r, w->time[q]);
            const int64_t row = in->time == NULL ? w->end + q : in->row[w->time - in->time + q];
            if (x.first == x.end && scoring_known(in, row, k)) return false;
        }
    }
    return true;
}

/* ---- answers ---- */

/* The member of normal score z: on the lines through (level score, quantile). */
static double member(const ll_against *a, const double *quantile, double z)
{
    const int n = a->given->n_levels;
    int       k = 0;
    if (n == 1) return quantile[0];
    while (k < n - 2 && a->level[k + 1] < z) k++;
    const double part = (z - a->level[k]) / (a->level[k + 1] - a->level[k]);
    return quantile[k] + part * (quantile[k + 1] - quantile[k]);
}

static llap_status answer_quantiles(const ll_against *a, const ll_forecast_window *w,
                                    ll_given_range r, ll_arena *arena, ll_forecast_members *out)
{
    const ll_given *g = a->given;
    const int64_t   h = w->n_query, n = g->n_levels == 1 ? 1 : LL_AGAINST_MEMBERS;
    double         *value = ll_arena_new(arena, (size_t)(n * h), sizeof *value);
    double         *given = ll_arena_new(arena, (size_t)(g->n_levels * h), sizeof *given);
    double         *mean = ll_arena_new(arena, (size_t)h, sizeof *mean);
    if (value == NULL || given == NULL || mean == NULL) return LLAP_ENOMEM;
    for (int64_t q = 0; q < h; q++) {
        const ll_given_range x = rows_at(g, r, w->time[q]);
        const bool           there = x.first < x.end;
        const double        *number = there ? g->number + g->row[x.first].at * g->n_numbers : NULL;
        mean[q] = there && g->has_mean ? number[g->n_levels] : (double)NAN;
        for (int64_t k = 0; k < g->n_levels; k++)
            given[k * h + q] = there ? number[k] : (double)NAN;
        for (int64_t k = 0; k < n; k++)
            value[k * h + q] = there ? member(a, number, a->score[k]) : (double)NAN;
    }
    *out = (ll_forecast_members){ .n = n,
                                  .value = value,
                                  .mean = g->has_mean ? mean : NULL,
                                  .n_levels = g->n_levels,
                                  .level = g->level,
                                  .quantile = given };
    return LLAP_OK;
}

/* Points are samples of one: a law, no draw. */
static llap_status answer_samples(const ll_against *a, const ll_forecast_window *w,
                                  ll_given_range r, ll_arena *arena, ll_forecast_members *out)
{
    const ll_given *g = a->given;
    const bool      drawn = g->kind == LL_GIVEN_SAMPLES;
    int64_t         n = 1, first = -1;
    bool            joint = drawn;
    for (int64_t q = 0; q < w->n_query; q++) {
        const ll_given_range x = rows_at(g, r, w->time[q]);
        if (x.end - x.first > n) n = x.end - x.first;
    }
    double *value = ll_arena_new(arena, (size_t)(n * w->n_query), sizeof *value);
    if (value == NULL) return LLAP_ENOMEM;
    for (int64_t q = 0; q < w->n_query; q++) {
        const ll_given_range x = rows_at(g, r, w->time[q]);
        if (first < 0 && x.first < x.end) first = x.first;
        for (int64_t k = 0; k < n; k++) {
            const bool there = x.first + k < x.end;
            value[k * w->n_query + q] = there ? g->number[g->row[x.first + k].at] : (double)NAN;
            /* The same numbers at all times, or members are no paths. */
            joint = joint && (x.first == x.end ||
                              (there && g->row[x.first + k].sample == g->row[first + k].sample));
        }
    }
    *out = (ll_forecast_members){ .n = n, .value = value, .drawn = drawn, .joint = joint && n > 1 };
    return LLAP_OK;
}

static llap_status forecast(const ll_forecaster *f, const ll_forecast_request *ask,
                            const ll_forecast_window *w, int64_t n, ll_arena *arena,
                            ll_forecast_members *out)
{
    (void)ask;
    const ll_against *a = f->self;
    llap_status       st = LLAP_OK;
    for (int64_t i = 0; st == LLAP_OK && i < n; i++)
        for (int64_t k = 0; st == LLAP_OK && k < f->n_targets; k++) {
            const ll_given_range r = ll_given_find(a->given, w[i].entity, k, w[i].origin);
            ll_forecast_members *to = &out[i * f->n_targets + k];
            st = a->given->kind == LL_GIVEN_QUANTILES ? answer_quantiles(a, &w[i], r, arena, to)
                                                      : answer_samples(a, &w[i], r, arena, to);
        }
    return st;
}

void ll_against_name(const char *path, char out[LL_AGAINST_NAME])
{
    const char  *slash = strrchr(path, '/'), *from = slash == NULL ? path : slash + 1;
    const size_t n = strcspn(from, ".");
    size_t       at = 0;
    for (; at < n && at + 1 < LL_AGAINST_NAME; at++) {
        const unsigned char c = (unsigned char)from[at];
        out[at] = c > ' ' && c < 0x7f && c != ',' && c != '"' ? (char)c : '_';
    }
    out[at] = '\0';
    if (at == 0) memcpy(out, "against", sizeof "against");
}

llap_status ll_against_init(ll_against *a, const char *path, const llap_model *m,
                            const llap_panel *panel, int64_t span)
{
    *a = (ll_against){ 0 };
    const llap_status st = ll_given_read(path, m, panel, span, &a->given);
    if (st != LLAP_OK) return st == LLAP_ENOMEM ? st : ll_fail_in(st, "against");
    ll_against_name(path, a->name);
    for (int i = 0; i < LL_AGAINST_MEMBERS; i++)
        a->score[i] = ll_normal_score((i + 0.5) / LL_AGAINST_MEMBERS);
    for (int i = 0; i < a->given->n_levels; i++) a->level[i] = ll_normal_score(a->given->level[i]);
    a->f = (ll_forecaster){
        .name = a->name, .n_targets = m->frame.n_targets, .self = a, .forecast = forecast
    };
    return LLAP_OK;
}

void ll_against_deinit(ll_against *a)
{
    ll_given_destroy(a->given);
    *a = (ll_against){ 0 };
}
