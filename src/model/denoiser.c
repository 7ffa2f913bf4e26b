/* The denoiser put together, spec 4.1-4.9. */
#include "base/alloc.h"
#include "base/error.h"
#include "model/modal.h"

#include <stdio.h>

/* tau = SiLU(time_embed[t]), [B,H] */
static llap_tensor *step_embedding(llap_graph *g, const llap_denoiser_config *c, llap_tensor *t)
{
    llap_scope_push(g, "time_embed");
    llap_tensor *table =
        llap_param(g, "weight", LLAP_SHAPE(c->timesteps, c->hidden_dim), LLAP_INIT_NORMAL(0.02));
    llap_scope_pop(g);
    return llap_note(g, "t_emb", llap_silu(g, llap_embedding(g, table, t)));
}

static llap_tensor *embedding_of(llap_graph *g, const llap_denoiser_config *c,
                                 const llap_denoiser_in *in)
{
    if (in->tau != NULL) return in->tau;
    if (c->stream == LLAP_STREAM_TOKENS) return llap_time_embedding(g, c, in->time);
    return step_embedding(g, c, in->t);
}

/* The tokens as one vector: their mean, or attention with tau as the query; [B,1,S,H] -> [B,1,H] */
static llap_tensor *pool(llap_graph *g, const llap_denoiser_config *c, llap_tensor *tokens,
                         llap_tensor *tau, llap_tensor *E_pad)
{
    if (E_pad != NULL) { /* the mean of those that are there */
        llap_tensor *keep =
            llap_affine(g, llap_unsqueeze(g, llap_unsqueeze(g, E_pad, 1), -1), -1.0, 1.0);
        keep = llap_expand(g, keep, llap_shape_of(tokens));
        return llap_squeeze(g, llap_masked_mean(g, tokens, keep, LLAP_AXIS(2)), LLAP_AXIS(2));
    }
    if (c->summary_pool_mode == LLAP_POOL_ATTN)
        return llap_nn_summary_pool(g, "summary_pool", tokens, tau);
    return llap_squeeze(g, llap_mean(g, tokens, LLAP_AXIS(2)), LLAP_AXIS(2));
}

/* What of the summary reaches the poles (and AdaLN) and the analysis, each [B,1,H]; zeros (or
 * nothing) where it is absent, spec 4.8 and 4.9. */
typedef struct pooled {
    llap_tensor *poles, *analysis;
} pooled;

static llap_tensor *of_conditional(llap_graph *g, llap_tensor *x, llap_tensor *conditional)
{
    if (x == NULL || conditional == NULL) return x;
    return llap_mul(g, x, llap_squeeze(g, conditional, LLAP_AXIS(3)));
}

static pooled pool_summary(llap_graph *g, const llap_denoiser_config *c, llap_tensor *E,
                           llap_tensor *E_raw, llap_tensor *tau, llap_tensor *conditional,
                           llap_tensor *E_pad)
{
    pooled p = { NULL, NULL };
    if (E == NULL) return p;
    const bool   raw_poles = c->pole_pool_use_raw_summary && E_raw != NULL;
    const bool   raw_qk = c->analysis_qk_use_raw_summary && E_raw != NULL;
    llap_tensor *of_poles = pool(g, c, raw_poles ? E_raw : E, tau, E_pad), *of_qk = of_poles;
    if (c->analysis_summary_qk && raw_qk != raw_poles)
        of_qk = pool(g, c, raw_qk ? E_raw : E, tau, E_pad);
    llap_note(g, "pooled", of_poles);
    p.poles = of_conditional(g, of_poles, conditional);
    p.analysis = llap_note(g, "attn_cond", of_qk);
    return p;
}

/* [tau, pooled], zeros for an absent summary; [B,1,2H] */
static llap_tensor *joined(llap_graph *g, llap_tensor *tau, llap_tensor *x)
{
    if (x == NULL) x = llap_full(g, llap_shape_of(tau), 0.0);
    return llap_concat(g, (llap_tensor *[]){ tau, x }, 2, -1);
}

