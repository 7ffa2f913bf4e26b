// Synthesis, its gated layer and the head in one kernel: the end of a pass, rows of up to 32
// columns.
//
// A block takes 16 rows of a sample: its warps share the inner lengths and leave their parts of the
// sums in shared memory, where they are added in order. What passes from layer to layer stays in
// registers: sums of the tensor cores have the layout of the next product's operand. Weights are
// bf16 and lie in shared memory.
#include "backend/cuda/object/common.cuh"
#include "backend/cuda/object/mma.cuh"

enum { WARPS = 4, ROWS = 16, EACH = 8, PAD = 8 };

struct gated_arg {
    const float         *basis, *theta; // [B,h,M], [B R,M,z]
    const float         *norm[2], *in_bias, *out_bias, *head_norm[2], *head_bias, *skip;
    const __nv_bfloat16 *in, *out, *head; // [2 wide,z], [z,wide], [z,z]
    float               *to;
    uint32_t             n_tiles, tiles, R, h; // all of them, those of a sample
    int                  M, wide;
    float                eps;
};

// d [16,8] += a [16,8] b [8,8]
__device__ static inline void mma_short(float d[4], const uint32_t a[2], uint32_t b)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b));
}

__device__ static inline float four_lanes(float x)
{
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

// Lane l has rows l / 4 and l / 4 + 8 of its warp's, and of each eight columns 2 (l % 4) and one
// more: x[i] = { row, row; row + 8, row + 8 }. Their norm as an operand.
template <int N>
__device__ static inline void norm_rows(const float (&x)[N][4], const float *const norm[2],
                                        float eps, uint32_t (&u)[N][2])
{
    const int column = threadIdx.x % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float mean = 0.0f, square = 0.0f;
#pragma unroll
        for (int i = 0; i < N; i++) mean += x[i][2 * half] + x[i][2 * half + 1];
        mean = four_lanes(mean) / (float)(EACH * N);
#pragma unroll
        for (int i = 0; i < N; i++) {
            const float a = x[i][2 * half] - mean, b = x[i][2 * half + 1] - mean;
            square = fmaf(a, a, fmaf(b, b, square));
        }
        const float rstd = rsqrtf(four_lanes(square) / (float)(EACH * N) + eps);
#pragma unroll
        for (int i = 0; i < N; i++) {
            const float2 w = *(const float2 *)(norm[0] + EACH * i + column),
                         b = *(const float2 *)(norm[1] + EACH * i + column);
            u[i][half] = pack(fmaf((x[i][2 * half] - mean) * rstd, w.x, b.x),
                              fmaf((x[i][2 * half + 1] - mean) * rstd, w.y, b.y));
        }
    }
}

__device__ static inline void begin_with(float (&d)[4], const float *bias)
{
    const float2 b = *(const float2 *)bias;
    d[0] = d[2] = b.x, d[1] = d[3] = b.y;
}

// n pieces of 16 bytes, `across` of them in a row, rows `pitch` numbers apart.
__device__ static inline void bring(__nv_bfloat16 *to, int pitch, const __nv_bfloat16 *from, int n,
                                    int across)
{
    for (int i = threadIdx.x; i < n; i += 32 * WARPS)
        *(uint4 *)(to + i / across * pitch + i % across * 8) = ((const uint4 *)from)[i];
}

__device__ static inline uint32_t pair_at(const __nv_bfloat16 *x) { return *(const uint32_t *)x; }

// The warps' parts of a sum, added in order.
template <int N>
__device__ static inline void join_parts(float (*parts)[ROWS][EACH * N], const float (&mine)[N][4],
                                         float (&sum)[N][4])
{
    const int lane = threadIdx.x % 32, column = lane % 4 * 2, row = lane / 4;
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
        for (int half = 0; half < 2; half++)
            *(float2 *)&parts[threadIdx.x / 32][row + 8 * half][EACH * i + column] =
                make_float2(mine[i][2 * half], mine[i][2 * half + 1]);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float2 all = make_float2(0.0f, 0.0f);
#pragma unroll
            for (int w = 0; w < WARPS; w++) {
                const float2 x = *(const float2 *)&parts[w][row + 8 * half][EACH * i + column];
                all.x += x.x, all.y += x.y;
            }
            sum[i][2 * half] = all.x, sum[i][2 * half + 1] = all.y;
        }
}

