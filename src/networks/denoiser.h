/* The denoiser: from a noisy latent trajectory, a diffusion step and the history's summary to the
 * prediction at every query time (docs/spec/model.md 4).
 *
 *     modal predictor     poles rho, omega from step and summary; residues theta by attention from
 *                         poles to query times, refined in L blocks
 *     modal synthesizer   y(t) = sum_k e^(-rho_k t) (theta_k cos(omega_k t) +
 *                         theta_K+k sin(omega_k t)), a gated residual and a linear head
 *
 *     ll_denoiser_config cfg = LL_DENOISER_PAPER(24);
 *     ll_denoiser_in     in = { .z = z, .t = t, .tq = tq, .E = E };
 *     ll_tensor         *v = ll_denoiser(g, &cfg, &in);
 *
 * Letters: B rows (windows), R samples of a row, h query times, Z latent channels, S summary
 * tokens, H width, K poles, M = 2K modal tokens, L blocks, T diffusion steps.
 *
 * The computation has two halves. ll_denoiser_window does all that does not depend on the noisy
 * latent, and the R samples of a window share it; ll_denoiser_sample does the rest. In one graph
 * they are the whole network (ll_denoiser). In two graphs, whose outputs and inputs are the
 * tensors of ll_modal, the first half runs once for all samples: diffusion/sampler.h does that. */
#ifndef LL_NETWORKS_DENOISER_H
#define LL_NETWORKS_DENOISER_H

#include "base/json/fields.h"
#include "nn/nn.h"
#include "nn/params.h"

typedef enum ll_rho_mode {                /* what the condition perturbs, docs/spec/model.md 4.2 */
                           LL_RHO_RAW,    /* "raw": the parameter before softplus */
                           LL_RHO_LEGACY, /* "legacy_effective": the positive rate */
} ll_rho_mode;

typedef enum ll_pool_mode { LL_POOL_MEAN, LL_POOL_ATTN } ll_pool_mode; /* "mean", "attn" */

typedef enum ll_stream_mode {                     /* what flows from block to block */
                              LL_STREAM_RESIDUES, /* "residues": theta [M,Z]; every block starts
                                                       from it (reference) */
                              LL_STREAM_TOKENS,   /* "tokens": x [M,H] is carried (default
                                                       profile) */
} ll_stream_mode;

/* The names are those of the configuration in model files; docs/spec/model.md 4.9 tells what each
 * switch does. */
typedef struct ll_denoiser_config {
    int64_t data_dim;   /* Z */
    int64_t hidden_dim; /* H */
    int64_t num_layers; /* L, at most LL_DENOISER_MAX_LAYERS */
    int64_t num_heads;  /* divides H */
    int64_t laplace_k;  /* K */
    int64_t timesteps;  /* T */
    double  mlp_ratio;  /* the MLP of a block is that times as wide as H */
    double  dropout, attn_dropout;

    ll_rho_mode  rho_conditioning_mode;
    ll_pool_mode summary_pool_mode;
    bool         self_conditioning;
    bool         pole_pool_use_raw_summary;
    bool         block_summary_adaln;
    bool         analysis_summary_qk;
    bool         analysis_qk_use_raw_summary;
    bool         cross_first;      /* cross attention before self attention */
    bool         use_mlp_residual; /* the synthesizer's gated residual */
    bool         fixed_poles;      /* ablation: the condition does not move the poles */
    bool         frozen_poles;     /* ablation: training does not move them either */

    /* The default profile, docs/spec/anchor.md 8.5. With tokens: a continuous step (in->time)
     * instead of the table of T, keys of the summary without AdaLN, a local path to the output
     * instead of the synthesizer's residual and head. The options of docs/spec/model.md 4.9 are
     * then not used. */
    ll_stream_mode stream;
    int64_t        query_features; /* F, numbers known about each query (in->f) */
    int64_t        synthesis_dim;  /* d_s, channels of the synthesis; 0: max(16, Z) */
} ll_denoiser_config;

