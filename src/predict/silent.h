/* Forecasts of a sensor that has been silent for longer than its context: what the other sensors
 * say it would have read takes the place of its readings, where the model fills gaps by all of
 * them. */
#ifndef LL_PREDICT_SILENT_H
#define LL_PREDICT_SILENT_H

#include "predict/view/queries.h"

/* The panel with the contexts of silent targets filled, of entities that are asked from their last
 * row; *out NULL: there are none. Says so. Caller owns *out. */
llap_status ll_fill_silent(const llap_model *m, const llap_panel *p, const int64_t *var,
                           const ll_queries *q, const llap_log *log, llap_panel **out);

#endif
