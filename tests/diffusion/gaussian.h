/* A Gaussian, whose best denoiser and exact samples are known. */
#ifndef LLAP_TESTS_DIFFUSION_GAUSSIAN_H
#define LLAP_TESTS_DIFFUSION_GAUSSIAN_H

#include "check.h"

#include "diffusion/sampler.h"

enum { DIMS = 12 };

/* z0 ~ N(mean_k, deviation_k^2) for coordinate k */
static double mean_of(int64_t k) { return 0.3 * (double)(k % DIMS) - 1.5; }
static double deviation_of(int64_t k) { return 0.15 + 0.12 * (double)(k % DIMS); }

static llap_status predict_gaussian(void *user, int i, const ll_point *at, bool conditional,
                                    const float *x, const float *sc, float *pred)
{
    const int64_t n = *(const int64_t *)user;
    const double  a = (double)at->level.a, s = (double)at->level.s;
    (void)i;
    (void)conditional;
    (void)sc;
    for (int64_t k = 0; k < n; k++) {
        const double c = deviation_of(k) * deviation_of(k), m = mean_of(k);
        const double x0 = m + a * c / (a * a * c + s * s) * ((double)x[k] - a * m);
        const double eps = s > 0.0 ? ((double)x[k] - a * x0) / s : 0.0;
        pred[k] = (float)(a * eps - s * x0); /* v */
    }
    return LLAP_OK;
}

#endif
