/* The networks of a model: their configuration, and a store with all their tensors. One container
 * for both profiles; model/model.h holds it beside the anchors, model_save.c saves both in one
 * file.
 *
 *     ll_network_config c;
 *     st = ll_network_config_named(LL_PROFILE_REFERENCE, LL_SIZE_TINY, &dims, &c);
 *     c.denoiser.fixed_poles = true;              or from JSON: ll_network_config_read
 *     ll_network *net = NULL;
 *     if (st == LLAP_OK) st = ll_network_create(&c, input_names, &net);
 *     if (st == LLAP_OK) st = ll_network_start(net, seed, unit_hours);           fresh, or
 *     if (st == LLAP_OK) st = ll_params_take(net->params, "vae.", trained, "vae.");
 *     model->network = net;                       owned by the model from then on
 *     if (st == LLAP_OK) st = llap_model_save(model, path);
 *
 * What is in the store, and under the same name in the file (single precision):
 *
 *   reference
 *     vae.X, summarizer.X, denoiser.X   X as in the reference's checkpoints, without the heads of
 *                                       pretraining; denoiser.scheduler.* is the noise process,
 *                                       denoiser.cond_adapter.* the adapter
 *     ema.denoiser.X, ema.summarizer.X  with ema (the second with joint_summarizer): parameters
 *     latent.mean, latent.std           [rows,Z], docs/spec/model.md 2.8; not of identity latents
 *     cond.mean, cond.std               [H], docs/spec/model.md 3.3, with cond_norm fixed
 *     scale.x.mean, scale.x.std         [N+1,D] as in data/windows/scaling.h, the last row pooled
 *     scale.y.mean, scale.y.std         [N+1,C]
 *   default
 *     member.<i>.summarizer.X, member.<i>.denoiser.X     the weights that answer (the EMA)
 *     scale.x.mean, scale.x.std         [N+1,D] of the covariates; not without any
 *
 * N entities, D inputs, C targets. To sample: ll_prepared_denoiser_opts.prefix is that of
 * ll_network_prefix_of, its part ll_network_part. */
#ifndef LL_MODEL_NETWORK_H
#define LL_MODEL_NETWORK_H

#include "base/arena.h"
#include "base/json/fields.h"
#include "diffusion/diffusion.h"
#include "diffusion/sampler.h"
#include "networks/conditioning.h"
#include "networks/denoiser.h"
#include "networks/patches.h"
#include "networks/summarizer.h"
#include "networks/vae.h"
#include "residual/features.h"

/* -------- options: every one is a key of the JSON configuration -------- */

typedef enum ll_profile { LL_PROFILE_DEFAULT, LL_PROFILE_REFERENCE } ll_profile;

/* "custom": none of the named ones, such as what was imported */
typedef enum ll_size { LL_SIZE_TINY, LL_SIZE_SMALL, LL_SIZE_PAPER, LL_SIZE_CUSTOM } ll_size;

typedef enum ll_latent_kind {
    LL_LATENT_IDENTITY, /* "identity": the values are the latent; in `reference` the ablation "no
                             latent space" */
    LL_LATENT_SET_VAE,  /* "set_vae" */
} ll_latent_kind;

typedef enum ll_cond_norm { /* of the summary, docs/spec/model.md 3.3 */
                            LL_COND_NORM_BATCH,
                            LL_COND_NORM_FIXED,
                            LL_COND_NORM_NONE,
} ll_cond_norm;

typedef enum ll_query_origin { /* where query offsets count from, docs/spec/model.md 8.4 */
                               LL_ORIGIN_LAST_CONTEXT,
                               LL_ORIGIN_FIRST_QUERY, /* the paper's */
} ll_query_origin;

typedef enum ll_point_list { /* of the sampler, diffusion/sampler.h */
                             LL_LIST_REFERENCE,
                             LL_LIST_HONEST,
                             LL_LIST_CONTINUOUS,
                             LL_LIST_GATHERED,
} ll_point_list;

extern const char *const ll_point_list_names[];

