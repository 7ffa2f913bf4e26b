/* Networks on top of the anchors, from training to answers, at a size of seconds. */
#include "networks.h"
#include "lossless.h"

#include "predict/network_members.h"
#include "predict/tables/answer.h"
#include "train/fill_choice.h"
#include "train/run/recipe.h"
#include "train/training_set.h"

#include <omp.h>
#include <unistd.h>

static void the_same_training_gives_the_same_file(void **state)
{
    (void)state;
    llap_train_opts o = how(LLAP_TRAIN_VIEW_JOINT);
    const int       threads = omp_get_max_threads();
    llap_model     *again = NULL;
    o.prefetch = LLAP_ZERO; /* changes nothing, as the number of threads */
    omp_set_num_threads(threads == 1 ? 2 : 1);
    CHECK_OK(llap_train(panel, &o, &again));
    omp_set_num_threads(threads);
    again->network->config.features.answer_source = LL_ANSWER_BY_NETWORKS;
    CHECK_OK(llap_model_save(joint, in_folder("a")));
    CHECK_OK(llap_model_save(again, in_folder("b")));
    check_same_file(in_folder("a"), in_folder("b"));
    llap_model_destroy(again);
}

static void validation_decides_who_answers(void **state)
{
    (void)state;
    static const struct {
        double           network, anchor, pool;
        double           price;
        ll_answer_source expected;
    } row[] = {
        { .40, .39, .395, 0, LL_ANSWER_BY_ANCHOR },
        { .40, .39, .395, .05, LL_ANSWER_BY_ANCHOR },
        { .40, .39, .385, 0, LL_ANSWER_BY_BOTH },
        { .40, .39, .385, .05, LL_ANSWER_BY_BOTH },
        { .1757, .19, .1773, 0, LL_ANSWER_BY_NETWORKS },
        { .1757, .19, .1773, .05, LL_ANSWER_BY_BOTH },
        { .2223, .3190, .2410, .05, LL_ANSWER_BY_NETWORKS },
        { .2223, .3190, .2410, .1, LL_ANSWER_BY_BOTH },
        { NAN, .3, NAN, .05, LL_ANSWER_BY_ANCHOR },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const ll_validation_scores s = { row[i].network, row[i].anchor, row[i].pool, 100 };
        assert_int_equal(ll_answer_source_choose(&s, row[i].price), row[i].expected);
    }
}

static void keep_warnings(void *user, llap_log_level level, const char *message)
{
    (void)level;
    strncat(user, message, 4095 - strlen(user));
}

/* Another start, other networks; and bounds hold for whatever answers. */
static void training_goes_on_from_a_model(void **state)
{
    (void)state;
    llap_model     *m = NULL;
    llap_answer    *a = NULL;
    llap_train_opts o = how(LLAP_TRAIN_VIEW_JOINT);
    char            said[4096] = "";
    const llap_log  log = { .level = LLAP_LOG_WARNING, .sink = keep_warnings, .user = said };
    CHECK_OK(llap_model_save(joint, in_folder("start")));
    o.from = in_folder("start");
    o.log = &log;
    o.steps = 1;
    o.lr = 1e-9;
    o.min = "no2=49";
    o.max = "52";
    CHECK_OK(llap_train(panel, &o, &m));
    const ll_param_info *x = ll_params_find(m->network->params, "member.1.summarizer.in.weight");
    const ll_param_info *y =
        ll_params_find(joint->network->params, "member.1.summarizer.in.weight");
    for (int64_t i = 0; i < x->count; i++)
        assert_float_equal(((const float *)x->data)[i], ((const float *)y->data)[i], 1e-6);
    llap_forecast_opts f = { 0 };
    f.samples = 20;
    m->network->config.features.answer_source = LL_ANSWER_BY_BOTH;
    CHECK_OK(llap_model_save(m, in_folder("bound")));
    llap_model_destroy(m);
    CHECK_OK(llap_model_load(in_folder("bound"), &m));
    CHECK_OK(llap_forecast(m, panel, &f, &a));
    for (size_t i = 0; i < a->n_rows; i++) assert_true(a->number[i] >= 49 && a->number[i] <= 52);
    llap_answer_destroy(a);
    llap_model_destroy(m);
    assert_null(strstr(said, "from: "));
    o.target = "wind";
    o.min = o.max = NULL;
    CHECK_OK(llap_train(panel, &o, &m));
    llap_model_destroy(m);
    assert_non_null(strstr(said, "start forecast no2 where these are to forecast wind"));
    o = how(LLAP_TRAIN_VIEW_ROWS);
    o.from = in_folder("start");
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EINVAL, "from: networks of another size or layout");
}

