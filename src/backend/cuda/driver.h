/* What the library and its CUDA object agree on. The object is linked with the CUDA toolkit and
 * loaded when a GPU is asked for; it sees nothing of the library but headers. */
#ifndef LLAP_BACKEND_CUDA_DRIVER_H
#define LLAP_BACKEND_CUDA_DRIVER_H

#include "backend/backend.h"

/* What products and attention compute with; everything else, and every sum, is in floats. */
typedef enum llap_precision {
    LLAP_PRECISION_FP32,
    LLAP_PRECISION_TF32, /* operands rounded to 11 bits */
    LLAP_PRECISION_BF16, /* operands rounded to 8 bits; weights stay floats in memory */
    LLAP_PRECISION_COUNT
} llap_precision;

#define LLAP_CUDA_SYMBOL "llap_cuda_entry"
enum { LLAP_CUDA_ABI = 3, LLAP_CUDA_TEXT = 256 };

typedef struct llap_cuda_driver {
    int abi, op_count;
    /* Takes a device for this process; another one later is refused. text: why not, one line. */
    llap_status (*open)(int device, llap_precision precision, const llap_backend **out,
                        char text[LLAP_CUDA_TEXT]);
} llap_cuda_driver;

#endif
