/* DLinear (Zeng et al. 2023): a moving average and the rest of it, a linear map each, added up.
 *
 *     y = W_s (x - average x) + W_t (average x)          docs/spec/rivals.md 3
 */
#ifndef LL_RIVALS_DLINEAR_H
#define LL_RIVALS_DLINEAR_H

#include "rivals/common.h"

typedef struct ll_dlinear_config {
    int64_t       horizon;    /* H; the queries are the next H rows */
    int64_t       kernel;     /* of the moving average, odd */
    bool          individual; /* maps for each channel, else one pair for all */
    bool          revin;
    bool          mix;    /* all values and masks to the target, */
    int64_t       target; /* this channel */
    ll_rival_head head;
} ll_dlinear_config;

typedef struct ll_dlinear_in {
    ll_tensor *x, *m;    /* [B,K,C], filled (ll_fill_forward); what was observed */
    ll_tensor *calendar; /* [B,H,.] of the queries; or NULL */
} ll_dlinear_in;

/* -> [B,H,C] or [B,H,C,Q]; C is 1 with mix. Notes a, trend, mean, std. */
ll_tensor *ll_dlinear(ll_graph *g, const ll_dlinear_config *cfg, const ll_dlinear_in *in);

#endif
