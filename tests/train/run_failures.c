/* Trainings that go wrong: numbers that are not finite, files that cannot be written, no memory. */
#include "run_stage.h"

#include "base/file.h"
#include "nn/non_finite.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

static llap_status fill_inputs(void *user, ll_session *ready, int64_t micro_batch)
{
    const net *n = user;
    (void)micro_batch;
    memcpy(ll_session_real(ready, "x"), n->x, sizeof n->x);
    memcpy(ll_session_real(ready, "y"), n->y, sizeof n->y);
    return LLAP_OK;
}

static llap_status net_non_finite(void *user, int64_t step, char *text, size_t size)
{
    net        *n = user;
    ll_graph   *g = NULL;
    llap_status st = ll_graph_create(&g);
    (void)step;
    if (st == LLAP_OK)
        st = ll_nn_find_non_finite(&(ll_non_finite){ .graph = g,
                                                     .loss = describe(g),
                                                     .params = n->params,
                                                     .n_threads = 1,
                                                     .fill = fill_inputs,
                                                     .user = n },
                                   text, size);
    ll_graph_destroy(g);
    return st;
}

/* A stage of a run whose state is d.state. */
static llap_status train_stage(ll_training_run *t, net *n, const char *name, int64_t select_from,
                               ll_stage_result *result)
{
    ll_stage s = LL_STAGE_DEFAULT;
    CHECK_OK(net_init(n, 1));
    s.name = name, s.user = n, s.params = n->params;
    s.n_steps = 30, s.eval_every = 5, s.select_from = select_from, s.lr = 0.5;
    s.step = net_step, s.evaluate = net_evaluate;
    const llap_status st = ll_training_run_stage(t, &s, result);
    net_deinit(n);
    return st;
}

/* The stage before it stays as it is; one whose score comes too late to choose is no such stage. */
static void a_stage_that_diverged_begins_anew(void **state)
{
    (void)state;
    net                  first = { 0 }, second = { .no_score = true }, third = { .no_score = true };
    ll_training_run     *t;
    ll_stage_result      r;
    ll_training_run_opts o = { .state = in_folder("d.state"), .save_every = 1e9, .save_steps = 4 };
    CHECK_OK(ll_training_run_create(&o, NULL, 0, &t));
    CHECK_OK(train_stage(t, &first, "first", 100, &r));
    assert_int_equal(r.best_step, -1);
    CHECK_FAIL(
        train_stage(t, &second, "second", 1, &r), LLAP_ENUMERIC,
        "second: has diverged, no validation score was finite; its rate was 0.5: try a smaller "
        "`lr`: with `resume` this stage begins anew, without ");
    assert_non_null(strstr(llap_error_detail(), "d.state the whole training"));
    ll_training_run_destroy(t);
    o.resume = true;
    CHECK_OK(ll_training_run_create(&o, NULL, 0, &t));
    first = (net){ .bad_to = 30 }; /* which no step sees */
    second = (net){ .worse_after = 3 };
    CHECK_OK(train_stage(t, &first, "first", 100, &r));
    CHECK_OK(train_stage(t, &second, "second", 1, &r));
    assert_int_equal(r.best_step, 5);
    assert_int_equal(r.n_steps, 30);
    CHECK_FAIL(train_stage(t, &third, "third", 100, &r), LLAP_ENUMERIC, "third: has diverged");
    ll_training_run_destroy(t);
    unlink(in_folder("d.state"));
}

static void what_is_not_finite_is_named_and_skipped(void **state)
{
    const bool     together = *state != NULL;
    char           said[512] = "";
    const llap_log log = { .level = LLAP_LOG_WARNING, .sink = keep_line, .user = said };
    for (int n_bad = 3; n_bad <= 4; n_bad++) {
        net              a = { .bad_from = 10, .bad_to = 10 + n_bad };
        ll_training_run *t;
        ll_stage_result  r;
        ll_stage         s = LL_STAGE_DEFAULT;
        CHECK_OK(net_init(&a, 1));
        CHECK_OK(ll_training_run_create(
            &(ll_training_run_opts){ .save_every = 1e9, .messages = &log }, NULL, 0, &t));
        s.name = "s", s.user = &a, s.params = a.params, s.n_steps = 40, s.max_skipped = 3;
        s.step = net_step, s.find_non_finite = net_non_finite;
        if (together) s.results = net_results;
        if (n_bad == 3) {
            CHECK_OK(ll_training_run_stage(t, &s, &r));
            assert_int_equal(r.n_skipped, 3);
            for (int i = 0; i < ll_params_count(a.params); i++) {
                const ll_param_info *x = ll_params_at(a.params, i);
                for (int64_t k = 0; k < x->count && x->elem == LL_REAL; k++)
                    assert_true(isfinite(ll_param_get(a.params, x, k)));
            }
            assert_non_null(
                strstr(said, "s: step 13: input 'x' is not finite; the step is skipped (3 of 3)"));
        } else {
            CHECK_FAIL(ll_training_run_stage(t, &s, &r), LLAP_ENUMERIC,
                       "s: step 14: input 'x' is not finite; 3 such steps were skipped already, "
                       "which is the limit; no state was kept");
        }
        assert_true(together ? a.n_waits > 0 && a.n_waits < 20 : a.n_waits == 0);
        ll_training_run_destroy(t);
        net_deinit(&a);
    }
}

