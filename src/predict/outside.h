/* Warnings and marks where training has not been. */
#ifndef LL_PREDICT_OUTSIDE_H
#define LL_PREDICT_OUTSIDE_H

#include "predict/tables/answer.h"
#include "predict/view/queries.h"

/* Warns, with the shares, where more than 1 % of the readings in the contexts of forecasts (q NULL:
 * of all rows) or of the answers lie outside the range of the training values, and gives a those
 * ranges, by which JSON and pictures mark such answers. a NULL: answers are not values of the
 * targets. Models of before do not know that range. */
llap_status ll_mark_outside(const llap_model *m, const llap_panel *p, const int64_t *var,
                            const ll_queries *q, llap_answer *a, const llap_log *log);

#endif
