/* Which library this is and what it can do here. */
#ifndef LLAPDIFF_VERSION_H
#define LLAPDIFF_VERSION_H

#include <llapdiff/export.h>
#include <llapdiff/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version this header belongs to. The library keeps its promises within one major number; below
 * 1.0 within one minor number. */
#define LLAP_VERSION_MAJOR 0
#define LLAP_VERSION_MINOR 2
#define LLAP_VERSION_PATCH 0

LLAP_API const char *llap_version(void); /* of the library that runs: "0.2.0" */

/* What was built in or found, one row each; *out points to a static table of the returned length.
 */
typedef struct llap_feature {
    const char *name;    /* "simd" */
    int         enabled; /* 0 or 1 */
    const char *detail;  /* "kernels chosen at run time" */
} llap_feature;

LLAP_API size_t llap_features(const llap_feature **out);

/* Instruction sets of this processor that the library uses: "avx2 fma avx512" or "baseline". */
LLAP_API const char *llap_cpu(void);

/* Whether networks can compute on a device as options name it: "cpu", "cuda", "cuda:1", "auto";
 * NULL: cpu. LLAP_EUNSUPPORTED: not here, and the detail says what is missing: the object for GPUs,
 * cuBLASLt, the driver, the GPU. LLAP_EOPTION: no such name. */
LLAP_API llap_status llap_device_check(const char *device);

#ifdef __cplusplus
}
#endif

#endif
