#include "anchor/calibration.h"

#include "anchor/chain/quantile.h"
#include "anchor/midpoints.h"
#include "anchor/process/process.h"
#include "base/alloc.h"
#include "base/crps.h"
#include "base/sort.h"

#include <assert.h>
#include <math.h>

enum { BUCKETS = LL_CALIBRATION_BUCKETS, LEVELS = LL_CALIBRATION_LEVELS };

static const double FACTOR[] = { .7, .8, .9, 1, 1.1, 1.2, 1.3, 1.45, 1.6 };
enum { N_FACTORS = sizeof FACTOR / sizeof *FACTOR, ONE = 3 };
static const double FACTOR_GAIN = 0.003, SHAPE_GAIN = 0.0005; /* shares of the CRPS */
enum { LEAST_COUNT = 1000 };

static const double LEVEL[] = { .25, .5, .8, .95, .99 };
static const double SCORE[] = { 0.31863936396437514, 0.6744897501960817, 1.2815515655446004,
                                1.959963984540054, 2.5758293035489004 };

ll_calibration ll_calibration_none(double near, double middle)
{
    ll_calibration c = { .edge = { near, middle } };
    for (int b = 0; b < BUCKETS; b++)
        for (int l = 0; l < LEVELS; l++) c.factor[b][l] = 1.0;
    return c;
}

static int bucket_of(const ll_calibration *c, double lead)
{
    int b = 0;
    while (b < BUCKETS - 1 && lead > c->edge[b]) b++;
    return b;
}

const double *ll_calibration_at(const ll_calibration *c, double lead)
{
    return c->factor[bucket_of(c, lead)];
}

double ll_calibration_bend(const double *factor, double score)
{
    assert(factor[0] > 0.0);
    const double x = fabs(score);
    double       from = 0.0, to = 0.0; /* the last knot below */
    for (int l = 0; l < LEVELS; l++) {
        const double next = factor[l] * SCORE[l];
        if (x <= SCORE[l])
            return copysign(to + (next - to) * ((x - from) / (SCORE[l] - from)), score);
        from = SCORE[l];
        to = next;
    }
    return copysign(to + factor[LEVELS - 1] * (x - from), score);
}

double ll_calibration_unbend(const double *factor, double bent)
{
    const double x = fabs(bent);
    double       from = 0.0, to = 0.0;
    for (int l = 0; l < LEVELS; l++) {
        const double next = factor[l] * SCORE[l];
        if (x <= next) return copysign(from + (SCORE[l] - from) * ((x - to) / (next - to)), bent);
        from = SCORE[l];
        to = next;
    }
    return copysign(from + (x - to) / factor[LEVELS - 1], bent);
}

/* Mean CRPS of the residuals of each bucket under one factor. */
static void fit_factor(ll_calibration *c, const double *lead, const double *residual, size_t n)
{
    double crps[BUCKETS][N_FACTORS] = { 0 }, before = 0.0, after = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(residual[i])) continue;
        double *at = crps[bucket_of(c, lead[i])];
        for (int f = 0; f < N_FACTORS; f++)
            at[f] += ll_anchor_crps(residual[i], 0.0, FACTOR[f], NULL, NULL);
    }
    int best[BUCKETS];
    for (int b = 0; b < BUCKETS; b++) {
        best[b] = ONE; /* a tie changes nothing */
        for (int f = 0; f < N_FACTORS; f++)
            if (crps[b][f] < crps[b][best[b]]) best[b] = f;
        before += crps[b][ONE];
        after += crps[b][best[b]];
    }
    if (!(after < before * (1.0 - FACTOR_GAIN))) return;
    for (int b = 0; b < BUCKETS; b++)
        for (int l = 0; l < LEVELS; l++) c->factor[b][l] = FACTOR[best[b]];
}

/* Moves c towards the quantiles of |residual| of bucket b; size [n] is scratch. */
static void fit_shape(ll_calibration *c, int b, const double *lead, const double *residual,
                      size_t n, double trust, double *size)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(residual[i]) && bucket_of(c, lead[i]) == b) size[count++] = fabs(residual[i]);
    if (count < LEAST_COUNT) return;
    ll_sort_doubles(size, count);
    assert(count <= n && size[0] <= size[count - 1]);
    for (int l = 0; l < LEVELS; l++) {
        const double quantile = size[(size_t)(LEVEL[l] * (double)count)];
        const double factor = c->factor[b][l] + trust * (quantile / SCORE[l] - c->factor[b][l]);
        /* A sensor that is stuck has no residuals at all. */
        c->factor[b][l] = fmin(fmax(factor, LL_CALIBRATION_LEAST), LL_CALIBRATION_MOST);
    }
}

/* Sum of CRPS of the residuals by their mid-point quantiles. */
static double crps_of(const ll_calibration *c, const double *lead, const double *residual, size_t n)
{
    double q[BUCKETS][LL_MIDPOINTS], sum = 0.0;
    for (int b = 0; b < BUCKETS; b++)
        for (int i = 0; i < LL_MIDPOINTS; i++)
            q[b][i] = ll_calibration_bend(c->factor[b], LL_MIDPOINT_SCORE[i]);
    for (size_t i = 0; i < n; i++)
        if (!isnan(residual[i]))
            sum += ll_crps(q[bucket_of(c, lead[i])], LL_MIDPOINTS, residual[i], false);
    return sum;
}

llap_status ll_calibration_fit(const double *lead, const double *residual, size_t n, double near,
                               double middle, double trust, ll_calibration *out)
{
    double *size = ll_new(n, sizeof *size);
    if (size == NULL) return LLAP_ENOMEM;
    *out = ll_calibration_none(near, middle);
    fit_factor(out, lead, residual, n);
    ll_calibration shaped = *out;
    for (int b = 0; b < BUCKETS; b++) fit_shape(&shaped, b, lead, residual, n, trust, size);
    ll_free(size);
    const double before = crps_of(out, lead, residual, n);
    if (crps_of(&shaped, lead, residual, n) < before * (1.0 - SHAPE_GAIN)) *out = shaped;
    return LLAP_OK;
}
