// Layer norm's operands as kernels see them.
#ifndef LL_BACKEND_CUDA_OBJECT_NORM_CUH
#define LL_BACKEND_CUDA_OBJECT_NORM_CUH

#include "backend/cuda/object/common.cuh"

// Weight and bias: row r of x uses their row r / run.
struct norm_arg {
    int64_t      rows, n, run;
    const float *w, *b; // NULL: none
    view_arg     at;    // of their rows
    view_arg     at_b;
    float        offset;
    double       eps;
};

norm_arg ll_cuda_norm_of(const ll_call *c, const ll_view &x, const ll_view &w, const ll_view &b);

// The gradient for rows of a few widths; see norm_grad.cu.
bool   ll_cuda_norm_grad_fits(const ll_call *c); // by its shapes
size_t ll_cuda_norm_grad_fours_bytes(const ll_call *c);
bool   ll_cuda_norm_grad_fours(const ll_call *c); // false: not for this one

#endif
