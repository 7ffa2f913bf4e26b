/* What points opponents say: one number for each query. */
#include "predict/forecaster.h"
#include "score/opponent_set.h"

#include <assert.h>

double opponent_mean(const opponent_set *s, int64_t target, const ll_forecast_window *w,
                     int64_t *last)
{
    const ll_readings_range c = opponent_context(s, target, w);
    double                  sum = 0;
    *last = c.end > c.first ? c.end - 1 : -1;
    for (int64_t i = c.first; i < c.end; i++) sum += s->r.of[target].value[i];
    return *last < 0 ? opponent_climate_of(s, target, w->entity)->mean
                     : sum / (double)(c.end - c.first);
}

static double last_value(const opponent_set *s, const ll_forecast_window *w, int64_t target)
{
    const ll_readings_range c = opponent_context(s, target, w);
    return c.end > c.first ? s->r.of[target].value[c.end - 1]
                           : opponent_climate_of(s, target, w->entity)->mean;
}

/* The line through what lies within a horizon before the origin; times are counted from there. */
static void linear(const opponent_set *s, const ll_forecast_window *w, int64_t target, double *out)
{
    const ll_target_readings *r = &s->r.of[target];
    const ll_readings_range   c = opponent_context(s, target, w);
    double                    n = 0, t1 = 0, t2 = 0, y1 = 0, ty = 0;
    for (int64_t i = c.end - 1;
         i >= c.first && ll_elapsed(r->time[i], w->origin) < (uint64_t)s->frame->horizon; i--) {
        const double t = (double)(r->time[i] - w->origin) / (double)s->frame->unit;
        n += 1, t1 += t, t2 += t * t, y1 += r->value[i], ty += t * r->value[i];
    }
    const double det = n * t2 - t1 * t1;
    const bool   line = n > 1 && det > 1e-12 * n * t2;
    const double slope = line ? (n * ty - t1 * y1) / det : 0;
    const double level = line ? (y1 - slope * t1) / n : last_value(s, w, target);
    for (int64_t q = 0; q < w->n_query; q++)
        out[q] = level + slope * ((double)(w->time[q] - w->origin) / (double)s->frame->unit);
}

/* The last reading, and from there the mean slope of the context. */
static void drift(const opponent_set *s, const ll_forecast_window *w, int64_t target, double *out)
{
    const ll_target_readings *r = &s->r.of[target];
    const ll_readings_range   c = opponent_context(s, target, w);
    const double              level = last_value(s, w, target);
    const bool                slopes = c.end - c.first > 1;
    const int64_t             last = c.end - 1; /* times increase: none is divided by 0 */
    const double              slope =
        !slopes ? 0
                             : (r->value[last] - r->value[c.first]) / (double)(r->time[last] - r->time[c.first]);
    for (int64_t q = 0; q < w->n_query; q++)
        out[q] = slopes ? level + slope * (double)(w->time[q] - r->time[last]) : level;
}

/* The reading of the latest whole number of seasons before a query. Looks as far back as the
 * context reaches, and two seasons at least; -1: there is none. */
static int64_t one_season_before(const opponent_set *s, const ll_forecast_window *w, int64_t target,
                                 ll_readings_range past, int64_t season, int64_t time)
{
    int64_t t, back, tries = 2;
    assert(time > w->origin && season > 0);
    if (__builtin_mul_overflow((time - w->origin - 1) / season + 1, season, &back) ||
        __builtin_sub_overflow(time, back, &t))
        return -1;
    for (; tries > 0 || t > w->origin - s->frame->context; tries--) {
        const int64_t i = ll_readings_nearest(&s->r, target, past, t, (s->frame->step - 1) / 2);
        if (i >= 0) return i;
        if (__builtin_sub_overflow(t, season, &t)) return -1;
    }
    return -1;
}

static void seasonal(const opponent_set *s, int number, const ll_forecast_window *w, int64_t target,
                     double *out)
{
    const ll_readings_range past =
        ll_readings_within(&s->r, target, w->entity, s->p->start[w->entity], w->end);
    const double last = last_value(s, w, target);
    assert(number >= 0 && number < s->seasons.n);
    for (int64_t q = 0; q < w->n_query; q++) {
        const int64_t i =
            one_season_before(s, w, target, past, s->seasons.ticks[number], w->time[q]);
        out[q] = i < 0 ? last : s->r.of[target].value[i];
    }
}

void opponent_points(const opponent_set *s, opponent_point which, const ll_forecast_window *w,
                     int64_t target, double *out)
{
    int64_t last;
    if (which == POINT_LINEAR) linear(s, w, target, out);
    else if (which == POINT_DRIFT) drift(s, w, target, out);
    else if (which >= POINT_SEASONAL) seasonal(s, (int)(which - POINT_SEASONAL), w, target, out);
    else {
        const double point = which == POINT_CONTEXT ? opponent_mean(s, target, w, &last)
                             : which == POINT_CLIMATE
                                 ? opponent_climate_of(s, target, w->entity)->mean
                                 : last_value(s, w, target);
        for (int64_t q = 0; q < w->n_query; q++) out[q] = point;
    }
}