static void a_state_that_cannot_be_written_is_said(void **state)
{
    (void)state;
    char           said[512] = "";
    const llap_log log = { .level = LLAP_LOG_WARNING, .sink = keep_line, .user = said };
    run_opts       o = { .n_steps = 30 };
    o.how = (ll_training_run_opts){
        .state = in_folder("none/x.state"), .save_every = 1e9, .save_steps = 5, .messages = &log
    };
    CHECK_FAIL(train(&o, NULL), LLAP_ENOTFOUND, "none");
    o.how.state = in_folder("x.state");
    assert_int_equal(mkdir(in_folder("x.state"), 0700), 0);
    CHECK_FAIL(train(&o, NULL), LLAP_EINVAL, "x.state"); /* a folder of that name */
    rmdir(in_folder("x.state"));
    (void)ll_writer_fail_every(1);
    CHECK_OK(train(&o, NULL));
    assert_int_equal(ll_writer_fail_every(0), 2 * (30 / 5 - 1) + 2);
    assert_non_null(strstr(said, "second: the state after step 30 is not saved"));
    assert_int_not_equal(access(in_folder("x.state"), F_OK), 0);
}

static void a_log_that_cannot_be_written_is_said(void **state)
{
    (void)state;
    char           said[512] = "";
    const llap_log log = { .level = LLAP_LOG_WARNING, .sink = keep_line, .user = said };
    run_opts       o = { .n_steps = 30 };
    o.how = (ll_training_run_opts){ .log = "/dev/full", .save_every = 1e9, .messages = &log };
    (void)whole_run(30, false);
    CHECK_OK(train(&o, in_folder("l.safetensors")));
    check_same_file(in_folder("whole.safetensors"), in_folder("l.safetensors"));
    assert_non_null(strstr(said, "/dev/full: No space left on device: training continues"));
}

/* A third of the states cannot be written, and it is stopped again and again besides. */
static void failing_writes_lose_little(void **state)
{
    (void)state;
    char           said[512] = "";
    const llap_log log = { .level = LLAP_LOG_WARNING, .sink = keep_line, .user = said };
    const char    *whole = whole_run(60, false);
    llap_status    st = LLAP_ECANCELLED;
    int64_t        n_failed = 0;
    run_opts       o = { .n_steps = 60 };
    for (int n = 1; st == LLAP_ECANCELLED && n < 200; n++) {
        int left = 6 + n % 5;
        o.how = (ll_training_run_opts){ .state = in_folder("f.state"),
                                        .save_every = 1e9,
                                        .save_steps = 2,
                                        .log = in_folder("f.log"),
                                        .resume = true,
                                        .messages = &log,
                                        .progress = { stop_after, &left } };
        (void)ll_writer_fail_every(3);
        st = train(&o, NULL);
        n_failed += ll_writer_fail_every(0);
    }
    CHECK_OK(st);
    o.how.progress = (llap_progress){ 0 };
    CHECK_OK(train(&o, in_folder("f.safetensors")));
    assert_true(n_failed > 5);
    assert_non_null(strstr(said, "No space left"));
    check_same_file(whole, in_folder("f.safetensors"));
    check_same_file(in_folder("whole.log"), in_folder("f.log"));
    unlink(in_folder("f.state"));
}

static llap_status leap(void *user, int64_t step, double *loss, double *norm)
{
    (void)user;
    *loss = step < 10 ? 1.0 : 100.0;
    *norm = 1.0;
    return LLAP_OK;
}

