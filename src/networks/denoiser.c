/* The denoiser put together, docs/spec/model.md 4.1-4.9. */
#include "base/alloc.h"
#include "base/error.h"
#include "networks/modal.h"

#include <assert.h>
#include <stdio.h>

/* tau = SiLU(time_embed[t]), [B,H] */
static ll_tensor *step_embedding(ll_graph *g, const ll_denoiser_config *c, ll_tensor *t)
{
    ll_scope_push(g, "time_embed");
    ll_tensor *table =
        ll_param(g, "weight", LL_SHAPE(c->timesteps, c->hidden_dim), LL_INIT_NORMAL(0.02));
    ll_scope_pop(g);
    return ll_note(g, "t_emb", ll_silu(g, ll_embedding(g, table, t)));
}

static ll_tensor *embedding_of(ll_graph *g, const ll_denoiser_config *c, const ll_denoiser_in *in)
{
    if (in->tau != NULL) return in->tau;
    if (c->stream == LL_STREAM_TOKENS) return ll_time_embedding(g, c, in->time);
    return step_embedding(g, c, in->t);
}

/* The tokens as one vector: their mean, or attention with tau as the query; [B,1,S,H] -> [B,1,H] */
static ll_tensor *pool(ll_graph *g, const ll_denoiser_config *c, ll_tensor *tokens, ll_tensor *tau,
                       ll_tensor *E_pad)
{
    if (E_pad != NULL) { /* the mean of those that are there */
        ll_tensor *keep = ll_affine(g, ll_unsqueeze(g, ll_unsqueeze(g, E_pad, 1), -1), -1.0, 1.0);
        keep = ll_expand(g, keep, ll_shape_of(tokens));
        return ll_squeeze(g, ll_masked_mean(g, tokens, keep, LL_AXIS(2)), LL_AXIS(2));
    }
    if (c->summary_pool_mode == LL_POOL_ATTN)
        return ll_nn_summary_pool(g, "summary_pool", tokens, tau);
    return ll_squeeze(g, ll_mean(g, tokens, LL_AXIS(2)), LL_AXIS(2));
}

/* What of the summary reaches the poles (and AdaLN) and the analysis, each [B,1,H]; zeros (or
 * nothing) where it is absent, docs/spec/model.md 4.8, 4.9. */
typedef struct pooled {
    ll_tensor *poles, *analysis;
} pooled;

static ll_tensor *of_conditional(ll_graph *g, ll_tensor *x, ll_tensor *conditional)
{
    if (x == NULL || conditional == NULL) return x;
    return ll_mul(g, x, ll_squeeze(g, conditional, LL_AXIS(3)));
}

static pooled pool_summary(ll_graph *g, const ll_denoiser_config *c, ll_tensor *E, ll_tensor *E_raw,
                           ll_tensor *tau, ll_tensor *conditional, ll_tensor *E_pad)
{
    pooled p = { NULL, NULL };
    if (E == NULL) return p;
    const bool raw_poles = c->pole_pool_use_raw_summary && E_raw != NULL;
    const bool raw_qk = c->analysis_qk_use_raw_summary && E_raw != NULL;
    ll_tensor *of_poles = pool(g, c, raw_poles ? E_raw : E, tau, E_pad), *of_qk = of_poles;
    if (c->analysis_summary_qk && raw_qk != raw_poles)
        of_qk = pool(g, c, raw_qk ? E_raw : E, tau, E_pad);
    ll_note(g, "pooled", of_poles);
    p.poles = of_conditional(g, of_poles, conditional);
    p.analysis = ll_note(g, "attn_cond", of_qk);
    return p;
}

/* [tau, pooled], zeros for an absent summary; [B,1,2H] */
static ll_tensor *joined(ll_graph *g, ll_tensor *tau, ll_tensor *x)
{
    if (x == NULL) x = ll_full(g, ll_shape_of(tau), 0.0);
    return ll_concat(g, (ll_tensor *[]){ tau, x }, 2, -1);
}

