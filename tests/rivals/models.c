/* Each published model at sizes and options of a seed: cpu against ref, gradients against central
 * differences. The fixtures hold their numbers at sizes of their own (tests/golden). */
#include "check.h"
#include "net.h"

#include "rivals/rivals.h"

#include <math.h>

typedef struct sized { /* what the seed decides */
    uint64_t seed;
} sized;

static int64_t pick(const void *cfg, const char *what, int64_t low, int64_t high)
{
    return net_pick(((const sized *)cfg)->seed, what, low, high);
}

static ll_rival_head head_of(const void *cfg)
{
    return pick(cfg, "quantiles", 0, 1) ? (ll_rival_head){ 3, 4 } : (ll_rival_head){ 1, 0 };
}

/* Masks begin with m, times with t, whole numbers with i, shares with u; times rise along a row of
 * seven. */
static double fill(const net *n, const char *name, int64_t k)
{
    const double u = net_uniform(n->seed, name, k);
    if (name[0] == 'm') return u > 0.3 ? 1.0 : 0.0;
    if (name[0] == 'i') return floor(4.0 * u);
    if (name[0] == 'u') return u;
    if (name[0] == 't') return ((double)(k % 7) + 0.6 * u) / 7.0;
    return NAN;
}

static ll_tensor *answered(ll_graph *g, ll_rival_head h, ll_tensor *answer)
{
    const bool all = h.q == 0;
    ll_shape   s = ll_shape_of(answer);
    if (!all && s.rank > 0) s.rank--;
    return ll_reshape(g, ll_head_loss(g, h, answer, ll_input(g, "y", s), ll_input(g, "my", s)),
                      LL_SCALAR);
}

static ll_tensor *dlinear(ll_graph *g, const void *cfg)
{
    const int64_t           K = pick(cfg, "K", 5, 11), C = pick(cfg, "C", 1, 3);
    const ll_dlinear_config c = { .horizon = pick(cfg, "H", 1, 5),
                                  .kernel = 2 * pick(cfg, "kernel", 0, 4) + 1,
                                  .individual = pick(cfg, "individual", 0, 1) != 0,
                                  .revin = pick(cfg, "revin", 0, 1) != 0,
                                  .mix = pick(cfg, "mix", 0, 1) != 0,
                                  .target = C - 1,
                                  .head = head_of(cfg) };
    const ll_dlinear_in     in = { .x = ll_input(g, "x", LL_SHAPE(2, K, C)),
                                   .m = ll_input(g, "m", LL_SHAPE(2, K, C)),
                                   .calendar = ll_input(g, "cal", LL_SHAPE(2, c.horizon, 6)) };
    return answered(g, c.head, ll_dlinear(g, &c, &in));
}

static ll_tensor *patchtst(ll_graph *g, const void *cfg)
{
    const int64_t            K = pick(cfg, "K", 7, 13), C = pick(cfg, "C", 1, 3);
    const ll_patchtst_config c = { .horizon = pick(cfg, "H", 1, 4),
                                   .patch = pick(cfg, "patch", 2, 5),
                                   .stride = pick(cfg, "stride", 1, 3),
                                   .width = 6,
                                   .ff = 5,
                                   .n_heads = (int)pick(cfg, "heads", 1, 3),
                                   .n_layers = (int)pick(cfg, "layers", 1, 2),
                                   .norm = (ll_patchtst_norm)pick(cfg, "norm", 0, 1),
                                   .revin = pick(cfg, "revin", 0, 1) != 0,
                                   .affine = pick(cfg, "affine", 0, 1) != 0,
                                   .mix = pick(cfg, "mix", 0, 1) != 0,
                                   .target = C - 1,
                                   .head = head_of(cfg) };
    const ll_patchtst_in     in = { .x = ll_input(g, "x", LL_SHAPE(3, K, C)),
                                    .m = ll_input(g, "m", LL_SHAPE(3, K, C)),
                                    .calendar = ll_input(g, "cal", LL_SHAPE(3, c.horizon, 6)),
                                    .training = pick(cfg, "training", 0, 1) != 0 };
    return answered(g, c.head, ll_patchtst(g, &c, &in));
}

static const ll_noise_steps four_steps = { 4, 1e-3, 0.3, LL_BETA_QUAD };

