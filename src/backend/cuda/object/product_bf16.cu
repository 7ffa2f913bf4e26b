// Matrix products on tensor cores: operands are floats in memory, rounded to bf16 on their way into
// shared memory (or bf16 there already, where the planner said so), sums in floats. Bias, GELU and
// residual are added before the result is stored.
//
// A block computes a tile of the result; the next piece of the operands is on its way in registers
// while one is multiplied. The inner length may be cut into pieces whose partial results lie in the
// scratch memory and are added in order, so that results are the same from run to run.
#include "backend/cuda/object/mma.cuh"
#include "backend/cuda/object/product.cuh"

bool ll_cuda_product_short(const ll_call *c, const product &p); // false: not for this one

enum { PAD = 8, CUTS_BYTES = 16 << 20, WANTED = 132 /* tiles */ };

// Tiles of the result, by warps of WM x WN, and how much of the inner length a step takes.
template <int SIDE> struct tile_of;
template <> struct tile_of<128> {
    enum { WARPS_M = 2, WARPS_N = 4, THREADS = 256, DEPTH = 32, PER_SM = 2 };
};
template <> struct tile_of<64> {
    enum { WARPS_M = 2, WARPS_N = 2, THREADS = 128, DEPTH = 64, PER_SM = 2 };
};

// Eight bytes of bf16 (four numbers) on their way: from floats, or as they are.
template <typename T> struct four;
template <> struct four<float> {
    float4                 x;
    __device__ inline void load(const float *at) { x = *(const float4 *)at; }
    __device__ inline void clear() { x = make_float4(0.0f, 0.0f, 0.0f, 0.0f); }
    __device__ inline void put(int i, float v) { (&x.x)[i] = v; }
    __device__ inline void store(__nv_bfloat16 *to) const { store4(to, x); }
};
template <> struct four<__nv_bfloat16> {
    uint2                  x;
    __device__ inline void load(const __nv_bfloat16 *at) { x = *(const uint2 *)at; }
    __device__ inline void clear() { x = make_uint2(0, 0); }
    __device__ inline void put(int i, __nv_bfloat16 v) { ((__nv_bfloat16 *)&x)[i] = v; }
    __device__ inline void store(__nv_bfloat16 *to) const { *(uint2 *)to = x; }
};

// An operand's part of a step: SIDE rows (or columns) by DEPTH. TURNED: stored [inner][side]. FAST:
// fours are aligned and none lies across an end; rows outside repeat the last one, which nobody
// stores.
template <typename T, int SIDE, int DEPTH, int THREADS, bool TURNED, bool FAST> struct operand {
    enum {
        FOURS = SIDE * DEPTH / 4 / THREADS,
        ACROSS = (TURNED ? SIDE : DEPTH) / 4, // fours in a stored row
        PITCH = TURNED ? SIDE + PAD : DEPTH + PAD,
        SIZE = TURNED ? DEPTH * PITCH : SIDE * PITCH
    };
    four<T>  held[FOURS];
    const T *at[FAST ? FOURS : 1];
    int64_t  step; // from one part to the next

    __device__ void begin(const T *x, int64_t ld, int64_t side, int64_t n_side, int64_t k)
    {
        step = TURNED ? DEPTH * ld : DEPTH;
#pragma unroll
        for (int i = 0; i < (FAST ? FOURS : 0); i++) {
            const int n = i * THREADS + threadIdx.x, row = n / ACROSS, c = n % ACROSS * 4;
            if (TURNED) {
                const int64_t s = side + c < n_side ? side + c : n_side - 4;
                at[i] = x + (k + row) * ld + s;
            } else {
                const int64_t s = side + row < n_side ? side + row : n_side - 1;
                at[i] = x + s * ld + k + c;
            }
        }
    }
    __device__ void load_fast()
    {
#pragma unroll
        for (int i = 0; i < FOURS; i++) {
            held[i].load(at[i]);
            at[i] += step;
        }
    }
    __device__ void load_slow(const T *x, int64_t ld, int64_t side, int64_t n_side, int64_t k,
                              int64_t end)
    {
        for (int i = 0; i < FOURS; i++) {
            const int     n = i * THREADS + threadIdx.x, row = n / ACROSS, c = n % ACROSS * 4;
            const int64_t r = (TURNED ? k : side) + row, first = (TURNED ? side : k) + c;
            const int64_t n_rows = TURNED ? end : n_side, n_columns = TURNED ? n_side : end;
            held[i].clear();
            for (int e = 0; e < 4; e++)
                if (r < n_rows && first + e < n_columns) held[i].put(e, x[r * ld + first + e]);
        }
    }
    __device__ void store(__nv_bfloat16 *tile) const
    {
#pragma unroll
        for (int i = 0; i < FOURS; i++) {
            const int n = i * THREADS + threadIdx.x;
            held[i].store(tile + n / ACROSS * PITCH + n % ACROSS * 4);
        }
    }
};