static void divergence_and_a_full_disk_are_said(void **state)
{
    (void)state;
    char             said[512] = "";
    const llap_log   log = { .level = LLAP_LOG_WARNING, .sink = keep_line, .user = said };
    net              a = { 0 };
    ll_training_run *t;
    ll_stage         s = LL_STAGE_DEFAULT;
    CHECK_OK(net_init(&a, 1));
    CHECK_OK(ll_training_run_create(&(ll_training_run_opts){ .save_every = 1e9,
                                                             .messages = &log,
                                                             .state = in_folder("d.state") },
                                    NULL, 0, &t));
    s.name = "s", s.user = &a, s.params = a.params, s.n_steps = 15, s.eval_every = 5, s.step = leap;
    CHECK_OK(ll_training_run_stage(t, &s, NULL));
    assert_non_null(strstr(said, "s: diverging after step 15: the mean loss is 100, it was 1"));
    CHECK_FAIL(ll_training_run_room(t, SIZE_MAX / 2), LLAP_EIO,
               "the state of training takes about");
    /* The second stage's state has 7 + 3 numbers of its own, and the 2 of the first. */
    const ll_stage_size small[] = { { 2, 4 }, { 3, 7 } };
    const ll_stage_size large[] = { { (size_t)1 << 60, 1 }, { 3, 7 } };
    CHECK_OK(ll_training_run_reserve(t, small, 2));
    CHECK_FAIL(ll_training_run_reserve(t, large, 2), LLAP_EIO,
               "the state of training takes about 46");
    assert_int_equal(ll_training_run_weights(a.params, "in."),
                     ll_params_find(a.params, "in.weight")->count +
                         ll_params_find(a.params, "in.bias")->count);
    ll_training_run_destroy(t);
    net_deinit(&a);
    unlink(in_folder("d.state"));
}

static void keep_all(void *user, llap_log_level level, const char *message)
{
    char *said = user;
    (void)level;
    strncat(said, message, 2047 - strlen(said));
}

/* A disk that is full at the start is said before anything is trained; one that fills up later
 * costs states, not the training. */
static void a_full_disk(void **state)
{
    (void)state;
    net              a = { 0 };
    ll_training_run *t;
    ll_stage         s = LL_STAGE_DEFAULT;
    char             link[300];
    struct statvfs   room;
    if (statvfs("/proc", &room) != 0 || room.f_bavail != 0) skip(); /* a folder without any */
    snprintf(link, sizeof link, "%s", in_folder("disk"));
    assert_int_equal(symlink("/proc", link), 0);
    char                       said[2048] = "";
    const llap_log             log = { .level = LLAP_LOG_WARNING, .sink = keep_all, .user = said };
    const ll_training_run_opts o = { .save_every = 1e9,
                                     .messages = &log,
                                     .state = in_folder("disk/e.state") };
    CHECK_OK(net_init(&a, 1));
    CHECK_OK(ll_training_run_create(&o, NULL, 0, &t));
    s.name = "one", s.user = &a, s.params = a.params, s.n_steps = 3, s.step = net_step;
    CHECK_FAIL(ll_training_run_stage(t, &s, NULL), LLAP_EIO, "the state of training takes about");
    unlink(link);
    assert_int_equal(symlink(in_folder("."), link), 0);
    CHECK_OK(ll_training_run_stage(t, &s, NULL));
    unlink(link);
    assert_int_equal(symlink("/proc", link), 0);
    s.name = "two";
    CHECK_OK(ll_training_run_stage(t, &s, NULL));
    assert_non_null(strstr(said, "two: "));
    assert_non_null(strstr(said, "the state of training takes about"));
    assert_non_null(strstr(said, "two: the state after step 3 is not saved"));
    ll_training_run_destroy(t);
    net_deinit(&a);
    unlink(link);
    assert_int_equal(unlink(in_folder("e.state")), 0); /* of the first stage */
}

static llap_status train_with_state(void *user)
{
    (void)user;
    run_opts o = { .n_steps = 4 };
    o.how =
        (ll_training_run_opts){ .state = in_folder("m.state"), .save_every = 1e9, .save_steps = 2 };
    const llap_status st = train(&o, NULL);
    unlink(in_folder("m.state"));
    return st;
}

static void failing_allocations_leave_nothing(void **state)
{
    (void)state;
    CHECK_OK(train_with_state(NULL)); /* what is made once and kept is there */
    bool struck = true;
    for (int64_t n = 1; struck; n++) {
        const int64_t live = ll_alloc_live();
        (void)ll_alloc_fail_at(n);
        const llap_status st = train_with_state(NULL);
        struck = ll_alloc_fail_at(0);
        assert_int_equal(ll_alloc_live(), live);
        /* a state for which there is no memory is passed over as one that cannot be written */
        assert_true(st == LLAP_OK || (struck && st == LLAP_ENOMEM));
    }
}

int main(void)
{
    static bool             together = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stage_that_diverged_begins_anew),
        cmocka_unit_test(what_is_not_finite_is_named_and_skipped),
        cmocka_unit_test_prestate(what_is_not_finite_is_named_and_skipped, &together),
        cmocka_unit_test(a_state_that_cannot_be_written_is_said),
        cmocka_unit_test(a_log_that_cannot_be_written_is_said),
        cmocka_unit_test(failing_writes_lose_little),
        cmocka_unit_test(divergence_and_a_full_disk_are_said),
        cmocka_unit_test(a_full_disk),
        cmocka_unit_test(failing_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