/* Who threw a training out of single precision: stage, step, tensor, windows. */
static void what_is_not_finite_is_named(void **state)
{
    (void)state;
    static const llap_train_view view[] = { LLAP_TRAIN_VIEW_JOINT, LLAP_TRAIN_VIEW_ROWS };
    for (int i = 0; i < 2; i++) {
        llap_model     *m = NULL;
        llap_train_opts o = how(view[i]);
        o.lr = 1e30;
        o.steps = 20;
        CHECK_FAIL(llap_train(panel, &o, &m), LLAP_ENUMERIC, "member.0: step 1");
        const char *said = llap_error_detail();
        assert_null(m);
        assert_true(strstr(said, "gradient of 'denoiser.") != NULL ||
                    strstr(said, "gradient of 'summarizer.") != NULL);
        assert_non_null(strstr(said, "; windows that end at 1970-01-"));
        assert_non_null(strstr(said, " and 4 more; 8 such steps were skipped already"));
        o.steps = 5; /* it ends before that */
        CHECK_FAIL(llap_train(panel, &o, &m), LLAP_ENUMERIC,
                   "member.0: has diverged, no validation score was finite; its rate was 1e+30");
        o.state = in_folder("diverged");
        CHECK_FAIL(llap_train(panel, &o, &m), LLAP_ENUMERIC, "with `resume`");
        o.resume = 1;
        o.lr = 1e-3;
        CHECK_OK(llap_train(panel, &o, &m));
        llap_model_destroy(m);
        m = NULL;
        unlink(o.state);
    }
}

/* The weights of one entity cannot be added up; the only row of the checks is of the other. */
static void draws_that_are_not_finite_leave_it_to_the_anchor(void **state)
{
    (void)state;
    char               said[4096] = "";
    const llap_log     log = { .level = LLAP_LOG_WARNING, .sink = keep_warnings, .user = said };
    ll_recipe_networks margins = { LL_RECIPE_MARGINS };
    llap_model        *m = NULL;
    llap_train_opts    o = how(LLAP_TRAIN_VIEW_ROWS);
    o.members = 1;
    CHECK_OK(llap_train(panel, &o, &m));
    const ll_param_info *x =
        ll_params_find(m->network->params, "member.0.summarizer.entity.weight");
    for (int64_t i = x->count / 2; i < x->count; i++) ((float *)x->data)[i] = 3e38f;
    CHECK_OK(llap_model_save(m, in_folder("huge")));
    llap_model_destroy(m);
    o.log = &log;
    o.from = in_folder("huge");
    o.config = NULL;
    o.network = "{ \"features\": { \"fill_past\": 3 } }";
    o.training = "{ \"anchor\": { \"cycles\": 0, \"steps\": 30, \"rows\": 16 }, \"networks\": { "
                 "\"check_rows\": 1, \"final_rows\": 16 } }";
    CHECK_OK(llap_train(panel, &o, &m));
    const ll_feature_config *c = &m->network->config.features;
    assert_non_null(strstr(said, "networks: draws of the validation part: sampler: "));
    assert_non_null(strstr(said, " is not finite: the anchor answers and fills gaps"));
    assert_int_equal(c->answer_source, LL_ANSWER_BY_ANCHOR);
    assert_int_equal(c->calibration_factor.n, 0);
    assert_int_equal(c->fill_past, 0);
    assert_null(strstr(said, "gaps from "));
    CHECK_OK(ll_fill_choice(m, panel, &o, &margins));
    assert_non_null(strstr(said, "gaps from the past: sampler: "));
    assert_non_null(strstr(said, "gaps from both sides: sampler: "));
    assert_int_equal(c->fill_past, 0);
    llap_model_destroy(m);
    o.network = "{ \"features\": { \"residual\": \"none\" } }";
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_ENUMERIC,
               "networks: draws of the validation part: sampler: ");
}

