/* Schedules, conversions, weights, and the loss's gradients. */
#include "check.h"
#include "net.h"

#include "diffusion/sampler.h"

static ll_schedule *cosine(int64_t T)
{
    ll_schedule *s;
    CHECK_OK(ll_schedule_create(LL_SCHEDULE_COSINE, T, &s));
    return s;
}

/* docs/spec/model.md 5.2, 5.4.6, to the digits printed there. */
static void the_cosine_schedule_is_that_of_the_specification(void **state)
{
    (void)state;
    static const struct {
        int64_t t;
        double  alpha_bar, sigma;
    } rows[] = { { 0, 1.0, 0.0 },
                 { 1, 0.99995875, 0.00642247 },
                 { 100, 0.97204149, 0.16959561 },
                 { 500, 0.49306354, 1.01397049 },
                 { 990, 1.971079e-04, 71.220528 },
                 { 998, 2.433757e-06, 641.00421 },
                 { 999, 2.433725e-09, 20270.488 } };
    ll_schedule *s = cosine(1000);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double q = (double)s->alpha_bar[rows[i].t];
        const double sigma = (double)ll_schedule_sigma(s, rows[i].t);
        assert_true(fabs(q - rows[i].alpha_bar) <= 1e-5 * rows[i].alpha_bar);
        assert_true(fabs(sigma - rows[i].sigma) <= 2e-3 * rows[i].sigma);
    }
    assert_true(fabs(ll_min_snr_mean(s, 4.5, LL_PREDICT_V) - 0.3179080) < 1e-5);
    assert_true(fabs(ll_min_snr_mean(s, 5.0, LL_PREDICT_X0) - 2.003955) < 2e-5);
    assert_true(fabs(ll_min_snr_mean(s, 5.0, LL_PREDICT_EPS) - 0.8240210) < 1e-5);
    ll_schedule_destroy(s);
}

/* Whatever is predicted, x0 and eps come back. */
static void conversions_undo_the_targets(void **state)
{
    (void)state;
    ll_schedule *s = cosine(60);
    for (int64_t t = 1; t < 60; t++)
        for (int p = 0; p < 3; p++) {
            const ll_level l = ll_schedule_level(s, t);
            const float    z0 = 0.7f, eps = -1.3f, z = ll_noised(l, z0, eps);
            const float    pred = ll_target((ll_prediction)p, l, z0, eps);
            const double   tiny = 1e-5 / (double)fminf(l.a, l.s);
            assert_true(fabs((double)(ll_to_x0((ll_prediction)p, l, z, pred) - z0)) < tiny);
            assert_true(fabs((double)(ll_to_eps((ll_prediction)p, l, z, pred) - eps)) < tiny);
        }
    ll_schedule_destroy(s);
}

static void tables_that_cannot_be_are_refused(void **state)
{
    (void)state;
    float        beta[] = { 0.0f, 0.1f, 0.2f }, bars[] = { 1.0f, 0.9f, 0.72f };
    ll_schedule *s;
    CHECK_OK(ll_schedule_from(beta, bars, 3, &s));
    ll_schedule_destroy(s);
    bars[2] = 0.95f;
    CHECK_FAIL(ll_schedule_from(beta, bars, 3, &s), LLAP_EFORMAT, "alpha_bars[2]");
    bars[2] = NAN;
    CHECK_FAIL(ll_schedule_from(beta, bars, 3, &s), LLAP_EFORMAT, "alpha_bars[2]");
    bars[2] = 0.72f;
    beta[1] = -0.1f;
    CHECK_FAIL(ll_schedule_from(beta, bars, 3, &s), LLAP_EFORMAT, "betas[1]");
    assert_null(s);
    CHECK_FAIL(ll_schedule_create(LL_SCHEDULE_LINEAR, 1, &s), LLAP_EINVAL, "1 steps");
    CHECK_FAIL(ll_schedule_create(LL_SCHEDULE_LINEAR, 20000, &s), LLAP_EINVAL, "too many");
    assert_null(s);
}

