// Matrix products on Hopper's warpgroup products: as product_bf16.cu, for operands whose rows run
// along the inner length and lie in sixteens of bytes.
//
// A warpgroup computes 64 rows of a tile. Pieces of 64 of the inner length pass by in shared
// memory: bf16 by the copy engine, two to three ahead; floats by way of registers, one ahead.
#include "backend/cuda/object/product_finish.cuh"
#include "backend/cuda/object/wgmma.cuh"

enum { DEPTH = 64 };

// GROUPS warpgroups, WIDE columns.
template <int GROUPS, int WIDE> struct tile_of {
    enum {
        THREADS = 128 * GROUPS,
        ROWS = 64 * GROUPS,
        STAGES = GROUPS == 1 ? 4 : 3,
        PER_SM = GROUPS == 1 ? 3 : 2,
        A_BYTES = ROWS * DEPTH * 2,
        BYTES = A_BYTES + WIDE * DEPTH * 2
    };
};

#if LL_WGMMA
// One operand's part: SIDE rows by DEPTH.
template <bool HALF, int SIDE, int THREADS> struct operand {
    enum { N = SIDE * 8 / THREADS, STRIDE = THREADS / 8 };
    float4      held[HALF ? 1 : 2 * N];
    const char *x;
    int64_t     ld, n_side;
    int         row, piece;

    __device__ void begin(const void *from, int64_t ld_, int64_t side, int64_t n_side_)
    {
        ld = ld_;
        n_side = n_side_ - side; // what is left of it
        row = threadIdx.x / 8;
        piece = threadIdx.x % 8;
        x = (const char *)from + side * ld * (HALF ? 2 : 4);
    }
    // The part from k on, of inner length `left` (zeros behind it), into a tile or into registers.
    __device__ void load(uint32_t tile, int64_t k, int64_t left)
    {
#pragma unroll
        for (int i = 0; i < N; i++) {
            const int   r = row + i * STRIDE;
            const bool  there = r < n_side && piece * 8 < left;
            const char *from = x + (there ? r * ld + k + piece * 8 : 0) * (HALF ? 2 : 4);
            if constexpr (HALF) {
                bring16(tile + piece_at<128>(r, piece), from, there);
            } else {
                const float4 none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
                held[2 * i] = there ? *(const float4 *)from : none;
                held[2 * i + 1] = there ? *(const float4 *)(from + 16) : none;
            }
        }
    }
    __device__ void store(uint32_t tile) const
    {
        if constexpr (!HALF)
#pragma unroll
            for (int i = 0; i < N; i++) {
                const float4 a = held[2 * i], b = held[2 * i + 1];
                store16(tile + piece_at<128>(row + i * STRIDE, piece),
                        make_uint4(pack(a.x, a.y), pack(a.z, a.w), pack(b.x, b.y), pack(b.z, b.w)));
            }
    }
};

// The norm of a row, this lane's part of it in place.
template <int WIDE>
__device__ static inline void norm_row(const product &p, int64_t row, int64_t column, int half,
                                       float (&sum)[WIDE / 2])
{
    float mean = 0.0f, square = 0.0f;
#pragma unroll
    for (int n = 0; n < WIDE / 8; n++) mean += sum[4 * n + 2 * half] + sum[4 * n + 2 * half + 1];
    mean = four_sum(mean) / (float)WIDE;
#pragma unroll
    for (int n = 0; n < WIDE / 8; n++) {
        const float x = sum[4 * n + 2 * half] -= mean, y = sum[4 * n + 2 * half + 1] -= mean;
        square = fmaf(x, x, fmaf(y, y, square));
    }
    const float    rstd = rsqrtf(four_sum(square) / (float)WIDE + p.eps);
    const uint32_t which = (uint32_t)(row < p.m ? row : p.m - 1) / (uint32_t)p.run;
#pragma unroll
    for (int n = 0; n < WIDE / 8; n++)
        sum[4 * n + 2 * half] *= rstd, sum[4 * n + 2 * half + 1] *= rstd;
    if (p.gain != NULL) {
        const float *gain = p.gain + offset_at(p.at_gain, which, p.at_gain.rank - 1) + column;
#pragma unroll
        for (int n = 0; n < WIDE / 8; n++) {
            sum[4 * n + 2 * half] *= __ldg(gain + 8 * n) + p.offset;
            sum[4 * n + 2 * half + 1] *= __ldg(gain + 8 * n + 1) + p.offset;
        }
    }
    if (p.shift != NULL) {
        const float *shift = p.shift + offset_at(p.at_shift, which, p.at_shift.rank - 1) + column;
#pragma unroll
        for (int n = 0; n < WIDE / 8; n++) {
            sum[4 * n + 2 * half] += __ldg(shift + 8 * n);
            sum[4 * n + 2 * half + 1] += __ldg(shift + 8 * n + 1);
        }
    }
}
#endif

