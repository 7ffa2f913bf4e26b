/* Variables made from others, row by row: returns, ranges, volatility, calendar.
 *
 *     static const ll_derived list[] = {
 *         { "RET_CLOSE", LL_DERIVE_LOG_CHANGE, .a = "close", .b = "close" },
 *         { "HL_RANGE", LL_DERIVE_LOG_RATIO, .a = "high", .b = "low" },
 *     };
 *     st = ll_derive(panel, list, 2, &out);
 *
 * A derived cell is observed if all it is made of is; logarithms of what is not positive are
 * missing. Nothing looks ahead. "Before" is the row before of the same entity, whatever its time.
 */
#ifndef LL_TESTS_ORACLES_DERIVE_H
#define LL_TESTS_ORACLES_DERIVE_H

#include "data/panel.h"

typedef enum ll_derive_op {
    LL_DERIVE_COPY,       /* a */
    LL_DERIVE_LOG_RATIO,  /* log(a / b) */
    LL_DERIVE_LOG_CHANGE, /* log(a / b of the row before) */
    LL_DERIVE_VOLATILITY, /* square root of the exponentially weighted mean, with span rows, of
                               the squared log change of a */
    LL_DERIVE_WEEKDAY,    /* sine of the weekday (Monday 0) as a share of the week, UTC */
    LL_DERIVE_MONTHDAY,   /* of the day within its month */
    LL_DERIVE_MONTH,      /* of the month within the year */
} ll_derive_op;

typedef struct ll_derived {
    const char  *name;
    ll_derive_op op;
    const char  *a, *b;
    double       span;
    bool         cosine; /* of calendars: cosine instead of sine */
} ll_derived;

/* A panel of the n listed variables, on the rows of p. Caller owns *out. LLAP_EINVAL: a variable
 * that p does not have. */
llap_status ll_derive(const llap_panel *p, const ll_derived *list, int64_t n, llap_panel **out);

#endif
