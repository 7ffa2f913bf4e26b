/* Ops over rows: softmax, norm, windows, lookup, basis, dropout, optimiser. */
#include "backend/random.h"
#include "backend/ref/ref.h"

#include <math.h>
#include <string.h>

void ll_ref_softmax(const ll_call *c)
{
    const int64_t n = ref_width(&c->in[0]), rows = ll_view_rows(&c->in[0]);
    for (int64_t r = 0; r < rows; r++) {
        double *y = ref_out(c, 0) + r * n, top = -INFINITY, sum = 0.0;
        for (int64_t i = 0; i < n; i++) top = fmax(top, ref_get(&c->in[0], r * n + i));
        for (int64_t i = 0; i < n; i++) {
            y[i] = top == -INFINITY ? 0.0 : exp(ref_get(&c->in[0], r * n + i) - top);
            sum += y[i];
        }
        for (int64_t i = 0; i < n; i++) y[i] = sum == 0.0 ? 0.0 : y[i] / sum;
    }
}

void ll_ref_softmax_grad(const ll_call *c)
{
    const int64_t n = ref_width(&c->in[0]), rows = ll_view_rows(&c->in[0]);
    for (int64_t r = 0; r < rows; r++) {
        double dot = 0.0;
        for (int64_t i = r * n; i < (r + 1) * n; i++)
            dot += ref_get(&c->in[0], i) * ref_get(&c->in[1], i);
        for (int64_t i = r * n; i < (r + 1) * n; i++)
            ref_out(c, 0)[i] = ref_get(&c->in[0], i) * (ref_get(&c->in[1], i) - dot);
    }
}

/* -------- layer norm -------- */

static void moments(const ll_view *x, int64_t row, double eps, double *mean, double *rstd)
{
    const int64_t n = ref_width(x);
    double        sum = 0.0, square = 0.0;
    for (int64_t i = 0; i < n; i++) sum += ref_get(x, row * n + i);
    *mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) {
        const double d = ref_get(x, row * n + i) - *mean;
        square += d * d;
    }
    *rstd = 1.0 / sqrt(square / (double)n + eps);
}

/* Element i of the weight or bias row that belongs to this row of x. */
static double under(const ll_view *w, const ll_view *x, int64_t row, int64_t i)
{
    return ((const double *)w->data)[ll_view_row_under(w, &x->shape, row) + i];
}

static double slope(const ll_call *c, const ll_view *w, int64_t row, int64_t i)
{
    return w->present ? under(w, &c->in[0], row, i) + c->attr->norm.offset : 1.0;
}

void ll_ref_norm(const ll_call *c)
{
    const ll_view *x = &c->in[0], *b = &c->in[2];
    const int64_t  n = ref_width(x), rows = ll_view_rows(x);
    for (int64_t r = 0; r < rows; r++) {
        double mean, rstd;
        moments(x, r, c->attr->norm.eps, &mean, &rstd);
        for (int64_t i = 0; i < n; i++)
            ref_out(c, 0)[r * n + i] =
                (ref_get(x, r * n + i) - mean) * rstd * slope(c, &c->in[1], r, i) +
                (b->present ? under(b, x, r, i) : 0.0);
    }
}

void ll_ref_norm_grad(const ll_call *c)
{
    const ll_view *x = &c->in[0], *dy = &c->in[1], *w = &c->in[2], *b = &c->in[3];
    const int64_t  n = ref_width(x), rows = ll_view_rows(x);
    for (int k = 1; k < 3; k++)
        memset(ref_out(c, k), 0, (size_t)ref_count(&c->out[k]) * sizeof(double));
    for (int64_t r = 0; r < rows; r++) {
        double mean, rstd, sum = 0.0, dot = 0.0;
        moments(x, r, c->attr->norm.eps, &mean, &rstd);
        for (int64_t i = 0; i < n; i++) {
            const double d = ref_get(dy, r * n + i) * slope(c, w, r, i);
            sum += d;
            dot += d * (ref_get(x, r * n + i) - mean) * rstd;
        }
        for (int64_t i = 0; i < n; i++) {
            const double d = ref_get(dy, r * n + i);
            const double hat = (ref_get(x, r * n + i) - mean) * rstd;
            ref_out(c, 0)[r * n + i] =
                rstd * (d * slope(c, w, r, i) - (sum + hat * dot) / (double)n);
            if (w->present)
                ref_out(c, 1)[ll_view_row_under(&c->out[1], &x->shape, r) + i] += d * hat;
            if (b->present) ref_out(c, 2)[ll_view_row_under(&c->out[2], &x->shape, r) + i] += d;
        }
    }
}

