/* Limits of memory (ll_alloc_limit) that several threads share.
 *
 *     (void)ll_alloc_limit_team(1 << 30);            this thread and its OpenMP teams
 *     ...
 *     const bool met = ll_alloc_limit(0);
 *
 *     ll_alloc_account *a = ll_alloc_account_of();   here; NULL: no limit
 *     ll_alloc_account_join(a);                      there, in a thread that works for this one and
 *                                                    ends before its limit does */
#ifndef LL_BASE_ACCOUNT_H
#define LL_BASE_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

/* As ll_alloc_limit. Only one thread of the process has such a limit at a time: threads of teams do
 * not know whose they are. */
bool ll_alloc_limit_team(int64_t n_bytes);

typedef struct ll_alloc_account ll_alloc_account;
ll_alloc_account               *ll_alloc_account_of(void);
void                            ll_alloc_account_join(ll_alloc_account *a);

#endif
