// Small calls that one launch does several of; see several.cu. Each function does as many of the n
// calls as it can, and says how many.
#ifndef LL_BACKEND_CUDA_OBJECT_SEVERAL_CUH
#define LL_BACKEND_CUDA_OBJECT_SEVERAL_CUH

#include "backend/cuda/object/product.cuh"

bool ll_cuda_is_small_map(const ll_call *c);
int  ll_cuda_maps(const ll_call *c, int n);

bool ll_cuda_is_small_concat(const ll_call *c);
int  ll_cuda_concats(const ll_call *c, int n);

int ll_cuda_small_sum(const ll_call *c); // threads for a result; 0: not small
int ll_cuda_sums(const ll_call *c, int n);

int ll_cuda_adamws(const ll_call *c, int n);

#endif
