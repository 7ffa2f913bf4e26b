/* Matrix products, the part compiled once per instruction set.
 *
 * A unit is a range of rows against packed columns of B, tile by tile (body_micro.h); each element
 * of C is one chain of fused multiply-adds per block of LL_KERN_KBLOCK, blocks added in order.
 * The chain does not depend on the tile shape, so a row's bits depend neither on its neighbours nor
 * on the instruction set.
 *
 * Packed B: panels of GEMM_NR columns, each [k][width], width 16 or GEMM_NR. Packed A: the rows of
 * a block one after the other, GEMM_AS floats apart (not a power of two, or they would fight for
 * one cache set); of a transpose as they lie, because the micro-kernel may as well read them by
 * column.
 *
 * Rows of zeros (those of a batch that a branch leaves out, and their gradients) are not
 * multiplied: their chain is 0 whatever B is, as long as B is finite.
 */

enum {
    GEMM_BLOCKS = 96 / GEMM_MR,
    GEMM_MC = GEMM_MR * GEMM_BLOCKS,
    GEMM_FEW = 32 /* inner steps of which the whole of B is small */
};
static_assert((int)GEMM_MC <= (int)KERN_MAX_MC && (int)GEMM_NR <= (int)KERN_MAX_NR &&
                  LL_KERN_KBLOCK * (int)GEMM_MC <= (int)KERN_MAX_MC * (int)GEMM_AS,
              "workspace sizes of kern_gemm.c");

/* --- packing ------------------------------------------------------------------------------- */

/* to[k][16 cols] = from^T, where from holds rows (one per column of B) of nk floats; missing ones
 * 0. */
VEC_INLINE void pack_turned(int64_t nk, int64_t rows, const float *from, int64_t ld, float *to,
                            int64_t width)
{
    for (int64_t k = 0; k < nk; k += 16) {
        const int64_t n = nk - k < 16 ? nk - k : 16;
        vec           r[16];
        if (rows >= 16 && n == 16) {
#pragma GCC unroll 16
            for (int i = 0; i < 16; i++) r[i] = v_load(from + i * ld + k);
        } else {
            for (int i = 0; i < 16; i++)
                r[i] = i < rows ? v_loadn(from + i * ld + k, n) : v_set(0.0f);
        }
        v_transpose(r);
        if (n == 16) {
#pragma GCC unroll 16
            for (int i = 0; i < 16; i++) v_store(to + (k + i) * width, r[i]);
        } else {
            for (int i = 0; i < n; i++) v_store(to + (k + i) * width, r[i]);
        }
    }
}

/* One panel: cols <= GEMM_NR columns of B, nk inner steps, to [nk][16 or GEMM_NR]. */
static void pack_panel(int64_t nk, int64_t cols, const float *b, int64_t ldb, bool trans, float *to)
{
    const int64_t width = cols <= 16 ? 16 : GEMM_NR;
    for (int64_t j = 0; j < width; j += 16) {
        const int64_t n = cols - j < 16 ? cols - j : 16;
        if (trans) {
            pack_turned(nk, n, b + j * ldb, ldb, to + j, width);
        } else if (n == 16) {
            for (int64_t k = 0; k < nk; k++) v_store(to + k * width + j, v_load(b + k * ldb + j));
        } else {
            for (int64_t k = 0; k < nk; k++)
                v_store(to + k * width + j, v_loadn(b + k * ldb + j, n > 0 ? n : 0));
        }
    }
}

/* Inner steps from..to-1 of the unit's for all its columns, of a B that is not a transpose: few
 * steps at a time, so that memory is read in order. */
static void gemm_pack_steps(const kern_gemm_unit *u, const float *b, int64_t from, int64_t to)
{
    enum { FEW_STEPS = 8 };
    const ll_gemm *g = u->g;
    const int64_t  nk = u->k1 - u->k0;
    for (int64_t k = from; k < to; k += FEW_STEPS)
        for (int64_t j = u->j0; j < u->j1; j += GEMM_NR) {
            const int64_t cols = kern_least(u->j1 - j, GEMM_NR), width = cols <= 16 ? 16 : GEMM_NR;
            pack_panel(kern_least(to - k, FEW_STEPS), cols, b + (u->k0 + k) * g->ldb + j, g->ldb,
                       false, u->packed + (j - u->j0) * nk + k * width);
        }
}

