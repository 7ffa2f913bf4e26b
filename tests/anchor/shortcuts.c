/* Ways to the same chain that are shorter: windows without glitches, and what another chain has
 * found already. */
#include "anchor/chain/chain.h"
#include "anchor/chain/glitch.h"
#include "base/sort.h"
#include "check.h"
#include "dense.h"

/* By the definition: medians of five observed values, the first and the last five at the ends. */
static bool is_glitch(const double *y, size_t n, size_t at, ll_glitch_rule rule)
{
    double x[64], five[5];
    size_t all = 0, own = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == at) own = all;
        if (!isnan(y[i])) x[all++] = y[i];
    }
    if (isnan(y[at]) || all < 5) return false;
    const size_t first = own < 2 ? 0 : own + 3 > all ? all - 5 : own - 2;
    memcpy(five, x + first, sizeof five);
    ll_sort_doubles(five, 5);
    const double grown = rule.top > 0 && five[2] > rule.top ? five[2] / rule.top : 1;
    const double limit = rule.limit * grown * (own + 2 >= all ? rule.end : 1);
    return fabs(y[at] - five[2]) > limit;
}

/* Also where the range of the values nearly is the limit, or ends have a smaller one. */
static void glitches_are_those_of_the_definition(void **state)
{
    (void)state;
    const double ends[] = { 0.5, 1, 3 };
    dice         d = { 31 };
    size_t       found = 0;
    for (int rep = 0; rep < 3000; rep++) {
        double       y[64], low = INFINITY, high = -INFINITY;
        bool         drop[64];
        const size_t n = 1 + (size_t)(roll(&d) * 40);
        for (size_t i = 0; i < n; i++) {
            y[i] = roll(&d) < 0.2 ? NAN : roll_normal(&d) + (roll(&d) < 0.05 ? 6 : 0);
            low = fmin(low, y[i]);
            high = fmax(high, y[i]);
        }
        const double         limits[] = { high - low, 0.999 * (high - low), 2, 5 };
        const ll_glitch_rule rule = { n > 5 && high > low ? limits[rep % 4] : 1, ends[rep % 3],
                                      rep % 5 == 0 ? 0.5 : 0 };
        ll_glitch_mark(y, n, rule, drop);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(drop[i], is_glitch(y, n, i, rule));
            found += drop[i];
        }
    }
    assert_true(found > 500);
}

/* A chain that takes over what an earlier one found of the same values is the one fitted alone. */
static void like_another_chain(void **state)
{
    (void)state;
    enum { N = 3000 };
    static double t[2][N], y[2][N];
    dice          d = { 12 };
    ll_series     s[2];
    for (int e = 0; e < 2; e++) {
        for (int i = 0; i < N; i++) {
            t[e][i] = i;
            y[e][i] = roll(&d) < .1 ? NAN : exp(.6 * roll_normal(&d) + .3 * sin(i * .26)) + e;
        }
        y[e][70] = 1e4;
        s[e] = (ll_series){ .n = N, .t = t[e], .y = y[e] };
    }
    const ll_curve curves[] = { LL_CURVE_TAILS, LL_CURVE_LOG };
    ll_chain_opts  o = LL_CHAIN_DEFAULT;
    ll_chain      *first = NULL;
    o.curve = LL_CURVE_TAILS;
    o.climate = false;
    CHECK_OK(ll_chain_fit(s, 2, &o, &first));
    for (int k = 0; k < 4; k++) {
        ll_chain *alone = NULL, *taken = NULL;
        o.curve = curves[k / 2];
        o.climate = k % 2 == 1;
        o.like = NULL;
        CHECK_OK(ll_chain_fit(s, 2, &o, &alone));
        o.like = first;
        CHECK_OK(ll_chain_fit(s, 2, &o, &taken));
        assert_true(alone->lambda == taken->lambda && alone->glitch_end == taken->glitch_end);
        assert_memory_equal(alone->knot, taken->knot, sizeof alone->knot);
        assert_memory_equal(alone->glitch, taken->glitch, 3 * sizeof(double));
        assert_true(alone->glitch[0] > 0 && alone->lambda != 0);
        for (int i = 0; i < 100; i++) {
            const double z = ll_chain_z(alone, 1, y[1][i]);
            assert_true(isnan(z) || ll_chain_u(alone, 1, i, z) ==
                                        ll_chain_u(taken, 1, i, ll_chain_z(taken, 1, y[1][i])));
        }
        ll_chain_destroy(alone);
        ll_chain_destroy(taken);
    }
    ll_chain_destroy(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(glitches_are_those_of_the_definition),
        cmocka_unit_test(like_another_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
