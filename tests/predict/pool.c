/* Several models that answer as one. */
#include "sensors.h"

#include "model/model.h"
#include "predict/pool.h"

enum { SENSORS = 5 };

static llap_panel *panel;
static llap_model *model, *other;

static llap_status train(const char *target, const char *horizon, llap_train_split split,
                         int no_climate, llap_model **out)
{
    llap_train_opts o = { 0 };
    o.size = LLAP_TRAIN_SIZE_ANCHOR;
    o.training = "{\"anchor\": {\"steps\": 60}}";
    o.target = target;
    o.context = "2d";
    o.horizon = horizon;
    o.split = split;
    o.no_climate = no_climate;
    o.transform = no_climate ? "asinh" : NULL;
    return llap_train(panel, &o, out);
}

static int set_up(void **state)
{
    (void)state;
    panel = make_panel("x", "y", SENSORS);
    return train("x", "12", LLAP_TRAIN_SPLIT_TIME, 0, &model) != LLAP_OK ||
           train("x", "12", LLAP_TRAIN_SPLIT_TIME, 1, &other) != LLAP_OK;
}

static int tear_down(void **state)
{
    (void)state;
    llap_model_destroy(model);
    llap_model_destroy(other);
    llap_panel_destroy(panel);
    return 0;
}

/* Paths of a forecast, [entities,samples,12]. Caller frees. */
static double *paths_of(const llap_model *m, const llap_model *with, int64_t samples, uint64_t seed)
{
    llap_forecast_opts o = { 0 };
    llap_answer       *a;
    o.samples = samples;
    o.seed = (int64_t)seed;
    o.keep_samples = 1;
    o.with = &with;
    o.n_with = with != NULL;
    CHECK_OK(llap_forecast(m, panel, &o, &a));
    const size_t n = a->n_rows;
    assert_int_equal(n, SENSORS * 12 * samples);
    double *out = malloc(n * sizeof *out);
    assert_non_null(out);
    memcpy(out, a->number, n * sizeof *out);
    llap_answer_destroy(a);
    return out;
}

/* Every other path is the one model's, the rest the other's, each as by itself. */
static void shares_the_paths(void **state)
{
    (void)state;
    uint64_t seed = 3;
    while (ll_pool_seed(seed, 1) > 9000000000000000000u) seed++; /* one that an option can be */
    double *both = paths_of(model, other, 9, seed), *first = paths_of(model, NULL, 5, seed),
           *second = paths_of(other, NULL, 4, ll_pool_seed(seed, 1));
    for (int e = 0; e < SENSORS; e++)
        for (int k = 0; k < 9; k++) {
            const double *own =
                k % 2 == 0 ? first + (e * 5 + k / 2) * 12 : second + (e * 4 + k / 2) * 12;
            assert_memory_equal(both + (e * 9 + k) * 12, own, 12 * sizeof *both);
        }
    free(both);
    free(first);
    free(second);
}

/* A model pooled with itself is itself with other draws. */
static void scores(void **state)
{
    (void)state;
    llap_evaluate_opts o = { 0 };
    double             crps[3];
    o.samples = 100;
    o.bootstrap = LLAP_ZERO;
    for (int i = 0; i < 3; i++) {
        const llap_model *with = i == 1 ? model : other;
        char             *text;
        ll_json          *j;
        o.with = &with;
        o.n_with = i > 0;
        CHECK_OK(llap_evaluate(model, panel, &o, NULL, &text));
        CHECK_OK(ll_json_parse(text, strlen(text), "scores", NULL, &j));
        crps[i] = score(j, "model", "crps");
        ll_json_destroy(j);
        llap_text_free(text);
    }
    assert_true(fabs(crps[1] / crps[0] - 1) < 0.02);
    assert_true(crps[1] != crps[0] && crps[2] != crps[0] && crps[2] < 1.2 * crps[0]);
}

static void check_refused(const char *target, const char *horizon, llap_train_split split,
                          const char *message)
{
    llap_evaluate_opts o = { 0 };
    llap_model        *bad;
    char              *text;
    CHECK_OK(train(target, horizon, split, 1, &bad));
    o.with = (const llap_model *const *)&bad;
    o.n_with = 1;
    assert_int_equal(llap_evaluate(model, panel, &o, &text, NULL), LLAP_EINVAL);
    assert_string_equal(llap_error_detail(), message);
    llap_model_destroy(bad);
}

static void refuses(void **state)
{
    (void)state;
    check_refused("y", "12", LLAP_TRAIN_SPLIT_TIME, "with: model 1 has other targets");
    check_refused("x", "6", LLAP_TRAIN_SPLIT_TIME, "with: model 1 has another horizon");
    check_refused("x", "12", LLAP_TRAIN_SPLIT_ENTITY,
                  "with: model 1 has another split: it may have seen what is scored");
    llap_evaluate_opts o = { 0 };
    char              *text;
    o.with = (const llap_model *const *)&other;
    o.n_with = 1;
    o.task = LLAP_EVALUATE_TASK_IMPUTE;
    assert_int_equal(llap_evaluate(model, panel, &o, &text, NULL), LLAP_EOPTION);
}

static llap_status ask(void *user)
{
    (void)user;
    llap_forecast_opts o = { 0 };
    llap_answer       *a = NULL;
    o.samples = 4;
    o.with = (const llap_model *const *)&other;
    o.n_with = 1;
    const llap_status st = llap_forecast(model, panel, &o, &a);
    llap_answer_destroy(a);
    return st;
}

static void survives_lack_of_memory(void **state)
{
    (void)state;
    check_every_failed_allocation(ask, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_the_paths),
        cmocka_unit_test(scores),
        cmocka_unit_test(refuses),
        cmocka_unit_test(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
