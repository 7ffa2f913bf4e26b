/* What must survive: any panel through a file and back; rows in any order, in any number of files,
 * with any separator and line end. */
#include "folder.h"
#include "panel_equal.h"
#include "panels.h"

#include "data/csv/write.h"

#include <unistd.h>

static uint64_t random_state = 1;

static uint64_t draw(uint64_t below) /* xorshift: the same panels everywhere */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % below;
}

static float draw_value(void)
{
    if (draw(4) == 0) return NAN;
    static const float odd[] = { 0,     -0.0f, 1e38f,    -3.4028235e38f, 1e-45f,
                                 -9999, -200,  16777216, 0.1f,           1e20f };
    if (draw(5) == 0) return odd[draw(10)];
    const uint32_t bits = (uint32_t)draw(UINT32_MAX);
    float          x;
    memcpy(&x, &bits, sizeof x);
    return isfinite(x) ? x : (float)draw(1000);
}

static const char *const nasty[] = { "a",
                                     "b c",
                                     " lead",
                                     "trail ",
                                     "with,comma",
                                     "with;semi",
                                     "quote\"d",
                                     "line\nend",
                                     "carriage\r\nreturn",
                                     "tab\tin",
                                     "",
                                     "=x=y",
                                     "time",
                                     "entity",
                                     "id",
                                     "NA",
                                     "12",
                                     "2020-01-01",
                                     "\xc3\xa9t\xc3\xa9",
                                     "index",
                                     "value",
                                     "variable",
                                     "-",
                                     "T" };
enum { N_NASTY = sizeof nasty / sizeof nasty[0] };

static const ll_axis axes[] = {
    { LL_AXIS_CALENDAR, "UTC", "", "", 1 },
    { LL_AXIS_CALENDAR, "", "", "", 1 },
    { LL_AXIS_CALENDAR, "+08:00", "", "", 1 },
    { LL_AXIS_CALENDAR, "Europe/Rome", "", "", 1 },
    { LL_AXIS_CALENDAR, "UTC", "epoch ms", "", 1 },
    { LL_AXIS_CALENDAR, "", "%d/%m/%Y %H.%M.%S", "", 1 },
    { LL_AXIS_NUMBER, "", "", "min", INT64_C(60000000000) },
    { LL_AXIS_NUMBER, "", "", "", INT64_C(1000000000) },
    { LL_AXIS_NUMBER, "", "", "0.5h", INT64_C(1800000000000) },
};
enum { N_AXES = sizeof axes / sizeof axes[0] };

/* Ticks that the axis can write: whole seconds for the format that has no more. */
static int64_t draw_time(const ll_axis *axis)
{
    const int64_t second = 1000000000;
    if (axis->format[0] == '%') return ((int64_t)draw(4000000000) - 1000000000) * second;
    const int64_t t = (int64_t)draw(UINT64_C(8000000000000000000)) - INT64_C(4000000000000000000);
    switch (draw(3)) {
    case 0:
        return t;
    case 1:
        return t / second * second;
    default:
        return t / (60 * second) * (60 * second);
    }
}

static llap_panel *random_panel(const ll_axis *axis)
{
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          id;
    float             row[6];
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    const uint64_t n_vars = 1 + draw(6), n_entities = 1 + draw(5), first = draw(N_NASTY);
    for (uint64_t v = 0; v < n_vars; v++) {
        const char *name = nasty[(first + v * 5) % N_NASTY];
        CHECK_OK(ll_panel_builder_var(b, name, strlen(name), &id));
    }
    for (uint64_t e = 0; e < n_entities; e++) {
        const char *name = nasty[(first * 3 + e) % N_NASTY];
        CHECK_OK(ll_panel_builder_entity(b, name, strlen(name), &id));
        for (uint64_t r = 0; r < 1 + draw(8); r++) {
            for (int v = 0; v < 6; v++) row[v] = draw_value();
            CHECK_OK(ll_panel_builder_row(b, id, draw_time(axis), row));
        }
    }
    CHECK_OK(ll_panel_builder_finish(b, axis, &p));
    ll_panel_builder_destroy(b);
    return p;
}

/* ---- options that read what was written, with nothing left to find out ---- */

static void set_time_opts(const ll_axis *axis, ll_csv_opts *out)
{
    if (axis->kind == LL_AXIS_NUMBER) {
        out->time_format = "number";
        out->time_unit = axis->unit[0] == '\0' ? NULL : axis->unit;
        return;
    }
    out->time_format = axis->format[0] == '\0' ? "rfc3339" : axis->format;
    if (strncmp(axis->format, "epoch ", 6) == 0) {
        out->time_format = "epoch";
        out->time_unit = axis->format + 6;
    }
    out->zone = axis->zone[0] == '\0' ? NULL : axis->zone;
}

/* The names that the file has for the columns that are no variables. */
static void take_names(const char *path, char separator, char (*name)[32], size_t n)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    for (size_t i = 0, k = 0; i < n; i++, k = 0) {
        int c;
        while ((c = getc(f)) != separator && c != '\n' && k < 31) name[i][k++] = (char)c;
        name[i][k] = '\0';
    }
    fclose(f);
}

