/* Analysis: attention from poles to query times turns a latent trajectory into residues,
 * docs/spec/model.md 4.4. Queries depend on poles alone, keys on times alone, values on the latent
 * alone. */
#include "networks/modal.h"

#include <assert.h>
#include <math.h>

/* x -> Linear(.2)(GELU(Linear(.0)(x))), both of width H */
static ll_tensor *embed(ll_graph *g, const ll_denoiser_config *c, const char *name, ll_tensor *x)
{
    const ll_nn_mlp_opts o = { .hidden = c->hidden_dim, .width = c->hidden_dim };
    return ll_nn_mlp(g, name, x, &o);
}

/* x + tanh(gate) Linear(SiLU(pooled)), docs/spec/model.md 4.9 analysis_summary_qk; x [B,1,L,H] */
static ll_tensor *conditioned(ll_graph *g, const ll_denoiser_config *c, const char *which,
                              ll_tensor *x, ll_tensor *pooled, ll_tensor *conditional)
{
    if (pooled == NULL) return x;
    assert(which[0] == 'q' || which[0] == 'k');
    ll_scope_pushf(g, "%s_cond_proj", which);
    ll_tensor *p = ll_nn_linear_from(g, "1", ll_silu(g, pooled), c->hidden_dim,
                                     LL_INIT_NORMAL(0.01), LL_INIT_ZERO);
    ll_scope_pop(g);
    ll_tensor *gate =
        ll_param(g, which[0] == 'q' ? "q_cond_gate" : "k_cond_gate", LL_SCALAR, LL_INIT_ZERO);
    p = ll_unsqueeze(g, ll_mul(g, ll_tanh(g, gate), p), -2);
    if (conditional != NULL) p = ll_mul(g, p, conditional);
    return ll_add(g, x, p);
}

/* pf[m] = [rho_(m mod K), omega_(m mod K), 0 for cosine or 1 for sine]; [B,1,M,3] */
static ll_tensor *pole_features(ll_graph *g, const ll_denoiser_config *c, ll_poles p)
{
    const int64_t k = c->laplace_k;
    ll_tensor *half[] = { ll_full(g, LL_SHAPE(1, 1, k), 0.0), ll_full(g, LL_SHAPE(1, 1, k), 1.0) };
    ll_shape   shape = ll_shape_of(p.rho);
    if (shape.rank == 0) return NULL;
    assert(shape.dim[shape.rank - 1] == k);
    shape.dim[shape.rank - 1] = 2 * k;
    ll_tensor *f[] = { ll_concat(g, (ll_tensor *[]){ p.rho, p.rho }, 2, -1),
                       ll_concat(g, (ll_tensor *[]){ p.omega, p.omega }, 2, -1),
                       ll_expand(g, ll_concat(g, half, 2, -1), shape) };
    for (int i = 0; i < 3; i++) f[i] = ll_unsqueeze(g, f[i], -1);
    return ll_concat(g, f, 3, -1);
}

/* LN(embed(pf[m]) + comp_emb[m]), in the scope of the caller */
static ll_tensor *pole_tokens(ll_graph *g, const ll_denoiser_config *c, ll_poles p)
{
    ll_tensor *comp =
        ll_param(g, "comp_emb", LL_SHAPE(1, 2 * c->laplace_k, c->hidden_dim), LL_INIT_NORMAL(0.02));
    ll_tensor *x = embed(g, c, "pole_embedding", pole_features(g, c, p));
    return ll_nn_norm(g, "q_norm", ll_add(g, x, comp));
}

ll_tensor *ll_pole_tokens(ll_graph *g, const ll_denoiser_config *c, ll_poles p)
{
    ll_scope_push(g, "analysis");
    ll_tensor *x = pole_tokens(g, c, p);
    ll_scope_pop(g);
    return x;
}

/* q[m] = those tokens, projected; [B,1,M,H] */
ll_tensor *ll_pole_queries(ll_graph *g, const ll_denoiser_config *c, ll_poles p, ll_tensor *pooled,
                           ll_tensor *conditional)
{
    ll_scope_push(g, "analysis");
    ll_tensor *x = conditioned(g, c, "q", pole_tokens(g, c, p), pooled, conditional);
    x = ll_nn_mha_project(g, "attention", x, c->hidden_dim, 0);
    ll_scope_pop(g);
    return x;
}

/* k[r] = LN(embed(tq[r])), projected; tq [B,1,h] -> [B,1,h,H] */
ll_tensor *ll_time_keys(ll_graph *g, const ll_denoiser_config *c, ll_tensor *tq, ll_tensor *pooled,
                        ll_tensor *conditional)
{
    ll_scope_push(g, "analysis");
    ll_tensor *x = embed(g, c, "time_key_proj", ll_unsqueeze(g, tq, -1));
    x = ll_nn_norm(g, "k_norm", x);
    x = ll_nn_mha_project(g, "attention", conditioned(g, c, "k", x, pooled, conditional),
                          c->hidden_dim, 1);
    ll_scope_pop(g);
    return x;
}

