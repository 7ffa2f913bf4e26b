/* The whole reverse loop as plans, for backends with memory of their own: nothing leaves it between
 * the first noise and the samples, and from the second call on the loop is one recording.
 *
 *     llap_planned_opts o = { .extent = { B, R, h, Z }, .S = 336, .backend = b };
 *     o.sampler = LLAP_SAMPLER_REFERENCE;
 *     llap_planned *s;
 *     st = llap_planned_create(&cfg, params, &o, &list, &s);
 *     if (st == LLAP_OK) st = llap_planned_sample(s, &windows, &io, out);  [B,R,h,Z]
 *     llap_planned_destroy(s);
 *
 * It computes what llap_sample (model/sampler.h) does with the predictor of model/denoise.h, with
 * the same draws, up to the order of sums. What the samples of a window share is computed for all
 * steps at once, steps being rows; everything that depends on the step alone is in a table. */
#ifndef LLAP_MODEL_PLANNED_H
#define LLAP_MODEL_PLANNED_H

#include "model/denoise.h"

typedef struct llap_planned llap_planned; /* of one caller; parameters may be shared */

typedef struct llap_planned_opts {
    llap_extent         extent;
    int64_t             S;       /* summary tokens; 0: no summary, the unconditional pass alone */
    llap_params_part    part;    /* the model's weights, or LLAP_PARAMS_EMA */
    const char         *prefix;  /* of the model's names in the store; NULL: none */
    const llap_backend *backend; /* of floats; parameters of another one are copied there */
    int                 n_threads;
    bool                folded; /* neighbouring weights multiplied, spec 9.1 */
    bool                kept;   /* for inpainting */
    llap_sampler_opts   sampler;
} llap_planned_opts;

/* false: eta, thresholds and UniPC, which only llap_sample does. */
bool llap_planned_takes(const llap_sampler_opts *o);

/* Copies list; borrows params until llap_planned_destroy; caller owns
 * *out. LLAP_EUNSUPPORTED: a sampler that it does not take. */
llap_status llap_planned_create(const llap_denoiser_config *c, const llap_params *params,
                                const llap_planned_opts *o, const llap_points *list,
                                llap_planned **out);
void        llap_planned_destroy(llap_planned *s); /* NULL is fine */

/* Borrows everything until return. LLAP_EUNSUPPORTED: watching, and inpainting where the options
 * did not say so. LLAP_ENUMERIC: a sample is not finite. */
llap_status llap_planned_sample(llap_planned *s, const llap_denoise_batch *w,
                                const llap_sample_io *io, float *out);

/* Of one whole sampling: kernels, multiply-adds of matrix products; bytes of workspaces. */
int    llap_planned_n_steps(const llap_planned *s);
double llap_planned_products(const llap_planned *s);
size_t llap_planned_bytes(const llap_planned *s);

#endif
