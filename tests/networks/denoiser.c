/* The denoiser with random sizes and options: cpu against ref, gradients against differences, and
 * what must not matter. Equality with the reference implementation is llapdiff-golden's. */
#include "check.h"
#include "net.h"

#include "backend/cpu/cpu.h"
#include "base/json/json.h"
#include "networks/denoiser.h"

typedef struct shapes {
    ll_denoiser_config c;
    int64_t            B, R, h, S;
    bool               E, tq, sc, rows; /* which inputs there are */
} shapes;

static shapes draw_shapes(uint64_t seed)
{
#define PICK(name, low, high) net_pick(seed, #name, low, high)
    const int64_t heads = PICK(heads, 1, 3);
    shapes        s = {
               .c = { .data_dim = PICK(Z, 2, 4),
                      .hidden_dim = heads * PICK(head, 2, 3),
                      .num_layers = PICK(L, 0, 2),
                      .num_heads = heads,
                      .laplace_k = PICK(K, 1, 4),
                      .timesteps = PICK(T, 2, 30),
                      .mlp_ratio = (double)PICK(ratio, 1, 4),
                      .rho_conditioning_mode = (ll_rho_mode)PICK(rho, 0, 1),
                      .summary_pool_mode = (ll_pool_mode)PICK(pool, 0, 1),
                      .self_conditioning = PICK(self, 0, 1),
                      .pole_pool_use_raw_summary = PICK(raw, 0, 1),
                      .block_summary_adaln = PICK(adaln, 0, 1),
                      .analysis_summary_qk = PICK(qk, 0, 1),
                      .analysis_qk_use_raw_summary = PICK(qk_raw, 0, 1),
                      .cross_first = PICK(cross, 0, 1),
                      .use_mlp_residual = PICK(mlp, 0, 1),
                      .fixed_poles = PICK(fixed, 0, 4) == 0 },
               .B = PICK(B, 1, 3),
               .R = PICK(R, 1, 3),
               .h = PICK(h, 1, 5),
               .S = PICK(S, 1, 4),
               .E = PICK(E, 0, 4) > 0,
               .tq = PICK(tq, 0, 2) > 0,
               .sc = PICK(sc, 0, 1),
               .rows = PICK(rows, 0, 1),
    };
#undef PICK
    return s;
}

static ll_denoiser_in inputs(ll_graph *g, const shapes *s)
{
    const int64_t  H = s->c.hidden_dim;
    ll_denoiser_in in = {
        .z = ll_input(g, "z", LL_SHAPE(s->B, s->R, s->h, s->c.data_dim)),
        .t = ll_input_int(g, "t", LL_SHAPE(s->B)),
    };
    if (s->tq) in.tq = ll_input(g, "tq", LL_SHAPE(s->B, s->h));
    if (s->E) in.E = ll_input(g, "E", LL_SHAPE(s->B, s->S, H));
    if (s->E) in.E_raw = ll_input(g, "E_raw", LL_SHAPE(s->B, s->S, H));
    if (s->E && s->rows) in.conditional = ll_input(g, "rows", LL_SHAPE(s->B));
    if (s->c.self_conditioning && s->sc) in.sc = ll_input(g, "sc", ll_shape_of(in.z));
    return in;
}

static double fill(const net *n, const char *name, int64_t k)
{
    const shapes *s = n->cfg;
    if (strcmp(name, "t") == 0) return (double)((k * 7 + 3) % s->c.timesteps);
    if (strcmp(name, "tq") == 0) return 0.3 + 0.8 * (double)(k % s->h);
    if (strcmp(name, "rows") == 0) return (double)(k % 2);
    return NAN;
}

/* One number of the whole result. */
static ll_tensor *describe(ll_graph *g, const void *cfg)
{
    const shapes  *s = cfg;
    ll_denoiser_in in = inputs(g, s);
    ll_tensor     *y = ll_denoiser(g, &s->c, &in);
    ll_tensor     *w = ll_input(g, "weights", ll_shape_of(in.z));
    return ll_sum(g, ll_mul(g, y, w), LL_ALL_AXES);
}

/* The norms over the few latent channels divide by up to sqrt(1e-5): where damped modes have
 * decayed they amplify rounding some 300 times, and curve as sharply. */
static void any_configuration_on_cpu_and_ref_with_gradients(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        const shapes s = draw_shapes(seed);
        net_check(&(net){ .describe = describe,
                          .cfg = &s,
                          .seed = seed,
                          .fill = fill,
                          .fixed = "tq rows weights",
                          .tolerance = 1e-3,
                          .step = 1e-6 });
    }
}

/* -------- what must not matter -------- */

typedef struct outcome { /* a graph run on the cpu with normal parameters */
    ll_graph  *g;
    ll_plan   *plan;
    ll_run    *run;
    ll_params *params;
    float     *data[16];
    int        n;
} outcome;

