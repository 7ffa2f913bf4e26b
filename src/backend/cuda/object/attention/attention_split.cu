// Attention of floats on Hopper's tensor cores, every product of floats as six of bf16 (split.cuh):
// heads of 32 and 64 without bias and dropout. The rest is attention.cu's.
//
// A warpgroup takes 64 queries of a head, their upper parts in registers. Keys and values pass by
// in tiles of 64, split on their way into shared memory: the keys of the next tile behind the
// scores, its values behind the softmax. Scores are in units of log 2. The second warpgroup begins
// when the first has its scores, so that one multiplies while the other is at its softmax.
#include "backend/cuda/object/attention/prefetch.cuh"
#include "backend/cuda/object/split.cuh"

enum { KEYS = 64 };

template <int D, int GROUPS> struct att_tile {
    enum {
        THREADS = 128 * GROUPS,
        QUERIES = 64 * GROUPS,
        PART = KEYS * D * 2,
        STAGE = 2 * PARTS * PART, // keys, values
        Q_LOW = 2 * STAGE,        // the lowest part of queries
        BARS = Q_LOW + QUERIES * D * 2,
        BYTES = 1024 + BARS + 16
    };
};

#if LL_WGMMA
__device__ static inline void store4(uint32_t to, uint32_t x)
{
    asm volatile("st.shared.b32 [%0], %1;\n" ::"r"(to), "r"(x) : "memory");
}

// KEYS rows of keys on their way; zeros behind the last.
template <int D, int THREADS> struct keys_ahead {
    enum { ACROSS = D / 16, N = KEYS * ACROSS / THREADS };
    sixteen held[N];

    __device__ void load(const float *from, int64_t step, int64_t first, int64_t n)
    {
#pragma unroll
        for (int i = 0; i < N; i++) {
            const int     at = i * THREADS + threadIdx.x;
            const int64_t row = first + at / ACROSS;
            held[i].load(from + row * step + at % ACROSS * 16, row < n ? 16 : 0);
        }
    }
    __device__ void store(uint32_t tile) const
    {
#pragma unroll
        for (int i = 0; i < N; i++) {
            const int at = i * THREADS + threadIdx.x;
            held[i].template store<D * 2>(tile, KEYS * D * 2, at / ACROSS, at % ACROSS);
        }
    }
};

// Likewise values, whose rows lie across the inner length: eights in their order.
template <int D, int THREADS> struct values_ahead {
    enum { ACROSS = D / 8, N = KEYS * ACROSS / THREADS };
    float4 held[N][2];

    __device__ void load(const float *from, int64_t step, int64_t first, int64_t n)
    {
        const float4 none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
        for (int i = 0; i < N; i++) {
            const int     at = i * THREADS + threadIdx.x;
            const int64_t row = first + at / ACROSS;
            const float  *x = from + row * step + at % ACROSS * 8;
            held[i][0] = row < n ? *(const float4 *)x : none;
            held[i][1] = row < n ? *(const float4 *)(x + 4) : none;
        }
    }
    __device__ void store(uint32_t tile) const
    {
#pragma unroll
        for (int i = 0; i < N; i++) {
            const int at = i * THREADS + threadIdx.x;
            uint32_t  part[PARTS][4];
#pragma unroll
            for (int k = 0; k < 2; k++) {
                split(held[i][k].x, held[i][k].y, 2 * k, part);
                split(held[i][k].z, held[i][k].w, 2 * k + 1, part);
            }
#pragma unroll
            for (int k = 0; k < PARTS; k++)
                store16(tile + k * (KEYS * D * 2) + piece_at<D * 2>(at / ACROSS, at % ACROSS),
                        *(const uint4 *)part[k]);
        }
    }
};

