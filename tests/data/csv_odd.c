/* Tables as spreadsheets, banks and instruments write them: read as meant, or refused. */
#include "csv_text.h"

#include "data/timeline.h"

static void refuse(const char *text, const char *detail)
{
    llap_panel *p;
    CHECK_FAIL(read_text(text, &LL_CSV_DEFAULT, &p, NULL), LLAP_EFORMAT, detail);
    assert_null(p);
}

static void thousands_are_read(void **state)
{
    (void)state;
    expect("time;x\n1;1.538,65\n2;538,65\n", "t@1:1538.65 t@2:538.65");
    expect("time,x\n1,\"1,234.5\"\n2,99.5\n", "t@1:1234.5 t@2:99.5");
    expect("time;x\n1;1 234,5\n2;9,5\n", "t@1:1234.5 t@2:9.5");
    expect("time,x\n1,1'234.5\n2,9\n", "t@1:1234.5 t@2:9");
    expect("time,x\n1,1 234\n2,999\n", "t@1:1234 t@2:999");
    expect("time;x\n1;1.234.567\n2;1.234\n", "t@1:1.23457e+06 t@2:1234");
    expect("time\tx\ty\n1\t1,234\t1.5\n2\t2,345\t2.5\n", "t@1:1234,1.5 t@2:2345,2.5");
    /* the other columns show it */
    expect("time;x;y\n1;1.234;0,5\n2;2.345;1\n", "t@1:1234,0.5 t@2:2345,1");
    expect("time;x;y\n1;1,234;0,5\n2;2,345;1\n", "t@1:1.234,0.5 t@2:2.345,1");
    expect("time,x,y\n1,\"1,234\",5.5\n2,\"12,345\",6\n", "t@1:1234,5.5 t@2:12345,6");
    /* hours and minutes show nothing about the values */
    expect("Datum;Uhrzeit;x\n10.03.2004;18.00;2,6\n10.03.2004;19.00;2,5\n",
           "t@1078941600:2.6 t@1078945200:2.5");
    llap_panel   *p;
    ll_csv_report report;
    CHECK_OK(read_text("time;x\n1;1.538,65\n2;538,65\n", &LL_CSV_DEFAULT, &p, &report));
    assert_int_equal(report.grouped_cells, 1);
    assert_non_null(strstr(report.decision[0], "decimal comma"));
    assert_non_null(strstr(report.decision[0], "numbers with thousands set apart: 1"));
    llap_panel_destroy(p);
}

static void a_thousandfold_is_not_guessed(void **state)
{
    (void)state;
    refuse("time;x\n1;1,234\n2;5,678\n", "t.csv:2: column 2 'x': '1,234' may be 1234 or 1.234");
    refuse("time;x\n1;12\n2;5.678\n", "t.csv:3: column 2 'x': '5.678' may be 5.678 or 5678");
    refuse("time\tx\n1\t1,234\n2\t5,678\n", "may be 1234 or 1.234");
    refuse("time,x,y\n1,\"1,234\",5\n2,\"12,345\",6\n", "may be 1234 or 1.234");
    refuse("time;x;y\n1;1,234;0,5\n2;5.678;1\n", "column 2 'x': '1,234' may be 1234 or 1.234");
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.decimal = ',';
    expect_opts("time;x\n1;1,234\n2;5,678\n", &o, "t@1:1.234 t@2:5.678");
    expect_opts("time;x\n1;12\n2;5.678\n", &o, "t@1:12 t@2:5678");
    o.decimal = '.';
    expect_opts("time;x\n1;1,234\n2;5,678\n", &o, "t@1:1234 t@2:5678");
    /* a point is a point where no comma can be one */
    expect("time,x\n1,1.234\n2,5.678\n", "t@1:1.234 t@2:5.678");
    expect("time\tx\n1\t1.234\n2\t5.678\n", "t@1:1.234 t@2:5.678");
    /* columns that are not read need no answer */
    o = LL_CSV_DEFAULT;
    o.drop = (const char *const[]){ "x", NULL };
    expect_opts("time;x;y\n1;1,234;5\n2;5,678;6\n", &o, "t@1:5 t@2:6");
}