/* -------- lists -------- */

static void check_list(const ll_points *p, const int *expected, int n)
{
    assert_int_equal(p->n, n);
    for (int i = 0; i < n; i++) assert_int_equal(p->at[i].t, expected[i]);
}

/* docs/spec/model.md 6.1 */
static void reference_lists_are_those_of_the_specification(void **state)
{
    (void)state;
    static const int l16[] = { 999, 998, 997, 996, 991, 979, 940, 794, 357, 51, 1 };
    static const int l64[] = { 999, 998, 997, 996, 995, 994, 993, 991, 989, 987, 983,
                               979, 974, 966, 957, 943, 925, 900, 866, 818, 752, 664,
                               554, 431, 311, 210, 133, 80,  45,  23,  10,  4,   1 };
    static const int one[] = { 999 };
    ll_schedule     *s = cosine(1000), *linear;
    ll_points        p;
    CHECK_OK(ll_points_reference(s, 16, LL_KARRAS_RHO, &p));
    check_list(&p, l16, 11);
    ll_points_deinit(&p);
    CHECK_OK(ll_points_reference(s, 64, LL_KARRAS_RHO, &p));
    check_list(&p, l64, 33);
    ll_points_deinit(&p);
    CHECK_OK(ll_points_reference(s, 1, LL_KARRAS_RHO, &p));
    check_list(&p, one, 1);
    ll_points_deinit(&p);
    CHECK_OK(ll_points_reference(s, 5000, LL_KARRAS_RHO, &p));
    assert_int_equal(p.n, 1000);
    assert_int_equal(p.at[999].t, 0);
    ll_points_deinit(&p);
    CHECK_OK(ll_schedule_create(LL_SCHEDULE_LINEAR, 1000, &linear));
    CHECK_OK(ll_points_reference(linear, 64, LL_KARRAS_RHO, &p));
    assert_int_equal(p.n, 64);
    ll_points_deinit(&p);
    CHECK_FAIL(ll_points_reference(s, 0, LL_KARRAS_RHO, &p), LLAP_EINVAL, "0 steps");
    ll_schedule_destroy(linear);
    ll_schedule_destroy(s);
}

typedef llap_status (*make_list)(const ll_schedule *s, int n, ll_points *out);

/* Exactly n steps, or all but the outlier, of all sorts of schedules, from noise to data. */
static void check_counts(make_list make)
{
    static const int64_t Ts[] = { 2, 3, 10, 60, 1000, 4000 };
    for (size_t k = 0; k < 2 * sizeof Ts / sizeof *Ts; k++) {
        const int64_t T = Ts[k / 2];
        const int     top = T > 2 ? (int)T - 2 : 1;
        ll_schedule  *s;
        CHECK_OK(ll_schedule_create(k % 2 == 0 ? LL_SCHEDULE_COSINE : LL_SCHEDULE_LINEAR, T, &s));
        for (int n = 1; n < 5000; n += n < 20 ? 1 : 517) {
            ll_points p;
            CHECK_OK(make(s, n, &p));
            assert_int_equal(p.n, n < top ? n : top);
            assert_true(p.at[0].t <= top && p.at[p.n - 1].t >= 1);
            for (int i = 1; i < p.n; i++) assert_true(p.at[i].t < p.at[i - 1].t);
            ll_points_deinit(&p);
        }
        ll_points p;
        CHECK_FAIL(make(s, 0, &p), LLAP_EINVAL, "0 steps");
        ll_schedule_destroy(s);
    }
}

static void honest_lists_go_all_the_way(void **state)
{
    (void)state;
    ll_schedule *s = cosine(1000);
    ll_points    p;
    check_counts(ll_points_honest);
    CHECK_OK(ll_points_honest(s, 12, &p));
    assert_true(p.at[0].t == 998 && p.at[11].t == 1);
    ll_points_deinit(&p);
    ll_schedule_destroy(s);
}

/* The steps nearest to places even in asinh(log(sigma) / 2), from sigma 12 n to 1/n; of equals any.
 */