typedef struct ll_network_options { /* profile-wide; keys of the object itself */
    int64_t        members;         /* networks that share the samples; 1 in `reference` */
    ll_latent_kind latent;
    bool           conditioning;     /* false: ablation, no summary at all */
    bool           joint_summarizer; /* trained with the denoiser: always in `default`; in
                                        `reference` an ablation */
    bool            ema;             /* `reference`: ema.* is kept */
    bool            answer_ema;   /* `reference`: and answers (repair of docs/spec/model.md 12.5) */
    ll_cond_norm    cond_norm;    /* `reference`; fixed is the repair of docs/spec/model.md 12.3 */
    bool            cond_adapter; /* `reference`: the "stats" adapter of docs/spec/model.md 4.9 */
    int64_t         latent_rows;  /* `reference`: of latent.*, 1 or the horizon */
    ll_query_origin query_origin;
} ll_network_options;

typedef struct ll_noise_config {
    ll_schedule_kind schedule;   /* `reference`; `default` has continuous time */
    ll_prediction    prediction; /* "v", "x0", "eps" */
    /* of training */
    bool           min_snr;
    double         gamma;
    ll_weight_norm normalize;
    double         unconditional; /* share of rows without summary */
} ll_noise_config;

typedef struct ll_sampling { /* what a forecast does unless told */
    ll_point_list   list;
    int64_t         steps;
    double          rho;         /* of the reference list */
    double          first, last; /* times of the continuous list */
    int64_t         samples;
    ll_sampler_opts solver; /* its predict is that of ll_noise_config */
} ll_sampling;

typedef enum ll_answer_source {
    LL_ANSWER_BY_NETWORKS,
    LL_ANSWER_BY_ANCHOR,
    LL_ANSWER_BY_BOTH
} ll_answer_source;

/* What the data side of the `default` profile makes (docs/spec/anchor.md 8.1-8.3, 8.9, 8.10). A
 * line here and one in the table of network_config.c add an option. */
typedef struct ll_feature_config {
    ll_feature_view  view;        /* what is one trajectory */
    double           patch;       /* length of a patch, in model time units */
    int64_t          patch_rows;  /* values of a target in it; 1: their mean */
    bool             ages;        /* time since the last observation */
    bool             counts;      /* log1p of the readings in a bin, for irregular bins */
    bool             covariates;  /* masked means and observed parts of the other variables */
    bool             entity_mean; /* mean of w over all entities */
    bool             calendar;    /* terms of day and week, of patches and queries */
    bool             level;       /* m and log s of the window at each query */
    ll_residual      residual;
    double           clip;               /* of the residual */
    double           augment;            /* g of docs/spec/anchor.md 8.7 */
    ll_reals         calibration_edge;   /* leads between buckets, in model time units */
    ll_reals         calibration_factor; /* [buckets], or [targets,buckets]; none: 1 */
    ll_answer_source answer_source;
    int64_t fill_past, fill_both; /* gaps: the point of the steps at which the networks take over
                                     from the anchor's answer, from 1; 0: they do not */
} ll_feature_config;

typedef struct ll_network_config {
    ll_profile         profile;
    ll_size            size;
    ll_network_options options;
    int64_t            n_entities, n_inputs, n_targets; /* N, D, C of scale.* */

    ll_vae_config        vae;        /* `reference`, latent set_vae */
    ll_summarizer_config summarizer; /* `reference` */
    ll_adapter_config    adapter;    /* `reference`, cond_adapter */
    ll_patch_config      patches;    /* `default` */
    ll_denoiser_config   denoiser;
    ll_noise_config      noise;
    ll_sampling          sampling;
    ll_feature_config    features; /* `default` */
} ll_network_config;

/* Names as in the files, closed by NULL. */
extern const char *const ll_profile_names[];
extern const char *const ll_size_names[];

/* What depends on the data. */
typedef struct ll_network_dims {
    int64_t entities, inputs, targets;
    int64_t latent;    /* Z; `reference`: of the data set, 0: as the size says */
    int64_t context;   /* `reference`: l */
    bool    irregular; /* `reference`: the preset for irregular data, docs/spec/model.md 3.1 */
    /* `default` */
    int64_t tokens, token_dim; /* S and F of a patch */
    int64_t query_features;    /* F of a query */
    int64_t embeddings;        /* entities told apart; 0: none */
} ll_network_dims;

/* All options of a profile and size: the table of docs/spec/model.md 13.2. LLAP_EINVAL: there is no
 * such size of this profile, or the result does not pass ll_network_config_check. */
