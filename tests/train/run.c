/* The loop of training on a small regression: whatever interrupts it, it ends in the same bytes. */
#include "run_stage.h"

#include "base/file.h"

#include <signal.h>
#include <sys/wait.h>

/* Stops it again and again, after so many reports, and goes on. */
static void stop_and_resume(int every, bool together, bool ends_early)
{
    run_opts    o = { .n_steps = 30, .together = together, .ends_early = ends_early };
    llap_status st = LLAP_ECANCELLED;
    int         n = 0;
    o.how = (ll_training_run_opts){
        .state = in_folder("s.state"), .save_every = 1e9, .log = in_folder("s.log"), .resume = true
    };
    while (st == LLAP_ECANCELLED && n++ < 100) {
        int left = every + 1;
        o.how.progress = (llap_progress){ stop_after, &left };
        st = train(&o, in_folder("s.safetensors"));
        if (st == LLAP_ECANCELLED) assert_non_null(strstr(llap_error_detail(), "resume to go on"));
    }
    CHECK_OK(st);
    assert_true(n > (together ? 1 : 4));
    check_same_file(in_folder("whole.safetensors"), in_folder("s.safetensors"));
    check_same_file(in_folder("whole.log"), in_folder("s.log"));
    assert_int_equal(unlink(in_folder("s.state")), 0);
}

static void stopping_changes_nothing(void **state)
{
    for (int ends_early = 0; ends_early < 2; ends_early++) {
        (void)whole_run(30, ends_early);
        for (int every = 1; every <= 9; every += 4)
            stop_and_resume(every, *state != NULL, ends_early);
    }
}

/* A number that differs from call to call and from run to run of the program not at all. */
static uint32_t draw(uint32_t *seed) { return *seed = *seed * 1664525u + 1013904223u; }

/* Kills the training at random moments, n times, resuming each time; true when it got through. */
static void kill_and_resume(int n_kills, uint32_t seed)
{
    run_opts o = { .n_steps = 120, .wait_us = 300 };
    o.how = (ll_training_run_opts){ .state = in_folder("k.state"),
                                    .save_every = 0.004,
                                    .log = in_folder("k.log"),
                                    .resume = true };
    int         killed = 0, status = -1;
    const pid_t first = fork(); /* all work in children: threads of a library do not survive fork */
    if (first == 0) _exit(whole_run(120, false) == NULL);
    assert_int_equal(waitpid(first, &status, 0), first);
    for (int i = 0; i < 50 * n_kills; i++) {
        const pid_t child = fork();
        if (child == 0) _exit(train(&o, in_folder("k.safetensors")) != LLAP_OK);
        assert_true(child > 0);
        if (killed < n_kills) {
            usleep(2000 + draw(&seed) % 16000);
            kill(child, SIGKILL);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status)) {
            assert_int_equal(WEXITSTATUS(status), 0);
            if (killed >= n_kills) break;
            unlink(in_folder("k.state")); /* too quick to be killed often enough: once more */
        } else {
            killed++;
        }
    }
    assert_int_equal(killed, n_kills);
    check_same_file(in_folder("whole.safetensors"), in_folder("k.safetensors"));
    check_same_file(in_folder("whole.log"), in_folder("k.log"));
    unlink(in_folder("k.state"));
}

static void killing_loses_nothing(void **state)
{
    (void)state;
    kill_and_resume(5, 1);
}

static void another_run_is_refused(void **state)
{
    (void)state;
    int      left = 5;
    run_opts o = { .n_steps = 30 };
    o.how = (ll_training_run_opts){ .state = in_folder("r.state"),
                                    .save_every = 1e9,
                                    .progress = { stop_after, &left } };
    CHECK_FAIL(train(&o, NULL), LLAP_ECANCELLED, "first: stopped after step 4 of 30");
    CHECK_FAIL(train(&o, NULL), LLAP_EINVAL, "resume it, or remove the file");
    o.how.resume = true;
    o.horizon = "48";
    CHECK_FAIL(train(&o, NULL), LLAP_EINVAL, "its horizon is 24, here it is 48");
    unlink(in_folder("r.state"));
    FILE *f = fopen(in_folder("r.state"), "w");
    fputs("nonsense", f);
    fclose(f);
    CHECK_FAIL(train(&o, NULL), LLAP_EFORMAT, "r.state");
    unlink(in_folder("r.state"));
}

static void another_device_is_said(void **state)
{
    (void)state;
    int            left = 5;
    char           said[512] = "";
    const llap_log log = { .level = LLAP_LOG_WARNING, .sink = keep_line, .user = said };
    run_opts       o = { .n_steps = 30, .device = "cuda bf16" };
    o.how = (ll_training_run_opts){ .state = in_folder("v.state"),
                                    .save_every = 1e9,
                                    .messages = &log,
                                    .progress = { stop_after, &left } };
    CHECK_FAIL(train(&o, NULL), LLAP_ECANCELLED, "first: stopped after step 4 of 30");
    o.how.resume = true;
    left = 2;
    CHECK_FAIL(train(&o, NULL), LLAP_ECANCELLED, "first: stopped after step 5 of 30");
    assert_string_equal(said, "");
    left = 0;
    o.device = "cpu";
    CHECK_OK(train(&o, NULL));
    assert_non_null(strstr(said, "the device was cuda bf16 and is cpu now: training continues"));
    unlink(in_folder("v.state"));
}

