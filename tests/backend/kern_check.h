/* Holds a kernel against a double loop, for every instruction set of this machine and 1, 2 and 3
 * threads: close to the truth, and the same bits everywhere (the portable set has bits of its own).
 */
#ifndef LLAP_TESTS_KERN_CHECK_H
#define LLAP_TESTS_KERN_CHECK_H

#include "backend/cpu/kern_isa.h"
#include "base/rng/rng.h"
#include "check.h"

/* gcc's OpenMP runtime is not known to the thread sanitizer. */
#if defined __SANITIZE_THREAD__
#define MAX_THREADS 1
#else
#define MAX_THREADS 3
#endif

/* -------- memory with guards: tiles are stored by instructions that no sanitizer sees -------- */

enum { GUARD = 4096, GUARD_BYTE = 0xa5, GUARDED_FROM = 64 }; /* the size lies before */

#if defined __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define GUARD_HIDE(p) __asan_poison_memory_region(p, GUARD)
#define GUARD_SHOW(p) __asan_unpoison_memory_region(p, GUARD)
#else
#define GUARD_HIDE(p) (void)(p)
#define GUARD_SHOW(p) (void)(p)
#endif

/* Zeroed and aligned; work_free. */
static inline void *work_new(size_t n_bytes)
{
    unsigned char *at = ll_new_aligned(GUARDED_FROM + n_bytes + GUARD, 1);
    assert_non_null(at);
    memcpy(at, &n_bytes, sizeof n_bytes);
    memset(at + GUARDED_FROM + n_bytes, GUARD_BYTE, GUARD);
    GUARD_HIDE(at + GUARDED_FROM + n_bytes);
    return at + GUARDED_FROM;
}

static inline unsigned char *guard_of(const void *work)
{
    unsigned char *at = (unsigned char *)(uintptr_t)work;
    size_t         n_bytes;
    memcpy(&n_bytes, at - GUARDED_FROM, sizeof n_bytes);
    return at + n_bytes;
}

/* Nobody wrote behind it. */
static inline void work_check(const void *work)
{
    const unsigned char *guard = guard_of(work);
    GUARD_SHOW(guard);
    for (int i = 0; i < GUARD; i++)
        if (guard[i] != GUARD_BYTE) fail_msg("written %d bytes behind the end", i);
    GUARD_HIDE(guard);
}

static inline void work_free(void *work)
{
    work_check(work);
    GUARD_SHOW(guard_of(work));
    ll_free((unsigned char *)work - GUARDED_FROM);
}

static const char *const kern_isas[] = { "portable", "avx2", "avx512", "amx" };

/* n floats of mean 0 and the given deviation, different for each stream; caller frees. */
static inline float *draw(int64_t n, float deviation, uint32_t stream)
{
    float *x = ll_new((size_t)n, sizeof *x);
    ll_rng r = ll_rng_make(7, LL_STREAM_TEST, stream, 0, 0);
    ll_rng_fill_normal(&r, 0, (size_t)n, x);
    for (int64_t i = 0; i < n; i++) x[i] *= deviation;
    return x;
}

/* What a kernel must give: want, to tol times size. */
typedef struct truth {
    int64_t n;
    double *want, *size;
} truth;

static inline truth truth_new(int64_t n)
{
    return (truth){ n, ll_new((size_t)n, sizeof(double)), ll_new((size_t)n, sizeof(double)) };
}

static inline void truth_free(truth *t)
{
    ll_free(t->want);
    ll_free(t->size);
}

static inline void truth_set(const truth *t, int64_t i, double want, double size)
{
    t->want[i] = want;
    t->size[i] = size;
}

typedef void (*kern_run)(const ll_kern *kn, const void *user, float *out);

static inline void near_truth(const truth *t, const float *out, double tol, const char *name,
                              const ll_kern *kn)
{
    for (int64_t i = 0; i < t->n; i++) {
        const double want = t->want[i], got = (double)out[i];
        if (isnan(want) ? isnan(got) : want == got || fabs(got - want) <= tol * t->size[i])
            continue;
        fail_msg("%s (%s, %d threads) [%lld]: expected %.9g, found %.9g, off by %.3g of %.3g", name,
                 ll_kern_name(kn), kn->n_threads, (long long)i, want, got, fabs(got - want),
                 tol * t->size[i]);
    }
}

static inline void same_bits(const float *a, const float *b, int64_t n, const char *what,
                             const char *name)
{
    for (int64_t i = 0; i < n; i++)
        if (memcmp(a + i, b + i, sizeof *a) != 0)
            fail_msg("%s: %s: [%lld]: %.9g and %.9g", name, what, (long long)i, (double)a[i],
                     (double)b[i]);
}

/* run writes t->n floats to out (which holds NaN before). */
static inline void check_kernel(const char *name, kern_run run, const void *user, const truth *t,
                                double tol)
{
    float *room = work_new((size_t)(t->n + 4) * sizeof *room);
    float *out = room + 4;      /* aligned as any array is */
    float *first[3] = { NULL }; /* portable; with fused multiply-add; with tiles */
    for (size_t i = 0; i < sizeof kern_isas / sizeof kern_isas[0]; i++)
        for (int threads = 1; threads <= MAX_THREADS; threads++) {
            ll_kern kn;
            if (!ll_kern_pick(kern_isas[i], threads, &kn)) continue;
            for (int64_t j = 0; j < t->n; j++) out[j] = NAN;
            run(&kn, user, out);
            work_check(room);
            near_truth(t, out, tol, name, &kn);
            float **to = &first[i == 0 ? 0 : i == 3 ? 2 : 1];
            if (*to == NULL) {
                *to = ll_new((size_t)t->n, sizeof *out);
                memcpy(*to, out, (size_t)t->n * sizeof *out);
            } else {
                same_bits(*to, out, t->n, "threads and instruction sets differ", name);
            }
        }
    work_free(room);
    for (int i = 0; i < 3; i++) ll_free(first[i]);
}

/* Calls body with every instruction set of this machine, on 1 thread and on MAX_THREADS. */
static inline void each_kern(void (*body)(const ll_kern *kn))
{
    for (size_t i = 0; i < sizeof kern_isas / sizeof kern_isas[0]; i++)
        for (int threads = 1; threads <= MAX_THREADS; threads += 2) {
            ll_kern kn;
            if (ll_kern_pick(kern_isas[i], threads, &kn)) body(&kn);
        }
}

#endif
