/* What any model has to beat, as forecasters, on the same windows:
 *
 *     last_value    the last reading of the context
 *     linear        the least-squares line through the context's readings, as far back as it is
 *                   asked ahead
 *     seasonal      the last reading a whole number of seasons before (a day; a week where steps
 *                   are longer than six hours; only on calendars)
 *     climatology   the distribution of the entity's training readings
 *     context       the distribution of the context's readings (readings drawn again)
 *     context_days  the days of the context as paths, where there are days
 *     ar1           an exponentially forgetting Gaussian around the context's mean, one memory and
 *                   spread per target, by likelihood on training windows
 *     residual_bar  the best of the points (last value, linear, seasonal, means of context and
 *                   climatology) with Gaussian residuals, spread by lead, both from validation
 *                   windows (from training windows where validation itself is scored)
 *
 * All are deterministic and look at nothing after the context but training readings. Where a
 * context has no reading they fall back on climatology; that of an entity without training readings
 * is that of all others; in data without any, a Gaussian with the moments of training. */
#ifndef LL_SCORE_OPPONENTS_H
#define LL_SCORE_OPPONENTS_H

#include "predict/forecaster.h"
#include "score/readings.h"

enum { LL_OPPONENTS = 8 };

typedef struct ll_opponents {
    int                  n; /* those that make sense on this data */
    ll_forecaster        f[LL_OPPONENTS];
    struct opponent_set *set;
} ll_opponents;

/* w and split are of the whole panel, nothing thinned out, and say what is training; `scored` is
 * the part to be forecast. frame, scale ([n_targets,n_entities]) and the panel are borrowed until
 * deinit. */
llap_status ll_opponents_init(ll_opponents *o, const ll_model_frame *frame,
                              const ll_score_scale *scale, const int64_t *var, const ll_windows *w,
                              const ll_split *split, ll_part scored);
void        ll_opponents_deinit(ll_opponents *o); /* { 0 } is fine */

#endif
