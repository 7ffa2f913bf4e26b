#include "check.h"

#include "base/rng/rng.h"
#include "joint/joint.h"

#include <omp.h>

enum { ROWS = 6000, PATHS = 20000 };

static float normal(uint64_t window, uint64_t i)
{
    const ll_rng r = ll_rng_make(7, LL_STREAM_TEST, window, 0, 0);
    return ll_rng_normal(&r, i);
}

/* Residuals of n series with one factor: series s has loading g (s + 1)/n. */
static float *residuals(size_t n, double g)
{
    float *r = malloc(n * ROWS * sizeof *r);
    assert_non_null(r);
    for (size_t s = 0; s < n; s++)
        for (size_t i = 0; i < ROWS; i++) {
            const double a = g * (double)(s + 1) / (double)n;
            r[s * ROWS + i] =
                (float)(a * (double)normal(1000000, i) + sqrt(1.0 - a * a) * (double)normal(s, i));
        }
    return r;
}

/* Correlation of the draws of two series, by any chunks of paths. */
static double drawn(const ll_joint *j, size_t s, size_t f, size_t at_once)
{
    uint64_t    *name = malloc(j->n * sizeof *name);
    float       *eta = malloc(j->n * at_once * sizeof *eta);
    double      *x = malloc(2 * at_once * sizeof *x), *y = x + at_once, xy = 0, xx = 0, yy = 0;
    const size_t most = (s > f ? s : f) + 1;
    for (size_t i = 0; i < j->n; i++) name[i] = 99 + i;
    for (size_t k = 0; k < PATHS; k += at_once) {
        ll_joint_eta(j, name, 1, 5, k, at_once, most, eta);
        ll_joint_xi(j, s, name[s], 1, 5, k, at_once, eta, x);
        ll_joint_xi(j, f, name[f], 1, 5, k, at_once, eta, y);
        for (size_t i = 0; i < at_once; i++)
            xy += x[i] * y[i], xx += x[i] * x[i], yy += y[i] * y[i];
    }
    assert_float_equal(xx / PATHS, 1.0, 0.05); /* margins stay standard normals */
    assert_float_equal(yy / PATHS, 1.0, 0.05);
    free(name);
    free(eta);
    free(x);
    return xy / sqrt(xx * yy);
}

static void finds_correlations(void **state)
{
    (void)state;
    float    *r = residuals(3, 0.9);
    ll_joint *j;
    CHECK_OK(ll_joint_fit(r, ROWS, 3, NULL, &j));
    assert_non_null(j);
    assert_float_equal(ll_joint_correlation(j, 1, 2), 0.95 * 0.6 * 0.9, 0.03);
    assert_float_equal(ll_joint_correlation(j, 0, 1), 0.95 * 0.3 * 0.6, 0.03);
    assert_float_equal(drawn(j, 1, 2, 500), ll_joint_correlation(j, 1, 2), 0.03);
    assert_true(drawn(j, 1, 2, 500) == drawn(j, 1, 2, 500));
    assert_float_equal(drawn(j, 1, 2, 500), drawn(j, 1, 2, 250), 1e-12);
    ll_joint_destroy(j);
    /* What paths would lose of it is put on top, and never more than can be. */
    const double fade[9] = { 1, .5, .5, .5, 1, .5, .5, .5, 1 };
    CHECK_OK(ll_joint_fit(r, ROWS, 3, fade, &j));
    assert_float_equal(ll_joint_correlation(j, 0, 1), 0.95 * 0.3 * 0.6 / 0.5, 0.06);
    assert_true(ll_joint_correlation(j, 1, 2) < 1.0);
    ll_joint_destroy(j);
    free(r);
}

/* Fewer than 100 common values say nothing; where nothing is said there is no law. */
static void needs_common_values(void **state)
{
    (void)state;
    float    *r = residuals(3, 0.9);
    ll_joint *j;
    for (size_t i = 99; i < ROWS; i++) r[ROWS + i] = NAN;
    CHECK_OK(ll_joint_fit(r, ROWS, 3, NULL, &j));
    assert_true(ll_joint_correlation(j, 0, 1) == 0.0 && ll_joint_correlation(j, 2, 1) == 0.0);
    assert_true(ll_joint_correlation(j, 0, 2) > 0.2);
    ll_joint_destroy(j);
    for (size_t i = 99; i < ROWS; i++) r[i] = NAN;
    CHECK_OK(ll_joint_fit(r, ROWS, 3, NULL, &j));
    assert_null(j);
    free(r);
}

