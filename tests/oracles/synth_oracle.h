/* The best forecast of a made-up panel: what its truth says about times not yet measured.
 *
 *     st = ll_synth_oracle(s, windows, i, mean, variance);   of window i
 */
#ifndef LL_TESTS_ORACLES_SYNTH_ORACLE_H
#define LL_TESTS_ORACLES_SYNTH_ORACLE_H

#include "data/synth/synth.h"
#include "data/windows/windows.h"

/* The covariance of two noiseless values. */
double ll_synth_covariance(const ll_synth *s, const ll_synth_point *a, const ll_synth_point *b);

/* Mean and variance of measurements (noise included) at asked[m], given values at given[n]; n^2
 * doubles of memory, n^3 / 6 multiplications. LLAP_ENUMERIC: points that determine one another
 * without noise. */
llap_status ll_synth_condition(const ll_synth *s, const ll_synth_point *given, const double *value,
                               int64_t n, const ll_synth_point *asked, int64_t m, double *mean,
                               double *variance);

/* The same for window i of a panel of s: given all observed cells of its context, asked its
 * targets; mean and variance are [n_query,n_targets], in units of the panel. */
llap_status ll_synth_oracle(const ll_synth *s, const ll_windows *w, int64_t i, double *mean,
                            double *variance);

#endif
