// Layers one behind the other on Hopper: a warpgroup takes 64 rows through all of them; what passes
// from layer to layer stays in its registers, which have the layout of the next product's operand.
//
// Weights come as tiles by the bulk copy engine, some ahead; one warpgroup asks for them. Where
// there are few rows, blocks of a cluster share the columns of wide layers and exchange their parts
// of the residues, which are added in order.
#include "backend/cuda/object/layers_rows.cuh"

template <int GROUPS> struct block_of {
    enum {
        THREADS = 128 * (GROUPS + 1),
        EXCHANGE = GROUPS == 1 ? MAX_SPLIT * PARTS : 0,
        BYTES = 1024 + STAGES * STAGE + GROUPS * A_BYTES + EXCHANGE + 128
    };
};

#if LL_WGMMA
// x += a W, a in shared memory
__device__ static inline void multiply_a(queue &q, uint32_t a, float (&x)[128])
{
    const uint64_t rows = tile_at<128>(a);
    uint32_t       tile[4];
#pragma unroll
    for (int c = 0; c < 4; c++) {
        tile[c] = q.next();
        const uint64_t columns = tile_at<128>(tile[c]);
        wgmma_begin();
#pragma unroll
        for (int k = 0; k < 16; k++)
            wgmma<64>::ss<0, 0>(x + 32 * c, rows + (k / 4 * 8192 + k % 4 * 32) / 16,
                                columns + (k / 4 * BOX + k % 4 * 32) / 16, 1);
        wgmma_commit();
    }
    wgmma_finish(x);
#pragma unroll
    for (int c = 0; c < 4; c++) q.done(tile[c]);
}
// The same with an inner length of at most 32.
__device__ static inline void multiply_short(queue &q, uint32_t a, float (&x)[128])
{
    const uint32_t tile = q.next();
    wgmma_begin();
#pragma unroll
    for (int c = 0; c < 4; c++)
#pragma unroll
        for (int k = 0; k < 2; k++)
            wgmma<64>::ss<0, 0>(x + 32 * c, tile_at<128>(a + k * 32),
                                tile_at<128>(tile + c * BOX + k * 32), 1);
    wgmma_commit();
    wgmma_finish(x);
    q.done(tile);
}

// sum [64,COLUMNS] = bias + u W, begun
__device__ static inline void begin_columns(uint32_t tile, const float *bias,
                                            const uint32_t (&u)[16][4], float (&sum)[32])
{
#pragma unroll
    for (int n = 0; n < 8; n++) {
        const float2 b =
            bias == NULL ? make_float2(0.0f, 0.0f) : __ldg((const float2 *)(bias + 8 * n));
        sum[4 * n] = sum[4 * n + 2] = b.x, sum[4 * n + 1] = sum[4 * n + 3] = b.y;
    }
    const uint64_t columns = tile_at<128>(tile);
    wgmma_begin();
#pragma unroll
    for (int k = 0; k < 16; k++)
        wgmma<64>::rs<0>(sum, u[k], columns + (k / 4 * BOX + k % 4 * 32) / 16, 1);
    wgmma_commit();
}

// For each piece of this block's columns of n: begin(sum, column, tile) begins its product;
// end(sum, column, tile) is called when it is computed and the next one on its way. Behind the last
// it is computed once more, which nobody reads: so there is one way through.
template <typename B, typename E>
__device__ static inline void by_columns(queue &q, int n, int split, int rank, B begin, E end)
{
    float     one[32], two[32];
    const int step = split * COLUMNS;
    int       c = rank * COLUMNS;
    if (c >= n) return;
    uint32_t first = q.next(), second;
    bool     more;
    begin(one, c, first);
    for (;; c += 2 * step) {
        more = c + step < n;
        second = more ? q.next() : first;
        begin(two, more ? c + step : c, second);
        wgmma_finish_but<1>(one);
        end(one, c, first);
        if (!more) {
            wgmma_wait_all();
            break;
        }
        q.done(first);
        more = c + 2 * step < n;
        first = more ? q.next() : second;
        begin(one, more ? c + 2 * step : c, first);
        wgmma_finish_but<1>(two);
        end(two, c + step, second);
        if (!more) {
            wgmma_wait_all();
            break;
        }
        q.done(second);
    }
    q.done(second); // the last one, whichever it was: first is the same
}

