#include "dense.h"

#include <omp.h>

/* Pointers to the numbers of a kernel and to their derivatives in a loss, in one order. */
static int fields(ll_anchor_kernel *k, ll_anchor_loss *l, double **at, double **d)
{
    int n = 0;
    for (int i = 0; i < k->n_terms; i++) at[n] = &k->a[i], d[n++] = &l->d_a[i];
    for (int i = 0; i < k->n_terms; i++) at[n] = &k->rho[i], d[n++] = &l->d_rho[i];
    for (int i = 0; i < k->n_terms; i++)
        if (k->omega[i] > 0) at[n] = &k->omega[i], d[n++] = &l->d_omega[i];
    at[n] = &k->nu, d[n++] = &l->d_nu;
    return n;
}

static double value_at(const ll_anchor_kernel *k, const problem *p, size_t n,
                       ll_anchor_loss_kind kind, double *x, double to)
{
    ll_anchor_window w[8];
    ll_anchor_loss   l;
    const double     old = *x;
    for (size_t i = 0; i < n; i++) w[i] = p[i].w;
    *x = to;
    CHECK_OK(ll_anchor_loss_gradient(k, w, n, kind, 1e-3, &l));
    *x = old;
    return l.sum;
}

static void check_gradient(ll_anchor_kernel *k, const problem *p, size_t n,
                           ll_anchor_loss_kind kind)
{
    ll_anchor_window w[8];
    ll_anchor_loss   l;
    double          *at[64], *d[64];
    for (size_t i = 0; i < n; i++) w[i] = p[i].w;
    CHECK_OK(ll_anchor_loss_gradient(k, w, n, kind, 1e-3, &l));
    const int count = fields(k, &l, at, d);
    double    size = 0.0; /* of the derivatives by the logarithms */
    for (int i = 0; i < count; i++) size = fmax(size, fabs(*d[i] * *at[i]));
    for (int i = 0; i < count; i++) {
        const double x = *at[i], h = 1e-3 * x;
        double       v[4];
        for (int j = 0; j < 4; j++) {
            const double to[] = { x - 2 * h, x - h, x + h, x + 2 * h };
            v[j] = value_at(k, p, n, kind, at[i], to[j]);
        }
        const double slope = (8 * (v[2] - v[1]) - (v[3] - v[0])) / (12 * h);
        if (!(fabs(slope - *d[i]) * x <= 2e-8 * size))
            fail_msg("number %d of %d: %.12g, differences %.12g (size %g)", i, count, *d[i] * x,
                     slope * x, size);
    }
}

static void gradient_equals_differences(void **state)
{
    (void)state;
    dice d = { 11 };
    for (int rep = 0; rep < 30; rep++) {
        ll_anchor_kernel k = roll_kernel(&d, 1e-2);
        for (int i = 0; i < k.n_terms; i++) { /* gentle phases: differences must stay meaningful */
            k.rho[i] = roll_log(&d, 1e-2, 1);
            if (k.omega[i] > 0) k.omega[i] = roll_log(&d, 0.05, 0.6);
        }
        problem p[3];
        for (size_t i = 0; i < 3; i++) p[i] = roll_problem(&d, 20 * i, 8, 0.1, 4);
        check_gradient(&k, p, 3, LL_ANCHOR_CRPS);
        check_gradient(&k, p, 3, LL_ANCHOR_NLL);
        for (size_t i = 0; i < 3; i++) problem_free(&p[i]);
    }
}

static void values_equal_definition(void **state)
{
    (void)state;
    dice             d = { 12 };
    ll_anchor_kernel k = roll_kernel(&d, 1e-2);
    problem          p = roll_problem(&d, 30, 9, 0.1, 10);
    ll_anchor_loss   l;
    double           ll, mean[9], var[9], *means[] = { mean }, *vars[] = { var }, sum = 0;
    dense_posterior(&k, &p.w, NULL, NULL, NULL, &ll);
    CHECK_OK(ll_anchor_loss_gradient(&k, &p.w, 1, LL_ANCHOR_NLL, 1e-3, &l));
    assert_true(fabs(l.sum + ll) <= 1e-9 * fabs(ll));
    CHECK_OK(ll_anchor_filter(&k, &p.w, 1, means, vars, NULL));
    int64_t count = 0;
    for (size_t q = 0; q < 9; q++) {
        if (isnan(p.target[q])) continue;
        count++;
        sum += ll_anchor_crps(p.target[q], mean[q], sqrt(fmax(var[q], 1e-3)), NULL, NULL);
    }
    CHECK_OK(ll_anchor_loss_gradient(&k, &p.w, 1, LL_ANCHOR_CRPS, 1e-3, &l));
    assert_true(fabs(l.sum - sum) <= 1e-12 * fabs(sum));
    assert_int_equal(l.count, count);
    problem_free(&p);
}

