/* Runs on a backend with memory of its own: the whole op table, updates that come back, near
 * bindings without copies, failing allocations, steps aside, recordings, runs of layers. */
#include "apart.h"
#include "op_run.h"

#include "backend/near.h"
#include "graph/plan.h"

static void table_is_ref(void **state)
{
    (void)state;
    const llap_backend b = apart_backend();
    for (int i = 0; i < op_table_len; i++)
        compare_with_ref(&op_table[i], (sized){ 3, 7, 5 }, OP_DENSE, &(judged){ &b, 0.0 }, 1);
}

/* w += x, twice w as the result */
static llap_status describe(llap_graph *g)
{
    llap_tensor *w = llap_state(g, "w", LLAP_SHAPE(3), LLAP_INIT_ZERO);
    llap_tensor *x = llap_input(g, "x", LLAP_SHAPE(3));
    const double one[3] = { 1, 1, 1 };
    llap_tensor *sum = llap_add(g, w, llap_mul(g, x, llap_constant(g, LLAP_SHAPE(3), one)));
    llap_update(g, w, sum);
    llap_output(g, "y", llap_scale(g, sum, 2.0));
    return llap_graph_status(g);
}

static llap_status make(const llap_backend *b, llap_plan **p, llap_run **r)
{
    llap_graph *g;
    llap_status st = llap_graph_create(&g);
    if (st == LLAP_OK) st = describe(g);
    if (st == LLAP_OK) st = llap_plan_create(g, &(llap_plan_opts){ .backend = b }, p);
    llap_graph_destroy(g);
    return st == LLAP_OK ? llap_run_create(*p, r) : st;
}

static void updates_come_back(void **state)
{
    (void)state;
    const llap_backend b = apart_backend();
    llap_plan         *p = NULL;
    llap_run          *r = NULL;
    float              w[3] = { 1, 2, 3 }, x[3] = { 10, 20, 30 };
    CHECK_OK(make(&b, &p, &r));
    CHECK_OK(llap_run_bind(r, "w", w, 3));
    CHECK_OK(llap_run_bind(r, "x", x, 3));
    CHECK_FAIL(llap_run_bind(r, "x", x, 2), LLAP_EINVAL, "expected [3]");
    for (int i = 0; i < 2; i++) CHECK_OK(llap_run_exec(r));
    assert_true(w[0] == 21 && w[1] == 42 && w[2] == 63);
    x[0] = 0; /* read anew every time */
    CHECK_OK(llap_run_exec(r));
    assert_true(w[0] == 21 && w[1] == 62);
    const float *y = llap_run_output(r, "y", NULL);
    assert_true(y[1] == 124);
    llap_run_destroy(r);
    llap_plan_release(p);
}

static void near_memory_is_not_copied(void **state)
{
    (void)state;
    const llap_backend b = apart_backend();
    llap_plan         *p = NULL;
    llap_run          *r = NULL;
    const float        start[6] = { 1, 2, 3, 10, 20, 30 };
    float              found[3];
    void              *near;
    CHECK_OK(make(&b, &p, &r));
    CHECK_OK(llap_near_alloc(&b, sizeof start, &near));
    CHECK_OK(llap_near_put(&b, near, start, sizeof start));
    CHECK_OK(llap_run_bind_near(r, "w", near, 3));
    CHECK_OK(llap_run_bind_near(r, "x", (float *)near + 3, 3));
    apart_state.n_uploads = apart_state.n_downloads = 0;
    for (int i = 0; i < 3; i++) CHECK_OK(llap_run_exec(r));
    assert_int_equal(apart_state.n_uploads + apart_state.n_downloads, 0);
    CHECK_OK(llap_near_get(&b, found, llap_run_output_near(r, "y", NULL), sizeof found));
    assert_true(found[0] == 62 && found[2] == 186);
    CHECK_OK(llap_near_get(&b, found, near, sizeof found));
    assert_true(found[1] == 62);
    llap_run_destroy(r);
    llap_plan_release(p);
    llap_near_release(&b, near);
}

static llap_status once(void *user)
{
    llap_plan  *p = NULL;
    llap_run   *r = NULL;
    float       w[3] = { 0 }, x[3] = { 0 };
    llap_status st = make(user, &p, &r);
    if (st == LLAP_OK) st = llap_run_bind(r, "w", w, 3);
    if (st == LLAP_OK) st = llap_run_bind(r, "x", x, 3);
    if (st == LLAP_OK) st = llap_run_exec(r);
    if (st == LLAP_OK && llap_run_output(r, "y", NULL) == NULL) st = LLAP_ENOMEM;
    llap_run_destroy(r);
    llap_plan_release(p);
    return st;
}

static void failed_allocations_leak_nothing(void **state)
{
    (void)state;
    llap_backend b = apart_backend();
    check_every_failed_allocation(once, &b);
}

