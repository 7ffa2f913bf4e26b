/* The variables of a panel as series of their entities, in the unit of time of a model. */
#ifndef LL_PREDICT_VIEW_SERIES_H
#define LL_PREDICT_VIEW_SERIES_H

#include "data/panel.h"
#include "model/model.h"

/* One variable of a panel as the series of all its entities, in the model's unit of time. */
typedef struct ll_panel_series {
    ll_series  *series; /* [n] */
    size_t      n;
    double     *numbers; /* behind them */
    ll_inputs **in;      /* [n] known inputs (known_series.h), owned; NULL: none */
} ll_panel_series;

llap_status ll_panel_series_init(ll_panel_series *s, const llap_panel *p, int64_t var,
                                 int64_t unit);
/* Of entities first .. end - 1 alone, series[e - first], and of their rows those later than
 * `after`. */
llap_status ll_panel_series_some(ll_panel_series *s, const llap_panel *p, int64_t var, int64_t unit,
                                 int64_t first, int64_t end, int64_t after);
void        ll_panel_series_deinit(ll_panel_series *s); /* { 0 } is fine */

/* The series of a panel in the order of the model's entities, [frame.n_entities], empty where the
 * panel has none of that name; only if the target's anchor looks at others, else *out is NULL.
 * Borrowed from s; caller owns *out (ll_free). */
llap_status ll_linked_series(const llap_model *m, int64_t target, const llap_panel *p,
                             const ll_panel_series *s, ll_series **out);

#endif
