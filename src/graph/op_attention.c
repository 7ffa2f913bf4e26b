/* Attention as one op, and rotary positions. */
#include "graph/node.h"

#include <assert.h>
#include <math.h>

enum { Q, K, V, MASK, BIAS, RNG, N_OPERANDS, Y = N_OPERANDS, LSE, DY };

/* Operands have equal leading axes here; ll_attention broadcast them. */
static bool infer_attention(ll_graph *g, const ll_node *n, ll_shape *out)
{
    for (int i = Q; i <= V; i++)
        if (!ll_node_rank(g, n, i, 2)) return false;
    const ll_shape *q = &n->in[Q]->shape;
    const int       r = q->rank, heads = n->attr.attention.n_heads;
    const int64_t   n_keys = ll_dim(n->in[K], -2);
    ll_shape        expected = *q;
    expected.dim[r - 2] = n_keys;
    if (!ll_node_expect(g, n, K, expected)) return false;
    if (!ll_node_expect(g, n, V, expected)) return false;
    if (heads < 1 || q->dim[r - 1] % heads != 0)
        return ll_node_fail(g, n, "%d heads do not divide width %lld", heads,
                            (long long)q->dim[r - 1]);
    out[0] = *q;
    out[1] = *q; /* log of the sum of exponentials, for the gradient */
    out[1].dim[r - 2] = heads;
    out[1].dim[r - 1] = q->dim[r - 2];
    if (n->in[MASK] != NULL) {
        expected.rank = r - 1;
        if (!ll_node_expect(g, n, MASK, expected)) return false;
    }
    if (n->in[BIAS] == NULL) return true;
    expected = out[1];
    assert(expected.rank < LL_MAX_RANK); /* the operand has one more */
    expected.dim[expected.rank++] = n_keys;
    return ll_node_expect(g, n, BIAS, expected);
}

static void vjp_attention(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    assert(dy[0] != NULL && dy[1] == NULL); /* nobody is given the second result */
    ll_tensor *in[] = { n->in[Q],   n->in[K],  n->in[V],  n->in[MASK], n->in[BIAS],
                        n->in[RNG], n->out[0], n->out[1], dy[0] };
    ll_node   *back = ll_node_add(g, LL_OP_ATTENTION_GRAD, &n->attr, in, DY + 1);
    if (back == NULL) return;
    for (int i = Q; i <= V; i++) dx[i] = back->out[i];
    if (n->in[BIAS] != NULL) dx[BIAS] = back->out[3];
}

const ll_op_desc ll_desc_attention = {
    "q k v key_padding bias rng", .n_required = 3,          .n_out = 2,
    .layout = "rrrrri",           .infer = infer_attention, .vjp = vjp_attention
};

static bool infer_attention_grad(ll_graph *g, const ll_node *n, ll_shape *out)
{
    (void)g;
    assert(n->n_in == DY + 1);
    for (int i = Q; i <= V; i++) out[i] = n->in[i]->shape;
    out[3] = n->in[BIAS] == NULL ? LL_SHAPE(0) : n->in[BIAS]->shape;
    return true;
}

const ll_op_desc ll_desc_attention_grad = { "q k v key_padding bias rng y lse dy", .n_required = 3,
                                            .n_out = 4, .layout = "dddddiddd",
                                            .infer = infer_attention_grad };

ll_tensor *ll_attention(ll_graph *g, ll_tensor *q, ll_tensor *k, ll_tensor *v,
                        const ll_attention_opts *opts)
{
    if (g->status != LLAP_OK || q == NULL || k == NULL || v == NULL) return NULL;
    const bool drop = opts->dropout > 0.0;
    ll_tensor *in[] = { q, k, v, opts->key_padding, opts->bias, drop ? ll_random(g) : NULL };
    const int  keep[] = { 2, 2, 2, 1, 3 };
    ll_shape   lead;
    ll_tensor *bias = opts->bias;
    if (bias != NULL && bias->shape.rank < 3) /* [Lq,Lk] holds for all heads */
        in[BIAS] = bias = ll_reshape(g, bias, LL_SHAPE(1, ll_dim(bias, -2), ll_dim(bias, -1)));
    if (!ll_broadcast_lead(g, LL_OP_ATTENTION, in, keep, 5, &lead)) return NULL;
    for (int i = Q; i <= MASK; i++)
        if (in[i] != NULL) in[i] = ll_expand_lead(g, in[i], &lead, keep[i]);
    if (bias != NULL) {
        ll_shape s = lead;
        assert(s.rank < LL_MAX_RANK); /* lead lacks one of an operand's axes at least */
        s.dim[s.rank++] = opts->n_heads;
        in[BIAS] = ll_expand_lead(g, bias, &s, 2);
    }
    const double  head_width = (double)ll_dim(q, -1) / (opts->n_heads > 0 ? opts->n_heads : 1);
    const ll_attr attr = { .attention = { .n_heads = opts->n_heads,
                                          .scale = head_width > 0 ? 1.0 / sqrt(head_width) : 1.0,
                                          .dropout = opts->dropout,
                                          .id = drop ? g->n_random++ : 0 } };
    return ll_node_add1(g, LL_OP_ATTENTION, &attr, in, N_OPERANDS);
}

/* -------- rotary -------- */

static bool infer_rotary(ll_graph *g, const ll_node *n, ll_shape *out)
{
    if (!ll_node_rank(g, n, 0, 2)) return false;
    ll_shape times = *out = n->in[0]->shape;
    times.rank--;
    if (n->attr.rotary.n_heads < 1 || out->dim[out->rank - 1] % n->attr.rotary.n_heads != 0)
        return ll_node_fail(g, n, "%d heads do not divide width %lld", n->attr.rotary.n_heads,
                            (long long)out->dim[out->rank - 1]);
    return ll_node_expect(g, n, 1, times);
}

/* A rotation's transpose is the rotation back. */
static void vjp_rotary(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    ll_attr back = n->attr;
    back.rotary.direction = -back.rotary.direction;
    dx[0] = ll_node_add1(g, LL_OP_ROTARY, &back, (ll_tensor *[]){ dy[0], n->in[1] }, 2);
}

const ll_op_desc ll_desc_rotary = { "x t",          .n_required = 2,       .n_out = 1,
                                    .layout = "rd", .infer = infer_rotary, .vjp = vjp_rotary };

ll_tensor *ll_rotary(ll_graph *g, ll_tensor *x, ll_tensor *t, int n_heads, double base)
{
    if (g->status != LLAP_OK || x == NULL) return NULL;
    ll_shape times = x->shape;
    if (times.rank > 0) times.rank--;
    const ll_attr attr = { .rotary = { n_heads, base, 1.0 } };
    return ll_node_add1(g, LL_OP_ROTARY, &attr, (ll_tensor *[]){ x, ll_expand(g, t, times) }, 2);
}
