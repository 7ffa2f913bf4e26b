/* The default profile's denoiser: modal tokens are carried from block to block, and a local path
 * connects each query with the output; spec accuracy.md 4.7. Poles, basis, attention and blocks are
 * those of the reference. */
#include "model/modal.h"

#include <math.h>

enum { N_WAVES = 32 }; /* of the step embedding */

/* tau = MLP of sin, cos(pi/2 t f_j), f_j log-spaced on 1..200; [B] -> [B,H] */
llap_tensor *llap_time_embedding(llap_graph *g, const llap_denoiser_config *c, llap_tensor *time)
{
    double f[N_WAVES];
    for (int j = 0; j < N_WAVES; j++)
        f[j] = 0.5 * LLAP_PI * pow(200.0, (double)j / (double)(N_WAVES - 1));
    llap_tensor *angle =
        llap_mul(g, llap_unsqueeze(g, time, -1), llap_constant(g, LLAP_SHAPE(1, N_WAVES), f));
    llap_tensor *waves[] = { llap_sin(g, angle), llap_cos(g, angle) };
    llap_scope_push(g, "time_mlp");
    llap_tensor *x = llap_nn_linear(g, "0", llap_concat(g, waves, 2, -1), c->hidden_dim);
    x = llap_nn_linear(g, "2", llap_silu(g, x), c->hidden_dim);
    llap_scope_pop(g);
    return llap_note(g, "t_emb", x);
}

/* [x, f] along the last axis; x [B,R,h,.], f [B,1,h,F] or NULL */
static llap_tensor *with_features(llap_graph *g, llap_tensor *x, llap_tensor *f)
{
    if (f == NULL || x == NULL) return x;
    llap_shape s = llap_shape_of(x);
    s.dim[3] = llap_dim(f, 3);
    return llap_concat(g, (llap_tensor *[]){ x, llap_expand(g, f, s) }, 2, -1);
}

/* k[r] = LN(embed([tq / 168, log1p(tq) / 5, f_r])), projected; tq [B,1,h] */
static llap_tensor *query_keys(llap_graph *g, const llap_denoiser_config *c, llap_tensor *tq,
                               llap_tensor *f)
{
    const llap_nn_mlp_opts o = { .hidden = c->hidden_dim, .width = c->hidden_dim };
    llap_tensor           *near = llap_scale(g, llap_ln(g, llap_affine(g, tq, 1.0, 1.0)), 0.2);
    llap_tensor           *in[] = { llap_unsqueeze(g, llap_scale(g, tq, 1.0 / 168.0), -1),
                                    llap_unsqueeze(g, near, -1) };
    llap_scope_push(g, "analysis");
    llap_tensor *x = with_features(g, llap_concat(g, in, 2, -1), f);
    x = llap_nn_norm(g, "k_norm", llap_nn_mlp(g, "time_key_proj", x, &o));
    x = llap_nn_mha_project(g, "attention", x, c->hidden_dim, 1);
    llap_scope_pop(g);
    return x;
}

static void block_shared(llap_graph *g, const llap_denoiser_config *c, llap_tensor *tau,
                         llap_tensor *E, llap_modal_block *b)
{
    if (E != NULL) {
        llap_scope_push(g, "cross_blk");
        b->cross = llap_nn_cross_plain_keys(g, E, tau);
        llap_scope_pop(g);
    }
    llap_scope_push(g, "self_blk");
    b->self = llap_nn_ada_of(g, "norm1", tau, c->hidden_dim);
    b->mlp = llap_nn_ada_of(g, "norm2", tau, c->hidden_dim);
    llap_scope_pop(g);
}

void llap_tokens_shared(llap_graph *g, const llap_denoiser_config *c, const llap_denoiser_in *in,
                        llap_tensor *tau, llap_tensor *tq, llap_poles p, llap_modal *m)
{
    const int64_t h = c->hidden_dim;
    llap_tensor  *E = in->E == NULL ? NULL : llap_unsqueeze(g, in->E, 1);
    llap_tensor  *q = llap_pole_tokens(g, c, p);
    m->f = in->f == NULL ? NULL : llap_unsqueeze(g, in->f, 1);
    m->pad = in->pad == NULL ? NULL : llap_unsqueeze(g, in->pad, 1);
    m->E_pad = in->E_pad == NULL ? NULL : llap_unsqueeze(g, in->E_pad, 1);
    m->start = llap_add(g, llap_scale(g, q, 0.5), llap_unsqueeze(g, tau, -2));
    llap_scope_push(g, "analysis");
    m->q = llap_nn_mha_project(g, "attention", q, h, 0);
    llap_scope_pop(g);
    m->k = query_keys(g, c, tq, m->f);
    llap_scope_push(g, "local");
    llap_tensor *w =
        llap_param(g, "tau.weight", LLAP_SHAPE(2 * h, h), LLAP_INIT_UNIFORM(1.0 / sqrt((double)h)));
    m->gate = llap_unsqueeze(g, llap_linear(g, tau, w, NULL), -2);
    llap_scope_pop(g);
    for (int i = 0; i < c->num_layers; i++) {
        llap_scope_pushf(g, "blocks.%d", i);
        block_shared(g, c, tau, E, &m->block[i]);
        llap_scope_pop(g);
    }
}

