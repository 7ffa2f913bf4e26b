/* src/backend/cpu: the ops on fp32 arrays, by vectors and threads.
 *
 *   cpu.h                     this file
 *   attention.c, elementwise.c, matmul.c, optimise.c, reduce.c, rows.c:
 *                             an op each: views to pointers and sizes
 *   kern.h                    the arithmetic; kern_*.c share it out to threads
 *   team.h                    the threads of a run
 *   vec.h, body_*.h, isa_*.c  inner loops, written once, compiled for each instruction set
 *
 * May touch: backend, base, base/rng. */

/* The CPU backend: fp32, OpenMP over fixed pieces of work, so that results have the same bytes for
 * any number of threads and any batch size. */
#ifndef LL_BACKEND_CPU_CPU_H
#define LL_BACKEND_CPU_CPU_H

#include "backend/backend.h"

extern const ll_backend ll_backend_cpu;

/* The instructions that it uses: "amx", whose results have bits of their own, or "avx512", "avx2",
 * "portable", whose are the same. */
const char *ll_cpu_instructions(void);

#endif
