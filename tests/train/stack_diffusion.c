/* Diffusion networks as a member of the stack: who gets a weight, and what an answer with them is.
 */
#include "folder.h"
#include "saved.h"
#include "sensors.h"

#include "backend/cpu/cpu.h"
#include "base/rng/rng.h"
#include "model/model.h"
#include "predict/forecaster.h"
#include "stack/crps.h"
#include "train/stack/diffusion.h"

#include <math.h>
#include <omp.h>
#include <string.h>

static llap_panel *panel; /* variables "no2" (to forecast) and "noise" */
static llap_model *model;

static llap_train_opts options(void)
{
    return (llap_train_opts){
        .target = "no2",
        .context = "2d",
        .horizon = "12",
        .size = LLAP_TRAIN_SIZE_STACK,
        .diffusion = LLAP_TRAIN_DIFFUSION_TINY,
        .members = 1,
        .steps = 4,
        .batch = 4,
        .training = "{\"anchor\": {\"steps\": 40, \"rows\": 16}, "
                    "\"networks\": {\"check_rows\": 4, \"final_rows\": 4, \"rows\": 64}, "
                    "\"stack\": {\"rows\": 1200, \"seeds\": 1, \"steps\": 15, \"batch\": 64}}"
    };
}

/* Their weight and order, whatever validation says of four steps. */
static void let_them_answer(llap_model *m, double weight, bool ranks)
{
    m->stack->diffusion.weight = weight;
    m->stack->diffusion.ranks = ranks;
}

static int set_up(void **state)
{
    const llap_train_opts o = options();
    llap_train_opts       alone = o;
    llap_model           *with;
    if (make_folder(state) != 0) return 1;
    panel = make_panel("no2", "noise", ENTITIES);
    if (llap_train(panel, &o, &model) != LLAP_OK) return 1;
    if (model->network != NULL) return 0;
    alone.size = LLAP_TRAIN_SIZE_TINY; /* the same networks on the same anchors */
    alone.diffusion = LLAP_TRAIN_DIFFUSION_DEFAULT;
    alone.training = "{\"anchor\": {\"steps\": 40, \"rows\": 16}, "
                     "\"networks\": {\"check_rows\": 4, \"final_rows\": 4, \"rows\": 64}}";
    if (llap_train(panel, &alone, &with) != LLAP_OK) return 1;
    model->network = with->network;
    model->network->config.features.answer_source = LL_ANSWER_BY_NETWORKS;
    model->network->config.features.fill_past = model->network->config.features.fill_both = 0;
    with->network = NULL;
    llap_model_destroy(with);
    return 0;
}

static int tear_down(void **state)
{
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return remove_folder(state);
}

static char *forecast_text(const llap_model *m, int keep_samples)
{
    const llap_forecast_opts o = { .samples = 20, .keep_samples = keep_samples };
    llap_answer             *a;
    CHECK_OK(llap_forecast(m, panel, &o, &a));
    return answer_text(a);
}

/* ---- the weight ---- */

enum { VALUES = 400 };
static double fine[VALUES * 2 * LL_STACK_FINE], truth[VALUES], unit[VALUES];

/* The others are `wide` times too wide; the networks are right, or off by `off` from `from` on. */
static void make_answers(double wide, double off, int from)
{
    const ll_rng r = ll_rng_make(8, LL_STREAM_TEST, 0, 0, 0);
    for (int i = 0; i < VALUES; i++) {
        truth[i] = (double)ll_rng_normal(&r, (uint64_t)i);
        unit[i] = 1;
        for (int k = 0; k < LL_STACK_FINE; k++) {
            const double x = ll_stack_fine_normal[k];
            fine[2 * i * LL_STACK_FINE + k] = wide * x;
            fine[(2 * i + 1) * LL_STACK_FINE + k] = x + (i >= from ? off : 0);
        }
    }
}

