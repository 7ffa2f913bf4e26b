/* Measuring: interleaved repetitions of the things to compare, and their medians. Machines are
 * noisy, so a benchmark prints ratios of medians taken in one run, never bare limits.
 *
 *     double t[2][BENCH_REPEATS];
 *     for (int r = 0; r < BENCH_REPEATS; r++) {
 *         BENCH_TIME(t[0][r], slow());
 *         BENCH_TIME(t[1][r], fast());
 *     }
 *     printf("%.2f\n", bench_median(t[0]) / bench_median(t[1])); */
#ifndef LLAP_BENCH_BENCH_H
#define LLAP_BENCH_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BENCH_REPEATS = 15 };

static inline double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Processor seconds of all threads: they do not count waiting for others who use the machine. */
static inline double bench_processor(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define BENCH_PROCESSOR(seconds, work)           \
    do {                                         \
        const double start_ = bench_processor(); \
        work;                                    \
        (seconds) = bench_processor() - start_;  \
    } while (0)

#define BENCH_TIME(seconds, work)          \
    do {                                   \
        const double start_ = bench_now(); \
        work;                              \
        (seconds) = bench_now() - start_;  \
    } while (0)

static inline int bench_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts t. */
static inline double bench_median(double t[BENCH_REPEATS])
{
    qsort(t, BENCH_REPEATS, sizeof *t, bench_compare);
    return t[BENCH_REPEATS / 2];
}

#endif
