/* The denoiser as a predictor that ll_sample (diffusion/sampler.h) asks step by step, on any
 * backend: one of the two ways of diffusion/prepared_denoiser.h.
 *
 *     ll_denoiser_steps *d;
 *     st = ll_denoiser_steps_create(&cfg, params, &opts, &d);
 *     if (st == LLAP_OK) st = ll_denoiser_steps_windows(d, &windows);
 *     const ll_predictor p = ll_denoiser_steps_predictor(d);
 *     if (st == LLAP_OK) st = ll_sample(&opts.sampler, &list, opts.extent, &p, &io, out);
 *     ll_denoiser_steps_destroy(d);
 *
 * Three kinds of plans (docs/spec/model.md 9.1): the table, for what depends on the step alone, or
 * (the unconditional pass) on step and query times, shared by all windows with the same query
 * times; the window, for what depends on step and window; the sample, for the rest. The first two
 * run once per step, and their results are inputs of the third; tables are kept for the next
 * windows while there is room. With whole, one plan does everything for every sample: the plain
 * version that tests compare with. */
#ifndef LL_DIFFUSION_DENOISER_STEPS_H
#define LL_DIFFUSION_DENOISER_STEPS_H

#include "diffusion/prepared_denoiser.h"

typedef struct ll_denoiser_steps ll_denoiser_steps; /* of one caller; parameters may be shared */

/* Borrows params until ll_denoiser_steps_destroy: they must not change meanwhile; caller owns *out.
 */
llap_status ll_denoiser_steps_create(const ll_denoiser_config *c, const ll_params *params,
                                     const ll_prepared_denoiser_opts *o, ll_denoiser_steps **out);
void        ll_denoiser_steps_destroy(ll_denoiser_steps *d); /* NULL is fine */

/* What the next samples are of. */
llap_status ll_denoiser_steps_windows(ll_denoiser_steps *d, const ll_prepared_denoiser_batch *w);

/* Frees the tables, not the plans: the next windows cost what the first did. */
void ll_denoiser_steps_forget(ll_denoiser_steps *d);

ll_predictor ll_denoiser_steps_predictor(ll_denoiser_steps *d); /* borrows d */

double
ll_denoiser_steps_products(const ll_denoiser_steps *d); /* multiply-adds of products so far */
size_t
ll_denoiser_steps_bytes(const ll_denoiser_steps *d); /* of the plans' workspaces and of tables */

#endif