/* The last step would like to write over what a step aside still reads. */
static void the_last_step_waits_for_no_memory(void **state)
{
    (void)state;
    enum { N = 8 };
    const llap_backend b = apart_late_backend();
    llap_graph        *g;
    llap_plan         *p;
    llap_run          *r;
    float              x[N * N];
    for (int i = 0; i < N * N; i++) x[i] = 0.01f * (float)i;
    CHECK_OK(llap_graph_create(&g));
    llap_tensor *e = llap_exp(g, llap_input(g, "x", LLAP_SHAPE(N, N)));
    llap_output(g, "sum", llap_sum(g, e, LLAP_AXIS(0)));
    llap_output(g, "y", llap_tanh(g, e));
    CHECK_OK(llap_plan_create(g, &(llap_plan_opts){ .backend = &b, .beside = true }, &p));
    llap_graph_destroy(g);
    CHECK_OK(llap_run_create(p, &r));
    CHECK_OK(llap_run_bind(r, "x", x, N * N));
    apart_queue.most = 0;
    CHECK_OK(llap_run_exec(r));
    assert_int_equal(apart_queue.most, 1);
    const float *sum = llap_run_output(r, "sum", NULL);
    for (int k = 0; k < N; k++) {
        double expected = 0.0;
        for (int i = 0; i < N; i++) expected += exp((double)x[i * N + k]);
        assert_true(fabs((double)sum[k] - expected) < 1e-5 * expected);
    }
    llap_run_destroy(r);
    llap_plan_release(p);
}

/* -------- recordings -------- */

static void a_failed_recording_is_not_replayed(void **state)
{
    (void)state;
    const llap_backend b = apart_taped_backend();
    llap_plan         *p = NULL;
    llap_run          *r = NULL;
    float              w[3] = { 0 }, x[3] = { 1, 2, 3 };
    CHECK_OK(make(&b, &p, &r));
    CHECK_OK(llap_run_bind(r, "w", w, 3));
    CHECK_OK(llap_run_bind(r, "x", x, 3));
    CHECK_OK(llap_run_exec(r));
    apart_tapes.broken = LLAP_EIO;
    assert_int_equal(llap_run_exec(r), LLAP_EIO);
    assert_true(w[1] == 2);
    for (int i = 2; i < 6; i++) { /* as it comes, recorded, replayed */
        CHECK_OK(llap_run_exec(r));
        assert_true(w[1] == 2.0f * (float)i);
    }
    assert_int_equal(apart_tapes.replays, 3);
    apart_tapes.broken = LLAP_ENOMEM; /* no room: no recording, and nothing is lost */
    llap_run_destroy(r);
    CHECK_OK(llap_run_create(p, &r));
    CHECK_OK(llap_run_bind(r, "w", w, 3));
    CHECK_OK(llap_run_bind(r, "x", x, 3));
    for (int i = 6; i < 10; i++) {
        CHECK_OK(llap_run_exec(r));
        assert_true(w[1] == 2.0f * (float)i);
    }
    assert_int_equal(apart_tapes.broken, LLAP_OK);
    assert_int_equal(apart_tapes.replays, 3);
    llap_run_destroy(r);
    llap_plan_release(p);
}

/* -------- layers -------- */

static int count_layers(bool read_twice)
{
    const llap_backend b = apart_layers_backend();
    llap_graph        *g;
    llap_plan         *p;
    int                n = 0;
    CHECK_OK(llap_graph_create(&g));
    llap_tensor *x = llap_input(g, "x", LLAP_SHAPE(4, 8));
    llap_tensor *w = llap_param(g, "w", LLAP_SHAPE(8, 8), LLAP_INIT_ZERO);
    llap_tensor *v = llap_param(g, "v", LLAP_SHAPE(8, 8), LLAP_INIT_ZERO);
    llap_output(g, "y", llap_linear(g, llap_linear(g, x, w, NULL), v, NULL));
    if (read_twice) llap_output(g, "z", llap_square(g, w)); /* in floats */
    CHECK_OK(llap_plan_create(g, &(llap_plan_opts){ .backend = &b, .half_params = true }, &p));
    for (int i = 0; i < llap_plan_n_steps(p); i++)
        n += llap_plan_step_at(p, i).op == LLAP_OP_LAYERS;
    llap_plan_release(p);
    llap_graph_destroy(g);
    return n;
}

/* A weight that somebody else wants in floats would not be bf16, as the run needs it. */
static void weights_of_layers_have_no_other_reader(void **state)
{
    (void)state;
    assert_int_equal(count_layers(false), 1);
    assert_int_equal(count_layers(true), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_ref),
        cmocka_unit_test(updates_come_back),
        cmocka_unit_test(near_memory_is_not_copied),
        cmocka_unit_test(failed_allocations_leak_nothing),
        cmocka_unit_test(the_last_step_waits_for_no_memory),
        cmocka_unit_test(a_failed_recording_is_not_replayed),
        cmocka_unit_test(weights_of_layers_have_no_other_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
