/* The targets of a panel as the anchors of a model take them: one series an entity, made from the
 * panel once, for whoever asks the anchors and for the networks on top of them.
 *
 *     ll_target_series s;
 *     st = ll_target_series_init(&s, m, p, var, LL_SERIES_READINGS);
 *     ll_anchor_request r = { .history = s.target[c].series[e], .series = s.known[e], ...,
 *                               .all = s.all[c] };
 *     ll_target_series_deinit(&s);                          also after a failure */
#ifndef LL_PREDICT_VIEW_TARGET_SERIES_H
#define LL_PREDICT_VIEW_TARGET_SERIES_H

#include "predict/view/series.h"

typedef enum ll_series_kind {
    LL_SERIES_READINGS,  /* an anchor takes what it looks at through its chain, each time */
    LL_SERIES_CONVERTED, /* all of it is taken through the chains now: ll_series.u */
} ll_series_kind;

typedef struct ll_target_series {
    int64_t          n_targets;
    ll_panel_series *target; /* [n_targets] */
    ll_series      **all;    /* [n_targets] ll_linked_series */
    size_t          *known;  /* [entities of the panel] ll_model_series of each */
    double          *u;      /* behind the series; NULL: not converted */
} ll_target_series;

/* Of the variables var [n_targets]. The panel is borrowed until return. */
llap_status ll_target_series_init(ll_target_series *s, const llap_model *m, const llap_panel *p,
                                  const int64_t *var, ll_series_kind kind);
void        ll_target_series_deinit(ll_target_series *s); /* { 0 } is fine */

#endif
