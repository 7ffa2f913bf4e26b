// Attention on tensor cores: operands are rounded to bf16 on their way into shared memory, weights
// before they meet the values; scores, sums and the softmax are in floats.
//
// A warp takes 16 queries, a block 64; keys and values pass by in tiles of 64. Heads of width 32
// and 64 without dropout; others are computed in floats.
#include "backend/cuda/object/attention.cuh"
#include "backend/cuda/object/mma.cuh"

enum { QUERIES = 64, KEYS = 64, WARPS = 4 };

// 64 rows of width D from first on, rounded; zeros behind the last.
template <int D>
__device__ static inline void load_rows(const float *from, int64_t step, int64_t first, int64_t n,
                                        bool vector, __nv_bfloat16 *tile)
{
#pragma unroll
    for (int i = threadIdx.x; i < 64 * D / 4; i += 32 * WARPS) {
        const int     c = i % (D / 4) * 4;
        const int64_t row = first + i / (D / 4);
        float4        x = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (row < n) {
            const float *at = from + row * step + c;
            x = vector ? *(const float4 *)at : make_float4(at[0], at[1], at[2], at[3]);
        }
        store4(tile + i / (D / 4) * (D + 8) + c, x);
    }
}

template <int D>
__global__ void __launch_bounds__(32 * WARPS)
    forward_bf16_kernel(const __grid_constant__ att_arg p, bool vector)
{
    enum { PITCH = D + 8 };
    __shared__ __align__(16) __nv_bfloat16 keys[KEYS * PITCH], values[KEYS * PITCH];
    __shared__ float                       hidden[KEYS]; // 0, or -inf for keys that do not count
    const int64_t                          tiles = (p.lq + QUERIES - 1) / QUERIES;
    const int64_t b = blockIdx.x / tiles / p.heads, first = blockIdx.x % tiles * QUERIES;
    const int     h = (int)(blockIdx.x / tiles % p.heads), warp = threadIdx.x / 32,
              lane = threadIdx.x % 32;
    const float  *mask = mask_of(p, b), *bias = bias_of(p, b, h);
    const float  *k_head = head_of(p.k, b, h, D), *v_head = head_of(p.v, b, h, D);
    const int64_t bias_step = bias == NULL ? 0 : p.at_bias.stride[p.at_bias.rank - 2];
    const int64_t row[2] = { first + warp * 16 + lane / 4, first + warp * 16 + lane / 4 + 8 };

    uint32_t q[D / 16][4]; // by way of the keys' memory
    load_rows<D>(head_of(p.q, b, h, D), p.q.step, first, p.lq, vector, keys);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < D / 16; k++) load_a(q[k], keys, PITCH, warp * 16, 16 * k);

    float y[D / 8][4] = {}, top[2] = { -INFINITY, -INFINITY }, sum[2] = { 0.0f, 0.0f };
    for (int64_t at = 0; at < p.lk; at += KEYS) {
        __syncthreads();
        load_rows<D>(k_head, p.k.step, at, p.lk, vector, keys);
        load_rows<D>(v_head, p.v.step, at, p.lk, vector, values);
        if (threadIdx.x < KEYS)
            hidden[threadIdx.x] =
                at + threadIdx.x >= p.lk || (mask != NULL && mask[at + threadIdx.x] != 0.0f)
                    ? -INFINITY
                    : 0.0f;
        __syncthreads();
        float s[KEYS / 8][4] = {};
#pragma unroll
        for (int k = 0; k < D / 16; k++)
#pragma unroll
            for (int n = 0; n < KEYS / 16; n++) {
                uint32_t fb[4];
                load_b(fb, keys, PITCH, 16 * n, 16 * k);
                mma_bf16(s[2 * n], q[k], fb);
                mma_bf16(s[2 * n + 1], q[k], fb + 2);
            }
        float high[2] = { top[0], top[1] };
#pragma unroll
        for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int column = 8 * n + lane % 4 * 2 + e % 2;
                float     x = s[n][e] * p.scale;
                if (bias != NULL && row[e / 2] < p.lq && at + column < p.lk)
                    x += bias[row[e / 2] * bias_step + at + column];
                s[n][e] = x + hidden[column];
                high[e / 2] = fmaxf(high[e / 2], s[n][e]);
            }
