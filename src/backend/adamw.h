/* Runs of AdamW in a plan: steps with the same numbers, each with the average of its weights behind
 * it where there is one, that a backend can do in one pass. */
#ifndef LLAP_BACKEND_ADAMW_H
#define LLAP_BACKEND_ADAMW_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/backend.h"

typedef struct llap_adamw_item { /* p, m and v are changed in place, and the average */
    float       *p, *m, *v;
    float       *average; /* or NULL */
    const float *grad;
    int64_t      count;
} llap_adamw_item;

typedef struct llap_adamw_run {
    const llap_call *first;
    bool             averages;   /* there has been one: */
    float            keep, move; /* average += keep (p - average) + move */
} llap_adamw_run;

/* The next of the run from the n calls at c on; says how many of them it is: 0 where they are not
 * of the run or not in place. None of a run reads what another one writes. */
int llap_adamw_next(llap_adamw_run *r, const llap_call *c, int n, llap_adamw_item *out);

#ifdef __cplusplus
}
#endif

#endif
