#include "panels.h"

#include "base/json/json.h"
#include "data/inspect/inspect.h"

static const int64_t second = 1000000000;

static const char text[] = "entity,time,x,c,n\n"
                           "a,2020-01-01T00:00:00Z,1,5,\n"
                           "a,2020-01-01T01:00:00Z,2,5,\n"
                           "a,2020-01-01T02:00:00Z,3,5,\n"
                           "a,2020-01-01T05:30:00Z,4,5,\n"
                           "b,2020-01-01T00:00:00Z,,,\n"
                           "b,2020-01-01T01:00:00Z,1000,5,\n"
                           "b,2020-01-01T02:00:00Z,2,,\n";

static void a_panel_is_described(void **state)
{
    (void)state;
    llap_panel *p = panel_of(text);
    ll_inspect *i;
    CHECK_OK(ll_inspect_create(p, &i));
    assert_int_equal(i->entities, 2);
    assert_int_equal(i->rows, 7);
    assert_int_equal(i->observed, 11);
    assert_int_equal(i->filled, 0);
    assert_int_equal(i->empty_rows, 1);
    assert_int_equal(i->last - i->first, (5 * 3600 + 1800) * second);
    assert_int_equal(i->rows_least, 3);
    assert_int_equal(i->rows_most, 4);
    assert_int_equal(i->gaps.n, 5);
    assert_int_equal(i->gaps.usual, 3600 * second);
    assert_int_equal(i->gaps.most, 12600 * second);
    assert_int_equal(i->timestamps, 4);
    assert_true(i->joint_least == 2.0 / 6 && i->joint_median == 3.0 / 6);
    assert_true(fabs(i->joint_mean - (2 + 4 + 3 + 2) / 4.0 / 6) < 1e-12);
    assert_int_equal(i->suggested.grid, 3600 * second);
    assert_true(fabs(i->suggested.regular - 6.0 / 7) < 1e-12);
    assert_int_equal(i->suggested.points, 6);
    assert_int_equal(i->suggested.context, 0); /* six points do not make three parts */
    assert_int_equal(i->suggested.horizon, 0);
    const ll_inspect_var *x = &i->var[0], *c = &i->var[1], *n = &i->var[2];
    assert_int_equal(x->observed, 6);
    assert_int_equal(x->outliers, 1);
    assert_int_equal(x->entities, 2);
    assert_true(x->least == 1 && x->most == 1000 && x->quartile[1] == 2 && !x->constant);
    assert_true(fabs(x->mean - 1012.0 / 6) < 1e-9);
    assert_true(c->constant);
    assert_int_equal(c->constant_entities, 1);
    assert_true(n->observed == 0 && isnan(n->mean) && n->coverage == 0 && !n->constant);
    ll_inspect_destroy(i);
    llap_panel_destroy(p);
}

static void the_description_is_json(void **state)
{
    (void)state;
    llap_panel   *p;
    ll_csv_report report;
    ll_inspect   *i;
    char         *out;
    size_t        n;
    CHECK_OK(ll_csv_read_memory("t.csv", text, strlen(text), &LL_CSV_DEFAULT, &p, &report));
    CHECK_OK(ll_inspect_create(p, &i));
    CHECK_OK(ll_inspect_json(i, p, &report, 2, &out, &n));
    ll_json *j;
    CHECK_OK(ll_json_parse(out, n, "inspect", NULL, &j));
    int64_t     rows = 0, lines = 0;
    double      usual = 0;
    const char *first = "", *name = "";
    CHECK_OK(ll_json_int(j, "rows", 0, 100, &rows));
    CHECK_OK(ll_json_int(j, "reading.lines", 0, 100, &lines));
    CHECK_OK(ll_json_double(j, "gaps.usual", 0, 1e9, &usual));
    CHECK_OK(ll_json_string(j, "time.first", &first));
    CHECK_OK(ll_json_string(j, "variable[1].name", &name));
    assert_int_equal(rows, 7);
    assert_int_equal(lines, 8);
    assert_true(usual == 3600);
    assert_string_equal(first, "2020-01-01T00:00:00Z");
    assert_string_equal(name, "c");
    ll_json_destroy(j);
    ll_free(out);
    ll_inspect_destroy(i);
    llap_panel_destroy(p);
}

static void little_is_enough(void **state)
{
    (void)state;
    llap_panel *p = panel_of("time,x\n5,1\n");
    ll_inspect *i;
    CHECK_OK(ll_inspect_create(p, &i));
    assert_int_equal(i->suggested.grid, 0);
    assert_int_equal(i->first, 5 * second);
    assert_false(i->var[0].constant);
    ll_inspect_destroy(i);
    ll_inspect_destroy(NULL);
    llap_panel_destroy(p);
}

static llap_status inspect(void *user)
{
    ll_inspect *i;
    char       *out = NULL;
    size_t      n;
    llap_status st = ll_inspect_create(user, &i);
    if (st == LLAP_OK) st = ll_inspect_json(i, user, NULL, 0, &out, &n);
    ll_free(out);
    ll_inspect_destroy(i);
    out = NULL;
    if (st == LLAP_OK) st = llap_panel_inspect(user, 0, &out);
    ll_free(out);
    return st;
}

static void failing_allocations_lose_nothing(void **state)
{
    (void)state;
    llap_panel *p = panel_of(text);
    check_every_failed_allocation(inspect, p);
    llap_panel_destroy(p);
}

static void the_datasets_are_as_they_are_described(void **state)
{
    (void)state;
    llap_panel *p = panel_of_file("metar_uk.csv.gz", &LL_CSV_DEFAULT);
    ll_inspect *i;
    CHECK_OK(ll_inspect_create(p, &i));
    assert_int_equal(i->suggested.grid, 1800 * second);
    assert_true(fabs(i->gaps.usual_share - 0.97) < 0.01);
    assert_true(i->gaps.most / second / 3600 == 33 || i->gaps.most / second / 3600 == 32);
    assert_true(fabs(1 - i->coverage - 0.0510) < 0.0001);
    ll_inspect_destroy(i);
    llap_panel_destroy(p);
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.time_unit = "min";
    p = panel_of_file("physionet2012_a.csv.gz", &o);
    CHECK_OK(ll_inspect_create(p, &i));
    assert_int_equal(i->gaps.median, 31 * 60 * second);
    assert_int_equal(i->last, 2880 * 60 * second);
    ll_inspect_destroy(i);
    llap_panel_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_panel_is_described),
        cmocka_unit_test(the_description_is_json),
        cmocka_unit_test(little_is_enough),
        cmocka_unit_test(failing_allocations_lose_nothing),
        cmocka_unit_test(the_datasets_are_as_they_are_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
