#include "base/cpu.h"

/* -DLLAP_SIMD=off builds define LLAP_NO_SIMD: the portable paths everywhere. */
#if defined __x86_64__ && !defined LLAP_NO_SIMD

bool llap_cpu_has_fma(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

bool llap_cpu_has_avx512(void)
{
    return llap_cpu_has_fma() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl");
}

const char *llap_cpu_features(void)
{
    if (llap_cpu_has_avx512()) return "avx2 fma avx512";
    if (llap_cpu_has_fma()) return "avx2 fma";
    return "baseline";
}

#else

bool        llap_cpu_has_fma(void) { return false; }
bool        llap_cpu_has_avx512(void) { return false; }
const char *llap_cpu_features(void) { return "baseline"; }

#endif
