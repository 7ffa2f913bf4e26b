// Hopper's product of a warpgroup: d [64,N] += a [64,16] b [16,N], operands bf16 in shared memory
// (a in registers with rs), sums in floats. Only in code for sm_90a; ll_cuda_wgmma_there says
// whether the device runs that.
//
// A tile in shared memory is rows of 128 bytes (or 64) whose 16-byte pieces are exchanged, so that
// eight rows read at once lie in different banks. Rows run along the inner length (turned 0), or
// are of the inner length and run along the side (turned 1).
#ifndef LL_BACKEND_CUDA_OBJECT_WGMMA_CUH
#define LL_BACKEND_CUDA_OBJECT_WGMMA_CUH

#include "backend/cuda/object/mma.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define LL_WGMMA 1
#else
#define LL_WGMMA 0
#endif

bool ll_cuda_wgmma_there();

#if LL_WGMMA
// Where piece `piece` (16 bytes) of row `row` lies, rows of BYTES.
template <int BYTES> __device__ static inline uint32_t piece_at(int row, int piece)
{
    return BYTES == 128 ? row * 128 + ((piece ^ (row & 7)) << 4)
                        : row * 64 + ((piece ^ (row >> 1 & 3)) << 4);
}

// What wgmma is told about a tile: where it lies and, turned, how far blocks of a row's length are
// apart. Eight rows follow each other.
template <int BYTES>
__device__ static inline uint64_t tile_at(uint32_t at, uint32_t blocks_apart = 0)
{
    return (uint64_t)(at >> 4 & 0x3fff) | (uint64_t)(blocks_apart >> 4 & 0x3fff) << 16 |
           (uint64_t)(BYTES * 8 >> 4) << 32 | (BYTES == 128 ? 1ull : 2ull) << 62;
}

__device__ static inline uint32_t shared_at(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

// Sixteen bytes on their way into shared memory; zeros where there is nothing.
__device__ static inline void bring16(uint32_t to, const void *from, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from),
                 "r"(there ? 16 : 0)
                 : "memory");
}
__device__ static inline void store16(uint32_t to, uint4 x)
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};\n" ::"r"(to), "r"(x.x), "r"(x.y),
                 "r"(x.z), "r"(x.w)
                 : "memory");
}
__device__ static inline void bring_commit()
{
    asm volatile("cp.async.commit_group;\n" ::: "memory");
}
template <int LEFT> __device__ static inline void bring_wait()
{
    asm volatile("cp.async.wait_group %0;\n" ::"n"(LEFT) : "memory");
}
// What this thread wrote into shared memory is there for wgmma, behind a barrier.
__device__ static inline void show_shared()
{
    asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}

// Barriers in shared memory: of so many arrivals, each time; parity: of the times before.
__device__ static inline void bar_init(uint32_t at, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(at), "r"(count) : "memory");
}
__device__ static inline void bar_arrive(uint32_t at)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(at) : "memory");
}
__device__ static inline void bar_expect(uint32_t at, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(at), "r"(bytes)
                 : "memory");
}
__device__ static inline void bar_wait(uint32_t at, uint32_t parity)
{
    asm volatile("{\n.reg .pred p;\nagain:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@!p bra again;\n}\n" ::"r"(at),
                 "r"(parity)
                 : "memory");
}

__device__ static inline void wgmma_begin()
{
    asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
}
__device__ static inline void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
}
// All that was begun is done; d are its sums.
template <int N> __device__ static inline void wgmma_finish(float (&d)[N])
{
    asm volatile("wgmma.wait_group.sync.aligned 0;\n" ::: "memory");
#pragma unroll
    for (int i = 0; i < N; i++) asm volatile("" : "+f"(d[i])::"memory");
}

