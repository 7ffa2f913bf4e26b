/* The default profile's denoiser: modal tokens are carried from block to block, and a local path
 * connects each query with the output; docs/spec/anchor.md 8.5. Poles, basis, attention and blocks
 * are those of the reference. */
#include "networks/modal.h"

#include <assert.h>
#include <math.h>

enum { N_WAVES = 32 }; /* of the step embedding */

/* tau = MLP of sin, cos(pi/2 t f_j), f_j log-spaced on 1..200; [B] -> [B,H] */
ll_tensor *ll_time_embedding(ll_graph *g, const ll_denoiser_config *c, ll_tensor *time)
{
    double f[N_WAVES];
    for (int j = 0; j < N_WAVES; j++)
        f[j] = 0.5 * LL_PI * pow(200.0, (double)j / (double)(N_WAVES - 1));
    ll_tensor *angle =
        ll_mul(g, ll_unsqueeze(g, time, -1), ll_constant(g, LL_SHAPE(1, N_WAVES), f));
    ll_tensor *waves[] = { ll_sin(g, angle), ll_cos(g, angle) };
    ll_scope_push(g, "time_mlp");
    ll_tensor *x = ll_nn_linear(g, "0", ll_concat(g, waves, 2, -1), c->hidden_dim);
    x = ll_nn_linear(g, "2", ll_silu(g, x), c->hidden_dim);
    ll_scope_pop(g);
    return ll_note(g, "t_emb", x);
}

/* [x, f] along the last axis; x [B,R,h,.], f [B,1,h,F] or NULL */
static ll_tensor *with_features(ll_graph *g, ll_tensor *x, ll_tensor *f)
{
    if (f == NULL || x == NULL) return x;
    ll_shape s = ll_shape_of(x);
    assert(s.rank == 4);
    s.dim[3] = ll_dim(f, 3);
    return ll_concat(g, (ll_tensor *[]){ x, ll_expand(g, f, s) }, 2, -1);
}

/* k[r] = LN(embed([tq / 168, log1p(tq) / 5, f_r])), projected; tq [B,1,h] */
static ll_tensor *query_keys(ll_graph *g, const ll_denoiser_config *c, ll_tensor *tq, ll_tensor *f)
{
    const ll_nn_mlp_opts o = { .hidden = c->hidden_dim, .width = c->hidden_dim };
    ll_tensor           *near = ll_scale(g, ll_ln(g, ll_affine(g, tq, 1.0, 1.0)), 0.2);
    ll_tensor           *in[] = { ll_unsqueeze(g, ll_scale(g, tq, 1.0 / 168.0), -1),
                                  ll_unsqueeze(g, near, -1) };
    ll_scope_push(g, "analysis");
    ll_tensor *x = with_features(g, ll_concat(g, in, 2, -1), f);
    x = ll_nn_norm(g, "k_norm", ll_nn_mlp(g, "time_key_proj", x, &o));
    x = ll_nn_mha_project(g, "attention", x, c->hidden_dim, 1);
    ll_scope_pop(g);
    return x;
}

static void block_shared(ll_graph *g, const ll_denoiser_config *c, ll_tensor *tau, ll_tensor *E,
                         ll_modal_block *b)
{
    if (E != NULL) {
        ll_scope_push(g, "cross_blk");
        b->cross = ll_nn_cross_plain_keys(g, E, tau);
        ll_scope_pop(g);
    }
    ll_scope_push(g, "self_blk");
    b->self = ll_nn_ada_of(g, "norm1", tau, c->hidden_dim);
    b->mlp = ll_nn_ada_of(g, "norm2", tau, c->hidden_dim);
    ll_scope_pop(g);
}

void ll_tokens_shared(ll_graph *g, const ll_denoiser_config *c, const ll_denoiser_in *in,
                      ll_tensor *tau, ll_tensor *tq, ll_poles p, ll_modal *m)
{
    const int64_t h = c->hidden_dim;
    ll_tensor    *E = in->E == NULL ? NULL : ll_unsqueeze(g, in->E, 1);
    ll_tensor    *q = ll_pole_tokens(g, c, p);
    m->f = in->f == NULL ? NULL : ll_unsqueeze(g, in->f, 1);
    m->pad = in->pad == NULL ? NULL : ll_unsqueeze(g, in->pad, 1);
    m->E_pad = in->E_pad == NULL ? NULL : ll_unsqueeze(g, in->E_pad, 1);
    m->start = ll_add(g, ll_scale(g, q, 0.5), ll_unsqueeze(g, tau, -2));
    ll_scope_push(g, "analysis");
    m->q = ll_nn_mha_project(g, "attention", q, h, 0);
    ll_scope_pop(g);
    m->k = query_keys(g, c, tq, m->f);
    ll_scope_push(g, "local");
    ll_tensor *w =
        ll_param(g, "tau.weight", LL_SHAPE(2 * h, h), LL_INIT_UNIFORM(1.0 / sqrt((double)h)));
    m->gate = ll_unsqueeze(g, ll_linear(g, tau, w, NULL), -2);
    ll_scope_pop(g);
    for (int i = 0; i < c->num_layers; i++) {
        ll_scope_pushf(g, "blocks.%d", i);
        block_shared(g, c, tau, E, &m->block[i]);
        ll_scope_pop(g);
    }
}

