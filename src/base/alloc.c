#include "base/alloc.h"

#include "base/account.h"
#include "base/error.h"

#include <llapdiff/text.h>
#include <malloc.h>
#include <omp.h>
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

/* How many bytes may still be taken. */
struct ll_alloc_account {
    atomic_int_least64_t left;
    atomic_bool          met;
};
static _Thread_local ll_alloc_account  own;
static _Thread_local ll_alloc_account *joined; /* NULL: no limit */
static _Atomic(ll_alloc_account *)     team;   /* of threads of teams that have joined none */

/* Whether this thread is in a team that another one leads. */
static bool helps(void)
{
    for (int level = omp_get_level(); level > 0; level--)
        if (omp_get_ancestor_thread_num(level) > 0) return true;
    return false;
}

ll_alloc_account *ll_alloc_account_of(void)
{
    if (joined != NULL) return joined;
    ll_alloc_account *a = atomic_load(&team);
    return a != NULL && helps() ? a : NULL;
}

void ll_alloc_account_join(ll_alloc_account *a) { joined = a; }

bool ll_alloc_limit(int64_t n_bytes)
{
    ll_alloc_account *mine = &own;
    (void)atomic_compare_exchange_strong(&team, &mine, NULL);
    joined = n_bytes > 0 ? &own : NULL;
    atomic_store(&own.left, n_bytes);
    return atomic_exchange(&own.met, false);
}

bool ll_alloc_limit_team(int64_t n_bytes)
{
    const bool met = ll_alloc_limit(n_bytes);
    if (n_bytes > 0) atomic_store(&team, &own);
    return met;
}

/* Before it is allocated: threads that share an account do not pass the last bytes together. */
static bool reserve(size_t n_bytes)
{
    ll_alloc_account *a = ll_alloc_account_of();
    if (a == NULL) return true;
    const int64_t n = n_bytes > INT64_MAX ? INT64_MAX : (int64_t)n_bytes;
    int64_t       left = atomic_load(&a->left);
    while (left >= n && !atomic_compare_exchange_weak(&a->left, &left, left - n)) {
    }
    if (left < n) atomic_store(&a->met, true);
    return left >= n;
}

static void give_back(int64_t n_bytes)
{
    ll_alloc_account *a = ll_alloc_account_of();
    if (a != NULL) (void)atomic_fetch_add(&a->left, n_bytes);
}

static int64_t size_of(const void *p) { return (int64_t)malloc_usable_size((void *)(uintptr_t)p); }

/* What was reserved becomes what it is. */
static void *settle(void *p, size_t n_bytes)
{
    give_back((int64_t)n_bytes - (p == NULL ? 0 : size_of(p)));
    return p;
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
    return left != 1 && reserve(*n_bytes);
}

static void *checked(void *p, size_t n, size_t size, bool fresh)
{
    if (p == NULL) (void)ll_fail(LLAP_ENOMEM, "out of memory: %zu elements of %zu bytes", n, size);
    else if (fresh) atomic_fetch_add(&live, 1);
    return p;
}

void *ll_new(size_t n, size_t size)
{
    size_t n_bytes;
    void  *p = admit(n, size, &n_bytes) ? settle(calloc(1, n_bytes), n_bytes) : NULL;
    return checked(p, n, size, true);
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
    return checked(settle(p, n_bytes), n, size, true);
}

void *ll_grow(void *p, size_t n, size_t size)
{
    size_t        n_bytes;
    const bool    fresh = p == NULL;
    const int64_t before = fresh ? 0 : size_of(p);
    give_back(before);
    void *grown = admit(n, size, &n_bytes) ? settle(realloc(p, n_bytes), n_bytes) : NULL;
    if (grown == NULL) give_back(-before);
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
    if (p == NULL) return;
    atomic_fetch_sub(&live, 1);
    if (ll_alloc_account_of() != NULL) give_back(size_of(p));
    free(p);
}

void llap_text_free(char *text) { ll_free(text); }
