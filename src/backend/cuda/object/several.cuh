// Small calls that one launch does several of; see several.cu. Each function does as many of the n
// calls as it can, and says how many.
#ifndef LLAP_BACKEND_CUDA_OBJECT_SEVERAL_CUH
#define LLAP_BACKEND_CUDA_OBJECT_SEVERAL_CUH

#include "backend/cuda/object/product.cuh"

bool llap_cuda_is_small_map(const llap_call *c);
int  llap_cuda_maps(const llap_call *c, int n);

bool llap_cuda_is_small_concat(const llap_call *c);
int  llap_cuda_concats(const llap_call *c, int n);

int llap_cuda_small_sum(const llap_call *c); // threads for a result; 0: not small
int llap_cuda_sums(const llap_call *c, int n);

int llap_cuda_adamws(const llap_call *c, int n);

#endif
