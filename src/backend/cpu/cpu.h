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