// Results of bf16 go by way of shared memory (room for two pieces) and the copy engine.
__device__ static inline void send_piece(const CUtensorMap *map, uint32_t room, int64_t row,
                                         int column, int turn, const float (&sum)[32])
{
    const int lane = threadIdx.x % 32, at = threadIdx.x / 32 % 4 * 16 + lane / 8 % 2 * 8 + lane % 8;
    const uint32_t to = room + (turn & 1) * BOX;
    const bool     speaks = threadIdx.x % 128 == 0;
    if (speaks) wait_read<1>();
    group_sync();
#pragma unroll
    for (int k = 0; k < 4; k++)
        asm volatile(
            "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};\n" ::"r"(
                to + piece_at<128>(at, 2 * k + lane / 16)),
            "r"(pack(sum[8 * k], sum[8 * k + 1])), "r"(pack(sum[8 * k + 2], sum[8 * k + 3])),
            "r"(pack(sum[8 * k + 4], sum[8 * k + 5])), "r"(pack(sum[8 * k + 6], sum[8 * k + 7]))
            : "memory");
    show_shared();
    group_sync();
    if (speaks) send_box(map, column, (int)row, to);
}

template <bool HALF>
__device__ static inline void
store_layer(const layers_arg &p, const layers_store &s, const CUtensorMap *map, queue &q,
            const lane_rows &r, int64_t own, uint32_t room, int rank, const uint32_t (&u)[16][4])
{
    int turn = 0;
    by_columns(
        q, s.n, p.split, rank,
        [&](float(&sum)[32], int c, uint32_t tile) {
            begin_columns(tile, s.bias == NULL ? NULL : s.bias + c + r.column, u, sum);
        },
        [&](float(&sum)[32], int c, uint32_t) {
            if (HALF) send_piece(map, room, own, c, turn++, sum);
            else
                put_tile<64>((float *)s.y, false, r.first * s.n + c + r.column, r.m - r.first, s.n,
                             s.n - c - r.column, [&](int i) { return sum[i]; });
        });
    if (HALF && threadIdx.x % 128 == 0) wait_read<0>();
}

// theta += x W
__device__ static inline void small_layer(queue &q, const float (&x)[128],
                                          float (&theta)[LAYER_THETA / 2])
{
    const uint32_t tile = q.next();
#pragma unroll
    for (int t = 0; t < 4; t++) {
        uint32_t f[4][4];
#pragma unroll
        for (int k = 0; k < 16; k++)
            f[k / 4][k % 4] = pack(x[32 * t + 2 * k], x[32 * t + 2 * k + 1]);
        wgmma_begin();
#pragma unroll
        for (int k = 0; k < 4; k++)
            wgmma<32>::rs<0>(theta, f[k], tile_at<128>(tile + t * DOWN + k * 32), 1);
        wgmma_commit();
        wgmma_finish(theta);
    }
    q.done(tile);
}

// theta += gelu(u W) W
__device__ static inline void inner_layer(const layers_arg &p, queue &q, int column, int rank,
                                          const uint32_t (&u)[16][4],
                                          float (&theta)[LAYER_THETA / 2])
{
    by_columns(
        q, p.up, p.split, rank,
        [&](float(&sum)[32], int c, uint32_t tile) {
            begin_columns(tile, p.up_bias == NULL ? NULL : p.up_bias + c + column, u, sum);
        },
        [&](float(&sum)[32], int, uint32_t tile) {
            uint32_t f[4][4];
#pragma unroll
            for (int i = 0; i < 16; i++)
                f[i / 4][i % 4] = pack(fitted_gelu(sum[2 * i]), fitted_gelu(sum[2 * i + 1]));
            wgmma_begin();
#pragma unroll
            for (int k = 0; k < 4; k++)
                wgmma<32>::rs<0>(theta, f[k], tile_at<128>(tile + TILE + k * 32), 1);
            wgmma_commit();
            wgmma_finish(theta);
        });
}

// The sum of all blocks' parts, in order: each thread hands its numbers to the same thread of every
// block of the cluster. bar: of this block, for 128 threads of each.
__device__ static inline void exchange(uint32_t room, uint32_t bar, int split, int rank,
                                       float (&theta)[LAYER_THETA / 2])
{
    const uint32_t mine = threadIdx.x * 64; // bytes
    for (int to = 0; to < split; to++) {
        uint32_t there, there_bar;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;\n"
                     : "=r"(there)
                     : "r"(room + rank * PARTS + mine), "r"(to));
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;\n"
                     : "=r"(there_bar)
                     : "r"(bar), "r"(to));
