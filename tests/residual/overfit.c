/* One window of a damped sinusoid, learned by heart: the pole that the default denoiser ends with
 * is the window's, within 2 % of its frequency and 8 % of its rate. It starts 15 % off in frequency
 * and at a rate of 0.08. (Slower decays than these take longer to learn: what is left of them at
 * small noise the local path can say as well.) */
#include "check.h"

#include "backend/cpu/cpu.h"
#include "base/rng/rng.h"
#include "diffusion/diffusion.h"
#include "networks/modes.h"
#include "nn/optim.h"

#define PI 3.14159265358979323846

enum { B = 16, h = 40, K = 1, STEPS = 3000 };

/* y(t) = e^(-rho t) cos(omega t - phase) */
static const struct wave {
    double rho, omega, phase;
} waves[] = { { 0.10, 0.9, 0.5 }, { 0.20, 1.6, 0.0 } };

typedef struct school {
    ll_denoiser_config c;
    ll_graph          *g;
    ll_plan           *plan;
    ll_run            *run;
    ll_params         *params;
    float              z0[B * h], eps[B * h], tq[B * h], time[B], lr;
    int32_t            step;
} school;

static void open_school(school *s, const struct wave *w)
{
    s->c = LL_DENOISER_DEFAULT(1, 0);
    s->c.hidden_dim = 32, s->c.num_layers = 1, s->c.laplace_k = K, s->c.dropout = 0;
    CHECK_OK(ll_graph_create(&s->g));
    const ll_loss_in   in = { .z0 = ll_input(s->g, "z0", LL_SHAPE(B, h, 1)),
                              .eps = ll_input(s->g, "eps", LL_SHAPE(B, h, 1)),
                              .time = ll_input(s->g, "time", LL_SHAPE(B)),
                              .tq = ll_input(s->g, "tq", LL_SHAPE(B, h)),
                              .training = true };
    const ll_loss_opts o = { .predict = LL_PREDICT_V };
    ll_tensor         *loss = ll_diffusion_loss(s->g, &s->c, NULL, &o, &in);
    ll_output(s->g, "loss", loss);
    const ll_train_attr a = { .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8, .clip = 1.0 };
    ll_nn_train(s->g, loss, &a);
    CHECK_OK(ll_plan_create(s->g, &(ll_plan_opts){ .backend = &ll_backend_cpu, .n_threads = 1 },
                            &s->plan));
    CHECK_OK(ll_run_create(s->plan, &s->run));
    CHECK_OK(ll_params_create(s->g, &ll_backend_cpu, &s->params));
    ll_params_init(s->params, 3);
    CHECK_OK(ll_denoiser_init(s->params, "", 3));
    for (int b = 0; b < B; b++)
        for (int r = 0; r < h; r++) { /* irregular times up to 20 */
            const double t = 0.5 * (r + 1) + 0.2 * sin(3.0 * r);
            s->tq[b * h + r] = (float)t;
            s->z0[b * h + r] = (float)(exp(-w->rho * t) * cos(w->omega * t - w->phase));
        }
    CHECK_OK(ll_params_bind(s->params, LL_PARAMS_MODEL, s->plan, s->run));
    CHECK_OK(ll_run_bind(s->run, "z0", s->z0, B * h));
    CHECK_OK(ll_run_bind(s->run, "eps", s->eps, B * h));
    CHECK_OK(ll_run_bind(s->run, "tq", s->tq, B * h));
    CHECK_OK(ll_run_bind(s->run, "time", s->time, B));
    CHECK_OK(ll_run_bind(s->run, "lr", &s->lr, 1));
    CHECK_OK(ll_run_bind(s->run, "step", &s->step, 1));
}

static void close_school(school *s)
{
    ll_run_destroy(s->run);
    ll_plan_release(s->plan);
    ll_params_destroy(s->params);
    ll_graph_destroy(s->g);
}

static void misplace(school *s, const struct wave *w, double by)
{
    const double turn = by * w->omega / PI;
    ll_param_set(s->params, ll_params_find(s->params, "model.analysis._rho_raw"), 0,
                 log(expm1(0.08)));
    ll_param_set(s->params, ll_params_find(s->params, "model.analysis._omega_raw"), 0,
                 log(turn / (1 - turn)));
}

/* The loss at the end, smoothed. */
static double learn(school *s)
{
    double last = 0;
    for (s->step = 1; s->step <= STEPS; s->step++) {
        const ll_rng r = ll_rng_make(5, LL_STREAM_DIFFUSE, 1, 0, (uint32_t)s->step);
        ll_rng_fill_normal(&r, 0, B * h, s->eps);
        for (int b = 0; b < B; b++)
            s->time[b] = 0.003f + 0.994f * ((float)b + ll_rng_uniform(&r, B * h + b)) / B;
        const double part = (double)s->step / STEPS;
        s->lr = (float)(8e-3 * (part < 0.05 ? part / 0.05 : 0.5 + 0.5 * cos(PI * part)));
        CHECK_OK(ll_run_exec(s->run));
        last += 0.05 * ((double)*(const float *)ll_run_output(s->run, "loss", NULL) - last);
    }
    return last;
}

static void poles_of_a_damped_sinusoid(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * sizeof waves / sizeof *waves; i++) {
        const struct wave *w = &waves[i / 2];
        static school      s;
        open_school(&s, w);
        misplace(&s, w, i % 2 == 0 ? 0.85 : 1.15);
        const double loss = learn(&s);
        assert_true(loss < 0.02);        /* of 0.5 and more at the start */
        for (int at = 0; at < 2; at++) { /* early and late in the reverse process */
            const ll_poles_opts o = {
                .backend = &ll_backend_cpu, .time = at == 0 ? 0.9 : 0.5, .h = h, .tq = s.tq
            };
            ll_mode m;
            double  energy;
            CHECK_OK(ll_denoiser_poles(&s.c, s.params, &o, 0, &m, &energy));
            print_message("rho %.4f (%.2f), omega %.4f (%.1f), loss %.4f\n", m.rho, w->rho, m.omega,
                          w->omega, loss);
            assert_true(fabs(m.omega / w->omega - 1) < 0.02);
            assert_true(fabs(m.rho / w->rho - 1) < 0.08);
            assert_true(energy > 0.1);
        }
        close_school(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(poles_of_a_damped_sinusoid) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
