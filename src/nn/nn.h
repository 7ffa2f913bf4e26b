/* src/nn: layers and training on top of graphs; nothing here knows what a series is.
 *
 *   nn.h             this file: layers (layers.c, blocks.c, loss.c)
 *   params.h         the named arrays of a model
 *   optim.h          clipping, AdamW, averages, learning rates
 *   session.h        a graph with plan, run and buffers
 *   loss_trainer.h   training one loss: device memory, batches, micro-batches, results
 *   epochs.h         which rows a step takes
 *   micro_batches.h  batches that do not fit
 *   async_results.h  losses of steps that are not waited for
 *   non_finite.h     which tensor it was
 *
 * May touch: graph, backend, base, base/rng, ranks. */

/* Layers: functions that declare their parameters, named as in the reference's checkpoints, and add
 * their computation to the graph.
 *
 *     ll_tensor *h = ll_nn_linear(g, "mlp.0", x, 4 * width);        mlp.0.weight, mlp.0.bias
 *     h = ll_nn_linear(g, "mlp.3", ll_gelu(g, h), width);
 *
 * Each notes its result under its name (ll_noted). Failures are the graph's; NULL operands are
 * fine. Tokens are rows: [B,L,H], or [B,R,L,H] with an explicit sample axis. */
#ifndef LL_NN_NN_H
#define LL_NN_NN_H

#include "graph/graph.h"

#define LL_NORM_EPS 1e-5

/* x [...,in] -> [...,width]. Weight and bias start uniform on +-1/sqrt(in). */
ll_tensor *ll_nn_linear(ll_graph *g, const char *name, ll_tensor *x, int64_t width);
/* Its weight [width,in] and bias [width], for products of another form. */
void ll_nn_linear_params(ll_graph *g, const char *name, int64_t width, int64_t in, ll_tensor **w,
                         ll_tensor **b);
/* The same with other starts. */
ll_tensor *ll_nn_linear_from(ll_graph *g, const char *name, ll_tensor *x, int64_t width,
                             ll_init weight, ll_init bias);

/* x [...,l,in] -> [...,l,width], kernel odd, zero padding. */
ll_tensor *ll_nn_conv1d(ll_graph *g, const char *name, ll_tensor *x, int64_t width, int64_t kernel);

ll_tensor *ll_nn_norm(ll_graph *g, const char *name, ll_tensor *x); /* affine, 1 and 0 */
ll_tensor *ll_nn_norm0(ll_graph *g, ll_tensor *x);                  /* no parameters */

/* AdaLN, docs/spec/model.md 4.5: (1+s) LN0(x) + b, [s,b] = Linear(to_ss.1)(SiLU(cond)). cond has no
 * token axis: [B,C] for x [B,L,H]; it broadcasts over further axes. cond NULL: plain LN0. */
ll_tensor *ll_nn_ada_norm(ll_graph *g, const char *name, ll_tensor *x, ll_tensor *cond);

/* The two halves of it, for what computes the modulation once and uses it often: [...,width] each,
 * without token axis. Both NULL (as for no condition) mean plain LN0. */
typedef struct ll_nn_ada {
    ll_tensor *scale, *shift;
} ll_nn_ada;

ll_nn_ada  ll_nn_ada_of(ll_graph *g, const char *name, ll_tensor *cond, int64_t width);
ll_tensor *ll_nn_ada_apply(ll_graph *g, ll_tensor *x, ll_nn_ada ada);

/* Linear with spectral normalisation, docs/spec/model.md 4.7: weight_orig / (u . W v), with state
 * weight_u and weight_v. With iterate, one power iteration comes first and u, v are updated; the
 * gradient treats them as constants. Several calls for one name in one graph iterate one after the
 * other. Fresh u and v want ll_params_power_iterate (nn/params.h) before the first use. */
ll_tensor *ll_nn_spectral_linear(ll_graph *g, const char *name, ll_tensor *x, int64_t width,
                                 ll_init weight, ll_init bias, bool iterate);

