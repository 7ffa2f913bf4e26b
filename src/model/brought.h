/* Copies of parameters where another backend computes, or as bf16; each is made once.
 *
 *     llap_brought *all = NULL;
 *     st = llap_bring(&all, backend, params, p, false, &near);
 *     if (st == LLAP_OK) st = llap_run_bind_near(run, p->name, near, p->count);
 *     llap_brought_release(all, backend); */
#ifndef LLAP_MODEL_BROUGHT_H
#define LLAP_MODEL_BROUGHT_H

#include "nn/params.h"

typedef struct llap_brought llap_brought; /* a list; NULL: none */

/* *near is a copy of p, which is of the store home, for as long as *all is; half: rounded to bf16.
 */
llap_status llap_bring(llap_brought **all, const llap_backend *to, const llap_params *home,
                       const llap_param_info *p, bool half, void **near);
void        llap_brought_release(llap_brought *all, const llap_backend *to);

#endif
