// The tensor cores' product of bf16 tiles with sums in floats, and loading its operands.
#ifndef LL_BACKEND_CUDA_OBJECT_MMA_CUH
#define LL_BACKEND_CUDA_OBJECT_MMA_CUH

#include <cuda_bf16.h>
#include <stdint.h>

// d [16,8] += a [16,16] b [16,8]
__device__ static inline void mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Four 8 x 8 tiles of shared memory; lanes 8i .. 8i+7 name the rows of tile i.
__device__ static inline void load_tiles(uint32_t r[4], const __nv_bfloat16 *row)
{
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at));
}
__device__ static inline void load_tiles_turned(uint32_t r[4], const __nv_bfloat16 *row)
{
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at));
}

// a [16,16] at (row, k) of a tile [row][k]; of a tile [k][row] with turned.
__device__ static inline void load_a(uint32_t r[4], const __nv_bfloat16 *tile, int pitch, int row,
                                     int k)
{
    const int lane = threadIdx.x % 32;
    load_tiles(r, tile + (row + lane % 16) * pitch + k + lane / 16 * 8);
}
__device__ static inline void load_a_turned(uint32_t r[4], const __nv_bfloat16 *tile, int pitch,
                                            int row, int k)
{
    const int lane = threadIdx.x % 32;
    load_tiles_turned(r, tile + (k + lane % 8 + lane / 16 * 8) * pitch + row + lane / 8 % 2 * 8);
}
// b [16,16] at (k, column) as two operands r[0..1], r[2..3] of 8 columns each, from a tile
// [column][k]; from a tile [k][column] with turned.
__device__ static inline void load_b(uint32_t r[4], const __nv_bfloat16 *tile, int pitch,
                                     int column, int k)
{
    const int lane = threadIdx.x % 32;
    load_tiles(r, tile + (column + lane % 8 + lane / 16 * 8) * pitch + k + lane / 8 % 2 * 8);
}
__device__ static inline void load_b_turned(uint32_t r[4], const __nv_bfloat16 *tile, int pitch,
                                            int column, int k)
{
    const int lane = threadIdx.x % 32;
    load_tiles_turned(r, tile + (k + lane % 8 + lane / 8 % 2 * 8) * pitch + column + lane / 16 * 8);
}

__device__ static inline uint32_t pack(float low, float high)
{
    const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    return *(const uint32_t *)&both;
}

__device__ static inline void store4(__nv_bfloat16 *to, float4 x)
{
    *(uint2 *)to = make_uint2(pack(x.x, x.y), pack(x.z, x.w));
}

#endif
