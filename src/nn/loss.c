/* Losses and their weights. */
#include "nn/nn.h"

llap_tensor *llap_nn_mse(llap_graph *g, llap_tensor *x, llap_tensor *target)
{
    return llap_mean(g, llap_square(g, llap_sub(g, x, target)), LLAP_ALL_AXES);
}

llap_tensor *llap_nn_mean_in(llap_graph *g, llap_tensor *x, llap_tensor *m, llap_tensor *all,
                             unsigned axes)
{
    if (all == NULL) return llap_masked_mean(g, x, m, axes);
    llap_shape shape = llap_shape_of(x);
    shape.dim[0] = llap_dim(all, 0);
    llap_tensor *n = llap_sum(g, llap_expand(g, all, shape), axes);
    return llap_div(g, llap_masked_sum(g, x, m, axes),
                    llap_maximum(g, n, llap_full(g, LLAP_SCALAR, 1.0)));
}

llap_tensor *llap_nn_mse_in(llap_graph *g, llap_tensor *x, llap_tensor *target, llap_tensor *m,
                            llap_tensor *all, unsigned axes)
{
    /* Masked before squaring: what is hidden may be NaN, and its gradient is 0. */
    llap_tensor *error = llap_mask(g, llap_sub(g, x, target), m);
    return llap_nn_mean_in(g, llap_square(g, error), m, all, axes);
}

llap_tensor *llap_nn_masked_mse(llap_graph *g, llap_tensor *x, llap_tensor *target, llap_tensor *m,
                                unsigned axes)
{
    return llap_nn_mse_in(g, x, target, m, NULL, axes);
}

llap_tensor *llap_nn_min_snr(llap_graph *g, llap_tensor *alpha_bar, double gamma,
                             llap_prediction prediction)
{
    llap_tensor *q = llap_clamp(g, llap_detach(g, alpha_bar), 1e-6, 1.0 - 1e-6);
    llap_tensor *snr = llap_div(g, q, llap_affine(g, q, -1.0, 1.0));
    llap_tensor *cap = llap_full(g, LLAP_SCALAR, gamma > 0.0 ? gamma : 0.0);
    llap_tensor *c = llap_minimum(g, snr, cap);
    if (prediction == LLAP_PREDICT_X0) return c;
    if (prediction == LLAP_PREDICT_V) return llap_div(g, c, llap_affine(g, snr, 1.0, 1.0));
    return llap_div(g, c, llap_maximum(g, snr, llap_full(g, LLAP_SCALAR, 1e-8)));
}
