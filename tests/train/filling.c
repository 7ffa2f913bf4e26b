/* Gaps filled by all sensors, from training to answers: two variables that mirror each other at
 * three stations. */
#include "folder.h"
#include "saved.h"
#include "score/gaps/listed.h"
#include "sensors.h"

#include <omp.h>
#include <string.h>

static llap_panel *panel; /* "a", to fill, and "b" */
static llap_model *model;

/* With "a" silent for so many rows at the end. */
static llap_panel *make_mirrors(uint64_t silent)
{
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          v, e;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, "a", 1, &v));
    CHECK_OK(ll_panel_builder_var(b, "b", 1, &v));
    for (int k = 0; k < ENTITIES; k++) {
        const char   name[] = { 's', (char)('0' + k), 0 };
        const ll_rng r = ll_rng_make(6, LL_STREAM_TEST, (uint64_t)k, 0, 0);
        double       x = 0;
        CHECK_OK(ll_panel_builder_entity(b, name, 2, &e));
        for (uint64_t i = 0; i < 2 * ROWS; i++) {
            x = 0.8 * x + (double)ll_rng_normal(&r, 4 * i);
            const double bent = x < 0 ? -4 * x : -0.3 * x; /* no line: trees help */
            const float  row[2] = { i % 50 == 7 || i + silent >= 2 * ROWS
                                        ? NAN
                                        : (float)(9 + x +
                                                 0.1 * (double)ll_rng_normal(&r, 4 * i + 1)),
                                   (float)(3 + bent + 0.1 * (double)ll_rng_normal(&r, 4 * i + 2)) };
            CHECK_OK(ll_panel_builder_row(b, e, (int64_t)i * HOUR, row));
        }
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    return p;
}

static llap_train_opts options(void)
{
    return (llap_train_opts){ .size = LLAP_TRAIN_SIZE_ANCHOR,
                              .target = "a",
                              .context = "2d",
                              .horizon = "24",
                              .training = "{\"anchor\": {\"steps\": 40, \"rows\": 16}}" };
}

static int set_up(void **state)
{
    const llap_train_opts o = options();
    if (make_folder(state) != 0) return 1;
    panel = make_mirrors(0);
    return llap_train(panel, &o, &model) != LLAP_OK || model->filling == NULL ||
           !model->filling->rest;
}

static int tear_down(void **state)
{
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return remove_folder(state);
}

static char *impute_text(const llap_model *m, int keep_samples, int causal)
{
    const llap_impute_opts o = { .samples = 5, .keep_samples = keep_samples, .causal = causal };
    llap_answer           *a;
    CHECK_OK(llap_impute(m, panel, &o, &a));
    return answer_text(a);
}

/* Where "a" alone is lost. */
static double crps(const llap_model *m)
{
    const llap_evaluate_opts o = { .task = LLAP_EVALUATE_TASK_IMPUTE,
                                   .gaps = LLAP_EVALUATE_GAPS_DEAD,
                                   .bootstrap = LLAP_ZERO };
    ll_json                 *j = evaluate(m, panel, &o);
    const double             found = score(j, "model", "crps");
    ll_json_destroy(j);
    return found;
}

static void others_sharpen_fills(void **state)
{
    (void)state;
    ll_filling  *f = model->filling;
    const double with = crps(model);
    model->filling = NULL; /* as in files of before */
    const double alone = crps(model);
    char *const  causal = impute_text(model, 0, 1), *own = impute_text(model, 0, 0);
    model->filling = f;
    if (!(with > 0 && with < 0.5 * alone)) fail_msg("%g, alone %g", with, alone);
    same_text(causal, impute_text(model, 0, 1)); /* from the past the anchor fills */
    char *const all = impute_text(model, 0, 0);
    assert_string_not_equal(own, all);
    llap_text_free(own);
    llap_text_free(all);
}

/* Lines of a kept file with that variable, and without an answer. */
static int count_lines(const char *text, const char *variable, bool empty)
{
    int n = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL && *++at != 0;) {
        const char *end = strchr(at, '\n'), *hit = strstr(at, variable);
        if (hit == NULL || hit > end) continue;
        n += (end[-1] == ',') == empty;
    }
    return n;
}

