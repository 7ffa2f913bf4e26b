// Sums of columns: x [outer, n, inner] -> [outer, inner], where neighbours of a row lie side by
// side. Floats or bf16.
//
// A block takes a piece of the rows and up to 64 fours of columns; its threads share the rows, and
// what they have is added in order. Pieces are joined by a second launch. Sums are in double; the
// cut depends on shapes alone.
#include "backend/cuda/object/columns.cuh"

#include "backend/cuda/object/mma.cuh"

enum { WANTED = 132 * 4, LEAST = 64 /* rows of a piece */ };

struct columns_arg {
    int64_t  outer, n, inner, step; // step: from outer to outer
    uint32_t across, rows, tiles;   // fours that a block takes, threads per four; tiles of columns
    int64_t  cuts, each;
    bool     half;
};

__device__ static inline float4 four_at(const void *x, int64_t at, bool half)
{
    if (!half) return *(const float4 *)((const float *)x + at);
    const uint2  both = *(const uint2 *)((const __nv_bfloat16 *)x + at);
    const float2 a = __bfloat1622float2(*(const __nv_bfloat162 *)&both.x),
                 b = __bfloat1622float2(*(const __nv_bfloat162 *)&both.y);
    return make_float4(a.x, a.y, b.x, b.y);
}

// partial [outer, cuts, inner]; or the result where there is one piece.
__global__ void columns_kernel(const __grid_constant__ columns_arg p, const void *x,
                               double *partial, float *out)
{
    behind();
    __shared__ double shared[BLOCK][4];
    const uint32_t    tile = blockIdx.x % p.tiles, rest = blockIdx.x / p.tiles;
    const uint32_t    cut = rest % (uint32_t)p.cuts, o = rest / (uint32_t)p.cuts;
    const uint32_t    lane = threadIdx.x % p.across, row = threadIdx.x / p.across;
    const int64_t     column = ((int64_t)tile * p.across + lane) * 4;
    const int64_t     first = cut * p.each, end = first + p.each < p.n ? first + p.each : p.n;
    double            sum[4] = {};
    if (row < p.rows && column < p.inner)
#pragma unroll 8
        for (int64_t r = first + row; r < end; r += p.rows) {
            const float4 v = four_at(x, o * p.step + r * p.inner + column, p.half);
            sum[0] += (double)v.x, sum[1] += (double)v.y;
            sum[2] += (double)v.z, sum[3] += (double)v.w;
        }
    for (int k = 0; k < 4; k++) shared[threadIdx.x][k] = sum[k];
    __syncthreads();
    if (row > 0 || column >= p.inner) return;
    for (uint32_t r = 1; r < p.rows; r++)
        for (int k = 0; k < 4; k++) sum[k] += shared[r * p.across + lane][k];
    for (int k = 0; k < 4; k++) {
        if (p.cuts > 1) partial[(o * p.cuts + cut) * p.inner + column + k] = sum[k];
        else out[o * p.inner + column + k] = (float)sum[k];
    }
}

// 32 columns and 8 shares of the pieces a block.
__global__ void join_columns_kernel(const double *partial, int64_t outer, int64_t inner,
                                    int64_t cuts, float *out)
{
    behind();
    __shared__ double shared[8][32];
    const uint32_t    tiles = ((uint32_t)inner + 31) / 32;
    const int64_t     o = blockIdx.x / tiles, column = blockIdx.x % tiles * 32 + threadIdx.x % 32;
    const int         share = threadIdx.x / 32;
    double            sum = 0.0;
    if (column < inner)
        for (int64_t k = share; k < cuts; k += 8) sum += partial[(o * cuts + k) * inner + column];
    shared[share][threadIdx.x % 32] = sum;
    __syncthreads();
    if (share > 0 || column >= inner) return;
    for (int k = 1; k < 8; k++) sum += shared[k][threadIdx.x];
    out[o * inner + column] = (float)sum;
}

void ll_cuda_join_columns(const double *partial, int64_t outer, int64_t inner, int64_t cuts,
                          float *out)
{
    const int64_t blocks = outer * ((inner + 31) / 32);
    enqueue(join_columns_kernel, (unsigned)blocks, 256, 0, partial, outer, inner, cuts, out);
}

// Axes before the reduced stretch, the stretch, and axes behind it, all dense. False: x lies or is
// summed otherwise, or there is too little of it.
static bool describe(const ll_call *c, columns_arg *p)
{
    const ll_view &x = c->in[0];
    const unsigned axes = c->attr->reduce.axes;
    int            i = x.shape.rank - 1;
    *p = {};
    p->outer = p->n = p->inner = 1;
    if (!ll_view_dense(&x)) return false;
    for (; i >= 0 && (axes >> i & 1u) == 0; i--) p->inner *= x.shape.dim[i];
    for (; i >= 0 && ((axes >> i & 1u) != 0 || x.shape.dim[i] == 1); i--) p->n *= x.shape.dim[i];
    for (; i >= 0; i--) {
        if ((axes >> i & 1u) != 0) return false;
        p->outer *= x.shape.dim[i];
    }
    if (p->inner % 4 != 0 || p->inner == 0 || p->n < 2 || p->outer == 0) return false;
    if (p->outer * p->n * p->inner >= UINT32_MAX) return false;
    p->step = p->n * p->inner;
    p->half = x.elem == LL_HALF;
    const int64_t fours = p->inner / 4;
    p->across = (uint32_t)(fours < 64 ? fours : 64);
    p->rows = BLOCK / p->across;
    p->tiles = (uint32_t)((fours + p->across - 1) / p->across);
    const int64_t blocks = p->outer * p->tiles, most = p->n / LEAST;
    int64_t       cuts = (WANTED + blocks - 1) / blocks;
    cuts = cuts < most ? cuts : most;
    p->cuts = cuts < 1 ? 1 : cuts;
    p->each = (p->n + p->cuts - 1) / p->cuts;
    p->cuts = (p->n + p->each - 1) / p->each;
    return true;
}

bool ll_cuda_columns_fit(const ll_call *c)
{
    columns_arg p;
    return describe(c, &p);
}

size_t ll_cuda_columns_bytes(const ll_call *c)
{
    columns_arg p;
    if (!describe(c, &p) || p.cuts == 1) return 0;
    return (size_t)(p.outer * p.cuts * p.inner) * sizeof(double);
}

bool ll_cuda_columns(const ll_call *c)
{
    columns_arg p;
    if (!describe(c, &p) || ((uintptr_t)c->in[0].data & (p.half ? 7 : 15)) != 0) return false;
    const int64_t blocks = p.outer * p.cuts * p.tiles;
    enqueue(columns_kernel, (unsigned)blocks, BLOCK, 0, p, c->in[0].data, (double *)c->work,
            result_of(c, 0));
    if (p.cuts > 1)
        ll_cuda_join_columns((const double *)c->work, p.outer, p.inner, p.cuts, result_of(c, 0));
    launched(c);
    return true;
}
