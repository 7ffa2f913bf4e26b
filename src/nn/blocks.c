/* Attention layers and transformer blocks. */
#include "nn/nn.h"

#include <assert.h>
#include <math.h>

static ll_attention_opts attention_opts(const ll_nn_attn_opts *o)
{
    return (ll_attention_opts){
        .n_heads = o->n_heads, .key_padding = o->key_padding, .bias = o->bias, .dropout = o->dropout
    };
}

static void stacked(ll_graph *g, int64_t e, ll_tensor **w, ll_tensor **b)
{
    *w = ll_param(g, "in_proj_weight", LL_SHAPE(3 * e, e),
                  LL_INIT_UNIFORM(sqrt(6.0 / (4.0 * (double)(e > 0 ? e : 1)))));
    *b = ll_param(g, "in_proj_bias", LL_SHAPE(3 * e), LL_INIT_ZERO);
}

ll_tensor *ll_nn_mha_project(ll_graph *g, const char *name, ll_tensor *x, int64_t e, int i)
{
    ll_tensor *w, *b;
    assert(i >= 0 && i < 3);
    ll_scope_push(g, name);
    stacked(g, e, &w, &b);
    ll_tensor *y = ll_linear(g, x, ll_slice(g, w, 0, i * e, e), ll_slice(g, b, 0, i * e, e));
    ll_scope_pop(g);
    return y;
}

static ll_init out_init(int64_t e) { return LL_INIT_UNIFORM(1.0 / sqrt((double)(e > 0 ? e : 1))); }

void ll_nn_mha_out_params(ll_graph *g, const char *name, int64_t e, ll_tensor **w, ll_tensor **b)
{
    ll_scope_push(g, name);
    ll_scope_push(g, "out_proj");
    *w = ll_param(g, "weight", LL_SHAPE(e, e), out_init(e));
    *b = ll_param(g, "bias", LL_SHAPE(e), LL_INIT_ZERO);
    ll_scope_pop(g);
    ll_scope_pop(g);
}

ll_tensor *ll_nn_mha_out(ll_graph *g, const char *name, ll_tensor *x)
{
    const int64_t e = ll_dim(x, -1);
    ll_scope_push(g, name);
    ll_tensor *y = ll_nn_linear_from(g, "out_proj", x, e, out_init(e), LL_INIT_ZERO);
    ll_note(g, NULL, y);
    ll_scope_pop(g);
    return y;
}

ll_tensor *ll_nn_mha(ll_graph *g, const char *name, ll_tensor *q, ll_tensor *k, ll_tensor *v,
                     const ll_nn_attn_opts *opts)
{
    const int64_t           e = ll_dim(q, -1);
    const ll_attention_opts att = attention_opts(opts);
    ll_tensor              *p[3], *w, *b;
    if (q == k && k == v) { /* one product for the three */
        ll_scope_push(g, name);
        stacked(g, e, &w, &b);
        ll_split_axis(g, ll_linear(g, q, w, b), -1, 3, p);
        ll_scope_pop(g);
    } else {
        p[0] = ll_nn_mha_project(g, name, q, e, 0);
        p[1] = ll_nn_mha_project(g, name, k, e, 1);
        p[2] = ll_nn_mha_project(g, name, v, e, 2);
    }
    return ll_nn_mha_out(g, name, ll_attention(g, p[0], p[1], p[2], &att));
}

/* Self attention with rotary positions: qkv rows are q, k, v; v is not rotated. */
static ll_tensor *rotary_attention(ll_graph *g, const char *name, ll_tensor *x,
                                   const ll_nn_encoder_opts *o)
{
    const int64_t           e = ll_dim(x, -1);
    const ll_attention_opts att = attention_opts(&o->attn);
    ll_tensor              *p[3];
    ll_scope_push(g, name);
    ll_split_axis(g, ll_nn_linear(g, "qkv", x, 3 * e), -1, 3, p);
    p[0] = ll_rotary(g, p[0], o->times, o->attn.n_heads, o->rotary_base);
    p[1] = ll_rotary(g, p[1], o->times, o->attn.n_heads, o->rotary_base);
    ll_tensor *y = ll_nn_linear(g, "out_proj", ll_attention(g, p[0], p[1], p[2], &att), e);
    ll_note(g, NULL, y);
    ll_scope_pop(g);
    return y;
}

