/* Fillers that take a number from the readings around: a straight line between both sides, or the
 * reading before. Their errors are those that they make on hidden cells outside the scored part, by
 * distance to the nearest reading they use. */
#ifndef LL_SCORE_GAPS_NAIVE_H
#define LL_SCORE_GAPS_NAIVE_H

#include "predict/forecaster.h"
#include "score/readings.h"

enum { LL_NAIVE_MEMBERS = 99 };

typedef enum ll_naive { LL_NAIVE_LINEAR, LL_NAIVE_LAST, LL_NAIVES } ll_naive;

typedef struct ll_naive_fillers {
    const llap_model       *m;
    const llap_panel       *p; /* with everything */
    const int64_t          *var;
    const ll_score_scale   *scale;
    const uint8_t          *hidden; /* [n_rows,n_targets] */
    ll_readings             r;      /* of what is left */
    struct ll_naive_errors *error;  /* [LL_NAIVES,n_targets] */
} ll_naive_fillers;

/* masked: p without the hidden cells; glitch as ll_readings_init takes it. Borrows all of it but
 * masked; deinit also after a failure. */
llap_status ll_naive_init(ll_naive_fillers *s, const llap_panel *masked, ll_part scored,
                          const uint8_t *glitch);
void        ll_naive_deinit(ll_naive_fillers *s); /* { 0 } is fine */

llap_status ll_naive_fill(const ll_naive_fillers *s, ll_naive which, const ll_forecast_window *w,
                          int64_t target, ll_arena *arena, ll_forecast_members *out);

#endif
