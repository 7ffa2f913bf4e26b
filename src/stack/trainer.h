/* Training the networks of one member. Networks number f seeds .. f seeds + seeds - 1 learn from
 * the rows of fold f and answer about those that were held back from it.
 *
 *     ll_stack_trainer *t;
 *     st = ll_stack_trainer_create(&rows, &how, &t);
 *     for (step = 0; step < n && st == LLAP_OK; step++)
 *         st = ll_stack_trainer_step(t, step, &loss, &norm);
 *     if (st == LLAP_OK) st = ll_stack_trainer_answers(t, quantile);       out of fold
 *     ll_stack_trainer_destroy(t);
 *
 * A step is a function of the parameters, the seed and its number alone, for any number of
 * threads. */
#ifndef LL_STACK_TRAINER_H
#define LL_STACK_TRAINER_H

#include "stack/networks.h"

typedef struct ll_stack_fold {
    int64_t        n_learn, n_held;
    const int32_t *learn, *held; /* numbers of rows */
} ll_stack_fold;

typedef struct ll_stack_rows { /* all borrowed */
    int64_t              n, width;
    const float         *x;     /* [n,width] */
    const float         *y;     /* [n,2]: what is to be met, and its weight */
    const double        *start; /* [LL_STACK_LEVELS] quantiles that the networks begin with */
    int64_t              folds, seeds;
    const ll_stack_fold *fold; /* [folds] each with rows to learn from */
} ll_stack_rows;

typedef struct ll_stack_how {
    int64_t           hidden, batch;
    double            drop_in, drop_hidden, lr, weight_decay;
    uint64_t          seed;
    const ll_backend *backend;
    int               n_threads;
} ll_stack_how;

typedef struct ll_stack_trainer ll_stack_trainer;

/* Borrows what rows point to. Caller owns *out. */
llap_status ll_stack_trainer_create(const ll_stack_rows *rows, const ll_stack_how *how,
                                    ll_stack_trainer **out);
void        ll_stack_trainer_destroy(ll_stack_trainer *t); /* NULL is fine */

/* Weights as before the first step. */
llap_status    ll_stack_trainer_start(ll_stack_trainer *t);
ll_params     *ll_stack_trainer_params(ll_stack_trainer *t); /* borrowed */
ll_stack_shape ll_stack_trainer_shape(const ll_stack_trainer *t);

/* Step number `step`, from 0; the loss is the mean of the networks'. */
llap_status ll_stack_trainer_step(ll_stack_trainer *t, int64_t step, double *loss, double *norm);

/* Of every row the mean of the sorted quantiles of the networks that did not learn from its fold,
 * less the start quantiles, by the averaged weights: quantile [n,LL_STACK_LEVELS]. Rows that were
 * held back by no fold stay as they are. */
llap_status ll_stack_trainer_answers(ll_stack_trainer *t, double *quantile);

/* The rows' x has changed: answers from here on are about what it is now. */
llap_status ll_stack_trainer_renew(ll_stack_trainer *t);

/* Adds to sum [LL_STACK_LEVELS] the sorted quantiles start + z, less start. */
void ll_stack_add_sorted(const double *start, const float *z, double *sum);

#endif
