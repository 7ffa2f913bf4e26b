/* What this processor can do. */
#ifndef LLAP_BASE_CPU_H
#define LLAP_BASE_CPU_H

#include <stdbool.h>

bool llap_cpu_has_fma(void);    /* AVX2 and fused multiply-add */
bool llap_cpu_has_avx512(void); /* AVX-512 F, DQ, BW, VL */
bool llap_cpu_has_amx(void);    /* those, and tiles of bf16 that the system lets us use */

/* "avx2 fma avx512f ..." in a fixed order, "baseline" when none; static. */
const char *llap_cpu_features(void);

#endif
