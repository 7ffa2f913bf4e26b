#include "rivals/csdi.h"

#include "nn/nn.h"

#include <math.h>

/* Each window n times, side by side: x [B,...] -> [B n,...] */
static ll_tensor *repeated(ll_graph *g, ll_tensor *x, int64_t n)
{
    ll_shape each = ll_shape_of(x), all = each;
    if (x == NULL || n == 1) return x;
    for (int i = each.rank; i > 1; i--) each.dim[i] = each.dim[i - 1];
    each.dim[1] = n;
    each.rank++;
    all.dim[0] *= n;
    return ll_reshape(g, ll_expand(g, ll_unsqueeze(g, x, 1), each), all);
}

/* [time | feature | visible] of each cell, [N,F,L,.] */
static ll_tensor *side_of(ll_graph *g, const ll_csdi_config *cfg, const ll_csdi_in *in)
{
    const int64_t N = ll_dim(in->x, 0), F = ll_dim(in->x, 1), L = ll_dim(in->x, 2);
    ll_tensor    *time = ll_time_waves(g, in->times, cfg->time_width, 1.0, 10000.0);
    ll_tensor    *table =
        ll_param(g, "embed_layer.weight", LL_SHAPE(F, cfg->feature_width), LL_INIT_NORMAL(1.0));
    ll_tensor *part[] = {
        ll_expand(g, ll_unsqueeze(g, time, 1), LL_SHAPE(N, F, L, cfg->time_width)),
        ll_expand(g, ll_unsqueeze(g, table, 1), LL_SHAPE(N, F, L, cfg->feature_width)),
        ll_unsqueeze(g, in->visible, 3),
    };
    return ll_concat(g, part, 3, 3);
}

/* y [N,F,L,ch] through an encoder layer over its last axis but one; nothing is left to attend to
 * where that is 1. */
static ll_tensor *mixed(ll_graph *g, const ll_csdi_config *cfg, const char *name, ll_tensor *y)
{
    const ll_nn_encoder_opts o = { .attn = { .n_heads = cfg->n_heads, .dropout = cfg->dropout },
                                   .ff = cfg->ff,
                                   .dropout = cfg->dropout };
    if (ll_dim(y, 2) <= 1) return y;
    ll_scope_pushf(g, "%s.layers.0", name);
    y = ll_nn_encoder_layer(g, "", y, &o);
    ll_scope_pop(g);
    return y;
}

/* One residual block: *x moves on, and what it leaves for the end is given. */
static ll_tensor *block(ll_graph *g, const ll_csdi_config *cfg, ll_tensor *side, ll_tensor *step,
                        ll_tensor **x)
{
    const int64_t ch = cfg->channels;
    const int     swap[] = { 0, 2, 1, 3 };
    ll_tensor    *half[2] = { NULL, NULL };
    ll_tensor    *e = ll_nn_linear(g, "diffusion_projection", step, ch); /* [1 or N,ch] */
    ll_tensor    *v = ll_add(g, *x, ll_reshape(g, e, LL_SHAPE(ll_dim(e, 0), 1, 1, ch)));
    v = mixed(g, cfg, "time_layer", v);
    v = ll_permute(g, mixed(g, cfg, "feature_layer", ll_permute(g, v, swap)), swap);
    v = ll_add(g, ll_pointwise(g, "mid_projection", v, 2 * ch, true),
               ll_pointwise(g, "cond_projection", side, 2 * ch, true));
    ll_split_axis(g, v, 3, 2, half);
    v = ll_mul(g, ll_sigmoid(g, half[0]), ll_tanh(g, half[1]));
    ll_split_axis(g, ll_pointwise(g, "output_projection", v, 2 * ch, true), 3, 2, half);
    *x = ll_scale(g, ll_add(g, *x, half[0]), sqrt(0.5));
    return half[1];
}

/* The last projection begins with 0: no noise is found at first. */
static ll_tensor *last_projection(ll_graph *g, ll_tensor *x)
{
    const int64_t ch = ll_dim(x, 3);
    ll_scope_push(g, "output_projection2");
    ll_tensor *w = ll_param(g, "weight", LL_SHAPE(1, ch, 1), LL_INIT_ZERO);
    ll_tensor *b = ll_param(g, "bias", LL_SHAPE(1), ll_init_usual(ch));
    ll_scope_pop(g);
    return ll_linear(g, x, ll_reshape(g, w, LL_SHAPE(1, ch)), b);
}

