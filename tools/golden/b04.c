/* TimeGrad: the noise network, a step of training, sampling. */
#include "rivals.h"

#include <string.h>

static ll_timegrad_config config_of(golden *c)
{
    ll_timegrad_config cfg = { .cond = golden_int(c, "cond"),
                               .channels = golden_int(c, "channels"),
                               .step_width = golden_int(c, "step_dim"),
                               .step_hidden = golden_int(c, "step_hidden"),
                               .n_blocks = (int)golden_int(c, "layers_eps"),
                               .dilation_cycle = (int)golden_int(c, "dilation_cycle"),
                               .steps = golden_steps(c) };
    if (golden_is(c, "mode", "eps")) return cfg;
    golden_list(c, "lags", &cfg.lags);
    cfg.cells = golden_int(c, "cells");
    cfg.n_layers = (int)golden_int(c, "rnn_layers");
    cfg.min_scale = golden_real(c, "min_scale");
    return cfg;
}

static void noise_alone(golden *c, const ll_timegrad_config *cfg)
{
    ll_graph  *g = c->graph;
    ll_tensor *waves = ll_timegrad_waves(g, cfg, golden_input_int(c, "t"));
    ll_tensor *eps =
        ll_timegrad_noise(g, cfg, golden_input(c, "x"), waves, golden_input(c, "cond"));
    ll_tensor *square = ll_square(g, ll_sub(g, eps, golden_input(c, "noise")));
    ll_tensor *loss = ll_reshape(g, ll_mean(g, square, LL_ALL_AXES), LL_SCALAR);
    golden_output(c, "out.eps", eps);
    golden_output(c, "out.loss", loss);
    golden_run(c, loss);
}

/* Past and future one behind the other, [B,rows,D]. */
static float *joined(golden *c, const char *past, const char *future, int64_t *rows)
{
    char full[32] = "in.";
    strcat(full, past);
    const ll_shape s = golden_shape(c, full);
    const int64_t  K = s.dim[1], D = s.dim[2], H = *rows - K;
    const float   *x = golden_floats(c, past), *y = H > 0 ? golden_floats(c, future) : NULL;
    float         *all = ll_arena_new(&c->arena, (size_t)(s.dim[0] * *rows * D), sizeof *all);
    if (all == NULL) golden_fail(c, LLAP_ENOMEM, "out of memory");
    if (all == NULL || x == NULL || (H > 0 && y == NULL)) return NULL;
    for (int64_t b = 0; b < s.dim[0]; b++) {
        memcpy(all + b * *rows * D, x + b * K * D, (size_t)(K * D) * sizeof *all);
        if (H > 0) memcpy(all + (b * *rows + K) * D, y + b * H * D, (size_t)(H * D) * sizeof *all);
    }
    return all;
}

static ll_tensor *given(golden *c, const char *name, ll_shape s, const float *x)
{
    const int64_t n = ll_shape_count(&s);
    double       *v = golden_new(c, n);
    for (int64_t i = 0; v != NULL && x != NULL && i < n; i++) v[i] = (double)x[i];
    return golden_give(c, name, s, v);
}

void golden_timegrad(golden *c)
{
    const ll_timegrad_config cfg = config_of(c);
    ll_graph                *g = c->graph;
    if (golden_is(c, "mode", "eps")) {
        noise_alone(c, &cfg);
        return;
    }
    const bool    train = golden_is(c, "mode", "train");
    const int64_t B = golden_dim(c, "in.past", 0), K = golden_dim(c, "in.past", 1);
    const int64_t D = golden_dim(c, "in.past", 2);
    int64_t       rows = train ? K + golden_int(c, "H") : K;
    float        *x = joined(c, "past", "future", &rows);
    float        *m = joined(c, "past_obs", "future_obs", &rows);
    if (x == NULL || m == NULL) return;
    ll_tensor *past = golden_input(c, "past"), *seen = golden_input(c, "past_obs");
    for (int64_t b = 0; b < B; b++)
        ll_fill_forward(x + b * rows * D, m + b * rows * D, rows, D, x + b * rows * D);
    const ll_shape       all = LL_SHAPE(B, rows, D);
    const ll_timegrad_in in = { .series = given(c, "series", all, x),
                                .observed = given(c, "observed", all, m),
                                .time = golden_input(c, "time_feat"),
                                .context = K };
    ll_tensor           *scale = ll_timegrad_scale(g, &cfg, past, seen);
    ll_note(g, "scale", scale);
    if (train) {
        ll_tensor *eps = NULL;
        ll_tensor *loss = ll_timegrad_loss(g, &cfg, &in, scale, golden_input_int(c, "t"),
                                           golden_input(c, "noise"), &eps);
        loss = ll_reshape(g, loss, LL_SCALAR);
        golden_output(c, "out.eps", eps);
        golden_output(c, "out.loss", loss);
        golden_run(c, loss);
        return;
    }
    golden_output(c, "out.sample",
                  ll_timegrad_sample(g, &cfg, &in, scale, golden_input(c, "noise")));
    golden_run(c, NULL);
}
