// Sums of columns; see columns.cu.
#ifndef LL_BACKEND_CUDA_OBJECT_COLUMNS_CUH
#define LL_BACKEND_CUDA_OBJECT_COLUMNS_CUH

#include "backend/cuda/object/common.cuh"

bool   ll_cuda_columns_fit(const ll_call *c); // whether a SUM is of this kind, by its shapes
size_t ll_cuda_columns_bytes(const ll_call *c);
bool   ll_cuda_columns(const ll_call *c); // false: not for this one

// partial [outer, cuts, inner], added in order -> [outer, inner]
void ll_cuda_join_columns(const double *partial, int64_t outer, int64_t inner, int64_t cuts,
                          float *out);

#endif
