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

/* Smooths cells of one variable, one after the other. The factor of the readings around the last
 * one is kept: cells between the same readings share it, and where readings are as far apart as
 * those of the cell before, so do those; answers do not depend on which cells came before. One
 * caller's; borrows all that it is made of. */
typedef struct ll_fill_smoother {
    const ll_filling    *f;
    const ll_fill_lags  *l; /* of the variable's kernel */
    const ll_fill_table *t;
    int64_t              v;
    int                  n;               /* readings that U is of */
    double               d[LL_FILL_LOOK]; /* their times less that of the first */
    ll_fill_root         U;
    int                  n_w;                         /* readings that w and var are of; -1: none */
    double               first, w[LL_FILL_LOOK], var; /* for a cell so far from the first */
} ll_fill_smoother;

void ll_fill_smoother_init(ll_fill_smoother *s, const ll_filling *f, const ll_fill_lags *l,
                           const ll_fill_table *t, int64_t v);
void ll_fill_smooth(ll_fill_smoother *s, int64_t row, ll_fill_look *out);

#endif
