/* Matrix products and linear layers; windows for convolution. */
#include "backend/cpu/glue.h"

#include <math.h>
#include <string.h>

/* One row of C = op(A) op(B): a fused chain over k in order. */
static void row_product(const float *a, int64_t a_step, const float *b, int64_t b_row,
                        int64_t b_col, float *y, int64_t n, int64_t k_len)
{
    for (int64_t j = 0; j < n; j++) y[j] = 0.0f;
    for (int64_t k = 0; k < k_len; k++) {
        const float v = a[k * a_step];
        for (int64_t j = 0; j < n; j++) y[j] = fmaf(v, b[k * b_row + j * b_col], y[j]);
    }
}

void llap_cpu_matmul(const llap_call *c)
{
    const llap_view *a = &c->in[0], *b = &c->in[1], *y = &c->out[0];
    const int        r = y->shape.rank;
    const bool       ta = c->attr->matmul.ta, tb = c->attr->matmul.tb;
    const int64_t    m = y->shape.dim[r - 2], n = y->shape.dim[r - 1];
    const int64_t    k_len = a->shape.dim[ta ? r - 2 : r - 1], rows = llap_view_rows(y);
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        int64_t at = 0, bt = 0, rest = row / m;
        for (int axis = r - 3; axis >= 0; axis--) {
            at += rest % y->shape.dim[axis] * a->stride[axis];
            bt += rest % y->shape.dim[axis] * b->stride[axis];
            rest /= y->shape.dim[axis];
        }
        row_product(cpu_in(c, 0) + at + row % m * a->stride[ta ? r - 1 : r - 2],
                    a->stride[ta ? r - 2 : r - 1], cpu_in(c, 1) + bt, b->stride[tb ? r - 1 : r - 2],
                    b->stride[tb ? r - 2 : r - 1], cpu_out(c, 0) + row * n, n, k_len);
    }
}

void llap_cpu_linear(const llap_call *c)
{
    const int64_t in = c->in[1].shape.dim[1], out = c->in[1].shape.dim[0];
    const int64_t rows = llap_view_rows(&c->out[0]);
    const float  *bias = cpu_has(c, 2) ? cpu_in(c, 2) : NULL;
    const float  *residual = cpu_has(c, 3) ? cpu_in(c, 3) : NULL;
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t r = 0; r < rows; r++) {
        const float *x = cpu_in(c, 0) + r * in;
        float       *y = cpu_out(c, 0) + r * out;
        for (int64_t j = 0; j < out; j++) {
            const float *w = cpu_in(c, 1) + j * in;
            float        sum = 0.0f;
            for (int64_t k = 0; k < in; k++) sum = fmaf(x[k], w[k], sum);
            if (bias != NULL) sum += bias[j];
            if (c->attr->linear.gelu) sum = 0.5f * sum * (1.0f + erff(sum * 0x1.6a09e6p-1f));
            if (residual != NULL) sum += residual[r * out + j];
            y[j] = sum;
        }
    }
}

void llap_cpu_unfold(const llap_call *c)
{
    const int     width = c->attr->unfold.width, half = width / 2;
    const int64_t channels = cpu_width(&c->in[0]), rows = llap_view_rows(&c->in[0]);
    const int64_t l = c->in[0].shape.dim[c->in[0].shape.rank - 2];
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        float *y = cpu_out(c, 0) + row * channels * width;
        for (int k = 0; k < width; k++) {
            const int64_t j = row % l + k - half;
            const float  *x = cpu_in(c, 0) + (row + k - half) * channels;
            for (int64_t ch = 0; ch < channels; ch++)
                y[ch * width + k] = j < 0 || j >= l ? 0.0f : x[ch];
        }
    }
}

void llap_cpu_fold(const llap_call *c)
{
    const int     width = c->attr->unfold.width, half = width / 2;
    const int64_t channels = cpu_width(&c->out[0]), rows = llap_view_rows(&c->out[0]);
    const int64_t l = c->in[0].shape.dim[c->in[0].shape.rank - 2];
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        float *y = cpu_out(c, 0) + row * channels;
        for (int64_t ch = 0; ch < channels; ch++) y[ch] = 0.0f;
        for (int k = 0; k < width; k++) {
            const int64_t from = row % l - k + half; /* the window that saw this row as its k-th */
            if (from < 0 || from >= l) continue;
            const float *dy = cpu_in(c, 0) + (row - k + half) * channels * width;
            for (int64_t ch = 0; ch < channels; ch++) y[ch] += dy[ch * width + k];
        }
    }
}
