/* The damped-sinusoid basis, rotary embedding, 1-D convolution, AdamW. */
#include "backend/cpu/kern_isa.h"

#include <math.h>
#include <string.h>

/* --- basis --------------------------------------------------------------------------------------
 */

enum { BASIS_ROWS = 16 };

typedef struct basis_args {
    const kern_isa *isa;
    const ll_basis *p;
    const float    *t, *rho, *omega, *a, *da;
    float          *out, *dt, *drho, *domega;
} basis_args;

static void basis_part(const void *args, int64_t unit, int thread)
{
    const basis_args *q = args;
    const ll_basis   *p = q->p;
    const int64_t     end = kern_least((unit + 1) * BASIS_ROWS, p->batch * p->h);
    (void)thread;
    for (int64_t i = unit * BASIS_ROWS; i < end; i++) {
        const int64_t b = i / p->h, r = i % p->h;
        q->isa->basis_row(p->k, q->t[b * p->t_batch + r], q->rho + b * p->pole_batch,
                          q->omega + b * p->pole_batch, q->out + i * 2 * p->k);
    }
}

void ll_kern_basis(const ll_kern *kn, const ll_basis *p, const float *t, const float *rho,
                   const float *omega, float *a)
{
    const basis_args q = { .isa = kn->isa, .p = p, .t = t, .rho = rho, .omega = omega, .out = a };
    const int64_t    rows = p->batch * p->h;
    kern_each(kern_threads(kn, rows * p->k), kern_per(rows, BASIS_ROWS), basis_part, &q);
}

static void basis_grad_part(const void *args, int64_t b, int thread)
{
    const basis_args *q = args;
    const ll_basis   *p = q->p;
    const int64_t     k = p->k, at = b * p->h * 2 * k;
    (void)thread;
    for (int64_t r = 0; r < p->h && q->dt != NULL; r++)
        q->dt[b * p->h + r] =
            q->isa->basis_grad_time(k, q->rho + b * p->pole_batch, q->omega + b * p->pole_batch,
                                    q->a + at + r * 2 * k, q->da + at + r * 2 * k);
    if (q->drho == NULL && q->domega == NULL) return;
    for (int64_t j = 0; j < k; j += 16)
        q->isa->basis_grad_poles(p->h, k, j, q->t + b * p->t_batch, q->a + at, q->da + at,
                                 q->drho != NULL ? q->drho + b * k : NULL,
                                 q->domega != NULL ? q->domega + b * k : NULL);
}

void ll_kern_basis_grad(const ll_kern *kn, const ll_basis *p, const float *t, const float *rho,
                        const float *omega, const float *a, const float *da, float *dt, float *drho,
                        float *domega)
{
    const basis_args q = { .isa = kn->isa,
                           .p = p,
                           .t = t,
                           .rho = rho,
                           .omega = omega,
                           .a = a,
                           .da = da,
                           .dt = dt,
                           .drho = drho,
                           .domega = domega };
    kern_each(kern_threads(kn, p->batch * p->h * p->k), p->batch, basis_grad_part, &q);
}

/* --- rotary -------------------------------------------------------------------------------------
 */

enum { PAIRS = 64, ROTARY_ROWS = 16 };

typedef struct rotary_args {
    const kern_isa  *isa;
    const ll_rotary *p;
    const float     *pos, *x;
    float           *y;
    int64_t          first, n; /* these pairs of every head */
    float            freq[PAIRS];
} rotary_args;

static void rotate_row(const rotary_args *a, const float *sine, const float *cosine, const float *x,
                       float *y)
{
    for (int64_t h = 0; h < a->p->heads; h++)
        for (int64_t i = 0; i < a->n; i++) {
            const int64_t at = h * a->p->d + 2 * (a->first + i);
            const float   s = a->p->inverse ? -sine[i] : sine[i], c = cosine[i];
            const float   u = x[at], v = x[at + 1];
            y[at] = u * c - v * s;
            y[at + 1] = u * s + v * c;
        }
}

