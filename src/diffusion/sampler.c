/* The loop of docs/spec/model.md 6.2, one function for each of its steps. */
#include "diffusion/sampler.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"
#include "base/sort.h"
#include "diffusion/solver.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const char *const ll_solver_names[] = { "ddim", "dpmpp_2m", "unipc", NULL };

typedef struct loop {
    const ll_sampler_opts *o;
    const ll_points       *list;
    ll_extent              e;
    const ll_predictor    *p;
    const ll_sample_io    *io;
    int64_t                n_one, n; /* numbers of one sample, of all */
    float                 *x, *pred, *pred_u, *x0, *eps, *sc, *noise, *sorted, *block;
    ll_solver_history      history;
} loop;

/* -------- draws -------- */

void ll_sample_normals(const ll_sample_io *io, ll_extent e, ll_noise what, int i, float *out)
{
    const int64_t n = e.h * e.Z;
    for (int64_t b = 0; b < e.B; b++)
        for (int64_t r = 0; r < e.R; r++) {
            const uint64_t window = io->window == NULL ? (uint64_t)b : io->window[b];
            const ll_rng   g =
                ll_rng_make(io->seed, LL_STREAM_NOISE, window, io->first_sample + (uint32_t)r,
                            4u * (uint32_t)i + (uint32_t)what);
            ll_rng_fill_normal(&g, 0, (size_t)n, out + (b * e.R + r) * n);
        }
}

/* Normals of a purpose at transition i, or the caller's. */
static const float *draw(loop *l, ll_noise what, int i, const float *given)
{
    if (given != NULL) return given;
    ll_sample_normals(l->io, l->e, what, i, l->noise);
    return l->noise;
}

static const float *part_of(const float *all, int64_t n, int i)
{
    return all == NULL ? NULL : all + (int64_t)i * n;
}

/* -------- inpainting, docs/spec/model.md 6.4 -------- */

static bool kept(const loop *l, int64_t k)
{
    const int64_t row = k / (l->e.R * l->n_one);
    return l->io->keep != NULL && l->io->keep[row * l->n_one + k % l->n_one] != 0;
}

static float observed(const loop *l, int64_t k)
{
    const int64_t row = k / (l->e.R * l->n_one);
    return l->io->y_obs[row * l->n_one + k % l->n_one];
}

/* Kept positions become a y_obs + s noise. */
static void put_observed(loop *l, ll_level at, const float *noise)
{
    for (int64_t k = 0; k < l->n; k++)
        if (kept(l, k)) l->x[k] = ll_noised(at, observed(l, k), noise[k]);
}

/* -------- guidance -------- */

float ll_guidance_at(const ll_sampler_opts *o, float alpha_bar)
{
    const float g0 = (float)o->guidance[0], g1 = (float)o->guidance[1];
    if (g0 == g1) return g0;
    return g0 + (g1 - g0) * powf(alpha_bar, (float)o->guidance_power);
}

static void moments(const float *x, int64_t n, double *mean, double *deviation)
{
    double sum = 0.0, square = 0.0;
    assert(n >= 1);
    for (int64_t i = 0; i < n; i++) sum += (double)x[i];
    *mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) {
        const double d = (double)x[i] - *mean;
        square += d * d;
    }
    *deviation = n > 1 ? sqrt(square / (double)(n - 1)) : 0.0;
}

/* The guided prediction gets mean and deviation of the conditional one. */
static void rescale(float *guided, const float *conditional, int64_t n)
{
    double m, d, m_c, d_c;
    moments(guided, n, &m, &d);
    moments(conditional, n, &m_c, &d_c);
    const double by = fmax(d_c, 1e-6) / fmax(d, 1e-6);
    for (int64_t i = 0; i < n; i++) guided[i] = (float)(((double)guided[i] - m) * by + m_c);
}

/* pred = pred_u + g (pred_c - pred_u), with g = 1 at kept positions; pred_c in x0's place */
static void guide(loop *l, float g)
{
    memcpy(l->x0, l->pred, (size_t)l->n * sizeof *l->pred);
    for (int64_t k = 0; k < l->n; k++) {
        const float by = kept(l, k) ? 1.0f : g;
        l->pred[k] = l->pred_u[k] + by * (l->pred[k] - l->pred_u[k]);
    }
    for (int64_t k = 0; l->o->guidance_rescale && k < l->n; k += l->n_one)
        rescale(l->pred + k, l->x0 + k, l->n_one);
}

