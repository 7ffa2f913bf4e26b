/* The reference's three artefacts (spec/model.md, section 10) as safetensors files, and the
 * networks of the `reference` profile made of them and turned back into them.
 *
 *     vae          the names of spec 2.6
 *     summarizer   the names of spec 3.4; the heads of pretraining are not needed and not kept
 *     denoiser     the names of spec 4.10, "ema.NAME" for averages, mu_mean and mu_std [Z] or
 *                  [h,Z]; metadata "model_config" as in the reference's payload, JSON
 *     statistics   ours: scale.x.*, scale.y.*, cond.* as in a model file, and metadata
 *                  "llapdiff.config" with what the other three do not tell
 *
 *     ll_network_config c;
 *     st = ll_artefacts_config(&files, &hints, &c);
 *     if (st == LLAP_OK) st = ll_network_create(&c, inputs, &net);
 *     if (st == LLAP_OK) st = ll_artefacts_load(&files, net);
 */
#ifndef LL_MODEL_ARTEFACTS_H
#define LL_MODEL_ARTEFACTS_H

#include "model/network.h"

typedef enum ll_artefact {
    LL_ARTEFACT_VAE,
    LL_ARTEFACT_SUMMARIZER,
    LL_ARTEFACT_DENOISER,
    LL_ARTEFACT_STATISTICS,
    LL_ARTEFACT_COUNT
} ll_artefact;

extern const char *const ll_artefact_names[]; /* "vae", .., closed by NULL */

typedef struct ll_artefacts {
    ll_tensors *file[LL_ARTEFACT_COUNT]; /* NULL: absent */
} ll_artefacts;

/* What tensors do not tell. Zeros and NULL: as the reference's presets have it. */
typedef struct ll_artefact_hints {
    int64_t     heads;      /* of all attention: 4 */
    int64_t     entities;   /* where there is no embedding of them and no pretraining head */
    int64_t     context;    /* rows; as many as tokens */
    const char *prediction; /* "v", "x0", "eps"; needed where model_config does not say it */
    const char *t_token;    /* "residual", "bias", "both" where there is one: both */
} ll_artefact_hints;

/* All options of the networks: from the statistics' metadata if there are any, else from tensors
 * and hints (spec section 10). LLAP_EFORMAT names what is missing or contradicts; LLAP_EINVAL a
 * hint that is needed. */
llap_status ll_artefacts_config(const ll_artefacts *a, const ll_artefact_hints *hints,
                                ll_network_config *c);

/* Fills a network of that configuration. Strict, as for a model file. */
llap_status ll_artefacts_load(const ll_artefacts *a, ll_network *n);

/* Whether the network has such an artefact. */
bool ll_artefact_has(const ll_network_config *c, ll_artefact which);
/* Adds its tensors and metadata; the writer borrows the tensors until it is saved. */
llap_status ll_artefact_save(const ll_network *n, ll_artefact which, ll_tensors_writer *w);

#endif