/* Pairs that were measured on different rows can contradict each other. */
static void repairs_contradictions(void **state)
{
    (void)state;
    enum { N = 3, PART = ROWS / 3 };
    float *r = malloc(N * ROWS * sizeof *r);
    for (size_t i = 0; i < ROWS; i++) {
        const size_t pair = i / PART; /* 0-1 and 1-2 agree, 0-2 are opposite */
        const float  x = normal(1, i);
        r[i] = pair == 1 ? NAN : x;
        r[ROWS + i] = pair == 2 ? NAN : x;
        r[2 * ROWS + i] = pair == 0 ? NAN : pair == 2 ? -x : x;
    }
    ll_joint *j;
    CHECK_OK(ll_joint_fit(r, ROWS, N, NULL, &j));
    assert_non_null(j);
    assert_true(ll_joint_correlation(j, 0, 1) > 0.3 && ll_joint_correlation(j, 0, 2) < -0.3);
    ll_joint_destroy(j);
    free(r);
}

/* More series than correlations are kept for: factors; the same bytes for any number of threads. */
static void has_factors(void **state)
{
    (void)state;
    enum { N = LL_JOINT_DENSE + 44 };
    float    *r = residuals(N, 0.9);
    ll_joint *j, *again;
    float    *few = malloc(N * 1500 * sizeof *few);
    for (size_t s = 0; s < N; s++) memcpy(few + s * 1500, r + s * ROWS, 1500 * sizeof *few);
    CHECK_OK(ll_joint_fit(few, 1500, N, NULL, &j));
    assert_int_equal(j->rank, LL_JOINT_FACTORS);
    assert_float_equal(ll_joint_correlation(j, N - 1, N - 2), 0.95 * 0.81, 0.06);
    assert_float_equal(ll_joint_correlation(j, 10, N - 1), 0.95 * 0.9 * 0.9 * 11 / N, 0.08);
    assert_float_equal(drawn(j, N - 1, N - 2, 400), ll_joint_correlation(j, N - 1, N - 2), 0.03);
    omp_set_num_threads(3);
    CHECK_OK(ll_joint_fit(few, 1500, N, NULL, &again));
    assert_memory_equal(j->loading, again->loading, N * LL_JOINT_FACTORS * sizeof(double));
    ll_joint_destroy(j);
    ll_joint_destroy(again);
    free(few);
    free(r);
}

static void refuse(size_t n, size_t rank, const double *v, size_t count, const char *says)
{
    ll_joint *j;
    double   *own = ll_new(count, sizeof *own);
    memcpy(own, v, count * sizeof *own);
    assert_int_equal(ll_joint_create(n, rank, own, &j), LLAP_EFORMAT);
    assert_null(j);
    assert_non_null(strstr(llap_error_detail(), says));
}

static void refuses_what_is_no_law(void **state)
{
    (void)state;
    refuse(2, 0, (double[]){ 1, .5, .4, 1 }, 4, "0.4");
    refuse(2, 0, (double[]){ 1, .5, .5, 2 }, 4, "itself is 2");
    refuse(2, 0, (double[]){ 1, 1.5, 1.5, 1 }, 4, "1.5");
    refuse(3, 0, (double[]){ 1, .9, -.9, .9, 1, .9, -.9, .9, 1 }, 9, "not positive definite");
    refuse(2, 1, (double[]){ 1.1, .2 }, 2, "squares sum to 1.21");
    refuse(2, 9, (double[]){ 0 }, 1, "at most 8 factors");
    refuse(1, 0, (double[]){ 1 }, 1, "expected 2 to 256 series");
}

static llap_status fit_once(void *user)
{
    ll_joint         *j = NULL;
    const llap_status st = ll_joint_fit(user, ROWS, 3, NULL, &j);
    ll_joint_destroy(j);
    return st;
}

static void gives_memory_back(void **state)
{
    (void)state;
    float *r = residuals(3, 0.9);
    check_every_failed_allocation(fit_once, r);
    free(r);
}

static void what_is_not_known_stays_unknown(void **state)
{
    (void)state;
    assert_true(isnan(ll_joint_clip(NAN)));
    assert_true(ll_joint_clip(INFINITY) == 4 && ll_joint_clip(-5) == -4 &&
                ll_joint_clip(1.5) == 1.5f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_known_stays_unknown),
        cmocka_unit_test(finds_correlations),
        cmocka_unit_test(needs_common_values),
        cmocka_unit_test(repairs_contradictions),
        cmocka_unit_test(has_factors),
        cmocka_unit_test(refuses_what_is_no_law),
        cmocka_unit_test(gives_memory_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