/* Offsets 0, 1, .., h-1 where the caller has none; [B,1,h] */
static llap_tensor *offsets(llap_graph *g, llap_tensor *tq, int64_t h)
{
    if (tq != NULL) return llap_unsqueeze(g, tq, 1);
    double *count = llap_new((size_t)h, sizeof *count);
    if (count == NULL) {
        llap_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    for (int64_t r = 0; r < h; r++) count[r] = (double)r;
    tq = llap_constant(g, LLAP_SHAPE(1, 1, h), count);
    llap_free(count);
    return tq;
}

/* The summary as blocks see it in training: normed once for all of them, zeros in rows that are
 * unconditional; NULL otherwise. */
static llap_tensor *training_summary(llap_graph *g, llap_tensor *E, llap_tensor *conditional,
                                     const llap_denoiser_in *in)
{
    if (E == NULL || !in->training) return NULL;
    llap_tensor *u = llap_nn_norm0(g, E);
    return conditional == NULL ? u : llap_mul(g, u, conditional);
}

/* The window's half behind the step embedding; tau [B,H]. */
static void window_side(llap_graph *g, const llap_denoiser_config *c, const llap_denoiser_in *in,
                        llap_tensor *tau, int64_t h, llap_modal *m)
{
    *m = (llap_modal){ 0 };
    tau = llap_unsqueeze(g, tau, 1);
    llap_tensor *E = in->E == NULL ? NULL : llap_unsqueeze(g, in->E, 1);
    llap_tensor *E_raw = in->E_raw == NULL ? NULL : llap_unsqueeze(g, in->E_raw, 1);
    if (in->conditional != NULL && E != NULL)
        m->conditional =
            llap_reshape(g, in->conditional, LLAP_SHAPE(llap_dim(in->conditional, 0), 1, 1, 1));

    const pooled p = pool_summary(g, c, E, E_raw, tau, m->conditional, in->E_pad);
    llap_tensor *pole_cond = llap_note(g, "pole_cond", joined(g, tau, p.poles));
    if (in->folded) tau = llap_slice(g, tau, 0, 0, 1); /* one step: blocks see one row of it */
    llap_tensor *cond = c->block_summary_adaln ? pole_cond : tau;
    llap_note(g, "block_cond", cond);

    llap_tensor     *tq = offsets(g, in->tq, h);
    const llap_poles poles = llap_conditioned_poles(g, c, pole_cond);
    m->rho = llap_note(g, "rho", poles.rho);
    m->omega = llap_note(g, "omega", poles.omega);
    m->basis = llap_note(g, "basis", llap_modal_basis(g, tq, poles.rho, poles.omega));
    if (c->stream == LLAP_STREAM_TOKENS) {
        llap_tokens_shared(g, c, in, tau, tq, poles, m);
        return;
    }
    llap_tensor *to_qk = c->analysis_summary_qk ? p.analysis : NULL;
    m->q = llap_pole_queries(g, c, poles, to_qk, m->conditional);
    m->k = llap_time_keys(g, c, tq, to_qk, m->conditional);
    if (in->folded) {
        m->weights = llap_analysis_weights(g, c, m->q, m->k);
        m->q = m->k = NULL;
    }
    const llap_block_in of_blocks = { .tau = tau,
                                      .E = E,
                                      .normed = training_summary(g, E, m->conditional, in),
                                      .cond = cond,
                                      .conditional = m->conditional,
                                      .entries = in->entries };
    for (int i = 0; i < c->num_layers; i++) {
        llap_scope_pushf(g, "blocks.%d", i);
        llap_block_shared(g, c, &of_blocks, &m->block[i]);
        llap_scope_pop(g);
    }
}

static llap_tensor *residues(llap_graph *g, const llap_denoiser_config *c, const llap_modal *m,
                             llap_tensor *z, const char *of, const llap_sample_opts *o)
{
    if (m->weights != NULL) return llap_folded_residues(g, c, m->weights, z);
    return llap_residues(g, c, m->q, m->k, z, of, o);
}

/* theta = Analysis(z) [+ tanh(sc_gate) Analysis(sc)] */
static llap_tensor *first_residues(llap_graph *g, const llap_denoiser_config *c,
                                   const llap_modal *m, llap_tensor *z, llap_tensor *sc,
                                   const llap_sample_opts *o)
{
    llap_tensor *theta = residues(g, c, m, z, "z", o);
    if (!c->self_conditioning) return theta;
    llap_tensor *gate = llap_param(g, "sc_gate", LLAP_SCALAR, LLAP_INIT_ONE);
    if (sc == NULL) return theta;
    llap_tensor *again = residues(g, c, m, sc, "sc", o);
    return llap_add(g, theta, llap_mul(g, llap_tanh(g, gate), again));
}

static llap_tensor *sample_side(llap_graph *g, const llap_denoiser_config *c, const llap_modal *m,
                                llap_tensor *z, llap_tensor *sc, const llap_sample_opts *o)
{
    if (c->stream == LLAP_STREAM_TOKENS) return llap_tokens_sample(g, c, m, z, o);
    llap_tensor *theta = first_residues(g, c, m, z, sc, o);
    for (int i = 0; i < c->num_layers; i++) {
        llap_scope_pushf(g, "blocks.%d", i);
        theta =
            llap_note(g, "theta", llap_block_refine(g, c, theta, &m->block[i], m->conditional, o));
        llap_scope_pop(g);
    }
    return llap_output_of(g, c, m, theta, o);
}

void llap_denoiser_window(llap_graph *g, const llap_denoiser_config *c, const llap_denoiser_in *in,
                          int64_t h, llap_modal *m)
{
    llap_tensor *tau = embedding_of(g, c, in);
    llap_scope_push(g, "model");
    window_side(g, c, in, tau, h, m);
    llap_scope_pop(g);
}

llap_tensor *llap_denoiser_sample(llap_graph *g, const llap_denoiser_config *c, const llap_modal *m,
                                  llap_tensor *z, llap_tensor *sc, const llap_sample_opts *opts)
{
    llap_scope_push(g, "model");
    llap_tensor *y = sample_side(g, c, m, z, sc, opts);
    llap_scope_pop(g);
    return y;
}

static bool fits(llap_graph *g, const llap_denoiser_config *c)
{
    const llap_status st = llap_denoiser_config_check(c);
    if (st != LLAP_OK) llap_graph_fail(g, st, "%s", llap_error_detail());
    return st == LLAP_OK;
}

/* [B,h,Z] -> [B,1,h,Z] */
static llap_tensor *with_samples(llap_graph *g, llap_tensor *x)
{
    return x != NULL && llap_shape_of(x).rank == 3 ? llap_unsqueeze(g, x, 1) : x;
}

llap_tensor *llap_lapformer(llap_graph *g, const llap_denoiser_config *c,
                            const llap_denoiser_in *in)
{
    const llap_sample_opts o = { .training = in->training, .kinds = in->kinds };
    llap_modal             m;
    if (!fits(g, c)) return NULL;
    window_side(g, c, in, in->tau, llap_dim(in->z, -2), &m);
    llap_tensor *y = sample_side(g, c, &m, with_samples(g, in->z), with_samples(g, in->sc), &o);
    return llap_reshape(g, y, llap_shape_of(in->z));
}

llap_tensor *llap_denoiser(llap_graph *g, const llap_denoiser_config *c, const llap_denoiser_in *in)
{
    llap_denoiser_in behind = *in;
    if (!fits(g, c)) return NULL;
    behind.tau = embedding_of(g, c, in);
    llap_scope_push(g, "model");
    llap_tensor *y = llap_lapformer(g, c, &behind);
    llap_scope_pop(g);
    return y;
}

void llap_modal_each(llap_modal *m, const llap_denoiser_config *c, llap_modal_fn fn, void *user)
{
    const struct {
        const char   *name;
        llap_tensor **x;
    } all[] = { { "modal.basis", &m->basis }, { "modal.q", &m->q },
                { "modal.k", &m->k },         { "modal.weights", &m->weights },
                { "modal.start", &m->start }, { "modal.gate", &m->gate },
                { "modal.f", &m->f },         { "modal.pad", &m->pad },
                { "modal.E_pad", &m->E_pad } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (*all[i].x != NULL) fn(user, all[i].name, all[i].x);
    for (int i = 0; i < c->num_layers; i++) {
        llap_modal_block *b = &m->block[i];
        const struct {
            const char   *name;
            llap_tensor **x;
        } part[] = { { "place", &b->place },
                     { "cross.scale", &b->cross.ada.scale },
                     { "cross.shift", &b->cross.ada.shift },
                     { "cross.k", &b->cross.k },
                     { "cross.v", &b->cross.v },
                     { "self.scale", &b->self.scale },
                     { "self.shift", &b->self.shift },
                     { "mlp.scale", &b->mlp.scale },
                     { "mlp.shift", &b->mlp.shift },
                     { "entry.weight", &b->entry.weight },
                     { "entry.table", &b->entry.table },
                     { "entry.bias", &b->entry.bias } };
        for (size_t j = 0; j < sizeof part / sizeof *part; j++) {
            char name[64];
            snprintf(name, sizeof name, "modal.%d.%s", i, part[j].name);
            if (*part[j].x != NULL) fn(user, name, part[j].x);
        }
    }
}
