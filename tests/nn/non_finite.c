/* What is not finite is found, and looking for it changes nothing. */
#include "check.h"

#include "backend/cpu/cpu.h"
#include "nn/nn.h"
#include "nn/non_finite.h"
#include "nn/optim.h"

#include <math.h>
#include <string.h>

enum { B = 3, D = 2 };

static float x[B * D];

static llap_status fill(void *user, ll_session *net, int64_t micro_batch)
{
    (void)user, (void)micro_batch;
    memcpy(ll_session_real(net, "x"), x, sizeof x);
    return LLAP_OK;
}

/* Two layers whose second takes a root: of a negative number its gradient is not finite. */
static ll_tensor *describe(ll_graph *g)
{
    ll_tensor *h = ll_nn_linear(g, "in", ll_input(g, "x", LL_SHAPE(B, D)), 4);
    return ll_mean(g, ll_sqrt(g, ll_nn_linear(g, "out", h, 1)), LL_ALL_AXES);
}

static void ask(ll_params *p, char *text, size_t size)
{
    ll_graph *g = NULL;
    CHECK_OK(ll_graph_create(&g));
    const ll_non_finite b = {
        .graph = g, .loss = describe(g), .params = p, .n_threads = 1, .fill = fill
    };
    snprintf(text, size, "as it was");
    CHECK_OK(ll_nn_find_non_finite(&b, text, size));
    ll_graph_destroy(g);
}

static void set(ll_params *p, const char *name, float value)
{
    const ll_param_info *a = ll_params_find(p, name);
    for (int64_t i = 0; i < a->count; i++) ((float *)a->data)[i] = value;
}

static void names_the_first_tensor(void **state)
{
    (void)state;
    ll_graph  *g = NULL;
    ll_params *p = NULL;
    char       text[200];
    CHECK_OK(ll_graph_create(&g));
    ll_nn_train(g, describe(g), &LL_TRAIN_DEFAULT);
    CHECK_OK(ll_params_create(g, &ll_backend_cpu, &p));
    ll_graph_destroy(g);
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
    x[3] = INFINITY;
    ask(p, text, sizeof text);
    assert_string_equal(text, "input 'x' is not finite");
    assert_float_equal(*(float *)ll_params_find(p, "adam.m.in.weight")->data, 7.0, 0);
    ll_params_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(names_the_first_tensor) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
