#include "networks/patches.h"

#include <stdio.h>

ll_tensor *ll_patch_summary(ll_graph *g, const ll_patch_config *c, const ll_patch_in *in)
{
    const int64_t            h = c->hidden_dim;
    const double             drop = in->training ? c->dropout : 0.0;
    const ll_nn_encoder_opts layer = {
        .attn = { .n_heads = (int)c->num_heads, .key_padding = in->pad, .dropout = drop },
        .ff = 2 * h,
        .dropout = drop,
        .norm_first = true
    };
    if (ll_dim(in->tokens, -1) != c->token_dim || ll_dim(in->tokens, 1) != c->tokens) {
        ll_graph_fail(g, LLAP_EINVAL, "patches: expected tokens [B,%lld,%lld], found [B,%lld,%lld]",
                      (long long)c->tokens, (long long)c->token_dim,
                      (long long)ll_dim(in->tokens, 1), (long long)ll_dim(in->tokens, -1));
        return NULL;
    }
    /* x = Linear(token) + position + entity; [B,S,H] */
    ll_tensor *x = ll_nn_linear(g, "in", in->tokens, h);
    x = ll_add(g, x, ll_param(g, "position", LL_SHAPE(c->tokens, h), LL_INIT_NORMAL(0.02)));
    if (c->entities > 0 && in->entity != NULL) {
        ll_tensor *table =
            ll_param(g, "entity.weight", LL_SHAPE(c->entities, h), LL_INIT_NORMAL(0.02));
        x = ll_add(g, x, ll_unsqueeze(g, ll_embedding(g, table, in->entity), 1));
    }
    for (int i = 0; i < c->num_layers; i++) {
        char name[32];
        snprintf(name, sizeof name, "layers.%d", i);
        x = ll_nn_encoder_layer(g, name, x, &layer);
    }
    return ll_nn_norm(g, "norm", x);
}
