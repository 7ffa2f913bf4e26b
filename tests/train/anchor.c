/* A model of size anchor from training to answers, on a made-up network of sensors. */
#include "folder.h"
#include "sensors.h"

#include "base/file.h"
#include "base/safetensors.h"
#include "predict/tables/numbers.h"

#include <omp.h>
#include <unistd.h>

static llap_panel *panel; /* variables "no2" (to forecast) and "noise" */
static llap_model *model;

static int set_up(void **state)
{
    if (make_folder(state) != 0) return 1;
    panel = make_panel("no2", "noise", ENTITIES);
    llap_train_opts o = { 0 };
    o.size = LLAP_TRAIN_SIZE_ANCHOR;
    o.target = "no2";
    o.context = "2d";
    o.horizon = "24";
    o.training = "{\"anchor\": {\"steps\": 60, \"rows\": 24}}";
    return llap_train(panel, &o, &model) != LLAP_OK;
}

static int tear_down(void **state)
{
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return remove_folder(state);
}

/* One weather for all; each sensor is silent half of its half days. */
static llap_panel *make_linked_panel(void)
{
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          v, e;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, "no2", 3, &v));
    for (uint64_t k = 0; k < ENTITIES; k++) {
        const char name[2] = { 's', (char)('0' + k) };
        CHECK_OK(ll_panel_builder_entity(b, name, 2, &e));
        const ll_rng shared = ll_rng_make(6, LL_STREAM_TEST, 0, 0, 0);
        const ll_rng own = ll_rng_make(6, LL_STREAM_TEST, 1 + k, 0, 0);
        double       drift = 0;
        for (uint64_t i = 0; i < ROWS; i++) {
            drift = 0.98 * drift + 0.2 * (double)ll_rng_normal(&shared, i);
            const double x = 50 + 8 * drift + (double)ll_rng_normal(&own, i);
            const bool   silent = ll_rng_uniform(&own, ROWS + i / 12) < 0.5f;
            const float  row = silent ? NAN : (float)x;
            CHECK_OK(ll_panel_builder_row(b, e, (int64_t)i * HOUR, &row));
        }
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    return p;
}

static char *forecast_text(const llap_model *m, const llap_panel *p)
{
    llap_forecast_opts o = { 0 };
    llap_answer       *a;
    char              *text;
    CHECK_OK(llap_forecast(m, p, &o, &a));
    assert_int_equal(a->n_rows, (size_t)(24 * p->n_entities));
    CHECK_OK(llap_answer_json(a, &text));
    llap_answer_destroy(a);
    return text;
}

