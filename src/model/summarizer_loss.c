/* Spec 3.2.12 and 3.5: reconstruction from the mean token, and its loss. */
#include "model/summarizer.h"

#include "nn/nn.h"

llap_summarizer_heads llap_summarizer_decode(llap_graph *g, const llap_summarizer_config *cfg,
                                             llap_tensor *context)
{
    const int64_t          B = llap_dim(context, 0), l = cfg->context, N = cfg->n_entities;
    const int64_t          D = cfg->features, H = cfg->width;
    const llap_nn_mlp_opts net = { .hidden = 2 * H, .width = l * N * D };
    const llap_shape       series = LLAP_SHAPE(B, l, N);
    llap_tensor *c = llap_squeeze(g, llap_mean(g, context, LLAP_AXIS(1)), LLAP_AXIS(1)); /* [B,H] */
    llap_tensor *x_hat = llap_nn_mlp(g, "decoder_net", c, &net);
    llap_tensor *v_hat = llap_nn_linear(g, "v_decoder", c, l * N);
    llap_tensor *t_hat = llap_nn_linear(g, "t_decoder", c, l * N);
    llap_tensor *dt_hat = llap_nn_linear(g, "dt_decoder", c, l * N);
    llap_tensor *obs_hat = llap_sigmoid(g, llap_nn_linear(g, "obs_decoder", c, l * N));
    return (llap_summarizer_heads){ .x_hat = llap_reshape(g, x_hat, LLAP_SHAPE(B, l, N, D)),
                                    .v_hat = llap_reshape(g, v_hat, series),
                                    .t_hat = llap_reshape(g, t_hat, series),
                                    .dt_hat = llap_reshape(g, dt_hat, series),
                                    .obs_hat = llap_reshape(g, obs_hat, series) };
}

static llap_tensor *scalar(llap_graph *g, llap_tensor *x)
{
    return llap_reshape(g, x, LLAP_SCALAR);
}

/* Masked mean; channel-balanced: the average of the features' means, of those seen at all. */
static llap_tensor *x_term(llap_graph *g, const llap_summary *s, llap_tensor *x_hat,
                           llap_tensor *all, bool balanced)
{
    if (!balanced) return llap_nn_mse_in(g, x_hat, s->x, s->seen, all, LLAP_ALL_AXES);
    const unsigned all_but_feature = LLAP_AXIS(0) | LLAP_AXIS(1) | LLAP_AXIS(2);
    llap_tensor   *per_feature = llap_nn_mse_in(g, x_hat, s->x, s->seen, all, all_but_feature);
    llap_tensor   *seen = llap_max(g, all != NULL ? all : s->seen, all_but_feature); /* [1,1,1,D] */
    return llap_masked_mean(g, per_feature, seen, LLAP_ALL_AXES);
}

/* Over the entities that are there, at all times; x, target [B,l,N] */
static llap_tensor *term(llap_graph *g, llap_tensor *x, llap_tensor *target, const llap_summary *s,
                         llap_tensor *all_ent)
{
    llap_tensor *all = all_ent == NULL ? NULL : llap_unsqueeze(g, all_ent, 1); /* [B,1,N] */
    return scalar(g,
                  llap_nn_mse_in(g, x, target, llap_unsqueeze(g, s->ent, 1), all, LLAP_ALL_AXES));
}

llap_summarizer_terms llap_summarizer_loss(llap_graph *g, const llap_summarizer_loss_config *cfg,
                                           const llap_summary          *s,
                                           const llap_summarizer_heads *heads,
                                           const llap_history          *whole)
{
    llap_tensor *ent = whole == NULL ? NULL : whole->ent, *seen = NULL;
    if (whole != NULL)
        seen = llap_mul(g, whole->obs, llap_unsqueeze(g, llap_unsqueeze(g, ent, 1), -1));
    /* The proxies are targets that get gradients too (spec Q8). */
    llap_summarizer_terms terms = {
        .x = scalar(g, x_term(g, s, heads->x_hat, seen, cfg->channel_balanced)),
        .v = term(g, heads->v_hat, s->v_sig, s, ent),
        .t = term(g, heads->t_hat, s->t_sig, s, ent),
        .dt = term(g, heads->dt_hat, s->u, s, ent),
        .obs = term(g, heads->obs_hat, s->seen_part, s, ent),
    };
    llap_tensor *const all[] = { terms.x, terms.v, terms.t, terms.dt, terms.obs };
    const double       weight[] = { cfg->x, cfg->v, cfg->t, cfg->dt, cfg->obs };
    for (int i = 0; i < 5; i++) {
        llap_tensor *part = llap_scale(g, all[i], weight[i]);
        terms.loss = i == 0 ? part : llap_add(g, terms.loss, part);
    }
    return terms;
}
