/* Which tensor it was, after a step of training that came out not finite.
 *
 *     const llap_blame b = { .graph = g,          the loss of that step, described anew
 *                            .loss = loss,
 *                            .params = params,
 *                            .how = &plan_opts,
 *                            .bind = bind_inputs, .user = batch };
 *     st = llap_nn_blame(&b, text, sizeof text);
 *     text                                        "gradient of 'a.weight' is not finite"
 *                                                 "the norm of the gradients is not finite (the
 *                                                  largest, 3e+21, is of 'a.weight')"
 *
 * Runs the loss with the gradient of every parameter on the same inputs; slow, and for bad days
 * only. */
#ifndef LLAP_NN_BLAME_H
#define LLAP_NN_BLAME_H

#include "nn/params.h"

typedef struct llap_blame {
    llap_graph           *graph; /* the loss alone, as the step had it; it is added to */
    llap_tensor          *loss;
    llap_params          *params;
    const llap_plan_opts *how;
    int64_t               n_pieces; /* that the batch went in; 0 is one */
    llap_status (*bind)(void *user, llap_run *run, int64_t piece); /* the inputs, by name */
    void *user;
} llap_blame;

/* text names the first parameter that is not finite, else the loss, the first gradient that is not,
 * or both, else the norm of all gradients where their squares are too large for it. Where all is
 * well it is left alone, as the store's states are. */
llap_status llap_nn_blame(const llap_blame *b, char *text, size_t size);

bool llap_nn_finite(const float *x, int64_t n); /* all of them */

#endif
