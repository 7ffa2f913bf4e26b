/* Evaluations of a model of size anchor on a made-up network of sensors. */
#include "sensors.h"

#include <llapdiff/scores.h>
#include <omp.h>
#include <unistd.h>

static llap_panel *panel; /* variables "no2" (to forecast) and "noise" */
static llap_model *model;

static int set_up(void **state)
{
    (void)state;
    panel = make_panel("no2", "noise", ENTITIES);
    llap_train_opts o = { 0 };
    o.size = LLAP_TRAIN_SIZE_ANCHOR;
    o.target = "no2";
    o.context = "2d";
    o.horizon = "24";
    return llap_train(panel, &o, &model) != LLAP_OK;
}

static int tear_down(void **state)
{
    (void)state;
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return 0;
}

static void the_model_beats_every_opponent(void **state)
{
    (void)state;
    static const char *const opponents[] = { "last_value",   "linear",       "drift",
                                             "log_walk",     "seasonal_24h", "seasonal_7d",
                                             "climatology",  "context",      "context_days",
                                             "residual_bar", "ar1" };
    llap_evaluate_opts       o = { 0 };
    o.stride = "5";
    ll_json *j = evaluate(model, panel, &o);
    for (size_t i = 0; i < sizeof opponents / sizeof *opponents; i++) {
        assert_true(score(j, "model", "crps") < 0.97 * score(j, opponents[i], "crps"));
        assert_true(score(j, opponents[i], "model_against.skill.low") > 0);
    }
    ll_json_destroy(j);
}

static void scores_are_consistent(void **state)
{
    (void)state;
    llap_evaluate_opts o = { 0 };
    o.stride = "5";
    ll_json *j = evaluate(model, panel, &o);
    /* The forecasts are right: intervals hold, places are uniform, spread is what errors are. */
    assert_true(fabs(score(j, "model", "intervals[1].coverage") - 0.8) < 0.06);
    assert_true(score(j, "model", "intervals[2].width") > score(j, "model", "intervals[0].width"));
    assert_true(fabs(score(j, "model", "spread") / sqrt(score(j, "model", "mse")) - 1) < 0.3);
    double *pit, *crps, sum = 0, least = 1, most = 0;
    size_t  n;
    CHECK_OK(ll_json_doubles(j, "targets[0].scores[0].pit", 0, 1, &pit, &n));
    for (size_t i = 0; i < n; i++) {
        sum += pit[i];
        least = fmin(least, pit[i]);
        most = fmax(most, pit[i]);
    }
    assert_true(n == 20 && fabs(sum - 1) < 1e-9 && least > 0.02 && most < 0.09);
    /* Further ahead is harder; the paper's estimator finds the same with more noise. */
    CHECK_OK(ll_json_doubles(j, "targets[0].scores[0].steps.crps", 0, 9, &crps, &n));
    assert_true(n == 24 && crps[0] < crps[5] && crps[1] < crps[20]);
    assert_true(fabs(score(j, "model", "paper.crps") / score(j, "model", "crps") - 1) < 0.03);
    assert_true(score(j, "model", "energy") > score(j, "model", "crps"));
    /* In the units of the data errors are larger by the deviations of training. */
    const double larger = score(j, "model", "units.crps") / score(j, "model", "crps");
    const double deviation =
        sqrt(score(j, "climatology", "units.mse") / score(j, "climatology", "mse"));
    assert_true(fabs(larger / deviation - 1) < 0.1);
    ll_free(pit);
    ll_free(crps);
    ll_json_destroy(j);
}

static void neither_threads_nor_batches_matter(void **state)
{
    (void)state;
    static const llap_evaluate_task tasks[] = { LLAP_EVALUATE_TASK_FORECAST,
                                                LLAP_EVALUATE_TASK_IMPUTE };
    const int                       before = omp_get_max_threads();
    for (int t = 0; t < 2; t++) {
        llap_evaluate_opts o = { 0 };
        char              *text[2];
        o.task = tasks[t];
        o.samples = t == 0 ? 30 : 0;
        o.by = LLAP_EVALUATE_BY_ENTITY;
        for (int i = 0; i < 2; i++) {
            omp_set_num_threads(1 + 2 * i);
            CHECK_OK(llap_evaluate(model, panel, &o, NULL, &text[i]));
        }
        assert_string_equal(text[0], text[1]);
        llap_text_free(text[0]);
        llap_text_free(text[1]);
    }
    omp_set_num_threads(before);
}