#pragma unroll
        for (int i = 0; i < 16; i += 4)
            asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};\n" ::"r"(there + 4 * i),
                         "f"(theta[i]), "f"(theta[i + 1]), "f"(theta[i + 2]), "f"(theta[i + 3])
                         : "memory");
        asm volatile(
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];\n" ::"r"(there_bar)
            : "memory");
    }
    bar_wait_cluster(bar, 0);
#pragma unroll
    for (int i = 0; i < 16; i++) theta[i] = 0.0f;
    for (int from = 0; from < split; from++)
#pragma unroll
        for (int i = 0; i < 16; i++) {
            float x;
            asm volatile("ld.shared.f32 %0, [%1];\n"
                         : "=f"(x)
                         : "r"(room + from * PARTS + mine + 4 * i)
                         : "memory");
            theta[i] += x;
        }
}

__device__ static inline void begin_theta(const layers_arg &p, const lane_rows &r, int rank,
                                          float (&theta)[LAYER_THETA / 2])
{
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const int column = r.column + i / 4 * 8 + i % 2;
        theta[i] = 0.0f;
        if (rank > 0 || column >= p.z) continue;
        if (p.small_bias != NULL) theta[i] += p.small_bias[column];
        if (p.down_bias != NULL) theta[i] += p.down_bias[column];
        if (p.theta_before != NULL) theta[i] += p.theta_before[r.at(i / 2 % 2) * p.z + column];
    }
}

__device__ static inline void store_theta(const layers_arg &p, const lane_rows &r,
                                          const float (&theta)[LAYER_THETA / 2])
{
#pragma unroll
    for (int i = 0; i < 16; i += 2) {
        const int     column = r.column + i / 4 * 8;
        const int64_t row = r.first + i / 2 % 2 * 8;
        if (column < p.z && row < r.m)
            *(float2 *)(p.theta + row * p.z + column) = make_float2(theta[i], theta[i + 1]);
    }
}

template <bool STORE, bool HALF>
__device__ static void compute(const layers_arg &p, queue &q, int64_t tile_first, uint32_t a,
                               uint32_t a_bar, uint32_t room, uint32_t room_bar, int rank)
{
    const int       warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int64_t   own = tile_first + warp / 4 * 64; // of the warpgroup
    const lane_rows r = { own + warp % 4 * 16 + lane / 4, p.m, lane % 4 * 2 };
    float           x[128];
    uint32_t        u[16][4];
    a += warp / 4 * A_BYTES;
    begin_x(p.first, r, x);
    if (p.a_half) bar_wait(a_bar, 0);
    else stage_a(p, own, a);
    if (p.k <= LAYER_THETA) multiply_short(q, a, x);
    else multiply_a(q, a, x);
    if (p.first.x != NULL && rank == 0) store_x(p.first.x, r, x);
    if (STORE) {
        norm_x(p.first, r, x, u);
        let_next();
        store_layer<HALF>(p, p.store, &p.map[MAP_Y], q, r, own, a, rank, u);
        return;
    }
    float theta[LAYER_THETA / 2];
    begin_theta(p, r, rank, theta);
    if (rank == 0) small_layer(q, x, theta);
    if (p.up > 0) {
        norm_x(p.first, r, x, u);
        inner_layer(p, q, r.column, rank, u, theta);
    }
    if (p.split > 1) {
        exchange(room, room_bar, p.split, rank, theta);
        asm volatile("barrier.cluster.arrive.release;\n" ::: "memory"); // waited for at the end
    }
    if (p.theta != NULL && rank == 0) store_theta(p, r, theta);
    let_next();
    if (p.next.n == 0) return;
    begin_x(p.entry, r, x);
    uint32_t f[2][4];
#pragma unroll
    for (int i = 0; i < 8; i++) f[i / 4][i % 4] = pack(theta[2 * i], theta[2 * i + 1]);
    const uint32_t tile = q.next();
    wgmma_begin();
#pragma unroll
    for (int c = 0; c < 4; c++)
#pragma unroll
        for (int k = 0; k < 2; k++)
            wgmma<64>::rs<0>(x + 32 * c, f[k], tile_at<128>(tile + c * BOX + k * 32), 1);
    wgmma_commit();
    wgmma_finish(x);
    q.done(tile);
    if (p.entry.x != NULL && rank == 0) store_x(p.entry.x, r, x);
    norm_x(p.entry, r, x, u);
    store_layer<HALF>(p, p.next, &p.map[MAP_NEXT_Y], q, r, own, a, rank, u);
}
#endif

