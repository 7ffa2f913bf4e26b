/* Scoring sums as `forecast --total` answers them: windows of sums, what they came to, and
 * forecasters of them made of forecasters of single values, so that everything else of an
 * evaluation is as it is.
 *
 *     ll_total_windows t;
 *     st = ll_total_windows_init(&t, &in, LLAP_FORECAST_TOTAL_HORIZON, log);
 *     scoring_input sums = ll_total_windows_input(&t, &in);
 *     ll_total_forecaster f;
 *     ll_total_forecaster_init(&f, &t, &model, LL_TOTAL_PATHS);         f.f is the forecaster
 *     ll_total_windows_deinit(&t);                                      also after a failure
 *
 * A sum has come true where all of its parts were observed; where data comes at even steps, a row
 * that is not there is one that was not. Over entities, windows of one origin
 * are added up at the times that all of them ask about, where every entity has one. The scale of a
 * sum is that of its parts times their number: a score in deviations is that of their mean. */
#ifndef LL_SCORE_TOTAL_WINDOWS_H
#define LL_SCORE_TOTAL_WINDOWS_H

#include "score/scoring.h"

#include <llapdiff/model.h>

typedef struct ll_total_windows {
    bool                over_entities, over_horizon;
    int64_t             n_targets;
    llap_panel         *panel; /* over entities: of one entity, `total`, without rows; else NULL */
    int64_t             n;
    ll_forecast_window *w;     /* [n] the sums */
    int64_t            *first; /* [n + 1] windows part[first[i]] .. are added up in w[i] */
    ll_forecast_window *part;  /* their times are those that are added up */
    int64_t            *asked; /* behind the times of parts */
    int64_t            *time;  /* of the sums, behind one another, as the next three */
    int64_t            *row;   /* not looked at */
    int32_t            *lead;  /* [.,n_targets] */
    double             *truth; /* [.,n_targets] NaN: not all was observed */
    ll_score_scale     *scale; /* [n_targets,entities of the panel above, or of the data] */
    int64_t             steps; /* of a horizon; 0: data comes at no even steps */
    int64_t             n_sums, n_left_out; /* sums asked, and those without a truth */
    int64_t             n_origins_left_out; /* where an entity has no window */
} ll_total_windows;

/* Of the windows of in, which are in order of origin. LLAP_EINVAL: there is no sum. */
llap_status ll_total_windows_init(ll_total_windows *t, const scoring_input *in,
                                  llap_forecast_total total);
void        ll_total_windows_deinit(ll_total_windows *t); /* { 0 } is fine */

/* The same question about the sums; borrows t. */
scoring_input ll_total_windows_input(const ll_total_windows *t, const scoring_input *in);

typedef enum ll_total_how {
    LL_TOTAL_PATHS,       /* members of all parts belong together by their number */
    LL_TOTAL_INDEPENDENT, /* the same members, as if what is added up had nothing in common */
    LL_TOTAL_OPPONENT,    /* paths over the horizon; elsewhere a point, the sum of the means */
} ll_total_how;

typedef struct ll_total_forecaster {
    ll_forecaster           f; /* of the sums; its windows are those of t->w */
    const ll_forecaster    *of;
    const ll_total_windows *t;
    ll_total_how            how;
} ll_total_forecaster;

/* Borrows t and f; nothing to free. */
void ll_total_forecaster_init(ll_total_forecaster *out, const ll_total_windows *t,
                              const ll_forecaster *f, ll_total_how how);

#endif
