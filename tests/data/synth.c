#include "check.h"
#include "panel_equal.h"

#include "data/windows/split.h"
#include "oracles/naive.h"
#include "oracles/synth_oracle.h"

static const int64_t first_var = 0;

static void panels_are_as_lossy_as_asked(void **state)
{
    (void)state;
    ll_synth_opts o = LL_SYNTH_DEFAULT;
    ll_synth     *s;
    llap_panel   *p, *q;
    o.n_rows = 4000;
    o.gap_start = 0;
    CHECK_OK(ll_synth_create(&o, &s));
    CHECK_OK(ll_synth_panel(s, &p));
    CHECK_OK(ll_synth_panel(s, &q));
    CHECK_OK(ll_panel_check(p));
    assert_true(panel_equal(p, q)); /* the same bytes every time */
    llap_panel_destroy(q);
    assert_int_equal(p->n_entities, 6);
    assert_int_equal(p->n_vars, 3);
    const double all = 6 * 4000.0, rows = (double)p->n_rows;
    assert_true(fabs(rows / all - 0.9) < 5 * sqrt(0.09 / all));
    int dead = 0;
    for (int64_t e = 0; e < 6; e++)
        for (int64_t v = 0; v < 3; v++) {
            int64_t seen = 0, last = p->start[e];
            for (int64_t r = p->start[e]; r < p->start[e + 1]; r++)
                if (ll_panel_observed(p, r, v)) seen++, last = r;
            if (last < p->start[e + 1] - 60) dead++; /* 60 lost cells in a row by chance: 1e-60 */
            else
                assert_true(fabs((double)seen / (double)(p->start[e + 1] - p->start[e]) - 0.9) <
                            0.025);
        }
    assert_in_range(dead, 1, 6);
    for (int64_t r = p->start[0] + 1; r < p->start[1]; r++) {
        const double h = ll_synth_hours(p->time[r]);
        assert_true(fabs(h - nearbyint(h)) <= 0.2 + 1e-9);
    }
    llap_panel_destroy(p);
    ll_synth_destroy(s);
    o.gap_start = 0.02;
    o.row_loss = 0;
    o.n_rows = 40000;
    CHECK_OK(ll_synth_create(&o, &s));
    CHECK_OK(ll_synth_panel(s, &p));
    /* 49 rows on average until a gap of 13; 3870 of them are off by 0.0036 */
    assert_true(fabs((double)p->n_rows / 240000 - 49.0 / 62) < 5 * 0.0036);
    llap_panel_destroy(p);
    ll_synth_destroy(s);
}

static ll_synth_opts small(void)
{
    ll_synth_opts o = LL_SYNTH_DEFAULT;
    o.n_entities = 4;
    o.n_vars = 2;
    o.n_rows = 1500;
    return o;
}

/* The forecast errors of the oracle have the variance it says, at every lead, and no mean. */
static void the_oracle_is_calibrated(void **state)
{
    (void)state;
    enum { K = 40, H = 12 };
    double  z2[H] = { 0 }, z1 = 0, crps = 0, scale = 0;
    int64_t n[H] = { 0 }, total = 0;
    double  mean[H], variance[H];
    for (uint64_t seed = 1; seed <= 6; seed++) {
        ll_synth_opts  o = small();
        ll_synth      *s;
        llap_panel    *p;
        ll_windows    *w;
        ll_window_opts wo = { .context_rows = K,
                              .horizon_rows = H,
                              .stride_rows = 20,
                              .target = &first_var,
                              .n_targets = 1 };
        o.seed = seed;
        CHECK_OK(ll_synth_create(&o, &s));
        CHECK_OK(ll_synth_panel(s, &p));
        CHECK_OK(ll_windows_create(p, &wo, &w));
        for (int64_t i = 0; i < w->n; i++) {
            CHECK_OK(ll_synth_oracle(s, w, i, mean, variance));
            for (int h = 0; h < H; h++) {
                const int64_t row = ll_window_query(&w->at[i]) + h;
                if (!ll_panel_observed(p, row, 0)) continue;
                assert_true(variance[h] >= 0.99 * o.noise * o.noise);
                const double z = ((double)p->value[row * 2] - mean[h]) / sqrt(variance[h]);
                z1 += z;
                z2[h] += z * z;
                n[h]++;
                total++;
                crps += fabs((double)p->value[row * 2] - mean[h]);
                scale += sqrt(variance[h]);
            }
        }
        ll_windows_destroy(w);
        llap_panel_destroy(p);
        ll_synth_destroy(s);
    }
    assert_true(total > 10000);
    for (int h = 0; h < H; h++) /* windows of a stride overlap a little: twice the plain error */
        assert_true(fabs(z2[h] / (double)n[h] - 1) < 8 * sqrt(2.0 / (double)n[h]));
    assert_true(fabs(z1 / (double)total) < 0.1);
    /* mean |error| over mean deviation is sqrt(2 / pi) for Gaussians, up to the mix of scales */
    assert_true(fabs(crps / scale / sqrt(2 / 3.14159265358979) - 1) < 0.05);
}

