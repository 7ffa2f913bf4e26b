/* Solvers on a problem with a known answer: a Gaussian. */
#include "gaussian.h"

/* The sampler maps x_T to b + k x_T here, so that two runs tell the distribution it gives. The
 * result is its Wasserstein distance to the true one, over all coordinates. */
static double distance(ll_solver solver, const ll_points *list)
{
    const ll_extent       e = { 1, 1, 1, DIMS };
    int64_t               n = DIMS;
    const ll_predictor    p = { predict_gaussian, &n, false };
    const ll_sampler_opts o = { .solver = solver,
                                .predict = LL_PREDICT_V,
                                .guidance = { 1.0, 1.0 } };
    float                 zero[DIMS] = { 0 }, one[DIMS], at_zero[DIMS], at_one[DIMS];
    double                sum = 0.0;
    for (int k = 0; k < DIMS; k++) one[k] = 1.0f;
    CHECK_OK(ll_sample(&o, list, e, &p, &(ll_sample_io){ .init = zero }, at_zero));
    CHECK_OK(ll_sample(&o, list, e, &p, &(ll_sample_io){ .init = one }, at_one));
    for (int k = 0; k < DIMS; k++) {
        const double off = (double)at_zero[k] - mean_of(k);
        const double wide = fabs((double)at_one[k] - (double)at_zero[k]) - deviation_of(k);
        sum += off * off + wide * wide;
    }
    return sqrt(sum);
}

static void few_steps_of_second_order_equal_many_of_first(void **state)
{
    (void)state;
    ll_schedule *s;
    ll_points    few, ten, some, many, gathered, continuous;
    CHECK_OK(ll_schedule_create(LL_SCHEDULE_COSINE, 1000, &s));
    CHECK_OK(ll_points_honest(s, 8, &few));
    CHECK_OK(ll_points_honest(s, 10, &ten));
    CHECK_OK(ll_points_honest(s, 16, &some));
    CHECK_OK(ll_points_honest(s, 64, &many));
    CHECK_OK(ll_points_gathered(s, 10, &gathered));
    CHECK_OK(ll_points_continuous(12, 0.996, 0.012, false, &continuous));
    const double ddim_64 = distance(LL_SOLVER_DDIM, &many);
    const double ddim_8 = distance(LL_SOLVER_DDIM, &few);
    const double dpm_8 = distance(LL_SOLVER_DPMPP_2M, &few);
    const double dpm_64 = distance(LL_SOLVER_DPMPP_2M, &many);
    const double uni_16 = distance(LL_SOLVER_UNIPC, &some);
    const double uni_64 = distance(LL_SOLVER_UNIPC, &many);
    const double uni_10 = distance(LL_SOLVER_UNIPC, &ten);
    const double uni_gathered = distance(LL_SOLVER_UNIPC, &gathered);
    const double dpm_12 = distance(LL_SOLVER_DPMPP_2M, &continuous);
    print_message(
        "distance: ddim %.4f (8) %.4f (64), dpm++ %.4f (8) %.4f (64) %.4f (12 continuous), "
        "unipc %.4f (10) %.4f (16) %.4f (64) %.4f (10 gathered)\n",
        ddim_8, ddim_64, dpm_8, dpm_64, dpm_12, uni_10, uni_16, uni_64, uni_gathered);
    assert_true(dpm_8 <= ddim_64);
    assert_true(uni_16 <= ddim_64);
    assert_true(uni_gathered < uni_10 / 2.0);
    assert_true(uni_64 < dpm_64); /* of higher order where steps are small */
    assert_true(dpm_64 < ddim_64 / 4.0);
    assert_true(dpm_12 < ddim_8);
    ll_points_deinit(&few);
    ll_points_deinit(&ten);
    ll_points_deinit(&some);
    ll_points_deinit(&many);
    ll_points_deinit(&gathered);
    ll_points_deinit(&continuous);
    ll_schedule_destroy(s);
}

/* The last of all steps has no noise: log(a / s) has no end there. */
static void all_steps_end_in_the_estimate(void **state)
{
    (void)state;
    ll_schedule *s;
    ll_points    all;
    CHECK_OK(ll_schedule_create(LL_SCHEDULE_COSINE, 50, &s));
    CHECK_OK(ll_points_reference(s, 64, LL_KARRAS_RHO, &all));
    assert_true(all.n == 50 && all.at[49].level.s == 0.0f);
    const double ddim = distance(LL_SOLVER_DDIM, &all);
    assert_true(distance(LL_SOLVER_DPMPP_2M, &all) < ddim);
    assert_true(distance(LL_SOLVER_UNIPC, &all) < ddim);
    ll_points_deinit(&all);
    ll_schedule_destroy(s);
}

