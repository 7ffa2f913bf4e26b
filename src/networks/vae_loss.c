/* docs/spec/model.md 2.7: corruption, weights and terms of the VAE's loss. */
#include "networks/vae.h"

#include "nn/nn.h"

#include <assert.h>

double ll_vae_beta(double beta_final, int64_t epoch)
{
    assert(epoch >= 1);
    if (epoch <= 5) return 0.0;
    return epoch >= 30 ? beta_final : beta_final * (double)(epoch - 5) / 25.0;
}

/* keep = obs and (u > p); value = y + noise_std * noise; token = [value keep, keep] */
ll_tensor *ll_vae_corrupt(ll_graph *g, ll_tensor *y, ll_tensor *obs, const ll_vae_view *view,
                          const ll_vae_loss_config *loss)
{
    ll_tensor *keep = obs, *value = y;
    if (loss->p_drop > 0.0) {
        ll_tensor *p = ll_full(g, LL_SCALAR, loss->p_drop);
        ll_tensor *dropped = ll_at_least(g, p, view->u); /* p >= u */
        keep = ll_mul(g, obs, ll_affine(g, dropped, -1.0, 1.0));
    }
    if (loss->noise > 0.0) value = ll_add(g, y, ll_scale(g, view->noise, loss->noise));
    return ll_vae_tokens(g, value, keep);
}

ll_tensor *ll_vae_obs_any(ll_graph *g, ll_tensor *obs)
{
    const unsigned entity_and_channel = LL_AXIS(2) | LL_AXIS(3);
    return ll_squeeze(g, ll_max(g, obs, entity_and_channel), entity_and_channel);
}

/* 1/coverage of each series, and which have an observation; [B,1,N,1] */
static ll_tensor *coverage_inverse(ll_graph *g, ll_tensor *obs, ll_tensor **valid)
{
    const double per_series = (double)(ll_dim(obs, 1) * ll_dim(obs, 3)); /* h C */
    ll_tensor   *count = ll_sum(g, obs, LL_AXIS(1) | LL_AXIS(3));        /* [B,1,N,1] */
    *valid = ll_minimum(g, count, ll_full(g, LL_SCALAR, 1.0));
    ll_tensor *coverage = ll_maximum(g, count, ll_full(g, LL_SCALAR, 1.0));
    return ll_div(g, ll_full(g, LL_SCALAR, per_series), coverage);
}

/* Per series (b,n): inv = 1/coverage, 0 without observations; inv / mean of inv, at most 10. */
ll_tensor *ll_vae_coverage_weight(ll_graph *g, ll_tensor *obs, ll_tensor *all)
{
    ll_tensor *valid, *all_valid, *inv = coverage_inverse(g, obs, &valid);
    ll_tensor *all_inv = all == NULL ? inv : coverage_inverse(g, all, &all_valid);
    ll_tensor *mean = ll_masked_mean(g, all_inv, all == NULL ? valid : all_valid, LL_ALL_AXES);
    mean = ll_maximum(g, mean, ll_full(g, LL_SCALAR, 1e-6));
    ll_tensor *weight = ll_div(g, ll_mask(g, inv, valid), mean);
    return ll_minimum(g, weight, ll_full(g, LL_SCALAR, 10.0));
}

/* x [B,h,1]; of micro-batches the mean over the whole batch */
static ll_tensor *over_steps(ll_graph *g, ll_tensor *x, ll_tensor *any, ll_tensor *all)
{
    if (all != NULL) all = ll_unsqueeze(g, all, -1);
    return ll_nn_mean_in(g, x, ll_unsqueeze(g, any, -1), all, LL_ALL_AXES);
}

