/* The history summarizer (LaplaceAE): the irregular context of all entities becomes S summary
 * tokens of width H. Pretrained as an auto-encoder, then frozen.
 *
 *     llap_history h = { .x = x, .dx = dx, .ent = ent, .dt = dt, .obs = obs };
 *     llap_tensor *E_raw = llap_summarize(g, &cfg, &h).context;        [B,S,H]
 *     llap_tensor *E = llap_context_normalise(g, E_raw, NULL, NULL);   model/conditioning.h
 *
 * Letters: B rows, l context steps, N entities, D features, S tokens, H their width. Inside, the
 * axes are [B,N,l,...]: everything up to the tokens runs along time, one entity at a time. Absent
 * entities change nothing. Parameters have the names of the reference's checkpoints, in the current
 * scope. */
#ifndef LLAP_MODEL_SUMMARIZER_H
#define LLAP_MODEL_SUMMARIZER_H

#include "graph/graph.h"
#include "nn/params.h"

typedef enum llap_position {
    LLAP_POSITION_LEARNED, /* a table of l vectors, PyTorch's attention */
    LLAP_POSITION_ROTARY,  /* attention rotated by real time */
    LLAP_POSITION_BOTH,
} llap_position;

typedef enum llap_t_token { /* what the differences dx do, spec 3.2.3 */
                            LLAP_T_TOKEN_NONE,
                            LLAP_T_TOKEN_RESIDUAL, /* are added to the mixed values */
                            LLAP_T_TOKEN_BIAS,     /* shift the pooling scores */
                            LLAP_T_TOKEN_BOTH,
} llap_t_token;

typedef struct llap_summarizer_config {
    int64_t       n_entities, features, context; /* N, D, l */
    int64_t       tokens, width;                 /* S, H */
    int64_t       mix;                           /* d_mix, channels of the mixer */
    int64_t       kernel;                        /* of the mixer, odd */
    int64_t       proxy_hidden, time2vec, irregular_hidden;
    int           n_layers, n_heads;
    llap_position position;
    llap_t_token  t_token;
    bool          irregular_pooling;
    double        t_scale, irregular_scale; /* of the residuals */
    double        rotary_base;
    double        dropout; /* in training; 0 for inference */

    /* Ablations of the paper: a kind of token is 0 in what the encoder sees. */
    bool no_temporal_token; /* Time2Vec and the observed part */
    bool no_dynamics_token; /* both proxies */
    bool no_port_token;     /* the mixed values */
    /* The paper where the reference differs, spec 8.23 and 8.24. */
    bool masked_input;  /* values count where observed, differences where both ends are */
    bool absolute_time; /* Time2Vec sees the time since the first step, not its part of the span */
} llap_summarizer_config;

/* The paper's sizes; n_entities, features, context and tokens (= context) depend on the data. */
#define LLAP_SUMMARIZER_PAPER                          \
    ((llap_summarizer_config){ .width = 256,           \
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

typedef struct llap_history {
    llap_tensor *x, *dx; /* [B,l,N,D] values and their differences, 0 where missing */
    llap_tensor *ent;    /* [B,N] 1 where the entity is present; NULL: all are */
    llap_tensor *dt;     /* [B,l,N] times, finite and nondecreasing along l; NULL: 0, 1, .. */
    llap_tensor *obs;    /* [B,l,N,D] 1 where observed; NULL: everywhere */
} llap_history;

typedef struct llap_summary {
    llap_tensor *context;       /* E_raw [B,S,H] */
    llap_tensor *x;             /* [B,l,N,D] x with absent entities at 0 */
    llap_tensor *seen;          /* [B,l,N,D] observed and present */
    llap_tensor *ent;           /* [B,N] */
    llap_tensor *v_sig, *t_sig; /* [B,l,N] learned proxies of values and differences */
    llap_tensor *rel, *u;       /* [B,l,N] time since the first step; the same over its span */
    llap_tensor *seen_part;     /* [B,l,N] part of the features observed */
} llap_summary;

/* Spec 3.2, steps 1 to 11. Notes what the reference can show: "mixer_norm", "time2vec", ... */
llap_summary llap_summarize(llap_graph *g, const llap_summarizer_config *cfg,
                            const llap_history *history);

/* Step 5: u_j = (dt_j - dt_0) / max(max_j (dt_j - dt_0), 1), [B,l,N]; dt as in llap_history. */
llap_tensor *llap_unit_times(llap_graph *g, llap_tensor *dt, int64_t B, int64_t l, int64_t N);

/* A fresh model: llap_params_init, then what it cannot know (the layers of the learned-position
 * encoder start as copies of the first). prefix is the scope with its dot, "" without. */
void llap_summarizer_start(llap_params *p, const llap_summarizer_config *cfg, const char *prefix);

/* -------- pretraining, spec 3.2.12 and 3.5 -------- */

typedef struct llap_summarizer_heads {             /* what is reconstructed from the mean token */
    llap_tensor *x_hat;                            /* [B,l,N,D] */
    llap_tensor *v_hat, *t_hat, *dt_hat, *obs_hat; /* [B,l,N] */
} llap_summarizer_heads;

llap_summarizer_heads llap_summarizer_decode(llap_graph *g, const llap_summarizer_config *cfg,
                                             llap_tensor *context);

typedef struct llap_summarizer_loss_config {
    double x, v, t, dt, obs; /* weights of the terms */
    bool   channel_balanced; /* every feature weighs the same in the x term */
} llap_summarizer_loss_config;

#define LLAP_SUMMARIZER_LOSS_BASE ((llap_summarizer_loss_config){ .x = 1, .v = 0.1, .t = 0.1 })
#define LLAP_SUMMARIZER_LOSS_IRREGULAR \
    ((llap_summarizer_loss_config){    \
        .x = 1, .v = 0.1, .t = 0.1, .dt = 0.05, .obs = 0.05, .channel_balanced = true })

typedef struct llap_summarizer_terms { /* scalars; loss is their weighted sum */
    llap_tensor *loss, *x, *v, *t, *dt, *obs;
} llap_summarizer_terms;

/* whole: obs and ent of the batch that the rows are a piece of, each term is then the piece's part
 * of it; NULL: they are all. */
llap_summarizer_terms llap_summarizer_loss(llap_graph *g, const llap_summarizer_loss_config *cfg,
                                           const llap_summary          *summary,
                                           const llap_summarizer_heads *heads,
                                           const llap_history          *whole);

#endif
