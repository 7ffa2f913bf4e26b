/* The default profile's denoiser and summarizer: gradients, and what must not matter. */
#include "check.h"
#include "net.h"

#include "backend/cpu/cpu.h"
#include "diffusion/prepared_denoiser.h"
#include "networks/patches.h"

#define PI 3.14159265358979323846

typedef struct shapes {
    ll_denoiser_config c;
    ll_patch_config    patch;
    int64_t            B, R, h;
    bool               E, rows;
} shapes;

static shapes draw_shapes(uint64_t seed)
{
#define PICK(name, low, high) net_pick(seed, #name, low, high)
    const int64_t heads = PICK(heads, 1, 2), H = heads * PICK(head, 2, 3), S = PICK(S, 2, 4);
    return (shapes){ .c = { .data_dim = PICK(Z, 1, 3),
                            .hidden_dim = H,
                            .num_layers = PICK(L, 0, 2),
                            .num_heads = heads,
                            .laplace_k = PICK(K, 1, 4),
                            .timesteps = 2,
                            .mlp_ratio = 2,
                            .cross_first = true,
                            .stream = LL_STREAM_TOKENS,
                            .query_features = PICK(F, 0, 3),
                            .synthesis_dim = PICK(ds, 0, 1) * 5,
                            .fixed_poles = PICK(fixed, 0, 3) == 0 },
                     .patch = { .token_dim = PICK(T, 1, 4),
                                .tokens = S,
                                .hidden_dim = H,
                                .num_layers = PICK(PL, 0, 2),
                                .num_heads = heads,
                                .entities = PICK(entities, 0, 1) * 3 },
                     .B = PICK(B, 1, 3),
                     .R = PICK(R, 1, 2),
                     .h = PICK(h, 2, 5),
                     .E = PICK(E, 0, 4) > 0,
                     .rows = PICK(rows, 0, 1) };
#undef PICK
}

static ll_denoiser_in inputs(ll_graph *g, const shapes *s)
{
    ll_denoiser_in in = {
        .z = ll_input(g, "z", LL_SHAPE(s->B, s->R, s->h, s->c.data_dim)),
        .time = ll_input(g, "time", LL_SHAPE(s->B)),
        .tq = ll_input(g, "tq", LL_SHAPE(s->B, s->h)),
        .pad = ll_input(g, "pad", LL_SHAPE(s->B, s->h)),
    };
    if (s->c.query_features > 0) in.f = ll_input(g, "f", LL_SHAPE(s->B, s->h, s->c.query_features));
    if (!s->E) return in;
    in.E_pad = ll_input(g, "E_pad", LL_SHAPE(s->B, s->patch.tokens));
    if (s->rows) in.conditional = ll_input(g, "rows", LL_SHAPE(s->B));
    const ll_patch_in p = {
        .tokens = ll_input(g, "tokens", LL_SHAPE(s->B, s->patch.tokens, s->patch.token_dim)),
        .entity = s->patch.entities > 0 ? ll_input_int(g, "entity", LL_SHAPE(s->B)) : NULL,
        .pad = in.E_pad,
    };
    ll_scope_push(g, "patch");
    in.E = ll_patch_summary(g, &s->patch, &p);
    ll_scope_pop(g);
    return in;
}

static double fill(const net *n, const char *name, int64_t k)
{
    const shapes *s = n->cfg;
    if (strcmp(name, "time") == 0) return 0.1 + 0.8 * net_uniform(n->seed, name, k);
    if (strcmp(name, "tq") == 0) return 0.3 + 0.8 * (double)(k % s->h);
    if (strcmp(name, "rows") == 0) return (double)(k % 2);
    if (strcmp(name, "entity") == 0) return (double)(k % 3);
    if (strcmp(name, "pad") == 0) return k % s->h == s->h - 1 ? 1.0 : 0.0;
    if (strcmp(name, "E_pad") == 0) return k % s->patch.tokens == 0 ? 1.0 : 0.0;
    return NAN;
}

static ll_tensor *describe(ll_graph *g, const void *cfg)
{
    const shapes        *s = cfg;
    const ll_denoiser_in in = inputs(g, s);
    ll_tensor           *y = ll_denoiser(g, &s->c, &in);
    ll_tensor           *w = ll_input(g, "weights", ll_shape_of(in.z));
    return ll_sum(g, ll_mul(g, y, w), LL_ALL_AXES);
}

static void any_configuration_on_cpu_and_ref_with_gradients(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        const shapes s = draw_shapes(seed);
        net_check(&(net){ .describe = describe,
                          .cfg = &s,
                          .seed = seed,
                          .fill = fill,
                          .fixed = "time tq pad rows E_pad weights",
                          .tolerance = 1e-3,
                          .step = 1e-6 });
    }
}