/* The same in training for rows of two kinds that the reference sends through one after the other:
 * first is 1 for those of its first pass, 0 for the second's, and broadcasts to the result. Each
 * pass that has rows makes its own power iteration, and its rows are divided by its own norm. Where
 * x is a micro-batch of a batch, any [2] says which of the two the whole batch has; NULL: x is all.
 */
ll_tensor *ll_nn_spectral_linear_of(ll_graph *g, const char *name, ll_tensor *x, int64_t width,
                                    ll_init weight, ll_init bias, ll_tensor *first, ll_tensor *any);

/* Two linear layers with a GELU between them, numbered as PyTorch numbers a Sequential:
 *     [LN], Linear, GELU, [Dropout], Linear
 * so that their names are 0 and 2; 1 and 3 with the norm; 0 and 3 with dropout; 1 and 4 with both.
 * x [...,in] -> [...,width] */
typedef struct ll_nn_mlp_opts {
    int64_t hidden, width;
    bool    norm;
    bool    drops;    /* the Sequential has a dropout layer; it counts even if its p is 0 */
    double  dropout;  /* p of that layer */
    double  last_std; /* 0: the usual start; else the last layer starts normal, its bias at 0 */
} ll_nn_mlp_opts;

ll_tensor *ll_nn_mlp(ll_graph *g, const char *name, ll_tensor *x, const ll_nn_mlp_opts *opts);

/* Time2Vec: p = u w + b for d numbers w, b; [p_0, sin p_1, .., sin p_{d-1}]. u [...] -> [...,d] */
ll_tensor *ll_nn_time2vec(ll_graph *g, const char *name, ll_tensor *u, int64_t d);

/* -------- attention -------- */

typedef struct ll_nn_attn_opts {
    int        n_heads;
    ll_tensor *key_padding; /* [...,Lk], not 0 = excluded; or NULL */
    ll_tensor *bias;        /* added to the scores, broadcasts to [...,heads,Lq,Lk]; or NULL */
    double     dropout;     /* of the attention weights */
} ll_nn_attn_opts;

/* PyTorch's multi-head attention: in_proj_weight [3E,E] = q, k, v stacked, in_proj_bias, out_proj.
 */
ll_tensor *ll_nn_mha(ll_graph *g, const char *name, ll_tensor *q, ll_tensor *k, ll_tensor *v,
                     const ll_nn_attn_opts *opts);

/* Its parts: projection i (0 q, 1 k, 2 v) to width e, and what follows the attention. */
ll_tensor *ll_nn_mha_project(ll_graph *g, const char *name, ll_tensor *x, int64_t e, int i);
ll_tensor *ll_nn_mha_out(ll_graph *g, const char *name, ll_tensor *x);
void       ll_nn_mha_out_params(ll_graph *g, const char *name, int64_t e, ll_tensor **w,
                                ll_tensor **b); /* of the latter */

/* PyTorch's encoder layer: self attention and a feed-forward of width ff (with GELU), each with
 * residual and norm, before (norm_first) or after. With times [...,L], attention is rotary with its
 * own names (self_attn.qkv, self_attn.out_proj), angles times base^(-2i/d). */
typedef struct ll_nn_encoder_opts {
    ll_nn_attn_opts attn;
    int64_t         ff;
    double          dropout;
    bool            norm_first;
    bool            relu; /* instead of the GELU */
    ll_tensor      *times;
    double          rotary_base;
} ll_nn_encoder_opts;

ll_tensor *ll_nn_encoder_layer(ll_graph *g, const char *name, ll_tensor *x,
                               const ll_nn_encoder_opts *opts);

/* -------- blocks of the denoiser, docs/spec/model.md 4.6 -------- */

typedef struct ll_nn_block_opts {
    int        n_heads;
    double     mlp_ratio;    /* transformer block: the MLP is that times as wide */
    ll_tensor *attn_bias;    /* transformer block; or NULL */
    ll_tensor *key_padding;  /* cross block: [...,Lk], not 0 = excluded; or NULL */
    double     dropout;      /* of the branches */
    double     attn_dropout; /* of the attention weights */
} ll_nn_block_opts;

