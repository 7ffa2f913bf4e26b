/* Element by element: pieces of PIECE numbers to threads. */
#include "backend/cpu/kern_isa.h"

#include <string.h>

enum { PIECE = 1 << 13 };

typedef struct args { /* of any of these functions */
    const kern_isa *isa;
    int             op;
    int64_t         n;
    float           lo, hi;
    const float    *x, *dy;
    float          *y;
} args;

static void each_piece(const ll_kern *kn, const args *a, kern_part part)
{
    kern_each(kern_threads(kn, a->n), kern_per(a->n, PIECE), part, a);
}

static int64_t piece_size(const args *a, int64_t i) { return kern_least(PIECE, a->n - i); }

static void unary_part(const void *p, int64_t unit, int thread)
{
    const args   *a = p;
    const int64_t i = unit * PIECE;
    (void)thread;
    a->isa->unary[a->op](piece_size(a, i), a->x + i, a->y + i);
}

static void unary_grad_part(const void *p, int64_t unit, int thread)
{
    const args   *a = p;
    const int64_t i = unit * PIECE;
    (void)thread;
    a->isa->unary_grad[a->op](piece_size(a, i), a->x + i, a->dy + i, a->y + i);
}

static void clamp_part(const void *p, int64_t unit, int thread)
{
    const args   *a = p;
    const int64_t i = unit * PIECE;
    (void)thread;
    a->isa->clamp(piece_size(a, i), a->lo, a->hi, a->x + i, a->y + i);
}

static void clamp_grad_part(const void *p, int64_t unit, int thread)
{
    const args   *a = p;
    const int64_t i = unit * PIECE;
    (void)thread;
    a->isa->clamp_grad(piece_size(a, i), a->lo, a->hi, a->x + i, a->dy + i, a->y + i);
}

static void affine_part(const void *p, int64_t unit, int thread)
{
    const args   *a = p;
    const int64_t i = unit * PIECE;
    (void)thread;
    a->isa->affine(piece_size(a, i), a->lo, a->hi, a->x + i, a->y + i);
}

void ll_kern_unary(const ll_kern *kn, ll_unary op, int64_t n, const float *x, float *y)
{
    each_piece(kn, &(args){ .isa = kn->isa, .op = (int)op, .n = n, .x = x, .y = y }, unary_part);
}

void ll_kern_unary_grad(const ll_kern *kn, ll_unary op, int64_t n, const float *x, const float *dy,
                        float *dx)
{
    each_piece(kn, &(args){ .isa = kn->isa, .op = (int)op, .n = n, .x = x, .dy = dy, .y = dx },
               unary_grad_part);
}

void ll_kern_clamp(const ll_kern *kn, int64_t n, float lo, float hi, const float *x, float *y)
{
    each_piece(kn, &(args){ .isa = kn->isa, .n = n, .lo = lo, .hi = hi, .x = x, .y = y },
               clamp_part);
}

void ll_kern_clamp_grad(const ll_kern *kn, int64_t n, float lo, float hi, const float *x,
                        const float *dy, float *dx)
{
    each_piece(kn, &(args){ .isa = kn->isa, .n = n, .lo = lo, .hi = hi, .x = x, .dy = dy, .y = dx },
               clamp_grad_part);
}

void ll_kern_affine(const ll_kern *kn, int64_t n, float scale, float shift, const float *x,
                    float *y)
{
    each_piece(kn, &(args){ .isa = kn->isa, .n = n, .lo = scale, .hi = shift, .x = x, .y = y },
               affine_part);
}

/* --- two operands -------------------------------------------------------------------------------
 */

typedef struct binary_args {
    const kern_isa *isa;
    ll_binary       op;
    int64_t         rows, cols, units_across, rows_down; /* a unit: PIECE columns, or some rows */
    const float    *a, *b;
    ll_step         as, bs;
    float          *y;
    int64_t         y_row;
} binary_args;

static void binary_part(const void *p, int64_t unit, int thread)
{
    const binary_args *q = p;
    const int64_t      first = unit / q->units_across * q->rows_down;
    const int64_t      end = kern_least(first + q->rows_down, q->rows);
    const int64_t      j = unit % q->units_across * PIECE, n = kern_least(PIECE, q->cols - j);
    (void)thread;
    for (int64_t i = first; i < end; i++)
        q->isa->binary[q->op](n, q->a + i * q->as.row + j * q->as.col, q->as.col,
                              q->b + i * q->bs.row + j * q->bs.col, q->bs.col,
                              q->y + i * q->y_row + j);
}

