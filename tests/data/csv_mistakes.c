/* What is wrong or odd in a CSV file: mistakes, warnings, limits, failing memory. */
#include "csv_text.h"

static void mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        llap_status code;
        const char *detail;
    } cases[] = {
        { "", LLAP_EFORMAT, "t.csv: is empty" },
        { "\n\n", LLAP_EFORMAT, "t.csv: is empty" },
        { "time,x\n", LLAP_EFORMAT, "t.csv: has no line of data" },
        { "time,x\n1,2\n2,3,4\n", LLAP_EFORMAT, "t.csv:3: expected 2 fields, found 3" },
        { "time,x,y\n1,2,3\n\n2,3\n", LLAP_EFORMAT, "t.csv:4: expected 3 fields, found 2" },
        { "time,x\n1,2\n2,abc\n3,4\n", LLAP_EFORMAT,
          "t.csv:3: column 2 'x': expected a number, found 'abc'" },
        { "time,x\n2020-01-01,2\n2020-01-02,3\n\n2020-01-03,3\nsoon,3\n", LLAP_EFORMAT,
          "t.csv:6: column 1 'time': expected a time (rfc3339 in the lines before), found 'soon'" },
        { "time,x\n2024-02-29,2\n2023-02-29,3\n", LLAP_EFORMAT,
          "t.csv:3: column 1 'time': expected a time (rfc3339 in the lines before), found "
          "'2023-02" },
        { "time,x\n1,999\n2,999\n3,\"1,000\"\n", LLAP_EFORMAT,
          "t.csv:4: column 2 'x': '1,000' may be 1000 or 1, and no other cell shows which" },
        { "a,b\n1,2\n3,4\n", LLAP_EFORMAT,
          "t.csv: no time column found: name it (`time`), or say when the rows begin" },
        { "entity,time,x\na,1,2\n,2,3\n", LLAP_EFORMAT,
          "t.csv:3: column 1 'entity': expected the name" },
        { "time,x\n1,2\n,3\n", LLAP_EFORMAT,
          "t.csv:3: column 1 'time': expected a time, found nothing" },
        { "time,variable,value\n1,x,2\n2,,3\n", LLAP_EFORMAT,
          "t.csv:3: column 2 'variable': expected the name" },
        { "time,x\n1,\"2\n", LLAP_EFORMAT, "t.csv:2: the quote of field 2 is never closed" },
        { "time,x\n1,a\n2,b\n", LLAP_EFORMAT, "t.csv: no column of numbers" },
        { "\x01\x02\x03rubbish", LLAP_EFORMAT, "byte 0x01 at offset 0: not a text file" },
        { "PK\x03\x04zip", LLAP_EFORMAT, "byte 0x03 at offset 2: not a text file" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        llap_panel *p;
        CHECK_FAIL(read_text(cases[i].text, &LL_CSV_DEFAULT, &p, NULL), cases[i].code,
                   cases[i].detail);
        assert_null(p);
    }
    /* a bad time behind what the schema was found from */
    char  *text = malloc(900000);
    size_t n = (size_t)sprintf(text, "time,x\n");
    for (int i = 0; i < 40000; i++) n += (size_t)sprintf(text + n, "%d,1\n", i);
    n += (size_t)sprintf(text + n, "soon,1\n");
    llap_panel *p;
    CHECK_FAIL(read_text(text, &LL_CSV_DEFAULT, &p, NULL), LLAP_EFORMAT,
               "t.csv:40002: column 1 'time': expected a time as a number, found 'soon'");
    free(text);
    const char *none = "/no/such.csv";
    CHECK_FAIL(ll_csv_read(&none, 1, &LL_CSV_DEFAULT, &p, NULL), LLAP_ENOTFOUND, "/no/such.csv");
    CHECK_FAIL(ll_csv_read(&none, 0, &LL_CSV_DEFAULT, &p, NULL), LLAP_EINVAL, "no file");
}

