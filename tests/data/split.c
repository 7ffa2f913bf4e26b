#include "random_panel.h"

#include "data/windows/split.h"

static const int64_t first_var = 0;

static ll_windows *windows_of(const llap_panel *p, int64_t context, int64_t horizon)
{
    ll_windows    *w;
    ll_window_opts o = {
        .context_rows = context, .horizon_rows = horizon, .target = &first_var, .n_targets = 1
    };
    CHECK_OK(ll_windows_create(p, &o, &w));
    return w;
}

static void counts_are_rounded_down_in_doubles(void **state)
{
    (void)state;
    static const int64_t expected[][4] = { { 90, 62, 9, 19 },    { 145, 101, 14, 30 },
                                           { 289, 202, 28, 59 }, { 10, 7, 1, 2 },
                                           { 4, 2, 1, 1 },       { 3, 2, 0, 1 },
                                           { 2, 1, 0, 1 },       { 1, 0, 0, 1 },
                                           { 0, 0, 0, 0 } };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        int64_t n[3];
        ll_split_counts(expected[i][0], 0.7, 0.1, n);
        assert_memory_equal(n, expected[i] + 1, sizeof n);
    }
}

/* The property that makes a test honest: target times of different parts are disjoint. */
static void no_part_sees_target_times_of_another(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        const random_shape s = { 5, 2, 200, seed % 2 == 0, 0.1, 0.4, 0.1 };
        llap_panel        *p = random_panel(seed, &s);
        ll_windows        *w = windows_of(p, 6, 1 + (int64_t)seed % 8);
        ll_split          *sp;
        CHECK_OK(ll_split_create(w, &LL_SPLIT_DEFAULT, &sp));
        assert_int_equal(sp->n[0] + sp->n[1] + sp->n[2] + sp->n[3], w->n);
        assert_true(sp->last_target[LL_PART_TRAIN] < sp->first_target[LL_PART_VAL]);
        assert_true(sp->last_target[LL_PART_VAL] < sp->first_target[LL_PART_TEST]);
        for (int64_t i = 0; i < w->n; i++) {
            const int64_t t0 = p->time[ll_window_query(&w->at[i])];
            const int64_t t1 = p->time[ll_window_last(&w->at[i])];
            const int     k = sp->part[i];
            if (k == LL_PART_PURGED)
                assert_true((t0 < sp->val_start && t1 >= sp->val_start) ||
                            (t0 < sp->test_start && t1 >= sp->test_start));
            else assert_true(t0 >= sp->first_target[k] && t1 <= sp->last_target[k]);
        }
        ll_split_destroy(sp);
        ll_windows_destroy(w);
        llap_panel_destroy(p);
    }
}

static void contiguous_parts_follow_one_another(void **state)
{
    (void)state;
    const random_shape s = { 6, 1, 60, true, 0, 0.3, 0 };
    llap_panel        *p = random_panel(5, &s);
    ll_windows        *w = windows_of(p, 4, 2);
    ll_split_opts      o = LL_SPLIT_DEFAULT;
    ll_split          *sp;
    o.kind = LL_SPLIT_CONTIGUOUS;
    CHECK_OK(ll_split_create(w, &o, &sp));
    int64_t n[3] = { 0 };
    for (int64_t i = 0; i < w->n; i++) {
        n[sp->part[i]]++;
        const bool last = i + 1 == w->n || w->at[i + 1].entity != w->at[i].entity;
        if (!last) assert_true(sp->part[i + 1] >= sp->part[i]);
        if (!last) continue;
        int64_t expected[3];
        ll_split_counts(n[0] + n[1] + n[2], 0.7, 0.1, expected);
        assert_memory_equal(n, expected, sizeof n);
        memset(n, 0, sizeof n);
    }
    assert_int_equal(sp->n[LL_PART_PURGED], 0);
    ll_split_destroy(sp);
    ll_windows_destroy(w);
    llap_panel_destroy(p);
}

static void entities_are_dealt_whole(void **state)
{
    (void)state;
    const random_shape s = { 16, 1, 30, true, 0, 0, 0 };
    llap_panel        *p = random_panel(6, &s);
    ll_windows        *w = windows_of(p, 4, 2);
    ll_split_opts      o = LL_SPLIT_DEFAULT;
    int                different = 0;
    uint8_t            before[16] = { 0 };
    o.kind = LL_SPLIT_BY_ENTITY;
    for (o.seed = 0; o.seed < 5; o.seed++) {
        ll_split *a, *b;
        int64_t   n[3] = { 0 };
        uint8_t   of[16];
        CHECK_OK(ll_split_create(w, &o, &a));
        CHECK_OK(ll_split_create(w, &o, &b));
        assert_memory_equal(a->part, b->part, (size_t)w->n);
        for (int64_t i = 0; i < w->n; i++) {
            const int32_t e = w->at[i].entity;
            if (i == 0 || e != w->at[i - 1].entity) n[of[e] = a->part[i]]++;
            assert_int_equal(a->part[i], of[e]);
        }
        assert_int_equal(n[0], 11); /* floor(0.7 * 16), floor(0.1 * 16) */
        assert_int_equal(n[1], 1);
        assert_int_equal(n[2], 4);
        different += memcmp(before, of, sizeof of) != 0;
        memcpy(before, of, sizeof of);
        ll_split_destroy(a);
        ll_split_destroy(b);
    }
    assert_true(different >= 4);
    ll_windows_destroy(w);
    llap_panel_destroy(p);
}

