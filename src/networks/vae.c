/* docs/spec/model.md 2, in its order. */
#include "networks/vae.h"

#include "nn/nn.h"

#include <assert.h>

ll_tensor *ll_vae_tokens(ll_graph *g, ll_tensor *y, ll_tensor *keep)
{
    ll_tensor *part[] = { ll_mask(g, y, keep), keep };
    return ll_concat(g, part, 2, -1); /* [B,h,N,2C] */
}

/* docs/spec/model.md 2.3: pre-norm layers over the entities of each time step. x [B,h,N,W], pad
 * [B,1,N] */
static ll_tensor *entity_layers(ll_graph *g, const char *name, const ll_vae_stack *stack,
                                double dropout, ll_tensor *x, ll_tensor *pad)
{
    const ll_nn_encoder_opts opts = {
        .attn = { .n_heads = stack->n_heads, .key_padding = pad, .dropout = dropout },
        .ff = stack->ff,
        .dropout = dropout,
        .norm_first = true
    };
    for (int i = 0; i < stack->n_layers; i++) {
        ll_scope_pushf(g, "%s.layers.%d", name, i);
        x = ll_nn_encoder_layer(g, "", x, &opts);
        ll_scope_pop(g);
    }
    return x;
}

/* 1 where the entity is absent, with an axis for the time steps. ent [B,N] -> [B,1,N] */
static ll_tensor *padding(ll_graph *g, ll_tensor *ent)
{
    return ll_unsqueeze(g, ll_affine(g, ent, -1.0, 1.0), 1);
}

/* The weight of each entity in the pool: 1 where any of its channels is seen and it is present.
 * tok [B,h,N,2C] -> [B,h,N,1] */
static ll_tensor *pool_weight(ll_graph *g, ll_tensor *tok, ll_tensor *ent)
{
    assert(ll_dim(tok, -1) % 2 == 0); /* values, then mask */
    const int64_t c = ll_dim(tok, -1) / 2;
    ll_tensor    *seen = ll_max(g, ll_slice(g, tok, -1, c, c), LL_AXIS(3));
    ll_tensor    *present = ll_unsqueeze(g, ll_unsqueeze(g, ent, -1), 1); /* [B,1,N,1] */
    return ll_mul(g, seen, present);
}

/* [B,h,1,Z] -> [B,h,Z], exact zeros where s [B,h,1,1] is 0 */
static ll_tensor *where_seen(ll_graph *g, ll_tensor *x, ll_tensor *s)
{
    return ll_squeeze(g, ll_mask(g, x, s), LL_AXIS(2));
}

ll_vae_code ll_vae_encode(ll_graph *g, const ll_vae_config *cfg, ll_tensor *tok, ll_tensor *ent)
{
    ll_tensor *e = ll_nn_linear(g, "in_proj", tok, cfg->width); /* [B,h,N,W] */
    e = entity_layers(g, "encoder", &cfg->encoder, cfg->dropout, e, padding(g, ent));

    ll_tensor *w = pool_weight(g, tok, ent);                 /* [B,h,N,1] */
    ll_tensor *s = ll_sum(g, w, LL_AXIS(2));                 /* [B,h,1,1] */
    ll_tensor *pooled = ll_masked_mean(g, e, w, LL_AXIS(2)); /* sum w e / max(s, 1) */
    ll_tensor *mu = ll_nn_linear(g, "mu_head", pooled, cfg->latent);
    ll_tensor *logvar = ll_nn_linear(g, "logvar_head", pooled, cfg->latent);
    return (ll_vae_code){ .mu = where_seen(g, mu, s),
                          .logvar = where_seen(g, ll_clamp(g, logvar, -10.0, 10.0), s) };
}

ll_tensor *ll_vae_sample(ll_graph *g, const ll_vae_code *code, ll_tensor *eps)
{
    ll_tensor *deviation = ll_exp(g, ll_scale(g, code->logvar, 0.5));
    return ll_add(g, code->mu, ll_mul(g, deviation, eps));
}

ll_tensor *ll_vae_decode(ll_graph *g, const ll_vae_config *cfg, ll_tensor *z, ll_tensor *ent)
{
    const int64_t n = ll_dim(ent, -1);
    ll_tensor    *d = ll_unsqueeze(g, ll_nn_linear(g, "z_proj", z, cfg->width), 2);
    if (cfg->n_entities > 0) {
        ll_scope_push(g, "entity_emb");
        ll_tensor *table =
            ll_param(g, "weight", LL_SHAPE(cfg->n_entities, cfg->width), LL_INIT_NORMAL(0.02));
        ll_scope_pop(g);
        if (n != cfg->n_entities && ent != NULL)
            ll_graph_fail(g, LLAP_EINVAL, "decoder: expected %lld entities, found %lld",
                          (long long)cfg->n_entities, (long long)n);
        d = ll_add(g, d, table);
    } else if (d != NULL) d = ll_expand(g, d, LL_SHAPE(ll_dim(z, 0), ll_dim(z, 1), n, cfg->width));
    d = entity_layers(g, "decoder", &cfg->decoder, cfg->dropout, d, padding(g, ent));
    ll_tensor *yhat = ll_nn_linear(g, "out_proj", d, cfg->channels); /* [B,h,N,C] */
    return ll_mask(g, yhat, ll_unsqueeze(g, ll_unsqueeze(g, ent, -1), 1));
}
