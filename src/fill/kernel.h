/* The covariance of one variable in time, docs/spec/filling.md 2:
 *
 *     k(d) = sum_{0..2} a exp(-rho d) + sum_{3,4} a (1 + rho d) exp(-rho d)
 *          + sum_{5..7} a exp(-rho d) cos(2 pi d / P),  P = 24, 12, 8
 *
 * and what it says about a value between readings. */
#ifndef LL_FILL_KERNEL_H
#define LL_FILL_KERNEL_H

#include "fill/fill.h"

/* Where a fit begins. Without a day there are no cycles, and spans are steps of `unit`. */
ll_fill_kernel ll_fill_kernel_start(bool day, double unit);

double ll_fill_kernel_at(const ll_fill_kernel *k, double d); /* without the noise; d >= 0 */

/* k at whole multiples of a step: what regular data asks for again and again. */
enum { LL_FILL_LAGS = 1024 };
typedef struct ll_fill_lags {
    const ll_fill_kernel *k;
    double                step, per_step, at[LL_FILL_LAGS];
} ll_fill_lags;
void   ll_fill_lags_init(ll_fill_lags *l, const ll_fill_kernel *k, double step);
double ll_fill_lag(const ll_fill_lags *l, double d);

/* K [n,n] = L L', in its place; false: not positive definite. Then x becomes K^-1 x. */
bool ll_fill_factor(double *K, int n);
void ll_fill_solve(const double *L, int n, double *x);

/* Upper factor of a covariance K = U'U; on the diagonal 1/U. */
typedef struct ll_fill_root {
    double u[LL_FILL_LOOK][LL_FILL_LOOK];
} ll_fill_root;

/* That of readings at times t [n], of which the first `from` are in it already. Returns n, or the
 * first of which K is not positive definite. */
int  ll_fill_grow(const ll_fill_lags *l, double nu, const double *t, int from, int n,
                  ll_fill_root *U);
void ll_fill_solve_root(const ll_fill_root *U, int n, double *x); /* x becomes K^-1 x */

/* A value at distance 0 from readings at times t [n] around it: weights w, its mean given them is
 * sum w y, and its variance as a new reading. U: of those readings. */
void ll_fill_weights(const ll_fill_lags *l, double nu, int n, const double *t,
                     const ll_fill_root *U, double *w, double *var);

/* One hidden reading and those around it, to fit by. */
typedef struct ll_fill_example {
    int    n;
    double t[LL_FILL_LOOK], y[LL_FILL_LOOK], truth;
} ll_fill_example;

/* From *k on: Gaussian CRPS and a tenth of the negative log density, 60 steps. */
void ll_fill_kernel_fit(const ll_fill_example *x, int64_t n, double step, ll_fill_kernel *k);

/* Mean loss, and its derivatives with respect to the logarithms of a, rho and nu: g [17] or NULL.
 */
double ll_fill_kernel_loss(const ll_fill_example *x, int64_t n, double step,
                           const ll_fill_kernel *k, double *g);

#endif
