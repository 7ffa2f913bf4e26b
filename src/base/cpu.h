/* What this processor can do, asked once per call from the compiler's table (no state of ours). */
#ifndef LLAP_BASE_CPU_H
#define LLAP_BASE_CPU_H

#include <stdbool.h>

bool llap_cpu_has_fma(void);    /* AVX2 and fused multiply-add */
bool llap_cpu_has_avx512(void); /* AVX-512 F, DQ, BW, VL */

/* "avx2 fma avx512f ..." in a fixed order, "baseline" when none; static. */
const char *llap_cpu_features(void);

#endif
