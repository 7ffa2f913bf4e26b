// Matrix products on tensor cores: operands are floats in memory, rounded to bf16 on their way into
// shared memory, sums in floats. Bias, GELU and residual are added before the result is stored.
//
// A block computes a tile of the result; the inner length may be cut into pieces whose partial
// results lie in the scratch memory and are added in order, so that results are the same from run
// to run.
#include "backend/cuda/object/mma.cuh"
#include "backend/cuda/object/product.cuh"

enum { DEPTH = 32, PAD = 8, CUTS_BYTES = 16 << 20 };

template <int BM, int BN> struct tile_of;
template <> struct tile_of<128, 128> {
    enum { WARPS_M = 2, WARPS_N = 4 };
};
template <> struct tile_of<64, 64> {
    enum { WARPS_M = 2, WARPS_N = 2 };
};

struct cut_arg {
    int64_t n, each; // pieces of the inner length, and how long they are
    float  *partial; // [n, batch m n]; NULL: not cut
    int64_t total;
};

// Four numbers of a row of the operand from column c on; zeros outside.
__device__ static inline float4 fetch(const float *x, int64_t ld, int64_t row, int64_t n_rows,
                                      int64_t c, int64_t end, bool vector)
{
    float4 r = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (row >= n_rows || c >= end) return r;
    const float *at = x + row * ld + c;
    if (vector && c + 4 <= end) return *(const float4 *)at;
    r.x = at[0];
    if (c + 1 < end) r.y = at[1];
    if (c + 2 < end) r.z = at[2];
    if (c + 3 < end) r.w = at[3];
    return r;
}

// An operand's part of a step: SIDE rows (or columns) by DEPTH. TURNED: stored [inner][side].
template <int SIDE, bool TURNED, int THREADS> struct operand {
    enum {
        FOURS = SIDE * DEPTH / 4 / THREADS,
        PITCH = TURNED ? SIDE + PAD : DEPTH + PAD,
        SIZE = TURNED ? DEPTH * PITCH : SIDE * PITCH
    };
    float4 held[FOURS];

    __device__ void load(const float *x, int64_t ld, int64_t side, int64_t n_side, int64_t k,
                         int64_t end, bool vector)
    {
#pragma unroll
        for (int i = 0; i < FOURS; i++) {
            const int at = i * THREADS + threadIdx.x;
            if (TURNED)
                held[i] = fetch(x, ld, k + at / (SIDE / 4), end, side + at % (SIDE / 4) * 4, n_side,
                                vector);
            else
                held[i] = fetch(x, ld, side + at / (DEPTH / 4), n_side, k + at % (DEPTH / 4) * 4,
                                end, vector);
        }
    }
    __device__ void store(__nv_bfloat16 *tile) const
    {
#pragma unroll
        for (int i = 0; i < FOURS; i++) {
            const int at = i * THREADS + threadIdx.x;
            if (TURNED) store4(tile + at / (SIDE / 4) * PITCH + at % (SIDE / 4) * 4, held[i]);
            else store4(tile + at / (DEPTH / 4) * PITCH + at % (DEPTH / 4) * 4, held[i]);
        }
    }
};

__device__ static inline float finished(const product &p, float x, int64_t j, int64_t at)
{
    if (p.bias != NULL) x += p.bias[j];
    if (p.gelu) x = gelu_of(x);
    if (p.residual != NULL) x += p.residual[at];
    return x;
}