/* x = 0.5 q + Wo ATT(q, k, v) + tau, v = LN(Linear([z, f])); [B,R,M,H] */
static ll_tensor *first_tokens(ll_graph *g, const ll_denoiser_config *c, const ll_modal *m,
                               ll_tensor *z, const ll_sample_opts *o)
{
    const ll_attention_opts att = { .n_heads = (int)c->num_heads,
                                    .key_padding = m->pad,
                                    .dropout = o->training ? c->attn_dropout : 0.0 };
    ll_scope_push(g, "analysis");
    ll_tensor *v = ll_nn_linear(g, "value_proj", with_features(g, z, m->f), c->hidden_dim);
    v = ll_nn_mha_project(g, "attention", ll_nn_norm(g, "v_norm", v), c->hidden_dim, 2);
    ll_tensor *y = ll_nn_mha_out(g, "attention", ll_attention(g, m->q, m->k, v, &att));
    ll_scope_pop(g);
    return ll_add(g, y, m->start);
}

/* x += cross(AdaLN(x), E); x += self(AdaLN(x)); x += MLP(AdaLN(x)) */
static ll_tensor *block(ll_graph *g, const ll_denoiser_config *c, const ll_modal *m,
                        const ll_modal_block *b, ll_tensor *x, const ll_sample_opts *opts)
{
    const ll_nn_block_opts o = { .n_heads = (int)c->num_heads,
                                 .mlp_ratio = c->mlp_ratio,
                                 .key_padding = m->E_pad,
                                 .dropout = opts->training ? c->dropout : 0.0,
                                 .attn_dropout = opts->training ? c->attn_dropout : 0.0 };
    if (b->cross.k != NULL) {
        ll_scope_push(g, "cross_blk");
        ll_tensor *y = ll_nn_cross_branch(g, x, &b->cross, &o);
        if (m->conditional != NULL) y = ll_mul(g, y, m->conditional);
        x = ll_add(g, x, y);
        ll_scope_pop(g);
    }
    ll_scope_push(g, "self_blk");
    x = ll_add(g, x, ll_nn_self_branch(g, x, b->self, &o));
    ll_tensor *up = ll_nn_mlp_up(g, x, b->mlp, &o);
    x = ll_add(g, x, ll_dropout(g, ll_nn_linear(g, "mlp.3", up, c->hidden_dim), o.dropout));
    ll_scope_pop(g);
    return ll_note(g, "x", x);
}

/* Linear(y) + W_o(u GELU(g)), [g|u] = W_i [LN(y), z, f] + W_t tau */
static ll_tensor *local_head(ll_graph *g, const ll_denoiser_config *c, const ll_modal *m,
                             ll_tensor *y, ll_tensor *z)
{
    ll_tensor *part[2], *seen[] = { ll_nn_norm(g, "head_norm", y), z };
    ll_tensor *out = ll_nn_linear(g, "head_proj", y, c->data_dim);
    ll_scope_push(g, "local");
    ll_tensor *x = with_features(g, ll_concat(g, seen, 2, -1), m->f);
    x = ll_add(g, ll_nn_linear(g, "in", x, 2 * c->hidden_dim), m->gate);
    ll_split_axis(g, x, -1, 2, part);
    x = ll_mul(g, part[1], ll_gelu(g, part[0]));
    x = ll_nn_linear_from(g, "out", x, c->data_dim, LL_INIT_ZERO, LL_INIT_ZERO);
    ll_scope_pop(g);
    return ll_add(g, out, x);
}

ll_tensor *ll_tokens_sample(ll_graph *g, const ll_denoiser_config *c, const ll_modal *m,
                            ll_tensor *z, const ll_sample_opts *o)
{
    const int64_t d = c->synthesis_dim > 0 ? c->synthesis_dim : c->data_dim > 16 ? c->data_dim : 16;
    ll_tensor    *x = first_tokens(g, c, m, z, o);
    assert(!o->folded); /* no neighbouring products here */
    for (int i = 0; i < c->num_layers; i++) {
        ll_scope_pushf(g, "blocks.%d", i);
        x = block(g, c, m, &m->block[i], x, o);
        ll_scope_pop(g);
    }
    ll_tensor *theta = ll_nn_linear(g, "hid2coef", ll_nn_norm(g, "token_norm", x), d);
    ll_tensor *y = ll_matmul(g, m->basis, false, ll_note(g, "theta", theta), false);
    y = ll_note(g, "y_time", ll_scale(g, y, 1.0 / sqrt((double)c->laplace_k)));
    return local_head(g, c, m, y, z);
}
