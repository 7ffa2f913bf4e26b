/* Attention layers and transformer blocks. */
#include "nn/nn.h"

#include <math.h>

static llap_attention_opts attention_opts(const llap_nn_attn_opts *o)
{
    return (llap_attention_opts){
        .n_heads = o->n_heads, .key_padding = o->key_padding, .bias = o->bias, .dropout = o->dropout
    };
}

static void stacked(llap_graph *g, int64_t e, llap_tensor **w, llap_tensor **b)
{
    *w = llap_param(g, "in_proj_weight", LLAP_SHAPE(3 * e, e),
                    LLAP_INIT_UNIFORM(sqrt(6.0 / (4.0 * (double)(e > 0 ? e : 1)))));
    *b = llap_param(g, "in_proj_bias", LLAP_SHAPE(3 * e), LLAP_INIT_ZERO);
}

llap_tensor *llap_nn_mha_project(llap_graph *g, const char *name, llap_tensor *x, int64_t e, int i)
{
    llap_tensor *w, *b;
    llap_scope_push(g, name);
    stacked(g, e, &w, &b);
    llap_tensor *y =
        llap_linear(g, x, llap_slice(g, w, 0, i * e, e), llap_slice(g, b, 0, i * e, e));
    llap_scope_pop(g);
    return y;
}

static llap_init out_init(int64_t e)
{
    return LLAP_INIT_UNIFORM(1.0 / sqrt((double)(e > 0 ? e : 1)));
}

void llap_nn_mha_out_params(llap_graph *g, const char *name, int64_t e, llap_tensor **w,
                            llap_tensor **b)
{
    llap_scope_push(g, name);
    llap_scope_push(g, "out_proj");
    *w = llap_param(g, "weight", LLAP_SHAPE(e, e), out_init(e));
    *b = llap_param(g, "bias", LLAP_SHAPE(e), LLAP_INIT_ZERO);
    llap_scope_pop(g);
    llap_scope_pop(g);
}

llap_tensor *llap_nn_mha_out(llap_graph *g, const char *name, llap_tensor *x)
{
    const int64_t e = llap_dim(x, -1);
    llap_scope_push(g, name);
    llap_tensor *y = llap_nn_linear_from(g, "out_proj", x, e, out_init(e), LLAP_INIT_ZERO);
    llap_note(g, NULL, y);
    llap_scope_pop(g);
    return y;
}

llap_tensor *llap_nn_mha(llap_graph *g, const char *name, llap_tensor *q, llap_tensor *k,
                         llap_tensor *v, const llap_nn_attn_opts *opts)
{
    const int64_t             e = llap_dim(q, -1);
    const llap_attention_opts att = attention_opts(opts);
    llap_tensor              *p[3], *w, *b;
    if (q == k && k == v) { /* one product for the three */
        llap_scope_push(g, name);
        stacked(g, e, &w, &b);
        llap_split_axis(g, llap_linear(g, q, w, b), -1, 3, p);
        llap_scope_pop(g);
    } else {
        p[0] = llap_nn_mha_project(g, name, q, e, 0);
        p[1] = llap_nn_mha_project(g, name, k, e, 1);
        p[2] = llap_nn_mha_project(g, name, v, e, 2);
    }
    return llap_nn_mha_out(g, name, llap_attention(g, p[0], p[1], p[2], &att));
}

/* Self attention with rotary positions: qkv rows are q, k, v; v is not rotated. */
static llap_tensor *rotary_attention(llap_graph *g, const char *name, llap_tensor *x,
                                     const llap_nn_encoder_opts *o)
{
    const int64_t             e = llap_dim(x, -1);
    const llap_attention_opts att = attention_opts(&o->attn);
    llap_tensor              *p[3];
    llap_scope_push(g, name);
    llap_split_axis(g, llap_nn_linear(g, "qkv", x, 3 * e), -1, 3, p);
    p[0] = llap_rotary(g, p[0], o->times, o->attn.n_heads, o->rotary_base);
    p[1] = llap_rotary(g, p[1], o->times, o->attn.n_heads, o->rotary_base);
    llap_tensor *y = llap_nn_linear(g, "out_proj", llap_attention(g, p[0], p[1], p[2], &att), e);
    llap_note(g, NULL, y);
    llap_scope_pop(g);
    return y;
}