/* -------- windows along time -------- */

void ll_ref_unfold(const ll_call *c)
{
    const int     width = c->attr->unfold.width, half = width / 2;
    const int64_t channels = ref_width(&c->in[0]);
    const int64_t l = c->in[0].shape.dim[c->in[0].shape.rank - 2], n = ref_count(&c->out[0]);
    for (int64_t e = 0; e < n; e++) {
        const int64_t row = e / (channels * width), k = e % width, ch = e / width % channels;
        const int64_t j = row % l + k - half;
        ref_out(c, 0)[e] =
            j < 0 || j >= l ? 0.0 : ref_get(&c->in[0], (row / l * l + j) * channels + ch);
    }
}

void ll_ref_fold(const ll_call *c)
{
    const int     width = c->attr->unfold.width, half = width / 2;
    const int64_t channels = ref_width(&c->out[0]);
    const int64_t l = c->in[0].shape.dim[c->in[0].shape.rank - 2], n = ref_count(&c->in[0]);
    memset(ref_out(c, 0), 0, (size_t)ref_count(&c->out[0]) * sizeof(double));
    for (int64_t e = 0; e < n; e++) {
        const int64_t row = e / (channels * width), k = e % width, ch = e / width % channels;
        const int64_t j = row % l + k - half;
        if (j >= 0 && j < l)
            ref_out(c, 0)[(row / l * l + j) * channels + ch] += ref_get(&c->in[0], e);
    }
}

/* -------- lookup: an index outside the table reads zeros and gives no gradient -------- */

void ll_ref_embedding(const ll_call *c)
{
    const int64_t  width = ref_width(&c->in[0]), n = ref_count(&c->in[1]);
    const int32_t *index = c->in[1].data;
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < width; i++)
            ref_out(c, 0)[r * width + i] = index[r] < 0 || index[r] >= c->in[0].shape.dim[0]
                                               ? 0.0
                                               : ref_get(&c->in[0], index[r] * width + i);
}

void ll_ref_embedding_grad(const ll_call *c)
{
    const int64_t  width = ref_width(&c->in[0]), n = ref_count(&c->in[1]);
    const int32_t *index = c->in[1].data;
    memset(ref_out(c, 0), 0, (size_t)ref_count(&c->out[0]) * sizeof(double));
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < width && index[r] >= 0 && index[r] < c->in[0].shape.dim[0]; i++)
            ref_out(c, 0)[index[r] * width + i] += ref_get(&c->in[2], r * width + i);
}

/* -------- modal basis -------- */

void ll_ref_basis(const ll_call *c)
{
    const int64_t h = ref_width(&c->in[0]), n_poles = ref_width(&c->in[1]);
    const int64_t batch = ll_view_rows(&c->in[0]);
    for (int64_t e = 0; e < batch * h * n_poles; e++) {
        const int64_t b = e / (h * n_poles), k = e % n_poles;
        const double  t = ref_get(&c->in[0], e / n_poles);
        const double  decay = exp(-t * ref_get(&c->in[1], b * n_poles + k));
        const double  angle = t * ref_get(&c->in[2], b * n_poles + k);
        double       *y = ref_out(c, 0) + e / n_poles * 2 * n_poles + k;
        y[0] = decay * cos(angle);
        y[n_poles] = decay * sin(angle);
    }
}

