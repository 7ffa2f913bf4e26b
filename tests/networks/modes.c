/* Poles as a tool: the identities that must hold. */
#include "check.h"
#include "net.h"

#include "backend/cpu/cpu.h"
#include "networks/modes.h"

enum { K = 4 };

static void draw_modes(uint64_t seed, ll_mode *m)
{
    for (int k = 0; k < K; k++)
        m[k] = (ll_mode){ .rho = 0.05 + 0.5 * net_uniform(seed, "rho", k),
                          .omega = 3.0 * net_uniform(seed, "omega", k),
                          .c = net_normal(seed, "c", k),
                          .b = net_normal(seed, "b", k) };
}

static void half_life_and_period(void **state)
{
    (void)state;
    const ll_mode m = { .rho = 0.2, .omega = 0.5, .c = 1.0 };
    assert_true(fabs(exp(-m.rho * ll_mode_half_life(m)) - 0.5) < 1e-12);
    assert_true(fabs(cos(m.omega * ll_mode_period(m)) - 1.0) < 1e-12);
    assert_true(isinf(ll_mode_half_life((ll_mode){ 0 })));
    assert_true(isinf(ll_mode_period((ll_mode){ 0 })));
}

/* G(s) against Simpson's rule on e^(-st) y(t). */
static void the_transfer_function_is_the_laplace_transform(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        ll_mode          m[K];
        const ll_complex s = { 0.3, 0.7 * (double)seed };
        const int        n = 200000;
        const double     end = 120.0, h = end / n;
        ll_complex       sum = { 0.0, 0.0 };
        draw_modes(seed, m);
        for (int i = 0; i <= n; i++) {
            const double t = h * i, w = i == 0 || i == n ? 1.0 : i % 2 ? 4.0 : 2.0;
            const double y = w * h / 3.0 * ll_modes_response(m, K, t) * exp(-s.re * t);
            sum.re += y * cos(s.im * t);
            sum.im -= y * sin(s.im * t);
        }
        const ll_complex g = ll_modes_transfer(m, K, s);
        assert_true(hypot(g.re - sum.re, g.im - sum.im) < 1e-8);
    }
}

/* y = C e^(At) B, with e^(At) from small steps of a Taylor series. */
static void the_realisation_gives_the_response(void **state)
{
    (void)state;
    ll_mode m[K];
    double  A[4 * K * K], B[2 * K], C[2 * K], x[2 * K];
    draw_modes(3, m);
    ll_modes_realise(m, K, A, B, C);
    memcpy(x, B, sizeof x);
    const int    steps = 400;
    const double t = 5.0, h = t / steps;
    for (int step = 0; step < steps; step++) {
        double term[2 * K], next[2 * K];
        memcpy(term, x, sizeof term);
        for (int order = 1; order < 8; order++) {
            for (int i = 0; i < 2 * K; i++) {
                next[i] = 0.0;
                for (int j = 0; j < 2 * K; j++) next[i] += A[i * 2 * K + j] * term[j] * h / order;
            }
            memcpy(term, next, sizeof term);
            for (int i = 0; i < 2 * K; i++) x[i] += term[i];
        }
    }
    double y = 0.0;
    for (int i = 0; i < 2 * K; i++) y += C[i] * x[i];
    assert_true(fabs(y - ll_modes_response(m, K, t)) < 1e-10);
}

static void a_mode_without_decay_is_not_stable(void **state)
{
    (void)state;
    ll_mode m[K];
    draw_modes(5, m);
    assert_true(ll_modes_stable(m, K));
    m[2].rho = 0.0;
    assert_false(ll_modes_stable(m, K));
}

/* |lambda| <= 1; equal gaps are exact; the approximation's error falls with the third power. */
static void event_poles(void **state)
{
    (void)state;
    enum { N = 500 };
    const ll_mode m = { .rho = 0.1, .omega = 0.4 };
    ll_event_pole p;
    double        gap[N], error[2];
    for (int i = 0; i < N; i++) gap[i] = 2.0;
    CHECK_OK(ll_event_pole_of(m, gap, N, &p));
    assert_true(fabs(p.log_pole.re + 0.2) < 1e-12 && fabs(p.log_pole.im - 0.8) < 1e-12);
    assert_true(fabs(p.second.re + 0.2) < 1e-12 && fabs(p.second.im - 0.8) < 1e-12);
    for (int round = 0; round < 2; round++) { /* skewed gaps, then half as long */
        for (int i = 0; i < N; i++)
            gap[i] = -log(1.0 - net_uniform(9, "gap", i)) * (round == 0 ? 0.5 : 0.25);
        CHECK_OK(ll_event_pole_of(m, gap, N, &p));
        assert_true(p.stable && hypot(p.multiplier.re, p.multiplier.im) <= 1.0);
        error[round] = hypot(p.log_pole.re - p.second.re, p.log_pole.im - p.second.im);
    }
    assert_true(error[0] / error[1] > 6.5 && error[0] / error[1] < 9.5);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        ll_mode any[K];
        draw_modes(seed, any);
        CHECK_OK(ll_event_pole_of(any[0], gap, N, &p));
        assert_true(hypot(p.multiplier.re, p.multiplier.im) <= 1.0);
    }
    gap[3] = -1.0;
    CHECK_FAIL(ll_event_pole_of(m, gap, N, &p), LLAP_EINVAL, "gap 3 is -1");
    CHECK_FAIL(ll_event_pole_of(m, gap, 0, &p), LLAP_EINVAL, "no gaps");
}

