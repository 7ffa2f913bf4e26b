/* src/ranks: several processes that train together, as `mpirun -n 4 llapdiff train` starts them.
 *
 *   ranks.h           this file
 *   sum_tree.h        sums in an order that does not depend on how many ranks add
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
 *     ll_ranks_part(r, n, &first, &end);                    or each works out neighbouring rows
 *     for (i = first; i < end; i++) ... x[i] ...
 *     st = ll_ranks_spread(r, x, n, sizeof *x);             and has all of them
 *
 * Every rank calls what moves bytes equally often, in the same order. A rank that ends otherwise
 * ends all (llap_ranks_leave, or the launcher). A failure that is no reason to end, because the
 * caller goes on without what has failed, is everybody's: ll_ranks_settle. */
#ifndef LL_RANKS_RANKS_H
#define LL_RANKS_RANKS_H

#include "ranks/sum_tree.h"

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

/* Which of n jobs in a row are this rank's: first .. end - 1, about as many for each. r may be
 * NULL.
 */
void ll_ranks_part(const ll_ranks *r, int64_t n, int64_t *first, int64_t *end);

/* n bytes of that rank go to all. r may be NULL: nothing to do. LLAP_EIO. */
llap_status ll_ranks_share(const ll_ranks *r, void *bytes, size_t n, int from);

/* x [n], `each` bytes an item, of which every rank has made its part: all have all. r may be NULL.
 */
llap_status ll_ranks_spread(const ll_ranks *r, void *x, int64_t n, size_t each);

/* ---- sums ---- */

/* Of arrays [n], one of each rank, as ll_sum_tree adds them. A rank adds one share of the numbers.
 */
typedef struct ll_ranks_adder {
    size_t      each;      /* numbers of a share */
    float      *from, *to; /* [size,each] */
    ll_sum_tree tree;
} ll_ranks_adder;

/* r may be NULL, for nothing. LLAP_ENOMEM; deinit is for it then, too. */
llap_status ll_ranks_adder_init(ll_ranks_adder *a, const ll_ranks *r, size_t n);
void        ll_ranks_adder_deinit(ll_ranks_adder *a); /* { 0 } is fine */

/* x [n] becomes the sum of the first `present` ranks' on all ranks, with the same bytes; the others
 * add nothing. r may be NULL. LLAP_EIO. */
llap_status ll_ranks_add(ll_ranks_adder *a, const ll_ranks *r, float *x, size_t n, int present);

/* ---- failures ---- */

/* Each rank's status becomes that of the first rank that has failed, with its detail. r may be
 * NULL. */
llap_status ll_ranks_settle(const ll_ranks *r, llap_status st);

/* The same where a failure ends the run: the detail names the rank, if it is not the first, and
 * only rank 0 returns with it. The others wait for the end that it makes, so that one line says it.
 */
llap_status ll_ranks_end_together(const ll_ranks *r, llap_status st);

/* LLAP_EINVAL on rank 0, naming the first rank whose number is another than its own: "rank 2 of 4
 * has other data or options". The others wait for the end that rank 0 makes. */
llap_status ll_ranks_agree(const ll_ranks *r, uint64_t number, const char *what);

#endif
