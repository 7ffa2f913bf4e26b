// Layers of very short rows (up to 32 numbers, as many as come) over many of them, in bf16: what
// reads the data itself. A warp takes 16 rows; their numbers go from memory into the operand's
// registers, weights lie in shared memory with zeros behind each row.
#include "backend/cuda/object/mma.cuh"
#include "backend/cuda/object/product.cuh"

enum { WARPS = 8, ROWS = 16, DEPTH = 32, PITCH = DEPTH + 8, WIDEST = 512, BLOCKS = 132 * 4 };

__device__ static inline float weight_at(const product &p, int64_t at)
{
    return p.b_half ? __bfloat162float(((const __nv_bfloat16 *)p.b)[at]) : p.b[at];
}

__device__ static inline float2 done(const product &p, float2 x, int column, int64_t row)
{
    if (p.bias != NULL) x.x += p.bias[column], x.y += p.bias[column + 1];
    if (p.gelu) x = make_float2(gelu_of(x.x), gelu_of(x.y));
    if (p.residual == NULL) return x;
    const float2 r = *(const float2 *)(p.residual + residual_row(p, row) + column);
    return make_float2(x.x + r.x, x.y + r.y);
}

__global__ void __launch_bounds__(32 * WARPS) short_kernel(const __grid_constant__ product p)
{
    behind();
    extern __shared__ __nv_bfloat16 weights[]; // [n][PITCH]
    const int                       n = (int)p.n, k = (int)p.k;
    for (int i = threadIdx.x; i < n * DEPTH; i += 32 * WARPS) {
        const int row = i / DEPTH, at = i % DEPTH;
        weights[row * PITCH + at] =
            __float2bfloat16_rn(at < k ? weight_at(p, row * p.ldb + at) : 0.0f);
    }
    __syncthreads();
    const int     lane = threadIdx.x % 32, column = lane % 4 * 2;
    const int64_t tiles = (p.m + ROWS - 1) / ROWS;
    for (int64_t tile = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32; tile < tiles;
         tile += (int64_t)gridDim.x * WARPS) {
        const int64_t row = tile * ROWS + lane / 4;
        uint32_t      a[DEPTH / 16][4];
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float *from = p.a + (row + 8 * half < p.m ? row + 8 * half : p.m - 1) * p.lda;
#pragma unroll
            for (int e = 0; e < DEPTH / 8; e++) {
                const int at = 8 * e + column;
                a[e / 2][e % 2 * 2 + half] =
                    pack(at < k ? from[at] : 0.0f, at + 1 < k ? from[at + 1] : 0.0f);
            }
        }
        for (int j = 0; j < n; j += 8) {
            const __nv_bfloat16 *w = weights + (j + lane / 4) * PITCH + column;
            float                sum[4] = {};
#pragma unroll
            for (int e = 0; e < DEPTH / 16; e++) {
                const uint32_t b[2] = { *(const uint32_t *)(w + 16 * e),
                                        *(const uint32_t *)(w + 16 * e + 8) };
                mma_bf16(sum, a[e], b);
            }
#pragma unroll
            for (int half = 0; half < 2; half++)
                if (row + 8 * half < p.m)
                    *(float2 *)(p.y + (row + 8 * half) * n + j + column) =
                        done(p, make_float2(sum[2 * half], sum[2 * half + 1]), j + column,
                             row + 8 * half);
        }
    }
}

bool ll_cuda_product_short(const ll_call *c, const product &p)
{
    enum { FEW = 1 << 14 };
    if (p.ta || !p.tb || p.n_batch > 0 || p.norm || p.a_half || p.y_half || p.k > DEPTH ||
        p.n % 8 != 0 || p.n > WIDEST || p.m < FEW || p.m >= INT32_MAX ||
        (p.repeat != 0 && p.group_step % 2 != 0) ||
        (((uintptr_t)p.y | (uintptr_t)p.residual) & 7) != 0)
        return false;
    const int64_t blocks = (p.m + ROWS * WARPS - 1) / (ROWS * WARPS);
    enqueue(short_kernel, (unsigned)(blocks < BLOCKS ? blocks : BLOCKS), 32 * WARPS,
            (size_t)p.n * PITCH * sizeof(__nv_bfloat16), p);
    launched(c);
    return true;
}
