/* Steps that are not finite, in trainings of both profiles: what is said, what is counted, and
 * what is left to go on from. */
#include "folder.h"

#include "data/panel_builder.h"
#include "model/model.h"

#include <math.h>

#define HOUR INT64_C(3600000000000)

static llap_panel *panel;
static char        said[16384];

static void keep_all(void *user, llap_log_level level, const char *message)
{
    (void)user, (void)level;
    strncat(said, message, sizeof said - strlen(said) - 2);
    strcat(said, "\n");
}

static const llap_log messages = { .level = LLAP_LOG_INFO, .sink = keep_all };

static int set_up(void **state)
{
    ll_panel_builder *b;
    uint32_t          v, e;
    if (make_folder(state) != 0) return 1;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, "v", 1, &v));
    CHECK_OK(ll_panel_builder_entity(b, "a", 1, &e));
    for (int64_t i = 0; i < 300; i++) {
        const float x = (float)(sin(0.26 * (double)i) + 0.3 * cos(1.7 * (double)i));
        CHECK_OK(ll_panel_builder_row(b, e, i * HOUR, &x));
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &panel));
    ll_panel_builder_destroy(b);
    return 0;
}

static int tear_down(void **state)
{
    llap_panel_destroy(panel);
    return remove_folder(state);
}

/* Two steps may be skipped in a stage. */
static llap_train_opts how(llap_train_profile profile)
{
    llap_train_opts o = { 0 };
    o.context = "1d";
    o.horizon = "6";
    o.size = LLAP_TRAIN_SIZE_TINY;
    o.profile = profile;
    o.steps = 30;
    o.batch = 8;
    o.members = profile == LLAP_TRAIN_PROFILE_ANCHORED ? 1 : 0;
    o.no_climate = (int)o.members;
    o.log = &messages;
    o.config = o.members == 1
                   ? "{ \"training\": { \"anchor\": { \"steps\": 5 }, \"networks\": { "
                     "\"max_skipped\": 2, \"warmup\": 1, \"check_every\": 50, \"check_rows\": 8, "
                     "\"final_rows\": 8 } } }"
                   : "{ \"training\": { \"vae\": { \"max_skipped\": 2 }, \"summarizer\": { "
                     "\"max_skipped\": 2 }, \"denoiser\": { \"max_skipped\": 2 } } }";
    return o;
}

static llap_status train(const llap_train_opts *o)
{
    llap_model       *m = NULL;
    const llap_status st = llap_train(panel, o, &m);
    llap_model_destroy(m);
    return st;
}

static bool has(const char *text, const char *part)
{
    if (strstr(text, part) != NULL) return true;
    print_error("not there: %s\nin: %s\n", part, text);
    return false;
}

/* The step of "STAGE: step N: WHAT" that ended it. */
static int64_t check_stopped(const char *stage, const char *what)
{
    const char *detail = llap_error_detail();
    char        start[64], part[200];
    snprintf(start, sizeof start, "%s: step ", stage);
    assert_int_equal(strncmp(detail, start, strlen(start)), 0);
    const int64_t step = atoll(detail + strlen(start));
    snprintf(part, sizeof part, "%s%lld: %s", start, (long long)step, what);
    assert_true(has(detail, part));
    assert_true(has(detail, "; window"));
    assert_true(has(detail, "1970-01-"));
    assert_true(has(detail, "; 2 such steps were skipped already, which is the limit; "));
    assert_true(has(said, "the step is skipped (1 of 2)"));
    assert_true(has(said, "the step is skipped (2 of 2)"));
    return step;
}

/* The same command finds what it found; with a smaller rate it goes on from the same step. */
static void check_resumed(llap_train_opts o, const char *stage, const char *what, int64_t step)
{
    char part[200];
    snprintf(part, sizeof part, "the state after step %lld is in %s; try a smaller `lr`",
             (long long)step - 1, o.state);
    assert_true(has(llap_error_detail(), part));
    assert_int_equal(access(o.state, F_OK), 0);
    o.resume = 1;
    assert_int_equal(train(&o), LLAP_ENUMERIC);
    assert_int_equal(check_stopped(stage, what), step);
    snprintf(part, sizeof part, "%s: going on after step %lld\n", stage, (long long)step - 1);
    assert_true(has(said, part));
    o.lr = 1e-5;
    said[0] = '\0';
    (void)train(&o); /* weights as large as these may not come back */
    assert_true(has(said, part));
    assert_true(has(said, "the learning rate was "));
    snprintf(part, sizeof part, "%s: step %lld: %s", stage, (long long)step, what);
    assert_true(has(said, part));
    assert_true(has(said, "the step is skipped (1 of 2)")); /* counted anew */
    unlink(o.state);
}

static void check_guard(llap_train_opts o, const char *stage, const char *what)
{
    said[0] = '\0';
    assert_int_equal(train(&o), LLAP_ENUMERIC);
    const int64_t step = check_stopped(stage, what);
    assert_true(has(llap_error_detail(), "; no state was kept; try a smaller `lr`"));
    o.state = in_folder("state");
    assert_int_equal(train(&o), LLAP_ENUMERIC);
    assert_int_equal(check_stopped(stage, what), step);
    check_resumed(o, stage, what, step);
}

static void a_rate_that_is_too_large(void **state)
{
    (void)state;
    llap_train_opts o = how(LLAP_TRAIN_PROFILE_ANCHORED);
    o.lr = 10;
    check_guard(o, "member.0", "the norm of the gradients is not finite (the largest, ");
}

/* Of another model, where a training starts; those not finite are never read. */
static void weights_that_are_too_large(void **state)
{
    static const struct {
        llap_train_profile profile;
        const char        *stage, *weights;
    } at[] = {
        { LLAP_TRAIN_PROFILE_ANCHORED, "member.0", "member.0.denoiser.model.head_proj.bias" },
        { LLAP_TRAIN_PROFILE_REFERENCE, "vae", "vae.out_proj.bias" },
        { LLAP_TRAIN_PROFILE_REFERENCE, "summarizer", "summarizer.v_head.net.3.bias" },
        { LLAP_TRAIN_PROFILE_REFERENCE, "denoiser", "denoiser.model.head_proj.bias" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        llap_model     *m;
        llap_train_opts o = how(at[i].profile);
        CHECK_OK(llap_train(panel, &o, &m));
        const ll_param_info *x = ll_params_find(m->network->params, at[i].weights);
        assert_non_null(x);
        for (int64_t k = 0; k < x->count; k++) ((float *)x->data)[k] = 1e25f;
        CHECK_OK(llap_model_save(m, in_folder("from")));
        llap_model_destroy(m);
        o.from = in_folder("from");
        check_guard(o, at[i].stage, "the loss is not finite");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_that_is_too_large),
        cmocka_unit_test(weights_that_are_too_large),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
