/* Scores of single forecasts against versions that are slow and obvious. */
#include "check.h"

#include "base/crps.h"
#include "base/rng/rng.h"
#include "score/metric.h"

enum { MOST = 40 };

static double draw(uint64_t trial, uint64_t k)
{
    const ll_rng r = ll_rng_make(7, LL_STREAM_TEST, trial, 0, 0);
    return (double)ll_rng_normal(&r, k);
}

/* n normals in order, every third case rounded so that some are equal. */
static int64_t members(uint64_t trial, double *x)
{
    const int64_t n = 1 + (int64_t)(trial % MOST);
    for (int64_t k = 0; k < n; k++) {
        x[k] = draw(trial, (uint64_t)k);
        if (trial % 3 == 0) x[k] = round(2 * x[k]) / 2;
    }
    metric_sort(x, n);
    return n;
}

static double slow_crps(const double *x, int64_t n, double y, bool drawn)
{
    double away = 0, apart = 0;
    for (int64_t i = 0; i < n; i++) {
        away += fabs(x[i] - y) / (double)n;
        for (int64_t j = 0; j < n; j++) apart += fabs(x[i] - x[j]);
    }
    const double pairs = (double)n * (double)(drawn && n > 1 ? n - 1 : n);
    return away - 0.5 * apart / pairs;
}

static void crps_is_the_sum_over_all_pairs(void **state)
{
    (void)state;
    double x[MOST];
    for (uint64_t t = 0; t < 300; t++) {
        const int64_t n = members(t, x);
        const double  y = 2 * draw(t, 100);
        for (int drawn = 0; drawn < 2; drawn++)
            assert_true(fabs(ll_crps(x, n, y, drawn) - slow_crps(x, n, y, drawn)) < 1e-13);
        assert_true(n > 1 || fabs(ll_crps(x, n, y, true) - fabs(y - x[0])) < 1e-15);
    }
}

/* The fair form expects the CRPS of the law, whatever the number of draws; of a standard normal at
 * 0.5 that is 0.5 (2 Phi - 1) + 2 phi - 1 / sqrt(pi). */
static void the_fair_form_does_not_depend_on_the_number_of_draws(void **state)
{
    (void)state;
    enum { TRIALS = 40000 };
    const double pi = acos(-1.0), y = 0.5;
    const double truth =
        y * erf(y / sqrt(2.0)) + 2 * exp(-0.5 * y * y) / sqrt(2 * pi) - 1 / sqrt(pi);
    for (int64_t n = 2; n <= 8; n += 3) {
        double sum = 0, square = 0;
        for (uint64_t t = 0; t < TRIALS; t++) {
            double x[8];
            for (int64_t k = 0; k < n; k++) x[k] = draw(1000 + t, (uint64_t)k);
            metric_sort(x, n);
            const double s = ll_crps(x, n, y, true);
            sum += s / TRIALS;
            square += s * s / TRIALS;
        }
        assert_true(fabs(sum - truth) < 4 * sqrt((square - sum * sum) / TRIALS));
    }
}

static void drawn_pairs_are_the_reference_estimator(void **state)
{
    (void)state;
    const double  x[3] = { 3, -1, 1 };
    const int64_t i[2] = { 0, 1 }, j[2] = { 1, 2 };
    assert_true(fabs(metric_crps_pairs(x, 3, 0, i, j, 2) - (5.0 / 3 - 0.5 * 3)) < 1e-15);
    int64_t       a[MOST * MOST], b[MOST * MOST], n_pairs = 0;
    double        z[MOST];
    const int64_t n = members(25, z);
    for (int64_t k = 0; k < n; k++)
        for (int64_t l = 0; l < k; l++) a[n_pairs] = k, b[n_pairs++] = l;
    assert_true(fabs(metric_crps_pairs(z, n, 0.3, a, b, n_pairs) - slow_crps(z, n, 0.3, true)) <
                1e-13);
}

