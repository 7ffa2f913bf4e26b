// Large products whose operands are bf16, or few enough to be rounded first (weights, narrow rows),
// by cuBLASLt: layers in training and their gradients. Long inner lengths are cut into a batch
// whose results are added in order.
#include "backend/cuda/object/mma.cuh"
#include "backend/cuda/object/product.cuh"

#define LEAST_FLOPS 2e8
#define LEAST_OF_LAYER 4e8 // with a bias: our own kernels add it as they go

enum { ARRAYS = 3 }; // two operands, and a bias

struct round_arg { // one after the other; n 0: none
    const float   *from[ARRAYS];
    __nv_bfloat16 *to[ARRAYS];
    int64_t        n[ARRAYS]; // multiples of four
};

__global__ void round_kernel(const __grid_constant__ round_arg p)
{
    behind();
    FOR_EACH(i, (p.n[0] + p.n[1] + p.n[2]) / 4)
    {
        int64_t at = 4 * (int64_t)i;
        int     k = 0;
        while (at >= p.n[k]) at -= p.n[k++];
        store4(p.to[k] + at, *(const float4 *)(p.from[k] + at));
    }
}

// A dense operand of one matrix that can be rounded: its numbers, else 0.
static int64_t numbers_of(const product &p, const float *x, int64_t ld, int64_t rows,
                          int64_t columns)
{
    return p.n_batch == 0 && ld == columns && columns % 8 == 0 && ((uintptr_t)x & 15) == 0
               ? rows * columns
               : 0;
}

// Both operands as bf16 in *out. False: they lie otherwise, or are too many.
static bool round_operands(const ll_call *c, const product &p, product *out)
{
    round_arg      r = {};
    __nv_bfloat16 *to = (__nv_bfloat16 *)ll_cuda_rounded_of(c);
    *out = p;
    if (!p.a_half) {
        r.from[0] = p.a;
        r.to[0] = to;
        r.n[0] = numbers_of(p, p.a, p.lda, p.ta ? p.k : p.m, p.ta ? p.m : p.k);
        out->a = (const float *)to;
        out->a_half = true;
        if (r.n[0] == 0) return false;
    }
    if (!p.b_half) {
        r.from[1] = p.b;
        r.to[1] = to + (r.n[0] + 127) / 128 * 128;
        r.n[1] = numbers_of(p, p.b, p.ldb, p.tb ? p.n : p.k, p.tb ? p.k : p.n);
        out->b = (const float *)r.to[1];
        out->b_half = true;
        if (r.n[1] == 0) return false;
    }
    if (p.bias != NULL && p.y_half) { // cuBLASLt wants it of the result's kind
        r.from[2] = p.bias;
        r.to[2] = to + (r.n[0] + r.n[1] + 255) / 128 * 128;
        r.n[2] = p.n;
        out->bias = (const float *)r.to[2];
        if (((uintptr_t)p.bias & 15) != 0) return false;
    }
    const int64_t n = r.n[0] + r.n[1] + r.n[2];
    if ((n + 512) * 2 > LL_ROUNDED_BYTES) return false;
    if (n > 0) enqueue(round_kernel, blocks_for(n / 4), BLOCK, 0, r);
    return true;
}

static const float *moved(const float *x, int64_t numbers)
{
    return (const float *)((const __nv_bfloat16 *)x + numbers);
}

// Few results of a long inner length: pieces of it as a batch.
static bool by_cuts(const ll_call *c, const product &p, bool *done)
{
    const int64_t n = p.m * p.n, most = LL_PARTIAL_BYTES / (int64_t)sizeof(float) / n - 1;
    int64_t       cuts = p.k / 1024 < 64 ? p.k / 1024 : 64;
    cuts = cuts < most ? cuts : most;
    *done = false;
    if (p.n_batch > 0 || p.y_half || cuts < 4 || p.bias != NULL || p.residual != NULL) return false;
    product       piece = p;
    const int64_t each = p.k / cuts / 8 * 8, rest = p.k - each * cuts;
    float        *partial = ll_cuda_partial_of(c);
    piece.k = each;
    piece.n_batch = 1;
    piece.batch[0] = cuts;
    piece.a_step[0] = each * (p.ta ? p.lda : 1);
    piece.b_step[0] = each * (p.tb ? 1 : p.ldb);
    piece.y = partial;
    *done = ll_cuda_product_lt(c, piece);
    if (*done && rest > 0) {
        piece.a = moved(p.a, cuts * piece.a_step[0]);
        piece.b = moved(p.b, cuts * piece.b_step[0]);
        piece.y = partial + cuts * n;
        piece.k = rest;
        piece.n_batch = 0;
        *done = ll_cuda_product_lt(c, piece);
    }
    if (*done) ll_cuda_add_cuts(partial, cuts + (rest > 0), n, p.y);
    return true;
}

static bool starts_at_sixteens(const product &p)
{
    bool ok = ((uintptr_t)p.a & 15) == 0 && ((uintptr_t)p.b & 15) == 0 && p.lda % 8 == 0 &&
              p.ldb % 8 == 0 && p.n % 8 == 0;
    for (int i = 0; i < p.n_batch; i++) ok = ok && p.a_step[i] % 8 == 0 && p.b_step[i] % 8 == 0;
    return ok;
}

bool ll_cuda_product_large(const ll_call *c, const product &p)
{
    const double flops = 2.0 * (double)p.m * (double)p.n * (double)p.k * (double)batch_count(p);
    product      rounded;
    bool         done;
    if (flops < (p.bias != NULL ? LEAST_OF_LAYER : LEAST_FLOPS) || p.n_batch > 1 || p.gelu ||
        p.norm || (p.residual != NULL && (p.y_half || p.repeat != 0)) || !starts_at_sixteens(p) ||
        !round_operands(c, p, &rounded))
        return false;
    return by_cuts(c, rounded, &done) ? done : ll_cuda_product_lt(c, rounded);
}
