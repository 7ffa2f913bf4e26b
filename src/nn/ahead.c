#include "nn/ahead.h"

#include "backend/near.h"

llap_status llap_ahead_init(llap_ahead *a, const llap_backend *backend)
{
    void             *near = NULL;
    const llap_status st = llap_near_alloc(backend, 2 * LLAP_AHEAD * sizeof *a->near, &near);
    *a = (llap_ahead){ .backend = backend, .near = near };
    return st;
}

void llap_ahead_deinit(llap_ahead *a)
{
    if (a->near != NULL) llap_near_release(a->backend, a->near);
    a->near = NULL;
}

llap_status llap_ahead_put(llap_ahead *a, int64_t step, const void *near_loss,
                           const void *near_norm)
{
    float      *at = a->near + 2 * (step % LLAP_AHEAD);
    llap_status st = llap_near_copy(a->backend, at, near_loss, sizeof *at);
    return st == LLAP_OK ? llap_near_copy(a->backend, at + 1, near_norm, sizeof *at) : st;
}

llap_status llap_ahead_get(llap_ahead *a, int64_t first, int64_t n, double *loss, double *norm)
{
    float             all[2 * LLAP_AHEAD];
    const llap_status st = llap_near_get(a->backend, all, a->near, sizeof all);
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        const float *at = all + 2 * ((first + i) % LLAP_AHEAD);
        loss[i] = (double)at[0];
        norm[i] = (double)at[1];
    }
    return st;
}
