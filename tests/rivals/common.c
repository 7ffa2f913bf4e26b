/* What the published models share: filling, splines, statistics that move on, softmax of channels
 * far away, starts, messages, allocations. */
#include "check.h"

#include "backend/cpu/cpu.h"
#include "rivals/rivals.h"

#include <math.h>

typedef struct bound { /* a graph made ready, its inputs filled by number */
    ll_graph  *g;
    ll_params *p;
    ll_plan   *plan;
    ll_run    *run;
    void      *data[16];
} bound;

static llap_status make_ready(bound *b)
{
    llap_status st = ll_graph_status(b->g);
    if (st == LLAP_OK) st = ll_params_create(b->g, &ll_backend_cpu, &b->p);
    if (st == LLAP_OK) ll_params_init(b->p, 5);
    const ll_plan_opts o = { .backend = &ll_backend_cpu, .n_threads = 1 };
    if (st == LLAP_OK) st = ll_plan_create(b->g, &o, &b->plan);
    if (st == LLAP_OK) st = ll_run_create(b->plan, &b->run);
    if (st == LLAP_OK) st = ll_params_bind(b->p, LL_PARAMS_MODEL, b->plan, b->run);
    return st;
}

static void bind(bound *b, int slot, const char *name, const float *x, int64_t n)
{
    float *copy = b->data[slot] = ll_new_aligned((size_t)n, sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, x, (size_t)n * sizeof *x);
    CHECK_OK(ll_run_bind(b->run, name, copy, n));
}

static void drop(bound *b)
{
    for (int i = 0; i < 16; i++) ll_free(b->data[i]);
    ll_run_destroy(b->run);
    ll_plan_release(b->plan);
    ll_params_destroy(b->p);
    ll_graph_destroy(b->g);
}

static void gaps_are_filled_by_the_last_reading(void **state)
{
    const float x[] = { 0, 1, 9, 5, 0, 9, 7, 0, 9 }, m[] = { 0, 1, 0, 1, 0, 0, 1, 0, 0 };
    const float expected[] = { 5, 1, 0, 5, 1, 0, 7, 1, 0 };
    float       y[9];
    (void)state;
    ll_fill_forward(x, m, 3, 3, y);
    assert_memory_equal(y, expected, sizeof y);
}

static void normal_quantiles_are_those_of_the_normal_law(void **state)
{
    (void)state;
    assert_float_equal(ll_normal_quantile(0.5), 0.0, 1e-6);
    assert_float_equal(ll_normal_quantile(0.975), 1.959963984540054, 1e-6);
    assert_float_equal(ll_normal_quantile(1e-9), -5.997807015007687, 1e-6);
}

static double value_of(double *const c[4], int64_t at, double v)
{
    return c[0][at] + v * (c[1][at] + v * (c[2][at] + v * c[3][at]));
}

static double slope_of(double *const c[4], int64_t at, double v)
{
    return c[1][at] + v * (2.0 * c[2][at] + 3.0 * v * c[3][at]);
}

/* Through every reading, without jumps in value or slope; the natural one without a jump in
 * curvature either, and none at its ends. A channel without readings is 0. */
static void splines_go_through_what_was_observed(void **state)
{
    enum { K = 9, C = 3 };
    float   x[K * C], m[K * C];
    double  store[4][(K - 1) * C];
    double *c[4] = { store[0], store[1], store[2], store[3] };
    (void)state;
    for (int i = 0; i < K * C; i++) {
        x[i] = (float)sin(1.7 * i) * 2.0f;
        m[i] = i % C == 2 ? 0.0f : (i % C == 0 || i % 4 != 1) ? 1.0f : 0.0f;
    }
    for (int kind = 0; kind < 2; kind++) {
        CHECK_OK(ll_cde_coefficients((ll_cde_spline)kind, x, m, K, C, c));
        for (int v = 0; v < C; v++)
            for (int r = 0; r < K; r++) {
                const int64_t at = r * C + v, before = at - C;
                const double  left = r > 0 ? value_of(c, before, 1.0) : value_of(c, at, 0.0);
                if (v == 2) assert_float_equal(left, 0.0, 0.0);
                else if (m[at] != 0.0f) assert_float_equal(left, (double)x[at], 1e-6);
                if (r == 0 || r == K - 1) continue;
                assert_float_equal(left, value_of(c, at, 0.0), 1e-6);
                assert_float_equal(slope_of(c, before, 1.0), slope_of(c, at, 0.0), 1e-6);
                if (kind == LL_CDE_NATURAL)
                    assert_float_equal(c[2][before] + 3.0 * c[3][before], c[2][at], 1e-6);
            }
        if (kind == LL_CDE_NATURAL) {
            assert_float_equal(c[2][0], 0.0, 1e-6);
            assert_float_equal(c[2][(K - 2) * C] + 3.0 * c[3][(K - 2) * C], 0.0, 1e-6);
        }
    }
}

