/* src/ranks: several processes that train together, as `mpirun -n 4 llapdiff train` starts them.
 *
 *   ranks.h           this file
 *   driver.h, load.c  what library and object agree on; finding and loading it
 *   object.c          the object itself, linked with MPI and with nothing of the library
 *
 * May touch: base. */

/* The processes of a run, by their ranks 0 .. size - 1. All run the same training on the same data;
 * what one has worked out it shares with the others.
 *
 *     const ll_ranks *r = ll_ranks_joined();                   NULL: this process is alone
 *     if (ll_ranks_mine(r, job)) ... work it out ...
 *     st = ll_ranks_share(r, bytes, n, ll_ranks_owner(r, job));
 *
 * Every rank calls ll_ranks_share and ll_ranks_agree equally often, in the same order. A rank that
 * ends otherwise ends all (llap_ranks_leave, or the launcher). */
#ifndef LL_RANKS_RANKS_H
#define LL_RANKS_RANKS_H

#include <llapdiff/ranks.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ll_ranks {
    int rank, size; /* size > 1 */
} ll_ranks;

/* What llap_ranks_join has joined; NULL: nothing, or a single process. */
const ll_ranks *ll_ranks_joined(void);

/* Which rank a job of many belongs to, and whether it is this one. r may be NULL. */
static inline int ll_ranks_owner(const ll_ranks *r, int64_t job)
{
    return r == NULL ? 0 : (int)(job % r->size);
}
static inline bool ll_ranks_mine(const ll_ranks *r, int64_t job)
{
    return r == NULL || ll_ranks_owner(r, job) == r->rank;
}

/* n bytes of that rank go to all. r may be NULL: nothing to do. LLAP_EIO. */
llap_status ll_ranks_share(const ll_ranks *r, void *bytes, size_t n, int from);

/* LLAP_EINVAL on rank 0, naming the first rank whose number is another than its own: "rank 2 of 4
 * has other data or options". The others wait for the end that rank 0 makes. */
llap_status ll_ranks_agree(const ll_ranks *r, uint64_t number, const char *what);

#endif
