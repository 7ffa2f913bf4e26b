/* A model of size stack from training to answers, on a made-up network of sensors. */
#include "folder.h"
#include "saved.h"
#include "sensors.h"

#include "base/alloc.h"
#include "model/model.h"
#include "predict/view/series.h"
#include "predict/view/stack_view.h"

#include <math.h>
#include <omp.h>
#include <string.h>

static llap_panel *panel; /* variables "no2" (to forecast) and "noise" */
static llap_model *model;

#define QUICK                                      \
    "{\"anchor\": {\"steps\": 40, \"rows\": 16}, " \
    "\"stack\": {\"rows\": 1200, \"seeds\": 1, \"steps\": 40, \"batch\": 64}}"

static llap_train_opts options(void)
{
    return (llap_train_opts){ .size = LLAP_TRAIN_SIZE_STACK,
                              .target = "no2",
                              .context = "2d",
                              .horizon = "24",
                              .training = QUICK };
}

static int set_up(void **state)
{
    const llap_train_opts o = options();
    if (make_folder(state) != 0) return 1;
    panel = make_panel("no2", "noise", ENTITIES);
    return llap_train(panel, &o, &model) != LLAP_OK;
}

static int tear_down(void **state)
{
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return remove_folder(state);
}

/* The members answer, whatever the folds of so short a training say. */
static void let_members_answer(llap_model *m)
{
    double sum = 0;
    m->stack->weight[0] = 0.25;
    for (int k = 0; k < LL_STACK_KINDS; k++) sum += m->stack->member[k].used;
    assert_true(sum > 0);
    for (int k = 0; k < LL_STACK_KINDS; k++)
        m->stack->weight[1 + k] = m->stack->member[k].used ? 0.75 / sum : 0;
}

static char *forecast_text(const llap_model *m, int keep_samples)
{
    const llap_forecast_opts o = { .samples = 5, .keep_samples = keep_samples };
    llap_answer             *a;
    CHECK_OK(llap_forecast(m, panel, &o, &a));
    return answer_text(a);
}

static void a_file_answers_as_the_model(void **state)
{
    (void)state;
    const char *path = in_folder("stack.safetensors");
    llap_model *m;
    CHECK_OK(llap_model_save(model, path));
    CHECK_OK(llap_model_load(path, &m));
    assert_non_null(m->stack);
    same_text(forecast_text(model, 0), forecast_text(m, 0));
    same_text(forecast_text(model, 1), forecast_text(m, 1));
    llap_model_destroy(m);
}

/* Files of 0.2 have no ranges of columns: nothing is then held within any. */
static void files_without_ranges_load(void **state)
{
    (void)state;
    const char *path = in_folder("ranges.safetensors");
    llap_model *m, *old;
    CHECK_OK(llap_model_save(model, path));
    CHECK_OK(llap_model_load(path, &m));
    int64_t n = 0;
    for (int k = 0; k < LL_STACK_KINDS; k++) {
        ll_stack_columns *c = &m->stack->member[k].columns;
        for (int64_t i = 0; i < c->n; i++, n++) {
            const ll_stack_columns *own = &model->stack->member[k].columns;
            assert_true(c->low[i] == own->low[i] && c->high[i] == own->high[i]);
            assert_true(isfinite(c->low[i]) && c->low[i] <= c->high[i]);
            c->low[i] = -INFINITY;
        }
    }
    assert_true(n > 0);
    CHECK_OK(llap_model_save(m, path));
    CHECK_OK(llap_model_load(path, &old));
    for (int k = 0; k < LL_STACK_KINDS; k++) {
        const ll_stack_columns *c = &old->stack->member[k].columns;
        for (int64_t i = 0; i < c->n; i++)
            assert_true(c->low[i] == -INFINITY && c->high[i] == INFINITY);
    }
    llap_model_destroy(old);
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
    same_text(forecast_text(model, 0), forecast_text(m, 0));
    assert_memory_equal(model->stack->weight, m->stack->weight, sizeof m->stack->weight);
    llap_model_destroy(m);
}

typedef struct stopper {
    const char *stage;
    int64_t     done;
    bool        stopped;
} stopper;

static int stop_there(void *user, const llap_progress_event *e)
{
    stopper *s = user;
    if (strcmp(e->stage, s->stage) != 0 || (int64_t)e->done < s->done) return 0;
    s->stopped = true;
    return 1;
}

