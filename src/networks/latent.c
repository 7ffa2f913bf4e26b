#include "networks/latent.h"

#include "base/alloc.h"

#include <assert.h>
#include <math.h>

struct ll_latent_stats {
    int64_t rows, latent;
    double *sum, *square; /* [rows,Z] */
    double *count;        /* [rows] */
};

llap_status ll_latent_stats_create(int64_t rows, int64_t latent, ll_latent_stats **out)
{
    *out = NULL;
    ll_latent_stats *s = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    const size_t n = (size_t)(rows * latent);
    s->rows = rows;
    s->latent = latent;
    s->sum = ll_new(2 * n + (size_t)rows, sizeof *s->sum);
    if (s->sum == NULL) {
        ll_free(s);
        return LLAP_ENOMEM;
    }
    s->square = s->sum + n;
    s->count = s->square + n;
    *out = s;
    return LLAP_OK;
}

void ll_latent_stats_destroy(ll_latent_stats *s)
{
    if (s == NULL) return;
    ll_free(s->sum);
    ll_free(s);
}

void ll_latent_stats_add(ll_latent_stats *s, const float *mu, const float *obs_any, int64_t B,
                         int64_t h)
{
    const int64_t Z = s->latent;
    assert(s->rows == 1 || s->rows == h);
    for (int64_t i = 0; i < B * h; i++) {
        if (obs_any[i] == 0.0f) continue;
        const int64_t row = s->rows == 1 ? 0 : i % h;
        s->count[row] += 1.0;
        for (int64_t z = 0; z < Z; z++) {
            const double v = (double)mu[i * Z + z];
            s->sum[row * Z + z] += v;
            s->square[row * Z + z] += v * v;
        }
    }
}

/* The sums are in double, their difference in single precision, as the reference forms it. */
void ll_latent_stats_finish(const ll_latent_stats *s, float *mean, float *deviation)
{
    for (int64_t i = 0; i < s->rows * s->latent; i++) {
        const double n = fmax(s->count[i / s->latent], 1.0);
        const float  m = (float)(s->sum[i] / n), square = (float)(s->square[i] / n);
        mean[i] = m;
        deviation[i] = fmaxf(sqrtf(fmaxf(square - m * m, 0.0f)), 1e-6f);
    }
}

ll_tensor *ll_latent_normalise(ll_graph *g, ll_tensor *mu, ll_tensor *mean, ll_tensor *deviation,
                               ll_tensor *obs_any)
{
    ll_tensor *scale = ll_maximum(g, deviation, ll_full(g, LL_SCALAR, 1e-6));
    ll_tensor *z0 = ll_div(g, ll_sub(g, mu, mean), scale);
    return ll_mask(g, z0, ll_unsqueeze(g, obs_any, -1));
}

ll_tensor *ll_latent_restore(ll_graph *g, ll_tensor *z0, ll_tensor *mean, ll_tensor *deviation)
{
    return ll_add(g, ll_mul(g, z0, deviation), mean);
}
