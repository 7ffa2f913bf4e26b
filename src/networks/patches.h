/* The default profile's history summarizer, trained together with the denoiser: tokens of a few
 * rows of context each, made by the data side, become the summary E (docs/spec/anchor.md 8.4).
 *
 *     const ll_patch_config c = LL_PATCH_DEFAULT(F, 56);
 *     ll_tensor *E = ll_patch_summary(g, &c, &(ll_patch_in){ .tokens = x, .pad = pad });
 *
 * Nothing depends on other rows of the batch. */
#ifndef LL_NETWORKS_PATCHES_H
#define LL_NETWORKS_PATCHES_H

#include "nn/nn.h"

typedef struct ll_patch_config {
    int64_t token_dim;  /* F, numbers of a token */
    int64_t tokens;     /* S, at most */
    int64_t hidden_dim; /* H */
    int64_t num_layers, num_heads;
    int64_t entities; /* with an embedding; 0: none */
    double  dropout;
} ll_patch_config;

/* clang-format off */
#define LL_PATCH_DEFAULT(F, S) \
    ((ll_patch_config){ .token_dim = (F), .tokens = (S), .hidden_dim = 128, .num_layers = 2, .num_heads = 4, .dropout = 0.1 })
/* clang-format on */

typedef struct ll_patch_in {
    ll_tensor *tokens;   /* [B,S,F]; in training with noise, if wanted */
    ll_tensor *entity;   /* int [B], for the embedding; NULL: none */
    ll_tensor *pad;      /* [B,S], 1: no token (before the context, or dropped); NULL: all are */
    bool       training; /* dropout */
} ll_patch_in;

/* E [B,S,H]. Declares in, position, entity, layers.i, norm in the current scope. */
ll_tensor *ll_patch_summary(ll_graph *g, const ll_patch_config *c, const ll_patch_in *in);

#endif
