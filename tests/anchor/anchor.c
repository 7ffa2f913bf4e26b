#include "anchor_check.h"

/* The noise goes down to readings that are all but exact, a part in 1e8 of the variance or so. */
static void smoother_equals_dense(void **state)
{
    (void)state;
    const struct {
        size_t n, nq;
        double lo, hi;
    } shape[] = { { 40, 12, 1e-6, 1e6 }, { 60, 10, 0.1, 10 }, { 30, 10, 1e-6, 1e-3 },
                  { 25, 8, 1e3, 1e6 },   { 0, 5, 1e-3, 10 },  { 1, 6, 1e-3, 10 },
                  { 3, 6, 0.01, 1 },     { 20, 0, 0.1, 1 },   { 5, 1, 1e-6, 1e6 } };
    dice d = { 1 };
    for (size_t s = 0; s < sizeof shape / sizeof *shape; s++)
        for (int rep = 0; rep < 90; rep++) {
            ll_anchor_kernel k = roll_kernel(&d, 1e-4);
            problem p = roll_problem(&d, shape[s].n, shape[s].nq, shape[s].lo, shape[s].hi);
            k.nu = pow(10.0, -(rep % 9));
            k.jitter = rep % 5 ? 0.0 : 1e-4;
            for (size_t q = 0; shape[s].n > 0 && q < shape[s].nq / 2;
                 q++) /* just before a reading */
                p.tq[q] = p.t[q * rep % shape[s].n] - roll_log(&d, 1e-9, 1e-2);
            check_against_dense(&k, &p, NULL);
            problem_free(&p);
        }
}

static void everything_missing(void **state)
{
    (void)state;
    dice             d = { 2 };
    ll_anchor_kernel k = ll_anchor_kernel_hourly();
    problem          p = roll_problem(&d, 20, 6, 0.1, 10);
    for (size_t i = 0; i < 20; i++) p.y[i] = NAN;
    check_against_dense(&k, &p, NULL);
    for (size_t i = 0; i < 10; i++) p.y[i] = roll_normal(&d); /* missing at the query end only */
    check_against_dense(&k, &p, NULL);
    k.nu = 1e-8, k.jitter = 0.0;
    check_against_dense(&k, &p, NULL);
    problem_free(&p);
}

/* Many readings at one instant, and tiny noise. */
static void repeated_times(void **state)
{
    (void)state;
    dice             d = { 3 };
    ll_anchor_kernel k = ll_anchor_kernel_hourly();
    problem          p = roll_problem(&d, 80, 6, 0.5, 2);
    for (size_t i = 20; i < 70; i++) p.t[i] = p.t[20];
    for (size_t i = 70; i < 80; i++) p.t[i] = fmax(p.t[i], p.t[20]);
    for (double nu = 1e-2; nu > 0.5e-8; nu *= 0.1) {
        k.nu = nu;
        k.jitter = 0.0;
        check_against_dense(&k, &p, NULL);
    }
    problem_free(&p);
}

static void filter_equals_dense(void **state)
{
    (void)state;
    dice d = { 4 };
    for (int rep = 0; rep < 90; rep++) {
        ll_anchor_kernel k = roll_kernel(&d, 1e-4);
        problem          p = roll_problem(&d, 30, 12, rep % 2 ? 1e-6 : 0.1, rep % 2 ? 1e6 : 10);
        double           mean[12], var[12], ll, ref, refv, refll;
        double          *means[] = { mean }, *vars[] = { var };
        k.nu = pow(10.0, -(rep % 9));
        k.jitter = rep % 5 ? 0.0 : 1e-4;
        CHECK_OK(ll_anchor_filter(&k, &p.w, 1, means, vars, &ll));
        dense_posterior(&k, &p.w, NULL, NULL, NULL, &refll);
        assert_true(fabs(ll - refll) <= TOL * fmax(1.0, fabs(refll)));
        for (size_t q = 0; q < 12; q++) {
            bool use[30];
            for (size_t i = 0; i < 30; i++) use[i] = p.t[i] <= p.tq[q];
            ll_anchor_window one = p.w;
            one.n_query = 1;
            one.t_query = &p.tq[q];
            dense_posterior(&k, &one, use, &ref, &refv, NULL);
            if (!(fabs(mean[q] - ref) <= TOL * fmax(fabs(ref), 1e-1)) ||
                !(fabs(var[q] - k.nu - refv) <= TOL * refv))
                fail_msg("query %zu: %.17g %.17g, expected %.17g %.17g", q, mean[q], var[q] - k.nu,
                         ref, refv);
        }
        problem_free(&p);
    }
}

