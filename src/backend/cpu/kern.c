#include "backend/cpu/kern_isa.h"
#include "base/cpu.h"

#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Fastest first. */
#if defined __x86_64__ && !defined LLAP_NO_SIMD
static const kern_isa *const       isas[] = { &ll_kern_amx, &ll_kern_avx512, &ll_kern_avx2,
                                              &ll_kern_portable };

static bool runs_here(const kern_isa *isa)
{
    if (isa == &ll_kern_amx) return ll_cpu_has_amx();
    if (isa == &ll_kern_avx512) return ll_cpu_has_avx512();
    if (isa == &ll_kern_avx2) return ll_cpu_has_fma();
    return true;
}
#else
static const kern_isa *const isas[] = { &ll_kern_portable };

static bool runs_here(const kern_isa *isa) { return isa != NULL; }
#endif

static const size_t n_isas = sizeof isas / sizeof isas[0];

static int threads_of(int n) { return n > 0 ? n : omp_get_max_threads(); }

/* The fastest, or from the one on that LLAP_ISA names. */
static const kern_isa *best(void)
{
    const char *name = getenv("LLAP_ISA");
    size_t      i = 0;
    for (size_t k = 0; name != NULL && k < n_isas; k++)
        if (strcmp(isas[k]->name, name) == 0) i = k;
    while (!runs_here(isas[i])) i++;
    return isas[i];
}

ll_kern ll_kern_best(int n_threads)
{
    static const kern_isa *_Atomic known; /* whoever asks first finds the same */
    const kern_isa                *isa = atomic_load_explicit(&known, memory_order_relaxed);
    if (isa == NULL) {
        isa = best();
        atomic_store_explicit(&known, isa, memory_order_relaxed);
    }
    return (ll_kern){ isa, threads_of(n_threads) };
}

bool ll_kern_pick(const char *name, int n_threads, ll_kern *out)
{
    for (size_t i = 0; i < n_isas; i++)
        if (strcmp(isas[i]->name, name) == 0 && runs_here(isas[i])) {
            *out = (ll_kern){ isas[i], threads_of(n_threads) };
            return true;
        }
    return false;
}

const char *ll_kern_name(const ll_kern *kn) { return kn->isa->name; }
