/* Ways to the same chain that are shorter: windows without glitches. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(glitches_are_those_of_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
