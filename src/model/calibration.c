#include "model/calibration.h"

#include "model/anchor.h"

#include <math.h>

static const double FACTOR[] = { .7, .8, .9, 1, 1.1, 1.2, 1.3, 1.45, 1.6 };
enum { N_FACTORS = sizeof FACTOR / sizeof *FACTOR, ONE = 3 };
static const double LEAST_GAIN = 0.003;

static int bucket_of(const llap_calibration *c, double lead)
{
    int b = 0;
    while (b < LLAP_CALIBRATION_BUCKETS - 1 && lead > c->edge[b]) b++;
    return b;
}

double llap_calibration_at(const llap_calibration *c, double lead)
{
    return c->scale[bucket_of(c, lead)];
}

llap_calibration llap_calibration_fit(const double *lead, const double *residual, size_t n,
                                      double near, double middle)
{
    llap_calibration c = { .edge = { near, middle }, .scale = { 1, 1, 1 } };
    double           crps[LLAP_CALIBRATION_BUCKETS][N_FACTORS] = { 0 };
    for (size_t i = 0; i < n; i++) {
        if (isnan(residual[i])) continue;
        double *at = crps[bucket_of(&c, lead[i])];
        for (int f = 0; f < N_FACTORS; f++)
            at[f] += llap_anchor_crps(residual[i], 0.0, FACTOR[f], NULL, NULL);
    }
    double before = 0.0, after = 0.0;
    int    best[LLAP_CALIBRATION_BUCKETS];
    for (int b = 0; b < LLAP_CALIBRATION_BUCKETS; b++) {
        best[b] = ONE; /* a tie changes nothing */
        for (int f = 0; f < N_FACTORS; f++)
            if (crps[b][f] < crps[b][best[b]]) best[b] = f;
        before += crps[b][ONE];
        after += crps[b][best[b]];
    }
    if (after < before * (1.0 - LEAST_GAIN))
        for (int b = 0; b < LLAP_CALIBRATION_BUCKETS; b++) c.scale[b] = FACTOR[best[b]];
    return c;
}
