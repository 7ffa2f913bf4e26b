#include "panel_equal.h"
#include "panels.h"

#include "data/gaps.h"
#include "data/timeline.h"

static const int64_t second = 1000000000;

/* "time:x,y ..." of the first entity; o observed, f filled, - missing. */
static void show(const llap_panel *p, int64_t e, char *out, size_t room)
{
    size_t at = 0;
    out[0] = '\0';
    for (int64_t r = p->start[e]; r < p->start[e + 1] && at < room; r++) {
        at += (size_t)snprintf(out + at, room - at, "%s%lld:", r == p->start[e] ? "" : " ",
                               (long long)(p->time[r] / second));
        for (int64_t v = 0; v < p->n_vars && at < room; v++) {
            const char *mark = ll_panel_observed(p, r, v) ? "o"
                               : ll_panel_filled(p, r, v) ? "f"
                                                          : "-";
            if (*mark == '-') at += (size_t)snprintf(out + at, room - at, "%s-", v == 0 ? "" : ",");
            else
                at += (size_t)snprintf(out + at, room - at, "%s%g%s", v == 0 ? "" : ",",
                                       (double)p->value[r * p->n_vars + v], mark);
        }
    }
}

static void expect(const char *text, const ll_timeline_opts *o, const char *want)
{
    llap_panel *p = panel_of(text), *q;
    char        found[512];
    CHECK_OK(ll_timeline_apply(p, o, &q, NULL));
    CHECK_OK(ll_panel_check(q));
    if (q->n_entities > 0) show(q, 0, found, sizeof found);
    else snprintf(found, sizeof found, "nothing");
    assert_string_equal(found, want);
    llap_panel_destroy(p);
    llap_panel_destroy(q);
}

static const char two[] = "time,x,y\n0,1,\n4,2,20\n5,3,\n14,4,\n25,,50\n40,6,60\n";

static void nothing_asked_changes_nothing(void **state)
{
    (void)state;
    llap_panel *p = panel_of(two), *q;
    CHECK_OK(ll_timeline_apply(p, &LL_TIMELINE_DEFAULT, &q, NULL));
    assert_true(panel_equal(p, q));
    llap_panel_destroy(p);
    llap_panel_destroy(q);
}

static void values_go_to_their_bins(void **state)
{
    (void)state;
    ll_timeline_opts o = { .grid = LL_GRID_STEP, .step = 10 * second, .agg = LL_AGG_LAST };
    o.bin = LL_BIN_FLOOR;
    expect(two, &o, "0:3o,20o 10:4o,- 20:-,50o 30:-,- 40:6o,60o");
    o.bin = LL_BIN_NEAREST; /* 5 and 25 lie half way and go up */
    expect(two, &o, "0:2o,20o 10:4o,- 20:-,- 30:-,50o 40:6o,60o");
    o.bin = LL_BIN_EXACT;
    expect(two, &o, "0:1o,- 10:-,- 20:-,- 30:-,- 40:6o,60o");
    o.bin = LL_BIN_FLOOR;
    o.agg = LL_AGG_MEAN;
    expect(two, &o, "0:2o,20o 10:4o,- 20:-,50o 30:-,- 40:6o,60o");
    o.origin = 4 * second;
    expect(two, &o, "-6:1o,- 4:2.5o,20o 14:4o,- 24:-,50o 34:6o,60o");
    o.origin = 0;
    o.step = 3 * second; /* negative times round down too */
    expect("time,x\n-4,1\n-3,2\n-1,3\n", &o, "-6:1o -3:2.5o");
    o.bin = LL_BIN_EXACT;
    expect("time,x\n1,1\n2,2\n", &o, "nothing");
}