static void they_get_a_weight_where_both_halves_gain(void **state)
{
    double gain[2];
    (void)state;
    make_answers(2, 0, 0);
    const double weight = ll_stack_diffusion_weight(VALUES, fine, truth, unit, gain);
    assert_true(weight > 0.5 && gain[0] > 0.05 && gain[1] > 0.05);
    make_answers(2, 3, VALUES / 2); /* right in the first half, far off in the second */
    assert_true(ll_stack_diffusion_weight(VALUES, fine, truth, unit, gain) == 0);
    assert_true(gain[0] < 0);
    make_answers(1, 0.5, 0); /* the others are right */
    assert_true(ll_stack_diffusion_weight(VALUES, fine, truth, unit, gain) == 0);
    make_answers(1.05, 0, 0); /* so little that it may be chance */
    assert_true(ll_stack_diffusion_weight(VALUES, fine, truth, unit, gain) == 0);
    assert_true(ll_stack_diffusion_weight(1, fine, truth, unit, gain) == 0);
}

/* ---- answers ---- */

static void without_weight_they_change_nothing(void **state)
{
    (void)state;
    let_them_answer(model, 0, false);
    ll_network *networks = model->network;
    model->network = NULL;
    char *without = forecast_text(model, 1);
    model->network = networks;
    same_text(forecast_text(model, 1), without);
}

/* With all of the weight quantiles are those of their draws, and paths have the order of the
 * anchor, or theirs: then values of a path at one time are in the order of the networks' own. */
static void with_a_weight_their_quantiles_and_ranks_count(void **state)
{
    (void)state;
    enum { PATHS = 100 };
    int64_t       var = ll_panel_find_var(panel, "no2"), time[12];
    ll_forecaster own = { 0 }, theirs = { 0 };
    ll_arena      arena = { 0 };
    const int64_t last = panel->time[panel->start[1] - 1];
    for (int q = 0; q < 12; q++) time[q] = last + (q + 1) * INT64_C(3600000000000);
    ll_forecast_window w = ll_forecast_window_at(panel, 0, last);
    w.n_query = 12;
    w.time = time;
    w.draw = last;
    const ll_forecast_request ask = { .n_samples = PATHS, .seed = 1 };
    ll_forecast_members       a, b;
    let_them_answer(model, 1, true);
    CHECK_OK(ll_model_forecaster(model, panel, &var, &ll_backend_cpu, NULL, &own));
    CHECK_OK(own.forecast(&own, &ask, &w, 1, &arena, &a));
    ll_stack *stack = model->stack;
    model->stack = NULL;
    CHECK_OK(ll_model_forecaster(model, panel, &var, &ll_backend_cpu, NULL, &theirs));
    CHECK_OK(theirs.forecast(&theirs, &ask, &w, 1, &arena, &b));
    model->stack = stack;
    for (int q = 0; q < 12; q++) {
        int64_t wrong = 0;
        double  mean[2] = { 0 }, sd = 0;
        for (int i = 0; i < PATHS; i++) {
            for (int k = 0; k < i; k++)
                wrong += (a.value[i * 12 + q] < a.value[k * 12 + q]) !=
                         (b.value[i * 12 + q] < b.value[k * 12 + q]);
            mean[0] += a.value[i * 12 + q] / PATHS;
            mean[1] += b.value[i * 12 + q] / PATHS;
        }
        for (int i = 0; i < PATHS; i++)
            sd += (b.value[i * 12 + q] - mean[1]) * (b.value[i * 12 + q] - mean[1]) / PATHS;
        assert_int_equal(wrong, 0);
        assert_true(fabs(mean[0] - mean[1]) < 0.35 * sqrt(sd));
    }
    ll_forecaster_deinit(&own);
    ll_forecaster_deinit(&theirs);
    ll_arena_deinit(&arena);
    char *ranked = forecast_text(model, 1);
    let_them_answer(model, 1, false);
    char *unranked = forecast_text(model, 1);
    assert_string_not_equal(ranked, unranked);
    llap_text_free(ranked);
    llap_text_free(unranked);
}

