/* Variables made from others, row by row: returns, ranges, volatility, calendar.
 *
 *     static const llap_derived list[] = {
 *         { "RET_CLOSE", LLAP_DERIVE_LOG_CHANGE, .a = "close", .b = "close" },
 *         { "HL_RANGE", LLAP_DERIVE_LOG_RATIO, .a = "high", .b = "low" },
 *     };
 *     st = llap_derive(panel, list, 2, &out);
 *
 * A derived cell is observed if all it is made of is; logarithms of what is not positive are
 * missing. Nothing looks ahead. "Before" is the row before of the same entity, whatever its time.
 */
#ifndef LLAP_DATA_DERIVE_H
#define LLAP_DATA_DERIVE_H

#include "data/panel.h"

typedef enum llap_derive_op {
    LLAP_DERIVE_COPY,       /* a */
    LLAP_DERIVE_LOG_RATIO,  /* log(a / b) */
    LLAP_DERIVE_LOG_CHANGE, /* log(a / b of the row before) */
    LLAP_DERIVE_VOLATILITY, /* square root of the exponentially weighted mean, with span rows, of
                               the squared log change of a */
    LLAP_DERIVE_WEEKDAY,    /* sine of the weekday (Monday 0) as a share of the week, UTC */
    LLAP_DERIVE_MONTHDAY,   /* of the day within its month */
    LLAP_DERIVE_MONTH,      /* of the month within the year */
} llap_derive_op;

typedef struct llap_derived {
    const char    *name;
    llap_derive_op op;
    const char    *a, *b;
    double         span;
    bool           cosine; /* of calendars: cosine instead of sine */
} llap_derived;

/* A panel of the n listed variables, on the rows of p. Caller owns *out. LLAP_EINVAL: a variable
 * that p does not have. */
llap_status llap_derive(const llap_panel *p, const llap_derived *list, int64_t n, llap_panel **out);

#endif
