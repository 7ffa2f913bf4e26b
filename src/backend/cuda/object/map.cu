// Elementwise ops, chains of them, and what copies parts: concat, pad.
//
// One kernel interprets a chain of up to 12 instructions for each element; a single op is a chain
// of one. Values lie in shared memory, one column per thread. The result may overwrite an operand
// of the same place.
#include "backend/cuda/object/common.cuh"

#include <string.h>

struct map_step {
    int   op, x, y; // where operands lie
    float a, b;
};

struct map_arg {
    int          n_in, n_steps, rank;
    unsigned     flat; // bit k: operand k lies in row order; bit 31: the result
    int64_t      count;
    int64_t      dim[LLAP_MAX_RANK];
    int64_t      stride[LLAP_CHAIN_INPUTS + 1][LLAP_MAX_RANK]; // the result's last
    const float *in[LLAP_CHAIN_INPUTS];
    float       *out;
    map_step     step[LLAP_CHAIN_STEPS];
};

__device__ static __forceinline__ float apply(int op, float x, float y, float a, float b)
{
    switch (op) {
    case LLAP_OP_COPY:
        return x;
    case LLAP_OP_NEG:
        return -x;
    case LLAP_OP_EXP:
        return expf(x);
    case LLAP_OP_LOG:
        return logf(x);
    case LLAP_OP_SIN:
        return sinf(x);
    case LLAP_OP_COS:
        return cosf(x);
    case LLAP_OP_TANH:
        return tanhf(x);
    case LLAP_OP_SIGMOID:
        return 1.0f / (1.0f + expf(-x));
    case LLAP_OP_SILU:
        return x / (1.0f + expf(-x));
    case LLAP_OP_SOFTPLUS:
        return x > 20.0f ? x : log1pf(expf(x));
    case LLAP_OP_GELU:
        return gelu_of(x);
    case LLAP_OP_SQRT:
        return sqrtf(x);
    case LLAP_OP_SQUARE:
        return x * x;
    case LLAP_OP_ABS:
        return fabsf(x);
    case LLAP_OP_SIGN:
        return (float)((x > 0.0f) - (x < 0.0f));
    case LLAP_OP_CLAMP:
        return x < a ? a : x > b ? b : x;
    case LLAP_OP_AFFINE:
        return fmaf(a, x, b);
    case LLAP_OP_ADD:
        return x + y;
    case LLAP_OP_SUB:
        return x - y;
    case LLAP_OP_MUL:
        return x * y;
    case LLAP_OP_DIV:
        return x / y;
    case LLAP_OP_MAXIMUM:
        return x >= y ? x : y;
    case LLAP_OP_MINIMUM:
        return x <= y ? x : y;
    case LLAP_OP_AT_LEAST:
        return x >= y ? 1.0f : 0.0f;
    case LLAP_OP_MASK:
        return y != 0.0f ? x : 0.0f;
    case LLAP_OP_GELU_GRAD: {
        const float cdf = 0.5f * (1.0f + erff(x * 0.70710678118654752f));
        return y * fmaf(x * 0.39894228040143268f, expf(-0.5f * x * x), cdf);
    }
    case LLAP_OP_SILU_GRAD: {
        const float s = 1.0f / (1.0f + expf(-x));
        return y * s * (1.0f + x * (1.0f - s));
    }
    case LLAP_OP_CLAMP_GRAD:
        return x < a || x > b ? 0.0f : y;
    default:
        return __int_as_float(0x7fffffff);
    }
}

template <typename I> __device__ static inline int64_t place_of(const map_arg &p, int k, I i)
{
    int64_t at = 0;
    for (int axis = p.rank - 1; axis > 0; axis--) {
        const I d = (I)p.dim[axis], next = i / d;
        at += (int64_t)(i - next * d) * p.stride[k][axis];
        i = next;
    }
    return at + (int64_t)i * p.stride[k][0];
}

template <typename I> __global__ void map_kernel(const __grid_constant__ map_arg p)
{
    extern __shared__ float value[]; // [n_in + n_steps][BLOCK]
    float *const            v = value + threadIdx.x;
    for (I i = (I)blockIdx.x * BLOCK + threadIdx.x; i < (I)p.count; i += (I)gridDim.x * BLOCK) {
        for (int k = 0; k < p.n_in; k++)
            v[k * BLOCK] = p.in[k][p.flat >> k & 1 ? (int64_t)i : place_of<I>(p, k, i)];
        float y = 0.0f;
        for (int s = 0; s < p.n_steps; s++) {
            const map_step &at = p.step[s];
            y = apply(at.op, v[at.x * BLOCK], v[at.y * BLOCK], at.a, at.b);
            v[(p.n_in + s) * BLOCK] = y;
        }
        p.out[p.flat >> 31 ? (int64_t)i : place_of<I>(p, LLAP_CHAIN_INPUTS, i)] = y;
    }
}

