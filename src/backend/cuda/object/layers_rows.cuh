// What a warpgroup does with its 64 rows between the products of a run of layers, in registers.
#ifndef LL_BACKEND_CUDA_OBJECT_LAYERS_ROWS_CUH
#define LL_BACKEND_CUDA_OBJECT_LAYERS_ROWS_CUH

#include "backend/cuda/object/layers_tiles.cuh"

#if LL_WGMMA
// GELU by a tanh whose argument is fitted to the error function: within 3e-5, and what the unit for
// tanh adds (5e-4 of the result), below the rounding to bf16 that follows.
__device__ static inline float fitted_gelu(float x)
{
    const float s = fminf(x * x, 50.0f), h = 0.5f * x;
    float       t = x * fmaf(s, fmaf(s, -3.51470575e-4f, 3.70054798e-2f), 0.797507252f);
    asm("tanh.approx.f32 %0, %0;" : "+f"(t));
    return fmaf(h, t, h);
}

// Lane l has rows l / 4 and l / 4 + 8 of its warp's 16, and of each 8 columns two: 2 (l % 4) and
// one more. Number 4 n + 2 half + e is column 8 n + e of row half.
struct lane_rows {
    int64_t first, m; // the first of the two, and how many there are
    int     column;

    __device__ int64_t at(int half) const // a row that is there
    {
        return first + 8 * half < m ? first + 8 * half : m - 1;
    }
};

// x = bias + residual
__device__ static inline void begin_x(const layers_start &s, const lane_rows &r, float (&x)[128])
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        if (s.residual == NULL) {
#pragma unroll
            for (int n = 0; n < 32; n++) x[4 * n + 2 * half] = x[4 * n + 2 * half + 1] = 0.0f;
            continue;
        }
        const uint32_t row = (uint32_t)r.at(half);
        const int64_t  at = s.repeat == 0 ? (int64_t)row * LAYER_WIDTH
                                          : (int64_t)(row / (uint32_t)s.group) * s.group_step +
                                               (int64_t)(row % (uint32_t)s.repeat) * LAYER_WIDTH;
        const float   *from = s.residual + at + r.column;
#pragma unroll
        for (int n = 0; n < 32; n++) {
            const float2 y = *(const float2 *)(from + 8 * n);
            x[4 * n + 2 * half] = y.x, x[4 * n + 2 * half + 1] = y.y;
        }
    }
    if (s.bias == NULL) return;
#pragma unroll
    for (int n = 0; n < 32; n++) {
        const float2 b = __ldg((const float2 *)(s.bias + r.column + 8 * n));
        x[4 * n] += b.x, x[4 * n + 1] += b.y, x[4 * n + 2] += b.x, x[4 * n + 3] += b.y;
    }
}

__device__ static inline void store_x(float *to, const lane_rows &r, const float (&x)[128])
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        if (r.first + 8 * half >= r.m) continue;
        float *at = to + (r.first + 8 * half) * LAYER_WIDTH + r.column;
#pragma unroll
        for (int n = 0; n < 32; n++)
            *(float2 *)(at + 8 * n) = make_float2(x[4 * n + 2 * half], x[4 * n + 2 * half + 1]);
    }
}

// u = the norm of x as an operand, [16 of the inner length][4]
__device__ static inline void norm_x(const layers_start &s, const lane_rows &r,
                                     const float (&x)[128], uint32_t (&u)[16][4])
{
    float mean[2] = { 0.0f, 0.0f }, rstd[2] = { 0.0f, 0.0f };
#pragma unroll
    for (int i = 0; i < 128; i++) mean[i / 2 % 2] += x[i];
#pragma unroll
    for (int half = 0; half < 2; half++) mean[half] = four_sum(mean[half]) * (1.0f / LAYER_WIDTH);
#pragma unroll
    for (int i = 0; i < 128; i++) {
        const float d = x[i] - mean[i / 2 % 2];
        rstd[i / 2 % 2] = fmaf(d, d, rstd[i / 2 % 2]);
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        rstd[half] = rsqrtf(four_sum(rstd[half]) * (1.0f / LAYER_WIDTH) + s.eps);
        mean[half] *= -rstd[half];
    }
    const uint32_t group[2] = { (uint32_t)r.at(0) / (uint32_t)s.run,
                                (uint32_t)r.at(1) / (uint32_t)s.run };
    const bool     same = group[0] == group[1]; // as a rule
    const float   *gain[2], *shift[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        gain[half] = s.gain + r.column + group[half] * s.gain_step;
        shift[half] = s.shift + r.column + group[half] * s.shift_step;
    }
#pragma unroll
    for (int n = 0; n < 32; n++) {
        float2 g = make_float2(1.0f, 1.0f), b = make_float2(0.0f, 0.0f);
        if (s.gain != NULL) {
            g = __ldg((const float2 *)(gain[0] + 8 * n));
            g.x += s.offset, g.y += s.offset;
        }
        if (s.shift != NULL) b = __ldg((const float2 *)(shift[0] + 8 * n));
#pragma unroll
        for (int half = 0; half < 2; half++) {
            if (half == 1 && !same && s.gain != NULL) {
                g = __ldg((const float2 *)(gain[1] + 8 * n));
                g.x += s.offset, g.y += s.offset;
            }
            if (half == 1 && !same && s.shift != NULL)
                b = __ldg((const float2 *)(shift[1] + 8 * n));
            const float *v = x + 4 * n + 2 * half;
            u[n / 2][n % 2 * 2 + half] = pack(fmaf(fmaf(v[0], rstd[half], mean[half]), g.x, b.x),
                                              fmaf(fmaf(v[1], rstd[half], mean[half]), g.y, b.y));
        }
    }
}

// Rows of a as bf16 in shared memory, where they are floats.
__device__ static inline void stage_a(const layers_arg &p, int64_t first, uint32_t to)
{
    const int across = p.k <= 32 ? 4 : LAYER_WIDTH / 8; // eights of a row
    for (int i = threadIdx.x % 128; i < 64 * across; i += 128) {
        const int     row = i / across, piece = i % across;
        const int64_t at = first + row;
        uint4         eight = make_uint4(0, 0, 0, 0);
        if (at < p.m && piece * 8 < p.k) {
            const float4 *x = (const float4 *)(p.a + at * p.k + piece * 8);
            const float4  a = x[0], b = x[1];
            eight = make_uint4(pack(a.x, a.y), pack(a.z, a.w), pack(b.x, b.y), pack(b.z, b.w));
        }
        store16(to + piece / 8 * 8192 + piece_at<128>(row, piece % 8), eight);
    }
    show_shared();
    group_sync();
}
#endif

#endif
