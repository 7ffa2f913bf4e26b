#include "nn/async_results.h"

#include "backend/device_memory.h"

#include <assert.h>

llap_status ll_async_results_init(ll_async_results *a, const ll_backend *backend)
{
    void             *device_data = NULL;
    const llap_status st =
        ll_device_alloc(backend, 2 * LL_ASYNC_RESULTS * sizeof *a->device_data, &device_data);
    *a = (ll_async_results){ .backend = backend, .device_data = device_data };
    return st;
}

void ll_async_results_deinit(ll_async_results *a)
{
    if (a->device_data != NULL) ll_device_release(a->backend, a->device_data);
    a->device_data = NULL;
}

llap_status ll_async_results_put(ll_async_results *a, int64_t step, const void *device_loss,
                                 const void *device_norm)
{
    assert(step >= 0 && device_loss != NULL && device_norm != NULL);
    float      *at = a->device_data + 2 * (step % LL_ASYNC_RESULTS);
    llap_status st = ll_device_copy(a->backend, at, device_loss, sizeof *at);
    return st == LLAP_OK ? ll_device_copy(a->backend, at + 1, device_norm, sizeof *at) : st;
}

llap_status ll_async_results_get(ll_async_results *a, int64_t first, int64_t n, double *loss,
                                 double *norm)
{
    assert(first >= 0 && n <= LL_ASYNC_RESULTS);
    float             all[2 * LL_ASYNC_RESULTS];
    const llap_status st = ll_device_get(a->backend, all, a->device_data, sizeof all);
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        const float *at = all + 2 * ((first + i) % LL_ASYNC_RESULTS);
        loss[i] = (double)at[0];
        norm[i] = (double)at[1];
    }
    return st;
}
