/* From a batch of the loader to what the denoiser sees, and back: c11. The files have [B,N,l,..].
 */
#include "golden.h"

#include "data/batch.h"
#include "model/conditioning.h"
#include "model/latent.h"

#include <string.h>

static void copy_floats(golden *c, const char *tensor, float *to)
{
    const llap_shape shape = golden_shape(c, tensor);
    const double    *x = golden_values(c, tensor);
    for (int64_t i = 0; c->status == LLAP_OK && i < llap_shape_count(&shape); i++)
        to[i] = (float)x[i];
}

static void copy_mask(golden *c, const char *tensor, uint8_t *to)
{
    const llap_shape shape = golden_shape(c, tensor);
    const double    *x = golden_values(c, tensor);
    for (int64_t i = 0; c->status == LLAP_OK && i < llap_shape_count(&shape); i++)
        to[i] = x[i] != 0.0;
}

/* The batch of the file, made usable. */
static void read_batch(golden *c, llap_batch *b)
{
    *b = (llap_batch){ .n_rows = golden_int(c, "B"),
                       .n_slots = golden_int(c, "N"),
                       .n_context = golden_int(c, "K"),
                       .n_query = golden_int(c, "h"),
                       .n_features = golden_int(c, "D"),
                       .n_targets = golden_int(c, "C") };
    if (c->status == LLAP_OK) c->status = llap_batch_shape(b, true);
    if (c->status != LLAP_OK) return;
    copy_floats(c, "in.V", b->v);
    copy_floats(c, "in.T", b->dv);
    copy_floats(c, "in.y", b->y);
    copy_floats(c, "in.delta_t", b->delta_t);
    copy_floats(c, "in.delta_t_y", b->delta_t_y);
    copy_mask(c, "in.x_obs_mask", b->x_obs);
    copy_mask(c, "in.y_obs_mask", b->y_obs);
    copy_mask(c, "in.entity_mask", b->entity_mask);
    if (c->status == LLAP_OK) c->status = llap_batch_check(b);
}

static double *widen(golden *c, const float *x, const uint8_t *m, int64_t n)
{
    double *out = golden_new(c, n);
    for (int64_t i = 0; out != NULL && i < n; i++) out[i] = x != NULL ? (double)x[i] : m[i];
    return out;
}

static llap_tensor *time_first(llap_graph *g, llap_tensor *x)
{
    static const int axes[] = { 0, 2, 1, 3 };
    return x == NULL ? NULL : llap_permute(g, x, axes);
}

static void summarize(golden *c, const llap_batch *b, llap_tensor *ent)
{
    llap_graph        *g = c->graph;
    const int64_t      slots = b->n_rows * b->n_slots, n = slots * b->n_context;
    const llap_shape   cells = LLAP_SHAPE(b->n_rows, b->n_slots, b->n_context, b->n_features);
    const llap_shape   times = LLAP_SHAPE(b->n_rows, b->n_slots, b->n_context);
    double            *x = widen(c, b->v, NULL, n * b->n_features);
    double            *dx = widen(c, b->dv, NULL, n * b->n_features);
    double            *obs = widen(c, NULL, b->x_obs, n * b->n_features);
    const llap_history history = {
        .x = time_first(g, golden_give(c, "x", cells, x)),
        .dx = time_first(g, golden_give(c, "dx", cells, dx)),
        .dt = time_first(g, golden_give(c, "dt", times, widen(c, b->delta_t, NULL, n))),
        .obs = time_first(g, golden_give(c, "obs", cells, obs)),
        .ent = ent,
    };
    c->part = "summarizer.";
    const llap_summarizer_config cfg = golden_summarizer_config(c);
    c->part = NULL;
    llap_scope_push(g, "summarizer");
    const llap_summary          s = llap_summarize(g, &cfg, &history);
    const llap_summarizer_heads h = llap_summarizer_decode(g, &cfg, s.context);
    llap_scope_pop(g);
    llap_output(g, "out.cond_summary_raw", s.context);
    llap_output(g, "out.cond_summary", llap_context_normalise(g, s.context, NULL, NULL));
    llap_output(g, "x_hat", h.x_hat); /* the heads are in the file too */
    llap_output(g, "v_hat", h.v_hat);
    llap_output(g, "t_hat", h.t_hat);
    llap_output(g, "dt_hat", h.dt_hat);
    llap_output(g, "obs_hat", h.obs_hat);
}

static void encode(golden *c, const llap_batch *b, llap_tensor *ent)
{
    llap_graph      *g = c->graph;
    const int64_t    n = b->n_rows * b->n_slots * b->n_query * b->n_targets;
    const llap_shape all = LLAP_SHAPE(b->n_rows, b->n_slots, b->n_query, b->n_targets);
    double          *obs = widen(c, NULL, b->y_obs, n);
    for (int64_t i = 0; c->status == LLAP_OK && i < n; i++)
        obs[i] *= b->valid[i / (b->n_query * b->n_targets)];
    llap_tensor *y = time_first(g, golden_give(c, "y", all, widen(c, b->y, NULL, n)));
    llap_tensor *seen = time_first(g, golden_give(c, "y_obs", all, obs));
    llap_tensor *any = golden_give(c, "any", LLAP_SHAPE(b->n_rows, b->n_query),
                                   widen(c, NULL, b->any_obs, b->n_rows * b->n_query));
    llap_tensor *mean = golden_input(c, "mu_mean"), *deviation = golden_input(c, "mu_std");
    c->part = "vae.";
    const llap_vae_config cfg = golden_vae_config(c);
    c->part = NULL;
    llap_scope_push(g, "vae");
    llap_tensor        *tok = llap_vae_tokens(g, y, seen);
    const llap_vae_code code = llap_vae_encode(g, &cfg, tok, ent);
    llap_tensor        *z0 = llap_latent_normalise(g, code.mu, mean, deviation, any);
    llap_tensor *back = llap_vae_decode(g, &cfg, llap_latent_restore(g, z0, mean, deviation), ent);
    llap_scope_pop(g);
    llap_output(g, "mid.x_tok", tok);
    llap_output(g, "mid.mu", code.mu);
    llap_output(g, "logvar", code.logvar);
    llap_output(g, "out.mu_norm", z0);
    llap_output(g, "out.decoded", back);
}

/* In [B,h,N,C], absent entities hold what nobody uses. */
static void keep_valid(golden *c, const llap_batch *b)
{
    const int64_t n = b->n_rows * b->n_query * b->n_slots * b->n_targets;
    double       *keep = golden_new(c, n);
    for (int64_t i = 0; keep != NULL && i < n; i++) {
        const int64_t slot = i / b->n_targets % b->n_slots;
        keep[i] = b->valid[i / (b->n_targets * b->n_slots * b->n_query) * b->n_slots + slot];
    }
    golden_keep(c, "out.decoded", keep);
}

void golden_pipeline(golden *c)
{
    llap_batch b = { 0 };
    read_batch(c, &b);
    if (c->status == LLAP_OK) {
        const int64_t slots = b.n_rows * b.n_slots, steps = b.n_rows * b.n_query;
        double       *valid = widen(c, NULL, b.valid, slots);
        llap_tensor  *ent = golden_give(c, "ent", LLAP_SHAPE(b.n_rows, b.n_slots), valid);
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
    llap_batch_deinit(&b);
}
