// Layers of floats on Hopper's tensor cores, every product of floats as six of bf16 (split.cuh).
//
// A block splits the weights of some columns once and keeps them in shared memory, over the whole
// inner length. Its warpgroups then take 64 rows after 64 rows: these come straight into registers,
// a step before they are split, which is a step before they are multiplied. The second warpgroup
// begins when the first is half through its rows, so that one multiplies while the other stores.
#include "backend/cuda/object/product_finish.cuh"
#include "backend/cuda/object/split.cuh"

enum {
    DEPTH = 64,
    STEP = 32,
    GROUPS = 2,
    THREADS = 128 * GROUPS,
    BLOCK_ROWS = 64 * GROUPS,
    SMS = 132
};

// Columns of a block and the inner length that fits beside them: as many weights for each.
template <int WIDE> struct slab {
    enum {
        PART = WIDE * DEPTH * 2,
        CHUNK = PARTS * PART,
        MOST = 256 * 128 / WIDE, // of the inner length
        BYTES = 1024 + MOST / DEPTH * CHUNK,
        LONG = MOST > 256
    };
};

#if LL_WGMMA
// Weights [n,k] from column j0 on as tiles of WIDE columns by DEPTH; zeros outside.
template <int WIDE>
__device__ static inline void take_weights(const product &p, int64_t j0, int n_chunks,
                                           uint32_t base)
{
    const int across = n_chunks * (DEPTH / 16);
#pragma unroll 2
    for (int i = threadIdx.x; i < WIDE * across; i += THREADS) {
        const int     column = i / across, at = i % across;
        const int64_t j = j0 + column, left = j < p.n ? p.k - 16 * at : 0;
        sixteen       x;
        x.load(p.b + j * p.ldb + 16 * at, (int)left);
        x.store<128>(base + at / 4 * slab<WIDE>::CHUNK, slab<WIDE>::PART, column, at % 4);
    }
    show_shared();
    __syncthreads();
}

// This lane's part of STEP numbers of rows l / 4 and l / 4 + 8.
struct fours {
    float4 x[STEP / 16][2];

    // Parts are there when this returns, not when they are used.
    __device__ void split(uint32_t (&part)[STEP / 16][PARTS][4]) const
    {
#pragma unroll
        for (int i = 0; i < STEP / 16; i++) {
            split_fours(x[i], part[i]);
#pragma unroll
            for (int k = 0; k < PARTS * 4; k++) asm volatile("" : "+r"(part[i][k / 4][k % 4]));
        }
    }
};

// Who reads rows, step by step and tile by tile; zeros behind the inner length. Rows outside repeat
// the last one, which nobody stores.
struct reader {
    const float *x, *y; // rows row, row + 8
    int64_t      row;
    int          k;

    __device__ void begin(const product &p, int64_t at)
    {
        const int64_t last = p.m - 1;
        row = at;
        x = p.a + (row < last ? row : last) * p.lda;
        y = p.a + (row + 8 < last ? row + 8 : last) * p.lda;
        k = 0;
    }
    __device__ void next(const product &p, int n_steps, int64_t each, fours &to)
    {
        const float4 none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
        for (int i = 0; i < STEP / 16; i++) {
            const int  at = k * STEP + i * 16 + threadIdx.x % 4 * 4;
            const bool there = at < p.k;
            to.x[i][0] = there ? *(const float4 *)(x + at) : none;
            to.x[i][1] = there ? *(const float4 *)(y + at) : none;
        }
        if (++k == n_steps) begin(p, row + each);
    }
};
#endif

