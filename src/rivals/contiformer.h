/* ContiFormer (Chen et al. 2023): attention in continuous time. Each reading's key and value move
 * along an ODE from their own time to the query's; the score is the time average of q(t) k(t).
 *
 *     docs/spec/rivals.md 8 */
#ifndef LL_RIVALS_CONTIFORMER_H
#define LL_RIVALS_CONTIFORMER_H

#include "rivals/common.h"

typedef enum ll_contiformer_rule {
    LL_CONTIFORMER_BILINEAR,
    LL_CONTIFORMER_GAUSS
} ll_contiformer_rule;
extern const char *const ll_contiformer_rules[]; /* "bilinear", "gauss", NULL */

typedef struct ll_contiformer_config {
    int64_t             width, inner;
    int                 n_heads, n_layers;
    ll_contiformer_rule rule;
    int                 n_nodes; /* of gauss: 2 or 3 */
    int                 n_sub;   /* steps from node to node */
    bool                twice;   /* scores have the weights of the rule squared, as the authors' */
    double              dropout;
    int64_t             rows; /* consecutive ones that make a token; the caller groups them */
    int64_t       targets;    /* an answer has an axis of them; 0: there is one, without an axis */
    ll_rival_head head;
} ll_contiformer_config;

typedef struct ll_contiformer_in {
    ll_tensor *x;               /* [B,L,C] tokens */
    ll_tensor *times, *usable;  /* [B,L], times rising; 0: no token */
    ll_tensor *query, *feature; /* [B,H] times, [B,H,.]; of the decoder */
} ll_contiformer_in;

/* -> [B,L,d]. Notes encoder.layer_stack.0 .., encoder.layer_stack.0.attention .. */
ll_tensor *ll_contiformer_encode(ll_graph *g, const ll_contiformer_config *cfg,
                                 const ll_contiformer_in *in);
/* encoded by the former -> [B,H] or [B,H,Q], [B,H,targets] or [B,H,targets,Q]. Notes decoder,
 * decoder.attention. */
ll_tensor *ll_contiformer_decode(ll_graph *g, const ll_contiformer_config *cfg,
                                 const ll_contiformer_in *in, ll_tensor *encoded);

#endif
