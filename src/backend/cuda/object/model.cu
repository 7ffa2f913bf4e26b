// Ops of this model: damped sinusoids, rotary positions, dropout, draws, whole numbers.
#include "backend/cuda/object/common.cuh"
#include "backend/cuda/object/mma.cuh"
#include "backend/random.h"

// -------- damped sinusoids: t [b,h], rho and omega [b,K] -> [b,h,2K] --------

struct basis_arg {
    int64_t      batch, h, k;
    const float *t, *rho, *omega;
    view_arg     at_t, at_rho, at_omega; // of their rows
};

static basis_arg basis_of(const ll_call *c)
{
    basis_arg p;
    p.h = width_of(c->in[0]);
    p.k = width_of(c->in[1]);
    p.batch = ll_view_rows(&c->in[0]);
    p.t = real_of(c->in[0]);
    p.rho = real_of(c->in[1]);
    p.omega = real_of(c->in[2]);
    p.at_t = arg_of(c->in[0]);
    p.at_rho = arg_of(c->in[1]);
    p.at_omega = arg_of(c->in[2]);
    return p;
}

__global__ void basis_kernel(const __grid_constant__ basis_arg p, float *y)
{
    behind();
    FOR_EACH(e, p.batch * p.h * p.k)
    {
        const uint32_t row = e / (uint32_t)p.k, b = row / (uint32_t)p.h;
        const int64_t  k = e - row * (uint32_t)p.k, j = row - b * (uint32_t)p.h;
        const float    t = p.t[offset_at(p.at_t, b, p.at_t.rank - 1) + j];
        const float    rho = p.rho[offset_at(p.at_rho, b, p.at_rho.rank - 1) + k];
        const float    omega = p.omega[offset_at(p.at_omega, b, p.at_omega.rank - 1) + k];
        float          s, cosine;
        turn_of(t, omega, &s, &cosine);
        const float decay = expf(-t * rho);
        float      *to = y + (int64_t)row * 2 * p.k + k;
        to[0] = decay * cosine;
        to[p.k] = decay * s;
    }
}

extern "C" void ll_cuda_basis(const ll_call *c)
{
    const basis_arg p = basis_of(c);
    ll_cuda_enter();
    if (p.batch * p.h * p.k == 0) return;
    enqueue(basis_kernel, blocks_for(p.batch * p.h * p.k), BLOCK, 0, p, result_of(c, 0));
    launched(c);
}

__global__ void basis_grad_kernel(const __grid_constant__ basis_arg p, const float *dy, float *drho,
                                  float *domega)
{
    behind();
    FOR_EACH(e, p.batch * p.k)
    {
        const uint32_t b = e / (uint32_t)p.k;
        const int64_t  k = e - b * (uint32_t)p.k;
        const float   *t = p.t + offset_at(p.at_t, b, p.at_t.rank - 1);
        const float    rho = p.rho[offset_at(p.at_rho, b, p.at_rho.rank - 1) + k];
        const float    omega = p.omega[offset_at(p.at_omega, b, p.at_omega.rank - 1) + k];
        double         r = 0.0, o = 0.0;
        for (int64_t j = 0; j < p.h; j++) {
            float s, cosine;
            turn_of(t[j], omega, &s, &cosine);
            const float decay = t[j] * expf(-t[j] * rho);
            const float da = dy[((b * p.h + j) * 2) * p.k + k],
                        db = dy[((b * p.h + j) * 2 + 1) * p.k + k];
            r -= (double)(decay * (da * cosine + db * s));
            o += (double)(decay * (db * cosine - da * s));
        }
        drho[e] = (float)r;
        domega[e] = (float)o;
    }
}

extern "C" void ll_cuda_basis_grad(const ll_call *c)
{
    const basis_arg p = basis_of(c);
    ll_cuda_enter();
    if (p.batch * p.k == 0) return;
    enqueue(basis_grad_kernel, blocks_for(p.batch * p.k, 64), 64, 0, p, real_of(c->in[3]),
            result_of(c, 0), result_of(c, 1));
    launched(c);
}

// -------- rotary positions: pairs of each head turn by t base^(-i / pairs) --------

struct rotary_arg {
    int64_t      rows, e, d;
    const float *x, *t;
    view_arg     at; // of x
    double       log_base, direction;
};

__global__ void rotary_kernel(const __grid_constant__ rotary_arg p, float *y)
{
    behind();
    const int64_t per_head = (p.d + 1) / 2, heads = p.e / p.d;
    FOR_EACH(n, p.rows * heads * per_head)
    {
        const uint32_t rest = n / (uint32_t)per_head, row = rest / (uint32_t)heads;
        const int64_t  h = rest - row * (uint32_t)heads, i = n - rest * (uint32_t)per_head;
        const float   *from = p.x + offset_at(p.at, row, p.at.rank - 1) + h * p.d + 2 * i;
        float         *to = y + (int64_t)row * p.e + h * p.d + 2 * i;
        const int64_t  pairs = p.d / 2;
        if (i >= pairs) { // the odd one out
            to[0] = from[0];
            continue;
        }
        double angle =
            (double)p.t[row] * exp(-(double)i / (double)pairs * p.log_base) * p.direction;
        float s, cosine;
        angle -= rint(angle * 0.15915494309189535) * 6.283185307179586;
        sincosf((float)angle, &s, &cosine);
        const float a = from[0], b = from[1];
        to[0] = a * cosine - b * s;
        to[1] = a * s + b * cosine;
    }
}

