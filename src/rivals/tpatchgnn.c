#include "rivals/tpatchgnn.h"

#include "base/alloc.h"
#include "nn/nn.h"

#include <math.h>
#include <stdio.h>

/* [te_scale t, sin(te_periodic t)]: t [...] -> [...,time_width] */
static ll_tensor *time_embedding(ll_graph *g, const ll_tpatchgnn_config *cfg, ll_tensor *t)
{
    t = ll_unsqueeze(g, t, -1);
    ll_tensor *part[] = { ll_nn_linear(g, "te_scale", t, 1),
                          ll_sin(g, ll_nn_linear(g, "te_periodic", t, cfg->time_width - 1)) };
    return ll_concat(g, part, 2, -1);
}

/* Linear, ReLU, Linear, ReLU, Linear, numbered as a Sequential. */
static ll_tensor *mlp(ll_graph *g, const char *name, ll_tensor *x, int64_t hidden, int64_t width)
{
    ll_scope_push(g, name);
    x = ll_relu(g, ll_nn_linear(g, "0", x, hidden));
    x = ll_relu(g, ll_nn_linear(g, "2", x, hidden));
    x = ll_nn_linear(g, "4", x, width);
    ll_scope_pop(g);
    return x;
}

/* x, t, m [R,L] -> [R,d]: each of d - 1 filters has a weight for each reading and feature, a
 * softmax over the readings; the last number says whether there is any. */
static ll_tensor *patches_of(ll_graph *g, const ll_tpatchgnn_config *cfg, ll_tensor *x,
                             ll_tensor *t, ll_tensor *m)
{
    const int64_t R = ll_dim(x, 0), L = ll_dim(x, 1), f = 1 + cfg->time_width, n = cfg->width - 1;
    ll_tensor    *both[] = { ll_unsqueeze(g, x, -1), time_embedding(g, cfg, t) };
    ll_tensor    *X = ll_concat(g, both, 2, -1); /* [R,L,f] */
    ll_tensor    *filter = ll_transpose(g, mlp(g, "Filter_Generators", X, n, n * f));
    ll_tensor    *seen = ll_unsqueeze(g, m, 1); /* [R,1,L] */
    filter = ll_add(g, ll_mul(g, filter, seen), ll_affine(g, seen, 1e8, -1e8));
    filter = ll_reshape(g, ll_softmax(g, filter), LL_SHAPE(R, n, f, L));
    ll_tensor *product = ll_mul(g, filter, ll_unsqueeze(g, ll_transpose(g, X), 1));
    ll_tensor *sum = ll_reshape(g, ll_sum(g, product, LL_AXIS(2) | LL_AXIS(3)), LL_SHAPE(R, n));
    ll_tensor *bias = ll_param(g, "T_bias", LL_SHAPE(1, n), LL_INIT_NORMAL(1.0));
    ll_tensor *any = ll_max(g, m, LL_AXIS(1)); /* [R,1] */
    return ll_concat(g, (ll_tensor *[]){ ll_relu(g, ll_add(g, sum, bias)), any }, 2, 1);
}

