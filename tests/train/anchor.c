/* A model of size anchor from training to answers, on a made-up network of sensors. */
#include "damaged.h"

#include "base/file.h"
#include "predict/tables/numbers.h"

#include <unistd.h>

static llap_panel *panel; /* variables "no2" (to forecast) and "noise" */
static llap_model *model;

static int set_up(void **state)
{
    if (make_folder(state) != 0) return 1;
    panel = make_panel("no2", "noise", ENTITIES);
    model = train_anchor(panel);
    return 0;
}

static int tear_down(void **state)
{
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return remove_folder(state);
}

static void a_saved_model_answers_the_same_and_saves_the_same(void **state)
{
    (void)state;
    llap_model *again;
    ll_map      a, b;
    CHECK_OK(llap_model_save(model, in_folder("a")));
    CHECK_OK(llap_model_load(in_folder("a"), &again));
    CHECK_OK(llap_model_save(again, in_folder("b")));
    CHECK_OK(ll_map_open(in_folder("a"), &a));
    CHECK_OK(ll_map_open(in_folder("b"), &b));
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    char *one = forecast_text(model, panel), *two = forecast_text(again, panel);
    assert_string_equal(one, two);
    llap_text_free(one);
    llap_text_free(two);
    ll_map_close(&a);
    ll_map_close(&b);
    llap_model_destroy(again);
}

static void a_damaged_file_is_refused_by_name(void **state)
{
    (void)state;
    static const change changes[] = {
        { .tensor = "scale.0.mean", .rename = "scale.0.meen", .message = "scale.0.mean" },
        { .shrink = "scale.0.std", .message = "scale.0.std: expected F64 [4], found F64 [3]" },
        { .nan = "scale.0.mean", .message = "scale.0.mean: element 0 is not a finite number" },
        { .key = "llapdiff.format", .from = "1", .to = "2", .message = "format '2'" },
        { .key = "llapdiff.run", .from = "", .to = "x", .message = "16 hexadecimal digits" },
        { .key = "llapdiff.config", .from = "\"size\"", .to = "\"sise\"", .message = "sise" },
        { .key = "llapdiff.config", .from = "\"nu\":", .to = "\"nu\":-", .message = "nu" },
        { .key = "llapdiff.config", .from = "\"rho\":[", .to = "\"rho\":[0.5,", .message = "rho" },
        { .key = "llapdiff.config", .from = "calendar", .to = "lunar", .message = "lunar" },
        { .key = "llapdiff.variables",
          .from = "\"no2\"",
          .to = "\"no2\",\"x\"",
          .message = "2 variables" },
        { .drop = "llapdiff.format", .message = "'llapdiff.format' is missing" },
        { .key = "llapdiff.config",
          .from = "\"axis_unit\":1",
          .to = "\"axis_unit\":0",
          .message = "axis_unit" },
        { .key = "llapdiff.config",
          .from = "\"context\":",
          .to = "\"context\":9",
          .message = "as for the whole model" },
        { .key = "llapdiff.config", .from = "\"step\":", .to = "\"step\":-", .message = "step" },
        { .key = "llapdiff.config",
          .from = "\"knots\":[",
          .to = "\"knots\":[9,",
          .message = "2 numbers" },
        { .key = "llapdiff.config",
          .from = "\"knots\":[-",
          .to = "\"knots\":[99",
          .message = "knots" },
        { .key = "llapdiff.config",
          .from = "\"knots\":[-",
          .to = "\"knots\":[-99999",
          .message = "knots" }, /* in order, but no values of any chain */
        { .key = "llapdiff.config", .from = "\"tails\"", .to = "\"tales\"", .message = "tales" },
        { .key = "llapdiff.config", .from = "\"tails\"", .to = "\"log\"", .message = "y_0" },
        { .key = "llapdiff.config",
          .from = "\"glitch_end\":",
          .to = "\"glitch_end\":-",
          .message = "glitch_end" },
        { .key = "llapdiff.config",
          .from = "\"monitor\":",
          .to = "\"monitor\":-",
          .message = "monitor" },
        { .tensor = "scale.0.low", .rename = "scale.0.loo", .message = "scale.0.low" },
        { .nan = "scale.0.glitch", .message = "scale.0.glitch: element 0 is not a finite number" },
        { .key = "llapdiff.entities", .from = "s1", .to = "s0", .message = "out of order" },
    };
    CHECK_OK(llap_model_save(model, in_folder("a")));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) expect_refusal(&changes[i]);
    llap_model *m;
    CHECK_FAIL(llap_model_load(in_folder("none"), &m), LLAP_ENOTFOUND, "none");
}

