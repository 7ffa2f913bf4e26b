/* Whether a series is left to a random walk: many periods decide, not the one of validation; not
 * for others. */
#ifndef LL_ANCHOR_WALK_CHOOSE_H
#define LL_ANCHOR_WALK_CHOOSE_H

#include "anchor/drift.h"

enum { WALK_RIVALS = 3, WALK_PERIODS = 8 };

/* Fits each of n attempts once more, on the first half of the time of training, and scores them on
 * WALK_PERIODS equal parts of all that follows, training and validation. a[0] is what validation
 * chose, the others are walks; `walks`: so is the first. *won: the first stays if it beats the best
 * walk in three quarters of the periods, and on the mean of them by more than the standard error;
 * a walk, unless another is better. Where there is too little to tell it stays. */
llap_status anchor_choose_walk(const ll_anchor_data *d, const ll_anchor_model_opts *o,
                               const anchor_attempt *a, size_t n, bool walks, int *won);

/* The verdict alone: score [n,WALK_PERIODS], NaN where a period has none. */
int anchor_walk_verdict(const double *score, size_t n, bool walks);

#endif
