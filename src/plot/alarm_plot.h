/* Alarms: for each series what was read, what would have been usual, and stripes where there were
 * alarms, coloured by what they are.
 *
 *     ll_alarm_plot f = { .axis = axis, .series = series, .n = 2, .kinds = names, .n_kinds = 4 };
 *     st = ll_plot_alarms(&f, "alarms.svg");
 */
#ifndef LL_PLOT_ALARM_PLOT_H
#define LL_PLOT_ALARM_PLOT_H

#include "data/panel.h"

enum { LL_ALARM_SERIES = 8, LL_ALARM_KINDS = 4 }; /* of a picture, at most */

typedef struct ll_alarm_stripe {
    int64_t from, to;
    int     kind; /* of the plot's */
} ll_alarm_stripe;

typedef struct ll_alarm_series { /* borrowed; times increasing */
    const char            *entity, *variable;
    int64_t                n;
    const int64_t         *time;
    const double          *value, *low, *high; /* [n] NaN: missing */
    int64_t                n_stripes;
    const ll_alarm_stripe *stripe;
} ll_alarm_series;

typedef struct ll_alarm_plot {
    ll_axis                axis;
    const ll_alarm_series *series; /* [n], at most LL_ALARM_SERIES */
    int64_t                n, of;  /* of so many series in all */
    const char *const     *kinds;  /* [n_kinds] */
    int                    n_kinds;
} ll_alarm_plot;

/* Errors as ll_canvas_create. */
llap_status ll_plot_alarms(const ll_alarm_plot *f, const char *path);

#endif
