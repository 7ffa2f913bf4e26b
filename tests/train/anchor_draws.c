/* Draws of a model of size anchor: joint paths, filled gaps, totals. */
#include "sensors.h"

#include <omp.h>

static llap_panel *panel; /* variables "no2" (to forecast) and "noise" */
static llap_model *model;

static int set_up(void **state)
{
    (void)state;
    panel = make_panel("no2", "noise", ENTITIES);
    model = train_anchor(panel);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return 0;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_joint_paths),
        cmocka_unit_test(gaps_are_filled_and_measurements_kept),
        cmocka_unit_test(draws_of_gaps),
        cmocka_unit_test(totals_keep_their_draws),
        cmocka_unit_test(causal_answers_stand_alone),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