/* A run described by a file is the run of the same options, and a model remembers such a file. */
static void one_file_describes_a_run(void **state)
{
    (void)state;
    llap_model     *m = NULL;
    llap_train_opts o = { 0 };
    o.config = in_folder("run.json");
    o.steps = 3;
    write_text(o.config, "{ \"target\": \"no2\", \"context\": \"1d\", \"horizon\": \"12\", "
                         "\"size\": \"tiny\", \"view\": \"joint\", \"members\": 2, \"steps\": 99, "
                         "\"batch\": 8, \"no_climate\": true, \"network\": { \"sampling\": { "
                         "\"steps\": 9 } }, " QUICK " }");
    CHECK_OK(llap_train(panel, &o, &m));
    assert_int_equal(m->network->config.sampling.steps, 9);
    assert_non_null(strstr(m->training, "\"steps\":3"));
    const char          *name = "member.1.denoiser.model.head_proj.weight";
    const ll_param_info *x = ll_params_find(m->network->params, name);
    const ll_param_info *y = ll_params_find(joint->network->params, name);
    assert_memory_equal(x->data, y->data, (size_t)x->count * sizeof(float));
    write_text(o.config, m->training);
    llap_model_destroy(m);
    CHECK_OK(llap_train(panel, &o, &m));
    llap_model_destroy(m);
    write_text(o.config, "{ \"contxt\": \"2d\" }");
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EFORMAT, "contxt");
    write_text(o.config,
               "{ \"target\": \"no2\", \"context\": \"2d\", \"horizon\": \"12\", \"size\": "
               "\"tiny\", \"network\": { \"patches\": { \"tokens\": 3 } } }");
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EFORMAT, "cannot be changed");
    assert_null(m);
}

/* All targets of an entity in one trajectory, known and new ones; what the networks' trajectory is
 * can be chosen. */
static void targets_of_an_entity_together(void **state)
{
    (void)state;
    llap_model     *m = NULL;
    llap_answer    *a = NULL;
    llap_train_opts o = how(LLAP_TRAIN_VIEW_ENTITY);
    o.target = "no2,wind";
    o.config = in_folder("entity.json");
    write_text(o.config,
               "{ \"network\": { \"features\": { \"residual\": \"none\" } }, " QUICK " }");
    CHECK_OK(llap_train(panel, &o, &m));
    assert_int_equal(m->network->config.features.view, LL_FEATURE_ENTITY);
    assert_int_equal(m->network->config.features.residual, LL_RESIDUAL_NONE);
    assert_int_equal(m->network->config.features.answer_source, LL_ANSWER_BY_NETWORKS);
    assert_int_equal(m->network->config.denoiser.data_dim, 2);
    CHECK_OK(llap_model_save(m, in_folder("entity")));
    llap_model_destroy(m);
    CHECK_OK(llap_model_load(in_folder("entity"), &m));
    llap_forecast_opts f = { 0 };
    f.samples = 4;
    CHECK_OK(llap_forecast(m, panel, &f, &a));
    assert_int_equal(a->n_rows % (2 * ENTITIES * 12), 0); /* every target of every entity */
    for (size_t i = 0; i < a->n_rows; i++) assert_true(isfinite(a->number[i]));
    llap_answer_destroy(a);
    llap_model_destroy(m);
    write_text(o.config, "{ \"network\": { \"features\": { \"residual\": \"most\" } } }");
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EFORMAT, "residual");
}

