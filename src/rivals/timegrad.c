#include "rivals/timegrad.h"

#include "nn/nn.h"

#include <math.h>

static int64_t lag_of(const ll_timegrad_config *cfg, int l) { return (int64_t)cfg->lags.v[l]; }

int64_t ll_timegrad_longest(const ll_timegrad_config *cfg)
{
    return cfg->lags.n > 0 ? lag_of(cfg, cfg->lags.n - 1) : 0;
}

ll_tensor *ll_timegrad_scale(ll_graph *g, const ll_timegrad_config *cfg, ll_tensor *x,
                             ll_tensor *observed)
{
    const int64_t lag = ll_timegrad_longest(cfg), rows = ll_dim(x, 1) - lag;
    ll_tensor    *m = ll_slice(g, observed, 1, lag, rows);
    ll_tensor    *size = ll_abs(g, ll_slice(g, x, 1, lag, rows));
    ll_tensor    *one = ll_full(g, LL_SCALAR, 1.0);
    ll_tensor    *n = ll_sum(g, m, LL_AXIS(1));
    ll_tensor    *mean = ll_div(g, ll_masked_sum(g, size, m, LL_AXIS(1)), ll_maximum(g, n, one));
    ll_tensor    *some = ll_minimum(g, n, one);
    mean = ll_add(g, ll_mul(g, mean, some), ll_affine(g, some, -1.0, 1.0));
    return ll_maximum(g, mean, ll_full(g, LL_SCALAR, cfg->min_scale));
}

/* [lagged values (d n_lags + l), a number for each series, mask of the row before, time]:
 * lagged [B,n,D,n_lags], seen [B,n,D], time [B,n,.] */
static ll_tensor *inputs_of(ll_graph *g, const ll_timegrad_config *cfg, ll_tensor *lagged,
                            ll_tensor *seen, ll_tensor *time)
{
    const int64_t B = ll_dim(seen, 0), n = ll_dim(seen, 1), D = ll_dim(seen, 2);
    ll_tensor    *embed = ll_param(g, "embed.weight", LL_SHAPE(D, 1), LL_INIT_NORMAL(1.0));
    ll_tensor    *part[] = { ll_reshape(g, lagged, LL_SHAPE(B, n, D * cfg->lags.n)),
                             ll_expand(g, ll_reshape(g, embed, LL_SHAPE(D)), LL_SHAPE(B, n, D)), seen,
                             time };
    return ll_concat(g, part, 4, 2);
}

/* Inputs of rows first .. first + n - 1 of the series. */
static ll_tensor *rows_read(ll_graph *g, const ll_timegrad_config *cfg, const ll_timegrad_in *in,
                            ll_tensor *scale, int64_t first, int64_t n)
{
    ll_tensor *lagged[LL_TIMEGRAD_LAGS];
    for (int l = 0; l < cfg->lags.n; l++)
        lagged[l] = ll_unsqueeze(
            g, ll_div(g, ll_slice(g, in->series, 1, first - lag_of(cfg, l), n), scale), 3);
    return inputs_of(g, cfg, ll_concat(g, lagged, cfg->lags.n, 3),
                     ll_slice(g, in->observed, 1, first - 1, n), ll_slice(g, in->time, 1, 0, n));
}

static ll_tensor *recurrent(ll_graph *g, const ll_timegrad_config *cfg, ll_tensor *x,
                            ll_tensor **state)
{
    const ll_gru_opts o = {
        .width = cfg->cells, .n_layers = cfg->n_layers, .dropout = cfg->dropout, .state = state
    };
    return ll_gru_layers(g, "rnn", x, &o);
}