static void every_pattern_is_scored_and_listed(void **state)
{
    (void)state;
    static const char *const name[] = { "", "random", "outages", "rows", "dead" };
    for (int i = LLAP_EVALUATE_GAPS_RANDOM; i <= LLAP_EVALUATE_GAPS_DEAD; i++) {
        const llap_evaluate_opts o = { .task = LLAP_EVALUATE_TASK_IMPUTE,
                                       .gaps = (llap_evaluate_gaps)i,
                                       .keep = in_folder("kept.csv"),
                                       .bootstrap = LLAP_ZERO };
        const char              *said = "";
        char                    *text;
        size_t                   n;
        int64_t                  values = 0;
        ll_json                 *j = evaluate(model, panel, &o);
        CHECK_OK(ll_json_string(j, "gaps", &said));
        assert_string_equal(said, name[i]);
        CHECK_OK(ll_file_read(o.keep, 1 << 24, &text, &n));
        const int a = count_lines(text, ",a,", false), b = count_lines(text, ",b,", true);
        CHECK_OK(ll_json_int(j, "targets[0].values", 0, INT32_MAX, &values));
        assert_int_equal(a, values);
        assert_true(a > 0 && count_lines(text, ",a,", true) == 0);
        assert_true(i == LLAP_EVALUATE_GAPS_DEAD ? b == 0 : b > 0);
        if (i == LLAP_EVALUATE_GAPS_ROWS) assert_true(abs(a - b) <= b / 10);
        assert_true(score(j, "model", "crps") < score(j, "linear", "crps"));
        ll_free(text);
        ll_json_destroy(j);
    }
    const llap_evaluate_opts wrong = { .gaps = LLAP_EVALUATE_GAPS_ROWS };
    char                    *none = NULL;
    CHECK_FAIL(llap_evaluate(model, panel, &wrong, &none, NULL), LLAP_EOPTION, "gaps");
}

static llap_status hide_listed(void *user)
{
    int64_t  n_absent;
    uint8_t *hidden = ll_new((size_t)panel->n_rows, (size_t)panel->n_vars);
    if (hidden == NULL) return LLAP_ENOMEM;
    const llap_status st = ll_hide_listed(user, model, panel, hidden, &n_absent);
    ll_free(hidden);
    return st;
}

/* What was kept says what to hide, and answers it as somebody's fills. */
static void listed_values_are_hidden_and_theirs_are_scored(void **state)
{
    (void)state;
    llap_evaluate_opts o = { .task = LLAP_EVALUATE_TASK_IMPUTE,
                             .gaps = LLAP_EVALUATE_GAPS_OUTAGES,
                             .keep = in_folder("listed.csv"),
                             .bootstrap = LLAP_ZERO };
    const char        *said = "";
    int64_t            values[2];
    ll_json           *first = evaluate(model, panel, &o), *again;
    o = (llap_evaluate_opts){ .task = LLAP_EVALUATE_TASK_IMPUTE,
                              .hidden = o.keep,
                              .against = o.keep,
                              .bootstrap = LLAP_ZERO };
    again = evaluate(model, panel, &o);
    CHECK_OK(ll_json_string(again, "gaps", &said));
    assert_string_equal(said, "listed");
    CHECK_OK(ll_json_int(first, "targets[0].values", 0, INT32_MAX, &values[0]));
    CHECK_OK(ll_json_int(again, "targets[0].values", 0, INT32_MAX, &values[1]));
    assert_int_equal(values[0], values[1]);
    /* Outages before the scored part are not listed, and who fills learns nothing from them. */
    const double model_crps = score(first, "model", "crps"),
                 theirs = score(again, "listed", "crps");
    assert_float_equal(score(again, "model", "crps"), model_crps, 0.02 * model_crps);
    assert_float_equal(theirs, model_crps, 0.02 * model_crps);
    check_every_failed_allocation(hide_listed, (void *)(uintptr_t)o.hidden);
    ll_json_destroy(first);
    ll_json_destroy(again);
}

static void lists_of_nothing_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
        llap_status st;
    } cases[] = {
        { "entity,time\ns0,1970-01-01T00:00:00Z\n", "no column 'variable'", LLAP_EFORMAT },
        { "entity,time,variable\ns0,1970-01-01T00:00:00Z,c\n",
          "csv:2: column 'variable': the data has", LLAP_EINVAL },
        { "entity,time,variable\ns9,1970-01-01T00:00:00Z,a\n", "column 'entity'", LLAP_EINVAL },
        { "entity,time,variable\ns0,now,a\n", "column 'time'", LLAP_EFORMAT },
        { "entity,time,variable\ns0\n", "fields, fewer than", LLAP_EFORMAT },
        { "entity,time,variable\ns0,1969-01-01T00:00:00Z,a\n", "lists no reading", LLAP_EINVAL },
    };
    llap_evaluate_opts o = { .task = LLAP_EVALUATE_TASK_IMPUTE, .hidden = in_folder("wrong.csv") };
    char              *none = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *f = fopen(o.hidden, "w");
        fputs(cases[i].text, f);
        fclose(f);
        CHECK_FAIL(llap_evaluate(model, panel, &o, &none, NULL), cases[i].st, cases[i].says);
    }
    o.gaps = LLAP_EVALUATE_GAPS_ROWS;
    CHECK_FAIL(llap_evaluate(model, panel, &o, &none, NULL), LLAP_EOPTION, "gaps: the file");
    o.gaps = LLAP_EVALUATE_GAPS_DEFAULT;
    o.task = LLAP_EVALUATE_TASK_FORECAST;
    CHECK_FAIL(llap_evaluate(model, panel, &o, &none, NULL), LLAP_EOPTION, "hidden: is for");
}