static void one_row_has_no_interval(void **state)
{
    const float x[] = { 3.0f }, m[] = { 1.0f };
    double     *none[4] = { NULL, NULL, NULL, NULL };
    (void)state;
    for (int kind = 0; kind < 2; kind++)
        CHECK_OK(ll_cde_coefficients((ll_cde_spline)kind, x, m, 1, 1, none));
}

/* All keys of one channel lie far under the others', and one channel has none at all. */
static void channels_far_away_keep_their_mean(void **state)
{
    const ll_mtan_config cfg = { .n_ref = 3,
                                 .embed = 4,
                                 .enc_heads = 1,
                                 .dec_heads = 1,
                                 .rec = 2,
                                 .gen = 2,
                                 .latent = 2,
                                 .mlp = 3,
                                 .n_out = 1,
                                 .sd = 1.0,
                                 .learned = true };
    const float          x[] = { 1, 2, 0, 3, 4, 0 }, t[] = { 0.0f, 1.0f };
    const float          m[] = { 1, 0, 0, 0, 1, 0 };
    bound                b = { 0 };
    ll_shape             s;
    (void)state;
    CHECK_OK(ll_graph_create(&b.g));
    const ll_mtan_code code =
        ll_mtan_encode(b.g, &cfg, ll_input(b.g, "x", LL_SHAPE(1, 2, 3)),
                       ll_input(b.g, "m", LL_SHAPE(1, 2, 3)), ll_input(b.g, "t", LL_SHAPE(1, 2)));
    ll_output(b.g, "mu", code.mu);
    CHECK_OK(make_ready(&b));
    for (int i = 0; i < ll_params_count(b.p); i++) { /* scores of thousands */
        const ll_param_info *p = ll_params_at(b.p, i);
        for (int64_t k = 0; strstr(p->name, "att.linears") != NULL && k < p->count; k++)
            ll_param_set(b.p, p, k,
                         strstr(p->name, "linears.2") != NULL ? 0.5
                                                              : 90.0 * ll_param_get(b.p, p, k));
    }
    bind(&b, 0, "x", x, 6);
    bind(&b, 1, "m", m, 6);
    bind(&b, 2, "t", t, 2);
    CHECK_OK(ll_run_exec(b.run));
    const float *mu = ll_run_output(b.run, "mu", &s);
    for (int64_t k = 0; k < ll_shape_count(&s); k++) assert_true(isfinite(mu[k]));
    drop(&b);
}

static void quantiles_begin_as_location_and_scale(void **state)
{
    bound b = { 0 };
    (void)state;
    CHECK_OK(ll_graph_create(&b.g));
    ll_output(b.g, "y",
              ll_head_answer(b.g, (ll_rival_head){ 4, 25 }, ll_input(b.g, "a", LL_SHAPE(1, 4))));
    CHECK_OK(make_ready(&b));
    ll_head_start(b.p);
    const float a[] = { 10.0f, 2.0f, 0.0f, 0.0f };
    bind(&b, 0, "a", a, 4);
    CHECK_OK(ll_run_exec(b.run));
    const float *y = ll_run_output(b.run, "y", NULL);
    for (int k = 0; k < 25; k++)
        assert_float_equal(y[k], 10.0 + 2.0 * ll_normal_quantile((k + 0.5) / 25.0), 1.0);
    drop(&b);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    for (int what = 0; what < 4; what++) {
        ll_graph *g = NULL;
        CHECK_OK(ll_graph_create(&g));
        ll_tensor               *x = ll_input(g, "x", LL_SHAPE(1, 4, 2));
        const ll_dlinear_config  even = { .horizon = 2, .kernel = 4, .head = { 1, 0 } };
        const ll_patchtst_config narrow = { .horizon = 2,
                                            .patch = 5,
                                            .stride = 1,
                                            .width = 4,
                                            .ff = 4,
                                            .n_heads = 2,
                                            .n_layers = 1,
                                            .head = { 1, 0 } };
        const ll_timegrad_config lags = { .lags = { 1, { 4 } }, .steps = { 2, 0.1, 0.2, 0 } };
        const ll_timegrad_config odd = { .lags = { 2, { 2, 1 } }, .steps = { 2, 0.1, 0.2, 0 } };
        const ll_timegrad_in     in = { x, x, x, 4 };
        if (what == 0) ll_dlinear(g, &even, &(ll_dlinear_in){ .x = x, .m = x });
        else if (what == 1) ll_patchtst(g, &narrow, &(ll_patchtst_in){ .x = x, .m = x });
        else ll_timegrad_loss(g, what == 2 ? &lags : &odd, &in, x, NULL, x, NULL);
        assert_int_equal(ll_graph_status(g), LLAP_EINVAL);
        ll_graph_destroy(g);
    }
}

