// Attention on tensor cores: operands are rounded to bf16 on their way into shared memory (or bf16
// in memory already, where the planner said so), weights before they meet the values; scores, sums
// and the softmax are in floats.
//
// A warp takes 16 queries; keys and values pass by in tiles of 64, the next one on its way in
// registers. Scores are in units of log 2. Heads of width 32 and 64 with 16 keys or more; others
// are computed in floats.
#include "backend/cuda/object/attention/prefetch.cuh"

enum { KEYS = 64 };

template <int D, int WARPS, bool Q_HALF, bool KV_HALF>
__global__ void __launch_bounds__(32 * WARPS)
    forward_bf16_kernel(const __grid_constant__ att_arg p, bool vector)
{
    behind();
    enum {
        PITCH = D + 8,
        THREADS = 32 * WARPS,
        QUERIES = 16 * WARPS,
        ROWS = QUERIES > KEYS ? QUERIES : KEYS
    };
    const float log2e = 1.44269504088896341f;
    __shared__ __align__(16) __nv_bfloat16 keys[ROWS * PITCH], values[KEYS * PITCH];
    __shared__ float                       hidden[KEYS]; // 0, or -inf for keys that do not count
    const block_place                      t = block_of<QUERIES>(p, p.lq);
    const int64_t                          b = t.b, first = t.first;
    const int                              h = t.h, warp = t.warp, lane = t.lane;
    const float                           *mask = mask_of(p, b), *bias = bias_of(p, b, h);
    const float  *k_head = head_at(p.k, b, h, D, KV_HALF), *v_head = head_at(p.v, b, h, D, KV_HALF);
    const int64_t bias_step = bias == NULL ? 0 : p.at_bias.stride[p.at_bias.rank - 2];
    const int64_t row[2] = { first + warp * 16 + lane / 4, first + warp * 16 + lane / 4 + 8 };
    const float   scale = p.scale * log2e;
    ll_rng        rng;
    if (p.rng != NULL) rng = ll_drop_rng(p.rng, p.id);

    rows_ahead<D, KEYS, THREADS, KV_HALF> next_k, next_v;
    next_k.load(k_head, p.k.step, 0, p.lk, vector);
    next_v.load(v_head, p.v.step, 0, p.lk, vector);
    uint32_t q[D / 16][4]; // by way of the keys' memory
    {
        rows_ahead<D, QUERIES, THREADS, Q_HALF> own;
        own.load(head_at(p.q, b, h, D, Q_HALF), p.q.step, first, p.lq, vector);
        own.store(keys);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < D / 16; k++) load_a(q[k], keys, PITCH, warp * 16, 16 * k);

    float y[D / 8][4] = {}, top[2] = { -INFINITY, -INFINITY }, sum[2] = { 0.0f, 0.0f };
    for (int64_t at = 0; at < p.lk; at += KEYS) {
        __syncthreads();
        next_k.store(keys);
        next_v.store(values);
        for (int i = threadIdx.x; i < KEYS; i += THREADS)
            hidden[i] = at + i >= p.lk || (mask != NULL && mask[at + i] != 0.0f) ? -INFINITY : 0.0f;
        __syncthreads();
        if (at + KEYS < p.lk) {
            next_k.load(k_head, p.k.step, at + KEYS, p.lk, vector);
            next_v.load(v_head, p.v.step, at + KEYS, p.lk, vector);
        }
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
                float     more = hidden[column];
                if (bias != NULL && row[e / 2] < p.lq && at + column < p.lk)
                    more += log2e * bias[row[e / 2] * bias_step + at + column];
                s[n][e] = fmaf(s[n][e], scale, more);
                high[e / 2] = fmaxf(high[e / 2], s[n][e]);
            }
        float shrink[2], from[2];
        raise_top<false>(high, top, from, shrink, sum);
#pragma unroll
        for (int n = 0; n < D / 8; n++)
#pragma unroll
            for (int e = 0; e < 4; e++) y[n][e] *= shrink[e / 2];
#pragma unroll
        for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                s[n][e] = exp2f(s[n][e] - from[e / 2]);
                sum[e / 2] += s[n][e];
            }
        if (p.rng != NULL)
#pragma unroll
            for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    s[n][e] *= kept_by(p, rng, b, h, row[e / 2], at + 8 * n + lane % 4 * 2 + e % 2);
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
        const float   inverse = sum[half] == 0.0f ? 0.0f : 1.0f / sum[half];
        const int64_t to = ((b * p.lq + row[half]) * p.heads + h) * D + lane % 4 * 2;
#pragma unroll
        for (int n = 0; n < D / 8; n++) {
            const float u = y[n][2 * half] * inverse, v = y[n][2 * half + 1] * inverse;
            if (p.y_half) ((__nv_bfloat162 *)p.y)[(to + 8 * n) / 2] = __floats2bfloat162_rn(u, v);
            else *(float2 *)(p.y + to + 8 * n) = make_float2(u, v);
        }
        if (lane % 4 == 0)
            p.lse_out[(b * p.heads + h) * p.lq + row[half]] =
                sum[half] == 0.0f ? -INFINITY
                                  : (top[half] + log2f(sum[half])) * 0.693147180559945309f;
    }
}

template <int D, int WARPS> static void launch(const att_arg &p, bool vector)
{
    const unsigned blocks = (unsigned)((p.lq + 16 * WARPS - 1) / (16 * WARPS) * p.heads * p.batch);
    if (p.q.half && p.k.half)
        enqueue(forward_bf16_kernel<D, WARPS, true, true>, blocks, 32 * WARPS, 0, p, vector);
    else if (p.q.half)
        enqueue(forward_bf16_kernel<D, WARPS, true, false>, blocks, 32 * WARPS, 0, p, vector);
    else if (p.k.half)
        enqueue(forward_bf16_kernel<D, WARPS, false, true>, blocks, 32 * WARPS, 0, p, vector);
    else enqueue(forward_bf16_kernel<D, WARPS, false, false>, blocks, 32 * WARPS, 0, p, vector);
}

// A few keys would leave a tile of 64 nearly empty, and dropout draws for all of it.
bool ll_cuda_attention_fits(const ll_call *c)
{
    const ll_shape &k = c->in[ATT_K].shape;
    const int64_t   d = width_of(c->in[ATT_Q]) / c->attr->attention.n_heads;
    return (d == 32 || d == 64) && k.dim[k.rank - 2] >= 16;
}

extern "C" void ll_cuda_attention_bf16(const ll_call *c)
{
    att_arg p = att_of(c);
    p.y = result_of(c, 0);
    p.y_half = c->out[0].elem == LL_HALF;
    p.lse_out = result_of(c, 1);
    ll_cuda_enter();
    if (p.batch * p.heads * p.lq == 0) return;
    if (!ll_cuda_attention_fits(c)) {
        ll_cuda_attention_forward(c, p);
        return;
    }
    if (p.k.half != p.v.half) {
        ll_cuda_note_text(LLAP_EUNSUPPORTED, "attention: keys and values of two kinds");
        return;
    }
    if (p.rng == NULL && ll_cuda_attention_wgmma(c, p)) return;
    const bool vector = in_sixteens(p.q) && in_sixteens(p.k) && in_sixteens(p.v);
    const bool large = (p.lq + 127) / 128 * p.heads * p.batch >= 132;
    if (p.d == 32 && large) launch<32, 8>(p, vector);
    else if (p.d == 32) launch<32, 4>(p, vector);
    else if (large) launch<64, 8>(p, vector);
    else launch<64, 4>(p, vector);
    launched(c);
}
