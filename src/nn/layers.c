/* Linear layers, norms, convolution, Time2Vec. */
#include "nn/nn.h"

#include <math.h>
#include <stdio.h>

llap_tensor *llap_nn_linear_from(llap_graph *g, const char *name, llap_tensor *x, int64_t width,
                                 llap_init weight, llap_init bias)
{
    llap_scope_push(g, name);
    llap_tensor *w = llap_param(g, "weight", LLAP_SHAPE(width, llap_dim(x, -1)), weight);
    llap_tensor *b = llap_param(g, "bias", LLAP_SHAPE(width), bias);
    llap_tensor *y = llap_note(g, NULL, llap_linear(g, x, w, b));
    llap_scope_pop(g);
    return y;
}

/* Uniform on +-1/sqrt(fan_in), as PyTorch starts linear and convolution layers. */
static llap_init fan_in(int64_t n)
{
    return LLAP_INIT_UNIFORM(1.0 / sqrt((double)(n > 0 ? n : 1)));
}

void llap_nn_linear_params(llap_graph *g, const char *name, int64_t width, int64_t in,
                           llap_tensor **w, llap_tensor **b)
{
    const llap_init init = fan_in(in);
    llap_scope_push(g, name);
    *w = llap_param(g, "weight", LLAP_SHAPE(width, in), init);
    *b = llap_param(g, "bias", LLAP_SHAPE(width), init);
    llap_scope_pop(g);
}

llap_tensor *llap_nn_linear(llap_graph *g, const char *name, llap_tensor *x, int64_t width)
{
    const llap_init init = fan_in(llap_dim(x, -1));
    return llap_nn_linear_from(g, name, x, width, init, init);
}

llap_tensor *llap_nn_conv1d(llap_graph *g, const char *name, llap_tensor *x, int64_t width,
                            int64_t kernel)
{
    const int64_t   in = llap_dim(x, -1);
    const llap_init init = fan_in(in * kernel);
    llap_scope_push(g, name);
    llap_tensor *w = llap_param(g, "weight", LLAP_SHAPE(width, in, kernel), init);
    llap_tensor *b = llap_param(g, "bias", LLAP_SHAPE(width), init);
    llap_tensor *y = llap_note(g, NULL, llap_conv1d(g, x, w, b));
    llap_scope_pop(g);
    return y;
}

llap_tensor *llap_nn_norm(llap_graph *g, const char *name, llap_tensor *x)
{
    const llap_shape n = LLAP_SHAPE(llap_dim(x, -1));
    llap_scope_push(g, name);
    llap_tensor *w = llap_param(g, "weight", n, LLAP_INIT_ONE);
    llap_tensor *b = llap_param(g, "bias", n, LLAP_INIT_ZERO);
    llap_tensor *y = llap_note(g, NULL, llap_layer_norm(g, x, w, b, LLAP_NORM_EPS));
    llap_scope_pop(g);
    return y;
}

llap_tensor *llap_nn_norm0(llap_graph *g, llap_tensor *x)
{
    return llap_layer_norm(g, x, NULL, NULL, LLAP_NORM_EPS);
}

llap_nn_ada llap_nn_ada_of(llap_graph *g, const char *name, llap_tensor *cond, int64_t width)
{
    llap_tensor *part[2] = { NULL, NULL };
    if (cond == NULL) return (llap_nn_ada){ NULL, NULL };
    llap_scope_push(g, name);
    llap_scope_push(g, "to_ss");
    llap_tensor *ss =
        llap_nn_linear_from(g, "1", llap_silu(g, cond), 2 * width, LLAP_INIT_ZERO, LLAP_INIT_ZERO);
    llap_split_axis(g, llap_note(g, NULL, ss), -1, 2, part);
    llap_scope_pop(g);
    llap_scope_pop(g);
    return (llap_nn_ada){ part[0], part[1] };
}

