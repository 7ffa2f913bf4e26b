/* Tables as spreadsheets, banks and instruments write them: read as meant, or refused. */
#include "csv_text.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands_are_read),
        cmocka_unit_test(a_thousandfold_is_not_guessed),
        cmocka_unit_test(numbers_are_not_left_out_as_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
