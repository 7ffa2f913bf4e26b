#include "predict/reference_networks.h"

#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "networks/conditioning.h"
#include "networks/latent.h"
#include "predict/forecaster.h"
#include "predict/reference.h"
#include "predict/reference_inputs.h"

#include <assert.h>
#include <string.h>

/* -------- the networks -------- */

/* Of n rows: "E_raw" and "E" [n,S,H], by the statistics of training or of these rows. */
static llap_status summary_net(reference_self *s, int64_t n)
{
    const ll_cond_norm norm = s->c->options.cond_norm;
    ll_graph          *g = NULL;
    if (s->summary != NULL && s->n_summary == n) return LLAP_OK;
    ll_session_destroy(s->summary);
    s->summary = NULL;
    llap_status st = ll_graph_create(&g);
    if (st == LLAP_OK) {
        const bool     fixed = norm == LL_COND_NORM_FIXED;
        const ll_shape each = LL_SHAPE(s->H);
        ll_tensor     *E = ll_reference_summary(g, s->c, n, false).context;
        ll_tensor     *mean = fixed ? ll_state(g, "cond.mean", each, LL_INIT_ZERO) : NULL;
        ll_tensor     *std = fixed ? ll_state(g, "cond.std", each, LL_INIT_ZERO) : NULL;
        ll_output(g, "E_raw", E);
        if (norm != LL_COND_NORM_NONE) E = ll_context_normalise(g, E, mean, std);
        ll_output(g, "E", E);
        st =
            ll_session_create(g, s->m->network->params, &ll_backend_cpu, s->n_threads, &s->summary);
    }
    ll_graph_destroy(g);
    if (st == LLAP_OK) s->n_summary = n;
    return st;
}

/* z [R,h,Z] as the sampler gives it -> "y" [R,h,N,C] on the scale of training. */
static llap_status decoder_net(reference_self *s, int64_t R, int64_t h)
{
    const ll_vae_config vae = ll_network_vae(s->c, false);
    const ll_shape      stats = LL_SHAPE(s->c->options.latent_rows, s->Z);
    ll_graph           *g = NULL;
    if (!s->vae) return LLAP_OK;
    llap_status st = ll_graph_create(&g);
    if (st == LLAP_OK) {
        ll_tensor *z = ll_input(g, "z", LL_SHAPE(R, h, s->Z));
        ll_tensor *ent = ll_input(g, "ent", LL_SHAPE(R, s->N));
        ll_tensor *mean = ll_state(g, "latent.mean", stats, LL_INIT_ZERO);
        ll_tensor *std = ll_state(g, "latent.std", stats, LL_INIT_ZERO);
        z = ll_latent_restore(g, z, mean, std);
        ll_scope_push(g, "vae");
        ll_output(g, "y", ll_vae_decode(g, &vae, z, ent));
        ll_scope_pop(g);
        st =
            ll_session_create(g, s->m->network->params, &ll_backend_cpu, s->n_threads, &s->decoder);
    }
    ll_graph_destroy(g);
    return st;
}

/* Readings "y", "obs" [n,h,N,C] -> "z" [n,h,Z] as the sampler has it. */
static llap_status encoder_net(reference_self *s, int64_t n, int64_t h)
{
    const ll_vae_config vae = ll_network_vae(s->c, false);
    const ll_shape      stats = LL_SHAPE(s->c->options.latent_rows, s->Z);
    const ll_shape      cells = LL_SHAPE(n, h, s->N, s->C);
    ll_graph           *g = NULL;
    llap_status         st = ll_graph_create(&g);
    if (st == LLAP_OK) {
        ll_tensor *y = ll_input(g, "y", cells), *obs = ll_input(g, "obs", cells);
        ll_tensor *ent = ll_input(g, "ent", LL_SHAPE(n, s->N));
        ll_tensor *any = ll_input(g, "any", LL_SHAPE(n, h));
        ll_tensor *mean = ll_state(g, "latent.mean", stats, LL_INIT_ZERO);
        ll_tensor *std = ll_state(g, "latent.std", stats, LL_INIT_ZERO);
        ll_scope_push(g, "vae");
        ll_tensor *mu = ll_vae_encode(g, &vae, ll_vae_tokens(g, y, obs), ent).mu;
        ll_scope_pop(g);
        ll_output(g, "z", ll_latent_normalise(g, mu, mean, std, any));
        st =
            ll_session_create(g, s->m->network->params, &ll_backend_cpu, s->n_threads, &s->encoder);
    }
    ll_graph_destroy(g);
    return st;
}

void reference_drop_nets(reference_self *s)
{
    ll_session_destroy(s->decoder);
    ll_session_destroy(s->encoder);
    ll_prepared_denoiser_destroy(s->denoiser);
    s->decoder = s->encoder = NULL;
    s->denoiser = NULL;
    s->R = s->h = 0;
}

static llap_status sampling_net(reference_self *s, ll_extent extent)
{
    ll_prepared_denoiser_opts o = { .extent = extent,
                                    .S = s->S,
                                    .part = ll_network_part(s->c),
                                    .prefix = "denoiser.",
                                    .backend = s->backend,
                                    .n_threads = s->n_threads,
                                    .folded = true,
                                    .kept = s->keep,
                                    .sampler = s->c->sampling.solver };
    o.sampler.predict = s->c->noise.prediction;
    assert(s->denoiser == NULL);
    return ll_prepared_denoiser_create(&s->c->denoiser, s->m->network->params, &o, &s->points,
                                       &s->denoiser);
}

