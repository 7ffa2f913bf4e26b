/* The tables of the CUDA object, one backend per precision. */
#include "backend/cuda/object/kernels.h"

#include <stdio.h>

static const ll_backend plain = {
    .name = "cuda",
    .real_bytes = sizeof(float),
    .memory = &ll_cuda_memory,
    .work_bytes = ll_cuda_work_bytes,
    .several = ll_cuda_several,
    .alike = ll_cuda_alike,
    .kernel = {
#define X(ID, id) [LL_OP_##ID] = ll_cuda_map,
        LL_UNARY_LIST(X)
        LL_BINARY_LIST(X)
#undef X
#define X(ID, id) [LL_OP_##ID] = ll_cuda_##id,
        LL_SHAPED_LIST(X)
#undef X
        [LL_OP_MOVE] = ll_cuda_move,
    },
};

static ll_backend other[LL_PRECISION_COUNT]; /* written before it is handed out */

/* Same content whoever writes it, so that two threads may. */
const ll_backend *ll_cuda_backend(ll_precision precision)
{
    if (precision == LL_PRECISION_FP32) return &plain;
    ll_backend b = plain;
    if (precision == LL_PRECISION_TF32) {
        b.name = "cuda tf32";
        b.kernel[LL_OP_MATMUL] = ll_cuda_matmul_tf32;
        b.kernel[LL_OP_LINEAR] = ll_cuda_linear_tf32;
    } else {
        b.name = "cuda bf16";
        b.half = ll_cuda_half;
        b.takes = ll_cuda_takes;
        b.several = ll_cuda_several_bf16;
        b.alike = ll_cuda_alike_bf16;
        b.kernel[LL_OP_LAYERS] = ll_cuda_layers;
        b.kernel[LL_OP_GATED] = ll_cuda_gated;
        b.kernel[LL_OP_MATMUL] = ll_cuda_matmul_bf16;
        b.kernel[LL_OP_LINEAR] = ll_cuda_linear_bf16;
        b.kernel[LL_OP_ATTENTION] = ll_cuda_attention_bf16;
        b.kernel[LL_OP_ATTENTION_GRAD] = ll_cuda_attention_grad_bf16;
    }
    other[precision] = b;
    return &other[precision];
}

static llap_status open_device(int device, ll_precision precision, const ll_backend **out,
                               char text[LL_CUDA_TEXT])
{
    const llap_status st = ll_cuda_take_device(device, text);
    if (st != LLAP_OK) return st;
#ifdef LLAP_CUDA_CHECK /* see cmake/LlapCuda.cmake */
    (void)precision, (void)out;
    snprintf(text, LL_CUDA_TEXT,
             "the object llapdiff-cuda.so was made without a GPU, only to see that it compiles: "
             "'make cuda' makes one that computes");
    return LLAP_EUNSUPPORTED;
#else
    *out = ll_cuda_backend(precision);
    return st;
#endif
}

extern const ll_cuda_driver                                 llap_cuda_entry;
__attribute__((visibility("default"))) const ll_cuda_driver llap_cuda_entry = {
    .abi = LL_CUDA_ABI, .op_count = LL_OP_COUNT, .open = open_device
};
