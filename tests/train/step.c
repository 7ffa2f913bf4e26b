/* One training step of both profiles' networks on a GPU: loss, norm and the gradient of every
 * parameter in tf32 and bf16 against those in floats. LLAP_DEVICE names the device (cuda). */
#include "check.h"

#include "backend/cuda/cuda.h"
#include "base/alloc.h"
#include "bench/rig.h"

static const struct {
    const char *name;
    ll_rig_opts o;
} works[] = {
    { "paper, 8 rows", { .size = LL_RIG_PAPER, .rows = 8 } },
    { "paper, 130 rows", { .size = LL_RIG_PAPER, .rows = 130 } },
    { "small, 40 rows", { .size = LL_RIG_SMALL, .rows = 40, .horizon = 24, .latent = 12 } },
};

static ll_rig *stepped(ll_rig_opts o, ll_precision p)
{
    const char *name = getenv("LLAP_DEVICE") == NULL ? "cuda" : getenv("LLAP_DEVICE");
    ll_rig     *r;
    o.what = LL_RIG_STEP;
    if (ll_device_find(name, p, &o.backend) != LLAP_OK || o.backend == NULL) skip();
    CHECK_OK(ll_rig_create(&o, &r));
    CHECK_OK(ll_rig_run(r));
    CHECK_OK(ll_params_pull(ll_rig_params(r)));
    return r;
}

static double result(ll_rig *r, const char *name)
{
    return (double)*(const float *)ll_run_output(ll_rig_inner_run(r), name, NULL);
}

/* The first moments, a tenth of the gradients: norms of the difference and of the first. */
static void compare(const ll_rig *a, const ll_rig *b, const char *name, double tol)
{
    double all = 0.0, off = 0.0, worst = 0.0, most = 0.0;
    char   where[160] = "";
    for (int i = 0; i < ll_params_count(ll_rig_params(a)); i++) {
        const ll_param_info *x = ll_params_at(ll_rig_params(a), i);
        if (strncmp(x->name, "adam.m.", 7) != 0) continue;
        const ll_param_info *y = ll_params_find(ll_rig_params(b), x->name);
        double               sum = 0.0, diff = 0.0;
        for (int64_t k = 0; k < x->count; k++) {
            const double u = (double)((float *)x->data)[k], v = (double)((float *)y->data)[k];
            sum += u * u;
            diff += (u - v) * (u - v);
        }
        all += sum;
        off += diff;
        if (sum > most) most = sum;
        if (!(diff <= worst * sum) && sum > 1e-8 * most) {
            worst = diff / sum;
            snprintf(where, sizeof where, "%s", x->name);
        }
    }
    printf("%s: gradients off by %.2g in all, at most %.2g in %s\n", name, sqrt(off / all),
           sqrt(worst), where);
    assert_true(all > 0.0 && sqrt(off / all) <= tol);
}

static void precisions_agree(void **state)
{
    (void)state;
    const double tol[] = { 0.0, 1e-2, 5e-2 };
    for (size_t i = 0; i < (check_quick() ? 1 : sizeof works / sizeof *works); i++) {
        ll_rig_opts o = works[i].o;
        if (check_quick()) o.rows = 2; /* wide results still have 2^18 numbers */
        ll_rig *a = stepped(o, LL_PRECISION_FP32);
        for (int p = LL_PRECISION_TF32; p < LL_PRECISION_COUNT; p++) {
            if (check_leaves(ll_precision_names[p])) continue;
            ll_rig *b = stepped(o, (ll_precision)p);
            char    name[64];
            snprintf(name, sizeof name, "%s, %s", works[i].name, ll_precision_names[p]);
            printf("%s: loss %.6f for %.6f, norm %.6f for %.6f\n", name, result(b, "loss"),
                   result(a, "loss"), result(b, "grad_norm"), result(a, "grad_norm"));
            compare(a, b, name, tol[p]);
            assert_true(fabs(result(b, "loss") - result(a, "loss")) <=
                        tol[p] * fabs(result(a, "loss")));
            assert_true(fabs(result(b, "grad_norm") - result(a, "grad_norm")) <=
                        tol[p] * result(a, "grad_norm"));
            ll_rig_destroy(b);
        }
        ll_rig_destroy(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(precisions_agree) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