static ll_tensor *mrdiff(ll_graph *g, const void *cfg)
{
    const int64_t          K = pick(cfg, "K", 6, 9), H = pick(cfg, "H", 2, 5), C = 2;
    const int              S = (int)pick(cfg, "S", 1, 3);
    const ll_mrdiff_config c = { .horizon = H,
                                 .kernels = { S - 1, { 3, 5 } },
                                 .step_width = 6,
                                 .width = 4,
                                 .width_in = 3,
                                 .width_enc = 5,
                                 .layers_in = (int)pick(cfg, "in", 1, 3),
                                 .layers_enc = (int)pick(cfg, "enc", 1, 3),
                                 .layers_dec = (int)pick(cfg, "dec", 1, 2),
                                 .clip = 10.0,
                                 .steps = four_steps };
    const ll_mrdiff_in     in = { .x = ll_input(g, "x", LL_SHAPE(3, K, C)),
                                  .m = ll_input(g, "m", LL_SHAPE(3, K, C)),
                                  .side = pick(cfg, "side", 0, 1)
                                              ? ll_input(g, "side", LL_SHAPE(3, H, 2))
                                              : NULL,
                                  .training = pick(cfg, "training", 0, 1) != 0 };
    const ll_mrdiff_noise  noise = { ll_input_int(g, "i", LL_SHAPE(S, 3)),
                                     ll_input(g, "eps", LL_SHAPE(S, 3, C, H)),
                                     ll_input(g, "u", LL_SHAPE(S, 3, C, H)) };
    return ll_mrdiff_loss(g, &c, &in, ll_input(g, "y", LL_SHAPE(3, H, C)),
                          ll_input(g, "my", LL_SHAPE(3, H, C)), &noise);
}

static ll_timegrad_config timegrad_of(const void *cfg)
{
    return (ll_timegrad_config){ .lags = { 2, { 1, 3 } },
                                 .cells = pick(cfg, "cells", 2, 5),
                                 .cond = 3,
                                 .n_layers = (int)pick(cfg, "layers", 1, 2),
                                 .channels = pick(cfg, "channels", 1, 3),
                                 .step_width = 3,
                                 .step_hidden = 4,
                                 .n_blocks = (int)pick(cfg, "blocks", 1, 3),
                                 .dilation_cycle = (int)pick(cfg, "cycle", 1, 2),
                                 .min_scale = 0.1,
                                 .steps = four_steps };
}

static ll_tensor *timegrad(ll_graph *g, const void *cfg)
{
    const ll_timegrad_config c = timegrad_of(cfg);
    const int64_t            K = pick(cfg, "K", 5, 7), H = pick(cfg, "H", 1, 3), n = K - 3 + H;
    const int64_t            D = pick(cfg, "D", 2, 5);
    const ll_timegrad_in     in = { .series = ll_input(g, "x", LL_SHAPE(2, K + H, D)),
                                    .observed = ll_input(g, "m", LL_SHAPE(2, K + H, D)),
                                    .time = ll_input(g, "time", LL_SHAPE(2, n, 2)),
                                    .context = K };
    ll_tensor *past = ll_slice(g, in.series, 1, 0, K), *seen = ll_slice(g, in.observed, 1, 0, K);
    ll_tensor *scale = ll_timegrad_scale(g, &c, past, seen);
    return ll_reshape(g,
                      ll_timegrad_loss(g, &c, &in, scale, ll_input_int(g, "i", LL_SHAPE(2 * n)),
                                       ll_input(g, "eps", LL_SHAPE(2 * n, 1, D)), NULL),
                      LL_SCALAR);
}

/* Through the draw too: every step of the reverse process has a gradient. */
static ll_tensor *timegrad_drawn(ll_graph *g, const void *cfg)
{
    const ll_timegrad_config c = timegrad_of(cfg);
    const int64_t            K = 5, H = 2, D = pick(cfg, "D", 2, 4);
    const ll_timegrad_in     in = { .series = ll_input(g, "x", LL_SHAPE(1, K, D)),
                                    .observed = ll_input(g, "m", LL_SHAPE(1, K, D)),
                                    .time = ll_input(g, "time", LL_SHAPE(1, K - 3 + H, 2)),
                                    .context = K };
    ll_tensor               *scale = ll_timegrad_scale(g, &c, in.series, in.observed);
    ll_tensor               *noise = ll_input(g, "noise", LL_SHAPE(H, 5, 2, D));
    ll_tensor               *y = ll_timegrad_sample(g, &c, &in, scale, noise);
    return ll_reshape(g, ll_mean(g, ll_square(g, y), LL_ALL_AXES), LL_SCALAR);
}

