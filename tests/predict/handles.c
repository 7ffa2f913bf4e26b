/* Trainers and samplers: stopping and going on, several threads and one model, every long call
 * cancelled, every allocation failed. */
#include "folder.h"
#include "sensors.h"

#include <llapdiff/llapdiff.h>

#include <omp.h>
#include <pthread.h>
#include <unistd.h>

static llap_panel *panel, *later;
static llap_model *tiny;

static llap_train_opts how(llap_train_size size)
{
    llap_train_opts o = { 0 };
    o.target = "no2";
    o.context = "2d";
    o.horizon = "12";
    o.size = size;
    o.members = 1;
    o.steps = 6;
    o.training = "{\"anchor\": {\"steps\": 60}}";
    o.batch = 8;
    return o;
}

static int set_up(void **state)
{
    if (make_folder(state) != 0) return 1;
    panel = make_panel("no2", "wind", 2);
    later = make_panel("no2", "wind", 1);
    const llap_train_opts o = how(LLAP_TRAIN_SIZE_TINY);
    CHECK_OK(llap_train(panel, &o, &tiny));
    CHECK_OK(llap_model_save(tiny, in_folder("whole")));
    /* So short a training would leave the answer to the anchor. */
    tiny->network->config.features.answer_source = LL_ANSWER_BY_NETWORKS;
    return 0;
}

static int tear_down(void **state)
{
    llap_model_destroy(tiny);
    llap_panel_destroy(panel);
    llap_panel_destroy(later);
    return remove_folder(state);
}

/* ---- trainer ---- */

/* The caller's progress asks the trainer to stop after so many reports of a stage. */
typedef struct watch {
    llap_trainer *t;
    const char   *stage;
    int64_t       left, all;
} watch;

static int watching(void *user, const llap_progress_event *e)
{
    watch *w = user;
    w->all++;
    if (w->stage != NULL && strstr(e->stage, w->stage) == NULL) return 0;
    if (w->left > 0 && --w->left == 0) llap_trainer_stop(w->t);
    return 0;
}

static void check_saved(const llap_model *m, const char *as)
{
    char command[600];
    CHECK_OK(llap_model_save(m, in_folder("again")));
    snprintf(command, sizeof command, "cmp %s/%s %s/again", folder, as, folder);
    assert_int_equal(system(command), 0);
}

static void a_stopped_trainer_goes_on_to_the_same_model(void **state)
{
    (void)state;
    llap_train_opts o = how(LLAP_TRAIN_SIZE_TINY);
    llap_trainer   *t = NULL;
    llap_model     *m = NULL;
    watch           w = { .stage = "member", .left = 3 };
    char            path[256];
    snprintf(path, sizeof path, "%s", in_folder("state"));
    o.state = path;
    o.progress = (llap_progress){ watching, &w };
    CHECK_OK(llap_trainer_create(panel, &o, &t));
    memset(path, 'x', 4); /* the strings were copied */
    w.t = t;
    CHECK_FAIL(llap_trainer_take(t, &m), LLAP_EINVAL, "has not ended");
    CHECK_FAIL(llap_trainer_run(t), LLAP_ECANCELLED, "stopped");
    assert_int_equal(w.left, 0);
    CHECK_OK(llap_trainer_run(t));
    CHECK_OK(llap_trainer_run(t)); /* nothing left to do */
    CHECK_OK(llap_trainer_take(t, &m));
    assert_int_equal(access(in_folder("state"), F_OK), 0);
    check_saved(m, "whole");
    llap_model_destroy(m);
    CHECK_FAIL(llap_trainer_take(t, &m), LLAP_EINVAL, "taken already");
    assert_null(m);
    llap_trainer_destroy(t);
}

static void what_a_trainer_is_given_it_keeps(void **state)
{
    (void)state;
    llap_train_opts o = how(LLAP_TRAIN_SIZE_ANCHOR);
    llap_trainer   *t = NULL;
    llap_model     *m = NULL;
    llap_panel     *three = make_panel("no2", "wind", 3);
    char            path[256];
    snprintf(path, sizeof path, "%s", in_folder("parts.csv"));
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("entity,part\ns0,train\ns1,validation\ns2,test\n", f);
    fclose(f);
    o.parts = path;
    CHECK_OK(llap_trainer_create(three, &o, &t));
    memset(path, 'x', sizeof path - 1);
    CHECK_OK(llap_trainer_run(t));
    CHECK_OK(llap_trainer_take(t, &m));
    llap_model_destroy(m);
    llap_trainer_destroy(t);
    llap_panel_destroy(three);
}

