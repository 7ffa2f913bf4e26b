// The order of an epoch, that of ll_rng_permute: step k of that shuffle swaps what lies at places
// k and at[k] <= k, one step after the other. What lies at place q before step s is found without
// walking the steps: the last one before s that chose q, if any did, put its own number there; if
// none, q has what its own step brought, which lay at at[q] before step q. Such a way is about
// log n places long, and so are the lists of the steps that chose a place.
#include "backend/cuda/object/common.cuh"
#include "base/rng/rng.h"

struct order_arg {
    int64_t  n, width;
    ll_rng   rng;
    int32_t *at, *next, *first; // [n]; the steps that chose a place, a list from `first` on
};

__global__ void choose_kernel(const __grid_constant__ order_arg p)
{
    behind();
    FOR_EACH(k, p.n)
    {
        p.at[k] = (int32_t)ll_rng_below(&p.rng, k, (uint64_t)k + 1);
        p.next[k] = atomicExch(&p.first[p.at[k]], (int32_t)k);
    }
}

// The last step before s that chose q; -1: none. The lists' own order does not matter.
__device__ static int32_t last_before(const order_arg &p, int32_t q, int32_t s)
{
    int32_t last = -1;
    for (int32_t k = p.first[q]; k >= 0; k = p.next[k])
        if (k < s && k > last) last = k;
    return last;
}

__global__ void order_kernel(const __grid_constant__ order_arg p, uint32_t *out)
{
    behind();
    FOR_EACH(place, p.n)
    {
        int32_t q = (int32_t)place, found = last_before(p, q, (int32_t)p.n);
        while (found < 0) {
            const int32_t s = q;
            q = p.at[q];
            found = last_before(p, q, s);
        }
        for (int64_t i = 0; i < p.width; i++)
            out[place * p.width + i] = (uint32_t)(found * p.width + i);
    }
}

__global__ void count_kernel(uint32_t *out, int64_t n)
{
    behind();
    FOR_EACH(i, n) { out[i] = i; }
}

void ll_cuda_order(uint32_t *out, int64_t n, int64_t width, const ll_rng *r, int32_t *work)
{
    ll_cuda_enter();
    if (n * width == 0) return;
    if (r == NULL) {
        enqueue(count_kernel, blocks_for(n * width), BLOCK, 0, out, n * width);
    } else {
        const order_arg p = { n, width, *r, work, work + n, work + 2 * n };
        ll_cuda_break();
        ll_cuda_note(cudaMemsetAsync(p.first, 0xff, (size_t)n * sizeof *p.first, LL_QUEUE),
                     "order");
        enqueue(choose_kernel, blocks_for(n), BLOCK, 0, p);
        enqueue(order_kernel, blocks_for(n), BLOCK, 0, p, out);
    }
    ll_cuda_note(cudaGetLastError(), "order");
}
