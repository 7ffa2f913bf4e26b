// Sums and maxima over chosen axes.
//
// The reduced elements of a result are counted in row order and cut into n_cuts pieces of equal
// length; a group of 1, 32 or 256 threads takes a piece and leaves a partial result in the scratch
// memory; a second launch joins the pieces in order. Sums are in double. The cut depends on shapes
// alone, so that results are the same from run to run.
#include "backend/cuda/object/columns.cuh"
#include "backend/cuda/object/several.cuh"

struct reduce_arg {
    int     n_kept, n_gone;
    int64_t kept[LL_MAX_RANK], kept_stride[LL_MAX_RANK];
    int64_t gone[LL_MAX_RANK], gone_stride[LL_MAX_RANK];
    int64_t n_out, length, n_cuts; // length: elements per result
};

__device__ static inline int64_t walk(const int64_t *dim, const int64_t *stride, int n, uint32_t i)
{
    int64_t at = 0;
    for (int k = n - 1; k > 0; k--) {
        const uint32_t d = (uint32_t)dim[k], next = i / d;
        at += (int64_t)(i - next * d) * stride[k];
        i = next;
    }
    return n == 0 ? 0 : at + (int64_t)i * stride[0];
}

template <bool MAX> __device__ static inline double join(double a, double b)
{
    return MAX ? (a >= b ? a : b) : a + b;
}

template <bool MAX, int GROUP> __device__ static inline double join_group(double x)
{
    __shared__ double shared[32];
    if constexpr (GROUP > 1)
        for (int k = 16; k > 0; k >>= 1) x = join<MAX>(x, __shfl_xor_sync(0xffffffffu, x, k));
    if constexpr (GROUP > 32) {
        __syncthreads();
        if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
        __syncthreads();
        x = shared[0];
        for (int i = 1; i < GROUP / 32; i++) x = join<MAX>(x, shared[i]);
    }
    return x;
}

// Item (result, cut) of all: its piece of x. partial: [n_out, n_cuts]
template <bool MAX, int GROUP, typename T>
__device__ static inline void add_pieces(const reduce_arg &p, const float *x, T *partial)
{
    const int64_t each = ((uint32_t)p.length + (uint32_t)p.n_cuts - 1) / (uint32_t)p.n_cuts;
    const int64_t n = p.n_out * p.n_cuts;
    const int     lane = threadIdx.x % GROUP;
    for (int64_t g = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / GROUP; g < n;
         g += (int64_t)gridDim.x * blockDim.x / GROUP) {
        const int64_t cut = (uint32_t)g / (uint32_t)p.n_out, out = g - cut * p.n_out;
        const float  *from = x + walk(p.kept, p.kept_stride, p.n_kept, (uint32_t)out);
        const int64_t first = cut * each, end = first + each < p.length ? first + each : p.length;
        double        y = MAX ? -INFINITY : 0.0;
        for (int64_t i = first + lane; i < end; i += GROUP)
            y = join<MAX>(y, (double)from[walk(p.gone, p.gone_stride, p.n_gone, (uint32_t)i)]);
        y = join_group<MAX, GROUP>(y);
        if (lane == 0) partial[out * p.n_cuts + cut] = (T)y;
    }
}

template <bool MAX, int GROUP, typename T>
__global__ void piece_kernel(const __grid_constant__ reduce_arg p, const float *x, T *partial)
{
    behind();
    add_pieces<MAX, GROUP>(p, x, partial);
}

// Several sums at once, by blocks whose threads share a result.
enum { MOST_SUMS = 32 };

struct sums_arg {
    reduce_arg   of[MOST_SUMS];
    const float *x[MOST_SUMS];
    float       *y[MOST_SUMS];
};

template <int GROUP> __global__ void sums_kernel(const __grid_constant__ sums_arg p)
{
    behind();
    const int i = blockIdx.y;
    add_pieces<false, GROUP>(p.of[i], p.x[i], p.y[i]);
}

template <bool MAX>
__global__ void join_kernel(const double *partial, int64_t n_out, int64_t n_cuts, float *out)
{
    behind();
    FOR_EACH(i, n_out)
    {
        double y = partial[i * n_cuts];
        for (int64_t k = 1; k < n_cuts; k++) y = join<MAX>(y, partial[i * n_cuts + k]);
        out[i] = (float)y;
    }
}

