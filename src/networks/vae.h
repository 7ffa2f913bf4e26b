/* The set-VAE: at each query time, the values of all entities become one latent vector and back.
 * Time steps are processed independently, entities are a set (told apart by an embedding).
 *
 *     ll_tensor  *tok = ll_vae_tokens(g, y, obs);              [B,h,N,2C]
 *     ll_vae_code code = ll_vae_encode(g, &cfg, tok, ent);     mu, logvar [B,h,Z]
 *     ll_tensor  *yhat = ll_vae_decode(g, &cfg, code.mu, ent); [B,h,N,C]
 *
 * Letters: B rows, h query times, N entities, C target channels, Z latent channels, W width.
 * Masks hold 0 or 1: obs [B,h,N,C] observed, ent [B,N] entity present. Absent entities and
 * unobserved values change nothing, whatever they hold. Parameters have the names of the
 * reference's checkpoints, in the current scope. */
#ifndef LL_NETWORKS_VAE_H
#define LL_NETWORKS_VAE_H

#include "graph/graph.h"

typedef struct ll_vae_stack { /* layers over the entities of one time step */
    int     n_layers, n_heads;
    int64_t ff;
} ll_vae_stack;

typedef struct ll_vae_config {
    int64_t      width;      /* W; heads divide it */
    int64_t      latent;     /* Z */
    int64_t      channels;   /* C */
    int64_t      n_entities; /* N of the entity embedding; 0: entities are not told apart */
    ll_vae_stack encoder, decoder;
    double       dropout; /* in training; 0 for inference */
} ll_vae_config;

/* The paper's sizes; latent, channels and n_entities depend on the data. */
#define LL_VAE_PAPER                            \
    ((ll_vae_config){ .width = 128,             \
                      .latent = 24,             \
                      .channels = 1,            \
                      .encoder = { 3, 4, 256 }, \
                      .decoder = { 3, 4, 256 } })

/* docs/spec/model.md 2.2: [y keep, keep]; y may be NaN where keep is 0. y, keep [B,h,N,C] ->
 * [B,h,N,2C] */
ll_tensor *ll_vae_tokens(ll_graph *g, ll_tensor *y, ll_tensor *keep);

typedef struct ll_vae_code { /* the posterior of z: mean and log variance, [B,h,Z] */
    ll_tensor *mu, *logvar;
} ll_vae_code;

/* docs/spec/model.md 2.4. Exact zeros where nothing is observed. tok [B,h,N,2C] */
ll_vae_code ll_vae_encode(ll_graph *g, const ll_vae_config *cfg, ll_tensor *tok, ll_tensor *ent);

/* z = mu + e^(logvar/2) eps, eps [B,h,Z] standard normal */
ll_tensor *ll_vae_sample(ll_graph *g, const ll_vae_code *code, ll_tensor *eps);

/* docs/spec/model.md 2.5. Zeros for absent entities. z [B,h,Z] -> [B,h,N,C]; N of ent */
ll_tensor *ll_vae_decode(ll_graph *g, const ll_vae_config *cfg, ll_tensor *z, ll_tensor *ent);

/* -------- training, docs/spec/model.md 2.7 -------- */

typedef struct ll_vae_loss_config {
    double beta;             /* weight of the KL term */
    double p_drop;           /* an observed value is hidden with this probability ... */
    double noise;            /* ... or gets normal noise of this deviation */
    double consistency;      /* weight of the distance between two corrupted views */
    bool   balance_coverage; /* sparsely observed series weigh more; else all values equally */
} ll_vae_loss_config;

#define LL_VAE_LOSS_BASE ((ll_vae_loss_config){ .beta = 1e-3, .p_drop = 0.20, .noise = 0.01 })
#define LL_VAE_LOSS_IRREGULAR                   \
    ((ll_vae_loss_config){ .beta = 1e-3,        \
                           .p_drop = 0.35,      \
                           .noise = 0.02,       \
                           .consistency = 0.05, \
                           .balance_coverage = true })

/* KL weight of an epoch counted from 1: 0 up to the 5th, full from the 30th on. */
double ll_vae_beta(double beta_final, int64_t epoch);

typedef struct ll_vae_view { /* random numbers of one corrupted view, [B,h,N,C] */
    ll_tensor *u, *noise;    /* uniform on [0,1), normal; NULL where p_drop, noise is 0 */
} ll_vae_view;

typedef struct ll_vae_batch {
    ll_tensor  *y, *obs; /* [B,h,N,C]; y may be NaN where obs is 0 */
    ll_tensor  *ent;     /* [B,N] */
    ll_tensor  *eps;     /* [B,h,Z], for the sample of z */
    ll_vae_view view[2]; /* the second only with consistency */
    /* Where the rows are a micro-batch: obs and ent of all of it; NULL: they are all. Each
     * term is then the micro-batch's part of it. */
    ll_tensor *all_obs, *all_ent;
} ll_vae_batch;

typedef struct ll_vae_terms {                   /* of the loss; scalars */
    ll_tensor *loss, *recon, *kl, *consistency; /* the last NULL without consistency */
} ll_vae_terms;

/* Reconstructs the clean values from a corrupted view: recon + beta kl + lambda consistency. Notes
 * "mu", "logvar", "mu2", "x_hat", "kl_bt", "x_tok". */
ll_vae_terms ll_vae_loss(ll_graph *g, const ll_vae_config *cfg, const ll_vae_loss_config *loss,
                         const ll_vae_batch *batch);

/* The parts of it, one per equation. */
ll_tensor *ll_vae_corrupt(ll_graph *g, ll_tensor *y, ll_tensor *obs, const ll_vae_view *view,
                          const ll_vae_loss_config *loss);
ll_tensor *ll_vae_obs_any(ll_graph *g, ll_tensor *obs); /* [B,h] */
/* [B,1,N,1]; all and all_any are of the whole batch, or NULL */
ll_tensor *ll_vae_coverage_weight(ll_graph *g, ll_tensor *obs, ll_tensor *all);
ll_tensor *ll_vae_kl(ll_graph *g, const ll_vae_code *code, ll_tensor *obs_any, ll_tensor *all_any);

#endif