static void counts_say_what_went(void **state)
{
    (void)state;
    llap_panel        *p = panel_of(two), *q;
    ll_timeline_counts c;
    ll_timeline_opts   o = { .grid = LL_GRID_STEP,
                             .step = 10 * second,
                             .bin = LL_BIN_EXACT,
                             .fill = LL_FILL_GRID,
                             .row_min = 1,
                             .row_min_filled = true };
    CHECK_OK(ll_timeline_apply(p, &o, &q, &c));
    assert_int_equal(c.step, 10 * second);
    assert_int_equal(c.off_grid_cells, 5);
    assert_int_equal(c.dropped_rows, 4);
    assert_int_equal(c.filled_cells, 0);
    llap_panel_destroy(q);
    o.bin = LL_BIN_FLOOR;
    CHECK_OK(ll_timeline_apply(p, &o, &q, &c));
    assert_int_equal(c.merged_cells, 2);
    assert_int_equal(c.dropped_rows, 0);
    assert_int_equal(c.filled_cells, 4);
    llap_panel_destroy(q);
    llap_panel_destroy(p);
}

static void filling_keeps_the_masks_apart(void **state)
{
    (void)state;
    ll_timeline_opts o = { .fill = LL_FILL_GRID };
    expect(two, &o, "0:1o,- 4:2o,20o 5:3o,20f 14:4o,20f 25:4f,50o 40:6o,60o");
    o = (ll_timeline_opts){
        .grid = LL_GRID_STEP, .step = 10 * second, .bin = LL_BIN_EXACT, .fill = LL_FILL_GRID
    };
    expect("time,x,y\n0,1,\n7,2,7\n10,,10\n20,,\n", &o, "0:1o,- 10:1f,10o 20:1f,10f");
    o.fill = LL_FILL_BOTH; /* at 10 the 2 measured at 7 is known */
    expect("time,x,y\n0,1,\n7,2,7\n10,,10\n20,,\n", &o, "0:1o,- 10:2f,10o 20:2f,10f");
}

static void rows_are_filtered(void **state)
{
    (void)state;
    ll_timeline_opts o = { .row_min = 0.6 }; /* ceil(1.2) = 2 of 2 */
    expect(two, &o, "4:2o,20o 40:6o,60o");
    o.row_min = 0.5;
    expect(two, &o, "0:1o,- 4:2o,20o 5:3o,- 14:4o,- 25:-,50o 40:6o,60o");
    o = (ll_timeline_opts){ .row_min = 1, .fill = LL_FILL_GRID };
    expect(two, &o, "4:2o,20o 40:6o,60o");
    o.row_min_filled = true;
    expect(two, &o, "4:2o,20o 5:3o,20f 14:4o,20f 25:4f,50o 40:6o,60o");
    o = (ll_timeline_opts){ .row_min = 1, .row_min_present = true };
    expect("time,x,y\n0,1,\n1,,\n2,3,\n", &o, "0:1o,- 2:3o,-");
}

static const char three[] = "entity,time,x,y\n"
                            "a,0,1,\na,10,2,\na,20,3,\n"
                            "b,0,1,5\nb,10,,5\nb,20,,5\n"
                            "c,30,9,9\n";