static void execute(outcome *o, const shapes *s, uint64_t seed)
{
    const net n = { .cfg = s, .seed = seed };
    CHECK_OK(ll_graph_status(o->g));
    CHECK_OK(ll_plan_create(o->g, &(ll_plan_opts){ .backend = &ll_backend_cpu, .n_threads = 2 },
                            &o->plan));
    CHECK_OK(ll_run_create(o->plan, &o->run));
    CHECK_OK(ll_params_create(o->g, &ll_backend_cpu, &o->params));
    ll_params_init(o->params, seed);
    CHECK_OK(ll_denoiser_init(o->params, "", seed));
    for (int i = 0; i < ll_params_count(o->params); i++) { /* nothing hidden by zeros */
        const ll_param_info *p = ll_params_at(o->params, i);
        for (int64_t k = 0; k < p->count && p->leaf == LL_LEAF_PARAM; k++)
            ((float *)p->data)[k] += 0.2f * (float)net_normal(seed, p->name, k);
    }
    CHECK_OK(ll_params_bind(o->params, LL_PARAMS_MODEL, o->plan, o->run));
    for (int i = 0; i < ll_plan_n_slots(o->plan); i++) {
        const ll_slot *slot = ll_plan_slot(o->plan, i);
        if (slot->leaf != LL_LEAF_INPUT) continue;
        const int64_t count = ll_shape_count(&slot->shape);
        float        *x = o->data[o->n++] = ll_new((size_t)count, sizeof *x);
        assert_non_null(x);
        for (int64_t k = 0; k < count; k++) {
            const double v = fill(&n, slot->name, k);
            if (slot->elem == LL_INT) ((int32_t *)(void *)x)[k] = (int32_t)v;
            else x[k] = (float)(isnan(v) ? net_normal(seed, slot->name, k) : v);
        }
        CHECK_OK(ll_run_bind(o->run, slot->name, x, count));
    }
    CHECK_OK(ll_run_exec(o->run));
}

static void finish(outcome *o)
{
    for (int i = 0; i < o->n; i++) ll_free(o->data[i]);
    ll_run_destroy(o->run);
    ll_plan_release(o->plan);
    ll_params_destroy(o->params);
    ll_graph_destroy(o->g);
}

static const float *result(const outcome *o, const char *name, int64_t *count)
{
    ll_shape     s = { 0 };
    const float *x = ll_run_output(o->run, name, &s);
    assert_non_null(x);
    *count = ll_shape_count(&s);
    return x;
}

static void check_near(const outcome *o, const char *a, const char *b, double tolerance)
{
    int64_t      n, m;
    const float *x = result(o, a, &n), *y = result(o, b, &m);
    double       top = 0.0;
    assert_int_equal(n, m);
    for (int64_t k = 0; k < n; k++) top = fmax(top, fabs((double)y[k]));
    for (int64_t k = 0; k < n; k++)
        if (!(fabs((double)x[k] - (double)y[k]) <= tolerance * top))
            fail_msg("%s[%lld] = %.9g, %s: %.9g", a, (long long)k, (double)x[k], b, (double)y[k]);
}

/* A row whose flag is 0 gives what the unconditional pass gives, one with 1 the conditional. */
static void flagged_rows_equal_separate_passes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        shapes  s = draw_shapes(seed);
        outcome o = { 0 };
        s.B = 4;
        s.E = s.rows = true;
        CHECK_OK(ll_graph_create(&o.g));
        ll_denoiser_in in = inputs(o.g, &s);
        ll_tensor     *mixed = ll_denoiser(o.g, &s.c, &in);
        ll_tensor     *rows = ll_reshape(o.g, in.conditional, LL_SHAPE(4, 1, 1, 1));
        in.conditional = NULL;
        ll_tensor *with = ll_denoiser(o.g, &s.c, &in);
        in.E = in.E_raw = NULL;
        ll_tensor *without = ll_denoiser(o.g, &s.c, &in);
        without = ll_mul(o.g, without, ll_affine(o.g, rows, -1.0, 1.0));
        ll_output(o.g, "mixed", mixed);
        ll_output(o.g, "apart", ll_add(o.g, ll_mul(o.g, with, rows), without));
        execute(&o, &s, seed);
        check_near(&o, "mixed", "apart", 2e-5);
        finish(&o);
    }
}

/* Each of the first axis n times. */
static ll_tensor *repeat(ll_graph *g, ll_tensor *x, int64_t n)
{
    ll_tensor *one = ll_unsqueeze(g, x, 1);
    ll_shape   wide = ll_shape_of(one), flat = ll_shape_of(x);
    wide.dim[1] = n;
    flat.dim[0] *= n;
    return ll_reshape(g, ll_expand(g, one, wide), flat);
}

