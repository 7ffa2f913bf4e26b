/* The options of the networks: one table for reading, writing and limits, and the rules between
 * options. */
#include "base/error.h"
#include "model/network.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char *const ll_profile_names[] = { "default", "reference", NULL };
const char *const ll_size_names[] = { "tiny", "small", "paper", "custom", NULL };

static const char *const latents[] = { "identity", "set_vae", NULL };
static const char *const cond_norms[] = { "batch", "fixed", "none", NULL };
static const char *const origins[] = { "last_context", "first_query", NULL };
const char *const ll_point_list_names[] = { "reference", "honest", "continuous", "gathered", NULL };
static const char *const positions[] = { "learned_abs", "continuous_rope",
                                         "learned_plus_continuous_rope", NULL };
static const char *const t_tokens[] = { "none", "residual", "bias", "both", NULL };
static const char *const views[] = { "rows", "entity", "joint", NULL };
static const char *const residuals[] = { "anchor", "none", "global", NULL };
static const char *const answer_sources[] = { "network", "anchor", "pool", NULL };

enum { MANY = 1 << 20 };

/* -------- the tables -------- */

/* clang-format off */
#define INT(s, name, lo, hi)   { #name, LL_FIELD_INT, offsetof(s, name), lo, hi, NULL }
#define SMALL(s, name, lo, hi) { #name, LL_FIELD_SMALL, offsetof(s, name), lo, hi, NULL }
#define REAL(s, name, lo, hi)  { #name, LL_FIELD_REAL, offsetof(s, name), lo, hi, NULL }
#define REALS(s, name, lo, hi) { #name, LL_FIELD_REALS, offsetof(s, name), lo, hi, NULL }
#define BOOL(s, name)          { #name, LL_FIELD_BOOL, offsetof(s, name), 0, 0, NULL }
#define CHOICE(s, name, names) { #name, LL_FIELD_CHOICE, offsetof(s, name), 0, 0, names }

#define O ll_network_options
static const ll_field option_fields[] = {
    INT(O, members, 1, 64), CHOICE(O, latent, latents), BOOL(O, conditioning), BOOL(O, joint_summarizer),
    BOOL(O, ema), BOOL(O, answer_ema), CHOICE(O, cond_norm, cond_norms), BOOL(O, cond_adapter),
    INT(O, latent_rows, 1, MANY), CHOICE(O, query_origin, origins),
};
#undef O

#define V ll_vae_config
static const ll_field vae_fields[] = {
    INT(V, width, 1, 1 << 16), INT(V, latent, 1, 1 << 16), INT(V, channels, 1, 1 << 16), INT(V, n_entities, 0, MANY),
    { "encoder_layers", LL_FIELD_SMALL, offsetof(V, encoder.n_layers), 0, 64, NULL },
    { "encoder_heads", LL_FIELD_SMALL, offsetof(V, encoder.n_heads), 1, 1024, NULL },
    { "encoder_ff", LL_FIELD_INT, offsetof(V, encoder.ff), 1, 1 << 16, NULL },
    { "decoder_layers", LL_FIELD_SMALL, offsetof(V, decoder.n_layers), 0, 64, NULL },
    { "decoder_heads", LL_FIELD_SMALL, offsetof(V, decoder.n_heads), 1, 1024, NULL },
    { "decoder_ff", LL_FIELD_INT, offsetof(V, decoder.ff), 1, 1 << 16, NULL },
    REAL(V, dropout, 0, 0.99),
};
#undef V

#define S ll_summarizer_config
static const ll_field summarizer_fields[] = {
    INT(S, n_entities, 1, MANY), INT(S, features, 1, 1 << 16), INT(S, context, 1, MANY), INT(S, tokens, 1, MANY),
    INT(S, width, 1, 1 << 16), INT(S, mix, 1, 1 << 16), INT(S, kernel, 1, 255), INT(S, proxy_hidden, 1, 1 << 16),
    INT(S, time2vec, 1, 1 << 10), INT(S, irregular_hidden, 1, 1 << 16), SMALL(S, n_layers, 0, 64), SMALL(S, n_heads, 1, 1024),
    CHOICE(S, position, positions), CHOICE(S, t_token, t_tokens), BOOL(S, irregular_pooling),
    REAL(S, t_scale, 0, 1e3), REAL(S, irregular_scale, 0, 1e3), REAL(S, rotary_base, 1, 1e9), REAL(S, dropout, 0, 0.99),
    BOOL(S, no_temporal_token), BOOL(S, no_dynamics_token), BOOL(S, no_port_token), BOOL(S, masked_input), BOOL(S, absolute_time),
};
#undef S

