/* What this processor can do. */
#ifndef LL_BASE_CPU_H
#define LL_BASE_CPU_H

#include <stdbool.h>

bool ll_cpu_has_fma(void);    /* AVX2 and fused multiply-add */
bool ll_cpu_has_avx512(void); /* AVX-512 F, DQ, BW, VL */
/* Those, and tiles of bf16. Linux is asked for them, once: signal stacks must have room for tiles
 * (12 KB) from then on, and where one is smaller already the answer is no. */
bool ll_cpu_has_amx(void);

/* "avx2 fma avx512 amx" in a fixed order, "baseline" when none; static. */
const char *ll_cpu_features(void);

#endif
