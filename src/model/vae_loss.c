/* Spec 2.7: corruption, weights and terms of the VAE's loss. */
#include "model/vae.h"

#include "nn/nn.h"

double llap_vae_beta(double beta_final, int64_t epoch)
{
    if (epoch <= 5) return 0.0;
    return epoch >= 30 ? beta_final : beta_final * (double)(epoch - 5) / 25.0;
}

/* keep = obs and (u > p); value = y + noise_std * noise; token = [value keep, keep] */
llap_tensor *llap_vae_corrupt(llap_graph *g, llap_tensor *y, llap_tensor *obs,
                              const llap_vae_view *view, const llap_vae_loss_config *loss)
{
    llap_tensor *keep = obs, *value = y;
    if (loss->p_drop > 0.0) {
        llap_tensor *p = llap_full(g, LLAP_SCALAR, loss->p_drop);
        llap_tensor *dropped = llap_at_least(g, p, view->u); /* p >= u */
        keep = llap_mul(g, obs, llap_affine(g, dropped, -1.0, 1.0));
    }
    if (loss->noise > 0.0) value = llap_add(g, y, llap_scale(g, view->noise, loss->noise));
    return llap_vae_tokens(g, value, keep);
}

llap_tensor *llap_vae_obs_any(llap_graph *g, llap_tensor *obs)
{
    const unsigned entity_and_channel = LLAP_AXIS(2) | LLAP_AXIS(3);
    return llap_squeeze(g, llap_max(g, obs, entity_and_channel), entity_and_channel);
}

/* 1/coverage of each series, and which have an observation; [B,1,N,1] */
static llap_tensor *coverage_inverse(llap_graph *g, llap_tensor *obs, llap_tensor **valid)
{
    const double per_series = (double)(llap_dim(obs, 1) * llap_dim(obs, 3)); /* h C */
    llap_tensor *count = llap_sum(g, obs, LLAP_AXIS(1) | LLAP_AXIS(3));      /* [B,1,N,1] */
    *valid = llap_minimum(g, count, llap_full(g, LLAP_SCALAR, 1.0));
    llap_tensor *coverage = llap_maximum(g, count, llap_full(g, LLAP_SCALAR, 1.0));
    return llap_div(g, llap_full(g, LLAP_SCALAR, per_series), coverage);
}

/* Per series (b,n): inv = 1/coverage, 0 without observations; inv / mean of inv, at most 10. */
llap_tensor *llap_vae_coverage_weight(llap_graph *g, llap_tensor *obs, llap_tensor *all)
{
    llap_tensor *valid, *all_valid, *inv = coverage_inverse(g, obs, &valid);
    llap_tensor *all_inv = all == NULL ? inv : coverage_inverse(g, all, &all_valid);
    llap_tensor *mean =
        llap_masked_mean(g, all_inv, all == NULL ? valid : all_valid, LLAP_ALL_AXES);
    mean = llap_maximum(g, mean, llap_full(g, LLAP_SCALAR, 1e-6));
    llap_tensor *weight = llap_div(g, llap_mask(g, inv, valid), mean);
    return llap_minimum(g, weight, llap_full(g, LLAP_SCALAR, 10.0));
}

/* x [B,h,1]; of pieces the mean over the whole batch */
static llap_tensor *over_steps(llap_graph *g, llap_tensor *x, llap_tensor *any, llap_tensor *all)
{
    if (all != NULL) all = llap_unsqueeze(g, all, -1);
    return llap_nn_mean_in(g, x, llap_unsqueeze(g, any, -1), all, LLAP_ALL_AXES);
}