ll_tensor *ll_csdi_noise(ll_graph *g, const ll_csdi_config *cfg, const ll_csdi_in *in,
                         ll_tensor *x_t, ll_tensor *waves)
{
    const int64_t    B = ll_dim(in->x, 0), n = B > 0 ? ll_dim(x_t, 0) / B : 1;
    const ll_csdi_in all = { repeated(g, in->x, n), repeated(g, in->visible, n),
                             repeated(g, in->times, n) };
    ll_tensor       *hidden = ll_affine(g, all.visible, -1.0, 1.0), *skips = NULL;
    ll_tensor       *both[] = { ll_unsqueeze(g, ll_mul(g, all.visible, all.x), 3),
                                ll_unsqueeze(g, ll_mul(g, hidden, x_t), 3) };
    ll_tensor       *side = side_of(g, cfg, &all);
    ll_scope_push(g, "diffmodel");
    ll_tensor *x = ll_relu(
        g, ll_pointwise(g, "input_projection", ll_concat(g, both, 2, 3), cfg->channels, true));
    ll_scope_push(g, "diffusion_embedding");
    ll_tensor *step = ll_step_embedding(g, waves, cfg->step_width);
    ll_scope_pop(g);
    for (int i = 0; i < cfg->n_blocks; i++) {
        ll_scope_pushf(g, "residual_layers.%d", i);
        ll_tensor *skip = block(g, cfg, side, step, &x);
        skips = i == 0 ? skip : ll_add(g, skips, skip);
        ll_scope_pop(g);
    }
    x = ll_scale(g, skips, 1.0 / sqrt((double)cfg->n_blocks));
    x = ll_relu(g, ll_pointwise(g, "output_projection1", x, cfg->channels, true));
    x = ll_squeeze(g, last_projection(g, x), LL_AXIS(3));
    ll_scope_pop(g);
    return x;
}

ll_tensor *ll_csdi_loss(ll_graph *g, const ll_csdi_config *cfg, const ll_csdi_in *in,
                        ll_tensor *observed, ll_tensor *t, ll_tensor *eps, ll_tensor **found)
{
    const int64_t half = cfg->step_width / 2;
    ll_tensor    *waves = ll_step_waves(g, t, cfg->steps.n, half, half - 1);
    ll_tensor    *x_t = ll_with_noise(g, &cfg->steps, t, in->x, eps);
    ll_tensor    *noise = ll_csdi_noise(g, cfg, in, x_t, waves);
    if (found != NULL) *found = noise;
    return ll_nn_masked_mse(g, noise, eps, ll_sub(g, observed, in->visible), LL_ALL_AXES);
}

ll_tensor *ll_csdi_sample(ll_graph *g, const ll_csdi_config *cfg, const ll_csdi_in *in,
                          ll_tensor *noise)
{
    const int64_t  T = cfg->steps.n, half = cfg->step_width / 2;
    const ll_shape one = LL_SHAPE(ll_dim(noise, 1), ll_dim(noise, 2), ll_dim(noise, 3));
    ll_tensor     *x = ll_reshape(g, ll_slice(g, noise, 0, 0, 1), one);
    for (int64_t t = T - 1; t >= 0; t--) {
        const double beta = ll_beta(&cfg->steps, t), ab = ll_alpha_bar(&cfg->steps, t);
        ll_tensor   *waves = ll_step_waves_at(g, t, half, half - 1);
        ll_tensor   *eps = ll_csdi_noise(g, cfg, in, x, waves);
        if (t == T - 1) ll_note(g, "eps_first", eps);
        x = ll_sub(g, x, ll_scale(g, eps, beta / sqrt(1.0 - ab)));
        x = ll_scale(g, x, 1.0 / sqrt(1.0 - beta));
        if (t == 0) break;
        const double spread = sqrt((1.0 - ll_alpha_bar(&cfg->steps, t - 1)) / (1.0 - ab) * beta);
        ll_tensor   *fresh = ll_reshape(g, ll_slice(g, noise, 0, T - t, 1), one);
        x = ll_add(g, x, ll_scale(g, fresh, spread));
    }
    return x;
}

ll_tensor *ll_csdi_filled(ll_graph *g, const ll_csdi_in *in, ll_tensor *sample)
{
    const int64_t B = ll_dim(in->x, 0), n = B > 0 ? ll_dim(sample, 0) / B : 1;
    ll_tensor    *visible = repeated(g, in->visible, n);
    return ll_add(g, ll_mul(g, visible, repeated(g, in->x, n)),
                  ll_mul(g, ll_affine(g, visible, -1.0, 1.0), sample));
}
