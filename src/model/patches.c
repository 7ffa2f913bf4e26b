#include "model/patches.h"

#include <stdio.h>

llap_tensor *llap_patch_summary(llap_graph *g, const llap_patch_config *c, const llap_patch_in *in)
{
    const int64_t              h = c->hidden_dim;
    const double               drop = in->training ? c->dropout : 0.0;
    const llap_nn_encoder_opts layer = {
        .attn = { .n_heads = (int)c->num_heads, .key_padding = in->pad, .dropout = drop },
        .ff = 2 * h,
        .dropout = drop,
        .norm_first = true
    };
    if (llap_dim(in->tokens, -1) != c->token_dim || llap_dim(in->tokens, 1) != c->tokens) {
        llap_graph_fail(g, LLAP_EINVAL,
                        "patches: expected tokens [B,%lld,%lld], found [B,%lld,%lld]",
                        (long long)c->tokens, (long long)c->token_dim,
                        (long long)llap_dim(in->tokens, 1), (long long)llap_dim(in->tokens, -1));
        return NULL;
    }
    /* x = Linear(token) + position + entity; [B,S,H] */
    llap_tensor *x = llap_nn_linear(g, "in", in->tokens, h);
    x = llap_add(g, x, llap_param(g, "position", LLAP_SHAPE(c->tokens, h), LLAP_INIT_NORMAL(0.02)));
    if (c->entities > 0 && in->entity != NULL) {
        llap_tensor *table =
            llap_param(g, "entity.weight", LLAP_SHAPE(c->entities, h), LLAP_INIT_NORMAL(0.02));
        x = llap_add(g, x, llap_unsqueeze(g, llap_embedding(g, table, in->entity), 1));
    }
    for (int i = 0; i < c->num_layers; i++) {
        char name[32];
        snprintf(name, sizeof name, "layers.%d", i);
        x = llap_nn_encoder_layer(g, name, x, &layer);
    }
    return llap_nn_norm(g, "norm", x);
}
