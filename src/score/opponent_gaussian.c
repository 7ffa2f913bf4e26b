/* Opponents with a Gaussian spread, learned from windows that are not scored. */
#include "base/alloc.h"
#include "base/rng/rng.h"
#include "predict/forecaster.h"
#include "score/opponent_set.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { TRUSTED = 20 }; /* residuals that a lead's own spread takes */

/* Window numbers of a part, at most `most`, evenly spread. Caller owns *out. */
static llap_status pick(const ll_windows *w, const ll_split *split, ll_part part, int64_t most,
                        int64_t **out, int64_t *n)
{
    const int64_t all = split->n[part], keep = all < most ? all : most;
    int64_t       seen = 0;
    *n = 0;
    *out = ll_new((size_t)keep, sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < w->n && *n < keep; i++)
        if (split->part[i] == part && seen++ == *n * all / keep) (*out)[(*n)++] = i;
    assert(*n == keep);
    return LLAP_OK;
}

static double truth_at(const opponent_set *s, int64_t target, const ll_forecast_window *w,
                       int64_t q)
{
    const ll_readings_range one =
        ll_readings_within(&s->r, target, w->entity, w->end + q, w->end + q + 1);
    return one.end > one.first ? s->r.of[target].value[one.first] : NAN;
}

/* ---- ar1 ---- */

/* A deviation from the context's mean, then and `gap` ticks later, in standard deviations. */
typedef struct later {
    double before, after, gap;
} later;

/* Half the mean log variance at the best sd for this memory: what likelihood leaves to choose. */
static double misfit(const later *x, int64_t n, double tau, double *sd)
{
    double square = 0, logs = 0;
    assert(n > 0 && tau > 0);
    for (int64_t i = 0; i < n; i++) {
        const double rho = exp(-x[i].gap / tau), share = fmax(1 - rho * rho, 1e-9);
        const double e = x[i].after - rho * x[i].before;
        square += e * e / share;
        logs += log(share);
    }
    *sd = sqrt(fmax(square / (double)n, 1e-12));
    return log(*sd) + 0.5 * logs / (double)n;
}

/* Golden section on log tau. */
static void fit_memory(const later *x, int64_t n, double low, double high, opponent_gaussian *g)
{
    const double part = 0.5 * (sqrt(5.0) - 1);
    double       a = log(low), b = log(high), sd;
    for (int i = 0; i < 40; i++) {
        const double c = b - part * (b - a), d = a + part * (b - a);
        if (misfit(x, n, exp(c), &sd) < misfit(x, n, exp(d), &sd)) b = d;
        else a = c;
    }
    g->tau = exp(0.5 * (a + b));
    misfit(x, n, g->tau, &g->sd);
}

static int64_t collect(const opponent_set *s, int64_t target, const ll_forecast_window *w,
                       later *out)
{
    int64_t               last, n = 0;
    const double          mean = opponent_mean(s, target, w, &last);
    const ll_score_scale *scale = opponent_scale(s, target, w->entity);
    for (int64_t q = 0; last >= 0 && q < w->n_query; q++) {
        const double y = truth_at(s, target, w, q);
        if (isnan(y)) continue;
        assert(w->time[q] > s->r.of[target].time[last]);
        out[n++] = (later){ .before = ll_score_scale_z(scale, s->r.of[target].value[last]) -
                                      ll_score_scale_z(scale, mean),
                            .after = ll_score_scale_z(scale, y) - ll_score_scale_z(scale, mean),
                            .gap = (double)(w->time[q] - s->r.of[target].time[last]) };
    }
    return n;
}

