// Sums of columns; see columns.cu.
#ifndef LLAP_BACKEND_CUDA_OBJECT_COLUMNS_CUH
#define LLAP_BACKEND_CUDA_OBJECT_COLUMNS_CUH

#include "backend/cuda/object/common.cuh"

bool   llap_cuda_columns_fit(const llap_call *c); // whether a SUM is of this kind, by its shapes
size_t llap_cuda_columns_bytes(const llap_call *c);
bool   llap_cuda_columns(const llap_call *c); // false: not for this one

// partial [outer, cuts, inner], added in order -> [outer, inner]
void llap_cuda_join_columns(const double *partial, int64_t outer, int64_t inner, int64_t cuts,
                            float *out);

#endif
