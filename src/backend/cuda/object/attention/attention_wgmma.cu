// Attention on Hopper's warpgroup products: as attention_bf16.cu, where that is there and operands
// are aligned.
//
// A warpgroup takes 64 queries of a head; keys and values pass by in tiles of 64, up to three on
// their way. Weights go from the scores' registers straight into the second product.
#include "backend/cuda/object/attention/prefetch.cuh"
#include "backend/cuda/object/wgmma.cuh"

enum { KEYS = 64, TILES_AHEAD = 3 };

template <int D, int GROUPS> struct att_tile {
    enum {
        THREADS = 128 * GROUPS,
        QUERIES = 64 * GROUPS,
        Q_BYTES = QUERIES * D * 2,
        TILE = KEYS * D * 2,
        STAGE = 2 * TILE
    };
};

#if LL_WGMMA
// ROWS rows of width D, from bf16 by the copy engine or from floats by way of registers; zeros
// behind the last row.
template <int D, int ROWS, int THREADS, bool HALF> struct rows_in {
    enum { ACROSS = D / 8, N = ROWS * ACROSS / THREADS };
    float4 held[HALF ? 1 : 2 * N];

    __device__ void load(uint32_t tile, const float *from, int64_t step, int64_t first, int64_t n)
    {
#pragma unroll
        for (int i = 0; i < N; i++) {
            const int     at = i * THREADS + threadIdx.x, piece = at % ACROSS;
            const int64_t row = first + at / ACROSS;
            const bool    there = row < n;
            if constexpr (HALF) {
                bring16(tile + piece_at<D * 2>(at / ACROSS, piece),
                        (const uint16_t *)from + (there ? row : 0) * step + piece * 8, there);
            } else {
                const float4 none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
                const float *x = from + (there ? row : 0) * step + piece * 8;
                held[2 * i] = there ? *(const float4 *)x : none;
                held[2 * i + 1] = there ? *(const float4 *)(x + 4) : none;
            }
        }
    }
    __device__ void store(uint32_t tile) const
    {
        if constexpr (!HALF)
#pragma unroll
            for (int i = 0; i < N; i++) {
                const int    at = i * THREADS + threadIdx.x;
                const float4 a = held[2 * i], b = held[2 * i + 1];
                store16(tile + piece_at<D * 2>(at / ACROSS, at % ACROSS),
                        make_uint4(pack(a.x, a.y), pack(a.z, a.w), pack(b.x, b.y), pack(b.z, b.w)));
            }
    }
};
#endif

