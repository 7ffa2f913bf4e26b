/* Members of a stack that other ranks have trained. */
#ifndef LL_TRAIN_STACK_RANKS_H
#define LL_TRAIN_STACK_RANKS_H

#include "ranks/ranks.h"
#include "train/stack/set.h"

/* Brings each member, which its owner has trained, to all ranks, with its numbers of every row and
 * input: moves [kinds,rows,levels], without [kinds,inputs]. r may be NULL: nothing to do. */
llap_status ll_stack_share_out(const ll_ranks *r, ll_stack_set *f, double *moves, double *without);

#endif
