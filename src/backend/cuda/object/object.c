/* The tables of the CUDA object, one backend per precision. */
#include "backend/cuda/object/kernels.h"

#include <stdio.h>

static const llap_backend plain = {
    .name = "cuda",
    .real_bytes = sizeof(float),
    .memory = &llap_cuda_memory,
    .work_bytes = llap_cuda_work_bytes,
    .several = llap_cuda_several,
    .alike = llap_cuda_alike,
    .kernel = {
#define X(ID, id) [LLAP_OP_##ID] = llap_cuda_map,
        LLAP_UNARY_LIST(X)
        LLAP_BINARY_LIST(X)
#undef X
#define X(ID, id) [LLAP_OP_##ID] = llap_cuda_##id,
        LLAP_SHAPED_LIST(X)
#undef X
        [LLAP_OP_MOVE] = llap_cuda_move,
    },
};

static llap_backend other[LLAP_PRECISION_COUNT]; /* written before it is handed out */

/* Same content whoever writes it, so that two threads may. */
const llap_backend *llap_cuda_backend(llap_precision precision)
{
    if (precision == LLAP_PRECISION_FP32) return &plain;
    llap_backend b = plain;
    if (precision == LLAP_PRECISION_TF32) {
        b.name = "cuda tf32";
        b.kernel[LLAP_OP_MATMUL] = llap_cuda_matmul_tf32;
        b.kernel[LLAP_OP_LINEAR] = llap_cuda_linear_tf32;
    } else {
        b.name = "cuda bf16";
        b.half = llap_cuda_half;
        b.takes = llap_cuda_takes;
        b.several = llap_cuda_several_bf16;
        b.alike = llap_cuda_alike_bf16;
        b.kernel[LLAP_OP_LAYERS] = llap_cuda_layers;
        b.kernel[LLAP_OP_GATED] = llap_cuda_gated;
        b.kernel[LLAP_OP_MATMUL] = llap_cuda_matmul_bf16;
        b.kernel[LLAP_OP_LINEAR] = llap_cuda_linear_bf16;
        b.kernel[LLAP_OP_ATTENTION] = llap_cuda_attention_bf16;
        b.kernel[LLAP_OP_ATTENTION_GRAD] = llap_cuda_attention_grad_bf16;
    }
    other[precision] = b;
    return &other[precision];
}

static llap_status open_device(int device, llap_precision precision, const llap_backend **out,
                               char text[LLAP_CUDA_TEXT])
{
    const llap_status st = llap_cuda_take_device(device, text);
    if (st != LLAP_OK) return st;
#ifdef LLAP_CUDA_CHECK /* see cmake/LlapCuda.cmake */
    (void)precision, (void)out;
    snprintf(text, LLAP_CUDA_TEXT,
             "the object llapdiff-cuda.so was made without a GPU, only to see that it compiles: "
             "'make cuda' makes one that computes");
    return LLAP_EUNSUPPORTED;
#else
    *out = llap_cuda_backend(precision);
    return st;
#endif
}

extern const llap_cuda_driver                                 llap_cuda_entry;
__attribute__((visibility("default"))) const llap_cuda_driver llap_cuda_entry = {
    .abi = LLAP_CUDA_ABI, .op_count = LLAP_OP_COUNT, .open = open_device
};
