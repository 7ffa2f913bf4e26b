/* The option `budget`: what is left out, that it is said, and that the same can be asked for. */
#include "folder.h"
#include "saved.h"
#include "sensors.h"

#include "model/model.h"
#include "train/run/budget.h"

#include <string.h>

static llap_panel *panel;

#define QUICK                                                     \
    "{\"anchor\": {\"steps\": 20, \"rows\": 16, \"cycles\": 0}, " \
    "\"stack\": {\"rows\": 1200, \"seeds\": 2, \"steps\": 20, \"batch\": 64}}"
#define QUICK_NETWORKS                                            \
    "{\"anchor\": {\"steps\": 20, \"rows\": 16, \"cycles\": 0}, " \
    "\"networks\": { \"check_rows\": 16, \"final_rows\": 16 } }"

static int set_up(void **state)
{
    if (make_folder(state) != 0) return 1;
    panel = make_panel("no2", "noise", ENTITIES);
    return 0;
}

static int tear_down(void **state)
{
    llap_panel_destroy(panel);
    return remove_folder(state);
}

static void what_fits_is_chosen(void **state)
{
    const ll_work_cost cost = { .step = 1, .checks = 10, .rest = 7 };
    const ll_work      asked = { 4, 100 };
    const ll_work_less any = { true, true }, none = { false, false }, shorter = { false, true };
    const struct {
        double       left;
        ll_work_less less;
        ll_work      is;
    } c[] = {
        { 447, any, { 4, 100 } },    { 446, any, { 3, 100 } },      { 117, any, { 1, 100 } },
        { 116, any, { 1, 50 } },     { 66, any, { 1, 25 } },        { 41, any, { 0, 0 } },
        { -5, any, { 0, 0 } },       { 446, none, { 0, 0 } },       { 447, none, { 4, 100 } },
        { 446, shorter, { 4, 50 } }, { INFINITY, any, { 4, 100 } },
    };
    (void)state;
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        const ll_work w = ll_work_that_fits(asked, c[i].less, &cost, c[i].left);
        assert_int_equal(w.networks, c[i].is.networks);
        assert_int_equal(w.steps, c[i].is.steps);
        assert_true(w.networks == 0 || ll_work_seconds(w, &cost) <= c[i].left);
    }
}

static void keep_those(void *user, llap_log_level level, const char *message)
{
    char *said = user;
    if (strstr(message, "more here") == NULL) return;
    strncat(said, level == LLAP_LOG_WARNING ? "warning: " : "", 4095 - strlen(said));
    strncat(said, message, 4095 - strlen(said));
}

static char           said[4096];
static const llap_log talk = { .level = LLAP_LOG_INFO, .sink = keep_those, .user = said };

static llap_train_opts options(llap_train_size size, const char *budget)
{
    said[0] = '\0';
    return (llap_train_opts){ .size = size,
                              .target = "no2",
                              .context = "1d",
                              .horizon = "12",
                              .no_climate = 1,
                              .log = &talk,
                              .training = size == LLAP_TRAIN_SIZE_TINY ? QUICK_NETWORKS : QUICK,
                              .budget = budget };
}

static llap_model *trained(const llap_train_opts *o)
{
    llap_model *m;
    CHECK_OK(llap_train(panel, o, &m));
    return m;
}

/* Saved, they are the same bytes. Takes both. */
static void same_models(llap_model *a, llap_model *b)
{
    llap_model *m[] = { a, b };
    char       *bytes[2];
    size_t      n[2];
    for (int i = 0; i < 2; i++) {
        const char *path = in_folder("same.safetensors");
        CHECK_OK(llap_model_save(m[i], path));
        CHECK_OK(ll_file_read(path, SIZE_MAX, &bytes[i], &n[i]));
        llap_model_destroy(m[i]);
    }
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(bytes[0], bytes[1], n[0]);
    ll_free(bytes[0]);
    ll_free(bytes[1]);
}

/* Without a budget and with one that is never reached: the same bytes, and one line says how long
 * it takes and what the anchor alone has. */
