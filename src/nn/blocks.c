/* Attention layers and transformer blocks. */
#include "nn/nn.h"

#include <math.h>

static llap_attention_opts attention_opts(const llap_nn_attn_opts *o)
{
    return (llap_attention_opts){
        .n_heads = o->n_heads, .key_padding = o->key_padding, .bias = o->bias, .dropout = o->dropout
    };
}

/* Third i of the stacked projection applied to x. */
static llap_tensor *in_projection(llap_graph *g, llap_tensor *x, llap_tensor *w, llap_tensor *b,
                                  int64_t e, int i)
{
    return llap_linear(g, x, llap_slice(g, w, 0, i * e, e), llap_slice(g, b, 0, i * e, e));
}

llap_tensor *llap_nn_mha(llap_graph *g, const char *name, llap_tensor *q, llap_tensor *k,
                         llap_tensor *v, const llap_nn_attn_opts *opts)
{
    const int64_t             e = llap_dim(q, -1);
    const llap_attention_opts att = attention_opts(opts);
    llap_scope_push(g, name);
    llap_tensor *w = llap_param(g, "in_proj_weight", LLAP_SHAPE(3 * e, e),
                                LLAP_INIT_UNIFORM(sqrt(6.0 / (4.0 * (double)e))));
    llap_tensor *b = llap_param(g, "in_proj_bias", LLAP_SHAPE(3 * e), LLAP_INIT_ZERO);
    llap_tensor *p[3];
    if (q == k && k == v) llap_split(g, llap_linear(g, q, w, b), -1, 3, p);
    else {
        p[0] = in_projection(g, q, w, b, e, 0);
        p[1] = in_projection(g, k, w, b, e, 1);
        p[2] = in_projection(g, v, w, b, e, 2);
    }
    llap_tensor *y =
        llap_nn_linear_from(g, "out_proj", llap_attention(g, p[0], p[1], p[2], &att), e,
                            LLAP_INIT_UNIFORM(1.0 / sqrt((double)e)), LLAP_INIT_ZERO);
    llap_note(g, NULL, y);
    llap_scope_pop(g);
    return y;
}

/* Self attention with rotary positions: qkv rows are q, k, v; v is not rotated. */
static llap_tensor *rotary_attention(llap_graph *g, const char *name, llap_tensor *x,
                                     const llap_nn_encoder_opts *o)
{
    const int64_t             e = llap_dim(x, -1);
    const llap_attention_opts att = attention_opts(&o->attn);
    llap_tensor              *p[3];
    llap_scope_push(g, name);
    llap_split(g, llap_nn_linear(g, "qkv", x, 3 * e), -1, 3, p);
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

llap_tensor *llap_nn_transformer_block(llap_graph *g, const char *name, llap_tensor *x,
                                       llap_tensor *cond, const llap_nn_block_opts *o)
{
    const int64_t             h = llap_dim(x, -1);
    const llap_attention_opts att = { .n_heads = o->n_heads,
                                      .bias = o->attn_bias,
                                      .dropout = o->attn_dropout };
    llap_tensor              *p[3];
    llap_scope_push(g, name);
    llap_split(g, llap_nn_linear(g, "qkv", llap_nn_ada_norm(g, "norm1", x, cond), 3 * h), -1, 3, p);
    llap_tensor *y = llap_nn_linear(g, "proj", llap_attention(g, p[0], p[1], p[2], &att), h);
    x = llap_add(g, x, llap_dropout(g, y, o->dropout));

    const llap_nn_mlp_opts mlp = { .hidden = (int64_t)((double)h * o->mlp_ratio),
                                   .width = h,
                                   .drops = true,
                                   .dropout = o->dropout };
    y = llap_nn_mlp(g, "mlp", llap_nn_ada_norm(g, "norm2", x, cond), &mlp);
    x = llap_note(g, NULL, llap_add(g, x, llap_dropout(g, y, o->dropout)));
    llap_scope_pop(g);
    return x;
}

llap_tensor *llap_nn_cross_block(llap_graph *g, const char *name, llap_tensor *x, llap_tensor *kv,
                                 llap_tensor *cond, const llap_nn_block_opts *o)
{
    const int64_t             h = llap_dim(x, -1);
    const llap_attention_opts att = { .n_heads = o->n_heads, .dropout = o->attn_dropout };
    llap_tensor              *p[2];
    llap_scope_push(g, name);
    llap_tensor *q = llap_nn_linear(g, "q", llap_nn_ada_norm(g, "norm_q", x, cond), h);
    llap_split(g, llap_nn_linear(g, "kv", llap_nn_ada_norm(g, "norm_kv", kv, cond), 2 * h), -1, 2,
               p);
    llap_tensor *y = llap_nn_linear(g, "proj", llap_attention(g, q, p[0], p[1], &att), h);
    x = llap_note(g, NULL, llap_add(g, x, llap_dropout(g, y, o->dropout)));
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