// STORE: a store, else residues; HALF: what is stored is bf16.
template <int GROUPS, bool STORE, bool HALF>
__global__ void __launch_bounds__(block_of<GROUPS>::THREADS, 1)
    layers_kernel(const __grid_constant__ layers_arg p)
{
    wait_behind();
#if LL_WGMMA
    extern __shared__ char dynamic[];
    const uint32_t         tiles = (shared_at(dynamic) + 1023) & ~1023u, a = tiles + STAGES * STAGE,
                   room = a + GROUPS * A_BYTES, bars = room + block_of<GROUPS>::EXCHANGE;
    const uint32_t full = bars, empty = bars + 8 * STAGES, a_bar = empty + 8 * STAGES,
                   room_bar = a_bar + 8;
    const int64_t tile_first = (int64_t)(blockIdx.x / p.split) * (64 * GROUPS);
    const int     rank = (int)(blockIdx.x % p.split);
    const bool    cluster = p.split > 1 && p.z > 0;
    if (threadIdx.x == 0) {
#pragma unroll
        for (int i = 0; i < STAGES; i++) {
            bar_init(full + 8 * i, 1);
            bar_init(empty + 8 * i, 4 * GROUPS);
        }
        bar_init(a_bar, 1);
        bar_init(room_bar, 128 * p.split);
        asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
    }
    __syncthreads();
    if (cluster) { // nobody is handed anything before its barriers are there
        asm volatile("barrier.cluster.arrive.release.aligned;\n" ::: "memory");
        asm volatile("barrier.cluster.wait.acquire.aligned;\n" ::: "memory");
    }
    queue     q = { tiles, full, empty, 0, 0 };
    const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / 128, 0); // the same in a warp
    if (group == GROUPS) {
        if (GROUPS > 1) asm volatile("setmaxnreg.dec.sync.aligned.u32 24;\n");
        if (threadIdx.x == 128 * GROUPS) {
            if (p.a_half) {
                bar_expect(a_bar, GROUPS * A_BYTES);
                for (int g = 0; g < GROUPS; g++)
                    for (int t = 0; t < 4; t++)
                        bring_box(a + g * A_BYTES + t * 8192, &p.map[MAP_A], 64 * t,
                                  (int)tile_first + 64 * g, a_bar);
            }
            send_all(p, q, rank);
        }
    } else {
        if (GROUPS > 1) asm volatile("setmaxnreg.inc.sync.aligned.u32 240;\n");
        compute<STORE, HALF>(p, q, tile_first, a, a_bar, room, room_bar, rank);
        // No block ends before all have read: room_bar has seen to that, but racecheck knows only
        // this barrier. Those who brought the tiles are gone: leaving counts as arriving.
        if (!STORE && cluster) asm volatile("barrier.cluster.wait.acquire;\n" ::: "memory");
    }
#endif
}

template <int GROUPS, bool STORE, bool HALF> static void launch(const layers_arg &p)
{
    static const cudaError_t allowed =
        cudaFuncSetAttribute(layers_kernel<GROUPS, STORE, HALF>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, block_of<GROUPS>::BYTES);
    ll_cuda_note(allowed, "layers");
    const int64_t tiles = (p.m + 64 * GROUPS - 1) / (64 * GROUPS);
    enqueue_clusters(layers_kernel<GROUPS, STORE, HALF>, p.z > 0 ? p.split : 1,
                     (unsigned)(tiles * p.split), block_of<GROUPS>::THREADS,
                     block_of<GROUPS>::BYTES, p);
}

template <int GROUPS> static void by_kind(const layers_arg &p)
{
    const bool half = p.z > 0 ? p.next.n == 0 || p.next.half : p.store.half;
    if (p.z > 0 && half) launch<GROUPS, false, true>(p);
    else if (p.z > 0) launch<GROUPS, false, false>(p);
    else if (half) launch<GROUPS, true, true>(p);
    else launch<GROUPS, true, false>(p);
}

void ll_cuda_layers_launch(const ll_call *c, const layers_arg &given)
{
    enum { SMS = 132 };
    layers_arg    p = given;
    const int64_t tiles = (p.m + 63) / 64;
    p.split = tiles * 4 <= SMS ? 4 : tiles * 2 <= SMS ? 2 : 1;
    if (p.z == 0 && p.split > p.store.n / COLUMNS) p.split = p.store.n / COLUMNS;
    if (tiles > SMS) {
        p.split = 1;
        by_kind<2>(p);
    } else {
        by_kind<1>(p);
    }
    launched(c);
}