static bool is_full(ll_step s, int64_t cols) { return s.row == cols && s.col == 1; }
static bool is_one(ll_step s) { return s.row == 0 && s.col == 0; }

void ll_kern_binary(const ll_kern *kn, ll_binary op, int64_t rows, int64_t cols, const float *a,
                    ll_step as, const float *b, ll_step bs, float *y, int64_t y_row)
{
    if (rows == 0 || cols == 0) return;
    /* Whole arrays are one long row: short rows would spend their time on tails. */
    if (y_row == cols && (is_full(as, cols) || is_one(as)) && (is_full(bs, cols) || is_one(bs))) {
        cols *= rows;
        rows = 1;
    }
    binary_args q = { .isa = kn->isa,
                      .op = op,
                      .rows = rows,
                      .cols = cols,
                      .a = a,
                      .b = b,
                      .as = as,
                      .bs = bs,
                      .y = y,
                      .y_row = y_row };
    q.units_across = kern_per(cols, PIECE);
    q.rows_down = kern_most(PIECE / cols, 1);
    kern_each(kern_threads(kn, rows * cols), q.units_across * kern_per(rows, q.rows_down),
              binary_part, &q);
}

/* --- dropout, tables
 * ------------------------------------------------------------------------------ */

enum { DROP_PIECE = 1024, TABLE_ROWS = 64, TABLE_COLS = 64 };

typedef struct drop_args {
    const kern_isa *isa;
    ll_kern_drop    drop;
    uint64_t        first;
    int64_t         n;
    const float    *x;
    float          *y;
} drop_args;

static void drop_part(const void *p, int64_t unit, int thread)
{
    const drop_args *a = p;
    const int64_t    i = unit * DROP_PIECE, n = kern_least(DROP_PIECE, a->n - i);
    float            factor[DROP_PIECE];
    (void)thread;
    a->drop.keep(a->drop.user, a->first + (uint64_t)i, n, factor);
    a->isa->binary[LL_BINARY_MUL](n, a->x + i, 1, factor, 1, a->y + i);
}

void ll_kern_dropout(const ll_kern *kn, ll_kern_drop drop, uint64_t first, int64_t n,
                     const float *x, float *y)
{
    const drop_args a = { kn->isa, drop, first, n, x, y };
    kern_each(kern_threads(kn, n), kern_per(n, DROP_PIECE), drop_part, &a);
}

typedef struct table_args {
    const kern_isa *isa;
    int64_t         n, width;
    const float    *from;
    const int32_t  *index;
    float          *to;
} table_args;

static void gather_part(const void *p, int64_t unit, int thread)
{
    const table_args *a = p;
    const int64_t     end = kern_least((unit + 1) * TABLE_ROWS, a->n);
    (void)thread;
    for (int64_t i = unit * TABLE_ROWS; i < end; i++)
        memcpy(a->to + i * a->width, a->from + a->index[i] * a->width,
               (size_t)a->width * sizeof *a->to);
}

void ll_kern_gather(const ll_kern *kn, int64_t n, int64_t width, const float *table,
                    const int32_t *index, float *y)
{
    const table_args a = { kn->isa, n, width, table, index, y };
    kern_each(kern_threads(kn, n * width), kern_per(n, TABLE_ROWS), gather_part, &a);
}

/* Threads take columns: each row of the table then sees its additions in the order of i. */
static void scatter_part(const void *p, int64_t unit, int thread)
{
    const table_args *a = p;
    const int64_t     j = unit * TABLE_COLS, n = kern_least(TABLE_COLS, a->width - j);
    (void)thread;
    for (int64_t i = 0; i < a->n; i++) {
        float *to = a->to + a->index[i] * a->width + j;
        a->isa->binary[LL_BINARY_ADD](n, to, 1, a->from + i * a->width + j, 1, to);
    }
}

void ll_kern_scatter_add(const ll_kern *kn, int64_t n, int64_t width, const float *dy,
                         const int32_t *index, float *dtable)
{
    const table_args a = { kn->isa, n, width, dy, index, dtable };
    kern_each(kern_threads(kn, n * width), kern_per(width, TABLE_COLS), scatter_part, &a);
}
