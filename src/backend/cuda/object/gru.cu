// A gated recurrent unit and its gradient: a block takes a series through all its rows.
//
// The state, and what has been computed of the next one, lie in shared memory; a warp forms the
// products of a row of the weights, which stay in the second cache.
#include "backend/cuda/object/common.cuh"

enum { WARPS = BLOCK / 32 };

struct gru_arg {
    int64_t      batch, n, h;
    bool         reverse;
    const float *x, *w, *bias, *first, *y, *gates, *dy;
    float       *to_y, *to_gates, *dx, *dg, *dfirst;
};

static __device__ int64_t row_at(const gru_arg &p, int64_t k)
{
    return p.reverse ? p.n - 1 - k : k;
}

static __device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

static __device__ float of_warp(float x)
{
    for (int i = 16; i > 0; i /= 2) x += __shfl_xor_sync(~0u, x, i);
    return x;
}

__global__ void gru_kernel(const __grid_constant__ gru_arg p)
{
    extern __shared__ float shared[];
    float                  *state = shared, *g = shared + p.h; // [h], [3h]
    const int               warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    behind();
    for (int64_t b = blockIdx.x; b < p.batch; b += gridDim.x) {
        __syncthreads();
        for (int64_t i = threadIdx.x; i < p.h; i += BLOCK) state[i] = p.first[b * p.h + i];
        for (int64_t k = 0; k < p.n; k++) {
            const int64_t at = b * p.n + row_at(p, k);
            __syncthreads();
            for (int64_t j = warp; j < 3 * p.h; j += WARPS) {
                float sum = 0.0f;
                for (int64_t i = lane; i < p.h; i += 32) sum += p.w[j * p.h + i] * state[i];
                sum = of_warp(sum);
                if (lane == 0) g[j] = sum + p.bias[j];
            }
            __syncthreads();
            for (int64_t i = threadIdx.x; i < p.h; i += BLOCK) {
                const float *x = p.x + at * 3 * p.h + i;
                const float  r = sigmoid(x[0] + g[i]), z = sigmoid(x[p.h] + g[p.h + i]);
                const float  m = tanhf(x[2 * p.h] + r * g[2 * p.h + i]);
                float       *gates = p.to_gates + at * 4 * p.h + i;
                gates[0] = r;
                gates[p.h] = z;
                gates[2 * p.h] = m;
                gates[3 * p.h] = g[2 * p.h + i];
                state[i] = m + z * (state[i] - m);
                p.to_y[at * p.h + i] = state[i];
            }
        }
    }
}

__global__ void gru_grad_kernel(const __grid_constant__ gru_arg p)
{
    extern __shared__ float shared[];
    float                  *dh = shared, *dg = shared + p.h; // [h], [3h]
    behind();
    for (int64_t b = blockIdx.x; b < p.batch; b += gridDim.x) {
        __syncthreads();
        for (int64_t i = threadIdx.x; i < p.h; i += BLOCK) dh[i] = 0.0f;
        for (int64_t k = p.n - 1; k >= 0; k--) {
            const int64_t at = b * p.n + row_at(p, k);
            const float  *before =
                k == 0 ? p.first + b * p.h : p.y + (b * p.n + row_at(p, k - 1)) * p.h;
            __syncthreads();
            for (int64_t i = threadIdx.x; i < p.h; i += BLOCK) {
                const float *gates = p.gates + at * 4 * p.h + i;
                const float  r = gates[0], z = gates[p.h], m = gates[2 * p.h];
                const float  d = dh[i] + p.dy[at * p.h + i];
                const float  dm = d * (1.0f - z) * (1.0f - m * m);
                const float  dr = dm * gates[3 * p.h] * r * (1.0f - r);
                const float  dz = d * (before[i] - m) * z * (1.0f - z);
                float       *dx = p.dx + at * 3 * p.h + i, *to = p.dg + at * 3 * p.h + i;
                dx[0] = to[0] = dg[i] = dr;
                dx[p.h] = to[p.h] = dg[p.h + i] = dz;
                dx[2 * p.h] = dm;
                to[2 * p.h] = dg[2 * p.h + i] = dm * r;
                dh[i] = d * z;
            }
            __syncthreads();
            for (int64_t i = threadIdx.x; i < p.h; i += BLOCK) {
                float sum = dh[i];
                for (int64_t j = 0; j < 3 * p.h; j++) sum += dg[j] * p.w[j * p.h + i];
                dh[i] = sum;
            }
        }
        __syncthreads();
        for (int64_t i = threadIdx.x; i < p.h; i += BLOCK) p.dfirst[b * p.h + i] = dh[i];
    }
}

static gru_arg gru_of(const ll_call *c, const ll_view &y)
{
    gru_arg p = {};
    p.batch = y.shape.dim[0];
    p.n = y.shape.dim[1];
    p.h = y.shape.dim[2];
    p.reverse = c->attr->gru.reverse;
    return p;
}

// State and gates of a series: 4 h floats. Widths of more than 3072 do not fit.
static size_t shared_of(const gru_arg &p)
{
    if (4 * p.h * sizeof(float) > 48 * 1024)
        ll_cuda_note_text(LLAP_EUNSUPPORTED, "a recurrent unit is wider than 3072");
    return 4 * (size_t)p.h * sizeof(float);
}

extern "C" void ll_cuda_gru(const ll_call *c)
{
    gru_arg p = gru_of(c, c->out[0]);
    p.x = real_of(c->in[0]);
    p.w = real_of(c->in[1]);
    p.bias = real_of(c->in[2]);
    p.first = real_of(c->in[3]);
    p.to_y = result_of(c, 0);
    p.to_gates = result_of(c, 1);
    ll_cuda_enter();
    if (p.batch * p.n * p.h == 0) return;
    enqueue(gru_kernel, blocks_for(p.batch, 1), BLOCK, shared_of(p), p);
    launched(c);
}

extern "C" void ll_cuda_gru_grad(const ll_call *c)
{
    gru_arg p = gru_of(c, c->in[2]);
    p.w = real_of(c->in[0]);
    p.first = real_of(c->in[1]);
    p.y = real_of(c->in[2]);
    p.gates = real_of(c->in[3]);
    p.dy = real_of(c->in[4]);
    p.dx = result_of(c, 0);
    p.dg = result_of(c, 1);
    p.dfirst = result_of(c, 2);
    ll_cuda_enter();
    if (p.batch * p.h == 0) return;
    enqueue(gru_grad_kernel, blocks_for(p.batch, 1), BLOCK, shared_of(p), p);
    launched(c);
}