// Queries row and row + 8, two parts in registers and the lowest in shared memory: with that in
// registers too, ptxas 13.0 lets the weights' lowest part overwrite it.
template <int D>
__device__ static inline void take_queries(const att_arg &p, int64_t b, int h, int64_t row,
                                           uint32_t low, uint32_t (&q)[D / 16][2][4])
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < D / 16; k++) {
        const float *x = head_of(p.q, b, h, D) + 16 * k + lane % 4 * 4;
        const float4 none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        const float4 fours[2] = { row < p.lq ? *(const float4 *)(x + row * p.q.step) : none,
                                  row + 8 < p.lq ? *(const float4 *)(x + (row + 8) * p.q.step)
                                                 : none };
        uint32_t part[PARTS][4];
        split_fours(fours, part);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int at = warp % 4 * 16 + lane / 4 + i % 2 * 8;
            q[k][0][i] = part[0][i];
            q[k][1][i] = part[1][i];
            store4(low + piece_at<D * 2>(at, 2 * k + i / 2) + lane % 4 * 4, part[2][i]);
        }
    }
}
#endif

template <int D, int GROUPS>
__global__ void __launch_bounds__(128 * GROUPS, GROUPS == 2 ? 1 : 2)
    forward_split_kernel(const __grid_constant__ att_arg p)
{
#if LL_WGMMA
    typedef att_tile<D, GROUPS> tile;
    extern __shared__ char      dynamic[];
    const uint32_t              base = (shared_at(dynamic) + 1023) & ~1023u;
    const uint32_t              tiles = ((uint32_t)p.lq + tile::QUERIES - 1) / tile::QUERIES;
    const int64_t b = blockIdx.x / tiles / p.heads, first = blockIdx.x % tiles * tile::QUERIES;
    const int     h = (int)(blockIdx.x / tiles % p.heads), warp = threadIdx.x / 32,
              lane = threadIdx.x % 32, n_tiles = (int)((p.lk + KEYS - 1) / KEYS);
    const int64_t row = first + warp * 16 + lane / 4; // and 8 rows on
    const float  *mask = mask_of(p, b);
    const float  *k_head = head_of(p.k, b, h, D), *v_head = head_of(p.v, b, h, D);
    const float   scale = p.scale * 1.44269504088896341f;

    keys_ahead<D, tile::THREADS>   keys;
    values_ahead<D, tile::THREADS> values;
    keys.load(k_head, p.k.step, 0, p.lk);
    values.load(v_head, p.v.step, 0, p.lk);
    uint32_t       q[D / 16][2][4];
    const uint32_t q_low = base + tile::Q_LOW + warp / 4 * (64 * D * 2);
    take_queries<D>(p, b, h, row, q_low, q);
    keys.store(base);
    values.store(base + PARTS * tile::PART);
    const uint32_t k_bar = base + tile::BARS, v_bar = k_bar + 8;
    if (threadIdx.x == 0) bar_init(k_bar, tile::THREADS), bar_init(v_bar, tile::THREADS);
    show_shared();
    __syncthreads();
    if (GROUPS == 2) wait_for_first();

    float y[D / 2] = {}, top[2] = { -INFINITY, -INFINITY }, sum[2] = { 0.0f, 0.0f };
    for (int t = 0; t < n_tiles; t++) {
        const uint32_t k_tile = base + t % 2 * tile::STAGE, v_tile = k_tile + PARTS * tile::PART;
        const uint32_t k_next = base + (t + 1) % 2 * tile::STAGE,
                       v_next = k_next + PARTS * tile::PART;
        const int64_t ahead = (int64_t)(t + 1) * KEYS;
        if (ahead < p.lk) keys.load(k_head, p.k.step, ahead, p.lk);
        float s[KEYS / 2], s_rest[KEYS / 2];
        if (t > 0) bar_wait(k_bar, (t - 1) & 1);
        wgmma_begin();
#pragma unroll
        for (int k = 0; k < D / 16; k++)
            wgmma_parts<KEYS, 0, D * 2>(s, s_rest, q[k], tile_at<D * 2>(q_low + 32 * k),
                                        k_tile + 32 * k, tile::PART, k > 0);
        wgmma_commit();
        wgmma_finish(s);
        wgmma_finish(s_rest);
        if (GROUPS == 2 && t == 0) let_second();
        if (ahead < p.lk) {
            keys.store(k_next);
            show_shared();
            bar_arrive(k_bar);
            values.load(v_head, p.v.step, ahead, p.lk);
        }
        float high[2] = { top[0], top[1] }, shrink[2], from[2];
#pragma unroll
        for (int i = 0; i < KEYS / 2; i++) s[i] = (s[i] + s_rest[i]) * scale;
        if (mask != NULL || ahead > p.lk) {
#pragma unroll
            for (int i = 0; i < KEYS / 2; i++) {
                const int64_t key = t * KEYS + i / 4 * 8 + lane % 4 * 2 + i % 2;
                if (key >= p.lk || (mask != NULL && mask[key] != 0.0f)) s[i] = -INFINITY;
            }
        }
#pragma unroll
        for (int i = 0; i < KEYS / 2; i++) high[i / 2 % 2] = fmaxf(high[i / 2 % 2], s[i]);
        raise_top(high, top, from, shrink, sum);
        uint32_t w[KEYS / 16][PARTS][4];
#pragma unroll
        for (int i = 0; i < KEYS / 2; i += 2) {
            const int   half = i / 2 % 2;
            const float a = exp2_of(s[i] - from[half]), c = exp2_of(s[i + 1] - from[half]);
            sum[half] += a + c;
            split(a, c, i / 2 % 4, w[i / 8]);
        }
        float more[D / 2], more_rest[D / 2];
        if (t > 0) bar_wait(v_bar, (t - 1) & 1);
        wgmma_begin();
#pragma unroll
        for (int k = 0; k < KEYS / 16; k++)
            wgmma_parts<D, 1, D * 2>(more, more_rest, w[k], v_tile + k * 16 * D * 2, tile::PART,
                                     k > 0);
        wgmma_commit();
        wgmma_finish(more);
        wgmma_finish(more_rest);
#pragma unroll
        for (int i = 0; i < D / 2; i++)
            y[i] = fmaf(y[i], shrink[i / 2 % 2], more[i] + more_rest[i]);
        if (ahead < p.lk) {
            values.store(v_next);
            show_shared();
            bar_arrive(v_bar);
        }
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        sum[half] = four_sum(sum[half]);
        const float inverse = sum[half] == 0.0f ? 0.0f : 1.0f / sum[half];
#pragma unroll
        for (int n = 0; n < D / 8; n++)
            y[4 * n + 2 * half] *= inverse, y[4 * n + 2 * half + 1] *= inverse;
        if (lane % 4 == 0 && row + 8 * half < p.lq)
            p.lse_out[(b * p.heads + h) * p.lq + row + 8 * half] =
                sum[half] == 0.0f ? -INFINITY
                                  : (top[half] + log2f(sum[half])) * 0.693147180559945309f;
    }
    const int64_t to = ((b * p.lq + row) * p.heads + h) * D + lane % 4 * 2;
    put_tile<D>(p.y, false, to, p.lq - row, (int64_t)p.heads * D, D, [&](int i) { return y[i]; });
#endif
}

