#include "backend/cpu/team.h"

#include <omp.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#if defined __x86_64__
#include <immintrin.h>
#define RELAX() _mm_pause()
#else
#define RELAX() ((void)0)
#endif

enum {
    LEAST_SPINS = 256,
    MOST_SPINS = 4096, /* some 60 to 180 microseconds: longer than most kernels' ends differ */
    SHARES = 4,        /* of a thread in kern_each */
    MOST_RANGES = 64,
    LINE = 64 /* bytes of a cache line */
};

static const double WAKING_SECONDS = 3e-5; /* what is shorter is not worth waking somebody */
static const double WAKING_PRODUCTS = 4e6; /* what takes longer than that for sure */

typedef struct job {
    kern_part   part;
    const void *args;
    int64_t     units, at_once; /* units taken at a time */
    double      products;       /* multiply-adds, where known */
    int         n_ranges;
} job;

/* Each thread has a range of units, the same part of every job, so that it finds in its caches what
 * it wrote in the job before; who has finished his own takes from the others. */
typedef struct range {
    alignas(LINE) _Atomic int64_t next; /* unit to be taken */
    int64_t end;
} range;

/* A job is open while state is odd. Its fields change only when it is closed and nobody works: a
 * worker enters (n_working), then looks whether the job is still open; the caller closes it, then
 * waits for n_working to be 0. */
typedef struct team {
    job             job;
    range           range[MOST_RANGES];
    atomic_uint     state;
    atomic_int      n_working, n_asleep;
    atomic_bool     over;
    pthread_mutex_t lock; /* for those who sleep */
    pthread_cond_t  changed;
} team;

static _Thread_local team *current;

/* The next units; false: there are none left. */
static bool take(team *t, int thread)
{
    const job *j = &t->job;
    for (int i = 0; i < j->n_ranges; i++) {
        range *r = &t->range[(thread + i) % j->n_ranges];
        if (atomic_load(&r->next) >= r->end) continue;
        const int64_t first = atomic_fetch_add(&r->next, j->at_once);
        const int64_t end = first + j->at_once < r->end ? first + j->at_once : r->end;
        for (int64_t u = first; u < end; u++) j->part(j->args, u, thread);
        if (first < end) return true;
    }
    return false;
}

/* After something that others may wait for has changed. */
static void tell(team *t)
{
    if (atomic_load(&t->n_asleep) == 0) return;
    pthread_mutex_lock(&t->lock);
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

typedef bool (*condition)(team *t, unsigned seen);

/* Spinning is worth it where it mostly succeeds, that is where processors are free: each success
 * doubles the patience for the next time, each failure halves it. */
static void wait_until(team *t, condition holds, unsigned seen, atomic_int *patience)
{
    const int spins = atomic_load_explicit(patience, memory_order_relaxed);
    for (int i = 0; i < spins; i++) {
        if (holds(t, seen)) {
            if (spins < MOST_SPINS)
                atomic_store_explicit(patience, 2 * spins, memory_order_relaxed);
            return;
        }
        RELAX();
    }
    if (spins > LEAST_SPINS) atomic_store_explicit(patience, spins / 2, memory_order_relaxed);
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add(&t->n_asleep, 1);
    while (!holds(t, seen)) pthread_cond_wait(&t->changed, &t->lock);
    atomic_fetch_sub(&t->n_asleep, 1);
    pthread_mutex_unlock(&t->lock);
}

static bool nobody_works(team *t, unsigned seen)
{
    (void)seen;
    return atomic_load(&t->n_working) == 0;
}

static bool new_job_or_over(team *t, unsigned seen)
{
    const unsigned state = atomic_load(&t->state);
    return atomic_load(&t->over) || (state % 2 == 1 && state != seen);
}

static void work(team *t, int thread)
{
    static atomic_int patience = MOST_SPINS;
    unsigned          seen = 0;
    for (;;) {
        wait_until(t, new_job_or_over, seen, &patience);
        if (atomic_load(&t->over)) return;
        atomic_fetch_add(&t->n_working, 1);
        const unsigned state = atomic_load(&t->state);
        if (state % 2 == 1) {
            while (take(t, thread)) continue;
            seen = state;
        }
        if (atomic_fetch_sub(&t->n_working, 1) == 1) tell(t);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Wakes those asleep if the job is worth it, which is known, or its first units tell. */
static void begin(team *t)
{
    if (atomic_load(&t->n_asleep) == 0) return;
    if (t->job.products > WAKING_PRODUCTS) {
        tell(t);
        return;
    }
    const double  start = now();
    const int64_t shares = (t->job.units - 1) / t->job.at_once;
    if (take(t, 0) && (now() - start) * (double)shares > WAKING_SECONDS) tell(t);
}

static void share_out(team *t, int n_threads, const job *j)
{
    static atomic_int patience = MOST_SPINS;
    const int         n = n_threads < MOST_RANGES ? n_threads : MOST_RANGES;
    const int64_t     units = j->units;
    t->job = *j;
    t->job.n_ranges = n;
    for (int i = 0; i < n; i++) {
        atomic_store_explicit(&t->range[i].next, units * i / n, memory_order_relaxed);
        t->range[i].end = units * (i + 1) / n;
    }
    atomic_fetch_add(&t->state, 1);
    begin(t);
    while (take(t, 0)) continue;
    atomic_fetch_add(&t->state, 1);
    wait_until(t, nobody_works, 0, &patience);
}

static void alone(int64_t units, kern_part part, const void *args)
{
    for (int64_t u = 0; u < units; u++) part(args, u, 0);
}

void kern_each(int n_threads, int64_t units, kern_part part, const void *args)
{
    const int64_t shares = (int64_t)SHARES * n_threads;
    if (n_threads == 1 || units < 2) {
        alone(units, part, args);
    } else if (current != NULL) {
        share_out(current, n_threads,
                  &(job){ .part = part,
                          .args = args,
                          .units = units,
                          .at_once = (units + shares - 1) / shares });
    } else {
#pragma omp parallel for schedule(static) num_threads(n_threads)
        for (int64_t u = 0; u < units; u++) part(args, u, omp_get_thread_num());
    }
}

void kern_each_free(int n_threads, int64_t units, double products, kern_part part, const void *args)
{
    if (n_threads == 1 || units < 2) {
        alone(units, part, args);
    } else if (current != NULL) {
        share_out(
            current, n_threads,
            &(job){
                .part = part, .args = args, .units = units, .at_once = 1, .products = products });
    } else {
#pragma omp parallel for schedule(dynamic) num_threads(n_threads)
        for (int64_t u = 0; u < units; u++) part(args, u, omp_get_thread_num());
    }
}

void ll_cpu_together(int n_threads, void (*body)(void *user), void *user)
{
    if (n_threads < 2 || current != NULL || omp_in_parallel()) {
        body(user);
        return;
    }
    team t = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
#pragma omp parallel num_threads(n_threads)
    {
        if (omp_get_thread_num() > 0) {
            work(&t, omp_get_thread_num());
        } else {
            current = &t;
            body(user);
            current = NULL;
            atomic_store(&t.over, true);
            tell(&t);
        }
    }
    pthread_cond_destroy(&t.changed);
    pthread_mutex_destroy(&t.lock);
}
