/* What `llapdiff bench` measures, and that it says so, and no rate, where something fails. The
 * linker puts the functions below in the places of those that run and read. */
#include "check.h"

#include "base/error.h"
#include "data/csv/csv.h"
#include "graph/plan.h"

#include <llapdiff/bench.h>
#include <llapdiff/model.h>

/* Of the measured network and of the bare product, which come in turn. */
enum { PASS, PRODUCT, N_KINDS };
static int     n_runs[N_KINDS];
static int     failing_kind, failing; /* which of them fails, from 1; 0: none */
static ll_run *pass;                  /* it comes first, and is counted */

static llap_status run_of(int kind)
{
    const int n = ++n_runs[kind];
    return kind == failing_kind && n == failing ? ll_fail(LLAP_EIO, "run %d", n) : LLAP_OK;
}

llap_status __real_ll_run_exec(ll_run *r);
llap_status __wrap_ll_run_exec(ll_run *r);
llap_status __wrap_ll_run_exec(ll_run *r)
{
    const llap_status st = run_of(r == pass ? PASS : PRODUCT);
    return st == LLAP_OK ? __real_ll_run_exec(r) : st;
}

llap_status __real_ll_run_exec_counted(ll_run *r, double *products);
llap_status __wrap_ll_run_exec_counted(ll_run *r, double *products);
llap_status __wrap_ll_run_exec_counted(ll_run *r, double *products)
{
    pass = r;
    const llap_status st = run_of(PASS);
    return st == LLAP_OK ? __real_ll_run_exec_counted(r, products) : st;
}

/* A year of hours of ten stations. */
static void check_panel(const llap_panel *p)
{
    enum { STATIONS = 10, HOURS = 365 * 24 };
    const int64_t hour = INT64_C(3600000000000);
    assert_int_equal(p->n_entities, STATIONS);
    assert_int_equal(p->n_rows, STATIONS * HOURS);
    for (int64_t r = 0; r < p->n_rows; r++)
        assert_int_equal(p->time[r], p->time[0] + r % HOURS * hour);
}

static int n_panels;

llap_status __real_ll_csv_read_memory(const char *name, const void *data, size_t n,
                                      const ll_csv_opts *o, llap_panel **out,
                                      ll_csv_report *report);
llap_status __wrap_ll_csv_read_memory(const char *name, const void *data, size_t n,
                                      const ll_csv_opts *o, llap_panel **out,
                                      ll_csv_report *report);
llap_status __wrap_ll_csv_read_memory(const char *name, const void *data, size_t n,
                                      const ll_csv_opts *o, llap_panel **out, ll_csv_report *report)
{
    const llap_status st = __real_ll_csv_read_memory(name, data, n, o, out, report);
    if (st == LLAP_OK && n_panels++ == 0) check_panel(*out);
    return st;
}

static llap_status measure(const char *only)
{
    llap_bench_opts o = { 0 };
    char           *text = NULL;
    n_runs[PASS] = n_runs[PRODUCT] = 0;
    o.size = LLAP_BENCH_SIZE_TINY;
    o.only = only;
    o.seconds = LLAP_ZERO;
    o.batch = 1;
    o.horizon = 4;
    o.threads = 1;
    const llap_status st = llap_bench(&o, 0, &text);
    assert_int_equal(st == LLAP_OK, text != NULL);
    llap_text_free(text);
    return st;
}

/* A pass to warm up, then three; before each of those a product to warm up and one or more. */
enum { PASSES = 4, PRODUCTS = 6 };

static void three_runs_at_least(void **state)
{
    (void)state;
    failing = 0;
    CHECK_OK(measure("denoiser forward"));
    assert_int_equal(n_runs[PASS], PASSES);
    assert_true(n_runs[PRODUCT] >= PRODUCTS);
}

static void a_failed_run_has_no_rate(void **state)
{
    (void)state;
    for (failing_kind = 0; failing_kind < N_KINDS; failing_kind++)
        for (failing = 1; failing <= (failing_kind == PASS ? PASSES : PRODUCTS); failing++) {
            char text[32];
            snprintf(text, sizeof text, "run %d", failing);
            CHECK_FAIL(measure("denoiser forward"), LLAP_EIO, text);
        }
}

static void the_csv_is_a_year_of_hours(void **state)
{
    (void)state;
    failing = 0;
    CHECK_OK(measure("csv reading"));
    assert_true(n_panels > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(three_runs_at_least),
                                        cmocka_unit_test(a_failed_run_has_no_rate),
                                        cmocka_unit_test(the_csv_is_a_year_of_hours) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
