#include "model/artefacts.h"

#include "base/alloc.h"
#include "base/error.h"
#include "model/network_store.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const char *const ll_artefact_names[] = { "vae", "summarizer", "denoiser", "statistics", NULL };

/* -------- what the tensors say -------- */

typedef struct source { /* one file that is looked at; its first failure is kept */
    const ll_tensors *t;
    const char       *what;
    llap_status       st;
} source;

static bool has(const source *s, const char *name)
{
    ll_tensor_info i;
    return ll_tensors_find(s->t, name, &i);
}

/* One dimension of a tensor of this rank; 0 after a failure. */
static int64_t dim(source *s, const char *name, int rank, int d)
{
    ll_tensor_info i;
    if (s->st != LLAP_OK) return 0;
    if (!ll_tensors_find(s->t, name, &i)) {
        s->st = ll_fail(LLAP_EFORMAT, "%s: '%s' is missing", s->what, name);
        return 0;
    }
    if (i.rank != rank || i.shape[d] < 1) {
        s->st = ll_fail(LLAP_EFORMAT, "%s: '%s': expected %d dimensions, found %s", s->what, name,
                        rank, ll_shape_show(i.rank, i.shape).text);
        return 0;
    }
    return i.shape[d];
}

/* How many "BEFORE0AFTER", "BEFORE1AFTER", .. there are. */
static int count(const source *s, const char *before, const char *after)
{
    int n = 0;
    for (; n < LL_DENOISER_MAX_LAYERS + 1; n++) {
        char name[160];
        snprintf(name, sizeof name, "%s%d%s", before, n, after);
        if (!has(s, name)) break;
    }
    return n;
}

static llap_status vae_config(const ll_tensors *t, int heads, ll_vae_config *v)
{
    source s = { .t = t, .what = "vae" };
    v->width = dim(&s, "in_proj.weight", 2, 0);
    v->channels = dim(&s, "in_proj.weight", 2, 1) / 2;
    v->latent = dim(&s, "mu_head.weight", 2, 0);
    v->n_entities = has(&s, "entity_emb.weight") ? dim(&s, "entity_emb.weight", 2, 0) : 0;
    v->encoder.n_layers = count(&s, "encoder.layers.", ".linear1.weight");
    v->decoder.n_layers = count(&s, "decoder.layers.", ".linear1.weight");
    if (v->encoder.n_layers > 0) v->encoder.ff = dim(&s, "encoder.layers.0.linear1.weight", 2, 0);
    if (v->decoder.n_layers > 0) v->decoder.ff = dim(&s, "decoder.layers.0.linear1.weight", 2, 0);
    v->encoder.n_heads = v->decoder.n_heads = heads;
    return s.st;
}

/* l of the history: positions, heads of pretraining or, without, as many as tokens. */
static int64_t context_rows(source *s, const ll_artefact_hints *h, const ll_summarizer_config *c)
{
    if (has(s, "pos_embedding")) return dim(s, "pos_embedding", 3, 1);
    if (has(s, "v_decoder.weight") && c->n_entities > 0)
        return dim(s, "v_decoder.weight", 2, 0) / c->n_entities;
    return h->context > 0 ? h->context : c->tokens;
}

static llap_status t_token(const source *s, const ll_artefact_hints *h, ll_t_token *out)
{
    static const char *const names[] = { "none", "residual", "bias", "both" };
    *out = has(s, "t_input_mixer.weight") ? LL_T_TOKEN_BOTH : LL_T_TOKEN_NONE;
    if (*out == LL_T_TOKEN_NONE || h->t_token == NULL) return LLAP_OK;
    for (int i = 1; i < 4; i++)
        if (strcmp(h->t_token, names[i]) == 0) {
            *out = (ll_t_token)i;
            return LLAP_OK;
        }
    return ll_fail(LLAP_EOPTION, "t_token: expected residual, bias or both, found '%.40s'",
                   h->t_token);
}

