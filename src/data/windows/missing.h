/* Missing on purpose: for the stress tests, and for imputation.
 *
 * Every draw is keyed by content: seed, entity name and row within the entity, or the id of a row
 * (rows.h), never by a position in a batch or an epoch. */
#ifndef LL_DATA_WINDOWS_MISSING_H
#define LL_DATA_WINDOWS_MISSING_H

#include "data/windows/rows.h"

/* Hides floor(rate * count) of the count observed cells of a context, chosen uniformly without
 * replacement: their flag in obs [n_cells] is cleared and their value set to 0. rate in [0,1). The
 * generator is ll_rng_make(seed, LL_STREAM_MASK, ll_hash(0, "SEED:ENTITY:START"), 0, 0) with
 * START the first context row within the entity (a name that
 * makes the text longer than 255 bytes stands there as its hash in hexadecimal digits); the cells
 * are gone through in order and cell number i of the observed ones is taken if ll_rng_below(i,
 * cells left) < cells still to hide. */
void ll_hide_cells(uint64_t seed, const char *entity, int64_t start, double rate, int64_t n_cells,
                   uint8_t *obs, float *value);

/* Drops the windows whose context ends on a thin day: one on which fewer than ceil(share * N) of
 * the N entities of the panel have a window ending. Days are day_ns long and begin at multiples of
 * it from day_origin_ns (local midnight). Call it before splitting. *dropped counts windows. */
llap_status ll_drop_thin_days(ll_windows *w, double share, int64_t day_ns, int64_t day_origin_ns,
                              int64_t *dropped);

typedef enum ll_impute_kind {
    LL_IMPUTE_REGULAR, /* keeps steps 0, every, 2 every, ... for all entries */
    LL_IMPUTE_STEPS,   /* keeps each step that has an observed entry with probability keep */
    LL_IMPUTE_ENTRIES, /* keeps each observed entry with probability keep */
} ll_impute_kind;

typedef struct ll_impute_mask_opts {
    ll_impute_kind kind;
    int64_t        every;
    double         keep;
    uint64_t       seed;
} ll_impute_mask_opts;

#define LL_IMPUTE_DEFAULT \
    ((ll_impute_mask_opts){ .kind = LL_IMPUTE_STEPS, .every = 4, .keep = 0.7, .seed = 1234 })

/* What a method may see of one row: obs and kept are [n_steps,n_entries]; kept is set where the
 * entry is observed and shown, so obs and not kept is what it is scored on. At least one step (or
 * entry) is kept and one hidden; false, with nothing kept, when fewer than two are observed. With
 * the last rows of a context as steps it hides history instead. */
bool ll_impute_mask(const ll_impute_mask_opts *o, uint64_t row_id, int64_t n_steps,
                    int64_t n_entries, const uint8_t *obs, uint8_t *kept);

#endif
