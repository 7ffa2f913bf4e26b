/* A graph made ready to be used: plan, run, and a buffer for every input.
 *
 *     task_net *n;
 *     st = task_net_create(g, params, n_threads, &n);          borrows params
 *     fill(task_net_real(n, "x"));                             [the input's shape], zero at first
 *     if (st == LLAP_OK) st = task_net_run(n);
 *     loss = task_net_number(n, "loss");
 *     task_net_destroy(n);
 *
 * It computes where the parameters are, else on the cpu. Trained by llap_nn_train, a step is
 * task_net_step: it sets rate and number and lets dropout draw by that number. */
#ifndef LLAP_TASK_NET_H
#define LLAP_TASK_NET_H

#include "nn/ahead.h"
#include "nn/optim.h"
#include "nn/params.h"

typedef struct task_net task_net;

/* The graph is no longer needed afterwards. Caller owns *out. */
llap_status task_net_create(const llap_graph *g, const llap_params *p, int n_threads,
                            task_net **out);
void        task_net_destroy(task_net *n); /* NULL is fine */

/* Buffers of inputs; NULL where the plan has no use for the input. */
float   *task_net_real(task_net *n, const char *name);
int32_t *task_net_int(task_net *n, const char *name);
int64_t  task_net_count(const task_net *n, const char *name); /* of a real one; 0: none */

/* Inputs whose names begin so have no buffer: tables in the backend's memory, borrowed until the
 * net is destroyed. Nothing happens where the plan has no use for it. */
#define TASK_NET_ROWS "rows."
llap_status task_net_place(task_net *n, const char *name, void *near_table);

llap_status  task_net_run(task_net *n);
const float *task_net_output(const task_net *n, const char *name); /* until the next run */
double       task_net_number(const task_net *n, const char *name); /* of one element */
size_t       task_net_bytes(const task_net *n);                    /* of its workspace */

/* One step of training, number step from 0. The net's graph went through llap_nn_train. */
llap_status task_net_step(task_net *n, llap_params *p, int64_t step, double lr, double *loss,
                          double *grad_norm);

/* Its two halves: on a GPU begin only hands the work over, and the inputs may then be filled anew.
 */
llap_status task_net_begin(task_net *n, llap_params *p, int64_t step, double lr);
void        task_net_end(const task_net *n, double *loss, double *grad_norm);
/* Instead of the second: what the step comes to is asked for later. */
llap_status task_net_later(const task_net *n, llap_ahead *a, int64_t step);

/* A net of a part of a batch, whose steps are made in pieces (nn/pieces.h): g is the loss of such a
 * part, without llap_nn_train. Fill the inputs and add, for each piece, then make the step. */
llap_status task_net_create_part(llap_graph *g, llap_tensor *loss, const llap_train_attr *attr,
                                 const llap_params *p, int n_threads, task_net **out);
llap_status task_net_add(task_net *n, llap_params *p, int64_t step, int64_t piece, double share);
llap_status task_net_added(task_net *n, int64_t step, double lr, double *loss, double *grad_norm);

/* What is not finite: the first such input, or what nn/blame.h finds in g, the loss alone, on the
 * same inputs. text gets "input 'x' ..." or "gradient of 'a.weight' ..."; it is left alone where
 * nothing is found. */
llap_status task_net_blame(task_net *n, llap_graph *g, llap_tensor *loss, llap_params *p,
                           char *text, size_t size);

#endif
