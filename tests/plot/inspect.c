#include "data/panel_builder.h"
#include "data/synth/synth.h"
#include "pictures.h"
#include "plot/canvas.h"
#include "plot/inspect_plot.h"
#include "plot/ticks.h"

#include <sys/stat.h>
#include <unistd.h>

/* Two stations: hourly with a hole of ten hours in the middle; half of "north" unobserved. */
static llap_panel *two_stations(const ll_axis *axis)
{
    static const char *const names[] = { "north", "south <&>" };
    ll_panel_builder        *b;
    llap_panel              *p;
    uint32_t                 v, e;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, "a", 1, &v));
    CHECK_OK(ll_panel_builder_var(b, "b", 1, &v));
    for (int s = 0; s < 2; s++) {
        CHECK_OK(ll_panel_builder_entity(b, names[s], strlen(names[s]), &e));
        for (int64_t h = 0; h < 100; h++)
            if (h < 45 || h >= 55)
                CHECK_OK(ll_panel_builder_row(b, e, h * 3600 * INT64_C(1000000000),
                                              (float[]){ 1, s == 0 ? NAN : 2 }));
    }
    CHECK_OK(ll_panel_builder_finish(b, axis, &p));
    ll_panel_builder_destroy(b);
    return p;
}

/* ---- numbers ---- */

static void test_map_counts_every_row(void **state)
{
    (void)state;
    llap_panel     *p = two_stations(&LL_AXIS_UTC);
    ll_gaps         g;
    ll_coverage_map m;
    CHECK_OK(ll_gaps_measure(p, &g));
    CHECK_OK(ll_coverage_init(p, &g, &m));
    assert_int_equal(m.lines, 2);
    assert_int_equal(m.columns, 100); /* one for each hour, no finer */
    for (int64_t c = 0; c < 100; c++) {
        const int there = c < 45 || c >= 55;
        assert_int_equal(m.rows[c], there);
        assert_int_equal(m.cells[c], there);
        assert_int_equal(m.rows[100 + c], there);
        assert_int_equal(m.cells[100 + c], 2 * there);
    }
    ll_coverage_deinit(&m);
    llap_panel_destroy(p);
}

static void test_many_entities_share_lines(void **state)
{
    (void)state;
    ll_synth_opts   o = LL_SYNTH_DEFAULT;
    ll_synth       *s;
    llap_panel     *p;
    ll_gaps         g;
    ll_coverage_map m;
    o.n_entities = 125;
    o.n_rows = 1000;
    CHECK_OK(ll_synth_create(&o, &s));
    CHECK_OK(ll_synth_panel(s, &p));
    CHECK_OK(ll_gaps_measure(p, &g));
    CHECK_OK(ll_coverage_init(p, &g, &m));
    assert_int_equal(m.lines, LL_PLOT_LINES);
    assert_in_range(m.columns, LL_PLOT_COLUMNS / 2, LL_PLOT_COLUMNS);
    int64_t rows = 0, cells = 0, before = 0;
    for (int64_t i = 0; i < m.lines * m.columns; i++) rows += m.rows[i], cells += m.cells[i];
    assert_int_equal(rows, p->n_rows);
    assert_int_equal(cells, ll_panel_count_observed(p));
    for (int64_t e = 0; e < 125; e++) { /* in order, none left out */
        const int64_t line = ll_coverage_line(&m, p, e);
        assert_true(line == before || line == before + 1);
        before = line;
    }
    assert_int_equal(before, LL_PLOT_LINES - 1);
    ll_coverage_deinit(&m);
    llap_panel_destroy(p);
    ll_synth_destroy(s);
}

static void test_bars_hold_every_gap(void **state)
{
    (void)state;
    llap_panel *p = two_stations(&LL_AXIS_UTC);
    ll_gaps     g;
    ll_gap_bars b;
    int64_t     n = 0, highest = 0;
    CHECK_OK(ll_gaps_measure(p, &g));
    ll_gap_bars_fill(p, &g, &b);
    for (int i = 0; i < LL_PLOT_BARS; i++) {
        n += b.count[i];
        if (b.count[i] > highest) highest = b.count[i];
    }
    assert_int_equal(n, 178);
    assert_int_equal(highest, 176); /* all but the two of eleven hours */
    assert_true(b.least < 3600e9 && b.most > 11 * 3600e9);
    /* the usual gap is amid its bar */
    const double at = LL_PLOT_BARS * log(3600e9 / b.least) / log(b.most / b.least);
    assert_true(fabs(at - floor(at) - 0.5) < 1e-6);
    llap_panel_destroy(p);
}