static void hidden_values_are_filled_better_from_both_sides(void **state)
{
    (void)state;
    llap_evaluate_opts o = { 0 };
    o.task = LLAP_EVALUATE_TASK_IMPUTE;
    ll_json *j = evaluate(model, panel, &o);
    int64_t  n = 0, observed = 0;
    for (int64_t r = 0; r < panel->n_rows; r++)
        observed += ll_panel_observed(panel, r, 0) && panel->time[r] >= model->frame.test_start;
    CHECK_OK(ll_json_int(j, "targets[0].values", 0, INT64_MAX, &n));
    assert_true(fabs((double)n / (double)observed - 0.3) < 0.06);
    assert_true(score(j, "model", "crps") < score(j, "model_causal", "crps"));
    assert_true(score(j, "model_causal", "crps") < score(j, "last_value", "crps"));
    assert_true(score(j, "model", "crps") < score(j, "linear", "crps"));
    assert_true(fabs(score(j, "model", "intervals[1].coverage") - 0.8) < 0.1);
    assert_true(fabs(score(j, "linear", "intervals[1].coverage") - 0.8) < 0.1);
    n = -1;
    CHECK_OK(ll_json_int(j, "samples", 0, INT64_MAX, &n));
    assert_int_equal(n, -1); /* is not there */
    ll_json_destroy(j);
}

static void tables_say_what_was_asked(void **state)
{
    (void)state;
    static const struct {
        llap_evaluate_by by;
        const char      *text;
    } cases[] = { { 0, "the model is worth its cost: better than the best opponent, " },
                  { 0, "] of CRPS, squared error -" },
                  { 0, " over entities at a time (" },
                  { 0, "50, 80, 95 % rest on 40 samples; they are steady from 200 on\n" },
                  { LLAP_EVALUATE_BY_STEP, "steps ahead" },
                  { LLAP_EVALUATE_BY_VARIABLE, "variable " },
                  { LLAP_EVALUATE_BY_ENTITY, "s2 " } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        llap_evaluate_opts o = { 0 };
        char              *text;
        o.by = cases[i].by;
        o.stride = "5";
        o.samples = 40;
        o.units = i == 4;
        o.paper = i == 5;
        CHECK_OK(llap_evaluate(model, panel, &o, &text, NULL));
        if (strstr(text, cases[i].text) == NULL) fail_msg("no '%s' in\n%s", cases[i].text, text);
        llap_text_free(text);
    }
}

/* The columns of a row: words from the second on. */
static int n_words(const char *line)
{
    int n = 0;
    for (const char *p = line + strspn(line, " "); *p != '\n' && *p != '\0'; n++)
        p += strcspn(p, " \n"), p += strspn(p, " ");
    return n;
}

/* What the table shows is what it compares: of entities of very different sizes, in data units. */
static void units_are_compared_as_shown(void **state)
{
    (void)state;
    ll_panel_builder *b;
    llap_panel       *p;
    llap_scores      *s;
    uint32_t          v, e;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, "x", 1, &v));
    for (int k = 0; k < 2; k++) { /* the large one is noise, the small one a cycle */
        CHECK_OK(ll_panel_builder_entity(b, k == 0 ? "large" : "small", 5, &e));
        const ll_rng r = ll_rng_make(5, LL_STREAM_TEST, (uint64_t)k, 0, 0);
        for (int i = 0; i < 600; i++) {
            const float noise = ll_rng_normal(&r, (uint64_t)i);
            const float x = k == 0 ? 1e8f * noise : cosf(0.2617994f * (float)i) + 0.1f * noise;
            CHECK_OK(ll_panel_builder_row(b, e, i * HOUR, &x));
        }
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    llap_model     *m;
    llap_train_opts how = { .size = LLAP_TRAIN_SIZE_ANCHOR, .context = "2d", .horizon = "12" };
    CHECK_OK(llap_train(p, &how, &m));
    CHECK_OK(llap_scores_create(m, p, &(llap_evaluate_opts){ .units = 1, .season = "12" }, &s));
    const llap_scores_info *about = llap_scores_about(s);
    const int64_t           best = llap_scores_best_opponent_in_units(s, 0);
    for (int64_t i = 1; i < about->n_forecasters; i++) {
        const double skill =
            1 - llap_scores_in_units(s, 0, 0)->crps / llap_scores_in_units(s, i, 0)->crps;
        assert_true(fabs(llap_scores_against_in_units(s, i, 0)->skill.value - skill) < 1e-9);
        assert_true(llap_scores_in_units(s, best, 0)->crps <= llap_scores_in_units(s, i, 0)->crps ||
                    i < about->n_own);
    }
    assert_null(llap_scores_against_in_units(s, 1, LLAP_ALL));
    assert_int_not_equal(best, llap_scores_best_opponent(s, 0));
    char *text;
    CHECK_OK(llap_scores_text(s, &text));
    /* Fewer than ten days: one number, not an interval that looks sure. */
    const char *row = strstr(text, "  seasonal_12 ");
    assert_non_null(row);
    if (n_words(row) != 8) fail_msg("%s", text);
    assert_non_null(strstr(text, ", too little data to be sure\n"));
    assert_null(strchr(text, '['));
    llap_text_free(text);
    llap_scores_destroy(s);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    char              *text;
    llap_evaluate_opts o = { 0 };
    o.part = (llap_evaluate_part)4;
    CHECK_FAIL(llap_evaluate(model, panel, &o, &text, NULL), LLAP_EOPTION,
               "part: expected a value of its enum, 0..3, found 4");
    o.part = LLAP_EVALUATE_PART_DEFAULT;
    o.by = (llap_evaluate_by)-1;
    CHECK_FAIL(llap_evaluate(model, panel, &o, &text, NULL), LLAP_EOPTION, "by: expected");
    o.by = LLAP_EVALUATE_BY_ALL;
    o.task = (llap_evaluate_task)3;
    CHECK_FAIL(llap_evaluate(model, panel, &o, &text, NULL), LLAP_EOPTION, "task: expected");
    o.task = LLAP_EVALUATE_TASK_FORECAST;
    o.samples = 1;
    CHECK_FAIL(llap_evaluate(model, panel, &o, &text, NULL), LLAP_EOPTION,
               "samples: expected a whole number in 2");
    o.samples = 0;
    o.stride = "x";
    CHECK_FAIL(llap_evaluate(model, panel, &o, &text, NULL), LLAP_EOPTION, "stride");
    o.task = LLAP_EVALUATE_TASK_IMPUTE; /* has neither, and says nothing of them */
    o.stride = "5";
    CHECK_FAIL(llap_evaluate(model, panel, &o, &text, NULL), LLAP_EOPTION,
               "stride: is for forecasts");
    o.samples = 30;
    CHECK_FAIL(llap_evaluate(model, panel, &o, &text, NULL), LLAP_EOPTION,
               "samples: is for forecasts");
    o = (llap_evaluate_opts){ .season = "24h,4000d" };
    CHECK_FAIL(llap_evaluate(model, panel, &o, &text, NULL), LLAP_EOPTION,
               "season: '4000d' is longer than the data");
    o = (llap_evaluate_opts){ .task = LLAP_EVALUATE_TASK_IMPUTE, .season = "7d" };
    CHECK_FAIL(llap_evaluate(model, panel, &o, &text, NULL), LLAP_EOPTION,
               "season: is for forecasts");
}

