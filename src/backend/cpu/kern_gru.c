/* A gated recurrent unit and its gradient: series in groups, each group through all its rows. */
#include "backend/cpu/kern.h"
#include "backend/cpu/kern_isa.h"

#include <string.h>

enum { GROUP = 16 };

typedef struct gru_args {
    ll_kern            kn; /* of one thread */
    const ll_gru_size *p;
    const float       *x, *weight, *bias, *first, *y, *gates, *dy;
    float             *to_y, *to_gates, *dx, *dg, *dfirst;
    char              *work;
    size_t             each; /* bytes of it for one thread */
} gru_args;

/* g = before W^T + bias, of series lda apart */
static ll_gemm ahead_of(const ll_gru_size *p, int64_t rows, int64_t lda, const float *bias)
{
    return (ll_gemm){ .m = rows,
                      .n = 3 * p->h,
                      .k = p->h,
                      .lda = lda,
                      .ldb = p->h,
                      .ldc = 3 * p->h,
                      .b_trans = true,
                      .bias = bias };
}

/* dh += dg W, of series lda apart */
static ll_gemm back_of(const ll_gru_size *p, int64_t rows)
{
    return (ll_gemm){ .m = rows,
                      .n = p->h,
                      .k = 3 * p->h,
                      .lda = p->n * 3 * p->h,
                      .ldb = p->h,
                      .ldc = p->h,
                      .accumulate = true };
}

/* What a group needs: g, then the product's own. */
static size_t group_bytes(const ll_kern *kn, const ll_gru_size *p)
{
    const ll_kern one = { kn->isa, 1 };
    const ll_gemm ahead = ahead_of(p, GROUP, p->n * p->h, NULL), back = back_of(p, GROUP);
    const size_t  a = ll_kern_gemm_work(&one, &ahead), b = ll_kern_gemm_work(&one, &back);
    const size_t  g = (size_t)kern_up(GROUP * 3 * p->h, 16) * sizeof(float);
    return (g + (a > b ? a : b) + 63) / 64 * 64;
}

static int64_t groups_of(const ll_gru_size *p) { return kern_per(p->batch, GROUP); }

size_t ll_kern_gru_work(const ll_kern *kn, const ll_gru_size *p)
{
    const int64_t at_once = kern_least(kern_most(kn->n_threads, 1), kern_most(groups_of(p), 1));
    return (size_t)at_once * group_bytes(kn, p);
}

static int64_t row_at(const ll_gru_size *p, int64_t k) { return p->reverse ? p->n - 1 - k : k; }

static void gru_part(const void *args, int64_t unit, int thread)
{
    const gru_args    *a = args;
    const ll_gru_size *p = a->p;
    const int64_t      h = p->h, b = unit * GROUP, rows = kern_least(GROUP, p->batch - b);
    float             *g = (float *)(void *)(a->work + (size_t)thread * a->each);
    float             *rest = g + kern_up(GROUP * 3 * h, 16);
    for (int64_t k = 0; k < p->n; k++) {
        const int64_t at = row_at(p, k), lda = k == 0 ? h : p->n * h;
        const float  *before =
            k == 0 ? a->first + b * h : a->to_y + (b * p->n + row_at(p, k - 1)) * h;
        const ll_gemm product = ahead_of(p, rows, lda, a->bias);
        ll_kern_gemm(&a->kn, &product, before, a->weight, g, rest);
        for (int64_t i = 0; i < rows; i++) {
            const int64_t row = (b + i) * p->n + at;
            a->kn.isa->gru_row(h, a->x + row * 3 * h, g + i * 3 * h, before + i * lda,
                               a->to_gates + row * 4 * h, a->to_y + row * h);
        }
    }
}

static void gru_grad_part(const void *args, int64_t unit, int thread)
{
    const gru_args    *a = args;
    const ll_gru_size *p = a->p;
    const int64_t      h = p->h, b = unit * GROUP, rows = kern_least(GROUP, p->batch - b);
    void              *work = a->work + (size_t)thread * a->each;
    float             *dh = a->dfirst + b * h;
    memset(dh, 0, (size_t)(rows * h) * sizeof *dh);
    for (int64_t k = p->n - 1; k >= 0; k--) {
        const int64_t at = row_at(p, k), lda = k == 0 ? h : p->n * h;
        const float  *before = k == 0 ? a->first + b * h : a->y + (b * p->n + row_at(p, k - 1)) * h;
        for (int64_t i = 0; i < rows; i++) {
            const int64_t row = (b + i) * p->n + at;
            a->kn.isa->gru_grad_row(h, a->gates + row * 4 * h, before + i * lda, a->dy + row * h,
                                    dh + i * h, a->dx + row * 3 * h, a->dg + row * 3 * h);
        }
        const ll_gemm product = back_of(p, rows);
        ll_kern_gemm(&a->kn, &product, a->dg + (b * p->n + at) * 3 * h, a->weight, dh, work);
    }
}

static int threads_of(const ll_kern *kn, const ll_gru_size *p)
{
    return p->batch * p->n * 3 * p->h * p->h < KERN_PRODUCTS_ALONE ? 1 : kn->n_threads;
}

void ll_kern_gru(const ll_kern *kn, const ll_gru_size *p, const float *x, const float *weight,
                 const float *bias, const float *first, float *y, float *gates, void *work)
{
    const gru_args a = { .kn = { kn->isa, 1 },
                         .p = p,
                         .x = x,
                         .weight = weight,
                         .bias = bias,
                         .first = first,
                         .to_y = y,
                         .to_gates = gates,
                         .work = work,
                         .each = group_bytes(kn, p) };
    if (p->h > 0) kern_each(threads_of(kn, p), groups_of(p), gru_part, &a);
}

void ll_kern_gru_grad(const ll_kern *kn, const ll_gru_size *p, const float *weight,
                      const float *first, const float *y, const float *gates, const float *dy,
                      float *dx, float *dg, float *dfirst, void *work)
{
    const gru_args a = { .kn = { kn->isa, 1 },
                         .p = p,
                         .weight = weight,
                         .first = first,
                         .y = y,
                         .gates = gates,
                         .dy = dy,
                         .dx = dx,
                         .dg = dg,
                         .dfirst = dfirst,
                         .work = work,
                         .each = group_bytes(kn, p) };
    if (p->h > 0) kern_each(threads_of(kn, p), groups_of(p), gru_grad_part, &a);
}
