// The gradient of layer norm in one pass, for aligned rows of 128, 256 or 512: a warp holds a row
// in registers; a block takes a piece of the rows that share weight and bias, and leaves its sums
// of dweight and dbias, which are joined in order.
#include "backend/cuda/object/norm.cuh"

#include "backend/cuda/object/columns.cuh"
#include "backend/cuda/object/mma.cuh"

enum { WARPS = BLOCK / 32, ROWS = 16 * WARPS /* of a block */ };

template <bool HALF> __device__ static inline float4 four_of(const void *x, int64_t at)
{
    if (!HALF) return *(const float4 *)((const float *)x + at);
    const uint2  both = *(const uint2 *)((const __nv_bfloat16 *)x + at);
    const float2 a = __bfloat1622float2(*(const __nv_bfloat162 *)&both.x),
                 b = __bfloat1622float2(*(const __nv_bfloat162 *)&both.y);
    return make_float4(a.x, a.y, b.x, b.y);
}

struct added { // to dx; NULL: nothing
    const void *x;
    bool        half;
};

__device__ static inline float4 sum_of(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

__device__ static inline float sum4(float4 x) { return (x.x + x.y) + (x.z + x.w); }

// partial [groups, cuts, 2 n]: sums of dy hat, then of dy
template <int N, bool DY_HALF, bool DX_HALF>
__global__ void __launch_bounds__(BLOCK)
    norm_grad_fours_kernel(const __grid_constant__ norm_arg p, const float *x, const void *dy,
                           const __grid_constant__ added add, void *dx, uint32_t cuts,
                           double *partial)
{
    behind();
    enum { WIDTH = 128 * N };
    __shared__ float shared[WARPS][2][WIDTH];
    const int        lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t   group = blockIdx.x / cuts, cut = blockIdx.x % cuts;
    const int64_t    begin = group * p.run + (int64_t)cut * ROWS, limit = (group + 1) * p.run,
                  end = begin + ROWS < limit ? begin + ROWS : limit;
    float4 by[N], dw[N], db[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
        dw[i] = db[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        by[i] = make_float4(1.0f, 1.0f, 1.0f, 1.0f);
        if (p.w == NULL) continue;
        // One by one: modulations may lie askew, and this is done once for many rows.
        const float *w = p.w + offset_at(p.at, group, p.at.rank - 1) + (i * 32 + lane) * 4;
        by[i] = make_float4(w[0] + p.offset, w[1] + p.offset, w[2] + p.offset, w[3] + p.offset);
    }
    for (int64_t r = begin + warp; r < end; r += WARPS) {
        float4 v[N], d[N], g[N];
        float  sum = 0.0f, square = 0.0f, all = 0.0f, dot = 0.0f;
#pragma unroll
        for (int i = 0; i < N; i++) {
            v[i] = four_of<false>(x, r * WIDTH + (i * 32 + lane) * 4);
            d[i] = four_of<DY_HALF>(dy, r * WIDTH + (i * 32 + lane) * 4);
            sum += sum4(v[i]);
        }
        const float mean = warp_sum(sum) / (float)WIDTH;
#pragma unroll
        for (int i = 0; i < N; i++) {
            v[i].x -= mean, v[i].y -= mean, v[i].z -= mean, v[i].w -= mean;
            square += (v[i].x * v[i].x + v[i].y * v[i].y) + (v[i].z * v[i].z + v[i].w * v[i].w);
        }
        const float rstd = rsqrtf(warp_sum(square) / (float)WIDTH + (float)p.eps);
#pragma unroll
        for (int i = 0; i < N; i++) {
            v[i].x *= rstd, v[i].y *= rstd, v[i].z *= rstd, v[i].w *= rstd; // what is normed
            g[i] =
                make_float4(d[i].x * by[i].x, d[i].y * by[i].y, d[i].z * by[i].z, d[i].w * by[i].w);
            all += sum4(g[i]);
            dot += (g[i].x * v[i].x + g[i].y * v[i].y) + (g[i].z * v[i].z + g[i].w * v[i].w);
            dw[i].x = fmaf(d[i].x, v[i].x, dw[i].x), dw[i].y = fmaf(d[i].y, v[i].y, dw[i].y);
            dw[i].z = fmaf(d[i].z, v[i].z, dw[i].z), dw[i].w = fmaf(d[i].w, v[i].w, dw[i].w);
            db[i].x += d[i].x, db[i].y += d[i].y, db[i].z += d[i].z, db[i].w += d[i].w;
        }
        const float each = warp_sum(all) / (float)WIDTH, along = warp_sum(dot) / (float)WIDTH;
#pragma unroll
        for (int i = 0; i < N; i++) {
            const int64_t at = r * WIDTH + (i * 32 + lane) * 4;
            float4        o = make_float4(
                       rstd * (g[i].x - each - v[i].x * along), rstd * (g[i].y - each - v[i].y * along),
                       rstd * (g[i].z - each - v[i].z * along), rstd * (g[i].w - each - v[i].w * along));
            if (add.x != NULL)
                o = sum_of(o, add.half ? four_of<true>(add.x, at) : four_of<false>(add.x, at));
            if (DX_HALF) store4((__nv_bfloat16 *)dx + at, o);
            else *(float4 *)((float *)dx + at) = o;
        }
    }
    if (p.w == NULL) return;
#pragma unroll
    for (int i = 0; i < N; i++) {
        ((float4 *)shared[warp][0])[i * 32 + lane] = dw[i];
        ((float4 *)shared[warp][1])[i * 32 + lane] = db[i];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 2 * WIDTH; i += BLOCK) {
        double sum = 0.0;
        for (int k = 0; k < WARPS; k++) sum += (double)shared[k][i / WIDTH][i % WIDTH];
        partial[(int64_t)blockIdx.x * 2 * WIDTH + i] = sum;
    }
}

static int64_t cuts_of(const norm_arg &p) { return (p.run + ROWS - 1) / ROWS; }

static bool is_wide(const ll_call *c)
{
    const int64_t n = width_of(c->in[0]);
    return n == 128 || n == 256 || n == 512;
}

bool ll_cuda_norm_grad_fits(const ll_call *c) { return is_wide(c); }

// Sums of all pieces, and dweight and dbias before they are parted.
size_t ll_cuda_norm_grad_fours_bytes(const ll_call *c)
{
    if (!is_wide(c)) return 0;
    const norm_arg p = ll_cuda_norm_of(c, c->in[0], c->in[2], c->in[3]);
    const int64_t  groups = p.rows / p.run;
    return (size_t)(groups * cuts_of(p) * 2 * p.n) * sizeof(double) +
           (size_t)(groups * 2 * p.n) * sizeof(float);
}

__global__ void part_kernel(const double *partial, int64_t groups, int64_t n, int64_t cuts,
                            float *dw, float *db)
{
    behind();
    FOR_EACH(e, groups * n)
    {
        const int64_t group = e / (uint32_t)n, i = e % (uint32_t)n;
        const double *from = partial + group * cuts * 2 * n + i;
        double        w = 0.0, b = 0.0;
#pragma unroll 4
        for (int64_t k = 0; k < cuts; k++) w += from[k * 2 * n], b += from[k * 2 * n + n];
        dw[e] = (float)w;
        db[e] = (float)b;
    }
}

__global__ void unweave_kernel(const float *both, int64_t groups, int64_t n, float *dw, float *db)
{
    behind();
    FOR_EACH(e, groups * n)
    {
        const int64_t group = e / (uint32_t)n, i = e % (uint32_t)n;
        dw[e] = both[group * 2 * n + i];
        db[e] = both[group * 2 * n + n + i];
    }
}

static added added_of(const ll_call *c)
{
    if (c->n_in < 5) return { NULL, false };
    return { c->in[4].data, c->in[4].elem == LL_HALF };
}

template <int N, bool DY_HALF>
static void by_result(const ll_call *c, const norm_arg &p, unsigned blocks, uint32_t cuts)
{
    const float *x = real_of(c->in[0]);
    double      *partial = (double *)c->work;
    if (c->out[0].elem == LL_HALF)
        enqueue(norm_grad_fours_kernel<N, DY_HALF, true>, blocks, BLOCK, 0, p, x, c->in[1].data,
                added_of(c), c->out[0].data, cuts, partial);
    else
        enqueue(norm_grad_fours_kernel<N, DY_HALF, false>, blocks, BLOCK, 0, p, x, c->in[1].data,
                added_of(c), c->out[0].data, cuts, partial);
}

template <int N>
static void by_kind(const ll_call *c, const norm_arg &p, unsigned blocks, uint32_t cuts)
{
    if (c->in[1].elem == LL_HALF) by_result<N, true>(c, p, blocks, cuts);
    else by_result<N, false>(c, p, blocks, cuts);
}

static bool aligned(const ll_view &v)
{
    return ((uintptr_t)v.data & (v.elem == LL_HALF ? 7 : 15)) == 0;
}

bool ll_cuda_norm_grad_fours(const ll_call *c)
{
    enum { FEW = 64 };
    if (!is_wide(c) || !aligned(c->in[0]) || !aligned(c->in[1]) || !aligned(c->out[0]) ||
        (c->n_in == 5 && !aligned(c->in[4])))
        return false;
    const norm_arg p = ll_cuda_norm_of(c, c->in[0], c->in[2], c->in[3]);
    const int64_t  groups = p.rows / p.run, cuts = cuts_of(p);
    const unsigned blocks = (unsigned)(groups * cuts);
    if (p.n == 128) by_kind<1>(c, p, blocks, (uint32_t)cuts);
    else if (p.n == 256) by_kind<2>(c, p, blocks, (uint32_t)cuts);
    else by_kind<4>(c, p, blocks, (uint32_t)cuts);
    if (p.w != NULL && cuts <= FEW) {
        enqueue(part_kernel, blocks_for(groups * p.n), BLOCK, 0, (const double *)c->work, groups,
                p.n, cuts, result_of(c, 1), result_of(c, 2));
    } else if (p.w != NULL) {
        float *both = (float *)((double *)c->work + groups * cuts * 2 * p.n);
        ll_cuda_join_columns((const double *)c->work, groups, 2 * p.n, cuts, both);
        enqueue(unweave_kernel, blocks_for(groups * p.n), BLOCK, 0, both, groups, p.n,
                result_of(c, 1), result_of(c, 2));
    }
    launched(c);
    return true;
}