// This warp's part of rows `row` and row + 8 of basis theta.
template <int N>
__device__ static inline void synthesise(const gated_arg &p, uint32_t sample, uint32_t row,
                                         float (&sum)[N][4])
{
    enum { Z = EACH * N };
    const int    lane = threadIdx.x % 32, column = lane % 4 * 2, n = lane / 4;
    const int    part = p.M / WARPS, first = threadIdx.x / 32 * part;
    const float *theta = p.theta + ((int64_t)sample * p.M + column) * Z + n, *a[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const uint32_t at = row + 8 * half < p.h ? row + 8 * half : p.h - 1;
        a[half] = p.basis + ((int64_t)(sample / p.R) * p.h + at) * p.M + column;
    }
#pragma unroll
    for (int i = 0; i < N; i++) sum[i][0] = sum[i][1] = sum[i][2] = sum[i][3] = 0.0f;
#pragma unroll 4
    for (int k = first; k < first + part; k += 16) {
        uint32_t f[4];
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const float2 x = *(const float2 *)(a[e % 2] + k + e / 2 * 8);
            f[e] = pack(x.x, x.y);
        }
#pragma unroll
        for (int i = 0; i < N; i++) {
            const float   *t = theta + (int64_t)k * Z + EACH * i;
            const uint32_t b[2] = { pack(t[0], t[Z]), pack(t[8 * Z], t[9 * Z]) };
            mma_bf16(sum[i], f, b);
        }
    }
}

template <int N> // eights of columns
__global__ void __launch_bounds__(32 * WARPS) gated_kernel(const __grid_constant__ gated_arg p)
{
    enum { Z = EACH * N };
    extern __shared__ __align__(16) char room[];
    __shared__ __align__(16) float parts[2][WARPS][ROWS][Z];
    const int                      pitch = p.wide + PAD;
    __nv_bfloat16 *const in = (__nv_bfloat16 *)room, *const out = in + 2 * p.wide * Z,
                         *const head = out + Z * pitch;
    bring(in, Z, p.in, 2 * p.wide * Z / 8, N); // weights: nobody writes them
    bring(out, pitch, p.out, Z * p.wide / 8, p.wide / 8);
    bring(head, Z, p.head, Z * Z / 8, N);
    behind();
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, column = lane % 4 * 2, n = lane / 4;
    const int share = p.wide / WARPS;
    const float skip = *p.skip;
    for (uint32_t tile = blockIdx.x; tile < p.n_tiles; tile += gridDim.x) {
        const uint32_t sample = tile / p.tiles, row = (tile - sample * p.tiles) * ROWS + n;
        float          y[N][4], sum[N][4];
        uint32_t       u[N][2];
        synthesise<N>(p, sample, row, sum);
        join_parts<N>(parts[0], sum, y);
        norm_rows<N>(y, p.norm, p.eps, u);
#pragma unroll
        for (int i = 0; i < N; i++) {
            begin_with(sum[i], p.out_bias + EACH * i + column);
            if (warp > 0) sum[i][0] = sum[i][1] = sum[i][2] = sum[i][3] = 0.0f;
        }
        for (int k = warp * share; k < (warp + 1) * share; k += 16) { // of the gated columns
            float    gate[2][4], up[2][4];
            uint32_t f[4];
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int at = k + EACH * e;
                begin_with(gate[e], p.in_bias + at + column);
                begin_with(up[e], p.in_bias + p.wide + at + column);
#pragma unroll
                for (int i = 0; i < N; i++) {
                    mma_short(gate[e], u[i], pair_at(in + (at + n) * Z + EACH * i + column));
                    mma_short(up[e], u[i], pair_at(in + (p.wide + at + n) * Z + EACH * i + column));
                }
#pragma unroll
                for (int half = 0; half < 2; half++)
                    f[2 * e + half] = pack(up[e][2 * half] * quick_gelu(gate[e][2 * half]),
                                           up[e][2 * half + 1] * quick_gelu(gate[e][2 * half + 1]));
            }
#pragma unroll
            for (int i = 0; i < N; i++) {
                const __nv_bfloat16 *w = out + (EACH * i + n) * pitch + k + column;
                const uint32_t       b[2] = { pair_at(w), pair_at(w + 8) };
                mma_bf16(sum[i], f, b);
            }
        }
        float step[N][4];
        join_parts<N>(parts[1], sum, step);
#pragma unroll
        for (int i = 0; i < N; i++)
#pragma unroll
            for (int e = 0; e < 4; e++) y[i][e] += step[i][e];
        norm_rows<N>(y, p.head_norm, p.eps, u);
#pragma unroll
        for (int i = 0; i < N; i++) { // a warp takes eight columns
            if (i != warp) continue;
            begin_with(sum[i], p.head_bias + EACH * i + column);
#pragma unroll
            for (int k = 0; k < N; k++)
                mma_short(sum[i], u[k], pair_at(head + (EACH * i + n) * Z + EACH * k + column));
#pragma unroll
            for (int half = 0; half < 2; half++)
                if (row + 8 * half < p.h)
                    *(float2 *)(p.to + ((int64_t)sample * p.h + row + 8 * half) * Z + EACH * i +
                                column) =
                        make_float2(fmaf(skip, y[i][2 * half], sum[i][2 * half]),
                                    fmaf(skip, y[i][2 * half + 1], sum[i][2 * half + 1]));
        }
    }
}

