/* The examples of a feature set in device memory, and batches of training made of them there: what
 * ll_feature_fill does and the noise of the process, as part of the graph.
 *
 *     ll_device_examples *r = NULL;
 *     st = ll_device_examples_create(set, backend, &r);                LLAP_ENOMEM: no room
 *     const ll_device_examples_set in = ll_device_examples_set_of(g, r, B, &vary);
 *     ... in.tokens, in.z0 ...
 *     st = ll_device_examples_place(r, net);
 *
 * A step then only says which rows: inputs "rows.index" int [B] and "key" int [4] as ll_draw. The
 * draws are those of the host; what depends on a shift is computed in floats. */
#ifndef LL_RESIDUAL_DEVICE_EXAMPLES_H
#define LL_RESIDUAL_DEVICE_EXAMPLES_H

#include "nn/session.h"
#include "residual/features.h"

typedef struct ll_device_examples ll_device_examples;

/* Borrows nothing of the set afterwards. Caller owns *out. */
llap_status ll_device_examples_create(const ll_feature_set *set, const ll_backend *backend,
                                      ll_device_examples **out);
void        ll_device_examples_destroy(ll_device_examples *r); /* NULL is fine */

typedef struct ll_device_examples_set { /* as ll_feature_batch; eps is the noise, [B,h,Z] */
    ll_tensor *tokens, *token_pad, *entity, *tq, *f, *pad, *z0, *mask, *eps;
} ll_device_examples_set;

ll_device_examples_set ll_device_examples_set_of(ll_graph *g, const ll_device_examples *r,
                                                 int64_t B, const ll_feature_noise *vary);

/* The tables; all but the inputs named above. */
llap_status ll_device_examples_place(const ll_device_examples *r, ll_session *net);

#endif
