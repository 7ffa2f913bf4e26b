/* Goes through the rows of one part batch by batch, and prepares ahead in the background.
 *
 *     llap_loader *l;
 *     st = llap_loader_create(rows, scaled, &opts, &l);
 *     for (int epoch = 0; epoch < n_epochs; epoch++) {
 *         const llap_batch *b;
 *         st = llap_loader_start(l, epoch);
 *         while ((st = llap_loader_next(l, &b)) == LLAP_OK && b != NULL) ...
 *     }
 *     llap_loader_destroy(l);
 *
 * The batches and their order depend on options, seed and epoch only, never on threads or ahead. */
#ifndef LLAP_DATA_LOADER_H
#define LLAP_DATA_LOADER_H

#include "base/rng.h"
#include "data/batch.h"

typedef enum llap_order {
    LLAP_ORDER_TIME,    /* groups by time, as they are in the rows */
    LLAP_ORDER_BATCHES, /* batches of neighbouring groups, in a new random order each epoch */
    LLAP_ORDER_RANDOM,  /* groups in a new random order each epoch */
} llap_order;

typedef struct llap_loader_opts {
    llap_batch_opts batch;
    int64_t         n_groups; /* of a batch: distinct context ends (joint), windows (independent) */
    llap_order      order;
    uint64_t        seed;
    int             threads; /* that prepare; 0: the caller's own, when it asks */
    int             ahead;   /* batches ready or in work beside the one in use; 0: threads + 1 */
} llap_loader_opts;

#define LLAP_LOADER_DEFAULT \
    ((llap_loader_opts){ .batch = LLAP_BATCH_DEFAULT, .n_groups = 16, .threads = 1 })

typedef struct llap_loader llap_loader;

/* Caller owns *out; it borrows r and x until destroyed. */
llap_status llap_loader_create(const llap_rows *r, const llap_scaled *x, const llap_loader_opts *o,
                               llap_loader **out);
void        llap_loader_destroy(llap_loader *l); /* NULL is fine */

int64_t llap_loader_batches(const llap_loader *l); /* of an epoch */

/* What an order other than LLAP_ORDER_TIME is made by in an epoch: llap_rng_permute. */
llap_rng llap_loader_rng(const llap_loader *l, int64_t epoch);

/* Begins an epoch, also in the middle of another. */
llap_status llap_loader_start(llap_loader *l, int64_t epoch);

/* The next batch, borrowed until the next call with this loader; NULL after the last, and before
 * the first start. Not for two threads at once. */
llap_status llap_loader_next(llap_loader *l, const llap_batch **out);

#endif