static llap_tensor *self_attention(llap_graph *g, llap_tensor *x, const llap_nn_encoder_opts *o)
{
    llap_tensor *y = o->times != NULL ? rotary_attention(g, "self_attn", x, o)
                                      : llap_nn_mha(g, "self_attn", x, x, x, &o->attn);
    return llap_dropout(g, y, o->dropout);
}

static llap_tensor *feed_forward(llap_graph *g, llap_tensor *x, const llap_nn_encoder_opts *o)
{
    llap_tensor *h = llap_gelu(g, llap_nn_linear(g, "linear1", x, o->ff));
    h = llap_nn_linear(g, "linear2", llap_dropout(g, h, o->dropout), llap_dim(x, -1));
    return llap_dropout(g, h, o->dropout);
}

llap_tensor *llap_nn_encoder_layer(llap_graph *g, const char *name, llap_tensor *x,
                                   const llap_nn_encoder_opts *o)
{
    llap_scope_push(g, name);
    if (o->norm_first) {
        x = llap_add(g, x, self_attention(g, llap_nn_norm(g, "norm1", x), o));
        x = llap_add(g, x, feed_forward(g, llap_nn_norm(g, "norm2", x), o));
    } else {
        x = llap_nn_norm(g, "norm1", llap_add(g, x, self_attention(g, x, o)));
        x = llap_nn_norm(g, "norm2", llap_add(g, x, feed_forward(g, x, o)));
    }
    llap_note(g, NULL, x);
    llap_scope_pop(g);
    return x;
}

llap_tensor *llap_nn_self_answer(llap_graph *g, llap_tensor *qkv, const llap_nn_block_opts *o)
{
    const int64_t             h = llap_dim(qkv, -1) / 3;
    const llap_attention_opts att = { .n_heads = o->n_heads,
                                      .bias = o->attn_bias,
                                      .dropout = o->attn_dropout };
    llap_tensor              *p[3];
    llap_split_axis(g, qkv, -1, 3, p);
    llap_tensor *y = llap_nn_linear(g, "proj", llap_attention(g, p[0], p[1], p[2], &att), h);
    return llap_dropout(g, y, o->dropout);
}

llap_tensor *llap_nn_self_branch(llap_graph *g, llap_tensor *x, llap_nn_ada ada,
                                 const llap_nn_block_opts *o)
{
    llap_tensor *y = llap_note(g, "norm1", llap_nn_ada_apply(g, x, ada));
    return llap_nn_self_answer(g, llap_nn_linear(g, "qkv", y, 3 * llap_dim(x, -1)), o);
}

llap_tensor *llap_nn_mlp_up(llap_graph *g, llap_tensor *x, llap_nn_ada ada,
                            const llap_nn_block_opts *o)
{
    const int64_t wide = (int64_t)((double)llap_dim(x, -1) * o->mlp_ratio);
    llap_tensor  *y = llap_note(g, "norm2", llap_nn_ada_apply(g, x, ada));
    return llap_dropout(g, llap_gelu(g, llap_nn_linear(g, "mlp.0", y, wide)), o->dropout);
}

llap_tensor *llap_nn_transformer_block(llap_graph *g, const char *name, llap_tensor *x,
                                       llap_tensor *cond, const llap_nn_block_opts *o)
{
    const int64_t h = llap_dim(x, -1);
    llap_scope_push(g, name);
    x = llap_add(g, x, llap_nn_self_branch(g, x, llap_nn_ada_of(g, "norm1", cond, h), o));
    llap_tensor *y = llap_nn_mlp_up(g, x, llap_nn_ada_of(g, "norm2", cond, h), o);
    y = llap_note(g, "mlp", llap_dropout(g, llap_nn_linear(g, "mlp.3", y, h), o->dropout));
    x = llap_note(g, NULL, llap_add(g, x, y));
    llap_scope_pop(g);
    return x;
}

/* [k|v] = Linear(kv)(tokens), with the AdaLN of the queries */
static llap_nn_cross_kv cross_keys(llap_graph *g, llap_tensor *tokens, llap_tensor *cond)
{
    const int64_t    h = llap_dim(tokens, -1);
    llap_tensor     *p[2] = { NULL, NULL };
    llap_nn_cross_kv c = { .ada = llap_nn_ada_of(g, "norm_q", cond, h) };
    llap_split_axis(g, llap_nn_linear(g, "kv", tokens, 2 * h), -1, 2, p);
    c.k = p[0];
    c.v = p[1];
    return c;
}

