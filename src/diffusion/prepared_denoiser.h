/* The denoiser made ready to sample: plans on a backend, bound to a model's parameters.
 *
 *     ll_prepared_denoiser_opts o = { .extent = { B, R, h, Z }, .S = 336, .folded = true };
 *     o.backend = &ll_backend_cpu;
 *     o.n_threads = 2;
 *     ll_prepared_denoiser *d;
 *     st = ll_prepared_denoiser_create(&cfg, params, &o, &d);
 *     if (st == LLAP_OK) st = ll_prepared_denoiser_windows(d, tq, E, E_raw);  [B,h], [B,S,H];
 * borrows const ll_predictor p = ll_prepared_denoiser_predictor(d); if (st == LLAP_OK) st =
 * ll_sample(&opts, &list, extent, &p, &io, out); ll_prepared_denoiser_destroy(d);
 *
 * Three kinds of plans (docs/spec/model.md 9.1): the table, for what depends on the step alone, or
 * (the unconditional pass) on step and query times, shared by all windows with the same query
 * times; the window, for what depends on step and window; the sample, for the rest. The first two
 * run once per step, and their results are inputs of the third; tables are kept for the next
 * windows while there is room. With whole, one plan does everything for every sample: the plain
 * version that tests compare with. */
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
    bool              guided; /* the unconditional pass is wanted too */
    bool              folded; /* neighbouring weights multiplied, docs/spec/model.md 9.1 */
    bool              whole;
} ll_prepared_denoiser_opts;

/* Borrows params until ll_prepared_denoiser_destroy: they must not change meanwhile; caller owns
 * *out.
 */
llap_status ll_prepared_denoiser_create(const ll_denoiser_config *c, const ll_params *params,
                                        const ll_prepared_denoiser_opts *o,
                                        ll_prepared_denoiser           **out);
void        ll_prepared_denoiser_destroy(ll_prepared_denoiser *d); /* NULL is fine */

typedef struct ll_prepared_denoiser_batch { /* borrowed until other ones are given */
    const float *tq;                        /* [B,h] query offsets */
    const float *E, *E_raw;                 /* [B,S,H] summaries; NULL without */
    /* with the stream of tokens; NULL: none, no padding */
    const float *f;     /* [B,h,F] */
    const float *pad;   /* [B,h] */
    const float *E_pad; /* [B,S] */
} ll_prepared_denoiser_batch;

llap_status ll_prepared_denoiser_windows(ll_prepared_denoiser             *d,
                                         const ll_prepared_denoiser_batch *w);

/* Frees the tables, not the plans: the next windows cost what the first did. */
void ll_prepared_denoiser_forget(ll_prepared_denoiser *d);

ll_predictor ll_prepared_denoiser_predictor(ll_prepared_denoiser *d); /* borrows d */

double
ll_prepared_denoiser_products(const ll_prepared_denoiser *d); /* multiply-adds of products so far */
size_t ll_prepared_denoiser_bytes(
    const ll_prepared_denoiser *d); /* of the plans' workspaces and of tables */

#endif
