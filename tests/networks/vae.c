/* The set-VAE: golden numbers of the specification, any sizes and options, what must not matter. */
#include "check.h"
#include "net.h"
#include "spec_fill.h"

#include "backend/cpu/cpu.h"
#include "networks/latent.h"
#include "networks/vae.h"

typedef struct forward { /* encode and decode on the cpu */
    ll_graph    *graph;
    ll_params   *params;
    ll_plan     *plan;
    ll_run      *run;
    float       *y, *obs, *ent;
    int64_t      count, B, h, N, C, Z;
    const float *mu, *logvar, *yhat;
} forward;

static void make_forward(forward *f, const ll_vae_config *cfg, int64_t B, int64_t h, int64_t N,
                         int n_threads)
{
    *f = (forward){ .B = B, .h = h, .N = N, .C = cfg->channels, .Z = cfg->latent };
    f->count = B * h * N * f->C;
    CHECK_OK(ll_graph_create(&f->graph));
    ll_graph         *g = f->graph;
    ll_tensor        *y = ll_input(g, "y", LL_SHAPE(B, h, N, f->C));
    ll_tensor        *obs = ll_input(g, "obs", LL_SHAPE(B, h, N, f->C));
    ll_tensor        *ent = ll_input(g, "ent", LL_SHAPE(B, N));
    const ll_vae_code code = ll_vae_encode(g, cfg, ll_vae_tokens(g, y, obs), ent);
    ll_output(g, "mu", code.mu);
    ll_output(g, "logvar", code.logvar);
    ll_output(g, "yhat", ll_vae_decode(g, cfg, code.mu, ent));
    CHECK_OK(ll_params_create(g, &ll_backend_cpu, &f->params));
    const ll_plan_opts opts = { .backend = &ll_backend_cpu, .n_threads = n_threads };
    CHECK_OK(ll_plan_create(g, &opts, &f->plan));
    CHECK_OK(ll_run_create(f->plan, &f->run));
    CHECK_OK(ll_params_bind(f->params, LL_PARAMS_MODEL, f->plan, f->run));
    f->y = ll_new_aligned((size_t)(2 * f->count + B * N), sizeof *f->y);
    f->obs = f->y + f->count;
    f->ent = f->obs + f->count;
    CHECK_OK(ll_run_bind(f->run, "y", f->y, f->count));
    CHECK_OK(ll_run_bind(f->run, "obs", f->obs, f->count));
    CHECK_OK(ll_run_bind(f->run, "ent", f->ent, B * N));
}

static void exec(forward *f)
{
    CHECK_OK(ll_run_exec(f->run));
    f->mu = ll_run_output(f->run, "mu", NULL);
    f->logvar = ll_run_output(f->run, "logvar", NULL);
    f->yhat = ll_run_output(f->run, "yhat", NULL);
}

static void drop_forward(forward *f)
{
    ll_free(f->y);
    ll_run_destroy(f->run);
    ll_plan_release(f->plan);
    ll_params_destroy(f->params);
    ll_graph_destroy(f->graph);
}

static const ll_vae_config small = { .width = 8,
                                     .latent = 3,
                                     .channels = 2,
                                     .n_entities = 4,
                                     .encoder = { 2, 2, 16 },
                                     .decoder = { 2, 2, 16 } };

/* docs/spec/model.md 11.1. */
static void fill_g1(forward *f)
{
    spec_fill(f->params);
    for (int64_t i = 0; i < f->B * f->N; i++) f->ent[i] = i != 3;
    for (int64_t i = 0; i < f->count; i++) {
        const int64_t n = i / f->C % f->N, b = i / (f->C * f->N * f->h);
        const int64_t r = i / (f->C * f->N) % f->h;
        const bool    hidden = b == 1 && r == 2;
        f->y[i] = spec_input("in.y", i);
        f->obs[i] = spec_input("in.m", i) > -0.3f && f->ent[b * f->N + n] != 0.0f && !hidden;
    }
}