static ll_tensor *self_attention(ll_graph *g, ll_tensor *x, const ll_nn_encoder_opts *o)
{
    ll_tensor *y = o->times != NULL ? rotary_attention(g, "self_attn", x, o)
                                    : ll_nn_mha(g, "self_attn", x, x, x, &o->attn);
    return ll_dropout(g, y, o->dropout);
}

static ll_tensor *feed_forward(ll_graph *g, ll_tensor *x, const ll_nn_encoder_opts *o)
{
    ll_tensor *h = ll_nn_linear(g, "linear1", x, o->ff);
    h = o->relu ? ll_maximum(g, h, ll_full(g, LL_SCALAR, 0.0)) : ll_gelu(g, h);
    h = ll_nn_linear(g, "linear2", ll_dropout(g, h, o->dropout), ll_dim(x, -1));
    return ll_dropout(g, h, o->dropout);
}

ll_tensor *ll_nn_encoder_layer(ll_graph *g, const char *name, ll_tensor *x,
                               const ll_nn_encoder_opts *o)
{
    ll_scope_push(g, name);
    if (o->norm_first) {
        x = ll_add(g, x, self_attention(g, ll_nn_norm(g, "norm1", x), o));
        x = ll_add(g, x, feed_forward(g, ll_nn_norm(g, "norm2", x), o));
    } else {
        x = ll_nn_norm(g, "norm1", ll_add(g, x, self_attention(g, x, o)));
        x = ll_nn_norm(g, "norm2", ll_add(g, x, feed_forward(g, x, o)));
    }
    ll_note(g, NULL, x);
    ll_scope_pop(g);
    return x;
}

ll_tensor *ll_nn_self_answer(ll_graph *g, ll_tensor *qkv, const ll_nn_block_opts *o)
{
    const int64_t           h = ll_dim(qkv, -1) / 3;
    const ll_attention_opts att = { .n_heads = o->n_heads,
                                    .bias = o->attn_bias,
                                    .dropout = o->attn_dropout };
    ll_tensor              *p[3];
    ll_split_axis(g, qkv, -1, 3, p);
    ll_tensor *y = ll_nn_linear(g, "proj", ll_attention(g, p[0], p[1], p[2], &att), h);
    return ll_dropout(g, y, o->dropout);
}

ll_tensor *ll_nn_self_branch(ll_graph *g, ll_tensor *x, ll_nn_ada ada, const ll_nn_block_opts *o)
{
    ll_tensor *y = ll_note(g, "norm1", ll_nn_ada_apply(g, x, ada));
    return ll_nn_self_answer(g, ll_nn_linear(g, "qkv", y, 3 * ll_dim(x, -1)), o);
}

ll_tensor *ll_nn_mlp_up(ll_graph *g, ll_tensor *x, ll_nn_ada ada, const ll_nn_block_opts *o)
{
    const int64_t wide = (int64_t)((double)ll_dim(x, -1) * o->mlp_ratio);
    ll_tensor    *y = ll_note(g, "norm2", ll_nn_ada_apply(g, x, ada));
    return ll_dropout(g, ll_gelu(g, ll_nn_linear(g, "mlp.0", y, wide)), o->dropout);
}

/* [k|v] = Linear(kv)(tokens), with the AdaLN of the queries */
static ll_nn_cross_kv cross_keys(ll_graph *g, ll_tensor *tokens, ll_tensor *cond)
{
    const int64_t  h = ll_dim(tokens, -1);
    ll_tensor     *p[2] = { NULL, NULL };
    ll_nn_cross_kv c = { .ada = ll_nn_ada_of(g, "norm_q", cond, h) };
    ll_split_axis(g, ll_nn_linear(g, "kv", tokens, 2 * h), -1, 2, p);
    c.k = p[0];
    c.v = p[1];
    return c;
}