/* The usual sines and cosines of places 0 .. n-1, [n,d] */
static ll_tensor *places(ll_graph *g, int64_t n, int64_t d)
{
    double *at = ll_new((size_t)n, sizeof *at);
    if (at == NULL) {
        ll_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    for (int64_t i = 0; i < n; i++) at[i] = (double)i;
    ll_tensor *x = ll_constant(g, LL_SHAPE(n), at);
    ll_free(at);
    return ll_time_waves(g, x, d, 1.0, 10000.0);
}

/* Node vectors as a patch changes them: h [B,M,N,d], own [N,node_width] -> [B,M,N,node_width] */
static ll_tensor *adapted(ll_graph *g, const ll_tpatchgnn_config *cfg, int layer, int k,
                          ll_tensor *h, ll_tensor *own)
{
    char          name[48];
    const int64_t N = ll_dim(h, 2);
    ll_tensor *spread = ll_expand(g, own, LL_SHAPE(ll_dim(h, 0), ll_dim(h, 1), N, cfg->node_width));
    snprintf(name, sizeof name, "nodevec_gate%d.%d.0", k, layer);
    ll_tensor *both = ll_concat(g, (ll_tensor *[]){ h, spread }, 2, 3);
    ll_tensor *gate = ll_relu(g, ll_tanh(g, ll_nn_linear(g, name, both, 1)));
    snprintf(name, sizeof name, "nodevec_linear%d.%d", k, layer);
    return ll_add(g, own, ll_mul(g, gate, ll_nn_linear(g, name, h, cfg->node_width)));
}

/* Messages between nodes, by an adjacency of each patch: h [B,M,N,d] -> [B,M,N,d] */
static ll_tensor *graph_layer(ll_graph *g, const ll_tpatchgnn_config *cfg, int layer, ll_tensor *h)
{
    const int64_t N = ll_dim(h, 2), d = cfg->width, wide = (cfg->hops + 1) * d;
    ll_tensor    *one = ll_param(g, "nodevec1", LL_SHAPE(N, cfg->node_width), LL_INIT_NORMAL(1.0));
    ll_tensor    *two = ll_param(g, "nodevec2", LL_SHAPE(cfg->node_width, N), LL_INIT_NORMAL(1.0));
    ll_tensor    *e1 = adapted(g, cfg, layer, 1, h, one);
    ll_tensor    *e2 = adapted(g, cfg, layer, 2, h, ll_transpose(g, two));
    ll_tensor    *A = ll_softmax(g, ll_relu(g, ll_matmul(g, e1, false, e2, true)));
    char          name[48];
    snprintf(name, sizeof name, "adj%d", layer);
    ll_note(g, name, A);
    ll_tensor *all = h, *u = h;
    for (int k = 0; k < cfg->hops; k++) {
        u = ll_matmul(g, A, true, u, false);
        all = ll_concat(g, (ll_tensor *[]){ all, u }, 2, 3);
    }
    ll_scope_pushf(g, "gconv.%d.mlp.mlp", layer);
    ll_tensor *w = ll_param(g, "weight", LL_SHAPE(d, wide, 1, 1), ll_init_usual(wide));
    ll_tensor *b = ll_param(g, "bias", LL_SHAPE(d), ll_init_usual(wide));
    ll_scope_pop(g);
    return ll_relu(g, ll_linear(g, all, ll_reshape(g, w, LL_SHAPE(d, wide)), b));
}

/* h [B,N,M,d] */
static ll_tensor *layers(ll_graph *g, const ll_tpatchgnn_config *cfg, ll_tensor *h)
{
    const ll_nn_encoder_opts o = { .attn = { .n_heads = cfg->n_heads, .dropout = cfg->dropout },
                                   .ff = cfg->ff,
                                   .dropout = cfg->dropout,
                                   .relu = true };
    const int                swap[] = { 0, 2, 1, 3 };
    for (int l = 0; l < cfg->n_layers; l++) {
        ll_tensor *before = h;
        h = ll_add(g, h, places(g, ll_dim(h, 2), cfg->width));
        for (int k = 0; k < cfg->transformer_layers; k++) {
            ll_scope_pushf(g, "transformer_encoder.%d.layers.%d", l, k);
            h = ll_nn_encoder_layer(g, "", h, &o);
            ll_scope_pop(g);
        }
        h = ll_permute(g, graph_layer(g, cfg, l, ll_permute(g, h, swap)), swap);
        if (l > 0) h = ll_add(g, h, before);
    }
    return h;
}

/* One vector of all patches: h [B,N,M,d] -> [B,N,d] */
static ll_tensor *gathered(ll_graph *g, const ll_tpatchgnn_config *cfg, ll_tensor *h)
{
    const int64_t B = ll_dim(h, 0), N = ll_dim(h, 1), M = ll_dim(h, 2), d = cfg->width;
    if (!cfg->convolution) /* index patch d + dim */
        return ll_nn_linear(g, "temporal_agg.0", ll_reshape(g, h, LL_SHAPE(B, N, M * d)), d);
    ll_scope_push(g, "temporal_agg.0");
    ll_tensor *w = ll_param(g, "weight", LL_SHAPE(d, d, M), ll_init_usual(d * M));
    ll_tensor *b = ll_param(g, "bias", LL_SHAPE(d), ll_init_usual(d * M));
    ll_scope_pop(g);
    return ll_linear(g, ll_reshape(g, ll_transpose(g, h), LL_SHAPE(B, N, d * M)),
                     ll_reshape(g, w, LL_SHAPE(d, d * M)), b);
}

ll_tensor *ll_tpatchgnn(ll_graph *g, const ll_tpatchgnn_config *cfg, const ll_tpatchgnn_in *in)
{
    const int64_t  B = ll_dim(in->x, 0), M = ll_dim(in->x, 1), L = ll_dim(in->x, 2);
    const int64_t  N = ll_dim(in->x, 3), H = ll_dim(in->query, 1), d = cfg->width;
    const int      by_node[] = { 0, 3, 1, 2 };
    const ll_shape rows = LL_SHAPE(B * N * M, L);
    ll_tensor     *x = ll_reshape(g, ll_permute(g, in->x, by_node), rows);
    ll_tensor     *t = ll_reshape(g, ll_permute(g, in->t, by_node), rows);
    ll_tensor     *m = ll_reshape(g, ll_permute(g, in->m, by_node), rows);
    ll_tensor     *h = ll_reshape(g, patches_of(g, cfg, x, t, m), LL_SHAPE(B, N, M, d));
    ll_note(g, "patches", h);
    h = ll_note(g, "h", gathered(g, cfg, layers(g, cfg, h)));

    /* Each node at each query. */
    const ll_shape all = LL_SHAPE(B, H, N, d);
    ll_tensor     *time = time_embedding(g, cfg, in->query);
    if (in->calendar != NULL) time = ll_concat(g, (ll_tensor *[]){ time, in->calendar }, 2, 2);
    const int64_t wide = ll_dim(time, 2);
    ll_tensor    *asked[] = { ll_expand(g, ll_unsqueeze(g, h, 1), all),
                              ll_expand(g, ll_unsqueeze(g, time, 2), LL_SHAPE(B, H, N, wide)) };
    ll_tensor    *a = mlp(g, "decoder", ll_concat(g, asked, 2, 3), d, cfg->head.p);
    return ll_head_answer(g, cfg->head, a);
}
