/* Attention without a stored score matrix: one query at a time with a running maximum; the gradient
 * recomputes the weights from the stored log-sum-exp. */
#include "backend/cpu/glue.h"
#include "backend/random.h"

#include <math.h>
#include <string.h>

enum { Q, K, V, MASK, BIAS, RNG, Y, LSE, DY };

typedef struct item { /* one batch item and head */
    const float *q, *k, *v, *mask, *bias;
    int64_t      q_row, k_row, v_row, mask_step, bias_row;
    int64_t      lq, lk, d, dv;
    uint64_t     first; /* dropout's element of query 0, key 0 */
} item;

static int64_t batch_offset(const llap_view *v, int lead, int64_t b)
{
    int64_t at = 0;
    for (int axis = lead - 1; axis >= 0; axis--) {
        at += b % v->shape.dim[axis] * v->stride[axis];
        b /= v->shape.dim[axis];
    }
    return at;
}

static item item_of(const llap_call *c, int64_t b, int h)
{
    const int r = c->in[Q].shape.rank, heads = c->attr->attention.n_heads;
    item      t = { .lq = c->in[Q].shape.dim[r - 2],
                    .lk = c->in[K].shape.dim[r - 2],
                    .d = cpu_width(&c->in[Q]) / heads,
                    .dv = cpu_width(&c->in[V]) / heads };
    t.q = cpu_in(c, Q) + batch_offset(&c->in[Q], r - 2, b) + h * t.d;
    t.k = cpu_in(c, K) + batch_offset(&c->in[K], r - 2, b) + h * t.d;
    t.v = cpu_in(c, V) + batch_offset(&c->in[V], r - 2, b) + h * t.dv;
    t.q_row = c->in[Q].stride[r - 2];
    t.k_row = c->in[K].stride[r - 2];
    t.v_row = c->in[V].stride[r - 2];
    if (cpu_has(c, MASK)) {
        t.mask = cpu_in(c, MASK) + batch_offset(&c->in[MASK], r - 2, b);
        t.mask_step = c->in[MASK].stride[r - 2];
    }
    if (cpu_has(c, BIAS)) {
        t.bias =
            cpu_in(c, BIAS) + batch_offset(&c->in[BIAS], r - 2, b) + h * c->in[BIAS].stride[r - 2];
        t.bias_row = c->in[BIAS].stride[r - 1];
    }
    t.first = (uint64_t)((b * heads + h) * t.lq * t.lk);
    return t;
}

static int64_t n_items(const llap_call *c)
{
    int64_t n = c->attr->attention.n_heads;
    for (int i = 0; i < c->in[Q].shape.rank - 2; i++) n *= c->in[Q].shape.dim[i];
    return n;
}

static float score(const item *t, int64_t i, int64_t j, float scale)
{
    if (t->mask != NULL && t->mask[j * t->mask_step] != 0.0f) return -INFINITY;
    const float *q = t->q + i * t->q_row, *k = t->k + j * t->k_row;
    float        dot = 0.0f;
    for (int64_t x = 0; x < t->d; x++) dot = fmaf(q[x], k[x], dot);
    return dot * scale + (t->bias == NULL ? 0.0f : t->bias[i * t->bias_row + j]);
}

static float kept(const llap_call *c, const llap_rng *rng, const item *t, int64_t i, int64_t j)
{
    const double p = c->attr->attention.dropout;
    if (p == 0.0) return 1.0f;
    return llap_drop_keeps(rng, t->first + (uint64_t)(i * t->lk + j), (float)p)
               ? (float)(1.0 / (1.0 - p))
               : 0.0f;
}

static llap_rng rng_of(const llap_call *c)
{
    return c->attr->attention.dropout > 0.0 ? llap_drop_rng(c->in[RNG].data, c->attr->attention.id)
                                            : (llap_rng){ { 0, 0 }, 0, 0 };
}