template <int D, int GROUPS, bool Q_HALF, bool KV_HALF>
__global__ void __launch_bounds__(128 * GROUPS, GROUPS == 2 ? 2
                                                : KV_HALF   ? 4
                                                            : 3)
    forward_wgmma_kernel(const __grid_constant__ att_arg p, int n_stages)
{
    wait_behind();
#if LL_WGMMA
    typedef att_tile<D, GROUPS> tile;
    enum { THREADS = tile::THREADS };
    extern __shared__ char dynamic[];
    const uint32_t base = (shared_at(dynamic) + 1023) & ~1023u, stages = base + tile::Q_BYTES;
    const uint32_t tiles = ((uint32_t)p.lq + tile::QUERIES - 1) / tile::QUERIES;
    const int64_t  b = blockIdx.x / tiles / p.heads, first = blockIdx.x % tiles * tile::QUERIES;
    const int      h = (int)(blockIdx.x / tiles % p.heads), warp = threadIdx.x / 32,
              lane = threadIdx.x % 32, group = warp / 4;
    const int    n_tiles = (int)((p.lk + KEYS - 1) / KEYS);
    const float *mask = mask_of(p, b);
    const float *k_head = head_at(p.k, b, h, D, KV_HALF), *v_head = head_at(p.v, b, h, D, KV_HALF);
    const float  scale = p.scale * 1.44269504088896341f; // scores in units of log 2

    rows_in<D, KEYS, THREADS, KV_HALF> next_k, next_v;
    {
        rows_in<D, tile::QUERIES, THREADS, Q_HALF> own;
        own.load(base, head_at(p.q, b, h, D, Q_HALF), p.q.step, first, p.lq);
        own.store(base);
    }
    if (KV_HALF) {
        for (int t = 0; t < TILES_AHEAD - 1; t++) { // the queries come with the first
            if (t < n_tiles) {
                const uint32_t at = stages + t * tile::STAGE;
                next_k.load(at, k_head, p.k.step, t * KEYS, p.lk);
                next_v.load(at + tile::TILE, v_head, p.v.step, t * KEYS, p.lk);
            }
            bring_commit();
        }
    } else {
        bring_commit();
        next_k.load(0, k_head, p.k.step, 0, p.lk);
        next_v.load(0, v_head, p.v.step, 0, p.lk);
    }
    const uint32_t q_at = base + group * (64 * D * 2);
    float          y[D / 2] = {}, top[2] = { -INFINITY, -INFINITY }, sum[2] = { 0.0f, 0.0f };
    int            stage = 0;
    for (int t = 0; t < n_tiles; t++) {
        const uint32_t keys = stages + stage * tile::STAGE, values = keys + tile::TILE;
        if (KV_HALF) {
            bring_wait<TILES_AHEAD - 2>();
        } else {
            bring_wait<0>(); // the queries
            next_k.store(keys);
            next_v.store(values);
        }
        show_shared();
        __syncthreads();
        if (KV_HALF) { // everybody is done with the tile before
            if (t + TILES_AHEAD - 1 < n_tiles) {
                const int      ahead = stage + TILES_AHEAD - 1;
                const uint32_t at =
                    stages + (ahead >= n_stages ? ahead - n_stages : ahead) * tile::STAGE;
                next_k.load(at, k_head, p.k.step, (int64_t)(t + TILES_AHEAD - 1) * KEYS, p.lk);
                next_v.load(at + tile::TILE, v_head, p.v.step,
                            (int64_t)(t + TILES_AHEAD - 1) * KEYS, p.lk);
            }
            bring_commit();
        } else if (t + 1 < n_tiles) {
            next_k.load(0, k_head, p.k.step, (int64_t)(t + 1) * KEYS, p.lk);
            next_v.load(0, v_head, p.v.step, (int64_t)(t + 1) * KEYS, p.lk);
        }
        float s[KEYS / 2];
        wgmma_begin();
#pragma unroll
        for (int k = 0; k < D / 16; k++)
            wgmma<KEYS>::template ss<0, 0>(s, tile_at<D * 2>(q_at + 32 * k),
                                           tile_at<D * 2>(keys + 32 * k), k > 0);
        wgmma_commit();
        wgmma_finish(s);
        if (mask != NULL || (t + 1) * KEYS > p.lk) {
#pragma unroll
            for (int i = 0; i < KEYS / 2; i++) {
                const int64_t key = t * KEYS + i / 4 * 8 + lane % 4 * 2 + i % 2;
                if (key >= p.lk || (mask != NULL && mask[key] != 0.0f)) s[i] = -INFINITY;
            }
        }
        float high[2] = { top[0], top[1] }, shrink[2], from[2];
#pragma unroll
        for (int i = 0; i < KEYS / 2; i++) {
            s[i] *= scale;
            high[i / 2 % 2] = fmaxf(high[i / 2 % 2], s[i]);
        }
        raise_top(high, top, from, shrink, sum);
#pragma unroll
        for (int i = 0; i < D / 2; i++) y[i] *= shrink[i / 2 % 2];
        uint32_t w[KEYS / 16][4];
#pragma unroll
        for (int i = 0; i < KEYS / 2; i += 2) {
            const int   half = i / 2 % 2;
            const float a = exp2_of(s[i] - from[half]), c = exp2_of(s[i + 1] - from[half]);
            sum[half] += a + c;
            w[i / 8][i / 2 % 4] = pack(a, c);
        }
        wgmma_begin();
#pragma unroll
        for (int k = 0; k < KEYS / 16; k++)
            wgmma<D>::template rs<1>(y, w[k], tile_at<D * 2>(values + k * 16 * D * 2), 1);
        wgmma_commit();
        wgmma_finish(y);
        stage = stage + 1 == n_stages ? 0 : stage + 1;
    }
    let_next();
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int64_t row = first + group * 64 + warp % 4 * 16 + half * 8 + lane / 4;
        sum[half] += __shfl_xor_sync(0xffffffffu, sum[half], 1);
        sum[half] += __shfl_xor_sync(0xffffffffu, sum[half], 2);
        const float   inverse = sum[half] == 0.0f ? 0.0f : 1.0f / sum[half];
        const int64_t to = ((b * p.lq + row) * p.heads + h) * D;
#pragma unroll
        for (int n = 0; n < D / 8; n += 2) {
            const float *x = y + 4 * n + 2 * half, *z = x + 4;
            if (p.y_half) {
                const uint2 four = exchange4(pack(x[0] * inverse, x[1] * inverse),
                                             pack(z[0] * inverse, z[1] * inverse));
                if (row < p.lq) *(uint2 *)((uint16_t *)p.y + to + 8 * n + lane % 4 * 4) = four;
            } else if (row < p.lq) {
                *(float2 *)(p.y + to + 8 * n + lane % 4 * 2) =
                    make_float2(x[0] * inverse, x[1] * inverse);
                *(float2 *)(p.y + to + 8 * n + 8 + lane % 4 * 2) =
                    make_float2(z[0] * inverse, z[1] * inverse);
            }
        }
        if (lane % 4 == 0 && row < p.lq)
            p.lse_out[(b * p.heads + h) * p.lq + row] =
                sum[half] == 0.0f ? -INFINITY
                                  : (top[half] + log2f(sum[half])) * 0.693147180559945309f;
    }
