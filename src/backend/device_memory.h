/* Device memory: the backend's own where it has some (a GPU), else the caller's. Code written with
 * these runs on every backend.
 *
 *     void *x;
 *     st = ll_device_alloc(backend, n_bytes, &x);
 *     if (st == LLAP_OK) st = ll_device_put(backend, x, host, n_bytes);
 *     ll_device_release(backend, x);
 *
 * Each reports what went wrong as the rest of the library does. */
#ifndef LL_BACKEND_DEVICE_MEMORY_H
#define LL_BACKEND_DEVICE_MEMORY_H

#include "backend/backend.h"
#include "base/rng/rng.h"

llap_status ll_device_alloc(const ll_backend *b, size_t n_bytes, void **out); /* zeroed */
void        ll_device_release(const ll_backend *b, void *p);                  /* NULL is fine */
llap_status ll_device_put(const ll_backend *b, void *device_to, const void *from, size_t n_bytes);
llap_status ll_device_get(const ll_backend *b, void *to, const void *device_from, size_t n_bytes);
llap_status ll_device_copy(const ll_backend *b, void *to, const void *from, size_t n_bytes);
llap_status ll_device_clear(const ll_backend *b, void *p, size_t n_bytes);
/* As ll_memory has it; out and work are in device memory. */
llap_status ll_device_order(const ll_backend *b, uint32_t *out, int64_t n, int64_t width,
                            const ll_rng *r, void *work);
llap_status ll_device_finish(const ll_backend *b); /* waits for all that is queued */

/* A status of the backend's own functions, with its why as the detail. */
llap_status ll_device_status(const ll_backend *b, llap_status st);

#endif