static llap_status all_finite(const float *x, int64_t n, const ll_point *at)
{
    for (int64_t k = 0; k < n; k++)
        if (!isfinite(x[k]))
            return ll_fail(LLAP_ENUMERIC, "sampler: the prediction at time %g is not finite",
                           at->time);
    return LLAP_OK;
}

/* One or two passes at point i; the guided prediction in pred. */
static llap_status predict(loop *l, int i)
{
    const ll_point *at = &l->list->at[i];
    const float     g = ll_guidance_at(l->o, at->level.alpha_bar);
    const bool      two = l->p->has_condition && fabs((double)g - 1.0) > 1e-12;
    const float    *sc = l->o->self_condition ? l->sc : NULL;
    llap_status     st = l->p->predict(l->p->user, i, at, l->p->has_condition, l->x, sc, l->pred);
    if (st == LLAP_OK && two) st = l->p->predict(l->p->user, i, at, false, l->x, sc, l->pred_u);
    if (st == LLAP_OK) st = all_finite(l->pred, l->n, at);
    if (st == LLAP_OK && two) st = all_finite(l->pred_u, l->n, at);
    if (st != LLAP_OK) return st;
    if (l->io->watch != NULL)
        l->io->watch(l->io->watcher, i, l->x, l->pred, two ? l->pred_u : NULL);
    if (two) guide(l, g);
    return LLAP_OK;
}

/* -------- estimates -------- */

/* x0 and eps of the prediction. A clipped x0 has the eps that belongs to it. */
static void estimate(loop *l, ll_level at)
{
    const float clip = (float)l->o->clip;
    for (int64_t k = 0; k < l->n; k++) {
        l->x0[k] = ll_to_x0(l->o->predict, at, l->x[k], l->pred[k]);
        l->eps[k] = ll_to_eps(l->o->predict, at, l->x[k], l->pred[k]);
        if (clip > 0.0f && fabsf(l->x0[k]) > clip) {
            l->x0[k] = copysignf(clip, l->x0[k]);
            l->eps[k] = ll_to_eps(LL_PREDICT_X0, at, l->x[k], l->x0[k]);
        }
    }
}

/* docs/spec/model.md 6.2.5: x0 / q clamped, q = max(1, quantile of |x0|); into out, one sample at a
 * time */
static void threshold(const loop *l, const float *x0, float *out)
{
    const float top = (float)l->o->threshold_max;
    for (int64_t i = 0; i < l->n_one; i++) l->sorted[i] = fabsf(x0[i]);
    ll_sort_floats(l->sorted, (size_t)l->n_one);
    const double  place = l->o->threshold_p * (double)(l->n_one - 1);
    const int64_t i = (int64_t)place, next = i + 1 < l->n_one ? i + 1 : i;
    const double  w = place - (double)i;
    assert(i >= 0 && next < l->n_one);
    const double q = (1.0 - w) * (double)l->sorted[i] + w * (double)l->sorted[next];
    for (int64_t k = 0; k < l->n_one; k++)
        out[k] = fminf(fmaxf(x0[k] / (float)fmax(q, 1.0), -top), top);
}

/* What is returned at the end, and what self-conditioning sees: x0, thresholded if asked for. */
static void settle(loop *l, float *out)
{
    if (l->o->threshold_p > 0.0)
        for (int64_t k = 0; k < l->n; k += l->n_one) threshold(l, l->x0 + k, out + k);
    else memcpy(out, l->x0, (size_t)l->n * sizeof *out);
}

/* -------- transitions -------- */

float ll_ddim_sigma(ll_level from, ll_level to, double eta)
{
    const double at = fmin(fmax((double)from.alpha_bar, 1e-12), 1.0);
    const double next = fmin(fmax((double)to.alpha_bar, 1e-12), 1.0);
    if (eta == 0.0 || at == 1.0) return 0.0f;
    return (float)(eta * sqrt((1.0 - next) / (1.0 - at)) *
                   sqrt(fmax(1.0 - at / (next + 1e-12), 0.0)));
}

void ll_ddim_step(ll_level from, ll_level to, double eta, const float *x0, const float *eps,
                  const float *noise, float *x, int64_t n)
{
    const float s = ll_ddim_sigma(from, to, eta);
    const float along = sqrtf(fmaxf(1.0f - to.alpha_bar - s * s, 0.0f));
    assert(s == 0.0f || noise != NULL);
    for (int64_t k = 0; k < n; k++) {
        const float v = to.a * x0[k] + along * eps[k];
        x[k] = s > 0.0f ? v + s * noise[k] : v;
    }
}