static void quantiles_are_ordered_and_hold_the_truth(void **state)
{
    (void)state;
    llap_forecast_opts o = { 0 };
    llap_answer       *a;
    int                inside = 0, n = 0;
    o.quantiles = "0.1,0.5,0.9";
    for (int day = 0; day < 8; day++) { /* forecasts within the test part, checked by what came */
        char at[40];
        snprintf(at, sizeof at, "1970-02-%02dT%02d:00:00Z", 11 + day, 3 * day);
        o.at = at;
        CHECK_OK(llap_forecast(model, panel, &o, &a));
        for (size_t i = 0; i < a->n_rows; i++) {
            const double *x = a->number + i * 4;
            const int64_t row = panel->start[a->rows.entity[i]] + a->rows.time[i] / HOUR;
            assert_true(x[1] < x[2] && x[2] < x[3] && x[0] > x[1] && x[0] < x[3]);
            if (!ll_panel_observed(panel, row, 0)) continue;
            const double y = (double)panel->value[row * panel->n_vars];
            inside += y >= x[1] && y <= x[3];
            n++;
        }
        llap_answer_destroy(a);
    }
    assert_true(n > 300);
    assert_true(inside > 0.7 * n && inside < 0.9 * n);
}

static void spans_are_durations_or_steps(void **state)
{
    (void)state;
    llap_forecast_opts o = { 0 };
    llap_answer       *a;
    o.step = "3";
    o.horizon = "12";
    CHECK_OK(llap_forecast(model, panel, &o, &a));
    assert_int_equal(a->n_rows, (size_t)(4 * ENTITIES));
    assert_int_equal(a->rows.time[3], (ROWS - 1 + 12) * HOUR);
    llap_answer_destroy(a);
}

/* Times that are numbers: spans are steps unless the unit is known, another unit is another
 * model's, and by entity what was trained on is not what is scored. */
static void numbers_as_times_by_entity(void **state)
{
    (void)state;
    const ll_axis unknown = {
        .kind = LL_AXIS_NUMBER, .zone = "", .format = "", .unit = "", .unit_ns = INT64_C(1000000000)
    };
    ll_axis hours = unknown;
    hours.unit = "h";
    hours.unit_ns = HOUR;
    llap_panel     *plain = make_panel_on(&unknown, "no2", "noise", 10);
    llap_panel     *known = make_panel_on(&hours, "no2", "noise", 10);
    llap_train_opts t = { 0 };
    t.size = LLAP_TRAIN_SIZE_ANCHOR;
    llap_model *m;
    t.target = "no2";
    t.split = LLAP_TRAIN_SPLIT_ENTITY;
    t.context = "2d";
    t.horizon = "6";
    CHECK_FAIL(llap_train(plain, &t, &m), LLAP_EINVAL, "context: '2d' is a duration");
    CHECK_OK(llap_train(known, &t, &m));
    CHECK_OK(llap_model_save(m, in_folder("number")));
    llap_model_destroy(m);
    CHECK_OK(llap_model_load(in_folder("number"), &m));

    llap_forecast_opts f = { 0 };
    llap_evaluate_opts e = { 0 };
    llap_answer       *a;
    char              *text;
    CHECK_FAIL(llap_forecast(m, plain, &f, &a), LLAP_EINVAL, "time unit of training");
    f.at = "1199";
    CHECK_OK(llap_forecast(m, known, &f, &a));
    assert_int_equal(a->n_rows, 60);
    assert_int_equal(a->rows.time[5], (1199 + 6) * HOUR);
    llap_answer_destroy(a);
    CHECK_OK(llap_model_describe(m, 0, &text));
    assert_non_null(strstr(text, "context 48, horizon 6, step 1\n"));
    llap_text_free(text);

    ll_json *j;
    int64_t  windows = 0;
    e.stride = "24h";
    j = evaluate(m, known, &e);
    CHECK_OK(ll_json_int(j, "windows", 0, INT64_MAX, &windows));
    assert_true(windows >= 2 * 45 && windows <= 2 * 51); /* two of ten entities test */
    assert_true(score(j, "model", "crps") < 0.97 * score(j, "climatology", "crps"));
    ll_json_destroy(j);
    llap_model_destroy(m);
    llap_panel_destroy(plain);
    llap_panel_destroy(known);
}