static void gemm_pack(const kern_gemm_unit *u, const float *b, int64_t first_panel,
                      int64_t n_panels)
{
    const ll_gemm *g = u->g;
    const int64_t  nk = u->k1 - u->k0;
    if (!g->b_trans && n_panels == kern_per(u->j1 - u->j0, GEMM_NR)) {
        gemm_pack_steps(u, b, 0, nk);
        return;
    }
    for (int64_t p = first_panel; p < first_panel + n_panels; p++) {
        const int64_t j = u->j0 + p * GEMM_NR, left = u->j1 - j;
        const float  *from = g->b_trans ? b + j * g->ldb + u->k0 : b + u->k0 * g->ldb + j;
        pack_panel(nk, left < GEMM_NR ? left : GEMM_NR, from, g->ldb, g->b_trans,
                   u->packed + p * GEMM_NR * nk);
    }
}

/* All n numbers are zeros; a NaN is none. */
VEC_INLINE bool all_zero(int64_t n, const float *x)
{
    vec sum = v_set(0.0f);
    for (int64_t i = 0; i < n; i += 16) sum = v_add(sum, v_abs(v_ld(x + i, n - i)));
    return v_sum(sum) == 0.0f;
}

/* Pieces of the sums over inner steps k..k+kc-1 of rows i.., which lie side by side in x, ld from
 * step to step. */
static void sum_steps(const ll_gemm *g, int64_t i, int64_t rows, int64_t k, int64_t kc,
                      const float *x, int64_t ld)
{
    for (int64_t from = 0; from < kc; from += LL_KERN_SUM_ROWS) {
        const int64_t to = kern_least(kc, from + LL_KERN_SUM_ROWS);
        float        *y = g->sums + (k + from) / LL_KERN_SUM_ROWS * g->m + i;
        for (int64_t r = 0; r < rows; r += 48) {
            vec acc[3] = { v_set(0.0f), v_set(0.0f), v_set(0.0f) };
            for (int64_t c = from; c < to; c++)
#pragma GCC unroll 3
                for (int q = 0; q < 3; q++)
                    if (r + 16 * q < rows)
                        acc[q] = v_add(acc[q], v_ld(x + c * ld + r + 16 * q, rows - r - 16 * q));
            for (int q = 0; q < 3; q++)
                if (r + 16 * q < rows) v_st(y + r + 16 * q, rows - r - 16 * q, acc[q]);
        }
    }
}
static_assert(LL_KERN_KBLOCK % LL_KERN_SUM_ROWS == 0, "sum_steps");

/* Rows i..i+rows-1 of op(A), inner steps k..k+kc-1, to tile [rows][GEMM_AS]; of a transpose, which
 * has them side by side, to tile [kc][GEMM_MC]. some[b]: not all of the b-th GEMM_MR rows are zeros
 * (of a transpose: of any of them). */
static void pack_a(const ll_gemm *g, const float *a, int64_t i, int64_t rows, int64_t k, int64_t kc,
                   const float *stats, float *tile, bool *some)
{
    memset(some, 0, GEMM_BLOCKS * sizeof *some);
    if (g->a_trans) {
        for (int64_t c = 0; c < kc; c++) {
            const float *from = a + (k + c) * g->lda + i;
            float       *to = tile + c * GEMM_MC;
            for (int64_t r = 0; r < rows; r += 16) v_st(to + r, rows - r, v_ld(from + r, rows - r));
            if (!some[0] && !all_zero(rows, to)) memset(some, 1, GEMM_BLOCKS * sizeof *some);
        }
        return;
    }
    for (int64_t r = 0; r < rows; r++) {
        const float *from = a + (i + r) * g->lda + k;
        float       *to = tile + r * GEMM_AS;
        if (stats != NULL) norm_apply(g->a_norm, i + r, k, kc, from, to, stats + 2 * r);
        else
            for (int64_t c = 0; c < kc; c += 16) v_st(to + c, kc - c, v_ld(from + c, kc - c));
        if (!some[r / GEMM_MR]) some[r / GEMM_MR] = !all_zero(kc, to);
    }
}

