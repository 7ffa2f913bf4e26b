/* Runs on a backend with memory of its own: the whole op table, updates that come back, device
 * bindings without copies, failing allocations, steps aside, recordings, runs of layers. */
#include "apart.h"
#include "op_run.h"

#include "backend/device_memory.h"
#include "graph/plan.h"

static void table_is_ref(void **state)
{
    (void)state;
    const ll_backend b = apart_backend();
    for (int i = 0; i < op_table_len; i++)
        compare_with_ref(&op_table[i], (sized){ 3, 7, 5 }, OP_DENSE, &(judged){ &b, 0.0 }, 1);
}

/* w += x, twice w as the result */
static llap_status describe(ll_graph *g)
{
    ll_tensor   *w = ll_state(g, "w", LL_SHAPE(3), LL_INIT_ZERO);
    ll_tensor   *x = ll_input(g, "x", LL_SHAPE(3));
    const double one[3] = { 1, 1, 1 };
    ll_tensor   *sum = ll_add(g, w, ll_mul(g, x, ll_constant(g, LL_SHAPE(3), one)));
    ll_update(g, w, sum);
    ll_output(g, "y", ll_scale(g, sum, 2.0));
    return ll_graph_status(g);
}

static llap_status make(const ll_backend *b, ll_plan **p, ll_run **r)
{
    ll_graph   *g;
    llap_status st = ll_graph_create(&g);
    if (st == LLAP_OK) st = describe(g);
    if (st == LLAP_OK) st = ll_plan_create(g, &(ll_plan_opts){ .backend = b }, p);
    ll_graph_destroy(g);
    return st == LLAP_OK ? ll_run_create(*p, r) : st;
}

static void updates_come_back(void **state)
{
    (void)state;
    const ll_backend b = apart_backend();
    ll_plan         *p = NULL;
    ll_run          *r = NULL;
    float            w[3] = { 1, 2, 3 }, x[3] = { 10, 20, 30 };
    CHECK_OK(make(&b, &p, &r));
    CHECK_OK(ll_run_bind(r, "w", w, 3));
    CHECK_OK(ll_run_bind(r, "x", x, 3));
    CHECK_FAIL(ll_run_bind(r, "x", x, 2), LLAP_EINVAL, "expected [3]");
    for (int i = 0; i < 2; i++) CHECK_OK(ll_run_exec(r));
    assert_true(w[0] == 21 && w[1] == 42 && w[2] == 63);
    x[0] = 0; /* read anew every time */
    CHECK_OK(ll_run_exec(r));
    assert_true(w[0] == 21 && w[1] == 62);
    const float *y = ll_run_output(r, "y", NULL);
    assert_true(y[1] == 124);
    ll_run_destroy(r);
    ll_plan_release(p);
}

static void device_memory_is_not_copied(void **state)
{
    (void)state;
    const ll_backend b = apart_backend();
    ll_plan         *p = NULL;
    ll_run          *r = NULL;
    const float      start[6] = { 1, 2, 3, 10, 20, 30 };
    float            found[3];
    void            *device_data;
    CHECK_OK(make(&b, &p, &r));
    CHECK_OK(ll_device_alloc(&b, sizeof start, &device_data));
    CHECK_OK(ll_device_put(&b, device_data, start, sizeof start));
    CHECK_OK(ll_run_bind_device(r, "w", device_data, 3));
    CHECK_OK(ll_run_bind_device(r, "x", (float *)device_data + 3, 3));
    apart_state.n_uploads = apart_state.n_downloads = 0;
    for (int i = 0; i < 3; i++) CHECK_OK(ll_run_exec(r));
    assert_int_equal(apart_state.n_uploads + apart_state.n_downloads, 0);
    CHECK_OK(ll_device_get(&b, found, ll_run_output_device(r, "y", NULL), sizeof found));
    assert_true(found[0] == 62 && found[2] == 186);
    CHECK_OK(ll_device_get(&b, found, device_data, sizeof found));
    assert_true(found[1] == 62);
    ll_run_destroy(r);
    ll_plan_release(p);
    ll_device_release(&b, device_data);
}

static llap_status once(void *user)
{
    ll_plan    *p = NULL;
    ll_run     *r = NULL;
    float       w[3] = { 0 }, x[3] = { 0 };
    llap_status st = make(user, &p, &r);
    if (st == LLAP_OK) st = ll_run_bind(r, "w", w, 3);
    if (st == LLAP_OK) st = ll_run_bind(r, "x", x, 3);
    if (st == LLAP_OK) st = ll_run_exec(r);
    if (st == LLAP_OK && ll_run_output(r, "y", NULL) == NULL) st = LLAP_ENOMEM;
    ll_run_destroy(r);
    ll_plan_release(p);
    return st;
}

