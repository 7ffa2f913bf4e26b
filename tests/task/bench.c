/* What `llapdiff bench` does where something that it measures fails: it says so, and no rate. The
 * linker puts the function below in the place of llap_run_exec. */
#include "check.h"

#include "base/error.h"
#include "graph/plan.h"

#include <llapdiff/bench.h>
#include <llapdiff/model.h>

/* Of the measured network and of the bare product, which come in turn. */
enum { PASS, PRODUCT, N_KINDS };
static int       n_runs[N_KINDS];
static int       failing_kind, failing; /* which of them fails, from 1; 0: none */
static llap_run *pass;                  /* it comes first */

llap_status __real_llap_run_exec(llap_run *r);
llap_status __wrap_llap_run_exec(llap_run *r);
llap_status __wrap_llap_run_exec(llap_run *r)
{
    if (pass == NULL) pass = r;
    const int kind = r == pass ? PASS : PRODUCT, n = ++n_runs[kind];
    if (kind == failing_kind && n == failing) return llap_fail(LLAP_EIO, "run %d", n);
    return __real_llap_run_exec(r);
}

static llap_status measure(void)
{
    llap_bench_opts o = LLAP_BENCH_OPTS;
    char           *text = NULL;
    n_runs[PASS] = n_runs[PRODUCT] = 0;
    pass = NULL;
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

/* A pass to warm up, then three; before each of those a product to warm up and one or more. */
enum { PASSES = 4, PRODUCTS = 6 };

static void three_runs_at_least(void **state)
{
    (void)state;
    failing = 0;
    CHECK_OK(measure());
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
            CHECK_FAIL(measure(), LLAP_EIO, text);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(three_runs_at_least),
                                        cmocka_unit_test(a_failed_run_has_no_rate) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