static void golden_numbers_of_the_specification(void **state)
{
    (void)state;
    forward f;
    make_forward(&f, &small, 2, 5, 4, 1);
    fill_g1(&f);
    double seen = 0.0, sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < f.count; i++) seen += (double)f.obs[i];
    assert_true(seen == 37.0);
    exec(&f);
    check_numbers("mu[0,1]", f.mu + 3, (double[]){ 3.964393, -2.115668, -4.436632 }, 3, 2e-5);
    check_numbers("logvar[0,1]", f.logvar + 3, (double[]){ -3.341407, 3.430287, 5.064545 }, 3,
                  2e-5);
    check_numbers("mu[1,2]", f.mu + 21, (double[]){ 0, 0, 0 }, 3, 0.0);
    check_numbers("mu[1,4]", f.mu + 27, (double[]){ 3.966654, -1.881337, -3.911242 }, 3, 2e-5);
    for (int i = 0; i < 30; i++) {
        sum += (double)f.mu[i];
        squares += pow((double)f.mu[i], 2);
    }
    assert_true(fabs(sum + 16.90507) < 1e-4 && fabs(squares - 278.27289) < 1e-3);
    check_numbers("yhat[0,1,0]", f.yhat + 8, (double[]){ -1.075936, 3.633351 }, 2, 2e-5);
    check_numbers("yhat[1,2,1]", f.yhat + 58, (double[]){ -0.249456, 0.673209 }, 2, 2e-5);
    check_numbers("yhat[1,4,3]", f.yhat + 78, (double[]){ -0.460276, 2.616240 }, 2, 2e-5);
    sum = squares = 0.0; /* absent entities give zeros, so the sums are over the present ones */
    for (int64_t i = 0; i < f.count; i++) {
        sum += (double)f.yhat[i];
        squares += pow((double)f.yhat[i], 2);
    }
    assert_true(fabs(sum - 73.01208) < 2e-4 && fabs(squares - 234.95077) < 1e-3);
    drop_forward(&f);
}

static float *copy_of(const float *x, int64_t n)
{
    float *y = ll_new((size_t)n, sizeof *y);
    assert_non_null(y);
    memcpy(y, x, (size_t)n * sizeof *y);
    return y;
}

static void hidden_values_and_absent_entities_change_nothing(void **state)
{
    (void)state;
    forward f;
    make_forward(&f, &small, 2, 5, 4, 1);
    fill_g1(&f);
    exec(&f);
    const int64_t n_mu = f.B * f.h * f.Z;
    float        *mu = copy_of(f.mu, n_mu), *yhat = copy_of(f.yhat, f.count);
    for (int64_t i = 0; i < f.count; i++) {
        const int64_t n = i / f.C % f.N, b = i / (f.C * f.N * f.h);
        if (f.obs[i] == 0.0f) f.y[i] = NAN;
        if (f.ent[b * f.N + n] == 0.0f) { /* even if it claims to be observed */
            f.obs[i] = 1.0f;
            f.y[i] = 77.0f;
        }
    }
    exec(&f);
    assert_memory_equal(mu, f.mu, (size_t)n_mu * sizeof *mu);
    assert_memory_equal(yhat, f.yhat, (size_t)f.count * sizeof *yhat);
    for (int64_t i = 0; i < f.N; i++) f.ent[i] = 0.0f; /* nobody is there: zeros, not NaN */
    exec(&f);
    for (int64_t i = 0; i < n_mu / 2; i++) assert_true(f.mu[i] == 0.0f);
    for (int64_t i = 0; i < f.count / 2; i++) assert_true(f.yhat[i] == 0.0f);
    assert_memory_equal(mu + n_mu / 2, f.mu + n_mu / 2, (size_t)(n_mu / 2) * sizeof *mu);
    ll_free(mu);
    ll_free(yhat);
    drop_forward(&f);
}

/* Rows alone or together, one thread or three: the same bytes. */
static void rows_do_not_depend_on_their_batch(void **state)
{
    (void)state;
    forward two, one;
    make_forward(&two, &small, 2, 5, 4, 3);
    fill_g1(&two);
    exec(&two);
    make_forward(&one, &small, 1, 5, 4, 1);
    spec_fill(one.params);
    memcpy(one.y, two.y + one.count, (size_t)one.count * sizeof(float));
    memcpy(one.obs, two.obs + one.count, (size_t)one.count * sizeof(float));
    memcpy(one.ent, two.ent + 4, 4 * sizeof(float));
    exec(&one);
    assert_memory_equal(one.mu, two.mu + 15, 15 * sizeof(float));
    assert_memory_equal(one.yhat, two.yhat + one.count, (size_t)one.count * sizeof(float));
    drop_forward(&one);
    drop_forward(&two);
}

