/* The CPU kernels against what they must not be slower than. Times are processor times of one
 * thread, so that neighbours on the machine count little; every row is a ratio of medians of
 * interleaved repetitions.
 *
 *     linear     against the bare sgemm of CBLAS, one thread, tiles of 512 rows
 *     attention  against sgemm per head + our vectorised softmax, whole heads and tiles of 128
 * queries, the faster memory     bytes moved per second against a copy of the same bytes; or cycles
 * against the arithmetic alone */
#include "backend/cpu/kern_isa.h"
#include "base/alloc.h"
#include "base/rng/rng.h"
#include "bench.h"

#include <cblas.h>
#include <string.h>

static float *draw(int64_t n, uint64_t stream)
{
    float *x = ll_new_aligned((size_t)n, sizeof *x);
    ll_rng r = ll_rng_make(1, LL_STREAM_TEST, stream, 0, 0);
    if (x == NULL) exit(1);
    ll_rng_fill_normal(&r, 0, (size_t)n, x);
    return x;
}

static void *work_of(size_t n_bytes)
{
    void *p = ll_new_aligned(n_bytes + 64, 1);
    if (p == NULL) exit(1);
    return p;
}

static double busy(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define BUSY_TIME(seconds, work)      \
    do {                              \
        const double start_ = busy(); \
        work;                         \
        (seconds) = busy() - start_;  \
    } while (0)

/* --- linear
 * ----------------------------------------------------------------------------------------- */

static void bare_sgemm(int64_t m, int64_t n, int64_t k, const float *x, const float *w, float *y)
{
    for (int64_t i = 0; i < m; i += 512) {
        const int64_t rows = m - i < 512 ? m - i : 512;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)n, (int)k, 1.0f,
                    x + i * k, (int)k, w, (int)k, 0.0f, y + i * n, (int)n);
    }
}

static void linear(const ll_kern *kn, int64_t m, int64_t k, int64_t n)
{
    float  *x = draw(m * k, 1), *w = draw(n * k, 2), *b = draw(n, 3), *y = draw(m * n, 4);
    ll_gemm plain = { .m = m, .n = n, .k = k, .lda = k, .ldb = k, .ldc = n, .b_trans = true };
    ll_gemm bias = plain, gelu;
    bias.bias = b;
    gelu = bias;
    gelu.gelu = true;
    void  *work = work_of(ll_kern_gemm_work(kn, &gelu));
    double t[4][BENCH_REPEATS];
    for (int r = 0; r < BENCH_REPEATS; r++) {
        BUSY_TIME(t[0][r], bare_sgemm(m, n, k, x, w, y));
        BUSY_TIME(t[1][r], ll_kern_gemm(kn, &plain, x, w, y, work));
        BUSY_TIME(t[2][r], ll_kern_gemm(kn, &bias, x, w, y, work));
        BUSY_TIME(t[3][r], ll_kern_gemm(kn, &gelu, x, w, y, work));
    }
    const double base = bench_median(t[0]);
    printf(
        "linear    %6lld x %4lld -> %4lld  sgemm %5.1f GFLOP/s  ours %.2f  + bias %.2f (<= 1.10)  "
        "+ GELU %.2f (<= 1.25)\n",
        (long long)m, (long long)k, (long long)n, 2e-9 * (double)(m * n * k) / base,
        bench_median(t[1]) / base, bench_median(t[2]) / base, bench_median(t[3]) / base);
    void *bufs[] = { x, w, b, y, work };
    for (int i = 0; i < 5; i++) ll_free(bufs[i]);
}

/* --- attention
 * ----------------------------------------------------------------------------------------- */

enum { HEADS = 4, D = 64, WIDTH = HEADS * D };

