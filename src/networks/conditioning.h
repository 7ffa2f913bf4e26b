/* Between summarizer and denoiser: normalised context, and the optional adapter. */
#ifndef LL_NETWORKS_CONDITIONING_H
#define LL_NETWORKS_CONDITIONING_H

#include "networks/summarizer.h"

/* docs/spec/model.md 3.3: (E_raw - mean) / (deviation + 1e-6) for each feature. With mean and
 * deviation [H] NULL, they are those of all rows and tokens of this batch (biased): then a row's
 * result depends on the rows it shares a batch with. E_raw [B,S,H] -> [B,S,H] */
ll_tensor *ll_context_normalise(ll_graph *g, ll_tensor *E_raw, ll_tensor *mean,
                                ll_tensor *deviation);

/* -------- the "stats" adapter, docs/spec/model.md 4.9; off in every preset -------- */

typedef struct ll_adapter_config {
    int64_t hidden; /* 128 */
    double  scale;  /* of the residual, 0.1 */
    double  dropout;
} ll_adapter_config;
#define LL_ADAPTER_PAPER ((ll_adapter_config){ .hidden = 128, .scale = 0.1 })

/* Per step: [mean |dV| over present entities and features, observed part, time over its span, the
 * mean of the present entities' u]. -> [B,l,3] */
ll_tensor *ll_stat_tokens(ll_graph *g, const ll_history *history);

/* E_raw + scale fuse([LN(E_raw), stat_proj(P)]), P the stat tokens averaged into S bins: bin s has
 * the steps floor(s l / S) .. ceil((s+1) l / S) - 1. Names cond_norm, stat_proj, fuse in the
 * current scope. */
ll_tensor *ll_context_adapt(ll_graph *g, const ll_adapter_config *cfg, ll_tensor *E_raw,
                            ll_tensor *stat_tokens);

#endif
