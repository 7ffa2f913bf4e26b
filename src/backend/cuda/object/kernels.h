/* The kernels of the CUDA object, by op. See each .cu. */
#ifndef LLAP_BACKEND_CUDA_OBJECT_KERNELS_H
#define LLAP_BACKEND_CUDA_OBJECT_KERNELS_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/cuda/driver.h"

void llap_cuda_map(const llap_call *c); /* all elementwise ops */
#define X(ID, id) void llap_cuda_##id(const llap_call *c);
LLAP_SHAPED_LIST(X)
LLAP_TAKEN_LIST(X)
#undef X

void llap_cuda_matmul_tf32(const llap_call *c);
void llap_cuda_linear_tf32(const llap_call *c);
void llap_cuda_matmul_bf16(const llap_call *c);
void llap_cuda_linear_bf16(const llap_call *c);
void llap_cuda_attention_bf16(const llap_call *c);
void llap_cuda_attention_grad_bf16(const llap_call *c);

size_t llap_cuda_work_bytes(const llap_call *c);
bool   llap_cuda_half(const llap_call *c, int k); /* of the bf16 backend */
bool   llap_cuda_takes(const llap_call *c);       /* likewise */

int llap_cuda_several(const llap_call *c, int n);
int llap_cuda_alike(const llap_call *c);
int llap_cuda_several_bf16(const llap_call *c, int n);
int llap_cuda_alike_bf16(const llap_call *c);

extern const llap_memory llap_cuda_memory;
const llap_backend      *llap_cuda_backend(llap_precision precision);
llap_status              llap_cuda_take_device(int device, char text[LLAP_CUDA_TEXT]);

#ifdef __cplusplus
}
#endif

#endif