static void without_a_state_it_begins_again(void **state)
{
    (void)state;
    llap_train_opts o = how(LLAP_TRAIN_SIZE_ANCHOR);
    llap_trainer   *t = NULL;
    llap_model     *whole = NULL, *m = NULL;
    watch           w = { .left = 2 };
    CHECK_OK(llap_train(panel, &o, &whole));
    o.progress = (llap_progress){ watching, &w };
    CHECK_OK(llap_trainer_create(panel, &o, &t));
    w.t = t;
    CHECK_FAIL(llap_trainer_run(t), LLAP_ECANCELLED, "");
    CHECK_OK(llap_trainer_run(t));
    CHECK_OK(llap_trainer_take(t, &m));
    CHECK_OK(llap_model_save(whole, in_folder("anchor")));
    check_saved(m, "anchor");
    llap_trainer_destroy(t);
    llap_model_destroy(m);
    llap_model_destroy(whole);
}

static void *run_trainer(void *t) { return (void *)(intptr_t)llap_trainer_run(t); }

/* A stop that comes before the run is not lost. */
static void stop_from_another_thread(void **state)
{
    (void)state;
    llap_train_opts o = how(LLAP_TRAIN_SIZE_TINY);
    llap_trainer   *t = NULL;
    pthread_t       other;
    o.steps = 1000000;
    CHECK_OK(llap_trainer_create(panel, &o, &t));
    assert_int_equal(pthread_create(&other, NULL, run_trainer, t), 0);
    usleep(20000);
    llap_trainer_stop(t);
    void *answer = NULL;
    assert_int_equal(pthread_join(other, &answer), 0);
    assert_int_equal((int)(intptr_t)answer, LLAP_ECANCELLED);
    llap_trainer_destroy(t);
}

static void mistakes_are_told_before_training(void **state)
{
    (void)state;
    llap_trainer   *t = NULL;
    watch           w = { 0 };
    llap_train_opts o = how(LLAP_TRAIN_SIZE_TINY);
    o.progress = (llap_progress){ watching, &w };
    o.target = "no3";
    CHECK_FAIL(llap_trainer_create(panel, &o, &t), LLAP_EINVAL, "did you mean 'no2'?");
    o = how(LLAP_TRAIN_SIZE_PAPER);
    CHECK_FAIL(llap_trainer_create(panel, &o, &t), LLAP_EOPTION, "size:");
    o = how(LLAP_TRAIN_SIZE_TINY);
    o.horizon = "900d";
    CHECK_FAIL(llap_trainer_create(panel, &o, &t), LLAP_EINVAL, "shorten");
    o = how(LLAP_TRAIN_SIZE_TINY);
    o.device = "abacus";
    CHECK_FAIL(llap_trainer_create(panel, &o, &t), LLAP_EOPTION, "abacus");
    assert_null(t);
    assert_int_equal(w.all, 0);
    llap_trainer_destroy(NULL);
}

static llap_status make_trainer(void *user)
{
    llap_trainer   *t = NULL;
    llap_train_opts o = how(LLAP_TRAIN_SIZE_TINY);
    (void)user;
    const llap_status st = llap_trainer_create(panel, &o, &t);
    llap_trainer_destroy(t);
    return st;
}

/* ---- samplers ---- */

static llap_forecast_opts ask(void)
{
    llap_forecast_opts o = { 0 };
    o.samples = 20;
    o.quantiles = "0.1,0.5,0.9";
    o.horizon = "6h";
    return o;
}

static void same_answers(llap_answer *a, llap_answer *b)
{
    assert_int_equal(a->n_rows, b->n_rows);
    assert_true(a->n_rows > 0);
    assert_memory_equal(a->number, b->number, a->n_rows * (size_t)a->n_numbers * sizeof *a->number);
    llap_answer_destroy(a);
    llap_answer_destroy(b);
}

