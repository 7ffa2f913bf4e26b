#include "rivals/contiformer.h"

#include "base/alloc.h"
#include "nn/nn.h"

#include <math.h>

const char *const ll_contiformer_rules[] = { "bilinear", "gauss", NULL };

typedef struct nodes { /* of a quadrature on [-1,1] */
    int    n;
    double at[3], weight[3];
} nodes;

static nodes nodes_of(const ll_contiformer_config *cfg, bool decoder)
{
    if (decoder || cfg->rule == LL_CONTIFORMER_BILINEAR)
        return (nodes){ 2, { -1.0, 1.0 }, { 1.0, 1.0 } };
    if (cfg->n_nodes == 2) {
        const double s = sqrt(1.0 / 3.0);
        return (nodes){ 2, { -s, s }, { 1.0, 1.0 } };
    }
    const double s = sqrt(0.6);
    return (nodes){ 3, { -s, 0.0, s }, { 5.0 / 9.0, 8.0 / 9.0, 5.0 / 9.0 } };
}

/* Uniform on +-sqrt(6/(in + out)) */
static ll_tensor *xavier(ll_graph *g, const char *name, ll_tensor *x, int64_t width)
{
    const double in = (double)ll_dim(x, -1);
    return ll_nn_linear_from(g, name, x, width,
                             LL_INIT_UNIFORM(sqrt(6.0 / fmax(in + (double)width, 1.0))),
                             ll_init_usual(ll_dim(x, -1)));
}

/* -------- where keys and values go -------- */

typedef struct motion {
    int64_t    width;
    ll_tensor *from;   /* [B,1,L,1], the times of the keys */
    ll_tensor *length; /* [B,Lq,L,1], half the way to the query */
} motion;

/* dy/ds = (t_q - t_i)/2 tanh(_layer y + _hyper_bias t), t = t_i + (s + 1)(t_q - t_i)/2 */
static ll_tensor *slope(ll_graph *g, void *user, double s, ll_tensor *y)
{
    const motion *m = user;
    const int64_t d = m->width;
    ll_tensor    *t = ll_add(g, m->from, ll_scale(g, m->length, s + 1.0)); /* [B,Lq,L,1] */
    ll_scope_push(g, "ode_func.layers.0.module");
    ll_tensor *bias = ll_param(g, "_hyper_bias.weight", LL_SHAPE(d, 1), LL_INIT_ZERO);
    ll_tensor *f = ll_nn_linear_from(g, "_layer", y, d, LL_INIT_ZERO, LL_INIT_ZERO);
    ll_scope_pop(g);
    f = ll_add(g, f, ll_mul(g, t, ll_reshape(g, bias, LL_SHAPE(d))));
    return ll_mul(g, m->length, ll_tanh(g, f));
}

/* x [B,L,C] as keys (or values) at the nodes of each pair, [B,Lq,L,d] each. */
static void moved(ll_graph *g, const ll_contiformer_config *cfg, const char *name,
                  const nodes *rule, motion *m, ll_tensor *x, ll_tensor **out)
{
    const int64_t B = ll_dim(m->length, 0), Lq = ll_dim(m->length, 1), L = ll_dim(m->length, 2);
    ll_scope_push(g, name);
    ll_tensor *start = ll_unsqueeze(g, xavier(g, "lin_outside", x, cfg->width), 1);
    ll_tensor *y = ll_expand(g, start, LL_SHAPE(B, Lq, L, cfg->width));
    double     at = -1.0;
    for (int p = 0; p < rule->n; p++) {
        const double h = (rule->at[p] - at) / (double)cfg->n_sub;
        for (int i = 0; i < cfg->n_sub && h > 0.0; i++)
            y = ll_three_eighths(g, slope, m, at + (double)i * h, h, y);
        at = rule->at[p];
        out[p] = y;
    }
    ll_scope_pop(g);
}

/* -------- queries between events -------- */

static ll_tensor *shifted(ll_graph *g, ll_tensor *t, int64_t by)
{
    const int64_t L = ll_dim(t, 1);
    ll_tensor    *end = ll_slice(g, t, 1, by > 0 ? L - 1 : 0, 1);
    ll_tensor    *rest = ll_slice(g, t, 1, by > 0 ? 1 : 0, L - 1);
    return ll_concat(g, (ll_tensor *[]){ by > 0 ? rest : end, by > 0 ? end : rest }, 2, 1);
}