/* Two years before validation, of whichever entity begins first. */
static void levels_are_told_after_two_years(void **state)
{
    (void)state;
    const int64_t         late[][ENTITIES] = { { 0, 0 }, { 100, 0 }, { 0, 100 }, { 100, 100 } };
    const int64_t         var = 0;
    const llap_train_opts o = how(LLAP_TRAIN_VIEW_ROWS);
    ll_model_frame        frame = rows->frame;
    frame.val_start = 730 * 24 * HOUR;
    for (size_t i = 0; i < sizeof late / sizeof *late; i++) {
        ll_panel_builder *b;
        llap_panel       *p;
        uint32_t          v, e;
        ll_training_set   f;
        CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
        CHECK_OK(ll_panel_builder_var(b, "no2", 3, &v));
        for (int k = 0; k < ENTITIES; k++) {
            CHECK_OK(ll_panel_builder_entity(b, k == 0 ? "s0" : "s1", 2, &e));
            for (int64_t r = 0; r < 3; r++)
                CHECK_OK(ll_panel_builder_row(b, e, (late[i][k] + r) * HOUR, &(float){ 1 }));
        }
        CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
        ll_panel_builder_destroy(b);
        CHECK_OK(ll_training_set_init(&f, &frame, p, &var, &o, LL_SIZE_TINY, NULL));
        assert_int_equal(f.layout.level, i < 3);
        ll_training_set_deinit(&f);
        llap_panel_destroy(p);
    }
}

static void mistakes_are_said(void **state)
{
    (void)state;
    llap_model     *m = NULL;
    llap_train_opts o = how((llap_train_view)9);
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EOPTION,
               "view: expected a value of its enum, 0..4, found 9");
    o = how(LLAP_TRAIN_VIEW_AUTO);
    o.members = 65;
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EOPTION,
               "members: expected a whole number in 1..64, found 65");
    o = how(LLAP_TRAIN_VIEW_AUTO);
    o.size = LLAP_TRAIN_SIZE_PAPER;
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EOPTION,
               "size: expected anchor, tiny, small or stack");
    o = how(LLAP_TRAIN_VIEW_AUTO);
    o.transform = "no2=cube";
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EOPTION, "transform: expected none, log1p");
    o.transform = NULL;
    o.min = "no2=low";
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EOPTION, "min: expected a number for 'no2'");
    o.min = "3";
    o.max = "2";
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EOPTION, "min: 3 is above the 2 of max");
    assert_null(m);
}

static void failing_writes_lose_nothing(void **state)
{
    (void)state;
    llap_train_opts o = how(LLAP_TRAIN_VIEW_JOINT);
    o.steps = 20;
    check_lossless(panel, o, 17);
}

/* After three steps networks are no better than the anchor; than one that is far too unsure, they
 * are. */
static void validation_decides_who_fills(void **state)
{
    (void)state;
    const llap_train_opts o = how(LLAP_TRAIN_VIEW_JOINT);
    ll_recipe_networks    margins = { LL_RECIPE_MARGINS };
    ll_feature_config    *c = &joint->network->config.features;
    ll_anchor_model      *a = joint->anchor[0];
    const ll_anchor_model was = *a;
    joint->frame.val_start -= 100 * HOUR; /* more windows to decide on */
    let_networks_fill(joint, 3);
    CHECK_OK(ll_fill_choice(joint, panel, &o, &margins));
    assert_int_equal(c->fill_past, 0);
    assert_int_equal(c->fill_both, 0);
    for (int k = 0; k < LL_CALIBRATION_LEVELS; k++) {
        a->fill_past.factor[0][k] = a->fill_both.factor[0][k] = 6;
        a->neighbours[0].calibration.factor[0][k] = a->neighbours[1].calibration.factor[0][k] = 6;
    }
    for (int i = 0; i < 3; i++) { /* from 7/12 of the steps; but not with wider margins */
        margins.fill_gain = i == 1 ? 1 : 0.01;
        margins.fill_errors = i == 2 ? 1e6 : 2;
        CHECK_OK(ll_fill_choice(joint, panel, &o, &margins));
        assert_int_equal(c->fill_past, i == 0 ? 4 : 0);
        assert_int_equal(c->fill_both, i == 0 ? 4 : 0);
    }
    *a = was;
    joint->frame.val_start += 100 * HOUR;
    let_networks_fill(joint, 0);
}

