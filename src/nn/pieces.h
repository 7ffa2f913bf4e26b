/* A training step whose batch does not fit into a backend's memory: gradients of pieces of it are
 * added up, then the step is made.
 *
 *     llap_pieces *p;
 *     st = llap_pieces_create(g, loss, &LLAP_TRAIN_DEFAULT, params, &plan_opts, &p);   g: one piece
 *     llap_run *r = llap_pieces_run(p);                  bind the piece's inputs there, by name
 *     for (i = 0; i < n; i++) st = llap_pieces_add(p, i == 0, share[i]);
 *     st = llap_pieces_step(p, lr, step, &loss, &norm);
 *
 * share is what the piece's loss counts for: those of a batch add up to 1 where its loss is the
 * mean of theirs. The result is that of the whole batch but for rounding and for what dropout
 * draws; states such as the vectors of spectral norms move on once, with the last piece. */
#ifndef LLAP_NN_PIECES_H
#define LLAP_NN_PIECES_H

#include "nn/optim.h"
#include "nn/params.h"

typedef struct llap_pieces llap_pieces;

/* g: the graph of one piece's loss, without llap_nn_train; it is added to. params has what training
 * the whole needs and is borrowed until destroyed. Caller owns *out. */
llap_status llap_pieces_create(llap_graph *g, llap_tensor *loss, const llap_train_attr *attr,
                               const llap_params *params, const llap_plan_opts *how,
                               llap_pieces **out);
void        llap_pieces_destroy(llap_pieces *p); /* NULL is fine */

llap_run        *llap_pieces_run(llap_pieces *p);
const llap_plan *llap_pieces_plan(const llap_pieces *p); /* of it; inputs "sum." are bound */

/* Adds the gradients of what is bound; first: to nothing. */
llap_status llap_pieces_add(llap_pieces *p, bool first, double share);

/* Makes step number `step`, from 1, with what was added. loss NULL: nobody waits. */
llap_status llap_pieces_step(llap_pieces *p, double lr, int64_t step, double *loss, double *norm);
/* Where they will be, in near memory. */
const void *llap_pieces_loss(const llap_pieces *p);
const void *llap_pieces_norm(const llap_pieces *p);

#endif
