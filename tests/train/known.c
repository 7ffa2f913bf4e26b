/* Known inputs from training to answers: what is seen of the future, and what is not. */
#include "folder.h"
#include "sensors.h"

#include "base/file.h"
#include "base/time/civil.h"

enum { KNOWN_ROWS = 1500, AHEAD = 24 };

/* "load" goes by "heat", not by "other"; the last AHEAD rows have no load. shift: added to a column
 * of the rows from `from` on. missing: heat is not known for the rows ahead. */
typedef struct made {
    int   column;
    int   from;
    float shift;
    bool  missing;
    int   hole; /* a row without load; 0: none */
} made;

static llap_panel *make(made m)
{
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          v, e;
    const ll_rng      r = ll_rng_make(8, LL_STREAM_TEST, 0, 0, 0);
    double            heat = 0, rest = 0;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, "load", 4, &v));
    CHECK_OK(ll_panel_builder_var(b, "heat", 4, &v));
    CHECK_OK(ll_panel_builder_var(b, "other", 5, &v));
    CHECK_OK(ll_panel_builder_entity(b, "a", 1, &e));
    for (uint64_t i = 0; i < KNOWN_ROWS; i++) {
        heat = .95 * heat + .5 * (double)ll_rng_normal(&r, 3 * i);
        rest = .9 * rest + .3 * (double)ll_rng_normal(&r, 3 * i + 1);
        const bool ahead = i >= KNOWN_ROWS - AHEAD;
        const bool hole = m.hole > 0 && (int)i == m.hole;
        float      row[] = { ahead || hole ? NAN : (float)(40 + 3 * heat + rest),
                        ahead && m.missing ? NAN : (float)heat, ll_rng_normal(&r, 3 * i + 2) };
        if ((int)i >= m.from) row[m.column] += m.shift;
        CHECK_OK(ll_panel_builder_row(b, e, (int64_t)i * HOUR, row));
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    return p;
}

static llap_panel *panel;
static llap_model *model;

static llap_train_opts options(void)
{
    llap_train_opts o = { 0 };
    o.size = LLAP_TRAIN_SIZE_ANCHOR;
    o.target = "load";
    o.known = "heat";
    o.context = "2d";
    o.horizon = "24";
    o.training = "{\"anchor\": {\"steps\": 60, \"rows\": 24}}";
    return o;
}

static int set_up(void **state)
{
    if (make_folder(state) != 0) return 1;
    panel = make((made){ 0 });
    const llap_train_opts o = options();
    return llap_train(panel, &o, &model) != LLAP_OK;
}

static int tear_down(void **state)
{
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return remove_folder(state);
}

/* The means of a forecast, and its widths. */
static void forecast(const llap_model *m, const llap_panel *p, const char *at, double *mean,
                     double *wide)
{
    llap_forecast_opts o = { 0 };
    llap_answer       *a;
    o.at = at;
    o.quantiles = "0.1,0.9";
    CHECK_OK(llap_forecast(m, p, &o, &a));
    assert_int_equal(a->n_rows, AHEAD);
    for (size_t i = 0; i < AHEAD; i++) {
        if (at == NULL) /* from the last observed target, not from the last row */
            assert_int_equal(ll_answer_row_at(a, i).time,
                             (int64_t)(KNOWN_ROWS - AHEAD + (int)i) * HOUR);
        mean[i] = a->number[3 * i];
        if (wide != NULL) wide[i] = a->number[3 * i + 2] - a->number[3 * i + 1];
    }
    llap_answer_destroy(a);
}

static void the_model_knows_its_inputs(void **state)
{
    (void)state;
    assert_int_equal(model->frame.n_known, 1);
    assert_string_equal(model->frame.known[0], "heat");
    assert_non_null(model->anchor[0]->chain->known);
    char *text;
    CHECK_OK(llap_model_describe(model, 0, &text));
    assert_non_null(strstr(text, "known inputs: heat"));
    llap_text_free(text);
}

