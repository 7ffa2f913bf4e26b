// Floats on tensor cores: a float is the sum of three bf16, exactly, its 24 bits cut into eights.
// Of the nine products of two such sums six are taken; the other three are below 2^-21 of the whole
// (2^-23 on the average), so that the result is as good as one of floats. It does not depend on how
// large operands are.
//
// What tensor cores add up they cut rather than round. So the product of the highest parts has sums
// of its own, the five small ones share others, and both are brought together in floats.
//
// An infinite operand gives NaN, also where floats would give infinity: its lower parts are
// inf - inf. NaN stays NaN.
#ifndef LL_BACKEND_CUDA_OBJECT_SPLIT_CUH
#define LL_BACKEND_CUDA_OBJECT_SPLIT_CUH

#include "backend/cuda/object/wgmma.cuh"

enum { PARTS = 3 }; // highest first

#if LL_WGMMA
// The upper halves of two words, as two bf16.
__device__ static inline uint32_t upper(float x, float y)
{
    return __byte_perm(__float_as_uint(x), __float_as_uint(y), 0x7632);
}
__device__ static inline float without_upper(float x)
{
    return x - __uint_as_float(__float_as_uint(x) & 0xffff0000u);
}
// Word w of each part: the parts of two neighbours.
template <int WORDS>
__device__ static inline void split(float x, float y, int w, uint32_t (&part)[PARTS][WORDS])
{
#pragma unroll
    for (int i = 0; i < PARTS; i++) {
        part[i][w] = upper(x, y);
        x = without_upper(x), y = without_upper(y);
    }
}

// Sixteen numbers of a row along the inner length. A lane of a warp reads four neighbours of them
// where wgmma wants two and two more eight further on: both operands take them in that order.
struct sixteen {
    float4 x[4];

    __device__ void load(const float *from, int there) // the rest: zeros
    {
#pragma unroll
        for (int i = 0; i < 4; i++)
            x[i] = 4 * i < there ? *(const float4 *)(from + 4 * i)
                                 : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    // As pieces 2 at, 2 at + 1 of a row of tiles of BYTES wide rows; parts lie `apart`.
    template <int BYTES> __device__ void store(uint32_t tile, uint32_t apart, int row, int at) const
    {
        uint32_t low[PARTS][4], high[PARTS][4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            split(x[i].x, x[i].y, i, low);
            split(x[i].z, x[i].w, i, high);
        }
#pragma unroll
        for (int i = 0; i < PARTS; i++) {
            store16(tile + i * apart + piece_at<BYTES>(row, 2 * at), *(const uint4 *)low[i]);
            store16(tile + i * apart + piece_at<BYTES>(row, 2 * at + 1), *(const uint4 *)high[i]);
        }
    }
};
// The other operand in registers: this lane's fours of rows l / 4 and l / 4 + 8.
__device__ static inline void split_fours(const float4 (&x)[2], uint32_t (&part)[PARTS][4])
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        split(x[half].x, x[half].y, half, part);
        split(x[half].z, x[half].w, half + 2, part);
    }
}

// Of two warpgroups the second waits until the first lets it begin. Then one multiplies while the
// other does what tensor cores cannot.
__device__ static inline void wait_for_first()
{
    if (threadIdx.x >= 128) asm volatile("bar.sync 1, 256;\n" ::: "memory");
}
__device__ static inline void let_second()
{
    if (threadIdx.x < 128) asm volatile("bar.arrive 1, 256;\n" ::: "memory");
}

// sum, rest [64,N] += a [64,16] b [16,N]; b in tiles of BYTES wide rows that lie `apart`. With add
// 0 they begin here. The lowest part of a is in registers too, or in shared memory.
template <int N, int TB, int BYTES>
__device__ static inline void wgmma_upper(float *sum, float *rest, const uint32_t *high_a,
                                          const uint32_t *middle_a, uint32_t b, uint32_t apart,
                                          int add)
{
    const uint64_t high = tile_at<BYTES>(b), middle = tile_at<BYTES>(b + apart),
                   low = tile_at<BYTES>(b + 2 * apart);
    wgmma<N>::template rs<TB>(sum, high_a, high, add);
    wgmma<N>::template rs<TB>(rest, high_a, middle, add);
    wgmma<N>::template rs<TB>(rest, middle_a, high, 1);
    wgmma<N>::template rs<TB>(rest, middle_a, middle, 1);
    wgmma<N>::template rs<TB>(rest, high_a, low, 1);
}
template <int N, int TB, int BYTES>
__device__ static inline void wgmma_parts(float *sum, float *rest, const uint32_t (&a)[PARTS][4],
                                          uint32_t b, uint32_t apart, int add)
{
    wgmma_upper<N, TB, BYTES>(sum, rest, a[0], a[1], b, apart, add);
    wgmma<N>::template rs<TB>(rest, a[2], tile_at<BYTES>(b), 1);
}
template <int N, int TB, int BYTES>
__device__ static inline void wgmma_parts(float *sum, float *rest, const uint32_t (&a)[2][4],
                                          uint64_t a_low, uint32_t b, uint32_t apart, int add)
{
    wgmma_upper<N, TB, BYTES>(sum, rest, a[0], a[1], b, apart, add);
    wgmma<N>::template ss<0, TB>(rest, a_low, tile_at<BYTES>(b), 1);
}
#endif

#endif
