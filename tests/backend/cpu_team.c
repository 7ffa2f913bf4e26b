/* The threads of a run: every part of every kernel is computed once, whoever does it, and what one
 * kernel wrote the next one reads, also when threads have fallen asleep in between. */
#include "check.h"

#include "backend/cpu/cpu.h"
#include "backend/cpu/team.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { UNITS = 300, KERNELS = 200, THREADS = 5 };

typedef struct work {
    int            n_threads;
    bool           pauses;
    int64_t        x[2][UNITS]; /* written by turns: no atomics, parts do not meet */
    int64_t        sum[THREADS];
    const int64_t *from;
    int64_t       *to;
} work;

/* Reads what others wrote in the kernel before. */
static void part(const void *args, int64_t unit, int thread)
{
    work *w = *(work *const *)args;
    if (thread < 0 || thread >= w->n_threads) abort(); /* asserts are for the test's own thread */
    w->to[unit] = w->from[unit] + w->from[UNITS - 1 - unit] % 2 + 1;
    w->sum[thread]++; /* its own scratch */
}

static void pause_briefly(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL); /* longer than threads spin */
}

static void body(void *user)
{
    work *w = user;
    for (int k = 0; k < KERNELS; k++) {
        w->from = w->x[k % 2];
        w->to = w->x[1 - k % 2];
        if (w->pauses && k % 20 == 7) pause_briefly();
        if (k % 3 == 0) kern_each_free(w->n_threads, UNITS, k % 2 == 0 ? 1e9 : 1, part, &user);
        else kern_each(w->n_threads, UNITS, part, &user);
    }
}

static void check_work(int n_threads, bool together, bool pauses, const int64_t *expected)
{
    static _Thread_local work w;
    w = (work){ .n_threads = n_threads, .pauses = pauses };
    if (together) ll_cpu_together(n_threads, body, &w);
    else body(&w);
    assert_memory_equal(w.x[0], expected, sizeof w.x[0]);
    int64_t sum = 0;
    for (int i = 0; i < THREADS; i++) sum += w.sum[i];
    assert_int_equal(sum, (int64_t)UNITS * KERNELS);
}

/* What one thread makes of it. */
static const int64_t *expected(void)
{
    static work w;
    w = (work){ .n_threads = 1 };
    body(&w);
    return w.x[0];
}

static void every_part_is_done_once(void **state)
{
    (void)state;
    const int64_t *x = expected();
    for (int n = 1; n <= THREADS; n++)
        for (int how = 0; how < 4; how++) check_work(n, how % 2 == 1, how / 2 == 1, x);
}

static void few_units_are_enough(void **state)
{
    (void)state;
    static work w;
    work       *args = &w;
    for (int64_t units = 0; units < 4; units++) {
        w = (work){ .n_threads = 3, .from = w.x[0], .to = w.x[1] };
        kern_each(3, units, part, &args);
        kern_each_free(3, units, 0, part, &args);
        assert_int_equal(w.sum[0] + w.sum[1] + w.sum[2], 2 * units);
    }
}

static void inside(void *user) { ll_cpu_together(3, body, user); }

static void a_team_within_a_team_is_the_same(void **state)
{
    (void)state;
    static work    w;
    const int64_t *x = expected();
    w = (work){ .n_threads = 3 };
    ll_cpu_together(3, inside, &w);
    assert_memory_equal(w.x[0], x, sizeof w.x[0]);
}

static void *caller(void *user)
{
    for (int i = 0; i < 3; i++) check_work(3, true, i == 1, user);
    return NULL;
}

/* Teams of several callers do not know each other. */
static void every_caller_has_its_own(void **state)
{
    (void)state;
    pthread_t      thread[3];
    const int64_t *x = expected();
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, caller, (void *)(uintptr_t)x), 0);
    for (int i = 0; i < 3; i++) (void)pthread_join(thread[i], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_is_done_once),
        cmocka_unit_test(few_units_are_enough),
        cmocka_unit_test(a_team_within_a_team_is_the_same),
        cmocka_unit_test(every_caller_has_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