/* Poles of a model: stable whatever the weights, moved by step and summary, not with fixed_poles.
 */
static void poles_of_a_model(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        ll_denoiser_config c = LL_DENOISER_PAPER(3);
        ll_mode            a[K], b[K], u[K], base[K];
        ll_graph          *g;
        ll_params         *params;
        float              E[2 * 8];
        c.hidden_dim = 8;
        c.num_heads = 2;
        c.num_layers = 1;
        c.laplace_k = K;
        c.timesteps = 30;
        c.fixed_poles = kind == 1;
        if (kind == 2) c.stream = LL_STREAM_TOKENS;
        CHECK_OK(ll_graph_create(&g));
        ll_denoiser_in in = { .z = ll_input(g, "z", LL_SHAPE(1, 2, 3)),
                              .E = ll_input(g, "E", LL_SHAPE(1, 2, 8)) };
        if (kind == 2) in.time = ll_input(g, "time", LL_SHAPE(1));
        else in.t = ll_input_int(g, "t", LL_SHAPE(1));
        ll_denoiser(g, &c, &in);
        CHECK_OK(ll_params_create(g, &ll_backend_cpu, &params));
        ll_graph_destroy(g);
        ll_params_init(params, 4);
        CHECK_OK(ll_denoiser_init(params, "", 4));
        for (int i = 0; i < ll_params_count(params); i++) {
            const ll_param_info *p = ll_params_at(params, i);
            for (int64_t k = 0; k < p->count; k++)
                ((float *)p->data)[k] += 0.2f * (float)net_normal(4, p->name, k);
        }
        for (int k = 0; k < 16; k++) E[k] = (float)net_normal(4, "E", k);
        ll_poles_opts o = { .backend = &ll_backend_cpu, .E = E, .S = 2, .t = 3, .time = 0.2 };
        CHECK_OK(ll_denoiser_poles(&c, params, &o, 0, a, NULL));
        o.t = 20;
        o.time = 0.8;
        CHECK_OK(ll_denoiser_poles(&c, params, &o, 0, b, NULL));
        o.E = NULL;
        CHECK_OK(ll_denoiser_poles(&c, params, &o, 0, u, NULL));
        o.base = true;
        CHECK_OK(ll_denoiser_poles(&c, params, &o, 0, base, NULL));
        assert_true(ll_modes_stable(a, K) && ll_modes_stable(u, K) && ll_modes_stable(base, K));
        for (int k = 0; k < K; k++) {
            assert_true(a[k].omega > 0.0 && a[k].omega < 3.1416);
            assert_int_equal(a[k].rho == b[k].rho && b[k].rho == u[k].rho, kind == 1);
            if (kind == 1) assert_true(fabs(a[k].rho - base[k].rho) < 1e-6);
        }
        o.t = 30;
        CHECK_FAIL(ll_denoiser_poles(&c, params, &o, 0, a, NULL), LLAP_EINVAL,
                   "step 30, expected 0..29");
        ll_params_destroy(params);
    }
}

enum { H = 8, Z = 3, Q = 5, F = 2 };

/* Output "y": what the poles give before anything that is not linear. */
static void describe_linear(ll_graph *g, const ll_denoiser_config *c, bool tokens)
{
    ll_scope_push(g, "net");
    ll_denoiser_in in = { .z = ll_input(g, "z", LL_SHAPE(1, Q, Z)),
                          .tq = ll_input(g, "tq", LL_SHAPE(1, Q)) };
    if (tokens) {
        in.time = ll_input(g, "time", LL_SHAPE(1));
        in.f = ll_input(g, "f", LL_SHAPE(1, Q, F));
    } else {
        in.t = ll_input_int(g, "t", LL_SHAPE(1));
    }
    ll_denoiser(g, c, &in);
    ll_scope_pop(g);
    ll_tensor *y = ll_noted(g, tokens ? "net.model.y_time" : "net.model.y_linear");
    if (tokens) { /* through the linear layer of the output, without its bias */
        ll_scope_push(g, "net.model.head_proj");
        y = ll_linear(g, y, ll_param(g, "weight", LL_SHAPE(Z, 16), LL_INIT_ZERO), NULL);
        ll_scope_pop(g);
    }
    ll_output(g, "y", y);
}

