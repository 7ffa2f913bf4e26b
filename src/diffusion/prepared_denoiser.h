/* The denoiser made ready to sample: plans on a backend, bound to a model's parameters, and the
 * whole reverse process from noise to samples.
 *
 *     ll_prepared_denoiser_opts o = { .extent = { B, R, h, Z }, .S = 336, .folded = true };
 *     o.backend = &ll_backend_cpu;
 *     o.n_threads = 2;
 *     o.sampler = LL_SAMPLER_REFERENCE;
 *     ll_prepared_denoiser *d;
 *     st = ll_prepared_denoiser_create(&cfg, params, &o, &list, &d);
 *     const ll_prepared_denoiser_batch w = { .tq = tq, .E = E, .E_raw = E_raw };    [B,h], [B,S,H]
 *     if (st == LLAP_OK) st = ll_prepared_denoiser_sample(d, &w, &io, out);         [B,R,h,Z]
 *     ll_prepared_denoiser_destroy(d);
 *
 * There are two ways, and who samples need not know which: step by step with the solvers of
 * diffusion/sampler.h (diffusion/denoiser_steps.h); and on backends with memory of their own, where
 * the sampler's options allow it, the whole loop as plans (diffusion/denoiser_loop.h). */
#ifndef LL_DIFFUSION_PREPARED_DENOISER_H
#define LL_DIFFUSION_PREPARED_DENOISER_H

#include "diffusion/sampler.h"

typedef struct ll_prepared_denoiser
    ll_prepared_denoiser; /* of one caller; parameters may be shared */

typedef struct ll_prepared_denoiser_opts {
    ll_extent         extent;
    int64_t           S;       /* summary tokens; 0: no summary, the unconditional pass alone */
    ll_params_part    part;    /* the model's weights, or LL_PARAMS_EMA */
    const char       *prefix;  /* of the model's names in the store; NULL: none */
    const ll_backend *backend; /* of floats; parameters of another one are copied there */
    int               n_threads;
    bool              folded; /* neighbouring weights multiplied, docs/spec/model.md 9.1 */
    bool              kept;   /* for inpainting */
    bool              whole;  /* nothing is shared among samples: the plain version, for tests */
    ll_sampler_opts   sampler;
} ll_prepared_denoiser_opts;

typedef struct ll_prepared_denoiser_batch { /* borrowed until other ones are given */
    const float *tq;                        /* [B,h] query offsets */
    const float *E, *E_raw;                 /* [B,S,H] summaries; NULL without */
    /* with the stream of tokens; NULL: none, no padding */
    const float *f;     /* [B,h,F] */
    const float *pad;   /* [B,h] */
    const float *E_pad; /* [B,S] */
} ll_prepared_denoiser_batch;

/* Copies list; borrows params until ll_prepared_denoiser_destroy: they must not change meanwhile;
 * caller owns *out. */
llap_status ll_prepared_denoiser_create(const ll_denoiser_config *c, const ll_params *params,
                                        const ll_prepared_denoiser_opts *o, const ll_points *list,
                                        ll_prepared_denoiser **out);
void        ll_prepared_denoiser_destroy(ll_prepared_denoiser *d); /* NULL is fine */

/* As ll_sample; borrows everything until return. LLAP_EUNSUPPORTED: inpainting where the options
 * did not say so, and watching where the loop is one of plans. */
llap_status ll_prepared_denoiser_sample(ll_prepared_denoiser             *d,
                                        const ll_prepared_denoiser_batch *w, const ll_sample_io *io,
                                        float *out);

/* Frees what is kept for the next windows, not the plans: they cost what the first did. */
void ll_prepared_denoiser_forget(ll_prepared_denoiser *d);

double
ll_prepared_denoiser_products(const ll_prepared_denoiser *d); /* multiply-adds of products so far */
size_t ll_prepared_denoiser_bytes(
    const ll_prepared_denoiser *d); /* of the plans' workspaces and of tables */

#endif