static void forecasts_see_known_values_ahead_and_no_others(void **state)
{
    (void)state;
    const int   cut = KNOWN_ROWS - 10 * AHEAD; /* rows from here on lie after the origin */
    const char *at = "1970-02-22T11:00:00Z";   /* the row before */
    double      mean[AHEAD], other[AHEAD], heat[AHEAD], load[AHEAD];
    llap_panel *p = make((made){ .column = 2, .from = cut, .shift = 5 });
    llap_panel *q = make((made){ .column = 1, .from = cut, .shift = 1 });
    llap_panel *l = make((made){ .column = 0, .from = cut, .shift = 50 });
    forecast(model, panel, at, mean, NULL);
    forecast(model, p, at, other, NULL);
    forecast(model, q, at, heat, NULL);
    forecast(model, l, at, load, NULL);
    for (int i = 0; i < AHEAD; i++) {
        assert_true(other[i] == mean[i] && load[i] == mean[i]);
        if (!(fabs(heat[i] - mean[i] - 3) < 1))
            fail_msg("%d hours ahead: one of heat more moves %g by %g", i + 1, mean[i],
                     heat[i] - mean[i]);
    }
    llap_panel_destroy(p);
    llap_panel_destroy(q);
    llap_panel_destroy(l);
}

static void known_rows_ahead_are_forecast(void **state)
{
    (void)state;
    double mean[AHEAD], more[AHEAD], none[AHEAD], wide[AHEAD], wider[AHEAD];
    forecast(model, panel, NULL, mean, wide);
    llap_panel *p = make((made){ .column = 1, .from = KNOWN_ROWS - AHEAD, .shift = 1 });
    forecast(model, p, NULL, more, NULL);
    for (int i = 0; i < AHEAD; i++) assert_true(more[i] > mean[i] + 2);
    llap_panel_destroy(p);
    p = make((made){ .missing = true });
    forecast(model, p, NULL, none, wider);
    assert_true(wider[0] < wider[AHEAD - 1]);
    assert_true(wider[AHEAD - 1] > 1.5 * wide[AHEAD - 1]);
    llap_panel_destroy(p);
}

static void scores_are_better_with_them(void **state)
{
    (void)state;
    llap_train_opts o = options();
    llap_model     *without;
    o.known = NULL;
    CHECK_OK(llap_train(panel, &o, &without));
    const llap_evaluate_opts ask = { .bootstrap = LLAP_ZERO };
    ll_json                 *a = evaluate(model, panel, &ask), *b = evaluate(without, panel, &ask);
    const double             with = score(a, "model", "crps"), none = score(b, "model", "crps");
    if (!(with < 0.6 * none)) fail_msg("CRPS %g with, %g without", with, none);
    ll_json_destroy(a);
    ll_json_destroy(b);
    llap_model_destroy(without);
}

/* Gaps are; rows of known inputs alone, behind the last load, are none. */
static void gaps_are_filled_with_them(void **state)
{
    (void)state;
    const llap_impute_opts o = { 0 };
    llap_panel            *p = make((made){ .hole = 700 });
    llap_answer           *a;
    CHECK_OK(llap_impute(model, p, &o, &a));
    assert_int_equal(a->n_rows, 1);
    assert_int_equal(ll_answer_row_at(a, 0).time, 700 * HOUR);
    llap_answer_destroy(a);
    llap_panel_destroy(p);
}

static void a_saved_model_answers_the_same(void **state)
{
    (void)state;
    llap_model *again;
    double      one[AHEAD], two[AHEAD];
    CHECK_OK(llap_model_save(model, in_folder("k")));
    CHECK_OK(llap_model_load(in_folder("k"), &again));
    forecast(model, panel, NULL, one, NULL);
    forecast(again, panel, NULL, two, NULL);
    assert_memory_equal(one, two, sizeof one);
    llap_model_destroy(again);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    llap_train_opts    o = options();
    llap_forecast_opts ask = { 0 };
    llap_model        *m;
    llap_answer       *a;
    llap_panel        *p = make_panel("load", "noise", 1);
    CHECK_FAIL(llap_forecast(model, p, &ask, &a), LLAP_EINVAL, "'heat'");
    llap_panel_destroy(p);
    o.known = "heta";
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EINVAL, "did you mean 'heat'?");
    o.known = "load";
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EOPTION, "'load' is a target");
    o.known = "heat,heat";
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EOPTION, "'heat' is given twice");
}

/* Listens for a line of the log. */
typedef struct ear {
    const char *for_what;
    bool        heard;
} ear;

static void listen(void *user, llap_log_level level, const char *text)
{
    ear *e = user;
    (void)level;
    e->heard = e->heard || strstr(text, e->for_what) != NULL;
}

