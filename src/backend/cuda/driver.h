/* What the library and its CUDA object agree on. The object is linked with the CUDA toolkit and
 * loaded when a GPU is asked for; it sees nothing of the library but headers. */
#ifndef LL_BACKEND_CUDA_DRIVER_H
#define LL_BACKEND_CUDA_DRIVER_H

#include "backend/backend.h"

/* What products and attention compute with; everything else, and every sum, is in floats. */
typedef enum ll_precision {
    LL_PRECISION_FP32,
    LL_PRECISION_TF32, /* operands rounded to 11 bits */
    LL_PRECISION_BF16, /* operands rounded to 8 bits; weights stay floats in memory */
    LL_PRECISION_COUNT
} ll_precision;

#define LL_CUDA_SYMBOL "llap_cuda_entry"
enum { LL_CUDA_ABI = 3, LL_CUDA_TEXT = 256 };

typedef struct ll_cuda_driver {
    int abi, op_count;
    /* Takes a device for this process; another one later is refused. text: why not, one line. */
    llap_status (*open)(int device, ll_precision precision, const ll_backend **out,
                        char text[LL_CUDA_TEXT]);
} ll_cuda_driver;

#endif