static void enough_time_changes_nothing(void **state)
{
    llap_train_opts o = options(LLAP_TRAIN_SIZE_STACK, NULL);
    (void)state;
    llap_model *a = trained(&o);
    assert_non_null(strstr(said, "stack: at most "));
    assert_non_null(strstr(said, "CRPS of the anchor alone 0."));
    assert_null(strstr(said, "within the budget"));
    o = options(LLAP_TRAIN_SIZE_STACK, "1000h");
    llap_model *b = trained(&o);
    assert_non_null(strstr(said, "within the budget"));
    assert_null(strstr(said, "warning"));
    same_models(a, b);
}

/* No time for networks: it is said how the same is asked for, which gives the same bytes. */
static void no_time_leaves_the_anchor(void **state)
{
    static const llap_train_size sizes[] = { LLAP_TRAIN_SIZE_STACK, LLAP_TRAIN_SIZE_TINY };
    (void)state;
    for (int i = 0; i < 2; i++) {
        llap_train_opts o = options(sizes[i], "1ms");
        llap_model     *a = trained(&o);
        assert_non_null(strstr(said, "warning: stack: at most "));
        assert_non_null(strstr(said, "the same: `size` anchor"));
        assert_int_equal(strstr(said, "warning: networks: at most ") != NULL, i == 1);
        o = options(LLAP_TRAIN_SIZE_ANCHOR, NULL);
        o.training = "{\"anchor\": {\"steps\": 20, \"rows\": 16, \"cycles\": 0}}";
        same_models(a, trained(&o));
    }
}

static int stop_there(void *user, const llap_progress_event *e)
{
    return strcmp(e->stage, user) == 0 && e->done >= 5;
}

/* What was chosen is in the state: resumed with another budget, or none, it is not asked again. */
static void a_resumed_training_keeps_what_was_chosen(void **state)
{
    llap_train_opts o = options(LLAP_TRAIN_SIZE_STACK, NULL);
    llap_model     *m = NULL, *whole = trained(&o);
    (void)state;
    o.state = in_folder("state");
    o.progress = (llap_progress){ stop_there, "stack.s" };
    assert_int_equal(llap_train(panel, &o, &m), LLAP_ECANCELLED);
    said[0] = '\0';
    o.progress = (llap_progress){ 0 };
    o.resume = 1;
    o.budget = "1ms";
    same_models(whole, trained(&o));
    assert_string_equal(said, "");
}

/* A training that a budget has cut short is finished, for the same command with `resume`. */
static void a_finished_one_is_not_repeated(void **state)
{
    llap_train_opts o = options(LLAP_TRAIN_SIZE_STACK, "1ms");
    llap_model     *m;
    (void)state;
    o.output = in_folder("finished.safetensors");
    m = trained(&o);
    CHECK_OK(llap_model_save(m, o.output));
    said[0] = '\0';
    o.resume = 1;
    same_models(m, trained(&o));
    assert_string_equal(said, ""); /* nothing was trained */
    o.context = "2d";
    llap_model_destroy(trained(&o));
    assert_non_null(strstr(said, "stack: at most "));
}

static void bad_budgets_are_refused(void **state)
{
    static const char *const bad[] = { "ten", "10", "-1h", "0s", "" };
    llap_model              *m;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const llap_train_opts o = options(LLAP_TRAIN_SIZE_STACK, bad[i]);
        assert_int_equal(llap_train(panel, &o, &m), LLAP_EOPTION);
        assert_non_null(strstr(llap_error_detail(), "budget: expected a time such as 10m"));
    }
    llap_train_opts o = options(LLAP_TRAIN_SIZE_TINY, "10m");
    o.profile = LLAP_TRAIN_PROFILE_REFERENCE;
    o.training = NULL;
    assert_int_equal(llap_train(panel, &o, &m), LLAP_EOPTION);
    assert_non_null(strstr(llap_error_detail(), "budget: the reference profile"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_chosen),
        cmocka_unit_test(enough_time_changes_nothing),
        cmocka_unit_test(no_time_leaves_the_anchor),
        cmocka_unit_test(a_resumed_training_keeps_what_was_chosen),
        cmocka_unit_test(a_finished_one_is_not_repeated),
        cmocka_unit_test(bad_budgets_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
