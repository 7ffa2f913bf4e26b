/* Tables by the Arrow C data interface become the panels that CSV of the same content becomes. */
#include "arrow_frame.h"
#include "check.h"
#include "csv_text.h"
#include "panel_equal.h"

#include "data/arrow/arrow.h"

static llap_status read_with(static_frame *f, const ll_csv_opts *o, llap_panel **p)
{
    struct ArrowArrayStream s = frame_stream(f);
    const llap_status       st = ll_arrow_read(&s, o, p, NULL);
    assert_null(s.release);
    assert_int_equal(f->n_open, 0);
    return st;
}

static llap_status read_frame(static_frame *f, llap_panel **p)
{
    return read_with(f, &LL_CSV_DEFAULT, p);
}

/* The frame in batches of every size is the panel of the text. */
static void check_as(static_frame *f, const ll_csv_opts *o, const char *text)
{
    llap_panel *expected = NULL;
    CHECK_OK(ll_csv_read_memory("series.csv", text, strlen(text), o, &expected, NULL));
    for (f->batch = 0; f->batch <= f->n_rows; f->batch++) {
        llap_panel *p = NULL;
        CHECK_OK(read_with(f, o, &p));
        char found[600], wanted[600];
        show(p, found, sizeof found);
        show(expected, wanted, sizeof wanted);
        assert_string_equal(found, wanted);
        assert_true(panel_equal(p, expected));
        llap_panel_destroy(p);
    }
    llap_panel_destroy(expected);
}

static const int32_t id_offsets[] = { 0, 1, 2, 3 };
static const int64_t hours[] = { 0, 3600, 7200 };
static const double  numbers[] = { 1.5, NAN, -3 };

/* id text, time seconds, x double */
static static_frame small(void)
{
    static_frame f = { .n_rows = 3 };
    frame_column(&f, "u", "id", (frame_buffers){ { NULL, id_offsets, "aab" } });
    frame_column(&f, "tss:", "time", (frame_buffers){ { NULL, hours } });
    frame_column(&f, "g", "x", (frame_buffers){ { NULL, numbers } });
    return f;
}

static void a_wide_table(void **state)
{
    (void)state;
    static_frame f = small();
    check_as(&f, &LL_CSV_DEFAULT,
             "id,time,x\na,1970-01-01T00:00:00,1.5\na,1970-01-01T01:00:00,\n"
             "b,1970-01-01T02:00:00,-3\n");
}

static void numbers_of_every_type(void **state)
{
    (void)state;
    static const uint8_t  bits[] = { 5 }, second_is_null[] = { 5 };
    static const int8_t   i8[] = { -1, 2, 3 };
    static const uint16_t u16[] = { 65535, 2, 3 }, f16[] = { 0x3c00, 0xc000, 0x0001 };
    static const int32_t  i32[] = { -7, 2, 3 };
    static const uint64_t u64[] = { UINT64_MAX, 2, 3 };
    static const float    f32[] = { 0.1f, INFINITY, 3 };
    static_frame          f = { .n_rows = 3 };
    frame_column(&f, "tss:", "time", (frame_buffers){ { NULL, hours } });
    frame_column(&f, "b", "flag", (frame_buffers){ { NULL, bits } });
    frame_column(&f, "c", "i8", (frame_buffers){ { second_is_null, i8 } });
    frame_column(&f, "S", "u16", (frame_buffers){ { NULL, u16 } });
    frame_column(&f, "e", "f16", (frame_buffers){ { NULL, f16 } });
    frame_column(&f, "i", "i32", (frame_buffers){ { NULL, i32 } });
    frame_column(&f, "L", "u64", (frame_buffers){ { NULL, u64 } });
    frame_column(&f, "f", "f32", (frame_buffers){ { second_is_null, f32 } });
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.no_codes = true;
    llap_panel *p = NULL;
    CHECK_OK(read_with(&f, &o, &p));
    char found[300];
    show(p, found, sizeof found);
    assert_string_equal(found, "series@0:1,-1,65535,1,-7,1.84467e+19,0.1 "
                               "series@3600:0,-,2,-2,2,2,- "
                               "series@7200:1,3,3,5.96046e-08,3,3,3");
    assert_string_equal(p->entity[0], "series");
    llap_panel_destroy(p);
}

