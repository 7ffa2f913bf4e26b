/* Which rows the steps of training learn from: the order of an epoch is made in the memory of the
 * backend, and what a step takes of it is copied there. The order is that of the cpu.
 *
 *     ll_epochs o;
 *     st = ll_epochs_init(&o, backend, n, 1);
 *     o.epoch_rng = rng_of, o.user = user;                       NULL: always as they are
 *     st = ll_epochs_take(&o, step * B, B, device_index);         int [B]; over ends of epochs too
 *     ll_epochs_deinit(&o);
 *
 * Where batches are always the same ones, in another order, width is their number of rows: an epoch
 * has n of them one after another, rows k width .. k width + width - 1 each. */
#ifndef LL_NN_EPOCHS_H
#define LL_NN_EPOCHS_H

#include "backend/device_memory.h"

typedef struct ll_epochs {
    const ll_backend *backend;
    int64_t           n, width;
    uint32_t         *device_data; /* [n,width] of an epoch, and behind it room to make it */
    int64_t           epoch;       /* that it is of; -1: none */
    ll_rng (*epoch_rng)(const void *user, int64_t epoch);
    const void *user;
} ll_epochs;

llap_status ll_epochs_init(ll_epochs *o, const ll_backend *backend, int64_t n, int64_t width);
void        ll_epochs_deinit(ll_epochs *o); /* { 0 } is fine */

/* Numbers first .. first + count - 1 of all epochs one after another. */
llap_status ll_epochs_take(ll_epochs *o, int64_t first, int64_t count, void *device_index);

#endif
