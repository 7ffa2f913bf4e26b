#define VEC_AVX512
#define ISA_NAME "avx512"
#define ISA_TABLE ll_kern_avx512
#define GEMM_MR 12            /* rows of C in registers */
#define GEMM_NV 2             /* vectors of 16 columns in registers */
#define ISA_TILES ll_kern_amx /* the same with products and attention by tiles */
#include "backend/cpu/isa_body.h"
