/* Memory near the kernels: the backend's own where it has some, else the caller's. Code written
 * with these runs on every backend.
 *
 *     void *x;
 *     st = llap_near_alloc(backend, n_bytes, &x);
 *     if (st == LLAP_OK) st = llap_near_put(backend, x, host, n_bytes);
 *     llap_near_release(backend, x);
 *
 * Each reports what went wrong as the rest of the library does. */
#ifndef LLAP_BACKEND_NEAR_H
#define LLAP_BACKEND_NEAR_H

#include "backend/backend.h"
#include "base/rng.h"

llap_status llap_near_alloc(const llap_backend *b, size_t n_bytes, void **out); /* zeroed */
void        llap_near_release(const llap_backend *b, void *p);                  /* NULL is fine */
llap_status llap_near_put(const llap_backend *b, void *near_to, const void *from, size_t n_bytes);
llap_status llap_near_get(const llap_backend *b, void *to, const void *near_from, size_t n_bytes);
llap_status llap_near_copy(const llap_backend *b, void *to, const void *from, size_t n_bytes);
llap_status llap_near_clear(const llap_backend *b, void *p, size_t n_bytes);
/* As llap_memory has it; out and work are near. */
llap_status llap_near_order(const llap_backend *b, uint32_t *out, int64_t n, int64_t width,
                            const llap_rng *r, void *work);
llap_status llap_near_finish(const llap_backend *b); /* waits for all that is queued */

/* A status of the backend's own functions, with its why as the detail. */
llap_status llap_near_status(const llap_backend *b, llap_status st);

#endif