static reduce_arg describe(const ll_call *c, int *group)
{
    const ll_view &x = c->in[0];
    reduce_arg     p = {};
    int            last = -1; // kind of the last axis taken: 1 reduced, 0 kept
    p.n_out = p.length = p.n_cuts = 1;
    for (int axis = 0; axis < x.shape.rank; axis++) {
        const bool    gone = (c->attr->reduce.axes >> axis & 1u) != 0;
        const int64_t d = x.shape.dim[axis], s = x.stride[axis];
        int          &n = gone ? p.n_gone : p.n_kept;
        int64_t      *dim = gone ? p.gone : p.kept, *stride = gone ? p.gone_stride : p.kept_stride;
        (gone ? p.length : p.n_out) *= d;
        if (d == 1) continue;
        if (last == (int)gone && n > 0 && stride[n - 1] == d * s) {
            dim[n - 1] *= d;
            stride[n - 1] = s;
        } else {
            dim[n] = d;
            stride[n++] = s;
        }
        last = gone;
    }
    const bool inner = p.n_gone > 0 && p.gone_stride[p.n_gone - 1] == 1;
    *group = !inner || p.length < 16 ? 1 : p.length < 1024 ? 32 : 256;
    // Enough pieces to fill the device, each of some length.
    const int64_t wanted = 64 * 1024 / (p.n_out * *group > 0 ? p.n_out * *group : 1);
    const int64_t most = p.length / (*group == 1 ? 32 : 16 * *group);
    p.n_cuts = wanted < most ? wanted : most;
    if (p.n_cuts > 256) p.n_cuts = 256;
    if (p.n_cuts < 1) p.n_cuts = 1;
    return p;
}

size_t ll_cuda_reduce_bytes(const ll_call *c)
{
    int              group;
    const reduce_arg p = describe(c, &group);
    const size_t     own = p.n_cuts > 1 ? (size_t)(p.n_out * p.n_cuts) * sizeof(double) : 0;
    const size_t     columns = c->op == LL_OP_SUM ? ll_cuda_columns_bytes(c) : 0;
    return own > columns ? own : columns;
}

template <bool MAX, int GROUP> static void pieces(const ll_call *c, const reduce_arg &p)
{
    const unsigned blocks = blocks_for(p.n_out * p.n_cuts, BLOCK / GROUP);
    const float   *x = real_of(c->in[0]);
    if (p.n_cuts == 1) {
        enqueue(piece_kernel<MAX, GROUP, float>, blocks, BLOCK, 0, p, x, result_of(c, 0));
        return;
    }
    double *partial = (double *)c->work;
    enqueue(piece_kernel<MAX, GROUP, double>, blocks, BLOCK, 0, p, x, partial);
    enqueue(join_kernel<MAX>, blocks_for(p.n_out), BLOCK, 0, partial, p.n_out, p.n_cuts,
            result_of(c, 0));
}

template <bool MAX> static void reduce(const ll_call *c)
{
    int              group;
    const reduce_arg p = describe(c, &group);
    ll_cuda_enter();
    if (p.n_out == 0) return;
    if (group == 1) pieces<MAX, 1>(c, p);
    else if (group == 32) pieces<MAX, 32>(c, p);
    else pieces<MAX, 256>(c, p);
    launched(c);
}

// Few enough numbers for each result that nothing need be cut. The same threads for a result as
// alone.
int ll_cuda_small_sum(const ll_call *c)
{
    int              group;
    const reduce_arg p = describe(c, &group);
    const int64_t    n = count_of(c->in[0]);
    return c->op == LL_OP_SUM && n > 0 && n <= 1 << 17 && p.length <= 64 * group ? group : 0;
}

int ll_cuda_sums(const ll_call *c, int n)
{
    sums_arg p;
    int64_t  most = 0;
    int      group = 0;
    n = n < MOST_SUMS ? n : MOST_SUMS;
    for (int i = 0; i < n; i++) {
        p.of[i] = describe(&c[i], &group);
        p.of[i].n_cuts = 1;
        p.x[i] = real_of(c[i].in[0]);
        p.y[i] = result_of(&c[i], 0);
        if (p.of[i].n_out > most) most = p.of[i].n_out;
    }
    const dim3 blocks(blocks_for(most, BLOCK / group), (unsigned)n);
    if (group == 1) enqueue(sums_kernel<1>, blocks, BLOCK, 0, p);
    else if (group == 32) enqueue(sums_kernel<32>, blocks, BLOCK, 0, p);
    else enqueue(sums_kernel<256>, blocks, BLOCK, 0, p);
    launched(c);
    return n;
}

extern "C" void ll_cuda_sum(const ll_call *c)
{
    ll_cuda_enter();
    if (ll_cuda_columns(c)) return;
    if (c->in[0].elem == LL_HALF)
        ll_cuda_note_text(LLAP_EUNSUPPORTED, "sum: an operand of bf16 lies askew");
    else reduce<false>(c);
}
extern "C" void ll_cuda_max(const ll_call *c) { reduce<true>(c); }