static void check_gathered(ll_schedule_kind kind, int64_t T, int n)
{
    ll_schedule *s;
    ll_points    p;
    const double low = asinh(log(12.0 * n) / 2.0), high = -asinh(log((double)n) / 2.0);
    CHECK_OK(ll_schedule_create(kind, T, &s));
    CHECK_OK(ll_points_gathered(s, n, &p));
    for (int i = 0; i < n; i++) {
        const double  wanted = exp(2.0 * sinh(low + (high - low) * i / (n - 1.0)));
        const int64_t t = p.at[i].t;
        for (int64_t other = t - 1; other <= t + 1; other += 2)
            assert_true(fabs(log((double)ll_schedule_sigma(s, t) / wanted)) <=
                        fabs(log((double)ll_schedule_sigma(s, other) / wanted)));
    }
    ll_points_deinit(&p);
    ll_schedule_destroy(s);
}

static void gathered_lists_are_dense_where_signal_and_noise_are_alike(void **state)
{
    (void)state;
    ll_schedule *s;
    ll_points    p;
    check_counts(ll_points_gathered);
    check_gathered(LL_SCHEDULE_COSINE, 1000, 10);
    check_gathered(LL_SCHEDULE_LINEAR, 1000, 10);
    check_gathered(LL_SCHEDULE_LINEAR, 4000, 10);             /* a fifth of it is all noise */
    CHECK_OK(ll_schedule_create(LL_SCHEDULE_LINEAR, 10, &s)); /* less noise than 1/3: all of it */
    CHECK_OK(ll_points_gathered(s, 3, &p));
    assert_true(p.at[0].t == 8 && p.at[2].t == 1);
    ll_points_deinit(&p);
    ll_schedule_destroy(s);
}

/* The place of a time: log(tan(pi t / 2)), or the inverse hyperbolic sine of its half. */
static double place_of(double time, bool gathered)
{
    const double l = log(tan(1.57079632679489661923 * time));
    return gathered ? asinh(l / 2.0) : l;
}

static void continuous_points_are_uniform_in_their_places(void **state)
{
    (void)state;
    for (int gathered = 0; gathered < 2; gathered++) {
        ll_points p;
        CHECK_OK(ll_points_continuous(12, 0.996, 0.012, gathered != 0, &p));
        assert_int_equal(p.n, 12);
        assert_true(fabs(p.at[0].time - 0.996) < 1e-9);
        const double h = (place_of(0.012, gathered) - place_of(0.996, gathered)) / 12.0;
        for (int i = 1; i < 12; i++) {
            const double now = p.at[i].time, was = p.at[i - 1].time;
            assert_true(fabs(place_of(now, gathered) - place_of(was, gathered) - h) < 1e-9);
            assert_true(fabs((double)p.at[i].level.a - cos(1.57079632679489661923 * now)) < 1e-6);
        }
        ll_points_deinit(&p);
    }
    ll_points p;
    CHECK_FAIL(ll_points_continuous(3, 0.1, 0.9, false, &p), LLAP_EINVAL, "first > last");
}

/* -------- the loss -------- */

typedef struct loss_case {
    ll_denoiser_config c;
    ll_schedule       *s;
    ll_loss_opts       o;
    bool               rows, mask;
} loss_case;

enum { B = 3, H = 4, Z = 2, WIDTH = 4, S = 2 };

static ll_tensor *describe_loss(ll_graph *g, const void *cfg)
{
    const loss_case *l = cfg;
    const ll_loss_in in = {
        .z0 = ll_input(g, "z0", LL_SHAPE(B, H, Z)),
        .eps = ll_input(g, "eps", LL_SHAPE(B, H, Z)),
        .t = ll_input_int(g, "t", LL_SHAPE(B)),
        .mask = l->mask ? ll_input(g, "mask", LL_SHAPE(B, H)) : NULL,
        .tq = ll_input(g, "tq", LL_SHAPE(B, H)),
        .E = ll_input(g, "E", LL_SHAPE(B, S, WIDTH)),
        .conditional = l->rows ? ll_input(g, "rows", LL_SHAPE(B)) : NULL,
    };
    return ll_diffusion_loss(g, &l->c, l->s, &l->o, &in);
}