/* mean over observed (b,r) of sum_z -1/2 (1 + lv - mu^2 - e^lv) */
llap_tensor *llap_vae_kl(llap_graph *g, const llap_vae_code *code, llap_tensor *obs_any,
                         llap_tensor *all_any)
{
    llap_tensor *gain = llap_add(g, llap_square(g, code->mu), llap_exp(g, code->logvar));
    llap_tensor *per_z = llap_sub(g, gain, llap_affine(g, code->logvar, 1.0, 1.0));
    llap_tensor *kl = llap_scale(g, llap_sum(g, per_z, LLAP_AXIS(2)), 0.5); /* [B,h,1] */
    llap_note(g, "kl_bt", kl);
    return over_steps(g, kl, obs_any, all_any);
}

/* mean over observed (b,r) of mean_z (mu - mu2)^2 */
static llap_tensor *consistency(llap_graph *g, llap_tensor *mu, llap_tensor *mu2,
                                llap_tensor *obs_any, llap_tensor *all_any)
{
    llap_tensor *error = llap_square(g, llap_sub(g, mu, llap_detach(g, mu2)));
    llap_tensor *per_step = llap_mean(g, error, LLAP_AXIS(2)); /* [B,h,1] */
    return over_steps(g, per_step, obs_any, all_any);
}

static llap_tensor *scalar(llap_graph *g, llap_tensor *x)
{
    return llap_reshape(g, x, LLAP_SCALAR);
}

/* Observed, of entities that are there */
static llap_tensor *present_of(llap_graph *g, llap_tensor *obs, llap_tensor *ent)
{
    if (obs == NULL) return NULL;
    return llap_mul(g, obs, llap_unsqueeze(g, llap_unsqueeze(g, ent, -1), 1)); /* [B,1,N,1] */
}

/* The weights of all values; balanced: sparsely observed series weigh more. */
static llap_tensor *weights(llap_graph *g, llap_tensor *obs, llap_tensor *all, bool balanced)
{
    if (!balanced || obs == NULL) return obs;
    return llap_mul(g, obs, llap_vae_coverage_weight(g, obs, all));
}

llap_vae_terms llap_vae_loss(llap_graph *g, const llap_vae_config *cfg,
                             const llap_vae_loss_config *loss, const llap_vae_batch *b)
{
    llap_vae_terms terms = { 0 };
    llap_tensor   *obs = present_of(g, b->obs, b->ent), *mu2 = NULL;
    llap_tensor   *all = present_of(g, b->all_obs, b->all_ent);
    if (loss->consistency > 0.0) {
        llap_tensor *tok2 = llap_vae_corrupt(g, b->y, obs, &b->view[1], loss);
        llap_note(g, "x_tok2", tok2);
        mu2 = llap_note(g, "mu2", llap_vae_encode(g, cfg, tok2, b->ent).mu);
    }
    llap_tensor *tok = llap_note(g, "x_tok", llap_vae_corrupt(g, b->y, obs, &b->view[0], loss));
    const llap_vae_code code = llap_vae_encode(g, cfg, tok, b->ent);
    llap_tensor        *yhat = llap_vae_decode(g, cfg, llap_vae_sample(g, &code, b->eps), b->ent);
    llap_note(g, "mu", code.mu);
    llap_note(g, "logvar", code.logvar);
    llap_note(g, "x_hat", yhat);

    llap_tensor *obs_any = llap_vae_obs_any(g, obs);
    llap_tensor *all_any = all == NULL ? NULL : llap_vae_obs_any(g, all);
    llap_tensor *weight = weights(g, obs, all, loss->balance_coverage);
    llap_tensor *all_weight = weights(g, all, NULL, loss->balance_coverage);
    terms.recon = scalar(g, llap_nn_mse_in(g, yhat, b->y, weight, all_weight, LLAP_ALL_AXES));
    terms.kl = scalar(g, llap_vae_kl(g, &code, obs_any, all_any));
    terms.loss = llap_add(g, terms.recon, llap_scale(g, terms.kl, loss->beta));
    if (mu2 != NULL) {
        terms.consistency = scalar(g, consistency(g, code.mu, mu2, obs_any, all_any));
        terms.loss = llap_add(g, terms.loss, llap_scale(g, terms.consistency, loss->consistency));
    }
    return terms;
}
