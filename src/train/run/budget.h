/* The option `budget`: how long a training may take here, and what is left out so that it does not
 * take longer. What was measured decides here alone: what is then trained is the same as with
 * options that say so, which the log and the model name, and the state keeps it for `resume`. */
#ifndef LL_TRAIN_RUN_BUDGET_H
#define LL_TRAIN_RUN_BUDGET_H

#include "train/run/run.h"

#include <llapdiff/model.h>

/* Networks, all alike, and the steps of each. */
typedef struct ll_work {
    int64_t networks, steps; /* 0: none are trained */
} ll_work;

/* Seconds that it takes. */
typedef struct ll_work_cost {
    double step, checks; /* of a network: a step; all its checks */
    double rest;         /* what comes after all networks */
} ll_work_cost;

double ll_work_seconds(ll_work w, const ll_work_cost *c);

/* What may be less than asked for. */
typedef struct ll_work_less {
    bool networks, steps;
} ll_work_less;

/* What fits into `left` seconds: as asked; else fewer networks, down to one; then half the steps,
 * then a quarter; else none. */
ll_work ll_work_that_fits(ll_work asked, ll_work_less less, const ll_work_cost *c, double left);

/* What is to be settled once: before networks train, and after a few steps of them. */
typedef struct ll_work_question {
    const char  *name; /* "stack" */
    ll_work      asked;
    ll_work_less less;
    bool         of_stack; /* seeds of a fold, not members */
    const char  *without;  /* what there is without them */
} ll_work_question;

/* Has it been settled by an earlier run? */
bool ll_work_settled(const ll_training_run *run, const char *name, ll_work *w);
/* Settles it, and says what will be trained, how long it takes, and what there is without. Where
 * the caller gave no budget it is as asked, and more than ten minutes are a warning. */
llap_status ll_work_settle(ll_training_run *run, const llap_train_opts *o,
                           const ll_work_question *q, const ll_work_cost *c, ll_work *w);

/* Seconds of the option; 0: none was given. LLAP_EOPTION. */
llap_status ll_budget_seconds(const llap_train_opts *o, double *seconds);

#endif