#define A ll_adapter_config
static const ll_field adapter_fields[] = { INT(A, hidden, 1, 1 << 16), REAL(A, scale, 0, 1e3), REAL(A, dropout, 0, 0.99) };
#undef A

#define P ll_patch_config
static const ll_field patch_fields[] = {
    INT(P, token_dim, 1, MANY), INT(P, tokens, 1, MANY), INT(P, hidden_dim, 1, 1 << 16), INT(P, num_layers, 0, 64),
    INT(P, num_heads, 1, 1024), INT(P, entities, 0, MANY), REAL(P, dropout, 0, 0.99),
};
#undef P

#define N ll_noise_config
static const ll_field noise_fields[] = {
    CHOICE(N, schedule, ll_schedule_names), CHOICE(N, prediction, ll_prediction_names), BOOL(N, min_snr),
    REAL(N, gamma, 0, 1e6), CHOICE(N, normalize, ll_weight_norm_names), REAL(N, unconditional, 0, 1),
};
#undef N

#define S ll_sampling
static const ll_field sampling_fields[] = {
    CHOICE(S, list, ll_point_list_names), INT(S, steps, 1, MANY), REAL(S, rho, 0.1, 100), REAL(S, first, 0, 1), REAL(S, last, 0, 1),
    INT(S, samples, 1, MANY),
    { "solver", LL_FIELD_CHOICE, offsetof(S, solver.solver), 0, 0, ll_solver_names },
    { "guidance_from", LL_FIELD_REAL, offsetof(S, solver.guidance[0]), -100, 100, NULL },
    { "guidance_to", LL_FIELD_REAL, offsetof(S, solver.guidance[1]), -100, 100, NULL },
    { "guidance_power", LL_FIELD_REAL, offsetof(S, solver.guidance_power), 0, 100, NULL },
    { "guidance_rescale", LL_FIELD_BOOL, offsetof(S, solver.guidance_rescale), 0, 0, NULL },
    { "eta", LL_FIELD_REAL, offsetof(S, solver.eta), 0, 1, NULL },
    { "threshold_p", LL_FIELD_REAL, offsetof(S, solver.threshold_p), 0, 1, NULL },
    { "threshold_max", LL_FIELD_REAL, offsetof(S, solver.threshold_max), 0, 1e6, NULL },
    { "clip", LL_FIELD_REAL, offsetof(S, solver.clip), 0, 1e6, NULL },
    { "self_condition", LL_FIELD_BOOL, offsetof(S, solver.self_condition), 0, 0, NULL },
};
#undef S

#define F ll_feature_config
static const ll_field feature_fields[] = {
    CHOICE(F, view, views), REAL(F, patch, 1e-9, 1e12), INT(F, patch_rows, 1, 1 << 16), BOOL(F, ages), BOOL(F, counts),
    BOOL(F, covariates), BOOL(F, entity_mean), BOOL(F, calendar), BOOL(F, level), CHOICE(F, residual, residuals),
    REAL(F, clip, 0, 1e6), REAL(F, augment, 0, 1), REALS(F, calibration_edge, 0, 1e12),
    REALS(F, calibration_factor, 1e-3, 1e3), { "guard", LL_FIELD_CHOICE, offsetof(F, answer_source), 0, 0, answer_sources },
    INT(F, fill_past, 0, 1 << 16), INT(F, fill_both, 0, 1 << 16),
};
#undef F

