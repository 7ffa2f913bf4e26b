/* Layers: functions that declare their parameters, named as in the reference's checkpoints, and add
 * their computation to the graph.
 *
 *     llap_tensor *h = llap_nn_linear(g, "mlp.0", x, 4 * width);        mlp.0.weight, mlp.0.bias
 *     h = llap_nn_linear(g, "mlp.3", llap_gelu(g, h), width);
 *
 * Each notes its result under its name (llap_noted). Failures are the graph's; NULL operands are
 * fine. Tokens are rows: [B,L,H], or [B,R,L,H] with an explicit sample axis. */
#ifndef LLAP_NN_NN_H
#define LLAP_NN_NN_H

#include "graph/graph.h"

#define LLAP_NORM_EPS 1e-5

/* x [...,in] -> [...,width]. Weight and bias start uniform on +-1/sqrt(in). */
llap_tensor *llap_nn_linear(llap_graph *g, const char *name, llap_tensor *x, int64_t width);
/* Its weight [width,in] and bias [width], for products of another form. */
void llap_nn_linear_params(llap_graph *g, const char *name, int64_t width, int64_t in,
                           llap_tensor **w, llap_tensor **b);
/* The same with other starts. */
llap_tensor *llap_nn_linear_from(llap_graph *g, const char *name, llap_tensor *x, int64_t width,
                                 llap_init weight, llap_init bias);

/* x [...,l,in] -> [...,l,width], kernel odd, zero padding. */
llap_tensor *llap_nn_conv1d(llap_graph *g, const char *name, llap_tensor *x, int64_t width,
                            int64_t kernel);

llap_tensor *llap_nn_norm(llap_graph *g, const char *name, llap_tensor *x); /* affine, 1 and 0 */
llap_tensor *llap_nn_norm0(llap_graph *g, llap_tensor *x);                  /* no parameters */

/* AdaLN, spec 4.5: (1+s) LN0(x) + b, [s,b] = Linear(to_ss.1)(SiLU(cond)). cond has no token axis:
 * [B,C] for x [B,L,H]; it broadcasts over further axes. cond NULL: plain LN0. */
llap_tensor *llap_nn_ada_norm(llap_graph *g, const char *name, llap_tensor *x, llap_tensor *cond);

/* The two halves of it, for what computes the modulation once and uses it often: [...,width] each,
 * without token axis. Both NULL (as for no condition) mean plain LN0. */
typedef struct llap_nn_ada {
    llap_tensor *scale, *shift;
} llap_nn_ada;

llap_nn_ada  llap_nn_ada_of(llap_graph *g, const char *name, llap_tensor *cond, int64_t width);
llap_tensor *llap_nn_ada_apply(llap_graph *g, llap_tensor *x, llap_nn_ada ada);

/* Linear with spectral normalisation, spec 4.7: weight_orig / (u . W v), with state weight_u and
 * weight_v. With iterate, one power iteration comes first and u, v are updated; the gradient treats
 * them as constants. Several calls for one name in one graph iterate one after the other. Fresh
 * u and v want llap_params_power_iterate (nn/params.h) before the first use. */
llap_tensor *llap_nn_spectral_linear(llap_graph *g, const char *name, llap_tensor *x, int64_t width,
                                     llap_init weight, llap_init bias, bool iterate);

/* The same in training for rows of two kinds that the reference sends through one after the other:
 * first is 1 for those of its first pass, 0 for the second's, and broadcasts to the result. Each
 * pass that has rows makes its own power iteration, and its rows are divided by its own norm. Where
 * x is a piece of a batch, any [2] says which of the two the whole batch has; NULL: x is all. */
llap_tensor *llap_nn_spectral_linear_of(llap_graph *g, const char *name, llap_tensor *x,
                                        int64_t width, llap_init weight, llap_init bias,
                                        llap_tensor *first, llap_tensor *any);

