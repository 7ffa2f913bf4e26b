/* The CPU backend: fp32, OpenMP over fixed pieces of work, so that results have the same bytes for
 * any number of threads and any batch size. */
#ifndef LLAP_BACKEND_CPU_CPU_H
#define LLAP_BACKEND_CPU_CPU_H

#include "backend/backend.h"

extern const llap_backend llap_backend_cpu;

/* The instructions that it uses: "amx", whose results have bits of their own, or "avx512", "avx2",
 * "portable", whose are the same. */
const char *llap_cpu_instructions(void);

#endif