/* R samples of a window equal R windows with one sample each. */
static void samples_equal_repeated_windows(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        shapes  s = draw_shapes(seed);
        outcome o = { 0 };
        s.rows = false;
        CHECK_OK(ll_graph_create(&o.g));
        ll_denoiser_in   in = inputs(o.g, &s);
        const ll_shape   flat = LL_SHAPE(s.B * s.R, s.h, s.c.data_dim);
        ll_tensor *const all = ll_denoiser(o.g, &s.c, &in);
        in.z = ll_reshape(o.g, in.z, flat);
        if (in.sc != NULL) in.sc = ll_reshape(o.g, in.sc, flat);
        if (in.tq != NULL) in.tq = repeat(o.g, in.tq, s.R);
        if (in.E != NULL) in.E = repeat(o.g, in.E, s.R);
        if (in.E_raw != NULL) in.E_raw = repeat(o.g, in.E_raw, s.R);
        ll_tensor *table = ll_param(o.g, "time_embed.weight",
                                    LL_SHAPE(s.c.timesteps, s.c.hidden_dim), LL_INIT_ZERO);
        in.tau = repeat(o.g, ll_silu(o.g, ll_embedding(o.g, table, in.t)), s.R);
        ll_output(o.g, "samples", all);
        ll_output(o.g, "windows", ll_denoiser(o.g, &s.c, &in));
        execute(&o, &s, seed);
        check_near(&o, "samples", "windows", 2e-5);
        finish(&o);
    }
}

/* -------- configuration -------- */

static void configuration_survives_json(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        const shapes       s = draw_shapes(seed);
        ll_json_writer     w = { 0 };
        ll_denoiser_config back = LL_DENOISER_PAPER(3);
        ll_json           *j;
        char              *text;
        size_t             n;
        ll_json_open(&w, NULL, '{');
        ll_json_open(&w, "denoiser", '{');
        ll_denoiser_config_write(&w, &s.c);
        ll_json_close(&w, '}');
        ll_json_close(&w, '}');
        CHECK_OK(ll_json_finish(&w, &text, &n));
        CHECK_OK(ll_json_parse(text, n, "config", NULL, &j));
        CHECK_OK(ll_denoiser_config_read(j, "denoiser", &back));
        ll_json_writer again = { 0 };
        char          *second;
        ll_json_open(&again, NULL, '{');
        ll_json_open(&again, "denoiser", '{');
        ll_denoiser_config_write(&again, &back);
        ll_json_close(&again, '}');
        ll_json_close(&again, '}');
        CHECK_OK(ll_json_finish(&again, &second, &n));
        assert_string_equal(text, second);
        ll_json_destroy(j);
        ll_free(text);
        ll_free(second);
    }
}

static void a_wrong_configuration_is_named(void **state)
{
    (void)state;
    ll_denoiser_config c = LL_DENOISER_PAPER(24);
    ll_graph          *g;
    ll_json           *j;
    CHECK_OK(ll_denoiser_config_check(&c));
    c.num_heads = 3;
    CHECK_FAIL(ll_denoiser_config_check(&c), LLAP_EINVAL,
               "num_heads: 3 does not divide hidden_dim 256");
    CHECK_OK(ll_graph_create(&g));
    ll_denoiser(g, &c, &(ll_denoiser_in){ .z = ll_input(g, "z", LL_SHAPE(1, 2, 24)) });
    CHECK_FAIL(ll_graph_status(g), LLAP_EINVAL, "num_heads");
    ll_graph_destroy(g);
    static const char *const bad[][2] = {
        { "{\"laplace_k\": 0}", "'laplace_k': expected an integer in 1..65536, found 0" },
        { "{\"rho_conditioning_mode\": \"old\"}", "rho_conditioning_mode" },
        { "{\"dropout\": 1.5}", "dropout" },
    };
    for (int i = 0; i < 3; i++) {
        c = LL_DENOISER_PAPER(24);
        CHECK_OK(ll_json_parse(bad[i][0], strlen(bad[i][0]), "config", NULL, &j));
        CHECK_FAIL(ll_denoiser_config_read(j, "", &c), LLAP_EFORMAT, bad[i][1]);
        ll_json_destroy(j);
    }
}

/* docs/spec/model.md 4.10: the number of parameters at paper size with Z = 24. */
static void paper_size_has_the_parameters_of_the_specification(void **state)
{
    (void)state;
    const ll_denoiser_config c = LL_DENOISER_PAPER(24);
    const shapes             s = { .c = c, .B = 1, .R = 1, .h = 2, .S = 2, .E = true };
    ll_graph                *g;
    int64_t                  count = 0;
    CHECK_OK(ll_graph_create(&g));
    ll_denoiser_in in = inputs(g, &s);
    ll_denoiser(g, &c, &in);
    CHECK_OK(ll_graph_status(g));
    for (int i = 0; i < ll_graph_n_params(g); i++) {
        const ll_shape shape = ll_shape_of(ll_graph_param(g, i));
        count += ll_shape_count(&shape);
    }
    assert_int_equal(ll_graph_n_params(g), 174);
    assert_int_equal(count, 9689697);
    ll_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_configuration_on_cpu_and_ref_with_gradients),
        cmocka_unit_test(flagged_rows_equal_separate_passes),
        cmocka_unit_test(samples_equal_repeated_windows),
        cmocka_unit_test(configuration_survives_json),
        cmocka_unit_test(a_wrong_configuration_is_named),
        cmocka_unit_test(paper_size_has_the_parameters_of_the_specification),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