/* Offsets 0, 1, .., h-1 where the caller has none; [B,1,h] */
static ll_tensor *offsets(ll_graph *g, ll_tensor *tq, int64_t h)
{
    if (tq != NULL) return ll_unsqueeze(g, tq, 1);
    double *count = ll_new((size_t)h, sizeof *count);
    if (count == NULL) {
        ll_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    for (int64_t r = 0; r < h; r++) count[r] = (double)r;
    tq = ll_constant(g, LL_SHAPE(1, 1, h), count);
    ll_free(count);
    return tq;
}

/* The summary as blocks see it in training: normed once for all of them, zeros in rows that are
 * unconditional; NULL otherwise. */
static ll_tensor *training_summary(ll_graph *g, ll_tensor *E, ll_tensor *conditional,
                                   const ll_denoiser_in *in)
{
    if (E == NULL || !in->training) return NULL;
    ll_tensor *u = ll_nn_norm0(g, E);
    return conditional == NULL ? u : ll_mul(g, u, conditional);
}

/* The window's half behind the step embedding; tau [B,H]. */
static void window_side(ll_graph *g, const ll_denoiser_config *c, const ll_denoiser_in *in,
                        ll_tensor *tau, int64_t h, ll_modal *m)
{
    *m = (ll_modal){ 0 };
    assert(c->num_layers <= LL_DENOISER_MAX_LAYERS);
    assert(!in->entries || in->folded);
    assert(!in->folded || !in->training);
    tau = ll_unsqueeze(g, tau, 1);
    ll_tensor *E = in->E == NULL ? NULL : ll_unsqueeze(g, in->E, 1);
    ll_tensor *E_raw = in->E_raw == NULL ? NULL : ll_unsqueeze(g, in->E_raw, 1);
    if (in->conditional != NULL && E != NULL)
        m->conditional =
            ll_reshape(g, in->conditional, LL_SHAPE(ll_dim(in->conditional, 0), 1, 1, 1));

    const pooled p = pool_summary(g, c, E, E_raw, tau, m->conditional, in->E_pad);
    ll_tensor   *pole_cond = ll_note(g, "pole_cond", joined(g, tau, p.poles));
    if (in->folded) tau = ll_slice(g, tau, 0, 0, 1); /* one step: blocks see one row of it */
    ll_tensor *cond = c->block_summary_adaln ? pole_cond : tau;
    ll_note(g, "block_cond", cond);

    ll_tensor     *tq = offsets(g, in->tq, h);
    const ll_poles poles = ll_conditioned_poles(g, c, pole_cond);
    m->rho = ll_note(g, "rho", poles.rho);
    m->omega = ll_note(g, "omega", poles.omega);
    m->basis = ll_note(g, "basis", ll_modal_basis(g, tq, poles.rho, poles.omega));
    if (c->stream == LL_STREAM_TOKENS) {
        ll_tokens_shared(g, c, in, tau, tq, poles, m);
        return;
    }
    ll_tensor *to_qk = c->analysis_summary_qk ? p.analysis : NULL;
    m->q = ll_pole_queries(g, c, poles, to_qk, m->conditional);
    m->k = ll_time_keys(g, c, tq, to_qk, m->conditional);
    if (in->folded) {
        m->weights = ll_analysis_weights(g, c, m->q, m->k);
        m->q = m->k = NULL;
    }
    const ll_block_in of_blocks = { .tau = tau,
                                    .E = E,
                                    .normed = training_summary(g, E, m->conditional, in),
                                    .cond = cond,
                                    .conditional = m->conditional,
                                    .entries = in->entries };
    for (int i = 0; i < c->num_layers; i++) {
        ll_scope_pushf(g, "blocks.%d", i);
        ll_block_shared(g, c, &of_blocks, &m->block[i]);
        ll_scope_pop(g);
    }
}

static ll_tensor *residues(ll_graph *g, const ll_denoiser_config *c, const ll_modal *m,
                           ll_tensor *z, const char *of, const ll_sample_opts *o)
{
    assert(m->weights == NULL || o->folded);
    if (m->weights != NULL) return ll_folded_residues(g, c, m->weights, z);
    return ll_residues(g, c, m->q, m->k, z, of, o);
}

/* theta = Analysis(z) [+ tanh(sc_gate) Analysis(sc)] */
static ll_tensor *first_residues(ll_graph *g, const ll_denoiser_config *c, const ll_modal *m,
                                 ll_tensor *z, ll_tensor *sc, const ll_sample_opts *o)
{
    ll_tensor *theta = residues(g, c, m, z, "z", o);
    if (!c->self_conditioning) return theta;
    ll_tensor *gate = ll_param(g, "sc_gate", LL_SCALAR, LL_INIT_ONE);
    if (sc == NULL) return theta;
    ll_tensor *again = residues(g, c, m, sc, "sc", o);
    return ll_add(g, theta, ll_mul(g, ll_tanh(g, gate), again));
}

static ll_tensor *sample_side(ll_graph *g, const ll_denoiser_config *c, const ll_modal *m,
                              ll_tensor *z, ll_tensor *sc, const ll_sample_opts *o)
{
    assert(!o->folded || !o->training);
    if (c->stream == LL_STREAM_TOKENS) return ll_tokens_sample(g, c, m, z, o);
    ll_tensor *theta = first_residues(g, c, m, z, sc, o);
    for (int i = 0; i < c->num_layers; i++) {
        ll_scope_pushf(g, "blocks.%d", i);
        theta = ll_note(g, "theta", ll_block_refine(g, c, theta, &m->block[i], m->conditional, o));
        ll_scope_pop(g);
    }
    return ll_output_of(g, c, m, theta, o);
}

void ll_denoiser_window(ll_graph *g, const ll_denoiser_config *c, const ll_denoiser_in *in,
                        int64_t h, ll_modal *m)
{
    ll_tensor *tau = embedding_of(g, c, in);
    ll_scope_push(g, "model");
    window_side(g, c, in, tau, h, m);
    ll_scope_pop(g);
}

ll_tensor *ll_denoiser_sample(ll_graph *g, const ll_denoiser_config *c, const ll_modal *m,
                              ll_tensor *z, ll_tensor *sc, const ll_sample_opts *opts)
{
    ll_scope_push(g, "model");
    ll_tensor *y = sample_side(g, c, m, z, sc, opts);
    ll_scope_pop(g);
    return y;
}

static bool fits(ll_graph *g, const ll_denoiser_config *c)
{
    const llap_status st = ll_denoiser_config_check(c);
    if (st != LLAP_OK) ll_graph_fail(g, st, "%s", llap_error_detail());
    return st == LLAP_OK;
}

/* [B,h,Z] -> [B,1,h,Z] */
static ll_tensor *with_samples(ll_graph *g, ll_tensor *x)
{
    return x != NULL && ll_shape_of(x).rank == 3 ? ll_unsqueeze(g, x, 1) : x;
}

ll_tensor *ll_lapformer(ll_graph *g, const ll_denoiser_config *c, const ll_denoiser_in *in)
{
    const ll_sample_opts o = { .training = in->training, .kinds = in->kinds };
    ll_modal             m;
    if (!fits(g, c)) return NULL;
    window_side(g, c, in, in->tau, ll_dim(in->z, -2), &m);
    ll_tensor *y = sample_side(g, c, &m, with_samples(g, in->z), with_samples(g, in->sc), &o);
    return ll_reshape(g, y, ll_shape_of(in->z));
}

ll_tensor *ll_denoiser(ll_graph *g, const ll_denoiser_config *c, const ll_denoiser_in *in)
{
    ll_denoiser_in behind = *in;
    if (!fits(g, c)) return NULL;
    behind.tau = embedding_of(g, c, in);
    ll_scope_push(g, "model");
    ll_tensor *y = ll_lapformer(g, c, &behind);
    ll_scope_pop(g);
    return y;
}

void ll_modal_each(ll_modal *m, const ll_denoiser_config *c, ll_modal_fn fn, void *user)
{
    assert(c->num_layers <= LL_DENOISER_MAX_LAYERS);
    const struct {
        const char *name;
        ll_tensor **x;
    } all[] = { { "modal.basis", &m->basis }, { "modal.q", &m->q },
                { "modal.k", &m->k },         { "modal.weights", &m->weights },
                { "modal.start", &m->start }, { "modal.gate", &m->gate },
                { "modal.f", &m->f },         { "modal.pad", &m->pad },
                { "modal.E_pad", &m->E_pad } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (*all[i].x != NULL) fn(user, all[i].name, all[i].x);
    for (int i = 0; i < c->num_layers; i++) {
        ll_modal_block *b = &m->block[i];
        const struct {
            const char *name;
            ll_tensor **x;
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
