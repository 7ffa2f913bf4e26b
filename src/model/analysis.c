/* Analysis: attention from poles to query times turns a latent trajectory into residues, spec 4.4.
 * Queries depend on poles alone, keys on times alone, values on the latent alone. */
#include "model/modal.h"

#include <math.h>

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

/* [B,R,l,heads n] -> [B,R,heads,l,n] */
static llap_tensor *by_head(llap_graph *g, llap_tensor *x, int64_t heads)
{
    const llap_shape s = llap_shape_of(x);
    if (s.rank != 4) return NULL;
    x = llap_reshape(g, x, LLAP_SHAPE(s.dim[0], s.dim[1], s.dim[2], heads, s.dim[3] / heads));
    return llap_permute(g, x, (int[]){ 0, 1, 3, 2, 4 });
}

llap_tensor *llap_analysis_weights(llap_graph *g, const llap_denoiser_config *c, llap_tensor *q,
                                   llap_tensor *k)
{
    const int64_t heads = c->num_heads, m = llap_dim(q, -2), h = llap_dim(k, -2);
    const double  scale = 1.0 / sqrt((double)(c->hidden_dim / heads));
    llap_tensor  *s = llap_matmul(g, by_head(g, llap_scale(g, q, scale), heads), false,
                                  by_head(g, k, heads), true);
    s = llap_permute(g, llap_softmax(g, s), (int[]){ 0, 1, 3, 2, 4 });
    return llap_reshape(g, s, LLAP_SHAPE(llap_dim(q, 0), 1, m, heads * h));
}

/* theta = sum over heads of weights (F_head Wv_head) v + bias, F = out_proj attention.out_proj */
llap_tensor *llap_folded_residues(llap_graph *g, const llap_denoiser_config *c,
                                  llap_tensor *weights, llap_tensor *z)
{
    const int64_t heads = c->num_heads, Z = c->data_dim;
    llap_tensor  *w, *b;
    llap_scope_push(g, "analysis");
    llap_tensor *v = llap_nn_linear(g, "value_proj", z, c->hidden_dim);
    v = llap_nn_norm(g, "v_norm", v);
    llap_fold_params(g, heads * Z, c->hidden_dim, Z, &w, &b);
    llap_tensor *u = by_head(g, llap_linear(g, v, w, NULL), heads);
    llap_scope_pop(g);
    const llap_shape s = llap_shape_of(z);
    u = llap_reshape(g, u, LLAP_SHAPE(s.dim[0], s.dim[1], heads * s.dim[2], Z));
    return llap_add(g, llap_matmul(g, weights, false, u, false), b);
}

/* out_proj(attention.out_proj(y)) by the product of the two, which is made here */
static llap_tensor *multiplied_out(llap_graph *g, const llap_denoiser_config *c, llap_tensor *y)
{
    const int64_t h = c->hidden_dim, z = c->data_dim;
    llap_tensor  *first, *bias, *last, *last_bias;
    llap_nn_mha_out_params(g, "attention", h, &first, &bias);
    llap_nn_linear_params(g, "out_proj", z, h, &last, &last_bias);
    bias = llap_linear(g, llap_reshape(g, bias, LLAP_SHAPE(1, h)), last, last_bias);
    return llap_linear(g, y, llap_matmul(g, last, false, first, false),
                       llap_reshape(g, bias, LLAP_SHAPE(z)));
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
    if (o->training) {
        y = multiplied_out(g, c, y);
    } else {
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