/* --- the unit --------------------------------------------------------------------------------- */

/* GELU of whole vectors of C (or, with slope, C times GELU's derivative there), VEC_SIDE at a time;
 * what is left over alone. */
static void finish_gelu(int64_t rows, int64_t cols, float *c, const float *slope, int64_t ldc)
{
    int64_t left = rows * cols / 16, row = 0, x = 0;
    while (left > 0) {
        int64_t   at[VEC_SIDE];
        vec       y[VEC_SIDE];
        const int m = left < VEC_SIDE ? 1 : VEC_SIDE;
        for (int i = 0; i < m; i++) {
            at[i] = row * ldc + x;
            x += 16;
            if (x == cols) x = 0, row++;
        }
        left -= m;
        if (m == 1) {
            const vec z = v_load(c + at[0]);
            v_store(c + at[0],
                    slope == NULL ? v_gelu(z) : v_mul(z, v_gelu_slope(v_load(slope + at[0]))));
        } else if (slope == NULL) {
            V_EACH(VEC_SIDE) y[i] = v_load(c + at[i]);
            v_gelus(VEC_SIDE, y);
            V_EACH(VEC_SIDE) v_store(c + at[i], y[i]);
        } else {
            V_EACH(VEC_SIDE) y[i] = v_load(slope + at[i]);
            v_gelu_slopes(VEC_SIDE, y);
            V_EACH(VEC_SIDE) v_store(c + at[i], v_mul(v_load(c + at[i]), y[i]));
        }
    }
}

/* Where the residual has what is added at this offset of C, and how many rows follow there. */
VEC_INLINE const float *residual_at(const ll_gemm *g, int64_t offset, int64_t *rows)
{
    *rows = INT64_MAX;
    if (g->residual == NULL) return NULL;
    if (g->residual_rows == 0) return g->residual + offset;
    const int64_t row = offset / g->ldc % g->residual_rows;
    *rows = g->residual_rows - row;
    return g->residual + row * g->ldc + offset % g->ldc;
}

/* What follows the product, on rows x cols of C while they are in the first cache. */
static void finish(const ll_gemm *g, int64_t rows, int64_t cols, float *c, int64_t offset)
{
    if ((g->gelu || g->slope != NULL) && g->residual == NULL && cols % 16 == 0) {
        for (int64_t i = 0; i < rows && g->pre != NULL; i++)
            for (int64_t x = 0; x < cols; x += 16)
                v_store(g->pre + offset + i * g->ldc + x, v_load(c + i * g->ldc + x));
        finish_gelu(rows, cols, c, g->slope != NULL ? g->slope + offset : NULL, g->ldc);
        return;
    }
    int64_t      follow;
    const float *residual = residual_at(g, offset, &follow);
    for (int64_t i = 0; i < rows; i++) {
        if (i == follow) residual -= g->residual_rows * g->ldc, follow += g->residual_rows;
        for (int64_t x = 0; x < cols; x += 16) {
            const int64_t n = v_left(cols - x), at = i * g->ldc + x;
            vec           y = v_ld(c + at, n);
            if (g->pre != NULL) v_st(g->pre + offset + at, n, y);
            if (g->gelu) y = v_gelu(y);
            if (g->slope != NULL) y = v_mul(y, v_gelu_slope(v_ld(g->slope + offset + at, n)));
            if (g->residual != NULL) y = v_add(y, v_ld(residual + at, n));
            v_st(c + at, n, y);
        }
    }
}

/* The same for rows i.. of C behind a norm, columns j..; stats are of those rows. */
static void finish_normed(const ll_gemm *g, int64_t i, int64_t rows, int64_t j, int64_t cols,
                          const float *stats, float *c)
{
    for (int64_t r = 0; r < rows; r++) {
        const float *table = g->c_norm.table + (i + r) % g->c_norm.rows * g->n + j;
        const vec    rstd = v_set(stats[2 * r + 1]);
        for (int64_t x = 0; x < cols; x += 16) {
            const int64_t n = v_left(cols - x);
            const vec     y = v_add(v_ld(c + r * g->ldc + x, n), v_ld(table + x, n));
            v_st(c + r * g->ldc + x, n, v_fma(y, rstd, v_ld(g->c_norm.bias + j + x, n)));
        }
    }
}

