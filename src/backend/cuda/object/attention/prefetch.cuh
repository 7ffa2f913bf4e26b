// Rows of an attention's operand on their way into shared memory, one tile ahead.
#ifndef LL_BACKEND_CUDA_OBJECT_ATTENTION_PREFETCH_CUH
#define LL_BACKEND_CUDA_OBJECT_ATTENTION_PREFETCH_CUH

#include "backend/cuda/object/attention/attention.cuh"
#include "backend/cuda/object/mma.cuh"

// ROWS rows of width D on their way to shared memory as bf16; zeros behind the last row.
template <int D, int ROWS, int THREADS, bool HALF> struct rows_ahead {
    enum { EACH = HALF ? 8 : 4, N = ROWS * D / EACH / THREADS, PITCH = D + 8 };
    uint4 held[N]; // 8 numbers of bf16, or 4 floats

    __device__ void load(const float *from, int64_t step, int64_t first, int64_t n, bool vector)
    {
#pragma unroll
        for (int i = 0; i < N; i++) {
            const int     at = i * THREADS + threadIdx.x, c = at % (D / EACH) * EACH;
            const int64_t row = first + at / (D / EACH);
            held[i] = make_uint4(0, 0, 0, 0);
            if (row >= n) continue;
            const char *x = (const char *)from + (row * step + c) * (HALF ? 2 : 4);
            if (vector) {
                held[i] = *(const uint4 *)x;
            } else if (HALF) {
                for (int e = 0; e < 8; e++) ((uint16_t *)&held[i])[e] = ((const uint16_t *)x)[e];
            } else {
                for (int e = 0; e < 4; e++) ((uint32_t *)&held[i])[e] = ((const uint32_t *)x)[e];
            }
        }
    }
    __device__ void store(__nv_bfloat16 *tile) const
    {
#pragma unroll
        for (int i = 0; i < N; i++) {
            const int      at = i * THREADS + threadIdx.x, c = at % (D / EACH) * EACH;
            __nv_bfloat16 *to = tile + at / (D / EACH) * PITCH + c;
            if (HALF) *(uint4 *)to = held[i];
            else store4(to, *(const float4 *)&held[i]);
        }
    }
};

static inline bool in_sixteens(const att_rows &r)
{
    const int each = r.half ? 8 : 4;
    bool      ok = ((uintptr_t)r.data & 15) == 0 && r.step % each == 0;
    for (int i = 0; i < r.at.rank - 2; i++) ok = ok && r.at.stride[i] % each == 0;
    return ok;
}

bool ll_cuda_attention_wgmma(const ll_call *c, const att_arg &p); // false: not for this one
bool ll_cuda_attention_split(const ll_call *c, const att_arg &p); // floats; likewise

// The gradient of operands, y and dy in bf16; false: not for this one.
bool ll_cuda_attention_grad_wgmma(const ll_call *c, const att_arg &p);

// Heads that the tensor cores' kernels are made for.
bool ll_cuda_attention_fits(const ll_call *c);

#endif
