// Layer norm's operands as kernels see them.
#ifndef LLAP_BACKEND_CUDA_OBJECT_NORM_CUH
#define LLAP_BACKEND_CUDA_OBJECT_NORM_CUH

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

norm_arg llap_cuda_norm_of(const llap_call *c, const llap_view &x, const llap_view &w,
                           const llap_view &b);

// The gradient for rows of a few widths; see norm_grad.cu.
bool   llap_cuda_norm_grad_fits(const llap_call *c); // by its shapes
size_t llap_cuda_norm_grad_fours_bytes(const llap_call *c);
bool   llap_cuda_norm_grad_fours(const llap_call *c); // false: not for this one

#endif