static void a_file_answers_as_the_model(void **state)
{
    (void)state;
    const char *path = in_folder("filling.safetensors");
    llap_model *m;
    CHECK_OK(llap_model_save(model, path));
    CHECK_OK(llap_model_load(path, &m));
    assert_non_null(m->filling);
    same_text(impute_text(model, 0, 0), impute_text(m, 0, 0));
    same_text(impute_text(model, 1, 0), impute_text(m, 1, 0));
    llap_model_destroy(m);
}

/* Means of the first hour, one for each station. */
static void first_hours(const llap_panel *p, double *out)
{
    const llap_forecast_opts o = { .horizon = "1h", .quantiles = "0.5" };
    llap_answer             *a;
    CHECK_OK(llap_forecast(model, p, &o, &a));
    const llap_answer_columns *t = llap_answer_view(a);
    assert_int_equal(t->n_rows, ENTITIES);
    for (int e = 0; e < ENTITIES; e++) out[e] = t->number[e * t->n_numbers];
    llap_answer_destroy(a);
}

static void silent_sensors_are_forecast_from_the_others(void **state)
{
    (void)state;
    llap_panel *const silent = make_mirrors(60); /* the context is 48 */
    ll_filling *const f = model->filling;
    double            full[ENTITIES], with[ENTITIES], without[ENTITIES], off[2] = { 0 };
    first_hours(panel, full);
    first_hours(silent, with);
    model->filling = NULL;
    first_hours(silent, without);
    model->filling = f;
    for (int e = 0; e < ENTITIES; e++)
        off[0] += fabs(with[e] - full[e]), off[1] += fabs(without[e] - full[e]);
    if (!(off[0] < 0.5 * off[1])) fail_msg("%g, without the others %g", off[0], off[1]);
    llap_panel_destroy(silent);
}

static void info_says_who_fills(void **state)
{
    (void)state;
    char *text, *json;
    CHECK_OK(llap_model_describe(model, 0, &text));
    CHECK_OK(llap_model_describe(model, 1, &json));
    assert_non_null(strstr(text, "gaps: all sensors fill 1 of 1 targets, from 2 variables and 2 "
                                 "other entities, with trees; chosen"));
    assert_non_null(strstr(json, "\"filling\": {"));
    llap_text_free(text);
    llap_text_free(json);
}

/* Cancelled at any report of the stage, nothing is left. */
static int stop_at_filling(void *user, const llap_progress_event *e)
{
    int *left = user;
    return strcmp(e->stage, "filling") == 0 && (*left)-- == 0;
}

static void filling_can_be_cancelled(void **state)
{
    (void)state;
    for (int at = 0; at < 60; at += 20) {
        int             left = at;
        llap_train_opts o = options();
        llap_model     *m = NULL;
        o.progress = (llap_progress){ stop_at_filling, &left };
        assert_int_equal(llap_train(panel, &o, &m), LLAP_ECANCELLED);
        assert_null(m);
    }
}

typedef struct stop {
    const char *note; /* the first report of "filling" that says so stops; NULL: the first other
                           one after it */
    int n;            /* reports of "filling" */
} stop;

static int stop_where_told(void *user, const llap_progress_event *e)
{
    stop *s = user;
    if (strcmp(e->stage, "filling") != 0) return s->note == NULL && s->n > 0;
    s->n++;
    return s->note != NULL && e->note != NULL && strcmp(e->note, s->note) == 0;
}

/* Stopped in the last part of the filling, two of three fits are not made again; stopped after it,
 * nothing of it is. The model is that of an undisturbed training. */