static void a_message_is_one_line_whatever_the_cell_holds(void **state)
{
    (void)state;
    llap_panel *p;
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.time_format = "number";
    CHECK_FAIL(read_text("time,x\n\"so\non\",1\n", &o, &p, NULL), LLAP_EFORMAT,
               "expected a time as a number, found 'so\\x0aon'");
    o.time_format = "elapsed";
    CHECK_FAIL(read_text("time,x\n\"so\non\",1\n", &o, &p, NULL), LLAP_EFORMAT,
               "expected a time HH:MM or HH:MM:SS, found 'so\\x0aon'");
}

static void oddities_are_counted(void **state)
{
    (void)state;
    static const char text[] = "entity,time,x\na,2,1\na,1,2\na,2,3\nb,1,inf\nb,2,1e39\nb,3,1e38\n";
    llap_panel       *p;
    ll_csv_report     report;
    CHECK_OK(read_text(text, &LL_CSV_DEFAULT, &p, &report));
    char found[256];
    show(p, found, sizeof found);
    assert_string_equal(found, "a@1:2 a@2:3 b@1:- b@2:- b@3:1e+38");
    assert_int_equal(report.rows.unordered, 1);
    assert_int_equal(report.rows.first_unordered, 1);
    assert_int_equal(report.rows.duplicate_cells, 1);
    assert_int_equal(report.infinite_cells, 2);
    assert_int_equal(report.warnings, 3);
    llap_panel_destroy(p);
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.duplicates = LL_DUPLICATES_ERROR;
    CHECK_FAIL(read_text(text, &o, &p, NULL), LLAP_EFORMAT,
               "t.csv:4: entity 'a': 'x' is given twice");
    o = LL_CSV_DEFAULT;
    o.unordered_is_error = true;
    CHECK_FAIL(read_text(text, &o, &p, NULL), LLAP_EFORMAT, "t.csv:3: the time goes back");
    o = LL_CSV_DEFAULT;
    o.bad_is_missing = true;
    CHECK_OK(read_text("time,x\n1,2\n2,two\n3,4\n", &o, &p, &report));
    assert_int_equal(report.bad_cells, 1);
    llap_panel_destroy(p);
    o = LL_CSV_DEFAULT;
    o.max_entities = 2;
    CHECK_FAIL(read_text("entity,time,x\na,1,1\na,2,2\nb,1,1\nc,1,1\n", &o, &p, NULL), LLAP_ELIMIT,
               "t.csv:5: column 1 'entity': more than 2 different entities");
    CHECK_OK(read_text("time,x,x,\n1,2,3,\n", &LL_CSV_DEFAULT, &p, &report));
    assert_string_equal(p->var[1], "x_2");
    llap_panel_destroy(p);
}

typedef struct heard {
    int  n;
    char last[512];
} heard;

static void hear(void *user, llap_log_level level, const char *message)
{
    heard *h = user;
    assert_int_equal(level, LLAP_LOG_WARNING);
    h->n++;
    snprintf(h->last, sizeof h->last, "%s", message);
}

static void warnings_have_a_place(void **state)
{
    (void)state;
    heard          h = { 0 };
    const llap_log log = { LLAP_LOG_WARNING, hear, &h };
    ll_csv_opts    o = LL_CSV_DEFAULT;
    o.log = &log;
    llap_panel *p = panel_of_opts("time,x\n\n1,1\n\n\n2,2\n\n2,3\n", &o);
    assert_int_equal(h.n, 1);
    assert_string_equal(h.last, "t.csv:8: a value given twice for one entity and time; the last "
                                "one stays (1 times, here first)");
    llap_panel_destroy(p);
    p = panel_of_opts("time,y,x\n1,1,1\n2,1,inf\n3,1,1e39\n", &o);
    assert_string_equal(h.last,
                        "t.csv:3: column 3 'x': 2 cells are infinite or too large; taken as "
                        "missing (here first)");
    llap_panel_destroy(p);
    p = panel_of_opts("time,variable,value\n1,x,1\n2,x,-inf\n", &o);
    assert_string_equal(h.last, "t.csv:3: column 3 'value': 1 cells are infinite or too large; "
                                "taken as missing (here first)");
    llap_panel_destroy(p);
    /* nothing tells day from month, though one wanders a little less */
    h.n = 0;
    p = panel_of_opts("date,x\n03/04/2004,1\n04/06/2004,1\n", &o);
    assert_int_equal(h.n, 1);
    assert_string_equal(h.last, "t.csv: day and month can be read either way; taken as %m/%d/%Y: "
                                "give the format");
    llap_panel_destroy(p);
    h.n = 0; /* days in order tell */
    p = panel_of_opts("date,x\n09/04/2004,1\n10/04/2004,1\n11/04/2004,1\n12/04/2004,1\n", &o);
    assert_int_equal(h.n, 0);
    llap_panel_destroy(p);
}

