// Elementwise ops and chains of them.
//
// One kernel interprets a chain of up to 12 instructions for each element; a single op is a chain
// of one. Values lie in shared memory, one column per thread. The result may overwrite an operand
// of the same place. Operands and result are floats, or bf16 where the planner said so.
#include "backend/cuda/object/common.cuh"
#include "backend/cuda/object/mma.cuh"
#include "backend/cuda/object/several.cuh"
#include "backend/formulas.h"

#include <string.h>

struct map_step {
    int   op, x, y; // where operands lie
    float a, b;
};

struct map_arg {
    int          n_in, n_steps, rank;
    unsigned     flat; // bit k: operand k lies in row order; bit 31: the result
    unsigned     half; // likewise: bf16
    int64_t      count;
    int64_t      dim[LL_MAX_RANK];
    int64_t      stride[LL_CHAIN_INPUTS + 1][LL_MAX_RANK]; // the result's last
    const float *in[LL_CHAIN_INPUTS];
    float       *out;
    map_step     step[LL_CHAIN_STEPS];
};

#define SINGLE(x) x##f // expf of exp, 1.0f of 1.0

__device__ static __forceinline__ float apply(int op, float x, float y, float a, float b)
{
    switch (op) {
#define X(ID, value) \
    case LL_OP_##ID: \
        return value;
        LL_UNARY_FORMULAS(X, SINGLE, SINGLE)
        LL_BINARY_FORMULAS(X, SINGLE, SINGLE)
#undef X
    case LL_OP_GELU:
        return gelu_of(x);
    case LL_OP_AFFINE:
        return fmaf(a, x, b);
    case LL_OP_GELU_GRAD: {
        const float cdf = 0.5f * (1.0f + erff(x * 0.70710678118654752f));
        return y * fmaf(x * 0.39894228040143268f, expf(-0.5f * x * x), cdf);
    }
    case LL_OP_SILU_GRAD: {
        const float s = 1.0f / (1.0f + expf(-x));
        return y * s * (1.0f + x * (1.0f - s));
    }
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

__device__ static inline float read_at(const map_arg &p, int k, int64_t at)
{
    return p.half >> k & 1 ? __bfloat162float(((const __nv_bfloat16 *)p.in[k])[at]) : p.in[k][at];
}
__device__ static inline float4 read4_at(const map_arg &p, int k, int64_t at)
{
    if ((p.half >> k & 1) == 0) return *(const float4 *)(p.in[k] + at);
    const uint2  both = *(const uint2 *)((const __nv_bfloat16 *)p.in[k] + at);
    const float2 x = __bfloat1622float2(*(const __nv_bfloat162 *)&both.x),
                 y = __bfloat1622float2(*(const __nv_bfloat162 *)&both.y);
    return make_float4(x.x, x.y, y.x, y.y);
}

template <typename I> __device__ static inline void map_each(const map_arg &p)
{
    extern __shared__ float value[]; // [n_in + n_steps][BLOCK]
    float *const            v = value + threadIdx.x;
    for (I i = (I)blockIdx.x * BLOCK + threadIdx.x; i < (I)p.count; i += (I)gridDim.x * BLOCK) {
        for (int k = 0; k < p.n_in; k++)
            v[k * BLOCK] = read_at(p, k, p.flat >> k & 1 ? (int64_t)i : place_of<I>(p, k, i));
        float y = 0.0f;
        for (int s = 0; s < p.n_steps; s++) {
            const map_step &at = p.step[s];
            y = apply(at.op, v[at.x * BLOCK], v[at.y * BLOCK], at.a, at.b);
            v[(p.n_in + s) * BLOCK] = y;
        }
        const int64_t to = p.flat >> 31 ? (int64_t)i : place_of<I>(p, LL_CHAIN_INPUTS, i);
        if (p.half >> 31) ((__nv_bfloat16 *)p.out)[to] = __float2bfloat16_rn(y);
        else p.out[to] = y;
    }
}

template <typename I> __global__ void map_kernel(const __grid_constant__ map_arg p)
{
    behind();
    map_each<I>(p);
}

// Several at once, none of which reads what another writes.
enum { MOST_MAPS = 24 };

struct maps_arg {
    map_arg of[MOST_MAPS];
};

__global__ void maps_kernel(const __grid_constant__ maps_arg p)
{
    behind();
    map_each<uint32_t>(p.of[blockIdx.y]);
}

// The same four neighbours at a time: rows of a multiple of four, each operand aligned or one
// number for a whole row. One jump serves four numbers.
enum { BLOCK4 = 128 };

#define EACH_OF_LIST(X) LL_UNARY_LIST(X) LL_BINARY_LIST(X)

__device__ static float4 apply4(int op, float4 x, float4 y, float a, float b)
{
    switch (op) {
#define X(ID, id)                                                                                \
    case LL_OP_##ID:                                                                             \
        return make_float4(apply(LL_OP_##ID, x.x, y.x, a, b), apply(LL_OP_##ID, x.y, y.y, a, b), \
                           apply(LL_OP_##ID, x.z, y.z, a, b), apply(LL_OP_##ID, x.w, y.w, a, b));
        EACH_OF_LIST(X)
#undef X
    }
    return x;
}

__global__ void map4_kernel(const __grid_constant__ map_arg p, unsigned single)
{
    behind();
    extern __shared__ float4 value4[]; // [n_in + n_steps][BLOCK4]
    float4 *const            v = value4 + threadIdx.x;
    FOR_EACH(n, p.count / 4)
    {
        const uint32_t i = 4 * n;
        for (int k = 0; k < p.n_in; k++) {
            const int64_t at = p.flat >> k & 1 ? (int64_t)i : place_of<uint32_t>(p, k, i);
            if (single >> k & 1) {
                const float x = read_at(p, k, at);
                v[k * BLOCK4] = make_float4(x, x, x, x);
            } else v[k * BLOCK4] = read4_at(p, k, at);
        }
        float4 y = v[0];
        for (int s = 0; s < p.n_steps; s++) {
            const map_step &at = p.step[s];
            y = apply4(at.op, v[at.x * BLOCK4], v[at.y * BLOCK4], at.a, at.b);
            v[(p.n_in + s) * BLOCK4] = y;
        }
        const int64_t to = p.flat >> 31 ? (int64_t)i : place_of<uint32_t>(p, LL_CHAIN_INPUTS, i);
        if (p.half >> 31) store4((__nv_bfloat16 *)p.out + to, y);
        else *(float4 *)(p.out + to) = y;
    }
}

static bool lies_in_fours(const map_arg &p, int k, const void *at, bool half)
{
    if (p.stride[k][p.rank - 1] != 1 || ((uintptr_t)at & (half ? 7 : 15)) != 0) return false;
    for (int axis = 0; axis < p.rank - 1; axis++)
        if (p.stride[k][axis] % 4 != 0) return false;
    return true;
}

// -------- one op, eight neighbours at a time --------

// Each number as the others in bf16 have it: an error function to 2e-7.
__device__ static inline float quick_tail(float x, float *density) // of the normal law, beyond |x|
{
    const float z = fabsf(x) * 0.70710678118654752f, e = __expf(-z * z);
    const float t = __fdividef(1.0f, fmaf(0.3275911f, z, 1.0f));
    const float poly =
        t *
        fmaf(t, fmaf(t, fmaf(t, fmaf(t, 1.061405429f, -1.453152027f), 1.421413741f), -0.284496736f),
             0.254829592f);
    *density = 0.39894228040143268f * e;
    return 0.5f * poly * e;
}

template <int OP> __device__ static inline float quick(float x, float y)
{
    float density;
    switch (OP) {
    case LL_OP_ADD:
        return x + y;
    case LL_OP_MUL:
        return x * y;
    case LL_OP_GELU: {
        const float tail = quick_tail(x, &density);
        return x * (x < 0.0f ? tail : 1.0f - tail);
    }
    case LL_OP_GELU_GRAD: {
        const float tail = quick_tail(x, &density);
        return y * fmaf(x, density, x < 0.0f ? tail : 1.0f - tail);
    }
    default:
        return x;
    }
}

template <int OP> __device__ static inline float4 quick4(float4 x, float4 y)
{
    return make_float4(quick<OP>(x.x, y.x), quick<OP>(x.y, y.y), quick<OP>(x.z, y.z),
                       quick<OP>(x.w, y.w));
}

// Eight of operand k from `at` on, or one number eight times.
__device__ static inline void read8(const map_arg &p, int k, uint32_t i, bool single, float4 v[2])
{
    const int64_t at = p.flat >> k & 1 ? (int64_t)i : place_of<uint32_t>(p, k, i);
    if (single) {
        const float x = read_at(p, k, at);
        v[0] = v[1] = make_float4(x, x, x, x);
    } else if (p.half >> k & 1) {
        const uint4           eight = *(const uint4 *)((const __nv_bfloat16 *)p.in[k] + at);
        const __nv_bfloat162 *two = (const __nv_bfloat162 *)&eight;
        const float2          a = __bfloat1622float2(two[0]), b = __bfloat1622float2(two[1]),
                     c = __bfloat1622float2(two[2]), d = __bfloat1622float2(two[3]);
        v[0] = make_float4(a.x, a.y, b.x, b.y);
        v[1] = make_float4(c.x, c.y, d.x, d.y);
    } else {
        v[0] = *(const float4 *)(p.in[k] + at);
        v[1] = *(const float4 *)(p.in[k] + at + 4);
    }
}

template <int OP> __global__ void map8_kernel(const __grid_constant__ map_arg p, unsigned single)
{
    behind();
    FOR_EACH(n, p.count / 8)
    {
        const uint32_t i = 8 * n;
        float4         x[2], y[2];
        read8(p, 0, i, single & 1, x);
        if (p.n_in == 2) read8(p, 1, i, single >> 1 & 1, y);
        else y[0] = x[0], y[1] = x[1];
        const float4  a = quick4<OP>(x[0], y[0]), b = quick4<OP>(x[1], y[1]);
        const int64_t to = p.flat >> 31 ? (int64_t)i : place_of<uint32_t>(p, LL_CHAIN_INPUTS, i);
        if (p.half >> 31) {
            *(uint4 *)((__nv_bfloat16 *)p.out + to) =
                make_uint4(pack(a.x, a.y), pack(a.z, a.w), pack(b.x, b.y), pack(b.z, b.w));
        } else {
            *(float4 *)(p.out + to) = a;
            *(float4 *)(p.out + to + 4) = b;
        }
    }
}

static bool lies_in_eights(const map_arg &p, int k, const void *at)
{
    if (p.stride[k][p.rank - 1] != 1 || ((uintptr_t)at & 15) != 0) return false;
    for (int axis = 0; axis < p.rank - 1; axis++)
        if (p.stride[k][axis] % 8 != 0) return false;
    return true;
}

// False: not for this one. Only where bf16 is about, since GELU is a little less exact.
static bool in_eights(const map_arg &p)
{
    const int last = p.rank - 1;
    unsigned  single = 0;
    if (p.half == 0 || p.n_steps != 1 || p.step[0].x != 0 || p.dim[last] % 8 != 0 ||
        p.count >= INT32_MAX || !lies_in_eights(p, LL_CHAIN_INPUTS, p.out))
        return false;
    for (int k = 0; k < p.n_in; k++) {
        if (p.stride[k][last] == 0) single |= 1u << k;
        else if (!lies_in_eights(p, k, p.in[k])) return false;
    }
    switch (p.step[0].op) {
#define CASE(ID)                                                                        \
    case LL_OP_##ID:                                                                    \
        enqueue(map8_kernel<LL_OP_##ID>, blocks_for(p.count / 8), BLOCK, 0, p, single); \
        return true
        CASE(COPY);
        CASE(ADD);
        CASE(MUL);
        CASE(GELU);
        CASE(GELU_GRAD);
#undef CASE
    default:
        return false;
    }
}

// -------- choosing --------

// Whether four at a time is possible; which operands are one number for a row.
static bool in_fours(const map_arg &p, unsigned *single)
{
    const int last = p.rank - 1;
    *single = 0;
    if (p.dim[last] % 4 != 0 || !lies_in_fours(p, LL_CHAIN_INPUTS, p.out, p.half >> 31))
        return false;
    for (int k = 0; k < p.n_in; k++) {
        if (p.stride[k][last] == 0) *single |= 1u << k;
        else if (!lies_in_fours(p, k, p.in[k], p.half >> k & 1)) return false;
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
        for (int k = 0; joined && k <= LL_CHAIN_INPUTS; k++)
            if (k < p->n_in || k == LL_CHAIN_INPUTS)
                joined = p->stride[k][p->rank - 1] == dim[axis] * p->stride[k][axis];
        if (!joined) p->rank++;
        for (int k = 0; k <= LL_CHAIN_INPUTS; k++) p->stride[k][p->rank - 1] = p->stride[k][axis];
        p->dim[p->rank - 1] = joined ? p->dim[p->rank - 1] * dim[axis] : dim[axis];
    }
    if (p->rank > 0) return;
    p->rank = 1;
    p->dim[0] = 1;
    for (int k = 0; k <= LL_CHAIN_INPUTS; k++) p->stride[k][0] = 1;
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
static void lay_out(map_arg *p, const ll_view *in, const ll_view *out)
{
    p->count = count_of(*out);
    p->half = out->elem == LL_HALF ? 1u << 31 : 0;
    for (int k = 0; k < p->n_in; k++) {
        p->in[k] = real_of(in[k]);
        p->half |= in[k].elem == LL_HALF ? 1u << k : 0;
        memcpy(p->stride[k], in[k].stride, sizeof p->stride[k]);
    }
    p->out = (float *)out->data;
    memcpy(p->stride[LL_CHAIN_INPUTS], out->stride, sizeof out->stride);
    merge_axes(p, out->shape.dim, out->shape.rank);
    p->flat = in_row_order(*p, LL_CHAIN_INPUTS) ? 1u << 31 : 0;
    for (int k = 0; k < p->n_in; k++) p->flat |= in_row_order(*p, k) ? 1u << k : 0;
}

static void launch(const ll_call *c, map_arg *p, const ll_view *in, const ll_view *out)
{
    if (count_of(*out) == 0) return;
    lay_out(p, in, out);
    if (in_eights(*p)) {
        launched(c);
        return;
    }
    const size_t shared = (size_t)(p->n_in + p->n_steps) * BLOCK * sizeof(float);
    unsigned     single;
    if (p->count < INT32_MAX && in_fours(*p, &single)) { // half the threads, four times the memory
        enqueue(map4_kernel, blocks_for(p->count / 4, BLOCK4), BLOCK4, 2 * shared, *p, single);
        launched(c);
        return;
    }
    if (p->count < INT32_MAX)
        enqueue(map_kernel<uint32_t>, blocks_for(p->count), BLOCK, shared, *p);
    else enqueue(map_kernel<uint64_t>, blocks_for(p->count), BLOCK, shared, *p);
    launched(c);
}

static void steps_of(const ll_call *c, map_arg *p)
{
    if (c->op != LL_OP_CHAIN) {
        p->n_in = ll_op_is_unary(c->op) ? 1 : 2;
        p->n_steps = 1;
        p->step[0].op = c->op;
        p->step[0].x = 0;
        p->step[0].y = p->n_in - 1;
        p->step[0].a = c->attr == NULL ? 0.0f : (float)c->attr->scalar.a;
        p->step[0].b = c->attr == NULL ? 0.0f : (float)c->attr->scalar.b;
        return;
    }
    const ll_op_chain *chain = c->attr->chain;
    p->n_in = chain->n_in;
    p->n_steps = chain->n_steps;
    for (int s = 0; s < chain->n_steps; s++) {
        const ll_chain_step *from = &chain->step[s];
        p->step[s].op = from->op;
        p->step[s].x = from->arg[0];
        p->step[s].y = ll_op_is_unary(from->op) ? from->arg[0] : from->arg[1];
        p->step[s].a = (float)from->a;
        p->step[s].b = (float)from->b;
    }
}

extern "C" void ll_cuda_map(const ll_call *c)
{
    map_arg p;
    steps_of(c, &p);
    ll_cuda_enter();
    launch(c, &p, c->in, &c->out[0]);
}

extern "C" void ll_cuda_chain(const ll_call *c) { ll_cuda_map(c); }

void ll_cuda_copy(const ll_call *c, const ll_view &x, const ll_view &to)
{
    map_arg p;
    p.n_in = p.n_steps = 1;
    p.step[0].op = LL_OP_COPY;
    p.step[0].x = p.step[0].y = 0;
    launch(c, &p, &x, &to);
}

bool ll_cuda_is_small_map(const ll_call *c)
{
    return (ll_op_is_unary(c->op) || ll_op_is_binary(c->op) || c->op == LL_OP_CHAIN) &&
           count_of(c->out[0]) > 0 && count_of(c->out[0]) <= 1 << 17;
}

int ll_cuda_maps(const ll_call *c, int n)
{
    maps_arg p;
    int64_t  most = 0;
    int      room = 0;
    n = n < MOST_MAPS ? n : MOST_MAPS;
    for (int i = 0; i < n; i++) {
        steps_of(&c[i], &p.of[i]);
        lay_out(&p.of[i], c[i].in, &c[i].out[0]);
        if (p.of[i].count > most) most = p.of[i].count;
        if (p.of[i].n_in + p.of[i].n_steps > room) room = p.of[i].n_in + p.of[i].n_steps;
    }
    enqueue(maps_kernel, dim3(blocks_for(most), (unsigned)n), BLOCK,
            (size_t)room * BLOCK * sizeof(float), p);
    launched(c);
    return n;
}