static void rotary_part(const void *args, int64_t unit, int thread)
{
    const rotary_args *a = args;
    const int64_t      end = kern_least((unit + 1) * ROTARY_ROWS, a->p->rows);
    (void)thread;
    for (int64_t r = unit * ROTARY_ROWS; r < end; r++) {
        float sine[PAIRS], cosine[PAIRS];
        a->isa->angles(a->n, a->pos[r], a->freq, sine, cosine);
        rotate_row(a, sine, cosine, a->x + r * a->p->x_row, a->y + r * a->p->y_row);
    }
}

void ll_kern_rotary(const ll_kern *kn, const ll_rotary *p, const float *pos, const float *x,
                    float *y)
{
    const int64_t pairs = p->d / 2, threads = kern_threads(kn, p->rows * p->heads * p->d);
    rotary_args   a = { .isa = kn->isa, .p = p, .pos = pos, .x = x, .y = y };
    for (a.first = 0; a.first < pairs; a.first += PAIRS) {
        a.n = kern_least(PAIRS, pairs - a.first);
        for (int64_t i = 0; i < a.n; i++)
            a.freq[i] = (float)pow((double)p->base, -(double)(a.first + i) / (double)pairs);
        kern_each((int)threads, kern_per(p->rows, ROTARY_ROWS), rotary_part, &a);
    }
    for (int64_t i = 0; i < p->rows * p->heads && p->d % 2 == 1; i++) {
        const int64_t r = i / p->heads, last = (i % p->heads + 1) * p->d - 1;
        y[r * p->y_row + last] = x[r * p->x_row + last];
    }
}

/* --- convolution: a product over unfolded windows, some items at a time
 * ------------------------------- */

enum { UNFOLD_ROWS = 4096 };

static int64_t items_at_once(const ll_conv *p)
{
    return kern_least(kern_most(UNFOLD_ROWS / kern_most(p->len, 1), 1), p->batch);
}

static size_t unfold_floats(const ll_conv *p)
{
    return (size_t)kern_up(items_at_once(p) * p->len * p->cin * p->taps, 16);
}

/* The three products: y = U W^T + b, dU = dy W, dW += dy^T U, on rows rows. */
static ll_gemm product(const ll_conv *p, int which, int64_t rows, const float *bias)
{
    const int64_t width = p->cin * p->taps;
    if (which == 0)
        return (ll_gemm){ .m = rows,
                          .n = p->cout,
                          .k = width,
                          .lda = width,
                          .ldb = width,
                          .ldc = p->cout,
                          .b_trans = true,
                          .bias = bias };
    if (which == 1)
        return (ll_gemm){
            .m = rows, .n = width, .k = p->cout, .lda = p->cout, .ldb = width, .ldc = width
        };
    return (ll_gemm){ .m = p->cout,
                      .n = width,
                      .k = rows,
                      .lda = p->cout,
                      .ldb = width,
                      .ldc = width,
                      .a_trans = true };
}

size_t ll_kern_conv_work(const ll_kern *kn, const ll_conv *p)
{
    const int64_t step = kern_most(items_at_once(p), 1);
    const int64_t rows[2] = { step * p->len, p->batch % step * p->len }; /* a turn; the last one */
    size_t        most = ll_kern_col_sum_work(kn, p->batch * p->len, p->cout);
    for (int which = 0; which < 3; which++)
        for (int i = 0; i < 2; i++) {
            ll_gemm g = product(p, which, rows[i], NULL);
            g.accumulate = which == 2;
            const size_t n = ll_kern_gemm_work(kn, &g);
            if (n > most) most = n;
        }
    return unfold_floats(p) * sizeof(float) + most;
}

/* u[j, c*taps + t] = x[j + t - half, c], zeros outside. */
static void unfold(const ll_conv *p, const float *x, float *u)
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
static void fold(const ll_conv *p, const float *du, float *dx)
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

typedef struct fold_args {
    const ll_conv *p;
    const float   *from;
    float         *to;
} fold_args;

static void unfold_part(const void *args, int64_t item, int thread)
{
    const fold_args *a = args;
    const int64_t    n = a->p->len * a->p->cin;
    (void)thread;
    unfold(a->p, a->from + item * n, a->to + item * n * a->p->taps);
}

