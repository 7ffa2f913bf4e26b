#include "model/modes.h"

#include "base/error.h"
#include "model/modal.h"

#include <math.h>
#include <string.h>

double llap_mode_half_life(llap_mode m) { return m.rho > 0.0 ? log(2.0) / m.rho : INFINITY; }

double llap_mode_period(llap_mode m)
{
    return m.omega != 0.0 ? 2.0 * LLAP_PI / fabs(m.omega) : INFINITY;
}

double llap_modes_response(const llap_mode *m, int64_t K, double t)
{
    double y = 0.0;
    for (int64_t k = 0; k < K; k++)
        y += exp(-m[k].rho * t) * (m[k].c * cos(m[k].omega * t) + m[k].b * sin(m[k].omega * t));
    return y;
}

static llap_complex multiply(llap_complex a, llap_complex b)
{
    return (llap_complex){ a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
}

static llap_complex divide(llap_complex a, llap_complex b)
{
    const double       n = b.re * b.re + b.im * b.im;
    const llap_complex p = multiply(a, (llap_complex){ b.re, -b.im });
    return (llap_complex){ p.re / n, p.im / n };
}

llap_complex llap_modes_transfer(const llap_mode *m, int64_t K, llap_complex s)
{
    llap_complex sum = { 0.0, 0.0 };
    for (int64_t k = 0; k < K; k++) {
        const llap_complex shifted = { s.re + m[k].rho, s.im };
        llap_complex       below = multiply(shifted, shifted);
        below.re += m[k].omega * m[k].omega;
        const llap_complex above = { m[k].c * shifted.re + m[k].b * m[k].omega,
                                     m[k].c * shifted.im };
        const llap_complex g = divide(above, below);
        sum.re += g.re;
        sum.im += g.im;
    }
    return sum;
}

double llap_modes_energy(const llap_mode *m, int64_t K, double t)
{
    double sum = 0.0;
    for (int64_t k = 0; k < K; k++)
        sum += exp(-2.0 * m[k].rho * t) * (m[k].c * m[k].c + m[k].b * m[k].b);
    return sum;
}

bool llap_modes_stable(const llap_mode *m, int64_t K)
{
    for (int64_t k = 0; k < K; k++)
        if (!(m[k].rho > 0.0)) return false;
    return true;
}

void llap_modes_realise(const llap_mode *m, int64_t K, double *A, double *B, double *C)
{
    const int64_t n = 2 * K;
    memset(A, 0, (size_t)(n * n) * sizeof *A);
    for (int64_t k = 0; k < K; k++) {
        const int64_t i = 2 * k, j = i + 1;
        A[i * n + i] = A[j * n + j] = -m[k].rho;
        A[i * n + j] = -m[k].omega;
        A[j * n + i] = m[k].omega;
        B[i] = 1.0; /* e^(At) B = e^(-rho t) [cos, sin] */
        B[j] = 0.0;
        C[i] = m[k].c;
        C[j] = m[k].b;
    }
}

llap_status llap_event_pole_of(llap_mode m, const double *gap, int64_t n, llap_event_pole *out)
{
    const llap_complex z = { -m.rho, m.omega }, square = multiply(z, z);
    llap_complex       sum = { 0.0, 0.0 };
    double             mean = 0.0, variance = 0.0;
    if (n < 1) return llap_fail(LLAP_EINVAL, "event poles: no gaps");
    for (int64_t i = 0; i < n; i++) {
        if (!(gap[i] >= 0.0 && isfinite(gap[i])))
            return llap_fail(LLAP_EINVAL, "event poles: gap %lld is %g", (long long)i, gap[i]);
        mean += gap[i] / (double)n;
        sum.re += exp(z.re * gap[i]) * cos(z.im * gap[i]) / (double)n;
        sum.im += exp(z.re * gap[i]) * sin(z.im * gap[i]) / (double)n;
    }
    for (int64_t i = 0; i < n; i++) variance += (gap[i] - mean) * (gap[i] - mean) / (double)n;
    const double size = hypot(sum.re, sum.im);
    *out = (llap_event_pole){ .multiplier = sum,
                              .log_pole = { log(size), atan2(sum.im, sum.re) },
                              .second = { z.re * mean + 0.5 * square.re * variance,
                                          z.im * mean + 0.5 * square.im * variance },
                              .stable = size < 1.0 };
    return LLAP_OK;
}

/* -------- the poles of a model -------- */

static void describe(llap_graph *g, const llap_denoiser_config *c, const llap_poles_opts *o)
{
    llap_poles p;
    if (o->base) {
        llap_scope_push(g, "model");
        p = llap_base_poles(g, c);
        llap_scope_pop(g);
    } else {
        const llap_shape tokens = LLAP_SHAPE(1, o->S, c->hidden_dim);
        const bool       stream = c->stream == LLAP_STREAM_TOKENS;
        llap_denoiser_in in = {
            .t = stream ? NULL : llap_input_int(g, "t", LLAP_SHAPE(1)),
            .time = stream ? llap_input(g, "time", LLAP_SHAPE(1)) : NULL,
            .E = o->E == NULL ? NULL : llap_input(g, "E", tokens),
            .E_raw = o->E_raw == NULL ? NULL : llap_input(g, "E_raw", tokens),
        };
        llap_modal m; /* only what the poles need becomes part of the plan */
        llap_denoiser_window(g, c, &in, 1, &m);
        p = (llap_poles){ m.rho, m.omega };
    }
    llap_output(g, "rho", p.rho);
    llap_output(g, "omega", p.omega);
}

static llap_status bind(const llap_denoiser_config *c, const llap_poles_opts *o, llap_run *run,
                        int32_t *t, float *time)
{
    const int64_t tokens = o->S * c->hidden_dim;
    const struct {
        const char *name;
        const void *data;
        int64_t     n;
    } all[] = {
        { "t", t, 1 }, { "time", time, 1 }, { "E", o->E, tokens }, { "E_raw", o->E_raw, tokens }
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].data == NULL) continue;
        const llap_status st =
            llap_run_bind(run, all[i].name, (void *)(uintptr_t)all[i].data, all[i].n);
        if (st != LLAP_OK && st != LLAP_ENOTFOUND) return st;
    }
    return LLAP_OK;
}