static void advance(loop *l, int i)
{
    assert(i + 1 < l->list->n);
    const ll_level at = l->list->at[i].level, to = l->list->at[i + 1].level;
    if (l->o->solver == LL_SOLVER_DDIM) {
        const float *noise =
            l->o->eta > 0.0 ? draw(l, LL_NOISE_STEP, i, part_of(l->io->step, l->n, i)) : NULL;
        ll_ddim_step(at, to, l->o->eta, l->x0, l->eps, noise, l->x, l->n);
    } else {
        ll_solver_remember(&l->history, at, l->x0);
        if (l->o->solver == LL_SOLVER_UNIPC) ll_solver_correct(&l->history, l->x);
        ll_solver_advance(l->o->solver, &l->history, to, l->x);
    }
    if (l->io->keep != NULL)
        put_observed(l, to, draw(l, LL_NOISE_OBS, i + 1, part_of(l->io->obs_step, l->n, i)));
}

static llap_status run(loop *l, float *out)
{
    memcpy(l->x, draw(l, LL_NOISE_INIT, 0, l->io->init), (size_t)l->n * sizeof *l->x);
    for (int64_t k = 0; l->io->start != NULL && k < l->n; k++)
        l->x[k] = ll_noised(l->list->at[0].level, l->io->start[k], l->x[k]);
    if (l->io->keep != NULL)
        put_observed(l, l->list->at[0].level, draw(l, LL_NOISE_OBS, 0, l->io->obs_init));
    for (int i = 0; i < l->list->n; i++) {
        const llap_status st = predict(l, i);
        if (st != LLAP_OK) return st;
        estimate(l, l->list->at[i].level);
        if (l->o->self_condition) settle(l, l->sc);
        if (i + 1 < l->list->n) advance(l, i);
    }
    settle(l, out);
    for (int64_t k = 0; l->io->keep != NULL && k < l->n; k++)
        if (kept(l, k)) out[k] = observed(l, k);
    return LLAP_OK;
}

static llap_status check(const ll_sampler_opts *o, const ll_points *list, ll_extent e,
                         const ll_sample_io *io)
{
    if (list->n < 1) return ll_fail(LLAP_EINVAL, "sampler: the list of steps is empty");
    if (e.B < 1 || e.R < 1 || e.h < 1 || e.Z < 1)
        return ll_fail(LLAP_EINVAL, "sampler: [%lld,%lld,%lld,%lld] has no elements",
                       (long long)e.B, (long long)e.R, (long long)e.h, (long long)e.Z);
    if (!(o->eta >= 0.0 && o->eta <= 1.0))
        return ll_fail(LLAP_EINVAL, "sampler: eta: expected 0..1, found %g", o->eta);
    if (o->eta > 0.0 && o->solver != LL_SOLVER_DDIM)
        return ll_fail(LLAP_EINVAL, "sampler: eta needs the solver ddim");
    if (!(o->threshold_p >= 0.0 && o->threshold_p <= 1.0))
        return ll_fail(LLAP_EINVAL, "sampler: threshold_p: expected 0..1, found %g",
                       o->threshold_p);
    if (!isfinite(o->guidance[0]) || !isfinite(o->guidance[1]) || !isfinite(o->guidance_power))
        return ll_fail(LLAP_EINVAL, "sampler: the guidance is not finite");
    if ((io->y_obs == NULL) != (io->keep == NULL))
        return ll_fail(LLAP_EINVAL, "sampler: inpainting needs both values and mask");
    return LLAP_OK;
}

llap_status ll_sample(const ll_sampler_opts *o, const ll_points *list, ll_extent e,
                      const ll_predictor *p, const ll_sample_io *io, float *out)
{
    const llap_status st = check(o, list, e, io);
    if (st != LLAP_OK) return st;
    loop    l = { .o = o, .list = list, .e = e, .p = p, .io = io };
    float **parts[] = { &l.x,
                        &l.pred,
                        &l.pred_u,
                        &l.x0,
                        &l.eps,
                        &l.sc,
                        &l.noise,
                        &l.history.x0[0],
                        &l.history.x0[1],
                        &l.history.x0[2],
                        &l.history.x };
    enum { N_PARTS = sizeof parts / sizeof *parts };
    l.n_one = e.h * e.Z;
    l.n = l.history.n = e.B * e.R * l.n_one;
    l.block = ll_new((size_t)(N_PARTS * l.n + l.n_one), sizeof *l.block);
    if (l.block == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < N_PARTS; i++) *parts[i] = l.block + i * l.n;
    l.sorted = l.block + N_PARTS * l.n;
    const llap_status done = run(&l, out);
    ll_free(l.block);
    return done;
}