static void by_sgemm(const ll_kern *kn, const ll_attn *a, int64_t tile, const float *q,
                     const float *k, const float *v, float *o, float *s)
{
    const int nk = (int)a->nk;
    for (int64_t u = 0; u < a->batch * HEADS; u++)
        for (int64_t i = 0; i < a->nq; i += tile) {
            const int64_t rows = a->nq - i < tile ? a->nq - i : tile;
            const int64_t at = (u / HEADS * a->nq + i) * WIDTH + u % HEADS * D;
            const int64_t kv = u / HEADS * a->nk * WIDTH + u % HEADS * D;
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, nk, D, a->scale, q + at,
                        WIDTH, k + kv, WIDTH, 0.0f, s, nk);
            ll_kern_softmax(kn, rows, nk, s, s);
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, D, nk, 1.0f, s, nk,
                        v + kv, WIDTH, 0.0f, o + at, WIDTH);
        }
}

static void attention(const ll_kern *kn, int64_t batch, int64_t nq, int64_t nk)
{
    const ll_attn_at qo = { nq * WIDTH, WIDTH, D }, kv = { nk * WIDTH, WIDTH, D };
    const ll_attn    a = { .batch = batch,
                           .heads = HEADS,
                           .nq = nq,
                           .nk = nk,
                           .d = D,
                           .scale = 0.125f,
                           .q = qo,
                           .k = kv,
                           .v = kv,
                           .o = qo,
                           .dq = qo,
                           .dk = kv,
                           .dv = kv };
    float           *q = draw(batch * nq * WIDTH, 1), *k = draw(batch * nk * WIDTH, 2);
    float *v = draw(batch * nk * WIDTH, 3), *o = draw(batch * nq * WIDTH, 4), *s = draw(nq * nk, 5);
    float *dq = draw(batch * nq * WIDTH, 6), *dk = draw(batch * nk * WIDTH, 7);
    float *dv = draw(batch * nk * WIDTH, 8), *lse = draw(batch * HEADS * nq, 9);
    void  *work = work_of(ll_kern_attn_work(kn, &a)),
         *more = work_of(ll_kern_attn_grad_work(kn, &a));
    double t[4][BENCH_REPEATS];
    for (int r = 0; r < BENCH_REPEATS; r++) {
        BUSY_TIME(t[0][r], by_sgemm(kn, &a, nq, q, k, v, o, s));
        BUSY_TIME(t[1][r], by_sgemm(kn, &a, 128, q, k, v, o, s));
        BUSY_TIME(t[2][r], ll_kern_attn(kn, &a, q, k, v, o, lse, work));
        BUSY_TIME(t[3][r], ll_kern_attn_grad(kn, &a, q, k, v, o, lse, q, dq, dk, dv, NULL, more));
    }
    const double whole = bench_median(t[0]), tiled = bench_median(t[1]), ours = bench_median(t[2]);
    const double flop = 4e-9 * (double)(batch * HEADS * nq * nk * D);
    printf("attention batch %2lld, %lldx%lld  %5.1f GFLOP/s, %.2f times as fast (>= %s)  backward "
           "%5.1f GFLOP/s  scratch %.2f MB\n",
           (long long)batch, (long long)nq, (long long)nk, flop / ours,
           (whole < tiled ? whole : tiled) / ours, batch > 1 ? "1.15" : "1.00",
           2.5 * flop / bench_median(t[3]), 1e-6 * (double)ll_kern_attn_work(kn, &a));
    void *bufs[] = { q, k, v, o, s, dq, dk, dv, lse, work, more };
    for (int i = 0; i < 11; i++) ll_free(bufs[i]);
}

/* --- memory
 * --------------------------------------------------------------------------------------------- */

/* The same function on numbers that stay in the first cache: what the arithmetic costs by itself.
 */
static void report(const char *name, double bytes, double copy_rate, double large, double small)
{
    const double rate = bytes / large;
    printf("%-9s %5.1f GB/s, %3.0f %% of copy (>= 60 %%), or %3.0f %% of its speed in the first "
           "cache\n",
           name, 1e-9 * rate, 100 * rate / copy_rate, 100 * small / large);
}

