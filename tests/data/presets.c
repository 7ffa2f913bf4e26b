#include "panels.h"

#include "oracles/presets.h"

static void derived_cells_are_as_defined(void **state)
{
    (void)state;
    static const ll_derived list[] = {
        { .name = "copy", .op = LL_DERIVE_COPY, .a = "x" },
        { .name = "ratio", .op = LL_DERIVE_LOG_RATIO, .a = "x", .b = "y" },
        { .name = "change", .op = LL_DERIVE_LOG_CHANGE, .a = "x", .b = "x" },
        { .name = "gap", .op = LL_DERIVE_LOG_CHANGE, .a = "y", .b = "x" },
        { .name = "vol", .op = LL_DERIVE_VOLATILITY, .a = "x", .span = 3 },
        { .name = "week", .op = LL_DERIVE_WEEKDAY, .cosine = true },
        { .name = "day", .op = LL_DERIVE_MONTHDAY },
        { .name = "month", .op = LL_DERIVE_MONTH },
    };
    /* 2024-02-27 is a Tuesday, of a month of 29 days */
    llap_panel *p = panel_of("time,x,y\n2024-02-27,1,2\n2024-02-28,2,8\n2024-02-29,,1\n"
                             "2024-03-01,4,0\n2024-03-02,2,5\n"),
               *q;
    CHECK_OK(ll_derive(p, list, 8, &q));
    CHECK_OK(ll_panel_check(q));
    const double two = log(2), pi2 = 6.283185307179586;
    const double v0 = two * two, v1 = 0.5 * v0 + 0.5 * two * two;
    const double expected[5][8] = {
        { 1, -two, NAN, NAN, NAN, cos(pi2 / 7), sin(pi2 * 26 / 29), sin(pi2 / 12) },
        { 2, -2 * two, two, 3 * two, sqrt(v0), cos(pi2 * 2 / 7), sin(pi2 * 27 / 29),
          sin(pi2 / 12) },
        { NAN, NAN, NAN, -two, NAN, cos(pi2 * 3 / 7), sin(pi2 * 28 / 29), sin(pi2 / 12) },
        { 4, NAN, NAN, NAN, NAN, cos(pi2 * 4 / 7), 0, sin(pi2 / 6) },
        { 2, log(0.4), -two, log(1.25), sqrt(v1), cos(pi2 * 5 / 7), sin(pi2 / 31), sin(pi2 / 6) },
    };
    for (int r = 0; r < 5; r++)
        for (int v = 0; v < 8; v++) {
            const double x = expected[r][v], found = (double)q->value[r * 8 + v];
            assert_int_equal(ll_panel_observed(q, r, v), !isnan(x));
            if (isnan(x) ? !isnan(found) : fabs(found - x) > 1e-6)
                fail_msg("row %d, %s: expected %g, found %g", r, list[v].name, x, found);
        }
    llap_panel_destroy(q);
    CHECK_FAIL(ll_derive(p, &(ll_derived){ .name = "n", .op = LL_DERIVE_COPY, .a = "z" }, 1, &q),
               LLAP_EINVAL, "no variable 'z'");
    llap_panel_destroy(p);
}

static void names_are_found(void **state)
{
    (void)state;
    for (int64_t i = 0; i < ll_preset_count(); i++) {
        const ll_preset *s = ll_preset_at(i);
        assert_ptr_equal(ll_preset_find(s->name), s);
        assert_non_null(s->about);
        assert_non_null(s->target[0]);
        assert_true(s->unit_ns > 0 && s->batch_groups > 0);
        assert_true((s->context_rows > 0) != (s->context_ns > 0));
    }
    assert_null(ll_preset_find("nothing"));
    llap_panel *p = panel_of("time,x\n1,2\n");
    ll_windows *w;
    CHECK_FAIL(ll_preset_windows(ll_preset_find("bms_air"), p, 0, &w), LLAP_EINVAL,
               "no variable 'PM2.5'");
    CHECK_FAIL(ll_preset_windows(ll_preset_find("bms_air"), p, 4, &w), LLAP_EINVAL,
               "horizon number 4");
    llap_panel_destroy(p);
}

/* Every file that is there can be read, cut and split by its preset. */
typedef struct expected {
    const char *preset, *file;
    int         horizon; /* number */
    int64_t     n_entities, n_vars;
} expected;

/* The coins here end in 2022: a tenth of their days is less than the longest horizon. */
static const expected files[] = {
    { "metar_us", "metar_us.csv.gz", 3, 25, 5 },
    { "metar_uk", "metar_uk.csv.gz", 3, 5, 4 },
    { "noaa_isd_lite", "noaa_isd_lite.csv.gz", 3, 13, 5 },
    { "us_equity", "us_equity.csv.gz", 3, 222, 15 },
    { "crypto", "crypto.csv.gz", 2, 118, 15 },
    { "ghcn_sporadic", "ghcn_sporadic.csv.gz", 3, 1202, 5 },
    { "physionet", "physionet2012_a.csv.gz", 3, 3703, 5 },
    { "physionet/minutes", "physionet2012_a.csv.gz", 3, 3937, 8 },
};

static void the_files_go_through_their_presets(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const expected  *x = &files[i];
        const ll_preset *s = ll_preset_find(x->preset);
        const char      *path = data_file(x->file);
        llap_panel      *p;
        ll_windows      *w;
        ll_split        *sp;
        CHECK_OK(ll_preset_panel(s, &path, 1, NULL, &p));
        CHECK_OK(ll_panel_check(p));
        CHECK_OK(ll_preset_windows(s, p, x->horizon, &w));
        CHECK_OK(ll_split_create(w, &s->split, &sp));
        print_message(
            "%s: %lld entities, %lld variables, %lld rows, %lld windows (%lld, %lld, %lld)\n",
            s->name, (long long)p->n_entities, (long long)p->n_vars, (long long)p->n_rows,
            (long long)w->n, (long long)sp->n[0], (long long)sp->n[1], (long long)sp->n[2]);
        assert_int_equal(p->n_entities, x->n_entities);
        assert_int_equal(p->n_vars, x->n_vars);
        ll_split_destroy(sp);
        ll_windows_destroy(w);
        llap_panel_destroy(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derived_cells_are_as_defined),
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(the_files_go_through_their_presets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
