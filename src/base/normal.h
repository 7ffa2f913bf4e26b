/* Quantiles of the normal law. */
#ifndef LL_BASE_NORMAL_H
#define LL_BASE_NORMAL_H

#include <assert.h>
#include <math.h>

/* The x below which a standard normal lies with probability p: Halley's method on the distribution
 * function, from a start that is right in the tails. */
static inline double ll_normal_score(double p)
{
    assert(p > 0 && p < 1);
    const double tail = fmin(p, 1 - p);
    double       x = -sqrt(-2 * log(2 * tail)); /* of the lower tail */
    for (int i = 0; i < 12; i++) {
        const double error = 0.5 * erfc(-x / sqrt(2.0)) - tail;
        const double u = error * sqrt(2 * acos(-1.0)) * exp(0.5 * x * x);
        x -= u / (1 + 0.5 * x * u);
    }
    return p < 0.5 ? x : -x;
}

#endif
