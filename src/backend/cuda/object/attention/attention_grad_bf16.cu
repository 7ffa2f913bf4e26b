// The gradient of attention on tensor cores, as the forward pass does it: operands and weights are
// rounded to bf16, sums are in floats.
//
// dq: a warp takes 16 queries and sees keys and values pass by; dk and dv: a warp takes 16 keys and
// sees queries and dy pass by. Weights are made again from scores and the stored log-sum; what one
// product gives is an operand of the next without leaving the registers.
#include "backend/cuda/object/attention/prefetch.cuh"

enum { WARPS = 4, THREADS = 32 * WARPS, TILE = 16 * WARPS };

#define LOG2E 1.44269504088896341f

// A tile's 16 rows of this warp as operands of products over the width.
template <int D>
__device__ static inline void hold(uint32_t x[D / 16][4], const __nv_bfloat16 *tile)
{
#pragma unroll
    for (int k = 0; k < D / 16; k++) load_a(x[k], tile, D + 8, threadIdx.x / 32 * 16, 16 * k);
}

// s [16,16] += x [16,D] rows^T, rows first .. first + 16 of a tile [row][D]
template <int D>
__device__ static inline void multiply(float s[2][4], const uint32_t x[D / 16][4],
                                       const __nv_bfloat16 *tile, int first)
{
#pragma unroll
    for (int k = 0; k < D / 16; k++) {
        uint32_t b[4];
        load_b(b, tile, D + 8, first, 16 * k);
        mma_bf16(s[0], x[k], b);
        mma_bf16(s[1], x[k], b + 2);
    }
}

// y [16,D] += s [16,16] rows first .. first + 16 of a tile [row][D]
template <int D>
__device__ static inline void add_rows(float y[D / 8][4], const float s[2][4],
                                       const __nv_bfloat16 *tile, int first)
{
    const uint32_t a[4] = { pack(s[0][0], s[0][1]), pack(s[0][2], s[0][3]), pack(s[1][0], s[1][1]),
                            pack(s[1][2], s[1][3]) };
#pragma unroll
    for (int n = 0; n < D / 16; n++) {
        uint32_t b[4];
        load_b_turned(b, tile, D + 8, 16 * n, first);
        mma_bf16(y[2 * n], a, b);
        mma_bf16(y[2 * n + 1], a, b + 2);
    }
}

// Rows l / 4 and l / 4 + 8 of a warp's result, times by, into rows step apart.
template <int D>
__device__ static inline void put(const float y[D / 8][4], float by, const int64_t row[2],
                                  int64_t n, float *to, int64_t first, int64_t step, bool as_half)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        if (row[half] >= n) continue;
        const int64_t at = first + row[half] * step + threadIdx.x % 4 * 2;
#pragma unroll
        for (int k = 0; k < D / 8; k++) {
            const float a = y[k][2 * half] * by, b = y[k][2 * half + 1] * by;
            if (as_half) *(uint32_t *)((uint16_t *)to + at + 8 * k) = pack(a, b);
            else *(float2 *)(to + at + 8 * k) = make_float2(a, b);
        }
    }
}

template <bool HALF> __device__ static inline const float *behind(const float *x, int64_t n)
{
    return (const float *)((const char *)x + n * (HALF ? 2 : 4));
}
template <bool HALF> __device__ static inline float number_at(const float *x, int64_t i)
{
    return HALF ? __bfloat162float(((const __nv_bfloat16 *)x)[i]) : x[i];
}