// Of element `at` of the result.
__device__ static inline float residual_at(const product &p, int64_t at)
{
    if (p.repeat == 0) return p.residual[at];
    const uint32_t row = (uint32_t)at / (uint32_t)p.n;
    return p.residual[residual_row(p, row) + at - (int64_t)row * p.n];
}

__device__ static inline float finished(const product &p, float x, int64_t j, int64_t at)
{
    if (p.bias != NULL) x += p.bias[j];
    if (p.gelu) x = gelu_of(x);
    if (p.residual != NULL) x += residual_at(p, at);
    return x;
}

template <typename T, typename U, int SIDE, bool TA, bool TB, bool FAST>
__device__ static inline void product_tile(const product &p, const cut_arg &cut, uint32_t block)
{
    enum {
        WARPS_N = tile_of<SIDE>::WARPS_N,
        THREADS = tile_of<SIDE>::THREADS,
        DEPTH = tile_of<SIDE>::DEPTH,
        WM = SIDE / tile_of<SIDE>::WARPS_M,
        WN = SIDE / WARPS_N
    };
    typedef operand<T, SIDE, DEPTH, THREADS, TA, FAST>  operand_a;
    typedef operand<U, SIDE, DEPTH, THREADS, !TB, FAST> operand_b; // b [k,n] is stored inner first
    __shared__ __align__(16) __nv_bfloat16 tile_a[2][operand_a::SIZE], tile_b[2][operand_b::SIZE];

    const uint32_t across = ((uint32_t)p.n + SIDE - 1) / SIDE,
                   down = ((uint32_t)p.m + SIDE - 1) / SIDE;
    const uint32_t rest = block / (across * down), tile = block - rest * (across * down);
    const uint32_t item = cut.n == 1 ? rest : rest / (uint32_t)cut.n,
                   piece = rest - item * (uint32_t)cut.n;
    const int64_t i0 = (int64_t)(tile / across) * SIDE, j0 = (int64_t)(tile % across) * SIDE;
    const int64_t begin = piece * cut.each, end = begin + cut.each < p.k ? begin + cut.each : p.k;
    const T      *a = (const T *)p.a;
    const U      *b = (const U *)p.b;
    uint32_t      left = item;
    for (int axis = p.n_batch - 1; axis >= 0; axis--) {
        const uint32_t d = (uint32_t)p.batch[axis], next = axis == 0 ? 0 : left / d;
        a += (int64_t)(left - next * d) * p.a_step[axis];
        b += (int64_t)(left - next * d) * p.b_step[axis];
        left = next;
    }
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int wm = warp / WARPS_N * WM, wn = warp % WARPS_N * WN;
    float     sum[WM / 16][WN / 8][4] = {};
    operand_a next_a;
    operand_b next_b;
    next_a.begin(a, p.lda, i0, p.m, begin);
    next_b.begin(b, p.ldb, j0, p.n, begin);
#define LOAD(k)                                            \
    do {                                                   \
        if (FAST) {                                        \
            next_a.load_fast();                            \
            next_b.load_fast();                            \
        } else {                                           \
            next_a.load_slow(a, p.lda, i0, p.m, (k), end); \
            next_b.load_slow(b, p.ldb, j0, p.n, (k), end); \
        }                                                  \
    } while (0)
    LOAD(begin);
    int at = 0;
    for (int64_t k = begin; k < end; k += DEPTH) {
        next_a.store(tile_a[at]);
        next_b.store(tile_b[at]);
        __syncthreads();
        if (k + DEPTH < end) LOAD(k + DEPTH);
#pragma unroll
        for (int kk = 0; kk < DEPTH; kk += 16) {
            uint32_t fa[WM / 16][4];
#pragma unroll
            for (int i = 0; i < WM / 16; i++) {
                if (TA) load_a_turned(fa[i], tile_a[at], operand_a::PITCH, wm + 16 * i, kk);
                else load_a(fa[i], tile_a[at], operand_a::PITCH, wm + 16 * i, kk);
            }
#pragma unroll
            for (int j = 0; j < WN / 16; j++) {
                uint32_t fb[4];
                if (TB) load_b(fb, tile_b[at], operand_b::PITCH, wn + 16 * j, kk);
                else load_b_turned(fb, tile_b[at], operand_b::PITCH, wn + 16 * j, kk);
#pragma unroll
                for (int i = 0; i < WM / 16; i++) {
                    mma_bf16(sum[i][2 * j], fa[i], fb);
                    mma_bf16(sum[i][2 * j + 1], fa[i], fb + 2);
                }
            }
        }
        at ^= 1;
    }
#undef LOAD
    // Lane l has rows l / 4 and l / 4 + 8, columns 2 (l % 4) and one more of each 16 x 8 tile.
    const int64_t column = j0 + wn + lane % 4 * 2;
    float         bias[WN / 8][2] = {};
    if (p.bias != NULL && cut.partial == NULL)
#pragma unroll
        for (int j = 0; j < WN / 8; j++) {
            if (column + 8 * j < p.n) bias[j][0] = p.bias[column + 8 * j];
            if (column + 8 * j + 1 < p.n) bias[j][1] = p.bias[column + 8 * j + 1];
        }
    const bool pairs = p.n % 2 == 0 && !(p.y_half && cut.partial != NULL);
    float     *out = cut.partial == NULL ? p.y : cut.partial + piece * cut.total;
#pragma unroll
    for (int i = 0; i < WM / 16; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int64_t row = i0 + wm + 16 * i + 8 * half + lane / 4;
            if (row >= p.m) continue;
            const int64_t to = (item * p.m + row) * p.n + column;
#pragma unroll
            for (int j = 0; j < WN / 8; j++) {
                float x = sum[i][j][2 * half], y = sum[i][j][2 * half + 1];
                if (column + 8 * j >= p.n) continue;
                if (cut.partial == NULL) {
                    x += bias[j][0], y += bias[j][1];
                    if (p.gelu) x = gelu_of(x), y = gelu_of(y);
                }
                if (pairs) {
                    if (p.residual != NULL && cut.partial == NULL) {
                        x += residual_at(p, to + 8 * j);
                        y += residual_at(p, to + 8 * j + 1);
                    }
                    if (p.y_half)
                        ((__nv_bfloat162 *)out)[(to + 8 * j) / 2] = __floats2bfloat162_rn(x, y);
                    else *(float2 *)(out + to + 8 * j) = make_float2(x, y);
                } else {
                    const bool add = p.residual != NULL && cut.partial == NULL;
                    out[to + 8 * j] = add ? x + residual_at(p, to + 8 * j) : x;
                    if (column + 8 * j + 1 < p.n)
                        out[to + 8 * j + 1] = add ? y + residual_at(p, to + 8 * j + 1) : y;
                }
            }
        }
}