static void entities_and_columns_are_chosen(void **state)
{
    (void)state;
    llap_panel        *p = panel_of(three), *q;
    ll_timeline_counts c;
    ll_timeline_opts   o = { .min_rows = 2, .columns = LL_COLUMNS_COMMON };
    CHECK_OK(ll_timeline_apply(p, &o, &q, &c));
    assert_int_equal(q->n_entities, 2);
    assert_int_equal(q->n_vars, 1);
    assert_string_equal(q->var[0], "x");
    assert_int_equal(c.dropped_entities, 1);
    assert_int_equal(c.dropped_vars, 1);
    llap_panel_destroy(q);
    o = (ll_timeline_opts){ .need = "y", .first = "y" };
    CHECK_OK(ll_timeline_apply(p, &o, &q, &c));
    assert_int_equal(q->n_entities, 2);
    assert_string_equal(q->entity[0], "b");
    assert_string_equal(q->var[0], "y");
    assert_true(q->value[0] == 5 && q->value[1] == 1);
    llap_panel_destroy(q);
    o = (ll_timeline_opts){ .min_span = 20 * second };
    CHECK_OK(ll_timeline_apply(p, &o, &q, &c));
    assert_int_equal(q->n_entities, 2);
    llap_panel_destroy(q);
    o = (ll_timeline_opts){ .entity_min = 0.6 };
    CHECK_OK(ll_timeline_apply(p, &o, &q, &c));
    assert_int_equal(q->n_entities, 2);
    assert_string_equal(q->entity[0], "b");
    llap_panel_destroy(q);
    o = (ll_timeline_opts){ .grid = LL_GRID_STEP, .step = 10 * second, .common_span = true };
    CHECK_OK(ll_timeline_apply(p, &o, &q, &c));
    for (int64_t e = 0; e < 3; e++) assert_int_equal(q->start[e + 1] - q->start[e], 4);
    llap_panel_destroy(q);
    o = (ll_timeline_opts){ .need = "z" };
    CHECK_FAIL(ll_timeline_apply(p, &o, &q, NULL), LLAP_EINVAL, "no variable 'z'");
    o = (ll_timeline_opts){ .grid = LL_GRID_STEP };
    CHECK_FAIL(ll_timeline_apply(p, &o, &q, NULL), LLAP_EINVAL, "step above 0");
    o = (ll_timeline_opts){ .grid = LL_GRID_STEP, .step = 1 };
    CHECK_FAIL(ll_timeline_apply(p, &o, &q, NULL), LLAP_ELIMIT, "take a longer step");
    assert_null(q);
    o.step = second / 1000000; /* 20 million rows and more for a handful */
    CHECK_FAIL(ll_timeline_apply(p, &o, &q, NULL), LLAP_ELIMIT, "far off");
    assert_null(q);
    llap_panel_destroy(p);
}

static void the_grid_is_suggested(void **state)
{
    (void)state;
    llap_panel *p = panel_of("time,x\n2020-01-01T00:00:00Z,1\n2020-01-01T01:00:00Z,1\n"
                             "2020-01-01T02:00:00Z,1\n2020-01-01T04:00:00Z,1\n");
    ll_gaps     g;
    CHECK_OK(ll_gaps_measure(p, &g));
    assert_int_equal(g.n, 3);
    assert_int_equal(g.usual, 3600 * second);
    assert_int_equal(g.grid, 3600 * second);
    assert_int_equal(g.most, 7200 * second);
    assert_true(fabs(g.usual_share - 2.0 / 3) < 1e-12 && g.multiple_share == 1);
    llap_panel_destroy(p);
    p = panel_of("minutes,x\n0,1\n31,1\n60,1\n93,1\n121,1\n");
    CHECK_OK(ll_gaps_measure(p, &g));
    assert_int_equal(g.grid, 1800 * second);
    llap_panel_destroy(p);
    p = panel_of("time,x\n2020-01-01T00:00Z,1\n2020-01-21T03:00Z,1\n2020-03-05T00:00Z,1\n"
                 "2020-04-10T05:00Z,1\n2020-05-16T09:00Z,1\n");
    CHECK_OK(ll_gaps_measure(p, &g));
    assert_int_equal(g.median, (36 * 24 + 5) * 3600 * second);
    assert_int_equal(g.grid, 36 * 86400 * second); /* each gap is there once: none is usual */
    g.n = 5;
    g.usual_share = 0.4;
    assert_int_equal(ll_gaps_grid(&g, &p->axis), g.usual);
    g.usual = 3600 * second; /* often, but no step for rows that are months apart */
    assert_int_equal(ll_gaps_grid(&g, &p->axis), 36 * 86400 * second);
    llap_panel_destroy(p);
    p = panel_of("time,x\n5,1\n");
    CHECK_OK(ll_gaps_measure(p, &g));
    assert_int_equal(g.grid, 0);
    llap_panel *q;
    CHECK_OK(ll_timeline_apply(p, &(ll_timeline_opts){ .grid = LL_GRID_AUTO }, &q, NULL));
    assert_int_equal(q->n_rows, 1);
    llap_panel_destroy(p);
    llap_panel_destroy(q);
}