static double fill_loss(const net *n, const char *name, int64_t k)
{
    const loss_case *l = n->cfg;
    if (strcmp(name, "t") == 0) return (double)(1 + (k * 5 + (int64_t)n->seed) % (l->s->T - 1));
    if (strcmp(name, "tq") == 0) return 1.0 + (double)(k % H);
    if (strcmp(name, "rows") == 0) return (double)((k + (int64_t)n->seed) % 3 > 0);
    if (strcmp(name, "mask") == 0) return (double)(k % 3 > 0);
    return NAN;
}

static void the_loss_on_cpu_and_ref_with_gradients(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        loss_case l = { .c = { .data_dim = Z,
                               .hidden_dim = WIDTH,
                               .num_layers = 1,
                               .num_heads = 2,
                               .laplace_k = 2,
                               .timesteps = 20,
                               .mlp_ratio = 2,
                               .cross_first = true,
                               .self_conditioning = true },
                        .s = cosine(20),
                        .o = { .predict = (ll_prediction)net_pick(seed, "p", 0, 2),
                               .min_snr = net_pick(seed, "w", 0, 3) > 0,
                               .gamma = 5.0,
                               .normalize = (ll_weight_norm)net_pick(seed, "norm", 0, 3),
                               .share = { seed == 2 ? 0.82 : 0.0, seed == 2 ? 0.18 : 0.0 } },
                        .rows = seed % 2 == 0,
                        .mask = seed % 3 > 0 };
        net_check(&(net){ .describe = describe_loss,
                          .cfg = &l,
                          .seed = seed,
                          .fill = fill_loss,
                          .fixed = "tq rows mask",
                          .tolerance = 1e-3,
                          .step = 1e-6 });
        ll_schedule_destroy(l.s);
    }
}

static void draws_belong_to_window_and_step(void **state)
{
    (void)state;
    ll_schedule       *s = cosine(50);
    const ll_draw_opts o = { .seed = 9, .drop = 0.18 };
    float              a[8], b[8], flag, again;
    int32_t            t, t2;
    int                dropped = 0, lowest = 50, highest = 0;
    ll_diffusion_draw(s, &o, 77, 5, &t, &flag, a, 8);
    ll_diffusion_draw(s, &o, 77, 5, &t2, &again, b, 8);
    assert_int_equal(t, t2);
    assert_memory_equal(a, b, sizeof a);
    ll_diffusion_draw(s, &o, 77, 6, &t2, &again, b, 8);
    assert_memory_not_equal(a, b, sizeof a);
    for (uint32_t i = 0; i < 4000; i++) {
        const ll_draw_opts both = { .seed = 9, .drop = 0.18, .karras = i % 2 == 1 };
        ll_diffusion_draw(s, &both, i, 0, &t, &flag, a, 1);
        dropped += flag == 0.0f;
        lowest = t < lowest ? t : lowest;
        highest = t > highest ? t : highest;
    }
    assert_true(dropped > 4000 * 0.15 && dropped < 4000 * 0.21);
    assert_int_equal(lowest, 1);
    assert_int_equal(highest, 49);
    ll_schedule_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cosine_schedule_is_that_of_the_specification),
        cmocka_unit_test(conversions_undo_the_targets),
        cmocka_unit_test(tables_that_cannot_be_are_refused),
        cmocka_unit_test(reference_lists_are_those_of_the_specification),
        cmocka_unit_test(honest_lists_go_all_the_way),
        cmocka_unit_test(gathered_lists_are_dense_where_signal_and_noise_are_alike),
        cmocka_unit_test(continuous_points_are_uniform_in_their_places),
        cmocka_unit_test(the_loss_on_cpu_and_ref_with_gradients),
        cmocka_unit_test(draws_belong_to_window_and_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
