/* Pieces of the denoiser: c03 (analysis and synthesis), c04_modal_block. */
#include "golden.h"

#include "networks/modal.h"
#include "oracles/plain_layers.h"

static ll_tensor *mse(ll_graph *g, ll_tensor *x, ll_tensor *target)
{
    return plain_mse(g, ll_reshape(g, x, ll_shape_of(target)), target);
}

/* in.dt as it is, in.t from its first, or 0, 1, ..; [B,1,h] */
static ll_tensor *query_times(golden *c, int64_t rows, int64_t h)
{
    ll_graph  *g = c->graph;
    ll_tensor *dt = golden_input(c, "dt"), *t = golden_input(c, "t");
    if (t != NULL) dt = ll_sub(g, t, ll_slice(g, t, -1, 0, 1));
    if (dt != NULL) return ll_unsqueeze(g, dt, 1);
    double *count = golden_new(c, rows * h);
    for (int64_t i = 0; count != NULL && i < rows * h; i++) count[i] = (double)(i % h);
    return golden_give(c, "count", LL_SHAPE(rows, 1, h), count);
}

static ll_tensor *for_rows(ll_graph *g, ll_tensor *x, int64_t rows, int64_t k)
{
    return ll_expand(g, ll_reshape(g, x, LL_SHAPE(1, 1, k)), LL_SHAPE(rows, 1, k));
}

/* The reference's module without condition vector uses the base poles. */
static ll_poles case_poles(golden *c, const ll_denoiser_config *cfg, int64_t rows)
{
    ll_graph      *g = c->graph;
    ll_tensor     *cond = golden_input(c, "cond");
    const ll_poles base = ll_base_poles(g, cfg);
    golden_output(c, "out.rho_base", base.rho);
    golden_output(c, "out.omega_base", base.omega);
    if (cond != NULL) return ll_conditioned_poles(g, cfg, ll_unsqueeze(g, cond, 1));
    return (ll_poles){ for_rows(g, base.rho, rows, cfg->laplace_k),
                       for_rows(g, base.omega, rows, cfg->laplace_k) };
}

static void laplace_notes(golden *c)
{
    static const char *const names[][2] = {
        { "mid.delta", "analysis.delta" },
        { "mid.q_norm", "analysis.q_norm" },
        { "mid.k_norm", "analysis.k_norm" },
        { "mid.v_norm", "analysis.v_norm" },
        { "mid.attention", "analysis.attention" },
        { "mid.mlp_in", "synthesis.mlp_in" },
        { "mid.mlp_out", "synthesis.mlp_out" },
        { "mid.mlp_in_weight_sn", "synthesis.mlp_in.weight_sn" },
        { "mid.mlp_out_weight_sn", "synthesis.mlp_out.weight_sn" },
        { "mid.syn_norm", "synthesis.norm" },
        { "out.y_linear", "y_linear" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        golden_mid(c, names[i][0], names[i][1]);
}

void golden_laplace(golden *c)
{
    const ll_denoiser_config cfg = golden_denoiser_config(c);
    const ll_sample_opts     o = { 0 };
    ll_graph                *g = c->graph;
    ll_tensor               *x = golden_input(c, "x"), *pooled = golden_input(c, "attn_cond");
    if (c->status != LLAP_OK) return;
    const ll_poles p = case_poles(c, &cfg, ll_dim(x, 0));
    ll_tensor     *t = query_times(c, ll_dim(x, 0), ll_dim(x, 1));
    ll_tensor     *t_syn = golden_input(c, "dt_syn");
    t_syn = t_syn == NULL ? t : ll_unsqueeze(g, t_syn, 1);
    if (pooled != NULL) pooled = ll_unsqueeze(g, pooled, 1);
    ll_tensor *q = ll_pole_queries(g, &cfg, p, pooled, NULL);
    ll_tensor *k = ll_time_keys(g, &cfg, t, pooled, NULL);
    ll_tensor *theta = ll_residues(g, &cfg, q, k, ll_unsqueeze(g, x, 1), "z", &o);
    ll_tensor *basis = ll_modal_basis(g, t_syn, p.rho, p.omega);
    ll_tensor *y = ll_synthesis(g, &cfg, basis, theta, NULL, &o);
    ll_tensor *off = mse(g, theta, golden_input(c, "theta_target"));
    ll_tensor *loss = ll_add(g, mse(g, y, golden_input(c, "target")), ll_scale(g, off, 0.1));
    golden_output(c, "out.rho", p.rho);
    golden_output(c, "out.omega", p.omega);
    golden_output(c, "out.basis", ll_modal_basis(g, t, p.rho, p.omega));
    golden_output(c, "out.theta", theta);
    golden_output(c, "out.y", y);
    golden_output(c, "out.loss", loss);
    golden_output(c, "mid.t_rel", t);
    golden_output(c, "mid.t_rel_syn", t_syn);
    laplace_notes(c);
    golden_run(c, loss);
}

void golden_modal_block(golden *c)
{
    const ll_denoiser_config cfg = golden_denoiser_config(c);
    const ll_sample_opts     o = { 0 };
    ll_modal_block           b;
    ll_graph                *g = c->graph;
    ll_tensor               *theta = golden_input(c, "theta"), *E = golden_input(c, "summary");
    ll_tensor               *tau = ll_unsqueeze(g, golden_input(c, "t_vec"), 1);
    ll_tensor               *cond = golden_input(c, "adaln_cond");
    if (c->status != LLAP_OK) return;
    const ll_block_in in = { .tau = tau,
                             .E = E == NULL ? NULL : ll_unsqueeze(g, E, 1),
                             .cond = cond == NULL ? tau : ll_unsqueeze(g, cond, 1) };
    ll_block_shared(g, &cfg, &in, &b);
    ll_tensor *y = ll_block_refine(g, &cfg, ll_unsqueeze(g, theta, 1), &b, NULL, &o);
    ll_tensor *loss = mse(g, y, golden_input(c, "target"));
    golden_output(c, "out.y", y);
    golden_output(c, "out.loss", loss);
    golden_run(c, loss);
}