/* Strings are borrowed from the panel, or valid until the next call. */
static ll_csv_opts opts_of(const llap_panel *p, const char *path, const ll_csv_write_opts *o)
{
    static const char *columns[8];
    static char        name[4][32];
    const bool         is_long = o->form == LL_CSV_LONG;
    ll_csv_opts        out = LL_CSV_DEFAULT;
    assert_true(p->n_vars < 8);
    for (int64_t v = 0; v <= p->n_vars; v++) columns[v] = v < p->n_vars ? p->var[v] : NULL;
    out.separator = o->separator == '\0' ? ',' : o->separator;
    out.decimal = o->decimal == '\0' ? '.' : o->decimal;
    out.header = LL_YES;
    out.form = is_long ? LL_CSV_LONG : LL_CSV_WIDE;
    take_names(path, out.separator, name, is_long ? 4 : 2);
    out.entity = name[0];
    out.time = name[1];
    if (is_long) out.variable = name[2], out.value = name[3];
    out.columns = columns;
    out.no_codes = true;
    out.max_entities = 0;
    set_time_opts(&p->axis, &out);
    return out;
}

static void any_panel_comes_back(void **state)
{
    (void)state;
    const char *path = in_folder("p.csv");
    for (int trial = 0; trial < 300; trial++) {
        llap_panel       *p = random_panel(&axes[trial % N_AXES]), *q;
        ll_csv_write_opts w = { .form = trial % 2 ? LL_CSV_LONG : LL_CSV_WIDE };
        if (trial % 3 == 1) w.separator = ';', w.decimal = ',';
        if (trial % 3 == 2) w.separator = '\t';
        if (trial % 7 == 3) w.separator = ',', w.decimal = ',';
        CHECK_OK(ll_csv_write(p, path, &w));
        const ll_csv_opts o = opts_of(p, path, &w);
        CHECK_OK(ll_csv_read(&path, 1, &o, &q, NULL));
        if (!panel_equal(p, q)) fail_msg("trial %d: another panel came back", trial);
        llap_panel_destroy(p);
        llap_panel_destroy(q);
    }
}

static void ordinary_panels_need_no_options(void **state)
{
    (void)state;
    const char              *path = in_folder("q.csv");
    static const char        hourly[] = "entity,time,x,y\na,2020-01-01T00:00:00Z,1,2.5\n"
                                        "a,2020-01-01T01:00:00Z,,3\nb,2020-01-01T00:00:00Z,4,\n";
    static const char        minutes[] = "entity,minutes,x,y\na,0,1,2.5\na,7.5,,3\nb,0,4,\n";
    static const char        comma[] = "entity;time;x\na;2020-01-01 00:00;1,5\n";
    static const char *const texts[] = { hourly, minutes, comma };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (int form = 0; form < 2; form++) {
            llap_panel       *p = panel_of(texts[i]), *q;
            ll_csv_write_opts w = { .form = form ? LL_CSV_LONG : LL_CSV_WIDE };
            CHECK_OK(ll_csv_write(p, path, &w));
            CHECK_OK(ll_csv_read(&path, 1, &LL_CSV_DEFAULT, &q, NULL));
            assert_true(panel_equal(p, q));
            llap_panel_destroy(p);
            llap_panel_destroy(q);
        }
}

static void filled_cells_are_written_on_request_only(void **state)
{
    (void)state;
    const char    *names[] = { "e" }, *vars[] = { "x" };
    const int64_t  start[] = { 0, 2 };
    ll_panel_draft d = { .axis = LL_AXIS_UTC,
                         .n_entities = 1,
                         .n_vars = 1,
                         .entity = names,
                         .var = vars,
                         .start = start };
    llap_panel    *p, *q;
    const char    *path = in_folder("f.csv");
    CHECK_OK(ll_panel_create(&d, &p));
    d.time[1] = 1;
    d.value[0] = d.value[1] = 5;
    ll_bit_set(d.observed, 0);
    for (int filled = 0; filled < 2; filled++) {
        CHECK_OK(ll_csv_write(p, path, &(ll_csv_write_opts){ .filled = filled }));
        CHECK_OK(ll_csv_read(&path, 1, &LL_CSV_DEFAULT, &q, NULL));
        assert_int_equal(ll_panel_count_observed(q), 1 + filled);
        llap_panel_destroy(q);
    }
    llap_panel_destroy(p);
}

/* ---- the same rows, written otherwise ---- */

enum { LINES = 400 };

static const char *make_line(int i, char separator, char decimal, char out[128])
{
    const int e = i % 7, t = i / 7;
    snprintf(out, 128, "e%d%c2021-03-%02dT%02d:00:00Z%c%d%c%d%c%s%d%c25", e, separator, 1 + t / 24,
             t % 24, separator, i * 37 % 101 - 50, decimal, i % 10, separator,
             i % 5 == 0 ? "NA" : "", i % 5 == 0 ? 0 : i, decimal);
    if (i % 5 == 0) snprintf(strrchr(out, separator) + 1, 8, "NA");
    return out;
}