void ll_ref_basis_grad(const ll_call *c)
{
    const int64_t h = ref_width(&c->in[0]), n_poles = ref_width(&c->in[1]);
    const int64_t batch = ll_view_rows(&c->in[0]);
    for (int64_t e = 0; e < batch * n_poles; e++) {
        const int64_t b = e / n_poles, k = e % n_poles;
        double        drho = 0.0, domega = 0.0;
        for (int64_t j = b * h; j < (b + 1) * h; j++) {
            const double t = ref_get(&c->in[0], j), angle = t * ref_get(&c->in[2], e);
            const double decay = t * exp(-t * ref_get(&c->in[1], e));
            const double da = ref_get(&c->in[3], j * 2 * n_poles + k);
            const double db = ref_get(&c->in[3], j * 2 * n_poles + n_poles + k);
            drho -= decay * (da * cos(angle) + db * sin(angle));
            domega += decay * (db * cos(angle) - da * sin(angle));
        }
        ref_out(c, 0)[e] = drho;
        ref_out(c, 1)[e] = domega;
    }
}

/* -------- dropout, draws and AdamW -------- */

void ll_ref_dropout(const ll_call *c)
{
    const double p = c->attr->dropout.p;
    const ll_rng rng = ll_drop_rng(c->in[1].data, c->attr->dropout.id);
    for (int64_t i = 0; i < ref_count(&c->out[0]); i++)
        ref_out(c, 0)[i] =
            ll_drop_keeps(&rng, (uint64_t)i, (float)p) ? ref_get(&c->in[0], i) / (1.0 - p) : 0.0;
}

void ll_ref_draw(const ll_call *c)
{
    const int64_t width = c->attr->draw.width;
    for (int64_t i = 0; i < ref_count(&c->out[0]); i++) {
        const int32_t  row = ((const int32_t *)c->in[2].data)[i / width];
        const int32_t *id = (const int32_t *)c->in[1].data + 2 * row;
        const ll_rng r = ll_draw_rng(c->in[0].data, id, c->attr->draw.stream, c->attr->draw.sample);
        const uint64_t k = (uint64_t)(i % width);
        ref_out(c, 0)[i] =
            (double)(c->attr->draw.normal ? ll_rng_normal(&r, k) : ll_rng_uniform(&r, k));
        if (c->attr->draw.below > 0)
            ref_out(c, 0)[i] = (double)ll_rng_below(&r, k, c->attr->draw.below);
    }
}

void ll_ref_whole(const ll_call *c)
{
    int32_t *y = c->out[0].data;
    for (int64_t i = 0; i < ref_count(&c->out[0]); i++) y[i] = (int32_t)ref_get(&c->in[0], i);
}

void ll_ref_adamw(const ll_call *c)
{
    const double scale = ref_get(&c->in[4], 0), lr = ref_get(&c->in[5], 0);
    const double step = (double)((const int32_t *)c->in[6].data)[0];
    const double b1 = c->attr->adamw.beta1, b2 = c->attr->adamw.beta2;
    const double size = lr / (1.0 - pow(b1, step)), root = sqrt(1.0 - pow(b2, step));
    for (int64_t i = 0; i < ref_count(&c->in[0]); i++) {
        if (!isfinite(scale)) { /* a step that is left out */
            for (int k = 0; k < 3; k++) ref_out(c, k)[i] = ref_get(&c->in[k], i);
            continue;
        }
        const double g = scale * ref_get(&c->in[3], i);
        double       p = ref_get(&c->in[0], i);
        const double m = b1 * ref_get(&c->in[1], i) + (1.0 - b1) * g;
        const double v = b2 * ref_get(&c->in[2], i) + (1.0 - b2) * g * g;
        p -= lr * c->attr->adamw.weight_decay * p;
        ref_out(c, 0)[i] = p - size * m / (sqrt(v) / root + c->attr->adamw.eps);
        ref_out(c, 1)[i] = m;
        ref_out(c, 2)[i] = v;
    }
}
