// What a layer adds to the sums of its product.
#ifndef LL_BACKEND_CUDA_OBJECT_PRODUCT_FINISH_CUH
#define LL_BACKEND_CUDA_OBJECT_PRODUCT_FINISH_CUH

#include "backend/cuda/object/product.cuh"

// Bias, GELU and residual of a lane's numbers, as wgmma leaves them: rows first and first + 8 of
// the matrix that begins at row `before` of the result, columns from column on. Rows and columns
// outside repeat others, which nobody stores: no branches, so that many loads are on their way at
// once.
template <int WIDE, typename F>
__device__ static inline void finish_tile(const product &p, int64_t before, int64_t first,
                                          int64_t column, F gelu, float (&sum)[WIDE / 2])
{
    enum { AT_ONCE = WIDE / 8 < 16 ? WIDE / 8 : 16 };
    if (p.bias != NULL)
#pragma unroll
        for (int n = 0; n < WIDE / 8; n++) {
            const int64_t c = column + 8 * n < p.n ? column + 8 * n : 0;
            const float   x = __ldg(p.bias + c), y = __ldg(p.bias + c + 1);
            sum[4 * n] += x, sum[4 * n + 1] += y, sum[4 * n + 2] += x, sum[4 * n + 3] += y;
        }
    if (p.gelu)
#pragma unroll
        for (int i = 0; i < WIDE / 2; i++) sum[i] = gelu(sum[i]);
    if (p.residual == NULL) return;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int64_t row = first + 8 * half < p.m ? first + 8 * half : p.m - 1;
        const float  *from = p.residual + residual_row(p, before + row);
#pragma unroll
        for (int n = 0; n < WIDE / 8; n += AT_ONCE) {
            float2 r[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++) {
                const int64_t c = column + 8 * (n + k);
                r[k] = *(const float2 *)(from + (c < p.n ? c : 0));
            }
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++) {
                sum[4 * (n + k) + 2 * half] += r[k].x;
                sum[4 * (n + k) + 2 * half + 1] += r[k].y;
            }
        }
    }
}

#endif