/* x = 0.5 q + Wo ATT(q, k, v) + tau, v = LN(Linear([z, f])); [B,R,M,H] */
static llap_tensor *first_tokens(llap_graph *g, const llap_denoiser_config *c, const llap_modal *m,
                                 llap_tensor *z, const llap_sample_opts *o)
{
    const llap_attention_opts att = { .n_heads = (int)c->num_heads,
                                      .key_padding = m->pad,
                                      .dropout = o->training ? c->attn_dropout : 0.0 };
    llap_scope_push(g, "analysis");
    llap_tensor *v = llap_nn_linear(g, "value_proj", with_features(g, z, m->f), c->hidden_dim);
    v = llap_nn_mha_project(g, "attention", llap_nn_norm(g, "v_norm", v), c->hidden_dim, 2);
    llap_tensor *y = llap_nn_mha_out(g, "attention", llap_attention(g, m->q, m->k, v, &att));
    llap_scope_pop(g);
    return llap_add(g, y, m->start);
}

/* x += cross(AdaLN(x), E); x += self(AdaLN(x)); x += MLP(AdaLN(x)) */
static llap_tensor *block(llap_graph *g, const llap_denoiser_config *c, const llap_modal *m,
                          const llap_modal_block *b, llap_tensor *x, const llap_sample_opts *opts)
{
    const llap_nn_block_opts o = { .n_heads = (int)c->num_heads,
                                   .mlp_ratio = c->mlp_ratio,
                                   .key_padding = m->E_pad,
                                   .dropout = opts->training ? c->dropout : 0.0,
                                   .attn_dropout = opts->training ? c->attn_dropout : 0.0 };
    if (b->cross.k != NULL) {
        llap_scope_push(g, "cross_blk");
        llap_tensor *y = llap_nn_cross_branch(g, x, &b->cross, &o);
        if (m->conditional != NULL) y = llap_mul(g, y, m->conditional);
        x = llap_add(g, x, y);
        llap_scope_pop(g);
    }
    llap_scope_push(g, "self_blk");
    x = llap_add(g, x, llap_nn_self_branch(g, x, b->self, &o));
    llap_tensor *up = llap_nn_mlp_up(g, x, b->mlp, &o);
    x = llap_add(g, x, llap_dropout(g, llap_nn_linear(g, "mlp.3", up, c->hidden_dim), o.dropout));
    llap_scope_pop(g);
    return llap_note(g, "x", x);
}

/* Linear(y) + W_o(u GELU(g)), [g|u] = W_i [LN(y), z, f] + W_t tau */
static llap_tensor *local_head(llap_graph *g, const llap_denoiser_config *c, const llap_modal *m,
                               llap_tensor *y, llap_tensor *z)
{
    llap_tensor *part[2], *seen[] = { llap_nn_norm(g, "head_norm", y), z };
    llap_tensor *out = llap_nn_linear(g, "head_proj", y, c->data_dim);
    llap_scope_push(g, "local");
    llap_tensor *x = with_features(g, llap_concat(g, seen, 2, -1), m->f);
    x = llap_add(g, llap_nn_linear(g, "in", x, 2 * c->hidden_dim), m->gate);
    llap_split_axis(g, x, -1, 2, part);
    x = llap_mul(g, part[1], llap_gelu(g, part[0]));
    x = llap_nn_linear_from(g, "out", x, c->data_dim, LLAP_INIT_ZERO, LLAP_INIT_ZERO);
    llap_scope_pop(g);
    return llap_add(g, out, x);
}

llap_tensor *llap_tokens_sample(llap_graph *g, const llap_denoiser_config *c, const llap_modal *m,
                                llap_tensor *z, const llap_sample_opts *o)
{
    const int64_t d = c->synthesis_dim > 0 ? c->synthesis_dim : c->data_dim > 16 ? c->data_dim : 16;
    llap_tensor  *x = first_tokens(g, c, m, z, o);
    for (int i = 0; i < c->num_layers; i++) {
        llap_scope_pushf(g, "blocks.%d", i);
        x = block(g, c, m, &m->block[i], x, o);
        llap_scope_pop(g);
    }
    llap_tensor *theta = llap_nn_linear(g, "hid2coef", llap_nn_norm(g, "token_norm", x), d);
    llap_tensor *y = llap_matmul(g, m->basis, false, llap_note(g, "theta", theta), false);
    y = llap_note(g, "y_time", llap_scale(g, y, 1.0 / sqrt((double)c->laplace_k)));
    return local_head(g, c, m, y, z);
}
