/* Linear layers, norms, convolution, Time2Vec. */
#include "nn/nn.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

ll_tensor *ll_nn_linear_from(ll_graph *g, const char *name, ll_tensor *x, int64_t width,
                             ll_init weight, ll_init bias)
{
    ll_scope_push(g, name);
    ll_tensor *w = ll_param(g, "weight", LL_SHAPE(width, ll_dim(x, -1)), weight);
    ll_tensor *b = ll_param(g, "bias", LL_SHAPE(width), bias);
    ll_tensor *y = ll_note(g, NULL, ll_linear(g, x, w, b));
    ll_scope_pop(g);
    return y;
}

/* Uniform on +-1/sqrt(fan_in), as PyTorch starts linear and convolution layers. */
static ll_init fan_in(int64_t n) { return LL_INIT_UNIFORM(1.0 / sqrt((double)(n > 0 ? n : 1))); }

void ll_nn_linear_params(ll_graph *g, const char *name, int64_t width, int64_t in, ll_tensor **w,
                         ll_tensor **b)
{
    const ll_init init = fan_in(in);
    ll_scope_push(g, name);
    *w = ll_param(g, "weight", LL_SHAPE(width, in), init);
    *b = ll_param(g, "bias", LL_SHAPE(width), init);
    ll_scope_pop(g);
}

ll_tensor *ll_nn_linear(ll_graph *g, const char *name, ll_tensor *x, int64_t width)
{
    const ll_init init = fan_in(ll_dim(x, -1));
    return ll_nn_linear_from(g, name, x, width, init, init);
}

ll_tensor *ll_nn_conv1d(ll_graph *g, const char *name, ll_tensor *x, int64_t width, int64_t kernel)
{
    const int64_t in = ll_dim(x, -1);
    const ll_init init = fan_in(in * kernel);
    ll_scope_push(g, name);
    ll_tensor *w = ll_param(g, "weight", LL_SHAPE(width, in, kernel), init);
    ll_tensor *b = ll_param(g, "bias", LL_SHAPE(width), init);
    ll_tensor *y = ll_note(g, NULL, ll_conv1d(g, x, w, b));
    ll_scope_pop(g);
    return y;
}

ll_tensor *ll_nn_norm(ll_graph *g, const char *name, ll_tensor *x)
{
    const ll_shape n = LL_SHAPE(ll_dim(x, -1));
    ll_scope_push(g, name);
    ll_tensor *w = ll_param(g, "weight", n, LL_INIT_ONE);
    ll_tensor *b = ll_param(g, "bias", n, LL_INIT_ZERO);
    ll_tensor *y = ll_note(g, NULL, ll_layer_norm(g, x, w, b, LL_NORM_EPS));
    ll_scope_pop(g);
    return y;
}

ll_tensor *ll_nn_norm0(ll_graph *g, ll_tensor *x)
{
    return ll_layer_norm(g, x, NULL, NULL, LL_NORM_EPS);
}

ll_nn_ada ll_nn_ada_of(ll_graph *g, const char *name, ll_tensor *cond, int64_t width)
{
    ll_tensor *part[2] = { NULL, NULL };
    if (cond == NULL) return (ll_nn_ada){ NULL, NULL };
    ll_scope_push(g, name);
    ll_scope_push(g, "to_ss");
    ll_tensor *ss =
        ll_nn_linear_from(g, "1", ll_silu(g, cond), 2 * width, LL_INIT_ZERO, LL_INIT_ZERO);
    ll_split_axis(g, ll_note(g, NULL, ss), -1, 2, part);
    ll_scope_pop(g);
    ll_scope_pop(g);
    return (ll_nn_ada){ part[0], part[1] };
}

/* One axis of length 1 for the tokens, and one for each sample axis of x. */
static ll_tensor *over_tokens(ll_graph *g, ll_tensor *s, ll_tensor *x)
{
    while (s != NULL && ll_shape_of(s).rank < ll_shape_of(x).rank) s = ll_unsqueeze(g, s, -2);
    return s;
}

