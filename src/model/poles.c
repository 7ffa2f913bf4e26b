/* Poles: base parameters and their perturbation by step and summary, spec 4.2. */
#include "model/modal.h"

#include <math.h>

#define PERTURBATION 0.5 /* at most, before softplus and sigmoid */
#define LOGIT_CLAMP 1e-4

/* Spec 4.2 draws both from ranges; llap_denoiser_init does that. */
static void raw_poles(llap_graph *g, const llap_denoiser_config *c, llap_tensor **rho,
                      llap_tensor **omega)
{
    const llap_shape k = LLAP_SHAPE(c->laplace_k);
    *rho = llap_param(g, "_rho_raw", k, LLAP_INIT_FILL(-2.3));
    *omega = llap_param(g, "_omega_raw", k, LLAP_INIT_ZERO);
    if (!c->frozen_poles) return;
    *rho = llap_detach(g, *rho);
    *omega = llap_detach(g, *omega);
}

/* rho = softplus(_rho_raw) + rho_min, omega = pi sigmoid(_omega_raw); both [K] */
llap_poles llap_base_poles(llap_graph *g, const llap_denoiser_config *c)
{
    llap_tensor *rho, *omega;
    llap_scope_push(g, "analysis");
    raw_poles(g, c, &rho, &omega);
    llap_scope_pop(g);
    return (llap_poles){ .rho = llap_affine(g, llap_softplus(g, rho), 1.0, LLAP_RHO_MIN),
                         .omega = llap_scale(g, llap_sigmoid(g, omega), LLAP_PI) };
}

/* delta = Linear(SiLU(cond)) [B,1,2K]; halves become d = 0.5 tanh(delta) */
static void perturbation(llap_graph *g, const llap_denoiser_config *c, llap_tensor *cond,
                         llap_tensor **d_rho, llap_tensor **d_omega)
{
    llap_tensor *part[2];
    llap_scope_push(g, "to_poles");
    llap_tensor *delta = llap_nn_linear_from(g, "1", llap_silu(g, cond), 2 * c->laplace_k,
                                             LLAP_INIT_ZERO, LLAP_INIT_ZERO);
    llap_scope_pop(g);
    llap_split_axis(g, llap_note(g, "delta", delta), -1, 2, part);
    *d_rho = llap_scale(g, llap_tanh(g, part[0]), PERTURBATION);
    *d_omega = llap_scale(g, llap_tanh(g, part[1]), PERTURBATION);
}

/* softplus(_rho_raw + d) + rho_min; legacy: softplus(softplus(_rho_raw) + rho_min + d) + rho_min */
static llap_tensor *rho_of(llap_graph *g, llap_rho_mode mode, llap_tensor *raw, llap_tensor *d)
{
    if (mode == LLAP_RHO_LEGACY) raw = llap_affine(g, llap_softplus(g, raw), 1.0, LLAP_RHO_MIN);
    if (d != NULL) raw = llap_add(g, raw, d);
    return llap_affine(g, llap_softplus(g, raw), 1.0, LLAP_RHO_MIN);
}

/* p = clamp(sigmoid(_omega_raw)); pi sigmoid(log p - log(1 - p) + d) */
static llap_tensor *omega_of(llap_graph *g, llap_tensor *raw, llap_tensor *d)
{
    llap_tensor *p = llap_clamp(g, llap_sigmoid(g, raw), LOGIT_CLAMP, 1.0 - LOGIT_CLAMP);
    llap_tensor *logit = llap_sub(g, llap_ln(g, p), llap_ln(g, llap_affine(g, p, -1.0, 1.0)));
    if (d != NULL) logit = llap_add(g, logit, d);
    return llap_scale(g, llap_sigmoid(g, logit), LLAP_PI);
}

llap_poles llap_conditioned_poles(llap_graph *g, const llap_denoiser_config *c, llap_tensor *cond)
{
    llap_tensor *rho, *omega, *d_rho = NULL, *d_omega = NULL;
    llap_scope_push(g, "analysis");
    raw_poles(g, c, &rho, &omega);
    if (!c->fixed_poles) perturbation(g, c, cond, &d_rho, &d_omega);
    llap_poles p = { rho_of(g, c->rho_conditioning_mode, rho, d_rho), omega_of(g, omega, d_omega) };
    if (c->fixed_poles) { /* the same in every row, so that plans see the shapes of moved ones */
        const llap_shape one = LLAP_SHAPE(1, 1, c->laplace_k);
        const llap_shape all = LLAP_SHAPE(llap_dim(cond, 0), 1, c->laplace_k);
        p.rho = llap_expand(g, llap_reshape(g, p.rho, one), all);
        p.omega = llap_expand(g, llap_reshape(g, p.omega, one), all);
    }
    llap_scope_pop(g);
    return p;
}
