/* Which windows train, which validate, which test.
 *
 *     ll_split *s;
 *     st = ll_split_create(w, &LL_SPLIT_DEFAULT, &s);
 *     if (s->part[i] == LL_PART_TRAIN) ...
 *     ll_split_destroy(s);
 *
 * purged      by the time of the targets, for all entities at once. The distinct times of first
 *             targets are cut at 70 and 80 %: val_start and test_start. A window trains if its last
 *             target lies before val_start, validates if its targets lie in val_start ..
 *             test_start - 1, tests if its first lies at test_start or later, and is purged
 *             otherwise: no window of one part sees a target time of another.
 * contiguous  the windows of each entity in order of time: 70 %, 10 %, the rest. Neighbouring
 *             parts share target rows. For parity with published results only.
 * by entity   70/10/20 of a seeded permutation of the entities that have a window: the test is on
 *             entities never seen. */
#ifndef LL_DATA_WINDOWS_SPLIT_H
#define LL_DATA_WINDOWS_SPLIT_H

#include "data/windows/windows.h"

typedef enum ll_part {
    LL_PART_TRAIN,
    LL_PART_VAL,
    LL_PART_TEST,
    LL_PART_PURGED,
    LL_PART_COUNT
} ll_part;

typedef enum ll_split_kind {
    LL_SPLIT_PURGED,
    LL_SPLIT_CONTIGUOUS,
    LL_SPLIT_BY_ENTITY
} ll_split_kind;

typedef struct ll_split_opts {
    ll_split_kind kind;
    double        train, val; /* shares, > 0 together < 1; the test gets the rest */
    uint64_t      seed;       /* by entity */
} ll_split_opts;

#define LL_SPLIT_DEFAULT ((ll_split_opts){ .kind = LL_SPLIT_PURGED, .train = 0.7, .val = 0.1 })

typedef struct ll_split {
    uint8_t *part;                           /* [windows] an ll_part */
    int64_t  n_windows;                      /* of the list that was split */
    int64_t  n[LL_PART_COUNT];               /* windows of each part */
    int64_t  first_target[LL_PART_TEST + 1]; /* earliest first target time of the part */
    int64_t  last_target[LL_PART_TEST + 1];  /* latest last target time of the part */
    int64_t  val_start, test_start;          /* purged: the borders; else 0 */
} ll_split;

/* Caller owns *out. LLAP_EINVAL: shares that cannot be, or a part that comes out empty (the
 * detail has the counts). */
llap_status ll_split_create(const ll_windows *w, const ll_split_opts *o, ll_split **out);
void        ll_split_destroy(ll_split *s); /* NULL is fine */

/* floor(train n), floor(val n) in IEEE double and the rest. From n = 3 on train and val get at
 * least 1, and the test too, if need be at the cost of val: 3 are split 2, 0, 1. */
void ll_split_counts(int64_t n, double train, double val, int64_t out[3]);

/* Time is cut into spans of `span` ticks (>= 1), from the first context end of the part on; of that
 * part every entity keeps its first window in each, and the others count as purged. The spans are
 * the same for all, so that entities with a common clock keep windows that end together, whatever
 * gaps each has: a joint network answers those at once. apart: each entity has spans of its own,
 * from its first window on. */
void ll_split_thin(ll_split *s, const ll_windows *w, ll_part part, int64_t span, bool apart);

const char *ll_part_name(ll_part part); /* "train", ... */

#endif
