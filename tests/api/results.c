/* Typed results through the public headers: they say what the texts say, and the JSON is made of
 * the same numbers. */
#include "model.h"

#include <math.h>

static int set_up(void **state)
{
    (void)state;
    return train_model(500, "6h", "1h");
}

/* The text has the line or word, made as printf says. */
LLAP_PRINTF(2, 3) static void check_says(const char *text, const char *format, ...)
{
    char    words[256];
    va_list list;
    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    if (strstr(text, words) == NULL) fail_msg("expected '%s' in:\n%s", words, text);
}

static void same_text(char *a, char *b)
{
    assert_non_null(a);
    assert_string_equal(a, b);
    llap_text_free(a);
    llap_text_free(b);
}

/* ---- scores ---- */

static llap_evaluate_opts ask(void)
{
    llap_evaluate_opts o = { 0 };
    o.samples = 20;
    o.bootstrap = 50;
    o.by = LLAP_EVALUATE_BY_ENTITY;
    return o;
}

static void check_score(const llap_score_row *x)
{
    assert_true(x->n > 0 && x->crps > 0 && x->mse > 0 && x->mae > 0);
    for (int k = 0; k < LLAP_SCORE_LEVELS; k++)
        assert_true(x->n_interval[k] == 0 || (x->coverage[k] >= 0 && x->coverage[k] <= 1));
}

/* The rows of a finer table are those of the whole. */
static void check_columns(const llap_score_columns *c, const llap_score_row *whole, int64_t n_rows)
{
    int64_t n = 0;
    double  crps = 0;
    assert_int_equal(c->n_rows, n_rows);
    for (int64_t i = 0; i < c->n_rows; i++) {
        n += c->n[i];
        if (c->n[i] > 0) crps += c->crps[i] * (double)c->n[i];
    }
    assert_int_equal(n, whole->n);
    assert_true(fabs(crps / (double)n - whole->crps) < 1e-9 * whole->crps);
}

static void check_forecaster(const llap_scores *s, int64_t i)
{
    const llap_scores_info *f = llap_scores_about(s);
    int64_t                 n = 0;
    for (int64_t v = 0; v < f->n_variables; v++) {
        const llap_score_row *x = llap_scores_at(s, i, v);
        check_score(x);
        check_score(llap_scores_in_units(s, i, v));
        assert_int_equal(llap_scores_in_units(s, i, v)->n, x->n);
        check_columns(llap_scores_by_step(s, i, v), x, f->n_steps);
        check_columns(llap_scores_by_entity(s, i, v), x, f->n_entities);
        n += x->n;
    }
    assert_int_equal(llap_scores_at(s, i, LLAP_ALL)->n, n);
    assert_null(llap_scores_in_units(s, i, LLAP_ALL));
    const llap_score_difference *d = llap_scores_against(s, i, LLAP_ALL);
    if (i == 0) {
        assert_null(d);
        return;
    }
    const double model_crps = llap_scores_at(s, 0, LLAP_ALL)->crps;
    const double own = llap_scores_at(s, i, LLAP_ALL)->crps;
    assert_true(fabs(d->crps.value - (model_crps - own)) < 1e-9);
    assert_true(fabs(d->skill.value - (1 - model_crps / own)) < 1e-9);
    assert_true(d->skill.low <= d->skill.high && d->skill.se > 0);
}

