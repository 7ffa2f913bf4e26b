#include "rivals/mrdiff.h"

#include "nn/nn.h"

#include <math.h>
#include <stdio.h>

int ll_mrdiff_stages(const ll_mrdiff_config *cfg)
{
    return cfg->kernels.n < LL_MRDIFF_STAGES ? cfg->kernels.n + 1 : LL_MRDIFF_STAGES;
}

/* n - 1 times convolution, batch norm, LeakyReLU, dropout; then a convolution. x [N,H,a] */
static ll_tensor *conv_net(ll_graph *g, const ll_mrdiff_config *cfg, const char *name, ll_tensor *x,
                           int n_layers, int64_t width, bool training)
{
    ll_scope_push(g, name);
    ll_scope_push(g, "net");
    for (int i = 0; i + 1 < n_layers; i++) {
        char part[2][16];
        for (int k = 0; k < 2; k++) snprintf(part[k], sizeof part[k], "%d", 4 * i + k);
        x = ll_batch_norm(g, part[1], ll_nn_conv1d(g, part[0], x, cfg->width, 3), training);
        x = ll_dropout(g, ll_leaky_relu(g, x, 0.1), cfg->dropout);
    }
    char last[16];
    snprintf(last, sizeof last, "%d", 4 * (n_layers - 1));
    x = ll_nn_conv1d(g, last, x, width, 3);
    ll_scope_pop(g);
    ll_scope_pop(g);
    return x;
}

/* What the clean trend of a stage is taken to be: y_t noisy, z the guess, coarse the coarser trend
 * or NULL, [N,H,C]; waves [1 or N,.] of the step. */
static ll_tensor *clean(ll_graph *g, const ll_mrdiff_config *cfg, const ll_mrdiff_in *in,
                        ll_tensor *y_t, ll_tensor *z, ll_tensor *coarse, ll_tensor *waves)
{
    const int64_t N = ll_dim(y_t, 0), H = ll_dim(y_t, 1), C = ll_dim(y_t, 2);
    const bool    training = in->training;
    ll_tensor    *e = ll_step_embedding(g, waves, cfg->step_width);
    e = ll_reshape(g, e, LL_SHAPE(ll_dim(e, 0), 1, cfg->step_width));
    ll_tensor *h =
        conv_net(g, cfg, "input_projection", y_t, cfg->layers_in, cfg->width_in, training);
    ll_tensor *in_enc[] = { ll_expand(g, e, LL_SHAPE(N, H, cfg->step_width)), h, in->side };
    h = ll_concat(g, in_enc, in->side == NULL ? 2 : 3, 2);
    h = conv_net(g, cfg, "enc_conv", h, cfg->layers_enc, cfg->width_enc, training);
    ll_tensor *in_dec[] = { h, z, coarse };
    h = ll_concat(g, in_dec, coarse == NULL ? 2 : 3, 2);
    return ll_add(g, conv_net(g, cfg, "combine_conv", h, cfg->layers_dec, C, training), z);
}

/* The linear guess of a stage from its trend of the history [B,K,C] -> [B,H,C]; K rows begin with
 * equal weights. */
static ll_tensor *guess(ll_graph *g, const ll_mrdiff_config *cfg, ll_tensor *trend)
{
    const int64_t K = ll_dim(trend, 1);
    ll_tensor    *z = ll_nn_linear_from(g, "cond_projection", ll_transpose(g, trend), cfg->horizon,
                                        LL_INIT_FILL(1.0 / (double)(K > 0 ? K : 1)), ll_init_usual(K));
    return ll_transpose(g, ll_note(g, "z", z));
}

/* The next coarser stage along the rows of x [B,rows,C]. */
static ll_tensor *smoothed(ll_graph *g, ll_tensor *x, int64_t kernel)
{
    return ll_transpose(g, ll_moving_average(g, ll_transpose(g, x), kernel));
}

