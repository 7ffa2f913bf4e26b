/* Runs of AdamW in a plan: steps with the same numbers, each with the average of its weights behind
 * it where there is one, that a backend can do in one pass. */
#ifndef LL_BACKEND_ADAMW_H
#define LL_BACKEND_ADAMW_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/backend.h"

typedef struct ll_adamw_item { /* p, m and v are changed in place, and the average */
    float       *p, *m, *v;
    float       *average; /* or NULL */
    const float *grad;
    int64_t      count;
} ll_adamw_item;

typedef struct ll_adamw_run {
    const ll_call *first;
    bool           averages;   /* there has been one: */
    float          keep, move; /* average += keep (p - average) + move */
} ll_adamw_run;

/* The next of the run from the n calls at c on; says how many of them it is: 0 where they are not
 * of the run or not in place. None of a run reads what another one writes. */
int ll_adamw_next(ll_adamw_run *r, const ll_call *c, int n, ll_adamw_item *out);

#ifdef __cplusplus
}
#endif

#endif