static void values_like_none_of_training_are_told(void **state)
{
    (void)state;
    llap_panel        *p = make((made){ .column = 1, .from = KNOWN_ROWS - 5, .shift = 1000 });
    ear                e = { "heat: 5 of 24 values of a known input at the times forecast are like "
                                            "none of training (",
                             false };
    const llap_log     log = { .level = LLAP_LOG_WARNING, .sink = listen, .user = &e };
    llap_forecast_opts o = { .log = &log };
    llap_answer       *a;
    CHECK_OK(llap_forecast(model, panel, &o, &a));
    assert_false(e.heard);
    llap_answer_destroy(a);
    CHECK_OK(llap_forecast(model, p, &o, &a));
    assert_true(e.heard);
    llap_answer_destroy(a);
    llap_panel_destroy(p);
}

/* What does not help is not used, and said. */

static void what_does_not_help_is_not_used(void **state)
{
    (void)state;
    llap_train_opts o = options();
    llap_model     *m;
    ear             e = { "known inputs are not used", false };
    const llap_log  log = { .level = LLAP_LOG_INFO, .sink = listen, .user = &e };
    o.known = "other";
    o.log = &log;
    CHECK_OK(llap_train(panel, &o, &m));
    assert_null(m->anchor[0]->chain->known);
    assert_true(e.heard);
    llap_model_destroy(m);
}

/* Hours of a week's profile that Sundays do not have; holidays are as Sundays are. */
static llap_panel *make_week(void)
{
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          v, e;
    const ll_rng      r = ll_rng_make(9, LL_STREAM_TEST, 0, 0, 0);
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, "load", 4, &v));
    CHECK_OK(ll_panel_builder_entity(b, "a", 1, &e));
    for (int64_t i = 0; i < 24 * 200; i++) {
        const int64_t day = i / 24;
        const bool    free = day % 7 == 3 || day % 20 == 19; /* 1970-01-04 was a Sunday */
        const float   row =
            (float)(free ? 10 : 20 + 5 * (i % 24 >= 8)) + .3f * ll_rng_normal(&r, (uint64_t)i);
        CHECK_OK(ll_panel_builder_row(b, e, i * HOUR, &row));
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    return p;
}

static void holidays_are_sundays(void **state)
{
    (void)state;
    llap_panel        *p = make_week();
    llap_train_opts    o = options();
    llap_forecast_opts ask = { 0 };
    llap_model        *m, *again;
    llap_answer       *a;
    FILE              *f = fopen(in_folder("days.csv"), "w");
    for (int day = 19; day < 220; day += 20) {
        ll_civil c;
        ll_date_from_days(day, &c);
        fprintf(f, "%04d-%02d-%02d\n", (int)c.year, (int)c.month, (int)c.day);
    }
    fclose(f);
    o.target = "load";
    o.known = NULL;
    o.context = "7d";
    o.holidays = in_folder("days.csv");
    CHECK_OK(llap_train(p, &o, &m));
    assert_non_null(m->anchor[0]->chain->holidays);
    CHECK_OK(llap_model_save(m, in_folder("h")));
    CHECK_OK(llap_model_load(in_folder("h"), &again));
    ask.at = "1970-06-28T23:00:00Z"; /* day 179 comes, a Monday: free */
    CHECK_OK(llap_forecast(again, p, &ask, &a));
    for (size_t i = 0; i < a->n_rows; i++) {
        const double mean = a->number[i * (size_t)a->n_numbers];
        if (!(fabs(mean - 10) < 3)) fail_msg("hour %zu of a holiday: %g, expected 10", i, mean);
    }
    llap_answer_destroy(a);
    llap_model_destroy(m);
    llap_model_destroy(again);
    llap_panel_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_knows_its_inputs),
        cmocka_unit_test(forecasts_see_known_values_ahead_and_no_others),
        cmocka_unit_test(known_rows_ahead_are_forecast),
        cmocka_unit_test(scores_are_better_with_them),
        cmocka_unit_test(gaps_are_filled_with_them),
        cmocka_unit_test(a_saved_model_answers_the_same),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(values_like_none_of_training_are_told),
        cmocka_unit_test(what_does_not_help_is_not_used),
        cmocka_unit_test(holidays_are_sundays),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
