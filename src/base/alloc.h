/* Checked allocation: every heap block of the library comes from here.
 *
 *     float *w = ll_new(n, sizeof *w);         zeroed; caller owns, ll_free
 *     if (w == NULL) return LLAP_ENOMEM;         the detail is already set
 *
 * n * size is checked for overflow. n == 0 gives a valid pointer to nothing. */
#ifndef LL_BASE_ALLOC_H
#define LL_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LL_ALIGN 64 /* a cache line, and the widest vector */

void *ll_new(size_t n, size_t size);         /* zeroed */
void *ll_new_aligned(size_t n, size_t size); /* zeroed, aligned to LL_ALIGN */

/* Resizes p (NULL is fine) to n * size bytes, new bytes undefined. On failure p stays valid. */
void *ll_grow(void *p, size_t n, size_t size);
char *ll_strndup(const char *s, size_t n); /* s[0..n) and a NUL */
void  ll_free(void *p);                    /* NULL is fine */

/* What this thread may have at a time, of blocks that it allocates from now on and has not freed:
 * one more fails as if memory were out. 0: no limit. Says whether the limit before it was met.
 * Blocks of other threads count where they have joined (account.h), and else do not. */
bool ll_alloc_limit(int64_t n_bytes);

/* For tests. Makes the n-th allocation from now on fail, once, in whichever thread it comes
 * (0: none), and returns whether the previous order has struck. */
bool ll_alloc_fail_at(int64_t n);

int64_t ll_alloc_calls(void); /* allocations asked for so far */
int64_t ll_alloc_live(void);  /* blocks not yet freed */
int64_t ll_alloc_bytes(void); /* bytes asked for so far, those freed since included */

#endif
