/* Synthesis: damped sinusoids at the query times, a gated residual, the head;
 * docs/spec/model.md 4.7. */
#include "networks/modal.h"

#include <math.h>

/* In training, rows of both kinds see the norm after the power iteration of their own pass. Folded,
 * the weights are divided already. */
static ll_tensor *spectral(ll_graph *g, const char *name, ll_tensor *x, int64_t width, ll_init w,
                           ll_init b, ll_tensor *conditional, const ll_sample_opts *o)
{
    if (o->folded) {
        ll_scope_push(g, name);
        ll_tensor *y = ll_folded_linear(g, x, width);
        ll_scope_pop(g);
        return y;
    }
    if (o->training && conditional != NULL)
        return ll_nn_spectral_linear_of(g, name, x, width, w, b, conditional, o->kinds);
    return ll_nn_spectral_linear(g, name, x, width, w, b, o->training);
}

/* y + mlp_out(u GELU(gate)), [gate|u] = mlp_in(LN(y)) */
static ll_tensor *gated_residual(ll_graph *g, const ll_denoiser_config *c, ll_tensor *y,
                                 ll_tensor *conditional, const ll_sample_opts *o)
{
    const int64_t h = c->hidden_dim, z = c->data_dim;
    const ll_init in = LL_INIT_UNIFORM(1.0 / sqrt((double)z));
    ll_tensor    *part[2];
    ll_scope_push(g, "synthesis");
    ll_tensor *x = spectral(g, "mlp_in", ll_nn_norm(g, "norm", y), 2 * h, in, in, conditional, o);
    ll_split_axis(g, x, -1, 2, part);
    x = ll_mul(g, part[1], ll_gelu(g, part[0]));
    x = spectral(g, "mlp_out", x, z, LL_INIT_NORMAL(1e-4), LL_INIT_ZERO, conditional, o);
    ll_scope_pop(g);
    return ll_add(g, y, x);
}

/* y = A theta; basis [B,1,h,M], theta [B,R,M,Z] -> [B,R,h,Z] */
ll_tensor *ll_synthesis(ll_graph *g, const ll_denoiser_config *c, ll_tensor *basis,
                        ll_tensor *theta, ll_tensor *conditional, const ll_sample_opts *o)
{
    ll_tensor *y = ll_note(g, "y_linear", ll_matmul(g, basis, false, theta, false));
    if (c->use_mlp_residual) y = gated_residual(g, c, y, conditional, o);
    return ll_note(g, "y_time", y);
}

enum { GATED_MOST = 32, GATED_EACH = 8, GATED_INNER = 64 }; /* what the op is made for */

static void norm_params(ll_graph *g, const char *name, int64_t width, ll_tensor *p[2])
{
    ll_scope_push(g, name);
    p[0] = ll_param(g, "weight", LL_SHAPE(width), LL_INIT_ONE);
    p[1] = ll_param(g, "bias", LL_SHAPE(width), LL_INIT_ZERO);
    ll_scope_pop(g);
}

static void fold_params(ll_graph *g, const char *name, int64_t width, int64_t in, ll_tensor *p[2])
{
    ll_scope_push(g, name);
    ll_fold_params(g, width, in, width, &p[0], &p[1]);
    ll_scope_pop(g);
}

/* The gated residual and the head as one op; NULL: not for this network. */
static ll_tensor *all_gated(ll_graph *g, const ll_denoiser_config *c, ll_tensor *basis,
                            ll_tensor *theta, const ll_sample_opts *o)
{
    const int64_t h = c->hidden_dim, z = c->data_dim;
    ll_gated_in   in = { .basis = basis, .theta = theta };
    if (!o->gated || !o->folded || !c->use_mlp_residual || z % GATED_EACH != 0 || z > GATED_MOST ||
        h % GATED_INNER != 0 || 2 * c->laplace_k % GATED_INNER != 0 ||
        ll_dim(basis, 0) != ll_dim(theta, 0))
        return NULL;
    ll_scope_push(g, "synthesis");
    norm_params(g, "norm", z, in.norm);
    fold_params(g, "mlp_in", 2 * h, z, in.in);
    fold_params(g, "mlp_out", z, h, in.out);
    ll_scope_pop(g);
    norm_params(g, "head_norm", z, in.head_norm);
    ll_nn_linear_params(g, "head_proj", z, z, &in.head[0], &in.head[1]);
    in.skip = ll_param(g, "output_skip_scale", LL_SCALAR, LL_INIT_FILL(0.1));
    return ll_gated(g, &in, LL_NORM_EPS);
}

ll_tensor *ll_output_of(ll_graph *g, const ll_denoiser_config *c, const ll_modal *m,
                        ll_tensor *theta, const ll_sample_opts *o)
{
    if (o->gated) {
        ll_tensor *y = all_gated(g, c, m->basis, theta, o);
        if (y != NULL) return y;
    }
    return ll_head(g, ll_synthesis(g, c, m->basis, theta, m->conditional, o));
}

ll_tensor *ll_head(ll_graph *g, ll_tensor *y)
{
    ll_tensor *skip = ll_param(g, "output_skip_scale", LL_SCALAR, LL_INIT_FILL(0.1));
    ll_tensor *x = ll_nn_norm(g, "head_norm", y);
    x = ll_nn_linear_from(g, "head_proj", x, ll_dim(y, -1), LL_INIT_ZERO, LL_INIT_ZERO);
    return ll_add(g, ll_mul(g, skip, y), x);
}
