/* Opponents that say one number. */
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

static void seasonal(const opponent_set *s, const ll_forecast_window *w, int64_t target,
                     double *out)
{
    const ll_readings_range c = opponent_context(s, target, w);
    const double            last = last_value(s, w, target);
    assert(s->season > 0);
    for (int64_t q = 0; q < w->n_query; q++) {
        out[q] = last;
        const int64_t back = s->season * ((w->time[q] - w->origin + s->season - 1) / s->season);
        for (int64_t t = w->time[q] - back; t > w->origin - s->frame->context; t -= s->season) {
            const int64_t i = ll_readings_nearest(&s->r, target, c, t, (s->frame->step - 1) / 2);
            if (i < 0) continue;
            out[q] = s->r.of[target].value[i];
            break;
        }
    }
}

void opponent_points(const opponent_set *s, opponent_point which, const ll_forecast_window *w,
                     int64_t target, double *out)
{
    int64_t last;
    if (which == POINT_LINEAR) linear(s, w, target, out);
    else if (which == POINT_SEASONAL && s->season > 0) seasonal(s, w, target, out);
    else {
        const double point = which == POINT_CONTEXT ? opponent_mean(s, target, w, &last)
                             : which == POINT_CLIMATE
                                 ? opponent_climate_of(s, target, w->entity)->mean
                                 : last_value(s, w, target);
        for (int64_t q = 0; q < w->n_query; q++) out[q] = point;
    }
}

static llap_status answer_point(const opponent_set *s, opponent_point which,
                                const ll_forecast_window *w, int64_t target, ll_arena *arena,
                                ll_forecast_members *out)
{
    double *value = ll_arena_new(arena, (size_t)w->n_query, sizeof *value);
    if (value == NULL) return LLAP_ENOMEM;
    opponent_points(s, which, w, target, value);
    *out = (ll_forecast_members){ .n = 1, .value = value };
    return LLAP_OK;
}

llap_status opponent_last(const opponent_set *s, const ll_forecast_request *ask,
                          const ll_forecast_window *w, int64_t target, ll_arena *arena,
                          ll_forecast_members *out)
{
    (void)ask;
    return answer_point(s, POINT_LAST, w, target, arena, out);
}

llap_status opponent_linear(const opponent_set *s, const ll_forecast_request *ask,
                            const ll_forecast_window *w, int64_t target, ll_arena *arena,
                            ll_forecast_members *out)
{
    (void)ask;
    return answer_point(s, POINT_LINEAR, w, target, arena, out);
}

llap_status opponent_seasonal(const opponent_set *s, const ll_forecast_request *ask,
                              const ll_forecast_window *w, int64_t target, ll_arena *arena,
                              ll_forecast_members *out)
{
    (void)ask;
    return answer_point(s, POINT_SEASONAL, w, target, arena, out);
}