static llap_status summarizer_config(const ll_tensors *t, const ll_artefact_hints *h, int heads,
                                     ll_summarizer_config *c)
{
    source     s = { .t = t, .what = "summarizer" };
    const bool rotary = has(&s, "history_encoder.layers.0.self_attn.qkv.weight");
    *c = LL_SUMMARIZER_PAPER;
    c->mix = dim(&s, "input_mixer.0.weight", 3, 0);
    c->features = dim(&s, "input_mixer.0.weight", 3, 1);
    c->kernel = dim(&s, "input_mixer.0.weight", 3, 2);
    c->proxy_hidden = dim(&s, "v_head.net.1.weight", 2, 0);
    c->time2vec = dim(&s, "time2vec.w", 1, 0);
    c->width = dim(&s, "queries", 2, 1);
    c->tokens = dim(&s, "queries", 2, 0);
    c->n_layers = count(&s, "history_encoder.layers.", ".linear1.weight");
    c->n_heads = heads;
    c->position = !rotary                    ? LL_POSITION_LEARNED
                  : has(&s, "pos_embedding") ? LL_POSITION_BOTH
                                             : LL_POSITION_ROTARY;
    c->irregular_pooling = has(&s, "irreg_proj.1.weight");
    if (c->irregular_pooling) c->irregular_hidden = dim(&s, "irreg_proj.1.weight", 2, 0);
    c->n_entities = h->entities;
    c->context = context_rows(&s, h, c);
    return s.st == LLAP_OK ? t_token(&s, h, &c->t_token) : s.st;
}

/* The reference's "model_config": its denoiser's fields within "llapdiff", or directly. */
static llap_status read_model_config(const ll_tensors *t, const ll_artefact_hints *h,
                                     ll_network_config *c)
{
    const char *text = ll_tensors_metadata(t, "model_config");
    ll_json    *j = NULL;
    int         prediction = -1, schedule = 0;
    llap_status st = LLAP_OK;
    c->denoiser.rho_conditioning_mode = LL_RHO_LEGACY; /* of payloads that do not say */
    if (text != NULL) {
        st = ll_json_parse(text, strlen(text), "model_config", NULL, &j);
        const char *path = st == LLAP_OK && ll_json_has(j, "llapdiff") ? "llapdiff" : "";
        char        key[2][32];
        snprintf(key[0], sizeof key[0], "%s%spredict_type", path, *path == '\0' ? "" : ".");
        snprintf(key[1], sizeof key[1], "%s%sschedule", path, *path == '\0' ? "" : ".");
        if (st == LLAP_OK) st = ll_denoiser_config_read(j, path, &c->denoiser);
        if (st == LLAP_EINVAL) st = ll_fail_in(LLAP_EFORMAT, "model_config");
        if (st == LLAP_OK) st = ll_json_enum(j, key[0], ll_prediction_names, &prediction);
        if (st == LLAP_OK) st = ll_json_enum(j, key[1], ll_schedule_names, &schedule);
        ll_json_destroy(j);
    }
    for (int i = 0; st == LLAP_OK && h->prediction != NULL && ll_prediction_names[i] != NULL; i++)
        if (strcmp(h->prediction, ll_prediction_names[i]) == 0) prediction = i;
    if (st == LLAP_OK && prediction < 0)
        st = ll_fail(LLAP_EINVAL, "the denoiser does not say what it predicts: v, x0 or eps?");
    c->noise.prediction = (ll_prediction)prediction;
    c->noise.schedule = (ll_schedule_kind)schedule;
    return st;
}

static llap_status denoiser_config(const ll_tensors *t, const ll_artefact_hints *h, int heads,
                                   ll_network_config *c)
{
    source              s = { .t = t, .what = "denoiser" };
    ll_denoiser_config *d = &c->denoiser;
    d->timesteps = dim(&s, "time_embed.weight", 2, 0);
    d->hidden_dim = dim(&s, "time_embed.weight", 2, 1);
    d->laplace_k = dim(&s, "model.analysis._rho_raw", 1, 0);
    d->data_dim = dim(&s, "model.head_proj.weight", 2, 0);
    d->num_layers = count(&s, "model.blocks.", ".coef2hid.weight");
    d->num_heads = heads;
    d->use_mlp_residual = has(&s, "model.synthesis.mlp_in.weight_orig");
    d->summary_pool_mode =
        has(&s, "model.summary_pool.query_proj.weight") ? LL_POOL_ATTN : LL_POOL_MEAN;
    d->analysis_summary_qk = has(&s, "model.analysis.q_cond_gate");
    d->self_conditioning = has(&s, "model.sc_gate");
    if (d->num_layers > 0 && s.st == LLAP_OK) {
        d->mlp_ratio =
            (double)dim(&s, "model.blocks.0.self_blk.mlp.0.weight", 2, 0) / (double)d->hidden_dim;
        d->block_summary_adaln =
            dim(&s, "model.blocks.0.self_blk.norm1.to_ss.1.weight", 2, 1) == 2 * d->hidden_dim;
    }
    c->options.cond_adapter = has(&s, "cond_adapter.stat_proj.1.weight");
    if (c->options.cond_adapter)
        c->adapter.hidden = dim(&s, "cond_adapter.stat_proj.1.weight", 2, 0);
    c->options.ema = has(&s, "ema.time_embed.weight");
    ll_tensor_info mean;
    if (ll_tensors_find(t, "mu_mean", &mean) && mean.rank == 2)
        c->options.latent_rows = mean.shape[0];
    return s.st == LLAP_OK ? read_model_config(t, h, c) : s.st;
}