/* Plain masked MSE of v in continuous time, through denoiser and summarizer. */
static ll_tensor *describe_loss(ll_graph *g, const void *cfg)
{
    shapes s = *(const shapes *)cfg;
    s.R = 1;
    const ll_denoiser_in d = inputs(g, &s);
    const ll_shape       shape = LL_SHAPE(s.B, s.h, s.c.data_dim);
    const ll_loss_opts   o = { .predict = LL_PREDICT_V };
    const ll_loss_in     in = { .z0 = ll_input(g, "z0", shape),
                                .eps = ll_input(g, "eps", shape),
                                .mask = ll_affine(g, d.pad, -1.0, 1.0),
                                .time = d.time,
                                .tq = d.tq,
                                .E = d.E,
                                .conditional = d.conditional,
                                .f = d.f,
                                .pad = d.pad,
                                .E_pad = d.E_pad };
    return ll_diffusion_loss(g, &s.c, NULL, &o, &in);
}

static void the_loss_on_cpu_and_ref_with_gradients(void **state)
{
    (void)state;
    for (uint64_t seed = 21; seed <= 25; seed++) {
        const shapes s = draw_shapes(seed);
        net_check(&(net){ .describe = describe_loss,
                          .cfg = &s,
                          .seed = seed,
                          .fill = fill,
                          .fixed = "time tq pad rows E_pad z",
                          .tolerance = 1e-3,
                          .step = 1e-6 });
    }
}

/* -------- what must not matter -------- */

/* Runs the network on the cpu; where, k and by change one element of an input. */
static void run(const shapes *s, uint64_t seed, const char *where, int64_t k_changed, float by,
                float *out)
{
    const net  n = { .cfg = s, .seed = seed };
    ll_graph  *g;
    ll_plan   *plan;
    ll_run    *r;
    ll_params *params;
    float     *data[16] = { NULL };
    int        used = 0;
    CHECK_OK(ll_graph_create(&g));
    const ll_denoiser_in in = inputs(g, s);
    ll_output(g, "y", ll_denoiser(g, &s->c, &in));
    CHECK_OK(
        ll_plan_create(g, &(ll_plan_opts){ .backend = &ll_backend_cpu, .n_threads = 1 }, &plan));
    CHECK_OK(ll_run_create(plan, &r));
    CHECK_OK(ll_params_create(g, &ll_backend_cpu, &params));
    ll_params_init(params, seed);
    CHECK_OK(ll_denoiser_init_calendar(params, "", seed, 1.0));
    for (int i = 0; i < ll_params_count(params); i++) {
        const ll_param_info *p = ll_params_at(params, i);
        for (int64_t k = 0; k < p->count && strstr(p->name, "_raw") == NULL; k++)
            ((float *)p->data)[k] += 0.2f * (float)net_normal(seed, p->name, k);
    }
    CHECK_OK(ll_params_bind(params, LL_PARAMS_MODEL, plan, r));
    for (int i = 0; i < ll_plan_n_slots(plan); i++) {
        const ll_slot *slot = ll_plan_slot(plan, i);
        if (slot->leaf != LL_LEAF_INPUT) continue;
        const int64_t count = ll_shape_count(&slot->shape);
        float        *x = data[used++] = ll_new((size_t)count, sizeof *x);
        assert_non_null(x);
        for (int64_t k = 0; k < count; k++) {
            const double v = fill(&n, slot->name, k);
            if (slot->elem == LL_INT) ((int32_t *)(void *)x)[k] = (int32_t)v;
            else x[k] = (float)(isnan(v) ? net_normal(seed, slot->name, k) : v);
        }
        if (strcmp(slot->name, where) == 0) x[k_changed] += by;
        CHECK_OK(ll_run_bind(r, slot->name, x, count));
    }
    CHECK_OK(ll_run_exec(r));
    ll_shape     shape;
    const float *y = ll_run_output(r, "y", &shape);
    memcpy(out, y, (size_t)ll_shape_count(&shape) * sizeof *y);
    for (int i = 0; i < used; i++) ll_free(data[i]);
    ll_run_destroy(r);
    ll_plan_release(plan);
    ll_params_destroy(params);
    ll_graph_destroy(g);
}

enum { MOST = 3 * 2 * 5 * 3 };

/* What lies at a padded query or token reaches no real query; what is real does. */
static void padding_changes_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        shapes s = draw_shapes(seed);
        float  a[MOST], b[MOST];
        s.E = true;
        s.rows = false;
        if (s.c.num_layers == 0) s.c.num_layers = 1;
        const int64_t Z = s.c.data_dim, n = s.h * Z;
        run(&s, seed, "", 0, 0.0f, a);
        run(&s, seed, "z", n - 1, 3.0f, b); /* of the last query, which is none */
        assert_memory_equal(a, b, (size_t)(n - Z) * sizeof *a);
        run(&s, seed, "tokens", 0, 3.0f, b); /* of the first token, which is none */
        assert_memory_equal(a, b, (size_t)(n - Z) * sizeof *a);
        run(&s, seed, "z", 0, 3.0f, b);
        assert_memory_not_equal(a, b, (size_t)(n - Z) * sizeof *a);
        run(&s, seed, "tokens", s.patch.token_dim, 3.0f, b);
        assert_memory_not_equal(a, b, (size_t)(n - Z) * sizeof *a);
    }
}