/* Whatever the seed of the jitter: 7 minutes, not the nearest length in a list. */
static void a_step_with_jitter_is_found(void **state)
{
    (void)state;
    static const struct {
        int step_s, jitter_s, want_s;
    } cases[] = {
        { 420, 20, 420 },    { 420, 50, 420 },      { 660, 30, 660 },       { 300, 25, 300 },
        { 3600, 200, 3600 }, { 45, 2, 45 },         { 5400, 120, 5400 },    { 90, 3, 90 },
        { 10, 1, 10 },       { 28800, 900, 28800 }, { 86400, 4000, 86400 },
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        char     text[60000];
        size_t   n = (size_t)sprintf(text, "seconds,x\n");
        uint32_t x = 12345 + (uint32_t)k;
        for (int i = 0; i < 1000; i++) {
            x = x * 1664525u + 1013904223u;
            const double jitter = ((double)(x >> 8) / (1 << 24) - 0.5) * 2 * cases[k].jitter_s;
            if (x % 13 == 0) continue; /* lost rows */
            n += (size_t)sprintf(text + n, "%.3f,1\n", (double)i * cases[k].step_s + jitter);
        }
        llap_panel *p = panel_of(text);
        ll_gaps     g;
        CHECK_OK(ll_gaps_measure(p, &g));
        assert_int_equal(g.grid, cases[k].want_s * second);
        llap_panel_destroy(p);
    }
}

static void halves_are_rounded_to_even(void **state)
{
    (void)state;
    static const float known[][2] = {
        { 1, 1 },
        { 2049, 2048 },
        { 2051, 2052 },
        { 1025.5f, 1026 },
        { 1024.5f, 1024 },
        { 0.1f, 0.0999755859375f },
        { 65519, 65504 },
        { -65519.996f, -65504 },
        { 5.9604645e-8f, 5.9604645e-8f },
        { 2.9e-8f, 0 },
        { 3.1e-8f, 5.9604645e-8f },
        { 6.1035156e-5f, 6.1035156e-5f },
        { 0, 0 },
        { 10003, 10000 },
        { 10004, 10000 },
        { 10012, 10016 },
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const float x = ll_half_round(known[i][0]);
        if (x != known[i][1])
            fail_msg("%.9g: expected %.9g, found %.9g", (double)known[i][0], (double)known[i][1],
                     (double)x);
    }
    assert_true(isinf(ll_half_round(65520)) && isnan(ll_half_round(NAN)));
    assert_true(signbit(ll_half_round(-0.0f)));
    llap_panel        *p = panel_of("time,x\n0,1e6\n1,2049\n"), *q;
    ll_timeline_counts c;
    CHECK_OK(ll_timeline_apply(p, &(ll_timeline_opts){ .half = true }, &q, &c));
    CHECK_OK(ll_panel_check(q));
    assert_int_equal(c.half_overflows, 1);
    assert_true(!ll_panel_observed(q, 0, 0) && q->value[1] == 2048);
    llap_panel_destroy(p);
    llap_panel_destroy(q);
}

static llap_status apply_all(void *user)
{
    const ll_timeline_opts o = { .grid = LL_GRID_AUTO,
                                 .fill = LL_FILL_BOTH,
                                 .row_min = 0.5,
                                 .columns = LL_COLUMNS_COMMON,
                                 .common_span = true,
                                 .half = true };
    llap_panel            *q;
    llap_status            st = ll_timeline_apply(user, &o, &q, NULL);
    llap_panel_destroy(q);
    return st;
}

static void failing_allocations_lose_nothing(void **state)
{
    (void)state;
    llap_panel *p = panel_of(three);
    check_every_failed_allocation(apply_all, p);
    llap_panel_destroy(p);
}