static ll_tensor *mtan(ll_graph *g, const void *cfg)
{
    const int64_t        D = pick(cfg, "D", 1, 3), k = pick(cfg, "k", 1, 3);
    const ll_mtan_config c = { .n_ref = pick(cfg, "ref", 1, 5),
                               .embed = 4,
                               .enc_heads = (int)pick(cfg, "eh", 1, 2),
                               .dec_heads = (int)pick(cfg, "dh", 1, 2),
                               .rec = 3,
                               .gen = 4,
                               .latent = pick(cfg, "Z", 1, 3),
                               .mlp = 5,
                               .n_out = pick(cfg, "out", 1, 2),
                               .learned = pick(cfg, "learned", 0, 1) != 0,
                               .units = 48.0,
                               .spread = (ll_mtan_spread)pick(cfg, "spread", 0, 2),
                               .sd = 0.4 };
    const ll_mtan_code   code =
        ll_mtan_encode(g, &c, ll_input(g, "x", LL_SHAPE(2, 7, D)),
                       ll_input(g, "m", LL_SHAPE(2, 7, D)), ll_input(g, "t", LL_SHAPE(2, 7)));
    ll_tensor           *eps = ll_input(g, "eps", LL_SHAPE(k, 2, c.n_ref, c.latent));
    const ll_mtan_answer a =
        ll_mtan_decode(g, &c, ll_mtan_latent(g, &code, eps), ll_input(g, "tq", LL_SHAPE(2, 3)));
    return ll_mtan_loss(g, &code, &a, ll_input(g, "y", LL_SHAPE(2, 3, c.n_out)),
                        ll_input(g, "my", LL_SHAPE(2, 3, c.n_out)), ll_full(g, LL_SCALAR, 0.6),
                        NULL, NULL);
}

static ll_tensor *tpatchgnn(ll_graph *g, const void *cfg)
{
    const int64_t             M = pick(cfg, "M", 1, 3), L = pick(cfg, "L", 1, 4);
    const int64_t             N = pick(cfg, "N", 1, 3);
    const ll_tpatchgnn_config c = { .width = 4,
                                    .time_width = pick(cfg, "te", 2, 4),
                                    .node_width = 2,
                                    .ff = 5,
                                    .n_heads = (int)pick(cfg, "heads", 1, 2),
                                    .n_layers = (int)pick(cfg, "layers", 1, 2),
                                    .transformer_layers = (int)pick(cfg, "tf", 1, 2),
                                    .hops = (int)pick(cfg, "hops", 1, 2),
                                    .convolution = pick(cfg, "cnn", 0, 1) != 0,
                                    .head = head_of(cfg) };
    const ll_tpatchgnn_in     in = { .x = ll_input(g, "x", LL_SHAPE(2, M, L, N)),
                                     .t = ll_input(g, "t", LL_SHAPE(2, M, L, N)),
                                     .m = ll_input(g, "m", LL_SHAPE(2, M, L, N)),
                                     .query = ll_input(g, "tq", LL_SHAPE(2, 3)),
                                     .calendar = pick(cfg, "cal", 0, 1)
                                                     ? ll_input(g, "cal", LL_SHAPE(2, 3, 6))
                                                     : NULL };
    return answered(g, c.head, ll_tpatchgnn(g, &c, &in));
}

static ll_tensor *contiformer(ll_graph *g, const void *cfg)
{
    const ll_contiformer_config c = { .width = 4,
                                      .inner = 5,
                                      .n_heads = (int)pick(cfg, "heads", 1, 2),
                                      .n_layers = (int)pick(cfg, "layers", 1, 2),
                                      .rule = (ll_contiformer_rule)pick(cfg, "rule", 0, 1),
                                      .n_nodes = (int)pick(cfg, "nodes", 2, 3),
                                      .n_sub = (int)pick(cfg, "sub", 1, 2),
                                      .twice = pick(cfg, "twice", 0, 1) != 0,
                                      .head = head_of(cfg) };
    const ll_contiformer_in     in = { .x = ll_input(g, "x", LL_SHAPE(2, 7, 3)),
                                       .times = ll_input(g, "t", LL_SHAPE(2, 7)),
                                       .usable = ll_input(g, "m", LL_SHAPE(2, 7)),
                                       .query = ll_input(g, "tq", LL_SHAPE(2, 3)),
                                       .feature = ll_input(g, "phi", LL_SHAPE(2, 3, 2)) };
    ll_tensor                  *x = ll_contiformer_encode(g, &c, &in);
    return answered(g, c.head, ll_contiformer_decode(g, &c, &in, x));
}

static ll_tensor *neuralcde(ll_graph *g, const void *cfg)
{
    const int64_t             K = pick(cfg, "K", 2, 5), C = pick(cfg, "C", 1, 4);
    const ll_neuralcde_config c = { .hidden = pick(cfg, "h", 1, 4),
                                    .field = 5,
                                    .n_layers = (int)pick(cfg, "layers", 1, 3),
                                    .n_sub = (int)pick(cfg, "sub", 1, 2),
                                    .query = pick(cfg, "query", 0, 1) != 0,
                                    .horizon = 3,
                                    .read = 4,
                                    .head = head_of(cfg) };
    const ll_neuralcde_in     in = {
            .first = ll_input(g, "first", LL_SHAPE(2, C)),
            .slopes = ll_input(g, "slopes", LL_SHAPE(2, ll_cde_places(&c, K), C)),
            .query = ll_input(g, "phi", LL_SHAPE(2, 3, 2)),
    };
    return answered(g, c.head, ll_neuralcde(g, &c, &in));
}

