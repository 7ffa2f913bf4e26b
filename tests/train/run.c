/* The loop of training on a small regression: whatever interrupts it, it ends in the same bytes. */
#include "folder.h"

#include "backend/cpu/cpu.h"
#include "base/file.h"
#include "base/rng/rng.h"
#include "nn/async_results.h"
#include "nn/nn.h"
#include "nn/non_finite.h"
#include "nn/optim.h"
#include "train/run/run.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { B = 8, D = 6 };

/* ---- a stage: y = x w, learned with dropout ---- */

typedef struct net {
    ll_params       *params;
    ll_plan         *plan;
    ll_run          *run;
    float            x[B * D], y[B], lr;
    int32_t          step;
    int64_t          bad_from, bad_to; /* steps whose data is not finite */
    double           worse_after;      /* the score rises from there on; 0: never */
    bool             no_score;         /* it is not finite */
    int              wait_us;
    ll_async_results results;
    int              n_waits; /* for steps that nobody waited for at first */
} net;

static ll_tensor *describe(ll_graph *g)
{
    ll_tensor *x = ll_input(g, "x", LL_SHAPE(B, D));
    ll_tensor *h = ll_dropout(g, ll_tanh(g, ll_nn_linear(g, "in", x, 5)), 0.1);
    h = ll_nn_linear(g, "out", h, 1);
    return ll_nn_mse(g, h, ll_input(g, "y", LL_SHAPE(B, 1)));
}

static llap_status net_init(net *n, uint64_t seed)
{
    ll_graph   *g = NULL;
    llap_status st = ll_graph_create(&g);
    if (st == LLAP_OK) {
        ll_tensor *loss = describe(g);
        ll_output(g, "loss", loss);
        ll_train_attr a = LL_TRAIN_DEFAULT;
        a.ema = 0.9;
        ll_nn_train(g, loss, &a);
        st = ll_params_create(g, &ll_backend_cpu, &n->params);
    }
    if (st == LLAP_OK)
        st = ll_plan_create(g, &(ll_plan_opts){ .backend = &ll_backend_cpu, .n_threads = 2 },
                            &n->plan);
    if (st == LLAP_OK) st = ll_run_create(n->plan, &n->run);
    if (st == LLAP_OK) st = ll_params_bind(n->params, LL_PARAMS_MODEL, n->plan, n->run);
    if (st == LLAP_OK) st = ll_run_bind(n->run, "x", n->x, B * D);
    if (st == LLAP_OK) st = ll_run_bind(n->run, "y", n->y, B);
    if (st == LLAP_OK) st = ll_run_bind(n->run, "lr", &n->lr, 1);
    if (st == LLAP_OK) st = ll_run_bind(n->run, "step", &n->step, 1);
    if (st == LLAP_OK) ll_params_init(n->params, seed);
    if (st == LLAP_OK) ll_params_start_ema(n->params);
    if (st == LLAP_OK) st = ll_async_results_init(&n->results, &ll_backend_cpu);
    n->lr = 0.01f;
    ll_graph_destroy(g);
    return st;
}

static void net_deinit(net *n)
{
    ll_run_destroy(n->run);
    ll_plan_release(n->plan);
    ll_params_destroy(n->params);
    ll_async_results_deinit(&n->results);
    *n = (net){ 0 };
}

static llap_status net_step(void *user, int64_t step, double *loss, double *norm)
{
    net         *n = user;
    const ll_rng r = ll_rng_make(1, LL_STREAM_TEST, 0, 0, (uint32_t)step);
    ll_rng_fill_normal(&r, 0, B * D, n->x);
    for (int b = 0; b < B; b++) n->y[b] = n->x[b * D] - 0.5f * n->x[b * D + 1];
    if (step >= n->bad_from && step < n->bad_to) n->x[3] = NAN;
    n->step = (int32_t)step + 1;
    const llap_status st = ll_run_exec(n->run);
    if (st != LLAP_OK) return st;
    if (n->wait_us > 0) usleep((useconds_t)n->wait_us);
    const float *found[] = { ll_run_output(n->run, "loss", NULL),
                             ll_run_output(n->run, "grad_norm", NULL) };
    if (loss == NULL) return ll_async_results_put(&n->results, step, found[0], found[1]);
    *loss = (double)*found[0];
    *norm = (double)*found[1];
    return LLAP_OK;
}

static llap_status net_results(void *user, int64_t first, int64_t n_steps, double *loss,
                               double *norm)
{
    net *n = user;
    n->n_waits++;
    return ll_async_results_get(&n->results, first, n_steps, loss, norm);
}

