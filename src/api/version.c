#include <llapdiff/version.h>

#include "backend/cuda/cuda.h"
#include "base/cpu.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

static const llap_feature features[] = {
#ifdef LLAP_NO_SIMD
    { "simd", 0, "built with LLAP_SIMD=off: portable code only" },
#else
    { "simd", 1, "vector code chosen at run time" },
#endif
#ifdef LLAP_NETCDF
    { "netcdf", 1, "loaded when a NetCDF file is named" },
#else
    { "netcdf", 0, "built without libnetcdf and udunits" },
#endif
#ifdef LLAP_CAIRO
    { "pictures", 1, "cairo is loaded when one is drawn" },
#else
    { "pictures", 0, "built without cairo" },
#endif
};

const char *llap_version(void)
{
    return TEXT(LLAP_VERSION_MAJOR) "." TEXT(LLAP_VERSION_MINOR) "." TEXT(LLAP_VERSION_PATCH);
}

size_t llap_features(const llap_feature **out)
{
    *out = features;
    return sizeof features / sizeof *features;
}

const char *llap_cpu(void) { return ll_cpu_features(); }

llap_status llap_device_check(const char *device)
{
    const ll_backend *found;
    return ll_device_find(device == NULL ? "cpu" : device, LL_PRECISION_FP32, &found);
}