static void texts_of_every_layout(void **state)
{
    (void)state;
    static const int64_t large[] = { 0, 1, 2, 3 };
    static const char    long_text[] = "____a name of many bytes";
    static int64_t       lengths[] = { 24 };
    static struct {
        int32_t n;
        char    text[12];
    } views[3] = { { 1, "a" }, { 1, "a" }, { 20, "a na" } };
    const int32_t place[2] = { 0, 4 }; /* buffer, byte */
    memcpy(views[2].text + 4, place, sizeof place);
    static const uint8_t index[] = { 1, 1, 0 };
    static const int32_t offsets[] = { 0, 1, 2 };
    const char          *text = "id,time,x\na,1970-01-01T00:00:00,1.5\na,1970-01-01T01:00:00,\n"
                                "b,1970-01-01T02:00:00,-3\n";
    static_frame         f = small();
    f.schema[0].format = "U";
    f.buffers[0].at[1] = large;
    check_as(&f, &LL_CSV_DEFAULT, text);
    f = small();
    f.n_columns = 0;
    frame_column(&f, "C", "id", (frame_buffers){ { NULL, index } });
    frame_dictionary(&f, 2, (frame_buffers){ { NULL, offsets, "ba" } });
    f.n_columns = 3;
    check_as(&f, &LL_CSV_DEFAULT, text);
    f = small();
    f.n_columns = 0;
    frame_column(&f, "vu", "id", (frame_buffers){ { NULL, views, long_text, lengths } });
    f.n_columns = 3;
    check_as(&f, &LL_CSV_DEFAULT,
             "id,time,x\na,1970-01-01T00:00:00,1.5\na,1970-01-01T01:00:00,\n"
             "a name of many bytes,1970-01-01T02:00:00,-3\n");
    lengths[0] = 23;
    llap_panel *p = NULL;
    CHECK_FAIL(read_frame(&f, &p), LLAP_EFORMAT,
               "frame: column 1 'id': a view from byte 4 to 24 of a buffer of 23");
}

