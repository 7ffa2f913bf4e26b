/* The threads of a run: who computes which part of a kernel.
 *
 *     static void part(const void *args, int64_t unit, int thread) { ... }
 *     ll_cpu_together(2, body, user);       body(user), and in it as often as wanted:
 *         kern_each(2, rows, part, &args);    part(&args, 0 .. rows-1, thread), in shares
 *
 * Around a whole plan there is one OpenMP region instead of one for every kernel. Its other threads
 * wait for parts, a moment by spinning and then asleep; each has its own share of the parts, takes
 * from the others' when that is done, and the caller waits only for parts that somebody has begun:
 * a thread that the system does not let run holds nobody up. Outside of ll_cpu_together every
 * kern_each is a region of its own.
 *
 * Which thread computes a part changes no bits: parts do not depend on each other, and thread only
 * says whose scratch memory to use. */
#ifndef LL_BACKEND_CPU_TEAM_H
#define LL_BACKEND_CPU_TEAM_H

#include <stdint.h>

typedef void (*kern_part)(const void *args, int64_t unit, int thread);

/* In shares of neighbouring units, for many small ones; or one by one, for few large ones of that
 * many multiply-adds together, which tell whether threads asleep are worth waking. */
void kern_each(int n_threads, int64_t units, kern_part part, const void *args);
void kern_each_free(int n_threads, int64_t units, double products, kern_part part,
                    const void *args);

void ll_cpu_together(int n_threads, void (*body)(void *user), void *user);

#endif