/* n + 1 points, uniform in log(a / s) from -2 to 2 */
static ll_points uniform_points(int n)
{
    ll_points p = { .at = ll_new((size_t)n + 1, sizeof *p.at), .n = n + 1 };
    assert_non_null(p.at);
    for (int i = 0; i <= n; i++) {
        const double l = -2.0 + 4.0 * i / n, a = 1.0 / sqrt(1.0 + exp(-2.0 * l));
        p.at[i] = (ll_point){ .t = -1,
                              .time = 0.5,
                              .level = { (float)a, (float)sqrt(1.0 - a * a), (float)(a * a) } };
    }
    return p;
}

/* On the way of the exact flow, x = a m + sqrt(a^2 c + s^2) z for every level. */
static double flow(ll_level at, int64_t k)
{
    const double a = (double)at.a, s = (double)at.s, d = deviation_of(k);
    return a * mean_of(k) + sqrt(a * a * d * d + s * s);
}

typedef struct watched {
    int   last;
    float x[DIMS];
} watched;

static void keep_last(void *user, int i, const float *x, const float *pred_c, const float *pred_u)
{
    watched *w = user;
    (void)pred_c, (void)pred_u;
    if (i == w->last) memcpy(w->x, x, sizeof w->x);
}

/* The largest distance from the flow after n steps. */
static double strays(ll_solver solver, int n)
{
    ll_points             list = uniform_points(n);
    const ll_extent       e = { 1, 1, 1, DIMS };
    int64_t               count = DIMS;
    const ll_predictor    p = { predict_gaussian, &count, false };
    const ll_sampler_opts o = { .solver = solver,
                                .predict = LL_PREDICT_V,
                                .guidance = { 1.0, 1.0 } };
    watched               w = { .last = n };
    float                 init[DIMS], out[DIMS];
    double                most = 0.0;
    for (int k = 0; k < DIMS; k++) init[k] = (float)flow(list.at[0].level, k);
    const ll_sample_io io = { .init = init, .watch = keep_last, .watcher = &w };
    CHECK_OK(ll_sample(&o, &list, e, &p, &io, out));
    for (int k = 0; k < DIMS; k++)
        most = fmax(most, fabs((double)w.x[k] - flow(list.at[n].level, k)));
    ll_points_deinit(&list);
    return most;
}

/* Half the step: half the error of DDIM, a quarter of DPM-Solver++(2M)'s, an eighth of UniPC's of
 * order 2, whose corrector gives one order more (its paper, theorem 3.1). */
static void solvers_have_their_order(void **state)
{
    (void)state;
    const struct {
        ll_solver solver;
        double    low, high;
    } expected[] = { { LL_SOLVER_DDIM, 1.8, 2.2 },
                     { LL_SOLVER_DPMPP_2M, 3.6, 4.4 },
                     { LL_SOLVER_UNIPC, 6.5, 9.0 } };
    for (int i = 0; i < 3; i++) {
        const double coarse = strays(expected[i].solver, 20), fine = strays(expected[i].solver, 40);
        print_message("%s: %.2e, %.2e, ratio %.2f\n", ll_solver_names[expected[i].solver], coarse,
                      fine, coarse / fine);
        assert_true(coarse / fine > expected[i].low && coarse / fine < expected[i].high);
    }
}

/* With eta = 1 and own draws, samples have the distribution too: checks the noise. */
static void ancestral_samples_have_the_right_moments(void **state)
{
    (void)state;
    enum { R = 4000 };
    ll_schedule          *s;
    ll_points             list;
    const ll_extent       e = { 1, R, 1, DIMS };
    int64_t               n = (int64_t)R * DIMS;
    const ll_predictor    p = { predict_gaussian, &n, false };
    const ll_sampler_opts o = { .predict = LL_PREDICT_V, .guidance = { 1.0, 1.0 }, .eta = 1.0 };
    const uint64_t        window = 42;
    float                *x = ll_new((size_t)n, sizeof *x);
    assert_non_null(x);
    CHECK_OK(ll_schedule_create(LL_SCHEDULE_COSINE, 1000, &s));
    CHECK_OK(ll_points_honest(s, 100, &list));
    CHECK_OK(ll_sample(&o, &list, e, &p, &(ll_sample_io){ .seed = 3, .window = &window }, x));
    for (int k = 0; k < DIMS; k++) {
        double sum = 0.0, square = 0.0;
        for (int r = 0; r < R; r++) sum += (double)x[r * DIMS + k];
        for (int r = 0; r < R; r++) {
            const double d = (double)x[r * DIMS + k] - sum / R;
            square += d * d;
        }
        assert_true(fabs(sum / R - mean_of(k)) < 0.08 * deviation_of(k) + 0.01);
        assert_true(fabs(sqrt(square / R) / deviation_of(k) - 1.0) < 0.08);
    }
    ll_points_deinit(&list);
    ll_schedule_destroy(s);
    ll_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_steps_of_second_order_equal_many_of_first),
        cmocka_unit_test(all_steps_end_in_the_estimate),
        cmocka_unit_test(solvers_have_their_order),
        cmocka_unit_test(ancestral_samples_have_the_right_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
