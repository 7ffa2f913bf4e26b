// A step of the sampler: both predictions of a guided step become one.
#include "backend/cuda/object/common.cuh"

enum { GUIDED_BLOCK = 512 };

__global__ void __launch_bounds__(GUIDED_BLOCK)
    guided_kernel(const float *given, const float *free, const float *by, int64_t n, float *y)
{
    __shared__ double shared[32];
    const int64_t     first = blockIdx.x * n;
    const float       g = *by;
    const float      *c = given + first, *u = free + first;
    double            sum = 0.0, sum_given = 0.0, square = 0.0, square_given = 0.0;
    for (int64_t i = threadIdx.x; i < n; i += GUIDED_BLOCK) {
        sum += (double)(u[i] + g * (c[i] - u[i]));
        sum_given += (double)c[i];
    }
    const double mean = block_sum(sum, shared) / (double)n;
    const double mean_given = block_sum(sum_given, shared) / (double)n;
    for (int64_t i = threadIdx.x; i < n; i += GUIDED_BLOCK) {
        const double a = (double)(u[i] + g * (c[i] - u[i])) - mean, b = (double)c[i] - mean_given;
        square += a * a;
        square_given += b * b;
    }
    const double of = n > 1 ? 1.0 / (double)(n - 1) : 0.0;
    const float  deviation = (float)sqrt(block_sum(square, shared) * of);
    const float  deviation_given = (float)sqrt(block_sum(square_given, shared) * of);
    const float  scale = fmaxf(deviation_given, 1e-6f) / fmaxf(deviation, 1e-6f);
    for (int64_t i = threadIdx.x; i < n; i += GUIDED_BLOCK)
        y[first + i] = (u[i] + g * (c[i] - u[i]) - (float)mean) * scale + (float)mean_given;
}

extern "C" void llap_cuda_guided(const llap_call *c)
{
    const llap_shape &s = c->out[0].shape;
    const int64_t     n = s.dim[s.rank - 2] * s.dim[s.rank - 1], count = count_of(c->out[0]);
    llap_cuda_enter();
    if (count == 0) return;
    guided_kernel<<<(unsigned)(count / n), GUIDED_BLOCK, 0, LLAP_QUEUE>>>(
        real_of(c->in[0]), real_of(c->in[1]), real_of(c->in[2]), n, result_of(c, 0));
    launched(c);
}
