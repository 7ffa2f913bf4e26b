/* Paths by one normal a query are of the joint law that the posterior has. */
#include "dense.h"

enum { READ = 12, QUERIES = 9 };

static void check_law(dice *d, ll_anchor_kernel k, const double *y)
{
    double t[READ], tq[QUERIES], one[QUERIES * QUERIES] = { 0 }, K[QUERIES * QUERIES];
    double cov[QUERIES * QUERIES], now = 0;
    for (int i = 0; i < READ; i++) t[i] = now += 2 * roll(d);
    for (int q = 0; q < QUERIES; q++) tq[q] = now += q == 3 ? 0.0 : 3 * roll(d);
    for (int q = 0; q < QUERIES; q++) one[q * QUERIES + q] = 1.0;
    const double last = tq[0];
    tq[0] = tq[5]; /* any order */
    tq[5] = last;
    const ll_anchor_window w = { .n_obs = READ, .t = t, .y = y, .n_query = QUERIES, .t_query = tq };
    ll_anchor_posterior   *p;
    CHECK_OK(ll_anchor_condition(&k, &w, &p));
    CHECK_OK(ll_anchor_covariance(p, LL_ANCHOR_NOISY, cov));
    CHECK_OK(ll_anchor_innovate(p, QUERIES, one, K)); /* row i: what normal i moves */
    for (int a = 0; a < QUERIES; a++)
        for (int b = 0; b < QUERIES; b++) {
            double sum = 0;
            for (int i = 0; i < QUERIES; i++) sum += K[i * QUERIES + a] * K[i * QUERIES + b];
            const double want =
                cov[a * QUERIES + b] / sqrt(cov[a * QUERIES + a] * cov[b * QUERIES + b]);
            assert_float_equal(sum, want, 1e-9);
        }
    CHECK_OK(ll_anchor_innovate(p, QUERIES, one, one)); /* in place */
    assert_memory_equal(one, K, sizeof K);
    ll_anchor_posterior_destroy(p);
}

static void has_the_joint_law(void **state)
{
    (void)state;
    dice d = { 7 };
    for (int i = 0; i < 60; i++) {
        ll_anchor_kernel k = roll_kernel(&d, 1e-2);
        double           y[READ];
        for (int r = 0; r < READ; r++) y[r] = roll_normal(&d) + (i % 3 == 0 && r > 6 ? 40.0 : 0.0);
        if (i % 4 == 1) {
            k.drift = LL_ANCHOR_SLOPE;
            k.start = 25, k.q = 0.01, k.v = 1e-4, k.damping = 0.01;
        }
        if (i % 3 == 0) k.monitor = 5; /* a level that was dormant wakes */
        check_law(&d, k, y);
    }
}

static void needs_readings_before(void **state)
{
    (void)state;
    const ll_anchor_kernel k = ll_anchor_kernel_hourly();
    const double           t[] = { 0, 2 }, y[] = { 1, 2 }, tq[] = { 1, 3 }, z[] = { 0, 0 };
    double                 out[2];
    const ll_anchor_window w = { .n_obs = 2, .t = t, .y = y, .n_query = 2, .t_query = tq };
    ll_anchor_posterior   *p;
    CHECK_OK(ll_anchor_condition(&k, &w, &p));
    assert_int_equal(ll_anchor_innovate(p, 1, z, out), LLAP_EINVAL);
    ll_anchor_posterior_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_joint_law),
        cmocka_unit_test(needs_readings_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
