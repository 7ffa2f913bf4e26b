/* src/train/stack: quantile networks around the anchors of a model (docs/spec/stack.md): members
 * in folds of time, the pool's weights from their answers out of fold.
 *
 *   stack.h      this file: all of it
 *   inputs.h     the columns that networks look at
 *   set.h        the rows that they learn from
 *   weights.h    who answers with which weight
 *   diffusion.h  do diffusion networks belong to them?
 *   ranks.h      members shared out to several processes
 *
 * May touch: ranks, base, base/time, base/rng, backend/cpu, data, anchor, anchor/chain, stack,
 * model, predict, predict/view, score, train/run. */
#ifndef LL_TRAIN_STACK_STACK_H
#define LL_TRAIN_STACK_STACK_H

#include "train/run/run.h"
#include "train/stack/set.h"

/* Gives the model its stack: m->stack. statics [columns] of the panel's entities, as it was trained
 * with. Where the data is too short for folds, or the pool is no
 * better than the anchor, it is one in which the anchor answers, and the log says so. folds: which
 * of its networks answer out of fold. What the budget leaves of seeds and steps is written to how;
 * where nothing is, m->stack stays NULL. */
llap_status ll_train_stack(llap_model *m, ll_training_run *run, const llap_panel *p,
                           const int64_t *var, const ll_static_column *statics,
                           const llap_train_opts *o, ll_recipe_stack *how,
                           const ll_backend *backend, ll_stack_folds *folds);

#endif
