/* What the other sensors say about a cell, docs/spec/filling.md 3: the weights that the own
 * smoother gives to its readings, run over the values of each source at the same times. The
 * residuals so matched have one covariance for short gaps and one for long ones. */
#ifndef LL_FILL_MATCHED_H
#define LL_FILL_MATCHED_H

#include "fill/smooth.h"

/* Residuals of a cell, all in units of b. d[0] is its own, NaN where it is not known; then those
 * of the other variables, in their order, and of the neighbours; NaN: not read at that time. */
typedef struct ll_fill_cell {
    double  mean, b, d[LL_FILL_SLOTS];
    int32_t around[4]; /* rows of the two readings before it and after it, nearest first; -1 */
} ll_fill_cell;

enum { LL_FILL_AT_ONCE = 8192 }; /* rows between two reports */

/* Of a cell of the smoother's variable. truth: its value; NaN: not known. full: values of every
 * cell. */
void ll_fill_residuals(ll_fill_smoother *s, const double *full, int64_t row, double truth,
                       ll_fill_cell *out);

/* The covariance of a variable, for pass 0 or 1. */
double *ll_fill_cov(const ll_filling *f, int pass, int64_t v, int64_t group, int length);
int64_t ll_fill_group(const ll_filling *f, const ll_fill_table *t, int64_t row);

/* 0: short; 1: long; 2: more than 36 hours (steps) from any reading. */
int ll_fill_length(const ll_filling *f, const ll_fill_table *t, int64_t v, int64_t row,
                   const ll_fill_cell *c);

/* The law of the cell given the residuals that are known, by the closed form with the covariances
 * of its variable [n_groups,LL_FILL_LENGTHS,slots,slots]; with its unrest where the table knows it.
 */
ll_fill_answer ll_fill_combine(const ll_filling *f, const double *cov, const ll_fill_table *t,
                               int64_t v, int64_t row, const ll_fill_cell *c);

/* Second moments of many cells of one variable. */
typedef struct ll_fill_moments {
    int64_t n_groups, slots;
    double *sum, *n; /* [n_groups,LL_FILL_LENGTHS,slots,slots]; owned */
} ll_fill_moments;
llap_status ll_fill_moments_init(ll_fill_moments *m, const ll_filling *f);
void        ll_fill_moments_deinit(ll_fill_moments *m);
void        ll_fill_moments_merge(ll_fill_moments *m, const ll_fill_moments *more);
void        ll_fill_moments_add(ll_fill_moments *m, int64_t group, int length, const double *d);

/* The covariance of a group, shrunk, of which every part is positive definite. */
void ll_fill_moments_cov(const ll_fill_moments *m, int64_t group, int length, double *cov);

#endif
