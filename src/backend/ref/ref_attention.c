/* Attention with the score matrix written out, one weight at a time, and rotary positions. */
#include "backend/random.h"
#include "backend/ref/ref.h"

#include <math.h>
#include <string.h>

enum { Q, K, V, MASK, BIAS, RNG, Y, LSE, DY };

typedef struct sizes {
    int64_t batch, lq, lk, d, dv; /* d, dv per head */
    int     heads;
} sizes;

static sizes sizes_of(const ll_call *c)
{
    const ll_view *q = &c->in[Q];
    const int      r = q->shape.rank, heads = c->attr->attention.n_heads;
    sizes          s = { .batch = 1,
                         .lq = q->shape.dim[r - 2],
                         .lk = c->in[K].shape.dim[r - 2],
                         .d = ref_width(q) / heads,
                         .dv = ref_width(&c->in[V]) / heads,
                         .heads = heads };
    for (int i = 0; i < r - 2; i++) s.batch *= q->shape.dim[i];
    return s;
}

/* The numbers of (b, row, head h) of an operand [...,L,heads width], whose rows are dense. */
static const double *head_of(const ll_view *v, int64_t b, int64_t row, int h, int heads)
{
    const int64_t l = v->shape.dim[v->shape.rank - 2];
    return (const double *)v->data + ll_view_row_offset(v, b * l + row) +
           h * (ref_width(v) / heads);
}

static double score(const ll_call *c, const sizes *s, int64_t b, int h, int64_t i, int64_t j)
{
    if (c->in[MASK].present && ref_get(&c->in[MASK], b * s->lk + j) != 0.0) return -INFINITY;
    const double *q = head_of(&c->in[Q], b, i, h, s->heads),
                 *k = head_of(&c->in[K], b, j, h, s->heads);
    double dot = 0.0;
    for (int64_t n = 0; n < s->d; n++) dot += q[n] * k[n];
    dot *= c->attr->attention.scale;
    if (c->in[BIAS].present)
        dot += ref_get(&c->in[BIAS], ((b * s->heads + h) * s->lq + i) * s->lk + j);
    return dot;
}

/* What the weight at (b,h,i,j) is multiplied with: 0 or 1 / (1 - p) under dropout, else 1. */
static double kept(const ll_call *c, const sizes *s, int64_t b, int h, int64_t i, int64_t j)
{
    const double p = c->attr->attention.dropout;
    if (p == 0.0) return 1.0;
    const int64_t e = ((b * s->heads + h) * s->lq + i) * s->lk + j;
    const ll_rng  rng = ll_drop_rng(c->in[RNG].data, c->attr->attention.id);
    return ll_drop_keeps(&rng, (uint64_t)e, (float)p) ? 1.0 / (1.0 - p) : 0.0;
}

void ll_ref_attention(const ll_call *c)
{
    const sizes s = sizes_of(c);
    for (int64_t e = 0; e < s.batch * s.heads * s.lq; e++) {
        const int64_t b = e / (s.heads * s.lq), i = e % s.lq;
        const int     h = (int)(e / s.lq % s.heads);
        double       *y = ref_out(c, 0) + ((b * s.lq + i) * s.heads + h) * s.dv;
        double        top = -INFINITY, sum = 0.0;
        for (int64_t k = 0; k < s.dv; k++) y[k] = 0.0;
        for (int64_t j = 0; j < s.lk; j++) top = fmax(top, score(c, &s, b, h, i, j));
        ref_out(c, 1)[e] = -INFINITY;
        if (top == -INFINITY) continue;
        for (int64_t j = 0; j < s.lk; j++) sum += exp(score(c, &s, b, h, i, j) - top);
        ref_out(c, 1)[e] = top + log(sum);
        for (int64_t j = 0; j < s.lk; j++) {
            const double  p = exp(score(c, &s, b, h, i, j) - top) / sum * kept(c, &s, b, h, i, j);
            const double *v = head_of(&c->in[V], b, j, h, s.heads);
            for (int64_t k = 0; k < s.dv; k++) y[k] += p * v[k];
        }
    }
}

/* One weight's part of dq, dk, dv and dbias; delta = sum_k y_k dy_k of its query. */
static void spread(const ll_call *c, const sizes *s, int64_t b, int h, int64_t i, int64_t j,
                   double lse, double delta)
{
    const double  w = lse == -INFINITY ? 0.0 : exp(score(c, s, b, h, i, j) - lse);
    const double  keep = kept(c, s, b, h, i, j), scale = c->attr->attention.scale;
    const int64_t row_i = (b * s->lq + i) * s->heads + h, row_j = (b * s->lk + j) * s->heads + h;
    const double *q = head_of(&c->in[Q], b, i, h, s->heads),
                 *k = head_of(&c->in[K], b, j, h, s->heads),
                 *v = head_of(&c->in[V], b, j, h, s->heads),
                 *dy = head_of(&c->in[DY], b, i, h, s->heads);
    double *dq = ref_out(c, 0) + row_i * s->d, *dk = ref_out(c, 1) + row_j * s->d,
           *dv = ref_out(c, 2) + row_j * s->dv, dw = 0.0;
    for (int64_t n = 0; n < s->dv; n++) {
        dw += dy[n] * v[n] * keep;
        dv[n] += w * keep * dy[n];
    }
    const double ds = w * (dw - delta);
    for (int64_t n = 0; n < s->d; n++) {
        dq[n] += scale * ds * k[n];
        dk[n] += scale * ds * q[n];
    }
    if (c->in[BIAS].present) ref_out(c, 3)[((b * s->heads + h) * s->lq + i) * s->lk + j] = ds;
}

void ll_ref_attention_grad(const ll_call *c)
{
    const sizes s = sizes_of(c);
    for (int k = 0; k < 4; k++)
        memset(ref_out(c, k), 0, (size_t)ref_count(&c->out[k]) * sizeof(double));
    for (int64_t e = 0; e < s.batch * s.heads * s.lq; e++) {
        const int64_t b = e / (s.heads * s.lq), i = e % s.lq;
        const int     h = (int)(e / s.lq % s.heads);
        const double *y = head_of(&c->in[Y], b, i, h, s.heads),
                     *dy = head_of(&c->in[DY], b, i, h, s.heads);
        double delta = 0.0;
        for (int64_t k = 0; k < s.dv; k++) delta += y[k] * dy[k];
        for (int64_t j = 0; j < s.lk; j++)
            spread(c, &s, b, h, i, j, ref_get(&c->in[LSE], e), delta);
    }
}

void ll_ref_rotary(const ll_call *c)
{
    const int64_t e = ref_width(&c->in[0]), d = e / c->attr->rotary.n_heads, pairs = d / 2;
    const int64_t rows = ll_view_rows(&c->in[0]);
    for (int64_t n = 0; n < rows * e; n++) ref_out(c, 0)[n] = ref_get(&c->in[0], n);
    for (int64_t n = 0; n < rows * c->attr->rotary.n_heads; n++) {
        const double t = ref_get(&c->in[1], n / c->attr->rotary.n_heads);
        double      *y = ref_out(c, 0) + n * d;
        for (int64_t i = 0; i < pairs; i++) {
            const double rate = pow(c->attr->rotary.base, -2.0 * (double)i / (double)(2 * pairs));
            const double phi = t * rate * c->attr->rotary.direction;
            const double a = y[2 * i], b = y[2 * i + 1];
            y[2 * i] = a * cos(phi) - b * sin(phi);
            y[2 * i + 1] = a * sin(phi) + b * cos(phi);
        }
    }
}
