/* The networks of a member: perceptrons of two hidden layers with a head of quantiles, all of them
 * as one batched product.
 *
 *     ll_stack_shape s = { .networks = 16, .width = 165, .hidden = 128 };
 *     ll_tensor *q = ll_stack_forward(g, x, &s, &LL_STACK_STILL);     x [16 or 1,B,width]
 *
 * The result [networks,B,LL_STACK_LEVELS] is what is added to the start quantiles: 0 before the
 * first step. Parameters are w0 [networks,width,hidden], b0 [networks,1,hidden], w1, b1, w2, b2. */
#ifndef LL_STACK_NETWORKS_H
#define LL_STACK_NETWORKS_H

#include "nn/params.h"
#include "stack/crps.h"

typedef struct ll_stack_shape {
    int64_t networks, width, hidden;
} ll_stack_shape;

enum { LL_STACK_NETWORKS_MAX = 256, LL_STACK_HIDDEN_MAX = 4096 };

typedef struct ll_stack_pass {
    double drop_in, drop_hidden;
    bool   ema; /* the averages of the parameters, as states ema.X */
} ll_stack_pass;
#define LL_STACK_STILL ((ll_stack_pass){ 0 })

ll_tensor *ll_stack_forward(ll_graph *g, ll_tensor *x, const ll_stack_shape *s,
                            const ll_stack_pass *p);

/* The store of a member's weights, zero. Caller owns *out. */
llap_status ll_stack_weights(const ll_stack_shape *s, const ll_backend *backend, ll_params **out);

#endif
