/* Common pieces of diffusions, and the integrator. */
#include "base/alloc.h"
#include "nn/nn.h"
#include "rivals/common.h"

#include <assert.h>
#include <math.h>

const char *const ll_beta_kinds[] = { "linear", "quad", NULL };

double ll_beta(const ll_noise_steps *s, int64_t t)
{
    const double at = s->n > 1 ? (double)t / (double)(s->n - 1) : 0.0;
    if (s->kind == LL_BETA_LINEAR) return s->beta_start + (s->beta_end - s->beta_start) * at;
    const double low = sqrt(s->beta_start), root = low + (sqrt(s->beta_end) - low) * at;
    return root * root;
}

double ll_alpha_bar(const ll_noise_steps *s, int64_t t)
{
    double product = 1.0;
    for (int64_t i = 0; i <= t; i++) product *= 1.0 - ll_beta(s, i);
    return product;
}

static double wave(int64_t t, int64_t i, int64_t half, int64_t over)
{
    const double angle =
        (double)t * pow(10.0, 4.0 * (double)(i % half) / (double)(over > 0 ? over : 1));
    return i < half ? sin(angle) : cos(angle);
}

/* A constant [n,width] of numbers that follow from their place. */
typedef double (*entry)(const void *user, int64_t row, int64_t column);

static ll_tensor *table(ll_graph *g, int64_t n, int64_t width, entry of, const void *user)
{
    double *v = ll_new((size_t)(n * width), sizeof *v);
    if (v == NULL) {
        ll_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    for (int64_t i = 0; i < n * width; i++) v[i] = of(user, i / width, i % width);
    ll_tensor *x = ll_constant(g, LL_SHAPE(n, width), v);
    ll_free(v);
    return x;
}

typedef struct waves {
    int64_t first, half, over;
} waves;

static double wave_entry(const void *user, int64_t row, int64_t column)
{
    const waves *w = user;
    return wave(w->first + row, column, w->half, w->over);
}

ll_tensor *ll_step_waves(ll_graph *g, ll_tensor *t, int64_t n, int64_t half, int64_t over)
{
    const waves w = { 0, half, over };
    return ll_embedding(g, table(g, n, 2 * half, wave_entry, &w), t);
}

ll_tensor *ll_step_waves_at(ll_graph *g, int64_t t, int64_t half, int64_t over)
{
    const waves w = { t, half, over };
    return table(g, 1, 2 * half, wave_entry, &w);
}

ll_tensor *ll_step_embedding(ll_graph *g, ll_tensor *waves_of, int64_t width)
{
    ll_tensor *e = ll_silu(g, ll_nn_linear(g, "projection1", waves_of, width));
    return ll_silu(g, ll_nn_linear(g, "projection2", e, width));
}

static double signal_entry(const void *user, int64_t row, int64_t column)
{
    const double ab = ll_alpha_bar(user, row);
    return column == 0 ? sqrt(ab) : sqrt(1.0 - ab);
}

ll_tensor *ll_with_noise(ll_graph *g, const ll_noise_steps *s, ll_tensor *t, ll_tensor *x0,
                         ll_tensor *eps)
{
    ll_tensor *both = ll_embedding(g, table(g, s->n, 2, signal_entry, s), t); /* [N,2] */
    ll_tensor *part[2];
    ll_shape   each = LL_SHAPE(ll_dim(x0, 0));
    ll_split_axis(g, both, -1, 2, part);
    while (each.rank < ll_shape_of(x0).rank) each.dim[each.rank++] = 1;
    for (int i = 0; i < 2; i++) part[i] = ll_reshape(g, part[i], each);
    return ll_add(g, ll_mul(g, part[0], x0), ll_mul(g, part[1], eps));
}

ll_tensor *ll_ancestral(ll_graph *g, const ll_noise_steps *s, int64_t t, ll_tensor *x0,
                        ll_tensor *x, ll_tensor *noise)
{
    const double beta = ll_beta(s, t), ab = ll_alpha_bar(s, t), before = ll_alpha_bar(s, t - 1);
    assert(t >= 0 && t < s->n);
    ll_tensor *mean = ll_add(g, ll_scale(g, x0, beta * sqrt(before) / (1.0 - ab)),
                             ll_scale(g, x, sqrt(1.0 - beta) * (1.0 - before) / (1.0 - ab)));
    if (t == 0) return mean;
    return ll_add(g, mean, ll_scale(g, noise, sqrt(beta * (1.0 - before) / (1.0 - ab))));
}

ll_tensor *ll_three_eighths(ll_graph *g, ll_slope f, void *user, double s, double h, ll_tensor *y)
{
    const double third = h / 3.0;
    ll_tensor   *k1 = f(g, user, s, y);
    ll_tensor   *k2 = f(g, user, s + third, ll_add(g, y, ll_scale(g, k1, third)));
    ll_tensor   *k3 = f(g, user, s + 2.0 * third,
                        ll_add(g, y, ll_sub(g, ll_scale(g, k2, h), ll_scale(g, k1, third))));
    ll_tensor   *k4 =
        f(g, user, s + h, ll_add(g, y, ll_scale(g, ll_add(g, ll_sub(g, k1, k2), k3), h)));
    ll_tensor *middle = ll_scale(g, ll_add(g, k2, k3), 3.0);
    return ll_add(g, y, ll_scale(g, ll_add(g, ll_add(g, k1, middle), k4), h / 8.0));
}