/* q [B,L,d] at times t [B,Lq,L,1], linear between events: hats over the events times q. */
static ll_tensor *interpolated(ll_graph *g, ll_tensor *q, ll_tensor *events, ll_tensor *t)
{
    const int64_t  B = ll_dim(q, 0), L = ll_dim(q, 1), Lq = ll_dim(t, 1);
    const ll_shape wide = LL_SHAPE(B, 1, 1, L);
    ll_tensor     *tiny = ll_full(g, LL_SCALAR, 1e-12), *one = ll_full(g, LL_SCALAR, 1.0);
    ll_tensor     *left = ll_maximum(g, ll_sub(g, events, shifted(g, events, -1)), tiny);
    ll_tensor     *right = ll_maximum(g, ll_sub(g, shifted(g, events, 1), events), tiny);
    ll_tensor     *away = ll_sub(g, t, ll_reshape(g, events, wide)); /* [B,Lq,L,L] */
    ll_tensor     *rise = ll_add(g, ll_div(g, away, ll_reshape(g, left, wide)), one);
    ll_tensor     *fall = ll_sub(g, one, ll_div(g, away, ll_reshape(g, right, wide)));
    ll_tensor     *hat = ll_clamp(g, ll_minimum(g, rise, fall), 0.0, 1.0);
    ll_tensor     *at = ll_matmul(g, ll_reshape(g, hat, LL_SHAPE(B, Lq * L, L)), false, q, false);
    return ll_reshape(g, at, LL_SHAPE(B, Lq, L, ll_dim(q, 2)));
}

/* -------- attention -------- */

/* What attends: tokens x at times, and queries u at their own times; NULL: the tokens themselves.
 */
typedef struct attended {
    ll_tensor *x, *times, *usable;
    ll_tensor *u, *u_times;
} attended;

/* q at the nodes of each pair, [B,Lq,L,d]. At the ends of the way they are those of the tokens. */
static void queries_at(ll_graph *g, const ll_contiformer_config *cfg, const nodes *rule,
                       const attended *a, const motion *m, ll_tensor **out)
{
    const int64_t B = ll_dim(a->x, 0), L = ll_dim(a->x, 1), d = cfg->width;
    ll_scope_push(g, "w_qs");
    ll_tensor *own = xavier(g, "lin_outside", a->x, d);
    ll_tensor *asked = a->u == NULL ? own : xavier(g, "lin_outside", a->u, d);
    ll_scope_pop(g);
    for (int p = 0; p < rule->n; p++) {
        const ll_shape s = LL_SHAPE(B, ll_dim(asked, 1), L, d);
        if (rule->at[p] == -1.0) out[p] = ll_expand(g, ll_unsqueeze(g, own, 1), s);
        else if (rule->at[p] == 1.0) out[p] = ll_expand(g, ll_unsqueeze(g, asked, 2), s);
        else
            out[p] = interpolated(g, own, a->times,
                                  ll_add(g, m->from, ll_scale(g, m->length, rule->at[p] + 1.0)));
    }
}

/* The mean over time of q k, for each head: [B,heads,Lq,L] */
static ll_tensor *scores_of(ll_graph *g, const ll_contiformer_config *cfg, const nodes *rule,
                            ll_tensor *const *q, ll_tensor *const *k)
{
    const int64_t heads = cfg->n_heads, each = cfg->width / heads;
    ll_tensor    *sum = NULL;
    for (int p = 0; p < rule->n; p++) {
        const double w = rule->weight[p];
        ll_tensor   *product = ll_mul(g, q[p], k[p]);
        ll_shape     s = ll_shape_of(product);
        s.rank = 5;
        s.dim[3] = heads;
        s.dim[4] = each;
        product = ll_sum(g, ll_reshape(g, product, s), LL_AXIS(4));
        product = ll_scale(g, ll_squeeze(g, product, LL_AXIS(4)), cfg->twice ? w * w / 4 : w / 2);
        sum = p == 0 ? product : ll_add(g, sum, product);
    }
    sum = ll_scale(g, sum, 1.0 / sqrt((double)each));
    return ll_permute(g, sum, (const int[]){ 0, 3, 1, 2 });
}

/* sum_i a[q,i] value[q,i]: a [B,heads,Lq,L], value [B,Lq,L,d] -> [B,Lq,d] */
static ll_tensor *weighed(ll_graph *g, const ll_contiformer_config *cfg, ll_tensor *a,
                          ll_tensor *value)
{
    const int64_t B = ll_dim(value, 0), Lq = ll_dim(value, 1), L = ll_dim(value, 2);
    const int64_t heads = cfg->n_heads, each = cfg->width / heads;
    value = ll_reshape(g, value, LL_SHAPE(B, Lq, L, heads, each));
    value = ll_permute(g, value, (const int[]){ 0, 3, 1, 2, 4 }); /* [B,heads,Lq,L,each] */
    ll_tensor *y = ll_matmul(g, ll_unsqueeze(g, a, 3), false, value, false);
    y = ll_reshape(g, y, LL_SHAPE(B, heads, Lq, each));
    return ll_reshape(g, ll_permute(g, y, (const int[]){ 0, 2, 1, 3 }),
                      LL_SHAPE(B, Lq, cfg->width));
}

static ll_tensor *norm(ll_graph *g, ll_tensor *x)
{
    const ll_shape d = LL_SHAPE(ll_dim(x, -1));
    ll_scope_push(g, "layer_norm");
    ll_tensor *w = ll_param(g, "weight", d, LL_INIT_ONE);
    ll_tensor *b = ll_param(g, "bias", d, LL_INIT_ZERO);
    ll_scope_pop(g);
    return ll_layer_norm(g, x, w, b, 1e-6);
}