static void scores(void **state)
{
    (void)state;
    const llap_evaluate_opts o = ask();
    llap_scores             *s = NULL;
    CHECK_OK(llap_scores_create(model, panel, &o, &s));
    const llap_scores_info *f = llap_scores_about(s);
    assert_string_equal(f->task, "forecast");
    assert_string_equal(f->part, "test");
    assert_string_equal(f->forecasters[0], "model");
    assert_int_equal(f->n_own, 1);
    assert_int_equal(f->n_variables, 2);
    assert_int_equal(f->n_entities, 3);
    assert_int_equal(f->n_samples, 20);
    assert_true(f->n_forecasters > 2 && f->n_windows > 0 && f->n_steps > 0);
    int64_t best = f->n_own;
    for (int64_t i = 0; i < f->n_forecasters; i++) {
        check_forecaster(s, i);
        if (i > best && llap_scores_at(s, i, 0)->crps < llap_scores_at(s, best, 0)->crps) best = i;
    }
    assert_int_equal(llap_scores_best_opponent(s, 0), best);
    const int earns = llap_scores_earns_its_keep(s, 0);
    assert_true(f->n_units >= 10 ? earns == (llap_scores_against(s, best, 0)->skill.low > 0)
                                 : earns == -1);
    assert_null(llap_scores_at(s, f->n_forecasters, 0));
    assert_null(llap_scores_at(s, 0, 2));
    assert_null(llap_scores_at(s, -1, LLAP_ALL));
    assert_null(llap_scores_by_step(s, 0, LLAP_ALL));
    assert_int_equal(llap_scores_best_opponent(s, 7), -1);
    llap_scores_destroy(s);
    llap_scores_destroy(NULL);
}

static void scores_as_text(void **state)
{
    (void)state;
    llap_evaluate_opts o = ask();
    llap_scores       *s = NULL;
    char              *text[3] = { NULL }, *json[3] = { NULL };
    CHECK_OK(llap_scores_create(model, panel, &o, &s));
    CHECK_OK(llap_scores_text(s, &text[0]));
    CHECK_OK(llap_scores_json(s, &json[0]));
    check_says(text[0], "  %-13s%9.4f", "model", llap_scores_at(s, 0, 0)->crps);
    check_says(text[0], "  %-13s%9.4f", "model", llap_scores_at(s, 0, LLAP_ALL)->crps);
    check_says(json[0], "\"values\": %lld", (long long)llap_scores_at(s, 0, LLAP_ALL)->n);
    CHECK_OK(llap_evaluate(model, panel, &o, &text[1], &json[1]));
    CHECK_OK(llap_evaluate(model, panel, &o, NULL, &json[2]));
    assert_string_equal(json[0], json[2]);
    same_text(text[0], text[1]);
    same_text(json[0], json[1]);
    llap_text_free(json[2]);
    llap_scores_destroy(s);
    o.by = LLAP_EVALUATE_BY_DEFAULT;
    o.task = (llap_evaluate_task)77;
    CHECK_FAIL(llap_scores_create(model, panel, &o, &s), LLAP_EOPTION, "task: ");
    assert_null(s);
    o = ask();
    o.by = LLAP_EVALUATE_BY_DEFAULT;
    CHECK_OK(llap_scores_create(model, panel, &o, &s));
    assert_null(llap_scores_by_entity(s, 0, 0));
    assert_int_equal(llap_scores_about(s)->n_entities, 0);
    llap_scores_destroy(s);
}

/* ---- poles ---- */

