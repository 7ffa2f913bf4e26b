/* The damped-sinusoid basis, rotary embedding, 1-D convolution, AdamW. */
#include "backend/cpu/kern_isa.h"

#include <math.h>
#include <string.h>

/* --- basis --------------------------------------------------------------------------------------
 */

void llap_kern_basis(const llap_kern *kn, const llap_basis *p, const float *t, const float *rho,
                     const float *omega, float *a)
{
    const int64_t all = p->batch * p->h * p->k;
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, all)) if (all > KERN_ALONE)
    for (int64_t i = 0; i < p->batch * p->h; i++) {
        const int64_t b = i / p->h, r = i % p->h;
        kn->isa->basis_row(p->k, t[b * p->t_batch + r], rho + b * p->pole_batch,
                           omega + b * p->pole_batch, a + i * 2 * p->k);
    }
}

static void basis_grad_item(const kern_isa *isa, const llap_basis *p, int64_t b, const float *t,
                            const float *rho, const float *omega, const float *a, const float *da,
                            float *dt, float *drho, float *domega)
{
    const int64_t k = p->k, at = b * p->h * 2 * k;
    if (dt != NULL)
        for (int64_t r = 0; r < p->h; r++)
            dt[b * p->h + r] =
                isa->basis_grad_time(k, rho + b * p->pole_batch, omega + b * p->pole_batch,
                                     a + at + r * 2 * k, da + at + r * 2 * k);
    if (drho == NULL && domega == NULL) return;
    for (int64_t j = 0; j < k; j += 16)
        isa->basis_grad_poles(p->h, k, j, t + b * p->t_batch, a + at, da + at,
                              drho != NULL ? drho + b * k : NULL,
                              domega != NULL ? domega + b * k : NULL);
}

void llap_kern_basis_grad(const llap_kern *kn, const llap_basis *p, const float *t,
                          const float *rho, const float *omega, const float *a, const float *da,
                          float *dt, float *drho, float *domega)
{
    const int64_t all = p->batch * p->h * p->k;
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, all)) if (all > KERN_ALONE)
    for (int64_t b = 0; b < p->batch; b++)
        basis_grad_item(kn->isa, p, b, t, rho, omega, a, da, dt, drho, domega);
}

/* --- rotary -------------------------------------------------------------------------------------
 */

enum { PAIRS = 64 };

/* Pairs first..first+n-1 of every head of one row. */
static void rotate_row(const llap_rotary *p, int64_t first, int64_t n, const float *sine,
                       const float *cosine, const float *x, float *y)
{
    for (int64_t h = 0; h < p->heads; h++)
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = h * p->d + 2 * (first + i);
            const float   s = p->inverse ? -sine[i] : sine[i], c = cosine[i];
            const float   a = x[at], b = x[at + 1];
            y[at] = a * c - b * s;
            y[at + 1] = a * s + b * c;
        }
}

void llap_kern_rotary(const llap_kern *kn, const llap_rotary *p, const float *pos, const float *x,
                      float *y)
{
    const int64_t pairs = p->d / 2, all = p->rows * p->heads * p->d;
    for (int64_t first = 0; first < pairs; first += PAIRS) {
        const int64_t n = kern_least(PAIRS, pairs - first);
        float         freq[PAIRS];
        for (int64_t i = 0; i < n; i++)
            freq[i] = (float)pow((double)p->base, -(double)(first + i) / (double)pairs);
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, all)) if (all > KERN_ALONE)
        for (int64_t r = 0; r < p->rows; r++) {
            float sine[PAIRS], cosine[PAIRS];
            kn->isa->angles(n, pos[r], freq, sine, cosine);
            rotate_row(p, first, n, sine, cosine, x + r * p->x_row, y + r * p->y_row);
        }
    }
    if (p->d % 2 == 1)
        for (int64_t r = 0; r < p->rows; r++)
            for (int64_t h = 0; h < p->heads; h++)
                y[r * p->y_row + (h + 1) * p->d - 1] = x[r * p->x_row + (h + 1) * p->d - 1];
}

/* --- convolution: a product over unfolded windows, some items at a time
 * ------------------------------- */

enum { UNFOLD_ROWS = 4096 };

static int64_t items_at_once(const llap_conv *p)
{
    return kern_least(kern_most(UNFOLD_ROWS / kern_most(p->len, 1), 1), p->batch);
}

static size_t unfold_floats(const llap_conv *p)
{
    return (size_t)kern_up(items_at_once(p) * p->len * p->cin * p->taps, 16);
}

/* The three products: y = U W^T + b, dU = dy W, dW += dy^T U, on rows rows. */
static llap_gemm product(const llap_conv *p, int which, int64_t rows, const float *bias)
{
    const int64_t width = p->cin * p->taps;
    if (which == 0)
        return (llap_gemm){ .m = rows,
                            .n = p->cout,
                            .k = width,
                            .lda = width,
                            .ldb = width,
                            .ldc = p->cout,
                            .b_trans = true,
                            .bias = bias };
    if (which == 1)
        return (llap_gemm){
            .m = rows, .n = width, .k = p->cout, .lda = p->cout, .ldb = width, .ldc = width
        };
    return (llap_gemm){ .m = p->cout,
                        .n = width,
                        .k = rows,
                        .lda = p->cout,
                        .ldb = width,
                        .ldc = width,
                        .a_trans = true };
}