#define N_OF(table) ((int)(sizeof(table) / sizeof *(table)))
enum { IN_DEFAULT = 1 << LL_PROFILE_DEFAULT, IN_REFERENCE = 1 << LL_PROFILE_REFERENCE, IN_BOTH = IN_DEFAULT | IN_REFERENCE };
#define C ll_network_config
/* Objects within the object. */
static const struct group {
    const char       *key;
    unsigned          profiles;
    size_t            offset;
    const ll_field *fields;
    int               n;
} groups[] = {
    { "options", IN_BOTH, offsetof(C, options), option_fields, N_OF(option_fields) },
    { "vae", IN_REFERENCE, offsetof(C, vae), vae_fields, N_OF(vae_fields) },
    { "summarizer", IN_REFERENCE, offsetof(C, summarizer), summarizer_fields, N_OF(summarizer_fields) },
    { "adapter", IN_REFERENCE, offsetof(C, adapter), adapter_fields, N_OF(adapter_fields) },
    { "patches", IN_DEFAULT, offsetof(C, patches), patch_fields, N_OF(patch_fields) },
    { "denoiser", IN_BOTH, offsetof(C, denoiser), ll_denoiser_fields, LL_DENOISER_FIELDS },
    { "noise", IN_BOTH, offsetof(C, noise), noise_fields, N_OF(noise_fields) },
    { "sampling", IN_BOTH, offsetof(C, sampling), sampling_fields, N_OF(sampling_fields) },
    { "features", IN_DEFAULT, offsetof(C, features), feature_fields, N_OF(feature_fields) },
};
static const ll_field top_fields[] = {
    CHOICE(C, profile, ll_profile_names), CHOICE(C, size, ll_size_names),
    { "entities", LL_FIELD_INT, offsetof(C, n_entities), 0, MANY, NULL },
    { "targets", LL_FIELD_INT, offsetof(C, n_targets), 1, MANY, NULL },
};
#undef C
/* clang-format on */

static bool used(const struct group *gr, const ll_network_config *c)
{
    return (gr->profiles >> c->profile & 1u) != 0 && c->profile <= LL_PROFILE_REFERENCE;
}

/* Whether the options have a use for it. */
static bool needed(const struct group *gr, const ll_network_config *c)
{
    const void *at = (const char *)c + gr->offset;
    if (at == &c->vae) return c->options.latent == LL_LATENT_SET_VAE;
    if (at == &c->summarizer || at == &c->patches) return c->options.conditioning;
    return at != &c->adapter || c->options.cond_adapter;
}

/* -------- reading and writing -------- */

static llap_status read_group(const ll_json *j, const char *path, const struct group *gr,
                              ll_network_config *c)
{
    static const char *const retired[] = { "query_share", NULL }; /* models of before have it */
    void                    *at = (char *)c + gr->offset;
    const llap_status        st =
        ll_fields_only(j, path, gr->fields, gr->n, gr->fields == feature_fields ? retired : NULL);
    return st == LLAP_OK ? ll_fields_read(j, path, gr->fields, gr->n, at) : st;
}

llap_status ll_network_config_read(const ll_json *j, const char *path, ll_network_config *c)
{
    const char      *more[N_OF(groups) + 2] = { "inputs" };
    const ll_profile profile = c->profile;
    const char      *dot = path[0] == '\0' ? "" : ".";
    for (int i = 0; i < N_OF(groups); i++) more[i + 1] = groups[i].key;
    llap_status st = ll_fields_only(j, path, top_fields, N_OF(top_fields), more);
    if (st == LLAP_OK) st = ll_fields_read(j, path, top_fields, N_OF(top_fields), c);
    if (st == LLAP_OK && c->profile != profile) {
        char full[256];
        snprintf(full, sizeof full, "%s%sprofile", path, dot);
        st = ll_json_fail(j, full, "expected \"%s\", found \"%s\"", ll_profile_names[profile],
                          ll_profile_names[c->profile]);
        c->profile = profile;
    }
    for (int i = 0; i < N_OF(groups) && st == LLAP_OK; i++) {
        char full[256];
        snprintf(full, sizeof full, "%s%s%s", path, dot, groups[i].key);
        if (!ll_json_has(j, full)) continue;
        if (!used(&groups[i], c))
            st = ll_json_fail(j, full, "not part of the profile \"%s\"",
                              ll_profile_names[c->profile]);
        else if (!needed(&groups[i], c))
            st = ll_json_fail(j, full, "the options have no use for it");
        if (st == LLAP_OK) st = read_group(j, full, &groups[i], c);
    }
    if (st != LLAP_OK) return st;
    st = ll_network_config_check(c);
    return st == LLAP_EINVAL ? ll_json_fail(j, path, "%s", llap_error_detail()) : st;
}

/* -------- changes that change something -------- */