/* One sampler, panels and questions in turn: always what llap_forecast says. */
static void a_sampler_says_what_forecast_says(void **state)
{
    (void)state;
    llap_sampler *s = NULL;
    CHECK_OK(llap_sampler_create(tiny, NULL, LLAP_GPU_DEFAULT, &s));
    for (int i = 0; i < 6; i++) {
        llap_forecast_opts o = ask();
        llap_answer       *a = NULL, *b = NULL;
        const llap_panel  *p = i % 2 == 0 ? panel : later;
        if (i == 2) o.horizon = "12h";
        if (i == 3) o.samples = 7;
        if (i == 4) o.every = "1d";
        CHECK_OK(llap_forecast(tiny, p, &o, &a));
        CHECK_OK(llap_sampler_forecast(s, p, &o, &b));
        same_answers(a, b);
    }
    llap_answer       *a = NULL;
    llap_forecast_opts bad = ask();
    bad.samples = -1;
    CHECK_FAIL(llap_sampler_forecast(s, panel, &bad, &a), LLAP_EOPTION, "samples");
    assert_null(a);
    llap_sampler_destroy(s);
    CHECK_FAIL(llap_sampler_create(tiny, "abacus", LLAP_GPU_DEFAULT, &s), LLAP_EOPTION, "abacus");
    assert_null(s);
    llap_sampler_destroy(NULL);
}

/* Work of one of several threads that share the model: forecasts, fillings, descriptions. */
static void *one_of_many(void *user)
{
    llap_answer **out = user; /* [2] */
    llap_sampler *s = NULL;
    char         *text = NULL;
    omp_set_num_threads(1);
    llap_status st = llap_sampler_create(tiny, NULL, LLAP_GPU_DEFAULT, &s);
    for (int i = 0; i < 3 && st == LLAP_OK; i++) {
        const llap_forecast_opts o = ask();
        const llap_impute_opts   fill = { 0 };
        llap_answer_destroy(out[0]);
        llap_answer_destroy(out[1]);
        st = llap_sampler_forecast(s, panel, &o, &out[0]);
        if (st == LLAP_OK) st = llap_impute(tiny, panel, &fill, &out[1]);
        if (st == LLAP_OK) st = llap_model_describe(tiny, 1, &text);
        llap_text_free(text);
        text = NULL;
    }
    llap_sampler_destroy(s);
    return (void *)(intptr_t)st;
}

static void several_threads_share_a_model(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t    thread[THREADS];
    llap_answer *out[THREADS + 1][2] = { 0 };
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, one_of_many, out[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        void *answer = NULL;
        assert_int_equal(pthread_join(thread[i], &answer), 0);
        assert_int_equal((int)(intptr_t)answer, LLAP_OK);
    }
    const llap_forecast_opts o = ask();
    const llap_impute_opts   fill = { 0 };
    for (int i = 0; i < THREADS; i++) {
        CHECK_OK(llap_forecast(tiny, panel, &o, &out[THREADS][0]));
        CHECK_OK(llap_impute(tiny, panel, &fill, &out[THREADS][1]));
        same_answers(out[i][0], out[THREADS][0]);
        same_answers(out[i][1], out[THREADS][1]);
    }
}

/* ---- cancelling ---- */

typedef struct stopper {
    int64_t calls, stop_at;
} stopper;

static int stopping(void *user, const llap_progress_event *e)
{
    stopper *s = user;
    assert_non_null(e->stage);
    assert_true(e->total == 0 || (e->done >= 0 && e->done <= e->total));
    return ++s->calls == s->stop_at;
}

typedef llap_status (*asking)(llap_progress progress, bool *nothing);

static llap_status ask_forecast(llap_progress progress, bool *nothing)
{
    llap_answer       *a = NULL;
    llap_forecast_opts o = ask();
    o.every = "1d";
    o.progress = progress;
    const llap_status st = llap_forecast(tiny, panel, &o, &a);
    *nothing = a == NULL;
    llap_answer_destroy(a);
    return st;
}

static llap_status ask_anchor(llap_progress progress, bool *nothing)
{
    const ll_answer_source answer_source = tiny->network->config.features.answer_source;
    tiny->network->config.features.answer_source = LL_ANSWER_BY_ANCHOR;
    const llap_status st = ask_forecast(progress, nothing);
    tiny->network->config.features.answer_source = answer_source;
    return st;
}

static llap_status ask_impute(llap_progress progress, bool *nothing)
{
    llap_answer     *a = NULL;
    llap_impute_opts o = { 0 };
    o.progress = progress;
    const llap_status st = llap_impute(tiny, panel, &o, &a);
    *nothing = a == NULL;
    llap_answer_destroy(a);
    return st;
}