enum { ROWS = 51200, N = 256, SMALL = 8 }; /* 52 MB, the hidden layer of 25 samples; 8 KB */

static void copy(float *y, const float *x, int64_t n)
{
    memcpy(y, x, (size_t)n * sizeof *x);
    __asm__ volatile("" ::"r"(y) : "memory");
}

static double copy_speed(float *y, const float *x)
{
    double t[BENCH_REPEATS];
    for (int r = 0; r < BENCH_REPEATS; r++) BUSY_TIME(t[r], copy(y, x, (int64_t)ROWS * N));
    return 8.0 * ROWS * N / bench_median(t);
}

typedef void (*rows_fn)(const ll_kern *kn, int64_t rows, const float *x, float *y);

static void norm_of(const ll_kern *kn, int64_t rows, const float *x, float *y)
{
    const ll_norm p = { .rows = rows, .n = N, .eps = 1e-5f };
    ll_kern_norm(kn, &p, x, y, NULL);
}

static void gelu_of(const ll_kern *kn, int64_t rows, const float *x, float *y)
{
    kn->isa->unary[LL_UNARY_GELU](rows * N, x, y);
}

static void softmax_of(const ll_kern *kn, int64_t rows, const float *x, float *y)
{
    ll_kern_softmax(kn, rows, N, x, y);
}

/* 128 poles: rows of 256. Angles up to several hundred. */
static void basis_of(const ll_kern *kn, int64_t rows, const float *x, float *y)
{
    const ll_basis p = { .batch = 1, .h = rows, .k = N / 2 };
    ll_kern_basis(kn, &p, x, x + ROWS, x + ROWS + N, y);
}

static void memory(const ll_kern *kn)
{
    static const struct {
        const char *name;
        rows_fn     run;
        double      bytes; /* read and written per number */
    } kinds[] = { { "LayerNorm", norm_of, 8 },
                  { "GELU", gelu_of, 8 },
                  { "softmax", softmax_of, 8 },
                  { "basis", basis_of, 4 } };
    float *x = draw((int64_t)ROWS * N, 1), *y = draw((int64_t)ROWS * N, 2);
    double copies = copy_speed(y, x);
    printf("copy      %5.1f GB/s\n", 1e-9 * copies);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        double t[2][BENCH_REPEATS];
        if (i == 3)
            for (int j = 0; j < ROWS + N; j++) /* query times, then decay rates */
                x[j] = j < ROWS ? (float)(j % 500) : 0.05f * x[j] * x[j];
        for (int r = 0; r < BENCH_REPEATS; r++) {
            BUSY_TIME(t[0][r], kinds[i].run(kn, ROWS, x, y));
            BUSY_TIME(t[1][r],
                      for (int j = 0; j < ROWS / SMALL; j++) kinds[i].run(kn, SMALL, x, y));
        }
        copies = copy_speed(y, x);
        report(kinds[i].name, kinds[i].bytes * ROWS * N, copies, bench_median(t[0]),
               bench_median(t[1]));
    }
    ll_free(x);
    ll_free(y);
}

int main(int argc, char **argv)
{
    static const int64_t shapes[][2] = { { 256, 1024 }, { 1024, 256 }, { 256, 768 } };
    static const int64_t rows[] = { 512, 2048, 12800 };
    ll_kern              kn = ll_kern_best(1);
    if (argc > 1 && !ll_kern_pick(argv[1], 1, &kn)) {
        fprintf(stderr, "kern: no instruction set '%s' here\n", argv[1]);
        return 2;
    }
    openblas_set_num_threads(1);
    printf("kernels for %s\n", ll_kern_name(&kn));
    for (int s = 0; s < 3; s++)
        for (int r = 0; r < 3; r++) linear(&kn, rows[r], shapes[s][0], shapes[s][1]);
    for (int64_t batch = 1; batch <= 25; batch += 24) {
        attention(&kn, batch, 512, 512);
        attention(&kn, batch, 512, 336);
    }
    memory(&kn);
    return 0;
}