/* Stopped within the first member, within the last and while rows are made: the same model. */
static void a_stopped_training_goes_on_to_the_same_model(void **state)
{
    (void)state;
    stopper         at[] = { { "stack rows", 0, false },
                             { "stack.s", 17, false },
                             { "stack.v", 30, false } };
    llap_train_opts o = options();
    llap_model     *m = NULL;
    o.state = in_folder("stack.state");
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        o.progress = (llap_progress){ stop_there, &at[i] };
        assert_int_equal(llap_train(panel, &o, &m), LLAP_ECANCELLED);
        assert_true(at[i].stopped);
        assert_null(m);
        o.resume = 1;
    }
    o.progress = (llap_progress){ 0 };
    CHECK_OK(llap_train(panel, &o, &m));
    CHECK_OK(llap_model_save(model, in_folder("whole")));
    CHECK_OK(llap_model_save(m, in_folder("stopped")));
    check_same_file(in_folder("whole"), in_folder("stopped"));
    llap_model_destroy(m);
}

/* A stack without an opinion is the anchor, to the last bit; one with members is not. */
static void no_opinion_is_the_anchor(void **state)
{
    (void)state;
    ll_stack *stack = model->stack;
    bool      used[LL_STACK_KINDS];
    double    weight[1 + LL_STACK_KINDS];
    model->stack = NULL;
    char *anchor = forecast_text(model, 0);
    model->stack = stack;
    char *own = forecast_text(model, 0);
    assert_string_not_equal(anchor, own);
    memcpy(weight, stack->weight, sizeof weight);
    for (int k = 0; k < LL_STACK_KINDS; k++) {
        ll_stack_member *m = &stack->member[k];
        used[k] = m->used;
        if (!ll_stack_anchored((ll_stack_kind)k)) m->used = false;
        if (!m->used) continue;
        for (int i = 0; i < ll_params_count(m->params); i++) { /* as before the first step */
            const ll_param_info *p = ll_params_at(m->params, i);
            if (p->name[1] == '2') memset(p->data, 0, (size_t)p->count * sizeof(float));
        }
    }
    let_members_answer(model);
    char *none = forecast_text(model, 0);
    same_text(none, anchor);
    memcpy(stack->weight, weight, sizeof weight);
    for (int k = 0; k < LL_STACK_KINDS; k++) stack->member[k].used = used[k];
    llap_text_free(own);
}

/* evaluate scores the anchor beside the stack, energy scores of their paths too. */
static void the_anchor_is_scored_beside_it(void **state)
{
    (void)state;
    const llap_evaluate_opts o = { .bootstrap = LLAP_ZERO, .samples = 20 };
    ll_json                 *j = evaluate(model, panel, &o);
    const double             own = score(j, "model", "crps"), anchor = score(j, "anchor", "crps");
    assert_true(own > 0 && anchor > 0 && own != anchor);
    assert_true(score(j, "anchor", "energy") > 0 && score(j, "model", "energy") > 0);
    ll_json_destroy(j);
}

static void hostile_files_are_refused(void **state)
{
    (void)state;
    const char *path = in_folder("hostile.safetensors");
    check_refused(model, path, "\\\"cycle\\\":\\\"day", "\\\"cycle\\\":\\\"dog");
    check_refused(model, path, "\\\"networks\\\":4", "\\\"networks\\\":5");
    check_refused(model, path, "\\\"networks\\\":4", "\\\"networks\\\":0");
    check_refused(model, path, "\\\"windows\\\":", "\\\"widnows\\\":");
    check_refused(model, path, "stack.scale", "stack.skale");
    check_refused(model, path, "\\\"members\\\":", "\\\"nembers\\\":");
}

static void inputs_are_checked(void **state)
{
    (void)state;
    llap_train_opts o = options();
    llap_model     *m;
    o.inputs = "nois";
    assert_int_equal(llap_train(panel, &o, &m), LLAP_EINVAL);
    assert_non_null(strstr(llap_error_detail(), "noise"));
    o.inputs = "no2";
    assert_int_equal(llap_train(panel, &o, &m), LLAP_EOPTION);
    o.inputs = "noise";
    o.size = LLAP_TRAIN_SIZE_ANCHOR;
    o.training = NULL;
    assert_int_equal(llap_train(panel, &o, &m), LLAP_EOPTION);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(hostile_files_are_refused),
                                        cmocka_unit_test(a_file_answers_as_the_model),
                                        cmocka_unit_test(files_without_ranges_load),
                                        cmocka_unit_test(the_anchor_is_scored_beside_it),
                                        cmocka_unit_test(training_does_not_depend_on_threads),
                                        cmocka_unit_test(
                                            a_stopped_training_goes_on_to_the_same_model),
                                        cmocka_unit_test(no_opinion_is_the_anchor),
                                        cmocka_unit_test(inputs_are_checked) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
