/* Steps of training that nobody waits for: what each came to stays in the backend's memory until it
 * is asked for.
 *
 *     llap_ahead a;
 *     st = llap_ahead_init(&a, backend);
 *     st = llap_ahead_put(&a, step, near_loss, near_norm);     behind each step, up to LLAP_AHEAD
 *     st = llap_ahead_get(&a, first, n, loss, norm);           waits for them all, once
 *     llap_ahead_deinit(&a); */
#ifndef LLAP_NN_AHEAD_H
#define LLAP_NN_AHEAD_H

#include "backend/backend.h"

enum { LLAP_AHEAD = 32 }; /* the most steps that are not asked about */

typedef struct llap_ahead {
    const llap_backend *backend;
    float              *near; /* [LLAP_AHEAD,2]: loss and norm of a step, by its number */
} llap_ahead;

llap_status llap_ahead_init(llap_ahead *a, const llap_backend *backend);
void        llap_ahead_deinit(llap_ahead *a); /* { 0 } is fine */

/* One float each, in near memory, as the work queued so far leaves them. */
llap_status llap_ahead_put(llap_ahead *a, int64_t step, const void *near_loss,
                           const void *near_norm);

/* Of steps first .. first + n - 1, n <= LLAP_AHEAD; each [n]. */
llap_status llap_ahead_get(llap_ahead *a, int64_t first, int64_t n, double *loss, double *norm);

#endif