template <int GROUPS, int WIDE, bool A_HALF, bool B_HALF, bool NORM>
__global__ void __launch_bounds__(tile_of<GROUPS, WIDE>::THREADS,
                                  A_HALF &&B_HALF ? tile_of<GROUPS, WIDE>::PER_SM : 1)
    product_wgmma_kernel(const __grid_constant__ product p, const __grid_constant__ cut_arg cut)
{
    wait_behind();
#if LL_WGMMA
    typedef tile_of<GROUPS, WIDE> tile;
    enum { THREADS = tile::THREADS, STAGES = tile::STAGES };
    extern __shared__ char dynamic[];
    const uint32_t         base = (shared_at(dynamic) + 1023) & ~1023u;
    const uint32_t         across = ((uint32_t)p.n + WIDE - 1) / WIDE,
                   down = ((uint32_t)p.m + tile::ROWS - 1) / tile::ROWS;
    const uint32_t rest = blockIdx.x / (across * down), at = blockIdx.x - rest * (across * down);
    const uint32_t item = cut.n == 1 ? rest : rest / (uint32_t)cut.n,
                   piece = rest - item * (uint32_t)cut.n;
    const int64_t i0 = (int64_t)(at / across) * tile::ROWS, j0 = (int64_t)(at % across) * WIDE;
    const int64_t begin = piece * cut.each, end = begin + cut.each < p.k ? begin + cut.each : p.k;
    const int     n_parts = (int)((end - begin + DEPTH - 1) / DEPTH);
    int64_t       a_at = 0, b_at = 0;
    uint32_t      left = item;
    for (int axis = p.n_batch - 1; axis >= 0; axis--) {
        const uint32_t d = (uint32_t)p.batch[axis], next = axis == 0 ? 0 : left / d;
        a_at += (int64_t)(left - next * d) * p.a_step[axis];
        b_at += (int64_t)(left - next * d) * p.b_step[axis];
        left = next;
    }
    operand<A_HALF, tile::ROWS, THREADS> a;
    operand<B_HALF, WIDE, THREADS>       b;
    a.begin((const char *)p.a + a_at * (A_HALF ? 2 : 4), p.lda, i0, p.m);
    b.begin((const char *)p.b + b_at * (B_HALF ? 2 : 4), p.ldb, j0, p.n);
#define LOAD(x, HALF_, t, offset)                                                    \
    if (HALF_ && (t) < n_parts)                                                      \
    x.load(base + (t) % STAGES * tile::BYTES + (offset), begin + (int64_t)(t)*DEPTH, \
           end - begin - (int64_t)(t)*DEPTH)
    for (int t = 0; t < STAGES - 1; t++) {
        LOAD(a, A_HALF, t, 0);
        LOAD(b, B_HALF, t, tile::A_BYTES);
        bring_commit();
    }
    if (p.residual != NULL && cut.partial == NULL) // lines of 128 bytes, into the cache
        for (int i = threadIdx.x; i < tile::ROWS * (WIDE / 32); i += THREADS) {
            const int64_t row = i0 + i / (WIDE / 32), c = j0 + i % (WIDE / 32) * 32;
            if (row < p.m && c < p.n)
                asm volatile("prefetch.global.L2 [%0];" ::"l"(
                    p.residual + residual_row(p, item * p.m + row) + c));
        }
    if (!A_HALF) a.load(0, begin, end - begin);
    if (!B_HALF) b.load(0, begin, end - begin);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = warp / 4;
    float     sum[WIDE / 2];
    for (int t = 0; t < n_parts; t++) {
        const uint32_t a_tile = base + t % STAGES * tile::BYTES + group * 8192,
                       b_tile = base + t % STAGES * tile::BYTES + tile::A_BYTES;
        a.store(base + t % STAGES * tile::BYTES);
        b.store(b_tile);
        bring_wait<STAGES - 2>();
        show_shared();
        __syncthreads(); // everybody is done with the part before
        LOAD(a, A_HALF, t + STAGES - 1, 0);
        LOAD(b, B_HALF, t + STAGES - 1, tile::A_BYTES);
        bring_commit();
        const int64_t k = begin + (int64_t)t * DEPTH;
        if (!A_HALF && t + 1 < n_parts) a.load(0, k + DEPTH, end - k - DEPTH);
        if (!B_HALF && t + 1 < n_parts) b.load(0, k + DEPTH, end - k - DEPTH);
        wgmma_begin();
#pragma unroll
        for (int kk = 0; kk < DEPTH / 16; kk++)
            wgmma<WIDE>::template ss<0, 0>(sum, tile_at<128>(a_tile + kk * 32),
                                           tile_at<128>(b_tile + kk * 32), t > 0 || kk > 0);
        wgmma_commit();
        wgmma_finish(sum);
    }
#undef LOAD
    let_next();
    // Lane l has rows l / 4 and l / 4 + 8, columns 2 (l % 4) and one more of each 8 columns. All is
    // read before anything is written: loads do not wait for each other then.
    const int64_t first = i0 + group * 64 + warp % 4 * 16 + lane / 4, column = j0 + lane % 4 * 2;
    if (cut.partial == NULL) finish_tile<WIDE>(p, item * p.m, first, column, quick_gelu, sum);
    put_tile<WIDE>(cut.partial == NULL ? p.y : cut.partial + piece * cut.total,
                   cut.partial == NULL && p.y_half, (item * p.m + first) * p.n + column,
                   p.m - first, p.n, p.n - column, [&](int i) { return sum[i]; });
    if (NORM) { // WIDE is the row's whole width
#pragma unroll
        for (int half = 0; half < 2; half++) norm_row<WIDE>(p, first + 8 * half, column, half, sum);
        put_tile<WIDE>(p.z, p.z_half, first * p.n + column, p.m - first, p.n, p.n - column,
                       [&](int i) { return sum[i]; });
    }
#endif
}

