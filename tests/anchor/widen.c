/* A chain widened to all series is that which was fitted to them, where the sample was all of them;
 * a single one gets what it would have got among the others. */
#include "check.h"

#include "anchor/chain/chain.h"
#include "base/rng/rng.h"

#include <string.h>

enum { SERIES = 7, ROWS = 240 };

static double    t[SERIES][ROWS], y[SERIES][ROWS];
static ll_series series[SERIES];

static void draw(ll_curve curve)
{
    const ll_rng rng = ll_rng_make(5, LL_STREAM_TEST, 0, 0, 0);
    uint64_t     k = 0;
    for (int e = 0; e < SERIES; e++) {
        for (int i = 0; i < ROWS; i++) {
            const double x = 2 * (double)ll_rng_uniform(&rng, k++);
            t[e][i] = i * 3.0 + e;
            y[e][i] = curve == LL_CURVE_COUNTS ? floor(3 * x + e) : (e + 1) * (x + 0.1) + e;
            if (i % 11 == 0) y[e][i] = NAN;
            if (curve == LL_CURVE_TAILS && i == 100) y[e][i] = 1e4; /* a glitch */
        }
        series[e] = (ll_series){ .n = ROWS, .t = t[e], .y = y[e] };
    }
    for (int i = 0; i < ROWS; i++) y[SERIES - 1][i] = NAN; /* nothing is known of the last */
}

static ll_chain_opts options(ll_curve curve)
{
    ll_chain_opts o = LL_CHAIN_DEFAULT;
    o.curve = curve;
    o.climate = curve != LL_CURVE_COUNTS;
    o.one_climate = true;
    o.gap = 3;
    o.values = (ll_chain_values){ .min = -INFINITY, .max = INFINITY, .week = 168 };
    if (curve == LL_CURVE_COUNTS) o.values.kind = LL_KIND_COUNT;
    return o;
}

static void equal(const double *a, const double *b, size_t n)
{
    assert_int_equal(a == NULL, b == NULL);
    for (size_t i = 0; a != NULL && i < n; i++) assert_true(a[i] == b[i]);
}

static void widened_is_fitted(void **state)
{
    (void)state;
    const ll_curve curves[] = { LL_CURVE_TAILS, LL_CURVE_LOG, LL_CURVE_COUNTS };
    for (int k = 0; k < 3; k++) {
        const ll_chain_opts o = options(curves[k]);
        ll_chain           *all, *some;
        draw(curves[k]);
        CHECK_OK(ll_chain_fit(series, SERIES, &o, &all));
        CHECK_OK(ll_chain_fit(series, SERIES, &o, &some));
        CHECK_OK(ll_chain_widen(some, SERIES));
        for (size_t e = 0; e < SERIES; e++) CHECK_OK(ll_chain_take(some, e, &series[e]));
        equal(all->mu, some->mu, SERIES + 1);
        equal(all->sd, some->sd, SERIES + 1);
        equal(all->y_mu, some->y_mu, SERIES + 1);
        equal(all->y_sd, some->y_sd, SERIES + 1);
        equal(all->low, some->low, SERIES + 1);
        equal(all->high, some->high, SERIES + 1);
        equal(all->glitch, some->glitch, SERIES + 1);
        equal(all->rate, some->rate, SERIES + 1);
        for (size_t e = 0; e <= SERIES; e++)
            for (double h = 0; h < 400; h += 7)
                assert_true(ll_chain_climate(all, e, h) == ll_chain_climate(some, e, h));
        ll_chain_destroy(all);
        ll_chain_destroy(some);
    }
}

static llap_status widen_one(void *user)
{
    const ll_chain_opts o = options(LL_CURVE_LOG);
    ll_chain           *c = NULL;
    (void)user;
    llap_status st = ll_chain_fit(series, 3, &o, &c);
    if (st == LLAP_OK) st = ll_chain_widen(c, SERIES);
    if (st == LLAP_OK) st = ll_chain_take(c, 4, &series[4]);
    ll_chain_destroy(c);
    return st;
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    draw(LL_CURVE_LOG);
    check_every_failed_allocation(widen_one, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widened_is_fitted),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
