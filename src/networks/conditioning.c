#include "networks/conditioning.h"

#include "base/alloc.h"
#include "nn/nn.h"

#include <assert.h>

ll_tensor *ll_context_normalise(ll_graph *g, ll_tensor *E_raw, ll_tensor *mean,
                                ll_tensor *deviation)
{
    const unsigned rows_and_tokens = LL_AXIS(0) | LL_AXIS(1);
    if (mean == NULL) mean = ll_mean(g, E_raw, rows_and_tokens); /* [1,1,H] */
    ll_tensor *centred = ll_sub(g, E_raw, mean);
    if (deviation == NULL)
        deviation = ll_sqrt(g, ll_mean(g, ll_square(g, centred), rows_and_tokens));
    return ll_div(g, centred, ll_affine(g, deviation, 1.0, 1e-6));
}

ll_tensor *ll_stat_tokens(ll_graph *g, const ll_history *h)
{
    const int64_t  B = ll_dim(h->dx, 0), l = ll_dim(h->dx, 1), N = ll_dim(h->dx, 2);
    ll_tensor     *ent = h->ent == NULL ? ll_full(g, LL_SHAPE(B, N), 1.0) : h->ent;
    ll_tensor     *obs = h->obs == NULL ? ll_full(g, ll_shape_of(h->dx), 1.0) : h->obs;
    ll_tensor     *present = ll_reshape(g, ent, LL_SHAPE(B, 1, N, 1));
    const unsigned entity_and_feature = LL_AXIS(2) | LL_AXIS(3);
    ll_tensor     *change = ll_masked_mean(g, ll_abs(g, h->dx), present, entity_and_feature);
    ll_tensor     *seen = ll_masked_mean(g, obs, present, entity_and_feature); /* [B,l,1,1] */
    ll_tensor     *u = ll_unsqueeze(g, ll_unit_times(g, h->dt, B, l, N), -1);  /* [B,l,N,1] */
    ll_tensor     *time = ll_masked_mean(g, u, present, entity_and_feature);
    ll_tensor     *parts[] = { change, seen, time };
    return ll_reshape(g, ll_concat(g, parts, 3, -1), LL_SHAPE(B, l, 3));
}

/* The matrix [S,l] that averages l steps into S bins. */
static ll_tensor *bins(ll_graph *g, int64_t S, int64_t l)
{
    double *m = ll_new((size_t)(S * l), sizeof *m);
    if (m == NULL) {
        ll_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    for (int64_t s = 0; s < S; s++) {
        const int64_t first = s * l / S, end = ((s + 1) * l + S - 1) / S;
        assert(first < end && end <= l);
        for (int64_t j = first; j < end; j++) m[s * l + j] = 1.0 / (double)(end - first);
    }
    ll_tensor *t = ll_constant(g, LL_SHAPE(S, l), m);
    ll_free(m);
    return t;
}

ll_tensor *ll_context_adapt(ll_graph *g, const ll_adapter_config *cfg, ll_tensor *E_raw,
                            ll_tensor *stat_tokens)
{
    const int64_t S = ll_dim(E_raw, 1), H = ll_dim(E_raw, 2), l = ll_dim(stat_tokens, 1);
    if (ll_graph_status(g) != LLAP_OK) return NULL;
    const ll_nn_mlp_opts stat = {
        .hidden = cfg->hidden, .width = H, .norm = true, .last_std = 0.01
    };
    ll_nn_mlp_opts fuse = stat;
    fuse.drops = true;
    fuse.dropout = cfg->dropout;
    ll_tensor *P = ll_matmul(g, bins(g, S, l), false, stat_tokens, false); /* [B,S,3] */
    ll_tensor *parts[] = { ll_nn_norm(g, "cond_norm", E_raw), ll_nn_mlp(g, "stat_proj", P, &stat) };
    ll_tensor *change = ll_nn_mlp(g, "fuse", ll_concat(g, parts, 2, -1), &fuse);
    return ll_add(g, E_raw, ll_scale(g, change, cfg->scale));
}
