/* Poles: base parameters and their perturbation by step and summary, docs/spec/model.md 4.2. */
#include "networks/modal.h"

#include <math.h>

#define PERTURBATION 0.5 /* at most, before softplus and sigmoid */
#define LOGIT_CLAMP 1e-4

/* docs/spec/model.md 4.2 draws both from ranges; ll_denoiser_init does that. */
static void raw_poles(ll_graph *g, const ll_denoiser_config *c, ll_tensor **rho, ll_tensor **omega)
{
    const ll_shape k = LL_SHAPE(c->laplace_k);
    *rho = ll_param(g, "_rho_raw", k, LL_INIT_FILL(-2.3));
    *omega = ll_param(g, "_omega_raw", k, LL_INIT_ZERO);
    if (!c->frozen_poles) return;
    *rho = ll_detach(g, *rho);
    *omega = ll_detach(g, *omega);
}

/* rho = softplus(_rho_raw) + rho_min, omega = pi sigmoid(_omega_raw); both [K] */
ll_poles ll_base_poles(ll_graph *g, const ll_denoiser_config *c)
{
    ll_tensor *rho, *omega;
    ll_scope_push(g, "analysis");
    raw_poles(g, c, &rho, &omega);
    ll_scope_pop(g);
    return (ll_poles){ .rho = ll_affine(g, ll_softplus(g, rho), 1.0, LL_RHO_MIN),
                       .omega = ll_scale(g, ll_sigmoid(g, omega), LL_PI) };
}

/* delta = Linear(SiLU(cond)) [B,1,2K]; halves become d = 0.5 tanh(delta) */
static void perturbation(ll_graph *g, const ll_denoiser_config *c, ll_tensor *cond,
                         ll_tensor **d_rho, ll_tensor **d_omega)
{
    ll_tensor *part[2];
    ll_scope_push(g, "to_poles");
    ll_tensor *delta =
        ll_nn_linear_from(g, "1", ll_silu(g, cond), 2 * c->laplace_k, LL_INIT_ZERO, LL_INIT_ZERO);
    ll_scope_pop(g);
    ll_split_axis(g, ll_note(g, "delta", delta), -1, 2, part);
    *d_rho = ll_scale(g, ll_tanh(g, part[0]), PERTURBATION);
    *d_omega = ll_scale(g, ll_tanh(g, part[1]), PERTURBATION);
}

/* softplus(_rho_raw + d) + rho_min; legacy: softplus(softplus(_rho_raw) + rho_min + d) + rho_min */
static ll_tensor *rho_of(ll_graph *g, ll_rho_mode mode, ll_tensor *raw, ll_tensor *d)
{
    if (mode == LL_RHO_LEGACY) raw = ll_affine(g, ll_softplus(g, raw), 1.0, LL_RHO_MIN);
    if (d != NULL) raw = ll_add(g, raw, d);
    return ll_affine(g, ll_softplus(g, raw), 1.0, LL_RHO_MIN);
}

/* p = clamp(sigmoid(_omega_raw)); pi sigmoid(log p - log(1 - p) + d) */
static ll_tensor *omega_of(ll_graph *g, ll_tensor *raw, ll_tensor *d)
{
    ll_tensor *p = ll_clamp(g, ll_sigmoid(g, raw), LOGIT_CLAMP, 1.0 - LOGIT_CLAMP);
    ll_tensor *logit = ll_sub(g, ll_ln(g, p), ll_ln(g, ll_affine(g, p, -1.0, 1.0)));
    if (d != NULL) logit = ll_add(g, logit, d);
    return ll_scale(g, ll_sigmoid(g, logit), LL_PI);
}

ll_poles ll_conditioned_poles(ll_graph *g, const ll_denoiser_config *c, ll_tensor *cond)
{
    ll_tensor *rho, *omega, *d_rho = NULL, *d_omega = NULL;
    ll_scope_push(g, "analysis");
    raw_poles(g, c, &rho, &omega);
    if (!c->fixed_poles) perturbation(g, c, cond, &d_rho, &d_omega);
    ll_poles p = { rho_of(g, c->rho_conditioning_mode, rho, d_rho), omega_of(g, omega, d_omega) };
    if (c->fixed_poles) { /* the same in every row, so that plans see the shapes of moved ones */
        const ll_shape one = LL_SHAPE(1, 1, c->laplace_k);
        const ll_shape all = LL_SHAPE(ll_dim(cond, 0), 1, c->laplace_k);
        p.rho = ll_expand(g, ll_reshape(g, p.rho, one), all);
        p.omega = ll_expand(g, ll_reshape(g, p.omega, one), all);
    }
    ll_scope_pop(g);
    return p;
}