template <typename T, typename U, int SIDE, bool TA, bool TB, bool FAST>
__global__ void __launch_bounds__(tile_of<SIDE>::THREADS, tile_of<SIDE>::PER_SM)
    product_kernel(const __grid_constant__ product p, const __grid_constant__ cut_arg cut)
{
    behind();
    product_tile<T, U, SIDE, TA, TB, FAST>(p, cut, blockIdx.x);
}

// Several small ones of floats at once, none of which reads what another writes.
enum { MOST_PRODUCTS = 24 };

struct products_arg {
    product  of[MOST_PRODUCTS];
    uint32_t tiles[MOST_PRODUCTS];
};

template <bool TA, bool TB, bool FAST>
__global__ void __launch_bounds__(tile_of<64>::THREADS, tile_of<64>::PER_SM)
    products_kernel(const __grid_constant__ products_arg a)
{
    behind();
    const product &p = a.of[blockIdx.y];
    const cut_arg  none = { 1, p.k, NULL, 0 };
    if (blockIdx.x < a.tiles[blockIdx.y])
        product_tile<float, float, 64, TA, TB, FAST>(p, none, blockIdx.x);
}

__global__ void join_cuts_kernel(const __grid_constant__ product p,
                                 const __grid_constant__ cut_arg cut)
{
    behind();
    FOR_EACH(i, cut.total)
    {
        float x = cut.partial[i];
#pragma unroll 4
        for (int k = 1; k < (int)cut.n; k++) x += cut.partial[k * cut.total + i];
        p.y[i] = finished(p, x, i % (uint32_t)p.n, i);
    }
}

