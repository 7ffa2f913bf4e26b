/* What both ways to sample (diffusion/denoiser_steps.h, diffusion/denoiser_loop.h) need: a check of
 * the options, plans with their runs, and the weights of a denoiser where it computes. Inside
 * model/ only.
 *
 *     ll_prepared_denoiser_weights w = ll_prepared_denoiser_weights_of(params, &opts);
 *     st = ll_prepared_denoiser_fold(&w, g);                  where the graph has folded weights
 *     if (st == LLAP_OK) st = ll_prepared_denoiser_bind(&w, &ready, NULL);
 *     ll_prepared_denoiser_weights_deinit(&w); */
#ifndef LL_DIFFUSION_PREPARED_DENOISER_PARTS_H
#define LL_DIFFUSION_PREPARED_DENOISER_PARTS_H

#include "diffusion/prepared_denoiser.h"
#include "diffusion/weight_copies.h"

typedef struct ll_ready { /* a plan with its run */
    ll_plan *plan;
    ll_run  *run;
} ll_ready;

/* *r keeps what was made, also after a failure. The backend is the options'. */
llap_status ll_ready_init(ll_ready *r, const ll_graph *g, const ll_plan_opts *o);
void        ll_ready_deinit(ll_ready *r); /* { 0 } is fine */

typedef struct ll_prepared_denoiser_weights {
    const ll_params  *params;
    ll_params_part    part;
    const char       *prefix; /* "": none */
    const ll_backend *backend;
    ll_params        *folds;   /* NULL: none */
    ll_weight_copies *brought; /* copies of parameters that lie elsewhere, or are bf16 */
} ll_prepared_denoiser_weights;

ll_prepared_denoiser_weights
     ll_prepared_denoiser_weights_of(const ll_params                 *params,
                                     const ll_prepared_denoiser_opts *o); /* borrows both */
void ll_prepared_denoiser_weights_deinit(ll_prepared_denoiser_weights *w);

/* Makes the folded weights of a graph, its states whose names have "fold.", unless they are there.
 */
llap_status ll_prepared_denoiser_fold(ll_prepared_denoiser_weights *w, const ll_graph *g);

/* Binds parameters and states: folded, of the chosen part, or the model's; those named in `except`
 * (closed by NULL; or NULL) are the caller's. */
llap_status ll_prepared_denoiser_bind(ll_prepared_denoiser_weights *w, ll_ready *r,
                                      const char *const *except);

/* Extent and backend fit the denoiser. */
llap_status ll_prepared_denoiser_check(const ll_denoiser_config        *c,
                                       const ll_prepared_denoiser_opts *o);

#endif