size_t llap_kern_conv_work(const llap_kern *kn, const llap_conv *p)
{
    const int64_t step = kern_most(items_at_once(p), 1);
    const int64_t rows[2] = { step * p->len, p->batch % step * p->len }; /* a turn; the last one */
    size_t        most = llap_kern_col_sum_work(kn, p->batch * p->len, p->cout);
    for (int which = 0; which < 3; which++)
        for (int i = 0; i < 2; i++) {
            const llap_gemm g = product(p, which, rows[i], NULL);
            const size_t    n = llap_kern_gemm_work(kn, &g);
            if (n > most) most = n;
        }
    return unfold_floats(p) * sizeof(float) + most;
}

/* u[j, c*taps + t] = x[j + t - half, c], zeros outside. */
static void unfold(const llap_conv *p, const float *x, float *u)
{
    const int64_t half = (p->taps - 1) / 2;
    for (int64_t j = 0; j < p->len; j++)
        for (int64_t c = 0; c < p->cin; c++)
            for (int64_t t = 0; t < p->taps; t++) {
                const int64_t from = j + t - half;
                *u++ = from >= 0 && from < p->len ? x[from * p->cin + c] : 0.0f;
            }
}

/* dx[j, c] = sum_t du[j - t + half, c*taps + t] */
static void fold(const llap_conv *p, const float *du, float *dx)
{
    const int64_t half = (p->taps - 1) / 2, width = p->cin * p->taps;
    for (int64_t j = 0; j < p->len; j++)
        for (int64_t c = 0; c < p->cin; c++) {
            float sum = 0.0f;
            for (int64_t t = 0; t < p->taps; t++) {
                const int64_t from = j - t + half;
                if (from >= 0 && from < p->len) sum += du[from * width + c * p->taps + t];
            }
            dx[j * p->cin + c] = sum;
        }
}

static void unfold_items(const llap_kern *kn, const llap_conv *p, int64_t items, const float *x,
                         float *u)
{
    const int64_t all = items * p->len * p->cin * p->taps;
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, all)) if (all > KERN_ALONE)
    for (int64_t b = 0; b < items; b++)
        unfold(p, x + b * p->len * p->cin, u + b * p->len * p->cin * p->taps);
}

void llap_kern_conv(const llap_kern *kn, const llap_conv *p, const float *x, const float *w,
                    const float *bias, float *y, void *work)
{
    float        *u = work;
    void         *rest = u + unfold_floats(p);
    const int64_t step = items_at_once(p);
    for (int64_t b = 0; b < p->batch; b += step) {
        const int64_t   items = kern_least(step, p->batch - b);
        const llap_gemm g = product(p, 0, items * p->len, bias);
        unfold_items(kn, p, items, x + b * p->len * p->cin, u);
        llap_kern_gemm(kn, &g, u, w, y + b * p->len * p->cout, rest);
    }
}

void llap_kern_conv_grad(const llap_kern *kn, const llap_conv *p, const float *x, const float *w,
                         const float *dy, float *dx, float *dw, float *dbias, void *work)
{
    float        *u = work;
    void         *rest = u + unfold_floats(p);
    const int64_t step = items_at_once(p), rows = p->batch * p->len;
    if (dbias != NULL) llap_kern_col_sum(kn, rows, p->cout, dy, p->cout, false, dbias, rest);
    if (dw != NULL) memset(dw, 0, (size_t)(p->cout * p->cin * p->taps) * sizeof *dw);
    for (int64_t b = 0; b < p->batch; b += step) {
        const int64_t items = kern_least(step, p->batch - b), n = items * p->len;
        const float  *dy_b = dy + b * p->len * p->cout;
        if (dw != NULL) {
            llap_gemm g = product(p, 2, n, NULL);
            g.accumulate = true;
            unfold_items(kn, p, items, x + b * p->len * p->cin, u);
            llap_kern_gemm(kn, &g, dy_b, u, dw, rest);
        }
        if (dx != NULL) {
            const llap_gemm g = product(p, 1, n, NULL);
            llap_kern_gemm(kn, &g, dy_b, w, u, rest);
            const int64_t all = n * p->cin * p->taps;
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, all)) if (all > KERN_ALONE)
            for (int64_t i = 0; i < items; i++)
                fold(p, u + i * p->len * p->cin * p->taps, dx + (b + i) * p->len * p->cin);
        }
    }
}

/* --- AdamW
 * ------------------------------------------------------------------------------------------ */

void llap_kern_adamw(const llap_kern *kn, const llap_adamw *o, int64_t n, const float *grad,
                     float *p, float *m, float *v, float *ema)
{
    enum { PIECE = 1 << 13 };
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, n)) if (n > KERN_ALONE)
    for (int64_t i = 0; i < n; i += PIECE)
        kn->isa->adamw(o, kern_least(PIECE, n - i), grad + i, p + i, m + i, v + i,
                       ema != NULL ? ema + i : NULL);
}
