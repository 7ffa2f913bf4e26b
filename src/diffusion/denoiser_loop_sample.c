/* Sampling with the plans of denoiser_loop.c: windows and noise in, the loop, samples out. */
#include "backend/device_memory.h"
#include "base/alloc.h"
#include "base/error.h"
#include "diffusion/denoiser_loop_parts.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The rows of point i of what is shared become inputs. */
static llap_status bind_point(ll_denoiser_loop *s, ll_ready *r, int i)
{
    llap_status st = LLAP_OK;
    assert(i >= 0 && i < s->n);
    for (int k = 0; k < ll_plan_n_slots(r->plan) && st == LLAP_OK; k++) {
        const ll_slot *slot = ll_plan_slot(r->plan, k);
        const bool     given = strncmp(slot->name, "given.", 6) == 0;
        if (!given && strncmp(slot->name, "free.", 5) != 0) continue;
        const int64_t n = ll_shape_count(&slot->shape);
        char         *all = ll_run_output_device(s->shared[given ? GIVEN : FREE].run,
                                                 slot->name + (given ? 6 : 5), NULL);
        const int64_t each = slot->elem == LL_HALF ? 2 : sizeof(float);
        assert(all != NULL);
        st = ll_run_bind_device(r->run, slot->name, all + i * n * each, n);
    }
    return st;
}

/* The two passes of a guided step, beside each other where the backend knows how. */
static llap_status run_passes(ll_denoiser_loop *s, int i)
{
    const ll_backend *b = s->o.backend;
    const bool        beside = b->memory != NULL && b->memory->aside != NULL;
    llap_status       st = LLAP_OK;
    assert(s->pass[FREE].run != NULL && s->pass[GIVEN].run != NULL);
    for (int k = 0; k < N_KINDS && st == LLAP_OK; k++) {
        if (beside) st = ll_device_status(b, b->memory->aside(k == FREE));
        if (st == LLAP_OK) st = bind_point(s, &s->pass[k], i);
        if (st == LLAP_OK) st = ll_run_exec(s->pass[k].run);
    }
    if (beside) { /* whatever happened, so that the queue is the thread's own again */
        const llap_status joined = ll_device_status(b, b->memory->join());
        if (st == LLAP_OK) st = joined;
    }
    return st;
}

static llap_status run_loop(ll_denoiser_loop *s)
{
    const ll_extent e = s->o.extent;
    const int64_t   n = e.B * e.R * e.h * e.Z;
    llap_status     st = LLAP_OK;
    for (int k = 0; k < N_KINDS && st == LLAP_OK; k++)
        if (s->shared[k].run != NULL) st = ll_run_exec(s->shared[k].run);
    for (int i = 0; i < s->n && st == LLAP_OK; i++) {
        ll_ready *r = &s->step[s->guided[i]];
        if (s->guided[i]) st = run_passes(s, i);
        if (st == LLAP_OK)
            st = ll_run_bind_device(r->run, "coef", (float *)s->coef_near + (int64_t)i * N_COEFS,
                                    N_COEFS);
        if (st == LLAP_OK && !s->guided[i]) st = bind_point(s, r, i);
        if (st == LLAP_OK && s->o.kept) st = planned_bind(r, "known", (float *)s->known + i * n, n);
        if (st == LLAP_OK) st = ll_run_exec(r->run);
    }
    return st;
}

static llap_status record_loop(ll_denoiser_loop *s)
{
    const ll_backend *b = s->o.backend;
    llap_status       st = ll_device_status(b, b->memory->record());
    if (st != LLAP_OK) return st;
    st = run_loop(s);
    const llap_status made = ll_device_status(b, b->memory->recorded(&s->recording));
    return st == LLAP_OK ? made : st;
}

/* The first time as it comes, so that everything that is made once is made; then recorded; where
 * there is no room for a recording always as it comes. */
static llap_status run_or_replay(ll_denoiser_loop *s)
{
    const ll_memory *m = s->o.backend->memory;
    llap_status      st = LLAP_OK;
    if (m == NULL || m->record == NULL || s->no_room || !s->has_run) {
        st = run_loop(s);
        s->has_run = st == LLAP_OK;
        return st;
    }
    if (s->recording == NULL) st = record_loop(s);
    if (st == LLAP_OK) st = ll_device_status(s->o.backend, m->replay(s->recording));
    if (st == LLAP_OK) return st;
    planned_forget(s); /* it may lack what went wrong */
    s->no_room = st == LLAP_ENOMEM;
    return s->no_room ? run_loop(s) : st; /* nothing was computed yet */
}

static llap_status put_windows(ll_denoiser_loop *s, const ll_prepared_denoiser_batch *w)
{
    const float *from[N_WINDOW] = { w->tq, w->E, w->E_raw, w->f, w->pad, w->E_pad };
    llap_status  st = LLAP_OK;
    if ((w->E == NULL) != (s->o.S == 0))
        return ll_fail(LLAP_EINVAL, "sampler: a summary is %s",
                       w->E == NULL ? "missing" : "not expected");
    for (int i = 0; i < N_WINDOW && st == LLAP_OK; i++) { /* absent padding stays zeros */
        const ll_shape one = planned_window_shape(s, i);
        if (from[i] != NULL)
            st = ll_device_put(s->o.backend, s->window[i], from[i],
                               (size_t)ll_shape_count(&one) * sizeof(float));
    }
    return st;
}

