/* The noise process: c06 (schedules and conversions), c08_minsnr_weights. */
#include "golden.h"

#include "base/error.h"
#include "diffusion/sampler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *floats(golden *c, const char *tensor)
{
    const ll_shape shape = golden_shape(c, tensor);
    const double  *x = golden_values(c, tensor);
    float         *y = x == NULL ? NULL : (float *)golden_new(c, ll_shape_count(&shape));
    for (int64_t i = 0; y != NULL && i < ll_shape_count(&shape); i++) y[i] = (float)x[i];
    return y;
}

static ll_schedule *own_schedule(golden *c)
{
    const int    kind = golden_choice(c, "schedule", ll_schedule_names);
    ll_schedule *s = NULL;
    if (c->status == LLAP_OK)
        c->status = ll_schedule_create((ll_schedule_kind)kind, golden_int(c, "timesteps"), &s);
    return s;
}

/* Our tables must be the reference's within the rounding of its cosine (README: betas 3e-6
 * (3.04e-6), alpha-bars 4e-7 and relatively 4e-6); the case then runs on the stored ones. */
ll_schedule *golden_schedule(golden *c, const char *prefix)
{
    char         name[64];
    ll_schedule *own = own_schedule(c), *stored = NULL;
    snprintf(name, sizeof name, "param.%sbetas", prefix);
    const float *beta = floats(c, name);
    snprintf(name, sizeof name, "param.%salpha_bars", prefix);
    const float *bars = floats(c, name);
    int64_t      wrong = 0;
    for (int64_t i = 0; c->status == LLAP_OK && i < own->T; i++)
        if (fabs((double)own->beta[i] - (double)beta[i]) > 3.1e-6 ||
            fabs((double)own->alpha_bar[i] - (double)bars[i]) >
                fmin(4e-7, 4e-6 * (double)bars[i]) + 1e-12)
            wrong++;
    if (wrong > 0)
        golden_fail(c, LLAP_ENUMERIC, "our tables differ at %lld steps", (long long)wrong);
    if (c->status == LLAP_OK) c->status = ll_schedule_from(beta, bars, own->T, &stored);
    ll_schedule_destroy(own);
    return stored;
}

typedef struct steps { /* the inputs of c06 */
    const double *t, *t_prev, *t_q, *x_t, *eps, *v, *x0, *noise;
    int64_t       rows, n, one; /* steps, numbers in all, numbers of one step */
} steps;

static float at(const double *x, int64_t k) { return (float)x[k]; }

static ll_level level(const ll_schedule *s, const double *t, int64_t row)
{
    return ll_schedule_level(s, (int64_t)t[row]);
}

static void conversions(golden *c, const ll_schedule *s, const steps *in, double *y)
{
    enum { X0_V, X0_EPS, EPS_V, EPS_X0, V_EPS, Q, Q_T, N };
    static const char *const names[N] = { "out.x0_from_v",   "out.x0_from_eps", "out.eps_from_v",
                                          "out.eps_from_x0", "out.v_from_eps",  "out.q_sample",
                                          "out.q_sample_t" };
    for (int what = 0; what < N; what++) {
        for (int64_t k = 0; k < in->n; k++) {
            const ll_level l = level(s, in->t, k / in->one);
            const float    x = at(in->x_t, k), e = at(in->eps, k), z0 = at(in->x0, k);
            const float    all[N] = {
                   [X0_V] = ll_to_x0(LL_PREDICT_V, l, x, at(in->v, k)),
                   [X0_EPS] = ll_to_x0(LL_PREDICT_EPS, l, x, e),
                   [EPS_V] = ll_to_eps(LL_PREDICT_V, l, x, at(in->v, k)),
                   [EPS_X0] = ll_to_eps(LL_PREDICT_X0, l, x, z0),
                   [V_EPS] = ll_target(LL_PREDICT_V, l, ll_to_x0(LL_PREDICT_EPS, l, x, e), e),
                   [Q] = ll_noised(level(s, in->t_q, k / in->one), z0, e),
                   [Q_T] = ll_noised(l, z0, e),
            };
            y[k] = (double)all[what];
        }
        golden_compare(c, names[what], y, in->n, NULL);
    }
}

