/* Do the diffusion networks of a model belong to its stack? (docs/spec/stack.md 6) */
#ifndef LL_TRAIN_STACK_DIFFUSION_H
#define LL_TRAIN_STACK_DIFFUSION_H

#include "train/stack/set.h"

#include <llapdiff/model.h>

/* Gives the networks m->network, which learnt from the training part alone, their weight beside the
 * quantile networks of m->stack, judged on validation, where the latter answer out of fold; and
 * decides whose order paths have. Networks that have neither go. backend: where they draw. */
llap_status ll_train_stack_diffusion(llap_model *m, const llap_panel *p, const int64_t *var,
                                     const ll_stack_folds *folds, const llap_train_opts *o,
                                     const ll_backend *backend);

/* What decides about the weight, of n values of validation in order of time: fine
 * [n,2,LL_STACK_FINE] are quantiles of the others and of the diffusion networks. The weight found
 * on either half of the values must gain on the other, LEAST of the CRPS on average; the smaller
 * one is taken, else 0. gain [2]: what each gained on the other half. */
double ll_stack_diffusion_weight(int64_t n, const double *fine, const double *truth,
                                 const double *unit, double gain[2]);

#endif