// Fours are aligned and none lies across an end; inner: how long pieces of the inner length are.
static bool in_fours(const void *x, int64_t bytes, int64_t ld, const int64_t *step, int n,
                     bool turned, int64_t n_side)
{
    bool ok = ((uintptr_t)x & (uintptr_t)(4 * bytes - 1)) == 0 && ld % 4 == 0;
    for (int i = 0; i < n; i++) ok = ok && step[i] % 4 == 0;
    return ok && (!turned || (n_side % 4 == 0 && n_side >= 4));
}

template <int SIDE, bool FAST>
static void launch(const product &p, const cut_arg &cut, unsigned blocks)
{
#define PRODUCT(T, U, TA, TB) \
    enqueue(product_kernel<T, U, SIDE, TA, TB, FAST>, blocks, tile_of<SIDE>::THREADS, 0, p, cut)
#define BY_FORM(T, U)                                \
    do {                                             \
        if (p.ta && p.tb) PRODUCT(T, U, true, true); \
        else if (p.ta) PRODUCT(T, U, true, false);   \
        else if (p.tb) PRODUCT(T, U, false, true);   \
        else PRODUCT(T, U, false, false);            \
    } while (0)
    if (p.a_half && p.b_half) BY_FORM(__nv_bfloat16, __nv_bfloat16);
    else if (p.a_half) BY_FORM(__nv_bfloat16, float);
    else if (p.b_half) BY_FORM(float, __nv_bfloat16);
    else BY_FORM(float, float);
#undef BY_FORM
#undef PRODUCT
}

static int64_t tiles_of(const product &p, int side)
{
    return (p.m + side - 1) / side * ((p.n + side - 1) / side);
}

// Long inner lengths of few tiles, as in the gradients of weights, are cut.
cut_arg ll_cuda_cut_of(const ll_call *c, const product &p, int64_t tiles, int64_t depth)
{
    cut_arg       cut = { 1, p.k, NULL, batch_count(p) * p.m * p.n };
    const int64_t most = CUTS_BYTES / (int64_t)sizeof(float) / cut.total, useful = p.k / 512;
    int64_t       cuts = WANTED * 2 / tiles;
    cuts = cuts < most ? cuts : most;
    cuts = cuts < useful ? cuts : useful;
    if (cuts > 1 && !p.y_half) {
        cut.each = ((p.k + cuts - 1) / cuts + depth - 1) / depth * depth;
        cut.n = (p.k + cut.each - 1) / cut.each;
        cut.partial = (float *)c->work;
    }
    return cut;
}

void ll_cuda_join_cuts(const product &p, const cut_arg &cut)
{
    enqueue(join_cuts_kernel, blocks_for(cut.total), BLOCK, 0, p, cut);
}

