#include "networks/modes.h"

#include "base/alloc.h"
#include "base/error.h"
#include "networks/modal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

double ll_mode_half_life(ll_mode m) { return m.rho > 0.0 ? log(2.0) / m.rho : INFINITY; }

double ll_mode_period(ll_mode m) { return m.omega != 0.0 ? 2.0 * LL_PI / fabs(m.omega) : INFINITY; }

double ll_modes_response(const ll_mode *m, int64_t K, double t)
{
    double y = 0.0;
    for (int64_t k = 0; k < K; k++)
        y += exp(-m[k].rho * t) * (m[k].c * cos(m[k].omega * t) + m[k].b * sin(m[k].omega * t));
    return y;
}

static ll_complex multiply(ll_complex a, ll_complex b)
{
    return (ll_complex){ a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
}

static ll_complex divide(ll_complex a, ll_complex b)
{
    const double     n = b.re * b.re + b.im * b.im;
    const ll_complex p = multiply(a, (ll_complex){ b.re, -b.im });
    return (ll_complex){ p.re / n, p.im / n };
}

ll_complex ll_modes_transfer(const ll_mode *m, int64_t K, ll_complex s)
{
    ll_complex sum = { 0.0, 0.0 };
    for (int64_t k = 0; k < K; k++) {
        const ll_complex shifted = { s.re + m[k].rho, s.im };
        ll_complex       below = multiply(shifted, shifted);
        below.re += m[k].omega * m[k].omega;
        const ll_complex above = { m[k].c * shifted.re + m[k].b * m[k].omega, m[k].c * shifted.im };
        const ll_complex g = divide(above, below);
        sum.re += g.re;
        sum.im += g.im;
    }
    return sum;
}

bool ll_modes_stable(const ll_mode *m, int64_t K)
{
    for (int64_t k = 0; k < K; k++)
        if (!(m[k].rho > 0.0)) return false;
    return true;
}

void ll_modes_realise(const ll_mode *m, int64_t K, double *A, double *B, double *C)
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

llap_status ll_event_pole_of(ll_mode m, const double *gap, int64_t n, ll_event_pole *out)
{
    const ll_complex z = { -m.rho, m.omega }, square = multiply(z, z);
    ll_complex       sum = { 0.0, 0.0 };
    double           mean = 0.0, variance = 0.0;
    if (n < 1) return ll_fail(LLAP_EINVAL, "event poles: no gaps");
    for (int64_t i = 0; i < n; i++) {
        if (!(gap[i] >= 0.0 && isfinite(gap[i])))
            return ll_fail(LLAP_EINVAL, "event poles: gap %lld is %g", (long long)i, gap[i]);
        mean += gap[i] / (double)n;
        sum.re += exp(z.re * gap[i]) * cos(z.im * gap[i]) / (double)n;
        sum.im += exp(z.re * gap[i]) * sin(z.im * gap[i]) / (double)n;
    }
    for (int64_t i = 0; i < n; i++) variance += (gap[i] - mean) * (gap[i] - mean) / (double)n;
    const double size = hypot(sum.re, sum.im);
    *out = (ll_event_pole){ .multiplier = sum,
                            .log_pole = { log(size), atan2(sum.im, sum.re) },
                            .second = { z.re * mean + 0.5 * square.re * variance,
                                        z.im * mean + 0.5 * square.im * variance },
                            .stable = size < 1.0 };
    return LLAP_OK;
}

/* -------- the poles of a model -------- */

/* The residues, [1,1,M,Z] or, with a stream of tokens, [1,1,M,d_s] before a linear layer. */
static ll_tensor *residues_of(ll_graph *g, const ll_denoiser_config *c)
{
    char name[64] = "model.theta";
    if (c->stream == LL_STREAM_RESIDUES && c->num_layers > 0)
        snprintf(name, sizeof name, "model.blocks.%lld.theta", (long long)c->num_layers - 1);
    else if (c->stream == LL_STREAM_RESIDUES) snprintf(name, sizeof name, "model.analysis.z.theta");
    return ll_noted(g, name);
}

static ll_denoiser_in inputs_of(ll_graph *g, const ll_denoiser_config *c, const ll_poles_opts *o)
{
    const ll_shape tokens = LL_SHAPE(1, o->S, c->hidden_dim);
    const bool     stream = c->stream == LL_STREAM_TOKENS;
    const int64_t  F = c->query_features, h = o->h;
    ll_denoiser_in in = { 0 };
    if (stream) in.time = ll_input(g, "time", LL_SHAPE(1));
    else in.t = ll_input_int(g, "t", LL_SHAPE(1));
    if (o->E != NULL) in.E = ll_input(g, "E", tokens);
    if (o->E_raw != NULL) in.E_raw = ll_input(g, "E_raw", tokens);
    if (o->E_pad != NULL && stream) in.E_pad = ll_input(g, "E_pad", LL_SHAPE(1, o->S));
    if (h == 0) return in;
    in.z = ll_input(g, "z", LL_SHAPE(1, h, c->data_dim));
    in.tq = ll_input(g, "tq", LL_SHAPE(1, h));
    if (F > 0 && stream) in.f = ll_input(g, "f", LL_SHAPE(1, h, F));
    return in;
}

static void describe(ll_graph *g, const ll_denoiser_config *c, const ll_poles_opts *o)
{
    ll_poles p;
    if (o->base) {
        ll_scope_push(g, "model");
        p = ll_base_poles(g, c);
        ll_scope_pop(g);
    } else if (o->h > 0) {
        const ll_denoiser_in in = inputs_of(g, c, o);
        ll_denoiser(g, c, &in);
        p = (ll_poles){ ll_noted(g, "model.rho"), ll_noted(g, "model.omega") };
        ll_output(g, "theta", residues_of(g, c));
    } else {
        const ll_denoiser_in in = inputs_of(g, c, o);
        ll_modal             m; /* only what the poles need becomes part of the plan */
        ll_denoiser_window(g, c, &in, 1, &m);
        p = (ll_poles){ m.rho, m.omega };
    }
    ll_output(g, "rho", p.rho);
    ll_output(g, "omega", p.omega);
}

/* zeros has room for z and f */
static llap_status bind(const ll_denoiser_config *c, const ll_poles_opts *o, ll_run *run,
                        int32_t *t, float *time, const float *zeros)
{
    const int64_t tokens = o->S * c->hidden_dim;
    const struct {
        const char *name;
        const void *data;
        int64_t     n;
    } all[] = {
        { "t", t, 1 },
        { "time", time, 1 },
        { "E", o->E, tokens },
        { "E_raw", o->E_raw, tokens },
        { "E_pad", o->E_pad, o->S },
        { "tq", o->tq, o->h },
        { "z", o->z != NULL ? o->z : zeros, o->h * c->data_dim },
        { "f", o->f != NULL ? o->f : zeros, o->h * c->query_features },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].data == NULL) continue;
        const llap_status st =
            ll_run_bind(run, all[i].name, (void *)(uintptr_t)all[i].data, all[i].n);
        if (st != LLAP_OK && st != LLAP_ENOTFOUND) return st;
    }
    return LLAP_OK;
}