/* Nothing but what the functions below rely on. */
static bool possible(ll_graph *g, const ll_timegrad_config *cfg, const ll_timegrad_in *in)
{
    bool rising = cfg->lags.n > 0 && cfg->lags.n <= LL_TIMEGRAD_LAGS && lag_of(cfg, 0) > 0;
    for (int l = 1; l < cfg->lags.n && rising; l++) rising = lag_of(cfg, l) > lag_of(cfg, l - 1);
    if (!rising) ll_graph_fail(g, LLAP_EINVAL, "timegrad: lags must be rising, from 1");
    else if (in->context <= ll_timegrad_longest(cfg))
        ll_graph_fail(g, LLAP_EINVAL,
                      "timegrad: a context of %lld rows is not longer than the "
                      "longest lag, %lld",
                      (long long)in->context, (long long)ll_timegrad_longest(cfg));
    return ll_graph_status(g) == LLAP_OK;
}

ll_tensor *ll_timegrad_loss(ll_graph *g, const ll_timegrad_config *cfg, const ll_timegrad_in *in,
                            ll_tensor *scale, ll_tensor *t, ll_tensor *eps, ll_tensor **found)
{
    if (!possible(g, cfg, in)) return NULL;
    const int64_t  lag = ll_timegrad_longest(cfg), n = ll_dim(in->series, 1) - lag;
    const int64_t  B = ll_dim(in->series, 0), D = ll_dim(in->series, 2);
    const ll_shape each = LL_SHAPE(B * n, 1, D);
    ll_tensor     *x = ll_note(g, "inputs", rows_read(g, cfg, in, scale, lag, n));
    ll_tensor     *h = ll_note(g, "rnn", recurrent(g, cfg, x, NULL));
    ll_tensor     *cond = ll_nn_linear(g, "proj", h, cfg->cond);
    cond = ll_reshape(g, cond, LL_SHAPE(B * n, 1, cfg->cond));
    ll_tensor *x0 = ll_div(g, ll_slice(g, in->series, 1, lag, n), scale);
    ll_tensor *x_t = ll_with_noise(g, &cfg->steps, t, ll_reshape(g, x0, each), eps);
    ll_tensor *noise = ll_timegrad_noise(g, cfg, x_t, ll_timegrad_waves(g, cfg, t), cond);
    if (found != NULL) *found = noise;
    ll_tensor *m = ll_reshape(g, ll_slice(g, in->observed, 1, lag, n), each);
    return ll_nn_masked_mse(g, noise, eps, m, LL_ALL_AXES);
}

/* -------- sampling -------- */

void ll_timegrad_read(ll_graph *g, const ll_timegrad_config *cfg, const ll_timegrad_in *in,
                      ll_tensor *scale, ll_tensor *state[LL_TIMEGRAD_LAYERS])
{
    for (int i = 0; i < LL_TIMEGRAD_LAYERS; i++) state[i] = NULL;
    if (!possible(g, cfg, in)) return;
    const int64_t lag = ll_timegrad_longest(cfg);
    recurrent(g, cfg, rows_read(g, cfg, in, scale, lag, in->context - lag), state);
}

/* x0 = x_t/sqrt(ab) - sqrt(1/ab - 1) eps, and an ancestral step. */
static ll_tensor *reverse_step(ll_graph *g, const ll_timegrad_config *cfg, int64_t t, ll_tensor *x,
                               ll_tensor *cond, ll_tensor *fresh)
{
    const double ab = ll_alpha_bar(&cfg->steps, t);
    ll_tensor   *waves = ll_step_waves_at(g, t, cfg->step_width, cfg->step_width);
    ll_tensor   *eps = ll_timegrad_noise(g, cfg, x, waves, cond);
    ll_tensor   *x0 =
        ll_sub(g, ll_scale(g, x, 1.0 / sqrt(ab)), ll_scale(g, eps, sqrt(1.0 / ab - 1.0)));
    return ll_ancestral(g, &cfg->steps, t, x0, x, fresh);
}

