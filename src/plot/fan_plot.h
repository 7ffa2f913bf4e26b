/* Forecasts and filled gaps: what was measured, the median, bands of growing certainty, the truth
 * where it is known. One field for each series, side by side, with one legend.
 *
 *     ll_fans f = { .kind = LL_FAN_FORECAST, .axis = axis, .fan = fan, .n = 3 };
 *     st = ll_plot_fans(&f, "air.png");
 *
 * Where answers lie outside the range of training, a line shows the end of that range. Stretches
 * without a measurement, longer than usual between the measurements of the field, are
 * grey, and a forecast without any says so. The unit is that in the variable's name, "no2 (ppb)".
 * A PDF has LL_FAN_FIELDS fields on each page, other pictures have the first of them alone.
 * Scenarios share a field, each with a line for the middle and two thin ones for its widest band.
 * Bands and lines are told apart with every kind of colour vision. */
#ifndef LL_PLOT_FAN_PLOT_H
#define LL_PLOT_FAN_PLOT_H

#include "data/panel.h"

#define LL_FAN_BANDS 4     /* of a field, at most */
#define LL_FAN_FIELDS 12   /* of a page, at most */
#define LL_FAN_SCENARIOS 6 /* of a field, at most */

typedef enum ll_fan_kind { LL_FAN_FORECAST, LL_FAN_IMPUTATION } ll_fan_kind;

typedef struct ll_fan_scenario {       /* one of several answers about the same times */
    const double *middle, *low, *high; /* [n] of the fan; the ends of the widest band, or NULL */
} ll_fan_scenario;

typedef struct ll_fan { /* one field; borrowed, times increasing */
    const char    *entity, *variable;
    int64_t        n_seen; /* measured values, before and after the forecast */
    const int64_t *seen_time;
    const double  *seen;
    int64_t        origin;      /* time of the forecast: later measurements are its truth */
    int64_t        first, last; /* what the field shows; equal: from the first to the last time */
    int64_t        n;           /* of the answer */
    const int64_t *time;
    const double  *middle;                                 /* [n] */
    const double  *low[LL_FAN_BANDS], *high[LL_FAN_BANDS]; /* [n], widest first */
    int64_t        n_paths;                                /* instead of bands: single draws */
    const double  *path;                                   /* [n_paths,n] */
    const ll_fan_scenario *scenario;  /* [n_scenarios of the fans] instead of middle and bands */
    double                 range[2];  /* least and largest training value, where known */
    bool                   beyond[2]; /* does the answer lie below, above them? */
} ll_fan;

typedef struct ll_fans {
    ll_fan_kind        kind;
    ll_axis            axis;
    const ll_fan      *fan; /* [n_fans], all on pages of a PDF, else the first LL_FAN_FIELDS */
    int64_t            n_fans;
    int64_t            n; /* series that there are: n_fans or more */
    int                n_bands;
    double             cover[LL_FAN_BANDS]; /* share of each band, 0.95 */
    const char        *middle;              /* "median", "mean" */
    int64_t            n_scenarios;         /* 0: none; the first LL_FAN_SCENARIOS are drawn */
    const char *const *scenarios;           /* their names */
} ll_fans;

/* Errors as ll_canvas_create. */
llap_status ll_plot_fans(const ll_fans *f, const char *path);

#endif
