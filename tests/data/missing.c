#include "random_panel.h"

#include "data/windows/missing.h"

static void hiding_takes_the_share_asked_for(void **state)
{
    (void)state;
    enum { N = 500 };
    uint8_t      before[N], obs[N], again[N];
    float        value[N];
    int          hits[N] = { 0 };
    const ll_rng r = ll_rng_make(1, LL_STREAM_TEST, 0, 0, 0);
    int64_t      count = 0;
    for (int i = 0; i < N; i++) count += before[i] = ll_rng_uniform(&r, (uint64_t)i) < 0.8f;
    for (int64_t start = 0; start < 400; start++) {
        const double rate = 0.3;
        memcpy(obs, before, N);
        memcpy(again, before, N);
        for (int i = 0; i < N; i++) value[i] = 1;
        ll_hide_cells(1337, "station", start, rate, N, obs, value);
        int64_t hidden = 0;
        for (int i = 0; i < N; i++) {
            const bool hit = before[i] && !obs[i];
            assert_true(!obs[i] || before[i]);
            assert_true(value[i] == (hit ? 0.0f : 1.0f));
            hidden += hit;
            hits[i] += hit;
        }
        assert_int_equal(hidden, (int64_t)floor(rate * (double)count));
        ll_hide_cells(1337, "station", start, rate, N, again, value);
        assert_memory_equal(obs, again, N);
        ll_hide_cells(1337, "statiom", start, rate, N, again, value); /* hides more: other cells */
        assert_memory_not_equal(obs, again, N);
    }
    /* 400 draws of 0.3: 120 +- 9.2; over 400 cells the extremes stay within 5 deviations. */
    for (int i = 0; i < N; i++)
        if (before[i]) assert_true(hits[i] > 120 - 46 && hits[i] < 120 + 46);
    memcpy(obs, before, N);
    ll_hide_cells(1, "x", 0, 0.0, N, obs, value);
    assert_memory_equal(obs, before, N);
    memset(obs, 0, N); /* nothing to hide */
    ll_hide_cells(1, "x", 0, 0.9, N, obs, value);
}

static void imputation_keeps_some_and_hides_some(void **state)
{
    (void)state;
    enum { T = 24 };
    const ll_rng r = ll_rng_make(3, LL_STREAM_TEST, 0, 0, 0);
    int64_t      sum_kept = 0, sum_observed = 0;
    for (uint64_t id = 0; id < 4000; id++) {
        uint8_t             obs[T], kept[T], again[T];
        const float         share = id % 20 < 2 ? 0.06f : 0.9f;
        ll_impute_mask_opts o = LL_IMPUTE_DEFAULT;
        int64_t             observed = 0, n_kept = 0, off_grid = 0;
        if (id % 2 == 0) o.kind = LL_IMPUTE_REGULAR;
        for (int t = 0; t < T; t++) obs[t] = ll_rng_uniform(&r, id * 1000 + (uint64_t)t) < share;
        const bool ok = ll_impute_mask(&o, id, T, obs, kept);
        (void)ll_impute_mask(&o, id, T, obs, again);
        assert_memory_equal(kept, again, sizeof kept);
        for (int t = 0; t < T; t++) {
            assert_true(!kept[t] || obs[t]);
            observed += obs[t];
            n_kept += kept[t];
            off_grid += kept[t] && t % 4 != 0;
        }
        assert_int_equal(ok, observed >= 2);
        if (ok) assert_true(n_kept >= 1 && n_kept < observed);
        else assert_int_equal(n_kept, 0);
        if (o.kind == LL_IMPUTE_REGULAR) assert_true(off_grid == 0 || n_kept == 1);
        if (o.kind == LL_IMPUTE_RANDOM && id % 20 >= 2) {
            sum_observed += observed;
            sum_kept += n_kept;
        }
    }
    const double deviation = sqrt(0.7 * 0.3 / (double)sum_observed);
    assert_true(fabs((double)sum_kept / (double)sum_observed - 0.7) < 5 * deviation);
}

/* Where the draws would hide nothing, or everything. */
static void imputation_mends_extreme_rows(void **state)
{
    (void)state;
    enum { T = 6 };
    static const double low[T] = { 0 }, high[T] = { .9, .9, .9, .9, .9, .9 };
    static const struct {
        uint8_t        observed[T];
        ll_impute_kind kind;
        int64_t        every;
        const double  *draw;
        bool           ok;
        uint8_t        kept[T];
    } row[] = {
        { { 0, 1, 1, 0, 1, 0 }, LL_IMPUTE_RANDOM, 4, low, true, { 0, 1, 1, 0, 0, 0 } },
        { { 0, 1, 1, 0, 1, 0 }, LL_IMPUTE_RANDOM, 4, high, true, { 0, 1, 0, 0, 0, 0 } },
        { { 0, 1, 1, 0, 1, 0 }, LL_IMPUTE_REGULAR, 1, NULL, true, { 0, 1, 1, 0, 0, 0 } },
        { { 0, 1, 1, 0, 0, 1 }, LL_IMPUTE_REGULAR, 4, NULL, true, { 0, 1, 0, 0, 0, 0 } },
        { { 1, 1, 0, 0, 1, 0 }, LL_IMPUTE_REGULAR, 4, NULL, true, { 1, 0, 0, 0, 1, 0 } },
        { { 0, 0, 1, 0, 0, 0 }, LL_IMPUTE_RANDOM, 4, low, false, { 0 } },
        { { 0, 0, 0, 0, 0, 0 }, LL_IMPUTE_RANDOM, 4, high, false, { 0 } },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint8_t             kept[T];
        ll_impute_mask_opts o = LL_IMPUTE_DEFAULT;
        o.kind = row[i].kind;
        o.every = row[i].every;
        o.draw = row[i].draw;
        assert_int_equal(ll_impute_mask(&o, 1, T, row[i].observed, kept), row[i].ok);
        assert_memory_equal(kept, row[i].kept, sizeof kept);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hiding_takes_the_share_asked_for),
        cmocka_unit_test(imputation_keeps_some_and_hides_some),
        cmocka_unit_test(imputation_mends_extreme_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
