/* Element by element: pieces of PIECE numbers to threads. */
#include "backend/cpu/kern_isa.h"

#include <string.h>

enum { PIECE = 1 << 13 };

void llap_kern_unary(const llap_kern *kn, llap_unary op, int64_t n, const float *x, float *y)
{
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, n)) if (n > KERN_ALONE)
    for (int64_t i = 0; i < n; i += PIECE)
        kn->isa->unary[op](kern_least(PIECE, n - i), x + i, y + i);
}

void llap_kern_unary_grad(const llap_kern *kn, llap_unary op, int64_t n, const float *x,
                          const float *dy, float *dx)
{
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, n)) if (n > KERN_ALONE)
    for (int64_t i = 0; i < n; i += PIECE)
        kn->isa->unary_grad[op](kern_least(PIECE, n - i), x + i, dy + i, dx + i);
}

void llap_kern_clamp(const llap_kern *kn, int64_t n, float lo, float hi, const float *x, float *y)
{
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, n)) if (n > KERN_ALONE)
    for (int64_t i = 0; i < n; i += PIECE)
        kn->isa->clamp(kern_least(PIECE, n - i), lo, hi, x + i, y + i);
}

void llap_kern_clamp_grad(const llap_kern *kn, int64_t n, float lo, float hi, const float *x,
                          const float *dy, float *dx)
{
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, n)) if (n > KERN_ALONE)
    for (int64_t i = 0; i < n; i += PIECE)
        kn->isa->clamp_grad(kern_least(PIECE, n - i), lo, hi, x + i, dy + i, dx + i);
}

void llap_kern_affine(const llap_kern *kn, int64_t n, float scale, float shift, const float *x,
                      float *y)
{
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, n)) if (n > KERN_ALONE)
    for (int64_t i = 0; i < n; i += PIECE)
        kn->isa->affine(kern_least(PIECE, n - i), scale, shift, x + i, y + i);
}

static bool is_full(llap_step s, int64_t cols) { return s.row == cols && s.col == 1; }
static bool is_one(llap_step s) { return s.row == 0 && s.col == 0; }

void llap_kern_binary(const llap_kern *kn, llap_binary op, int64_t rows, int64_t cols,
                      const float *a, llap_step as, const float *b, llap_step bs, float *y,
                      int64_t y_row)
{
    if (rows == 0 || cols == 0) return;
    /* Whole arrays are one long row: short rows would spend their time on tails. */
    if (y_row == cols && (is_full(as, cols) || is_one(as)) && (is_full(bs, cols) || is_one(bs))) {
        cols *= rows;
        rows = 1;
    }
    const int64_t parts = kern_per(cols, PIECE), n = rows * cols;
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, n)) if (n > KERN_ALONE)
    for (int64_t unit = 0; unit < rows * parts; unit++) {
        const int64_t i = unit / parts, j = unit % parts * PIECE;
        kn->isa->binary[op](kern_least(PIECE, cols - j), a + i * as.row + j * as.col, as.col,
                            b + i * bs.row + j * bs.col, bs.col, y + i * y_row + j);
    }
}

void llap_kern_dropout(const llap_kern *kn, llap_kern_drop drop, uint64_t first, int64_t n,
                       const float *x, float *y)
{
    enum { PART = 1024 };
#pragma omp parallel for schedule(static) num_threads(kern_threads(kn, n)) if (n > KERN_ALONE)
    for (int64_t i = 0; i < n; i += PART) {
        float         factor[PART];
        const int64_t m = kern_least(PART, n - i);
        drop.keep(drop.user, first + (uint64_t)i, m, factor);
        kn->isa->binary[LLAP_BINARY_MUL](m, x + i, 1, factor, 1, y + i);
    }
}

void llap_kern_gather(const llap_kern *kn, int64_t n, int64_t width, const float *table,
                      const int32_t *index, float *y)
{
#pragma omp parallel for schedule(static) \
    num_threads(kern_threads(kn, n *width)) if (n * width > KERN_ALONE)
    for (int64_t i = 0; i < n; i++)
        memcpy(y + i * width, table + index[i] * width, (size_t)width * sizeof *y);
}

/* Threads take columns: each row of the table then sees its additions in the order of i. */
void llap_kern_scatter_add(const llap_kern *kn, int64_t n, int64_t width, const float *dy,
                           const int32_t *index, float *dtable)
{
    enum { COLS = 64 };
#pragma omp parallel for schedule(static) \
    num_threads(kern_threads(kn, n *width)) if (n * width > KERN_ALONE)
    for (int64_t j = 0; j < width; j += COLS) {
        const int64_t m = kern_least(COLS, width - j);
        for (int64_t i = 0; i < n; i++) {
            float *to = dtable + index[i] * width + j;
            kn->isa->binary[LLAP_BINARY_ADD](m, to, 1, dy + i * width + j, 1, to);
        }
    }
}