template <int N> static void launch(const gated_arg &p)
{
    enum { Z = EACH * N, MOST = 160 << 10, BLOCKS = 132 * 4 };
    static const cudaError_t allowed =
        cudaFuncSetAttribute(gated_kernel<N>, cudaFuncAttributeMaxDynamicSharedMemorySize, MOST);
    const size_t bytes = (size_t)(2 * p.wide * Z + Z * (p.wide + PAD) + Z * Z) * sizeof *p.in;
    ll_cuda_note(allowed, "gated");
    enqueue(gated_kernel<N>, p.n_tiles < BLOCKS ? p.n_tiles : BLOCKS, 32 * WARPS, bytes, p);
}

enum {
    IN_BASIS,
    IN_THETA,
    IN_NORM,
    IN_IN = 4,
    IN_OUT = 6,
    IN_HEAD_NORM = 8,
    IN_HEAD = 10,
    IN_SKIP = 12
};

// Weights are bf16.
bool ll_cuda_gated_half(int k) { return k == IN_IN || k == IN_OUT || k == IN_HEAD; }

static const __nv_bfloat16 *half_of(const ll_view &v) { return (const __nv_bfloat16 *)v.data; }

extern "C" void ll_cuda_gated(const ll_call *c)
{
    const ll_shape &y = c->out[0].shape;
    const int64_t   z = y.dim[3];
    gated_arg       p = {};
    p.basis = real_of(c->in[IN_BASIS]);
    p.theta = real_of(c->in[IN_THETA]);
    for (int i = 0; i < 2; i++) {
        p.norm[i] = real_of(c->in[IN_NORM + i]);
        p.head_norm[i] = real_of(c->in[IN_HEAD_NORM + i]);
    }
    p.in = half_of(c->in[IN_IN]);
    p.in_bias = real_of(c->in[IN_IN + 1]);
    p.out = half_of(c->in[IN_OUT]);
    p.out_bias = real_of(c->in[IN_OUT + 1]);
    p.head = half_of(c->in[IN_HEAD]);
    p.head_bias = real_of(c->in[IN_HEAD + 1]);
    p.skip = real_of(c->in[IN_SKIP]);
    p.to = result_of(c, 0);
    p.R = (uint32_t)y.dim[1];
    p.h = (uint32_t)y.dim[2];
    p.tiles = (p.h + ROWS - 1) / ROWS;
    p.n_tiles = (uint32_t)(y.dim[0] * y.dim[1]) * p.tiles;
    p.M = (int)width_of(c->in[IN_BASIS]);
    p.wide = (int)width_of(c->in[IN_OUT]);
    p.eps = (float)c->attr->norm.eps;
    ll_cuda_enter();
    if (count_of(c->out[0]) == 0) return;
    for (int k : { IN_IN, IN_OUT, IN_HEAD })
        if (c->in[k].elem != LL_HALF)
            ll_cuda_note_text(LLAP_EUNSUPPORTED, "gated: weights are not bf16");
    if (p.M % (16 * WARPS) != 0 || p.wide % (16 * WARPS) != 0 || z % EACH != 0 || z > 4 * EACH)
        ll_cuda_note_text(LLAP_EUNSUPPORTED, "gated: no kernel for this size");
    else if (z == 8) launch<1>(p);
    else if (z == 16) launch<2>(p);
    else if (z == 24) launch<3>(p);
    else launch<4>(p);
    launched(c);
}