llap_status opponent_learn_ar1(opponent_set *s, int64_t target, const ll_windows *w,
                               const ll_split *split)
{
    int64_t    *list = NULL, n_list = 0, n = 0, total = 0;
    llap_status st = pick(w, split, LL_PART_TRAIN, AR_WINDOWS, &list, &n_list);
    for (int64_t i = 0; st == LLAP_OK && i < n_list; i++) total += w->at[list[i]].n_query;
    later *x = st == LLAP_OK ? ll_new((size_t)total, sizeof *x) : NULL;
    if (st == LLAP_OK && x == NULL) st = LLAP_ENOMEM;
    for (int64_t i = 0; st == LLAP_OK && i < n_list; i++) {
        const ll_forecast_window v = ll_forecast_window_of(w, list[i]);
        n += collect(s, target, &v, x + n);
    }
    if (n > 0) {
        s->gaussian[target].known = true;
        fit_memory(x, n, 0.1 * (double)s->frame->step, 100 * (double)s->frame->horizon,
                   &s->gaussian[target]);
    }
    ll_free(x);
    ll_free(list);
    return st;
}

llap_status opponent_ar1(const opponent_set *s, const ll_forecast_request *ask,
                         const ll_forecast_window *w, int64_t target, ll_arena *arena,
                         ll_forecast_members *out)
{
    static const char        name[] = "ar1";
    const opponent_gaussian *g = &s->gaussian[target];
    const ll_score_scale    *scale = opponent_scale(s, target, w->entity);
    const int64_t            n = ask->n_samples;
    int64_t                  last;
    const double             mean = ll_score_scale_z(scale, opponent_mean(s, target, w, &last));
    const uint64_t           id = ll_hash(ll_hash(w->id, &target, sizeof target), name, 3);
    double *value = ll_arena_new(arena, (size_t)n, (size_t)w->n_query * sizeof *value);
    double *keep = ll_arena_new(arena, 2 * (size_t)w->n_query, sizeof *keep);
    float  *normal = ll_arena_new(arena, (size_t)w->n_query, sizeof *normal);
    if (value == NULL || keep == NULL || normal == NULL) return LLAP_ENOMEM;
    double *noise = keep + w->n_query;
    assert(g->known && g->tau > 0);
    for (int64_t q = 0; q < w->n_query; q++) { /* without a reading the first query is new */
        const int64_t before = q > 0 ? w->time[q - 1] : last >= 0 ? s->r.of[target].time[last] : 0;
        keep[q] = q == 0 && last < 0 ? 0 : exp(-(double)(w->time[q] - before) / g->tau);
        noise[q] = g->sd * sqrt(1 - keep[q] * keep[q]);
    }
    for (int64_t k = 0; k < n; k++) {
        const ll_rng r = ll_rng_make(ask->seed, LL_STREAM_NOISE, id, (uint32_t)k, 0);
        double       x = last < 0 ? 0 : ll_score_scale_z(scale, s->r.of[target].value[last]) - mean;
        ll_rng_fill_normal(&r, 0, (size_t)w->n_query, normal);
        for (int64_t q = 0; q < w->n_query; q++) {
            x = keep[q] * x + noise[q] * (double)normal[q];
            value[k * w->n_query + q] = ll_score_scale_y(scale, mean + x);
        }
    }
    *out = (ll_forecast_members){ .n = n, .value = value, .drawn = true, .joint = true };
    return LLAP_OK;
}

/* ---- residual_bar ---- */

/* Sums of squared residuals of every point, by lead. */
typedef struct residuals {
    double *square[POINT_MOST]; /* [leads] */
    double *n;                  /* [leads] */
    double *point;              /* [most queries] */
} residuals;

static void add_residuals(const opponent_set *s, int64_t target, const ll_forecast_window *w,
                          residuals *r)
{
    const ll_score_scale *scale = opponent_scale(s, target, w->entity);
    for (int k = 0; k < opponent_n_points(s); k++) {
        opponent_points(s, (opponent_point)k, w, target, r->point);
        for (int64_t q = 0; q < w->n_query; q++) {
            const double y = truth_at(s, target, w, q);
            if (isnan(y)) continue;
            const int32_t lead = ll_lead(&s->leads, w->time[q] - w->origin);
            const double  e = ll_score_scale_z(scale, y) - ll_score_scale_z(scale, r->point[q]);
            r->square[k][lead] += e * e;
            if (k == 0) r->n[lead]++;
        }
    }
}

