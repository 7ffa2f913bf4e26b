// What the kernels share. Launchers queue work on the calling thread's own stream; what fails is
// remembered and reported by the next function of ll_memory.
#ifndef LL_BACKEND_CUDA_OBJECT_COMMON_CUH
#define LL_BACKEND_CUDA_OBJECT_COMMON_CUH

#include "backend/cuda/object/kernels.h"

#include <cuda_runtime.h>
#include <stdint.h>

// The calling thread's queue: its own stream, or the one beside it.
cudaStream_t ll_cuda_queue();
#define LL_QUEUE ll_cuda_queue()

// Remembers the first failure of this thread.
void ll_cuda_note(cudaError_t e, const char *what);
void ll_cuda_note_text(llap_status st, const char *text);
// Makes the process's device the thread's current one.
void ll_cuda_enter();

// ll_memory.order, order.cu.
void ll_cuda_order(uint32_t *out, int64_t n, int64_t width, const struct ll_rng *r, int32_t *work);

static inline void launched(const ll_call *c)
{
    ll_cuda_note(cudaGetLastError(), ll_op_name(c->op));
}

// -------- kernels one behind the other --------
//
// On Hopper the blocks of a kernel that enqueue queues may come while those of the one before are
// still at work. So it begins with behind(): it waits until what was queued before is done and
// seen, and lets the next one come. Large ones wait first and let the next one come near their end,
// so that it does not take the place of what runs beside them.

__device__ static inline void wait_behind()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;\n" ::: "memory");
#endif
}
__device__ static inline void let_next()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");
#endif
}
__device__ static inline void behind()
{
    wait_behind();
    let_next();
}

// Whether the next kernel of the queue may come so: not behind something else, such as a copy.
bool ll_cuda_comes_behind();
void ll_cuda_break(); // something else was queued

static inline void ll_cuda_note_copy(cudaError_t e, const char *what)
{
    ll_cuda_break();
    ll_cuda_note(e, what);
}

