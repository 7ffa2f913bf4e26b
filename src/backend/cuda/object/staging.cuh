// Copies by way of pinned memory, on the queue in use. up: from may be used again at once. down:
// waits.
#ifndef LL_BACKEND_CUDA_OBJECT_STAGING_CUH
#define LL_BACKEND_CUDA_OBJECT_STAGING_CUH

#include <cuda_runtime.h>

cudaError_t ll_cuda_stage_up(void *to, const void *from, size_t n_bytes);
cudaError_t ll_cuda_stage_down(void *to, const void *from, size_t n_bytes);

#endif
