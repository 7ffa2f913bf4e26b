// What the attention kernels of both precisions share: operands and where their rows lie.
#ifndef LL_BACKEND_CUDA_OBJECT_ATTENTION_ATTENTION_CUH
#define LL_BACKEND_CUDA_OBJECT_ATTENTION_ATTENTION_CUH

#include "backend/cuda/object/common.cuh"
#include "backend/random.h"

enum { ATT_Q, ATT_K, ATT_V, ATT_MASK, ATT_BIAS, ATT_RNG, ATT_Y, ATT_LSE, ATT_DY };

struct att_rows { // rows [..., L, heads d] of one operand
    const float *data;
    view_arg     at;
    int64_t      step; // from row to row
    bool         half; // bf16 in memory
};

struct att_arg {
    int64_t        batch, lq, lk;
    int            heads, d;
    float          scale;
    att_rows       q, k, v;
    const float   *mask, *bias; // NULL: none
    view_arg       at_mask, at_bias;
    const int32_t *rng; // NULL: no dropout
    uint32_t       id;
    float          p, keep_scale;
    // forward
    float *y, *lse_out;
    bool   y_half;
    // backward
    const float *y_in, *lse, *dy;
    float       *delta, *dq, *dk, *dv, *dbias;
    bool         dq_half, dk_half, dv_half;
};

static inline att_rows rows_of(const ll_view &v)
{
    att_rows r = { real_of(v), arg_of(v), v.stride[v.shape.rank - 2], v.elem == LL_HALF };
    return r;
}

static inline att_arg att_of(const ll_call *c)
{
    const ll_view &q = c->in[ATT_Q];
    const int      r = q.shape.rank;
    att_arg        p = {};
    p.heads = c->attr->attention.n_heads;
    p.batch = 1;
    for (int i = 0; i < r - 2; i++) p.batch *= q.shape.dim[i];
    p.lq = q.shape.dim[r - 2];
    p.lk = c->in[ATT_K].shape.dim[r - 2];
    p.d = (int)(width_of(q) / p.heads);
    p.scale = (float)c->attr->attention.scale;
    p.q = rows_of(q);
    p.k = rows_of(c->in[ATT_K]);
    p.v = rows_of(c->in[ATT_V]);
    if (c->in[ATT_MASK].present) {
        p.mask = real_of(c->in[ATT_MASK]);
        p.at_mask = arg_of(c->in[ATT_MASK]);
    }
    if (c->in[ATT_BIAS].present) {
        p.bias = real_of(c->in[ATT_BIAS]);
        p.at_bias = arg_of(c->in[ATT_BIAS]);
    }
    const double drop = c->attr->attention.dropout;
    if (drop > 0.0) {
        p.rng = (const int32_t *)c->in[ATT_RNG].data;
        p.id = c->attr->attention.id;
        p.p = (float)drop;
        p.keep_scale = (float)(1.0 / (1.0 - drop));
    }
    return p;
}

// With what the gradient reads and writes.
static inline att_arg att_grad_of(const ll_call *c)
{
    att_arg p = att_of(c);
    p.y_in = real_of(c->in[ATT_Y]);
    p.lse = real_of(c->in[ATT_LSE]);
    p.dy = real_of(c->in[ATT_DY]);
    p.delta = (float *)c->work;
    p.dq = result_of(c, 0);
    p.dk = result_of(c, 1);
    p.dv = result_of(c, 2);
    return p;
}

// What a block takes of n queries (or keys): ROWS of them from `first` on, of head h of example b.
struct block_place {
    int64_t b, first;
    int     h, warp, lane;
};

template <int ROWS> __device__ static inline block_place block_of(const att_arg &p, int64_t n)
{
    const uint32_t tiles = ((uint32_t)n + ROWS - 1) / ROWS;
    block_place    t;
    t.b = blockIdx.x / tiles / p.heads;
    t.first = blockIdx.x % tiles * ROWS;
    t.h = (int)(blockIdx.x / tiles % p.heads);
    t.warp = threadIdx.x / 32;
    t.lane = threadIdx.x % 32;
    return t;
}

__device__ static inline const float *head_of(const att_rows &r, int64_t b, int h, int d)
{
    return r.data + offset_at(r.at, b, r.at.rank - 2) + (int64_t)h * d;
}
// The same for an operand that may be bf16; the address of its first number.
__device__ static inline const float *head_at(const att_rows &r, int64_t b, int h, int d, bool half)
{
    const int64_t at = offset_at(r.at, b, r.at.rank - 2) + (int64_t)h * d;
    return (const float *)((const char *)r.data + at * (half ? 2 : 4));
}
__device__ static inline const float *mask_of(const att_arg &p, int64_t b)
{
    return p.mask == NULL ? NULL : p.mask + offset_at(p.at_mask, b, p.at_mask.rank - 1);
}
// Of query 0; queries lie at_bias.stride[rank - 2] apart.
__device__ static inline const float *bias_of(const att_arg &p, int64_t b, int h)
{
    return p.bias == NULL ? NULL
                          : p.bias + offset_at(p.at_bias, b * p.heads + h, p.at_bias.rank - 2);
}

// What dropout makes of the weight of a query and a key.
__device__ static inline float kept_by(const att_arg &p, const ll_rng &rng, int64_t b, int h,
                                       int64_t query, int64_t key)
{
    const uint64_t i = (uint64_t)(((b * p.heads + h) * p.lq + query) * p.lk + key);
    return ll_drop_keeps(&rng, i, p.p) ? p.keep_scale : 0.0f;
}

__device__ static inline float exp2_of(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// A tile of scores of a thread's two rows, shared by four lanes, whose maxima so far are `high`:
// they become the rows' top, what was summed shrinks, and weights count from `from`. FAST: by
// exp2_of.
template <bool FAST = true>
__device__ static inline void raise_top(float (&high)[2], float (&top)[2], float (&from)[2],
                                        float (&shrink)[2], float (&sum)[2])
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        high[half] = fmaxf(high[half], __shfl_xor_sync(0xffffffffu, high[half], 1));
        high[half] = fmaxf(high[half], __shfl_xor_sync(0xffffffffu, high[half], 2));
        // Nothing seen yet: every weight is 0.
        from[half] = high[half] == -INFINITY ? 0.0f : high[half];
        const float less = top[half] - from[half];
        shrink[half] = FAST ? exp2_of(less) : exp2f(less);
        top[half] = high[half];
        sum[half] *= shrink[half];
    }
}

bool ll_cuda_attention_one(const ll_call *c, const att_arg &p); // false: not for this one
void ll_cuda_attention_forward(const ll_call *c, const att_arg &p);
void ll_cuda_attention_backward(const ll_call *c, const att_arg &p);

#endif