static void limits_hold(void **state)
{
    (void)state;
    const size_t n = 100u << 20;
    char        *text = malloc(n + 16);
    memcpy(text, "time,x\n1,", 9);
    memset(text + 9, '7', n);
    text[n] = '\0';
    llap_panel *p;
    CHECK_FAIL(read_text(text, &LL_CSV_DEFAULT, &p, NULL), LLAP_ELIMIT,
               "t.csv:2: line is longer than 16777216 bytes");
    memset(text, 'x', n);
    CHECK_FAIL(read_text(text, &LL_CSV_DEFAULT, &p, NULL), LLAP_ELIMIT,
               "t.csv:1: the first line is longer");
    size_t at = (size_t)sprintf(text, "entity,time,x\n");
    for (int i = 0; i < 1500; i++) at += (size_t)sprintf(text + at, "e,%d,1\n", i);
    for (int i = 0; i < 1200000; i++) at += (size_t)sprintf(text + at, "n%d,1,1\n", i);
    CHECK_FAIL(read_text(text, &LL_CSV_DEFAULT, &p, NULL), LLAP_ELIMIT,
               "t.csv:1001501: column 1 'entity': more than 1000000 different entities");
    free(text);
}

static llap_status read_all_kinds(void *user)
{
    (void)user;
    llap_panel *p;
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.text = LL_CSV_TEXT_CODE;
    o.circular = (const char *const[]){ "d", NULL };
    llap_status st = read_text(
        "entity,date,time,d,wd,x,\nb,10/03/2004,18.00,90,N,-9999,\na,13/03/2004,18.00,N,S,-9999,\n"
        "a,12/03/2004,18.00,N,S,-9999,\na,12/03/2004,18.00,,,1,\na,12/03/2004,19.00,,,1,\na,12/03/"
        "2004,20.00,,,1,\n",
        &o, &p, NULL);
    llap_panel_destroy(p);
    return st;
}

static void failing_allocations_lose_nothing(void **state)
{
    (void)state;
    check_every_failed_allocation(read_all_kinds, NULL);
}

/* A header of more bytes than are looked at first. */
static void long_header(void **state)
{
    (void)state;
    enum { COLUMNS = 3000 };
    char  *text = NULL;
    size_t n = 0;
    FILE  *f = open_memstream(&text, &n);
    fputs("time", f);
    for (int i = 0; i < COLUMNS; i++) fprintf(f, ",%0100d", i);
    for (int row = 0; row < 2; row++) {
        fprintf(f, "\n%d", row);
        for (int i = 0; i < COLUMNS; i++) fprintf(f, ",%d", i + row);
    }
    fputc('\n', f);
    fclose(f);
    llap_panel *p;
    CHECK_OK(ll_csv_read_memory("wide.csv", text, n, &LL_CSV_DEFAULT, &p, NULL));
    assert_int_equal(p->n_vars, COLUMNS);
    assert_int_equal(p->n_rows, 2);
    assert_true(p->value[COLUMNS + 7] == 8);
    llap_panel_destroy(p);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(a_message_is_one_line_whatever_the_cell_holds),
        cmocka_unit_test(oddities_are_counted),
        cmocka_unit_test(warnings_have_a_place),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(long_header),
        cmocka_unit_test(failing_allocations_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
