/* The summarizer and the context adapter: c02. */
#include "golden.h"

#include "base/alloc.h"
#include "base/json/json.h"
#include "networks/conditioning.h"
#include "networks/summarizer.h"
#include "nn/nn.h"
#include "oracles/plain_layers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const positions[] = { "learned_abs", "continuous_rope",
                                         "learned_plus_continuous_rope", NULL };
static const char *const t_modes[] = { "none", "residual", "bias", "both", NULL };

ll_summarizer_config golden_summarizer_config(golden *c)
{
    return (ll_summarizer_config){
        .n_entities = golden_int(c, "num_entities"),
        .features = golden_int(c, "feat_dim"),
        .context = golden_int(c, "window_size"),
        .tokens = golden_int(c, "out_len"),
        .width = golden_int(c, "context_dim"),
        .mix = golden_int(c, "mix_dim"),
        .kernel = golden_int(c, "patch_kernel"),
        .proxy_hidden = golden_int(c, "tv_hidden"),
        .time2vec = golden_int(c, "time2vec_dim"),
        .irregular_hidden = golden_int(c, "irreg_hidden"),
        .n_layers = (int)golden_int(c, "enc_layers"),
        .n_heads = (int)golden_int(c, "n_heads"),
        .position = (ll_position)golden_choice(c, "pos_encoding", positions),
        .t_token = (ll_t_token)golden_choice(c, "t_token_mode", t_modes),
        .irregular_pooling = !golden_is(c, "irreg_pooling", "none"),
        .t_scale = golden_real(c, "t_token_scale"),
        .irregular_scale = golden_real(c, "irreg_residual_scale"),
        .rotary_base = golden_real(c, "rope_base"),
    };
}

static ll_summarizer_loss_config read_loss(golden *c)
{
    const char *text = ll_tensors_metadata(c->file, "cfg.loss_weights");
    ll_json    *json = NULL;
    double     *w = NULL;
    size_t      n = 0;
    llap_status st = LLAP_EFORMAT;
    if (text != NULL) st = ll_json_parse(text, strlen(text), "loss_weights", NULL, &json);
    if (st == LLAP_OK) st = ll_json_doubles(json, "", -INFINITY, INFINITY, &w, &n);
    ll_summarizer_loss_config cfg = { 0 };
    if (st != LLAP_OK || n != 5) golden_fail(c, LLAP_EFORMAT, "cfg.loss_weights: five expected");
    else cfg = (ll_summarizer_loss_config){ w[0], w[1], w[2], w[3], w[4], false };
    ll_free(w);
    ll_json_destroy(json);
    cfg.channel_balanced = golden_is(c, "channel_balanced_x_loss", "1");
    return cfg;
}

static void output_intermediate(golden *c, const ll_summarizer_config *cfg)
{
    ll_tensor *mixed = ll_noted(c->graph, "input_mixer.0"); /* theirs is [B N,d_mix,l] */
    golden_output(c, "mid.input_mixer", ll_transpose(c->graph, mixed));
    golden_mid(c, "mid.t_pool_bias_bn", "t_pool_bias_proj");
    golden_mid(c, "mid.pool_bias_bn", "pool_bias_proj");
    golden_mid(c, "mid.token_norm", "norm");
    for (int i = 0; i < cfg->n_layers; i++) {
        char tensor[64], noted[64];
        snprintf(tensor, sizeof tensor, "mid.enc%d", i);
        snprintf(noted, sizeof noted, "history_encoder.layers.%d", i);
        golden_mid(c, tensor, noted);
    }
    golden_skip(c, "mid.rope_inv_freq"); /* inside the rotary op */
}

