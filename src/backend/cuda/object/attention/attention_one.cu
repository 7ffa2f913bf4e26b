// Attention of one query to one key, as over a panel of one entity, in floats: a warp for each item
// and head.
#include "backend/cuda/object/attention/attention.cuh"

enum { WARPS = BLOCK / 32 };

__device__ static inline float dot(const float *a, const float *b, int d)
{
    float sum = 0.0f;
    for (int e = threadIdx.x % 32; e < d; e += 32) sum = fmaf(a[e], b[e], sum);
    return warp_sum(sum);
}

// Results are dense: item and head count their rows.
__global__ void one_kernel(const __grid_constant__ att_arg p, bool back)
{
    const int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (row >= p.batch * p.heads) return;
    const int64_t b = row / p.heads;
    const int     h = (int)(row % p.heads), lane = threadIdx.x % 32;
    const float  *q = head_of(p.q, b, h, p.d), *k = head_of(p.k, b, h, p.d),
                *v = head_of(p.v, b, h, p.d), *mask = mask_of(p, b), *bias = bias_of(p, b, h);
    const float s = dot(q, k, p.d) * p.scale + (bias != NULL ? bias[0] : 0.0f);
    const bool  seen = (mask == NULL || mask[0] == 0.0f) && s != -INFINITY;
    const float w = seen ? expf(s - s) : 0.0f; // 1, or NaN
    float       keep = 1.0f;
    if (p.rng != NULL) {
        const ll_rng rng = ll_drop_rng(p.rng, p.id);
        keep = kept_by(p, rng, b, h, 0, 0);
    }
    if (!back) {
        for (int e = lane; e < p.d; e += 32) p.y[row * p.d + e] = w * keep * v[e];
        if (lane == 0) p.lse_out[row] = seen ? s : -INFINITY;
        return;
    }
    const float *dy = p.dy + row * p.d;
    const float  dw = dot(dy, v, p.d) * keep;
    const float  ds = w * (dw - dw); // the only weight there is does not move: 0, or NaN
    if (p.dbias != NULL && lane == 0) p.dbias[row] = ds;
    for (int e = lane; e < p.d; e += 32) {
        p.dq[row * p.d + e] = ds * p.scale * k[e];
        p.dk[row * p.d + e] = ds * p.scale * q[e];
        p.dv[row * p.d + e] = w * keep * dy[e];
    }
}

bool ll_cuda_attention_one(const ll_call *c, const att_arg &p)
{
    if (p.lq != 1 || p.lk != 1) return false;
    const int64_t blocks = (p.batch * p.heads + WARPS - 1) / WARPS;
    one_kernel<<<(unsigned)blocks, BLOCK, 0, LL_QUEUE>>>(p, p.dy != NULL);
    launched(c);
    return true;
}