extern "C" void ll_cuda_rotary(const ll_call *c)
{
    rotary_arg p;
    p.rows = ll_view_rows(&c->in[0]);
    p.e = width_of(c->in[0]);
    p.d = p.e / c->attr->rotary.n_heads;
    p.x = real_of(c->in[0]);
    p.t = real_of(c->in[1]);
    p.at = arg_of(c->in[0]);
    p.log_base = log(c->attr->rotary.base);
    p.direction = c->attr->rotary.direction;
    ll_cuda_enter();
    if (p.rows * p.e == 0) return;
    enqueue(rotary_kernel, blocks_for(p.rows * p.e / 2), BLOCK, 0, p, result_of(c, 0));
    launched(c);
}

// -------- dropout --------

__device__ static inline float number_at(const float *x, int64_t i, bool half)
{
    return half ? __bfloat162float(((const __nv_bfloat16 *)x)[i]) : x[i];
}

__global__ void dropout_kernel(const float *x, const int32_t *state, float *y, int64_t n,
                               uint32_t id, float p, float scale, bool x_half, bool y_half)
{
    behind();
    const ll_rng rng = ll_drop_rng(state, id);
    FOR_EACH(block, (n + 3) / 4)
    {
        uint32_t bits[4];
        ll_rng_block(&rng, (uint64_t)block, bits);
        for (int k = 0; k < 4 && 4 * (int64_t)block + k < n; k++) {
            const int64_t i = 4 * (int64_t)block + k;
            const float   v = ll_uniform_of(bits[k]) >= p ? number_at(x, i, x_half) * scale : 0.0f;
            if (y_half) ((__nv_bfloat16 *)y)[i] = __float2bfloat16_rn(v);
            else y[i] = v;
        }
    }
}

extern "C" void ll_cuda_dropout(const ll_call *c)
{
    const int64_t n = count_of(c->out[0]);
    const double  p = c->attr->dropout.p;
    ll_cuda_enter();
    if (n == 0) return;
    enqueue(dropout_kernel, blocks_for((n + 3) / 4), BLOCK, 0, real_of(c->in[0]),
            (const int32_t *)c->in[1].data, result_of(c, 0), n, c->attr->dropout.id, (float)p,
            (float)(1.0 / (1.0 - p)), c->in[0].elem == LL_HALF, c->out[0].elem == LL_HALF);
    launched(c);
}

// -------- random numbers of rows, by name --------

struct draw_arg {
    int64_t        rows, width, groups; // of four numbers, of a row
    const int32_t *key, *id, *index;
    uint32_t       stream, sample, below;
    bool           normal;
};

__global__ void draw_kernel(const __grid_constant__ draw_arg p, float *y)
{
    behind();
    FOR_EACH(e, p.rows * p.groups)
    {
        const uint32_t row = e / (uint32_t)p.groups, group = e - row * (uint32_t)p.groups;
        const ll_rng rng = ll_draw_rng(p.key, p.id + 2 * (int64_t)p.index[row], p.stream, p.sample);
        uint32_t     bits[4];
        float        x[4];
        ll_rng_block(&rng, (uint64_t)group, bits);
        for (int k = 0; k < 4; k++) x[k] = ll_uniform_of(bits[k]);
        if (p.normal) {
            ll_normal_of(bits[0], bits[1], &x[0], &x[1]);
            ll_normal_of(bits[2], bits[3], &x[2], &x[3]);
        }
        for (int k = 0; k < 4 && p.below > 0; k++)
            x[k] = (float)ll_rng_below(&rng, 4 * (uint64_t)group + k, p.below);
        for (int k = 0; k < 4 && 4 * (int64_t)group + k < p.width; k++)
            y[(int64_t)row * p.width + 4 * (int64_t)group + k] = x[k];
    }
}

extern "C" void ll_cuda_draw(const ll_call *c)
{
    draw_arg p;
    p.rows = count_of(c->in[2]);
    p.width = c->attr->draw.width;
    p.groups = (p.width + 3) / 4;
    p.key = (const int32_t *)c->in[0].data;
    p.id = (const int32_t *)c->in[1].data;
    p.index = (const int32_t *)c->in[2].data;
    p.stream = c->attr->draw.stream;
    p.sample = c->attr->draw.sample;
    p.normal = c->attr->draw.normal;
    p.below = c->attr->draw.below;
    ll_cuda_enter();
    if (p.rows * p.width == 0) return;
    enqueue(draw_kernel, blocks_for(p.rows * p.groups), BLOCK, 0, p, result_of(c, 0));
    launched(c);
}

__global__ void whole_kernel(const float *x, int32_t *y, int64_t n)
{
    behind();
    FOR_EACH(i, n) { y[i] = (int32_t)x[i]; }
}

extern "C" void ll_cuda_whole(const ll_call *c)
{
    const int64_t n = count_of(c->out[0]);
    ll_cuda_enter();
    if (n == 0) return;
    enqueue(whole_kernel, blocks_for(n), BLOCK, 0, real_of(c->in[0]), (int32_t *)c->out[0].data, n);
    launched(c);
}
