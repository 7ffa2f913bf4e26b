#include "train/periods.h"

#include "anchor/chain/periods.h"
#include "base/error.h"
#include "base/text.h"
#include "base/time/civil.h"
#include "base/time/duration.h"
#include "predict/view/span.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One span, in the unit of the model's times. */
static llap_status read_span(const char *text, size_t n, const ll_model_frame *f, double *out)
{
    const bool  number = f->axis == LL_AXIS_NUMBER;
    int64_t     ticks = 0;
    llap_status st = LLAP_OK;
    if (number) {
        char *end;
        *out = strtod(text, &end) * (double)f->axis_unit / (double)f->unit;
        if (end != text + n) st = LLAP_EOPTION;
    } else {
        st = ll_duration_parse(text, n, &ticks);
        *out = (double)ticks / (double)f->unit;
    }
    const double step = (double)f->step / (double)f->unit;
    if (st == LLAP_OK && *out > 0.0 && *out < 2.0 * step) /* nothing that rows could show */
        return ll_fail(LLAP_EOPTION, "periods: expected at least two steps (%s), found '%.*s'",
                       ll_span_list_of(f, &(double){ 2.0 * step }, 1).text, (int)n, text);
    if (st == LLAP_OK && isfinite(*out) && *out > 0.0) return LLAP_OK;
    return ll_fail(LLAP_EOPTION, "periods: expected auto, none or spans above 0, %s, found '%.*s'",
                   number ? "in numbers as times are" : "such as 7d,24h", (int)n, text);
}

/* No calendar names the periods of numbers; and readings once a day, which have no climate of
 * hours, may go by the week. */
static bool looked_for(const ll_model_frame *f)
{
    return f->axis == LL_AXIS_NUMBER ||
           (f->step > 6 * LL_NS_PER_HOUR && f->step <= 24 * LL_NS_PER_HOUR);
}

llap_status ll_train_periods(const char *text, const ll_model_frame *f, ll_anchor_model_opts *how)
{
    double      span[LL_PERIODS_MAX];
    int32_t     n = 0;
    llap_status st = LLAP_OK;
    how->find_periods = text == NULL ? looked_for(f) : strcmp(text, "auto") == 0;
    if (text == NULL || how->find_periods || strcmp(text, "none") == 0) return LLAP_OK;
    for (const char *s = text; st == LLAP_OK && *s != '\0';) {
        const size_t len = strcspn(s, ",");
        if (n == LL_PERIODS_MAX)
            return ll_fail(LLAP_EOPTION, "periods: at most %d, found '%s'", LL_PERIODS_MAX,
                           ll_text_show(text).text);
        st = read_span(s, len, f, &span[n++]);
        s += len + (s[len] == ',');
    }
    if (st == LLAP_OK) how->periods = ll_periods_given(span, n, (double)f->step / (double)f->unit);
    return st;
}
