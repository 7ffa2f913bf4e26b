/* Opponents that say again what was measured before. */
#include "base/time/civil.h"
#include "predict/forecaster.h"
#include "score/metric.h"
#include "score/opponent_set.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { SAMPLE = 10 };

llap_status opponent_climatology(const opponent_set *s, const ll_forecast_request *ask,
                                 const ll_forecast_window *w, int64_t target, ll_arena *arena,
                                 ll_forecast_members *out)
{
    (void)ask, (void)arena;
    const opponent_climate *c = opponent_climate_of(s, target, w->entity);
    *out = (ll_forecast_members){ .n = c->n, .value = c->value, .constant = true };
    return LLAP_OK;
}

llap_status opponent_histogram(const opponent_set *s, const ll_forecast_request *ask,
                               const ll_forecast_window *w, int64_t target, ll_arena *arena,
                               ll_forecast_members *out)
{
    const ll_readings_range c = opponent_context(s, target, w);
    const int64_t           n = c.end - c.first;
    if (n == 0) return opponent_climatology(s, ask, w, target, arena, out);
    double *value = ll_arena_new(arena, (size_t)n, sizeof *value);
    if (value == NULL) return LLAP_ENOMEM;
    memcpy(value, s->r.of[target].value + c.first, (size_t)n * sizeof *value);
    metric_sort(value, n);
    *out = (ll_forecast_members){ .n = n, .value = value, .constant = true };
    return LLAP_OK;
}

/* Member d is the day d + 1 days before, again and again; a reading that is missing there is a
 * hole. Where fewer than two days have one, the members are the context's distribution, which is a
 * law and no path. Fewer than SAMPLE days are scored as the law that they are: the score of a
 * sample, which makes up for its size, would call two days right wherever the truth is between. */
llap_status opponent_days(const opponent_set *s, const ll_forecast_request *ask,
                          const ll_forecast_window *w, int64_t target, ll_arena *arena,
                          ll_forecast_members *out)
{
    const ll_readings_range c = opponent_context(s, target, w);
    const int64_t           n = s->n_days, day = LL_NS_PER_DAY;
    double                 *value = ll_arena_new(arena, (size_t)(n * w->n_query), sizeof *value);
    bool                   *law = ll_arena_new(arena, (size_t)w->n_query, sizeof *law);
    ll_forecast_members     all = { 0 };
    assert(n >= 2);
    if (value == NULL || law == NULL) return LLAP_ENOMEM;
    for (int64_t q = 0; q < w->n_query; q++) {
        assert(w->time[q] > w->origin);
        const int64_t back = day * ((w->time[q] - w->origin + day - 1) / day);
        int64_t       found = 0;
        for (int64_t d = 0; d < n; d++) {
            const int64_t i = ll_readings_nearest(&s->r, target, c, w->time[q] - back - d * day,
                                                  (s->frame->step - 1) / 2);
            value[d * w->n_query + q] = i < 0 ? NAN : s->r.of[target].value[i];
            found += i >= 0;
        }
        law[q] = found < 2;
        if (!law[q]) continue;
        if (all.n == 0) {
            const llap_status st = opponent_histogram(s, ask, w, target, arena, &all);
            if (st != LLAP_OK) return st;
        }
        for (int64_t d = 0; d < n; d++)
            value[d * w->n_query + q] =
                metric_quantile_inner(all.value, all.n, ((double)d + 0.5) / (double)n);
    }
    *out = (ll_forecast_members){
        .n = n, .value = value, .drawn = n >= SAMPLE, .law = law, .joint = all.n == 0
    };
    return LLAP_OK;
}