/* clang-format off */
/* Keys that a profile writes into its models and looks at nowhere. */
static const struct idle {
    unsigned    profiles;
    const char *name;
} idle[] = {
    { IN_BOTH, "sampling.samples" },
    { IN_REFERENCE, "sampling.first" }, { IN_REFERENCE, "sampling.last" },
    { IN_REFERENCE, "denoiser.query_features" }, { IN_REFERENCE, "denoiser.synthesis_dim" },
    /* the stream of tokens */
    { IN_DEFAULT, "denoiser.timesteps" }, { IN_DEFAULT, "denoiser.summary_pool_mode" },
    { IN_DEFAULT, "denoiser.self_conditioning" }, { IN_DEFAULT, "denoiser.pole_pool_use_raw_summary" },
    { IN_DEFAULT, "denoiser.block_summary_adaln" }, { IN_DEFAULT, "denoiser.analysis_summary_qk" },
    { IN_DEFAULT, "denoiser.analysis_qk_use_raw_summary" }, { IN_DEFAULT, "denoiser.cross_first" },
    { IN_DEFAULT, "denoiser.use_mlp_residual" },
    /* a continuous noise process, v as the prediction, a plain sampler */
    { IN_DEFAULT, "noise.schedule" }, { IN_DEFAULT, "noise.prediction" }, { IN_DEFAULT, "noise.gamma" },
    { IN_DEFAULT, "noise.normalize" }, { IN_DEFAULT, "noise.unconditional" },
    { IN_DEFAULT, "sampling.rho" }, { IN_DEFAULT, "sampling.guidance_from" }, { IN_DEFAULT, "sampling.guidance_to" },
    { IN_DEFAULT, "sampling.guidance_power" }, { IN_DEFAULT, "sampling.guidance_rescale" }, { IN_DEFAULT, "sampling.eta" },
    { IN_DEFAULT, "sampling.threshold_p" }, { IN_DEFAULT, "sampling.threshold_max" }, { IN_DEFAULT, "sampling.clip" },
    /* what the view of the data says */
    { IN_DEFAULT, "features.ages" }, { IN_DEFAULT, "features.counts" }, { IN_DEFAULT, "features.covariates" },
    { IN_DEFAULT, "features.entity_mean" }, { IN_DEFAULT, "features.clip" },
};
/* clang-format on */

/* name: "group.key" */
static bool same_value(const char *name, const ll_network_config *a, const ll_network_config *b)
{
    static const size_t size[] = {
        [LL_FIELD_INT] = sizeof(int64_t), [LL_FIELD_SMALL] = sizeof(int),
        [LL_FIELD_REAL] = sizeof(double), [LL_FIELD_REALS] = sizeof(ll_reals),
        [LL_FIELD_BOOL] = sizeof(bool),   [LL_FIELD_CHOICE] = sizeof(ll_profile)
    };
    for (int i = 0; i < N_OF(groups); i++) {
        const struct group *gr = &groups[i];
        const size_t        n = strlen(gr->key);
        if (strncmp(name, gr->key, n) != 0 || name[n] != '.') continue;
        for (int k = 0; k < gr->n; k++) {
            const size_t at = gr->offset + gr->fields[k].offset;
            if (strcmp(name + n + 1, gr->fields[k].key) == 0)
                return memcmp((const char *)a + at, (const char *)b + at,
                              size[gr->fields[k].kind]) == 0;
        }
    }
    assert(false); /* idle names keys of the groups alone */
    return true;
}

static llap_status no_effect(const ll_json *j, const char *full, ll_profile profile)
{
    return ll_json_fail(j, full, "has no effect in the profile \"%s\"", ll_profile_names[profile]);
}