/* N: the embedding, else the hint, else what the heads of pretraining and positions tell. */
static int64_t entities_of(const ll_artefacts *a, const ll_artefact_hints *h,
                           const ll_vae_config *v)
{
    const ll_tensors *t = a->file[LL_ARTEFACT_SUMMARIZER];
    ll_tensor_info    head, position;
    if (v->n_entities > 0) return v->n_entities;
    if (h->entities > 0) return h->entities;
    if (t != NULL && ll_tensors_find(t, "v_decoder.weight", &head) && head.rank == 2 &&
        ll_tensors_find(t, "pos_embedding", &position) && position.rank == 3 &&
        position.shape[1] > 0 && head.shape[0] >= position.shape[1])
        return head.shape[0] / position.shape[1];
    return 1;
}

static llap_status infer(const ll_artefacts *a, const ll_artefact_hints *given,
                         ll_network_config *c)
{
    const int         heads = (int)(given->heads > 0 ? given->heads : 4);
    ll_artefact_hints h = *given;
    llap_status       st = LLAP_OK;
    ll_network_config_base(LL_PROFILE_REFERENCE, c);
    c->options.latent = a->file[LL_ARTEFACT_VAE] != NULL ? LL_LATENT_SET_VAE : LL_LATENT_IDENTITY;
    const source den = { .t = a->file[LL_ARTEFACT_DENOISER] };
    c->options.conditioning = has(&den, "model.blocks.0.cross_blk.q.weight");
    if (c->options.conditioning && a->file[LL_ARTEFACT_SUMMARIZER] == NULL)
        return ll_fail(LLAP_EFORMAT, "the denoiser asks for a summary, there is no summarizer");
    if (a->file[LL_ARTEFACT_VAE] != NULL) st = vae_config(a->file[LL_ARTEFACT_VAE], heads, &c->vae);
    h.entities = c->n_entities = st == LLAP_OK ? entities_of(a, given, &c->vae) : 0;
    if (st == LLAP_OK && c->options.conditioning)
        st = summarizer_config(a->file[LL_ARTEFACT_SUMMARIZER], &h, heads, &c->summarizer);
    if (st == LLAP_OK) st = denoiser_config(a->file[LL_ARTEFACT_DENOISER], &h, heads, c);
    if (st != LLAP_OK) return st;
    const bool vae = c->options.latent == LL_LATENT_SET_VAE;
    c->n_targets = vae ? c->vae.channels : c->denoiser.data_dim / c->n_entities;
    c->n_inputs = c->options.conditioning ? c->summarizer.features : 0;
    st = ll_network_config_check(c);
    return st == LLAP_EINVAL ? ll_fail_in(LLAP_EFORMAT, "artefacts") : st;
}

/* The statistics of our own export carry everything. */
static llap_status stated(const char *text, ll_network_config *c)
{
    ll_json     *j = NULL;
    const char **input = NULL;
    llap_status  st = ll_json_parse(text, strlen(text), "llapdiff.config", NULL, &j);
    if (st == LLAP_OK) st = ll_network_read_config(j, c, &input);
    if (st == LLAP_OK && c->profile != LL_PROFILE_REFERENCE)
        st = ll_fail(LLAP_EFORMAT, "llapdiff.config: not of the reference profile");
    ll_free((void *)input);
    ll_json_destroy(j);
    return st;
}

llap_status ll_artefacts_config(const ll_artefacts *a, const ll_artefact_hints *hints,
                                ll_network_config *c)
{
    const ll_tensors *own = a->file[LL_ARTEFACT_STATISTICS];
    if (a->file[LL_ARTEFACT_DENOISER] == NULL) return ll_fail(LLAP_EINVAL, "there is no denoiser");
    const char *text = own == NULL ? NULL : ll_tensors_metadata(own, "llapdiff.config");
    return text != NULL ? stated(text, c) : infer(a, hints, c);
}

