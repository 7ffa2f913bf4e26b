/* docs/spec/model.md 3.2.12, 3.5: reconstruction from the mean token, and its loss. */
#include "networks/summarizer.h"

#include "nn/nn.h"

ll_summarizer_heads ll_summarizer_decode(ll_graph *g, const ll_summarizer_config *cfg,
                                         ll_tensor *context)
{
    const int64_t        B = ll_dim(context, 0), l = cfg->context, N = cfg->n_entities;
    const int64_t        D = cfg->features, H = cfg->width;
    const ll_nn_mlp_opts net = { .hidden = 2 * H, .width = l * N * D };
    const ll_shape       series = LL_SHAPE(B, l, N);
    ll_tensor           *c = ll_squeeze(g, ll_mean(g, context, LL_AXIS(1)), LL_AXIS(1)); /* [B,H] */
    ll_tensor           *x_hat = ll_nn_mlp(g, "decoder_net", c, &net);
    ll_tensor           *v_hat = ll_nn_linear(g, "v_decoder", c, l * N);
    ll_tensor           *t_hat = ll_nn_linear(g, "t_decoder", c, l * N);
    ll_tensor           *dt_hat = ll_nn_linear(g, "dt_decoder", c, l * N);
    ll_tensor           *obs_hat = ll_sigmoid(g, ll_nn_linear(g, "obs_decoder", c, l * N));
    return (ll_summarizer_heads){ .x_hat = ll_reshape(g, x_hat, LL_SHAPE(B, l, N, D)),
                                  .v_hat = ll_reshape(g, v_hat, series),
                                  .t_hat = ll_reshape(g, t_hat, series),
                                  .dt_hat = ll_reshape(g, dt_hat, series),
                                  .obs_hat = ll_reshape(g, obs_hat, series) };
}

static ll_tensor *scalar(ll_graph *g, ll_tensor *x) { return ll_reshape(g, x, LL_SCALAR); }

/* Masked mean; channel-balanced: the average of the features' means, of those seen at all. */
static ll_tensor *x_term(ll_graph *g, const ll_summary *s, ll_tensor *x_hat, ll_tensor *all,
                         bool balanced)
{
    if (!balanced) return ll_nn_mse_in(g, x_hat, s->x, s->seen, all, LL_ALL_AXES);
    const unsigned all_but_feature = LL_AXIS(0) | LL_AXIS(1) | LL_AXIS(2);
    ll_tensor     *per_feature = ll_nn_mse_in(g, x_hat, s->x, s->seen, all, all_but_feature);
    ll_tensor     *seen = ll_max(g, all != NULL ? all : s->seen, all_but_feature); /* [1,1,1,D] */
    return ll_masked_mean(g, per_feature, seen, LL_ALL_AXES);
}

/* Over the entities that are there, at all times; x, target [B,l,N] */
static ll_tensor *term(ll_graph *g, ll_tensor *x, ll_tensor *target, const ll_summary *s,
                       ll_tensor *all_ent)
{
    ll_tensor *all = all_ent == NULL ? NULL : ll_unsqueeze(g, all_ent, 1); /* [B,1,N] */
    return scalar(g, ll_nn_mse_in(g, x, target, ll_unsqueeze(g, s->ent, 1), all, LL_ALL_AXES));
}

ll_summarizer_terms ll_summarizer_loss(ll_graph *g, const ll_summarizer_loss_config *cfg,
                                       const ll_summary *s, const ll_summarizer_heads *heads,
                                       const ll_history *whole)
{
    ll_tensor *ent = whole == NULL ? NULL : whole->ent, *seen = NULL;
    if (whole != NULL) seen = ll_mul(g, whole->obs, ll_unsqueeze(g, ll_unsqueeze(g, ent, 1), -1));
    /* The proxies are targets that get gradients too (docs/spec/model.md 12.8). */
    ll_summarizer_terms terms = {
        .x = scalar(g, x_term(g, s, heads->x_hat, seen, cfg->channel_balanced)),
        .v = term(g, heads->v_hat, s->v_sig, s, ent),
        .t = term(g, heads->t_hat, s->t_sig, s, ent),
        .dt = term(g, heads->dt_hat, s->u, s, ent),
        .obs = term(g, heads->obs_hat, s->seen_part, s, ent),
    };
    ll_tensor *const all[] = { terms.x, terms.v, terms.t, terms.dt, terms.obs };
    const double     weight[] = { cfg->x, cfg->v, cfg->t, cfg->dt, cfg->obs };
    for (int i = 0; i < 5; i++) {
        ll_tensor *part = ll_scale(g, all[i], weight[i]);
        terms.loss = i == 0 ? part : ll_add(g, terms.loss, part);
    }
    return terms;
}