/* Where sums over inner steps k..k+kc-1 go: mr rows and columns j.. of C, at its offset. A residual
 * that is all that follows is added on the way. */
VEC_INLINE micro_out gemm_out(const ll_gemm *g, float *c, int64_t at, int64_t mr, int64_t j,
                              int64_t cols, int64_t k, int64_t kc)
{
    const bool   last = k + kc == g->k, sum = g->pre == NULL && !g->gelu && g->slope == NULL;
    int64_t      follow = INT64_MAX;
    const float *residual = last ? residual_at(g, at, &follow) : NULL;
    return (micro_out){ .c = c + at,
                        .ldc = g->ldc,
                        .cols = cols,
                        .from = g->accumulate || k > 0 ? c + at : NULL,
                        .ld_from = g->ldc,
                        .bias = last && g->bias != NULL ? g->bias + j : NULL,
                        .after = sum && mr <= follow ? residual : NULL };
}

/* What is left to do behind the last inner step on rows i + r.. of C; stats are of rows i.. */
VEC_INLINE void finish_tile(const ll_gemm *g, int64_t i, int64_t r, int64_t mr, int64_t j,
                            int64_t at, const float *stats, const micro_out *o)
{
    if (g->pre != NULL || g->gelu || g->slope != NULL || (g->residual != NULL && o->after == NULL))
        finish(g, mr, o->cols, o->c, at);
    if (g->c_norm.like != NULL) finish_normed(g, i + r, mr, j, o->cols, stats + 2 * r, o->c);
}

/* What is fetched while a tile is computed: rows and columns of the next ones (B may be in the
 * third cache), and what the tile ends in. */
enum { NEXT_ROWS, NEXT_PANEL, TILE, BESIDE };

/* All columns of the unit for rows i..i+rows-1 (at most GEMM_MC), A already in the tile; meanwhile
 * next is fetched. */
static void block_columns(const kern_gemm_unit *u, float *c, int64_t c_item, int64_t i,
                          int64_t rows, int64_t k, int64_t kc, const float *stats, const bool *some,
                          const ahead *next)
{
    const ll_gemm *g = u->g;
    const int64_t  high = kern_per(rows, GEMM_MR);
    const int64_t  tiles = kern_per(u->j1 - u->j0, GEMM_NR) * high;
    const int64_t  nk = u->k1 - u->k0;
    const bool     last = k + kc == g->k;
    const bool     along = nk <= GEMM_FEW; /* row by row: that little of B stays near */
    const int64_t  times = along ? 1 : kern_most(kc / ASYNC_STEPS, 1); /* in a tile */
    const int64_t  next_lines = next->rows * kern_per(next->n, 16);
    ahead          soon[N_AHEAD] = { [NEXT_ROWS] = *next };
    int64_t        j = u->j0, r = 0;
    soon[NEXT_ROWS].lines = kern_per(next_lines, tiles * times);
    for (int64_t t = 0; t < tiles; t++) {
        const int64_t cols = u->j1 - j < GEMM_NR ? u->j1 - j : GEMM_NR;
        const int64_t width = cols <= 16 ? 16 : GEMM_NR;
        const float  *b = u->packed + (j - u->j0) * nk + (k - u->k0) * width;
        const int64_t mr = rows - r < GEMM_MR ? rows - r : GEMM_MR;
        const int64_t at = c_item + (i + r) * g->ldc + j;
        const int64_t steps = some[r / GEMM_MR] ? kc : 0;
        micro_out     out = gemm_out(g, c, at, mr, j, cols, k, kc);
        int64_t       follow;
        const float  *residual = residual_at(g, at, &follow);
        out.soon = along ? NULL : soon;
        if (r == 0 && !along)
            soon[NEXT_PANEL] =
                (ahead){ .x = b + GEMM_NR * nk,
                         .rows = 1,
                         .n = kern_most(kern_least(u->j1 - j - GEMM_NR, GEMM_NR), 0) * kc,
                         .lines = kern_per(kc * GEMM_NR / 16, high * times) };
        soon[TILE] = (ahead){ .x = c + at,
                              .rows = mr,
                              .n = cols,
                              .step = g->ldc,
                              .lines = kern_per(mr * GEMM_NR / 16, times) };
        soon[BESIDE] = soon[TILE];
        soon[BESIDE].x = !last ? NULL : g->slope != NULL ? g->slope + at : residual;
        soon[BESIDE].rows = soon[BESIDE].x == NULL ? 0 : kern_least(mr, follow);
        if (along) { /* a tile is over before any of it is there: that of the second after it */
            const int64_t then = j + 2 * GEMM_NR;
            soon[TILE].x += 2 * GEMM_NR;
            if (then >= u->j1) soon[TILE].x += GEMM_MR * g->ldc - (u->j1 - u->j0);
            fetch_some(soon);
        }
        if (g->a_trans) micro_turned((int)mr, steps, u->tile + r, GEMM_MC, b, &out);
        else micro((int)mr, steps, u->tile + r * GEMM_AS, GEMM_AS, b, &out);
        if (last) finish_tile(g, i, r, mr, j, at, stats, &out);
        if (along) j += GEMM_NR;
        else r += GEMM_MR;
        if (j >= u->j1) j = u->j0, r += GEMM_MR;
        if (r >= rows) r = 0, j += GEMM_NR;
    }
}