static void output_summary(golden *c, const ll_summary *s, const ll_summarizer_heads *h)
{
    golden_output(c, "out.context", s->context);
    golden_output(c, "out.context_norm", ll_context_normalise(c->graph, s->context, NULL, NULL));
    golden_output(c, "out.aux.x", s->x);
    golden_output(c, "out.aux.obs_mask", s->seen);
    golden_output(c, "out.aux.v_sig", s->v_sig);
    golden_output(c, "out.aux.t_sig", s->t_sig);
    golden_output(c, "out.aux.rel_t", s->rel);
    golden_output(c, "out.aux.rel_t_unit", s->u);
    golden_output(c, "out.aux.obs_frac", s->seen_part);
    golden_output(c, "out.aux.x_hat", h->x_hat);
    golden_output(c, "out.aux.v_hat", h->v_hat);
    golden_output(c, "out.aux.t_hat", h->t_hat);
    golden_output(c, "out.aux.dt_hat", h->dt_hat);
    golden_output(c, "out.aux.obs_hat", h->obs_hat);
}

void golden_summarizer(golden *c)
{
    ll_graph                       *g = c->graph;
    const ll_summarizer_config      cfg = golden_summarizer_config(c);
    const ll_summarizer_loss_config weights = read_loss(c);
    const ll_history                history = { .x = golden_input(c, "x"),
                                                .dx = golden_input(c, "ctx_diff"),
                                                .ent = golden_input(c, "pad_mask"),
                                                .dt = golden_input(c, "dt"),
                                                .obs = golden_input(c, "obs_mask") };
    const ll_summary                summary = ll_summarize(g, &cfg, &history);
    const ll_summarizer_heads       heads = ll_summarizer_decode(g, &cfg, summary.context);
    const ll_summarizer_terms       terms = ll_summarizer_loss(g, &weights, &summary, &heads, NULL);
    output_intermediate(c, &cfg);
    output_summary(c, &summary, &heads);
    golden_output(c, "out.loss_x", terms.x);
    golden_output(c, "out.loss_v", terms.v);
    golden_output(c, "out.loss_t", terms.t);
    golden_output(c, "out.loss_dt", terms.dt);
    golden_output(c, "out.loss_obs", terms.obs);
    golden_output(c, "out.recon_loss", terms.loss);
    ll_tensor *loss = terms.loss;
    if (golden_is(c, "loss_kind", "vjp")) {
        ll_tensor *product = ll_mul(g, summary.context, golden_input(c, "cot_context"));
        loss = ll_reshape(g, ll_sum(g, product, LL_ALL_AXES), LL_SCALAR);
    }
    golden_output(c, "out.loss", loss);
    golden_run(c, loss);
}

/* -------- c02_adapter: the files have [B,N,l,...] -------- */

static ll_tensor *time_first(golden *c, const char *name)
{
    ll_tensor *x = golden_input(c, name);
    if (x == NULL) return NULL;
    const int axes[] = { 0, 2, 1, 3 };
    return ll_permute(c->graph, x, axes);
}

void golden_adapter(golden *c)
{
    ll_graph               *g = c->graph;
    const ll_adapter_config cfg = { .hidden = golden_int(c, "adapter_dim"),
                                    .scale = golden_real(c, "residual_scale") };
    double                 *dV = golden_values(c, "in.T");
    const int64_t           n = golden_dim(c, "in.T", 0) * golden_dim(c, "in.T", 1) *
                      golden_dim(c, "in.T", 2) * golden_dim(c, "in.T", 3);
    for (int64_t i = 0; c->status == LLAP_OK && i < n; i++)
        if (isnan(dV[i])) dV[i] = 0.0;
    ll_tensor       *dx = golden_give(c, "dV", golden_shape(c, "in.T"), dV);
    const ll_history history = {
        .dx = dx == NULL ? NULL : ll_permute(g, dx, (const int[]){ 0, 2, 1, 3 }),
        .ent = golden_input(c, "entity_mask"),
        .dt = time_first(c, "delta_t"),
        .obs = time_first(c, "x_obs_mask"),
    };
    ll_tensor *tokens = ll_stat_tokens(g, &history);
    ll_tensor *adapted = ll_context_adapt(g, &cfg, golden_input(c, "cond_summary"), tokens);
    ll_tensor *loss = plain_mse(g, adapted, golden_input(c, "target"));
    golden_output(c, "mid.stat_tokens", tokens);
    golden_output(c, "out.adapted", adapted);
    golden_output(c, "out.loss", loss);
    golden_run(c, loss);
}
