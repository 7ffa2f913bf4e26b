/* Sums over rows and over everything, in fixed pieces. */
#include "backend/cpu/kern_isa.h"

enum { ROWS = LL_KERN_SUM_ROWS, NUMBERS = 1 << 13 };

typedef struct args { /* of any of these functions */
    const kern_isa *isa;
    int64_t         rows, cols, ld;
    const float    *x;
    float          *y;
    double         *sums;
} args;

size_t ll_kern_col_sum_work(const ll_kern *kn, int64_t rows, int64_t cols)
{
    (void)kn;
    return sizeof(float) * (size_t)(kern_per(rows, ROWS) * cols);
}

static void col_part(const void *p, int64_t unit, int thread)
{
    const args *a = p;
    (void)thread;
    a->isa->sum_rows(kern_least(ROWS, a->rows - unit * ROWS), a->cols, a->x + unit * ROWS * a->ld,
                     a->ld, a->y + unit * a->cols);
}

void ll_kern_sum_pieces(const ll_kern *kn, int64_t rows, int64_t cols, const float *pieces,
                        bool accumulate, float *y)
{
    kn->isa->sum_pieces(kern_per(rows, ROWS), cols, pieces, cols, accumulate, y);
}

void ll_kern_col_sum(const ll_kern *kn, int64_t rows, int64_t cols, const float *x, int64_t ld,
                     bool accumulate, float *y, void *work)
{
    const int64_t pieces = kern_per(rows, ROWS);
    const args    a = { .isa = kn->isa, .rows = rows, .cols = cols, .ld = ld, .x = x, .y = work };
    kern_each(kern_threads(kn, rows * cols), pieces, col_part, &a);
    ll_kern_sum_pieces(kn, rows, cols, work, accumulate, y);
}

static void row_part(const void *p, int64_t unit, int thread)
{
    const args   *a = p;
    const int64_t i = unit * ROWS;
    (void)thread;
    a->isa->row_sums(kern_least(ROWS, a->rows - i), a->cols, a->x + i * a->ld, a->ld, a->y + i);
}

void ll_kern_row_sum(const ll_kern *kn, int64_t rows, int64_t cols, const float *x, int64_t ld,
                     float *y)
{
    const args a = { .isa = kn->isa, .rows = rows, .cols = cols, .ld = ld, .x = x, .y = y };
    kern_each(kern_threads(kn, rows * cols), kern_per(rows, ROWS), row_part, &a);
}

/* --- everything, in double
 * ------------------------------------------------------------------------ */

size_t ll_kern_sum_work(const ll_kern *kn, int64_t n)
{
    (void)kn;
    return sizeof(double) * (size_t)kern_per(n, NUMBERS);
}

static double total(const ll_kern *kn, const args *a, kern_part part)
{
    const int64_t pieces = kern_per(a->cols, NUMBERS);
    double        sum = 0.0;
    kern_each(kern_threads(kn, a->cols), pieces, part, a);
    for (int64_t i = 0; i < pieces; i++) sum += a->sums[i];
    return sum;
}

static void sum_part(const void *p, int64_t unit, int thread)
{
    const args   *a = p;
    const int64_t i = unit * NUMBERS;
    (void)thread;
    a->sums[unit] = a->isa->sum_all(kern_least(NUMBERS, a->cols - i), a->x + i);
}

static void sum_sq_part(const void *p, int64_t unit, int thread)
{
    const args   *a = p;
    const int64_t i = unit * NUMBERS;
    (void)thread;
    a->sums[unit] = a->isa->sum_sq(kern_least(NUMBERS, a->cols - i), a->x + i);
}

double ll_kern_sum(const ll_kern *kn, int64_t n, const float *x, void *work)
{
    return total(kn, &(args){ .isa = kn->isa, .cols = n, .x = x, .sums = work }, sum_part);
}

double ll_kern_sum_sq(const ll_kern *kn, int64_t n, const float *x, void *work)
{
    return total(kn, &(args){ .isa = kn->isa, .cols = n, .x = x, .sums = work }, sum_sq_part);
}