enum { LL_DENOISER_MAX_LAYERS = 64 };

/* clang-format off */
#define LL_DENOISER_PAPER(Z) \
    ((ll_denoiser_config){ .data_dim = (Z), .hidden_dim = 256, .num_layers = 5, .num_heads = 4, \
        .laplace_k = 256, .timesteps = 1000, .mlp_ratio = 4.0, .cross_first = true, .use_mlp_residual = true })
#define LL_DENOISER_DEFAULT(Z, F) \
    ((ll_denoiser_config){ .data_dim = (Z), .hidden_dim = 128, .num_layers = 2, .num_heads = 4, \
        .laplace_k = 32, .timesteps = 2, .mlp_ratio = 2.0, .dropout = 0.1, .cross_first = true, \
        .stream = LL_STREAM_TOKENS, .query_features = (F) })
/* clang-format on */

/* The keys of the configuration, with their limits. */
enum { LL_DENOISER_FIELDS = 23 };
extern const ll_field ll_denoiser_fields[LL_DENOISER_FIELDS];

/* LLAP_EINVAL names the field that is out of range or does not fit another one. */
llap_status ll_denoiser_config_check(const ll_denoiser_config *c);

/* Reads the object at path; absent keys leave what *c holds, other keys are not looked at, so that
 * one object may configure more than the denoiser. Checked. */
llap_status ll_denoiser_config_read(const ll_json *j, const char *path, ll_denoiser_config *c);
void        ll_denoiser_config_write(ll_json_writer *w, const ll_denoiser_config *c); /* the keys */

/* Beginnings and poles as docs/spec/model.md 4.2, 4.7 say, after ll_params_init: prefix is what
 * stands before "model." in the store's names. */
llap_status ll_denoiser_init(ll_params *p, const char *prefix, uint64_t seed);
/* The same with the poles of docs/spec/anchor.md 8.5: days and weeks first, if the time unit of
 * that many hours can resolve them, then a wide range. */
llap_status ll_denoiser_init_calendar(ll_params *p, const char *prefix, uint64_t seed,
                                      double unit_hours);

/* -------- the network -------- */

typedef struct ll_denoiser_in {
    ll_tensor *z;           /* [B,R,h,Z] noisy latent; or [B,h,Z] */
    ll_tensor *t;           /* int [B] diffusion step; or NULL and */
    ll_tensor *tau;         /* [B,H] its embedding */
    ll_tensor *tq;          /* [B,h] query offsets, not re-centred; NULL: 0, 1, .., h-1 */
    ll_tensor *E;           /* [B,S,H] summary, normalised; NULL: the unconditional pass */
    ll_tensor *E_raw;       /* [B,S,H] before normalisation; needed where an option asks for it */
    ll_tensor *conditional; /* [B] ones and zeros: rows with 0 are unconditional; NULL: as E says */
    ll_tensor *sc;          /* like z, the previous estimate (self_conditioning); NULL: none */
    ll_tensor *kinds; /* [2]: the batch has such rows, and others; NULL: the rows are all of it */
    bool       training; /* dropout, power iterations */
    bool       folded;   /* for samples that are folded: all rows are at the same step */
    bool       entries;  /* folded, and the backend has LL_OP_NORMED */

    /* With the stream of tokens: */
    ll_tensor *time;  /* [B] continuous step in (0,1), instead of t and tau */
    ll_tensor *f;     /* [B,h,F] what is known about the queries; NULL for F = 0 */
    ll_tensor *pad;   /* [B,h], 1: no query, nobody looks at it; 0: a query; NULL: all are */
    ll_tensor *E_pad; /* [B,S], 1: no token; NULL: all are */
} ll_denoiser_in;

/* The prediction, shaped like z. Declares time_embed.weight (with t) and model.*. */
ll_tensor *ll_denoiser(ll_graph *g, const ll_denoiser_config *c, const ll_denoiser_in *in);

