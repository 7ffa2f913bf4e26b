/* What the stack is trained on: queries of training and validation whose truth is known, with the
 * anchor's law and the columns of each, and the folds.
 *
 *     ll_stack_set f;
 *     st = ll_stack_set_init(&f, m, p, &(ll_stack_set_opts){ .var = var, ... });
 *     ... f.stack is the stack to come, without members ...
 *     ll_stack_set_deinit(&f);                                  also after a failure */
#ifndef LL_TRAIN_STACK_SET_H
#define LL_TRAIN_STACK_SET_H

#include "predict/view/stack_view.h"
#include "stack/trainer.h"
#include "train/stack/inputs.h"

/* Which fold a query is of: blocks of origins, or of independent entities by their names. */
typedef struct ll_stack_folds {
    bool     by_entity;
    uint64_t seed;
    double   edge[LL_STACK_FOLDS + 1]; /* fold k has the origins from edge k to the next */
} ll_stack_folds;
int ll_stack_fold_of(const ll_stack_folds *f, const char *entity, double origin);

typedef struct ll_stack_set {
    int64_t        n;     /* rows */
    ll_stack      *stack; /* owned: layout, statistics, neighbours */
    ll_stack_view  view;
    ll_stack_raw  *raw; /* [n] */
    float         *x;   /* behind them */
    ll_law        *law; /* [n] */
    double        *y;   /* [n] truth, standardised; */
    double        *z;   /* its normal score under the anchor's law, within +-LL_STACK_CLIP */
    ll_stack_fold  fold[LL_STACK_FOLDS];
    int32_t       *rows; /* behind them */
    ll_stack_folds folds;
} ll_stack_set;
#define LL_STACK_CLIP 6.0

typedef struct ll_stack_set_opts {
    const int64_t       *var; /* [targets] of the panel */
    ll_stack_inputs_opts look;
    uint64_t             seed;
    int64_t              rows; /* at most */
    llap_progress        progress;
} ll_stack_set_opts;

llap_status ll_stack_set_init(ll_stack_set *f, const llap_model *m, const llap_panel *p,
                              const ll_stack_set_opts *o);
void        ll_stack_set_deinit(ll_stack_set *f); /* { 0 } is fine */

/* Is there enough to learn from in every fold? */
bool ll_stack_set_enough(const ll_stack_set *f);

/* The normal score of a standardised value under the law of row i: an ll_stack_score of the set. */
double ll_stack_set_score(const void *set, int64_t i, double value);

#endif