static ll_params *draw_params(const ll_graph *g)
{
    ll_params *params;
    CHECK_OK(ll_params_create(g, &ll_backend_cpu, &params));
    ll_params_init(params, 4);
    CHECK_OK(ll_denoiser_init(params, "net.", 4));
    for (int i = 0; i < ll_params_count(params); i++) {
        const ll_param_info *p = ll_params_at(params, i);
        for (int64_t k = 0; k < p->count; k++)
            ((float *)p->data)[k] += 0.2f * (float)net_normal(4, p->name, k);
    }
    return params;
}

/* The responses of all channels are expected [Q, Z], the energies their squares. */
static void check_residues(const ll_denoiser_config *c, const ll_params *params,
                           const ll_poles_opts *o, const float *expected)
{
    double energy[K], sum[K] = { 0 };
    for (int64_t channel = 0; channel < Z; channel++) {
        ll_mode m[K];
        CHECK_OK(ll_denoiser_poles(c, params, o, channel, m, energy));
        for (int r = 0; r < Q; r++)
            assert_true(fabs(ll_modes_response(m, K, (double)o->tq[r]) -
                             (double)expected[r * Z + channel]) < 1e-5);
        for (int k = 0; k < K; k++) sum[k] += m[k].c * m[k].c + m[k].b * m[k].b;
    }
    for (int k = 0; k < K; k++) assert_true(fabs(sum[k] - energy[k]) < 1e-12 * sum[k]);
    ll_mode m[K];
    CHECK_FAIL(ll_denoiser_poles(c, params, o, Z, m, NULL), LLAP_EINVAL, "latent channel 3");
}

/* What the modes say at the query times is what the network synthesized there, in every channel;
 * the energies are those of all channels. */
static void residues_of_a_model(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        ll_denoiser_config c = LL_DENOISER_PAPER(Z);
        ll_graph          *g;
        ll_plan           *plan;
        ll_run            *run;
        ll_params         *params;
        float   z[Q * Z], f[Q * F], tq[Q] = { 0.5f, 1.0f, 2.0f, 2.5f, 7.0f }, time = 0.4f;
        int32_t t = 7;
        c.hidden_dim = H, c.num_heads = 2, c.num_layers = kind == 1 ? 0 : 2, c.laplace_k = K;
        if (kind == 2) c.stream = LL_STREAM_TOKENS, c.query_features = F;
        CHECK_OK(ll_graph_create(&g));
        describe_linear(g, &c, kind == 2);
        params = draw_params(g);
        for (int i = 0; i < Q * Z; i++) z[i] = (float)net_normal(4, "z", i);
        for (int i = 0; i < Q * F; i++) f[i] = (float)net_normal(4, "f", i);
        CHECK_OK(ll_plan_create(g, &(ll_plan_opts){ .backend = &ll_backend_cpu, .n_threads = 1 },
                                &plan));
        CHECK_OK(ll_run_create(plan, &run));
        CHECK_OK(ll_params_bind(params, LL_PARAMS_MODEL, plan, run));
        CHECK_OK(ll_run_bind(run, "net.z", z, Q * Z));
        CHECK_OK(ll_run_bind(run, "net.tq", tq, Q));
        if (kind == 2) CHECK_OK(ll_run_bind(run, "net.f", f, Q * F));
        if (kind == 2) CHECK_OK(ll_run_bind(run, "net.time", &time, 1));
        else CHECK_OK(ll_run_bind(run, "net.t", &t, 1));
        CHECK_OK(ll_run_exec(run));
        const float        *expected = ll_run_output(run, "y", NULL);
        const ll_poles_opts o = { .backend = &ll_backend_cpu,
                                  .prefix = "net.",
                                  .t = kind == 2 ? 0 : t,
                                  .time = (double)time,
                                  .h = Q,
                                  .tq = tq,
                                  .z = z,
                                  .f = f };
        check_residues(&c, params, &o, expected);
        ll_run_destroy(run);
        ll_plan_release(plan);
        ll_graph_destroy(g);
        ll_params_destroy(params);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_life_and_period),
        cmocka_unit_test(the_transfer_function_is_the_laplace_transform),
        cmocka_unit_test(the_realisation_gives_the_response),
        cmocka_unit_test(a_mode_without_decay_is_not_stable),
        cmocka_unit_test(event_poles),
        cmocka_unit_test(poles_of_a_model),
        cmocka_unit_test(residues_of_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