/* One axis of length 1 for the tokens, and one for each sample axis of x. */
static llap_tensor *over_tokens(llap_graph *g, llap_tensor *s, llap_tensor *x)
{
    while (s != NULL && llap_shape_of(s).rank < llap_shape_of(x).rank) s = llap_unsqueeze(g, s, -2);
    return s;
}

llap_tensor *llap_nn_ada_apply(llap_graph *g, llap_tensor *x, llap_nn_ada ada)
{
    if (ada.scale == NULL) return llap_nn_norm0(g, x);
    return llap_modulated_norm(g, x, over_tokens(g, ada.scale, x), over_tokens(g, ada.shift, x),
                               LLAP_NORM_EPS);
}

llap_tensor *llap_nn_ada_norm(llap_graph *g, const char *name, llap_tensor *x, llap_tensor *cond)
{
    const llap_nn_ada ada = llap_nn_ada_of(g, name, cond, llap_dim(x, -1));
    return llap_note(g, name, llap_nn_ada_apply(g, x, ada));
}

/* x / max(|x|, 1e-12) */
static llap_tensor *unit_vector(llap_graph *g, llap_tensor *x)
{
    llap_tensor *norm = llap_sqrt(g, llap_sum(g, llap_square(g, x), LLAP_ALL_AXES));
    return llap_div(g, x, llap_maximum(g, norm, llap_full(g, LLAP_SCALAR, 1e-12)));
}

/* The spectral norm of w by its state u, v. With iterate, one power iteration comes first, where
 * there is something to iterate for: used is 1, or 0 to leave u and v alone; NULL: 1. */
static llap_tensor *spectral_norm(llap_graph *g, llap_tensor *w, bool iterate, llap_tensor *used)
{
    const int64_t width = llap_dim(w, 0), in = llap_dim(w, 1);
    llap_tensor  *state[] = { llap_state(g, "weight_u", LLAP_SHAPE(width), LLAP_INIT_NORMAL(1.0)),
                              llap_state(g, "weight_v", LLAP_SHAPE(in), LLAP_INIT_NORMAL(1.0)) };
    /* What an earlier call in this graph left, or the stored vectors; as columns. */
    llap_tensor *u = llap_reshape(g, llap_updated(g, state[0]), LLAP_SHAPE(width, 1));
    llap_tensor *v = llap_reshape(g, llap_updated(g, state[1]), LLAP_SHAPE(in, 1));
    if (iterate) {
        llap_tensor *fixed = llap_detach(g, w), *old[] = { u, v };
        v = unit_vector(g, llap_matmul(g, fixed, true, u, false));
        u = unit_vector(g, llap_matmul(g, fixed, false, v, false));
        if (used != NULL) {
            llap_tensor *not_used = llap_affine(g, used, -1.0, 1.0);
            u = llap_add(g, llap_mul(g, u, used), llap_mul(g, old[0], not_used));
            v = llap_add(g, llap_mul(g, v, used), llap_mul(g, old[1], not_used));
        }
        llap_update(g, state[0], llap_reshape(g, u, LLAP_SHAPE(width)));
        llap_update(g, state[1], llap_reshape(g, v, LLAP_SHAPE(in)));
    }
    llap_tensor *wv = llap_matmul(g, w, false, llap_detach(g, v), false);
    return llap_sum(g, llap_mul(g, llap_detach(g, u), wv), LLAP_ALL_AXES);
}

llap_tensor *llap_nn_spectral_linear(llap_graph *g, const char *name, llap_tensor *x, int64_t width,
                                     llap_init weight, llap_init bias, bool iterate)
{
    llap_scope_push(g, name);
    llap_tensor *w = llap_param(g, "weight_orig", LLAP_SHAPE(width, llap_dim(x, -1)), weight);
    llap_tensor *b = llap_param(g, "bias", LLAP_SHAPE(width), bias);
    llap_tensor *sigma = llap_note(g, "sigma", spectral_norm(g, w, iterate, NULL));
    llap_tensor *wn = llap_note(g, "weight_sn", llap_div(g, w, sigma));
    llap_tensor *y = llap_note(g, NULL, llap_linear(g, x, wn, b));
    llap_scope_pop(g);
    return y;
}

