/* What a model file may say about drifts. */
#include "folder.h"
#include "sensors.h"

static llap_model *trained(const llap_panel *p)
{
    llap_train_opts o = { 0 };
    llap_model     *m = NULL;
    o.size = LLAP_TRAIN_SIZE_ANCHOR;
    o.target = "no2";
    o.context = "2d";
    o.horizon = "24";
    o.no_climate = 1;
    o.training = "{\"anchor\": {\"steps\": 2, \"rows\": 4, \"valid_rows\": 5, \"cycles\": 0, "
                 "\"kappa\": 1e-300}}";
    CHECK_OK(llap_train(p, &o, &m));
    return m;
}

/* At its bounds each number is read, beyond them it is named. */
static void numbers_of_drifts_are_bounded(void **state)
{
    (void)state;
    llap_panel       *p = make_panel("no2", "noise", 1);
    llap_model       *m = trained(p), *again = NULL;
    ll_anchor_model  *a = m->anchor[0];
    ll_anchor_kernel *k = &a->kernel;
    const char       *path = in_folder("model");
    k->drift = LL_ANCHOR_SLOPE;
    k->start = k->q = k->v = k->damping = 1;
    struct {
        const char *name;
        double     *v, least, most;
    } number[] = { { "kernel.start", &k->start, 1e-50, 1e50 },
                   { "kernel.q", &k->q, 1e-50, 1e50 },
                   { "kernel.v", &k->v, 1e-50, 1e50 },
                   { "kernel.damping", &k->damping, 1e-50, 1e50 },
                   { "kappa", &a->kappa, 1e-9, 1.5e308 } };
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        const double kept = *number[i].v, ends[] = { number[i].least, number[i].most };
        for (int end = 0; end < 2; end++) {
            *number[i].v = ends[end];
            CHECK_OK(llap_model_save(m, path));
            CHECK_OK(llap_model_load(path, &again));
            llap_model_destroy(again);
            *number[i].v *= end ? 1.5 : .5;
            if (isinf(*number[i].v)) continue;
            CHECK_OK(llap_model_save(m, path));
            CHECK_FAIL(llap_model_load(path, &again), LLAP_EFORMAT, number[i].name);
        }
        *number[i].v = kept;
    }
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(numbers_of_drifts_are_bounded) };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
