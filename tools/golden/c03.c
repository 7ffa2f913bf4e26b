/* Pieces of the denoiser: c03 (analysis and synthesis), c04_modal_block. */
#include "golden.h"

#include "model/modal.h"

static llap_tensor *mse(llap_graph *g, llap_tensor *x, llap_tensor *target)
{
    return llap_nn_mse(g, llap_reshape(g, x, llap_shape_of(target)), target);
}

/* in.dt as it is, in.t from its first, or 0, 1, ..; [B,1,h] */
static llap_tensor *query_times(golden *c, int64_t rows, int64_t h)
{
    llap_graph  *g = c->graph;
    llap_tensor *dt = golden_input(c, "dt"), *t = golden_input(c, "t");
    if (t != NULL) dt = llap_sub(g, t, llap_slice(g, t, -1, 0, 1));
    if (dt != NULL) return llap_unsqueeze(g, dt, 1);
    double *count = golden_new(c, rows * h);
    for (int64_t i = 0; count != NULL && i < rows * h; i++) count[i] = (double)(i % h);
    return golden_give(c, "count", LLAP_SHAPE(rows, 1, h), count);
}

static llap_tensor *for_rows(llap_graph *g, llap_tensor *x, int64_t rows, int64_t k)
{
    return llap_expand(g, llap_reshape(g, x, LLAP_SHAPE(1, 1, k)), LLAP_SHAPE(rows, 1, k));
}

/* The reference's module without condition vector uses the base poles. */
static llap_poles case_poles(golden *c, const llap_denoiser_config *cfg, int64_t rows)
{
    llap_graph      *g = c->graph;
    llap_tensor     *cond = golden_input(c, "cond");
    const llap_poles base = llap_base_poles(g, cfg);
    golden_output(c, "out.rho_base", base.rho);
    golden_output(c, "out.omega_base", base.omega);
    if (cond != NULL) return llap_conditioned_poles(g, cfg, llap_unsqueeze(g, cond, 1));
    return (llap_poles){ for_rows(g, base.rho, rows, cfg->laplace_k),
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
    const llap_denoiser_config cfg = golden_denoiser_config(c);
    const llap_sample_opts     o = { 0 };
    llap_graph                *g = c->graph;
    llap_tensor               *x = golden_input(c, "x"), *pooled = golden_input(c, "attn_cond");
    if (c->status != LLAP_OK) return;
    const llap_poles p = case_poles(c, &cfg, llap_dim(x, 0));
    llap_tensor     *t = query_times(c, llap_dim(x, 0), llap_dim(x, 1));
    llap_tensor     *t_syn = golden_input(c, "dt_syn");
    t_syn = t_syn == NULL ? t : llap_unsqueeze(g, t_syn, 1);
    if (pooled != NULL) pooled = llap_unsqueeze(g, pooled, 1);
    llap_tensor *q = llap_pole_queries(g, &cfg, p, pooled, NULL);
    llap_tensor *k = llap_time_keys(g, &cfg, t, pooled, NULL);
    llap_tensor *theta = llap_residues(g, &cfg, q, k, llap_unsqueeze(g, x, 1), "z", &o);
    llap_tensor *basis = llap_modal_basis(g, t_syn, p.rho, p.omega);
    llap_tensor *y = llap_synthesis(g, &cfg, basis, theta, NULL, &o);
    llap_tensor *off = mse(g, theta, golden_input(c, "theta_target"));
    llap_tensor *loss = llap_add(g, mse(g, y, golden_input(c, "target")), llap_scale(g, off, 0.1));
    golden_output(c, "out.rho", p.rho);
    golden_output(c, "out.omega", p.omega);
    golden_output(c, "out.basis", llap_modal_basis(g, t, p.rho, p.omega));
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
    const llap_denoiser_config cfg = golden_denoiser_config(c);
    const llap_sample_opts     o = { 0 };
    llap_modal_block           b;
    llap_graph                *g = c->graph;
    llap_tensor               *theta = golden_input(c, "theta"), *E = golden_input(c, "summary");
    llap_tensor               *tau = llap_unsqueeze(g, golden_input(c, "t_vec"), 1);
    llap_tensor               *cond = golden_input(c, "adaln_cond");
    if (c->status != LLAP_OK) return;
    const llap_block_in in = { .tau = tau,
                               .E = E == NULL ? NULL : llap_unsqueeze(g, E, 1),
                               .cond = cond == NULL ? tau : llap_unsqueeze(g, cond, 1) };
    llap_block_shared(g, &cfg, &in, &b);
    llap_tensor *y = llap_block_refine(g, &cfg, llap_unsqueeze(g, theta, 1), &b, NULL, &o);
    llap_tensor *loss = mse(g, y, golden_input(c, "target"));
    golden_output(c, "out.y", y);
    golden_output(c, "out.loss", loss);
    golden_run(c, loss);
}
