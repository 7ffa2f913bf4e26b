/* What `llapdiff bench` does where something that it measures fails: it says so, and no rate. The
 * linker puts the function below in the place of llap_run_exec. */
#include "check.h"

#include "base/error.h"
#include "graph/plan.h"

#include <llapdiff/bench.h>
#include <llapdiff/model.h>

static int n_runs, failing; /* the one that fails, from 1; 0: none */

llap_status __real_llap_run_exec(llap_run *r);
llap_status __wrap_llap_run_exec(llap_run *r);
llap_status __wrap_llap_run_exec(llap_run *r)
{
    if (++n_runs == failing) return llap_fail(LLAP_EIO, "run %d", n_runs);
    return __real_llap_run_exec(r);
}

static llap_status measure(void)
{
    llap_bench_opts o = LLAP_BENCH_OPTS;
    char           *text = NULL;
    n_runs = 0;
    o.size = "tiny";
    o.only = "denoiser forward";
    o.seconds = 0;
    o.batch = 1;
    o.horizon = 4;
    o.threads = 1;
    const llap_status st = llap_bench(&o, 0, &text);
    assert_int_equal(st == LLAP_OK, text != NULL);
    llap_text_free(text);
    return st;
}

static void a_failed_run_has_no_rate(void **state)
{
    (void)state;
    failing = 0;
    CHECK_OK(measure());
    const int all = n_runs; /* a pass to warm up, then products and passes in turn */
    assert_true(all >= 5);
    for (failing = 1; failing <= all; failing++) {
        char text[32];
        snprintf(text, sizeof text, "run %d", failing);
        CHECK_FAIL(measure(), LLAP_EIO, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_failed_run_has_no_rate) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
