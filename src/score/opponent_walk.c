/* An opponent for prices: a random walk of the logarithm. */
#include "predict/forecaster.h"
#include "score/opponent_set.h"

#include <assert.h>
#include <math.h>

bool opponent_is_positive(const opponent_set *s, int64_t target)
{
    const opponent_climate *all = &s->climate[target * (s->p->n_entities + 1) + s->p->n_entities];
    return all->n > 0 && all->value[0] > 0; /* in order */
}

/* Mean square of the steps of the logarithm, by tick. 0: too few readings, or one without a
 * logarithm, or none that moved. */
static double volatility(const ll_target_readings *r, ll_readings_range c)
{
    double sum = 0;
    for (int64_t i = c.first; i < c.end; i++) {
        if (!(r->value[i] > 0)) return 0;
        if (i == c.first) continue;
        const double step = log(r->value[i]) - log(r->value[i - 1]);
        assert(r->time[i] > r->time[i - 1]);
        sum += step * step / (double)(r->time[i] - r->time[i - 1]);
    }
    return c.end - c.first < 2 ? 0 : sum / (double)(c.end - c.first - 1);
}

/* Where the context has no volatility: the last value, with the spread of its residuals. */
llap_status opponent_log_walk(const opponent_set *s, const ll_forecast_request *ask,
                              const ll_forecast_window *w, int64_t target, ll_arena *arena,
                              ll_forecast_members *out)
{
    (void)ask;
    const ll_target_readings *r = &s->r.of[target];
    const ll_readings_range   c = opponent_context(s, target, w);
    const double              variance = opponent_is_positive(s, target) ? volatility(r, c) : 0;
    if (!(variance > 0)) return opponent_point_law(s, POINT_LAST, w, target, arena, out);
    const size_t n = (size_t)w->n_query;
    double      *value = ll_arena_new(arena, BAR_MEMBERS * n, sizeof *value);
    if (value == NULL) return LLAP_ENOMEM;
    for (size_t q = 0; q < n; q++) {
        const double sd = sqrt(variance * (double)(w->time[q] - r->time[c.end - 1]));
        for (size_t k = 0; k < BAR_MEMBERS; k++)
            value[k * n + q] = r->value[c.end - 1] * exp(sd * s->score[k]);
    }
    *out = (ll_forecast_members){ .n = BAR_MEMBERS, .value = value };
    return LLAP_OK;
}
