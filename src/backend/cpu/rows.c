/* Row-wise ops: softmax, layer norm, lookup, rotary, basis, dropout, AdamW. */
#include "backend/cpu/glue.h"
#include "backend/random.h"

#include <math.h>
#include <string.h>

void llap_cpu_softmax(const llap_call *c)
{
    const int64_t n = cpu_width(&c->in[0]), rows = llap_view_rows(&c->in[0]);
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t r = 0; r < rows; r++) {
        const float *x = cpu_in(c, 0) + llap_view_row_offset(&c->in[0], r);
        float       *y = cpu_out(c, 0) + r * n, top = -INFINITY;
        double       sum = 0.0;
        for (int64_t i = 0; i < n; i++) top = fmaxf(top, x[i]);
        if (top == -INFINITY) top = 0.0f; /* every exponential below is 0 */
        for (int64_t i = 0; i < n; i++) {
            y[i] = expf(x[i] - top);
            sum += y[i];
        }
        const float scale = sum == 0.0 ? 0.0f : (float)(1.0 / sum);
        for (int64_t i = 0; i < n; i++) y[i] *= scale;
    }
}

void llap_cpu_softmax_grad(const llap_call *c)
{
    const int64_t n = cpu_width(&c->in[0]), rows = llap_view_rows(&c->in[0]);
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t r = 0; r < rows; r++) {
        const float *y = cpu_in(c, 0) + r * n, *dy = cpu_in(c, 1) + r * n;
        double       dot = 0.0;
        for (int64_t i = 0; i < n; i++) dot += (double)y[i] * dy[i];
        for (int64_t i = 0; i < n; i++) cpu_out(c, 0)[r * n + i] = y[i] * (dy[i] - (float)dot);
    }
}

/* -------- layer norm -------- */

static void moments(const float *x, int64_t n, double eps, float *mean, float *rstd)
{
    double sum = 0.0, square = 0.0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    const double m = sum / (double)n;
    for (int64_t i = 0; i < n; i++) square += (x[i] - m) * (x[i] - m);
    *mean = (float)m;
    *rstd = (float)(1.0 / sqrt(square / (double)n + eps));
}

static const float *under(const llap_view *w, const llap_view *x, int64_t row)
{
    return (const float *)w->data + llap_view_row_under(w, &x->shape, row);
}

void llap_cpu_norm(const llap_call *c)
{
    const llap_view *x = &c->in[0];
    const int64_t    n = cpu_width(x), rows = llap_view_rows(x);
    const float      offset = (float)c->attr->norm.offset;
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t r = 0; r < rows; r++) {
        const float *row = cpu_in(c, 0) + llap_view_row_offset(x, r);
        const float *w = cpu_has(c, 1) ? under(&c->in[1], x, r) : NULL;
        const float *b = cpu_has(c, 2) ? under(&c->in[2], x, r) : NULL;
        float        mean, rstd;
        moments(row, n, c->attr->norm.eps, &mean, &rstd);
        for (int64_t i = 0; i < n; i++) {
            float y = (row[i] - mean) * rstd;
            if (w != NULL) y *= w[i] + offset;
            if (b != NULL) y += b[i];
            cpu_out(c, 0)[r * n + i] = y;
        }
    }
}

static void norm_grad_row(const float *x, const float *dy, const float *w, float offset, double eps,
                          int64_t n, float *dx)
{
    float  mean, rstd;
    double sum = 0.0, dot = 0.0;
    moments(x, n, eps, &mean, &rstd);
    for (int64_t i = 0; i < n; i++) {
        const float d = w == NULL ? dy[i] : dy[i] * (w[i] + offset);
        sum += d;
        dot += (double)d * ((x[i] - mean) * rstd);
    }
    const float a = (float)(sum / (double)n), b = (float)(dot / (double)n);
    for (int64_t i = 0; i < n; i++) {
        const float d = w == NULL ? dy[i] : dy[i] * (w[i] + offset);
        dx[i] = rstd * (d - a - (x[i] - mean) * rstd * b);
    }
}