llap_status ll_network_config_change(const ll_json *j, const char *path, ll_network_config *c)
{
    const ll_network_config was = *c;
    const char             *dot = path[0] == '\0' ? "" : ".";
    char                    full[256];
    double                  share = 1.0;
    llap_status             st = ll_network_config_read(j, path, c);
    snprintf(full, sizeof full, "%s%sfeatures.query_share", path, dot);
    if (st == LLAP_OK) st = ll_json_double(j, full, 0, 1, &share);
    if (st == LLAP_OK && share < 1.0) st = no_effect(j, full, c->profile);
    for (int i = 0; i < N_OF(idle) && st == LLAP_OK; i++) {
        if ((idle[i].profiles >> c->profile & 1u) == 0 || same_value(idle[i].name, &was, c))
            continue;
        snprintf(full, sizeof full, "%s%s%s", path, dot, idle[i].name);
        st = no_effect(j, full, c->profile);
    }
    const bool raw = c->denoiser.analysis_qk_use_raw_summary;
    if (st == LLAP_OK && raw && !was.denoiser.analysis_qk_use_raw_summary &&
        !c->denoiser.analysis_summary_qk) {
        snprintf(full, sizeof full, "%s%sdenoiser.analysis_qk_use_raw_summary", path, dot);
        st = ll_json_fail(j, full, "has no effect without denoiser.analysis_summary_qk");
    }
    const ll_sampler_opts *s = &c->sampling.solver;
    if (st == LLAP_OK && s->eta > 0.0 && s->solver != LL_SOLVER_DDIM) {
        snprintf(full, sizeof full, "%s%ssampling.eta", path, dot);
        st = ll_json_fail(j, full, "needs the solver ddim");
    }
    return st;
}

void ll_network_config_write(ll_json_writer *w, const ll_network_config *c)
{
    ll_fields_write(w, top_fields, N_OF(top_fields), c);
    for (int i = 0; i < N_OF(groups); i++) {
        const void *at = (const char *)c + groups[i].offset;
        if (!used(&groups[i], c) || !needed(&groups[i], c)) continue;
        ll_json_open(w, groups[i].key, '{');
        ll_fields_write(w, groups[i].fields, groups[i].n, at);
        ll_json_close(w, '}');
    }
}

/* -------- what must fit together -------- */

typedef struct rule {
    bool        broken;
    const char *what;
} rule;

static llap_status obey(const rule *rules, int n)
{
    for (int i = 0; i < n; i++)
        if (rules[i].broken) return ll_fail(LLAP_EINVAL, "%s", rules[i].what);
    return LLAP_OK;
}

static llap_status check_sizes(const char *a, int64_t x, const char *b, int64_t y)
{
    if (x == y) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "%s is %lld, %s is %lld", a, (long long)x, b, (long long)y);
}

/* clang-format off */
static llap_status check_reference(const ll_network_config *c)
{
    const ll_network_options   *o = &c->options;
    const ll_summarizer_config *s = &c->summarizer;
    const ll_vae_config        *v = &c->vae;
    const bool rotary = s->position != LL_POSITION_LEARNED, vae = o->latent == LL_LATENT_SET_VAE, summary = o->conditioning;
    const rule rules[] = {
        { o->members != 1, "options.members: the reference has one" },
        { o->answer_ema && !o->ema, "options.answer_ema needs options.ema" },
        { !o->conditioning && o->joint_summarizer, "options.joint_summarizer without options.conditioning" },
        { !o->conditioning && o->cond_adapter, "options.cond_adapter without options.conditioning" },
        { !vae && o->latent_rows != 1, "options.latent_rows with an identity latent" },
        { c->denoiser.stream != LL_STREAM_RESIDUES, "denoiser.stream: the reference has residues" },
        { c->sampling.list == LL_LIST_CONTINUOUS, "sampling.list: the reference's time is not continuous" },
        { c->n_inputs < 1 && o->conditioning, "inputs: the summarizer needs at least one" },
        { summary && s->kernel % 2 == 0, "summarizer.kernel is even" },
        { summary && s->no_temporal_token && (rotary || s->irregular_pooling),
          "summarizer.no_temporal_token with position or irregular_pooling that use time" },
        { summary && s->no_dynamics_token && s->t_token != LL_T_TOKEN_NONE, "summarizer.no_dynamics_token with t_token" },
        { c->denoiser.self_conditioning != c->sampling.solver.self_condition && c->sampling.solver.self_condition,
          "sampling.self_condition without denoiser.self_conditioning" },
        { vae && v->width % v->encoder.n_heads != 0, "vae.encoder_heads does not divide vae.width" },
        { vae && v->width % v->decoder.n_heads != 0, "vae.decoder_heads does not divide vae.width" },
        { vae && v->n_entities != 0 && v->n_entities != c->n_entities, "vae.n_entities is not the number of entities" },
    };
    llap_status st = obey(rules, N_OF(rules));
    if (st == LLAP_OK && vae) st = check_sizes("vae.latent", v->latent, "denoiser.data_dim", c->denoiser.data_dim);
    if (st == LLAP_OK && vae) st = check_sizes("vae.channels", v->channels, "targets", c->n_targets);
    if (st == LLAP_OK && !vae)
        st = check_sizes("entities times targets", c->n_entities * c->n_targets, "denoiser.data_dim", c->denoiser.data_dim);
    if (st != LLAP_OK || !o->conditioning) return st;
    st = check_sizes("summarizer.width", s->width, "denoiser.hidden_dim", c->denoiser.hidden_dim);
    if (st == LLAP_OK) st = check_sizes("summarizer.features", s->features, "inputs", c->n_inputs);
    return st;
}

