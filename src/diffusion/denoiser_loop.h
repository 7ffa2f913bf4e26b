/* The whole reverse loop as plans, for backends with memory of their own: nothing leaves it between
 * the first noise and the samples, and from the second call on the loop is one recording.
 *
 *     ll_denoiser_loop *s;
 *     st = ll_denoiser_loop_create(&cfg, params, &opts, &list, &s);
 *     if (st == LLAP_OK) st = ll_denoiser_loop_sample(s, &windows, &io, out);  [B,R,h,Z]
 *     ll_denoiser_loop_destroy(s);
 *
 * One of the two ways of diffusion/prepared_denoiser.h. It computes what ll_sample
 * (diffusion/sampler.h) does with the predictor of diffusion/denoiser_steps.h, with the same draws,
 * up to the order of sums. What the samples of a window share is computed for all steps at once,
 * steps being rows; everything that depends on the step alone is in a table. */
#ifndef LL_DIFFUSION_DENOISER_LOOP_H
#define LL_DIFFUSION_DENOISER_LOOP_H

#include "diffusion/prepared_denoiser.h"

typedef struct ll_denoiser_loop ll_denoiser_loop; /* of one caller; parameters may be shared */

/* false: eta, thresholds and UniPC, which only ll_sample does. */
bool ll_denoiser_loop_takes(const ll_sampler_opts *o);

/* Copies list; borrows params until ll_denoiser_loop_destroy; caller owns
 * *out. LLAP_EUNSUPPORTED: a sampler that it does not take. */
llap_status ll_denoiser_loop_create(const ll_denoiser_config *c, const ll_params *params,
                                    const ll_prepared_denoiser_opts *o, const ll_points *list,
                                    ll_denoiser_loop **out);
void        ll_denoiser_loop_destroy(ll_denoiser_loop *s); /* NULL is fine */

/* Borrows everything until return. LLAP_EUNSUPPORTED: watching, and inpainting where the options
 * did not say so. LLAP_ENUMERIC: a sample is not finite. */
llap_status ll_denoiser_loop_sample(ll_denoiser_loop *s, const ll_prepared_denoiser_batch *w,
                                    const ll_sample_io *io, float *out);

/* Of one whole sampling: kernels, multiply-adds of matrix products; bytes of workspaces. */
double ll_denoiser_loop_products(const ll_denoiser_loop *s);
size_t ll_denoiser_loop_bytes(const ll_denoiser_loop *s);

#endif
