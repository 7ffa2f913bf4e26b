/* A series in as many points as a screen has pixels: what lies within a stretch of time becomes its
 * least, its mean and its greatest value, so that a peak of one reading among a million stays.
 *
 *     ll_decimated d = { 0 };
 *     st = ll_decimate_begin(&d, from, to, n_rows, 800);
 *     for (...) ll_decimate_add(&d, time, value, value, value);    by time; NaN: missing
 *     ll_decimate_end(&d);                                         d.point [d.n]
 *     ll_decimate_deinit(&d);
 *
 * Up to twice as many rows as stretches stay as they are. */
#ifndef LL_SERVE_DECIMATE_H
#define LL_SERVE_DECIMATE_H

#include "data/panel.h"

enum { LL_STRETCHES_MAX = 10000 };

typedef struct ll_decimated_point {
    int64_t time;            /* of the row; of several the middle of their stretch */
    double  low, mean, high; /* NaN: nothing was observed */
    int64_t n;               /* observed values */
} ll_decimated_point;

typedef struct ll_decimated {
    ll_decimated_point *point; /* [n] by time */
    int64_t             n;
    bool                exact; /* a point is a row */
    /* private */
    int64_t  from, room;
    uint64_t width; /* of a stretch */
} ll_decimated;

/* n_rows: that will be added at most. stretches: 1 .. LL_STRETCHES_MAX. */
llap_status ll_decimate_begin(ll_decimated *d, int64_t from, int64_t to, int64_t n_rows,
                              int64_t stretches);
/* A value within [from, to], low <= mean <= high, no earlier than the one before. */
void ll_decimate_add(ll_decimated *d, int64_t time, double low, double mean, double high);
/* Stretches without any row between others become missing points. */
void ll_decimate_end(ll_decimated *d);
void ll_decimate_deinit(ll_decimated *d); /* { 0 } is fine */

#endif
