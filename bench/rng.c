/* Random numbers in bulk against one at a time and against a copy of as many bytes. */
#include "base/rng/rng.h"
#include "bench.h"

#include <string.h>

enum { N = 1 << 20 };

static float z[N], copy[N];

static void one_by_one(const ll_rng *r)
{
    for (uint64_t i = 0; i < N; i++) z[i] = ll_rng_normal(r, i);
}

int main(void)
{
    const ll_rng  r = ll_rng_make(1, LL_STREAM_TEST, 0, 0, 0);
    static double single[BENCH_REPEATS], normal[BENCH_REPEATS], uniform[BENCH_REPEATS],
        moved[BENCH_REPEATS];
    for (int i = 0; i < BENCH_REPEATS; i++) {
        BENCH_TIME(single[i], one_by_one(&r));
        BENCH_TIME(normal[i], ll_rng_fill_normal(&r, 0, N, z));
        BENCH_TIME(uniform[i], ll_rng_fill_uniform(&r, 0, N, z));
        BENCH_TIME(moved[i], memcpy(copy, z, sizeof z));
    }
    const double base = bench_median(normal), per = 1e9 / N;
    printf("normals in bulk   %6.2f ns each\n", base * per);
    printf("normals singly    %6.2f ns each, %.1f times the bulk\n", bench_median(single) * per,
           bench_median(single) / base);
    printf("uniforms in bulk  %6.2f ns each\n", bench_median(uniform) * per);
    printf("copy of as much   %6.2f ns each\n", bench_median(moved) * per);
    return copy[N - 1] != z[N - 1];
}