llap_status reference_nets_for(reference_self *s, int64_t n, int64_t R, int64_t h, bool keep)
{
    if (s->R == R && s->h == h && s->n == n && s->keep == keep) return LLAP_OK;
    reference_drop_nets(s);
    s->keep = keep;
    llap_status st = decoder_net(s, R, h);
    if (st == LLAP_OK) st = sampling_net(s, (ll_extent){ n, R, h, s->Z });
    if (st == LLAP_OK) {
        s->R = R;
        s->h = h;
        s->n = n;
    }
    return st;
}

/* -------- what they see -------- */

/* The context of slot k of a window; without a summary nothing but who it is. */
static ll_window context_of(const reference_self *s, const ll_forecast_window *w, int64_t k)
{
    const int64_t e = s->joint ? s->entity[k] : w->entity;
    if (e < 0 || !s->summarised) return (ll_window){ .entity = (int32_t)e };
    return ll_window_before(s->p, e, w->origin, s->m->frame.context, s->l);
}

llap_status reference_look(reference_self *s, const ll_forecast_window *w, const work_row *row,
                           int64_t n)
{
    const ll_batch_opts o = ll_reference_batch_opts(&s->m->frame);
    ll_batch_query      query[REFERENCE_ROWS];
    ll_window          *slot = ll_new((size_t)(n * s->N), sizeof *slot);
    if (slot == NULL) return LLAP_ENOMEM;
    assert(n <= REFERENCE_ROWS);
    for (int64_t i = 0; i < n; i++) {
        const ll_forecast_window *v = &w[row[i].first];
        for (int64_t k = 0; k < s->N; k++) slot[i * s->N + k] = context_of(s, v, k);
        query[i] = (ll_batch_query){ .slot = slot + i * s->N,
                                     .origin = v->origin,
                                     .time = v->time,
                                     .n_query = v->n_query,
                                     .id = row[i].id,
                                     .observed = v->keep };
    }
    const llap_status st = ll_batch_ask(&s->batch, s->p, s->scaling, &o, s->N, query, n);
    ll_free(slot);
    return st;
}

const uint8_t *reference_present(const reference_self *s)
{
    return s->summarised ? s->batch.valid : s->batch.entity_mask;
}

llap_status reference_summarise(reference_self *s, const float **E, const float **E_raw)
{
    *E = *E_raw = NULL;
    if (!s->summarised) return LLAP_OK;
    llap_status st = summary_net(s, s->batch.n_examples);
    if (st != LLAP_OK) return st;
    ll_batch_history(&s->batch, s->batch.n_examples, s->l, s->summary);
    st = ll_session_run(s->summary);
    *E = ll_session_output(s->summary, "E");
    *E_raw = ll_session_output(s->summary, "E_raw");
    return st;
}

llap_status ll_reference_summarise(const ll_forecaster *f, int64_t entity, int64_t origin, float *E,
                                   float *E_raw)
{
    reference_self          *s = f->self;
    const size_t             bytes = (size_t)(s->S * s->H) * sizeof *E;
    const ll_forecast_window w = { .entity = entity, .origin = origin };
    const work_row           row = { .n = 1 };
    const float             *made, *raw;
    llap_status              st = reference_look(s, &w, &row, 1);
    if (st == LLAP_OK) st = reference_summarise(s, &made, &raw);
    if (st != LLAP_OK || !s->summarised) return st;
    memcpy(E, made, bytes);
    memcpy(E_raw, raw, bytes);
    return LLAP_OK;
}

/* Slots of which anything was read at the queries, [n,N]: training has windows of such alone. */
static void find_read(const ll_batch *b, uint8_t *read)
{
    const int64_t each = b->n_query * b->n_targets;
    for (int64_t i = 0; i < b->n_examples * b->n_slots; i++)
        read[i] = memchr(b->y_obs + i * each, 1, (size_t)each) != NULL;
}

/* As latents of the encoder. */
static llap_status encode_read(reference_self *s, const uint8_t *read, float *y_obs, uint8_t *keep)
{
    const ll_batch *b = &s->batch;
    const int64_t   n = b->n_examples, h = s->h, Z = s->Z;
    llap_status     st = s->encoder == NULL ? encoder_net(s, n, h) : LLAP_OK;
    if (st != LLAP_OK) return st;
    assert(n == s->n && h > 0);
    float *any = ll_session_real(s->encoder, "any");
    ll_batch_targets(b, n, h, read, ll_session_real(s->encoder, "y"),
                     ll_session_real(s->encoder, "obs"), ll_session_real(s->encoder, "ent"));
    for (int64_t i = 0; i < n * h; i++) any[i] = b->any_obs[i];
    st = ll_session_run(s->encoder);
    if (st != LLAP_OK) return st;
    memcpy(y_obs, ll_session_output(s->encoder, "z"), (size_t)(n * h * Z) * sizeof *y_obs);
    for (int64_t k = 0; k < n * h * Z; k++) keep[k] = b->any_obs[k / Z];
    return LLAP_OK;
}

llap_status reference_observe(reference_self *s, float *y_obs, uint8_t *keep)
{
    const ll_batch *b = &s->batch;
    const int64_t   values = b->n_examples * s->h * s->N * s->C;
    assert(b->n_query == s->h);
    uint8_t    *read = ll_new((size_t)(b->n_examples * s->N), sizeof *read);
    float      *obs = ll_new((size_t)(values + b->n_examples * s->N), sizeof *obs);
    llap_status st = read == NULL || obs == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) find_read(b, read);
    if (st == LLAP_OK && s->vae) st = encode_read(s, read, y_obs, keep);
    if (st == LLAP_OK && !s->vae) { /* an identity latent */
        ll_batch_targets(b, b->n_examples, s->h, read, y_obs, obs, obs + values);
        for (int64_t k = 0; k < values; k++) keep[k] = obs[k] > 0;
    }
    ll_free(read);
    ll_free(obs);
    return st;
}
