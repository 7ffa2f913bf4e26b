/* The continuous ranked probability score, E|X - y| - E|X - X'| / 2, of members in increasing
 * order. O(n). Inline: fits score millions of small laws. */
#ifndef LL_BASE_CRPS_H
#define LL_BASE_CRPS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* x [n] in increasing order, n at least 1. Of draws (n >= 2) the fair form, X and X' never the same
 * draw, which expects the score of the law that they come from: 1/n sum |x_i - y| - 1/(n (n-1))
 * sum_{i<j} |x_i - x_j|. Else the members are the law: 1/(n n). */
static inline double ll_crps(const double *x, int64_t n, double y, bool drawn)
{
    double away = 0, apart = 0; /* apart: sum over pairs i < j of x_j - x_i */
    for (int64_t k = 0; k < n; k++) {
        away += fabs(x[k] - y);
        apart += (double)(2 * k + 1 - n) * x[k];
    }
    const double m = (double)n, pairs = m * (drawn && n > 1 ? m - 1 : m);
    return away / m - apart / pairs;
}

#endif
