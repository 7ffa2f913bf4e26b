/* What any model has to beat, as forecasters, on the same windows:
 *
 *     last_value    the last reading of the context
 *     linear        the least-squares line through the context's readings, as far back as it is
 *                   asked ahead
 *     drift         the last reading, and from there the mean slope of the context
 *     log_walk      a random walk of the logarithm from the last reading, with the volatility of
 *                   the context: where a target is positive in all of training
 *     seasonal_24h  the last reading a whole number of seasons before; one opponent for each
 *                   season, named by it (ll_seasons)
 *     climatology   the distribution of the entity's training readings
 *     context       the distribution of the context's readings (readings drawn again)
 *     context_days  the days of the context as paths, where there are days
 *     ar1           an exponentially forgetting Gaussian around the context's mean, one memory and
 *                   spread per target, by likelihood on training windows
 *     residual_bar  the best of the points (last value, linear, drift, seasons, means of context
 *                   and climatology) by squared error on validation windows (on training windows
 *                   where validation itself is scored)
 *
 * Everyone answers with a law: a point has Gaussian residuals around it, their spread by lead from
 * the same windows that residual_bar chooses by.
 *
 * All are deterministic and look at nothing after the context but training readings. Where a
 * context has no reading they fall back on climatology; that of an entity without training readings
 * is that of all others; in data without any, a Gaussian with the moments of training. */
#ifndef LL_SCORE_OPPONENTS_H
#define LL_SCORE_OPPONENTS_H

#include "predict/forecaster.h"
#include "score/readings.h"

enum { LL_SEASONS = 8, LL_SEASON_NAME = 32, LL_OPPONENTS = 9 + LL_SEASONS };

/* What repeats itself: the seasons of the seasonal opponents. */
typedef struct ll_seasons {
    int     n;
    int64_t ticks[LL_SEASONS];
    char    name[LL_SEASONS][LL_SEASON_NAME]; /* "seasonal_24h" */
} ll_seasons;

/* "24h,7d", or numbers of steps: at least one step, none twice. NULL: a day where steps are at most
 * twelve hours, a week where they are at most a day, none where times are numbers. LLAP_EOPTION
 * names season. */
llap_status ll_seasons_parse(const char *text, const ll_model_frame *frame, const ll_axis *axis,
                             ll_seasons *out);
/* LLAP_EOPTION: a season is longer than all of the data, and nothing was a season ago. */
llap_status ll_seasons_check(const ll_seasons *s, const ll_model_frame *frame, const llap_panel *p);

typedef struct ll_opponents {
    int                  n; /* those that make sense on this data */
    ll_forecaster        f[LL_OPPONENTS];
    struct opponent_set *set; /* which owns their names */
} ll_opponents;

/* w and split are of the whole panel, nothing thinned out, and say what is training; `scored` is
 * the part to be forecast. frame, scale ([n_targets,n_entities]) and the panel are borrowed until
 * deinit; the seasons are copied. Readings that are glitches ([n_rows,n_targets], borrowed until
 * return; NULL: none) are in no context and no climate, as the model has it. They were told with
 * the readings after them: at the end of a context that is a favour to the opponents. */
llap_status ll_opponents_init(ll_opponents *o, const ll_model_frame *frame,
                              const ll_score_scale *scale, const int64_t *var, const ll_windows *w,
                              const ll_split *split, ll_part scored, const ll_seasons *seasons,
                              const uint8_t *glitch);
void        ll_opponents_deinit(ll_opponents *o); /* { 0 } is fine */

#endif