/* [B,R,l,heads n] -> [B,R,heads,l,n] */
static ll_tensor *by_head(ll_graph *g, ll_tensor *x, int64_t heads)
{
    const ll_shape s = ll_shape_of(x);
    if (s.rank != 4) return NULL;
    assert(heads > 0 && s.dim[3] % heads == 0);
    x = ll_reshape(g, x, LL_SHAPE(s.dim[0], s.dim[1], s.dim[2], heads, s.dim[3] / heads));
    return ll_permute(g, x, (int[]){ 0, 1, 3, 2, 4 });
}

ll_tensor *ll_analysis_weights(ll_graph *g, const ll_denoiser_config *c, ll_tensor *q, ll_tensor *k)
{
    const int64_t heads = c->num_heads, m = ll_dim(q, -2), h = ll_dim(k, -2);
    const double  scale = 1.0 / sqrt((double)(c->hidden_dim / heads));
    ll_tensor    *s =
        ll_matmul(g, by_head(g, ll_scale(g, q, scale), heads), false, by_head(g, k, heads), true);
    s = ll_permute(g, ll_softmax(g, s), (int[]){ 0, 1, 3, 2, 4 });
    return ll_reshape(g, s, LL_SHAPE(ll_dim(q, 0), 1, m, heads * h));
}

/* theta = sum over heads of weights (F_head Wv_head) v + bias, F = out_proj attention.out_proj */
ll_tensor *ll_folded_residues(ll_graph *g, const ll_denoiser_config *c, ll_tensor *weights,
                              ll_tensor *z)
{
    const int64_t heads = c->num_heads, Z = c->data_dim;
    ll_tensor    *w, *b;
    ll_scope_push(g, "analysis");
    ll_tensor *v = ll_nn_linear(g, "value_proj", z, c->hidden_dim);
    v = ll_nn_norm(g, "v_norm", v);
    ll_fold_params(g, heads * Z, c->hidden_dim, Z, &w, &b);
    ll_tensor *u = by_head(g, ll_linear(g, v, w, NULL), heads);
    ll_scope_pop(g);
    const ll_shape s = ll_shape_of(z);
    u = ll_reshape(g, u, LL_SHAPE(s.dim[0], s.dim[1], heads * s.dim[2], Z));
    return ll_add(g, ll_matmul(g, weights, false, u, false), b);
}

/* out_proj(attention.out_proj(y)) by the product of the two, which is made here */
static ll_tensor *multiplied_out(ll_graph *g, const ll_denoiser_config *c, ll_tensor *y)
{
    const int64_t h = c->hidden_dim, z = c->data_dim;
    ll_tensor    *first, *bias, *last, *last_bias;
    ll_nn_mha_out_params(g, "attention", h, &first, &bias);
    ll_nn_linear_params(g, "out_proj", z, h, &last, &last_bias);
    bias = ll_linear(g, ll_reshape(g, bias, LL_SHAPE(1, h)), last, last_bias);
    return ll_linear(g, y, ll_matmul(g, last, false, first, false),
                     ll_reshape(g, bias, LL_SHAPE(z)));
}

/* v[r] = LN(Linear(z[r])), projected; theta = out_proj(attention.out_proj(ATT(q, k, v)));
 * z [B,R,h,Z] -> [B,R,M,Z]. Cosine residues first, then those of the sines. */
ll_tensor *ll_residues(ll_graph *g, const ll_denoiser_config *c, ll_tensor *q, ll_tensor *k,
                       ll_tensor *z, const char *of, const ll_sample_opts *o)
{
    const ll_attention_opts att = { .n_heads = (int)c->num_heads,
                                    .dropout = o->training ? c->attn_dropout : 0.0 };
    ll_scope_push(g, "analysis");
    ll_tensor *v = ll_nn_linear(g, "value_proj", z, c->hidden_dim);
    v = ll_nn_mha_project(g, "attention", ll_nn_norm(g, "v_norm", v), c->hidden_dim, 2);
    ll_tensor *y = ll_attention(g, q, k, v, &att);
    if (o->training) {
        y = multiplied_out(g, c, y);
    } else {
        y = ll_nn_mha_out(g, "attention", y);
        ll_scope_push(g, of);
        ll_note(g, "attention", y);
        ll_scope_pop(g);
        y = ll_nn_linear(g, "out_proj", y, c->data_dim);
    }
    ll_scope_push(g, of);
    ll_note(g, "theta", y);
    ll_scope_pop(g);
    ll_scope_pop(g);
    return y;
}