static void take_best(opponent_set *s, int64_t target, const residuals *r)
{
    opponent_gaussian *g = &s->gaussian[target];
    const int          n_points = opponent_n_points(s);
    double             n = 0, total[POINT_MOST] = { 0 };
    for (int64_t l = 0; l < s->leads.n; l++) {
        n += r->n[l];
        for (int k = 0; k < n_points; k++) total[k] += r->square[k][l];
    }
    g->known = g->known && n > 0;
    if (!g->known) return;
    for (int k = 0; k < n_points; k++) {
        if (total[k] < total[g->point]) g->point = (opponent_point)k;
        for (int64_t l = 0; l < s->leads.n; l++) {
            const bool own = r->n[l] >= TRUSTED;
            g->spread[k * s->leads.n + l] = sqrt(own ? r->square[k][l] / r->n[l] : total[k] / n);
        }
    }
}

llap_status opponent_learn_bar(opponent_set *s, int64_t target, const ll_windows *w,
                               const ll_split *split, ll_part part)
{
    int64_t     *list = NULL, n_list = 0;
    residuals    r = { 0 };
    llap_status  st = pick(w, split, part, BAR_WINDOWS, &list, &n_list);
    const size_t leads = (size_t)s->leads.n, n_points = (size_t)opponent_n_points(s);
    double      *numbers = NULL;
    if (st == LLAP_OK) {
        numbers = ll_new((n_points + 1) * leads + (size_t)w->n_query, sizeof *numbers);
        if (s->gaussian[target].spread == NULL)
            s->gaussian[target].spread = ll_new(n_points * leads, sizeof(double));
        if (numbers == NULL || s->gaussian[target].spread == NULL) st = LLAP_ENOMEM;
    }
    for (size_t k = 0; st == LLAP_OK && k < n_points; k++) r.square[k] = numbers + k * leads;
    if (st == LLAP_OK) {
        r.n = numbers + n_points * leads;
        r.point = r.n + leads;
    }
    for (int64_t i = 0; st == LLAP_OK && i < n_list; i++) {
        const ll_forecast_window v = ll_forecast_window_of(w, list[i]);
        add_residuals(s, target, &v, &r);
    }
    if (st == LLAP_OK) take_best(s, target, &r);
    ll_free(numbers);
    ll_free(list);
    return st;
}

llap_status opponent_point_law(const opponent_set *s, opponent_point which,
                               const ll_forecast_window *w, int64_t target, ll_arena *arena,
                               ll_forecast_members *out)
{
    const opponent_gaussian *g = &s->gaussian[target];
    const ll_score_scale    *scale = opponent_scale(s, target, w->entity);
    const size_t             n = (size_t)w->n_query, members = g->known ? BAR_MEMBERS : 1;
    double                  *value = ll_arena_new(arena, members * n, sizeof *value);
    double                  *point = ll_arena_new(arena, n, sizeof *point);
    if (value == NULL || point == NULL) return LLAP_ENOMEM;
    assert((int)which < opponent_n_points(s) && (!g->known || g->spread != NULL));
    opponent_points(s, which, w, target, point);
    for (size_t q = 0; q < n; q++) {
        const int32_t lead = ll_lead(&s->leads, w->time[q] - w->origin);
        const double  sd = g->known ? scale->sd * g->spread[which * s->leads.n + lead] : 0;
        for (size_t k = 0; k < members; k++)
            value[k * n + q] = point[q] + (g->known ? sd * s->score[k] : 0);
    }
    *out = (ll_forecast_members){ .n = (int64_t)members, .value = value };
    return LLAP_OK;
}

llap_status opponent_bar(const opponent_set *s, const ll_forecast_request *ask,
                         const ll_forecast_window *w, int64_t target, ll_arena *arena,
                         ll_forecast_members *out)
{
    (void)ask;
    assert(s->gaussian[target].known);
    return opponent_point_law(s, s->gaussian[target].point, w, target, arena, out);
}