ll_nn_cross_kv ll_nn_cross_keys(ll_graph *g, ll_tensor *kv, ll_tensor *cond)
{
    return cross_keys(g, ll_nn_ada_norm(g, "norm_kv", kv, cond), cond);
}

ll_nn_cross_kv ll_nn_cross_row_keys(ll_graph *g, ll_tensor *u, ll_tensor *cond, ll_tensor *used)
{
    const int64_t   h = ll_dim(u, -1);
    const ll_nn_ada ada = ll_nn_ada_of(g, "norm_kv", cond, h);
    ll_nn_cross_kv  c = { .ada = ll_nn_ada_of(g, "norm_q", cond, h) };
    ll_tensor      *w, *b, *p[2] = { NULL, NULL };
    ll_nn_linear_params(g, "kv", 2 * h, h, &w, &b);
    ll_tensor *gain = ll_unsqueeze(g, ll_affine(g, ada.scale, 1.0, 1.0), -2);
    ll_tensor *shift = ll_unsqueeze(g, ll_linear(g, ada.shift, w, b), -2);
    if (used != NULL) shift = ll_mul(g, shift, used);
    ll_tensor *kv = ll_matmul(g, u, false, ll_mul(g, w, gain), true);
    ll_split_axis(g, ll_add(g, kv, shift), -1, 2, p);
    c.k = p[0];
    c.v = p[1];
    return c;
}

ll_nn_cross_kv ll_nn_cross_plain_keys(ll_graph *g, ll_tensor *kv, ll_tensor *cond)
{
    return cross_keys(g, kv, cond);
}

ll_tensor *ll_nn_cross_answer(ll_graph *g, ll_tensor *q, const ll_nn_cross_kv *kv,
                              const ll_nn_block_opts *o)
{
    const ll_attention_opts att = { .n_heads = o->n_heads,
                                    .key_padding = o->key_padding,
                                    .dropout = o->attn_dropout };
    ll_tensor              *y = ll_attention(g, q, kv->k, kv->v, &att);
    return ll_dropout(g, ll_nn_linear(g, "proj", y, ll_dim(q, -1)), o->dropout);
}

ll_tensor *ll_nn_cross_branch(ll_graph *g, ll_tensor *x, const ll_nn_cross_kv *kv,
                              const ll_nn_block_opts *o)
{
    ll_tensor *q = ll_note(g, "norm_q", ll_nn_ada_apply(g, x, kv->ada));
    return ll_nn_cross_answer(g, ll_nn_linear(g, "q", q, ll_dim(x, -1)), kv, o);
}

ll_tensor *ll_nn_summary_pool(ll_graph *g, const char *name, ll_tensor *tokens, ll_tensor *query)
{
    const int64_t h = ll_dim(tokens, -1);
    ll_scope_push(g, name);
    ll_tensor *x = ll_nn_norm(g, "token_norm", tokens);
    ll_tensor *q = ll_note(g, "q", ll_nn_linear(g, "query_proj", query, h));
    ll_tensor *k = ll_note(g, "k", ll_nn_linear(g, "key_proj", x, h));
    ll_tensor *v = ll_note(g, "v", ll_nn_linear(g, "value_proj", x, h));
    ll_tensor *y =
        ll_attention(g, ll_unsqueeze(g, q, -2), k, v, &(ll_attention_opts){ .n_heads = 1 });
    if (y != NULL) y = ll_squeeze(g, y, LL_AXIS(ll_shape_of(y).rank - 2));
    y = ll_note(g, NULL,
                ll_nn_linear_from(g, "out_proj", y, h, LL_INIT_NORMAL(0.01), LL_INIT_ZERO));
    ll_scope_pop(g);
    return y;
}