/* -------- any sizes and options -------- */

typedef struct options {
    int64_t            B, h;
    ll_vae_config      vae;
    ll_vae_loss_config loss;
    int64_t            N;
} options;

static ll_tensor *describe(ll_graph *g, const void *cfg)
{
    const options     *o = cfg;
    const ll_shape     all = LL_SHAPE(o->B, o->h, o->N, o->vae.channels);
    const ll_vae_batch batch = { .y = ll_input(g, "y", all),
                                 .obs = ll_input(g, "obs", all),
                                 .ent = ll_input(g, "ent", LL_SHAPE(o->B, o->N)),
                                 .eps = ll_input(g, "eps", LL_SHAPE(o->B, o->h, o->vae.latent)),
                                 .view = {
                                     { ll_input(g, "u", all), ll_input(g, "noise", all) },
                                     { ll_input(g, "u2", all), ll_input(g, "noise2", all) } } };
    return ll_vae_loss(g, &o->vae, &o->loss, &batch).loss;
}

static double fill(const net *n, const char *name, int64_t k)
{
    const options *o = n->cfg;
    if (strcmp(name, "u") == 0 || strcmp(name, "u2") == 0) return net_uniform(n->seed, name, k);
    if (strcmp(name, "obs") == 0) return net_uniform(n->seed, name, k) < 0.7;
    if (strcmp(name, "ent") == 0) return k % o->N == 0 || net_uniform(n->seed, name, k) < 0.7;
    return NAN;
}

static void any_sizes_and_options(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        options   o = { .B = net_pick(seed, "B", 1, 3),
                        .h = net_pick(seed, "h", 1, 4),
                        .N = net_pick(seed, "N", 1, 4),
                        .loss = { .beta = 0.1,
                                  .p_drop = seed % 2 == 0 ? 0.3 : 0.0,
                                  .noise = seed % 3 == 0 ? 0.0 : 0.1,
                                  .consistency = seed % 4 == 1 ? 0.5 : 0.0,
                                  .balance_coverage = seed % 3 == 1 } };
        const int enc_heads = (int)net_pick(seed, "enc", 1, 2), dec_heads = 3 - enc_heads;
        o.vae = (ll_vae_config){ .width = 2 * net_pick(seed, "W", 1, 4),
                                 .latent = net_pick(seed, "Z", 1, 4),
                                 .channels = net_pick(seed, "C", 1, 3),
                                 .n_entities = seed % 2 == 1 ? o.N : 0,
                                 .encoder = { (int)net_pick(seed, "n_enc", 0, 2), enc_heads, 5 },
                                 .decoder = { (int)net_pick(seed, "n_dec", 0, 2), dec_heads, 3 } };
        net_check(
            &(net){ describe, &o, seed, fill, "obs ent u u2", o.loss.consistency > 0.0, 0, 0 });
    }
}

/* -------- small parts -------- */

static void the_kl_weight_rises_between_epochs_5_and_30(void **state)
{
    (void)state;
    assert_true(ll_vae_beta(2.0, 1) == 0.0 && ll_vae_beta(2.0, 5) == 0.0);
    assert_true(ll_vae_beta(2.0, 10) == 0.4 && ll_vae_beta(2.0, 30) == 2.0);
    assert_true(ll_vae_beta(2.0, 600) == 2.0);
}

static void latent_statistics_by_hand(void **state)
{
    (void)state;
    const float      mu[] = { 1, 10, 3, 30, 5, 20, 900, 900 }; /* [2,2,2] */
    const float      any[] = { 1, 1, 1, 0 };
    float            mean[4], deviation[4];
    ll_latent_stats *s;
    CHECK_OK(ll_latent_stats_create(1, 2, &s));
    ll_latent_stats_add(s, mu, any, 2, 2);
    ll_latent_stats_finish(s, mean, deviation);
    ll_latent_stats_destroy(s);
    assert_true(mean[0] == 3.0f && mean[1] == 20.0f);
    assert_true(fabsf(deviation[0] - sqrtf(8.0f / 3.0f)) < 1e-6f);
    assert_true(fabsf(deviation[1] - sqrtf(200.0f / 3.0f)) < 1e-4f);
    CHECK_OK(ll_latent_stats_create(2, 2, &s));
    ll_latent_stats_add(s, mu, any, 2, 2);
    ll_latent_stats_finish(s, mean, deviation);
    ll_latent_stats_destroy(s);
    assert_true(mean[0] == 3.0f && deviation[0] == 2.0f); /* 1 and 5 */
    assert_true(mean[3] == 30.0f && deviation[3] == 1e-6f);
}

