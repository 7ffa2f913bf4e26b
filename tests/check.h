/* What every test includes: cmocka, and the failing-allocation harness. */
#ifndef LLAP_TESTS_CHECK_H
#define LLAP_TESTS_CHECK_H

#include "base/alloc.h"
#include "base/error.h"

#include "check_status.h"

#include <math.h>

/* Runs work with its 1st, 2nd, ... allocation failing until it gets through without one: each
 * time it must answer LLAP_ENOMEM and leave nothing allocated. work must free what it makes. */
static inline void check_every_failed_allocation(llap_status (*work)(void *), void *user)
{
    for (int64_t n = 1;; n++) {
        const int64_t live = ll_alloc_live();
        (void)ll_alloc_fail_at(n);
        const llap_status st = work(user);
        const bool        struck = ll_alloc_fail_at(0);
        if (ll_alloc_live() != live)
            fail_msg("allocation %lld failed: %lld blocks leaked", (long long)n,
                     (long long)(ll_alloc_live() - live));
        if (st != (struck ? LLAP_ENOMEM : LLAP_OK))
            fail_msg("allocation %lld %s: found %s (%s)", (long long)n,
                     struck ? "failed" : "did not fail", llap_status_name(st), llap_error_detail());
        if (!struck) return;
    }
}

/* LL_TEST_LEAVE names precisions that tests on a GPU leave out, LL_TEST_QUICK has them keep to
 * little, both for slow checkers; LL_TEST_ONCE has them repeat nothing, for one whose records of
 * that would not fit. */
static inline bool check_leaves(const char *precision)
{
    const char *leave = getenv("LLAP_TEST_LEAVE");
    return leave != NULL && strstr(leave, precision) != NULL;
}

static inline bool check_quick(void) { return getenv("LLAP_TEST_QUICK") != NULL; }
static inline bool check_once(void) { return getenv("LLAP_TEST_ONCE") != NULL; }

#endif
