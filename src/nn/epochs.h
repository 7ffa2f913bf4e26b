/* Which rows the steps of training learn from: the order of an epoch is made in the memory of the
 * backend, and what a step takes of it is copied there. The order is that of the cpu.
 *
 *     llap_epochs o;
 *     st = llap_epochs_init(&o, backend, n, 1);
 *     o.epoch_rng = rng_of, o.user = user;                       NULL: always as they are
 *     st = llap_epochs_take(&o, step * B, B, near_index);         int [B]; over ends of epochs too
 *     llap_epochs_deinit(&o);
 *
 * Where batches are always the same ones, in another order, width is their number of rows: an epoch
 * has n of them one after another, rows k width .. k width + width - 1 each. */
#ifndef LLAP_NN_EPOCHS_H
#define LLAP_NN_EPOCHS_H

#include "backend/near.h"

typedef struct llap_epochs {
    const llap_backend *backend;
    int64_t             n, width;
    uint32_t           *near;  /* [n,width] of an epoch, and behind it room to make it */
    int64_t             epoch; /* that it is of; -1: none */
    llap_rng (*epoch_rng)(const void *user, int64_t epoch);
    const void *user;
} llap_epochs;

llap_status llap_epochs_init(llap_epochs *o, const llap_backend *backend, int64_t n, int64_t width);
void        llap_epochs_deinit(llap_epochs *o); /* { 0 } is fine */

/* Numbers first .. first + count - 1 of all epochs one after another. */
llap_status llap_epochs_take(llap_epochs *o, int64_t first, int64_t count, void *near_index);

#endif