/* A grid of 1500 hours with holes against the dense definition. */
static void long_series(void **state)
{
    (void)state;
    enum { N = 700, Q = 30 };
    dice             d = { 5 };
    ll_anchor_kernel k = ll_anchor_kernel_hourly();
    problem          p = roll_problem(&d, N, Q, 1, 1);
    for (size_t i = 0; i < N; i++) p.t[i] = (double)i;
    for (size_t q = 0; q < Q; q++) p.tq[q] = (double)(q * 31) + 0.25 * (double)(q % 3);
    double ref[Q], refC[Q * Q], mean[Q], var[Q], ll;
    dense_posterior(&k, &p.w, NULL, ref, refC, &ll);
    ll_anchor_posterior *post = NULL;
    CHECK_OK(ll_anchor_condition(&k, &p.w, &post));
    CHECK_OK(ll_anchor_marginals(post, LL_ANCHOR_LATENT, mean, var));
    check_vector("mean", mean, ref, Q, 0.0);
    for (size_t q = 0; q < Q; q++) assert_true(fabs(var[q] / refC[q * Q + q] - 1.0) <= TOL);
    assert_true(fabs(ll_anchor_loglik(post) / ll - 1.0) <= TOL);
    ll_anchor_posterior_destroy(post);
    problem_free(&p);
}

/* Ten thousand readings: smoothing in the middle equals the dense answer from the 400 nearest,
 * when nothing is remembered over more than that. */
static void ten_thousand(void **state)
{
    (void)state;
    enum { N = 10000 };
    dice             d = { 6 };
    ll_anchor_kernel k = { .n_terms = 3,
                           .a = { 1, .5, .2 },
                           .rho = { .3, .4, .5 },
                           .omega = { 0, .7, 2 },
                           .nu = 1e-3,
                           .jitter = 1e-4 };
    problem          p = roll_problem(&d, N, 1, 1e-3, 3);
    p.tq[0] = p.t[N / 2] + 1e-3;
    double               mean, var, ref, refv;
    ll_anchor_posterior *post = NULL;
    CHECK_OK(ll_anchor_condition(&k, &p.w, &post));
    CHECK_OK(ll_anchor_marginals(post, LL_ANCHOR_LATENT, &mean, &var));
    ll_anchor_posterior_destroy(post);
    ll_anchor_window near = p.w;
    near.t += N / 2 - 200;
    near.y += N / 2 - 200;
    near.n_obs = 400;
    dense_posterior(&k, &near, NULL, &ref, &refv, NULL);
    if (!(fabs(mean - ref) <= TOL * fabs(ref)) || !(fabs(var - refv) <= TOL * refv))
        fail_msg("%.17g %.17g, expected %.17g %.17g", mean, var, ref, refv);
    problem_free(&p);
}

static double single(double x) { return (double)(float)x; }

/* Times and values that went through single precision: near times collapse, answers stay sane. */
static void single_precision(void **state)
{
    (void)state;
    dice d = { 7 };
    for (int rep = 0; rep < 50; rep++) {
        ll_anchor_kernel k = roll_kernel(&d, 1e-4);
        problem          p = roll_problem(&d, 60, 10, 1e-6, 1e6);
        for (size_t i = 0; i < 60; i++) p.t[i] = single(p.t[i]), p.y[i] = single(p.y[i]);
        for (size_t q = 0; q < 10; q++) p.tq[q] = single(p.tq[q]);
        for (int i = 0; i < k.n_terms; i++)
            k.a[i] = single(k.a[i]), k.rho[i] = single(k.rho[i]), k.omega[i] = single(k.omega[i]);
        check_against_dense(&k, &p, NULL);
        problem_free(&p);
    }
}

/* Times so far apart that their difference overflows still give the prior. */
static void endless_gap(void **state)
{
    (void)state;
    const ll_anchor_kernel k = ll_anchor_kernel_hourly();
    const double           t[] = { -1.7e308, 0 }, y[] = { 1, 2 }, tq[] = { 1.7e308 };
    const ll_anchor_window w = { .n_obs = 2, .t = t, .y = y, .n_query = 1, .t_query = tq };
    ll_anchor_posterior   *post = NULL;
    double                 mean, var;
    CHECK_OK(ll_anchor_condition(&k, &w, &post));
    CHECK_OK(ll_anchor_marginals(post, LL_ANCHOR_NOISY, &mean, &var));
    assert_true(mean == 0.0);
    assert_true(fabs(var - ((double)dense_k(&k, 0) + k.nu)) < 1e-15);
    ll_anchor_posterior_destroy(post);
}