/* Some number of the weights that depends on all of the past; it need not mean anything. */
static llap_status net_evaluate(void *user, int64_t step, double *score)
{
    const net           *n = user;
    const ll_param_info *w = ll_params_find(n->params, "out.weight");
    *score = 1.0;
    for (int64_t k = 0; k < w->count; k++) *score += fabs(ll_param_get(n->params, w, k)) * 0.01;
    if (n->worse_after > 0) *score = fabs((double)step - n->worse_after);
    if (n->no_score) *score = NAN;
    return LLAP_OK;
}

static void net_fields(void *user, ll_json_writer *w)
{
    ll_json_put_double(w, "lr", (double)((net *)user)->lr);
}

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

/* ---- a run of two stages ---- */

typedef struct run_opts {
    ll_training_run_opts how;
    const char          *horizon, *device; /* facts */
    int64_t              n_steps;
    int                  wait_us;
    bool                 ends_early; /* the first stage: after 14 steps, the best were 7 */
    bool                 together;   /* several steps before anyone looks */
} run_opts;

static llap_status train(const run_opts *o, const char *model)
{
    const ll_run_fact  facts[] = { { "horizon", o->horizon == NULL ? "24" : o->horizon, false },
                                   { "device", o->device == NULL ? "cpu" : o->device, true } };
    net                a = { .wait_us = o->wait_us, .worse_after = o->ends_early ? 7 : 0 };
    net                b = { .wait_us = o->wait_us };
    ll_training_run   *t = NULL;
    ll_tensors_writer *w = NULL;
    ll_stage           s = LL_STAGE_DEFAULT;
    llap_status        st = net_init(&a, 1);
    if (st == LLAP_OK) st = net_init(&b, 2);
    if (st == LLAP_OK) st = ll_training_run_create(&o->how, facts, 2, &t);
    s.n_steps = o->n_steps;
    s.patience = o->ends_early;
    s.eval_every = 7;
    s.step = net_step;
    s.evaluate = net_evaluate;
    s.fields = net_fields;
    if (o->together) s.results = net_results;
    s.name = "first", s.user = &a, s.params = a.params;
    if (st == LLAP_OK) st = ll_training_run_stage(t, &s, NULL);
    s.name = "second", s.user = &b, s.params = b.params, s.evaluate = NULL;
    if (st == LLAP_OK) st = ll_training_run_stage(t, &s, NULL);
    if (st == LLAP_OK) st = ll_tensors_writer_create(&w);
    if (st == LLAP_OK) st = ll_params_save(a.params, LL_PARAMS_MODEL, "first.", w);
    if (st == LLAP_OK) st = ll_params_save(b.params, LL_PARAMS_MODEL, "second.", w);
    if (st == LLAP_OK) st = ll_params_save(b.params, LL_PARAMS_EMA, "ema.", w);
    if (st == LLAP_OK && model != NULL) st = ll_tensors_writer_save(w, model);
    ll_tensors_writer_destroy(w);
    ll_training_run_destroy(t);
    net_deinit(&a);
    net_deinit(&b);
    return st;
}

/* Stops after a number of reports. */
static int stop_after(void *user, const llap_progress_event *e)
{
    (void)e;
    return --*(int *)user == 0;
}

static const char *whole_run(int64_t n_steps, bool ends_early)
{
    const char *model = in_folder("whole.safetensors");
    run_opts    o = { .n_steps = n_steps,
                      .ends_early = ends_early,
                      .how = { .save_every = 1e9, .log = in_folder("whole.log") } };
    CHECK_OK(train(&o, model));
    return model;
}

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

static void keep_line(void *user, llap_log_level level, const char *message)
{
    (void)level;
    snprintf(user, 512, "%s", message);
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
    assert_non_null(strstr(said, "the device was cuda bf16 and is cpu now: the training goes on"));
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
    CHECK_FAIL(train_stage(t, &second, "second", 1, &r), LLAP_ENUMERIC,
               "second: has diverged, no validation score was finite; its rate was 0.5: a smaller "
               "`lr` may help, with `resume`, which begins this stage anew, or, without ");
    assert_non_null(strstr(llap_error_detail(), "d.state, from the start"));
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
            CHECK_FAIL(
                ll_training_run_stage(t, &s, &r), LLAP_ENUMERIC,
                "s: step 14: input 'x' is not finite; 3 such steps were skipped before it, no "
                "more are; no state was kept");
        }
        assert_true(together ? a.n_waits > 0 && a.n_waits < 20 : a.n_waits == 0);
        ll_training_run_destroy(t);
        net_deinit(&a);
    }
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
    assert_non_null(strstr(said, "/dev/full: No space left on device: the training goes on"));
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
