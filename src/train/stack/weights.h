/* Who answers with which weight (docs/spec/stack.md 5). */
#ifndef LL_TRAIN_STACK_WEIGHTS_H
#define LL_TRAIN_STACK_WEIGHTS_H

#include "train/stack/set.h"

/* Where the anchor is a random walk, others answer only if they gain more than so many standard
 * errors in the last block of time, which neither they nor their weights have seen. */
#define LL_STACK_WALK_ERRORS 3.0

/* Weights and scores of f->stack by answers out of fold, moves [LL_STACK_KINDS,f->n,levels], and a
 * note of them. */
llap_status ll_stack_settle(ll_stack_set *f, const double *moves, double shrink,
                            const llap_log *log);

#endif
