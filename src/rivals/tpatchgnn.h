/* T-PatchGNN (Zhang et al. 2024): each variable's readings are cut into patches of equal time; a
 * convolution with learned filters makes a vector of each; a transformer over the patches and a
 * graph over the variables alternate; any time can be asked about.
 *
 *     docs/spec/rivals.md 7 */
#ifndef LL_RIVALS_TPATCHGNN_H
#define LL_RIVALS_TPATCHGNN_H

#include "rivals/common.h"

typedef struct ll_tpatchgnn_config {
    int64_t       width;      /* d */
    int64_t       time_width; /* of a time's embedding, at least 2 */
    int64_t       node_width;
    int64_t       ff;
    int           n_heads, n_layers;
    int           transformer_layers; /* in each layer */
    int           hops;
    bool          convolution; /* over the patches at the end, else a linear map */
    int64_t       patches;     /* M, and L: the caller lays readings into them */
    int64_t       slots;       /* 0: as many as training needs */
    double        dropout;
    ll_rival_head head;
} ll_tpatchgnn_config;

typedef struct ll_tpatchgnn_in {
    ll_tensor *x, *t, *m; /* [B,M,L,N]: patches, readings of one, nodes; 0 where there is none */
    ll_tensor *query;     /* [B,H] times */
    ll_tensor *calendar;  /* [B,H,.] of the queries; or NULL */
} ll_tpatchgnn_in;

/* -> [B,H,N] or [B,H,N,Q]. Notes patches [B,N,M,d], adj0 .. [B,M,N,N], h [B,N,d]. */
ll_tensor *ll_tpatchgnn(ll_graph *g, const ll_tpatchgnn_config *cfg, const ll_tpatchgnn_in *in);

#endif