static void fold_part(const void *args, int64_t item, int thread)
{
    const fold_args *a = args;
    const int64_t    n = a->p->len * a->p->cin;
    (void)thread;
    fold(a->p, a->from + item * n * a->p->taps, a->to + item * n);
}

static void each_item(const ll_kern *kn, const ll_conv *p, int64_t items, kern_part part,
                      const float *from, float *to)
{
    const fold_args a = { p, from, to };
    kern_each(kern_threads(kn, items * p->len * p->cin * p->taps), items, part, &a);
}

void ll_kern_conv(const ll_kern *kn, const ll_conv *p, const float *x, const float *w,
                  const float *bias, float *y, void *work)
{
    float        *u = work;
    void         *rest = u + unfold_floats(p);
    const int64_t step = items_at_once(p);
    for (int64_t b = 0; b < p->batch; b += step) {
        const int64_t items = kern_least(step, p->batch - b);
        const ll_gemm g = product(p, 0, items * p->len, bias);
        each_item(kn, p, items, unfold_part, x + b * p->len * p->cin, u);
        ll_kern_gemm(kn, &g, u, w, y + b * p->len * p->cout, rest);
    }
}

void ll_kern_conv_grad(const ll_kern *kn, const ll_conv *p, const float *x, const float *w,
                       const float *dy, float *dx, float *dw, float *dbias, void *work)
{
    float        *u = work;
    void         *rest = u + unfold_floats(p);
    const int64_t step = items_at_once(p), rows = p->batch * p->len;
    if (dbias != NULL) ll_kern_col_sum(kn, rows, p->cout, dy, p->cout, false, dbias, rest);
    if (dw != NULL) memset(dw, 0, (size_t)(p->cout * p->cin * p->taps) * sizeof *dw);
    for (int64_t b = 0; b < p->batch; b += step) {
        const int64_t items = kern_least(step, p->batch - b), n = items * p->len;
        const float  *dy_b = dy + b * p->len * p->cout;
        if (dw != NULL) {
            ll_gemm g = product(p, 2, n, NULL);
            g.accumulate = true;
            each_item(kn, p, items, unfold_part, x + b * p->len * p->cin, u);
            ll_kern_gemm(kn, &g, dy_b, u, dw, rest);
        }
        if (dx != NULL) {
            const ll_gemm g = product(p, 1, n, NULL);
            ll_kern_gemm(kn, &g, dy_b, w, u, rest);
            each_item(kn, p, items, fold_part, u, dx + b * p->len * p->cin);
        }
    }
}

/* --- AdamW
 * ------------------------------------------------------------------------------------------ */

enum { ADAMW_PIECE = 1 << 13, ADAMW_ITEMS = 256 /* of one pass */ };

typedef struct adamw_args {
    const kern_isa      *isa;
    const ll_adamw      *o;
    const ll_adamw_item *item;
    int64_t              end[ADAMW_ITEMS]; /* of an item's pieces */
    int                  n;
} adamw_args;

static void adamw_part(const void *args, int64_t unit, int thread)
{
    const adamw_args *a = args;
    int               low = 0, high = a->n - 1;
    (void)thread;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (a->end[middle] > unit) high = middle;
        else low = middle + 1;
    }
    const int64_t first = (unit - (low == 0 ? 0 : a->end[low - 1])) * ADAMW_PIECE;
    a->isa->adamw(a->o, &a->item[low], first, kern_least(ADAMW_PIECE, a->item[low].count - first));
}

void ll_kern_adamw(const ll_kern *kn, const ll_adamw *o, const ll_adamw_item *item, int n)
{
    for (int done = 0; done < n; done += ADAMW_ITEMS) {
        adamw_args a = { .isa = kn->isa, .o = o, .item = item + done };
        int64_t    units = 0, numbers = 0;
        for (; a.n < ADAMW_ITEMS && done + a.n < n; a.n++) {
            numbers += a.item[a.n].count;
            units += kern_per(a.item[a.n].count, ADAMW_PIECE);
            a.end[a.n] = units;
        }
        kern_each(kern_threads(kn, numbers), units, adamw_part, &a);
    }
}
