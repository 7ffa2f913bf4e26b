// Training's last part in few launches: the norm of all gradients, and AdamW with the average of
// the weights for a run of parameters.
#include "backend/cuda/object/several.cuh"

#include "backend/adamw.h"

enum {
    PIECE = 8 * BLOCK, // numbers of one tensor that a block takes
    MOST = 320         // tensors of one launch
};

// Pieces of several tensors, one after the other: those of tensor i end before end[i].
struct pieces {
    int      n;
    uint32_t end[MOST];
};

static bool add_piece(pieces *p, int64_t count)
{
    const int64_t before = p->n == 0 ? 0 : p->end[p->n - 1],
                  end = before + (count + PIECE - 1) / PIECE;
    if (p->n == MOST || end > INT32_MAX) return false;
    p->end[p->n++] = (uint32_t)end;
    return true;
}

// The tensor that piece `at` belongs to, and its first number there.
__device__ static inline int find_piece(const pieces &p, uint32_t at, int64_t *first)
{
    int low = 0, high = p.n - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (p.end[middle] > at) high = middle;
        else low = middle + 1;
    }
    *first = (int64_t)(at - (low == 0 ? 0 : p.end[low - 1])) * PIECE;
    return low;
}

// -------- the norm of all gradients --------

struct squares_arg {
    pieces       of;
    const float *x[MOST];
    int64_t      count[MOST];
};

__global__ void squares_kernel(const __grid_constant__ squares_arg p, double *partial)
{
    behind();
    __shared__ double shared[32];
    int64_t           first;
    const int         which = find_piece(p.of, blockIdx.x, &first);
    const float      *x = p.x[which] + first;
    const int64_t     n = p.count[which] - first < PIECE ? p.count[which] - first : PIECE;
    double            sum = 0.0;
#pragma unroll
    for (int k = 0; k < PIECE / BLOCK; k++) {
        const int   i = k * BLOCK + threadIdx.x;
        const float v = i < n ? x[i] : 0.0f;
        sum += (double)v * (double)v;
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void join_squares_kernel(const double *partial, int64_t n, float *out)
{
    behind();
    __shared__ double shared[32];
    double            sum = 0.0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) sum += partial[i];
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) *out = (float)sum;
}

static int64_t pieces_of(const ll_call *c)
{
    int64_t n = 0;
    for (int k = 0; k < c->n_in; k++) n += (count_of(c->in[k]) + PIECE - 1) / PIECE;
    return n;
}

size_t ll_cuda_squares_bytes(const ll_call *c) { return (size_t)pieces_of(c) * sizeof(double); }

extern "C" void ll_cuda_squares(const ll_call *c)
{
    double *partial = (double *)c->work;
    int64_t done = 0;
    ll_cuda_enter();
    for (int k = 0; k < c->n_in;) {
        squares_arg p;
        p.of.n = 0;
        for (; k < c->n_in; k++) {
            const int at = p.of.n;
            if (!add_piece(&p.of, count_of(c->in[k]))) break;
            p.x[at] = real_of(c->in[k]);
            p.count[at] = count_of(c->in[k]);
        }
        const unsigned blocks = p.of.end[p.of.n - 1];
        if (blocks > 0) enqueue(squares_kernel, blocks, BLOCK, 0, p, partial + done);
        done += blocks;
    }
    enqueue(join_squares_kernel, 1, 1024, 0, partial, done, result_of(c, 0));
    launched(c);
}

// -------- AdamW --------

struct adamw_arg {
    pieces         of;
    const float   *scale, *lr;
    const int32_t *step;
    double         beta1, beta2, eps, decay;
    float          keep, move; // average += keep (p - average) + move
    ll_adamw_item  item[MOST];
};

__global__ void adamw_kernel(const __grid_constant__ adamw_arg a)
{
    behind();
    __shared__ float each, inverse;
    if (threadIdx.x == 0) {
        const double step = (double)a.step[0];
        each = (float)((double)a.lr[0] / (1.0 - pow(a.beta1, step)));
        inverse = (float)(1.0 / sqrt(1.0 - pow(a.beta2, step)));
    }
    int64_t              first;
    const ll_adamw_item &o = a.item[find_piece(a.of, blockIdx.x, &first)];
    const float          b1 = (float)a.beta1, b2 = (float)a.beta2, c1 = (float)(1.0 - a.beta1),
                c2 = (float)(1.0 - a.beta2), scale = a.scale[0], eps = (float)a.eps;
    const float shrink = (float)((double)a.lr[0] * a.decay);
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < PIECE / BLOCK; k++) {
        const int64_t i = first + k * BLOCK + threadIdx.x;
        if (i >= o.count) break;
        float p = o.p[i];
        if (isfinite(scale)) { // else a step that is left out
            const float g = scale * o.grad[i];
            const float m = fmaf(b1, o.m[i], c1 * g), v = fmaf(b2, o.v[i], c2 * g * g);
            p = p - shrink * p - each * m / (sqrtf(v) * inverse + eps);
            o.p[i] = p;
            o.m[i] = m;
            o.v[i] = v;
        }
        if (o.average != NULL) {
            const float average = o.average[i];
            o.average[i] = average + fmaf(a.keep, p - average, a.move);
        }
    }
}

static void begin_adamw(const ll_call *c, adamw_arg *a)
{
    a->of.n = 0;
    a->scale = real_of(c->in[4]);
    a->lr = real_of(c->in[5]);
    a->step = (const int32_t *)c->in[6].data;
    a->beta1 = c->attr->adamw.beta1;
    a->beta2 = c->attr->adamw.beta2;
    a->eps = c->attr->adamw.eps;
    a->decay = c->attr->adamw.weight_decay;
}

// A run of AdamW's, each with its average behind it where there is one. All are in place, so that
// none reads what another writes.
int ll_cuda_adamws(const ll_call *c, int n)
{
    adamw_arg     a;
    ll_adamw_run  run = {};
    ll_adamw_item item;
    int           done = 0;
    begin_adamw(c, &a);
    for (int took; (took = ll_adamw_next(&run, &c[done], n - done, &item)) > 0; done += took) {
        const int place = a.of.n;
        if (!add_piece(&a.of, item.count)) break;
        a.item[place] = item;
    }
    a.keep = run.keep;
    a.move = run.move;
    if (done == 0) return 0;
    ll_cuda_enter();
    if (a.of.end[a.of.n - 1] > 0) enqueue(adamw_kernel, a.of.end[a.of.n - 1], BLOCK, 0, a);
    launched(c);
    return done;
}

// One that is not in place: first copied.
extern "C" void ll_cuda_adamw(const ll_call *c)
{
    ll_view moved[7];
    ll_call once = *c;
    ll_cuda_enter();
    for (int k = 0; k < 7; k++) moved[k] = c->in[k];
    for (int k = 0; k < 3; k++) {
        const size_t n_bytes = (size_t)count_of(c->in[k]) * sizeof(float);
        if (n_bytes > 0 && c->in[k].data != c->out[k].data)
            ll_cuda_note_copy(cudaMemcpyAsync(c->out[k].data, c->in[k].data, n_bytes,
                                              cudaMemcpyDeviceToDevice, LL_QUEUE),
                              "adamw");
        moved[k] = c->out[k];
    }
    once.in = moved;
    (void)ll_cuda_adamws(&once, 1);
}