/* Two linear layers with a GELU between them, numbered as PyTorch numbers a Sequential:
 *     [LN], Linear, GELU, [Dropout], Linear
 * so that their names are 0 and 2; 1 and 3 with the norm; 0 and 3 with dropout; 1 and 4 with both.
 * x [...,in] -> [...,width] */
typedef struct llap_nn_mlp_opts {
    int64_t hidden, width;
    bool    norm;
    bool    drops;    /* the Sequential has a dropout layer; it counts even if its p is 0 */
    double  dropout;  /* p of that layer */
    double  last_std; /* 0: the usual start; else the last layer starts normal, its bias at 0 */
} llap_nn_mlp_opts;

llap_tensor *llap_nn_mlp(llap_graph *g, const char *name, llap_tensor *x,
                         const llap_nn_mlp_opts *opts);

/* Time2Vec: p = u w + b for d numbers w, b; [p_0, sin p_1, .., sin p_{d-1}]. u [...] -> [...,d] */
llap_tensor *llap_nn_time2vec(llap_graph *g, const char *name, llap_tensor *u, int64_t d);

/* -------- attention -------- */

typedef struct llap_nn_attn_opts {
    int          n_heads;
    llap_tensor *key_padding; /* [...,Lk], not 0 = excluded; or NULL */
    llap_tensor *bias;        /* added to the scores, broadcasts to [...,heads,Lq,Lk]; or NULL */
    double       dropout;     /* of the attention weights */
} llap_nn_attn_opts;

/* PyTorch's multi-head attention: in_proj_weight [3E,E] = q, k, v stacked, in_proj_bias, out_proj.
 */
llap_tensor *llap_nn_mha(llap_graph *g, const char *name, llap_tensor *q, llap_tensor *k,
                         llap_tensor *v, const llap_nn_attn_opts *opts);

/* Its parts: projection i (0 q, 1 k, 2 v) to width e, and what follows the attention. */
llap_tensor *llap_nn_mha_project(llap_graph *g, const char *name, llap_tensor *x, int64_t e, int i);
llap_tensor *llap_nn_mha_out(llap_graph *g, const char *name, llap_tensor *x);
void         llap_nn_mha_out_params(llap_graph *g, const char *name, int64_t e, llap_tensor **w,
                                    llap_tensor **b); /* of the latter */

/* PyTorch's encoder layer: self attention and a GELU feed-forward of width ff, each with residual
 * and norm, before (norm_first) or after. With times [...,L], attention is rotary with its own
 * names (self_attn.qkv, self_attn.out_proj), angles times base^(-2i/d). */
typedef struct llap_nn_encoder_opts {
    llap_nn_attn_opts attn;
    int64_t           ff;
    double            dropout;
    bool              norm_first;
    llap_tensor      *times;
    double            rotary_base;
} llap_nn_encoder_opts;

llap_tensor *llap_nn_encoder_layer(llap_graph *g, const char *name, llap_tensor *x,
                                   const llap_nn_encoder_opts *opts);

/* -------- blocks of the denoiser, spec 4.6 -------- */

typedef struct llap_nn_block_opts {
    int          n_heads;
    double       mlp_ratio;    /* transformer block: the MLP is that times as wide */
    llap_tensor *attn_bias;    /* transformer block; or NULL */
    llap_tensor *key_padding;  /* cross block: [...,Lk], not 0 = excluded; or NULL */
    double       dropout;      /* of the branches */
    double       attn_dropout; /* of the attention weights */
} llap_nn_block_opts;

/* x [...,L,H], cond as for AdaLN (or NULL): self attention, then the MLP, each x + f(AdaLN(x)). */
llap_tensor *llap_nn_transformer_block(llap_graph *g, const char *name, llap_tensor *x,
                                       llap_tensor *cond, const llap_nn_block_opts *opts);
/* x [...,Lq,H] attends to kv [...,Lk,H]: x + f(AdaLN(x), AdaLN(kv)). */
llap_tensor *llap_nn_cross_block(llap_graph *g, const char *name, llap_tensor *x, llap_tensor *kv,
                                 llap_tensor *cond, const llap_nn_block_opts *opts);

