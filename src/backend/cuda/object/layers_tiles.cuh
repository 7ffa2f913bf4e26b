// Weights of a run of layers on their way: tiles in shared memory, brought by the bulk copy engine
// in the order of their use, and the barriers that say when they are there and when they are done
// with.
#ifndef LL_BACKEND_CUDA_OBJECT_LAYERS_TILES_CUH
#define LL_BACKEND_CUDA_OBJECT_LAYERS_TILES_CUH

#include "backend/cuda/object/layers.cuh"
#include "backend/cuda/object/wgmma.cuh"

enum {
    COLUMNS = LAYER_CHUNK,            // of a wide layer at a time
    TILE = COLUMNS * LAYER_WIDTH * 2, // and all of the inner length, in four boxes
    BOX = COLUMNS * 64 * 2,           // 64 of it
    DOWN = LAYER_THETA * 64 * 2,      // the same of a narrow layer
    STAGE = TILE + DOWN,
    STAGES = 4,
    A_BYTES = 64 * LAYER_WIDTH * 2,
    PARTS = 64 * LAYER_THETA * 4, // of residues
    MAX_SPLIT = 4,
};

#if LL_WGMMA
// -------- barriers in shared memory, and what they count --------

// What other blocks of the cluster wrote before they arrived is there too.
__device__ static inline void bar_wait_cluster(uint32_t at, uint32_t parity)
{
    asm volatile("{\n.reg .pred p;\nagain:\n"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n"
                 "@!p bra again;\n}\n" ::"r"(at),
                 "r"(parity)
                 : "memory");
}
// A box of a map into shared memory, counted by a barrier.
__device__ static inline void bring_box(uint32_t to, const CUtensorMap *map, int x, int y,
                                        uint32_t bar)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];\n" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(bar)
                 : "memory");
}
// And one out of it.
__device__ static inline void send_box(const CUtensorMap *map, int x, int y, uint32_t from)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];\n"
        "cp.async.bulk.commit_group;\n" ::"l"(map),
        "r"(x), "r"(y), "r"(from)
        : "memory");
}
template <int LEFT> __device__ static inline void wait_read() // boxes that are still being read
{
    asm volatile("cp.async.bulk.wait_group.read %0;\n" ::"n"(LEFT) : "memory");
}
__device__ static inline void group_sync()
{
    asm volatile("bar.sync %0, 128;\n" ::"r"(1 + (int)threadIdx.x / 128) : "memory");
}
// All but the last LEFT products that were begun are done, those of d among them.
template <int LEFT, int N> __device__ static inline void wgmma_finish_but(float (&d)[N])
{
    asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(LEFT) : "memory");
#pragma unroll
    for (int i = 0; i < N; i++) asm volatile("" : "+f"(d[i])::"memory");
}

__device__ static inline void wgmma_wait_all()
{
    asm volatile("wgmma.wait_group.sync.aligned 0;\n" ::: "memory");
}

// -------- the tiles that pass by --------

struct queue {
    uint32_t tiles, full, empty; // where they lie; a barrier for each stage
    int      stage;
    uint32_t phase;

    __device__ void step()
    {
        if (++stage == STAGES) stage = 0, phase ^= 1;
    }
    // Of who asks for tiles: where the next one goes, its bytes announced.
    __device__ uint32_t room(int bytes)
    {
        bar_wait(empty + 8 * stage, phase ^ 1);
        bar_expect(full + 8 * stage, bytes);
        return tiles + stage * STAGE;
    }
    __device__ uint32_t bar() const { return full + 8 * stage; }
    // Of who uses them: the next one; and that one of them is done with.
    __device__ uint32_t next()
    {
        const uint32_t at = tiles + stage * STAGE;
        bar_wait(full + 8 * stage, phase);
        step();
        return at;
    }
    __device__ void done(uint32_t tile) const
    {
        if (threadIdx.x % 32 == 0) bar_arrive(empty + 8 * ((tile - tiles) / STAGE));
    }
};

// Columns of a wide layer; with them, the rows of the layer behind it that meet them.
__device__ static inline void send_columns(queue &q, const CUtensorMap *map, int column,
                                           const CUtensorMap *down)
{
    const uint32_t to = q.room(down == NULL ? TILE : STAGE);
    for (int t = 0; t < 4; t++) bring_box(to + t * BOX, map, 64 * t, column, q.bar());
    if (down != NULL) bring_box(to + TILE, down, column, 0, q.bar());
    q.step();
}
// All columns of a layer of rows of at most 64.
__device__ static inline void send_short(queue &q, const CUtensorMap *map)
{
    const uint32_t to = q.room(TILE);
    for (int t = 0; t < 4; t++) bring_box(to + t * BOX, map, 0, t * COLUMNS, q.bar());
    q.step();
}
__device__ static inline void send_narrow(queue &q, const CUtensorMap *map)
{
    const uint32_t to = q.room(4 * DOWN);
    for (int t = 0; t < 4; t++) bring_box(to + t * DOWN, map, 64 * t, 0, q.bar());
    q.step();
}

// All tiles in the order of their use.
__device__ static void send_all(const layers_arg &p, queue &q, int rank)
{
    if (p.k <= 64) send_short(q, &p.map[MAP_FIRST]);
    for (int c = 0; c < LAYER_WIDTH && p.k > 64; c += COLUMNS)
        send_columns(q, &p.map[MAP_FIRST], c, NULL);
    for (int c = rank * COLUMNS; c < p.store.n; c += p.split * COLUMNS)
        send_columns(q, &p.map[MAP_STORE], c, NULL);
    if (p.z > 0 && rank == 0) send_narrow(q, &p.map[MAP_SMALL]);
    for (int c = rank * COLUMNS; c < p.up; c += p.split * COLUMNS)
        send_columns(q, &p.map[MAP_UP], c, &p.map[MAP_DOWN]);
    if (p.next.n == 0) return;
    send_short(q, &p.map[MAP_ENTRY]);
    for (int c = rank * COLUMNS; c < p.next.n; c += p.split * COLUMNS)
        send_columns(q, &p.map[MAP_NEXT], c, NULL);
}
#endif

#endif