static int count_reports(void *user, const llap_progress_event *e)
{
    (void)e;
    ++*(int *)user;
    return 0;
}

/* The file of windows adds up to the table. */
static void every_window_is_written(void **state)
{
    (void)state;
    llap_evaluate_opts o = { 0 };
    char               line[1024], path[] = "windowsXXXXXX";
    double             values = 0, model_crps = 0, last_mse = 0;
    int                n = 0;
    close(mkstemp(path));
    o.stride = "17";
    o.samples = 20;
    o.windows = path;
    ll_json *j = evaluate(model, panel, &o);
    FILE    *f = fopen(path, "r");
    assert_non_null(fgets(line, sizeof line, f));
    assert_int_equal(strncmp(line,
                             "entity,origin,variable,values,model_crps,model_mse,last_value_crps,"
                             "last_value_mse,",
                             79),
                     0);
    for (; fgets(line, sizeof line, f) != NULL; n++) {
        double v, crps, mse, last;
        assert_int_equal(
            sscanf(line, "%*[^,],%*[^,],no2,%lf,%lf,%lf,%*f,%lf", &v, &crps, &mse, &last), 4);
        values += v;
        model_crps += v * crps;
        last_mse += v * last;
    }
    fclose(f);
    double scored = 0;
    CHECK_OK(ll_json_double(j, "targets[0].values", 0, HUGE_VAL, &scored));
    assert_true(n > 20 && values == scored);
    assert_true(fabs(model_crps / values - score(j, "model", "crps")) < 1e-7);
    assert_true(fabs(last_mse / values - score(j, "last_value", "mse")) < 1e-7);
    ll_json_destroy(j);
    unlink(path);
    char *text;
    int   reports = 0; /* what cannot be written is said before the work */
    o.windows = "no/such/folder.csv";
    o.progress = (llap_progress){ count_reports, &reports };
    CHECK_FAIL(llap_evaluate(model, panel, &o, &text, NULL), LLAP_ENOTFOUND, "no/such/folder.csv");
    assert_int_equal(reports, 0);
    o.windows = NULL;
    CHECK_OK(llap_evaluate(model, panel, &o, &text, NULL));
    assert_true(reports > 0);
    llap_text_free(text);
}

static llap_status evaluate_briefly(void *user)
{
    llap_evaluate_opts o = { 0 };
    char              *text = NULL;
    o.task = *(const llap_evaluate_task *)user;
    o.stride = "400"; /* few windows */
    o.samples = 3;
    o.bootstrap = 3;
    const llap_status st = llap_evaluate(model, panel, &o, NULL, &text);
    llap_text_free(text);
    return st;
}

static void failing_allocations_are_survived(void **state)
{
    (void)state;
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    llap_evaluate_task task = LLAP_EVALUATE_TASK_FORECAST;
    check_every_failed_allocation(evaluate_briefly, &task);
    omp_set_num_threads(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_beats_every_opponent),
        cmocka_unit_test(scores_are_consistent),
        cmocka_unit_test(neither_threads_nor_batches_matter),
        cmocka_unit_test(hidden_values_are_filled_better_from_both_sides),
        cmocka_unit_test(tables_say_what_was_asked),
        cmocka_unit_test(units_are_compared_as_shown),
        cmocka_unit_test(every_window_is_written),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(failing_allocations_are_survived),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
