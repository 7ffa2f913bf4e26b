/* The noise network of TimeGrad: convolutions over the series as a ring. */
#include "nn/nn.h"
#include "rivals/timegrad.h"

#include <math.h>

static const double SLOPE = 0.4; /* of its LeakyReLU */

/* n more at both ends, from the other end: x [N,l,c] -> [N,l + 2n,c]; n <= l */
static ll_tensor *ring(ll_graph *g, ll_tensor *x, int64_t n)
{
    const int64_t l = ll_dim(x, 1);
    ll_tensor    *part[] = { ll_slice(g, x, 1, l - n, n), x, ll_slice(g, x, 1, 0, n) };
    return ll_concat(g, part, 3, 1);
}

/* A convolution of kernel 3 and that dilation without padding: x [N,l,in] -> [N,l - 2 dilation,
 * width] */
static ll_tensor *taps(ll_graph *g, const char *name, ll_tensor *x, int64_t width, int64_t dilation,
                       ll_init weight)
{
    const int64_t in = ll_dim(x, 2), l = ll_dim(x, 1) - 2 * dilation;
    ll_scope_push(g, name);
    ll_tensor *w = ll_param(g, "weight", LL_SHAPE(width, in, 3), weight);
    ll_tensor *b = ll_param(g, "bias", LL_SHAPE(width), ll_init_usual(3 * in));
    ll_scope_pop(g);
    w = ll_reshape(g, ll_transpose(g, w), LL_SHAPE(width, 3 * in)); /* tap by tap */
    ll_tensor *part[3];
    for (int k = 0; k < 3; k++) part[k] = ll_slice(g, x, 1, k * dilation, l);
    return ll_linear(g, ll_concat(g, part, 3, 2), w, b);
}

/* cond [N,1,cond] -> [N,1,D] */
static ll_tensor *upsampled(ll_graph *g, ll_tensor *cond, int64_t D)
{
    ll_scope_push(g, "cond_upsampler");
    ll_tensor *c = ll_leaky_relu(g, ll_nn_linear(g, "linear1", cond, D / 2), SLOPE);
    c = ll_leaky_relu(g, ll_nn_linear(g, "linear2", c, D), SLOPE);
    ll_scope_pop(g);
    return c;
}

/* One residual layer: *x [N,l,ch] moves on, and what it leaves for the end is given. c [N,l,1] */
static ll_tensor *block(ll_graph *g, const ll_timegrad_config *cfg, int i, ll_tensor *c,
                        ll_tensor *step, ll_tensor **x)
{
    const int64_t ch = cfg->channels, dilation = (int64_t)1 << (i % cfg->dilation_cycle);
    ll_tensor    *half[2] = { NULL, NULL };
    ll_tensor    *e = ll_nn_linear(g, "diffusion_projection", step, ch);
    ll_tensor    *v = ll_add(g, *x, ll_reshape(g, e, LL_SHAPE(ll_dim(e, 0), 1, ch)));
    v = taps(g, "dilated_conv", ring(g, v, dilation), 2 * ch, dilation, ll_init_usual(3 * ch));
    v = ll_add(g, v, ll_pointwise(g, "conditioner_projection", c, 2 * ch, true));
    ll_split_axis(g, v, 2, 2, half);
    v = ll_mul(g, ll_sigmoid(g, half[0]), ll_tanh(g, half[1]));
    v = ll_leaky_relu(g, ll_pointwise(g, "output_projection", v, 2 * ch, true), SLOPE);
    ll_split_axis(g, v, 2, 2, half);
    *x = ll_scale(g, ll_add(g, *x, half[0]), sqrt(0.5));
    return half[1];
}

ll_tensor *ll_timegrad_waves(ll_graph *g, const ll_timegrad_config *cfg, ll_tensor *t)
{
    return ll_step_waves(g, t, cfg->steps.n, cfg->step_width, cfg->step_width);
}

ll_tensor *ll_timegrad_noise(ll_graph *g, const ll_timegrad_config *cfg, ll_tensor *x,
                             ll_tensor *waves, ll_tensor *cond)
{
    const int64_t N = ll_dim(x, 0), D = ll_dim(x, 2), ch = cfg->channels;
    ll_tensor    *skips = NULL;
    if (x != NULL && D < 2)
        ll_graph_fail(g, LLAP_EINVAL, "timegrad: the ring needs two series, found %lld",
                      (long long)D);
    ll_scope_push(g, "denoise_fn");
    x = ring(g, ll_reshape(g, x, LL_SHAPE(N, D, 1)), 2);
    x = ll_leaky_relu(g, ll_pointwise(g, "input_projection", x, ch, true), SLOPE);
    ll_scope_push(g, "diffusion_embedding");
    ll_tensor *step = ll_step_embedding(g, waves, cfg->step_hidden);
    ll_scope_pop(g);
    ll_tensor *c = ring(g, ll_reshape(g, upsampled(g, cond, D), LL_SHAPE(N, D, 1)), 2);
    for (int i = 0; i < cfg->n_blocks; i++) {
        ll_scope_pushf(g, "residual_layers.%d", i);
        ll_tensor *skip = block(g, cfg, i, c, step, &x);
        skips = i == 0 ? skip : ll_add(g, skips, skip);
        ll_scope_pop(g);
    }
    x = ll_scale(g, skips, 1.0 / sqrt((double)cfg->n_blocks));
    x = ll_leaky_relu(g, taps(g, "skip_projection", x, ch, 1, ll_kaiming(3 * ch)), SLOPE);
    x = taps(g, "output_projection", x, 1, 1, LL_INIT_ZERO);
    ll_scope_pop(g);
    return ll_reshape(g, x, LL_SHAPE(N, 1, D));
}