static void a_file_keeps_them(void **state)
{
    (void)state;
    const char *path = in_folder("diffusion.safetensors");
    llap_model *m;
    char       *text;
    let_them_answer(model, 0.25, true);
    CHECK_OK(llap_model_save(model, path));
    CHECK_OK(llap_model_load(path, &m));
    assert_true(m->stack->diffusion.weight == 0.25 && m->stack->diffusion.ranks);
    same_text(forecast_text(model, 1), forecast_text(m, 1));
    const int n = omp_get_max_threads();
    omp_set_num_threads(n == 1 ? 3 : 1);
    same_text(forecast_text(model, 0), forecast_text(m, 0));
    omp_set_num_threads(n);
    CHECK_OK(llap_model_describe(m, 0, &text));
    assert_non_null(strstr(text, "weight 0.25 beside the others; paths go in the order of theirs"));
    llap_text_free(text);
    llap_model_destroy(m);
    const char *bad = in_folder("bad.safetensors");
    check_refused(model, bad, "\\\"weight\\\":0.25", "\\\"weight\\\":1.25");
    check_refused(model, bad, "\\\"samples\\\":100", "\\\"samples\\\":900");
    check_refused(model, bad, "\\\"weight\\\":0.25,\\\"ranks\\\":true",
                  "\\\"weight\\\":0.0,\\\"ranks\\\":false"); /* networks of no use */
}

/* Only a stack has such a member. */
static void other_sizes_refuse_them(void **state)
{
    llap_train_opts o = options();
    llap_model     *m;
    (void)state;
    o.size = LLAP_TRAIN_SIZE_TINY;
    o.training = NULL;
    assert_int_equal(llap_train(panel, &o, &m), LLAP_EOPTION);
    assert_non_null(strstr(llap_error_detail(), "diffusion"));
}

/* A training that is stopped at the diffusion networks goes on to the same model. */
static int stop_at_members(void *user, const llap_progress_event *e)
{
    bool *stopped = user;
    if (strcmp(e->stage, "member.0") != 0 || e->done < 2) return 0;
    *stopped = true;
    return 1;
}

static void training_with_them_goes_on_and_says_who_answers(void **state)
{
    llap_train_opts o = options();
    llap_model     *whole, *m = NULL;
    char           *text;
    bool            stopped = false;
    (void)state;
    CHECK_OK(llap_train(panel, &o, &whole));
    assert_true(whole->stack->diffusion.tried);
    assert_true((whole->network != NULL) == ll_stack_diffuses(&whole->stack->diffusion));
    CHECK_OK(llap_model_describe(whole, 0, &text));
    assert_non_null(strstr(text, "diffusion networks: CRPS"));
    llap_text_free(text);
    o.state = in_folder("diffusion.state");
    o.progress = (llap_progress){ stop_at_members, &stopped };
    assert_int_equal(llap_train(panel, &o, &m), LLAP_ECANCELLED);
    assert_true(stopped);
    o.resume = 1;
    o.progress = (llap_progress){ 0 };
    CHECK_OK(llap_train(panel, &o, &m));
    CHECK_OK(llap_model_save(whole, in_folder("whole")));
    CHECK_OK(llap_model_save(m, in_folder("stopped")));
    check_same_file(in_folder("whole"), in_folder("stopped"));
    llap_model_destroy(m);
    llap_model_destroy(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_get_a_weight_where_both_halves_gain),
        cmocka_unit_test(without_weight_they_change_nothing),
        cmocka_unit_test(with_a_weight_their_quantiles_and_ranks_count),
        cmocka_unit_test(a_file_keeps_them),
        cmocka_unit_test(other_sizes_refuse_them),
        cmocka_unit_test(training_with_them_goes_on_and_says_who_answers)
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
