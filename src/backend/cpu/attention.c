/* Attention: leading axes to the batch of one call, samples that share keys to more queries. */
#include "backend/cpu/glue.h"
#include "backend/random.h"

#include <string.h>

enum { Q, K, V, MASK, BIAS, RNG, Y, LSE, DY };

typedef struct attn {
    ll_attn  a;
    cpu_axes axes;  /* of q, k, v, y, bias (q again where there is none) */
    int      outer; /* leading axes that are looped over */
    int64_t  n_calls, batch;
    int64_t  samples; /* merged into the queries; 1: none */
    int64_t  lq;
    size_t   pad_bytes, lse_bytes; /* of the scratch before the arithmetic's own */
} attn;

/* Samples exclude the same keys. */
static bool shares_mask(const ll_call *c, int64_t samples)
{
    const ll_view *m = &c->in[MASK];
    const int      last = m->shape.rank - 2;
    if (!cpu_has(c, MASK)) return true;
    return last >= 0 && m->shape.dim[last] == samples && m->stride[last] == 0;
}

/* The last merged axis holds samples that share keys, values and bias: more queries, if theirs lie
 * one after the other. */
static bool shares_keys(const ll_call *c, const cpu_axes *x, int64_t lq, int64_t e)
{
    const int last = x->n - 1, r = c->in[Q].shape.rank;
    return x->n > 0 && x->stride[1][last] == 0 && x->stride[2][last] == 0 &&
           shares_mask(c, x->dim[last]) && !cpu_has(c, BIAS) && c->attr->attention.dropout == 0.0 &&
           x->stride[0][last] == lq * c->in[Q].stride[r - 2] && x->stride[3][last] == lq * e;
}

static attn attn_of(const ll_call *c)
{
    const ll_view       *q = &c->in[Q], *bias = cpu_has(c, BIAS) ? &c->in[BIAS] : q;
    const ll_view *const v[] = { q, &c->in[K], &c->in[V], &c->out[0], bias };
    const int            r = q->shape.rank, heads = c->attr->attention.n_heads;
    const int64_t        e = cpu_width(q), lq = q->shape.dim[r - 2];
    attn                 t = {
                        .axes = ll_cpu_merge(v, 5, r - 2), .samples = 1, .lq = lq, .batch = 1, .n_calls = 1
    };
    int n = t.axes.n;
    for (int i = 0; i < r - 2; i++) t.batch *= q->shape.dim[i];
    if (shares_keys(c, &t.axes, lq, e)) t.samples = t.axes.dim[--n];
    t.outer = n > 1 ? n - 1 : 0;
    for (int i = 0; i < t.outer; i++) t.n_calls *= t.axes.dim[i];
    const int i = n > 0 ? n - 1 : LL_MAX_RANK - 1; /* strides of 0 where nothing is left */
    t.a = (ll_attn){ .batch = n > 0 ? t.axes.dim[i] : 1,
                     .heads = heads,
                     .nq = lq * t.samples,
                     .nk = c->in[K].shape.dim[r - 2],
                     .d = e / heads,
                     .scale = (float)c->attr->attention.scale,
                     .q = { n > 0 ? t.axes.stride[0][i] : 0, q->stride[r - 2], e / heads },
                     .k = { n > 0 ? t.axes.stride[1][i] : 0, c->in[K].stride[r - 2], e / heads },
                     .v = { n > 0 ? t.axes.stride[2][i] : 0, c->in[V].stride[r - 2], e / heads },
                     .o = { n > 0 ? t.axes.stride[3][i] : 0, e, e / heads } };
    if (cpu_has(c, BIAS))
        t.a.bias_at = (ll_attn_at){ n > 0 ? t.axes.stride[4][i] : 0, bias->stride[r - 1],
                                    bias->stride[r - 2] };
    t.a.key_pad_batch = t.a.nk;
    if (cpu_has(c, MASK)) t.pad_bytes = cpu_round((size_t)(t.batch / t.samples * t.a.nk));
    if (t.samples > 1)
        t.lse_bytes = cpu_round((size_t)(t.a.batch * heads * t.a.nq) * sizeof(float));
    return t;
}