#pragma unroll
        for (int half = 0; half < 2; half++) {
            high[half] = fmaxf(high[half], __shfl_xor_sync(0xffffffffu, high[half], 1));
            high[half] = fmaxf(high[half], __shfl_xor_sync(0xffffffffu, high[half], 2));
        }
        float shrink[2], from[2];
#pragma unroll
        for (int half = 0; half < 2; half++) { // nothing seen yet: every weight below is 0
            from[half] = high[half] == -INFINITY ? 0.0f : high[half];
            shrink[half] = __expf(top[half] - from[half]);
            top[half] = high[half];
            sum[half] *= shrink[half];
        }
#pragma unroll
        for (int n = 0; n < D / 8; n++)
#pragma unroll
            for (int e = 0; e < 4; e++) y[n][e] *= shrink[e / 2];
#pragma unroll
        for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                s[n][e] = __expf(s[n][e] - from[e / 2]);
                sum[e / 2] += s[n][e];
            }
#pragma unroll
        for (int k = 0; k < KEYS / 16; k++) {
            const uint32_t w[4] = { pack(s[2 * k][0], s[2 * k][1]), pack(s[2 * k][2], s[2 * k][3]),
                                    pack(s[2 * k + 1][0], s[2 * k + 1][1]),
                                    pack(s[2 * k + 1][2], s[2 * k + 1][3]) };
#pragma unroll
            for (int n = 0; n < D / 16; n++) {
                uint32_t fb[4];
                load_b_turned(fb, values, PITCH, 16 * n, 16 * k);
                mma_bf16(y[2 * n], w, fb);
                mma_bf16(y[2 * n + 1], w, fb + 2);
            }
        }
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        sum[half] += __shfl_xor_sync(0xffffffffu, sum[half], 1);
        sum[half] += __shfl_xor_sync(0xffffffffu, sum[half], 2);
        if (row[half] >= p.lq) continue;
        const float inverse = sum[half] == 0.0f ? 0.0f : 1.0f / sum[half];
        float      *to = p.y + ((b * p.lq + row[half]) * p.heads + h) * D + lane % 4 * 2;
#pragma unroll
        for (int n = 0; n < D / 8; n++)
            *(float2 *)(to + 8 * n) =
                make_float2(y[n][2 * half] * inverse, y[n][2 * half + 1] * inverse);
        if (lane % 4 == 0)
            p.lse_out[(b * p.heads + h) * p.lq + row[half]] =
                sum[half] == 0.0f ? -INFINITY : top[half] + logf(sum[half]);
    }
}

static bool in_fours(const att_rows &r)
{
    bool ok = ((uintptr_t)r.data & 15) == 0 && r.step % 4 == 0;
    for (int i = 0; i < r.at.rank - 2; i++) ok = ok && r.at.stride[i] % 4 == 0;
    return ok;
}

extern "C" void llap_cuda_attention_bf16(const llap_call *c)
{
    att_arg p = att_of(c);
    p.y = result_of(c, 0);
    p.lse_out = result_of(c, 1);
    llap_cuda_enter();
    if (p.batch * p.heads * p.lq == 0) return;
    if ((p.d != 32 && p.d != 64) || p.rng != NULL) {
        llap_cuda_attention_forward(c, p);
        return;
    }
    const int64_t blocks = (p.lq + QUERIES - 1) / QUERIES * p.heads * p.batch;
    const bool    vector = in_fours(p.q) && in_fours(p.k) && in_fours(p.v);
    if (p.d == 32)
        forward_bf16_kernel<32><<<(unsigned)blocks, 32 * WARPS, 0, LLAP_QUEUE>>>(p, vector);
    else forward_bf16_kernel<64><<<(unsigned)blocks, 32 * WARPS, 0, LLAP_QUEUE>>>(p, vector);
    launched(c);
}

// The gradient is computed in floats.
extern "C" void llap_cuda_attention_grad_bf16(const llap_call *c) { llap_cuda_attention_grad(c); }
