#define ISA_NAME "portable"
#define ISA_TABLE ll_kern_portable
#define GEMM_MR 4 /* rows of C in registers */
#define GEMM_NV 1 /* vectors of 16 columns in registers */
#include "backend/cpu/isa_body.h"