/* Which keys are excluded, as bytes [batch / samples, nk]. */
static void read_padding(const ll_call *c, const attn *t, unsigned char *pad)
{
    const int64_t nk = t->a.nk;
    for (int64_t b = 0; b < t->batch; b += t->samples)
        for (int64_t j = 0; j < nk; j++)
            *pad++ = cpu_in(c, MASK)[ll_view_offset(&c->in[MASK], b * nk + j)] != 0.0f;
}

/* [batch, heads, samples lq] as the arithmetic leaves it to [batch, samples, heads, lq]. */
static void spread_lse(const attn *t, const float *from, float *to)
{
    const int64_t heads = t->a.heads, lq = t->lq, samples = t->samples;
    for (int64_t i = 0; i < t->a.batch * samples * heads; i++) {
        const int64_t b = i / (samples * heads), s = i / heads % samples, h = i % heads;
        memcpy(to + i * lq, from + ((b * heads + h) * samples + s) * lq, (size_t)lq * sizeof *to);
    }
}

static cpu_drop drop_of(const ll_call *c)
{
    cpu_drop d = { .p = (float)c->attr->attention.dropout };
    if (d.p > 0.0f) d.rng = ll_drop_rng(c->in[RNG].data, c->attr->attention.id);
    return d;
}

size_t ll_cpu_attention_work(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    const attn    t = attn_of(c);
    return t.pad_bytes + t.lse_bytes + ll_kern_attn_work(&kn, &t.a);
}

void ll_cpu_attention(const ll_call *c)
{
    const ll_kern  kn = ll_kern_best(c->n_threads);
    attn           t = attn_of(c);
    unsigned char *pad = c->work;
    float         *lse = (float *)(void *)(pad + t.pad_bytes);
    void          *work = pad + t.pad_bytes + t.lse_bytes;
    cpu_drop       drop = drop_of(c);
    const int64_t  per_call = t.a.batch * t.a.heads * t.a.nq;
    if (cpu_count(&c->out[0]) == 0) return;
    if (t.pad_bytes > 0) read_padding(c, &t, pad);
    if (drop.p > 0.0f) t.a.drop = (ll_kern_drop){ ll_cpu_keep, &drop };
    for (int64_t i = 0; i < t.n_calls; i++) {
        float *own = cpu_out(c, 1) + i * per_call;
        drop.first = (uint64_t)(i * per_call * t.a.nk);
        if (t.pad_bytes > 0) t.a.key_pad = pad + i * t.a.batch * t.a.nk;
        if (cpu_has(c, BIAS)) t.a.bias = cpu_in(c, BIAS) + ll_cpu_at(&t.axes, 4, i, t.outer);
        ll_kern_attn(&kn, &t.a, cpu_in(c, Q) + ll_cpu_at(&t.axes, 0, i, t.outer),
                     cpu_in(c, K) + ll_cpu_at(&t.axes, 1, i, t.outer),
                     cpu_in(c, V) + ll_cpu_at(&t.axes, 2, i, t.outer),
                     cpu_out(c, 0) + ll_cpu_at(&t.axes, 3, i, t.outer), t.samples > 1 ? lse : own,
                     work);
        if (t.samples > 1) spread_lse(&t, lse, own);
    }
}

/* -------- gradient: one call does it; rows of q, k and v may lie apart, all else is dense --------
 */

/* Where the rows of v lie; false: its leading axes are not one. */
static bool rows_at(const ll_view *v, int64_t head, ll_attn_at *at)
{
    const int      r = v->shape.rank;
    const cpu_axes lead = ll_cpu_merge(&v, 1, r - 2);
    *at = (ll_attn_at){ lead.n > 0 ? lead.stride[0][0] : 0, v->stride[r - 2], head };
    return lead.n <= 1 && (v->stride[r - 1] == 1 || v->shape.dim[r - 1] <= 1);
}

