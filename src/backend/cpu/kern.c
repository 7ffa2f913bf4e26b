#include "backend/cpu/kern_isa.h"
#include "base/cpu.h"

#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Fastest first. */
#if defined __x86_64__ && !defined LLAP_NO_SIMD
static const kern_isa *const       isas[] = { &llap_kern_amx, &llap_kern_avx512, &llap_kern_avx2,
                                              &llap_kern_portable };

static bool runs_here(const kern_isa *isa)
{
    if (isa == &llap_kern_amx) return llap_cpu_has_amx();
    if (isa == &llap_kern_avx512) return llap_cpu_has_avx512();
    if (isa == &llap_kern_avx2) return llap_cpu_has_fma();
    return true;
}
#else
static const kern_isa *const isas[] = { &llap_kern_portable };

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

llap_kern llap_kern_best(int n_threads)
{
    static const kern_isa *_Atomic known; /* whoever asks first finds the same */
    const kern_isa                *isa = atomic_load_explicit(&known, memory_order_relaxed);
    if (isa == NULL) {
        isa = best();
        atomic_store_explicit(&known, isa, memory_order_relaxed);
    }
    return (llap_kern){ isa, threads_of(n_threads) };
}

bool llap_kern_pick(const char *name, int n_threads, llap_kern *out)
{
    for (size_t i = 0; i < n_isas; i++)
        if (strcmp(isas[i]->name, name) == 0 && runs_here(isas[i])) {
            *out = (llap_kern){ isas[i], threads_of(n_threads) };
            return true;
        }
    return false;
}

const char *llap_kern_name(const llap_kern *kn) { return kn->isa->name; }
