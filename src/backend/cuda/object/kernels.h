/* The kernels of the CUDA object, by op. See each .cu. */
#ifndef LL_BACKEND_CUDA_OBJECT_KERNELS_H
#define LL_BACKEND_CUDA_OBJECT_KERNELS_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/cuda/driver.h"

void ll_cuda_map(const ll_call *c); /* all elementwise ops */
#define X(ID, id) void ll_cuda_##id(const ll_call *c);
LL_SHAPED_LIST(X)
LL_TAKEN_LIST(X)
#undef X

void ll_cuda_matmul_tf32(const ll_call *c);
void ll_cuda_linear_tf32(const ll_call *c);
void ll_cuda_matmul_bf16(const ll_call *c);
void ll_cuda_linear_bf16(const ll_call *c);
void ll_cuda_attention_bf16(const ll_call *c);
void ll_cuda_attention_grad_bf16(const ll_call *c);

size_t ll_cuda_work_bytes(const ll_call *c);
bool   ll_cuda_half(const ll_call *c, int k); /* of the bf16 backend */
bool   ll_cuda_takes(const ll_call *c);       /* likewise */

int ll_cuda_several(const ll_call *c, int n);
int ll_cuda_alike(const ll_call *c);
int ll_cuda_several_bf16(const ll_call *c, int n);
int ll_cuda_alike_bf16(const ll_call *c);

extern const ll_memory ll_cuda_memory;
const ll_backend      *ll_cuda_backend(ll_precision precision);
llap_status            ll_cuda_take_device(int device, char text[LL_CUDA_TEXT]);

#ifdef __cplusplus
}
#endif

#endif