bool ll_cpu_attention_grad_takes(const ll_call *c)
{
    ll_attn_at at;
    for (int k = Q; k <= V; k++)
        if (!rows_at(&c->in[k], 0, &at)) return false;
    return true;
}

/* The result that has the gradient of operand k, from a column on. */
static int result_of(const ll_call *c, int k, int64_t *column)
{
    const int first = V + 1 - c->attr->attention.joined;
    *column = k <= first ? 0 : (k - first) * cpu_width(&c->in[Q]);
    return k < first ? k : first;
}

static attn grad_of(const ll_call *c)
{
    const ll_view *q = &c->in[Q];
    const int      r = q->shape.rank, heads = c->attr->attention.n_heads;
    const int64_t  e = cpu_width(q), lq = q->shape.dim[r - 2], lk = c->in[K].shape.dim[r - 2];
    attn           t = { .batch = 1, .lq = lq, .samples = 1 };
    for (int i = 0; i < r - 2; i++) t.batch *= q->shape.dim[i];
    t.a = (ll_attn){ .batch = t.batch,
                     .heads = heads,
                     .nq = lq,
                     .nk = lk,
                     .d = e / heads,
                     .scale = (float)c->attr->attention.scale,
                     .o = { lq * e, e, e / heads },
                     .key_pad_batch = lk,
                     .bias_at = { heads * lq * lk, lk, lq * lk } };
    ll_attn_at *from[] = { &t.a.q, &t.a.k, &t.a.v }, *to[] = { &t.a.dq, &t.a.dk, &t.a.dv };
    for (int k = Q; k <= V; k++) {
        int64_t       column;
        const int64_t width = cpu_width(&c->out[result_of(c, k, &column)]);
        (void)rows_at(&c->in[k], e / heads, from[k]);
        *to[k] = (ll_attn_at){ (k == Q ? lq : lk) * width, width, e / heads };
    }
    if (cpu_has(c, MASK)) t.pad_bytes = cpu_round((size_t)(t.batch * lk));
    return t;
}

size_t ll_cpu_attention_grad_work(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    const attn    t = grad_of(c);
    return t.pad_bytes + ll_kern_attn_grad_work(&kn, &t.a);
}

void ll_cpu_attention_grad(const ll_call *c)
{
    const ll_kern  kn = ll_kern_best(c->n_threads);
    attn           t = grad_of(c);
    unsigned char *pad = c->work;
    float         *to[V + 1];
    const cpu_drop drop = drop_of(c);
    const int      last = c->n_out - 1;
    const bool     nothing = cpu_count(&c->in[Q]) == 0 || cpu_count(&c->in[K]) == 0;
    for (int o = nothing ? 0 : last; o <= last; o++) /* the others are written, dbias is added to */
        memset(cpu_out(c, o), 0, (size_t)cpu_count(&c->out[o]) * sizeof(float));
    if (nothing) return;
    for (int k = Q; k <= V; k++) {
        int64_t column;
        to[k] = cpu_out(c, result_of(c, k, &column));
        to[k] += column;
    }
    if (drop.p > 0.0f) t.a.drop = (ll_kern_drop){ ll_cpu_keep, &drop };
    if (t.pad_bytes > 0) {
        read_padding(c, &t, pad);
        t.a.key_pad = pad;
    }
    if (cpu_has(c, BIAS)) t.a.bias = cpu_in(c, BIAS);
    ll_kern_attn_grad(&kn, &t.a, cpu_in(c, Q), cpu_in(c, K), cpu_in(c, V), cpu_in(c, Y),
                      cpu_in(c, LSE), cpu_in(c, DY), to[Q], to[K], to[V],
                      cpu_has(c, BIAS) ? cpu_out(c, last) : NULL, pad + t.pad_bytes);
}