static void a_stopped_training_goes_on_with_what_was_fitted(void **state)
{
    (void)state;
    static const struct {
        const char *note;
        double      most; /* share of the reports of a whole filling */
    } legs[] = { { "contest", 1 }, { "contest", .6 }, { NULL, .6 }, { "", 0 } };
    llap_train_opts o = options();
    llap_model     *m = NULL;
    int             whole = 0;
    o.size = LLAP_TRAIN_SIZE_STACK;
    o.training = "{\"anchor\": {\"steps\": 40, \"rows\": 16}, "
                 "\"stack\": {\"rows\": 400, \"seeds\": 1, \"steps\": 4, \"batch\": 32}}";
    o.state = in_folder("filling.state");
    o.resume = 1;
    for (size_t i = 0; i < sizeof legs / sizeof *legs; i++) {
        stop s = { .note = legs[i].note };
        o.progress = (llap_progress){ stop_where_told, &s };
        const llap_status st = llap_train(panel, &o, &m);
        if (i + 1 < sizeof legs / sizeof *legs) assert_int_equal(st, LLAP_ECANCELLED);
        else CHECK_OK(st);
        if (i == 0) whole = s.n;
        if (s.n > legs[i].most * whole) fail_msg("leg %zu: %d reports of %d", i, s.n, whole);
    }
    assert_non_null(m->filling);
    same_text(impute_text(model, 0, 0), impute_text(m, 0, 0));
    llap_model_destroy(m);
}

static void training_does_not_depend_on_threads(void **state)
{
    const llap_train_opts o = options();
    const int             n = omp_get_max_threads();
    llap_model           *m;
    (void)state;
    omp_set_num_threads(n == 1 ? 3 : 1);
    CHECK_OK(llap_train(panel, &o, &m));
    omp_set_num_threads(n);
    same_text(impute_text(model, 0, 0), impute_text(m, 0, 0));
    llap_model_destroy(m);
}

static void hostile_files_are_refused(void **state)
{
    (void)state;
    const char *path = in_folder("hostile.safetensors");
    check_refused(model, path, "\\\"neighbours\\\":2", "\\\"neighbours\\\":3");
    check_refused(model, path, "\\\"filling\\\":{\\\"step", "\\\"filling\\\":{\\\"stop");
    check_refused(model, path, "\\\"variables\\\":[\\\"a\\\",\\\"b\\\"",
                  "\\\"variables\\\":[\\\"a\\\",\\\"a\\\"");
    check_refused(model, path, "\\\"answers\\\":[\\\"a\\\"", "\\\"answers\\\":[\\\"b\\\"");
    check_refused(model, path, "fill.kernel", "fill.kernal");
    check_refused(model, path, "\\\"trees\\\":true", "\\\"trees\\\":null");
    ll_fill_kernel *const k = model->filling->kernel;
    const double          nu = k->nu;
    llap_model           *m;
    k->nu = -1;
    CHECK_OK(llap_model_save(model, path));
    k->nu = nu;
    assert_int_equal(llap_model_load(path, &m), LLAP_EFORMAT);
    assert_non_null(strstr(llap_error_detail(), "fill.kernel: row 0"));
}

/* Networks on the same anchors: their tensors and the filling's are in one file. */
static void networks_and_filling_share_a_file(void **state)
{
    (void)state;
    llap_train_opts o = options();
    llap_model     *m, *again;
    o.size = LLAP_TRAIN_SIZE_TINY;
    o.steps = o.members = 1;
    o.batch = 4;
    o.training = "{\"anchor\": {\"steps\": 40, \"rows\": 16}, "
                 "\"networks\": {\"check_rows\": 4, \"final_rows\": 4, \"rows\": 64}}";
    CHECK_OK(llap_train(panel, &o, &m));
    assert_true(m->filling != NULL && m->network != NULL);
    CHECK_OK(llap_model_save(m, in_folder("networks.safetensors")));
    CHECK_OK(llap_model_load(in_folder("networks.safetensors"), &again));
    assert_true(again->filling != NULL && again->network != NULL);
    llap_model_destroy(again);
    llap_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_files_are_refused),
        cmocka_unit_test(a_file_answers_as_the_model),
        cmocka_unit_test(networks_and_filling_share_a_file),
        cmocka_unit_test(others_sharpen_fills),
        cmocka_unit_test(every_pattern_is_scored_and_listed),
        cmocka_unit_test(listed_values_are_hidden_and_theirs_are_scored),
        cmocka_unit_test(lists_of_nothing_are_refused),
        cmocka_unit_test(info_says_who_fills),
        cmocka_unit_test(silent_sensors_are_forecast_from_the_others),
        cmocka_unit_test(filling_can_be_cancelled),
        cmocka_unit_test(a_stopped_training_goes_on_with_what_was_fitted),
        cmocka_unit_test(training_does_not_depend_on_threads)
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
