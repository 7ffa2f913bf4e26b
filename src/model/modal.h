/* The pieces of the denoiser, one for each equation of spec/model.md, section 4. Shapes have an
 * axis for the samples of a window behind the rows: [B,R,...], with R = 1 for what samples share.
 */
#ifndef LLAP_MODEL_MODAL_H
#define LLAP_MODEL_MODAL_H

#include "model/denoiser.h"

#define LLAP_RHO_MIN 1e-6
#define LLAP_PI 3.14159265358979323846

typedef struct llap_poles {
    llap_tensor *rho, *omega; /* decay rates > 0 and angular frequencies in (0, pi), [...,K] */
} llap_poles;

/* Spec 4.2, in the scope "analysis". */
llap_poles llap_base_poles(llap_graph *g, const llap_denoiser_config *c);
llap_poles llap_conditioned_poles(llap_graph *g, const llap_denoiser_config *c,
                                  llap_tensor *cond); /* [B,1,2H] */

/* Spec 4.4, in the scope "analysis". pooled [B,1,H] for analysis_summary_qk, or NULL; conditional
 * [B,1,1,1] has 0 for rows where it does not count, or is NULL. The residues note their values
 * under analysis.<of>. */
llap_tensor *llap_pole_queries(llap_graph *g, const llap_denoiser_config *c, llap_poles p,
                               llap_tensor *pooled, llap_tensor *conditional);
llap_tensor *llap_time_keys(llap_graph *g, const llap_denoiser_config *c, llap_tensor *tq,
                            llap_tensor *pooled, llap_tensor *conditional);
llap_tensor *llap_residues(llap_graph *g, const llap_denoiser_config *c, llap_tensor *q,
                           llap_tensor *k, llap_tensor *z, const char *of,
                           const llap_sample_opts *o);

/* The weights of that attention, heads side by side: [B,1,M,heads h]. They do not depend on the
 * latent; folded, the residues are their product with values that out_proj has already met. */
llap_tensor *llap_analysis_weights(llap_graph *g, const llap_denoiser_config *c, llap_tensor *q,
                                   llap_tensor *k);
llap_tensor *llap_folded_residues(llap_graph *g, const llap_denoiser_config *c,
                                  llap_tensor *weights, llap_tensor *z);

/* Queries before their projection, spec 4.4: LN(embed(poles) + comp_emb); [B,1,M,H] */
llap_tensor *llap_pole_tokens(llap_graph *g, const llap_denoiser_config *c, llap_poles p);

/* Spec 4.6, one block in the current scope: what samples share, and theta -> theta. */
typedef struct llap_block_in {
    llap_tensor *tau;         /* [B,1,H] */
    llap_tensor *E;           /* [B,1,S,H], or NULL */
    llap_tensor *normed;      /* in training: E without its mean and deviation; else NULL */
    llap_tensor *cond;        /* of AdaLN, [B,1,H or 2H] */
    llap_tensor *conditional; /* [B,1,1,1], or NULL */
    bool         entries;     /* with the block's entry, for rows that are all at one step */
} llap_block_in;

void llap_block_shared(llap_graph *g, const llap_denoiser_config *c, const llap_block_in *in,
                       llap_modal_block *b);
llap_tensor *llap_block_refine(llap_graph *g, const llap_denoiser_config *c, llap_tensor *theta,
                               const llap_modal_block *b, llap_tensor *conditional,
                               const llap_sample_opts *o);

/* Spec 4.7, in the scope "synthesis" where it has parameters: y = A theta and its gated residual.
 */
llap_tensor *llap_synthesis(llap_graph *g, const llap_denoiser_config *c, llap_tensor *basis,
                            llap_tensor *theta, llap_tensor *conditional,
                            const llap_sample_opts *o);
/* output_skip_scale y + head_proj(head_norm(y)) */
llap_tensor *llap_head(llap_graph *g, llap_tensor *y);
/* Both, by fewer ops where the backend has them. */
llap_tensor *llap_output_of(llap_graph *g, const llap_denoiser_config *c, const llap_modal *m,
                            llap_tensor *theta, const llap_sample_opts *o);

/* -------- the stream of tokens, spec accuracy.md 4.7; tokens.c -------- */

/* tau of a continuous step, [B] -> [B,H] */
llap_tensor *llap_time_embedding(llap_graph *g, const llap_denoiser_config *c, llap_tensor *time);
/* What the samples of a window share, tau [B,1,H], tq [B,1,h]. */
void llap_tokens_shared(llap_graph *g, const llap_denoiser_config *c, const llap_denoiser_in *in,
                        llap_tensor *tau, llap_tensor *tq, llap_poles p, llap_modal *m);
/* z [B,R,h,Z] -> the prediction */
llap_tensor *llap_tokens_sample(llap_graph *g, const llap_denoiser_config *c, const llap_modal *m,
                                llap_tensor *z, const llap_sample_opts *o);

/* Layers multiplied by llap_denoiser_fold: fold.weight [width,in], fold.bias [n_bias] of the
 * current scope. */
void llap_fold_params(llap_graph *g, int64_t width, int64_t in, int64_t n_bias, llap_tensor **w,
                      llap_tensor **b);
llap_tensor *llap_folded_linear(llap_graph *g, llap_tensor *x, int64_t width);

#endif
