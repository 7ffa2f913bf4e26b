/* How good one forecast of one value is. x [n] are the members in increasing order, y is what came
 * true. Everything is in double and in a fixed order of sums. base/crps.h has the CRPS. */
#ifndef LL_SCORE_METRIC_H
#define LL_SCORE_METRIC_H

#include <stdbool.h>
#include <stdint.h>

/* The estimator of the reference implementation: the second term over given pairs of members, drawn
 * by whoever calls. x in any order. */
double metric_crps_pairs(const double *x, int64_t n, double y, const int64_t *i, const int64_t *j,
                         int64_t n_pairs);

double metric_mean(const double *x, int64_t n);
double metric_median(const double *x, int64_t n);

/* The quantile p in (0, 1), linear between members. Of draws at position p (n + 1) of 1 .. n: below
 * it lies a new draw with probability p. Of a law at p n + 1/2: each member is the middle of its
 * share. NaN where the members do not reach that far; a single one has no quantile but the median.
 */
double metric_quantile(const double *x, int64_t n, double p, bool drawn);
/* At position 1 + p (n - 1): never NaN, but too narrow. What the reference uses. */
double metric_quantile_inner(const double *x, int64_t n, double p);
double metric_pinball(double quantile, double y, double p);

/* The energy score of n paths [n,n_query] for the path y [n_query], over queries where y is not
 * NaN: the CRPS with Euclidean distances, fair (n >= 2), divided by the root of the number of
 * queries so that long windows weigh like short ones. NaN where there is no query. O(n n n_query).
 */
double metric_energy(const double *path, int64_t n, int64_t n_query, const double *y);

/* Sorts x [n] in place. */
void metric_sort(double *x, int64_t n);

#endif