void ll_cuda_product_bf16(const ll_call *c, const product &p)
{
    if (ll_cuda_product_wgmma(c, p) || ll_cuda_product_short(c, p)) return;
    if (p.norm) {
        ll_cuda_note_text(LLAP_EUNSUPPORTED, "linear: operands in front of a norm lie askew");
        return;
    }
    const int64_t items = batch_count(p);
    const bool    fours = in_fours(p.a, p.a_half ? 2 : 4, p.lda, p.a_step, p.n_batch, p.ta, p.m) &&
                       in_fours(p.b, p.b_half ? 2 : 4, p.ldb, p.b_step, p.n_batch, !p.tb, p.n);
    const bool    large = fours && p.k % 32 == 0 && tiles_of(p, 128) * items >= WANTED;
    const bool    fast = large || (fours && p.k % 64 == 0);
    const int     side = large ? 128 : 64;
    const int64_t tiles = tiles_of(p, side) * items;
    const cut_arg cut = ll_cuda_cut_of(c, p, tiles, large ? 32 : 64);

    const unsigned blocks = (unsigned)(tiles * cut.n);
    if (large) launch<128, true>(p, cut, blocks);
    else if (fast) launch<64, true>(p, cut, blocks);
    else launch<64, false>(p, cut, blocks);
    if (cut.partial != NULL) ll_cuda_join_cuts(p, cut);
    launched(c);
}

// -------- several --------

static product product_of(const ll_call *c)
{
    return c->op == LL_OP_LINEAR ? ll_cuda_linear_of(c) : ll_cuda_matmul_of(c);
}

// Whether the planner knows the operands to lie in fours: all but their addresses.
static bool is_fast(const product &p)
{
    return p.k % 64 == 0 && in_fours(NULL, 4, p.lda, p.a_step, p.n_batch, p.ta, p.m) &&
           in_fours(NULL, 4, p.ldb, p.b_step, p.n_batch, !p.tb, p.n);
}

// 0: not small, or not of floats; else by form.
int ll_cuda_small_product(const ll_call *c)
{
    if ((c->op != LL_OP_LINEAR && c->op != LL_OP_MATMUL) ||
        (c->op == LL_OP_LINEAR && c->attr->linear.norm) || c->in[0].elem == LL_HALF ||
        c->in[1].elem == LL_HALF || c->out[0].elem == LL_HALF)
        return 0;
    const product p = product_of(c);
    const int64_t tiles = tiles_of(p, 64) * batch_count(p);
    if (p.k == 0 || p.k > 1024 || tiles == 0 || tiles > 64) return 0;
    return 1 + p.ta + 2 * p.tb + 4 * is_fast(p);
}

template <bool TA, bool TB>
static void launch_several(const products_arg &a, dim3 blocks, bool fast)
{
    if (fast) enqueue(products_kernel<TA, TB, true>, blocks, tile_of<64>::THREADS, 0, a);
    else enqueue(products_kernel<TA, TB, false>, blocks, tile_of<64>::THREADS, 0, a);
}

int ll_cuda_products(const ll_call *c, int n)
{
    products_arg a;
    bool         fast = true;
    unsigned     most = 0;
    n = n < MOST_PRODUCTS ? n : MOST_PRODUCTS;
    for (int i = 0; i < n; i++) {
        const product &p = a.of[i] = product_of(&c[i]);
        a.tiles[i] = (uint32_t)(tiles_of(p, 64) * batch_count(p));
        if (a.tiles[i] > most) most = a.tiles[i];
        fast = fast && is_fast(p) && (((uintptr_t)p.a | (uintptr_t)p.b) & 15) == 0;
    }
    const product &p = a.of[0];
    const dim3     blocks(most, (unsigned)n);
    if (p.ta && p.tb) launch_several<true, true>(a, blocks, fast);
    else if (p.ta) launch_several<true, false>(a, blocks, fast);
    else if (p.tb) launch_several<false, true>(a, blocks, fast);
    else launch_several<false, false>(a, blocks, fast);
    launched(c);
    return n;
}