template <int GROUPS, int WIDE, bool A_HALF, bool B_HALF, bool NORM = false>
static void launch(const product &p, const cut_arg &cut, int64_t items)
{
    typedef tile_of<GROUPS, WIDE> tile;
    enum { BYTES = 1024 + tile::STAGES * tile::BYTES };
    static const cudaError_t room =
        cudaFuncSetAttribute(product_wgmma_kernel<GROUPS, WIDE, A_HALF, B_HALF, NORM>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    const int64_t tiles = (p.m + tile::ROWS - 1) / tile::ROWS * ((p.n + WIDE - 1) / WIDE);
    ll_cuda_note(room, "product");
    enqueue(product_wgmma_kernel<GROUPS, WIDE, A_HALF, B_HALF, NORM>,
            (unsigned)(tiles * cut.n * items), tile::THREADS, BYTES, p, cut);
}

template <int GROUPS, int WIDE>
static void by_kind(const product &p, const cut_arg &cut, int64_t items)
{
    if (p.a_half && p.b_half) launch<GROUPS, WIDE, true, true>(p, cut, items);
    else if (p.a_half) launch<GROUPS, WIDE, true, false>(p, cut, items);
    else if (p.b_half) launch<GROUPS, WIDE, false, true>(p, cut, items);
    else launch<GROUPS, WIDE, false, false>(p, cut, items);
}

// Pieces of eight numbers are aligned and none lies across an end.
static bool in_eights(const void *x, int64_t ld, const int64_t *step, int n, bool half,
                      int64_t inner)
{
    const int64_t each = half ? 8 : 4;
    bool          ok = ((uintptr_t)x & 15) == 0 && ld % each == 0 && inner % 8 == 0;
    for (int i = 0; i < n; i++) ok = ok && step[i] % each == 0;
    return ok;
}

static void with_norm(const product &p)
{
    const cut_arg none = { 1, p.k, NULL, p.m * p.n };
    if (p.a_half && p.b_half) launch<2, 128, true, true, true>(p, none, 1);
    else if (p.a_half) launch<2, 128, true, false, true>(p, none, 1);
    else if (p.b_half) launch<2, 128, false, true, true>(p, none, 1);
    else launch<2, 128, false, false, true>(p, none, 1);
}

bool ll_cuda_product_norm_fits(int64_t m, int64_t n, int64_t k)
{
    return ll_cuda_wgmma_there() && k > 0 && k % 8 == 0 && n == 128 && m >= 128 * 132;
}

bool ll_cuda_product_wgmma(const ll_call *c, const product &p)
{
    enum { SMS = 132 };
    const int64_t items = batch_count(p);
    if (!ll_cuda_wgmma_there() || p.n % (p.y_half ? 8 : 2) != 0 || p.m * p.n < 64 * 16 || p.ta ||
        !p.tb || ((uintptr_t)p.residual & 7) != 0 ||
        !in_eights(p.a, p.lda, p.a_step, p.n_batch, p.a_half, p.ta ? p.m : p.k) ||
        !in_eights(p.b, p.ldb, p.b_step, p.n_batch, p.b_half, p.tb ? p.k : p.n))
        return false;
    if (p.norm) {
        with_norm(p);
        launched(c);
        return true;
    }
    const int64_t large = (p.m + 127) / 128 * ((p.n + 127) / 128) * items;
    const bool    wide = p.n > 64 && large >= SMS;
    const int64_t tiles = wide ? large : (p.m + 63) / 64 * ((p.n + 63) / 64) * items;
    cut_arg       cut = ll_cuda_cut_of(c, p, tiles, DEPTH);
    if (wide || (cut.n > 1 && p.n > 64 && p.m > 64)) by_kind<2, 128>(p, cut, items);
    else by_kind<1, 64>(p, cut, items);
    if (cut.partial != NULL) ll_cuda_join_cuts(p, cut);
    launched(c);
    return true;
}