template <int D, int GROUPS> static void launch(const att_arg &p)
{
    typedef att_tile<D, GROUPS> tile;
    static const cudaError_t    room = cudaFuncSetAttribute(
           forward_split_kernel<D, GROUPS>, cudaFuncAttributeMaxDynamicSharedMemorySize, tile::BYTES);
    const unsigned blocks =
        (unsigned)((p.lq + tile::QUERIES - 1) / tile::QUERIES * p.heads * p.batch);
    ll_cuda_note(room, "attention");
    forward_split_kernel<D, GROUPS><<<blocks, tile::THREADS, tile::BYTES, LL_QUEUE>>>(p);
}

bool ll_cuda_attention_split(const ll_call *c, const att_arg &p)
{
    if (!ll_cuda_wgmma_there() || !ll_cuda_attention_fits(c) || p.bias != NULL || p.rng != NULL ||
        p.batch * p.lq * p.lk == 0 || !in_sixteens(p.q) || !in_sixteens(p.k) || !in_sixteens(p.v))
        return false;
    const bool large = p.lq > 64 && (p.lq + 127) / 128 * p.heads * p.batch >= 132;
    if (p.d == 32) launch<32, 1>(p); // a tile of keys is too small for two warpgroups
    else if (large) launch<64, 2>(p);
    else launch<64, 1>(p);
    launched(c);
    return true;
}