static void numbers_are_not_left_out_as_words(void **state)
{
    (void)state;
    refuse("time;x;y;z\n1;1,25;7.5;2,5\n2;5,67;8.25;2,5\n",
           "t.csv:2: column 3 'y': '7.5', '8.25' look like numbers, but cannot be read with a "
           "decimal comma");
    refuse("time,x,y\n1,5,75 %\n2,6,80 %\n", "column 3 'y': '75 %', '80 %' look like numbers");
    refuse("time,x,y\n1,5,$75\n2,6,$80\n", "'$75', '$80' look like numbers");
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.text = LL_CSV_TEXT_IGNORE;
    expect_opts("time,x,y\n1,5,75 %\n2,6,80 %\n", &o, "t@1:5 t@2:6");
    o.text = LL_CSV_TEXT_AUTO;
    o.drop = (const char *const[]){ "y", NULL };
    expect_opts("time,x,y\n1,5,75 %\n2,6,80 %\n", &o, "t@1:5 t@2:6");
    /* names, addresses and days are words */
    expect("time,x,y,z,w\n1,5,A12,192.168.1.1,31.12.2020\n2,6,B7,10.0.0.1,01.01.2021\n",
           "t@1:5 t@2:6");
}

static void comments_are_passed_over(void **state)
{
    (void)state;
    expect("# made by x\n# \"quoted, never closed\ntime,x\n1,2\n2,3\n", "t@1:2 t@2:3");
    expect("%\n% 50 % of it, is text\ntime,x\n1,2\n", "t@1:2");
    expect("// a\n\n// b\ntime;x\n1;2,5\n", "t@1:2.5");
    expect("time,x\n1,2\n# sensor changed\n2,3\n3,4\n4,5\n", "t@1:2 t@2:3 t@3:4 t@4:5");
    /* the header, and the units, as comments */
    expect("# station 7\n#time,x\n1,2\n2,3\n", "t@1:2 t@2:3");
    llap_panel   *p;
    ll_csv_report report;
    CHECK_OK(read_text("#YY  MM DD hh mm WVHT  DPD\n#yr  mo dy hr mn    m  sec\n2020 01 01 00 "
                       "50  1.5  4.2\n2020 01 01 01 50  1.6  4.3\n",
                       &LL_CSV_DEFAULT, &p, &report));
    assert_int_equal(p->n_rows, 2);
    assert_string_equal(p->var[0], "WVHT");
    assert_int_equal(p->time[1] - p->time[0], 3600 * second);
    assert_int_equal(report.comment_lines, 2);
    assert_non_null(strstr(report.decision[0], "a header in a comment"));
    llap_panel_destroy(p);
    /* names of entities are none */
    expect("entity,time,x\n#1,1,2\n#2,1,3\na,1,4\n", "#1@1:2 #2@1:3 a@1:4");
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.comment = "";
    expect_opts("entity,time,x\n# 1,1,2\na,1,3\nb,1,4\nc,1,4\nd,1,4\n", &o,
                "# 1@1:2 a@1:3 b@1:4 c@1:4 d@1:4");
    o.comment = "!";
    expect_opts("!x\ntime,x\n1,2\n!2,3\n", &o, "t@1:2");
    /* in the middle of many lines, for any number of threads */
    char  *text = malloc(4000000);
    size_t n = (size_t)sprintf(text, "# top\nentity,time,x\n");
    for (int i = 0; i < 200000; i++)
        n += (size_t)sprintf(text + n, i % 5000 == 7 ? "#e,%d,1\n" : "e,%d,1\n", i);
    for (int threads = 1; threads <= 3; threads += 2) {
        o = LL_CSV_DEFAULT;
        o.threads = threads;
        CHECK_OK(ll_csv_read_memory("t.csv", text, n, &o, &p, &report));
        assert_int_equal(p->n_rows, 200000 - 40);
        assert_int_equal(p->n_entities, 1);
        assert_int_equal(report.comment_lines, 41);
        llap_panel_destroy(p);
    }
    free(text);
}

static void titles_and_headers_are_told_apart(void **state)
{
    (void)state;
    expect("Station report\nmade 2024-01-01\ntime,x,y\n1,2,3\n2,3,4\n", "t@1:2,3 t@2:3,4");
    expect("Kontoauszug;;\n;;\nDatum;Betrag;Saldo\n01.02.2024;5,5;6\n02.02.2024;1;2\n",
           "t@1706745600:5.5,6 t@1706832000:1,2");
    /* a header above names, and one below */
    llap_panel *p = panel_of(",north,,south,\ntime,temp,hum,temp,hum\n1,2,3,4,5\n2,3,4,5,6\n");
    assert_string_equal(p->var[0], "north temp");
    assert_string_equal(p->var[1], "north hum");
    assert_string_equal(p->var[3], "south hum");
    llap_panel_destroy(p);
    expect("x,time\n[m],[s]\n1,2020-01-01\n", "t@1577836800:1");
    expect("time,x,y\n,\302\260C,%\n1,2,3\n2,3,4\n", "t@1:2,3 t@2:3,4");
    /* a sparse first row is a row */
    expect("2020-01-01,,\n2020-01-02,1,2\n2020-01-03,2,3\n",
           "t@1577836800:-,- t@1577923200:1,2 t@1578009600:2,3");
    /* files joined by hand */
    expect("time,x\n1,2\ntime,x\n2,3\n", "t@1:2 t@2:3");
    /* separators that close the lines of data, or those of the header; R leaves out a name */
    expect("time,x\n1,2,\n2,3,\n", "t@1:2 t@2:3");
    expect("time,x,,\n1,2\n2,3\n", "t@1:2 t@2:3");
    expect("time x\n1 10 2\n2 20 3\n", "t@10:1,2 t@20:2,3");
    refuse("time,x\n1,10,2\n2,20,3\n", "t.csv:2: expected 2 fields, found 3: decimal commas?");
}

