/* Analysis: attention from poles to query times turns a latent trajectory into residues, spec 4.4.
 * Queries depend on poles alone, keys on times alone, values on the latent alone. */
#include "model/modal.h"

/* x -> Linear(.2)(GELU(Linear(.0)(x))), both of width H */
static llap_tensor *embed(llap_graph *g, const llap_denoiser_config *c, const char *name,
                          llap_tensor *x)
{
    const llap_nn_mlp_opts o = { .hidden = c->hidden_dim, .width = c->hidden_dim };
    return llap_nn_mlp(g, name, x, &o);
}

/* x + tanh(gate) Linear(SiLU(pooled)), spec 4.9 analysis_summary_qk; x [B,1,L,H] */
static llap_tensor *conditioned(llap_graph *g, const llap_denoiser_config *c, const char *which,
                                llap_tensor *x, llap_tensor *pooled, llap_tensor *conditional)
{
    if (pooled == NULL) return x;
    llap_scope_pushf(g, "%s_cond_proj", which);
    llap_tensor *p = llap_nn_linear_from(g, "1", llap_silu(g, pooled), c->hidden_dim,
                                         LLAP_INIT_NORMAL(0.01), LLAP_INIT_ZERO);
    llap_scope_pop(g);
    llap_tensor *gate =
        llap_param(g, which[0] == 'q' ? "q_cond_gate" : "k_cond_gate", LLAP_SCALAR, LLAP_INIT_ZERO);
    p = llap_unsqueeze(g, llap_mul(g, llap_tanh(g, gate), p), -2);
    if (conditional != NULL) p = llap_mul(g, p, conditional);
    return llap_add(g, x, p);
}

/* pf[m] = [rho_(m mod K), omega_(m mod K), 0 for cosine or 1 for sine]; [B,1,M,3] */
static llap_tensor *pole_features(llap_graph *g, const llap_denoiser_config *c, llap_poles p)
{
    const int64_t k = c->laplace_k;
    llap_tensor  *half[] = { llap_full(g, LLAP_SHAPE(1, 1, k), 0.0),
                             llap_full(g, LLAP_SHAPE(1, 1, k), 1.0) };
    llap_shape    shape = llap_shape_of(p.rho);
    if (shape.rank == 0) return NULL;
    shape.dim[shape.rank - 1] = 2 * k;
    llap_tensor *f[] = { llap_concat(g, (llap_tensor *[]){ p.rho, p.rho }, 2, -1),
                         llap_concat(g, (llap_tensor *[]){ p.omega, p.omega }, 2, -1),
                         llap_expand(g, llap_concat(g, half, 2, -1), shape) };
    for (int i = 0; i < 3; i++) f[i] = llap_unsqueeze(g, f[i], -1);
    return llap_concat(g, f, 3, -1);
}

/* LN(embed(pf[m]) + comp_emb[m]), in the scope of the caller */
static llap_tensor *pole_tokens(llap_graph *g, const llap_denoiser_config *c, llap_poles p)
{
    llap_tensor *comp = llap_param(g, "comp_emb", LLAP_SHAPE(1, 2 * c->laplace_k, c->hidden_dim),
                                   LLAP_INIT_NORMAL(0.02));
    llap_tensor *x = embed(g, c, "pole_embedding", pole_features(g, c, p));
    return llap_nn_norm(g, "q_norm", llap_add(g, x, comp));
}

llap_tensor *llap_pole_tokens(llap_graph *g, const llap_denoiser_config *c, llap_poles p)
{
    llap_scope_push(g, "analysis");
    llap_tensor *x = pole_tokens(g, c, p);
    llap_scope_pop(g);
    return x;
}

/* q[m] = those tokens, projected; [B,1,M,H] */
llap_tensor *llap_pole_queries(llap_graph *g, const llap_denoiser_config *c, llap_poles p,
                               llap_tensor *pooled, llap_tensor *conditional)
{
    llap_scope_push(g, "analysis");
    llap_tensor *x = conditioned(g, c, "q", pole_tokens(g, c, p), pooled, conditional);
    x = llap_nn_mha_project(g, "attention", x, c->hidden_dim, 0);
    llap_scope_pop(g);
    return x;
}

/* k[r] = LN(embed(tq[r])), projected; tq [B,1,h] -> [B,1,h,H] */
llap_tensor *llap_time_keys(llap_graph *g, const llap_denoiser_config *c, llap_tensor *tq,
                            llap_tensor *pooled, llap_tensor *conditional)
{
    llap_scope_push(g, "analysis");
    llap_tensor *x = embed(g, c, "time_key_proj", llap_unsqueeze(g, tq, -1));
    x = llap_nn_norm(g, "k_norm", x);
    x = llap_nn_mha_project(g, "attention", conditioned(g, c, "k", x, pooled, conditional),
                            c->hidden_dim, 1);
    llap_scope_pop(g);
    return x;
}

/* v[r] = LN(Linear(z[r])), projected; theta = out_proj(attention.out_proj(ATT(q, k, v)));
 * z [B,R,h,Z] -> [B,R,M,Z]. Cosine residues first, then those of the sines. */
llap_tensor *llap_residues(llap_graph *g, const llap_denoiser_config *c, llap_tensor *q,
                           llap_tensor *k, llap_tensor *z, const char *of,
                           const llap_sample_opts *o)
{
    const llap_attention_opts att = { .n_heads = (int)c->num_heads,
                                      .dropout = o->training ? c->attn_dropout : 0.0 };
    llap_scope_push(g, "analysis");
    llap_tensor *v = llap_nn_linear(g, "value_proj", z, c->hidden_dim);
    v = llap_nn_mha_project(g, "attention", llap_nn_norm(g, "v_norm", v), c->hidden_dim, 2);
    llap_tensor *y = llap_attention(g, q, k, v, &att);
    if (o->folded) y = llap_folded_linear(g, y, c->data_dim);
    else {
        y = llap_nn_mha_out(g, "attention", y);
        llap_scope_push(g, of);
        llap_note(g, "attention", y);
        llap_scope_pop(g);
        y = llap_nn_linear(g, "out_proj", y, c->data_dim);
    }
    llap_scope_push(g, of);
    llap_note(g, "theta", y);
    llap_scope_pop(g);
    llap_scope_pop(g);
    return y;
}
