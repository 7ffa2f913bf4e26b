/* A cell by its own variable: the readings around it, their weights, and what they leave. */
#ifndef LL_FILL_SMOOTH_H
#define LL_FILL_SMOOTH_H

#include "fill/kernel.h"

typedef struct ll_fill_look {
    int     n;
    int32_t row[LL_FILL_LOOK];
    double  w[LL_FILL_LOOK]; /* the mean is sum w u(row) */
    double  mean, b;         /* and its standard deviation */
} ll_fill_look;

/* The readings around a cell, without its own: eight on each side, and with a day those one and two
 * days away. */
int ll_fill_around(const ll_filling *f, const ll_fill_table *t, int64_t v, int64_t row,
                   int32_t *out);

/* The row of an entity nearest to a time, if it is closer than half a step; -1: none. */
int64_t ll_fill_row_at(const ll_fill_table *t, int64_t e, double time, double step);

void ll_fill_smooth(const ll_filling *f, const ll_fill_lags *l, const ll_fill_table *t, int64_t v,
                    int64_t row, ll_fill_look *out);

#endif