static void a_new_entity_is_forecast_too(void **state)
{
    (void)state;
    llap_panel *more = make_panel("no2", "other", ENTITIES + 1);
    char       *text = forecast_text(model, more);
    assert_non_null(strstr(text, "\"s3\""));
    llap_text_free(text);
    llap_panel_destroy(more);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    llap_model     *m;
    llap_answer    *a;
    llap_train_opts t = { 0 };
    t.size = LLAP_TRAIN_SIZE_ANCHOR;
    t.context = "5d";
    t.horizon = "24h";
    t.target = "no3";
    CHECK_FAIL(llap_train(panel, &t, &m), LLAP_EINVAL, "'no3' (did you mean 'no2'?)");
    t.target = "no2,no2";
    CHECK_FAIL(llap_train(panel, &t, &m), LLAP_EOPTION, "twice");
    t.target = "no2";
    t.horizon = "80d";
    CHECK_FAIL(llap_train(panel, &t, &m), LLAP_EINVAL, "shorten");
    t.horizon = "-3";
    CHECK_FAIL(llap_train(panel, &t, &m), LLAP_EOPTION, "horizon");
    t.horizon = "soon";
    CHECK_FAIL(llap_train(panel, &t, &m), LLAP_EOPTION, "horizon");
    t.horizon = NULL;
    CHECK_FAIL(llap_train(panel, &t, &m), LLAP_EOPTION, "horizon: not given");
    t.horizon = "24h";
    t.split = (llap_train_split)7;
    CHECK_FAIL(llap_train(panel, &t, &m), LLAP_EOPTION, "split: expected a value of its enum");

    llap_forecast_opts f = { 0 };
    f.quantiles = "0.5,1.5";
    CHECK_FAIL(llap_forecast(model, panel, &f, &a), LLAP_EOPTION, "1.5");
    f.quantiles = "0.5,0.1";
    CHECK_FAIL(llap_forecast(model, panel, &f, &a), LLAP_EOPTION, "order");
    f.quantiles = "half";
    CHECK_FAIL(llap_forecast(model, panel, &f, &a), LLAP_EOPTION, "half");
    f = (llap_forecast_opts){ 0 };
    f.at = "yesterday";
    CHECK_FAIL(llap_forecast(model, panel, &f, &a), LLAP_EOPTION, "at");
    f.at = "2262-04-11T12:00:00Z";
    CHECK_FAIL(llap_forecast(model, panel, &f, &a), LLAP_ELIMIT, "out of the range of times");
    f.at = NULL;
    f.step = "1ns";
    CHECK_FAIL(llap_forecast(model, panel, &f, &a), LLAP_EOPTION, "longer step");
    f.step = NULL;
    f.keep_samples = 1;
    f.samples = INT64_MAX / 72 + 2; /* times 72 queries: a small number again */
    CHECK_FAIL(llap_forecast(model, panel, &f, &a), LLAP_EOPTION,
               "samples: expected a whole number in 1..1000000");
    f.samples = 0;
    llap_panel *other = make_panel("so2", "noise", 1);
    CHECK_FAIL(llap_forecast(model, other, &f, &a), LLAP_EINVAL, "'no2'");
    CHECK_FAIL(llap_forecast(model, other, &f, &a), LLAP_EINVAL, "'so2', 'noise'");
    llap_panel_destroy(other);
}

static llap_panel *few; /* rows of those */

static llap_status load_and_ask(void *user)
{
    llap_model        *m = NULL;
    llap_answer       *a = NULL, *b = NULL;
    char              *text = NULL;
    llap_forecast_opts f = { 0 };
    llap_impute_opts   i = { 0 };
    llap_status        st = llap_model_load(user, &m);
    f.horizon = "3";
    if (st == LLAP_OK) st = llap_forecast(m, few, &f, &a);
    llap_answer_destroy(a);
    a = NULL;
    f.samples = 2;
    f.keep_samples = 1;
    if (st == LLAP_OK) st = llap_forecast(m, few, &f, &a);
    i.causal = 1;
    i.samples = 2;
    i.keep_samples = 1;
    if (st == LLAP_OK) st = llap_impute(m, few, &i, &b);
    if (st == LLAP_OK) st = llap_answer_write(a, in_folder("answer.csv"));
    if (st == LLAP_OK) st = llap_model_describe(m, 1, &text);
    llap_text_free(text);
    llap_answer_destroy(a);
    llap_answer_destroy(b);
    llap_model_destroy(m);
    return st;
}

static void failing_allocations_are_survived(void **state)
{
    (void)state;
    CHECK_OK(llap_model_save(model, in_folder("a")));
    few = make_rows_on(&LL_AXIS_UTC, "no2", "noise", ENTITIES, 100);
    check_every_failed_allocation(load_and_ask, (void *)(uintptr_t)in_folder("a"));
    llap_panel_destroy(few);
}

static void normal_scores_are_exact(void **state)
{
    (void)state;
    for (int i = 1; i < 2000; i++) {
        const double p = i / 2000.0, x = ll_normal_score(p);
        assert_true(fabs(0.5 * erfc(-x / sqrt(2.0)) - p) < 1e-14);
    }
    assert_true(fabs(ll_normal_score(0.975) - 1.959963984540054) < 1e-13);
    assert_true(fabs(ll_normal_score(1e-10) + 6.361340902404056) < 1e-11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_saved_model_answers_the_same_and_saves_the_same),
        cmocka_unit_test(a_damaged_file_is_refused_by_name),
        cmocka_unit_test(quantiles_are_ordered_and_hold_the_truth),
        cmocka_unit_test(spans_are_durations_or_steps),
        cmocka_unit_test(numbers_as_times_by_entity),
        cmocka_unit_test(a_new_entity_is_forecast_too),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(failing_allocations_are_survived),
        cmocka_unit_test(normal_scores_are_exact),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