static ll_tensor *attention(ll_graph *g, const ll_contiformer_config *cfg, const attended *a)
{
    const int64_t B = ll_dim(a->x, 0), L = ll_dim(a->x, 1);
    const nodes   rule = nodes_of(cfg, a->u != NULL);
    ll_tensor    *to = a->u != NULL ? a->u_times : a->times, *q[3], *k[3], *v[3], *value = NULL;
    motion        m = { .width = cfg->width };
    m.from = ll_reshape(g, a->times, LL_SHAPE(B, 1, L, 1));
    m.length = ll_sub(g, ll_reshape(g, to, LL_SHAPE(B, ll_dim(to, 1), 1, 1)), m.from);
    m.length = ll_scale(g, m.length, 0.5);
    ll_scope_push(g, "slf_attn");
    queries_at(g, cfg, &rule, a, &m, q);
    moved(g, cfg, "w_ks", &rule, &m, a->x, k);
    moved(g, cfg, "w_vs", &rule, &m, a->x, v);
    ll_tensor *score = scores_of(g, cfg, &rule, q, k);
    ll_tensor *usable = ll_reshape(g, a->usable, LL_SHAPE(B, 1, 1, L));
    score = ll_add(g, ll_mul(g, score, usable), ll_affine(g, usable, 1e9, -1e9));
    score = ll_softmax(g, score);
    for (int p = 0; p < rule.n; p++) {
        ll_tensor *part = ll_scale(g, v[p], rule.weight[p] / 2.0);
        value = p == 0 ? part : ll_add(g, value, part);
    }
    ll_tensor *y = weighed(g, cfg, ll_dropout(g, score, cfg->dropout), value);
    y = ll_dropout(g, xavier(g, "fc", y, cfg->width), cfg->dropout);
    y = norm(g, ll_add(g, a->u != NULL ? a->u : a->x, y));
    ll_scope_pop(g);
    ll_note(g, "attention", score);
    return y;
}

static ll_tensor *feed_forward(ll_graph *g, const ll_contiformer_config *cfg, ll_tensor *x)
{
    ll_scope_push(g, "pos_ffn");
    ll_tensor *y = ll_dropout(g, ll_gelu(g, ll_nn_linear(g, "w_1", x, cfg->inner)), cfg->dropout);
    y = ll_dropout(g, ll_nn_linear(g, "w_2", y, cfg->width), cfg->dropout);
    y = norm(g, ll_add(g, x, y));
    ll_scope_pop(g);
    return y;
}

static ll_tensor *waves(ll_graph *g, const ll_contiformer_config *cfg, ll_tensor *t)
{
    return ll_time_waves(g, t, cfg->width, 1.0, 10000.0);
}

ll_tensor *ll_contiformer_encode(ll_graph *g, const ll_contiformer_config *cfg,
                                 const ll_contiformer_in *in)
{
    ll_tensor *x = ll_nn_linear(g, "linear", in->x, cfg->width);
    for (int i = 0; i < cfg->n_layers; i++) {
        x = ll_add(g, x, waves(g, cfg, in->times));
        ll_scope_pushf(g, "encoder.layer_stack.%d", i);
        x = attention(g, cfg, &(attended){ x, in->times, in->usable, NULL, NULL });
        x = ll_note(g, NULL, feed_forward(g, cfg, x));
        ll_scope_pop(g);
    }
    return x;
}

/* 1 at the last usable token of each window, else 0: [B,1,L] */
static ll_tensor *last_usable(ll_graph *g, ll_tensor *usable)
{
    const int64_t B = ll_dim(usable, 0), L = ll_dim(usable, 1);
    double       *later = ll_new((size_t)(L * L), sizeof *later);
    if (later == NULL) {
        ll_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    for (int64_t i = 0; i < L * L; i++) later[i] = i % L > i / L ? 1.0 : 0.0;
    ll_tensor *behind = ll_linear(g, usable, ll_constant(g, LL_SHAPE(L, L), later), NULL);
    ll_free(later);
    ll_tensor *none = ll_at_least(g, ll_full(g, LL_SCALAR, 0.5), behind);
    return ll_reshape(g, ll_mul(g, usable, none), LL_SHAPE(B, 1, L));
}

ll_tensor *ll_contiformer_decode(ll_graph *g, const ll_contiformer_config *cfg,
                                 const ll_contiformer_in *in, ll_tensor *encoded)
{
    ll_tensor *x = ll_add(g, encoded, waves(g, cfg, in->times));
    ll_tensor *last = ll_matmul(g, last_usable(g, in->usable), false, x, false); /* [B,1,d] */
    ll_tensor *u =
        ll_add(g, waves(g, cfg, in->query), ll_nn_linear(g, "query", in->feature, cfg->width));
    u = ll_add(g, u, last);
    ll_scope_push(g, "decoder");
    u = attention(g, cfg, &(attended){ x, in->times, in->usable, u, in->query });
    u = ll_note(g, NULL, feed_forward(g, cfg, u));
    ll_scope_pop(g);
    return ll_head_answer(g, cfg->head, ll_head_numbers(g, cfg->head, "head", u, cfg->targets));
}
