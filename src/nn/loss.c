/* Losses and their weights. */
#include "nn/nn.h"

#include <assert.h>

ll_tensor *ll_nn_mean_in(ll_graph *g, ll_tensor *x, ll_tensor *m, ll_tensor *all, unsigned axes)
{
    if (all == NULL) return ll_masked_mean(g, x, m, axes);
    ll_shape shape = ll_shape_of(x);
    assert(x == NULL || shape.rank >= 1);
    shape.dim[0] = ll_dim(all, 0);
    ll_tensor *n = ll_sum(g, ll_expand(g, all, shape), axes);
    return ll_div(g, ll_masked_sum(g, x, m, axes), ll_maximum(g, n, ll_full(g, LL_SCALAR, 1.0)));
}

ll_tensor *ll_nn_mse_in(ll_graph *g, ll_tensor *x, ll_tensor *target, ll_tensor *m, ll_tensor *all,
                        unsigned axes)
{
    /* Masked before squaring: what is hidden may be NaN, and its gradient is 0. */
    ll_tensor *error = ll_mask(g, ll_sub(g, x, target), m);
    return ll_nn_mean_in(g, ll_square(g, error), m, all, axes);
}

ll_tensor *ll_nn_masked_mse(ll_graph *g, ll_tensor *x, ll_tensor *target, ll_tensor *m,
                            unsigned axes)
{
    return ll_nn_mse_in(g, x, target, m, NULL, axes);
}

ll_tensor *ll_nn_min_snr(ll_graph *g, ll_tensor *alpha_bar, double gamma, ll_prediction prediction)
{
    ll_tensor *q = ll_clamp(g, ll_detach(g, alpha_bar), 1e-6, 1.0 - 1e-6);
    ll_tensor *snr = ll_div(g, q, ll_affine(g, q, -1.0, 1.0));
    ll_tensor *cap = ll_full(g, LL_SCALAR, gamma > 0.0 ? gamma : 0.0);
    ll_tensor *c = ll_minimum(g, snr, cap);
    if (prediction == LL_PREDICT_X0) return c;
    if (prediction == LL_PREDICT_V) return ll_div(g, c, ll_affine(g, snr, 1.0, 1.0));
    return ll_div(g, c, ll_maximum(g, snr, ll_full(g, LL_SCALAR, 1e-8)));
}