static char *impute_text(const llap_model *m, const llap_panel *p)
{
    const llap_impute_opts o = { 0 };
    llap_answer           *a;
    char                  *text;
    CHECK_OK(llap_impute(m, p, &o, &a));
    CHECK_OK(llap_answer_json(a, &text));
    llap_answer_destroy(a);
    return text;
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

/* Copies the model's file with one thing changed. */
typedef struct change {
    const char *tensor, *rename; /* a tensor gets another name */
    const char *shrink;          /* or loses its last element */
    const char *nan;             /* or its first element becomes NaN */
    const char *drop;            /* or this metadata is left out */
    const char *key, *from, *to; /* or in this metadata from becomes to */
    const char *message;         /* what loading must say */
} change;

static void expect_refusal(const change *c)
{
    ll_tensors        *t;
    ll_tensors_writer *w;
    double             copy[64];
    char              *text = NULL;
    CHECK_OK(ll_tensors_open(in_folder("a"), &t));
    CHECK_OK(ll_tensors_writer_create(&w));
    for (size_t i = 0; i < ll_tensors_count(t); i++) {
        ll_tensor_info x = ll_tensors_at(t, i);
        if (c->tensor != NULL && strcmp(c->tensor, x.name) == 0) x.name = c->rename;
        if (c->shrink != NULL && strcmp(c->shrink, x.name) == 0) x.shape[0]--;
        if (c->nan != NULL && strcmp(c->nan, x.name) == 0) {
            memcpy(copy, x.data, x.n_bytes);
            copy[0] = NAN;
            x.data = copy;
        }
        CHECK_OK(ll_tensors_writer_add(w, x.name, x.dtype, x.rank, x.shape, x.data));
    }
    for (size_t i = 0; i < ll_tensors_metadata_count(t); i++) {
        const ll_metadata m = ll_tensors_metadata_at(t, i);
        const char       *value = m.value;
        if (c->drop != NULL && strcmp(c->drop, m.key) == 0) continue;
        if (c->key != NULL && strcmp(c->key, m.key) == 0) {
            const char *at = strstr(value, c->from);
            assert_non_null(at);
            const size_t n = strlen(value) + strlen(c->to) + 1;
            text = ll_new(n, 1);
            snprintf(text, n, "%.*s%s%s", (int)(at - value), value, c->to, at + strlen(c->from));
            value = text;
        }
        CHECK_OK(ll_tensors_writer_metadata(w, m.key, value));
    }
    CHECK_OK(ll_tensors_writer_save(w, in_folder("changed")));
    llap_model       *m = NULL;
    const llap_status st = llap_model_load(in_folder("changed"), &m);
    assert_null(m);
    if (st == LLAP_OK || strstr(llap_error_detail(), c->message) == NULL)
        fail_msg("expected '%s', found '%s'", c->message, llap_error_detail());
    assert_non_null(strstr(llap_error_detail(), "changed"));
    ll_tensors_writer_destroy(w);
    ll_tensors_close(t);
    ll_free(text);
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

/* Paths have the margins of the forecast and move smoothly; each is the same however many are
 * asked for. */
static void samples_are_joint_paths(void **state)
{
    (void)state;
    enum { PATHS = 400 };
    llap_forecast_opts o = { 0 };
    llap_answer       *many, *few, *law;
    o.quantiles = "0.1,0.5,0.9";
    CHECK_OK(llap_forecast(model, panel, &o, &law));
    o.samples = PATHS;
    o.keep_samples = 1;
    CHECK_OK(llap_forecast(model, panel, &o, &many));
    o.samples = 3;
    CHECK_OK(llap_forecast(model, panel, &o, &few));
    assert_memory_equal(many->number, few->number, 3 * 24 * sizeof(double));
    for (int q = 0; q < 24; q++) { /* of the first entity */
        int          below = 0;
        const double low = law->number[q * 4 + 1];
        for (int k = 0; k < PATHS; k++) below += many->number[k * 24 + q] < low;
        assert_true(abs(below - PATHS / 10) < 5 * 6);
    }
    double far = 0, near = 0;
    for (int k = 0; k + 1 < PATHS; k++) {
        const double *x = many->number + k * 24, *y = x + 24;
        near += fabs(x[12] - x[11]);
        far += fabs(x[12] - y[11]); /* another path's neighbour */
    }
    assert_true(near < 0.7 * far);
    o.samples = -1;
    llap_answer *none;
    CHECK_FAIL(llap_forecast(model, panel, &o, &none), LLAP_EOPTION, "samples");
    llap_answer_destroy(many);
    llap_answer_destroy(few);
    llap_answer_destroy(law);
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

static void gaps_are_filled_and_measurements_kept(void **state)
{
    (void)state;
    llap_impute_opts o = { 0 };
    llap_answer     *a;
    CHECK_OK(llap_impute(model, panel, &o, &a));
    int64_t missing = 0;
    for (int64_t r = 0; r < panel->n_rows; r++) missing += !ll_panel_observed(panel, r, 0);
    assert_int_equal(a->n_rows, (size_t)missing);
    for (size_t i = 0; i < a->n_rows; i++) assert_true(isfinite(a->number[i * 8]));
    llap_answer_destroy(a);
    o.all = 1;
    CHECK_OK(llap_impute(model, panel, &o, &a));
    assert_int_equal(a->n_rows, (size_t)panel->n_rows);
    for (size_t i = 0; i < a->n_rows; i++) {
        const int64_t row = panel->start[a->rows.entity[i]] + a->rows.time[i] / HOUR;
        if (a->rows.observed[i])
            assert_true(a->number[i * 8] == (double)panel->value[row * panel->n_vars]);
    }
    llap_answer_destroy(a);
}

/* Draws instead of quantiles: their margins are the quantiles, what was measured stays. */
static void draws_of_gaps(void **state)
{
    (void)state;
    enum { DRAWS = 300 };
    llap_impute_opts o = { 0 };
    llap_answer     *law, *many, *few;
    o.quantiles = "0.1,0.5,0.9";
    o.all = 1;
    CHECK_OK(llap_impute(model, panel, &o, &law));
    o.keep_samples = 1;
    o.samples = DRAWS;
    CHECK_OK(llap_impute(model, panel, &o, &many));
    o.samples = 2;
    const int threads = omp_get_max_threads();
    omp_set_num_threads(threads == 1 ? 2 : 1);
    CHECK_OK(llap_impute(model, panel, &o, &few));
    omp_set_num_threads(threads);
    assert_int_equal(many->n_rows, law->n_rows * DRAWS);
    double below = 0, missing = 0;
    size_t first = 0; /* of the entity; all rows are asked about */
    for (size_t i = 0; i < law->n_rows; i++) {
        if (i > 0 && law->rows.entity[i] != law->rows.entity[i - 1]) first = i;
        const size_t e = (size_t)law->rows.entity[i];
        const size_t n = (size_t)(panel->start[e + 1] - panel->start[e]);
        for (size_t k = 0; k < DRAWS; k++) {
            const size_t at = first * DRAWS + k * n + i - first;
            assert_int_equal(many->rows.sample[at], k);
            assert_int_equal(many->rows.time[at], law->rows.time[i]);
            assert_int_equal(many->rows.observed[at], law->rows.observed[i]);
            if (k < 2) assert_true(few->number[first * 2 + k * n + i - first] == many->number[at]);
            if (law->rows.observed[i]) assert_true(many->number[at] == law->number[i * 4]);
            else below += many->number[at] < law->number[i * 4 + 1];
        }
        missing += !law->rows.observed[i];
    }
    assert_true(missing > 20 && fabs(below / (missing * DRAWS) - 0.1) < 0.01);
    o.samples = -1;
    llap_answer *none;
    CHECK_FAIL(llap_impute(model, panel, &o, &none), LLAP_EOPTION, "samples");
    llap_answer_destroy(law);
    llap_answer_destroy(many);
    llap_answer_destroy(few);
}

/* Draws of totals are the totals of the draws. */
static void totals_keep_their_draws(void **state)
{
    (void)state;
    llap_forecast_opts o = { 0 };
    llap_answer       *paths, *total;
    o.samples = 4;
    o.keep_samples = 1;
    CHECK_OK(llap_forecast(model, panel, &o, &paths));
    o.total = 1;
    CHECK_OK(llap_forecast(model, panel, &o, &total));
    const size_t h = paths->n_rows / total->n_rows;
    assert_int_equal(total->n_rows, 4 * (size_t)panel->n_entities);
    for (size_t i = 0; i < total->n_rows; i++) {
        double sum = 0;
        for (size_t k = 0; k < h; k++) sum += paths->number[i * h + k];
        assert_true(total->number[i] == sum);
        assert_int_equal(total->rows.sample[i], i % 4);
        assert_int_equal(total->rows.time[i], paths->rows.time[i * h + h - 1]);
    }
    llap_answer_destroy(paths);
    llap_answer_destroy(total);
}

/* From the past alone, what is said about a cell does not depend on what else is asked. */
static void causal_answers_stand_alone(void **state)
{
    (void)state;
    llap_impute_opts o = { 0 };
    llap_answer     *gaps, *all;
    size_t           at = 0;
    o.causal = 1;
    CHECK_OK(llap_impute(model, panel, &o, &gaps));
    o.all = 1;
    CHECK_OK(llap_impute(model, panel, &o, &all));
    for (size_t i = 0; i < all->n_rows; i++) {
        if (all->rows.observed[i]) continue;
        assert_true(at < gaps->n_rows && gaps->rows.time[at] == all->rows.time[i]);
        assert_memory_equal(gaps->number + 8 * at, all->number + 8 * i, 8 * sizeof(double));
        at++;
    }
    assert_int_equal(at, gaps->n_rows);
    llap_answer_destroy(gaps);
    llap_answer_destroy(all);
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

static double test_crps(const llap_model *m, const llap_panel *p)
{
    llap_evaluate_opts o = { 0 };
    o.stride = "3";
    o.samples = 100;
    ll_json     *j = evaluate(m, p, &o);
    const double crps = score(j, "model", "crps");
    ll_json_destroy(j);
    return crps;
}

static void a_link_file_is_checked(llap_model *linked)
{
    static const change changes[] = {
        { .shrink = "anchor.0.loadings", .message = "anchor.0.loadings: expected F64 [3," },
        { .nan = "anchor.0.loadings", .message = "anchor.0.loadings: element 0 is not a finite" },
        { .tensor = "anchor.0.loadings", .rename = "anchor.0.loading", .message = "share" },
        { .key = "llapdiff.config",
          .from = "\"share\":[1",
          .to = "\"share\":[2",
          .message = "share" },
        { .key = "llapdiff.config", .from = "\"share\"", .to = "\"shore\"", .message = "share" },
        { .shrink = "anchor.0.near_both", .message = "anchor.0.near_both: expected F64 [3,3]" },
        { .nan = "anchor.0.near_both", .message = "anchor.0.near_both: element 0 is not a finite" },
        { .tensor = "anchor.0.near_past",
          .rename = "anchor.0.near_pasd",
          .message = "anchors[0].near_past' without a tensor" },
        { .key = "llapdiff.config",
          .from = "\"near_both\"",
          .to = "\"near_boat\"",
          .message = "near_both" },
    };
    CHECK_OK(llap_model_save(linked, in_folder("a")));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) expect_refusal(&changes[i]);
    linked->anchor[0]->loading[0] = 1.5;
    CHECK_OK(llap_model_save(linked, in_folder("a")));
    llap_model *m;
    CHECK_FAIL(llap_model_load(in_folder("a"), &m), LLAP_EFORMAT, "squared loadings sum to");
    linked->anchor[0]->loading[0] = 0.5;
    double *cov = linked->anchor[0]->neighbours[LL_ANCHOR_BOTH].cov, kept = cov[1];
    cov[1] += 0.01;
    CHECK_OK(llap_model_save(linked, in_folder("a")));
    CHECK_FAIL(llap_model_load(in_folder("a"), &m), LLAP_EFORMAT, "near_both: is not symmetric");
    cov[1] = kept;
    cov[4] = -1;
    CHECK_OK(llap_model_save(linked, in_folder("a")));
    CHECK_FAIL(llap_model_load(in_folder("a"), &m), LLAP_EFORMAT, "near_both: is no covariance");
}

static llap_status load_and_forecast(void *user)
{
    llap_model        *m = NULL;
    llap_answer       *a = NULL, *b = NULL;
    llap_forecast_opts f = { 0 };
    llap_status        st = llap_model_load(in_folder("a"), &m);
    f.horizon = "3";
    if (st == LLAP_OK) st = llap_forecast(m, user, &f, &a);
    f.samples = 2;
    f.keep_samples = 1;
    if (st == LLAP_OK) st = llap_forecast(m, user, &f, &b);
    llap_answer_destroy(a);
    llap_answer_destroy(b);
    llap_model_destroy(m);
    return st;
}

/* Where sensors share their weather and fall silent, validation links them, and that pays. */
static void linked_entities_are_forecast_better(void **state)
{
    (void)state;
    llap_panel     *p = make_linked_panel();
    llap_model     *linked, *apart, *again;
    char           *text;
    llap_train_opts o = { 0 };
    o.size = LLAP_TRAIN_SIZE_ANCHOR;
    o.target = "no2";
    o.context = "7d";
    o.horizon = "24";
    o.training = "{\"anchor\": {\"steps\": 60, \"rows\": 24, \"cycles\": 0}}";
    CHECK_OK(llap_train(p, &o, &apart));
    o.link = 1;
    CHECK_OK(llap_train(p, &o, &linked));
    assert_true(linked->anchor[0]->link.rank > 0 && apart->anchor[0]->link.rank == 0);
    const double one = test_crps(linked, p), two = test_crps(apart, p);
    print_message("test CRPS linked %.4f, apart %.4f\n", one, two);
    assert_true(one < 0.985 * two);
    CHECK_OK(llap_model_describe(linked, 0, &text));
    assert_non_null(strstr(text, "forecasts look at all entities: linked by "));
    assert_non_null(strstr(text, "gaps are filled with the help of the other entities"));
    llap_text_free(text);

    CHECK_OK(llap_model_save(linked, in_folder("a")));
    CHECK_OK(llap_model_load(in_folder("a"), &again));
    char *before = forecast_text(linked, p), *after = forecast_text(again, p);
    assert_string_equal(before, after);
    llap_text_free(before);
    llap_text_free(after);
    before = impute_text(linked, p);
    after = impute_text(again, p);
    assert_string_equal(before, after);
    llap_text_free(before);
    llap_text_free(after);
    check_every_failed_allocation(load_and_forecast, p);
    a_link_file_is_checked(again);
    llap_model_destroy(linked);
    llap_model_destroy(apart);
    llap_model_destroy(again);
    llap_panel_destroy(p);
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
        cmocka_unit_test(samples_are_joint_paths),
        cmocka_unit_test(spans_are_durations_or_steps),
        cmocka_unit_test(numbers_as_times_by_entity),
        cmocka_unit_test(a_new_entity_is_forecast_too),
        cmocka_unit_test(gaps_are_filled_and_measurements_kept),
        cmocka_unit_test(draws_of_gaps),
        cmocka_unit_test(totals_keep_their_draws),
        cmocka_unit_test(causal_answers_stand_alone),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(failing_allocations_are_survived),
        cmocka_unit_test(linked_entities_are_forecast_better),
        cmocka_unit_test(normal_scores_are_exact),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
