/* From a batch of the loader to what the denoiser sees, and back: c11. The files have [B,N,l,..].
 */
#include "golden.h"

#include "data/windows/batch.h"
#include "networks/conditioning.h"
#include "networks/latent.h"

#include <string.h>

static void copy_floats(golden *c, const char *tensor, float *to)
{
    const ll_shape shape = golden_shape(c, tensor);
    const double  *x = golden_values(c, tensor);
    for (int64_t i = 0; c->status == LLAP_OK && i < ll_shape_count(&shape); i++)
        to[i] = (float)x[i];
}

static void copy_mask(golden *c, const char *tensor, uint8_t *to)
{
    const ll_shape shape = golden_shape(c, tensor);
    const double  *x = golden_values(c, tensor);
    for (int64_t i = 0; c->status == LLAP_OK && i < ll_shape_count(&shape); i++)
        to[i] = x[i] != 0.0;
}

/* The batch of the file, made usable. */
static void read_batch(golden *c, ll_batch *b)
{
    *b = (ll_batch){ .n_examples = golden_int(c, "B"),
                     .n_slots = golden_int(c, "N"),
                     .n_context = golden_int(c, "K"),
                     .n_query = golden_int(c, "h"),
                     .n_features = golden_int(c, "D"),
                     .n_targets = golden_int(c, "C") };
    if (c->status == LLAP_OK) c->status = ll_batch_shape(b, true);
    if (c->status != LLAP_OK) return;
    copy_floats(c, "in.V", b->v);
    copy_floats(c, "in.T", b->dv);
    copy_floats(c, "in.y", b->y);
    copy_floats(c, "in.delta_t", b->delta_t);
    copy_floats(c, "in.delta_t_y", b->delta_t_y);
    copy_mask(c, "in.x_obs_mask", b->x_obs);
    copy_mask(c, "in.y_obs_mask", b->y_obs);
    copy_mask(c, "in.entity_mask", b->entity_mask);
    if (c->status == LLAP_OK) c->status = ll_batch_check(b);
}

static double *widen(golden *c, const float *x, const uint8_t *m, int64_t n)
{
    double *out = golden_new(c, n);
    for (int64_t i = 0; out != NULL && i < n; i++) out[i] = x != NULL ? (double)x[i] : m[i];
    return out;
}

static ll_tensor *time_first(ll_graph *g, ll_tensor *x)
{
    static const int axes[] = { 0, 2, 1, 3 };
    return x == NULL ? NULL : ll_permute(g, x, axes);
}

static void summarize(golden *c, const ll_batch *b, ll_tensor *ent)
{
    ll_graph        *g = c->graph;
    const int64_t    slots = b->n_examples * b->n_slots, n = slots * b->n_context;
    const ll_shape   cells = LL_SHAPE(b->n_examples, b->n_slots, b->n_context, b->n_features);
    const ll_shape   times = LL_SHAPE(b->n_examples, b->n_slots, b->n_context);
    double          *x = widen(c, b->v, NULL, n * b->n_features);
    double          *dx = widen(c, b->dv, NULL, n * b->n_features);
    double          *obs = widen(c, NULL, b->x_obs, n * b->n_features);
    const ll_history history = {
        .x = time_first(g, golden_give(c, "x", cells, x)),
        .dx = time_first(g, golden_give(c, "dx", cells, dx)),
        .dt = time_first(g, golden_give(c, "dt", times, widen(c, b->delta_t, NULL, n))),
        .obs = time_first(g, golden_give(c, "obs", cells, obs)),
        .ent = ent,
    };
    c->part = "summarizer.";
    const ll_summarizer_config cfg = golden_summarizer_config(c);
    c->part = NULL;
    ll_scope_push(g, "summarizer");
    const ll_summary          s = ll_summarize(g, &cfg, &history);
    const ll_summarizer_heads h = ll_summarizer_decode(g, &cfg, s.context);
    ll_scope_pop(g);
    ll_output(g, "out.cond_summary_raw", s.context);
    ll_output(g, "out.cond_summary", ll_context_normalise(g, s.context, NULL, NULL));
    ll_output(g, "x_hat", h.x_hat); /* the heads are in the file too */
    ll_output(g, "v_hat", h.v_hat);
    ll_output(g, "t_hat", h.t_hat);
    ll_output(g, "dt_hat", h.dt_hat);
    ll_output(g, "obs_hat", h.obs_hat);
}

