#include "base/sort.h"

#include "base/bisect.h"
#include "base/rng/rng.h"
#include "check.h"

#include <math.h>

enum { N = 300 };

/* Every length up to N, among them values that are equal, of both signs, and the largest. */
static void sorts_every_length(void **state)
{
    (void)state;
    const ll_rng r = ll_rng_make(5, LL_STREAM_TEST, 0, 0, 0);
    for (size_t n = 0; n <= N; n++) {
        double  d[N], sum = 0, before = 0;
        float   f[N];
        int64_t k[N];
        for (size_t i = 0; i < n; i++) {
            const int64_t x = (int64_t)ll_rng_below(&r, n * N + i, 100) - 50;
            k[i] = x == 49 ? INT64_MAX : x == -50 ? INT64_MIN : x;
            d[i] = x == 49 ? INFINITY : (double)x / 3;
            f[i] = x == -50 ? -INFINITY : (float)x / 3;
            if (x != 49) before += d[i];
        }
        ll_sort_doubles(d, n);
        ll_sort_floats(f, n);
        ll_sort_ints(k, n);
        for (size_t i = 0; i < n; i++) {
            if (isfinite(d[i])) sum += d[i];
            if (i > 0) assert_true(d[i - 1] <= d[i] && f[i - 1] <= f[i] && k[i - 1] <= k[i]);
        }
        assert_true(fabs(sum - before) < 1e-9);
    }
    ll_sort_doubles(NULL, 0);
}

/* Against counting one by one, of parts of an array, at its values, between and beyond them. */
static void places_are_found(void **state)
{
    (void)state;
    static const int64_t k[] = { INT64_MIN, -3, -3, 0, 7, 7, 7, 8, INT64_MAX, INT64_MAX };
    enum { MANY = sizeof k / sizeof *k };
    static const int64_t asked[] = { INT64_MIN, -4, -3, -2, 0, 6, 7, 8, 9, INT64_MAX };
    double               d[MANY];
    for (int i = 0; i < MANY; i++) d[i] = (double)k[i];
    for (int64_t first = 0; first <= MANY; first++)
        for (int64_t end = first; end <= MANY; end++)
            for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
                int64_t from = first, after = first;
                while (from < end && k[from] < asked[i]) from++;
                while (after < end && k[after] <= asked[i]) after++;
                assert_int_equal(ll_first_from(k, first, end, asked[i]), from);
                assert_int_equal(ll_first_after(k, first, end, asked[i]), after);
                assert_int_equal(ll_count_upto(d + first, (size_t)(end - first), (double)asked[i]),
                                 after - first);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_every_length),
        cmocka_unit_test(places_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