/* 1 if any of x (zeros and ones) is 1, else 0; or number i of known, if that is not NULL; [1,1] */
static llap_tensor *any_of(llap_graph *g, llap_tensor *x, llap_tensor *known, int i)
{
    const llap_shape one = LLAP_SHAPE(1, 1);
    if (known != NULL) return llap_reshape(g, llap_slice(g, known, 0, i, 1), one);
    llap_tensor *n = llap_reshape(g, llap_sum(g, x, LLAP_ALL_AXES), one);
    return llap_detach(g, llap_at_least(g, n, llap_full(g, LLAP_SCALAR, 0.5)));
}

llap_tensor *llap_nn_spectral_linear_of(llap_graph *g, const char *name, llap_tensor *x,
                                        int64_t width, llap_init weight, llap_init bias,
                                        llap_tensor *first, llap_tensor *any)
{
    llap_scope_push(g, name);
    llap_tensor *w = llap_param(g, "weight_orig", LLAP_SHAPE(width, llap_dim(x, -1)), weight);
    llap_tensor *b = llap_param(g, "bias", LLAP_SHAPE(width), bias);
    llap_tensor *second = llap_affine(g, first, -1.0, 1.0), *one = llap_full(g, LLAP_SCALAR, 1.0);
    llap_tensor *sigma[] = { spectral_norm(g, w, true, any_of(g, first, any, 0)), NULL };
    sigma[1] = spectral_norm(g, w, true, any_of(g, second, any, 1));
    for (int i = 0; i < 2; i++) sigma[i] = llap_reshape(g, sigma[i], LLAP_SCALAR);
    llap_tensor *scale = llap_add(g, llap_mul(g, first, llap_div(g, one, sigma[0])),
                                  llap_mul(g, second, llap_div(g, one, sigma[1])));
    llap_tensor *y = llap_mul(g, llap_linear(g, x, w, NULL), scale);
    y = llap_note(g, NULL, llap_add(g, y, b));
    llap_scope_pop(g);
    return y;
}

llap_tensor *llap_nn_mlp(llap_graph *g, const char *name, llap_tensor *x, const llap_nn_mlp_opts *o)
{
    int  layer = 0; /* in the Sequential */
    char number[12];
    llap_scope_push(g, name);
    if (o->norm) {
        x = llap_nn_norm(g, "0", x);
        layer++;
    }
    snprintf(number, sizeof number, "%d", layer++);
    x = llap_gelu(g, llap_nn_linear(g, number, x, o->hidden));
    layer++;
    if (o->drops) {
        x = llap_dropout(g, x, o->dropout);
        layer++;
    }
    snprintf(number, sizeof number, "%d", layer);
    const llap_init usual = fan_in(o->hidden), small = LLAP_INIT_NORMAL(o->last_std);
    const bool      is_small = o->last_std > 0.0;
    x = llap_nn_linear_from(g, number, x, o->width, is_small ? small : usual,
                            is_small ? LLAP_INIT_ZERO : usual);
    llap_note(g, NULL, x);
    llap_scope_pop(g);
    return x;
}

llap_tensor *llap_nn_time2vec(llap_graph *g, const char *name, llap_tensor *u, int64_t d)
{
    llap_scope_push(g, name);
    llap_tensor *w = llap_param(g, "w", LLAP_SHAPE(d), LLAP_INIT_NORMAL(1.0));
    llap_tensor *b = llap_param(g, "b", LLAP_SHAPE(d), LLAP_INIT_ZERO);
    llap_tensor *p = llap_add(g, llap_mul(g, llap_unsqueeze(g, u, -1), w), b);
    llap_tensor *parts[] = { llap_slice(g, p, -1, 0, 1),
                             llap_sin(g, llap_slice(g, p, -1, 1, d - 1)) };
    llap_tensor *y = llap_note(g, NULL, llap_concat(g, parts, 2, -1));
    llap_scope_pop(g);
    return y;
}