static void poles(void **state)
{
    (void)state;
    llap_pole_opts  o = { 0 };
    llap_pole_sets *p = NULL;
    char           *text[2] = { NULL }, *json[2] = { NULL };
    o.transfer = 3;
    o.impulse = 4;
    o.realisation = 1;
    CHECK_OK(llap_pole_sets_create(model, panel, &o, &p));
    const llap_pole_sets_info *f = llap_pole_sets_about(p);
    assert_int_equal(f->n_sets, 2);
    assert_true(f->unit_ns > 0 && isnan(f->noise));
    for (int64_t i = 0; i < f->n_sets; i++) {
        const llap_pole_set *s = llap_pole_sets_at(p, i);
        double               start = 0;
        assert_true(s->n > 0 && s->stable && s->n_gaps > 0 && s->mean_gap > 0);
        assert_string_equal(s->energy_is, "variance");
        for (int64_t k = 0; k < s->n; k++) {
            assert_true(fabs(s->half_life[k] * s->rho[k] - log(2.0)) < 1e-12);
            assert_true(s->omega[k] == 0
                            ? isinf(s->period[k])
                            : fabs(s->period[k] * s->omega[k] - 2 * acos(-1.0)) < 1e-9);
            assert_true(hypot(s->multiplier[2 * k], s->multiplier[2 * k + 1]) < 1);
            assert_true(s->event_stable[k] && s->energy[k] > 0);
            assert_true(s->A[2 * k * 2 * s->n + 2 * k] == -s->rho[k]);
            start += s->cosine[k];
        }
        assert_int_equal(s->n_transfer, 3);
        assert_int_equal(s->n_impulse, 4);
        assert_true(s->impulse[0] == 0 && fabs(s->impulse[1] - start) < 1e-12);
    }
    assert_null(llap_pole_sets_at(p, 2));
    assert_null(llap_pole_sets_at(p, -1));
    CHECK_OK(llap_pole_sets_text(p, &text[0]));
    CHECK_OK(llap_pole_sets_json(p, &json[0]));
    check_says(text[0], "  %11.4g %11.4g", llap_pole_sets_at(p, 0)->rho[0],
               llap_pole_sets_at(p, 0)->omega[0]);
    CHECK_OK(llap_model_poles(model, panel, &o, 0, &text[1]));
    CHECK_OK(llap_model_poles(model, panel, &o, 1, &json[1]));
    same_text(text[0], text[1]);
    same_text(json[0], json[1]);
    llap_pole_sets_destroy(p);
    o.target = "nothing";
    CHECK_FAIL(llap_pole_sets_create(model, NULL, &o, &p), LLAP_EINVAL, "nothing");
    assert_null(p);
    o = (llap_pole_opts){ 0 };
    CHECK_OK(llap_pole_sets_create(model, NULL, &o, &p));
    const llap_pole_set *s = llap_pole_sets_at(p, 0);
    assert_true(s->n_gaps == 0 && s->multiplier == NULL && s->transfer == NULL && s->A == NULL);
    llap_pole_sets_destroy(p);
    llap_pole_sets_destroy(NULL);
}

/* ---- inspection ---- */

static void inspection(void **state)
{
    (void)state;
    const llap_panel_columns *c = llap_panel_view(panel);
    llap_inspection          *i = NULL;
    char                     *text[2] = { NULL }, *json[2] = { NULL };
    int64_t                   observed = 0;
    CHECK_OK(llap_inspection_create(panel, &i));
    const llap_inspection_info *f = llap_inspection_about(i);
    assert_int_equal(f->n_rows, c->n_rows);
    assert_int_equal(f->n_files, 0); /* it was made up */
    assert_true(f->gap_least <= f->gap_median && f->gap_median <= f->gap_most);
    for (int64_t v = 0; v < c->n_variables; v++) {
        const llap_inspection_variable *x = llap_inspection_at(i, v);
        int64_t                         n = 0;
        double                          sum = 0;
        for (int64_t r = 0; r < c->n_rows; r++)
            if (llap_cell_observed(c, r, v)) n++, sum += (double)c->value[r * c->n_variables + v];
        assert_string_equal(x->name, c->variables[v]);
        assert_int_equal(x->observed, n);
        assert_true(fabs(x->mean - sum / (double)n) < 1e-6);
        assert_true(x->least <= x->quartile[1] && x->quartile[1] <= x->most);
        observed += n;
    }
    assert_int_equal(f->observed, observed);
    assert_null(llap_inspection_at(i, c->n_variables));
    CHECK_OK(llap_inspection_text(i, &text[0]));
    CHECK_OK(llap_inspection_json(i, &json[0]));
    check_says(text[0], "observed: %.1f %% of the cells", 100 * f->coverage);
    CHECK_OK(llap_panel_inspect(panel, 0, &text[1]));
    CHECK_OK(llap_panel_inspect(panel, 1, &json[1]));
    same_text(text[0], text[1]);
    same_text(json[0], json[1]);
    llap_inspection_destroy(i);
    llap_inspection_destroy(NULL);
}

/* ---- description ---- */