static void rows_without_a_time_are_counted(void **state)
{
    (void)state;
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.start = "1970-01-01T00:01Z", o.row_every = 60 * second;
    expect_opts("x\n5\n\"\"\nNA\n6\n", &o, "t@60:5 t@120:- t@180:- t@240:6");
    expect_opts("5\n6\n7\n\n", &o, "t@60:5 t@120:6 t@180:7");
    expect_opts("x,y\n5,6\n,\n7,8\n", &o, "t@60:5,6 t@120:-,- t@180:7,8");
    expect_opts("entity,x\na,5\nb,6\na,7\n", &o, "a@60:5 a@120:7 b@60:6");
    llap_panel *p;
    CHECK_FAIL(read_text("x\n5\n\n6\n", &o, &p, NULL), LLAP_EFORMAT,
               "t.csv:4: an empty line in front of it: write NA");
    CHECK_FAIL(read_text("x\n1,5\n2,5\n", &o, &p, NULL), LLAP_EFORMAT,
               "t.csv:2: expected 1 fields, found 2: decimal commas?");
    CHECK_FAIL(read_text("1,5\n2,5\n", &o, &p, NULL), LLAP_EFORMAT,
               "'1,5' may be one number or two");
    o.separator = ';';
    expect_opts("x\n1,5\n2,5\n", &o, "t@60:1.5 t@120:2.5");
    expect_opts("1,5\n2,5\n", &o, "t@60:1.5 t@120:2.5");
    o.start = "soon";
    CHECK_FAIL(read_text("x\n5\n", &o, &p, NULL), LLAP_EOPTION, "start: time 'soon'");
    o.start = "2262-01-01T00:00Z", o.row_every = INT64_MAX / 2;
    CHECK_FAIL(read_text("x\n5\n6\n", &o, &p, NULL), LLAP_ELIMIT, "t.csv:3: its time is out");
}

static void autumn_loses_no_reading(void **state)
{
    (void)state;
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.zone = "Europe/Rome", o.infer_wall = true;
    /* 2:00 came at 00:00 UTC and again at 01:00 UTC */
    expect_opts("time,x\n2024-10-27 01:00,1\n2024-10-27 02:00,2\n2024-10-27 02:00,3\n"
                "2024-10-27 03:00,4\n",
                &o, "t@1729983600:1 t@1729987200:2 t@1729990800:3 t@1729994400:4");
    expect_opts("entity,time,x\na,2024-10-27 02:00,1\nb,2024-10-27 02:00,5\na,2024-10-27 "
                "02:30,2\nb,2024-10-27 02:00,6\na,2024-10-27 02:00,3\na,2024-10-27 02:30,4\n",
                &o,
                "a@1729987200:1 a@1729989000:2 a@1729990800:3 a@1729992600:4 b@1729987200:5 "
                "b@1729990800:6");
    /* where the order does not tell, nothing is guessed */
    llap_panel *p;
    CHECK_FAIL(read_text("time,x\n2024-10-27 01:00,1\n2024-10-27 02:00,2\n2024-10-27 03:00,4\n", &o,
                         &p, NULL),
               LLAP_EFORMAT, "t.csv:3: the zone's clock shows this time twice, and the order");
    CHECK_FAIL(read_text("time,x\n2024-10-27 04:00,1\n2024-10-27 02:00,2\n2024-10-27 02:00,4\n", &o,
                         &p, NULL),
               LLAP_EFORMAT, "t.csv:3: the zone's clock shows this time twice, and the order");
    CHECK_FAIL(read_text("time,x\n2024-03-31 02:30,1\n2024-03-31 03:30,2\n", &o, &p, NULL),
               LLAP_EFORMAT, "Europe/Rome never shows this time");
    CHECK_FAIL(read_text("time,variable,value\n2024-10-27 02:00,x,1\n2024-10-27 02:00,y,2\n", &o,
                         &p, NULL),
               LLAP_EFORMAT, "Europe/Rome shows this time twice");
    o.infer_wall = false;
    CHECK_FAIL(read_text("time,x\n2024-10-27 02:00,2\n2024-10-27 02:00,3\n", &o, &p, NULL),
               LLAP_EFORMAT, "shows this time twice");
}

