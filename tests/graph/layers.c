/* Layers behind a norm or with a shared operand: one step of a plan. */
#include "check.h"

#include "backend/cpu/cpu.h"
#include "backend/ref/ref.h"
#include "graph/plan.h"

/* A layer and what is added to all its items alike are one step, with the same bits; items of
 * their own, which the middle axis shares, are added apart. */
static void a_layer_adds_what_items_share(void **state)
{
    (void)state;
    enum { R = 3, M = 50, K = 5, N = 40, WINDOWS = 2 };
    static float  x[WINDOWS * R * M * K], w[N * K], add[WINDOWS * M * N];
    static double z[2][WINDOWS * R * M * N];
    for (int i = 0; i < WINDOWS * R * M * K; i++) x[i] = (float)(i % 17) - 8.3f;
    for (int i = 0; i < N * K; i++) w[i] = 0.02f * ((float)(i % 7) - 3.0f);
    for (int i = 0; i < WINDOWS * M * N; i++) add[i] = (float)(i % 1009) / 7.0f;
    for (int b = 1; b <= WINDOWS; b++) {
        for (int apart = 0; apart < 2; apart++) {
            ll_graph *g;
            ll_plan  *p;
            ll_run   *r;
            CHECK_OK(ll_graph_create(&g));
            ll_tensor *y = ll_linear(g, ll_input(g, "x", LL_SHAPE(b, R, M, K)),
                                     ll_param(g, "w", LL_SHAPE(N, K), LL_INIT_ZERO), NULL);
            if (apart) ll_output(g, "first", y);
            ll_output(g, "y", ll_add(g, ll_input(g, "add", LL_SHAPE(b, 1, M, N)), y));
            const ll_plan_opts o = { .backend = &ll_backend_cpu, .n_threads = 2 };
            CHECK_OK(ll_plan_create(g, &o, &p));
            CHECK_OK(ll_run_create(p, &r));
            CHECK_OK(ll_run_bind(r, "x", x, b * R * M * K));
            CHECK_OK(ll_run_bind(r, "w", w, N * K));
            CHECK_OK(ll_run_bind(r, "add", add, b * M * N));
            CHECK_OK(ll_run_exec(r));
            assert_int_equal(ll_plan_n_steps(p), apart || b > 1 ? 2 : 1);
            const float *out = ll_run_output(r, "y", NULL);
            for (int i = 0; i < b * R * M * N; i++) z[apart][i] = (double)out[i];
            ll_run_destroy(r);
            ll_plan_release(p);
            ll_graph_destroy(g);
        }
        assert_memory_equal(z[0], z[1], (size_t)(b * R * M * N) * sizeof **z);
    }
}

/* Norm, linear, GELU, linear + residual with fixed weights are one step, also where later ones are
 * bound, and give what the separate ops do. Modulated: each item's rows with their own gain and
 * shift. Shared: the same is added to all items. */
static void check_layers_behind_a_norm(bool modulated, bool shared)
{
    enum { R = 3, M = 10, H = 256, UP = 64, Z = 5 };
    static float x[R * M * H], w[UP * H], v[2][Z * UP], add[R * M * Z], own[2][R * H];
    ll_graph    *g;
    ll_plan     *p[2];
    ll_run      *r[2];
    for (int i = 0; i < R * M * H; i++) x[i] = (float)(i % 17) - 8.0f;
    for (int i = 0; i < UP * H; i++) w[i] = 0.02f * ((float)(i % 7) - 3.0f);
    for (int i = 0; i < Z * UP; i++) v[0][i] = (float)(i % 5), v[1][i] = (float)(i % 3);
    for (int i = 0; i < R * M * Z; i++) add[i] = (float)(i % 11);
    for (int i = 0; i < R * H; i++)
        own[0][i] = 0.1f * (float)(i % 13 - 2 * (i / H)), own[1][i] = (float)(i % 3 + i / H);
    CHECK_OK(ll_graph_create(&g));
    ll_tensor *in = ll_input(g, "x", LL_SHAPE(R, M, H));
    ll_tensor *norm = !modulated ? ll_layer_norm(g, in, NULL, NULL, 1e-5)
                                 : ll_modulated_norm(g, in, ll_input(g, "gain", LL_SHAPE(R, 1, H)),
                                                     ll_input(g, "shift", LL_SHAPE(R, 1, H)), 1e-5);
    ll_tensor *up = ll_linear(g, norm, ll_param(g, "w", LL_SHAPE(UP, H), LL_INIT_ZERO), NULL);
    ll_tensor *y =
        ll_linear(g, ll_gelu(g, up), ll_param(g, "v", LL_SHAPE(Z, UP), LL_INIT_ZERO), NULL);
    const int n_add = shared ? M * Z : R * M * Z;
    ll_output(g, "y", ll_add(g, y, ll_input(g, "add", LL_SHAPE(shared ? 1 : R, M, Z))));
    for (int i = 0; i < 2; i++) {
        ll_plan_opts o = { .backend = &ll_backend_cpu, .n_threads = 2, .fixed_params = i == 1 };
        CHECK_OK(ll_plan_create(g, &o, &p[i]));
        CHECK_OK(ll_run_create(p[i], &r[i]));
        CHECK_OK(ll_run_bind(r[i], "x", x, R * M * H));
        CHECK_OK(ll_run_bind(r[i], "w", w, UP * H));
        CHECK_OK(ll_run_bind(r[i], "add", add, n_add));
        if (modulated) CHECK_OK(ll_run_bind(r[i], "gain", own[0], R * H));
        if (modulated) CHECK_OK(ll_run_bind(r[i], "shift", own[1], R * H));
    }
    assert_int_equal(ll_plan_n_steps(p[1]), 1);
    assert_int_equal(ll_plan_step_at(p[1], 0).op, LL_OP_MLP);
    /* Seven products in place of eight in the inner layer, but not by tiles. */
    const double inner = strcmp(ll_cpu_instructions(), "amx") == 0 ? 1.0 : 0.875;
    assert_true(ll_plan_products(p[1]) == R * M * UP * (inner * H + Z));
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 2; i++) {
            CHECK_OK(ll_run_bind(r[i], "v", v[turn], Z * UP));
            CHECK_OK(ll_run_exec(r[i]));
        }
        const float *one = ll_run_output(r[0], "y", NULL), *two = ll_run_output(r[1], "y", NULL);
        for (int i = 0; i < R * M * Z; i++) assert_true(fabsf(one[i] - two[i]) <= 1e-4f);
    }
    for (int i = 0; i < 2; i++) {
        ll_run_destroy(r[i]);
        ll_plan_release(p[i]);
    }
    ll_graph_destroy(g);
}

