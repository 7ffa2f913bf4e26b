// The gradient of attention on Hopper's warpgroup products: as attention_grad_bf16.cu, where
// operands, y and dy are bf16 and aligned.
//
// dq: a warpgroup takes 64 queries and sees keys and values pass by; dk and dv: it takes 64 keys
// and sees queries and dy pass by, in tiles of 64, one or two on their way. What the first two
// products give is an operand of the last ones in registers.
#include "backend/cuda/object/attention/prefetch.cuh"
#include "backend/cuda/object/wgmma.cuh"

enum { ROWS = 64, STAGES = 3 };

#define LOG2E 1.44269504088896341f

// Two operands of the block's own rows, then STAGES of two tiles that pass by.
template <int D, int GROUPS> struct grad_tile {
    enum {
        THREADS = 128 * GROUPS,
        OWN = ROWS * GROUPS,
        OWN_BYTES = OWN * D * 2,
        TILE = ROWS * D * 2,
        STAGE = 2 * TILE,
        BYTES = 1024 + 2 * OWN_BYTES + STAGES * STAGE
    };
};

#if LL_WGMMA
// N rows of width D from row `first` on; zeros behind the last row.
template <int D, int N, int THREADS>
__device__ static inline void bring_rows(uint32_t tile, const uint16_t *from, int64_t step,
                                         int64_t first, int64_t n)
{
    enum { ACROSS = D / 8 };
#pragma unroll
    for (int i = 0; i < N * ACROSS / THREADS; i++) {
        const int     at = i * THREADS + threadIdx.x, row = at / ACROSS, piece = at % ACROSS;
        const bool    there = first + row < n;
        const int64_t r = there ? first + row : 0;
        bring16(tile + piece_at<D * 2>(row, piece), from + r * step + piece * 8, there);
    }
}

// s [64,64] = x [64,D] y^T, both rows of D in shared memory
template <int D>
__device__ static inline void multiply(float (&s)[ROWS / 2], uint32_t x, uint32_t y)
{
#pragma unroll
    for (int k = 0; k < D / 16; k++)
        wgmma<ROWS>::template ss<0, 0>(s, tile_at<D * 2>(x + 32 * k), tile_at<D * 2>(y + 32 * k),
                                       k > 0);
}

// sum [64,D] += w [64,64] rows of a tile [64,D]
template <int D>
__device__ static inline void add_rows(float (&sum)[D / 2], const uint32_t (&w)[ROWS / 16][4],
                                       uint32_t tile, int add)
{
#pragma unroll
    for (int k = 0; k < ROWS / 16; k++)
        wgmma<D>::template rs<1>(sum, w[k], tile_at<D * 2>(tile + k * 16 * D * 2), add || k > 0);
}

// This warpgroup's results times `by` into rows of one head, from row `first` of n on.
template <int D>
__device__ static inline void put(const float (&y)[D / 2], float by, float *to, int64_t at,
                                  int64_t step, int64_t first, int64_t n, bool as_half)
{
    const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int64_t row = first + warp * 16 + half * 8 + lane / 4;
#pragma unroll
        for (int i = 0; i < D / 8; i += 2) {
            const float *x = y + 4 * i + 2 * half, *z = x + 4;
            if (as_half) {
                const uint2 four =
                    exchange4(pack(x[0] * by, x[1] * by), pack(z[0] * by, z[1] * by));
                if (row < n)
                    *(uint2 *)((uint16_t *)to + at + row * step + 8 * i + lane % 4 * 4) = four;
            } else if (row < n) {
                float *a = to + at + row * step + 8 * i + lane % 4 * 2;
                *(float2 *)a = make_float2(x[0] * by, x[1] * by);
                *(float2 *)(a + 8) = make_float2(z[0] * by, z[1] * by);
            }
        }
    }
}