/* Two points by hand; the own value without noise; nothing given gives the prior. */
static void conditionals_are_exact(void **state)
{
    (void)state;
    ll_synth_opts o = small();
    ll_synth     *s;
    double        mean[2], variance[2];
    CHECK_OK(ll_synth_create(&o, &s));
    const ll_synth_point a = { 1, 0, 10.5 }, b[2] = { { 1, 1, 14.25 }, { 2, 0, 10.5 } };
    const double         x = 3.0, noise = o.noise * o.noise;
    CHECK_OK(ll_synth_condition(s, &a, &x, 1, b, 2, mean, variance));
    for (int k = 0; k < 2; k++) {
        const double c = ll_synth_covariance(s, &a, &b[k]);
        const double v = ll_synth_covariance(s, &a, &a) + noise;
        const double m = ll_synth_mean(s, &b[k]) + c / v * (x - ll_synth_mean(s, &a));
        assert_true(fabs(mean[k] - m) < 1e-12);
        assert_true(fabs(variance[k] - (ll_synth_covariance(s, &b[k], &b[k]) + noise - c * c / v)) <
                    1e-12);
    }
    CHECK_OK(ll_synth_condition(s, NULL, NULL, 0, b, 2, mean, variance));
    assert_true(mean[0] == ll_synth_mean(s, &b[0]));
    ll_synth_destroy(s);
    o.noise = 0;
    CHECK_OK(ll_synth_create(&o, &s));
    CHECK_OK(ll_synth_condition(s, &a, &x, 1, &a, 1, mean, variance));
    assert_true(fabs(mean[0] - x) < 1e-12 && fabs(variance[0]) < 1e-12);
    const ll_synth_point twice[2] = { a, a };
    const double         xs[2] = { x, x };
    CHECK_FAIL(ll_synth_condition(s, twice, xs, 2, b, 1, mean, variance), LLAP_ENUMERIC,
               "point 1 is determined");
    ll_synth_destroy(s);
    o.jitter = 0.7;
    CHECK_FAIL(ll_synth_create(&o, &s), LLAP_EINVAL, "a time, period");
}

static llap_status make_all(void *user)
{
    (void)user;
    ll_synth_opts  o = small();
    ll_synth      *s = NULL;
    llap_panel    *p = NULL;
    ll_windows    *w = NULL;
    ll_window_opts wo = {
        .context_rows = 10, .horizon_rows = 2, .target = &first_var, .n_targets = 1
    };
    double mean[2], variance[2];
    o.n_rows = 50;
    llap_status st = ll_synth_create(&o, &s);
    if (st == LLAP_OK) st = ll_synth_panel(s, &p);
    if (st == LLAP_OK) st = ll_windows_create(p, &wo, &w);
    if (st == LLAP_OK) st = ll_synth_oracle(s, w, 0, mean, variance);
    ll_windows_destroy(w);
    llap_panel_destroy(p);
    ll_synth_destroy(s);
    return st;
}

static void failing_allocations_lose_nothing(void **state)
{
    (void)state;
    check_every_failed_allocation(make_all, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panels_are_as_lossy_as_asked),
        cmocka_unit_test(the_oracle_is_calibrated),
        cmocka_unit_test(conditionals_are_exact),
        cmocka_unit_test(failing_allocations_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
