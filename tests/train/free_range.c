/* The two series of docs/spec/anchor.md 9 whose future lies outside all that training has seen,
 * through the whole program: chosen by validation alone. */
#include "sensors.h"

enum { SHIFT_ROWS = 1500, GROWTH_ROWS = 2190 };

/* A row every `step` from `first` on; value(i, uniform). */
static llap_panel *series(int n, int64_t first, int64_t step, double (*value)(int, double),
                          uint64_t seed)
{
    const ll_rng      r = ll_rng_make(seed, LL_STREAM_TEST, 0, 0, 0);
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          v, e;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, "x", 1, &v));
    CHECK_OK(ll_panel_builder_entity(b, "a", 1, &e));
    for (int i = 0; i < n; i++) {
        const float y = (float)value(i, (double)ll_rng_uniform(&r, (uint64_t)i));
        CHECK_OK(ll_panel_builder_row(b, e, first + i * step, &y));
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    return p;
}

static double daily(int i) { return 10 + 3 * sin(i / 24.0 * 6.2832); }
static double shifted(int i, double u) { return daily(i) + u - .5 - (i > 1300 ? 6 : 0); }
static double growing(int i, double u)
{
    return 100 * exp(.47 * i / 365) * (1 + .1 * sin(i / 7.0 * 6.2832)) * (1 + .04 * (u - .5));
}

static llap_model *trained(const llap_panel *p, const char *context, const char *horizon)
{
    llap_train_opts o = { 0 };
    llap_model     *m = NULL;
    o.size = LLAP_TRAIN_SIZE_ANCHOR;
    o.context = context;
    o.horizon = horizon;
    CHECK_OK(llap_train(p, &o, &m));
    return m;
}

/* CRPS of the truth as measured, in deviations of training. */
static void check_scores(const llap_model *m, const llap_panel *p, double crps)
{
    llap_evaluate_opts o = { 0 };
    ll_json           *j = evaluate(m, p, &o);
    const double       found = score(j, "model", "crps");
    print_message("CRPS %.4f\n", found);
    assert_true(found < crps);
    ll_json_destroy(j);
}

static llap_answer *forecast(const llap_model *m, const llap_panel *p, const char *at)
{
    llap_answer       *a = NULL;
    llap_forecast_opts o = { .at = at };
    CHECK_OK(llap_forecast(m, p, &o, &a));
    const llap_answer_columns *c = llap_answer_view(a);
    for (int64_t i = 0; i < c->n_rows; i++) /* mean, then quantiles: no two are equal */
        for (int64_t k = 2; k < c->n_numbers; k++)
            assert_true(c->number[i * c->n_numbers + k] > c->number[i * c->n_numbers + k - 1]);
    return a;
}

/* CSV has the marks of JSON as its last column, and none where no answer lies outside. */
static void check_marks(const llap_answer *a, const bool *outside)
{
    char  *text = NULL;
    size_t n = 0, i = 0;
    bool   any = false;
    CHECK_OK(llap_answer_csv(a, &text, &n));
    for (int64_t k = 0; k < llap_answer_view(a)->n_rows; k++) any = any || outside[k];
    char *line = strtok(text, "\n");
    assert_int_equal(strcmp(strrchr(line, ','), ",outside") == 0, any);
    while ((line = strtok(NULL, "\n")) != NULL) {
        if (any) assert_string_equal(strrchr(line, ','), outside[i] ? ",1" : ",0");
        i++;
    }
    assert_int_equal(i, llap_answer_view(a)->n_rows);
    llap_text_free(text);
}

/* A level below all of training, in the context only: medians are the new level's, and its
 * intervals as wide as the noise. */
static void a_shift_below_training(void **state)
{
    (void)state;
    llap_panel  *p = series(SHIFT_ROWS, INT64_C(1704067200000000000), HOUR, shifted, 7);
    llap_model  *m = trained(p, "2d", "12h");
    llap_answer *a = forecast(m, p, NULL);
    char        *text = NULL;
    const llap_answer_columns *c = llap_answer_view(a);
    assert_int_equal(c->n_rows, 12);
    for (int i = 0; i < 12; i++) {
        const double *x = c->number + i * c->n_numbers, truth = daily(SHIFT_ROWS + i) - 6;
        if (!(fabs(x[4] - truth) < .2) || !(x[7] - x[1] > .8 && x[7] - x[1] < 1.6))
            fail_msg("hour %d: median %g of %g, 95 %% [%g, %g]", i, x[4], truth, x[1], x[7]);
    }
    CHECK_OK(llap_answer_json(a, &text)); /* what lies below the range of training is marked */
    ll_json *j = NULL;
    bool     outside[12] = { false };
    CHECK_OK(ll_json_parse(text, strlen(text), "answer", NULL, &j));
    for (int i = 0; i < 12; i++) {
        char path[32];
        snprintf(path, sizeof path, "[%d].outside", i);
        CHECK_OK(ll_json_need(j, path));
        CHECK_OK(ll_json_bool(j, path, &outside[i]));
        assert_int_equal(outside[i], c->number[i * c->n_numbers] < m->anchor[0]->chain->low[0]);
    }
    check_marks(a, outside);
    llap_answer_destroy(a);
    a = forecast(m, p, "2024-02-10T00:00:00Z"); /* before the shift: nothing to mark */
    check_marks(a, (bool[12]){ false });
    ll_json_destroy(j);
    llap_text_free(text);
    llap_answer_destroy(a);
    check_scores(m, p, .18);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

/* Growth of 47 % a year goes on. */
static void growth_beyond_training(void **state)
{
    (void)state;
    llap_panel  *p = series(GROWTH_ROWS, INT64_C(1546300800000000000), 24 * HOUR, growing, 1);
    llap_model  *m = trained(p, "8w", "2w");
    llap_answer *a = forecast(m, p, NULL);
    const llap_answer_columns *c = llap_answer_view(a);
    assert_int_equal(c->n_rows, 14);
    for (int i = 0; i < 14; i++) {
        const double *x = c->number + i * c->n_numbers, truth = growing(GROWTH_ROWS + i, .5);
        if (!(fabs(x[4] / truth - 1) < .06) || !(x[1] < truth && truth < x[7]))
            fail_msg("day %d: median %g of %g, 95 %% [%g, %g]", i, x[4], truth, x[1], x[7]);
    }
    assert_true(c->number[0] > m->anchor[0]->chain->high[0]);
    llap_answer_destroy(a);
    check_scores(m, p, .057);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shift_below_training),
        cmocka_unit_test(growth_beyond_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