ll_tensor *ll_nn_ada_apply(ll_graph *g, ll_tensor *x, ll_nn_ada ada)
{
    if (ada.scale == NULL) return ll_nn_norm0(g, x);
    return ll_modulated_norm(g, x, over_tokens(g, ada.scale, x), over_tokens(g, ada.shift, x),
                             LL_NORM_EPS);
}

ll_tensor *ll_nn_ada_norm(ll_graph *g, const char *name, ll_tensor *x, ll_tensor *cond)
{
    const ll_nn_ada ada = ll_nn_ada_of(g, name, cond, ll_dim(x, -1));
    return ll_note(g, name, ll_nn_ada_apply(g, x, ada));
}

/* x / max(|x|, 1e-12) */
static ll_tensor *unit_vector(ll_graph *g, ll_tensor *x)
{
    ll_tensor *norm = ll_sqrt(g, ll_sum(g, ll_square(g, x), LL_ALL_AXES));
    return ll_div(g, x, ll_maximum(g, norm, ll_full(g, LL_SCALAR, 1e-12)));
}

/* The spectral norm of w by its state u, v. With iterate, one power iteration comes first, where
 * there is something to iterate for: used is 1, or 0 to leave u and v alone; NULL: 1. */
static ll_tensor *spectral_norm(ll_graph *g, ll_tensor *w, bool iterate, ll_tensor *used)
{
    const int64_t width = ll_dim(w, 0), in = ll_dim(w, 1);
    ll_tensor    *state[] = { ll_state(g, "weight_u", LL_SHAPE(width), LL_INIT_NORMAL(1.0)),
                              ll_state(g, "weight_v", LL_SHAPE(in), LL_INIT_NORMAL(1.0)) };
    /* What an earlier call in this graph left, or the stored vectors; as columns. */
    ll_tensor *u = ll_reshape(g, ll_updated(g, state[0]), LL_SHAPE(width, 1));
    ll_tensor *v = ll_reshape(g, ll_updated(g, state[1]), LL_SHAPE(in, 1));
    if (iterate) {
        ll_tensor *fixed = ll_detach(g, w), *old[] = { u, v };
        v = unit_vector(g, ll_matmul(g, fixed, true, u, false));
        u = unit_vector(g, ll_matmul(g, fixed, false, v, false));
        if (used != NULL) {
            ll_tensor *not_used = ll_affine(g, used, -1.0, 1.0);
            u = ll_add(g, ll_mul(g, u, used), ll_mul(g, old[0], not_used));
            v = ll_add(g, ll_mul(g, v, used), ll_mul(g, old[1], not_used));
        }
        ll_update(g, state[0], ll_reshape(g, u, LL_SHAPE(width)));
        ll_update(g, state[1], ll_reshape(g, v, LL_SHAPE(in)));
    }
    ll_tensor *wv = ll_matmul(g, w, false, ll_detach(g, v), false);
    return ll_sum(g, ll_mul(g, ll_detach(g, u), wv), LL_ALL_AXES);
}

ll_tensor *ll_nn_spectral_linear(ll_graph *g, const char *name, ll_tensor *x, int64_t width,
                                 ll_init weight, ll_init bias, bool iterate)
{
    ll_scope_push(g, name);
    ll_tensor *w = ll_param(g, "weight_orig", LL_SHAPE(width, ll_dim(x, -1)), weight);
    ll_tensor *b = ll_param(g, "bias", LL_SHAPE(width), bias);
    ll_tensor *sigma = ll_note(g, "sigma", spectral_norm(g, w, iterate, NULL));
    ll_tensor *wn = ll_note(g, "weight_sn", ll_div(g, w, sigma));
    ll_tensor *y = ll_note(g, NULL, ll_linear(g, x, wn, b));
    ll_scope_pop(g);
    return y;
}