/* -------- tensors -------- */

/* Alias names in checkpoints: the synthesizer's reference to the analysis. */
static const char alias[] = "model.synthesis.encoder.", aliased[] = "model.analysis.";

static llap_status check_aliases(const ll_tensors *t)
{
    for (size_t i = 0; i < ll_tensors_count(t); i++) {
        const ll_tensor_info a = ll_tensors_at(t, i);
        ll_tensor_info       b;
        char                 name[256];
        if (strncmp(a.name, alias, sizeof alias - 1) != 0) continue;
        snprintf(name, sizeof name, "%s%s", aliased, a.name + sizeof alias - 1);
        if (!ll_tensors_find(t, name, &b) || a.n_bytes != b.n_bytes ||
            memcmp(a.data, b.data, a.n_bytes) != 0)
            return ll_fail(LLAP_EFORMAT, "%s: not equal to %s", a.name, name);
    }
    return LLAP_OK;
}

/* mu_mean, mu_std [Z] or [rows,Z] */
static llap_status load_latent(const ll_tensors *t, ll_network *n)
{
    static const char *const from[] = { "mu_mean", "mu_std" }, *const to[] = { "latent.mean",
                                                                               "latent.std" };
    llap_status st = LLAP_OK;
    for (int i = 0; i < 2 && st == LLAP_OK; i++) {
        const ll_param_info *p = ll_params_find(n->params, to[i]);
        ll_tensor_info       x;
        if (p == NULL) continue;
        const bool flat = p->shape.dim[0] == 1;
        st = ll_tensors_require(t, from[i], LL_F32, flat ? 1 : 2, p->shape.dim + flat, &x);
        assert(st != LLAP_OK || x.n_bytes == (size_t)p->count * sizeof(float));
        if (st == LLAP_OK) memcpy(p->data, x.data, x.n_bytes);
    }
    return st;
}

static llap_status load_denoiser(const ll_tensors *t, ll_network *n)
{
    static const char *const ignore[] = { "ema.", "mu_mean", "mu_std", alias, NULL };
    static const char *const noise[] = { "scheduler.", NULL };
    const source             s = { .t = t };
    const bool               tables = has(&s, "scheduler.betas"); /* else as configured */
    llap_status              st = check_aliases(t);
    if (st == LLAP_OK)
        st = ll_params_load(n->params, LL_PARAMS_MODEL, t,
                            &(ll_load_opts){ .scope = "denoiser.",
                                             .ignore = ignore,
                                             .leave = tables ? NULL : noise });
    if (st == LLAP_OK)
        st = ll_params_load(n->params, LL_PARAMS_EMA, t,
                            &(ll_load_opts){ .scope = "denoiser.", .prefix = "ema." });
    return st == LLAP_OK ? load_latent(t, n) : st;
}

static llap_status load_summarizer(const ll_tensors *t, ll_network *n)
{
    static const char *const heads[] = { "decoder_net.", "v_decoder.", "t_decoder.", "dt_decoder.",
                                         "obs_decoder.", "ema.",       NULL };
    llap_status              st = ll_params_load(n->params, LL_PARAMS_MODEL, t,
                                                 &(ll_load_opts){ .scope = "summarizer.", .ignore = heads });
    if (st == LLAP_OK)
        st = ll_params_load(n->params, LL_PARAMS_EMA, t,
                            &(ll_load_opts){ .scope = "summarizer.", .prefix = "ema." });
    return st;
}

static llap_status load_statistics(const ll_tensors *t, ll_network *n)
{
    static const char *const others[] = { "vae.", "summarizer.", "denoiser.", "latent.", NULL };
    return ll_params_load(n->params, LL_PARAMS_MODEL, t, &(ll_load_opts){ .leave = others });
}