/* Residuals of deviation 1, samples of another: near leads too narrow or wide, far ones right. */
static void the_spread_is_made_to_hold(void **state)
{
    enum { R = 400, H = 4, SAMPLES = 24 };
    (void)state;
    static float         r[R * H], x[R * SAMPLES * H];
    static const double  t[H] = { 1, 2, 30, 31 };
    const ll_rng         rng = ll_rng_make(3, LL_STREAM_TEST, 0, 0, 0);
    ll_feature_example   row[R];
    const ll_feature_set set = {
        .c = { .view = LL_FEATURE_SINGLE, .targets = 1 }, .n = R, .h = H, .example = row, .r = r
    };
    const ll_reals edge = { .n = 1, .v = { 24 } };
    const double   deviation[] = { 0.5, 0.77, 0.9, 1, 1.2 };
    for (int k = 0; k < 5; k++) {
        ll_reals factor = { 0 };
        for (int i = 0; i < R; i++) row[i] = (ll_feature_example){ .n_query = H, .t_query = t };
        for (int i = 0; i < R * H; i++) r[i] = i % 9 == 0 ? NAN : ll_rng_normal(&rng, (uint64_t)i);
        for (int i = 0; i < R * SAMPLES * H; i++)
            x[i] = (i % H < 2 ? (float)deviation[k] : 1.0f) *
                   ll_rng_normal(&rng, (uint64_t)(R * H + i));
        ll_network_members_calibrate(&set, x, H, SAMPLES, &edge, &factor);
        assert_int_equal(factor.n, 2);
        if (fabs(factor.v[0] * deviation[k] - 1) > 0.21 || fabs(factor.v[1] - 1) > 0.101)
            fail_msg("deviation %g: factors %g and %g", deviation[k], factor.v[0], factor.v[1]);
    }
    ll_reals none = { 0 };
    for (int i = 0; i < R; i++) x[i * SAMPLES * H] = NAN; /* one draw of the first lead */
    ll_network_members_calibrate(&set, x, H, SAMPLES, &edge, &none);
    assert_true(none.v[0] == 1 && fabs(none.v[1] - 1) < 0.101);
    for (int i = 0; i < R * H; i++) r[i] = NAN;
    ll_network_members_calibrate(&set, x, H, SAMPLES, &edge, &none);
    assert_true(none.v[0] == 1 && none.v[1] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_training_gives_the_same_file),
        cmocka_unit_test(failing_writes_lose_nothing),
        cmocka_unit_test(validation_decides_who_answers),
        cmocka_unit_test(the_spread_is_made_to_hold),
        cmocka_unit_test(training_goes_on_from_a_model),
        cmocka_unit_test(what_is_not_finite_is_named),
        cmocka_unit_test(draws_that_are_not_finite_leave_it_to_the_anchor),
        cmocka_unit_test(one_file_describes_a_run),
        cmocka_unit_test(targets_of_an_entity_together),
        cmocka_unit_test(levels_are_told_after_two_years),
        cmocka_unit_test(mistakes_are_said),
        cmocka_unit_test(validation_decides_who_fills),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