static ll_csdi_config csdi_of(const void *cfg)
{
    return (ll_csdi_config){ .channels = 4,
                             .step_width = 6,
                             .time_width = 4,
                             .feature_width = 3,
                             .ff = 5,
                             .n_heads = (int)pick(cfg, "heads", 1, 2),
                             .n_blocks = (int)pick(cfg, "blocks", 1, 3),
                             .steps = four_steps };
}

static ll_tensor *csdi(ll_graph *g, const void *cfg)
{
    const ll_csdi_config c = csdi_of(cfg);
    const ll_shape       s = LL_SHAPE(2, pick(cfg, "F", 1, 3), pick(cfg, "L", 1, 5));
    const ll_csdi_in     in = { .x = ll_input(g, "x", s),
                                .visible = ll_input(g, "mv", s),
                                .times = ll_input(g, "times", LL_SHAPE(2, s.dim[2])) };
    ll_tensor           *seen = ll_maximum(g, in.visible, ll_input(g, "m", s));
    return ll_reshape(g,
                      ll_csdi_loss(g, &c, &in, seen, ll_input_int(g, "i", LL_SHAPE(2)),
                                   ll_input(g, "eps", s), NULL),
                      LL_SCALAR);
}

static ll_tensor *csdi_drawn(ll_graph *g, const void *cfg)
{
    const ll_csdi_config c = csdi_of(cfg);
    const int64_t        F = pick(cfg, "F", 1, 3), L = pick(cfg, "L", 1, 4);
    const ll_shape       s = LL_SHAPE(2, F, L);
    const ll_csdi_in     in = { .x = ll_input(g, "x", s),
                                .visible = ll_input(g, "mv", s),
                                .times = ll_input(g, "times", LL_SHAPE(2, L)) };
    ll_tensor           *y = ll_csdi_sample(g, &c, &in, ll_input(g, "noise", LL_SHAPE(4, 4, F, L)));
    y = ll_csdi_filled(g, &in, y);
    return ll_reshape(g, ll_mean(g, ll_square(g, y), LL_ALL_AXES), LL_SCALAR);
}

static void check_all(ll_tensor *(*describe)(ll_graph *, const void *), const char *fixed)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        const sized s = { seed };
        net_check(
            &(net){ .describe = describe, .cfg = &s, .seed = seed, .fill = fill, .fixed = fixed });
    }
}

#define MASKS "m mv my t tq times i u x"
static void dlinear_has_its_gradients(void **s) { (void)s, check_all(dlinear, MASKS); }
static void patchtst_has_its_gradients(void **s) { (void)s, check_all(patchtst, MASKS); }
static void mrdiff_has_its_gradients(void **s) { (void)s, check_all(mrdiff, MASKS " y"); }
static void timegrad_has_its_gradients(void **s) { (void)s, check_all(timegrad, MASKS); }
static void timegrad_draws_have_them(void **s) { (void)s, check_all(timegrad_drawn, MASKS); }
static void mtan_has_its_gradients(void **s) { (void)s, check_all(mtan, "m my t tq"); }
static void tpatchgnn_has_its_gradients(void **s) { (void)s, check_all(tpatchgnn, "m my t tq"); }
static void contiformer_has_its_gradients(void **s)
{
    (void)s, check_all(contiformer, "m my t tq");
}
static void neuralcde_has_its_gradients(void **s) { (void)s, check_all(neuralcde, "my"); }
static void csdi_has_its_gradients(void **s) { (void)s, check_all(csdi, MASKS); }
static void csdi_draws_have_them(void **s) { (void)s, check_all(csdi_drawn, "m mv times"); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dlinear_has_its_gradients),
        cmocka_unit_test(patchtst_has_its_gradients),
        cmocka_unit_test(mrdiff_has_its_gradients),
        cmocka_unit_test(timegrad_has_its_gradients),
        cmocka_unit_test(timegrad_draws_have_them),
        cmocka_unit_test(mtan_has_its_gradients),
        cmocka_unit_test(tpatchgnn_has_its_gradients),
        cmocka_unit_test(contiformer_has_its_gradients),
        cmocka_unit_test(neuralcde_has_its_gradients),
        cmocka_unit_test(csdi_has_its_gradients),
        cmocka_unit_test(csdi_draws_have_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
