#include "model/conditioning.h"

#include "base/alloc.h"
#include "nn/nn.h"

llap_tensor *llap_context_normalise(llap_graph *g, llap_tensor *E_raw, llap_tensor *mean,
                                    llap_tensor *deviation)
{
    const unsigned rows_and_tokens = LLAP_AXIS(0) | LLAP_AXIS(1);
    if (mean == NULL) mean = llap_mean(g, E_raw, rows_and_tokens); /* [1,1,H] */
    llap_tensor *centred = llap_sub(g, E_raw, mean);
    if (deviation == NULL)
        deviation = llap_sqrt(g, llap_mean(g, llap_square(g, centred), rows_and_tokens));
    return llap_div(g, centred, llap_affine(g, deviation, 1.0, 1e-6));
}

llap_tensor *llap_stat_tokens(llap_graph *g, const llap_history *h)
{
    const int64_t  B = llap_dim(h->dx, 0), l = llap_dim(h->dx, 1), N = llap_dim(h->dx, 2);
    llap_tensor   *ent = h->ent == NULL ? llap_full(g, LLAP_SHAPE(B, N), 1.0) : h->ent;
    llap_tensor   *obs = h->obs == NULL ? llap_full(g, llap_shape_of(h->dx), 1.0) : h->obs;
    llap_tensor   *present = llap_reshape(g, ent, LLAP_SHAPE(B, 1, N, 1));
    const unsigned entity_and_feature = LLAP_AXIS(2) | LLAP_AXIS(3);
    llap_tensor   *change = llap_masked_mean(g, llap_abs(g, h->dx), present, entity_and_feature);
    llap_tensor   *seen = llap_masked_mean(g, obs, present, entity_and_feature);  /* [B,l,1,1] */
    llap_tensor   *u = llap_unsqueeze(g, llap_unit_times(g, h->dt, B, l, N), -1); /* [B,l,N,1] */
    llap_tensor   *time = llap_masked_mean(g, u, present, entity_and_feature);
    llap_tensor   *parts[] = { change, seen, time };
    return llap_reshape(g, llap_concat(g, parts, 3, -1), LLAP_SHAPE(B, l, 3));
}

/* The matrix [S,l] that averages l steps into S bins. */
static llap_tensor *bins(llap_graph *g, int64_t S, int64_t l)
{
    double *m = llap_new((size_t)(S * l), sizeof *m);
    if (m == NULL) {
        llap_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    for (int64_t s = 0; s < S; s++) {
        const int64_t first = s * l / S, end = ((s + 1) * l + S - 1) / S;
        for (int64_t j = first; j < end; j++) m[s * l + j] = 1.0 / (double)(end - first);
    }
    llap_tensor *t = llap_constant(g, LLAP_SHAPE(S, l), m);
    llap_free(m);
    return t;
}

llap_tensor *llap_context_adapt(llap_graph *g, const llap_adapter_config *cfg, llap_tensor *E_raw,
                                llap_tensor *stat_tokens)
{
    const int64_t S = llap_dim(E_raw, 1), H = llap_dim(E_raw, 2), l = llap_dim(stat_tokens, 1);
    if (llap_graph_status(g) != LLAP_OK) return NULL;
    const llap_nn_mlp_opts stat = {
        .hidden = cfg->hidden, .width = H, .norm = true, .last_std = 0.01
    };
    llap_nn_mlp_opts fuse = stat;
    fuse.drops = true;
    fuse.dropout = cfg->dropout;
    llap_tensor *P = llap_matmul(g, bins(g, S, l), false, stat_tokens, false); /* [B,S,3] */
    llap_tensor *parts[] = { llap_nn_norm(g, "cond_norm", E_raw),
                             llap_nn_mlp(g, "stat_proj", P, &stat) };
    llap_tensor *change = llap_nn_mlp(g, "fuse", llap_concat(g, parts, 2, -1), &fuse);
    return llap_add(g, E_raw, llap_scale(g, change, cfg->scale));
}