// y dy of this lane's rows: four lanes share a row.
template <int D>
__device__ static inline float dot_rows(const uint16_t *y, const uint16_t *dy, int lane)
{
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < D / 32; i++) {
        const uint4 a = *(const uint4 *)(y + (i * 4 + lane % 4) * 8),
                    b = *(const uint4 *)(dy + (i * 4 + lane % 4) * 8);
        const __nv_bfloat162 *u = (const __nv_bfloat162 *)&a, *v = (const __nv_bfloat162 *)&b;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const float2 f = __bfloat1622float2(u[k]), g = __bfloat1622float2(v[k]);
            sum = fmaf(f.x, g.x, fmaf(f.y, g.y, sum));
        }
    }
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    return sum + __shfl_xor_sync(0xffffffffu, sum, 2);
}
#endif

template <int D, int GROUPS>
__global__ void __launch_bounds__(128 * GROUPS, GROUPS == 1 ? 3 : 2)
    dq_wgmma_kernel(const __grid_constant__ att_arg p)
{
    wait_behind();
#if LL_WGMMA
    typedef grad_tile<D, GROUPS> tile;
    enum { THREADS = tile::THREADS };
    extern __shared__ char dynamic[];
    const uint32_t         base = (shared_at(dynamic) + 1023) & ~1023u;
    const uint32_t         dys = base + tile::OWN_BYTES, stages = dys + tile::OWN_BYTES;
    const block_place      own = block_of<tile::OWN>(p, p.lq);
    const int64_t          b = own.b, first = own.first;
    const int              h = own.h, warp = own.warp, lane = own.lane, group = warp / 4;
    const int64_t          dense = (int64_t)p.heads * D, head = (b * p.lq * p.heads + h) * D;
    const int              n_tiles = (int)((p.lk + ROWS - 1) / ROWS);
    const float           *mask = mask_of(p, b), scale = p.scale * LOG2E;
    const uint16_t        *k_head = (const uint16_t *)head_at(p.k, b, h, D, true),
                   *v_head = (const uint16_t *)head_at(p.v, b, h, D, true),
                   *dy = (const uint16_t *)p.dy + head, *y = (const uint16_t *)p.y_in + head;
    bring_rows<D, tile::OWN, THREADS>(base, (const uint16_t *)head_at(p.q, b, h, D, true), p.q.step,
                                      first, p.lq);
    bring_rows<D, tile::OWN, THREADS>(dys, dy, dense, first, p.lq);
    for (int t = 0; t < STAGES - 1; t++) { // what is own comes with the first
        const uint32_t at = stages + t * tile::STAGE;
        if (t < n_tiles) {
            bring_rows<D, ROWS, THREADS>(at, k_head, p.k.step, t * ROWS, p.lk);
            bring_rows<D, ROWS, THREADS>(at + tile::TILE, v_head, p.v.step, t * ROWS, p.lk);
        }
        bring_commit();
    }
    float lse[2], delta[2]; // of this lane's rows; four lanes have the same
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int64_t row = first + group * 64 + warp % 4 * 16 + half * 8 + lane / 4,
                      of = (b * p.heads + h) * p.lq + row;
        const bool    there = row < p.lq;
        const int64_t at = (there ? row : 0) * dense;
        delta[half] = dot_rows<D>(y + at, dy + at, lane);
        lse[half] = there ? p.lse[of] * LOG2E : INFINITY;
        if (lse[half] == -INFINITY) lse[half] = INFINITY; // every weight is 0
        if (there && lane % 4 == 0) p.delta[of] = delta[half];
    }
    const uint32_t q_at = base + group * (64 * D * 2), dy_at = dys + group * (64 * D * 2);
    float          dq[D / 2];
    for (int t = 0; t < n_tiles; t++) {
        const uint32_t keys = stages + t % STAGES * tile::STAGE, values = keys + tile::TILE;
        bring_wait<STAGES - 2>();
        show_shared();
        __syncthreads(); // everybody is done with the tile before
        if (t + STAGES - 1 < n_tiles) {
            const uint32_t at = stages + (t + STAGES - 1) % STAGES * tile::STAGE;
            const int64_t  key = (int64_t)(t + STAGES - 1) * ROWS;
            bring_rows<D, ROWS, THREADS>(at, k_head, p.k.step, key, p.lk);
            bring_rows<D, ROWS, THREADS>(at + tile::TILE, v_head, p.v.step, key, p.lk);
        }
        bring_commit();
        float s[ROWS / 2], dw[ROWS / 2];
        wgmma_begin();
        multiply<D>(s, q_at, keys);
        multiply<D>(dw, dy_at, values);
        wgmma_commit();
        wgmma_finish(s);
        wgmma_finish(dw);
        if (mask != NULL || (t + 1) * ROWS > p.lk) {
#pragma unroll
            for (int i = 0; i < ROWS / 2; i++) {
                const int64_t key = t * ROWS + i / 4 * 8 + lane % 4 * 2 + i % 2;
                if (key >= p.lk || (mask != NULL && mask[key] != 0.0f)) s[i] = -INFINITY;
            }
        }
        uint32_t ds[ROWS / 16][4];
#pragma unroll
        for (int i = 0; i < ROWS / 2; i += 2) {
            const int   half = i / 2 % 2;
            const float a = exp2_of(fmaf(s[i], scale, -lse[half])) * (dw[i] - delta[half]),
                        c = exp2_of(fmaf(s[i + 1], scale, -lse[half])) * (dw[i + 1] - delta[half]);
            ds[i / 8][i / 2 % 4] = pack(a, c);
        }
        wgmma_begin();
        add_rows<D>(dq, ds, keys, t > 0);
        wgmma_commit();
        wgmma_finish(dq);
    }
    put<D>(dq, p.scale, p.dq, head, dense, first + group * 64, p.lq, p.dq_half);