/* 1 if any of x (zeros and ones) is 1, else 0; or number i of known, if that is not NULL; [1,1] */
static ll_tensor *any_of(ll_graph *g, ll_tensor *x, ll_tensor *known, int i)
{
    assert(i == 0 || i == 1);
    const ll_shape one = LL_SHAPE(1, 1);
    if (known != NULL) return ll_reshape(g, ll_slice(g, known, 0, i, 1), one);
    ll_tensor *n = ll_reshape(g, ll_sum(g, x, LL_ALL_AXES), one);
    return ll_detach(g, ll_at_least(g, n, ll_full(g, LL_SCALAR, 0.5)));
}

ll_tensor *ll_nn_spectral_linear_of(ll_graph *g, const char *name, ll_tensor *x, int64_t width,
                                    ll_init weight, ll_init bias, ll_tensor *first, ll_tensor *any)
{
    ll_scope_push(g, name);
    ll_tensor *w = ll_param(g, "weight_orig", LL_SHAPE(width, ll_dim(x, -1)), weight);
    ll_tensor *b = ll_param(g, "bias", LL_SHAPE(width), bias);
    ll_tensor *second = ll_affine(g, first, -1.0, 1.0), *one = ll_full(g, LL_SCALAR, 1.0);
    ll_tensor *sigma[] = { spectral_norm(g, w, true, any_of(g, first, any, 0)), NULL };
    sigma[1] = spectral_norm(g, w, true, any_of(g, second, any, 1));
    for (int i = 0; i < 2; i++) sigma[i] = ll_reshape(g, sigma[i], LL_SCALAR);
    ll_tensor *scale = ll_add(g, ll_mul(g, first, ll_div(g, one, sigma[0])),
                              ll_mul(g, second, ll_div(g, one, sigma[1])));
    ll_tensor *y = ll_mul(g, ll_linear(g, x, w, NULL), scale);
    y = ll_note(g, NULL, ll_add(g, y, b));
    ll_scope_pop(g);
    return y;
}

ll_tensor *ll_nn_mlp(ll_graph *g, const char *name, ll_tensor *x, const ll_nn_mlp_opts *o)
{
    int  layer = 0; /* in the Sequential */
    char number[12];
    ll_scope_push(g, name);
    if (o->norm) {
        x = ll_nn_norm(g, "0", x);
        layer++;
    }
    snprintf(number, sizeof number, "%d", layer++);
    x = ll_gelu(g, ll_nn_linear(g, number, x, o->hidden));
    layer++;
    if (o->drops) {
        x = ll_dropout(g, x, o->dropout);
        layer++;
    }
    snprintf(number, sizeof number, "%d", layer);
    const ll_init usual = fan_in(o->hidden), small = LL_INIT_NORMAL(o->last_std);
    const bool    is_small = o->last_std > 0.0;
    x = ll_nn_linear_from(g, number, x, o->width, is_small ? small : usual,
                          is_small ? LL_INIT_ZERO : usual);
    ll_note(g, NULL, x);
    ll_scope_pop(g);
    return x;
}

ll_tensor *ll_nn_time2vec(ll_graph *g, const char *name, ll_tensor *u, int64_t d)
{
    ll_scope_push(g, name);
    ll_tensor *w = ll_param(g, "w", LL_SHAPE(d), LL_INIT_NORMAL(1.0));
    ll_tensor *b = ll_param(g, "b", LL_SHAPE(d), LL_INIT_ZERO);
    ll_tensor *p = ll_add(g, ll_mul(g, ll_unsqueeze(g, u, -1), w), b);
    ll_tensor *parts[] = { ll_slice(g, p, -1, 0, 1), ll_sin(g, ll_slice(g, p, -1, 1, d - 1)) };
    ll_tensor *y = ll_note(g, NULL, ll_concat(g, parts, 2, -1));
    ll_scope_pop(g);
    return y;
}