static void failed_allocations_leak_nothing(void **state)
{
    (void)state;
    ll_backend b = apart_backend();
    check_every_failed_allocation(once, &b);
}

/* The last step would like to write over what a step aside still reads. */
static void the_last_step_waits_for_no_memory(void **state)
{
    (void)state;
    enum { N = 8 };
    const ll_backend b = apart_late_backend();
    ll_graph        *g;
    ll_plan         *p;
    ll_run          *r;
    float            x[N * N];
    for (int i = 0; i < N * N; i++) x[i] = 0.01f * (float)i;
    CHECK_OK(ll_graph_create(&g));
    ll_tensor *e = ll_exp(g, ll_input(g, "x", LL_SHAPE(N, N)));
    ll_output(g, "sum", ll_sum(g, e, LL_AXIS(0)));
    ll_output(g, "y", ll_tanh(g, e));
    CHECK_OK(ll_plan_create(g, &(ll_plan_opts){ .backend = &b, .beside = true }, &p));
    ll_graph_destroy(g);
    CHECK_OK(ll_run_create(p, &r));
    CHECK_OK(ll_run_bind(r, "x", x, N * N));
    apart_queue.most = 0;
    CHECK_OK(ll_run_exec(r));
    assert_int_equal(apart_queue.most, 1);
    const float *sum = ll_run_output(r, "sum", NULL);
    for (int k = 0; k < N; k++) {
        double expected = 0.0;
        for (int i = 0; i < N; i++) expected += exp((double)x[i * N + k]);
        assert_true(fabs((double)sum[k] - expected) < 1e-5 * expected);
    }
    ll_run_destroy(r);
    ll_plan_release(p);
}

/* -------- recordings -------- */

static void a_failed_recording_is_not_replayed(void **state)
{
    (void)state;
    const ll_backend b = apart_taped_backend();
    ll_plan         *p = NULL;
    ll_run          *r = NULL;
    float            w[3] = { 0 }, x[3] = { 1, 2, 3 };
    CHECK_OK(make(&b, &p, &r));
    CHECK_OK(ll_run_bind(r, "w", w, 3));
    CHECK_OK(ll_run_bind(r, "x", x, 3));
    CHECK_OK(ll_run_exec(r));
    apart_tapes.broken = LLAP_EIO;
    assert_int_equal(ll_run_exec(r), LLAP_EIO);
    assert_true(w[1] == 2);
    for (int i = 2; i < 6; i++) { /* as it comes, recorded, replayed */
        CHECK_OK(ll_run_exec(r));
        assert_true(w[1] == 2.0f * (float)i);
    }
    assert_int_equal(apart_tapes.replays, 3);
    apart_tapes.broken = LLAP_ENOMEM; /* no room: no recording, and nothing is lost */
    ll_run_destroy(r);
    CHECK_OK(ll_run_create(p, &r));
    CHECK_OK(ll_run_bind(r, "w", w, 3));
    CHECK_OK(ll_run_bind(r, "x", x, 3));
    for (int i = 6; i < 10; i++) {
        CHECK_OK(ll_run_exec(r));
        assert_true(w[1] == 2.0f * (float)i);
    }
    assert_int_equal(apart_tapes.broken, LLAP_OK);
    assert_int_equal(apart_tapes.replays, 3);
    ll_run_destroy(r);
    ll_plan_release(p);
}

/* -------- layers -------- */

static int count_layers(bool read_twice)
{
    const ll_backend b = apart_layers_backend();
    ll_graph        *g;
    ll_plan         *p;
    int              n = 0;
    CHECK_OK(ll_graph_create(&g));
    ll_tensor *x = ll_input(g, "x", LL_SHAPE(4, 8));
    ll_tensor *w = ll_param(g, "w", LL_SHAPE(8, 8), LL_INIT_ZERO);
    ll_tensor *v = ll_param(g, "v", LL_SHAPE(8, 8), LL_INIT_ZERO);
    ll_output(g, "y", ll_linear(g, ll_linear(g, x, w, NULL), v, NULL));
    if (read_twice) ll_output(g, "z", ll_square(g, w)); /* in floats */
    CHECK_OK(ll_plan_create(g, &(ll_plan_opts){ .backend = &b, .half_params = true }, &p));
    for (int i = 0; i < ll_plan_n_steps(p); i++) n += ll_plan_step_at(p, i).op == LL_OP_LAYERS;
    ll_plan_release(p);
    ll_graph_destroy(g);
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
        cmocka_unit_test(device_memory_is_not_copied),
        cmocka_unit_test(failed_allocations_leak_nothing),
        cmocka_unit_test(the_last_step_waits_for_no_memory),
        cmocka_unit_test(a_failed_recording_is_not_replayed),
        cmocka_unit_test(weights_of_layers_have_no_other_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