static llap_status make_spline(void *user)
{
    const float x[] = { 1, 2, 3 }, m[] = { 1, 0, 1 };
    double      store[4][2];
    double     *c[4] = { store[0], store[1], store[2], store[3] };
    (void)user;
    return ll_cde_coefficients(LL_CDE_NATURAL, x, m, 3, 1, c);
}

/* One that has tables, constants and every kind of layer. */
static llap_status make_graph(void *user)
{
    bound                    b = { 0 };
    const ll_noise_steps     steps = { 3, 0.01, 0.2, LL_BETA_LINEAR };
    const ll_mrdiff_config   mr = { .horizon = 3,
                                    .kernels = { 1, { 3 } },
                                    .step_width = 4,
                                    .width = 2,
                                    .width_in = 2,
                                    .width_enc = 2,
                                    .layers_in = 2,
                                    .layers_enc = 1,
                                    .layers_dec = 1,
                                    .clip = 5.0,
                                    .steps = steps };
    const ll_patchtst_config patch = { .horizon = 2,
                                       .patch = 2,
                                       .stride = 2,
                                       .width = 4,
                                       .ff = 4,
                                       .n_heads = 2,
                                       .n_layers = 1,
                                       .head = { 2, 3 } };
    const ll_mtan_config     mtan = { .n_ref = 2,
                                      .embed = 2,
                                      .enc_heads = 1,
                                      .dec_heads = 1,
                                      .rec = 2,
                                      .gen = 2,
                                      .latent = 1,
                                      .mlp = 2,
                                      .n_out = 1,
                                      .learned = false,
                                      .units = 48.0,
                                      .sd = 1.0 };
    (void)user;
    llap_status st = ll_graph_create(&b.g);
    if (st != LLAP_OK) return st;
    ll_tensor *x = ll_input(b.g, "x", LL_SHAPE(1, 6, 2)),
              *m = ll_input(b.g, "m", LL_SHAPE(1, 6, 2));
    ll_tensor *noise = ll_input(b.g, "noise", LL_SHAPE(2, 4, 1, 2, 3));
    ll_output(b.g, "a", ll_mrdiff_sample(b.g, &mr, &(ll_mrdiff_in){ .x = x, .m = m }, noise));
    ll_output(b.g, "b", ll_patchtst(b.g, &patch, &(ll_patchtst_in){ .x = x, .m = m }));
    const ll_mtan_code code = ll_mtan_encode(b.g, &mtan, x, m, ll_input(b.g, "t", LL_SHAPE(1, 6)));
    ll_output(b.g, "c", code.mu);
    st = make_ready(&b);
    drop(&b);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    check_every_failed_allocation(make_spline, NULL);
    check_every_failed_allocation(make_graph, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_are_filled_by_the_last_reading),
        cmocka_unit_test(normal_quantiles_are_those_of_the_normal_law),
        cmocka_unit_test(splines_go_through_what_was_observed),
        cmocka_unit_test(one_row_has_no_interval),
        cmocka_unit_test(channels_far_away_keep_their_mean),
        cmocka_unit_test(quantiles_begin_as_location_and_scale),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
