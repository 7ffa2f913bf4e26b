#include "random_panel.h"

#include "data/windows/missing.h"

static const int64_t first_var = 0;

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

/* Days counted one by one, slowly. */
static void thin_days_are_dropped(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        const random_shape s = { 6, 1, 200, true, 0.05, 0.2, 0 };
        llap_panel        *p = random_panel(seed, &s);
        const int64_t      day = 24 * hour_ns, origin = (int64_t)seed * -5 * hour_ns;
        const double       share = 0.1 * (double)(seed % 11);
        ll_window_opts     o = {
                .context_rows = 10, .horizon_rows = 3, .target = &first_var, .n_targets = 1
        };
        ll_windows *all, *w;
        int64_t     dropped, n = 0;
        CHECK_OK(ll_windows_create(p, &o, &all));
        CHECK_OK(ll_windows_create(p, &o, &w));
        CHECK_OK(ll_drop_thin_days(w, share, day, origin, &dropped));
        for (int64_t i = 0; i < all->n; i++) {
            bool          here[6] = { 0 };
            int           entities = 0;
            const int64_t d =
                (int64_t)floor((double)(ll_window_end(all, &all->at[i]) - origin) / (double)day);
            for (int64_t j = 0; j < all->n; j++)
                if ((int64_t)floor((double)(ll_window_end(all, &all->at[j]) - origin) /
                                   (double)day) == d)
                    here[all->at[j].entity] = true;
            for (int e = 0; e < 6; e++) entities += here[e];
            if (entities < (int)ceil(share * 6)) continue;
            assert_true(n < w->n);
            assert_int_equal(w->at[n].first, all->at[i].first);
            assert_int_equal(w->at[n].entity, all->at[i].entity);
            n++;
        }
        assert_int_equal(n, w->n);
        assert_int_equal(dropped, all->n - w->n);
        ll_windows_destroy(all);
        ll_windows_destroy(w);
        llap_panel_destroy(p);
    }
}

static void imputation_keeps_some_and_hides_some(void **state)
{
    (void)state;
    enum { T = 24, E = 3 };
    const ll_rng r = ll_rng_make(3, LL_STREAM_TEST, 0, 0, 0);
    int64_t      n_kept[3] = { 0 }, n_units[3] = { 0 };
    for (uint64_t id = 0; id < 2000; id++)
        for (int kind = 0; kind < 3; kind++) {
            uint8_t             obs[T * E], kept[T * E], again[T * E];
            const float         share = id % 10 == 0 ? 0.02f : 0.6f;
            ll_impute_mask_opts o = LL_IMPUTE_DEFAULT;
            int64_t             units = 0, kept_units = 0;
            o.kind = (ll_impute_kind)kind;
            for (int i = 0; i < T * E; i++)
                obs[i] = ll_rng_uniform(&r, id * 1000 + (uint64_t)i) < share;
            const bool ok = ll_impute_mask(&o, id, T, E, obs, kept);
            (void)ll_impute_mask(&o, id, T, E, obs, again);
            assert_memory_equal(kept, again, sizeof kept);
            for (int t = 0; t < T; t++) {
                int any = 0, shown = 0;
                for (int e = 0; e < E; e++) {
                    any += obs[t * E + e];
                    shown += kept[t * E + e];
                    assert_true(!kept[t * E + e] || obs[t * E + e]);
                }
                if (kind < LL_IMPUTE_ENTRIES) { /* all of a step, or nothing */
                    assert_true(shown == 0 || shown == any);
                    units += any > 0;
                    kept_units += shown > 0;
                    if (kind == LL_IMPUTE_REGULAR && kept_units > 1 && shown > 0)
                        assert_int_equal(t % 4, 0);
                } else {
                    units += any;
                    kept_units += shown;
                }
            }
            assert_int_equal(ok, units >= 2);
            if (ok) assert_true(kept_units >= 1 && kept_units < units);
            else assert_int_equal(kept_units, 0);
            if (id % 10 != 0) {
                n_units[kind] += units;
                n_kept[kind] += kept_units;
            }
        }
    for (int kind = 1; kind < 3; kind++) {
        const double share = (double)n_kept[kind] / (double)n_units[kind];
        const double deviation = sqrt(0.7 * 0.3 / (double)n_units[kind]);
        assert_true(fabs(share - 0.7) < 5 * deviation);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hiding_takes_the_share_asked_for),
        cmocka_unit_test(thin_days_are_dropped),
        cmocka_unit_test(imputation_keeps_some_and_hides_some),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
