/* PatchTST (Nie et al. 2023): overlapping patches of a series are the tokens of a small transformer
 * whose raw attention scores add up over the layers; channels share everything.
 *
 *     docs/spec/rivals.md 4 */
#ifndef LL_RIVALS_PATCHTST_H
#define LL_RIVALS_PATCHTST_H

#include "rivals/common.h"

typedef enum ll_patchtst_norm { LL_PATCHTST_BATCH, LL_PATCHTST_LAYER } ll_patchtst_norm;
extern const char *const ll_patchtst_norms[]; /* "batch", "layer", NULL */

typedef struct ll_patchtst_config {
    int64_t          horizon;       /* H; the queries are the next H rows */
    int64_t          patch, stride; /* rows */
    int64_t          width, ff;
    int              n_heads, n_layers;
    ll_patchtst_norm norm;
    double           dropout;
    bool             revin, affine;
    bool             mix;    /* a token holds all values and masks, for the target, */
    int64_t          target; /* this channel */
    ll_rival_head    head;
} ll_patchtst_config;

typedef struct ll_patchtst_in {
    ll_tensor *x, *m;    /* [B,K,C], filled; what was observed */
    ll_tensor *calendar; /* [B,H,.] of the queries; or NULL */
    bool       training; /* batch statistics; dropout is cfg's */
} ll_patchtst_in;

int64_t ll_patchtst_patches(const ll_patchtst_config *cfg, int64_t context); /* Np */

/* -> [B,H,C] or [B,H,C,Q]; C is 1 with mix. Notes tokens, layer0 .. */
ll_tensor *ll_patchtst(ll_graph *g, const ll_patchtst_config *cfg, const ll_patchtst_in *in);

#endif
