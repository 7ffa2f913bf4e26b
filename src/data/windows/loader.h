/* Goes through the examples of one part batch by batch, and prepares ahead in the background.
 *
 *     ll_loader *l;
 *     st = ll_loader_create(examples, scaled, &opts, &l);
 *     for (int epoch = 0; epoch < n_epochs; epoch++) {
 *         const ll_batch *b;
 *         st = ll_loader_start(l, epoch);
 *         while ((st = ll_loader_next(l, &b)) == LLAP_OK && b != NULL) ...
 *     }
 *     ll_loader_destroy(l);
 *
 * The batches and their order depend on options, seed and epoch only, never on threads or ahead. */
#ifndef LL_DATA_WINDOWS_LOADER_H
#define LL_DATA_WINDOWS_LOADER_H

#include "base/rng/rng.h"
#include "data/windows/batch.h"

typedef enum ll_order {
    LL_ORDER_TIME,    /* groups by time, as they are in the list */
    LL_ORDER_BATCHES, /* batches of neighbouring groups, in a new random order each epoch */
    LL_ORDER_RANDOM,  /* groups in a new random order each epoch */
} ll_order;

typedef struct ll_loader_opts {
    ll_batch_opts batch;
    int64_t       n_groups; /* of a batch: distinct context ends (joint), windows (independent) */
    ll_order      order;
    uint64_t      seed;
    int           threads; /* that prepare; 0: the caller's own, when it asks */
    int           ahead;   /* batches ready or in work beside the one in use; 0: threads + 1 */
} ll_loader_opts;

#define LL_LOADER_DEFAULT \
    ((ll_loader_opts){ .batch = LL_BATCH_DEFAULT, .n_groups = 16, .threads = 1 })

typedef struct ll_loader ll_loader;

/* Caller owns *out; it borrows r and x until destroyed. */
llap_status ll_loader_create(const ll_example_list *r, const ll_scaled *x, const ll_loader_opts *o,
                             ll_loader **out);
void        ll_loader_destroy(ll_loader *l); /* NULL is fine */

int64_t ll_loader_batches(const ll_loader *l); /* of an epoch */

/* What an order other than LL_ORDER_TIME is made by in an epoch: ll_rng_permute. */
ll_rng ll_loader_rng(const ll_loader *l, int64_t epoch);

/* Begins an epoch, also in the middle of another. */
llap_status ll_loader_start(ll_loader *l, int64_t epoch);

/* The next batch, borrowed until the next call with this loader; NULL after the last, and before
 * the first start. Not for two threads at once. */
llap_status ll_loader_next(ll_loader *l, const ll_batch **out);

#endif