/* Residue of token m in latent channel z. With a stream of tokens, of the linear layer behind the
 * synthesis: sum_d W[z,d] theta[m,d] / sqrt(K). */
static double residue(const ll_denoiser_config *c, const ll_params *params,
                      const ll_param_info *head, const float *theta, int64_t width, int64_t m,
                      int64_t z)
{
    assert(m < 2 * c->laplace_k && z < c->data_dim);
    if (head == NULL) return (double)theta[m * width + z];
    double sum = 0.0;
    for (int64_t d = 0; d < width; d++)
        sum += ll_param_get(params, head, z * width + d) * (double)theta[m * width + d];
    return sum / sqrt((double)c->laplace_k);
}

static llap_status read_residues(const ll_denoiser_config *c, const ll_params *params,
                                 const ll_poles_opts *o, const ll_run *run, int64_t channel,
                                 ll_mode *m, double *energy)
{
    const char          *prefix = o->prefix == NULL ? "" : o->prefix;
    const int64_t        K = c->laplace_k;
    char                 name[2][256];
    ll_shape             shape;
    const float         *theta = ll_run_output(run, "theta", &shape);
    const ll_param_info *head = NULL;
    if (c->stream == LL_STREAM_TOKENS) {
        snprintf(name[0], sizeof name[0], "ema.%smodel.head_proj.weight", prefix);
        snprintf(name[1], sizeof name[1], "%smodel.head_proj.weight", prefix);
        if (o->part == LL_PARAMS_EMA) head = ll_params_find(params, name[0]);
        if (head == NULL) head = ll_params_find(params, name[1]);
        if (head == NULL) return ll_fail(LLAP_ENOTFOUND, "poles: no '%s'", name[1]);
    }
    const int64_t width = shape.dim[shape.rank - 1];
    assert(ll_shape_count(&shape) == 2 * K * width);
    assert(head == NULL ? width == c->data_dim : head->count == c->data_dim * width);
    for (int64_t k = 0; k < K; k++) {
        m[k].c = residue(c, params, head, theta, width, k, channel);
        m[k].b = residue(c, params, head, theta, width, K + k, channel);
        if (energy == NULL) continue;
        energy[k] = 0.0;
        for (int64_t z = 0; z < c->data_dim; z++) {
            const double cosine = residue(c, params, head, theta, width, k, z);
            const double sine = residue(c, params, head, theta, width, K + k, z);
            energy[k] += cosine * cosine + sine * sine;
        }
    }
    return LLAP_OK;
}

