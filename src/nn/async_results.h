/* Async results: losses and gradient norms of training steps that are queued on a device and not
 * waited for. They stay in device memory until they are asked for.
 *
 *     ll_async_results a;
 *     st = ll_async_results_init(&a, backend);
 *     st = ll_async_results_put(&a, step, device_loss, device_norm);   after each step
 *     st = ll_async_results_get(&a, first, n, loss, norm);             waits once, for all of them
 *     ll_async_results_deinit(&a);
 *
 * At most LL_ASYNC_RESULTS steps may be queued before they are asked for. */
#ifndef LL_NN_ASYNC_RESULTS_H
#define LL_NN_ASYNC_RESULTS_H

#include "backend/backend.h"

enum { LL_ASYNC_RESULTS = 32 }; /* the most steps that are not asked about */

typedef struct ll_async_results {
    const ll_backend *backend;
    float *device_data; /* [LL_ASYNC_RESULTS,2]: loss and norm of a step, by its number */
} ll_async_results;

llap_status ll_async_results_init(ll_async_results *a, const ll_backend *backend);
void        ll_async_results_deinit(ll_async_results *a); /* { 0 } is fine */

/* One float each, in device memory, as the work queued so far leaves them. */
llap_status ll_async_results_put(ll_async_results *a, int64_t step, const void *device_loss,
                                 const void *device_norm);

/* Of steps first .. first + n - 1, n <= LL_ASYNC_RESULTS; each [n]. */
llap_status ll_async_results_get(ll_async_results *a, int64_t first, int64_t n, double *loss,
                                 double *norm);

#endif
