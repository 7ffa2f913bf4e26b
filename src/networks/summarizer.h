/* The history summarizer (LaplaceAE): the irregular context of all entities becomes S summary
 * tokens of width H. Pretrained as an auto-encoder, then frozen.
 *
 *     ll_history h = { .x = x, .dx = dx, .ent = ent, .dt = dt, .obs = obs };
 *     ll_tensor *E_raw = ll_summarize(g, &cfg, &h).context;        [B,S,H]
 *     ll_tensor *E = ll_context_normalise(g, E_raw, NULL, NULL);   networks/conditioning.h
 *
 * Letters: B rows, l context steps, N entities, D features, S tokens, H their width. Inside, the
 * axes are [B,N,l,...]: everything up to the tokens runs along time, one entity at a time. Absent
 * entities change nothing. Parameters have the names of the reference's checkpoints, in the current
 * scope. */
#ifndef LL_NETWORKS_SUMMARIZER_H
#define LL_NETWORKS_SUMMARIZER_H

#include "graph/graph.h"
#include "nn/params.h"

typedef enum ll_position {
    LL_POSITION_LEARNED, /* a table of l vectors, PyTorch's attention */
    LL_POSITION_ROTARY,  /* attention rotated by real time */
    LL_POSITION_BOTH,
} ll_position;

typedef enum ll_t_token { /* what the differences dx do, docs/spec/model.md 3.2.3 */
                          LL_T_TOKEN_NONE,
                          LL_T_TOKEN_RESIDUAL, /* are added to the mixed values */
                          LL_T_TOKEN_BIAS,     /* shift the pooling scores */
                          LL_T_TOKEN_BOTH,
} ll_t_token;

typedef struct ll_summarizer_config {
    int64_t     n_entities, features, context; /* N, D, l */
    int64_t     tokens, width;                 /* S, H */
    int64_t     mix;                           /* d_mix, channels of the mixer */
    int64_t     kernel;                        /* of the mixer, odd */
    int64_t     proxy_hidden, time2vec, irregular_hidden;
    int         n_layers, n_heads;
    ll_position position;
    ll_t_token  t_token;
    bool        irregular_pooling;
    double      t_scale, irregular_scale; /* of the residuals */
    double      rotary_base;
    double      dropout; /* in training; 0 for inference */

    /* Ablations of the paper: a kind of token is 0 in what the encoder sees. */
    bool no_temporal_token; /* Time2Vec and the observed part */
    bool no_dynamics_token; /* both proxies */
    bool no_port_token;     /* the mixed values */
    /* The paper where the reference differs, docs/spec/model.md 8.23, 8.24. */
    bool masked_input;  /* values count where observed, differences where both ends are */
    bool absolute_time; /* Time2Vec sees the time since the first step, not its part of the span */
} ll_summarizer_config;

/* The paper's sizes; n_entities, features, context and tokens (= context) depend on the data. */
#define LL_SUMMARIZER_PAPER                          \
    ((ll_summarizer_config){ .width = 256,           \
                             .mix = 64,              \
                             .kernel = 3,            \
                             .proxy_hidden = 32,     \
                             .time2vec = 9,          \
                             .irregular_hidden = 32, \
                             .n_layers = 2,          \
                             .n_heads = 4,           \
                             .t_scale = 0.1,         \
                             .irregular_scale = 0.1, \
                             .rotary_base = 10000.0 })

typedef struct ll_history {
    ll_tensor *x, *dx; /* [B,l,N,D] values and their differences, 0 where missing */
    ll_tensor *ent;    /* [B,N] 1 where the entity is present; NULL: all are */
    ll_tensor *dt;     /* [B,l,N] times, finite and nondecreasing along l; NULL: 0, 1, .. */
    ll_tensor *obs;    /* [B,l,N,D] 1 where observed; NULL: everywhere */
} ll_history;

typedef struct ll_summary {
    ll_tensor *context;       /* E_raw [B,S,H] */
    ll_tensor *x;             /* [B,l,N,D] x with absent entities at 0 */
    ll_tensor *seen;          /* [B,l,N,D] observed and present */
    ll_tensor *ent;           /* [B,N] */
    ll_tensor *v_sig, *t_sig; /* [B,l,N] learned proxies of values and differences */
    ll_tensor *rel, *u;       /* [B,l,N] time since the first step; the same over its span */
    ll_tensor *seen_part;     /* [B,l,N] part of the features observed */
} ll_summary;

/* docs/spec/model.md 3.2, steps 1 to 11. Notes what the reference can show: "mixer_norm",
 * "time2vec", ... */
ll_summary ll_summarize(ll_graph *g, const ll_summarizer_config *cfg, const ll_history *history);

/* Step 5: u_j = (dt_j - dt_0) / max(max_j (dt_j - dt_0), 1), [B,l,N]; dt as in ll_history. */
ll_tensor *ll_unit_times(ll_graph *g, ll_tensor *dt, int64_t B, int64_t l, int64_t N);

/* A fresh model: ll_params_init, then what it cannot know (the layers of the learned-position
 * encoder start as copies of the first). prefix is the scope with its dot, "" without. */
void ll_summarizer_start(ll_params *p, const ll_summarizer_config *cfg, const char *prefix);

/* -------- pretraining, docs/spec/model.md 3.2.12, 3.5 -------- */

typedef struct ll_summarizer_heads {             /* what is reconstructed from the mean token */
    ll_tensor *x_hat;                            /* [B,l,N,D] */
    ll_tensor *v_hat, *t_hat, *dt_hat, *obs_hat; /* [B,l,N] */
} ll_summarizer_heads;

ll_summarizer_heads ll_summarizer_decode(ll_graph *g, const ll_summarizer_config *cfg,
                                         ll_tensor *context);

typedef struct ll_summarizer_loss_config {
    double x, v, t, dt, obs; /* weights of the terms */
    bool   channel_balanced; /* every feature weighs the same in the x term */
} ll_summarizer_loss_config;

#define LL_SUMMARIZER_LOSS_BASE ((ll_summarizer_loss_config){ .x = 1, .v = 0.1, .t = 0.1 })
#define LL_SUMMARIZER_LOSS_IRREGULAR \
    ((ll_summarizer_loss_config){    \
        .x = 1, .v = 0.1, .t = 0.1, .dt = 0.05, .obs = 0.05, .channel_balanced = true })

typedef struct ll_summarizer_terms { /* scalars; loss is their weighted sum */
    ll_tensor *loss, *x, *v, *t, *dt, *obs;
} ll_summarizer_terms;

/* whole: obs and ent of the batch that the rows are a micro-batch of, each term is then the
 * micro-batch's part of it; NULL: they are all. */
ll_summarizer_terms ll_summarizer_loss(ll_graph *g, const ll_summarizer_loss_config *cfg,
                                       const ll_summary *summary, const ll_summarizer_heads *heads,
                                       const ll_history *whole);

#endif