template <int N> struct wgmma;
// clang-format off
template <> struct wgmma<32> {
    template <int TA, int TB>
    __device__ static inline void ss(float *d, uint64_t a, uint64_t b, int add)
    {
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %18, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
                 "}, %16, %17, p, 1, 1, %19, %20;\n}\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
                 : "l"(a), "l"(b), "r"(add), "n"(TA), "n"(TB));
    }
    template <int TB>
    __device__ static inline void rs(float *d, const uint32_t *a, uint64_t b, int add)
    {
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
                 "}, {%16, %17, %18, %19}, %20, p, 1, 1, %22;\n}\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(TB));
    }
};
template <> struct wgmma<64> {
    template <int TA, int TB>
    __device__ static inline void ss(float *d, uint64_t a, uint64_t b, int add)
    {
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
                 "}, %32, %33, p, 1, 1, %35, %36;\n}\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                   "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                   "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                 : "l"(a), "l"(b), "r"(add), "n"(TA), "n"(TB));
    }
    template <int TB>
    __device__ static inline void rs(float *d, const uint32_t *a, uint64_t b, int add)
    {
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
                 "}, {%32, %33, %34, %35}, %36, p, 1, 1, %38;\n}\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                   "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                   "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(TB));
    }
};
template <> struct wgmma<128> {
    template <int TA, int TB>
    __device__ static inline void ss(float *d, uint64_t a, uint64_t b, int add)
    {
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
                 "}, %64, %65, p, 1, 1, %67, %68;\n}\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                   "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                   "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
                   "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
                   "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
                   "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                   "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
                 : "l"(a), "l"(b), "r"(add), "n"(TA), "n"(TB));
    }
    template <int TB>
    __device__ static inline void rs(float *d, const uint32_t *a, uint64_t b, int add)
    {
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
                 "}, {%64, %65, %66, %67}, %68, p, 1, 1, %70;\n}\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                   "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                   "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
                   "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
                   "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
                   "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                   "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(TB));
    }
};
// clang-format on

// Four lanes have two numbers each (a word of bf16) of columns 0..7 (x) and 8..15 (y) of a row; the
// result are four neighbours: of x in lanes 0 and 1, of y in lanes 2 and 3.
__device__ static inline uint2 exchange4(uint32_t x, uint32_t y)
{
    const int      lane = threadIdx.x % 32, from = (lane & ~3) + (lane & 1) * 2;
    const uint32_t x0 = __shfl_sync(0xffffffffu, x, from),
                   x1 = __shfl_sync(0xffffffffu, x, from + 1),
                   y0 = __shfl_sync(0xffffffffu, y, from),
                   y1 = __shfl_sync(0xffffffffu, y, from + 1);
    return (lane & 2) != 0 ? make_uint2(y0, y1) : make_uint2(x0, x1);
}

// This lane's numbers of two rows, 8 apart: x(4 n + 2 half + e) into column 8 n + e. at: of its
// first number; rows, columns: how many are left from there.
template <int WIDE, typename F>
__device__ static inline void put_tile(float *y, bool as_half, int64_t at, int64_t rows,
                                       int64_t n_columns, int64_t columns, F x)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int64_t to = at + 8 * half * n_columns;
#pragma unroll
        for (int n = 0; n < WIDE / 8; n += 2) {
            const int i = 4 * n + 2 * half;
            if (as_half) {
                const uint2 four = exchange4(pack(x(i), x(i + 1)), pack(x(i + 4), x(i + 5)));
                const int   c = 8 * n + lane % 4 * 2; // beyond this lane's first column
                if (8 * half < rows && c < columns) *(uint2 *)((uint16_t *)y + to + c) = four;
                continue;
            }
            if (8 * half >= rows) continue;
            if (8 * n < columns) *(float2 *)(y + to + 8 * n) = make_float2(x(i), x(i + 1));
            if (8 * n + 8 < columns)
                *(float2 *)(y + to + 8 * n + 8) = make_float2(x(i + 4), x(i + 5));
        }
    }
}
// The sum over the four lanes that have a row.
__device__ static inline float four_sum(float x)
{
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}
#endif

#endif