static bool ascending(const ll_reals *x)
{
    for (int i = 1; i < x->n; i++)
        if (!(x->v[i - 1] < x->v[i])) return false;
    return true;
}

static llap_status check_default(const ll_network_config *c)
{
    const ll_network_options *o = &c->options;
    const int64_t factors = c->features.calibration_factor.n, buckets = c->features.calibration_edge.n + 1;
    const rule rules[] = {
        { o->latent != LL_LATENT_IDENTITY, "options.latent: the default profile has an identity latent" },
        { o->conditioning && !o->joint_summarizer, "options.joint_summarizer: patches are always trained with the denoiser" },
        { o->ema || o->answer_ema, "options.ema: the default profile saves the average as the weights" },
        { o->cond_norm != LL_COND_NORM_NONE, "options.cond_norm: the default profile has none" },
        { o->cond_adapter, "options.cond_adapter: not part of the default profile" },
        { o->latent_rows != 1, "options.latent_rows: the default profile has no latent statistics" },
        { o->query_origin != LL_ORIGIN_LAST_CONTEXT, "options.query_origin: the default profile counts from the last context row" },
        { c->denoiser.stream != LL_STREAM_TOKENS, "denoiser.stream: the default profile has tokens" },
        { c->sampling.list != LL_LIST_CONTINUOUS && c->sampling.list != LL_LIST_GATHERED, "sampling.list: the default profile's time is continuous" },
        { !(1.0 > c->sampling.first && c->sampling.first > c->sampling.last && c->sampling.last > 0.0),
          "sampling.first and sampling.last: expected 1 > first > last > 0" },
        { c->noise.min_snr, "noise.min_snr: not part of the default profile" },
        { c->sampling.solver.self_condition, "sampling.self_condition: not part of the default profile" },
        { o->conditioning && c->patches.hidden_dim % c->patches.num_heads != 0, "patches.num_heads does not divide patches.hidden_dim" },
        { c->features.covariates && c->n_inputs == 0, "features.covariates without inputs" },
        { (c->features.fill_past > 0 && c->features.fill_past >= c->sampling.steps) ||
              (c->features.fill_both > 0 && c->features.fill_both >= c->sampling.steps),
          "features.fill_past or fill_both: not one of the points of sampling.steps" },
        { buckets > LL_REALS_MAX, "features.calibration_edge: too many" },
        { !ascending(&c->features.calibration_edge), "features.calibration_edge: not one after the other" },
        { factors != 0 && factors != buckets && factors != c->n_targets * buckets,
          "features.calibration_factor: not one number (or one for each target) per bucket of calibration_edge" },
    };
    llap_status st = obey(rules, N_OF(rules));
    if (st == LLAP_OK && o->conditioning)
        st = check_sizes("patches.hidden_dim", c->patches.hidden_dim, "denoiser.hidden_dim", c->denoiser.hidden_dim);
    return st;
}
/* clang-format on */

llap_status ll_network_config_check(const ll_network_config *c)
{
    llap_status st = ll_fields_check("network", top_fields, N_OF(top_fields), c);
    for (int i = 0; i < N_OF(groups) && st == LLAP_OK; i++) {
        const void *at = (const char *)c + groups[i].offset;
        if (!used(&groups[i], c) || !needed(&groups[i], c)) continue;
        st = ll_fields_check(groups[i].key, groups[i].fields, groups[i].n, at);
    }
    if (st == LLAP_OK) st = ll_denoiser_config_check(&c->denoiser);
    if (st != LLAP_OK) return st;
    return c->profile == LL_PROFILE_REFERENCE ? check_reference(c) : check_default(c);
}
