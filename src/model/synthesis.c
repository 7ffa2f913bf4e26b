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
        return llap_nn_spectral_linear_of(g, name, x, width, w, b, conditional);
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

llap_tensor *llap_head(llap_graph *g, llap_tensor *y)
{
    llap_tensor *skip = llap_param(g, "output_skip_scale", LLAP_SCALAR, LLAP_INIT_FILL(0.1));
    llap_tensor *x = llap_nn_norm(g, "head_norm", y);
    x = llap_nn_linear_from(g, "head_proj", x, llap_dim(y, -1), LLAP_INIT_ZERO, LLAP_INIT_ZERO);
    return llap_add(g, llap_mul(g, skip, y), x);
}
