#define VEC_AVX2
#define ISA_NAME "avx2"
#define ISA_TABLE ll_kern_avx2
#define GEMM_MR 6 /* rows of C in registers */
#define GEMM_NV 1 /* vectors of 16 columns in registers */
#include "backend/cpu/isa_body.h"
