/* What is not finite is found, and looking for it changes nothing. */
#include "check.h"

#include "backend/cpu/cpu.h"
#include "nn/blame.h"
#include "nn/nn.h"
#include "nn/optim.h"

#include <math.h>
#include <string.h>

enum { B = 3, D = 2 };

static float x[B * D];

static llap_status bind(void *user, llap_run *run, int64_t piece)
{
    (void)user, (void)piece;
    return llap_run_bind(run, "x", x, B * D);
}

/* Two layers whose second takes a root: of a negative number its gradient is not finite. */
static llap_tensor *describe(llap_graph *g)
{
    llap_tensor *h = llap_nn_linear(g, "in", llap_input(g, "x", LLAP_SHAPE(B, D)), 4);
    return llap_mean(g, llap_sqrt(g, llap_nn_linear(g, "out", h, 1)), LLAP_ALL_AXES);
}

static void ask(llap_params *p, char *text, size_t size)
{
    const llap_plan_opts how = { .backend = &llap_backend_cpu, .n_threads = 1 };
    llap_graph          *g = NULL;
    CHECK_OK(llap_graph_create(&g));
    const llap_blame b = {
        .graph = g, .loss = describe(g), .params = p, .how = &how, .bind = bind
    };
    snprintf(text, size, "as it was");
    CHECK_OK(llap_nn_blame(&b, text, size));
    llap_graph_destroy(g);
}

static void set(llap_params *p, const char *name, float value)
{
    const llap_param_info *a = llap_params_find(p, name);
    for (int64_t i = 0; i < a->count; i++) ((float *)a->data)[i] = value;
}

static void names_the_first_tensor(void **state)
{
    (void)state;
    llap_graph  *g = NULL;
    llap_params *p = NULL;
    char         text[200];
    CHECK_OK(llap_graph_create(&g));
    llap_nn_train(g, describe(g), &LLAP_TRAIN_DEFAULT);
    CHECK_OK(llap_params_create(g, &llap_backend_cpu, &p));
    llap_graph_destroy(g);
    for (int i = 0; i < B * D; i++) x[i] = 1.0f;
    set(p, "in.weight", 1.0f);
    set(p, "out.weight", 1.0f);
    set(p, "adam.m.in.weight", 7.0f);
    ask(p, text, sizeof text);
    assert_string_equal(text, "as it was"); /* all is well */
    set(p, "out.weight", 0.0f);             /* the root of 0 is finite, its slope is not */
    ask(p, text, sizeof text);
    assert_string_equal(text, "gradient of 'in.weight' is not finite");
    set(p, "out.weight", -1.0f);
    ask(p, text, sizeof text);
    assert_string_equal(text, "the loss is not finite, nor is the gradient of 'in.weight'");
    /* The root of 4 * 1e15 * 2e-26 has a slope of 5.59e4, times 1e15: its square is too large. */
    set(p, "out.weight", 1e15f);
    set(p, "in.weight", 1e-26f);
    ask(p, text, sizeof text);
    assert_string_equal(text, "the norm of the gradients is not finite (the largest, 5.59e+19, is "
                              "of 'in.weight')");
    set(p, "out.bias", NAN);
    ask(p, text, sizeof text);
    assert_string_equal(text, "'out.bias' is not finite");
    assert_float_equal(*(float *)llap_params_find(p, "adam.m.in.weight")->data, 7.0, 0);
    llap_params_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(names_the_first_tensor) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