/* Their parts, for what shares the keys of kv, or all that depends on cond, among many x. Names are
 * relative to the block's scope. */
typedef struct llap_nn_cross_kv {
    llap_nn_ada  ada;   /* of the queries */
    llap_tensor *k, *v; /* [...,Lk,H] */
} llap_nn_cross_kv;

llap_nn_cross_kv llap_nn_cross_keys(llap_graph *g, llap_tensor *kv, llap_tensor *cond);
/* The same with AdaLN in the weights, a set of them for each row, spec 9.1: u [B,1,S,H] is kv
 * without mean and deviation. One product for each row gives the gradients of weights and AdaLN
 * together, where u needs none. used [B,1,1,1] or NULL: rows with 0, where u is 0 too, get zeros.
 */
llap_nn_cross_kv llap_nn_cross_row_keys(llap_graph *g, llap_tensor *u, llap_tensor *cond,
                                        llap_tensor *used);
/* The same where keys and values are Linear(kv) of the tokens as they are, whatever cond says. */
llap_nn_cross_kv llap_nn_cross_plain_keys(llap_graph *g, llap_tensor *kv, llap_tensor *cond);
llap_tensor     *llap_nn_cross_branch(llap_graph *g, llap_tensor *x, const llap_nn_cross_kv *kv,
                                      const llap_nn_block_opts *opts); /* without x + */
llap_tensor     *llap_nn_self_branch(llap_graph *g, llap_tensor *x, llap_nn_ada ada,
                                     const llap_nn_block_opts *opts); /* without x + */
/* What follows once the queries (or queries, keys and values) are there. */
llap_tensor *llap_nn_cross_answer(llap_graph *g, llap_tensor *q, const llap_nn_cross_kv *kv,
                                  const llap_nn_block_opts *opts);
llap_tensor *llap_nn_self_answer(llap_graph *g, llap_tensor *qkv, const llap_nn_block_opts *opts);
llap_tensor *llap_nn_mlp_up(llap_graph *g, llap_tensor *x, llap_nn_ada ada,
                            const llap_nn_block_opts *opts); /* GELU(mlp.0(AdaLN(x))) */

/* SummaryAttentionPool: one query vector [...,H] over tokens [...,S,H] -> [...,H]. */
llap_tensor *llap_nn_summary_pool(llap_graph *g, const char *name, llap_tensor *tokens,
                                  llap_tensor *query);

/* -------- losses -------- */

llap_tensor *llap_nn_mse(llap_graph *g, llap_tensor *x, llap_tensor *target); /* mean over all */

/* sum m (x - target)^2 / max(sum m, 1) over the given axes, which stay with length 1; m broadcasts
 * to x. Where m is 0, neither x nor target is looked at. */
llap_tensor *llap_nn_masked_mse(llap_graph *g, llap_tensor *x, llap_tensor *target, llap_tensor *m,
                                unsigned axes);

/* Both means where x is a piece of a batch, along the first axis: all is the mask of the whole
 * batch that their sums are divided by, so that pieces add up to its mean. NULL: x is all. */
llap_tensor *llap_nn_mean_in(llap_graph *g, llap_tensor *x, llap_tensor *m, llap_tensor *all,
                             unsigned axes);
llap_tensor *llap_nn_mse_in(llap_graph *g, llap_tensor *x, llap_tensor *target, llap_tensor *m,
                            llap_tensor *all, unsigned axes);

typedef enum llap_prediction { LLAP_PREDICT_V, LLAP_PREDICT_X0, LLAP_PREDICT_EPS } llap_prediction;

/* Raw min-SNR weights of steps with these alpha-bar values, spec 5.4.6; no gradient. */
llap_tensor *llap_nn_min_snr(llap_graph *g, llap_tensor *alpha_bar, double gamma,
                             llap_prediction prediction);

#endif