/* Twelve steps of DPM-Solver++: one plan and halves agree, and a window alone has the same bits. */
static void sampling_in_continuous_time(void **state)
{
    (void)state;
    enum { B = 3, R = 2, h = 4, F = 2, S = 3, H = 6, Z = 2, ONE = h * Z };
    ll_denoiser_config c = LL_DENOISER_DEFAULT(Z, F);
    c.hidden_dim = H;
    c.num_heads = 2;
    c.laplace_k = 12;
    const ll_patch_config patch = { .token_dim = 1, .tokens = S, .hidden_dim = H, .num_heads = 2 };
    const shapes          s = { .c = c, .patch = patch, .B = 1, .R = 1, .h = h, .E = true };
    ll_graph             *g;
    ll_params            *params;
    ll_points             list;
    float                 tq[B * h], E[B * S * H], f[B * h * F], out[3][B * R * ONE], one[R * ONE];
    const uint64_t        window[B] = { 5, 6, 7 };
    CHECK_OK(ll_graph_create(&g));
    const ll_denoiser_in in = inputs(g, &s);
    ll_denoiser(g, &c, &in);
    CHECK_OK(ll_params_create(g, &ll_backend_cpu, &params));
    ll_graph_destroy(g);
    ll_params_init(params, 8);
    CHECK_OK(ll_denoiser_init_calendar(params, "", 8, 1.0));
    for (int k = 0; k < B * h; k++) tq[k] = 1.0f + (float)(k % h);
    for (int k = 0; k < B * S * H; k++) E[k] = (float)net_normal(1, "E", k);
    for (int k = 0; k < B * h * F; k++) f[k] = (float)net_normal(1, "f", k);
    CHECK_OK(ll_points_continuous(12, 0.996, 0.012, false, &list));
    for (int i = 0; i < 3; i++) { /* in one plan, in halves, the last window alone */
        const int                       rows = i < 2 ? B : 1, first = B - rows;
        const ll_extent                 e = { rows, R, h, Z };
        const ll_prepared_denoiser_opts o = { .extent = e,
                                              .S = S,
                                              .backend = &ll_backend_cpu,
                                              .n_threads = i + 1,
                                              .whole = i == 0,
                                              .sampler = LL_SAMPLER_DEFAULT };
        ll_prepared_denoiser           *d;
        CHECK_OK(ll_prepared_denoiser_create(&c, params, &o, &list, &d));
        const ll_prepared_denoiser_batch w = { .tq = tq + first * h,
                                               .E = E + first * S * H,
                                               .f = f + first * h * F };
        CHECK_OK(ll_prepared_denoiser_sample(
            d, &w, &(ll_sample_io){ .seed = 4, .window = window + first }, i < 2 ? out[i] : one));
        ll_prepared_denoiser_destroy(d);
    }
    for (int k = 0; k < B * R * ONE; k++) {
        assert_true(fabsf(out[0][k] - out[1][k]) < 1e-4f);
        assert_true(fabsf(out[1][k]) <= 6.0f);
    }
    assert_memory_equal(one, out[1] + (B - 1) * R * ONE, sizeof one);
    ll_points_deinit(&list);
    ll_params_destroy(params);
}

static void default_size_and_start(void **state)
{
    (void)state;
    const ll_denoiser_config c = LL_DENOISER_DEFAULT(6, 14);
    const ll_patch_config    patch = LL_PATCH_DEFAULT(60, 56);
    const shapes             s = { .c = c, .patch = patch, .B = 1, .R = 1, .h = 3, .E = true };
    ll_graph                *g;
    ll_params               *params;
    int64_t                  count = 0;
    CHECK_OK(ll_graph_create(&g));
    const ll_denoiser_in in = inputs(g, &s);
    ll_denoiser(g, &c, &in);
    CHECK_OK(ll_params_create(g, &ll_backend_cpu, &params));
    for (int i = 0; i < ll_params_count(params); i++) count += ll_params_at(params, i)->count;
    assert_true(count > 800000 && count < 1400000); /* "1.1 M parameters with summarizer" */
    ll_params_init(params, 3);
    CHECK_OK(ll_denoiser_init_calendar(params, "", 3, 1.0));
    const ll_param_info *omega = ll_params_find(params, "model.analysis._omega_raw");
    const double         day = PI / (1.0 + exp(-ll_param_get(params, omega, 0)));
    assert_true(fabs(day - 2.0 * PI / 24.0) < 1e-5);
    CHECK_FAIL(ll_denoiser_init_calendar(params, "", 3, -1.0), LLAP_EINVAL, "-1 hours");
    ll_params_destroy(params);
    ll_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_configuration_on_cpu_and_ref_with_gradients),
        cmocka_unit_test(the_loss_on_cpu_and_ref_with_gradients),
        cmocka_unit_test(padding_changes_nothing),
        cmocka_unit_test(sampling_in_continuous_time),
        cmocka_unit_test(default_size_and_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