ll_tensor *ll_timegrad_cond(ll_graph *g, const ll_timegrad_config *cfg, ll_timegrad_row *row)
{
    const ll_shape one = LL_SHAPE(ll_dim(row->seen, 0), 1, ll_dim(row->seen, 1));
    ll_tensor     *lagged = ll_div(g, row->lagged, row->scale);
    ll_tensor     *x = inputs_of(g, cfg, ll_unsqueeze(g, ll_transpose(g, lagged), 1),
                                 ll_reshape(g, row->seen, one), ll_unsqueeze(g, row->time, 1));
    return ll_nn_linear(g, "proj", recurrent(g, cfg, x, row->state), cfg->cond);
}

ll_tensor *ll_timegrad_draw(ll_graph *g, const ll_timegrad_config *cfg, ll_timegrad_row *row)
{
    const int64_t  T = cfg->steps.n;
    const ll_shape one = LL_SHAPE(ll_dim(row->seen, 0), 1, ll_dim(row->seen, 1));
    ll_tensor     *cond = ll_timegrad_cond(g, cfg, row);
    ll_tensor     *x = ll_reshape(g, ll_slice(g, row->noise, 0, 0, 1), one);
    for (int64_t t = T - 1; t >= 0; t--)
        x = reverse_step(g, cfg, t, x, cond,
                         ll_reshape(g, ll_slice(g, row->noise, 0, T - t, 1), one));
    return ll_mul(g, x, row->scale);
}

/* Each window n times, side by side: x [B,r,d] -> [B n,r,d] */
static ll_tensor *repeated(ll_graph *g, ll_tensor *x, int64_t n)
{
    const int64_t B = ll_dim(x, 0), r = ll_dim(x, 1), d = ll_dim(x, 2);
    ll_tensor    *all = ll_expand(g, ll_unsqueeze(g, x, 1), LL_SHAPE(B, n, r, d));
    return ll_reshape(g, all, LL_SHAPE(B * n, r, d));
}

ll_tensor *ll_timegrad_sample(ll_graph *g, const ll_timegrad_config *cfg, const ll_timegrad_in *in,
                              ll_tensor *scale, ll_tensor *noise)
{
    const int64_t   B = ll_dim(in->series, 0), N = ll_dim(noise, 2), n = B > 0 ? N / B : 1;
    const int64_t   H = ll_dim(noise, 0), D = ll_dim(noise, 3), read = ll_dim(in->time, 1) - H;
    const int64_t   K = in->context;
    ll_timegrad_row row = { 0 };
    ll_timegrad_read(g, cfg, in, scale, row.state);
    for (int i = 0; i < cfg->n_layers; i++)
        row.state[i] = ll_reshape(g, repeated(g, ll_unsqueeze(g, row.state[i], 1), n),
                                  LL_SHAPE(N, cfg->cells));
    ll_tensor *past = repeated(g, in->series, n), *time = repeated(g, in->time, n), *all = NULL;
    ll_tensor *seen =
        ll_reshape(g, repeated(g, ll_slice(g, in->observed, 1, K - 1, 1), n), LL_SHAPE(N, D));
    row.scale = repeated(g, scale, n);
    for (int64_t r = 0; r < H && past != NULL; r++) {
        ll_tensor *lagged[LL_TIMEGRAD_LAGS];
        for (int l = 0; l < cfg->lags.n; l++)
            lagged[l] = ll_slice(g, past, 1, K + r - lag_of(cfg, l), 1);
        row.lagged = ll_concat(g, lagged, cfg->lags.n, 1);
        row.seen = r == 0 ? seen : ll_full(g, LL_SHAPE(N, D), 1.0);
        row.time = ll_reshape(g, ll_slice(g, time, 1, read + r, 1), LL_SHAPE(N, ll_dim(time, 2)));
        row.noise = ll_reshape(g, ll_slice(g, noise, 0, r, 1), LL_SHAPE(ll_dim(noise, 1), N, D));
        ll_tensor *y = ll_timegrad_draw(g, cfg, &row);
        past = ll_concat(g, (ll_tensor *[]){ past, y }, 2, 1);
        all = r == 0 ? y : ll_concat(g, (ll_tensor *[]){ all, y }, 2, 1);
    }
    return all;
}