template <int D, bool HALF>
__global__ void __launch_bounds__(THREADS)
    dq_bf16_kernel(const __grid_constant__ att_arg p, bool vector)
{
    behind();
    enum { PITCH = D + 8 };
    __shared__ __align__(16) __nv_bfloat16 keys[TILE * PITCH], values[TILE * PITCH];
    __shared__ float                       hidden[TILE];
    const block_place                      t = block_of<TILE>(p, p.lq);
    const int64_t                          b = t.b, first = t.first;
    const int                              h = t.h, warp = t.warp, lane = t.lane;
    const int64_t row[2] = { first + warp * 16 + lane / 4, first + warp * 16 + lane / 4 + 8 };
    const int64_t dense = (int64_t)p.heads * D, head = (b * p.lq * p.heads + h) * D;
    const float  *mask = mask_of(p, b), scale = p.scale * LOG2E;
    const float  *k_head = head_at(p.k, b, h, D, HALF), *v_head = head_at(p.v, b, h, D, HALF);
    ll_rng        rng;
    if (p.rng != NULL) rng = ll_drop_rng(p.rng, p.id);
    rows_ahead<D, TILE, THREADS, HALF> next_k, next_v;
    uint32_t                           q[D / 16][4], dy[D / 16][4];
    next_k.load(head_at(p.q, b, h, D, HALF), p.q.step, first, p.lq, vector);
    next_v.load(behind<HALF>(p.dy, head), dense, first, p.lq, vector);
    next_k.store(keys);
    next_v.store(values);
    __syncthreads();
    hold<D>(q, keys);
    hold<D>(dy, values);
    float lse[2], delta[2]; // of this lane's rows; four lanes have the same
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const bool    there = row[half] < p.lq;
        const int64_t at = head + (there ? row[half] : 0) * dense,
                      of = (b * p.heads + h) * p.lq + row[half];
        float sum = 0.0f;
        for (int k = lane % 4; k < D && there; k += 4)
            sum = fmaf(number_at<HALF>(p.y_in, at + k), number_at<HALF>(p.dy, at + k), sum);
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        delta[half] = sum;
        lse[half] = there ? p.lse[of] * LOG2E : -INFINITY;
        if (lse[half] == -INFINITY) lse[half] = INFINITY; // every weight is 0
        if (there && lane % 4 == 0) p.delta[of] = sum;
    }
    next_k.load(k_head, p.k.step, 0, p.lk, vector);
    next_v.load(v_head, p.v.step, 0, p.lk, vector);
    float dq[D / 8][4] = {};
    for (int64_t at = 0; at < p.lk; at += TILE) {
        __syncthreads();
        next_k.store(keys);
        next_v.store(values);
        if (threadIdx.x < TILE)
            hidden[threadIdx.x] =
                at + threadIdx.x >= p.lk || (mask != NULL && mask[at + threadIdx.x] != 0.0f)
                    ? -INFINITY
                    : 0.0f;
        __syncthreads();
        if (at + TILE < p.lk) {
            next_k.load(k_head, p.k.step, at + TILE, p.lk, vector);
            next_v.load(v_head, p.v.step, at + TILE, p.lk, vector);
        }
#pragma unroll
        for (int j = 0; j < TILE; j += 16) {
            float s[2][4] = {}, dw[2][4] = {};
            multiply<D>(s, q, keys, j);
            multiply<D>(dw, dy, values, j);
#pragma unroll
            for (int n = 0; n < 2; n++)
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const float w =
                        exp2f(fmaf(s[n][e], scale, hidden[j + 8 * n + lane % 4 * 2 + e % 2]) -
                              lse[e / 2]);
                    float d = dw[n][e];
                    if (p.rng != NULL)
                        d *= kept_by(p, rng, b, h, row[e / 2],
                                     at + j + 8 * n + lane % 4 * 2 + e % 2);
                    s[n][e] = w * (d - delta[e / 2]);
                }
            add_rows<D>(dq, s, keys, j);
        }
    }
    put<D>(dq, p.scale, row, p.lq, p.dq, head, dense, p.dq_half);
}

