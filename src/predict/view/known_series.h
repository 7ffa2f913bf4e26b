/* The known columns of a panel, as the anchors of a model take them.
 *
 *     st = ll_panel_series_init(&s, p, var, m->frame.unit);
 *     if (st == LLAP_OK) st = ll_known_series(&s, m, target, p);      its inputs too
 */
#ifndef LL_PREDICT_VIEW_KNOWN_SERIES_H
#define LL_PREDICT_VIEW_KNOWN_SERIES_H

#include "predict/view/queries.h"
#include "predict/view/series.h"

#include <llapdiff/log.h>

/* Gives the series of s, all entities of p, the inputs that the target's anchor uses; nothing where
 * it uses none. LLAP_EINVAL names the columns that are missing. */
llap_status ll_known_series(ll_panel_series *s, const llap_model *m, int64_t target,
                            const llap_panel *p);

/* The columns as numbers, NaN where they are not observed: of each entity [n,its rows], behind one
 * another. of [n_entities] points to them. Caller owns both (ll_free). */
llap_status ll_known_numbers(const llap_panel *p, const int64_t *column, int64_t n,
                             double **numbers, const double ***of);

/* Rows of entity e up to the last that has an observed target, from its first row on: what comes
 * later is known inputs alone. */
int64_t ll_observed_until(const llap_panel *p, int64_t e, const int64_t *var, int64_t n_targets);

/* Warns where forecasts ask about times for which a known column has no value, or one that training
 * has seen nothing like. */
void ll_warn_known(const llap_model *m, const llap_panel *p, const ll_queries *q,
                   const llap_log *log);

#endif
