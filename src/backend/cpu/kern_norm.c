/* Layer norm and softmax: rows to threads. */
#include "backend/cpu/kern_isa.h"

enum { ROWS = 32 }; /* a piece of the sums over rows; also what a thread takes at a time */

void llap_kern_norm(const llap_kern *kn, const llap_norm *p, const float *x, float *y, float *stats)
{
    const int64_t n = p->rows * p->n;
    if (n == 0) return;
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, n)) if (n > KERN_ALONE)
    for (int64_t i = 0; i < p->rows; i += ROWS)
        kn->isa->norm_rows(p, i, kern_least(ROWS, p->rows - i), x, y, stats);
}

/* Rows that share one row of factors: a group of AdaLN, or all. */
static int64_t group_rows(const llap_norm *p) { return p->scale != NULL ? p->group : p->rows; }

size_t llap_kern_norm_grad_work(const llap_kern *kn, const llap_norm *p)
{
    (void)kn;
    if (p->rows == 0) return 0;
    const int64_t group = group_rows(p), groups = kern_per(p->rows, group);
    return sizeof(float) * (size_t)(groups * kern_per(group, ROWS) * 2 * p->n);
}

void llap_kern_norm_grad(const llap_kern *kn, const llap_norm *p, const float *x,
                         const float *stats, const float *dy, float *dx, float *dgain, float *dbias,
                         int64_t dmod_ld, void *work)
{
    const int64_t all = p->rows * p->n;
    if (all == 0) return;
    float        *sums = dgain != NULL ? work : NULL;
    const int64_t group = group_rows(p), groups = kern_per(p->rows, group);
    const int64_t pieces = kern_per(group, ROWS), size = 2 * p->n;
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, all)) if (all > KERN_ALONE)
    for (int64_t unit = 0; unit < groups * pieces; unit++) {
        const int64_t first = unit / pieces * group + unit % pieces * ROWS;
        const int64_t end =
            kern_least(kern_least((unit / pieces + 1) * group, p->rows), first + ROWS);
        kn->isa->norm_grad_rows(p, first, kern_most(end - first, 0), x, stats, dy, dx,
                                sums != NULL ? sums + unit * size : NULL);
    }
    if (sums == NULL) return;
    const bool add = p->scale == NULL;
    for (int64_t g = 0; g < groups; g++) {
        const float *from = sums + g * pieces * size;
        kn->isa->sum_pieces(pieces, p->n, from, size, add, dgain + g * dmod_ld);
        kn->isa->sum_pieces(pieces, p->n, from + p->n, size, add, dbias + g * dmod_ld);
    }
}

void llap_kern_softmax(const llap_kern *kn, int64_t rows, int64_t n, const float *x, float *y)
{
    const int64_t all = rows * n;
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, all)) if (all > KERN_ALONE)
    for (int64_t i = 0; i < rows; i++) kn->isa->softmax_rows(1, n, x + i * n, y + i * n);
}

void llap_kern_softmax_grad(const llap_kern *kn, int64_t rows, int64_t n, const float *y,
                            const float *dy, float *dx)
{
    const int64_t all = rows * n;
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, all)) if (all > KERN_ALONE)
    for (int64_t i = 0; i < rows; i++)
        kn->isa->softmax_grad_rows(1, n, y + i * n, dy + i * n, dx + i * n);
}
