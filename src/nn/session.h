/* A net: a graph made runnable, with plan, run, and a buffer for every input.
 *
 *     ll_session *n;
 *     st = ll_session_create(g, params, backend, n_threads, &n);     borrows params
 *     fill(ll_session_real(n, "x"));                             [the input's shape], zero at first
 *     if (st == LLAP_OK) st = ll_session_run(n);
 *     loss = ll_session_number(n, "loss");
 *     ll_session_destroy(n);
 *
 * Parameters are bound where they lie, in the backend's memory or here. Trained by ll_nn_train, a
 * step is ll_session_begin and ll_session_end: it sets rate and number and lets dropout draw by
 * that number; nn/loss_trainer.h makes them. */
#ifndef LL_NN_SESSION_H
#define LL_NN_SESSION_H

#include "nn/async_results.h"
#include "nn/optim.h"
#include "nn/params.h"

typedef struct ll_session ll_session;

/* The graph is no longer needed afterwards. Caller owns *out. */
llap_status ll_session_create(const ll_graph *g, const ll_params *p, const ll_backend *backend,
                              int n_threads, ll_session **out);
void        ll_session_destroy(ll_session *n); /* NULL is fine */

/* Buffers of inputs; NULL where the plan has no use for the input. */
float   *ll_session_real(ll_session *n, const char *name);
int32_t *ll_session_int(ll_session *n, const char *name);
void     ll_session_clear(ll_session *n);                         /* all of them become zeros */
int64_t  ll_session_count(const ll_session *n, const char *name); /* of a real one; 0: none */

/* Inputs whose names begin so have no buffer: tables in the backend's memory, borrowed until the
 * net is destroyed. Nothing happens where the plan has no use for it. */
#define LL_SESSION_ROWS "rows."
llap_status ll_session_place(ll_session *n, const char *name, void *device_table);

llap_status  ll_session_run(ll_session *n);
const float *ll_session_output(const ll_session *n, const char *name); /* until the next run */
double       ll_session_number(const ll_session *n, const char *name); /* of one element */

/* One step of training, number step from 0, in two halves: on a GPU begin only hands the work over,
 * and the inputs may then be filled anew. The net's graph went through ll_nn_train. */
llap_status ll_session_begin(ll_session *n, ll_params *p, int64_t step, double lr);
void        ll_session_end(const ll_session *n, double *loss, double *grad_norm);
/* Instead of the second: what the step comes to is asked for later. */
llap_status ll_session_later(const ll_session *n, ll_async_results *a, int64_t step);

/* A net of a part of a batch, whose steps are made in micro-batches (nn/micro_batches.h): g is the
 * loss of such a part, without ll_nn_train. Fill the inputs and add, for each micro-batch, then
 * make the step. */
llap_status ll_session_create_part(ll_graph *g, ll_tensor *loss, const ll_train_attr *attr,
                                   const ll_params *p, int n_threads, ll_session **out);
typedef struct ll_session_micro {
    int64_t number;       /* of the micro-batch in its batch */
    bool    first, fresh; /* of the step, here; its gradients are added to nothing */
    double  share;        /* what its loss counts for */
} ll_session_micro;
llap_status ll_session_add(ll_session *n, ll_params *p, int64_t step, const ll_session_micro *m);
/* What was added so far, as ll_micro_batches_sums. */
float      *ll_session_sums(ll_session *n, size_t *count);
llap_status ll_session_added(ll_session *n, int64_t step, double lr, double *loss,
                             double *grad_norm);

/* The first input of reals that is not all finite; NULL: there is none. */
const char *ll_session_bad_input(const ll_session *n);
bool        ll_nn_finite(const float *x, int64_t n); /* all of them */

/* What dropout draws by, number `step` from 0 and the micro-batch of its batch: of parameters that
 * nets train. ll_session_begin and ll_session_add say it themselves. */
llap_status ll_session_random(ll_params *p, int64_t step, int64_t micro_batch);

#endif
