/* Spans of time: read as people write them, shown as people read them. */
#ifndef LL_PREDICT_VIEW_SPAN_H
#define LL_PREDICT_VIEW_SPAN_H

#include "data/panel.h"
#include "model/model.h"

/* "14d", or a plain number of steps. LLAP_EOPTION names what, and LLAP_EINVAL durations where the
 * axis of the data has no unit of time. step may be *ticks itself. */
llap_status ll_span_parse(const char *what, const char *text, const ll_axis *axis, int64_t step,
                          int64_t *ticks);

/* A span as people say it: "1d12h"; a number where times are numbers; "none" for an infinite one.
 */
typedef struct ll_span_text {
    char text[40];
} ll_span_text;

ll_span_text ll_span_of_ticks(const llap_model *m, double ticks);
ll_span_text ll_span_of_units(const llap_model *m, double units); /* of the model's time */

/* Several, in units of the model's time: "7, 11.3"; "" for none. */
typedef struct ll_span_list {
    char text[160];
} ll_span_list;

ll_span_list ll_span_list_of(const ll_model_frame *f, const double *units, int32_t n);

#endif