static void units_are_kept(void **state)
{
    (void)state;
    llap_panel   *p, *q;
    ll_csv_report report;
    CHECK_OK(
        read_text("time,x,y,z\n[s],[m/s],-,(K)\n1,2,3,4\n2,3,4,5\n", &LL_CSV_DEFAULT, &p, &report));
    assert_string_equal(p->unit[0], "m/s");
    assert_string_equal(p->unit[1], "");
    assert_string_equal(p->unit[2], "K");
    assert_non_null(strstr(report.decision[1], "x (m/s), y, z (K)"));
    const ll_timeline_opts grid = { .grid = LL_GRID_AUTO };
    CHECK_OK(ll_timeline_apply(p, &grid, &q, NULL));
    assert_string_equal(q->unit[2], "K");
    llap_panel_destroy(q);
    llap_panel_destroy(p);
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.columns = (const char *const[]){ "a=z", "x", NULL };
    CHECK_OK(read_text("time,x,z\ns,m,K\n1,2,4\n2,3,5\n", &o, &p, NULL));
    assert_string_equal(p->unit[0], "K");
    assert_string_equal(p->unit[1], "m");
    llap_panel_destroy(p);
    p = panel_of("time,x\n1,2\n");
    assert_null(p->unit);
    llap_panel_destroy(p);
}

static llap_status read_odd(void *user)
{
    llap_panel *p;
    (void)user;
    const llap_status st =
        read_text("# a\nTitle\n,a,,b,\ntime,x,y,x,y\n1,2,\"1,234.5\",4,5\n2,3,4,5,6\n"
                  "Total,1,2,3,4\n",
                  &LL_CSV_DEFAULT, &p, NULL);
    llap_panel_destroy(p);
    return st;
}

static llap_status read_units(void *user)
{
    llap_panel *p;
    (void)user;
    const llap_status st = read_text("#time,x\n#s,m\n1,2\n2,3\n", &LL_CSV_DEFAULT, &p, NULL);
    llap_panel_destroy(p);
    return st;
}

static void failing_allocations_lose_nothing(void **state)
{
    (void)state;
    check_every_failed_allocation(read_odd, NULL);
    check_every_failed_allocation(read_units, NULL);
}

static void the_end_may_sum_up(void **state)
{
    (void)state;
    expect("time,x\n2020-01-01,2\n2020-01-02,3\nTotal,5\n", "t@1577836800:2 t@1577923200:3");
    expect("time;x\n1;2\n2;3\nSumme;5\nMittelwert:;2,5\n\n", "t@1:2 t@2:3");
    expect("entity,time,x\na,1,2\na,2,3\nTotal,,5\n", "a@1:2 a@2:3");
    expect("time|x\n1|2\n2|3\n(2 rows)\n", "t@1:2 t@2:3");
    llap_panel   *p;
    ll_csv_report report;
    CHECK_OK(read_text("time,x\n1,2\n2,3\nTotal,5\n", &LL_CSV_DEFAULT, &p, &report));
    assert_int_equal(report.summary_lines, 1);
    assert_int_equal(report.warnings, 1);
    llap_panel_destroy(p);
    /* nowhere else, and no other words */
    refuse("time,x\n1,2\nTotal,2\n2,3\n3,4\n", "t.csv:3: column 1 'time'");
    refuse("time,x\n1,2\n2,3\nlater,5\n", "t.csv:4: column 1 'time'");
    refuse("time,x,y\n1,2,3\n2,3,4\n3,4\n", "t.csv:4: expected 3 fields, found 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands_are_read),
        cmocka_unit_test(a_thousandfold_is_not_guessed),
        cmocka_unit_test(numbers_are_not_left_out_as_words),
        cmocka_unit_test(comments_are_passed_over),
        cmocka_unit_test(titles_and_headers_are_told_apart),
        cmocka_unit_test(the_end_may_sum_up),
        cmocka_unit_test(units_are_kept),
        cmocka_unit_test(autumn_loses_no_reading),
        cmocka_unit_test(rows_without_a_time_are_counted),
        cmocka_unit_test(failing_allocations_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
