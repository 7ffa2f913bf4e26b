/* Copies between the caller's memory and a GPU's: until they are there, and how long the caller
 * waits for an upload while the GPU is at work. LL_CUDA_UNSTAGED=1 has the driver's own way for
 * comparison: run both in turn.
 *
 *     copies [DEVICE] */
#include "bench.h"

#include "backend/cuda/cuda.h"
#include "backend/device_memory.h"
#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

/* Seconds of n uploads or downloads, each waited for at the end. */
static llap_status copy(const ll_backend *b, void *device_data, char *x, size_t size, int n,
                        bool up, double *out)
{
    double      t[BENCH_REPEATS];
    llap_status st = LLAP_OK;
    for (int i = -2; i < BENCH_REPEATS && st == LLAP_OK; i++) {
        const double start = bench_now();
        for (int k = 0; k < n && st == LLAP_OK; k++)
            st = up ? ll_device_put(b, device_data, x, size)
                    : ll_device_get(b, x, device_data, size);
        if (st == LLAP_OK) st = ll_device_finish(b);
        if (i >= 0) t[i] = (bench_now() - start) / n;
    }
    if (st == LLAP_OK) *out = bench_median(t);
    return st;
}

/* Seconds that the caller is held by an upload behind work of the GPU, some 5 ms of it. */
static llap_status behind_work(const ll_backend *b, void *device_data, char *x, size_t size,
                               void *large, size_t large_size, double *out)
{
    double      t[BENCH_REPEATS];
    llap_status st = LLAP_OK;
    for (int i = -2; i < BENCH_REPEATS && st == LLAP_OK; i++) {
        for (int k = 0; k < 20 && st == LLAP_OK; k++) st = ll_device_clear(b, large, large_size);
        const double start = bench_now();
        if (st == LLAP_OK) st = ll_device_put(b, device_data, x, size);
        if (i >= 0) t[i] = bench_now() - start;
        if (st == LLAP_OK) st = ll_device_finish(b);
    }
    if (st == LLAP_OK) *out = bench_median(t);
    return st;
}

static llap_status all(const ll_backend *b)
{
    static const struct {
        size_t size;
        int    n;
    } work[] = { { 256, 100 },
                 { 4096, 100 },
                 { 65536, 100 },
                 { (size_t)1 << 18, 20 },
                 { (size_t)1 << 20, 10 },
                 { (size_t)1 << 22, 4 },
                 { (size_t)1 << 26, 1 },
                 { (size_t)1 << 28, 1 } };
    enum { WORKS = sizeof work / sizeof *work };
    const size_t most = work[WORKS - 1].size, large_size = (size_t)1 << 30;
    char        *x = ll_new(most, 1);
    void        *device_data = NULL, *large = NULL;
    llap_status  st = x == NULL ? LLAP_ENOMEM : ll_device_alloc(b, most, &device_data);
    if (st == LLAP_OK) st = ll_device_alloc(b, large_size, &large);
    if (st == LLAP_OK) memset(x, 1, most); /* its pages are there */
    printf("%12s %22s %22s %22s\n", "bytes", "up, us (GB/s)", "down, us (GB/s)",
           "held behind work, us");
    for (int i = 0; i < WORKS && st == LLAP_OK; i++) {
        const size_t n = work[i].size;
        double       up = 0, down = 0, held = 0;
        st = copy(b, device_data, x, n, work[i].n, true, &up);
        if (st == LLAP_OK) st = copy(b, device_data, x, n, work[i].n, false, &down);
        if (st == LLAP_OK) st = behind_work(b, device_data, x, n, large, large_size, &held);
        if (st == LLAP_OK)
            printf("%12zu %12.1f (%6.2f) %13.1f (%6.2f) %22.1f\n", n, 1e6 * up,
                   1e-9 * (double)n / up, 1e6 * down, 1e-9 * (double)n / down, 1e6 * held);
    }
    ll_device_release(b, device_data);
    ll_device_release(b, large);
    ll_free(x);
    return st;
}

int main(int argc, char **argv)
{
    const ll_backend *b;
    llap_status       st = ll_device_find(argc > 1 ? argv[1] : "cuda", LL_PRECISION_FP32, &b);
    if (argc < 2 && st != LLAP_OK) {
        printf("nothing to measure: %s\n", llap_error_detail()); /* `make bench` runs everything */
        return 77;
    }
    if (st == LLAP_OK) st = all(b);
    if (st != LLAP_OK) fprintf(stderr, "copies: %s\n", llap_error_detail());
    return llap_status_exit_code(st);
}
