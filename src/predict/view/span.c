#include "predict/view/span.h"

#include "base/error.h"
#include "base/text.h"
#include "base/time/civil.h"
#include "base/time/duration.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

llap_status ll_span_parse(const char *what, const char *text, const ll_axis *axis, int64_t step,
                          int64_t *ticks)
{
    char           *end;
    const long long rows = strtoll(text, &end, 10);
    if (*text != '\0' && *end == '\0') {
        if (rows < 1)
            return ll_fail(LLAP_EOPTION, "%s: expected at least 1 row, found %s", what, text);
        if (__builtin_mul_overflow((int64_t)rows, step, ticks))
            return ll_fail(LLAP_EOPTION, "%s: %s rows are longer than the range of times", what,
                           text);
        return LLAP_OK;
    }
    const llap_status st = ll_duration_parse(text, strlen(text), ticks);
    if (st != LLAP_OK) return ll_fail_in(LLAP_EOPTION, "%s", what);
    if (axis->kind == LL_AXIS_NUMBER && *axis->unit == '\0')
        return ll_fail(
            LLAP_EINVAL,
            "%s: '%s' is a duration, but the times of the data are numbers of an unknown "
            "unit: say which (time unit), or give a number of steps",
            what, ll_text_show(text).text);
    if (*ticks <= 0) return ll_fail(LLAP_EOPTION, "%s: '%s' is not positive", what, text);
    return LLAP_OK;
}

static ll_span_text span_of(const ll_model_frame *f, double ticks)
{
    ll_span_text s;
    if (!(ticks < HUGE_VAL)) snprintf(s.text, sizeof s.text, "none");
    else if (f->axis == LL_AXIS_NUMBER)
        snprintf(s.text, sizeof s.text, "%.4g", ticks / (double)f->axis_unit);
    else if (ticks >= 9e18) snprintf(s.text, sizeof s.text, "over 285 years");
    else {
        /* three figures are enough for a person */
        const double  hours = ticks / 3.6e12;
        const int64_t round_to = hours >= 240  ? LL_NS_PER_DAY
                                 : hours >= 10 ? LL_NS_PER_HOUR
                                 : hours >= 1  ? INT64_C(60000000000)
                                               : INT64_C(1000000000);
        ll_duration_format((int64_t)llround(ticks / (double)round_to) * round_to, s.text);
    }
    return s;
}

ll_span_text ll_span_of_ticks(const llap_model *m, double ticks)
{
    return span_of(&m->frame, ticks);
}

ll_span_list ll_span_list_of(const ll_model_frame *f, const double *units, int32_t n)
{
    ll_span_list list = { "" };
    for (int32_t i = 0; i < n; i++) {
        const size_t at = strlen(list.text);
        snprintf(list.text + at, sizeof list.text - at, "%s%s", i > 0 ? ", " : "",
                 span_of(f, units[i] * (double)f->unit).text);
    }
    return list;
}

ll_span_text ll_span_of_units(const llap_model *m, double units)
{
    return ll_span_of_ticks(m, units * (double)m->frame.unit);
}
