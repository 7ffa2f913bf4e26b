/* A gated recurrent unit and its gradient. */
#include "backend/ref/ref.h"

#include <math.h>
#include <string.h>

static double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

/* The place of the k-th row that is computed; before it is row k - 1, or first. */
static int64_t row_at(const ll_call *c, int64_t k, int64_t n)
{
    return c->attr->gru.reverse ? n - 1 - k : k;
}

static const double *before_of(const ll_call *c, const double *y, const double *first, int64_t b,
                               int64_t k, int64_t n, int64_t h)
{
    return k == 0 ? first + b * h : y + (b * n + row_at(c, k - 1, n)) * h;
}

void ll_ref_gru(const ll_call *c)
{
    const int64_t batch = c->out[0].shape.dim[0], n = c->out[0].shape.dim[1],
                  h = c->out[0].shape.dim[2];
    const double *x = c->in[0].data, *w = c->in[1].data, *bias = c->in[2].data;
    for (int64_t e = 0; e < batch * n * h; e++) { /* unit i of row k of b; rows in their order */
        const int64_t b = e / (n * h), k = e / h % n, i = e % h, at = b * n + row_at(c, k, n);
        const double *before = before_of(c, ref_out(c, 0), c->in[3].data, b, k, n, h);
        const double *in = x + at * 3 * h;
        double        g[3];
        for (int j = 0; j < 3; j++) {
            g[j] = bias[j * h + i];
            for (int64_t l = 0; l < h; l++) g[j] += w[(j * h + i) * h + l] * before[l];
        }
        const double r = sigmoid(in[i] + g[0]), z = sigmoid(in[h + i] + g[1]);
        const double m = tanh(in[2 * h + i] + r * g[2]);
        double      *gates = ref_out(c, 1) + at * 4 * h + i;
        gates[0] = r, gates[h] = z, gates[2 * h] = m, gates[3 * h] = g[2];
        ref_out(c, 0)[at * h + i] = (1.0 - z) * m + z * before[i];
    }
}

void ll_ref_gru_grad(const ll_call *c)
{
    const int64_t batch = c->in[2].shape.dim[0], n = c->in[2].shape.dim[1],
                  h = c->in[2].shape.dim[2];
    const double *w = c->in[0].data, *y = c->in[2].data, *dy = c->in[4].data;
    memset(ref_out(c, 2), 0, (size_t)(batch * h) * sizeof(double));
    for (int64_t e = 0; e < batch * n; e++) {
        const int64_t b = e / n, k = n - 1 - e % n, at = b * n + row_at(c, k, n);
        const double *gates = (const double *)c->in[3].data + at * 4 * h;
        const double *before = before_of(c, y, c->in[1].data, b, k, n, h);
        double       *dx = ref_out(c, 0) + at * 3 * h, *dg = ref_out(c, 1) + at * 3 * h;
        double *dh = ref_out(c, 2) + b * h; /* of the state behind the row, then of that before */
        for (int64_t i = 0; i < h; i++) {
            const double r = gates[i], z = gates[h + i], m = gates[2 * h + i];
            const double d = dh[i] + dy[at * h + i], dm = d * (1.0 - z) * (1.0 - m * m);
            dx[i] = dg[i] = dm * gates[3 * h + i] * r * (1.0 - r);
            dx[h + i] = dg[h + i] = d * (before[i] - m) * z * (1.0 - z);
            dx[2 * h + i] = dm;
            dg[2 * h + i] = dm * r;
            dh[i] = d * z;
        }
        for (int64_t j = 0; j < 3 * h; j++)
            for (int64_t i = 0; i < h; i++) dh[i] += dg[j] * w[j * h + i];
    }
}