/* The same of what is observed in part: the mean of the observed under the kernel. */
static void smoothed_part(ll_graph *g, ll_tensor **v, ll_tensor **m, int64_t kernel)
{
    ll_tensor *share = smoothed(g, *m, kernel), *tiny = ll_full(g, LL_SCALAR, 1e-6);
    ll_tensor *sum = smoothed(g, ll_mul(g, *v, *m), kernel);
    *m = ll_at_least(g, share, tiny);
    *v = ll_mul(g, ll_div(g, sum, ll_maximum(g, share, tiny)), *m);
}

/* Trends of the history, finest first. */
static void trends_of(ll_graph *g, const ll_mrdiff_config *cfg, ll_tensor *x, ll_tensor **trend)
{
    trend[0] = x;
    for (int s = 1; s < ll_mrdiff_stages(cfg); s++)
        trend[s] = smoothed(g, trend[s - 1], (int64_t)cfg->kernels.v[s - 1]);
    ll_note(g, "x_trend_last", trend[ll_mrdiff_stages(cfg) - 1]);
}

static ll_tensor *part_of(ll_graph *g, ll_tensor *x, int64_t i) /* x[i] */
{
    ll_shape s = ll_shape_of(x);
    if (x == NULL) return NULL;
    for (int k = 0; k + 1 < s.rank; k++) s.dim[k] = s.dim[k + 1];
    s.rank--;
    return ll_reshape(g, ll_slice(g, x, 0, i, 1), s);
}

ll_tensor *ll_mrdiff_loss(ll_graph *g, const ll_mrdiff_config *cfg, const ll_mrdiff_in *in,
                          ll_tensor *y, ll_tensor *my, const ll_mrdiff_noise *noise)
{
    const int64_t  half = cfg->step_width / 2;
    const ll_revin revin = ll_revin_of(g, in->x, in->m, false);
    ll_tensor     *trend[LL_MRDIFF_STAGES], *v[LL_MRDIFF_STAGES], *m[LL_MRDIFF_STAGES];
    ll_tensor     *each[LL_MRDIFF_STAGES];
    trends_of(g, cfg, ll_revin_apply(g, &revin, in->x), trend);
    m[0] = my;
    v[0] = ll_mul(g, ll_revin_apply(g, &revin, y), my);
    for (int s = 1; s < ll_mrdiff_stages(cfg); s++) {
        v[s] = v[s - 1];
        m[s] = m[s - 1];
        smoothed_part(g, &v[s], &m[s], (int64_t)cfg->kernels.v[s - 1]);
    }
    for (int s = 0; s < ll_mrdiff_stages(cfg); s++) {
        ll_scope_pushf(g, "stages.%d", s);
        ll_tensor *t = part_of(g, noise->t, s);
        ll_tensor *eps = ll_transpose(g, part_of(g, noise->eps, s)); /* [B,H,C] */
        ll_tensor *mix = ll_transpose(g, part_of(g, noise->mix, s));
        ll_tensor *z = guess(g, cfg, trend[s]);
        /* Future mixup: u z + (1 - u) Y where Y is known. */
        ll_tensor *known =
            ll_mul(g, ll_mul(g, ll_affine(g, mix, -1.0, 1.0), m[s]), ll_sub(g, v[s], z));
        ll_tensor *y_t = ll_with_noise(g, &cfg->steps, t, v[s], eps);
        ll_tensor *pred = clean(g, cfg, in, y_t, ll_add(g, z, known),
                                s + 1 < ll_mrdiff_stages(cfg) ? v[s + 1] : NULL,
                                ll_step_waves(g, t, cfg->steps.n, half, half - 1));
        ll_note(g, "pred", ll_transpose(g, pred));
        ll_scope_pop(g);
        each[s] = ll_reshape(g, ll_nn_masked_mse(g, pred, v[s], m[s], LL_ALL_AXES), LL_SHAPE(1));
    }
    ll_tensor *losses = ll_note(g, "losses", ll_concat(g, each, ll_mrdiff_stages(cfg), 0));
    return ll_reshape(g, ll_mean(g, losses, LL_ALL_AXES), LL_SCALAR);
}

