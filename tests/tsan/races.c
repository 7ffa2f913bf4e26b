/* races KIND: work of four OpenMP threads that is right, or has one mistake, for tests/tsan/check.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, N = 256 };

static int shared[N];
static int total;

/* Everything that we use of OpenMP, without a mistake. */
static void right(void)
{
    for (int round = 0; round < 100; round++) {
        int sum = 0;
#pragma omp parallel num_threads(THREADS)
        {
#pragma omp for schedule(dynamic)
            for (int i = 0; i < N; i++) shared[i] = i + round;
#pragma omp single
            total += shared[N - 1];
#pragma omp critical
            total++;
        }
#pragma omp parallel for reduction(+ : sum) num_threads(THREADS)
        for (int i = 0; i < N; i++) sum += shared[i];
        total += sum;
    }
}

static void plain_write(void)
{
#pragma omp parallel for num_threads(THREADS)
    for (int i = 0; i < N; i++) total += i;
}

/* The second loop reads what other threads write in the first. */
static void missing_barrier(void)
{
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp for nowait
        for (int i = 0; i < N; i++) shared[i] = i;
#pragma omp for schedule(static, 1)
        for (int i = 0; i < N; i++) shared[N - 1 - i] += 1;
    }
}

static int compare(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    total++;
    return (x > y) - (x < y);
}

/* Our code, called by a library that is not instrumented. */
static void in_callback(void)
{
#pragma omp parallel for num_threads(THREADS)
    for (int t = 0; t < THREADS; t++) {
        int x[N];
        for (int i = 0; i < N; i++) x[i] = (i * 7 + t) % N;
        qsort(x, N, sizeof *x, compare);
    }
}

static void in_memcpy(void)
{
#pragma omp parallel for num_threads(THREADS)
    for (int t = 0; t < THREADS; t++) {
        int x[N];
        for (int i = 0; i < N; i++) x[i] = t;
        memcpy(shared, x, sizeof x);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } kind[] = { { "right", right },
                 { "plain-write", plain_write },
                 { "missing-barrier", missing_barrier },
                 { "in-callback", in_callback },
                 { "in-memcpy", in_memcpy } };
    for (size_t i = 0; argc == 2 && i < sizeof kind / sizeof *kind; i++)
        if (strcmp(argv[1], kind[i].name) == 0) {
            kind[i].run();
            return total < 0 || shared[0] < 0;
        }
    fprintf(stderr, "usage: races right|plain-write|missing-barrier|in-callback|in-memcpy\n");
    return 2;
}