static void test_ticks(void **state)
{
    (void)state;
    const int64_t day = 86400 * INT64_C(1000000000);
    ll_zone      *rome;
    ll_tick       t[LL_TICKS_MAX];
    ll_axis       hours = { LL_AXIS_NUMBER, "", "", "h", 3600 * INT64_C(1000000000) };
    CHECK_OK(ll_zone_create("+02:00", 6, NULL, &rome));
    assert_int_equal(ll_ticks_time(&LL_AXIS_UTC, rome, 0, (uint64_t)(5 * day), 9, t), 5);
    assert_string_equal(t[0].label, "1970-01-02");
    assert_true(fabs(t[0].at - 22.0 / 120) < 1e-12); /* midnight on that clock */
    assert_int_equal(ll_ticks_time(&LL_AXIS_UTC, NULL, 0, (uint64_t)(1461 * day), 9, t), 9);
    assert_string_equal(t[8].label, "1974-01");
    assert_int_equal(ll_ticks_time(&hours, NULL, 0, (uint64_t)(2 * day), 9, t), 5);
    assert_string_equal(t[1].label, "10");
    /* two days show hours even where there is room for three dates; midnight names the day */
    const int two = ll_ticks_time(&LL_AXIS_UTC, NULL, day / 4, (uint64_t)(2 * day), 3, t);
    assert_int_equal(two, 4);
    assert_string_equal(t[0].label, "01-01 12:00");
    assert_string_equal(t[1].label, "01-02");
    assert_string_equal(t[2].label, "12:00");
    /* the widest axis there is, and the narrowest */
    const int all = ll_ticks_time(&LL_AXIS_UTC, NULL, INT64_MIN, UINT64_MAX, 9, t);
    assert_in_range(all, 3, 9);
    assert_string_equal(t[0].label, "1700");
    assert_in_range(ll_ticks_time(&LL_AXIS_UTC, NULL, INT64_MAX - 1, 1, 9, t), 0, 9);
    for (int i = 0; i < 400; i++) { /* never more than asked for, whatever the length */
        const uint64_t length = (uint64_t)exp(i * 0.11);
        assert_in_range(ll_ticks_time(&LL_AXIS_UTC, rome, 123456789, length, 9, t), 0, 14);
    }
    ll_zone_destroy(rome);
    const int n = ll_ticks_gap(&LL_AXIS_UTC, 60e9, 86400e9, 0.06, t);
    assert_in_range(n, 5, 17);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) assert_true(fabs(t[i].at - t[k].at) >= 0.06);
    assert_string_equal(ll_gap_show(&LL_AXIS_UTC, 5400 * INT64_C(1000000000)).text, "1h30min");
}

static void test_scale(void **state)
{
    (void)state;
    assert_int_equal(ll_colour_scale(0), 0xffea46);
    assert_int_equal(ll_colour_scale(1), 0x00204d);
    assert_int_equal(ll_colour_scale(2), 0x00204d);
}

/* ---- refusals, with or without cairo ---- */

static void test_unknown_format(void **state)
{
    (void)state;
    llap_panel *p = two_stations(&LL_AXIS_UTC);
    CHECK_FAIL(ll_plot_inspect(p, in_folder("x.gif")), LLAP_EOPTION, ".png, .svg or .pdf");
    CHECK_FAIL(ll_plot_inspect(p, ".svg"), LLAP_EOPTION, ".png, .svg or .pdf");
    CHECK_FAIL(ll_plot_inspect(p, ""), LLAP_EOPTION, ".png, .svg or .pdf");
    llap_panel_destroy(p);
}

#ifndef LLAP_CAIRO

static void test_built_without(void **state)
{
    (void)state;
    llap_panel *p = two_stations(&LL_AXIS_UTC);
    CHECK_FAIL(ll_plot_inspect(p, in_folder("x.svg")), LLAP_EUNSUPPORTED, "without cairo");
    llap_panel_destroy(p);
}

#else

/* ---- pictures ---- */

static llap_panel *few_rows(int n)
{
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          v, e;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, "a", 1, &v));
    CHECK_OK(ll_panel_builder_entity(b, "alone", 5, &e));
    for (int i = 0; i < n; i++) CHECK_OK(ll_panel_builder_row(b, e, INT64_MIN + i, (float[]){ 1 }));
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    return p;
}

static char *draw(const llap_panel *p, const char *name, size_t *n)
{
    CHECK_OK(ll_plot_inspect(p, in_folder(name)));
    return slurp(in_folder(name), n);
}

static void test_svg_says_what_it_shows(void **state)
{
    (void)state;
    size_t  n;
    ll_axis axis = LL_AXIS_UTC;
    axis.zone = "Asia/Shanghai";
    llap_panel *p = two_stations(&axis);
    char       *svg = draw(p, "x.svg", &n);
    const char *words[] = { "\nnorth\n",
                            "\nsouth &lt;&amp;&gt;\n",
                            "\nCoverage\n",
                            "\n2 entities, 180 rows, 2 variables; 75.0 % of the cells observed\n",
                            "\n100 % of cells observed\n",
                            "\nno row\n",
                            "\ntime (Asia/Shanghai)\n",
                            "\n1970-01-02\n",
                            "\nlength of the gap (log scale)\n",
                            "\nusual gap: 1h, 98.9 % of all\n",
                            "longest 11h\n" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(svg, words[i]) == NULL) fail_msg("no '%s'", words[i]);
    /* before, in and after the hole of both lines, the scale of the legend, two bars */
    assert_true(occurrences(svg, "<path") >= 6 + 50 + 2);
    assert_int_equal(occurrences(svg, "fill:rgb(0%,44.705882%,69.803922%)"), 2); /* the bars */
    test_free(svg);
    llap_panel_destroy(p);
}

