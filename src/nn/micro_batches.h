/* A training step whose batch does not fit into a backend's memory: gradients of micro-batches of
 * it are added up, then the step is made.
 *
 *     ll_micro_batches *p;
 *     st = ll_micro_batches_create(g, loss, &LL_TRAIN_DEFAULT, params, &plan_opts, &p);
 *     ll_run *r = ll_micro_batches_run(p);               bind the inputs of a micro-batch there
 *     for (i = 0; i < n; i++) st = ll_micro_batches_add(p, i == 0, i == 0, share[i]);
 *     st = ll_micro_batches_step(p, lr, step, &loss, &norm);
 *
 * g describes the loss of one micro-batch.
 *
 * share is what the micro-batch's loss counts for: those of a batch add up to 1 where its loss is
 * the mean of theirs. The result is that of the whole batch but for rounding and for what dropout
 * draws; states such as the vectors of spectral norms move on once, with the last micro-batch. */
#ifndef LL_NN_MICRO_BATCHES_H
#define LL_NN_MICRO_BATCHES_H

#include "nn/optim.h"
#include "nn/params.h"

typedef struct ll_micro_batches ll_micro_batches;

/* g: the graph of one micro-batch's loss, without ll_nn_train; it is added to. params has what
 * training the whole needs and is borrowed until destroyed. Caller owns *out. */
llap_status ll_micro_batches_create(ll_graph *g, ll_tensor *loss, const ll_train_attr *attr,
                                    const ll_params *params, const ll_plan_opts *how,
                                    ll_micro_batches **out);
void        ll_micro_batches_destroy(ll_micro_batches *p); /* NULL is fine */

ll_run *ll_micro_batches_run(ll_micro_batches *p);
const ll_plan *
ll_micro_batches_plan(const ll_micro_batches *p); /* of it; inputs "sum." are bound */

/* Adds the gradients of what is bound to those before; fresh: to nothing. first: of a step, which
 * also begins fresh. */
llap_status ll_micro_batches_add(ll_micro_batches *p, bool first, bool fresh, double share);

/* What was added, loss and gradients, [*n] in device memory: whoever adds them up in an order of
 * his own puts the sum there before the step. */
float *ll_micro_batches_sums(ll_micro_batches *p, size_t *n);

/* Makes step number `step`, from 1, with what was added. loss NULL: nobody waits. */
llap_status ll_micro_batches_step(ll_micro_batches *p, double lr, int64_t step, double *loss,
                                  double *norm);
/* Where they will be, in device memory. */
const void *ll_micro_batches_loss(const ll_micro_batches *p);
const void *ll_micro_batches_norm(const ll_micro_batches *p);

#endif