static void times_of_every_unit_and_zone(void **state)
{
    (void)state;
    static const int64_t ms[] = { 0, 3600000, 7200000 }, us[] = { 0, 3600000000, 7200000000 };
    static const int64_t ns[] = { 0, 3600000000000, 7200000000000 }, epoch[] = { 0, 5, 7 };
    static const int32_t days[] = { 0, 1, 366 };
    static const struct {
        const char *format;
        const void *ticks;
        const char *time[3];
    } cases[] = {
        { "tsm:", ms, { "1970-01-01T00:00:00", "1970-01-01T01:00:00", "1970-01-01T02:00:00" } },
        { "tsu:UTC",
          us,
          { "1970-01-01T00:00:00Z", "1970-01-01T01:00:00Z", "1970-01-01T02:00:00Z" } },
        { "tsn:+08:00",
          ns,
          { "1970-01-01T08:00:00+08:00", "1970-01-01T09:00:00+08:00",
            "1970-01-01T10:00:00+08:00" } },
        { "tdD", days, { "1970-01-01", "1970-01-02", "1971-01-02" } },
        { "l", epoch, { "0", "5", "7" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char         text[300];
        static_frame f = small();
        f.schema[1].format = cases[i].format;
        f.buffers[1].at[1] = cases[i].ticks;
        snprintf(text, sizeof text, "id,time,x\na,%s,1.5\na,%s,\nb,%s,-3\n", cases[i].time[0],
                 cases[i].time[1], cases[i].time[2]);
        check_as(&f, &LL_CSV_DEFAULT, text);
    }
    /* a zone of the options is that of clocks without one */
    ll_csv_opts  o = LL_CSV_DEFAULT;
    static_frame f = small();
    o.zone = "+02:00";
    check_as(&f, &o,
             "id,time,x\na,1970-01-01T00:00:00,1.5\na,1970-01-01T01:00:00,\n"
             "b,1970-01-01T02:00:00,-3\n");
}

/* The autumn hour that the clock of a zone shows twice: the order of the rows tells, as in files.
 */
static void clocks_of_a_zone_in_autumn(void **state)
{
    (void)state;
    static const int64_t local[] = { 1698541200, 1698544800, 1698544800, 1698548400 };
    static const double  x[] = { 1, 2, 3, 4 };
    static_frame         f = { .n_rows = 4 };
    ll_csv_opts          o = LL_CSV_DEFAULT;
    frame_column(&f, "tss:", "time", (frame_buffers){ { NULL, local } });
    frame_column(&f, "g", "x", (frame_buffers){ { NULL, x } });
    o.zone = "Europe/Rome";
    o.infer_wall = true;
    check_as(&f, &o,
             "time,x\n2023-10-29T01:00:00,1\n2023-10-29T02:00:00,2\n2023-10-29T02:00:00,3\n"
             "2023-10-29T03:00:00,4\n");
    llap_panel *p = NULL;
    f.n_rows = 2; /* nothing tells which of the two it is */
    CHECK_FAIL(read_with(&f, &o, &p), LLAP_EFORMAT, "the zone's clock shows this time twice");
    static const int64_t spring[] = { 1679792400, 1679796000 }; /* 02:00 is never shown */
    f.buffers[0].at[1] = spring;
    CHECK_FAIL(read_with(&f, &o, &p), LLAP_EFORMAT, "frame:2");
}

static void a_long_table(void **state)
{
    (void)state;
    static const int32_t offsets[] = { 0, 4, 8, 12 };
    static_frame         f = small();
    f.schema[2].name = "value";
    frame_column(&f, "u", "variable", (frame_buffers){ { NULL, offsets, "tempwindtemp" } });
    check_as(&f, &LL_CSV_DEFAULT,
             "id,time,value,variable\na,1970-01-01T00:00:00,1.5,temp\n"
             "a,1970-01-01T01:00:00,,wind\nb,1970-01-01T02:00:00,-3,temp\n");
}

/* Dates and clocks as two columns of text, words that never change, numbers as text. */
static void what_is_text_is_read_as_csv_is(void **state)
{
    (void)state;
    static const int32_t ten[] = { 0, 10, 20, 30 }, five[] = { 0, 5, 10, 15 };
    static const int32_t one[] = { 0, 3, 5, 6 };
    static_frame         f = { .n_rows = 3 };
    frame_column(&f, "u", "Date",
                 (frame_buffers){ { NULL, ten, "10/03/200410/03/200428/03/2004" } });
    frame_column(&f, "u", "Time", (frame_buffers){ { NULL, five, "18.0019.0018.00" } });
    frame_column(&f, "u", "CO", (frame_buffers){ { NULL, one, "2.62-1" } });
    f.buffers[2].at[2] = "2.6-12";
    check_as(&f, &LL_CSV_DEFAULT,
             "Date,Time,CO\n10/03/2004,18.00,2.6\n10/03/2004,19.00,-1\n28/03/2004,18.00,2\n");
}

static void options_are_those_of_files(void **state)
{
    (void)state;
    static const char *const columns[] = { "y=x", NULL }, *const missing[] = { "-3", NULL };
    static_frame f = small();
    ll_csv_opts  o = LL_CSV_DEFAULT;
    o.columns = columns;
    o.missing = missing;
    check_as(&f, &o,
             "id,time,x\na,1970-01-01T00:00:00,1.5\na,1970-01-01T01:00:00,\n"
             "b,1970-01-01T02:00:00,-3\n");
}

static void what_cannot_be_read_is_named(void **state)
{
    (void)state;
    static const char *const drop[] = { "price", NULL };
    static const int64_t     far[] = { 0, 1, INT64_MAX / 1000 };
    static const uint8_t     second_is_null[] = { 5 };
    llap_panel              *p = NULL;
    static_frame             f = small();
    frame_column(&f, "d:10,2", "price", (frame_buffers){ { NULL, numbers } });
    CHECK_FAIL(read_frame(&f, &p), LLAP_EFORMAT, "frame: column 4 'price': expected numbers");
    assert_non_null(strstr(llap_error_detail(), "decimal"));
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.drop = drop;
    CHECK_OK(read_with(&f, &o, &p));
    llap_panel_destroy(p);
    f = small();
    f.schema[1].format = "tss:Middle/Earth";
    CHECK_FAIL(read_frame(&f, &p), LLAP_EINVAL, "column 2 'time'");
    f = small();
    f.buffers[1].at[1] = far;
    CHECK_FAIL(read_frame(&f, &p), LLAP_ELIMIT, "column 2 'time'");
    f = small();
    f.buffers[1].at[0] = second_is_null;
    CHECK_FAIL(read_frame(&f, &p), LLAP_EFORMAT, "frame:2: column 2 'time': expected a time");
    f = small();
    f.buffers[0].at[0] = second_is_null;
    CHECK_FAIL(read_frame(&f, &p), LLAP_EFORMAT, "frame:2: column 1 'id': expected the name");
    f = small();
    f.schema[1].name = "when", f.schema[1].format = "l";
    CHECK_FAIL(read_frame(&f, &p), LLAP_EFORMAT, "no time column found");
    f = small();
    o = LL_CSV_DEFAULT;
    o.time_format = "epoch";
    CHECK_FAIL(read_with(&f, &o, &p), LLAP_EOPTION, "time_format: column 'time' is a time");
    f = small();
    f.n_rows = 0;
    CHECK_FAIL(read_frame(&f, &p), LLAP_EFORMAT, "frame");
}

static void a_producer_that_fails(void **state)
{
    (void)state;
    llap_panel  *p = NULL;
    static_frame f = small();
    f.batch = 1;
    for (f.fail_at = 1; f.fail_at <= 4; f.fail_at++) {
        CHECK_FAIL(read_frame(&f, &p), LLAP_EIO, "its producer failed (5): the well ran dry");
        assert_null(p);
    }
}

static void sizes_that_cannot_be(void **state)
{
    (void)state;
    static const int32_t back[] = { 0, 2, 1, 3 }, below[] = { -5, 1, 2, 3 };
    static const uint8_t outside[] = { 0, 9, 0 };
    static const int32_t offsets[] = { 0, 1, 2 };
    llap_panel          *p = NULL;
    static_frame         f = small();
    f.buffers[0].at[1] = back;
    CHECK_FAIL(read_frame(&f, &p), LLAP_EFORMAT, "column 1 'id': text from byte 2 to 1");
    f.buffers[0].at[1] = below;
    CHECK_FAIL(read_frame(&f, &p), LLAP_EFORMAT, "text from byte -5");
    f = small();
    f.buffers[0].at[2] = "a\xff"
                         "b";
    CHECK_FAIL(read_frame(&f, &p), LLAP_EFORMAT, "expected text in UTF-8");
    f = small();
    f.array[2].n_buffers = 1;
    CHECK_FAIL(read_frame(&f, &p), LLAP_EFORMAT, "column 3 'x': expected 2 buffers");
    f = small();
    f.buffers[2].at[1] = NULL;
    CHECK_FAIL(read_frame(&f, &p), LLAP_EFORMAT, "buffer 1 is not there");
    f = small();
    f.array[2].offset = -1;
    CHECK_FAIL(read_frame(&f, &p), LLAP_EFORMAT, "offset -1");
    f = small();
    f.n_columns = 0;
    frame_column(&f, "C", "id", (frame_buffers){ { NULL, outside } });
    frame_dictionary(&f, 2, (frame_buffers){ { NULL, offsets, "ba" } });
    f.n_columns = 3;
    CHECK_FAIL(read_frame(&f, &p), LLAP_EFORMAT, "index 9 of a dictionary of 2");
    f.values[0].release = NULL;
    CHECK_FAIL(read_frame(&f, &p), LLAP_EFORMAT, "dictionary is not there");
}

/* More rows than a block has, entities in turns and in runs, unordered, with codes for missing and
 * infinite values. */
static void many_rows(void **state)
{
    (void)state;
    enum { N = 1700 };
    static const int32_t offsets[] = { 0, 1, 2, 3 };
    static int32_t       who[N];
    static int64_t       when[N];
    static double        x[N];
    static char          text[N * 64] = "id,time,x\n";
    static const char   *names[] = { "c", "a", "b" };
    size_t               at = strlen(text);
    for (int i = 0; i < N; i++) {
        who[i] = i < 900 ? i / 300 : i % 3;
        when[i] = i == 1000 ? 5 : i;
        x[i] = i % 97 == 0 ? -9999 : i % 211 == 1 ? (double)INFINITY : i % 13 * 0.5;
        const char *const cell = isinf(x[i]) ? "inf" : NULL;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s,1970-01-01T%02d:%02d:%02d,",
                               names[who[i]], (int)when[i] / 3600, (int)when[i] / 60 % 60,
                               (int)when[i] % 60);
        at += cell != NULL ? (size_t)snprintf(text + at, sizeof text - at, "%s\n", cell)
                           : (size_t)snprintf(text + at, sizeof text - at, "%g\n", x[i]);
    }
    static_frame f = { .n_rows = N };
    frame_column(&f, "i", "id", (frame_buffers){ { NULL, who } });
    frame_dictionary(&f, 3, (frame_buffers){ { NULL, offsets, "cab" } });
    frame_column(&f, "tss:", "time", (frame_buffers){ { NULL, when } });
    frame_column(&f, "g", "x", (frame_buffers){ { NULL, x } });
    llap_panel   *expected = NULL;
    ll_csv_report wanted, report;
    CHECK_OK(read_text(text, &LL_CSV_DEFAULT, &expected, &wanted));
    assert_true(wanted.infinite_cells > 0 && wanted.coded_missing > 0 && wanted.rows.unordered > 0);
    static const int64_t sizes[] = { 0, 1, 511, 512, 513, 1000 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        llap_panel *p = NULL;
        f.batch = sizes[i];
        struct ArrowArrayStream s = frame_stream(&f);
        CHECK_OK(ll_arrow_read(&s, &LL_CSV_DEFAULT, &p, &report));
        assert_true(panel_equal(p, expected));
        assert_int_equal(report.infinite_cells, wanted.infinite_cells);
        assert_int_equal(report.coded_missing, wanted.coded_missing);
        assert_int_equal(report.rows.unordered, wanted.rows.unordered);
        assert_int_equal(report.rows.first_unordered, wanted.rows.first_unordered);
        llap_panel_destroy(p);
    }
    llap_panel_destroy(expected);
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.unordered_is_error = true;
    CHECK_FAIL(read_with(&f, &o, &expected), LLAP_EFORMAT, "frame:1001: the time goes back");
}

static llap_status work(void *user)
{
    llap_panel       *p = NULL;
    const llap_status st = read_frame(user, &p);
    llap_panel_destroy(p);
    return st;
}

static void every_failed_allocation(void **state)
{
    (void)state;
    static_frame f = small();
    f.batch = 1;
    check_every_failed_allocation(work, &f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wide_table),
        cmocka_unit_test(numbers_of_every_type),
        cmocka_unit_test(texts_of_every_layout),
        cmocka_unit_test(times_of_every_unit_and_zone),
        cmocka_unit_test(clocks_of_a_zone_in_autumn),
        cmocka_unit_test(a_long_table),
        cmocka_unit_test(what_is_text_is_read_as_csv_is),
        cmocka_unit_test(options_are_those_of_files),
        cmocka_unit_test(what_cannot_be_read_is_named),
        cmocka_unit_test(a_producer_that_fails),
        cmocka_unit_test(sizes_that_cannot_be),
        cmocka_unit_test(many_rows),
        cmocka_unit_test(every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