/* Each window n times, side by side: x [B,r,d] -> [B n,r,d] */
static ll_tensor *repeated(ll_graph *g, ll_tensor *x, int64_t n)
{
    const int64_t B = ll_dim(x, 0), r = ll_dim(x, 1), d = ll_dim(x, 2);
    ll_tensor    *all = ll_expand(g, ll_unsqueeze(g, x, 1), LL_SHAPE(B, n, r, d));
    return ll_reshape(g, all, LL_SHAPE(B * n, r, d));
}

ll_revin ll_mrdiff_guesses(ll_graph *g, const ll_mrdiff_config *cfg, const ll_mrdiff_in *in,
                           ll_tensor *z[LL_MRDIFF_STAGES])
{
    const ll_revin revin = ll_revin_of(g, in->x, in->m, false);
    ll_tensor     *trend[LL_MRDIFF_STAGES];
    trends_of(g, cfg, ll_revin_apply(g, &revin, in->x), trend);
    for (int s = 0; s < ll_mrdiff_stages(cfg); s++) {
        ll_scope_pushf(g, "stages.%d", s);
        z[s] = guess(g, cfg, trend[s]);
        ll_scope_pop(g);
    }
    return revin;
}

ll_tensor *ll_mrdiff_clean(ll_graph *g, const ll_mrdiff_config *cfg, const ll_mrdiff_in *in,
                           int stage, ll_tensor *y_t, ll_tensor *z, ll_tensor *coarse,
                           ll_tensor *waves)
{
    ll_scope_pushf(g, "stages.%d", stage);
    ll_tensor *x0 = clean(g, cfg, in, y_t, z, coarse, waves);
    ll_scope_pop(g);
    return ll_clamp(g, x0, -cfg->clip, cfg->clip);
}

/* The reverse process of a stage; noise [T + 1,N,C,H] */
static ll_tensor *draw_stage(ll_graph *g, const ll_mrdiff_config *cfg, const ll_mrdiff_in *in,
                             ll_tensor *z, ll_tensor *coarse, ll_tensor *noise)
{
    const int64_t T = cfg->steps.n, half = cfg->step_width / 2;
    ll_tensor    *y = ll_transpose(g, part_of(g, noise, 0));
    for (int64_t t = T - 1; t >= 0; t--) {
        ll_tensor *x0 = clean(g, cfg, in, y, z, coarse, ll_step_waves_at(g, t, half, half - 1));
        x0 = ll_clamp(g, x0, -cfg->clip, cfg->clip);
        y = ll_ancestral(g, &cfg->steps, t, x0, y, ll_transpose(g, part_of(g, noise, T - t)));
    }
    return y;
}

ll_tensor *ll_mrdiff_sample(ll_graph *g, const ll_mrdiff_config *cfg, const ll_mrdiff_in *in,
                            ll_tensor *noise)
{
    const int64_t  B = ll_dim(in->x, 0), n = B > 0 ? ll_dim(noise, 2) / B : 1;
    const ll_revin revin = ll_revin_of(g, in->x, in->m, false);
    ll_tensor     *trend[LL_MRDIFF_STAGES], *coarse = NULL;
    ll_mrdiff_in   all = *in;
    if (in->side != NULL) all.side = repeated(g, in->side, n);
    trends_of(g, cfg, ll_revin_apply(g, &revin, in->x), trend);
    for (int s = ll_mrdiff_stages(cfg) - 1; s >= 0; s--) {
        ll_scope_pushf(g, "stages.%d", s);
        ll_tensor *z = repeated(g, guess(g, cfg, trend[s]), n);
        coarse = draw_stage(g, cfg, &all, z, coarse, part_of(g, noise, s));
        ll_note(g, "drawn", ll_transpose(g, coarse));
        ll_scope_pop(g);
    }
    const ll_revin back = { .mean = repeated(g, revin.mean, n), .sd = repeated(g, revin.sd, n) };
    return ll_revin_undo(g, &back, coarse);
}