llap_status ll_network_config_named(ll_profile profile, ll_size size, const ll_network_dims *dims,
                                    ll_network_config *out);

/* A start for ll_network_config_read when everything is to be read: options, not sizes. */
void ll_network_config_base(ll_profile profile, ll_network_config *out);

/* LLAP_EINVAL names what is out of range or contradicts another option. */
llap_status ll_network_config_check(const ll_network_config *c);

/* Reads the object at path over what *c holds: absent keys leave it. Strict: unknown keys, groups
 * of the other profile, and contradictions are LLAP_EFORMAT. The profile itself cannot change. */
llap_status ll_network_config_read(const ll_json *j, const char *path, ll_network_config *c);
/* The same for a training: an option that then differs from what *c had, and that the profile looks
 * at nowhere, is LLAP_EFORMAT too. Models may have such values, from before. */
llap_status ll_network_config_change(const ll_json *j, const char *path, ll_network_config *c);
/* profile, size and all other keys of an object that is open. */
void ll_network_config_write(ll_json_writer *w, const ll_network_config *c);

/* The VAE's and the summarizer's configuration for a graph: without dropout for inference. */
ll_vae_config        ll_network_vae(const ll_network_config *c, bool training);
ll_summarizer_config ll_network_summarizer(const ll_network_config *c, bool training);

/* -------- the container -------- */

typedef struct ll_network {
    ll_network_config  config;
    ll_params         *params;   /* floats; names as above */
    ll_schedule       *schedule; /* of denoiser.scheduler.*; NULL in continuous time */
    int64_t            n_inputs;
    const char *const *input; /* names of the D inputs, in their order */
    ll_arena           arena;
} ll_network;

/* All tensors zero; scale.* and latent.* the identity. input [c->n_inputs] is copied; NULL only
 * without inputs. Caller owns *out. LLAP_EINVAL: the configuration. */
llap_status ll_network_create(const ll_network_config *c, const char *const *input,
                              ll_network **out);
void        ll_network_destroy(ll_network *n); /* NULL is fine */

/* Every tensor as a fresh model has it, members by different seeds; the noise process as the
 * configuration says. unit_hours is the model's time unit, for the poles of the `default` profile;
 * 0: the data has no calendar. */
llap_status ll_network_start(ll_network *n, uint64_t seed, double unit_hours);

/* Adds the parameters and states of the whole container to a graph (inputs of one row, nothing is
 * to be run): what a store is made from. */
void ll_network_declare(ll_graph *g, const ll_network_config *c);

/* What stands before "model." (or "time_embed.") of member i's denoiser, and before its
 * summarizer's names: "member.2.denoiser.", in `reference` "denoiser." and "summarizer.". */
typedef struct ll_network_prefix {
    char denoiser[40], summarizer[40];
} ll_network_prefix;
ll_network_prefix ll_network_prefix_of(const ll_network_config *c, int64_t member);

/* The part that answers: LL_PARAMS_EMA with answer_ema. */
ll_params_part ll_network_part(const ll_network_config *c);

/* The list of points of the sampling options; caller owns it (ll_points_deinit). steps 0: those
 * of the configuration. */
llap_status ll_network_points(const ll_network *n, int64_t steps, ll_points *out);

/* tq [B,h], times after the last context row, as the origin of the configuration wants them. */
void ll_network_origin(const ll_network_config *c, float *tq, int64_t B, int64_t h);

/* -------- the file (network_file.c); model_save.c and model_file.c call these -------- */

/* The key "network" of an open object. */
void ll_network_write_config(ll_json_writer *w, const ll_network *n);
/* Adds the tensors; the writer borrows them until it is saved. */
llap_status ll_network_save(const ll_network *n, ll_tensors_writer *w);

/* From the key "network" of the configuration and the tensors of the file but those whose names
 * begin with one of ignore (closed by NULL). *n_tensors becomes the number that belongs to the
 * networks. LLAP_EFORMAT names what is missing, unknown, wrong-shaped, not finite, contradictory.
 * Caller owns *out. */
llap_status ll_network_load(const ll_tensors *t, const ll_json *config, const char *const *ignore,
                            ll_network **out, size_t *n_tensors);

#endif