/* CRPS = integral of (F(x) - [x >= y])^2, and its derivatives by differences. */
static void crps_equals_integral(void **state)
{
    (void)state;
    for (double y = -3; y <= 3; y += 0.75) {
        const double mean = 0.4, sd = 0.8, h = 1e-3;
        double       sum = 0, dm, ds;
        for (double x = -9; x < 9; x += h) {
            const double mid = x + h / 2, F = 0.5 * erfc(-(mid - mean) / sd * M_SQRT1_2);
            const double D = F - (mid >= y);
            sum += D * D * h;
        }
        assert_true(fabs(ll_anchor_crps(y, mean, sd, &dm, &ds) - sum) < 1e-3);
        const double e = 1e-5;
        assert_true(fabs(dm - (ll_anchor_crps(y, mean + e, sd, NULL, NULL) -
                               ll_anchor_crps(y, mean - e, sd, NULL, NULL)) /
                                  (2 * e)) < 1e-9);
        assert_true(fabs(ds - (ll_anchor_crps(y, mean, sd + e, NULL, NULL) -
                               ll_anchor_crps(y, mean, sd - e, NULL, NULL)) /
                                  (2 * e)) < 1e-9);
    }
}

static void same_bytes_for_any_threads(void **state)
{
    (void)state;
    enum { N = 23 };
    dice                   d = { 13 };
    const ll_anchor_kernel k = ll_anchor_kernel_hourly();
    problem                p[N];
    ll_anchor_window       w[N];
    for (size_t i = 0; i < N; i++) {
        p[i] = roll_problem(&d, 200 * (i % 5), 6, 0.3, 3);
        w[i] = p[i].w;
    }
    const int      usual = omp_get_max_threads();
    ll_anchor_loss l[3];
    double         mean[3][N][6], var[3][N][6], ll[3][N];
    for (int j = 0; j < 3; j++) {
        double *means[N], *vars[N];
        for (size_t i = 0; i < N; i++) means[i] = mean[j][i], vars[i] = var[j][i];
        omp_set_num_threads(j == 0 ? 1 : j == 1 ? 2 : 5);
        CHECK_OK(ll_anchor_loss_gradient(&k, w, N, LL_ANCHOR_CRPS, 1e-3, &l[j]));
        CHECK_OK(ll_anchor_filter(&k, w, N, means, vars, ll[j]));
    }
    omp_set_num_threads(usual);
    for (int j = 1; j < 3; j++) {
        assert_memory_equal(&l[0], &l[j], sizeof l[0]);
        assert_memory_equal(mean[0], mean[j], sizeof mean[0]);
        assert_memory_equal(var[0], var[j], sizeof var[0]);
        assert_memory_equal(ll[0], ll[j], sizeof ll[0]);
    }
    for (size_t i = 0; i < N; i++) problem_free(&p[i]);
}

static llap_status gradient_once(void *user)
{
    problem               *p = user;
    const ll_anchor_kernel k = ll_anchor_kernel_hourly();
    ll_anchor_loss         l;
    return ll_anchor_loss_gradient(&k, &p->w, 1, LL_ANCHOR_CRPS, 1e-3, &l);
}

static void failures(void **state)
{
    (void)state;
    dice    d = { 14 };
    problem p = roll_problem(&d, 10, 5, 0.5, 5);
    check_every_failed_allocation(gradient_once, &p);
    p.t[3] = -1e9;
    const ll_anchor_kernel k = ll_anchor_kernel_hourly();
    const ll_anchor_window w[] = { { 0 }, p.w };
    ll_anchor_loss         l;
    CHECK_FAIL(ll_anchor_loss_gradient(&k, w, 2, LL_ANCHOR_NLL, 1e-3, &l), LLAP_EINVAL,
               "window 1: anchor: observation 3");
    problem_free(&p);
}

/* What is remembered of one window's gaps serves the next, and leaves no trace: many gaps and few,
 * and more than there is room for. */
static void windows_together_are_windows_alone(void **state)
{
    (void)state;
    dice             d = { 21 };
    ll_anchor_kernel k = roll_kernel(&d, 1e-2);
    problem          p[6];
    ll_anchor_window w[6];
    ll_anchor_loss   all;
    double           sum = 0, d_rho = 0;
    for (size_t i = 0; i < 6; i++) {
        p[i] = roll_problem(&d, 60 + 10 * i, 8, 0.1, 4);
        for (size_t j = 0; i % 2 == 1 && j < p[i].w.n_obs; j++) p[i].t[j] = (double)j / 60.0;
        w[i] = p[i].w;
    }
    CHECK_OK(ll_anchor_loss_gradient(&k, w, 6, LL_ANCHOR_CRPS, 1e-3, &all));
    for (size_t i = 0; i < 6; i++) {
        ll_anchor_loss one;
        double         mean[2][8], var[2][8], *means[] = { mean[0] }, *vars[] = { var[0] };
        CHECK_OK(ll_anchor_loss_gradient(&k, &w[i], 1, LL_ANCHOR_CRPS, 1e-3, &one));
        sum += one.sum;
        d_rho += one.d_rho[0];
        CHECK_OK(ll_anchor_filter(&k, &w[i], 1, means, vars, NULL));
        CHECK_OK(ll_anchor_filter_terms(&k, &w[i], mean[1], var[1], (double[8 * 17]){ 0 }));
        assert_memory_equal(mean[0], mean[1], p[i].w.n_query * sizeof **mean);
        assert_memory_equal(var[0], var[1], p[i].w.n_query * sizeof **var);
    }
    assert_true(sum == all.sum && d_rho == all.d_rho[0]);
    for (size_t i = 0; i < 6; i++) problem_free(&p[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_equals_differences),
        cmocka_unit_test(values_equal_definition),
        cmocka_unit_test(crps_equals_integral),
        cmocka_unit_test(same_bytes_for_any_threads),
        cmocka_unit_test(windows_together_are_windows_alone),
        cmocka_unit_test(failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
