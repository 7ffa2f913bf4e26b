/* Missing on purpose: for the stress tests, and for imputation.
 *
 * Every draw is keyed by content: seed, entity name and row within the entity, or the id of an
 * example (examples.h), never by a position in a batch or an epoch. */
#ifndef LL_DATA_WINDOWS_MISSING_H
#define LL_DATA_WINDOWS_MISSING_H

#include "data/windows/examples.h"

/* Hides floor(rate * count) of the count observed cells of a context, chosen uniformly without
 * replacement: their flag in obs [n_cells] is cleared and their value set to 0. rate in [0,1). The
 * generator is ll_rng_make(seed, LL_STREAM_MASK, ll_hash(0, "SEED:ENTITY:START"), 0, 0) with
 * START the first context row within the entity (a name that
 * makes the text longer than 255 bytes stands there as its hash in hexadecimal digits); the cells
 * are gone through in order and cell number i of the observed ones is taken if ll_rng_below(i,
 * cells left) < cells still to hide. */
void ll_hide_cells(uint64_t seed, const char *entity, int64_t start, double rate, int64_t n_cells,
                   uint8_t *obs, float *value);

typedef enum ll_impute_kind {
    LL_IMPUTE_REGULAR, /* keeps steps 0, every, 2 every, ... */
    LL_IMPUTE_RANDOM,  /* keeps each observed step with probability keep */
} ll_impute_kind;

typedef struct ll_impute_mask_opts {
    ll_impute_kind kind;
    int64_t        every;
    double         keep;
    uint64_t       seed;
    const double  *draw; /* [n_steps] in [0,1), borrowed; NULL: drawn by seed and example */
} ll_impute_mask_opts;

#define LL_IMPUTE_DEFAULT \
    ((ll_impute_mask_opts){ .kind = LL_IMPUTE_RANDOM, .every = 4, .keep = 0.7, .seed = 1234 })

/* The mask of imputation, protocol 6.5: which of an example's observed steps [n_steps] (0 or 1) a
 * method sees, for all entities together. kept [n_steps] is set where a step is observed and shown;
 * what is observed and not kept is scored. At least one step is kept, the first observed if none
 * was, and one hidden, the last observed if none was. False, with nothing kept, when fewer than two
 * are observed: such an example is not scored. */
bool ll_impute_mask(const ll_impute_mask_opts *o, uint64_t example_id, int64_t n_steps,
                    const uint8_t *observed, uint8_t *kept);

#endif