/* What pack_a will read after rows i.. and the inner steps before k. */
static ahead block_after(const kern_gemm_unit *u, const float *a, int64_t i, int64_t k)
{
    const ll_gemm *g = u->g;
    if (k >= u->k1) i += GEMM_MC, k = u->k0;
    const int64_t rows = u->i1 - i < GEMM_MC ? u->i1 - i : GEMM_MC;
    const int64_t kc = u->k1 - k < LL_KERN_KBLOCK ? u->k1 - k : LL_KERN_KBLOCK;
    if (rows <= 0) return (ahead){ 0 };
    if (g->a_trans)
        return (ahead){ .x = a + k * g->lda + i, .rows = kc, .n = rows, .step = g->lda };
    return (ahead){ .x = a + i * g->lda + k, .rows = rows, .n = kc, .step = g->lda };
}

/* Means and deviations of rows i.., of those that the norm of A or of C looks at. */
static void rows_stats(const ll_gemm *g, const float *a, int64_t i, int64_t rows, float *stats)
{
    for (int64_t r = 0; r < rows && g->a_norm != NULL; r++)
        norm_stats(a + (i + r) * g->lda, g->k, g->a_norm->eps, stats + 2 * r);
    for (int64_t r = 0; r < rows && g->c_norm.like != NULL; r++)
        norm_stats(g->c_norm.like + (i + r) * g->c_norm.n, g->c_norm.n, g->c_norm.eps,
                   stats + 2 * r);
}

/* Rows u->i0..i1 of one item: a and c are its starts, c_item the offset of c in the whole of C. */
static void gemm_rows(const kern_gemm_unit *u, const float *a, float *c, int64_t c_item)
{
    const ll_gemm *g = u->g;
    float          stats[2 * GEMM_MC];
    bool           some[GEMM_BLOCKS];
    for (int64_t i = u->i0; i < u->i1; i += GEMM_MC) {
        const int64_t rows = u->i1 - i < GEMM_MC ? u->i1 - i : GEMM_MC;
        rows_stats(g, a, i, rows, stats);
        int64_t k = u->k0;
        do {
            const int64_t kc = u->k1 - k < LL_KERN_KBLOCK ? u->k1 - k : LL_KERN_KBLOCK;
            pack_a(g, a, i, rows, k, kc, g->a_norm != NULL ? stats : NULL, u->tile, some);
            if (g->sums != NULL && u->j0 == 0) sum_steps(g, i, rows, k, kc, u->tile, GEMM_MC);
            const ahead next = block_after(u, a, i, k + kc);
            block_columns(u, c, c_item, i, rows, k, kc, stats, some, &next);
            k += kc;
        } while (k < u->k1);
    }
}
