#include "model/latent.h"

#include "base/alloc.h"

#include <math.h>

struct llap_latent_stats {
    int64_t rows, latent;
    double *sum, *square; /* [rows,Z] */
    double *count;        /* [rows] */
};

llap_status llap_latent_stats_create(int64_t rows, int64_t latent, llap_latent_stats **out)
{
    *out = NULL;
    llap_latent_stats *s = llap_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    const size_t n = (size_t)(rows * latent);
    s->rows = rows;
    s->latent = latent;
    s->sum = llap_new(2 * n + (size_t)rows, sizeof *s->sum);
    if (s->sum == NULL) {
        llap_free(s);
        return LLAP_ENOMEM;
    }
    s->square = s->sum + n;
    s->count = s->square + n;
    *out = s;
    return LLAP_OK;
}

void llap_latent_stats_destroy(llap_latent_stats *s)
{
    if (s == NULL) return;
    llap_free(s->sum);
    llap_free(s);
}

void llap_latent_stats_add(llap_latent_stats *s, const float *mu, const float *obs_any, int64_t B,
                           int64_t h)
{
    const int64_t Z = s->latent;
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
void llap_latent_stats_finish(const llap_latent_stats *s, float *mean, float *deviation)
{
    for (int64_t i = 0; i < s->rows * s->latent; i++) {
        const double n = fmax(s->count[i / s->latent], 1.0);
        const float  m = (float)(s->sum[i] / n), square = (float)(s->square[i] / n);
        mean[i] = m;
        deviation[i] = fmaxf(sqrtf(fmaxf(square - m * m, 0.0f)), 1e-6f);
    }
}

llap_tensor *llap_latent_normalise(llap_graph *g, llap_tensor *mu, llap_tensor *mean,
                                   llap_tensor *deviation, llap_tensor *obs_any)
{
    llap_tensor *scale = llap_maximum(g, deviation, llap_full(g, LLAP_SCALAR, 1e-6));
    llap_tensor *z0 = llap_div(g, llap_sub(g, mu, mean), scale);
    return llap_mask(g, z0, llap_unsqueeze(g, obs_any, -1));
}

llap_tensor *llap_latent_restore(llap_graph *g, llap_tensor *z0, llap_tensor *mean,
                                 llap_tensor *deviation)
{
    return llap_add(g, llap_mul(g, z0, deviation), mean);
}
