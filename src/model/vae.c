/* Spec section 2, in its order. */
#include "model/vae.h"

#include "nn/nn.h"

llap_tensor *llap_vae_tokens(llap_graph *g, llap_tensor *y, llap_tensor *keep)
{
    llap_tensor *part[] = { llap_mask(g, y, keep), keep };
    return llap_concat(g, part, 2, -1); /* [B,h,N,2C] */
}

/* Spec 2.3: pre-norm layers over the entities of each time step. x [B,h,N,W], pad [B,1,N] */
static llap_tensor *entity_layers(llap_graph *g, const char *name, const llap_vae_stack *stack,
                                  double dropout, llap_tensor *x, llap_tensor *pad)
{
    const llap_nn_encoder_opts opts = {
        .attn = { .n_heads = stack->n_heads, .key_padding = pad, .dropout = dropout },
        .ff = stack->ff,
        .dropout = dropout,
        .norm_first = true
    };
    for (int i = 0; i < stack->n_layers; i++) {
        llap_scope_pushf(g, "%s.layers.%d", name, i);
        x = llap_nn_encoder_layer(g, "", x, &opts);
        llap_scope_pop(g);
    }
    return x;
}

/* 1 where the entity is absent, with an axis for the time steps. ent [B,N] -> [B,1,N] */
static llap_tensor *padding(llap_graph *g, llap_tensor *ent)
{
    return llap_unsqueeze(g, llap_affine(g, ent, -1.0, 1.0), 1);
}

/* The weight of each entity in the pool: 1 where any of its channels is seen and it is present.
 * tok [B,h,N,2C] -> [B,h,N,1] */
static llap_tensor *pool_weight(llap_graph *g, llap_tensor *tok, llap_tensor *ent)
{
    const int64_t c = llap_dim(tok, -1) / 2;
    llap_tensor  *seen = llap_max(g, llap_slice(g, tok, -1, c, c), LLAP_AXIS(3));
    llap_tensor  *present = llap_unsqueeze(g, llap_unsqueeze(g, ent, -1), 1); /* [B,1,N,1] */
    return llap_mul(g, seen, present);
}

/* [B,h,1,Z] -> [B,h,Z], exact zeros where s [B,h,1,1] is 0 */
static llap_tensor *where_seen(llap_graph *g, llap_tensor *x, llap_tensor *s)
{
    return llap_squeeze(g, llap_mask(g, x, s), LLAP_AXIS(2));
}

llap_vae_code llap_vae_encode(llap_graph *g, const llap_vae_config *cfg, llap_tensor *tok,
                              llap_tensor *ent)
{
    llap_tensor *e = llap_nn_linear(g, "in_proj", tok, cfg->width); /* [B,h,N,W] */
    e = entity_layers(g, "encoder", &cfg->encoder, cfg->dropout, e, padding(g, ent));

    llap_tensor *w = pool_weight(g, tok, ent);                     /* [B,h,N,1] */
    llap_tensor *s = llap_sum(g, w, LLAP_AXIS(2));                 /* [B,h,1,1] */
    llap_tensor *pooled = llap_masked_mean(g, e, w, LLAP_AXIS(2)); /* sum w e / max(s, 1) */
    llap_tensor *mu = llap_nn_linear(g, "mu_head", pooled, cfg->latent);
    llap_tensor *logvar = llap_nn_linear(g, "logvar_head", pooled, cfg->latent);
    return (llap_vae_code){ .mu = where_seen(g, mu, s),
                            .logvar = where_seen(g, llap_clamp(g, logvar, -10.0, 10.0), s) };
}

llap_tensor *llap_vae_sample(llap_graph *g, const llap_vae_code *code, llap_tensor *eps)
{
    llap_tensor *deviation = llap_exp(g, llap_scale(g, code->logvar, 0.5));
    return llap_add(g, code->mu, llap_mul(g, deviation, eps));
}

llap_tensor *llap_vae_decode(llap_graph *g, const llap_vae_config *cfg, llap_tensor *z,
                             llap_tensor *ent)
{
    const int64_t n = llap_dim(ent, -1);
    llap_tensor  *d = llap_unsqueeze(g, llap_nn_linear(g, "z_proj", z, cfg->width), 2);
    if (cfg->n_entities > 0) {
        llap_scope_push(g, "entity_emb");
        llap_tensor *table = llap_param(g, "weight", LLAP_SHAPE(cfg->n_entities, cfg->width),
                                        LLAP_INIT_NORMAL(0.02));
        llap_scope_pop(g);
        if (n != cfg->n_entities && ent != NULL)
            llap_graph_fail(g, LLAP_EINVAL, "decoder: expected %lld entities, found %lld",
                            (long long)cfg->n_entities, (long long)n);
        d = llap_add(g, d, table);
    } else if (d != NULL)
        d = llap_expand(g, d, LLAP_SHAPE(llap_dim(z, 0), llap_dim(z, 1), n, cfg->width));
    d = entity_layers(g, "decoder", &cfg->decoder, cfg->dropout, d, padding(g, ent));
    llap_tensor *yhat = llap_nn_linear(g, "out_proj", d, cfg->channels); /* [B,h,N,C] */
    return llap_mask(g, yhat, llap_unsqueeze(g, llap_unsqueeze(g, ent, -1), 1));
}
