/* Holds a kernel against a double loop, for every instruction set of this machine and 1, 2 and 3
 * threads: close to the truth, and the same bits everywhere (the portable set has bits of its own).
 */
#ifndef LLAP_TESTS_KERN_CHECK_H
#define LLAP_TESTS_KERN_CHECK_H

#include "backend/cpu/kern.h"
#include "base/rng.h"
#include "check.h"

/* gcc's OpenMP runtime is not known to the thread sanitizer. */
#if defined __SANITIZE_THREAD__
#define MAX_THREADS 1
#else
#define MAX_THREADS 3
#endif

static const char *const kern_isas[] = { "portable", "avx2", "avx512", "amx" };

/* n floats of mean 0 and the given deviation, different for each stream; caller frees. */
static inline float *draw(int64_t n, float deviation, uint32_t stream)
{
    float   *x = llap_new((size_t)n, sizeof *x);
    llap_rng r = llap_rng_make(7, LLAP_STREAM_TEST, stream, 0, 0);
    llap_rng_fill_normal(&r, 0, (size_t)n, x);
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
    return (truth){ n, llap_new((size_t)n, sizeof(double)), llap_new((size_t)n, sizeof(double)) };
}

static inline void truth_free(truth *t)
{
    llap_free(t->want);
    llap_free(t->size);
}

static inline void truth_set(const truth *t, int64_t i, double want, double size)
{
    t->want[i] = want;
    t->size[i] = size;
}

typedef void (*kern_run)(const llap_kern *kn, const void *user, float *out);

static inline void near_truth(const truth *t, const float *out, double tol, const char *name,
                              const llap_kern *kn)
{
    for (int64_t i = 0; i < t->n; i++) {
        const double want = t->want[i], got = (double)out[i];
        if (isnan(want) ? isnan(got) : want == got || fabs(got - want) <= tol * t->size[i])
            continue;
        fail_msg("%s (%s, %d threads) [%lld]: expected %.9g, found %.9g, off by %.3g of %.3g", name,
                 llap_kern_name(kn), kn->n_threads, (long long)i, want, got, fabs(got - want),
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
    float *out = llap_new((size_t)t->n, sizeof *out);
    float *first[3] = { NULL }; /* portable; with fused multiply-add; with tiles */
    for (size_t i = 0; i < sizeof kern_isas / sizeof kern_isas[0]; i++)
        for (int threads = 1; threads <= MAX_THREADS; threads++) {
            llap_kern kn;
            if (!llap_kern_pick(kern_isas[i], threads, &kn)) continue;
            for (int64_t j = 0; j < t->n; j++) out[j] = NAN;
            run(&kn, user, out);
            near_truth(t, out, tol, name, &kn);
            float **to = &first[i == 0 ? 0 : i == 3 ? 2 : 1];
            if (*to == NULL) {
                *to = llap_new((size_t)t->n, sizeof *out);
                memcpy(*to, out, (size_t)t->n * sizeof *out);
            } else {
                same_bits(*to, out, t->n, "threads and instruction sets differ", name);
            }
        }
    llap_free(out);
    for (int i = 0; i < 3; i++) llap_free(first[i]);
}

/* Calls body with every instruction set of this machine, on 1 thread and on MAX_THREADS. */
static inline void each_kern(void (*body)(const llap_kern *kn))
{
    for (size_t i = 0; i < sizeof kern_isas / sizeof kern_isas[0]; i++)
        for (int threads = 1; threads <= MAX_THREADS; threads += 2) {
            llap_kern kn;
            if (llap_kern_pick(kern_isas[i], threads, &kn)) body(&kn);
        }
}

static inline void *work_new(size_t n_bytes) { return llap_new_aligned(n_bytes, 1); }

#endif