template <int D, bool HALF>
__global__ void __launch_bounds__(THREADS)
    dkv_bf16_kernel(const __grid_constant__ att_arg p, bool vector)
{
    behind();
    enum { PITCH = D + 8 };
    __shared__ __align__(16) __nv_bfloat16 queries[TILE * PITCH], dys[TILE * PITCH];
    __shared__ float                       lse[TILE], delta[TILE];
    const block_place                      t = block_of<TILE>(p, p.lk);
    const int64_t                          b = t.b, first = t.first;
    const int                              h = t.h, warp = t.warp, lane = t.lane;
    const int64_t row[2] = { first + warp * 16 + lane / 4, first + warp * 16 + lane / 4 + 8 };
    const int64_t dense = (int64_t)p.heads * D, of = (b * p.heads + h) * p.lq;
    const float  *mask = mask_of(p, b), *q_head = head_at(p.q, b, h, D, HALF),
                scale = p.scale * LOG2E;
    const float *dy_head = behind<HALF>(p.dy, (b * p.lq * p.heads + h) * D);
    float        seen[2]; // 0, or -inf where the key does not count
    for (int half = 0; half < 2; half++)
        seen[half] =
            row[half] >= p.lk || (mask != NULL && mask[row[half]] != 0.0f) ? -INFINITY : 0.0f;
    ll_rng rng;
    if (p.rng != NULL) rng = ll_drop_rng(p.rng, p.id);
    rows_ahead<D, TILE, THREADS, HALF> next_q, next_dy;
    uint32_t                           k[D / 16][4], v[D / 16][4];
    next_q.load(head_at(p.k, b, h, D, HALF), p.k.step, first, p.lk, vector);
    next_dy.load(head_at(p.v, b, h, D, HALF), p.v.step, first, p.lk, vector);
    next_q.store(queries);
    next_dy.store(dys);
    __syncthreads();
    hold<D>(k, queries);
    hold<D>(v, dys);
    next_q.load(q_head, p.q.step, 0, p.lq, vector);
    next_dy.load(dy_head, dense, 0, p.lq, vector);
    float dk[D / 8][4] = {}, dv[D / 8][4] = {};
    for (int64_t at = 0; at < p.lq; at += TILE) {
        __syncthreads();
        next_q.store(queries);
        next_dy.store(dys);
        if (threadIdx.x < TILE) {
            const bool  there = at + threadIdx.x < p.lq;
            const float x = there ? p.lse[of + at + threadIdx.x] * LOG2E : -INFINITY;
            lse[threadIdx.x] = x == -INFINITY ? INFINITY : x;
            delta[threadIdx.x] = there ? p.delta[of + at + threadIdx.x] : 0.0f;
        }
        __syncthreads();
        if (at + TILE < p.lq) {
            next_q.load(q_head, p.q.step, at + TILE, p.lq, vector);
            next_dy.load(dy_head, dense, at + TILE, p.lq, vector);
        }
#pragma unroll
        for (int j = 0; j < TILE; j += 16) {
            float w[2][4] = {}, ds[2][4] = {};
            multiply<D>(w, k, queries, j);
            multiply<D>(ds, v, dys, j);
#pragma unroll
            for (int n = 0; n < 2; n++)
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const int   column = j + 8 * n + lane % 4 * 2 + e % 2;
                    const float keep =
                        p.rng == NULL ? 1.0f : kept_by(p, rng, b, h, at + column, row[e / 2]);
                    w[n][e] = exp2f(fmaf(w[n][e], scale, seen[e / 2]) - lse[column]);
                    ds[n][e] = w[n][e] * (ds[n][e] * keep - delta[column]);
                    w[n][e] *= keep;
                }
            add_rows<D>(dv, w, dys, j);
            add_rows<D>(dk, ds, queries, j);
        }
    }
    put<D>(dk, p.scale, row, p.lk, p.dk, (b * p.lk * p.heads + h) * D, dense, p.dk_half);
    put<D>(dv, 1.0f, row, p.lk, p.dv, (b * p.lk * p.heads + h) * D, dense, p.dv_half);
}

template <int D, bool HALF> static void backward(const att_arg &p, bool vector)
{
    const int64_t by_q = (p.lq + TILE - 1) / TILE * p.heads * p.batch;
    const int64_t by_k = (p.lk + TILE - 1) / TILE * p.heads * p.batch;
    enqueue(dq_bf16_kernel<D, HALF>, (unsigned)by_q, THREADS, 0, p, vector);
    enqueue(dkv_bf16_kernel<D, HALF>, (unsigned)by_k, THREADS, 0, p, vector);
}

// Rows of queries, keys and values may lie apart, as long as each is dense.
bool ll_cuda_attention_reads(const ll_call *c)
{
    bool ok = true;
    for (int k = ATT_Q; k <= ATT_V; k++) {
        const ll_view &v = c->in[k];
        ok = ok && v.shape.rank >= 2 && v.stride[v.shape.rank - 1] == 1;
    }
    return ok && ll_cuda_attention_fits(c) && !c->in[ATT_BIAS].present;
}

// With a bias its gradient is wanted too: in floats.
extern "C" void ll_cuda_attention_grad_bf16(const ll_call *c)
{
    att_arg p = att_grad_of(c);
    if (!ll_cuda_attention_fits(c) || p.bias != NULL || p.batch * p.heads * p.lq * p.lk == 0) {
        ll_cuda_attention_grad(c);
        return;
    }
    p.dq_half = c->out[0].elem == LL_HALF;
    p.dk_half = c->out[1].elem == LL_HALF;
    p.dv_half = c->out[2].elem == LL_HALF;
    ll_cuda_enter();
    if (p.q.half && p.rng == NULL && ll_cuda_attention_grad_wgmma(c, p)) return;
    const bool vector =
        in_sixteens(p.q) && in_sixteens(p.k) && in_sixteens(p.v) && ((uintptr_t)p.dy & 15) == 0;
    if (p.d == 32 && p.q.half) backward<32, true>(p, vector);
    else if (p.d == 32) backward<32, false>(p, vector);
    else if (p.q.half) backward<64, true>(p, vector);
    else backward<64, false>(p, vector);
    launched(c);
}