template <typename... P, typename... A>
static inline void enqueue_clusters(void (*kernel)(P...), int cluster, dim3 blocks,
                                    unsigned threads, size_t shared, A &&...args)
{
    cudaLaunchAttribute with[2] = {};
    cudaLaunchConfig_t  how = {};
    how.gridDim = blocks;
    how.blockDim = dim3(threads);
    how.dynamicSmemBytes = shared;
    how.stream = LL_QUEUE;
    how.attrs = with;
    if (ll_cuda_comes_behind()) {
        with[how.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        with[how.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
    }
    if (cluster > 1) {
        with[how.numAttrs].id = cudaLaunchAttributeClusterDimension;
        with[how.numAttrs].val.clusterDim.x = (unsigned)cluster;
        with[how.numAttrs].val.clusterDim.y = with[how.numAttrs].val.clusterDim.z = 1;
        how.numAttrs++;
    }
    ll_cuda_note(cudaLaunchKernelEx(&how, kernel, static_cast<A &&>(args)...), "kernel");
}

template <typename... P, typename... A>
static inline void enqueue(void (*kernel)(P...), dim3 blocks, unsigned threads, size_t shared,
                           A &&...args)
{
    enqueue_clusters(kernel, 1, blocks, threads, shared, static_cast<A &&>(args)...);
}

// Queues a copy of x to `to` of the same shape, whatever their strides and numbers; map.cu.
void ll_cuda_copy(const ll_call *c, const ll_view &x, const ll_view &to);

static inline int64_t      count_of(const ll_view &v) { return ll_shape_count(&v.shape); }
static inline int64_t      width_of(const ll_view &v) { return v.shape.dim[v.shape.rank - 1]; }
static inline int64_t      elem_bytes(const ll_view &v) { return v.elem == LL_HALF ? 2 : 4; }
static inline const float *real_of(const ll_view &v) { return (const float *)v.data; }
static inline float       *result_of(const ll_call *c, int i) { return (float *)c->out[i].data; }

enum { BLOCK = 256, MAX_BLOCKS = 132 * 16 };

// Blocks for n items of which a block takes `each` at a time; kernels loop over the rest.
static inline unsigned blocks_for(int64_t n, int64_t each = BLOCK)
{
    const int64_t b = (n + each - 1) / each;
    if (n >= (int64_t)UINT32_MAX - MAX_BLOCKS * BLOCK)
        ll_cuda_note_text(LLAP_EUNSUPPORTED, "an array has more than 2^32 elements");
    return (unsigned)(b < 1 ? 1 : b > MAX_BLOCKS ? MAX_BLOCKS : b);
}

#define FOR_EACH(i, n)                                                                         \
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, n_##i = (uint32_t)(n); i < n_##i; \
         i += gridDim.x * blockDim.x)

// A view as kernels see it.
struct view_arg {
    int     rank;
    int64_t dim[LL_MAX_RANK], stride[LL_MAX_RANK];
};

static inline view_arg arg_of(const ll_view &v)
{
    view_arg a;
    a.rank = v.shape.rank;
    for (int i = 0; i < LL_MAX_RANK; i++) {
        a.dim[i] = i < a.rank ? v.shape.dim[i] : 1;
        a.stride[i] = i < a.rank ? v.stride[i] : 0;
    }
    return a;
}

// Offset of the i-th of the first n_axes axes, in row order. Numbers of rows and elements fit into
// 32 bits (blocks_for refuses others), because division of 64 takes a microsecond where few warps
// run.
__device__ static inline int64_t offset_at(const view_arg &v, uint32_t i, int n_axes)
{
    int64_t at = 0;
    for (int axis = n_axes - 1; axis >= 0; axis--) {
        const uint32_t d = (uint32_t)v.dim[axis];
        if (d == 1) continue;
        const uint32_t next = axis == 0 ? 0 : i / d;
        at += (int64_t)(i - next * d) * v.stride[axis];
        i = next;
    }
    return at;
}

// Sum of all lanes of a warp, or of a block (in shared memory of 32), the same in every thread; in
// a fixed order.
template <typename T> __device__ static inline T warp_sum(T x)
{
    for (int k = 16; k > 0; k >>= 1) x += __shfl_xor_sync(0xffffffffu, x, k);
    return x;
}
__device__ static inline float warp_max(float x)
{
    for (int k = 16; k > 0; k >>= 1) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, k));
    return x;
}
template <typename T> __device__ static inline T block_sum(T x, T *shared)
{
    const int n = (blockDim.x + 31) / 32;
    x = warp_sum(x);
    __syncthreads();
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
    __syncthreads();
    T sum = 0;
    for (int i = 0; i < n; i++) sum += shared[i];
    return sum;
}
__device__ static inline float block_max(float x, float *shared)
{
    const int n = (blockDim.x + 31) / 32;
    x = warp_max(x);
    __syncthreads();
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
    __syncthreads();
    float top = shared[0];
    for (int i = 1; i < n; i++) top = fmaxf(top, shared[i]);
    return top;
}

__device__ static inline float gelu_of(float x)
{
    return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
}

// GELU with an error function to 2e-7: results are rounded to bf16, or come from operands that
// were.
__device__ static inline float quick_gelu(float x)
{
    const float z = fabsf(x) * 0.70710678118654752f;
    const float t = __fdividef(1.0f, fmaf(0.3275911f, z, 1.0f));
    const float poly =
        t *
        fmaf(t, fmaf(t, fmaf(t, fmaf(t, 1.061405429f, -1.453152027f), 1.421413741f), -0.284496736f),
             0.254829592f);
    const float tail = 0.5f * poly * __expf(-z * z); // of the normal law, beyond |x|
    return x * (x < 0.0f ? tail : 1.0f - tail);
}

// Sine and cosine of a product of two floats without the rounding of the product.
__device__ static inline void turn_of(float t, float rate, float *s, float *c)
{
    double angle = (double)t * (double)rate;
    angle -= rint(angle * 0.15915494309189535) * 6.283185307179586;
    sincosf((float)angle, s, c);
}

#endif