/* The law of a path does not hang on how many are drawn, and queries may come in any order. */
static void paths_and_order(void **state)
{
    (void)state;
    dice                   d = { 8 };
    const ll_anchor_kernel k = ll_anchor_kernel_hourly();
    problem                p = roll_problem(&d, 30, 9, 0.5, 5);
    ll_anchor_posterior   *post = NULL, *turned = NULL;
    CHECK_OK(ll_anchor_condition(&k, &p.w, &post));
    const size_t nz = ll_anchor_path_normals(post);
    double      *z = calloc(3 * nz, sizeof *z), three[27], one[9];
    for (size_t i = 0; i < 3 * nz; i++) z[i] = roll_normal(&d);
    CHECK_OK(ll_anchor_paths(post, LL_ANCHOR_LATENT, 3, z, three));
    for (size_t i = 0; i < 3; i++) {
        CHECK_OK(ll_anchor_paths(post, LL_ANCHOR_LATENT, 1, z + i * nz, one));
        assert_memory_equal(one, three + 9 * i, sizeof one);
    }
    double mean[9], back[9], tq[9];
    CHECK_OK(ll_anchor_marginals(post, LL_ANCHOR_LATENT, mean, NULL));
    for (size_t q = 0; q < 9; q++) tq[q] = p.tq[8 - q];
    p.w.t_query = tq;
    CHECK_OK(ll_anchor_condition(&k, &p.w, &turned));
    CHECK_OK(ll_anchor_marginals(turned, LL_ANCHOR_LATENT, back, NULL));
    for (size_t q = 0; q < 9; q++) assert_true(back[8 - q] == mean[q]);
    ll_anchor_posterior_destroy(post);
    ll_anchor_posterior_destroy(turned);
    free(z);
    problem_free(&p);
}

/* Paper, section 4.3: under gaps drawn from the data a mode is multiplied per event by the mean of
 * exp((-rho + i omega) gap). The filter moves the mean of a state known at one event to the next
 * by k(gap)/k(0) of each mode: the average over the gaps must be the real part of that, and for
 * gaps of a Poisson process both are lambda/(lambda + rho - i omega). */
static void renewal(void **state)
{
    (void)state;
    enum { N = 4000 };
    const double     rho = 0.05, omega = 0.6, lambda = 0.8, y = 1.5;
    ll_anchor_kernel k = {
        .n_terms = 1, .a = { 2 }, .rho = { rho }, .omega = { omega }, .nu = 0.1, .jitter = 1e-4
    };
    double gap[N], mean[N], var[N], *means[] = { mean }, *vars[] = { var };
    for (int i = 0; i < N; i++) gap[i] = -log1p(-(i + 0.5) / N) / lambda; /* its quantiles */
    const double           t0 = 0.0;
    const ll_anchor_window w = { .n_obs = 1, .t = &t0, .y = &y, .n_query = N, .t_query = gap };
    CHECK_OK(ll_anchor_filter(&k, &w, 1, means, vars, NULL));
    double average = 0.0, re = 0.0, im = 0.0; /* re, im: of what is left of the mode, on average */
    for (int i = 0; i < N; i++) {
        average += mean[i] / N;
        re += exp(-rho * gap[i]) * cos(omega * gap[i]) / N;
        im += exp(-rho * gap[i]) * sin(omega * gap[i]) / N;
    }
    const double known = y * k.a[0] / (k.a[0] + k.nu + k.jitter); /* the mean at the first event */
    assert_true(fabs(average / known - re) < 1e-12);
    const double size = (lambda + rho) * (lambda + rho) + omega * omega;
    assert_true(fabs(re - lambda * (lambda + rho) / size) < 1e-3);
    assert_true(fabs(im - lambda * omega / size) < 1e-3);
}

