/* Entities that are forecast together: train --link, from training to the checks of its file. */
#include "damaged.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linked_entities_are_forecast_better),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
