#include "base/alloc.h"

#include "base/error.h"

#include <llapdiff/text.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The test hook's counters are the library's only process-wide state; they change no result. */
static atomic_int_least64_t calls, live, bytes, fail_in;

bool ll_alloc_fail_at(int64_t n) { return atomic_exchange(&fail_in, n) < 0; }

int64_t ll_alloc_calls(void) { return atomic_load(&calls); }
int64_t ll_alloc_live(void) { return atomic_load(&live); }
int64_t ll_alloc_bytes(void) { return atomic_load(&bytes); }

/* Of this thread: how many bytes it may still take; which is 0 where there is no limit. */
static _Thread_local struct {
    int64_t most, left;
    bool    met;
} limit;

bool ll_alloc_limit(int64_t n_bytes)
{
    const bool met = limit.met;
    limit.most = limit.left = n_bytes;
    limit.met = false;
    return met;
}

/* Counts the call; false when it must fail. fail_in counts down to 1 and then becomes -1. */
static bool admit(size_t n, size_t size, size_t *n_bytes)
{
    atomic_fetch_add(&calls, 1);
    int64_t left = atomic_load(&fail_in);
    while (left > 0 && !atomic_compare_exchange_weak(&fail_in, &left, left == 1 ? -1 : left - 1)) {
    }
    if (__builtin_mul_overflow(n, size, n_bytes)) return false;
    atomic_fetch_add(&bytes, (int64_t)*n_bytes);
    if (*n_bytes == 0) *n_bytes = 1;
    if (limit.most > 0 && (*n_bytes > INT64_MAX || (int64_t)*n_bytes > limit.left)) {
        limit.met = true;
        return false;
    }
    return left != 1;
}

static void take(const void *p)
{
    if (limit.most > 0 && p != NULL) limit.left -= (int64_t)malloc_usable_size((void *)p);
}

static void give(const void *p)
{
    if (limit.most > 0 && p != NULL) limit.left += (int64_t)malloc_usable_size((void *)p);
}

static void *checked(void *p, size_t n, size_t size, bool fresh)
{
    if (p == NULL) (void)ll_fail(LLAP_ENOMEM, "out of memory: %zu elements of %zu bytes", n, size);
    else if (fresh) atomic_fetch_add(&live, 1);
    take(p);
    return p;
}

void *ll_new(size_t n, size_t size)
{
    size_t n_bytes;
    return checked(admit(n, size, &n_bytes) ? calloc(1, n_bytes) : NULL, n, size, true);
}

/* Large blocks are whole pages that the system makes zero when they are first touched, huge ones
 * where it has them: memory that is written anyway, or never, costs nothing here. */
enum { LARGE = 4 << 20, PAGE = 4096, HUGE_PAGE = 2 << 20 };

static void *new_large(size_t n_bytes)
{
    void        *p = NULL;
    const size_t whole = (n_bytes + PAGE - 1) / PAGE * PAGE;
    if (whole < n_bytes || posix_memalign(&p, HUGE_PAGE, whole) != 0) return NULL;
    if (madvise(p, whole, MADV_DONTNEED) != 0) memset(p, 0, whole);
#ifdef MADV_HUGEPAGE
    (void)madvise(p, whole, MADV_HUGEPAGE);
#endif
    return p;
}

void *ll_new_aligned(size_t n, size_t size)
{
    size_t n_bytes;
    void  *p = NULL;
    if (!admit(n, size, &n_bytes)) return checked(NULL, n, size, true);
    if (n_bytes >= LARGE) p = new_large(n_bytes);
    else if (posix_memalign(&p, LL_ALIGN, n_bytes) == 0) memset(p, 0, n_bytes);
    return checked(p, n, size, true);
}

void *ll_grow(void *p, size_t n, size_t size)
{
    size_t     n_bytes;
    const bool fresh = p == NULL;
    give(p);
    void *grown = admit(n, size, &n_bytes) ? realloc(p, n_bytes) : NULL;
    if (grown == NULL) take(p);
    return checked(grown, n, size, fresh);
}

char *ll_strndup(const char *s, size_t n)
{
    if (n == SIZE_MAX) return checked(NULL, n, 1, true);
    char *copy = ll_new(n + 1, 1);
    if (copy != NULL) memcpy(copy, s, n);
    return copy;
}

void ll_free(void *p)
{
    if (p != NULL) atomic_fetch_sub(&live, 1);
    give(p);
    free(p);
}

void llap_text_free(char *text) { ll_free(text); }