llap_nn_cross_kv llap_nn_cross_keys(llap_graph *g, llap_tensor *kv, llap_tensor *cond)
{
    return cross_keys(g, llap_nn_ada_norm(g, "norm_kv", kv, cond), cond);
}

llap_nn_cross_kv llap_nn_cross_row_keys(llap_graph *g, llap_tensor *u, llap_tensor *cond,
                                        llap_tensor *used)
{
    const int64_t     h = llap_dim(u, -1);
    const llap_nn_ada ada = llap_nn_ada_of(g, "norm_kv", cond, h);
    llap_nn_cross_kv  c = { .ada = llap_nn_ada_of(g, "norm_q", cond, h) };
    llap_tensor      *w, *b, *p[2] = { NULL, NULL };
    llap_nn_linear_params(g, "kv", 2 * h, h, &w, &b);
    llap_tensor *gain = llap_unsqueeze(g, llap_affine(g, ada.scale, 1.0, 1.0), -2);
    llap_tensor *shift = llap_unsqueeze(g, llap_linear(g, ada.shift, w, b), -2);
    if (used != NULL) shift = llap_mul(g, shift, used);
    llap_tensor *kv = llap_matmul(g, u, false, llap_mul(g, w, gain), true);
    llap_split_axis(g, llap_add(g, kv, shift), -1, 2, p);
    c.k = p[0];
    c.v = p[1];
    return c;
}

llap_nn_cross_kv llap_nn_cross_plain_keys(llap_graph *g, llap_tensor *kv, llap_tensor *cond)
{
    return cross_keys(g, kv, cond);
}

llap_tensor *llap_nn_cross_answer(llap_graph *g, llap_tensor *q, const llap_nn_cross_kv *kv,
                                  const llap_nn_block_opts *o)
{
    const llap_attention_opts att = { .n_heads = o->n_heads,
                                      .key_padding = o->key_padding,
                                      .dropout = o->attn_dropout };
    llap_tensor              *y = llap_attention(g, q, kv->k, kv->v, &att);
    return llap_dropout(g, llap_nn_linear(g, "proj", y, llap_dim(q, -1)), o->dropout);
}

llap_tensor *llap_nn_cross_branch(llap_graph *g, llap_tensor *x, const llap_nn_cross_kv *kv,
                                  const llap_nn_block_opts *o)
{
    llap_tensor *q = llap_note(g, "norm_q", llap_nn_ada_apply(g, x, kv->ada));
    return llap_nn_cross_answer(g, llap_nn_linear(g, "q", q, llap_dim(x, -1)), kv, o);
}

llap_tensor *llap_nn_cross_block(llap_graph *g, const char *name, llap_tensor *x, llap_tensor *kv,
                                 llap_tensor *cond, const llap_nn_block_opts *o)
{
    llap_scope_push(g, name);
    const llap_nn_cross_kv shared = llap_nn_cross_keys(g, kv, cond);
    x = llap_note(g, NULL, llap_add(g, x, llap_nn_cross_branch(g, x, &shared, o)));
    llap_scope_pop(g);
    return x;
}

llap_tensor *llap_nn_summary_pool(llap_graph *g, const char *name, llap_tensor *tokens,
                                  llap_tensor *query)
{
    const int64_t h = llap_dim(tokens, -1);
    llap_scope_push(g, name);
    llap_tensor *x = llap_nn_norm(g, "token_norm", tokens);
    llap_tensor *q = llap_note(g, "q", llap_nn_linear(g, "query_proj", query, h));
    llap_tensor *k = llap_note(g, "k", llap_nn_linear(g, "key_proj", x, h));
    llap_tensor *v = llap_note(g, "v", llap_nn_linear(g, "value_proj", x, h));
    llap_tensor *y =
        llap_attention(g, llap_unsqueeze(g, q, -2), k, v, &(llap_attention_opts){ .n_heads = 1 });
    if (y != NULL) y = llap_squeeze(g, y, LLAP_AXIS(llap_shape_of(y).rank - 2));
    y = llap_note(g, NULL,
                  llap_nn_linear_from(g, "out_proj", y, h, LLAP_INIT_NORMAL(0.01), LLAP_INIT_ZERO));
    llap_scope_pop(g);
    return y;
}
