/* A graph made ready to be used: plan, run, and a buffer for every input.
 *
 *     ll_session *n;
 *     st = ll_session_create(g, params, n_threads, &n);          borrows params
 *     fill(ll_session_real(n, "x"));                             [the input's shape], zero at first
 *     if (st == LLAP_OK) st = ll_session_run(n);
 *     loss = ll_session_number(n, "loss");
 *     ll_session_destroy(n);
 *
 * It computes where the parameters are, else on the cpu. Trained by ll_nn_train, a step is
 * ll_session_step: it sets rate and number and lets dropout draw by that number. */
#ifndef LL_NN_SESSION_H
#define LL_NN_SESSION_H

#include "nn/async_results.h"
#include "nn/optim.h"
#include "nn/params.h"

typedef struct ll_session ll_session;

/* The graph is no longer needed afterwards. Caller owns *out. */
llap_status ll_session_create(const ll_graph *g, const ll_params *p, int n_threads,
                              ll_session **out);
void        ll_session_destroy(ll_session *n); /* NULL is fine */

/* Buffers of inputs; NULL where the plan has no use for the input. */
float   *ll_session_real(ll_session *n, const char *name);
int32_t *ll_session_int(ll_session *n, const char *name);
int64_t  ll_session_count(const ll_session *n, const char *name); /* of a real one; 0: none */

/* Inputs whose names begin so have no buffer: tables in the backend's memory, borrowed until the
 * net is destroyed. Nothing happens where the plan has no use for it. */
#define LL_SESSION_ROWS "rows."
llap_status ll_session_place(ll_session *n, const char *name, void *device_table);

llap_status  ll_session_run(ll_session *n);
const float *ll_session_output(const ll_session *n, const char *name); /* until the next run */
double       ll_session_number(const ll_session *n, const char *name); /* of one element */
size_t       ll_session_bytes(const ll_session *n);                    /* of its workspace */

/* One step of training, number step from 0. The net's graph went through ll_nn_train. */
llap_status ll_session_step(ll_session *n, ll_params *p, int64_t step, double lr, double *loss,
                            double *grad_norm);

/* Its two halves: on a GPU begin only hands the work over, and the inputs may then be filled anew.
 */
llap_status ll_session_begin(ll_session *n, ll_params *p, int64_t step, double lr);
void        ll_session_end(const ll_session *n, double *loss, double *grad_norm);
/* Instead of the second: what the step comes to is asked for later. */
llap_status ll_session_later(const ll_session *n, ll_async_results *a, int64_t step);

/* A net of a part of a batch, whose steps are made in micro-batches (nn/micro_batches.h): g is the
 * loss of such a part, without ll_nn_train. Fill the inputs and add, for each micro-batch, then
 * make the step. */
llap_status ll_session_create_micro_batch(ll_graph *g, ll_tensor *loss, const ll_train_attr *attr,
                                          const ll_params *p, int n_threads, ll_session **out);
llap_status ll_session_add_micro_batch(ll_session *n, ll_params *p, int64_t step,
                                       int64_t micro_batch, double share);
llap_status ll_session_finish_step(ll_session *n, int64_t step, double lr, double *loss,
                                   double *grad_norm);

/* What is not finite: the first such input, or what nn/non_finite.h finds in g, the loss alone, on
 * the same inputs. text gets "input 'x' ..." or "gradient of 'a.weight' ..."; it is left alone
 * where nothing is found. */
llap_status ll_session_find_non_finite(ll_session *n, ll_graph *g, ll_tensor *loss, ll_params *p,
                                       char *text, size_t size);

#endif
