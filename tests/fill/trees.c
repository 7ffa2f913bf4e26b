/* Boosted trees: they find a step and a slope, know what missing means, and stop in time. */
#include "fill/trees.h"
#include "base/rng/rng.h"

#include "check.h"

#include <omp.h>
#include <string.h>

enum { N = 4000, F = 3 };

static float   x[N * F];
static double  y[N], weight[N];
static uint8_t role[N];

static float draw(uint64_t what, uint64_t i)
{
    const ll_rng r = ll_rng_make(12, LL_STREAM_TEST, what, 0, 0);
    return ll_rng_normal(&r, i);
}

static double truth(const float *row)
{
    return isnan(row[0]) ? 3 : (row[0] > 0.5f ? 2 : -1) + 0.5 * (double)row[1];
}

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < N; i++) {
        for (int f = 0; f < F; f++) x[i * F + f] = draw((uint64_t)f, (uint64_t)i);
        if (i % 7 == 0) x[i * F] = NAN;
        y[i] = truth(x + i * F) + 0.3 * (double)draw(F, (uint64_t)i);
        weight[i] = 1;
        role[i] = i % 5 == 0 ? LL_TREES_STOP : LL_TREES_LEARN;
    }
    return 0;
}

static const ll_trees_data data = { N, F, x, y, weight, role, { 0 } };

static void they_learn(void **state)
{
    (void)state;
    for (int loss = 0; loss < 2; loss++) {
        ll_trees t;
        double   off = 0;
        CHECK_OK(ll_trees_fit(&data, (ll_trees_loss)loss, 0, 1, &t));
        assert_true(t.n > 20 && t.n <= LL_TREES_MOST);
        for (int i = 0; i < N; i++) off += fabs(ll_trees_at(&t, x + i * F) - truth(x + i * F)) / N;
        if (!(off < 0.1)) fail_msg("off by %g", off);
        assert_float_equal(ll_trees_at(&t, (float[]){ NAN, 0, 0 }), 3, 0.2);
        ll_trees_deinit(&t);
    }
}

/* What cannot be learnt is left: no tree lowers the loss of the others for long. */
static void they_stop(void **state)
{
    (void)state;
    static double noise[N];
    ll_trees      t;
    for (int i = 0; i < N; i++) noise[i] = (double)draw(9, (uint64_t)i);
    const ll_trees_data d = { N, F, x, noise, weight, role, { 0 } };
    CHECK_OK(ll_trees_fit(&d, LL_TREES_MEAN, 0, 1, &t));
    assert_true(t.n < 60);
    ll_trees_deinit(&t);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    const int n = omp_get_max_threads();
    ll_trees  a, b;
    CHECK_OK(ll_trees_fit(&data, LL_TREES_MEDIAN, 40, 1, &a));
    omp_set_num_threads(n == 1 ? 3 : 1);
    CHECK_OK(ll_trees_fit(&data, LL_TREES_MEDIAN, 40, 1, &b));
    omp_set_num_threads(n);
    assert_int_equal(a.n, 40);
    assert_int_equal(b.n, 40);
    for (int i = 0; i < N; i++)
        assert_true(ll_trees_at(&a, x + i * F) == ll_trees_at(&b, x + i * F));
    ll_trees_deinit(&a);
    ll_trees_deinit(&b);
}

static void numbers_of_a_tree(void **state)
{
    (void)state;
    ll_trees t;
    ll_tree  back;
    float    n[LL_TREE_NUMBERS], bad[LL_TREE_NUMBERS];
    CHECK_OK(ll_trees_fit(&data, LL_TREES_MEDIAN, 1, 1, &t));
    ll_tree_numbers(&t.tree[0], n);
    assert_true(ll_tree_of(n, F, &back));
    const ll_trees again = { 1, &back, t.base };
    for (int i = 0; i < N; i++)
        assert_true(ll_trees_at(&again, x + i * F) == ll_trees_at(&t, x + i * F));
    const struct {
        int   at;
        float to;
    } wrong[] = { { 0, F },  { 0, 0.5f }, { 1, NAN },  { 3, 0 },
                  { 4, 14 }, { 4, -16 },  { 3, 1e9f }, { LL_TREE_NUMBERS - 1, INFINITY } };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memcpy(bad, n, sizeof bad);
        bad[wrong[i].at] = wrong[i].to;
        assert_false(ll_tree_of(bad, F, &back));
    }
    ll_trees_deinit(&t);
}

static llap_status fit_once(void *user)
{
    (void)user;
    ll_trees          t;
    const llap_status st = ll_trees_fit(&data, LL_TREES_MEAN, 2, 1, &t);
    ll_trees_deinit(&t);
    return st;
}

static void no_memory(void **state)
{
    (void)state;
    check_every_failed_allocation(fit_once, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_learn),
        cmocka_unit_test(they_stop),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(numbers_of_a_tree),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
