/* The numbers of a law. */
#include "check.h"

#include "anchor/chain/chain_kinds.h"
#include "anchor/model.h"
#include "predict/tables/numbers.h"

#include <math.h>

enum { N = 20000 };

/* An anchor of counts that are 0 but every so often. */
static ll_anchor_model *rare(const double *t, double *y, int every)
{
    for (int i = 0; i < N; i++) y[i] = i % every == 0 ? 1 + (i / every) % 3 : 0;
    const ll_series  s = { .n = N, .t = t, .y = y };
    ll_chain_opts    o = LL_CHAIN_DEFAULT;
    ll_chain        *chain = NULL;
    ll_anchor_model *m = NULL;
    o.climate = false;
    o.curve = LL_CURVE_COUNTS;
    o.values = (ll_chain_values){ .kind = LL_KIND_COUNT, .has_min = true, .week = 1 };
    CHECK_OK(ll_chain_fit(&s, 1, &o, &chain));
    const ll_anchor_kernel k = { .n_terms = 1, .a = { 1 }, .rho = { 1 }, .nu = .1 };
    const ll_anchor_spec   spec = { .context = 10, .horizon = 10 };
    CHECK_OK(ll_anchor_model_create(&spec, chain, &k, 200, &m));
    return m;
}

/* Where the process says no more than the law of all counts, their mean is its mean. */
static void mean_of_rare_counts(void **state)
{
    (void)state;
    static double t[N], y[N];
    for (int i = 0; i < N; i++) t[i] = i;
    for (int every = 2; every <= 2000; every *= 10) {
        ll_anchor_model *m = rare(t, y, every);
        ll_normal_scores s;
        double           number[2];
        const double     half = .5, mean = chain_count_mean(m->chain, 0, 5);
        const ll_law     law = { .mean = 0, .sd = 1, .climate = mean, .series = 0 };
        ll_normal_scores_init(&s, &half, 1);
        ll_law_numbers(m, 0, &law, &s, number);
        assert_true(mean > 0);
        assert_true(fabs(number[0] - mean) < 1e-4 * mean);
        assert_true(number[1] == floor(number[1]));
        ll_anchor_model_destroy(m);
    }
}

/* As a file may have it. */
static void no_counts_have_no_mean(void **state)
{
    (void)state;
    static double    t[N], y[N];
    const double     half = .5, bad[][2] = { { NAN, 1 }, { 0, INFINITY }, { INFINITY, 1 } };
    ll_normal_scores s;
    for (int i = 0; i < N; i++) t[i] = i;
    ll_anchor_model *m = rare(t, y, 20);
    ll_normal_scores_init(&s, &half, 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const ll_law law = { .mean = bad[i][0], .sd = bad[i][1], .climate = 1, .series = 0 };
        double       number[2];
        ll_law_numbers(m, 0, &law, &s, number); /* ends */
        assert_true(isnan(number[0]) || number[0] >= 0);
    }
    ll_anchor_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(mean_of_rare_counts),
                                        cmocka_unit_test(no_counts_have_no_mean) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
