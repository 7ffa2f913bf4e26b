/* The denoiser made ready to sample: plans on a backend, bound to a model's parameters.
 *
 *     llap_denoise_opts o = { .extent = { B, R, h, Z }, .S = 336, .folded = true };
 *     o.backend = &llap_backend_cpu;
 *     o.n_threads = 2;
 *     llap_denoise *d;
 *     st = llap_denoise_create(&cfg, params, &o, &d);
 *     if (st == LLAP_OK) st = llap_denoise_windows(d, tq, E, E_raw);  [B,h], [B,S,H]; borrows
 *     const llap_predictor p = llap_denoise_predictor(d);
 *     if (st == LLAP_OK) st = llap_sample(&opts, &list, extent, &p, &io, out);
 *     llap_denoise_destroy(d);
 *
 * Three kinds of plans (design.md): the table, for what depends on the step alone, or (the
 * unconditional pass) on step and query times, shared by all windows with the same query times; the
 * window, for what depends on step and window; the sample, for the rest. The first two run once per
 * step, and their results are inputs of the third; tables are kept for the next windows while there
 * is room. With whole, one plan does everything for every sample: the plain version that tests
 * compare with. */
#ifndef LLAP_MODEL_DENOISE_H
#define LLAP_MODEL_DENOISE_H

#include "model/sampler.h"

typedef struct llap_denoise llap_denoise; /* of one caller; parameters may be shared */

typedef struct llap_denoise_opts {
    llap_extent         extent;
    int64_t             S;       /* summary tokens; 0: no summary, the unconditional pass alone */
    llap_params_part    part;    /* the model's weights, or LLAP_PARAMS_EMA */
    const char         *prefix;  /* of the model's names in the store; NULL: none */
    const llap_backend *backend; /* of floats; parameters of another one are copied there */
    int                 n_threads;
    bool                guided; /* the unconditional pass is wanted too */
    bool                folded; /* neighbouring weights multiplied, spec 9.1 */
    bool                whole;
} llap_denoise_opts;

/* Borrows params until llap_denoise_destroy: they must not change meanwhile; caller owns *out. */
llap_status llap_denoise_create(const llap_denoiser_config *c, const llap_params *params,
                                const llap_denoise_opts *o, llap_denoise **out);
void        llap_denoise_destroy(llap_denoise *d); /* NULL is fine */

typedef struct llap_denoise_batch { /* borrowed until other ones are given */
    const float *tq;                /* [B,h] query offsets */
    const float *E, *E_raw;         /* [B,S,H] summaries; NULL without */
    /* with the stream of tokens; NULL: none, no padding */
    const float *f;     /* [B,h,F] */
    const float *pad;   /* [B,h] */
    const float *E_pad; /* [B,S] */
} llap_denoise_batch;

llap_status llap_denoise_windows(llap_denoise *d, const llap_denoise_batch *w);

/* Frees the tables, not the plans: the next windows cost what the first did. */
void llap_denoise_forget(llap_denoise *d);

llap_predictor llap_denoise_predictor(llap_denoise *d); /* borrows d */

double llap_denoise_products(const llap_denoise *d); /* multiply-adds of products so far */
size_t llap_denoise_bytes(const llap_denoise *d);    /* of the plans' workspaces and of tables */

#endif