/* mean over observed (b,r) of sum_z -1/2 (1 + lv - mu^2 - e^lv) */
ll_tensor *ll_vae_kl(ll_graph *g, const ll_vae_code *code, ll_tensor *obs_any, ll_tensor *all_any)
{
    ll_tensor *gain = ll_add(g, ll_square(g, code->mu), ll_exp(g, code->logvar));
    ll_tensor *per_z = ll_sub(g, gain, ll_affine(g, code->logvar, 1.0, 1.0));
    ll_tensor *kl = ll_scale(g, ll_sum(g, per_z, LL_AXIS(2)), 0.5); /* [B,h,1] */
    ll_note(g, "kl_bt", kl);
    return over_steps(g, kl, obs_any, all_any);
}

/* mean over observed (b,r) of mean_z (mu - mu2)^2 */
static ll_tensor *consistency(ll_graph *g, ll_tensor *mu, ll_tensor *mu2, ll_tensor *obs_any,
                              ll_tensor *all_any)
{
    ll_tensor *error = ll_square(g, ll_sub(g, mu, ll_detach(g, mu2)));
    ll_tensor *per_step = ll_mean(g, error, LL_AXIS(2)); /* [B,h,1] */
    return over_steps(g, per_step, obs_any, all_any);
}

static ll_tensor *scalar(ll_graph *g, ll_tensor *x) { return ll_reshape(g, x, LL_SCALAR); }

/* Observed, of entities that are there */
static ll_tensor *present_of(ll_graph *g, ll_tensor *obs, ll_tensor *ent)
{
    if (obs == NULL) return NULL;
    return ll_mul(g, obs, ll_unsqueeze(g, ll_unsqueeze(g, ent, -1), 1)); /* [B,1,N,1] */
}

/* The weights of all values; balanced: sparsely observed series weigh more. */
static ll_tensor *weights(ll_graph *g, ll_tensor *obs, ll_tensor *all, bool balanced)
{
    if (!balanced || obs == NULL) return obs;
    return ll_mul(g, obs, ll_vae_coverage_weight(g, obs, all));
}

ll_vae_terms ll_vae_loss(ll_graph *g, const ll_vae_config *cfg, const ll_vae_loss_config *loss,
                         const ll_vae_batch *b)
{
    ll_vae_terms terms = { 0 };
    ll_tensor   *obs = present_of(g, b->obs, b->ent), *mu2 = NULL;
    ll_tensor   *all = present_of(g, b->all_obs, b->all_ent);
    if (loss->consistency > 0.0) {
        ll_tensor *tok2 = ll_vae_corrupt(g, b->y, obs, &b->view[1], loss);
        ll_note(g, "x_tok2", tok2);
        mu2 = ll_note(g, "mu2", ll_vae_encode(g, cfg, tok2, b->ent).mu);
    }
    ll_tensor        *tok = ll_note(g, "x_tok", ll_vae_corrupt(g, b->y, obs, &b->view[0], loss));
    const ll_vae_code code = ll_vae_encode(g, cfg, tok, b->ent);
    ll_tensor        *yhat = ll_vae_decode(g, cfg, ll_vae_sample(g, &code, b->eps), b->ent);
    ll_note(g, "mu", code.mu);
    ll_note(g, "logvar", code.logvar);
    ll_note(g, "x_hat", yhat);

    ll_tensor *obs_any = ll_vae_obs_any(g, obs);
    ll_tensor *all_any = all == NULL ? NULL : ll_vae_obs_any(g, all);
    ll_tensor *weight = weights(g, obs, all, loss->balance_coverage);
    ll_tensor *all_weight = weights(g, all, NULL, loss->balance_coverage);
    terms.recon = scalar(g, ll_nn_mse_in(g, yhat, b->y, weight, all_weight, LL_ALL_AXES));
    terms.kl = scalar(g, ll_vae_kl(g, &code, obs_any, all_any));
    terms.loss = ll_add(g, terms.recon, ll_scale(g, terms.kl, loss->beta));
    if (mu2 != NULL) {
        terms.consistency = scalar(g, consistency(g, code.mu, mu2, obs_any, all_any));
        terms.loss = ll_add(g, terms.loss, ll_scale(g, terms.consistency, loss->consistency));
    }
    return terms;
}