/* Sums of dy xhat and dy over the rows that share one row of the weight, in row order. */
static void norm_grad_sums(const llap_call *c, const llap_view *small, float *out, bool with_x,
                           int64_t k)
{
    const llap_view *x = &c->in[0], *dy = &c->in[1];
    const int64_t    n = cpu_width(x), rows = llap_view_rows(x);
    for (int64_t i = 0; i < n; i++) out[k * n + i] = 0.0f;
    for (int64_t r = 0; r < rows; r++) {
        if (llap_view_row_under(small, &x->shape, r) != k * n) continue;
        const float *px = cpu_in(c, 0) + llap_view_row_offset(x, r);
        const float *pd = cpu_in(c, 1) + llap_view_row_offset(dy, r);
        float        mean = 0.0f, rstd = 1.0f;
        if (with_x) moments(px, n, c->attr->norm.eps, &mean, &rstd);
        for (int64_t i = 0; i < n; i++)
            out[k * n + i] += with_x ? pd[i] * ((px[i] - mean) * rstd) : pd[i];
    }
}

void llap_cpu_norm_grad(const llap_call *c)
{
    const llap_view *x = &c->in[0];
    const int64_t    n = cpu_width(x), rows = llap_view_rows(x);
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t r = 0; r < rows; r++)
        norm_grad_row(cpu_in(c, 0) + llap_view_row_offset(x, r),
                      cpu_in(c, 1) + llap_view_row_offset(&c->in[1], r),
                      cpu_has(c, 2) ? under(&c->in[2], x, r) : NULL, (float)c->attr->norm.offset,
                      c->attr->norm.eps, n, cpu_out(c, 0) + r * n);
    for (int o = 1; o < 3; o++) {
        if (!cpu_has(c, o + 1)) continue;
        const int64_t groups = llap_view_rows(&c->out[o]);
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
        for (int64_t k = 0; k < groups; k++)
            norm_grad_sums(c, &c->out[o], cpu_out(c, o), o == 1, k);
    }
}

/* -------- lookup: an index outside the table reads zeros and gives no gradient -------- */

void llap_cpu_embedding(const llap_call *c)
{
    const int64_t  width = cpu_width(&c->in[0]), n = cpu_count(&c->in[1]);
    const int32_t *index = c->in[1].data;
    for (int64_t r = 0; r < n; r++) {
        float *y = cpu_out(c, 0) + r * width;
        if (index[r] < 0 || index[r] >= c->in[0].shape.dim[0])
            memset(y, 0, (size_t)width * sizeof *y);
        else memcpy(y, cpu_in(c, 0) + index[r] * width, (size_t)width * sizeof *y);
    }
}

void llap_cpu_embedding_grad(const llap_call *c)
{
    const int64_t  width = cpu_width(&c->in[0]), n = cpu_count(&c->in[1]);
    const int32_t *index = c->in[1].data;
    memset(cpu_out(c, 0), 0, (size_t)cpu_count(&c->out[0]) * sizeof(float));
    for (int64_t r = 0; r < n; r++) {
        if (index[r] < 0 || index[r] >= c->in[0].shape.dim[0]) continue;
        float *to = cpu_out(c, 0) + index[r] * width;
        for (int64_t i = 0; i < width; i++) to[i] += cpu_in(c, 2)[r * width + i];
    }
}

/* -------- rotary and basis -------- */

void llap_cpu_rotary(const llap_call *c)
{
    const int64_t e = cpu_width(&c->in[0]), rows = llap_view_rows(&c->in[0]);
    const int     heads = c->attr->rotary.n_heads;
    const int64_t d = e / heads, pairs = d / 2;
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t r = 0; r < rows; r++) {
        const float *x = cpu_in(c, 0) + llap_view_row_offset(&c->in[0], r);
        float       *y = cpu_out(c, 0) + r * e;
        const float  t = cpu_in(c, 1)[llap_view_offset(&c->in[1], r)];
        for (int64_t i = 0; i < e; i++) y[i] = x[i];
        for (int64_t i = 0; i < pairs; i++) {
            const double rate = pow(c->attr->rotary.base, -(double)i / (double)pairs);
            const float  phi = t * (float)rate, cs = cosf(phi);
            const float  sn = sinf(phi) * (float)c->attr->rotary.direction;
            for (int h = 0; h < heads; h++) {
                const float a = x[h * d + 2 * i], b = x[h * d + 2 * i + 1];
                y[h * d + 2 * i] = a * cs - b * sn;
                y[h * d + 2 * i + 1] = a * sn + b * cs;
            }
        }
    }
}