/* -------- inpainting, docs/spec/model.md 6.4 -------- */

/* Kept positions of x [B,R,h,Z] become a y_obs + s noise. */
static void put_observed(const ll_denoiser_loop *s, const ll_sample_io *io, ll_level at,
                         const float *noise, float *x)
{
    const ll_extent e = s->o.extent;
    const int64_t   one = e.h * e.Z, n = e.B * e.R * one;
    assert(io->keep != NULL && io->y_obs != NULL);
    for (int64_t k = 0; k < n; k++) {
        const int64_t of = k / (e.R * one) * one + k % one;
        if (io->keep[of] != 0) x[k] = ll_noised(at, io->y_obs[of], noise[k]);
    }
}

/* Positions that are kept, and what they are behind every step. The noise is not used after it. */
static llap_status put_known(ll_denoiser_loop *s, const ll_sample_io *io)
{
    const ll_extent   e = s->o.extent;
    const ll_backend *b = s->o.backend;
    const int64_t     n = e.B * e.R * e.h * e.Z;
    for (int64_t k = 0; k < n / e.R; k++) s->mask[k] = io->keep != NULL && io->keep[k] != 0;
    llap_status st = ll_device_put(b, s->keep, s->mask, (size_t)(n / e.R) * sizeof *s->mask);
    for (int i = 0; i + 1 < s->n && st == LLAP_OK && io->keep != NULL; i++) {
        const float *noise = io->obs_step == NULL ? s->noise : io->obs_step + i * n;
        if (noise == s->noise) ll_sample_normals(io, e, LL_NOISE_OBS, i + 1, s->noise);
        put_observed(s, io, s->level[i + 1], noise, s->noise);
        st = ll_device_put(b, (float *)s->known + i * n, s->noise, (size_t)n * sizeof *s->noise);
        if (st == LLAP_OK) st = ll_device_finish(b); /* it is written again */
    }
    return st;
}

/* The first noise, with the draws of ll_sample: noised, where there is a start. */
static llap_status put_noise(ll_denoiser_loop *s, const ll_sample_io *io)
{
    const ll_extent e = s->o.extent;
    const int64_t   n = e.B * e.R * e.h * e.Z;
    float          *obs = NULL;
    if (io->keep != NULL) {
        obs = ll_new((size_t)n, sizeof *obs);
        if (obs == NULL) return LLAP_ENOMEM;
        if (io->obs_init != NULL) memcpy(obs, io->obs_init, (size_t)n * sizeof *obs);
        else ll_sample_normals(io, e, LL_NOISE_OBS, 0, obs);
    }
    if (io->init != NULL) memcpy(s->noise, io->init, (size_t)n * sizeof *s->noise);
    else ll_sample_normals(io, e, LL_NOISE_INIT, 0, s->noise);
    for (int64_t k = 0; io->start != NULL && k < n; k++)
        s->noise[k] = ll_noised(s->level[0], io->start[k], s->noise[k]);
    if (obs != NULL) put_observed(s, io, s->level[0], obs, s->noise);
    ll_free(obs);
    return ll_device_put(s->o.backend, s->x, s->noise, (size_t)n * sizeof *s->noise);
}

llap_status ll_denoiser_loop_sample(ll_denoiser_loop *s, const ll_prepared_denoiser_batch *w,
                                    const ll_sample_io *io, float *out)
{
    const ll_extent e = s->o.extent;
    const int64_t   n = e.B * e.R * e.h * e.Z;
    if (io->watch != NULL || (io->keep != NULL && !s->o.kept))
        return ll_fail(LLAP_EUNSUPPORTED, "sampler: %s is not for this planned sampling",
                       io->watch != NULL ? "watching" : "inpainting");
    if ((io->y_obs == NULL) != (io->keep == NULL))
        return ll_fail(LLAP_EINVAL, "sampler: inpainting needs both values and mask");
    llap_status st = put_windows(s, w);
    if (st == LLAP_OK && s->o.kept) st = put_known(s, io);
    if (st == LLAP_OK) st = put_noise(s, io);
    if (st == LLAP_OK) st = ll_device_clear(s->o.backend, s->x0, (size_t)n * sizeof *out);
    if (st == LLAP_OK) st = run_or_replay(s);
    if (st == LLAP_OK) st = ll_device_get(s->o.backend, out, s->x0, (size_t)n * sizeof *out);
    for (int64_t k = 0; k < n && st == LLAP_OK; k++) {
        const int64_t of = k / (e.R * e.h * e.Z) * e.h * e.Z + k % (e.h * e.Z);
        if (io->keep != NULL && io->keep[of] != 0) out[k] = io->y_obs[of];
        if (!isfinite(out[k])) st = ll_fail(LLAP_ENUMERIC, "sampler: a sample is not finite");
    }
    return st;
}