/* The reference divides by a tiny alpha: 5e-3 at the last steps is its own error (README). */
static void v_target(golden *c, const ll_schedule *s, const steps *in, double *y, double *allowed)
{
    for (int64_t k = 0; k < in->n; k++) {
        const double t = in->t[k / in->one];
        y[k] = (double)ll_target(LL_PREDICT_V, level(s, in->t, k / in->one), at(in->x0, k),
                                 at(in->eps, k));
        allowed[k] = t >= (double)(s->T - 2) ? 5e-3 : 1e-4;
    }
    golden_compare(c, "out.v_target", y, in->n, allowed);
}

static void ddim(golden *c, const ll_schedule *s, const steps *in, double *y)
{
    static const double      etas[] = { 0.0, 0.5 };
    static const char *const eta_names[] = { "eta0", "eta05" };
    for (int what = 0; what < 6; what++) {
        const ll_prediction p = (ll_prediction)(what / 2);
        const double *pred = p == LL_PREDICT_V ? in->v : p == LL_PREDICT_X0 ? in->x0 : in->eps;
        char          name[64];
        for (int64_t k = 0; k < in->n; k++) {
            const ll_level from = level(s, in->t, k / in->one);
            const float    x0 = ll_to_x0(p, from, at(in->x_t, k), at(pred, k));
            const float    eps = ll_to_eps(p, from, at(in->x_t, k), at(pred, k));
            const float    noise = at(in->noise, k);
            float          x;
            ll_ddim_step(from, level(s, in->t_prev, k / in->one), etas[what % 2], &x0, &eps, &noise,
                         &x, 1);
            y[k] = (double)x;
        }
        snprintf(name, sizeof name, "out.ddim_%s_%s", ll_prediction_names[p], eta_names[what % 2]);
        golden_compare(c, name, y, in->n, NULL);
    }
    for (int64_t r = 0; r < in->rows; r++)
        y[r] = (double)ll_ddim_sigma(level(s, in->t, r), level(s, in->t_prev, r), 0.5);
    golden_compare(c, "out.ddim_sigma_eta05", y, in->rows, NULL);
}

/* Every list of the file, exactly. */
static void lists(golden *c, const ll_schedule *s)
{
    const double rho = golden_real(c, "rho");
    for (size_t i = 0; i < ll_tensors_count(c->file) && c->status == LLAP_OK; i++) {
        const char *name = ll_tensors_at(c->file, i).name;
        ll_points   list;
        if (strncmp(name, "out.karras_", 11) != 0) continue;
        c->status = ll_points_reference(s, atoi(name + 11), rho, &list);
        if (c->status != LLAP_OK) return;
        double *t = golden_new(c, list.n);
        for (int k = 0; t != NULL && k < list.n; k++) t[k] = list.at[k].time;
        golden_compare(c, name, t, list.n, NULL);
        ll_points_deinit(&list);
    }
}

/* Linear between steps. */
static double alpha_bar_at(const ll_schedule *s, double t)
{
    const double  last = (double)(s->T - 1), at = fmin(fmax(t, 0.0), last);
    const int64_t i = (int64_t)at, next = i + 1 < s->T ? i + 1 : i;
    const double  w = at - (double)i;
    return (1.0 - w) * (double)s->alpha_bar[i] + w * (double)s->alpha_bar[next];
}

static void by_step(golden *c, const ll_schedule *s)
{
    const double  rho = golden_real(c, "rho");
    const double *u = golden_values(c, "in.u"), *part = golden_values(c, "in.t_frac");
    const int64_t n_u = golden_dim(c, "in.u", 0), n_part = golden_dim(c, "in.t_frac", 0);
    double       *y = golden_new(c, s->T + n_u + n_part);
    if (c->status != LLAP_OK) return;
    for (int64_t i = 0; i < n_u; i++) y[i] = (double)ll_karras_step(s, u[i], rho);
    golden_compare(c, "out.t_karras_train", y, n_u, NULL);
    for (int64_t i = 0; i < n_part; i++) y[i] = alpha_bar_at(s, part[i]);
    golden_compare(c, "out.alpha_bar_frac", y, n_part, NULL);
    for (int64_t i = 0; i < s->T; i++) y[i] = (double)ll_schedule_snr(s, i);
    golden_compare(c, "out.snr_all", y, s->T, NULL);
    for (int64_t i = 0; i < s->T; i++) y[i] = log(y[i]);
    golden_compare(c, "out.log_snr_all", y, s->T, NULL);
}

