/* Synthesis: damped sinusoids at the query times, a gated residual, the head; spec 4.7. */
#include "model/modal.h"

#include <math.h>

/* In training, rows of both kinds see the norm after the power iteration of their own pass. Folded,
 * the weights are divided already. */
static llap_tensor *spectral(llap_graph *g, const char *name, llap_tensor *x, int64_t width,
                             llap_init w, llap_init b, llap_tensor *conditional,
                             const llap_sample_opts *o)
{
    if (o->folded) {
        llap_scope_push(g, name);
        llap_tensor *y = llap_folded_linear(g, x, width);
        llap_scope_pop(g);
        return y;
    }
    if (o->training && conditional != NULL)
        return llap_nn_spectral_linear_of(g, name, x, width, w, b, conditional, o->kinds);
    return llap_nn_spectral_linear(g, name, x, width, w, b, o->training);
}

/* y + mlp_out(u GELU(gate)), [gate|u] = mlp_in(LN(y)) */
static llap_tensor *gated_residual(llap_graph *g, const llap_denoiser_config *c, llap_tensor *y,
                                   llap_tensor *conditional, const llap_sample_opts *o)
{
    const int64_t   h = c->hidden_dim, z = c->data_dim;
    const llap_init in = LLAP_INIT_UNIFORM(1.0 / sqrt((double)z));
    llap_tensor    *part[2];
    llap_scope_push(g, "synthesis");
    llap_tensor *x =
        spectral(g, "mlp_in", llap_nn_norm(g, "norm", y), 2 * h, in, in, conditional, o);
    llap_split_axis(g, x, -1, 2, part);
    x = llap_mul(g, part[1], llap_gelu(g, part[0]));
    x = spectral(g, "mlp_out", x, z, LLAP_INIT_NORMAL(1e-4), LLAP_INIT_ZERO, conditional, o);
    llap_scope_pop(g);
    return llap_add(g, y, x);
}

/* y = A theta; basis [B,1,h,M], theta [B,R,M,Z] -> [B,R,h,Z] */
llap_tensor *llap_synthesis(llap_graph *g, const llap_denoiser_config *c, llap_tensor *basis,
                            llap_tensor *theta, llap_tensor *conditional, const llap_sample_opts *o)
{
    llap_tensor *y = llap_note(g, "y_linear", llap_matmul(g, basis, false, theta, false));
    if (c->use_mlp_residual) y = gated_residual(g, c, y, conditional, o);
    return llap_note(g, "y_time", y);
}

enum { GATED_MOST = 32, GATED_EACH = 8, GATED_INNER = 64 }; /* what the op is made for */

static void norm_params(llap_graph *g, const char *name, int64_t width, llap_tensor *p[2])
{
    llap_scope_push(g, name);
    p[0] = llap_param(g, "weight", LLAP_SHAPE(width), LLAP_INIT_ONE);
    p[1] = llap_param(g, "bias", LLAP_SHAPE(width), LLAP_INIT_ZERO);
    llap_scope_pop(g);
}

static void fold_params(llap_graph *g, const char *name, int64_t width, int64_t in,
                        llap_tensor *p[2])
{
    llap_scope_push(g, name);
    llap_fold_params(g, width, in, width, &p[0], &p[1]);
    llap_scope_pop(g);
}

/* The gated residual and the head as one op; NULL: not for this network. */
static llap_tensor *all_gated(llap_graph *g, const llap_denoiser_config *c, llap_tensor *basis,
                              llap_tensor *theta, const llap_sample_opts *o)
{
    const int64_t h = c->hidden_dim, z = c->data_dim;
    llap_gated_in in = { .basis = basis, .theta = theta };
    if (!o->gated || !o->folded || !c->use_mlp_residual || z % GATED_EACH != 0 || z > GATED_MOST ||
        h % GATED_INNER != 0 || 2 * c->laplace_k % GATED_INNER != 0 ||
        llap_dim(basis, 0) != llap_dim(theta, 0))
        return NULL;
    llap_scope_push(g, "synthesis");
    norm_params(g, "norm", z, in.norm);
    fold_params(g, "mlp_in", 2 * h, z, in.in);
    fold_params(g, "mlp_out", z, h, in.out);
    llap_scope_pop(g);
    norm_params(g, "head_norm", z, in.head_norm);
    llap_nn_linear_params(g, "head_proj", z, z, &in.head[0], &in.head[1]);
    in.skip = llap_param(g, "output_skip_scale", LLAP_SCALAR, LLAP_INIT_FILL(0.1));
    return llap_gated(g, &in, LLAP_NORM_EPS);
}

llap_tensor *llap_output_of(llap_graph *g, const llap_denoiser_config *c, const llap_modal *m,
                            llap_tensor *theta, const llap_sample_opts *o)
{
    if (o->gated) {
        llap_tensor *y = all_gated(g, c, m->basis, theta, o);
        if (y != NULL) return y;
    }
    return llap_head(g, llap_synthesis(g, c, m->basis, theta, m->conditional, o));
}

llap_tensor *llap_head(llap_graph *g, llap_tensor *y)
{
    llap_tensor *skip = llap_param(g, "output_skip_scale", LLAP_SCALAR, LLAP_INIT_FILL(0.1));
    llap_tensor *x = llap_nn_norm(g, "head_norm", y);
    x = llap_nn_linear_from(g, "head_proj", x, llap_dim(y, -1), LLAP_INIT_ZERO, LLAP_INIT_ZERO);
    return llap_add(g, llap_mul(g, skip, y), x);
}
