#include "rivals/patchtst.h"

#include "base/alloc.h"
#include "nn/nn.h"

#include <math.h>

const char *const ll_patchtst_norms[] = { "batch", "layer", NULL };

int64_t ll_patchtst_patches(const ll_patchtst_config *cfg, int64_t context)
{
    return (context - cfg->patch) / cfg->stride + 2;
}

/* Rows i S .. i S + P - 1 of each series as tokens, behind the last row once more S times:
 * z [R,K,W] -> [R,Np,P W] */
static ll_tensor *patches_of(ll_graph *g, const ll_patchtst_config *cfg, ll_tensor *z)
{
    const int64_t R = ll_dim(z, 0), K = ll_dim(z, 1), W = ll_dim(z, 2);
    const int64_t P = cfg->patch, S = cfg->stride;
    if (z == NULL) return NULL;
    if (P < 1 || S < 1 || K < P) {
        ll_graph_fail(g, LLAP_EINVAL, "patchtst: patches of %lld rows every %lld, of %lld rows",
                      (long long)P, (long long)S, (long long)K);
        return NULL;
    }
    const int64_t n = ll_patchtst_patches(cfg, K);
    ll_tensor    *last = ll_expand(g, ll_slice(g, z, 1, K - 1, 1), LL_SHAPE(R, S, W));
    ll_tensor    *longer = ll_concat(g, (ll_tensor *[]){ z, last }, 2, 1);
    ll_tensor   **patch = ll_new((size_t)n, sizeof *patch);
    if (patch == NULL) {
        ll_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    for (int64_t i = 0; i < n; i++)
        patch[i] = ll_reshape(g, ll_slice(g, longer, 1, i * S, P), LL_SHAPE(R, 1, P * W));
    ll_tensor *tokens = ll_concat(g, patch, (int)n, 1);
    ll_free(patch);
    return tokens;
}

static ll_tensor *norm(ll_graph *g, const ll_patchtst_config *cfg, const char *name, ll_tensor *u,
                       bool training)
{
    if (cfg->norm == LL_PATCHTST_LAYER) return ll_nn_norm(g, name, u);
    ll_scope_push(g, name);
    ll_tensor *y = ll_batch_norm(g, "1", u, training);
    ll_scope_pop(g);
    return y;
}

/* [R,n,d] -> [R,heads,n,d/heads] */
static ll_tensor *heads_of(ll_graph *g, ll_tensor *x, int heads)
{
    const int64_t d = ll_dim(x, 2);
    x = ll_reshape(g, x, LL_SHAPE(ll_dim(x, 0), ll_dim(x, 1), heads, d / heads));
    return ll_permute(g, x, (const int[]){ 0, 2, 1, 3 });
}

/* softmax(q k^T / sqrt(d/heads) + the scores of the layer before) v; *scores is left raw. */
static ll_tensor *attention(ll_graph *g, const ll_patchtst_config *cfg, ll_tensor *u,
                            ll_tensor **scores)
{
    const int64_t d = cfg->width;
    ll_scope_push(g, "self_attn");
    ll_tensor *q = heads_of(g, ll_nn_linear(g, "W_Q", u, d), cfg->n_heads);
    ll_tensor *k = heads_of(g, ll_nn_linear(g, "W_K", u, d), cfg->n_heads);
    ll_tensor *v = heads_of(g, ll_nn_linear(g, "W_V", u, d), cfg->n_heads);
    ll_tensor *s =
        ll_scale(g, ll_matmul(g, q, false, k, true), 1.0 / sqrt((double)d / (double)cfg->n_heads));
    if (*scores != NULL) s = ll_add(g, s, *scores);
    *scores = s;
    ll_tensor *y = ll_matmul(g, ll_softmax(g, s), false, v, false);
    y = ll_reshape(g, ll_permute(g, y, (const int[]){ 0, 2, 1, 3 }), ll_shape_of(u));
    y = ll_dropout(g, ll_nn_linear(g, "to_out.0", y, d), cfg->dropout);
    ll_scope_pop(g);
    return y;
}

static ll_tensor *layer(ll_graph *g, const ll_patchtst_config *cfg, ll_tensor *u,
                        ll_tensor **scores, bool training)
{
    ll_tensor *y = ll_dropout(g, attention(g, cfg, u, scores), cfg->dropout);
    u = norm(g, cfg, "norm_attn", ll_add(g, u, y), training);
    y = ll_dropout(g, ll_gelu(g, ll_nn_linear(g, "ff.0", u, cfg->ff)), cfg->dropout);
    y = ll_dropout(g, ll_nn_linear(g, "ff.3", y, cfg->width), cfg->dropout);
    return norm(g, cfg, "norm_ffn", ll_add(g, u, y), training);
}

/* z [R,K,W] -> [R,Np,d] */
static ll_tensor *backbone(ll_graph *g, const ll_patchtst_config *cfg, ll_tensor *z, bool training)
{
    ll_tensor *scores = NULL, *tokens = patches_of(g, cfg, z);
    ll_scope_push(g, "backbone");
    ll_tensor *position =
        ll_param(g, "W_pos", LL_SHAPE(ll_dim(tokens, 1), cfg->width), LL_INIT_UNIFORM(0.02));
    ll_tensor *u = ll_add(g, ll_nn_linear(g, "W_P", tokens, cfg->width), position);
    ll_note(g, "tokens", u);
    u = ll_dropout(g, u, cfg->dropout);
    for (int i = 0; i < cfg->n_layers; i++) {
        ll_scope_pushf(g, "encoder.layers.%d", i);
        u = ll_note(g, NULL, layer(g, cfg, u, &scores, training));
        ll_scope_pop(g);
    }
    ll_scope_pop(g);
    return u;
}

ll_tensor *ll_patchtst(ll_graph *g, const ll_patchtst_config *cfg, const ll_patchtst_in *in)
{
    const int64_t B = ll_dim(in->x, 0), K = ll_dim(in->x, 1), C = ll_dim(in->x, 2);
    const int64_t series = cfg->mix ? 1 : C;
    ll_tensor    *x = in->x;
    ll_revin      revin = { 0 };
    if (cfg->width % (cfg->n_heads > 0 ? cfg->n_heads : 1) != 0)
        ll_graph_fail(g, LLAP_EINVAL, "patchtst: %d heads do not divide width %lld", cfg->n_heads,
                      (long long)cfg->width);
    if (cfg->revin) {
        ll_scope_push(g, "revin_layer");
        revin = ll_revin_of(g, in->x, in->m, cfg->affine);
        ll_scope_pop(g);
        x = ll_revin_apply(g, &revin, x);
    }
    if (cfg->mix) x = ll_concat(g, (ll_tensor *[]){ x, in->m }, 2, 2);
    else x = ll_reshape(g, ll_transpose(g, x), LL_SHAPE(B * C, K, 1));
    ll_tensor *u = backbone(g, cfg, x, in->training);
    ll_tensor *flat =
        ll_reshape(g, ll_transpose(g, u), LL_SHAPE(B, series, ll_dim(u, 1) * ll_dim(u, 2)));
    ll_tensor *a = ll_nn_linear(g, "head.linear", flat, cfg->horizon * cfg->head.p);
    a = ll_reshape(g, a, LL_SHAPE(B, series, cfg->horizon, cfg->head.p));
    a = ll_permute(g, a, (const int[]){ 0, 2, 1, 3 });
    if (in->calendar != NULL) {
        ll_tensor *w = ll_param(g, "cal.weight", LL_SHAPE(cfg->head.p, ll_dim(in->calendar, -1)),
                                LL_INIT_ZERO);
        a = ll_add(g, a, ll_unsqueeze(g, ll_linear(g, in->calendar, w, NULL), 2));
    }
    ll_tensor *answer = ll_head_answer(g, cfg->head, a);
    if (!cfg->revin) return answer;
    if (cfg->mix) revin = ll_revin_channel(g, &revin, cfg->target);
    return ll_revin_undo(g, &revin, answer);
}
