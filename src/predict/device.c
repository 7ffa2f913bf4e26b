#include "predict/device.h"

#include "backend/cpu/cpu.h"
#include "backend/cuda/cuda.h"
#include "base/error.h"

_Static_assert((int)LL_PRECISION_FP32 == (int)LLAP_GPU_FP32 - 1 &&
                   (int)LL_PRECISION_TF32 == (int)LLAP_GPU_TF32 - 1 &&
                   (int)LL_PRECISION_BF16 == (int)LLAP_GPU_BF16 - 1,
               "the same order");

llap_status ll_backend_choose(const char *device, llap_gpu_precision precision,
                              const ll_backend **out)
{
    *out = &ll_backend_cpu;
    if (precision == LLAP_GPU_DEFAULT) precision = LLAP_GPU_FP32;
    if (precision < LLAP_GPU_FP32 || precision > LLAP_GPU_BF16)
        return ll_fail(LLAP_EOPTION, "precision: expected a value of its enum, found %d",
                       (int)precision);
    if (device == NULL) return LLAP_OK;
    const ll_backend *found = NULL;
    const llap_status st =
        ll_device_find(device, (ll_precision)(precision - LLAP_GPU_FP32), &found);
    if (found != NULL) *out = found;
    return st;
}
