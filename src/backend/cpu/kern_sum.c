/* Sums over rows and over everything, in fixed pieces. */
#include "backend/cpu/kern_isa.h"

enum { ROWS = 128, NUMBERS = 1 << 13 };

size_t llap_kern_col_sum_work(const llap_kern *kn, int64_t rows, int64_t cols)
{
    (void)kn;
    return sizeof(float) * (size_t)(kern_per(rows, ROWS) * cols);
}

void llap_kern_col_sum(const llap_kern *kn, int64_t rows, int64_t cols, const float *x, int64_t ld,
                       bool accumulate, float *y, void *work)
{
    float        *piece = work;
    const int64_t n = rows * cols, pieces = kern_per(rows, ROWS);
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, n)) if (n > KERN_ALONE)
    for (int64_t p = 0; p < pieces; p++)
        kn->isa->sum_rows(kern_least(ROWS, rows - p * ROWS), cols, x + p * ROWS * ld, ld,
                          piece + p * cols);
    kn->isa->sum_pieces(pieces, cols, piece, cols, accumulate, y);
}

void llap_kern_row_sum(const llap_kern *kn, int64_t rows, int64_t cols, const float *x, int64_t ld,
                       float *y)
{
    const int64_t n = rows * cols;
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, n)) if (n > KERN_ALONE)
    for (int64_t i = 0; i < rows; i++) kn->isa->row_sums(1, cols, x + i * ld, ld, y + i);
}

size_t llap_kern_sum_work(const llap_kern *kn, int64_t n)
{
    (void)kn;
    return sizeof(double) * (size_t)kern_per(n, NUMBERS);
}

static double in_order(const double *piece, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += piece[i];
    return sum;
}

double llap_kern_sum(const llap_kern *kn, int64_t n, const float *x, void *work)
{
    double       *piece = work;
    const int64_t pieces = kern_per(n, NUMBERS);
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, n)) if (n > KERN_ALONE)
    for (int64_t p = 0; p < pieces; p++)
        piece[p] = kn->isa->sum_all(kern_least(NUMBERS, n - p * NUMBERS), x + p * NUMBERS);
    return in_order(piece, pieces);
}

double llap_kern_sum_sq(const llap_kern *kn, int64_t n, const float *x, void *work)
{
    double       *piece = work;
    const int64_t pieces = kern_per(n, NUMBERS);
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, n)) if (n > KERN_ALONE)
    for (int64_t p = 0; p < pieces; p++)
        piece[p] = kn->isa->sum_sq(kern_least(NUMBERS, n - p * NUMBERS), x + p * NUMBERS);
    return in_order(piece, pieces);
}

double llap_kern_sum_sq_diff(const llap_kern *kn, int64_t n, const float *a, const float *b,
                             const float *w, void *work)
{
    double       *piece = work;
    const int64_t pieces = kern_per(n, NUMBERS);
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, n)) if (n > KERN_ALONE)
    for (int64_t p = 0; p < pieces; p++) {
        const int64_t i = p * NUMBERS;
        piece[p] = kn->isa->sum_sq_diff(kern_least(NUMBERS, n - i), a + i, b != NULL ? b + i : NULL,
                                        w != NULL ? w + i : NULL);
    }
    return in_order(piece, pieces);
}

/* 1, or 1/max(sum of weights, 1). */
static float mean_factor(const float *w, int64_t n, bool mean)
{
    double sum = 0.0;
    if (!mean) return 1.0f;
    for (int64_t i = 0; i < n; i++) sum += (double)w[i];
    return (float)(1.0 / (sum > 1.0 ? sum : 1.0));
}

void llap_kern_masked_sum(const llap_kern *kn, int64_t outer, int64_t n, int64_t inner,
                          const float *x, const float *w, bool mean, float *y)
{
    const int64_t all = outer * n * inner;
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, all)) if (all > KERN_ALONE)
    for (int64_t o = 0; o < outer; o++)
        kn->isa->weighted_rows(n, inner, x + o * n * inner, w + o * n,
                               mean_factor(w + o * n, n, mean), y + o * inner);
}

void llap_kern_masked_sum_grad(const llap_kern *kn, int64_t outer, int64_t n, int64_t inner,
                               const float *dy, const float *w, bool mean, float *dx)
{
    const int64_t all = outer * n * inner;
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, all)) if (all > KERN_ALONE)
    for (int64_t o = 0; o < outer; o++) {
        const float factor = mean_factor(w + o * n, n, mean);
        for (int64_t i = 0; i < n; i++) {
            const float by = w[o * n + i] * factor;
            kn->isa->binary[LLAP_BINARY_MUL](inner, dy + o * inner, 1, &by, 0,
                                             dx + (o * n + i) * inner);
        }
    }
}
