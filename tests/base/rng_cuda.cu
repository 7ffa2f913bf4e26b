/* The draws of base/rng/rng.h on the device, bit by bit those of the CPU. A plain program, so that
 * it runs on a machine that has nothing but a driver. Exit code 77: no device, skipped. */
#include "base/rng/rng.h"

#include <cstdio>
#include <cstring>
#include <vector>

__global__ void draw(ll_rng r, uint64_t first, int n, float *normal, float *uniform,
                     uint64_t *below)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    normal[i] = ll_rng_normal(&r, first + i);
    uniform[i] = ll_rng_uniform(&r, first + i);
    below[i] = ll_rng_below(&r, first + i, 1000003);
}

int main()
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("no CUDA device: skipped");
        return 77;
    }
    const int      n = 1 << 24;
    const uint64_t first = (1ull << 33) - 5;
    const ll_rng   r = ll_rng_make(42, LL_STREAM_TEST, 7, 3, 9);
    float         *normal, *uniform;
    uint64_t      *below;
    cudaMalloc(&normal, n * sizeof *normal);
    cudaMalloc(&uniform, n * sizeof *uniform);
    cudaMalloc(&below, n * sizeof *below);
    draw<<<(n + 255) / 256, 256>>>(r, first, n, normal, uniform, below);
    std::vector<float>    dn(n), du(n), hn(n), hu(n);
    std::vector<uint64_t> db(n);
    cudaMemcpy(dn.data(), normal, n * sizeof *normal, cudaMemcpyDeviceToHost);
    cudaMemcpy(du.data(), uniform, n * sizeof *uniform, cudaMemcpyDeviceToHost);
    const cudaError_t e = cudaMemcpy(db.data(), below, n * sizeof *below, cudaMemcpyDeviceToHost);
    if (e != cudaSuccess) {
        std::printf("CUDA: %s\n", cudaGetErrorString(e));
        return 1;
    }
    ll_rng_fill_normal(&r, first, n, hn.data());
    ll_rng_fill_uniform(&r, first, n, hu.data());
    long different = 0;
    for (int i = 0; i < n; i++) {
        different += std::memcmp(&hn[i], &dn[i], 4) != 0;
        different += std::memcmp(&hu[i], &du[i], 4) != 0;
        different += db[i] != ll_rng_below(&r, first + i, 1000003);
    }
    std::printf("%d normals, uniforms and whole numbers on both: %ld differ\n", n, different);
    return different != 0;
}