#endif
}

template <int D, int GROUPS>
__global__ void __launch_bounds__(128 * GROUPS, GROUPS == 1 ? 2 : 1)
    dkv_wgmma_kernel(const __grid_constant__ att_arg p)
{
    wait_behind();
#if LL_WGMMA
    typedef grad_tile<D, GROUPS> tile;
    enum { THREADS = tile::THREADS };
    extern __shared__ char dynamic[];
    __shared__ float2      of_query[STAGES][ROWS]; // lse and delta
    const uint32_t         base = (shared_at(dynamic) + 1023) & ~1023u;
    const uint32_t         own_v = base + tile::OWN_BYTES, stages = own_v + tile::OWN_BYTES;
    const block_place      own = block_of<tile::OWN>(p, p.lk);
    const int64_t          b = own.b, first = own.first;
    const int              h = own.h, warp = own.warp, lane = own.lane, group = warp / 4;
    const int64_t          dense = (int64_t)p.heads * D, of = (b * p.heads + h) * p.lq;
    const int              n_tiles = (int)((p.lq + ROWS - 1) / ROWS);
    const float           *mask = mask_of(p, b), scale = p.scale * LOG2E;
    const uint16_t        *q_head = (const uint16_t *)head_at(p.q, b, h, D, true),
                   *dy_head = (const uint16_t *)p.dy + (b * p.lq * p.heads + h) * D;
    float seen[2]; // 0, or -inf where the key does not count
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int64_t row = first + group * 64 + warp % 4 * 16 + half * 8 + lane / 4;
        seen[half] = row >= p.lk || (mask != NULL && mask[row] != 0.0f) ? -INFINITY : 0.0f;
    }
    bring_rows<D, tile::OWN, THREADS>(base, (const uint16_t *)head_at(p.k, b, h, D, true), p.k.step,
                                      first, p.lk);
    bring_rows<D, tile::OWN, THREADS>(own_v, (const uint16_t *)head_at(p.v, b, h, D, true),
                                      p.v.step, first, p.lk);
