/* Which tensor it was, after a step of training that came out not finite.
 *
 *     const ll_non_finite b = { .graph = g,          the loss of that step, described anew
 *                            .loss = loss,
 *                            .params = params,
 *                            .fill = fill_inputs, .user = batch };
 *     st = ll_nn_find_non_finite(&b, text, sizeof text);
 *     text                                        "gradient of 'a.weight' is not finite"
 *                                                 "the norm of the gradients is not finite (the
 *                                                  largest, 3e+21, is of 'a.weight')"
 *
 * Runs the loss with the gradient of every parameter on the same inputs; slow, and for bad days
 * only. */
#ifndef LL_NN_NON_FINITE_H
#define LL_NN_NON_FINITE_H

#include "nn/session.h"

typedef struct ll_non_finite {
    ll_graph  *graph; /* the loss alone, as the step had it; it is added to */
    ll_tensor *loss;
    ll_params *params;
    int        n_threads;
    int64_t    n_micro_batches; /* that the batch went in; 0 is one */
    llap_status (*fill)(void *user, ll_session *net, int64_t micro_batch); /* the inputs, by name */
    void *user;
} ll_non_finite;

/* text names the first input that is not finite, else the first parameter, else the loss, the first
 * gradient that is not, or both, else the norm of all gradients where their squares are too large
 * for it. Where all is well it is left alone, as the store's states are. */
llap_status ll_nn_find_non_finite(const ll_non_finite *b, char *text, size_t size);

#endif
