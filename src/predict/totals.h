/* Totals over entities: forecasts of several entities about the same times, added up path by path.
 *
 *     ll_totals t;
 *     st = ll_totals_init(&t, &q, panel, log);
 *     t.q                                                 asked as any other, of entity LL_TOTAL
 *     st = ll_totals_forecast(&t, i, panel, &forecaster, &ask, &arena, out);
 *     ll_totals_deinit(&t);
 *
 * Paths of a joint law move together, so their sums have the right spread. */
#ifndef LL_PREDICT_TOTALS_H
#define LL_PREDICT_TOTALS_H

#include "predict/forecaster.h"
#include "predict/view/queries.h"

#define LL_TOTAL_NAME "total" /* of the entity that the sums are of */

typedef struct ll_totals {
    ll_queries q;    /* one forecast for each group; its entity is the number of entities of the
                        panel, its origin the latest of the group */
    size_t  *first;  /* [q.n + 1] forecasts number first[i] .. first[i + 1] - 1 are added up */
    int64_t *entity; /* [first[q.n]] of each, */
    int64_t *origin; /* its origin; a group's in order of time */
} ll_totals;

/* Groups are the forecasts of one origin in a backtest (where one of the entities has none, the
 * origin is left out, and the log says how many), else all. A group is about the times that all of
 * it are asked about: LLAP_EINVAL where there are none. Caller owns what is in *t
 * (ll_totals_deinit), also after a failure. */
llap_status ll_totals_init(ll_totals *t, const ll_queries *q, const llap_panel *p,
                           const llap_log *log);
void        ll_totals_deinit(ll_totals *t); /* { 0 } is fine */

/* Paths of group i, out [n_targets of f], from the arena. */
llap_status ll_totals_forecast(const ll_totals *t, size_t i, const llap_panel *p,
                               const ll_forecaster *f, const ll_forecast_request *ask,
                               ll_arena *arena, ll_forecast_members *out);

#endif