static void refusals(void **state)
{
    (void)state;
    ll_anchor_kernel     k = ll_anchor_kernel_hourly(), bad = k;
    ll_anchor_posterior *post = NULL;
    double               t[] = { 0, 1, 2 }, y[] = { 1, 2, 3 }, tq[] = { 3 }, mean, var;
    ll_anchor_window     w = { .n_obs = 3, .t = t, .y = y, .n_query = 1, .t_query = tq };
    bad.n_terms = 17;
    CHECK_FAIL(ll_anchor_condition(&bad, &w, &post), LLAP_EINVAL, "1 to 16 terms, found 17");
    bad = k, bad.rho[2] = 0;
    CHECK_FAIL(ll_anchor_condition(&bad, &w, &post), LLAP_EINVAL, "term 2: expected rho > 0");
    bad = k, bad.omega[1] = -1;
    CHECK_FAIL(ll_anchor_condition(&bad, &w, &post), LLAP_EINVAL, "expected omega >= 0");
    bad = k, bad.nu = bad.jitter = 0;
    CHECK_FAIL(ll_anchor_condition(&bad, &w, &post), LLAP_EINVAL, "nu + jitter > 0");
    bad = k, bad.a[0] = NAN;
    CHECK_FAIL(ll_anchor_condition(&bad, &w, &post), LLAP_EINVAL, "expected a > 0, found nan");
    t[1] = 5;
    CHECK_FAIL(ll_anchor_condition(&k, &w, &post), LLAP_EINVAL, "observation 2: time 2 is before");
    assert_null(post);
    const ll_anchor_window two[] = { { 0 }, w };
    double                *means2[] = { &mean, &mean }, *vars2[] = { &var, &var };
    CHECK_FAIL(ll_anchor_filter(&k, two, 2, means2, vars2, NULL), LLAP_EINVAL, "window 1: ");
    t[1] = 1, y[0] = INFINITY;
    CHECK_FAIL(ll_anchor_condition(&k, &w, &post), LLAP_EINVAL, "observation 0: value inf");
    y[0] = 0, tq[0] = NAN;
    CHECK_FAIL(ll_anchor_condition(&k, &w, &post), LLAP_EINVAL, "query 0: time nan");
    CHECK_FAIL(ll_anchor_kernel_spaced(2, 2, 3, &bad), LLAP_EINVAL, "0 < shortest < span");
    CHECK_FAIL(ll_anchor_kernel_spaced(2, 20, 14, &bad), LLAP_EINVAL, "0 to 13 cycles");
}

static void spaced_kernel(void **state)
{
    (void)state;
    ll_anchor_kernel k;
    CHECK_OK(ll_anchor_kernel_spaced(1, 100, 4, &k));
    CHECK_OK(ll_anchor_kernel_check(&k));
    assert_int_equal(k.n_terms, 7);
    assert_true(fabs(6.283185307179586 / k.omega[3] - 100) < 1e-9);
    assert_true(fabs(6.283185307179586 / k.omega[6] - 1) < 1e-12);
    assert_true(fabs(ll_anchor_half_life(k.rho[0]) - 150 * log(2)) < 1e-9);
}

static llap_status all_of_it(void *user)
{
    problem             *p = user;
    ll_anchor_kernel     k = ll_anchor_kernel_hourly();
    ll_anchor_posterior *post = NULL;
    k.nu = 1e-8, k.jitter = 0.0;
    double      mean[5], var[5], path[5], z[1024] = { 0 }, *means[] = { mean }, *vars[] = { var };
    llap_status st = ll_anchor_condition(&k, &p->w, &post);
    if (st == LLAP_OK) st = ll_anchor_paths(post, LL_ANCHOR_NOISY, 1, z, path);
    ll_anchor_posterior_destroy(post);
    if (st == LLAP_OK) st = ll_anchor_filter(&k, &p->w, 1, means, vars, NULL);
    return st;
}

static void failing_allocations(void **state)
{
    (void)state;
    dice    d = { 9 };
    problem p = roll_problem(&d, 20, 5, 0.5, 5);
    p.y[0] = 1.0;
    p.tq[0] = p.t[0] - 1e-9; /* known from the future alone: the roots are needed */
    check_every_failed_allocation(all_of_it, &p);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smoother_equals_dense),
        cmocka_unit_test(everything_missing),
        cmocka_unit_test(repeated_times),
        cmocka_unit_test(filter_equals_dense),
        cmocka_unit_test(long_series),
        cmocka_unit_test(ten_thousand),
        cmocka_unit_test(single_precision),
        cmocka_unit_test(endless_gap),
        cmocka_unit_test(paths_and_order),
        cmocka_unit_test(renewal),
        cmocka_unit_test(refusals),
        cmocka_unit_test(spaced_kernel),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