llap_status ll_artefacts_load(const ll_artefacts *a, ll_network *n)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < LL_ARTEFACT_COUNT && st == LLAP_OK; i++) {
        const ll_tensors *t = a->file[i];
        const bool        needed = ll_artefact_has(&n->config, (ll_artefact)i);
        if (t == NULL && needed && i != LL_ARTEFACT_STATISTICS)
            st = ll_fail(LLAP_EFORMAT, "there is no %s", ll_artefact_names[i]);
        if (t != NULL && !needed)
            st = ll_fail(LLAP_EFORMAT, "there is a %s, which the configuration does not have",
                         ll_artefact_names[i]);
        if (t == NULL || st != LLAP_OK) continue;
        if (i == LL_ARTEFACT_VAE)
            st = ll_params_load(n->params, LL_PARAMS_MODEL, t, &(ll_load_opts){ .scope = "vae." });
        if (i == LL_ARTEFACT_SUMMARIZER) st = load_summarizer(t, n);
        if (i == LL_ARTEFACT_DENOISER) st = load_denoiser(t, n);
        if (i == LL_ARTEFACT_STATISTICS) st = load_statistics(t, n);
        if (st != LLAP_OK) st = ll_fail_in(st, "%s", ll_artefact_names[i]);
    }
    return st == LLAP_OK ? ll_network_loaded(n) : st;
}

/* -------- and back -------- */

bool ll_artefact_has(const ll_network_config *c, ll_artefact which)
{
    if (which == LL_ARTEFACT_VAE) return c->options.latent == LL_LATENT_SET_VAE;
    if (which == LL_ARTEFACT_SUMMARIZER) return c->options.conditioning;
    return true;
}

static llap_status save_latent(const ll_network *n, ll_tensors_writer *w)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < 2 && st == LLAP_OK; i++) {
        const ll_param_info *p = ll_params_find(n->params, i == 0 ? "latent.mean" : "latent.std");
        if (p == NULL) continue;
        const bool flat = p->shape.dim[0] == 1;
        st = ll_tensors_writer_add(w, i == 0 ? "mu_mean" : "mu_std", LL_F32, flat ? 1 : 2,
                                   p->shape.dim + flat, p->data);
    }
    return st;
}

/* As in the reference's payload. */
static llap_status save_model_config(const ll_network_config *c, ll_tensors_writer *out)
{
    ll_json_writer w = { .indent = 0 };
    char          *text = NULL;
    size_t         size;
    ll_json_open(&w, NULL, '{');
    ll_json_open(&w, "llapdiff", '{');
    ll_denoiser_config_write(&w, &c->denoiser);
    ll_json_put_string(&w, "predict_type", ll_prediction_names[c->noise.prediction]);
    ll_json_put_string(&w, "schedule", ll_schedule_names[c->noise.schedule]);
    ll_json_close(&w, '}');
    ll_json_open(&w, "cond_adapter", '{');
    ll_json_put_string(&w, "mode", c->options.cond_adapter ? "stats" : "none");
    ll_json_close(&w, '}');
    ll_json_close(&w, '}');
    llap_status st = ll_json_finish(&w, &text, &size);
    if (st == LLAP_OK) st = ll_tensors_writer_metadata(out, "model_config", text);
    ll_free(text);
    return st;
}

static llap_status save_denoiser(const ll_network *n, ll_tensors_writer *w)
{
    llap_status st = ll_params_save_scope(n->params, LL_PARAMS_MODEL, "denoiser.", "", w);
    if (st == LLAP_OK) st = ll_params_save_scope(n->params, LL_PARAMS_EMA, "denoiser.", "ema.", w);
    if (st == LLAP_OK) st = save_latent(n, w);
    return st == LLAP_OK ? save_model_config(&n->config, w) : st;
}

llap_status ll_artefact_save(const ll_network *n, ll_artefact which, ll_tensors_writer *w)
{
    llap_status st;
    switch (which) {
    case LL_ARTEFACT_VAE:
        return ll_params_save_scope(n->params, LL_PARAMS_MODEL, "vae.", "", w);
    case LL_ARTEFACT_SUMMARIZER:
        st = ll_params_save_scope(n->params, LL_PARAMS_MODEL, "summarizer.", "", w);
        if (st == LLAP_OK)
            st = ll_params_save_scope(n->params, LL_PARAMS_EMA, "summarizer.", "ema.", w);
        return st;
    case LL_ARTEFACT_DENOISER:
        return save_denoiser(n, w);
    default:
        assert(which == LL_ARTEFACT_STATISTICS);
        st = ll_params_save_scope(n->params, LL_PARAMS_MODEL, "scale.", "scale.", w);
        if (st == LLAP_OK)
            st = ll_params_save_scope(n->params, LL_PARAMS_MODEL, "cond.", "cond.", w);
        return st;
    }
}