static void quantiles_stand_where_they_should(void **state)
{
    (void)state;
    const double x[4] = { 1, 2, 4, 8 };
    assert_true(metric_quantile(x, 4, 0.2, true) == 1 && metric_quantile(x, 4, 0.8, true) == 8);
    assert_true(isnan(metric_quantile(x, 4, 0.19, true)));
    assert_true(isnan(metric_quantile(x, 4, 0.81, true)));
    assert_true(fabs(metric_quantile(x, 4, 0.5, true) - 3) < 1e-12);
    assert_true(fabs(metric_quantile(x, 4, 0.7, true) - 6) < 1e-12);
    assert_true(metric_quantile(x, 4, 0.125, false) == 1);
    assert_true(isnan(metric_quantile(x, 4, 0.12, false)));
    assert_true(fabs(metric_quantile(x, 4, 0.5, false) - 3) < 1e-12);
    assert_true(fabs(metric_quantile(x, 4, 0.75, false) - 6) < 1e-12);
    assert_true(isnan(metric_quantile(x, 1, 0.4, false)) && metric_quantile(x, 1, 0.5, false) == 1);
    assert_true(metric_quantile_inner(x, 4, 0.5) == 3 && metric_quantile_inner(x, 4, 1.0) == 8);
    assert_true(fabs(metric_quantile_inner(x, 4, 0.1) - 1.3) < 1e-12);
    assert_true(metric_median(x, 4) == 3 && metric_median(x, 3) == 2);
    /* No member was finite: no answer, and nothing in front of the array is read. */
    assert_true(isnan(metric_median(x, 0)) && isnan(metric_quantile_inner(x, 0, 0.5)));
    assert_true(metric_mean(x, 4) == 3.75);
    assert_true(fabs(metric_pinball(2, 5, 0.9) - 2.7) < 1e-15);
    assert_true(fabs(metric_pinball(5, 2, 0.9) - 0.3) < 1e-15);
}

/* A draw from the same law lies in the p interval with probability p. */
static void intervals_hold(void **state)
{
    (void)state;
    enum { TRIALS = 10000, N = 39 };
    int inside = 0;
    for (uint64_t t = 0; t < TRIALS; t++) {
        double x[N], y = draw(t, N);
        for (int k = 0; k < N; k++) x[k] = draw(t, (uint64_t)k);
        metric_sort(x, N);
        inside += y >= metric_quantile(x, N, 0.1, true) && y <= metric_quantile(x, N, 0.9, true);
    }
    assert_true(fabs(inside - 0.8 * TRIALS) < 5 * sqrt(0.16 * TRIALS));
}

static void the_energy_score_is_its_definition(void **state)
{
    (void)state;
    enum { PATHS = 7, QUERIES = 5 };
    double path[PATHS * QUERIES], y[QUERIES], away = 0, apart = 0;
    for (uint64_t k = 0; k < PATHS * QUERIES; k++) path[k] = draw(1, k);
    for (uint64_t q = 0; q < QUERIES; q++) y[q] = draw(2, q);
    y[3] = NAN;
    for (int i = 0; i < PATHS; i++)
        for (int j = -1; j < PATHS; j++) {
            double square = 0;
            for (int q = 0; q < QUERIES; q++) {
                const double other = j < 0 ? y[q] : path[j * QUERIES + q];
                if (q != 3) square += pow(path[i * QUERIES + q] - other, 2);
            }
            if (j < 0) away += sqrt(square) / PATHS;
            else apart += sqrt(square) / (PATHS * (PATHS - 1.0));
        }
    const double expected = (away - 0.5 * apart) / 2; /* four queries */
    assert_true(fabs(metric_energy(path, PATHS, QUERIES, y) - expected) < 1e-14);
    /* Of one query it is the fair CRPS. */
    double x[PATHS];
    memcpy(x, path, sizeof x);
    metric_sort(x, PATHS);
    assert_true(fabs(metric_energy(path, PATHS, 1, y) - ll_crps(x, PATHS, y[0], true)) < 1e-14);
    assert_true(isnan(metric_energy(path, PATHS, 1, y + 3)));
}

static void sorting_sorts(void **state)
{
    (void)state;
    static double x[3000];
    for (int64_t n = 0; n <= 3000; n = n < 30 ? n + 1 : 10 * n) {
        double sum = 0, after = 0;
        for (int64_t k = 0; k < n; k++) sum += x[k] = round(100 * draw(3, (uint64_t)k));
        metric_sort(x, n);
        for (int64_t k = 0; k < n; k++) {
            assert_true(k == 0 || x[k - 1] <= x[k]);
            after += x[k];
        }
        assert_true(sum == after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crps_is_the_sum_over_all_pairs),
        cmocka_unit_test(the_fair_form_does_not_depend_on_the_number_of_draws),
        cmocka_unit_test(drawn_pairs_are_the_reference_estimator),
        cmocka_unit_test(quantiles_stand_where_they_should),
        cmocka_unit_test(intervals_hold),
        cmocka_unit_test(the_energy_score_is_its_definition),
        cmocka_unit_test(sorting_sorts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