llap_status llap_denoiser_poles(const llap_denoiser_config *c, const llap_params *params,
                                const llap_poles_opts *o, llap_mode *m)
{
    llap_graph *g;
    llap_plan  *plan = NULL;
    llap_run   *run = NULL;
    int32_t     t = (int32_t)o->t;
    float       time = (float)o->time;
    llap_status st = llap_denoiser_config_check(c);
    if (st == LLAP_OK && (o->t < 0 || o->t >= c->timesteps))
        st = llap_fail(LLAP_EINVAL, "poles: step %lld, expected 0..%lld", (long long)o->t,
                       (long long)c->timesteps - 1);
    if (st == LLAP_OK) st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    describe(g, c, o);
    const llap_plan_opts opts = { .backend = o->backend, .n_threads = 1 };
    st = llap_plan_create(g, &opts, &plan);
    if (st == LLAP_OK) st = llap_run_create(plan, &run);
    if (st == LLAP_OK) st = llap_params_bind(params, o->part, plan, run);
    if (st == LLAP_OK) st = bind(c, o, run, &t, &time);
    if (st == LLAP_OK) st = llap_run_exec(run);
    if (st == LLAP_OK) {
        const float *rho = llap_run_output(run, "rho", NULL);
        const float *omega = llap_run_output(run, "omega", NULL);
        for (int64_t k = 0; k < c->laplace_k; k++)
            m[k] = (llap_mode){ .rho = (double)rho[k], .omega = (double)omega[k] };
    }
    llap_run_destroy(run);
    llap_plan_release(plan);
    llap_graph_destroy(g);
    return st;
}