static void test_same_bytes_twice(void **state)
{
    (void)state;
    static const char *const names[] = { "x.svg", "x.PNG", "x.pdf" };
    static const char *const magic[] = { "<?xml", "\x89PNG", "%PDF" };
    llap_panel              *p = two_stations(&LL_AXIS_UTC);
    for (int i = 0; i < 3; i++) {
        size_t n, m;
        char  *a = draw(p, names[i], &n), *b = draw(p, names[i], &m);
        assert_memory_equal(a, magic[i], 4);
        assert_int_equal(n, m);
        assert_memory_equal(a, b, n);
        if (i == 2) assert_null(strstr(a, "CreationDate (D:20"));
        test_free(a);
        test_free(b);
    }
    llap_panel_destroy(p);
}

static void test_little(void **state)
{
    (void)state;
    size_t n;
    for (int rows = 0; rows < 3; rows++) {
        llap_panel *p = few_rows(rows);
        char       *svg = draw(p, "x.svg", &n);
        assert_int_equal(strstr(svg, "\nno rows\n") != NULL, rows == 0);
        assert_int_equal(strstr(svg, "\nalone\n") != NULL, rows > 0);
        assert_int_equal(strstr(svg, "\nnone: no entity has two rows\n") != NULL, rows < 2);
        assert_int_equal(strstr(svg, "\nusual gap: 1ns") != NULL, rows == 2);
        test_free(svg);
        llap_panel_destroy(p);
    }
}

/* Names as hostile as they come, and the two ends of time. */
static void test_odd_names_and_times(void **state)
{
    (void)state;
    char long_name[400];
    memset(long_name, 'W', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    const char *const names[] = { "", "\x01\xff", "\xc3\xa4\xe6\xb0\xb4", long_name };
    const int64_t     start[] = { 0, 2, 4, 6, 8 };
    ll_panel_draft    d = { .axis = LL_AXIS_UTC,
                            .n_entities = 4,
                            .n_vars = 1,
                            .entity = names,
                            .var = (const char *const[]){ "v" },
                            .start = start };
    llap_panel       *p;
    size_t            n;
    CHECK_OK(ll_panel_create(&d, &p));
    for (int i = 0; i < 8; i++) d.time[i] = i % 2 == 0 ? INT64_MIN : INT64_MAX;
    static const char *const files[] = { "x.svg", "x.png", "x.pdf" };
    for (int i = 0; i < 3; i++) {
        char *file = draw(p, files[i], &n);
        if (i == 0) assert_non_null(strstr(file, "\\x01\\xff"));
        if (i == 0) assert_non_null(strstr(file, "WWW ..."));
        if (i == 0) assert_null(strstr(file, long_name));
        test_free(file);
    }
    llap_panel_destroy(p);
}

static void test_unwritable(void **state)
{
    (void)state;
    llap_panel *p = two_stations(&LL_AXIS_UTC);
    CHECK_FAIL(ll_plot_inspect(p, in_folder("none/x.svg")), LLAP_ENOTFOUND, "none/x.svg");
    assert_int_equal(mkdir(in_folder("d.png"), 0700), 0);
    CHECK_FAIL(ll_plot_inspect(p, in_folder("d.png")), LLAP_EINVAL, "is a directory");
    rmdir(in_folder("d.png"));
    llap_panel_destroy(p);
}

static llap_status plot_work(void *user)
{
    const llap_status st = ll_plot_inspect(user, in_folder("x.svg"));
    unlink(in_folder("x.svg"));
    return st;
}

static void test_failing_allocations(void **state)
{
    (void)state;
    llap_panel *p = two_stations(&LL_AXIS_UTC);
    check_every_failed_allocation(plot_work, p);
    llap_panel_destroy(p);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map_counts_every_row),
        cmocka_unit_test(test_many_entities_share_lines),
        cmocka_unit_test(test_bars_hold_every_gap),
        cmocka_unit_test(test_ticks),
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_unknown_format),
#ifndef LLAP_CAIRO
        cmocka_unit_test(test_built_without),
#else
        cmocka_unit_test(test_svg_says_what_it_shows),
        cmocka_unit_test(test_same_bytes_twice),
        cmocka_unit_test(test_little),
        cmocka_unit_test(test_odd_names_and_times),
        cmocka_unit_test(test_unwritable),
        cmocka_unit_test(test_failing_allocations),
#endif
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