#endif
}

template <int D, int GROUPS, bool Q_HALF, bool KV_HALF> static void launch(const att_arg &p)
{
    typedef att_tile<D, GROUPS> tile;
    static const cudaError_t    room =
        cudaFuncSetAttribute(forward_wgmma_kernel<D, GROUPS, Q_HALF, KV_HALF>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                             1024 + tile::Q_BYTES + TILES_AHEAD * tile::STAGE);
    const int64_t  n_tiles = (p.lk + KEYS - 1) / KEYS, most = KV_HALF ? TILES_AHEAD : 2;
    const int      n_stages = (int)(n_tiles < most ? n_tiles : most);
    const size_t   bytes = 1024 + tile::Q_BYTES + (size_t)n_stages * tile::STAGE;
    const unsigned blocks =
        (unsigned)((p.lq + tile::QUERIES - 1) / tile::QUERIES * p.heads * p.batch);
    ll_cuda_note(room, "attention");
    enqueue(forward_wgmma_kernel<D, GROUPS, Q_HALF, KV_HALF>, blocks, tile::THREADS, bytes, p,
            n_stages);
}

template <int D, int GROUPS> static void by_kind(const att_arg &p)
{
    if (p.q.half && p.k.half) launch<D, GROUPS, true, true>(p);
    else if (p.q.half) launch<D, GROUPS, true, false>(p);
    else if (p.k.half) launch<D, GROUPS, false, true>(p);
    else launch<D, GROUPS, false, false>(p);
}

// False: not for this one.
bool ll_cuda_attention_wgmma(const ll_call *c, const att_arg &p)
{
    if (!ll_cuda_wgmma_there() || p.bias != NULL || p.lk == 0 || !in_sixteens(p.q) ||
        !in_sixteens(p.k) || !in_sixteens(p.v))
        return false;
    const bool large = p.lq > 64 && (p.lq + 127) / 128 * p.heads * p.batch >= 132;
    if (p.d == 32 && large) by_kind<32, 2>(p);
    else if (p.d == 32) by_kind<32, 1>(p);
    else if (large) by_kind<64, 2>(p);
    else by_kind<64, 1>(p);
    launched(c);
    return true;
}
