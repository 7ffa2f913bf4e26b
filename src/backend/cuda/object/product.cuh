// A matrix product as all kernels see it: y = op(a) op(b) for each item of a batch.
#ifndef LL_BACKEND_CUDA_OBJECT_PRODUCT_CUH
#define LL_BACKEND_CUDA_OBJECT_PRODUCT_CUH

#include "backend/cuda/object/common.cuh"

struct product {
    int64_t      m, n, k;
    const float *a, *b; // a: [m,k], or [k,m] with ta; b: [k,n], or [n,k] with tb
    int64_t      lda, ldb;
    bool         ta, tb;
    float       *y;       // dense [batch.., m, n]
    int          n_batch; // axes
    int64_t      batch[LL_MAX_RANK], a_step[LL_MAX_RANK], b_step[LL_MAX_RANK];
    // of a linear layer: y = gelu?(a b + bias) + residual
    const float *bias, *residual; // [n], [m,n]; NULL: none
    bool         gelu;
    // Row r of the result takes row r % repeat of the residual's group r / group; 0: its own.
    int64_t repeat, group, group_step;
    // and a norm of the finished rows: z = (y - mean) / deviation (gain + offset) + shift
    bool         norm, z_half;
    float       *z;
    const float *gain, *shift; // row r uses their row r / run; NULL: none
    view_arg     at_gain, at_shift;
    int64_t      run;
    float        offset, eps;
    bool         a_half, b_half, y_half; // bf16 in memory
};

// Rows of v: some inner axes that lie in row order, then axes that repeat, then one step from group
// to group. False: they lie otherwise.
bool ll_cuda_find_repeat(const ll_view &v, int64_t *repeat, int64_t *group, int64_t *group_step);

// Of LAYERS: whether there is a kernel for the run, and which operands may be bf16.
bool ll_cuda_layers_take(const ll_call *c);
bool ll_cuda_layers_half(const ll_call *c, int k);

product ll_cuda_matmul_of(const ll_call *c);
product ll_cuda_linear_of(const ll_call *c);
// True when it was small or empty enough to be done with.
bool ll_cuda_product_trivial(const ll_call *c, const product &p);
void ll_cuda_product_plain(const ll_call *c, const product &p); // any strides, slow
void ll_cuda_product_bf16(const ll_call *c, const product &p);
bool ll_cuda_product_wgmma(const ll_call *c, const product &p); // false: not for this one
bool ll_cuda_product_split(const ll_call *c, const product &p); // floats; likewise

// Small ones of floats of the same form; 0: not small. As many of the n as go into one launch.
int ll_cuda_small_product(const ll_call *c);
int ll_cuda_products(const ll_call *c, int n);

// Large ones of bf16 by cuBLASLt; false: not for this one.
bool ll_cuda_product_large(const ll_call *c, const product &p);

// cuBLASLt for one product with at most one axis of batch; false: it has none for it.
bool ll_cuda_product_lt(const ll_call *c, const product &p);

// Parts of a product's scratch memory: partial results, and operands rounded to bf16.
enum { LL_PARTIAL_BYTES = 16 << 20, LL_ROUNDED_BYTES = 16 << 20 };
float *ll_cuda_partial_of(const ll_call *c);
void  *ll_cuda_rounded_of(const ll_call *c);
size_t ll_cuda_product_bytes(); // all of it
// y [n] = the sum of partial [cuts, n], in order
void ll_cuda_add_cuts(const float *partial, int64_t cuts, int64_t n, float *y);

// Whether a norm behind such a product is worth computing with it: many rows of one tile's width.
bool ll_cuda_product_norm_fits(int64_t m, int64_t n, int64_t k);

// Pieces of the inner length whose results are added in order, so that they are the same from run
// to run.
struct cut_arg {
    int64_t n, each; // pieces, and how long they are
    float  *partial; // [n, batch m n]; NULL: not cut
    int64_t total;
};
// For a result of so many tiles; pieces are multiples of depth.
cut_arg ll_cuda_cut_of(const ll_call *c, const product &p, int64_t tiles, int64_t depth);
void    ll_cuda_join_cuts(const product &p, const cut_arg &cut);

// Where row r of the result finds its residual.
__device__ static inline int64_t residual_row(const product &p, int64_t row)
{
    if (p.repeat == 0) return row * p.n;
    const uint32_t r = (uint32_t)row;
    return (int64_t)(r / (uint32_t)p.group) * p.group_step +
           (int64_t)(r % (uint32_t)p.repeat) * p.n;
}

static inline int64_t batch_count(const product &p)
{
    int64_t n = 1;
    for (int i = 0; i < p.n_batch; i++) n *= p.batch[i];
    return n;
}

#endif