// The same four neighbours at a time: rows of a multiple of four, each operand aligned or one
// number for a whole row. One jump serves four numbers.
enum { BLOCK4 = 128 };

#define EACH_OF_LIST(X) LLAP_UNARY_LIST(X) LLAP_BINARY_LIST(X)

__device__ static float4 apply4(int op, float4 x, float4 y, float a, float b)
{
    switch (op) {
#define X(ID, id)                                                                     \
    case LLAP_OP_##ID:                                                                \
        return make_float4(                                                           \
            apply(LLAP_OP_##ID, x.x, y.x, a, b), apply(LLAP_OP_##ID, x.y, y.y, a, b), \
            apply(LLAP_OP_##ID, x.z, y.z, a, b), apply(LLAP_OP_##ID, x.w, y.w, a, b));
        EACH_OF_LIST(X)
#undef X
    }
    return x;
}

__global__ void map4_kernel(const __grid_constant__ map_arg p, unsigned single)
{
    extern __shared__ float4 value4[]; // [n_in + n_steps][BLOCK4]
    float4 *const            v = value4 + threadIdx.x;
    FOR_EACH(n, p.count / 4)
    {
        const uint32_t i = 4 * n;
        for (int k = 0; k < p.n_in; k++) {
            const float *from =
                p.in[k] + (p.flat >> k & 1 ? (int64_t)i : place_of<uint32_t>(p, k, i));
            if (single >> k & 1) v[k * BLOCK4] = make_float4(*from, *from, *from, *from);
            else v[k * BLOCK4] = *(const float4 *)from;
        }
        float4 y = v[0];
        for (int s = 0; s < p.n_steps; s++) {
            const map_step &at = p.step[s];
            y = apply4(at.op, v[at.x * BLOCK4], v[at.y * BLOCK4], at.a, at.b);
            v[(p.n_in + s) * BLOCK4] = y;
        }
        *(float4 *)(p.out + i) = y;
    }
}

// Whether four at a time is possible; which operands are one number for a row.
static bool in_fours(const map_arg &p, unsigned *single)
{
    const int last = p.rank - 1;
    *single = 0;
    if (p.dim[last] % 4 != 0 || p.flat >> 31 == 0 || ((uintptr_t)p.out & 15) != 0) return false;
    for (int k = 0; k < p.n_in; k++) {
        if (p.stride[k][last] == 0) {
            *single |= 1u << k;
            continue;
        }
        if (p.stride[k][last] != 1 || ((uintptr_t)p.in[k] & 15) != 0) return false;
        for (int axis = 0; axis < last; axis++)
            if (p.stride[k][axis] % 4 != 0) return false;
    }
    return true;
}

// Joins axes that lie one after the other in every operand.
static void merge_axes(map_arg *p, const int64_t *dim, int rank)
{
    p->rank = 0;
    for (int axis = 0; axis < rank; axis++) {
        if (dim[axis] == 1) continue;
        bool joined = p->rank > 0;
        for (int k = 0; joined && k <= LLAP_CHAIN_INPUTS; k++)
            if (k < p->n_in || k == LLAP_CHAIN_INPUTS)
                joined = p->stride[k][p->rank - 1] == dim[axis] * p->stride[k][axis];
        if (!joined) p->rank++;
        for (int k = 0; k <= LLAP_CHAIN_INPUTS; k++) p->stride[k][p->rank - 1] = p->stride[k][axis];
        p->dim[p->rank - 1] = joined ? p->dim[p->rank - 1] * dim[axis] : dim[axis];
    }
    if (p->rank > 0) return;
    p->rank = 1;
    p->dim[0] = 1;
    for (int k = 0; k <= LLAP_CHAIN_INPUTS; k++) p->stride[k][0] = 1;
}

static bool in_row_order(const map_arg &p, int k)
{
    int64_t expected = 1;
    for (int axis = p.rank - 1; axis >= 0; axis--) {
        if (p.stride[k][axis] != expected) return false;
        expected *= p.dim[axis];
    }
    return true;
}

// in: n views of shape out.shape; steps are set.
static void launch(const llap_call *c, map_arg *p, const llap_view *in, const llap_view *out)
{
    p->count = count_of(*out);
    if (p->count == 0) return;
    for (int k = 0; k < p->n_in; k++) {
        p->in[k] = real_of(in[k]);
        memcpy(p->stride[k], in[k].stride, sizeof p->stride[k]);
    }
    p->out = (float *)out->data;
    memcpy(p->stride[LLAP_CHAIN_INPUTS], out->stride, sizeof out->stride);
    merge_axes(p, out->shape.dim, out->shape.rank);
    p->flat = in_row_order(*p, LLAP_CHAIN_INPUTS) ? 1u << 31 : 0;
    for (int k = 0; k < p->n_in; k++) p->flat |= in_row_order(*p, k) ? 1u << k : 0;
    const size_t shared = (size_t)(p->n_in + p->n_steps) * BLOCK * sizeof(float);
    unsigned     single;
    if (p->count < INT32_MAX && in_fours(*p, &single)) { // half the threads, four times the memory
        map4_kernel<<<blocks_for(p->count / 4, BLOCK4), BLOCK4, 2 * shared, LLAP_QUEUE>>>(*p,
                                                                                          single);
        launched(c);
        return;
    }
    if (p->count < INT32_MAX)
        map_kernel<uint32_t><<<blocks_for(p->count), BLOCK, shared, LLAP_QUEUE>>>(*p);
    else map_kernel<uint64_t><<<blocks_for(p->count), BLOCK, shared, LLAP_QUEUE>>>(*p);
    launched(c);
}

extern "C" void llap_cuda_map(const llap_call *c)
{
    map_arg p;
    p.n_in = llap_op_is_unary(c->op) ? 1 : 2;
    p.n_steps = 1;
    p.step[0].op = c->op;
    p.step[0].x = 0;
    p.step[0].y = p.n_in - 1;
    p.step[0].a = c->attr == NULL ? 0.0f : (float)c->attr->scalar.a;
    p.step[0].b = c->attr == NULL ? 0.0f : (float)c->attr->scalar.b;
    llap_cuda_enter();
    launch(c, &p, c->in, &c->out[0]);
}

extern "C" void llap_cuda_chain(const llap_call *c)
{
    const llap_op_chain *chain = c->attr->chain;
    map_arg              p;
    p.n_in = chain->n_in;
    p.n_steps = chain->n_steps;
    for (int s = 0; s < chain->n_steps; s++) {
        const llap_chain_step *from = &chain->step[s];
        p.step[s].op = from->op;
        p.step[s].x = from->arg[0];
        p.step[s].y = llap_op_is_unary(from->op) ? from->arg[0] : from->arg[1];
        p.step[s].a = (float)from->a;
        p.step[s].b = (float)from->b;
    }
    llap_cuda_enter();
    launch(c, &p, c->in, &c->out[0]);
}

// -------- parts --------

// Copies x into the result so that it starts at `start` along the axis.
static void place(const llap_call *c, const llap_view *x, int axis, int64_t start)
{
    map_arg   p;
    llap_view to = c->out[0];
    p.n_in = p.n_steps = 1;
    p.step[0].op = LLAP_OP_COPY;
    p.step[0].x = p.step[0].y = 0;
    to.shape = x->shape;
    to.data = (float *)to.data + start * to.stride[axis];
    launch(c, &p, x, &to);
}

enum { MAX_PARTS = 128 };

struct parts_arg { // dense pieces one after the other
    int          n;
    int64_t      end[MAX_PARTS];
    const float *from[MAX_PARTS];
};

__global__ void join_kernel(const __grid_constant__ parts_arg p, float *out)
{
    FOR_EACH(i, p.end[p.n - 1])
    {
        int low = 0, high = p.n - 1; // the first piece that ends behind i
        while (low < high) {
            const int middle = (low + high) / 2;
            if (p.end[middle] > i) high = middle;
            else low = middle + 1;
        }
        out[i] = p.from[low][i - (low == 0 ? 0 : p.end[low - 1])];
    }
}

// Many small pieces, such as the norms of all gradients, in few launches.
static void join_dense(const llap_call *c)
{
    float *out = result_of(c, 0);
    for (int first = 0; first < c->n_in; first += MAX_PARTS) {
        parts_arg p;
        int64_t   end = 0;
        p.n = c->n_in - first < MAX_PARTS ? c->n_in - first : MAX_PARTS;
        for (int k = 0; k < p.n; k++) {
            p.from[k] = real_of(c->in[first + k]);
            p.end[k] = end += count_of(c->in[first + k]);
        }
        if (end == 0) continue;
        join_kernel<<<blocks_for(end), BLOCK, 0, LLAP_QUEUE>>>(p, out);
        launched(c);
        out += end;
    }
}

extern "C" void llap_cuda_concat(const llap_call *c)
{
    const int axis = c->attr->part.axis;
    bool      dense = true;
    int64_t   start = 0;
    llap_cuda_enter();
    for (int k = 0; k < axis; k++) dense = dense && c->out[0].shape.dim[k] == 1;
    for (int k = 0; k < c->n_in; k++) dense = dense && llap_view_dense(&c->in[k]);
    if (dense) {
        join_dense(c);
        return;
    }
    for (int k = 0; k < c->n_in; k++) {
        place(c, &c->in[k], axis, start);
        start += c->in[k].shape.dim[axis];
    }
}

extern "C" void llap_cuda_pad(const llap_call *c)
{
    llap_cuda_enter();
    llap_cuda_note(
        cudaMemsetAsync(c->out[0].data, 0, (size_t)count_of(c->out[0]) * sizeof(float), LLAP_QUEUE),
        "pad");
    place(c, &c->in[0], c->attr->part.axis, c->attr->part.start);
}
