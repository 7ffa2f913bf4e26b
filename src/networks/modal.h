/* The parts of the denoiser, one for each equation of docs/spec/model.md 4. Shapes have an
 * axis for the samples of a window behind the rows: [B,R,...], with R = 1 for what samples share.
 */
#ifndef LL_NETWORKS_MODAL_H
#define LL_NETWORKS_MODAL_H

#include "networks/denoiser.h"

#define LL_RHO_MIN 1e-6
#define LL_PI 3.14159265358979323846

typedef struct ll_poles {
    ll_tensor *rho, *omega; /* decay rates > 0 and angular frequencies in (0, pi), [...,K] */
} ll_poles;

/* docs/spec/model.md 4.2, in the scope "analysis". */
ll_poles ll_base_poles(ll_graph *g, const ll_denoiser_config *c);
ll_poles ll_conditioned_poles(ll_graph *g, const ll_denoiser_config *c,
                              ll_tensor *cond); /* [B,1,2H] */

/* docs/spec/model.md 4.4, in the scope "analysis". pooled [B,1,H] for analysis_summary_qk, or NULL;
 * conditional [B,1,1,1] has 0 for rows where it does not count, or is NULL. The residues note their
 * values under analysis.<of>. */
ll_tensor *ll_pole_queries(ll_graph *g, const ll_denoiser_config *c, ll_poles p, ll_tensor *pooled,
                           ll_tensor *conditional);
ll_tensor *ll_time_keys(ll_graph *g, const ll_denoiser_config *c, ll_tensor *tq, ll_tensor *pooled,
                        ll_tensor *conditional);
ll_tensor *ll_residues(ll_graph *g, const ll_denoiser_config *c, ll_tensor *q, ll_tensor *k,
                       ll_tensor *z, const char *of, const ll_sample_opts *o);

/* The weights of that attention, heads side by side: [B,1,M,heads h]. They do not depend on the
 * latent; folded, the residues are their product with values that out_proj has already met. */
ll_tensor *ll_analysis_weights(ll_graph *g, const ll_denoiser_config *c, ll_tensor *q,
                               ll_tensor *k);
ll_tensor *ll_folded_residues(ll_graph *g, const ll_denoiser_config *c, ll_tensor *weights,
                              ll_tensor *z);

/* Queries before their projection, docs/spec/model.md 4.4: LN(embed(poles) + comp_emb); [B,1,M,H]
 */
ll_tensor *ll_pole_tokens(ll_graph *g, const ll_denoiser_config *c, ll_poles p);

/* docs/spec/model.md 4.6, one block in the current scope: what samples share, and theta -> theta.
 */
typedef struct ll_block_in {
    ll_tensor *tau;         /* [B,1,H] */
    ll_tensor *E;           /* [B,1,S,H], or NULL */
    ll_tensor *normed;      /* in training: E without its mean and deviation; else NULL */
    ll_tensor *cond;        /* of AdaLN, [B,1,H or 2H] */
    ll_tensor *conditional; /* [B,1,1,1], or NULL */
    bool       entries;     /* with the block's entry, for rows that are all at one step */
} ll_block_in;

void       ll_block_shared(ll_graph *g, const ll_denoiser_config *c, const ll_block_in *in,
                           ll_modal_block *b);
ll_tensor *ll_block_refine(ll_graph *g, const ll_denoiser_config *c, ll_tensor *theta,
                           const ll_modal_block *b, ll_tensor *conditional,
                           const ll_sample_opts *o);

/* docs/spec/model.md 4.7, in the scope "synthesis" where it has parameters: y = A theta and its
 * gated residual.
 */
ll_tensor *ll_synthesis(ll_graph *g, const ll_denoiser_config *c, ll_tensor *basis,
                        ll_tensor *theta, ll_tensor *conditional, const ll_sample_opts *o);
/* output_skip_scale y + head_proj(head_norm(y)) */
ll_tensor *ll_head(ll_graph *g, ll_tensor *y);
/* Both, by fewer ops where the backend has them. */
ll_tensor *ll_output_of(ll_graph *g, const ll_denoiser_config *c, const ll_modal *m,
                        ll_tensor *theta, const ll_sample_opts *o);

/* -------- the stream of tokens, docs/spec/anchor.md 8.5; tokens.c -------- */

/* tau of a continuous step, [B] -> [B,H] */
ll_tensor *ll_time_embedding(ll_graph *g, const ll_denoiser_config *c, ll_tensor *time);
/* What the samples of a window share, tau [B,1,H], tq [B,1,h]. */
void ll_tokens_shared(ll_graph *g, const ll_denoiser_config *c, const ll_denoiser_in *in,
                      ll_tensor *tau, ll_tensor *tq, ll_poles p, ll_modal *m);
/* z [B,R,h,Z] -> the prediction */
ll_tensor *ll_tokens_sample(ll_graph *g, const ll_denoiser_config *c, const ll_modal *m,
                            ll_tensor *z, const ll_sample_opts *o);

/* Layers multiplied by ll_denoiser_fold: fold.weight [width,in], fold.bias [n_bias] of the
 * current scope. */
void       ll_fold_params(ll_graph *g, int64_t width, int64_t in, int64_t n_bias, ll_tensor **w,
                          ll_tensor **b);
ll_tensor *ll_folded_linear(ll_graph *g, ll_tensor *x, int64_t width);

#endif
