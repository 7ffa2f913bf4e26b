// A step of the sampler: both predictions of a guided step become one, then the estimate and the
// next x.
#include "backend/cuda/object/common.cuh"

enum { MOVE_BLOCK = 1024, HELD = 4 /* numbers that a thread may hold */ };

struct move_arg {
    const float *x, *before, *table, *given, *free; // free NULL: given is the prediction
    float       *next, *x0;                         // may be x and before
    int64_t      n;                                 // numbers of a sample
    int64_t      count;
    float        clip; // 0: none
};

struct move_numbers {
    float of[LL_MOVE_GUIDANCE + 1];
};

__device__ static inline move_numbers numbers_of(const float *table)
{
    move_numbers t;
#pragma unroll
    for (int k = 0; k <= LL_MOVE_GUIDANCE; k++) t.of[k] = table[k];
    return t;
}

__device__ static inline void move_one(const move_arg &p, const move_numbers &t, int64_t i,
                                       float pred)
{
    const float x = p.x[i];
    float       x0 = t.of[LL_MOVE_X0_OF_X] * x + t.of[LL_MOVE_X0_OF_PRED] * pred;
    if (p.clip > 0.0f) x0 = fminf(fmaxf(x0, -p.clip), p.clip);
    const float eps =
        t.of[LL_MOVE_EPS_OF_X] * x + t.of[LL_MOVE_EPS_OF_PRED] * (p.clip > 0.0f ? x0 : pred);
    const float next = t.of[LL_MOVE_NEXT_OF_X] * x + t.of[LL_MOVE_NEXT_OF_X0] * x0 +
                       t.of[LL_MOVE_NEXT_OF_BEFORE] * p.before[i] + t.of[LL_MOVE_NEXT_OF_EPS] * eps;
    p.next[i] = next;
    p.x0[i] = x0;
}

__device__ static inline float guided(const move_arg &p, float g, int64_t i)
{
    const float u = p.free[i];
    return u + g * (p.given[i] - u);
}

__global__ void move_kernel(const __grid_constant__ move_arg p)
{
    behind();
    const move_numbers t = numbers_of(p.table);
    FOR_EACH(i, p.count)
    {
        move_one(p, t, i, p.free == NULL ? p.given[i] : guided(p, t.of[LL_MOVE_GUIDANCE], i));
    }
}

// Two sums of a block at once, the same in every thread.
__device__ static inline double2 block_sums(double a, double b, double2 *shared)
{
    a = warp_sum(a), b = warp_sum(b);
    __syncthreads();
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = make_double2(a, b);
    __syncthreads();
    a = b = 0.0;
    for (int i = 0; i < MOVE_BLOCK / 32; i++) a += shared[i].x, b += shared[i].y;
    return make_double2(a, b);
}

// A block takes a sample: its guided prediction gets mean and deviation of the given one. Threads
// hold their numbers where these are few enough, else they read them again.
template <bool FEW>
__global__ void __launch_bounds__(MOVE_BLOCK)
    move_rescaled_kernel(const __grid_constant__ move_arg p)
{
    behind();
    __shared__ double2 shared[MOVE_BLOCK / 32];
    const int64_t      first = blockIdx.x * p.n + threadIdx.x, end = (blockIdx.x + 1) * p.n;
    const move_numbers t = numbers_of(p.table);
    const float        g = t.of[LL_MOVE_GUIDANCE];
    float              held[HELD] = {}, held_given[HELD] = {};
    double             a = 0.0, b = 0.0;
    // each(k, i): for the k-th of the thread's numbers, number i of all
    const auto for_all = [&](auto each) {
        if (FEW) {
#pragma unroll
            for (int k = 0; k < HELD; k++)
                if (first + k * MOVE_BLOCK < end) each(k, first + k * MOVE_BLOCK);
        } else {
            for (int64_t i = first; i < end; i += MOVE_BLOCK) each(0, i);
        }
    };
    const auto pred_at = [&](int k, int64_t i) { return FEW ? held[k] : guided(p, g, i); };
    const auto given_at = [&](int k, int64_t i) { return FEW ? held_given[k] : p.given[i]; };
    if (FEW)
        for_all([&](int k, int64_t i) {
            held[k] = guided(p, g, i);
            held_given[k] = p.given[i];
        });
    for_all([&](int k, int64_t i) {
        a += (double)pred_at(k, i);
        b += (double)given_at(k, i);
    });
    const double2 sum = block_sums(a, b, shared);
    const double  mean = sum.x / (double)p.n, mean_given = sum.y / (double)p.n;
    a = b = 0.0;
    for_all([&](int k, int64_t i) {
        const double u = (double)pred_at(k, i) - mean, v = (double)given_at(k, i) - mean_given;
        a += u * u;
        b += v * v;
    });
    const double2 square = block_sums(a, b, shared);
    const double  of = p.n > 1 ? 1.0 / (double)(p.n - 1) : 0.0;
    const float   scale =
        fmaxf((float)sqrt(square.y * of), 1e-6f) / fmaxf((float)sqrt(square.x * of), 1e-6f);
    for_all([&](int k, int64_t i) {
        move_one(p, t, i, (pred_at(k, i) - (float)mean) * scale + (float)mean_given);
    });
}

extern "C" void ll_cuda_move(const ll_call *c)
{
    const ll_shape &s = c->out[0].shape;
    move_arg        p = {};
    p.count = count_of(c->out[0]);
    p.n = s.dim[s.rank - 2] * s.dim[s.rank - 1];
    p.x = real_of(c->in[0]);
    p.before = real_of(c->in[1]);
    p.table = real_of(c->in[2]);
    p.given = real_of(c->in[3]);
    p.free = c->in[4].present ? real_of(c->in[4]) : NULL;
    p.next = result_of(c, 0);
    p.x0 = result_of(c, 1);
    p.clip = (float)c->attr->move.clip;
    ll_cuda_enter();
    if (p.count == 0) return;
    if (p.free != NULL && c->attr->move.rescale)
        enqueue(p.n <= HELD * MOVE_BLOCK ? move_rescaled_kernel<true> : move_rescaled_kernel<false>,
                (unsigned)(p.count / p.n), MOVE_BLOCK, 0, p);
    else enqueue(move_kernel, blocks_for(p.count), BLOCK, 0, p);
    launched(c);
}