/* n files of rows in the given order, every k-th row to file k. */
static void write_files(const int *order, int n_files, char separator, char decimal,
                        const char *line_end, bool bom, const char *paths[])
{
    for (int f = 0; f < n_files; f++) {
        static char names[8][256];
        snprintf(names[f], sizeof names[f], "%s/part%d.csv", folder, f);
        paths[f] = names[f];
        FILE *out = fopen(paths[f], "wb");
        fprintf(out, "%sentity%ctime%cx%cy%s", bom ? "\xef\xbb\xbf" : "", separator, separator,
                separator, line_end);
        for (int i = f; i < LINES; i += n_files) {
            char line[128];
            fprintf(out, "%s%s", make_line(order[i], separator, decimal, line), line_end);
        }
        fclose(out);
    }
}

static void how_rows_are_written_changes_nothing(void **state)
{
    (void)state;
    int         order[LINES];
    const char *paths[8];
    llap_panel *p, *q;
    for (int i = 0; i < LINES; i++) order[i] = i;
    write_files(order, 1, ',', '.', "\n", false, paths);
    CHECK_OK(ll_csv_read(paths, 1, &LL_CSV_DEFAULT, &p, NULL));
    assert_int_equal(p->n_entities, 7);
    assert_int_equal(p->n_rows, LINES);
    static const struct {
        int         files;
        char        separator, decimal;
        const char *line_end;
        bool        bom;
    } ways[] = {
        { 1, ';', ',', "\r\n", true }, { 3, '\t', '.', "\n", false }, { 8, '|', ',', "\r", false },
        { 2, ',', '.', "\r\n", true }, { 5, ' ', '.', "\n", false },  { 1, ';', '.', "\r", true },
    };
    for (size_t k = 0; k < 6; k++) {
        for (int i = LINES - 1; i > 0; i--) {
            const int j = (int)draw((uint64_t)i + 1), held = order[i];
            order[i] = order[j];
            order[j] = held;
        }
        write_files(order, ways[k].files, ways[k].separator, ways[k].decimal, ways[k].line_end,
                    ways[k].bom, paths);
        ll_csv_report report;
        CHECK_OK(ll_csv_read(paths, (size_t)ways[k].files, &LL_CSV_DEFAULT, &q, &report));
        if (!panel_equal(p, q)) fail_msg("way %zu: another panel: %s", k, report.decision[0]);
        assert_true(report.rows.unordered > 0);
        llap_panel_destroy(q);
    }
    llap_panel_destroy(p);
}

/* ---- refusals and failures ---- */

static void what_cannot_be_written_is_refused(void **state)
{
    (void)state;
    llap_panel *p = panel_of("entity,time,x\na,2020-01-01T00:00:30Z,1\n");
    CHECK_FAIL(ll_csv_write(p, folder, &LL_CSV_WRITE_DEFAULT), LLAP_EINVAL, "directory");
    CHECK_FAIL(ll_csv_write(p, in_folder("x"), &(ll_csv_write_opts){ .separator = '"' }),
               LLAP_EINVAL, "cannot separate");
    CHECK_FAIL(ll_csv_write(p, in_folder("x"), &(ll_csv_write_opts){ .decimal = 'x' }), LLAP_EINVAL,
               "decimal point");
    llap_panel coarse = *p;
    coarse.axis.format = "%Y-%m-%d %H:%M";
    CHECK_FAIL(ll_csv_write(&coarse, in_folder("x"), &LL_CSV_WRITE_DEFAULT), LLAP_EINVAL,
               "cannot hold");
    assert_int_equal(access(in_folder("x"), F_OK), -1);
    CHECK_FAIL(ll_csv_write(p, "/dev/full", &LL_CSV_WRITE_DEFAULT), LLAP_EIO, "No space");
    llap_panel_destroy(p);
}

static llap_status write_and_read(void *user)
{
    const char       *path = in_folder("a.csv");
    llap_panel       *q = NULL;
    ll_csv_write_opts w = { .form = LL_CSV_LONG };
    llap_status       st = ll_csv_write(user, path, &w);
    const ll_csv_opts o = st == LLAP_OK ? opts_of(user, path, &w) : LL_CSV_DEFAULT;
    if (st == LLAP_OK) st = ll_csv_read(&path, 1, &o, &q, NULL);
    llap_panel_destroy(q);
    return st;
}

static void failing_allocations_lose_nothing(void **state)
{
    (void)state;
    llap_panel *p = random_panel(&axes[3]);
    check_every_failed_allocation(write_and_read, p);
    llap_panel_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_panel_comes_back),
        cmocka_unit_test(ordinary_panels_need_no_options),
        cmocka_unit_test(filled_cells_are_written_on_request_only),
        cmocka_unit_test(how_rows_are_written_changes_nothing),
        cmocka_unit_test(what_cannot_be_written_is_refused),
        cmocka_unit_test(failing_allocations_lose_nothing),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