/* 28 series seen at all 20 steps, one at a single step, one never. */
static void coverage_weights_by_hand(void **state)
{
    (void)state;
    enum { STEPS = 20, SERIES = 30 };
    static float obs[STEPS * SERIES];
    ll_graph    *g;
    ll_plan     *plan;
    ll_run      *run;
    for (int i = 0; i < STEPS * SERIES; i++)
        obs[i] = i % SERIES < 28 || (i % SERIES == 28 && i / SERIES == 7);
    CHECK_OK(ll_graph_create(&g));
    ll_tensor *in = ll_input(g, "obs", LL_SHAPE(1, STEPS, SERIES, 1));
    ll_output(g, "weight", ll_vae_coverage_weight(g, in, NULL));
    const ll_plan_opts opts = { .backend = &ll_backend_cpu, .n_threads = 1 };
    CHECK_OK(ll_plan_create(g, &opts, &plan));
    CHECK_OK(ll_run_create(plan, &run));
    CHECK_OK(ll_run_bind(run, "obs", obs, STEPS * SERIES));
    CHECK_OK(ll_run_exec(run));
    const float *w = ll_run_output(run, "weight", NULL);
    const double mean = (28.0 + 20.0) / 29.0; /* of 1 / coverage, over those seen at all */
    for (int n = 0; n < 28; n++) assert_true(fabs((double)w[n] - 1.0 / mean) < 1e-6);
    assert_true(20.0 / mean > 10.0 && w[28] == 10.0f); /* at most 10 */
    assert_true(w[29] == 0.0f);
    ll_run_destroy(run);
    ll_plan_release(plan);
    ll_graph_destroy(g);
}

/* The second view is a target: nothing flows back through it. */
static void the_second_view_gets_no_gradient(void **state)
{
    (void)state;
    options   o = { .B = 1, .h = 2, .N = 4, .vae = small, .loss = LL_VAE_LOSS_IRREGULAR };
    ll_graph *g;
    CHECK_OK(ll_graph_create(&g));
    ll_tensor *loss = describe(g, &o), *grad[2];
    ll_tensor *noise[] = { ll_input(g, "noise", LL_SHAPE(1, 2, 4, 2)),
                           ll_input(g, "noise2", LL_SHAPE(1, 2, 4, 2)) };
    ll_gradients(g, loss, noise, 2, grad);
    CHECK_OK(ll_graph_status(g));
    assert_non_null(grad[0]);
    assert_null(grad[1]);
    ll_graph_destroy(g);
}

static void the_parameter_count_is_the_papers(void **state)
{
    (void)state;
    ll_vae_config cfg = LL_VAE_PAPER;
    cfg.n_entities = 45;
    forward f;
    make_forward(&f, &cfg, 1, 1, 45, 1);
    int64_t n = 0;
    for (int i = 0; i < ll_params_count(f.params); i++) n += ll_params_at(f.params, i)->count;
    assert_int_equal(n, 810545);
    drop_forward(&f);
}

static void another_number_of_entities_is_refused(void **state)
{
    (void)state;
    ll_graph *g;
    CHECK_OK(ll_graph_create(&g));
    ll_tensor *z = ll_input(g, "z", LL_SHAPE(1, 2, 3));
    ll_vae_decode(g, &small, z, ll_input(g, "ent", LL_SHAPE(1, 5)));
    CHECK_FAIL(ll_graph_status(g), LLAP_EINVAL, "decoder: expected 4 entities, found 5");
    ll_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_numbers_of_the_specification),
        cmocka_unit_test(hidden_values_and_absent_entities_change_nothing),
        cmocka_unit_test(rows_do_not_depend_on_their_batch),
        cmocka_unit_test(any_sizes_and_options),
        cmocka_unit_test(the_kl_weight_rises_between_epochs_5_and_30),
        cmocka_unit_test(latent_statistics_by_hand),
        cmocka_unit_test(coverage_weights_by_hand),
        cmocka_unit_test(the_second_view_gets_no_gradient),
        cmocka_unit_test(the_parameter_count_is_the_papers),
        cmocka_unit_test(another_number_of_entities_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