#define BRING(t)                                                                                  \
    do {                                                                                          \
        const uint32_t at = stages + (t) % STAGES * tile::STAGE;                                  \
        const int64_t  query = (int64_t)(t)*ROWS;                                                 \
        if ((t) >= n_tiles) break;                                                                \
        bring_rows<D, ROWS, THREADS>(at, q_head, p.q.step, query, p.lq);                          \
        bring_rows<D, ROWS, THREADS>(at + tile::TILE, dy_head, dense, query, p.lq);               \
        if (threadIdx.x < ROWS) {                                                                 \
            const bool  there = query + threadIdx.x < p.lq;                                       \
            const float x = there ? p.lse[of + query + threadIdx.x] * LOG2E : -INFINITY;          \
            of_query[(t) % STAGES][threadIdx.x] = make_float2(                                    \
                x == -INFINITY ? INFINITY : x, there ? p.delta[of + query + threadIdx.x] : 0.0f); \
        }                                                                                         \
    } while (0)
    for (int t = 0; t < STAGES - 1; t++) { // what is own comes with the first
        BRING(t);
        bring_commit();
    }
    const uint32_t k_at = base + group * (64 * D * 2), v_at = own_v + group * (64 * D * 2);
    float          dk[D / 2], dv[D / 2];
    for (int t = 0; t < n_tiles; t++) {
        const uint32_t queries = stages + t % STAGES * tile::STAGE, dys = queries + tile::TILE;
        bring_wait<STAGES - 2>();
        show_shared();
        __syncthreads(); // everybody is done with the tile before
        BRING(t + STAGES - 1);
        bring_commit();
        float s[ROWS / 2], dw[ROWS / 2];
        wgmma_begin();
        multiply<D>(s, k_at, queries);
        multiply<D>(dw, v_at, dys);
        wgmma_commit();
        wgmma_finish(s);
        wgmma_finish(dw);
        uint32_t w[ROWS / 16][4], ds[ROWS / 16][4];
#pragma unroll
        for (int i = 0; i < ROWS / 2; i += 2) {
            const int    half = i / 2 % 2, column = i / 4 * 8 + lane % 4 * 2;
            const float2 u = of_query[t % STAGES][column], v = of_query[t % STAGES][column + 1];
            const float  a = exp2_of(fmaf(s[i], scale, seen[half]) - u.x),
                        c = exp2_of(fmaf(s[i + 1], scale, seen[half]) - v.x);
            w[i / 8][i / 2 % 4] = pack(a, c);
            ds[i / 8][i / 2 % 4] = pack(a * (dw[i] - u.y), c * (dw[i + 1] - v.y));
        }
        wgmma_begin();
        add_rows<D>(dv, w, dys, t > 0);
        add_rows<D>(dk, ds, queries, t > 0);
        wgmma_commit();
        wgmma_finish(dv);
        wgmma_finish(dk);
    }
#undef BRING
    let_next();
    const int64_t head = (b * p.lk * p.heads + h) * D;
    put<D>(dk, p.scale, p.dk, head, dense, first + group * 64, p.lk, p.dk_half);
    put<D>(dv, 1.0f, p.dv, head, dense, first + group * 64, p.lk, p.dv_half);
#endif
}

template <int D, int GROUPS> static void launch(const att_arg &p)
{
    typedef grad_tile<D, GROUPS> tile;
    static const cudaError_t     room[] = {
            cudaFuncSetAttribute(dq_wgmma_kernel<D, GROUPS>,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, tile::BYTES),
            cudaFuncSetAttribute(dkv_wgmma_kernel<D, GROUPS>,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, tile::BYTES)
    };
    ll_cuda_note(room[0], "attention_grad");
    ll_cuda_note(room[1], "attention_grad");
    const int64_t by_q = (p.lq + tile::OWN - 1) / tile::OWN * p.heads * p.batch,
                  by_k = (p.lk + tile::OWN - 1) / tile::OWN * p.heads * p.batch;
    enqueue(dq_wgmma_kernel<D, GROUPS>, (unsigned)by_q, tile::THREADS, tile::BYTES, p);
    enqueue(dkv_wgmma_kernel<D, GROUPS>, (unsigned)by_k, tile::THREADS, tile::BYTES, p);
}

bool ll_cuda_attention_grad_wgmma(const ll_call *c, const att_arg &p)
{
    if (!ll_cuda_wgmma_there() || !in_sixteens(p.q) || !in_sixteens(p.k) || !in_sixteens(p.v) ||
        (((uintptr_t)p.dy | (uintptr_t)p.y_in) & 15) != 0)
        return false;
    if (p.d == 32) launch<32, 1>(p);
    else if (p.lq > 64 && p.lk > 64 && p.batch * p.heads >= 512) launch<64, 2>(p);
    else launch<64, 1>(p);
    launched(c);
    return true;
}
