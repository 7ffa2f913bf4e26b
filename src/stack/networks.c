#include "stack/networks.h"

#include "base/alloc.h"

#include <math.h>

static ll_tensor *weight(ll_graph *g, const char *name, ll_shape shape, double bound, bool ema)
{
    if (!ema) return ll_param(g, name, shape, LL_INIT_UNIFORM(bound));
    ll_scope_push(g, "ema");
    ll_tensor *x = ll_state(g, name, shape, LL_INIT_ZERO);
    ll_scope_pop(g);
    return x;
}

/* x [...,in] to [networks,B,out]; bound of the weights, 0: they start at zero, as biases do. */
static ll_tensor *layer(ll_graph *g, ll_tensor *x, const char *const name[2], int64_t networks,
                        int64_t in, int64_t out, double bound, bool ema)
{
    ll_tensor *w = weight(g, name[0], LL_SHAPE(networks, in, out), bound, ema);
    ll_tensor *b = weight(g, name[1], LL_SHAPE(networks, 1, out), 0.0, ema);
    return ll_add(g, ll_matmul(g, x, false, w, false), b);
}

ll_tensor *ll_stack_forward(ll_graph *g, ll_tensor *x, const ll_stack_shape *s,
                            const ll_stack_pass *p)
{
    static const char *const name[][2] = { { "w0", "b0" }, { "w1", "b1" }, { "w2", "b2" } };
    const int64_t            N = s->networks, F = s->width, H = s->hidden;
    ll_tensor               *h = ll_dropout(g, x, p->drop_in);
    h = layer(g, h, name[0], N, F, H, 1 / sqrt((double)F), p->ema);
    h = ll_dropout(g, ll_silu(g, h), p->drop_hidden);
    h = layer(g, h, name[1], N, H, H, 1 / sqrt((double)H), p->ema);
    h = ll_dropout(g, ll_silu(g, h), p->drop_hidden);
    return layer(g, h, name[2], N, H, LL_STACK_LEVELS, 0.0, p->ema);
}

llap_status ll_stack_weights(const ll_stack_shape *s, const ll_backend *backend, ll_params **out)
{
    ll_graph   *g = NULL;
    llap_status st = ll_graph_create(&g);
    *out = NULL;
    if (st != LLAP_OK) return st;
    ll_stack_forward(g, ll_input(g, "x", LL_SHAPE(1, 1, s->width)), s, &LL_STACK_STILL);
    st = ll_graph_status(g);
    if (st == LLAP_OK) st = ll_params_create(g, backend, out);
    ll_graph_destroy(g);
    return st;
}