void llap_cpu_basis(const llap_call *c)
{
    const int64_t h = cpu_width(&c->in[0]), n = cpu_width(&c->in[1]);
    const int64_t rows = llap_view_rows(&c->in[0]) * h;
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t r = 0; r < rows; r++) {
        const float  t = cpu_in(c, 0)[llap_view_offset(&c->in[0], r)];
        const float *rho = cpu_in(c, 1) + llap_view_row_offset(&c->in[1], r / h);
        const float *omega = cpu_in(c, 2) + llap_view_row_offset(&c->in[2], r / h);
        float       *y = cpu_out(c, 0) + r * 2 * n;
        for (int64_t k = 0; k < n; k++) {
            const float decay = expf(-t * rho[k]), angle = t * omega[k];
            y[k] = decay * cosf(angle);
            y[n + k] = decay * sinf(angle);
        }
    }
}

void llap_cpu_basis_grad(const llap_call *c)
{
    const int64_t h = cpu_width(&c->in[0]), n = cpu_width(&c->in[1]);
    const int64_t batch = llap_view_rows(&c->in[0]);
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t e = 0; e < batch * n; e++) {
        const int64_t b = e / n, k = e % n;
        const float   rho = cpu_in(c, 1)[llap_view_row_offset(&c->in[1], b) + k];
        const float   omega = cpu_in(c, 2)[llap_view_row_offset(&c->in[2], b) + k];
        const float  *t = cpu_in(c, 0) + llap_view_row_offset(&c->in[0], b);
        double        drho = 0.0, domega = 0.0;
        for (int64_t j = 0; j < h; j++) {
            const float *da = cpu_in(c, 3) + (b * h + j) * 2 * n;
            const float  decay = t[j] * expf(-t[j] * rho), angle = t[j] * omega;
            const float  cs = cosf(angle), sn = sinf(angle);
            drho -= decay * (da[k] * cs + da[n + k] * sn);
            domega += decay * (da[n + k] * cs - da[k] * sn);
        }
        cpu_out(c, 0)[e] = (float)drho;
        cpu_out(c, 1)[e] = (float)domega;
    }
}

/* -------- dropout and AdamW -------- */

void llap_cpu_dropout(const llap_call *c)
{
    const float    p = (float)c->attr->dropout.p, scale = (float)(1.0 / (1.0 - c->attr->dropout.p));
    const llap_rng rng = llap_drop_rng(c->in[1].data, c->attr->dropout.id);
    const int64_t  n = cpu_count(&c->out[0]);
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t i = 0; i < n; i++)
        cpu_out(c, 0)[i] = llap_drop_keeps(&rng, (uint64_t)i, p) ? cpu_in(c, 0)[i] * scale : 0.0f;
}

void llap_cpu_adamw(const llap_call *c)
{
    const double step = (double)((const int32_t *)c->in[6].data)[0];
    const double lr = cpu_in(c, 5)[0];
    const float  scale = cpu_in(c, 4)[0];
    const float  b1 = (float)c->attr->adamw.beta1, b2 = (float)c->attr->adamw.beta2;
    const float  size = (float)(lr / (1.0 - pow(c->attr->adamw.beta1, step)));
    const float  root = (float)(1.0 / sqrt(1.0 - pow(c->attr->adamw.beta2, step)));
    const float  decay = (float)(1.0 - lr * c->attr->adamw.weight_decay);
    const float  eps = (float)c->attr->adamw.eps;
    const float  c1 = (float)(1.0 - c->attr->adamw.beta1), c2 = (float)(1.0 - c->attr->adamw.beta2);
    const int64_t n = cpu_count(&c->in[0]);
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        const float g = scale * cpu_in(c, 3)[i];
        const float m = b1 * cpu_in(c, 1)[i] + c1 * g, v = b2 * cpu_in(c, 2)[i] + c2 * g * g;
        cpu_out(c, 0)[i] = cpu_in(c, 0)[i] * decay - size * m / (sqrtf(v) * root + eps);
        cpu_out(c, 1)[i] = m;
        cpu_out(c, 2)[i] = v;
    }
}
