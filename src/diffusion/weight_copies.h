/* Copies of parameters where another backend computes, or as bf16; each is made once.
 *
 *     ll_weight_copies *all = NULL;
 *     st = ll_weight_copies_get(&all, backend, params, p, false, &device_data);
 *     if (st == LLAP_OK) st = ll_run_bind_device(run, p->name, device_data, p->count);
 *     ll_weight_copies_release(all, backend); */
#ifndef LL_DIFFUSION_WEIGHT_COPIES_H
#define LL_DIFFUSION_WEIGHT_COPIES_H

#include "nn/params.h"

typedef struct ll_weight_copies ll_weight_copies; /* a list; NULL: none */

/* *device_data is a copy of p, which is of the store home, for as long as *all is; half: rounded to
 * bf16.
 */
llap_status ll_weight_copies_get(ll_weight_copies **all, const ll_backend *to,
                                 const ll_params *home, const ll_param_info *p, bool half,
                                 void **device_data);
void        ll_weight_copies_release(ll_weight_copies *all, const ll_backend *to);

#endif
