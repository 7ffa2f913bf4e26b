/* Is the data that an answer is asked about like the data of training? */
#ifndef LL_PREDICT_VIEW_COMPARE_H
#define LL_PREDICT_VIEW_COMPARE_H

#include "data/gaps.h"
#include "predict/view/queries.h"

/* Warns where the data differs from that of training: entities that it did not see, scale, interval
 * between rows, share of observed cells; and of forecasts (q may be NULL) without any observation
 * in their context. var [n_targets] as by ll_target_columns. */
llap_status ll_compare_with_training(const llap_model *m, const llap_panel *p, const int64_t *var,
                                     const ll_queries *q, const llap_log *log);

/* The usual gap of the rows, as training and comparing see it. */
int64_t ll_usual_gap(const ll_gaps *g);

#endif
