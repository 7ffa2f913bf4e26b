/* Who counts how much: weights of members whose quantiles are averaged, from answers out of fold.
 */
#ifndef LL_STACK_POOL_H
#define LL_STACK_POOL_H

#include "stack/crps.h"

#include <llapdiff/status.h>
#include <stdint.h>

enum { LL_STACK_POOL_MAX = 8 };

typedef struct ll_stack_answers { /* all borrowed */
    int64_t       n, members;
    const double *fine;  /* [n,members,LL_STACK_FINE] quantiles */
    const double *truth; /* [n] */
    const double *unit;  /* [n] what a CRPS of 1 counts */
} ll_stack_answers;

/* Mean of unit x CRPS of the average by these weights. */
double ll_stack_pool_score(const ll_stack_answers *a, const double *weight);

/* Weights >= 0 of sum 1 with the least score, in units of the first member's, plus shrink times the
 * squared distance from equal weights. The same for any number of threads. */
void ll_stack_pool(const ll_stack_answers *a, double shrink, double *weight);

#endif