static llap_status check_opts(const ll_denoiser_config *c, const ll_poles_opts *o, int64_t channel)
{
    const llap_status st = ll_denoiser_config_check(c);
    if (st != LLAP_OK) return st;
    if (o->t < 0 || o->t >= c->timesteps)
        return ll_fail(LLAP_EINVAL, "poles: step %lld, expected 0..%lld", (long long)o->t,
                       (long long)c->timesteps - 1);
    if (channel < 0 || channel >= c->data_dim)
        return ll_fail(LLAP_EINVAL, "poles: latent channel %lld counted from 0, there are %lld",
                       (long long)channel, (long long)c->data_dim);
    return LLAP_OK;
}

llap_status ll_denoiser_poles(const ll_denoiser_config *c, const ll_params *params,
                              const ll_poles_opts *o, int64_t channel, ll_mode *m, double *energy)
{
    ll_graph     *g;
    ll_plan      *plan = NULL;
    ll_run       *run = NULL;
    int32_t       t = (int32_t)o->t;
    float         time = (float)o->time;
    const int64_t most = c->data_dim > c->query_features ? c->data_dim : c->query_features;
    llap_status   st = check_opts(c, o, channel);
    if (st == LLAP_OK) st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    describe(g, c, o);
    const ll_plan_opts opts = { .backend = o->backend, .n_threads = 1 };
    float             *zeros = ll_new((size_t)(o->h * most) + 1, sizeof *zeros);
    st = zeros == NULL ? LLAP_ENOMEM : ll_plan_create(g, &opts, &plan);
    if (st == LLAP_OK) st = ll_run_create(plan, &run);
    if (st == LLAP_OK)
        st = ll_params_bind_scope(params, o->part, o->prefix == NULL ? "" : o->prefix, plan, run);
    if (st == LLAP_OK) st = bind(c, o, run, &t, &time, zeros);
    if (st == LLAP_OK) st = ll_run_exec(run);
    if (st == LLAP_OK) {
        const float *rho = ll_run_output(run, "rho", NULL);
        const float *omega = ll_run_output(run, "omega", NULL);
        for (int64_t k = 0; k < c->laplace_k; k++)
            m[k] = (ll_mode){ .rho = (double)rho[k], .omega = (double)omega[k] };
        for (int64_t k = 0; energy != NULL && k < c->laplace_k; k++) energy[k] = 0.0;
        if (o->h > 0 && !o->base) st = read_residues(c, params, o, run, channel, m, energy);
    }
    ll_free(zeros);
    ll_run_destroy(run);
    ll_plan_release(plan);
    ll_graph_destroy(g);
    return st;
}
