/* Whole blocks of the reference, made of the layers of nn/nn.h, and its plainest loss. The program
 * puts the parts together in its own way; golden cases and tests hold them to these. */
#ifndef LL_TESTS_ORACLES_PLAIN_LAYERS_H
#define LL_TESTS_ORACLES_PLAIN_LAYERS_H

#include "nn/nn.h"

/* The mean over all. */
static inline ll_tensor *plain_mse(ll_graph *g, ll_tensor *x, ll_tensor *target)
{
    return ll_mean(g, ll_square(g, ll_sub(g, x, target)), LL_ALL_AXES);
}

/* x [...,L,H], cond as for AdaLN (or NULL): self attention, then the MLP, each x + f(AdaLN(x)). */
static inline ll_tensor *transformer_block(ll_graph *g, const char *name, ll_tensor *x,
                                           ll_tensor *cond, const ll_nn_block_opts *o)
{
    const int64_t h = ll_dim(x, -1);
    ll_scope_push(g, name);
    x = ll_add(g, x, ll_nn_self_branch(g, x, ll_nn_ada_of(g, "norm1", cond, h), o));
    ll_tensor *y = ll_nn_mlp_up(g, x, ll_nn_ada_of(g, "norm2", cond, h), o);
    y = ll_note(g, "mlp", ll_dropout(g, ll_nn_linear(g, "mlp.3", y, h), o->dropout));
    x = ll_note(g, NULL, ll_add(g, x, y));
    ll_scope_pop(g);
    return x;
}

/* x [...,Lq,H] attends to kv [...,Lk,H]: x + f(AdaLN(x), AdaLN(kv)). */
static inline ll_tensor *cross_block(ll_graph *g, const char *name, ll_tensor *x, ll_tensor *kv,
                                     ll_tensor *cond, const ll_nn_block_opts *o)
{
    ll_scope_push(g, name);
    const ll_nn_cross_kv shared = ll_nn_cross_keys(g, kv, cond);
    x = ll_note(g, NULL, ll_add(g, x, ll_nn_cross_branch(g, x, &shared, o)));
    ll_scope_pop(g);
    return x;
}

#endif