/* The parts of two blocks, each x + f(AdaLN(x)): self attention with an MLP, and attention to kv.
 * Apart, because the keys of kv, or all that depends on cond, may be shared among many x. Names are
 * relative to the block's scope. */
typedef struct ll_nn_cross_kv {
    ll_nn_ada  ada;   /* of the queries */
    ll_tensor *k, *v; /* [...,Lk,H] */
} ll_nn_cross_kv;

ll_nn_cross_kv ll_nn_cross_keys(ll_graph *g, ll_tensor *kv, ll_tensor *cond);
/* The same with AdaLN in the weights, a set of them for each row, docs/spec/model.md 9.1: u
 * [B,1,S,H] is kv without mean and deviation. One product for each row gives the gradients of
 * weights and AdaLN together, where u needs none. used [B,1,1,1] or NULL: rows with 0, where u is 0
 * too, get zeros.
 */
ll_nn_cross_kv ll_nn_cross_row_keys(ll_graph *g, ll_tensor *u, ll_tensor *cond, ll_tensor *used);
/* The same where keys and values are Linear(kv) of the tokens as they are, whatever cond says. */
ll_nn_cross_kv ll_nn_cross_plain_keys(ll_graph *g, ll_tensor *kv, ll_tensor *cond);
ll_tensor     *ll_nn_cross_branch(ll_graph *g, ll_tensor *x, const ll_nn_cross_kv *kv,
                                  const ll_nn_block_opts *opts); /* without x + */
ll_tensor     *ll_nn_self_branch(ll_graph *g, ll_tensor *x, ll_nn_ada ada,
                                 const ll_nn_block_opts *opts); /* without x + */
/* What follows once the queries (or queries, keys and values) are there. */
ll_tensor *ll_nn_cross_answer(ll_graph *g, ll_tensor *q, const ll_nn_cross_kv *kv,
                              const ll_nn_block_opts *opts);
ll_tensor *ll_nn_self_answer(ll_graph *g, ll_tensor *qkv, const ll_nn_block_opts *opts);
ll_tensor *ll_nn_mlp_up(ll_graph *g, ll_tensor *x, ll_nn_ada ada,
                        const ll_nn_block_opts *opts); /* GELU(mlp.0(AdaLN(x))) */

/* SummaryAttentionPool: one query vector [...,H] over tokens [...,S,H] -> [...,H]. */
ll_tensor *ll_nn_summary_pool(ll_graph *g, const char *name, ll_tensor *tokens, ll_tensor *query);

/* -------- losses -------- */

/* sum m (x - target)^2 / max(sum m, 1) over the given axes, which stay with length 1; m broadcasts
 * to x. Where m is 0, neither x nor target is looked at. */
ll_tensor *ll_nn_masked_mse(ll_graph *g, ll_tensor *x, ll_tensor *target, ll_tensor *m,
                            unsigned axes);

/* Both means where x is a micro-batch of a batch, along the first axis: all is the mask of the
 * whole batch that their sums are divided by, so that micro-batches add up to its mean. NULL: x is
 * all. */
ll_tensor *ll_nn_mean_in(ll_graph *g, ll_tensor *x, ll_tensor *m, ll_tensor *all, unsigned axes);
ll_tensor *ll_nn_mse_in(ll_graph *g, ll_tensor *x, ll_tensor *target, ll_tensor *m, ll_tensor *all,
                        unsigned axes);

typedef enum ll_prediction { LL_PREDICT_V, LL_PREDICT_X0, LL_PREDICT_EPS } ll_prediction;

/* Raw min-SNR weights of steps with these alpha-bar values, docs/spec/model.md 5.4.6; no gradient.
 */
ll_tensor *ll_nn_min_snr(ll_graph *g, ll_tensor *alpha_bar, double gamma, ll_prediction prediction);

#endif