void golden_scheduler(golden *c)
{
    const ll_shape shape = golden_shape(c, "in.x_t");
    const steps    in = { .t = golden_values(c, "in.t"),
                          .t_prev = golden_values(c, "in.t_prev"),
                          .t_q = golden_values(c, "in.t_q"),
                          .x_t = golden_values(c, "in.x_t"),
                          .eps = golden_values(c, "in.eps"),
                          .v = golden_values(c, "in.v"),
                          .x0 = golden_values(c, "in.x0"),
                          .noise = golden_values(c, "in.noise"),
                          .rows = shape.dim[0],
                          .n = ll_shape_count(&shape),
                          .one = ll_shape_count(&shape) / (shape.dim[0] > 0 ? shape.dim[0] : 1) };
    double        *y = golden_new(c, in.n), *allowed = golden_new(c, in.n);
    ll_schedule   *s = golden_schedule(c, ""), *own = own_schedule(c);
    if (c->status == LLAP_OK) {
        conversions(c, s, &in, y);
        v_target(c, s, &in, y, allowed);
        ddim(c, s, &in, y);
        lists(c, s);
        lists(c, own);
        by_step(c, s);
    }
    ll_schedule_destroy(s);
    ll_schedule_destroy(own);
}

/* -------- min-SNR weights -------- */

typedef struct weighing {
    golden            *c;
    const ll_schedule *s;
    ll_prediction      p;
    double             gamma;
    double            *y;
} weighing;

static void compare_weights(const weighing *w, const char *label, int64_t n)
{
    char name[64];
    snprintf(name, sizeof name, "out.w_%s_%s_g%s", label, ll_prediction_names[w->p],
             w->gamma == 5.0 ? "5" : "45");
    golden_compare(w->c, name, w->y, n, NULL);
}

/* The weights of these steps, as rows of one kind in a batch have them. */
static void weights_of(const weighing *w, const char *label, ll_weight_norm norm, const double *t,
                       int64_t n)
{
    const ll_loss_opts o = {
        .predict = w->p, .min_snr = true, .gamma = w->gamma, .normalize = norm
    };
    int32_t *step = ll_arena_new(&w->c->arena, (size_t)n, sizeof *step);
    float   *weight = ll_arena_new(&w->c->arena, (size_t)n, sizeof *weight);
    if (step == NULL || weight == NULL) {
        golden_fail(w->c, LLAP_ENOMEM, "out of memory");
        return;
    }
    for (int64_t i = 0; i < n; i++) step[i] = (int32_t)t[i];
    ll_diffusion_weights(w->s, &o, step, NULL, n, weight);
    for (int64_t i = 0; i < n; i++) w->y[i] = (double)weight[i];
    compare_weights(w, label, n);
}

void golden_min_snr(golden *c)
{
    static const double gammas[] = { 5.0, 4.5 };
    const double *batch = golden_values(c, "in.t_batch"), *one = golden_values(c, "in.t_single");
    const int64_t n = golden_dim(c, "in.t_batch", 0);
    ll_schedule  *s = golden_schedule(c, "");
    double       *y = s == NULL ? NULL : golden_new(c, s->T);
    for (int i = 0; i < 6 && c->status == LLAP_OK; i++) {
        const weighing w = { c, s, (ll_prediction)(i / 2), gammas[i % 2], y };
        for (int64_t t = 0; t < s->T; t++) y[t] = (double)ll_min_snr(s, t, w.gamma, w.p);
        compare_weights(&w, "raw", s->T);
        y[0] = ll_min_snr_mean(s, w.gamma, w.p);
        compare_weights(&w, "ref", 1);
        for (int norm = 0; ll_weight_norm_names[norm] != NULL; norm++)
            weights_of(&w, ll_weight_norm_names[norm], (ll_weight_norm)norm, batch, n);
        weights_of(&w, "auto_single", LL_WEIGHT_AUTO, one, 1);
    }
    ll_schedule_destroy(s);
}