/* ---- the datasets, as docs/spec/protocol.md 10 counts them ---- */

static int64_t windows(const llap_panel *p, const char *target, int64_t context, int64_t horizon)
{
    const int64_t v = ll_panel_find_var(p, target);
    int64_t       n = 0;
    for (int64_t e = 0; e < p->n_entities; e++)
        for (int64_t s = p->start[e]; s + context + horizon <= p->start[e + 1]; s++) {
            bool any = false;
            for (int64_t r = s + context; r < s + context + horizon && !any; r++)
                any = ll_panel_observed(p, r, v);
            n += any;
        }
    return n;
}

static void expect_windows(const llap_panel *p, const ll_timeline_opts *o, const char *target,
                           int64_t context, int64_t horizon, int64_t entities, int64_t n)
{
    llap_panel *q;
    CHECK_OK(ll_timeline_apply(p, o, &q, NULL));
    assert_int_equal(q->n_entities, entities);
    assert_int_equal(windows(q, target, context, horizon), n);
    llap_panel_destroy(q);
}

static void the_air_panels_have_their_windows(void **state)
{
    (void)state;
    llap_panel      *p = panel_of_file("bms_air.csv.gz", &LL_CSV_DEFAULT);
    ll_timeline_opts o = { .grid = LL_GRID_STEP, .step = 3600 * second, .common_span = true };
    expect_windows(p, &o, "PM2.5", 336, 168, 12, 414485);
    o.row_min = 0.6;
    expect_windows(p, &o, "PM2.5", 336, 168, 12, 409186);
    llap_panel_destroy(p);
    p = panel_of_file("raw/AirQualityUCI.csv", &LL_CSV_DEFAULT);
    o = (ll_timeline_opts){ .grid = LL_GRID_AUTO,
                            .bin = LL_BIN_FLOOR,
                            .fill = LL_FILL_GRID,
                            .row_min = 0.6,
                            .row_min_filled = true };
    expect_windows(p, &o, "NO2(GT)", 336, 168, 1, 8848);
    llap_panel_destroy(p);
}

static void the_patients_have_their_windows(void **state)
{
    (void)state;
    ll_csv_opts csv = LL_CSV_DEFAULT;
    csv.time_unit = "min";
    llap_panel      *p = panel_of_file("physionet2012_a.csv.gz", &csv);
    ll_timeline_opts o = { .grid = LL_GRID_STEP,
                           .step = 3600 * second,
                           .bin = LL_BIN_EXACT,
                           .agg = LL_AGG_LAST,
                           .fill = LL_FILL_BOTH,
                           .row_min = 0.6,
                           .row_min_filled = true,
                           .row_min_present = true,
                           .min_rows = 36,
                           .min_span = 3600 * second,
                           .need = "HR",
                           .first = "HR",
                           .columns = LL_COLUMNS_COMMON };
    expect_windows(p, &o, "HR", 24, 12, 253, 917);
    o.bin = LL_BIN_FLOOR;
    expect_windows(p, &o, "HR", 24, 12, 3703, 35261);
    o.bin = LL_BIN_NEAREST;
    expect_windows(p, &o, "HR", 24, 12, 3695, 35575);
    llap_panel_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_asked_changes_nothing),
        cmocka_unit_test(values_go_to_their_bins),
        cmocka_unit_test(counts_say_what_went),
        cmocka_unit_test(filling_keeps_the_masks_apart),
        cmocka_unit_test(rows_are_filtered),
        cmocka_unit_test(entities_and_columns_are_chosen),
        cmocka_unit_test(the_grid_is_suggested),
        cmocka_unit_test(a_step_with_jitter_is_found),
        cmocka_unit_test(halves_are_rounded_to_even),
        cmocka_unit_test(failing_allocations_lose_nothing),
        cmocka_unit_test(the_air_panels_have_their_windows),
        cmocka_unit_test(the_patients_have_their_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