/* What kernels leave out is not counted: zeros in 32 rows, and of x^T y in 256; three are. */
static void zeros_are_not_counted(void **state)
{
    (void)state;
    enum { N = 520, H = 40, U = 24 };
    static float x[N * H], w[U * H];
    const int    first = N - 256 - 32, second = N - 256;
    ll_graph    *g;
    ll_plan     *p;
    ll_run      *r;
    double       products;
    for (int i = 0; i < N * H; i++) {
        const int row = i / H;
        x[i] = row < 256 || row / 32 == 10 || (row >= 400 && row < 403) ? 0.0f : 1.0f;
    }
    for (int i = 0; i < U * H; i++) w[i] = 1.0f;
    CHECK_OK(ll_graph_create(&g));
    ll_tensor *in = ll_input(g, "x", LL_SHAPE(N, H));
    ll_tensor *y = ll_linear(g, in, ll_input(g, "w", LL_SHAPE(U, H)), NULL);
    ll_output(g, "dw", ll_matmul(g, in, true, y, false));
    const ll_plan_opts o = { .backend = &ll_backend_cpu, .n_threads = 2 };
    CHECK_OK(ll_plan_create(g, &o, &p));
    CHECK_OK(ll_run_create(p, &r));
    CHECK_OK(ll_run_bind(r, "x", x, N * H));
    CHECK_OK(ll_run_bind(r, "w", w, U * H));
    CHECK_OK(ll_run_exec_counted(r, &products));
    assert_true(ll_plan_products(p) == 2.0 * N * H * U);
    assert_true(fabs(products - (double)(first + second) * H * U) < 1.0);
    const float *dw = ll_run_output(r, "dw", NULL);
    for (int i = 0; i < H * U; i++) assert_true(dw[i] == (float)((first - 3) * H));
    ll_run_destroy(r);
    ll_plan_release(p);
    ll_graph_destroy(g);
}

static void layers_behind_a_norm_are_one_step(void **state)
{
    (void)state;
    check_layers_behind_a_norm(false, false);
    check_layers_behind_a_norm(true, false);
    check_layers_behind_a_norm(true, true);
}

/* Rows that are cut anew between the norm and the layers are other rows. */
static void layers_behind_another_norm_stay_apart(void **state)
{
    enum { R = 2, M = 6, H = 512, UP = 64, Z = 4 };
    (void)state;
    static float x[R * M * H], w[UP * H / 2], v[Z * UP];
    ll_graph    *g;
    ll_plan     *p[2];
    ll_run      *r[2];
    for (int i = 0; i < R * M * H; i++) x[i] = (float)(i % 19) * (i % H < H / 2 ? 1.0f : 3.0f);
    for (int i = 0; i < UP * H / 2; i++) w[i] = 0.02f * ((float)(i % 7) - 3.0f);
    for (int i = 0; i < Z * UP; i++) v[i] = (float)(i % 5);
    CHECK_OK(ll_graph_create(&g));
    ll_tensor *in = ll_input(g, "x", LL_SHAPE(R, M, H));
    ll_tensor *cut =
        ll_reshape(g, ll_layer_norm(g, in, NULL, NULL, 1e-5), LL_SHAPE(R, 2 * M, H / 2));
    ll_tensor *up = ll_linear(g, cut, ll_param(g, "w", LL_SHAPE(UP, H / 2), LL_INIT_ZERO), NULL);
    ll_output(g, "y",
              ll_linear(g, ll_gelu(g, up), ll_param(g, "v", LL_SHAPE(Z, UP), LL_INIT_ZERO), NULL));
    for (int i = 0; i < 2; i++) {
        ll_plan_opts o = { .backend = &ll_backend_cpu, .n_threads = 1, .fixed_params = i == 1 };
        CHECK_OK(ll_plan_create(g, &o, &p[i]));
        CHECK_OK(ll_run_create(p[i], &r[i]));
        CHECK_OK(ll_run_bind(r[i], "x", x, R * M * H));
        CHECK_OK(ll_run_bind(r[i], "w", w, UP * H / 2));
        CHECK_OK(ll_run_bind(r[i], "v", v, Z * UP));
        CHECK_OK(ll_run_exec(r[i]));
    }
    const float *one = ll_run_output(r[0], "y", NULL), *two = ll_run_output(r[1], "y", NULL);
    for (int i = 0; i < R * 2 * M * Z; i++) assert_true(fabsf(one[i] - two[i]) <= 1e-4f);
    for (int i = 0; i < 2; i++) {
        ll_run_destroy(r[i]);
        ll_plan_release(p[i]);
    }
    ll_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_adds_what_items_share),
        cmocka_unit_test(layers_behind_a_norm_are_one_step),
        cmocka_unit_test(zeros_are_not_counted),
        cmocka_unit_test(layers_behind_another_norm_stay_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
