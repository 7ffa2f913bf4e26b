/* The facts of a run, listed one after the other; what goes wrong on the way is told at the end.
 *
 *     ll_fact_list l = { 0 };
 *     ll_facts_add(&l, "target", o->target);
 *     ll_facts_addf(&l, "data", "%016" PRIx64, hash);
 *     ll_facts_may_differ(&l);                           the last one
 *     if (l.status == LLAP_OK) ... l.fact [l.n] ...
 *     ll_facts_deinit(&l);
 */
#ifndef LL_TRAIN_RUN_FACTS_H
#define LL_TRAIN_RUN_FACTS_H

#include "base/arena.h"
#include "base/error.h"
#include "train/run/state.h"

typedef struct ll_fact_list {
    ll_run_fact *fact; /* [n] */
    size_t       n, capacity;
    ll_arena     arena;
    llap_status  status; /* the first failure; nothing is added after it */
} ll_fact_list;

/* Borrows name and value until deinit. value NULL: "not given". */
void ll_facts_add(ll_fact_list *l, const char *name, const char *value);
void ll_facts_addf(ll_fact_list *l, const char *name, const char *fmt, ...) LLAP_PRINTF(3, 4);

/* A run may go on with another value of the fact that was added last. */
void ll_facts_may_differ(ll_fact_list *l);

void ll_facts_deinit(ll_fact_list *l);

#endif