static void query(const llap_call *c, const llap_rng *rng, const item *t, int64_t i, float *y,
                  float *lse)
{
    const float scale = (float)c->attr->attention.scale;
    float       top = -INFINITY, sum = 0.0f;
    for (int64_t x = 0; x < t->dv; x++) y[x] = 0.0f;
    for (int64_t j = 0; j < t->lk; j++) {
        const float s = score(t, i, j, scale);
        if (s == -INFINITY) continue;
        if (s > top) {
            const float shrink = expf(top - s);
            for (int64_t x = 0; x < t->dv; x++) y[x] *= shrink;
            sum *= shrink;
            top = s;
        }
        const float w = expf(s - top), keep = w * kept(c, rng, t, i, j);
        sum += w;
        for (int64_t x = 0; x < t->dv; x++) y[x] += keep * t->v[j * t->v_row + x];
    }
    for (int64_t x = 0; x < t->dv && sum != 0.0f; x++) y[x] /= sum;
    *lse = sum == 0.0f ? -INFINITY : top + logf(sum);
}

void llap_cpu_attention(const llap_call *c)
{
    const int      heads = c->attr->attention.n_heads;
    const int64_t  items = n_items(c), lq = c->in[Q].shape.dim[c->in[Q].shape.rank - 2];
    const llap_rng rng = rng_of(c);
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t e = 0; e < items * lq; e++) {
        const int64_t b = e / lq / heads, i = e % lq;
        const int     h = (int)(e / lq % heads);
        const item    t = item_of(c, b, h);
        query(c, &rng, &t, i, cpu_out(c, 0) + ((b * lq + i) * heads + h) * t.dv, cpu_out(c, 1) + e);
    }
}

static void item_grad(const llap_call *c, const llap_rng *rng, int64_t b, int h)
{
    const item    t = item_of(c, b, h);
    const int     heads = c->attr->attention.n_heads, r = c->in[Q].shape.rank;
    const float   scale = (float)c->attr->attention.scale;
    const float  *lse = cpu_in(c, LSE) + (b * heads + h) * t.lq;
    const float  *y = cpu_in(c, Y) + batch_offset(&c->in[Y], r - 2, b) + h * t.dv;
    const float  *dy = cpu_in(c, DY) + batch_offset(&c->in[DY], r - 2, b) + h * t.dv;
    const int64_t row = heads * t.d, v_row = heads * t.dv;
    float        *dq = cpu_out(c, 0) + b * t.lq * row + h * t.d;
    float        *dk = cpu_out(c, 1) + b * t.lk * row + h * t.d;
    float        *dv = cpu_out(c, 2) + b * t.lk * v_row + h * t.dv;
    for (int64_t j = 0; j < t.lk; j++) {
        memset(dk + j * row, 0, (size_t)t.d * sizeof *dk);
        memset(dv + j * v_row, 0, (size_t)t.dv * sizeof *dv);
    }
    for (int64_t i = 0; i < t.lq; i++) {
        const float *pd = dy + i * c->in[DY].stride[r - 2], *py = y + i * c->in[Y].stride[r - 2];
        float        delta = 0.0f;
        memset(dq + i * row, 0, (size_t)t.d * sizeof *dq);
        for (int64_t x = 0; x < t.dv; x++) delta = fmaf(py[x], pd[x], delta);
        for (int64_t j = 0; j < t.lk; j++) {
            const float w = lse[i] == -INFINITY ? 0.0f : expf(score(&t, i, j, scale) - lse[i]);
            const float keep = kept(c, rng, &t, i, j);
            float       dw = 0.0f;
            for (int64_t x = 0; x < t.dv; x++) {
                dw = fmaf(pd[x], t.v[j * t.v_row + x], dw);
                dv[j * v_row + x] += w * keep * pd[x];
            }
            const float ds = w * (dw * keep - delta);
            for (int64_t x = 0; x < t.d; x++) {
                dq[i * row + x] += scale * ds * t.k[j * t.k_row + x];
                dk[j * row + x] += scale * ds * t.q[i * t.q_row + x];
            }
            if (t.bias != NULL) cpu_out(c, 3)[((b * heads + h) * t.lq + i) * t.lk + j] = ds;
        }
    }
}

void llap_cpu_attention_grad(const llap_call *c)
{
    const int      heads = c->attr->attention.n_heads;
    const int64_t  items = n_items(c);
    const llap_rng rng = rng_of(c);
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t e = 0; e < items; e++) item_grad(c, &rng, e / heads, (int)(e % heads));
}
