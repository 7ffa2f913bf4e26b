/* Scenarios: other known inputs to come, the same draws. */
#include "sensors.h"

enum { ROWS_SEEN = 900, AHEAD = 12, SHOPS = 2 };

/* "load" of shops goes by "heat", which is known for AHEAD rows more; shift: added to heat there.
 * from: first row. Without loads, of the entities [first,end) of names. */
typedef struct made {
    int   from, first, end;
    float shift;
    bool  known_alone;
} made;

static llap_panel *make(made m)
{
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          v, e;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    if (!m.known_alone) CHECK_OK(ll_panel_builder_var(b, "load", 4, &v));
    CHECK_OK(ll_panel_builder_var(b, "heat", 4, &v));
    for (int k = m.first; k < m.end; k++) {
        const ll_rng r = ll_rng_make(8, LL_STREAM_TEST, (uint64_t)k, 0, 0);
        double       heat = 0, rest = 0;
        CHECK_OK(ll_panel_builder_entity(b, k == 0 ? "a" : k == 1 ? "b" : "c", 1, &e));
        for (int i = 0; i < ROWS_SEEN + AHEAD; i++) {
            heat = .95 * heat + .5 * (double)ll_rng_normal(&r, 2 * (uint64_t)i);
            rest = .9 * rest + .3 * (double)ll_rng_normal(&r, 2 * (uint64_t)i + 1);
            const bool  ahead = i >= ROWS_SEEN;
            const float x = (float)heat + (ahead ? m.shift : 0);
            const float row[] = { ahead ? NAN : (float)(3 * heat + rest), x };
            if (i >= m.from)
                CHECK_OK(ll_panel_builder_row(b, e, i * HOUR, m.known_alone ? row + 1 : row));
        }
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    return p;
}

static llap_panel *panel, *same, *warm;
static llap_model *model;

static int set_up(void **state)
{
    (void)state;
    llap_train_opts o = { 0 };
    panel = make((made){ .end = SHOPS });
    same = make((made){ .end = SHOPS, .from = ROWS_SEEN - 5, .known_alone = true });
    warm = make((made){ .end = SHOPS, .from = ROWS_SEEN - 5, .known_alone = true, .shift = 1 });
    o.size = LLAP_TRAIN_SIZE_ANCHOR;
    o.target = "load";
    o.known = "heat";
    o.transform = "none";
    o.context = "2d";
    o.horizon = "12";
    o.training = "{\"anchor\": {\"steps\": 40, \"rows\": 24}}";
    return llap_train(panel, &o, &model) != LLAP_OK;
}

static int tear_down(void **state)
{
    (void)state;
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    llap_panel_destroy(same);
    llap_panel_destroy(warm);
    return 0;
}

static llap_answer *ask(const llap_panel *first, const llap_panel *second, llap_forecast_opts o)
{
    const llap_scenario s[] = { { .name = "same", .known = first },
                                { .name = "warm", .known = second } };
    llap_answer        *a;
    o.scenarios = s;
    o.n_scenarios = second == NULL ? 1 : 2;
    CHECK_OK(llap_forecast(model, panel, &o, &a));
    return a;
}

static void what_the_data_says_is_answered_as_without(void **state)
{
    (void)state;
    const llap_forecast_opts o = { .keep_samples = 1, .samples = 20 };
    llap_answer             *a = ask(same, NULL, o), *b;
    CHECK_OK(llap_forecast(model, panel, &o, &b));
    assert_int_equal(a->n_rows, b->n_rows);
    assert_memory_equal(a->number, b->number, a->n_rows * sizeof *a->number);
    const llap_answer_columns *v = llap_answer_view(a);
    assert_int_equal(v->n_scenarios, 1);
    assert_string_equal(v->scenarios[0], "same");
    assert_int_equal(llap_answer_view(b)->n_scenarios, 0);
    llap_answer_destroy(a);
    llap_answer_destroy(b);
}

static void draws_are_the_same_and_differ_by_the_effect(void **state)
{
    (void)state;
    enum { N = 50 };
    llap_answer *a = ask(same, warm, (llap_forecast_opts){ .keep_samples = 1, .samples = N });
    const llap_answer_columns *v = llap_answer_view(a);
    const size_t               half = (size_t)v->n_rows / 2;
    assert_int_equal(v->n_rows, 2 * SHOPS * N * AHEAD);
    assert_int_equal(v->n_forecasts, 2 * SHOPS);
    assert_true(v->dense);
    for (size_t i = 0; i < half; i++) {
        const size_t e = i / (N * AHEAD), at = e * N * AHEAD + i % AHEAD;
        const double moved = v->number[half + i] - v->number[i];
        const double first = v->number[half + at] - v->number[at];
        assert_true(v->scenario[i] == 0 && v->scenario[half + i] == 1);
        assert_true(v->time[i] == v->time[half + i] && v->entity[i] == v->entity[half + i]);
        if (!(fabs(moved - first) < 1e-9 && fabs(moved - 3) < 1))
            fail_msg("row %zu: moved by %.12g, the first sample by %.12g", i, moved, first);
    }
    llap_answer_destroy(a);
}

static void one_entity_may_speak_for_all(void **state)
{
    (void)state;
    llap_panel  *all = make((made){ .first = 2, .end = 3, .from = ROWS_SEEN, .known_alone = true });
    llap_panel  *own = make((made){ .end = 1, .from = ROWS_SEEN, .known_alone = true, .shift = 1 });
    llap_answer *a = ask(all, own, (llap_forecast_opts){ .quantiles = "0.5" });
    llap_answer *b = ask(same, warm, (llap_forecast_opts){ .quantiles = "0.5" });
    const size_t each = AHEAD;
    for (size_t i = 0; i < each; i++) { /* the second has a alone: b is as the data has it */
        assert_true(a->number[2 * (2 * each + i)] == b->number[2 * (2 * each + i)]);
        assert_true(a->number[2 * (3 * each + i)] == b->number[2 * (each + i)]);
        assert_true(a->number[2 * i] != b->number[2 * i]);
        assert_true(a->number[2 * (each + i)] != b->number[2 * (each + i)]);
    }
    llap_answer_destroy(a);
    llap_answer_destroy(b);
    llap_panel_destroy(all);
    llap_panel_destroy(own);
}

static void a_past_origin_takes_them_too(void **state)
{
    (void)state;
    llap_panel  *p = make((made){ .end = SHOPS, .known_alone = true, .shift = 1 });
    llap_answer *a = ask(p, NULL, (llap_forecast_opts){ .at = "1970-02-05T00:00:00Z" }), *b;
    const llap_forecast_opts o = { .at = "1970-02-05T00:00:00Z" };
    CHECK_OK(llap_forecast(model, panel, &o, &b)); /* p has what the data has there */
    assert_memory_equal(a->number, b->number, a->n_rows * (size_t)a->n_numbers * sizeof(double));
    llap_answer_destroy(a);
    llap_answer_destroy(b);
    llap_panel_destroy(p);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    llap_panel        *other = make((made){ .first = 1, .end = 3, .from = ROWS_SEEN });
    llap_scenario      s = { .name = "x", .known = other, .source = "x.csv" };
    llap_forecast_opts o = { .scenarios = &s, .n_scenarios = 1 };
    llap_answer       *a;
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EINVAL,
               "scenario 'x' (x.csv): the data has no entity 'c'");
    o.n_scenarios = 65;
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_ELIMIT, "more than 64");
    llap_panel_destroy(other);
}

static llap_status once(void *user)
{
    const llap_scenario s[] = { { .name = "a", .known = same }, { .name = "b", .known = warm } };
    const llap_forecast_opts o = { .scenarios = s, .n_scenarios = 2, .horizon = "2" };
    llap_answer             *a;
    (void)user;
    const llap_status st = llap_forecast(model, panel, &o, &a);
    llap_answer_destroy(a);
    return st;
}

static void failures_leak_nothing(void **state)
{
    (void)state;
    check_every_failed_allocation(once, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_data_says_is_answered_as_without),
        cmocka_unit_test(draws_are_the_same_and_differ_by_the_effect),
        cmocka_unit_test(one_entity_may_speak_for_all),
        cmocka_unit_test(a_past_origin_takes_them_too),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(failures_leak_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
