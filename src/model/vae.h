/* The set-VAE: at each query time, the values of all entities become one latent vector and back.
 * Time steps are processed independently, entities are a set (told apart by an embedding).
 *
 *     llap_tensor  *tok = llap_vae_tokens(g, y, obs);              [B,h,N,2C]
 *     llap_vae_code code = llap_vae_encode(g, &cfg, tok, ent);     mu, logvar [B,h,Z]
 *     llap_tensor  *yhat = llap_vae_decode(g, &cfg, code.mu, ent); [B,h,N,C]
 *
 * Letters: B rows, h query times, N entities, C target channels, Z latent channels, W width.
 * Masks hold 0 or 1: obs [B,h,N,C] observed, ent [B,N] entity present. Absent entities and
 * unobserved values change nothing, whatever they hold. Parameters have the names of the
 * reference's checkpoints, in the current scope. */
#ifndef LLAP_MODEL_VAE_H
#define LLAP_MODEL_VAE_H

#include "graph/graph.h"

typedef struct llap_vae_stack { /* layers over the entities of one time step */
    int     n_layers, n_heads;
    int64_t ff;
} llap_vae_stack;

typedef struct llap_vae_config {
    int64_t        width;      /* W; heads divide it */
    int64_t        latent;     /* Z */
    int64_t        channels;   /* C */
    int64_t        n_entities; /* N of the entity embedding; 0: entities are not told apart */
    llap_vae_stack encoder, decoder;
    double         dropout; /* in training; 0 for inference */
} llap_vae_config;

/* The paper's sizes; latent, channels and n_entities depend on the data. */
#define LLAP_VAE_PAPER                            \
    ((llap_vae_config){ .width = 128,             \
                        .latent = 24,             \
                        .channels = 1,            \
                        .encoder = { 3, 4, 256 }, \
                        .decoder = { 3, 4, 256 } })

/* Spec 2.2: [y keep, keep]; y may be NaN where keep is 0. y, keep [B,h,N,C] -> [B,h,N,2C] */
llap_tensor *llap_vae_tokens(llap_graph *g, llap_tensor *y, llap_tensor *keep);

typedef struct llap_vae_code { /* the posterior of z: mean and log variance, [B,h,Z] */
    llap_tensor *mu, *logvar;
} llap_vae_code;

/* Spec 2.4. Exact zeros where nothing is observed. tok [B,h,N,2C] */
llap_vae_code llap_vae_encode(llap_graph *g, const llap_vae_config *cfg, llap_tensor *tok,
                              llap_tensor *ent);

/* z = mu + e^(logvar/2) eps, eps [B,h,Z] standard normal */
llap_tensor *llap_vae_sample(llap_graph *g, const llap_vae_code *code, llap_tensor *eps);

/* Spec 2.5. Zeros for absent entities. z [B,h,Z] -> [B,h,N,C]; N of ent */
llap_tensor *llap_vae_decode(llap_graph *g, const llap_vae_config *cfg, llap_tensor *z,
                             llap_tensor *ent);

/* -------- training, spec 2.7 -------- */

typedef struct llap_vae_loss_config {
    double beta;             /* weight of the KL term */
    double p_drop;           /* an observed value is hidden with this probability ... */
    double noise;            /* ... or gets normal noise of this deviation */
    double consistency;      /* weight of the distance between two corrupted views */
    bool   balance_coverage; /* sparsely observed series weigh more; else all values equally */
} llap_vae_loss_config;

#define LLAP_VAE_LOSS_BASE ((llap_vae_loss_config){ .beta = 1e-3, .p_drop = 0.20, .noise = 0.01 })
#define LLAP_VAE_LOSS_IRREGULAR                   \
    ((llap_vae_loss_config){ .beta = 1e-3,        \
                             .p_drop = 0.35,      \
                             .noise = 0.02,       \
                             .consistency = 0.05, \
                             .balance_coverage = true })

/* KL weight of an epoch counted from 1: 0 up to the 5th, full from the 30th on. */
double llap_vae_beta(double beta_final, int64_t epoch);

typedef struct llap_vae_view { /* random numbers of one corrupted view, [B,h,N,C] */
    llap_tensor *u, *noise;    /* uniform on [0,1), normal; NULL where p_drop, noise is 0 */
} llap_vae_view;

typedef struct llap_vae_batch {
    llap_tensor  *y, *obs; /* [B,h,N,C]; y may be NaN where obs is 0 */
    llap_tensor  *ent;     /* [B,N] */
    llap_tensor  *eps;     /* [B,h,Z], for the sample of z */
    llap_vae_view view[2]; /* the second only with consistency */
    /* Where the rows are a piece of a batch: obs and ent of all of it; NULL: they are all. Each
     * term is then the piece's part of it. */
    llap_tensor *all_obs, *all_ent;
} llap_vae_batch;

typedef struct llap_vae_terms {                   /* of the loss; scalars */
    llap_tensor *loss, *recon, *kl, *consistency; /* the last NULL without consistency */
} llap_vae_terms;

/* Reconstructs the clean values from a corrupted view: recon + beta kl + lambda consistency. Notes
 * "mu", "logvar", "mu2", "x_hat", "kl_bt", "x_tok". */
llap_vae_terms llap_vae_loss(llap_graph *g, const llap_vae_config *cfg,
                             const llap_vae_loss_config *loss, const llap_vae_batch *batch);

/* The parts of it, one per equation. */
llap_tensor *llap_vae_corrupt(llap_graph *g, llap_tensor *y, llap_tensor *obs,
                              const llap_vae_view *view, const llap_vae_loss_config *loss);
llap_tensor *llap_vae_obs_any(llap_graph *g, llap_tensor *obs); /* [B,h] */
/* [B,1,N,1]; all and all_any are of the whole batch, or NULL */
llap_tensor *llap_vae_coverage_weight(llap_graph *g, llap_tensor *obs, llap_tensor *all);
llap_tensor *llap_vae_kl(llap_graph *g, const llap_vae_code *code, llap_tensor *obs_any,
                         llap_tensor *all_any);

#endif