template <int WIDE>
__global__ void __launch_bounds__(THREADS, 1)
    product_split_kernel(const __grid_constant__ product p, uint32_t slabs)
{
#if LL_WGMMA
    typedef slab<WIDE>     tile;
    extern __shared__ char dynamic[];
    const uint32_t         base = (shared_at(dynamic) + 1023) & ~1023u;
    const int              n_chunks = (int)((p.k + DEPTH - 1) / DEPTH), lane = threadIdx.x % 32;
    const int64_t          j0 = (int64_t)(blockIdx.x % slabs) * WIDE, column = j0 + lane % 4 * 2;
    // Loops run over blocks' tiles, the same for all threads, as wgmma's descriptors want it.
    const int     blocks = gridDim.x / slabs, n_tiles = (int)((p.m + BLOCK_ROWS - 1) / BLOCK_ROWS);
    const int     first = blockIdx.x / slabs;
    const int64_t each = (int64_t)blocks * BLOCK_ROWS;
    int64_t       row = (int64_t)first * BLOCK_ROWS + threadIdx.x / 32 * 16 + lane / 4;
    reader        rows;
    fours         ahead;
    uint32_t      a[2][STEP / 16][PARTS][4]; // one is multiplied, the other made ready
    rows.begin(p, row);
    rows.next(p, 2 * n_chunks, each, ahead);
    take_weights<WIDE>(p, j0, n_chunks, base);
    ahead.split(a[0]);
    rows.next(p, 2 * n_chunks, each, ahead);
    wait_for_first();
    for (int t = first; t < n_tiles; t += blocks, row += each) {
        float sum[WIDE / 2], rest[WIDE / 2], total[tile::LONG ? WIDE / 2 : 1] = {};
        for (int c = 0; c < n_chunks; c++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const uint32_t b = base + c * tile::CHUNK + half * (STEP * 2);
                wgmma_begin();
#pragma unroll
                for (int k = 0; k < STEP / 16; k++)
                    wgmma_parts<WIDE, 0, 128>(sum, rest, a[half][k], b + 32 * k, tile::PART,
                                              c % 4 > 0 || half > 0 || k > 0);
                wgmma_commit();
                ahead.split(a[1 - half]);
                rows.next(p, 2 * n_chunks, each, ahead);
                wgmma_finish(sum);
                wgmma_finish(rest);
            }
            if (t == first && c == (n_chunks - 1) / 2) let_second();
            if (tile::LONG && c % 4 == 3) // what tensor cores cut grows with every step
#pragma unroll
                for (int i = 0; i < (tile::LONG ? WIDE / 2 : 0); i++) total[i] += sum[i] + rest[i];
        }
        const bool in_total = tile::LONG && n_chunks % 4 == 0;
#pragma unroll
        for (int i = 0; i < WIDE / 2; i++) {
            sum[i] = in_total ? 0.0f : sum[i] + rest[i];
            if (tile::LONG) sum[i] += total[tile::LONG ? i : 0];
        }
        finish_tile<WIDE>(p, 0, row, column, gelu_of, sum);
        put_tile<WIDE>(p.y, false, row * p.n + column, p.m - row, p.n, p.n - column,
                       [&](int i) { return sum[i]; });
    }
#endif
}

template <int WIDE> static void launch(const product &p)
{
    static const cudaError_t room = cudaFuncSetAttribute(
        product_split_kernel<WIDE>, cudaFuncAttributeMaxDynamicSharedMemorySize, slab<WIDE>::BYTES);
    const int64_t slabs = (p.n + WIDE - 1) / WIDE, tiles = (p.m + BLOCK_ROWS - 1) / BLOCK_ROWS;
    int64_t       blocks = SMS / slabs > 1 ? SMS / slabs : 1; // of a slab
    if (blocks > tiles) blocks = tiles;
    const int64_t bytes = 1024 + (p.k + DEPTH - 1) / DEPTH * slab<WIDE>::CHUNK;
    ll_cuda_note(room, "product");
    product_split_kernel<WIDE>
        <<<(unsigned)(slabs * blocks), THREADS, (size_t)bytes, LL_QUEUE>>>(p, (uint32_t)slabs);
}

bool ll_cuda_product_split(const ll_call *c, const product &p)
{
    const bool aligned = ((uintptr_t)p.a & 15) == 0 && ((uintptr_t)p.b & 15) == 0 &&
                         ((uintptr_t)p.y & 7) == 0 && ((uintptr_t)p.residual & 7) == 0 &&
                         p.lda % 4 == 0 && p.ldb % 4 == 0 && p.k % 4 == 0 && p.n % 2 == 0;
    if (!ll_cuda_wgmma_there() || p.n_batch > 0 || p.ta || !p.tb || !aligned || p.norm ||
        p.m < BLOCK_ROWS || p.n < 16)
        return false;
    if (p.k <= slab<128>::MOST && p.n > 64) launch<128>(p);
    else if (p.k <= slab<64>::MOST && p.n > 32) launch<64>(p);
    else if (p.k <= slab<32>::MOST && p.n <= 32) launch<32>(p);
    else return false;
    launched(c);
    return true;
}