static void the_best_weights_are_kept(void **state)
{
    (void)state;
    net              a = { .worse_after = 20 }, b = { 0 };
    ll_training_run *t;
    ll_stage_result  r;
    ll_stage         s = LL_STAGE_DEFAULT;
    CHECK_OK(net_init(&a, 1));
    CHECK_OK(net_init(&b, 1));
    CHECK_OK(ll_training_run_create(&(ll_training_run_opts){ .save_every = 1e9 }, NULL, 0, &t));
    s.name = "s", s.user = &a, s.params = a.params;
    s.n_steps = 100, s.eval_every = 5, s.patience = 3;
    s.step = net_step, s.evaluate = net_evaluate;
    CHECK_OK(ll_training_run_stage(t, &s, &r));
    assert_int_equal(r.best_step, 20);
    assert_int_equal(r.n_steps, 35);
    assert_true(r.score == 0.0);
    for (int64_t i = 0; i < 20; i++) {
        double loss, norm;
        CHECK_OK(net_step(&b, i, &loss, &norm));
    }
    for (int i = 0; i < ll_params_count(a.params); i++) {
        const ll_param_info *x = ll_params_at(a.params, i), *y = ll_params_at(b.params, i);
        if (x->leaf == LL_LEAF_PARAM || strncmp(x->name, "ema.", 4) == 0)
            assert_memory_equal(x->data, y->data, (size_t)x->count * sizeof(float));
    }
    ll_training_run_destroy(t);
    net_deinit(&a);
    net_deinit(&b);
}

/* Whatever happens among steps that nobody waited for, it ends as if each had been waited for. */
static void steps_together_change_nothing(void **state)
{
    (void)state;
    const int64_t bad[][2] = { { 0, 0 }, { 0, 1 }, { 10, 13 }, { 39, 40 }, { 20, 21 } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        net n[2] = { { 0 }, { 0 } };
        for (int k = 0; k < 2; k++) {
            ll_training_run *t;
            ll_stage_result  r;
            ll_stage         s = LL_STAGE_DEFAULT;
            CHECK_OK(net_init(&n[k], 1));
            n[k].bad_from = bad[i][0], n[k].bad_to = bad[i][1];
            const ll_training_run_opts o = { .save_every = 1e9,
                                             .save_steps = 9,
                                             .state = in_folder("t.state"),
                                             .log = in_folder(k == 0 ? "one.log" : "other.log") };
            CHECK_OK(ll_training_run_create(&o, NULL, 0, &t));
            s.name = "s", s.user = &n[k], s.params = n[k].params, s.n_steps = 40, s.eval_every = 16;
            s.step = net_step;
            if (k == 1) s.results = net_results;
            CHECK_OK(ll_training_run_stage(t, &s, &r));
            assert_int_equal(r.n_skipped, bad[i][1] - bad[i][0]);
            ll_training_run_destroy(t);
            unlink(in_folder("t.state"));
        }
        for (int j = 0; j < ll_params_count(n[0].params); j++) {
            const ll_param_info *x = ll_params_at(n[0].params, j);
            assert_memory_equal(x->data, ll_params_at(n[1].params, j)->data,
                                (size_t)x->count * sizeof(float));
        }
        check_same_file(in_folder("one.log"), in_folder("other.log"));
        net_deinit(&n[0]);
        net_deinit(&n[1]);
    }
}

static void keep_those(void *user, llap_log_level level, const char *message)
{
    char *said = user;
    (void)level;
    if (strstr(message, "minutes here") != NULL) strncat(said, message, 1023 - strlen(said));
}

/* Before many steps are made, it is said once how long they take here and what there is without
 * them; of few nobody is told, and nothing that is trained depends on it. */
static void how_long_it_takes_is_said(void **state)
{
    (void)state;
    for (int rounds = 0; rounds <= 3; rounds += 3)
        for (int n = 99; n <= 100; n++) {
            char             said[1024] = "";
            const llap_log   log = { .level = LLAP_LOG_INFO, .sink = keep_those, .user = said };
            net              a = { 0 };
            ll_training_run *t;
            ll_stage         s = LL_STAGE_DEFAULT;
            CHECK_OK(net_init(&a, 1));
            CHECK_OK(ll_training_run_create(
                &(ll_training_run_opts){ .save_every = 1e9, .messages = &log }, NULL, 0, &t));
            s.name = "s", s.user = &a, s.params = a.params, s.n_steps = n, s.step = net_step;
            s.rounds = rounds, s.compare = "the anchor alone has .5";
            CHECK_OK(ll_training_run_stage(t, &s, NULL));
            if (n < 100 || rounds == 0) {
                assert_string_equal(said, "");
            } else {
                assert_non_null(strstr(said, "s: about "));
                assert_non_null(strstr(said, "at most 100 steps for each of 3 of "));
                assert_non_null(strstr(said, " s; the anchor alone has .5"));
                assert_null(strstr(strstr(said, "about") + 1, "about")); /* once */
            }
            ll_training_run_destroy(t);
            net_deinit(&a);
        }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "kills") == 0) { /* the long form */
        if (make_folder(NULL) != 0) return 1;
        kill_and_resume(20, 7);
        return remove_folder(NULL);
    }
    static bool             together = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killing_loses_nothing), /* forks: before any thread is started */
        cmocka_unit_test(stopping_changes_nothing),
        cmocka_unit_test_prestate(stopping_changes_nothing, &together),
        cmocka_unit_test(steps_together_change_nothing),
        cmocka_unit_test(another_run_is_refused),
        cmocka_unit_test(another_device_is_said),
        cmocka_unit_test(the_best_weights_are_kept),
        cmocka_unit_test(how_long_it_takes_is_said),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