/* The network behind the step embedding (in->tau), without the "model." before its names. */
ll_tensor *ll_lapformer(ll_graph *g, const ll_denoiser_config *c, const ll_denoiser_in *in);

/* -------- its two halves -------- */

/* The first layer of a block behind its norm, without the norm. Its input is x = coef2hid(theta) +
 * place, so that W ((1 + s) (x - mean) / deviation + b) + c is (theta weight^T + table) / deviation
 * + bias: theta is narrow, and the rest is the same for all samples. */
typedef struct ll_modal_entry {
    ll_tensor *weight, *table, *bias; /* [N,Z], [M,N], [N]; NULL: none */
} ll_modal_entry;

typedef struct ll_modal_block { /* what block i needs besides the residues */
    ll_tensor     *place;       /* mode_pos + tau, [B,1,M,H] */
    ll_nn_cross_kv cross;       /* keys and values [B,1,S,H]; NULL without summary */
    ll_nn_ada      self, mlp;   /* AdaLN of self attention and MLP, [B,1,H] */
    ll_modal_entry entry;       /* of cross attention's queries, or else of self attention */
} ll_modal_block;

typedef struct ll_modal {
    ll_tensor *rho, *omega; /* poles, [B,1,K] */
    ll_tensor *basis;       /* A, [B,1,h,M] */
    ll_tensor *q, *k;       /* of the analysis, projected: [B,1,M,H], [B,1,h,H] */
    ll_tensor *weights;     /* folded, instead: its attention, [B,1,M,heads h] */
    ll_tensor *conditional; /* [B,1,1,1], or NULL */
    /* with the stream of tokens; else NULL */
    ll_tensor     *start;       /* 0.5 q + tau, [B,1,M,H] */
    ll_tensor     *gate;        /* W_t tau of the local path, [B,1,1,2H] */
    ll_tensor     *f;           /* [B,1,h,F] */
    ll_tensor     *pad, *E_pad; /* [B,1,h], [B,1,S] */
    ll_modal_block block[LL_DENOISER_MAX_LAYERS];
} ll_modal;

/* Uses t, tq, E, E_raw, conditional; h only if tq is NULL. */
void ll_denoiser_window(ll_graph *g, const ll_denoiser_config *c, const ll_denoiser_in *in,
                        int64_t h, ll_modal *m);

typedef struct ll_sample_opts {
    bool training;
    bool folded; /* uses the products of ll_denoiser_fold and the blocks' entries where the modal
                  * has them; not for training */
    bool       gated; /* the backend has the op GATED */
    ll_tensor *kinds; /* of training, as above */
} ll_sample_opts;

/* z [B,R,h,Z], sc like it or NULL -> [B,R,h,Z]. B of the modal may be 1: shared by all rows. */
ll_tensor *ll_denoiser_sample(ll_graph *g, const ll_denoiser_config *c, const ll_modal *m,
                              ll_tensor *z, ll_tensor *sc, const ll_sample_opts *opts);

/* Products of neighbouring weights, docs/spec/model.md 9.1: every "X.fold.weight" and "X.fold.bias"
 * of the store folds becomes the product of layers of the model's store, or one divided by its
 * spectral norm, in double. */
typedef struct ll_fold_opts {
    const char    *prefix; /* of the model's names; NULL: none */
    ll_params_part part;   /* LL_PARAMS_MODEL or LL_PARAMS_EMA */
} ll_fold_opts;

llap_status ll_denoiser_fold(const ll_params *model, const ll_fold_opts *o, ll_params *folds);

/* Every tensor of the modal that a sample needs, with a name: to make them outputs of one graph and
 * inputs of another. fn may replace *x. */
typedef void (*ll_modal_fn)(void *user, const char *name, ll_tensor **x);
void ll_modal_each(ll_modal *m, const ll_denoiser_config *c, ll_modal_fn fn, void *user);

#endif
