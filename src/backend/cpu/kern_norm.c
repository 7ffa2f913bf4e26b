/* Layer norm and softmax: rows to threads. */
#include "backend/cpu/kern_isa.h"

enum { ROWS = 32 }; /* a piece of the sums over rows; also what a thread takes at a time */

typedef struct norm_args {
    const kern_isa *isa;
    const ll_norm  *p;
    const float    *x, *dy, *add, *stats;
    float          *y, *new_stats; /* y is dx on the way back */
    float          *sums;
    int64_t         group, pieces;
} norm_args;

static void norm_part(const void *args, int64_t unit, int thread)
{
    const norm_args *a = args;
    const int64_t    i = unit * ROWS;
    (void)thread;
    a->isa->norm_rows(a->p, i, kern_least(ROWS, a->p->rows - i), a->x, a->y, a->new_stats);
}

void ll_kern_norm(const ll_kern *kn, const ll_norm *p, const float *x, float *y, float *stats)
{
    const norm_args a = { .isa = kn->isa, .p = p, .x = x, .y = y, .new_stats = stats };
    if (p->n == 0) return;
    kern_each(kern_threads(kn, p->rows * p->n), kern_per(p->rows, ROWS), norm_part, &a);
}

/* Rows that share one row of factors: a group of AdaLN, or all. */
static int64_t group_rows(const ll_norm *p) { return p->scale != NULL ? p->group : p->rows; }

size_t ll_kern_norm_grad_work(const ll_kern *kn, const ll_norm *p)
{
    (void)kn;
    if (p->rows == 0) return 0;
    const int64_t group = group_rows(p), groups = kern_per(p->rows, group);
    return sizeof(float) * (size_t)(groups * kern_per(group, ROWS) * 2 * p->n);
}

static void norm_grad_part(const void *args, int64_t unit, int thread)
{
    const norm_args *a = args;
    const int64_t    g = unit / a->pieces, first = g * a->group + unit % a->pieces * ROWS;
    const int64_t    end = kern_least(kern_least((g + 1) * a->group, a->p->rows), first + ROWS);
    (void)thread;
    a->isa->norm_grad_rows(a->p, first, kern_most(end - first, 0), a->x, a->stats, a->dy, a->add,
                           a->y, a->sums != NULL ? a->sums + unit * 2 * a->p->n : NULL);
}

void ll_kern_norm_grad(const ll_kern *kn, const ll_norm *p, const float *x, const float *stats,
                       const float *dy, const float *add, float *dx, float *dgain, float *dbias,
                       int64_t dmod_ld, void *work)
{
    if (p->rows == 0 || p->n == 0) return;
    const int64_t   group = group_rows(p), groups = kern_per(p->rows, group);
    const norm_args a = { .isa = kn->isa,
                          .p = p,
                          .x = x,
                          .dy = dy,
                          .add = add,
                          .stats = stats,
                          .y = dx,
                          .sums = dgain != NULL ? work : NULL,
                          .group = group,
                          .pieces = kern_per(group, ROWS) };
    kern_each(kern_threads(kn, p->rows * p->n), groups * a.pieces, norm_grad_part, &a);
    if (a.sums == NULL) return;
    const bool    to_them = p->scale == NULL;
    const int64_t size = 2 * p->n;
    for (int64_t g = 0; g < groups; g++) {
        const float *from = a.sums + g * a.pieces * size;
        kn->isa->sum_pieces(a.pieces, p->n, from, size, to_them, dgain + g * dmod_ld);
        kn->isa->sum_pieces(a.pieces, p->n, from + p->n, size, to_them, dbias + g * dmod_ld);
    }
}

/* --- softmax -------------------------------------------------------------------------------------
 */

typedef struct softmax_args {
    const kern_isa *isa;
    int64_t         rows, n;
    const float    *x, *dy; /* x is the result on the way back */
    float          *y;
} softmax_args;

static void softmax_part(const void *args, int64_t unit, int thread)
{
    const softmax_args *a = args;
    const int64_t       i = unit * ROWS;
    (void)thread;
    a->isa->softmax_rows(kern_least(ROWS, a->rows - i), a->n, a->x + i * a->n, a->y + i * a->n);
}

static void softmax_grad_part(const void *args, int64_t unit, int thread)
{
    const softmax_args *a = args;
    const int64_t       i = unit * ROWS;
    (void)thread;
    a->isa->softmax_grad_rows(kern_least(ROWS, a->rows - i), a->n, a->x + i * a->n,
                              a->dy + i * a->n, a->y + i * a->n);
}

void ll_kern_softmax(const ll_kern *kn, int64_t rows, int64_t n, const float *x, float *y)
{
    const softmax_args a = { kn->isa, rows, n, x, NULL, y };
    kern_each(kern_threads(kn, rows * n), kern_per(rows, ROWS), softmax_part, &a);
}

void ll_kern_softmax_grad(const ll_kern *kn, int64_t rows, int64_t n, const float *y,
                          const float *dy, float *dx)
{
    const softmax_args a = { kn->isa, rows, n, y, dy, dx };
    kern_each(kern_threads(kn, rows * n), kern_per(rows, ROWS), softmax_grad_part, &a);
}
