#define _GNU_SOURCE
#include "base/cpu.h"

/* -DLLAP_SIMD=off builds define LLAP_NO_SIMD: the portable paths everywhere. */
#if defined __x86_64__ && !defined LLAP_NO_SIMD

#include <cpuid.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

bool ll_cpu_has_fma(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

bool ll_cpu_has_avx512(void)
{
    return ll_cpu_has_fma() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl");
}

/* Linux gives a process the registers of the tiles when it asks for them. */
static bool ask_for_tiles(void)
{
    enum { REQUEST = 0x1023 /* ARCH_REQ_XCOMP_PERM */, TILE_DATA = 18 };
    enum { BF16 = 1 << 22, TILES = 1 << 24 };
    unsigned a, b, c, d;
    if (!ll_cpu_has_avx512() || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    return (d & BF16) != 0 && (d & TILES) != 0 && syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}

bool ll_cpu_has_amx(void)
{
    static atomic_int known; /* 0: not asked yet, 1: no, 2: yes */
    int               k = atomic_load_explicit(&known, memory_order_relaxed);
    if (k == 0) {
        k = ask_for_tiles() ? 2 : 1;
        atomic_store_explicit(&known, k, memory_order_relaxed);
    }
    return k == 2;
}

const char *ll_cpu_features(void)
{
    if (ll_cpu_has_amx()) return "avx2 fma avx512 amx";
    if (ll_cpu_has_avx512()) return "avx2 fma avx512";
    if (ll_cpu_has_fma()) return "avx2 fma";
    return "baseline";
}

#else

bool        ll_cpu_has_fma(void) { return false; }
bool        ll_cpu_has_avx512(void) { return false; }
bool        ll_cpu_has_amx(void) { return false; }
const char *ll_cpu_features(void) { return "baseline"; }

#endif