template <int BM, int BN, bool TA, bool TB>
__global__ void __launch_bounds__(32 * tile_of<BM, BN>::WARPS_M * tile_of<BM, BN>::WARPS_N)
    product_kernel(const __grid_constant__ product p, const __grid_constant__ cut_arg cut,
                   bool vector_a, bool vector_b)
{
    enum {
        WARPS_M = tile_of<BM, BN>::WARPS_M,
        WARPS_N = tile_of<BM, BN>::WARPS_N,
        THREADS = 32 * WARPS_M * WARPS_N,
        WM = BM / WARPS_M,
        WN = BN / WARPS_N
    };
    typedef operand<BM, TA, THREADS>  operand_a;
    typedef operand<BN, !TB, THREADS> operand_b; // b [k,n] is stored inner first
    __shared__ __align__(16) __nv_bfloat16 tile_a[2][operand_a::SIZE], tile_b[2][operand_b::SIZE];

    const int64_t across = (p.n + BN - 1) / BN, down = (p.m + BM - 1) / BM;
    const int64_t tile = blockIdx.x % (across * down), rest = blockIdx.x / (across * down);
    const int64_t piece = rest % cut.n, item = rest / cut.n;
    const int64_t i0 = tile / across * BM, j0 = tile % across * BN;
    const int64_t begin = piece * cut.each, end = begin + cut.each < p.k ? begin + cut.each : p.k;
    const float  *a = p.a, *b = p.b;
    int64_t       left = item;
    for (int axis = p.n_batch - 1; axis >= 0; axis--) {
        a += left % p.batch[axis] * p.a_step[axis];
        b += left % p.batch[axis] * p.b_step[axis];
        left /= p.batch[axis];
    }
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int wm = warp / WARPS_N * WM, wn = warp % WARPS_N * WN;
    float     sum[WM / 16][WN / 8][4] = {};
    operand_a next_a;
    operand_b next_b;
    next_a.load(a, p.lda, i0, p.m, begin, end, vector_a);
    next_b.load(b, p.ldb, j0, p.n, begin, end, vector_b);
    int at = 0;
    for (int64_t k = begin; k < end; k += DEPTH) {
        next_a.store(tile_a[at]);
        next_b.store(tile_b[at]);
        __syncthreads();
        if (k + DEPTH < end) {
            next_a.load(a, p.lda, i0, p.m, k + DEPTH, end, vector_a);
            next_b.load(b, p.ldb, j0, p.n, k + DEPTH, end, vector_b);
        }
#pragma unroll
        for (int kk = 0; kk < DEPTH; kk += 16) {
            uint32_t fa[WM / 16][4], fb[WN / 16][4];
#pragma unroll
            for (int i = 0; i < WM / 16; i++) {
                if (TA) load_a_turned(fa[i], tile_a[at], operand_a::PITCH, wm + 16 * i, kk);
                else load_a(fa[i], tile_a[at], operand_a::PITCH, wm + 16 * i, kk);
            }
#pragma unroll
            for (int j = 0; j < WN / 16; j++) {
                if (TB) load_b(fb[j], tile_b[at], operand_b::PITCH, wn + 16 * j, kk);
                else load_b_turned(fb[j], tile_b[at], operand_b::PITCH, wn + 16 * j, kk);
            }
#pragma unroll
            for (int i = 0; i < WM / 16; i++)
#pragma unroll
                for (int j = 0; j < WN / 8; j++) mma_bf16(sum[i][j], fa[i], fb[j / 2] + j % 2 * 2);
        }
        at ^= 1;
    }
    // Lane l has rows l / 4 and l / 4 + 8, columns 2 (l % 4) and one more of each 16 x 8 tile.
#pragma unroll
    for (int i = 0; i < WM / 16; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int64_t row = i0 + wm + 16 * i + 8 * half + lane / 4;
            if (row >= p.m) continue;
#pragma unroll
            for (int j = 0; j < WN / 8; j++) {
                const int64_t column = j0 + wn + 8 * j + lane % 4 * 2,
                              to = (item * p.m + row) * p.n + column;
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    if (column + e >= p.n) continue;
                    const float x = sum[i][j][2 * half + e];
                    if (cut.partial != NULL) cut.partial[piece * cut.total + to + e] = x;
                    else p.y[to + e] = finished(p, x, column + e, to + e);
                }
            }
        }
}

__global__ void join_cuts_kernel(const __grid_constant__ product p,
                                 const __grid_constant__ cut_arg cut)
{
    FOR_EACH(i, cut.total)
    {
        float x = cut.partial[i];
        for (int64_t k = 1; k < cut.n; k++) x += cut.partial[k * cut.total + i];
        p.y[i] = finished(p, x, i % p.n, i);
    }
}

static bool in_fours(const float *x, int64_t ld, const int64_t *step, int n)
{
    bool ok = ((uintptr_t)x & 15) == 0 && ld % 4 == 0;
    for (int i = 0; i < n; i++) ok = ok && step[i] % 4 == 0;
    return ok;
}

template <int BM, int BN> static void by_tiles(const product &p, const cut_arg &cut, int64_t tiles)
{
    const bool va = in_fours(p.a, p.lda, p.a_step, p.n_batch),
               vb = in_fours(p.b, p.ldb, p.b_step, p.n_batch);
    const unsigned blocks = (unsigned)(tiles * cut.n * batch_count(p));
    const int      threads = 32 * tile_of<BM, BN>::WARPS_M * tile_of<BM, BN>::WARPS_N;
    if (p.ta && p.tb)
        product_kernel<BM, BN, true, true><<<blocks, threads, 0, LLAP_QUEUE>>>(p, cut, va, vb);
    else if (p.ta)
        product_kernel<BM, BN, true, false><<<blocks, threads, 0, LLAP_QUEUE>>>(p, cut, va, vb);
    else if (p.tb)
        product_kernel<BM, BN, false, true><<<blocks, threads, 0, LLAP_QUEUE>>>(p, cut, va, vb);
    else product_kernel<BM, BN, false, false><<<blocks, threads, 0, LLAP_QUEUE>>>(p, cut, va, vb);
}

static int64_t tiles_of(const product &p, int side)
{
    return (p.m + side - 1) / side * ((p.n + side - 1) / side);
}

bool llap_cuda_product_bf16(const llap_call *c, const product &p)
{
    enum { WANTED = 132 };
    const int64_t items = batch_count(p);
    const bool    large = tiles_of(p, 128) * items >= WANTED;
    const int64_t tiles = tiles_of(p, large ? 128 : 64);
    cut_arg       cut = { 1, p.k, NULL, items * p.m * p.n };
    // Long inner lengths of few tiles, as in the gradients of weights, are cut.
    const int64_t most = CUTS_BYTES / (int64_t)sizeof(float) / cut.total, useful = p.k / 512;
    int64_t       cuts = WANTED * 2 / (tiles * items);
    cuts = cuts < most ? cuts : most;
    cuts = cuts < useful ? cuts : useful;
    if (cuts > 1) {
        cut.each = ((p.k + cuts - 1) / cuts + DEPTH - 1) / DEPTH * DEPTH;
        cut.n = (p.k + cut.each - 1) / cut.each;
        cut.partial = (float *)c->work;
    }
    if (large) by_tiles<128, 128>(p, cut, tiles);
    else by_tiles<64, 64>(p, cut, tiles);
    if (cut.partial != NULL)
        join_cuts_kernel<<<blocks_for(cut.total), BLOCK, 0, LLAP_QUEUE>>>(p, cut);
    launched(c);
    return true;
}
