/* mTAN (Shukla and Marlin 2021): attention from reference times to the times of readings, a softmax
 * for each channel over its own readings; a recurrent network makes latents of the reference
 * points, and the mirror image decodes them at any time. A VAE.
 *
 *     docs/spec/rivals.md 6 */
#ifndef LL_RIVALS_MTAN_H
#define LL_RIVALS_MTAN_H

#include "rivals/common.h"

typedef enum ll_mtan_spread { LL_MTAN_FIXED, LL_MTAN_SCALAR, LL_MTAN_HEAD } ll_mtan_spread;
extern const char *const ll_mtan_spreads[]; /* "fixed", "scalar", "head", NULL */

typedef struct ll_mtan_config {
    int64_t        n_ref; /* reference points, 0 .. 1 */
    int64_t        embed; /* width of a time's embedding; heads divide it */
    int            enc_heads, dec_heads;
    int64_t        rec, gen; /* of the recurrent networks, each way */
    int64_t        latent, mlp;
    int64_t        n_out;   /* channels of an answer */
    bool           learned; /* time embedding; else waves of 6 to 63 units */
    double         units;   /* so many from time 0 to 1: 48 hours, as published */
    ll_mtan_spread spread;  /* of a reading around its mean: one number, one for each */
    double         sd;      /* channel, or the network's; the first */
} ll_mtan_config;

typedef struct ll_mtan_code { /* the posterior of the latents, [B,n_ref,Z] */
    ll_tensor *mu, *logvar;
} ll_mtan_code;

typedef struct ll_mtan_answer { /* [k,B,L,n_out] */
    ll_tensor *mean, *logvar;
} ll_mtan_answer;

/* x, m [B,K,D], t [B,K]. Notes enc_att. */
ll_mtan_code ll_mtan_encode(ll_graph *g, const ll_mtan_config *cfg, ll_tensor *x, ll_tensor *m,
                            ll_tensor *t);
/* mu + exp(logvar/2) eps, eps [k,B,n_ref,Z] */
ll_tensor *ll_mtan_latent(ll_graph *g, const ll_mtan_code *code, ll_tensor *eps);
/* z [k,B,n_ref,Z], query [B,L]. Notes dec_rnn. */
ll_mtan_answer ll_mtan_decode(ll_graph *g, const ll_mtan_config *cfg, ll_tensor *z,
                              ll_tensor *query);
/* mean + exp(logvar/2) noise */
ll_tensor *ll_mtan_draw(ll_graph *g, const ll_mtan_answer *a, ll_tensor *noise);

/* The importance-weighted bound over the k draws: y, m [B,L,n_out]; weight of the divergence a
 * scalar. *logp [k,B] and *kl [B] may be NULL. */
ll_tensor *ll_mtan_loss(ll_graph *g, const ll_mtan_code *code, const ll_mtan_answer *a,
                        ll_tensor *y, ll_tensor *m, ll_tensor *weight, ll_tensor **logp,
                        ll_tensor **kl);
/* That weight: 0 for ten epochs, then 1 - 0.99^(epoch - 10). */
double ll_mtan_weight(int64_t epoch);

#endif