static void encode(golden *c, const ll_batch *b, ll_tensor *ent)
{
    ll_graph      *g = c->graph;
    const int64_t  n = b->n_examples * b->n_slots * b->n_query * b->n_targets;
    const ll_shape all = LL_SHAPE(b->n_examples, b->n_slots, b->n_query, b->n_targets);
    double        *obs = widen(c, NULL, b->y_obs, n);
    for (int64_t i = 0; c->status == LLAP_OK && i < n; i++)
        obs[i] *= b->valid[i / (b->n_query * b->n_targets)];
    ll_tensor *y = time_first(g, golden_give(c, "y", all, widen(c, b->y, NULL, n)));
    ll_tensor *seen = time_first(g, golden_give(c, "y_obs", all, obs));
    ll_tensor *any = golden_give(c, "any", LL_SHAPE(b->n_examples, b->n_query),
                                 widen(c, NULL, b->any_obs, b->n_examples * b->n_query));
    ll_tensor *mean = golden_input(c, "mu_mean"), *deviation = golden_input(c, "mu_std");
    c->part = "vae.";
    const ll_vae_config cfg = golden_vae_config(c);
    c->part = NULL;
    ll_scope_push(g, "vae");
    ll_tensor        *tok = ll_vae_tokens(g, y, seen);
    const ll_vae_code code = ll_vae_encode(g, &cfg, tok, ent);
    ll_tensor        *z0 = ll_latent_normalise(g, code.mu, mean, deviation, any);
    ll_tensor        *back = ll_vae_decode(g, &cfg, ll_latent_restore(g, z0, mean, deviation), ent);
    ll_scope_pop(g);
    ll_output(g, "mid.x_tok", tok);
    ll_output(g, "mid.mu", code.mu);
    ll_output(g, "logvar", code.logvar);
    ll_output(g, "out.mu_norm", z0);
    ll_output(g, "out.decoded", back);
}

/* In [B,h,N,C], absent entities hold what nobody uses. */
static void keep_valid(golden *c, const ll_batch *b)
{
    const int64_t n = b->n_examples * b->n_query * b->n_slots * b->n_targets;
    double       *keep = golden_new(c, n);
    for (int64_t i = 0; keep != NULL && i < n; i++) {
        const int64_t slot = i / b->n_targets % b->n_slots;
        keep[i] = b->valid[i / (b->n_targets * b->n_slots * b->n_query) * b->n_slots + slot];
    }
    golden_keep(c, "out.decoded", keep);
}

void golden_pipeline(golden *c)
{
    ll_batch b = { 0 };
    read_batch(c, &b);
    if (c->status == LLAP_OK) {
        const int64_t slots = b.n_examples * b.n_slots, steps = b.n_examples * b.n_query;
        double       *valid = widen(c, NULL, b.valid, slots);
        ll_tensor    *ent = golden_give(c, "ent", LL_SHAPE(b.n_examples, b.n_slots), valid);
        summarize(c, &b, ent);
        encode(c, &b, ent);
        golden_plan(c);
        golden_load(c);
        golden_bind(c);
        golden_exec(c);
        keep_valid(c, &b);
        golden_compare_outputs(c);
        golden_compare(c, "out.mask_bn", valid, slots, NULL);
        golden_compare(c, "out.obs_any", widen(c, NULL, b.any_obs, steps), steps, NULL);
        golden_compare(c, "out.dt_model", widen(c, b.tau, NULL, steps), steps, NULL);
    }
    ll_batch_deinit(&b);
}