static llap_status evaluate_as(llap_evaluate_task task, llap_progress progress, bool *nothing)
{
    char              *text = NULL;
    llap_evaluate_opts o = { 0 };
    o.task = task;
    if (task == LLAP_EVALUATE_TASK_FORECAST) {
        o.samples = 4;
        o.stride = "2d";
    }
    o.bootstrap = LLAP_ZERO;
    o.progress = progress;
    const llap_status st = llap_evaluate(tiny, panel, &o, &text, NULL);
    *nothing = text == NULL;
    llap_text_free(text);
    return st;
}

static llap_status ask_scores(llap_progress progress, bool *nothing)
{
    return evaluate_as(LLAP_EVALUATE_TASK_FORECAST, progress, nothing);
}

static llap_status ask_fillings(llap_progress progress, bool *nothing)
{
    return evaluate_as(LLAP_EVALUATE_TASK_IMPUTE, progress, nothing);
}

static llap_status ask_networks(llap_progress progress, bool *nothing)
{
    ll_feature_config *c = &tiny->network->config.features;
    c->fill_past = c->fill_both = 7;
    const llap_status st = ask_fillings(progress, nothing);
    c->fill_past = c->fill_both = 0;
    return st;
}

/* Networks that fill can be stopped within a block of windows. */
static void networks_that_fill_report(void **state)
{
    (void)state;
    stopper anchor = { 0 }, networks = { 0 };
    bool    nothing;
    CHECK_OK(ask_fillings((llap_progress){ stopping, &anchor }, &nothing));
    CHECK_OK(ask_networks((llap_progress){ stopping, &networks }, &nothing));
    assert_true(networks.calls > anchor.calls);
}

/* Each is stopped at its first, a middle and its last report, and leaves nothing behind. */
static void every_long_call_can_be_cancelled(void **state)
{
    (void)state;
    const asking call[] = { ask_forecast, ask_anchor,   ask_impute,
                            ask_scores,   ask_fillings, ask_networks };
    for (size_t i = 0; i < sizeof call / sizeof *call; i++) {
        stopper all = { 0 };
        bool    nothing = true;
        CHECK_OK(call[i]((llap_progress){ stopping, &all }, &nothing));
        assert_false(nothing);
        assert_true(all.calls > 0);
        const int64_t at[] = { 1, (all.calls + 1) / 2, all.calls };
        for (int k = 0; k < 3; k++) {
            const int64_t live = ll_alloc_live();
            stopper       s = { .stop_at = at[k] };
            CHECK_FAIL(call[i]((llap_progress){ stopping, &s }, &nothing), LLAP_ECANCELLED, "");
            assert_true(nothing);
            assert_int_equal(s.calls, at[k]); /* it is not asked again */
            assert_int_equal(ll_alloc_live(), live);
        }
    }
}

static llap_status make_sampler_and_ask(void *user)
{
    llap_sampler      *s = NULL;
    llap_answer       *a = NULL;
    llap_forecast_opts o = ask();
    (void)user;
    o.samples = 2;
    o.horizon = "2h";
    llap_status st = llap_sampler_create(tiny, NULL, LLAP_GPU_DEFAULT, &s);
    if (st == LLAP_OK) st = llap_sampler_forecast(s, later, &o, &a);
    llap_answer_destroy(a);
    llap_sampler_destroy(s);
    return st;
}

static void out_of_memory(void **state)
{
    (void)state;
    check_every_failed_allocation(make_trainer, NULL);
    check_every_failed_allocation(make_sampler_and_ask, NULL);
}

/* handles [NAME]: only tests whose name matches, "several*". */
int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_trainer_goes_on_to_the_same_model),
        cmocka_unit_test(what_a_trainer_is_given_it_keeps),
        cmocka_unit_test(without_a_state_it_begins_again),
        cmocka_unit_test(stop_from_another_thread),
        cmocka_unit_test(mistakes_are_told_before_training),
        cmocka_unit_test(a_sampler_says_what_forecast_says),
        cmocka_unit_test(several_threads_share_a_model),
        cmocka_unit_test(every_long_call_can_be_cancelled),
        cmocka_unit_test(networks_that_fill_report),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