/* One window an entity and span, its first; gaps of one entity do not move the others, nor it for
 * longer than the span in which they end. */
static void thinned_windows_end_together(void **state)
{
    (void)state;
    enum { SPAN = 7 };
    const random_shape s = { 5, 1, 900, true, 0, 0.7, 0 };
    llap_panel        *p = random_panel(11, &s);
    ll_windows        *w = windows_of(p, 6, 2);
    ll_split          *all, *sp;
    const int64_t      step = p->time[1] - p->time[0];
    int64_t            begin = INT64_MAX, kept = 0, together = 0;
    CHECK_OK(ll_split_create(w, &LL_SPLIT_DEFAULT, &all));
    CHECK_OK(ll_split_create(w, &LL_SPLIT_DEFAULT, &sp));
    ll_split_thin(sp, w, LL_PART_TEST, SPAN * step, false);
    for (int64_t i = 0; i < w->n; i++)
        if (all->part[i] == LL_PART_TEST && ll_window_end(w, &w->at[i]) < begin)
            begin = ll_window_end(w, &w->at[i]);
    for (int64_t i = 0; i < w->n; i++) {
        bool first = true; /* of its entity in its span */
        for (int64_t k = 0; k < i; k++)
            first &= w->at[k].entity != w->at[i].entity || all->part[k] != LL_PART_TEST ||
                     (ll_window_end(w, &w->at[k]) - begin) / (SPAN * step) !=
                         (ll_window_end(w, &w->at[i]) - begin) / (SPAN * step);
        if (all->part[i] != LL_PART_TEST) assert_int_equal(sp->part[i], all->part[i]);
        else assert_int_equal(sp->part[i], first ? LL_PART_TEST : LL_PART_PURGED);
        kept += sp->part[i] == LL_PART_TEST;
        together += sp->part[i] == LL_PART_TEST &&
                    (ll_window_end(w, &w->at[i]) - begin) % (SPAN * step) == 0;
    }
    assert_true(kept == sp->n[LL_PART_TEST] && kept > 30);
    assert_true(all->n[LL_PART_TEST] - kept == sp->n[LL_PART_PURGED] - all->n[LL_PART_PURGED]);
    assert_true(together < kept && together > kept / 3);
    /* Spans of their own, longer than any record: one window each, the first. */
    int64_t entities = 0;
    for (int64_t i = 0; i < w->n; i++) { /* sp: now those of which one stays */
        const bool test = all->part[i] == LL_PART_TEST;
        bool       first = test;
        for (int64_t k = 0; k < i && first; k++)
            first = all->part[k] != LL_PART_TEST || w->at[k].entity != w->at[i].entity;
        sp->part[i] = first;
        entities += first;
    }
    ll_split_thin(all, w, LL_PART_TEST, 1000 * step, true);
    for (int64_t i = 0; i < w->n; i++) assert_int_equal(all->part[i] == LL_PART_TEST, sp->part[i]);
    assert_true(entities == all->n[LL_PART_TEST] && entities > 1);
    ll_split_destroy(all);
    ll_split_destroy(sp);
    ll_windows_destroy(w);
    llap_panel_destroy(p);
}

static void an_empty_part_is_an_error(void **state)
{
    (void)state;
    const random_shape s = { 1, 1, 90, true, 0, 0, 0 };
    llap_panel        *p = random_panel(2, &s);
    ll_windows        *w = windows_of(p, 4, 10); /* a validation part shorter than the horizon */
    ll_split          *sp;
    CHECK_FAIL(ll_split_create(w, &LL_SPLIT_DEFAULT, &sp), LLAP_EINVAL, "shorten the horizon");
    ll_split_opts o = LL_SPLIT_DEFAULT;
    o.kind = LL_SPLIT_BY_ENTITY;
    CHECK_FAIL(ll_split_create(w, &o, &sp), LLAP_EINVAL, "too few entities");
    o = LL_SPLIT_DEFAULT;
    o.train = 0.95;
    CHECK_FAIL(ll_split_create(w, &o, &sp), LLAP_EINVAL, "0.95 for training");
    ll_windows_destroy(w);
    w = windows_of(p, 400, 10);
    CHECK_FAIL(ll_split_create(w, &LL_SPLIT_DEFAULT, &sp), LLAP_EINVAL, "0 different times");
    ll_windows_destroy(w);
    llap_panel_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_rounded_down_in_doubles),
        cmocka_unit_test(no_part_sees_target_times_of_another),
        cmocka_unit_test(contiguous_parts_follow_one_another),
        cmocka_unit_test(entities_are_dealt_whole),
        cmocka_unit_test(thinned_windows_end_together),
        cmocka_unit_test(an_empty_part_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
