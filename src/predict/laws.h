/* The laws of forecasts: what the anchor, and the stack around it, say of each query. */
#ifndef LL_PREDICT_LAWS_H
#define LL_PREDICT_LAWS_H

#include "predict/view/queries.h"
#include "predict/view/stack_view.h"

/* Of one target, law [first[n]]; stack NULL: as the anchor has them, else move [first[n],levels] is
 * behind them. Series that are forecast alone are made as they are needed: memory does not grow
 * with the rows. */
llap_status ll_forecast_laws(const llap_model *m, const llap_panel *p, const llap_forecast_opts *o,
                             const ll_queries *q, int64_t target, int64_t var, ll_stack_view *stack,
                             ll_law *law, double *move);

#endif