static void description(void **state)
{
    (void)state;
    const int64_t     hour = INT64_C(3600000000000);
    llap_description *d = NULL;
    char             *text[2] = { NULL }, *json[2] = { NULL };
    CHECK_OK(llap_description_create(model, &d));
    const llap_description_info *f = llap_description_about(d);
    assert_string_equal(f->size, "anchor");
    assert_string_equal(f->answers, "anchor");
    assert_null(f->profile);
    assert_int_equal(f->n_targets, 2);
    assert_int_equal(f->n_entities, 3);
    assert_int_equal(f->context, 48 * hour);
    assert_int_equal(f->horizon, 6 * hour);
    assert_int_equal(f->step, hour);
    assert_int_equal(f->time_kind, LLAP_TIME_CALENDAR);
    assert_true(!f->by_entity && f->val_start < f->test_start && f->n_parameters == 0);
    for (int64_t i = 0; i < f->n_targets; i++) {
        const llap_description_target *t = llap_description_at(d, i);
        assert_string_equal(t->name, llap_panel_view(panel)->variables[i]);
        assert_string_equal(f->targets[i], t->name);
        assert_true(t->has_anchor && t->validation_crps > 0 && t->n_terms > 0);
        assert_string_equal(t->transform, t->lambda == 1.0 ? "none" : "yeo-johnson");
        for (int64_t k = 0; k < t->n_terms; k++)
            assert_true(fabs(t->half_life[k] * t->rho[k] - log(2.0)) < 1e-12);
    }
    assert_null(llap_description_at(d, 2));
    CHECK_OK(llap_description_text(d, &text[0]));
    CHECK_OK(llap_description_json(d, &json[0]));
    check_says(text[0], "validation CRPS %.4f", llap_description_at(d, 1)->validation_crps);
    check_says(json[0], "\"step_ns\": %lld", (long long)f->step);
    CHECK_OK(llap_model_describe(model, 0, &text[1]));
    CHECK_OK(llap_model_describe(model, 1, &json[1]));
    same_text(text[0], text[1]);
    same_text(json[0], json[1]);
    llap_description_destroy(d);
    llap_description_destroy(NULL);
}

/* A model in memory has the bytes of its file, and cut bytes are no model. */
static void a_model_in_memory(void **state)
{
    (void)state;
    const char *path = "llap_test_api_results.safetensors";
    char       *bytes = NULL, *twice = NULL, in_file[256];
    size_t      n = 0, n_twice = 0;
    llap_model *again = NULL;
    CHECK_OK(llap_model_save(model, path));
    CHECK_OK(llap_model_save_memory(model, &bytes, &n));
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t at = 0;
    for (size_t k; (k = fread(in_file, 1, sizeof in_file, f)) > 0; at += k) {
        assert_true(at + k <= n);
        assert_memory_equal(bytes + at, in_file, k);
    }
    fclose(f);
    remove(path);
    assert_int_equal(at, n);
    CHECK_OK(llap_model_load_memory(bytes, n, &again));
    CHECK_OK(llap_model_save_memory(again, &twice, &n_twice));
    assert_int_equal(n, n_twice);
    assert_memory_equal(bytes, twice, n);
    llap_model_destroy(again);
    CHECK_FAIL(llap_model_load_memory(bytes, n - 1, &again), LLAP_EFORMAT, "memory");
    assert_null(again);
    CHECK_FAIL(llap_model_load_memory(bytes, 0, &again), LLAP_EFORMAT, "memory");
    llap_text_free(bytes);
    llap_text_free(twice);
}

/* What a machine has, it has under both names; one line says what it has not. */
static void devices(void **state)
{
    (void)state;
    CHECK_OK(llap_device_check(NULL));
    CHECK_OK(llap_device_check("cpu"));
    CHECK_OK(llap_device_check("auto"));
    CHECK_FAIL(llap_device_check("cuda:x"), LLAP_EOPTION, "expected cpu, cuda, cuda:N or auto");
    const llap_status st = llap_device_check("cuda");
    assert_int_equal(llap_device_check("cuda:0"), st);
    CHECK_FAIL(llap_device_check("cuda:255"), LLAP_EUNSUPPORTED, "cuda");
    assert_null(strchr(llap_error_detail(), '\n'));
    assert_true(st == LLAP_OK || st == LLAP_EUNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores),      cmocka_unit_test(scores_as_text),
        cmocka_unit_test(poles),       cmocka_unit_test(inspection),
        cmocka_unit_test(description), cmocka_unit_test(a_model_in_memory),
        cmocka_unit_test(devices),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
