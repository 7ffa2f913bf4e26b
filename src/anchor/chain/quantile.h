/* Quantiles of a list of numbers. */
#ifndef LL_ANCHOR_CHAIN_QUANTILE_H
#define LL_ANCHOR_CHAIN_QUANTILE_H

#include "base/sort.h"
#include <assert.h>

#include <stddef.h>

/* Of sorted x, linear between neighbours; n > 0, p within 0..1. */
static inline double ll_quantile(const double *x, size_t n, double p)
{
    assert(n > 0 && p >= 0.0 && p <= 1.0);
    const double at = p * (double)(n - 1);
    const size_t i = (size_t)at;
    return i + 1 < n ? x[i] + (at - (double)i) * (x[i + 1] - x[i]) : x[n - 1];
}

#endif
