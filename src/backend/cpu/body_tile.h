/* Matrix products by the processor's matrix unit (AMX), which multiplies tiles of 16 rows and 32
 * inner steps of bf16 and adds to tiles of fp32, at sixteen times the rate of fused multiply-adds.
 *
 * A number of fp32 is the sum of three of bf16, exactly: its first eight binary digits (rounded),
 * the next eight of what is left, the rest. Of the nine products of two such numbers six are made
 * (the others together are 2^-24 of the whole at most); each is exact, and their sum runs in fp32.
 * Of two and more inner steps the result is nearer to the true one, in the mean, than that of a
 * chain of fused multiply-adds (a product of parts is not rounded, and only the sum of the first
 * parts is as large as the whole): it is a product of fp32, by another way. Two things differ:
 * parts and products below 2^-126 count as 0, and numbers from 2^128 - 2^119 on, infinities among
 * them, make NaN.
 *
 * Inner steps p and p + 16 of 32 lie side by side, so that nothing has to be moved about to
 * pack them. Packed B: panels of TILE_NR columns, each [32 steps][part][tile of 16 columns]; packed
 * A: blocks of TILE_MR rows, each [32 steps][part][tile of 16 rows]. Missing steps are zeros. Each
 * element of C is one sum over the steps of a block of LL_KERN_KBLOCK, in an order that is the
 * same wherever it lies.
 */

enum {
    TILE_SIZE = 256, /* floats of a tile: 16 rows of 64 bytes */
    TILE_STEPS = 32,
    TILE_PARTS = 3,
    TILE_MR = 32,
    TILE_NR = 32,
    TILE_SUMS = TILE_MR * TILE_NR,
    TILE_MC = 96, /* rows packed at a time */
    TILE_ROW = LL_KERN_KBLOCK + 16,
    TILE_PACKED = 3 * LL_KERN_KBLOCK / 2 /* floats of a packed row */
};
static_assert(TILE_MC * TILE_PACKED + 2 * TILE_SUMS + 16 * TILE_ROW <= KERN_TILE_FLOATS &&
                  2 * KERN_MLP_ROWS * TILE_PACKED + 16 * TILE_ROW <= KERN_MLP_FLOATS,
              "workspace sizes of kern_gemm.c");

static int64_t tile_steps(int64_t nk) { return kern_per(nk, TILE_STEPS); }

/* Packed floats of n rows or columns (up to tiles of 16) and nk inner steps. */
static int64_t tile_packed(int64_t nk, int64_t n)
{
    return tile_steps(nk) * TILE_PARTS * kern_per(n, 16) * TILE_SIZE;
}

/* --- parts ---------------------------------------------------------------------------------- */

/* The first eight binary digits. */
VEC_INLINE vec part_of(vec x)
{
    const __m512i bits = _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
    return _mm512_castsi512_ps(_mm512_and_epi32(bits, _mm512_set1_epi32(-0x10000)));
}

/* The same cut off: half the work, and good enough for one of two factors (what is left out is
 * then 3 * 2^-24 of a product at most). */
VEC_INLINE vec cut_of(vec x)
{
    return _mm512_castsi512_ps(
        _mm512_and_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(-0x10000)));
}

/* Upper halves of two numbers as the halves of a word. */
VEC_INLINE vec part_pair(vec low, vec high)
{
    const __m512i below = _mm512_srli_epi32(_mm512_castps_si512(low), 16);
    return _mm512_castsi512_ps(
        _mm512_mask_blend_epi16(0xaaaaaaaa, below, _mm512_castps_si512(high)));
}

VEC_INLINE void split_by(vec (*first)(vec), vec low, vec high, vec to[TILE_PARTS])
{
    for (int p = 0; p < TILE_PARTS - 1; p++) {
        const vec a = first(low), b = first(high);
        to[p] = part_pair(a, b);
        low = v_sub(low, a), high = v_sub(high, b);
    }
    to[TILE_PARTS - 1] = part_pair(low, high);
}

VEC_INLINE void split(vec low, vec high, vec to[TILE_PARTS]) { split_by(part_of, low, high, to); }

/* n numbers at p, of which 16 at most and possibly none are real. */
VEC_INLINE vec few(const float *p, int64_t n) { return n > 0 ? v_ld(p, n) : v_set(0.0f); }

/* A tile's three parts, part floats apart, of rows (at most 16) with steps numbers each (at most
 * 32). A row's numbers lie side by side in x or, across, ld apart; in the tile they do so or, down,
 * lie one below the other. */
VEC_INLINE void split_any(bool across, bool down, int64_t rows, int64_t steps, const float *x,
                          int64_t ld, float *to, int64_t part)
{
    const int64_t lines = across ? steps : rows, n = across ? rows : steps;
    const int64_t far = across ? 16 * ld : 16; /* from a step to its partner */
    vec           low[16], high[16];
    for (int i = 0; i < 16; i++) {
        low[i] = few(x + i * ld, i < lines ? n : 0);
        high[i] =
            few(x + i * ld + far, across ? (i + 16 < lines ? n : 0) : (i < lines ? n - 16 : 0));
    }
    if (across != down) v_transpose(low), v_transpose(high);
    for (int i = 0; i < 16; i++) {
        vec parts[TILE_PARTS];
        split(low[i], high[i], parts);
        for (int p = 0; p < TILE_PARTS; p++) v_store(to + p * part + 16 * i, parts[p]);
    }
}

VEC_INLINE void split_tile(bool across, bool down, int64_t rows, int64_t steps, const float *x,
                           int64_t ld, float *to, int64_t part)
{
    if (rows >= 16 && steps >= TILE_STEPS) split_any(across, down, 16, TILE_STEPS, x, ld, to, part);
    else split_any(across, down, rows, steps, x, ld, to, part);
}

/* --- packing -------------------------------------------------------------------------------- */

/* One panel: cols <= TILE_NR columns of B, nk inner steps. */
static void tile_pack_panel(int64_t nk, int64_t cols, const float *b, int64_t ldb, bool trans,
                            float *to)
{
    const int64_t part = kern_per(cols, 16) * TILE_SIZE;
    for (int64_t k = 0; k < nk; k += TILE_STEPS, to += TILE_PARTS * part)
        for (int64_t j = 0; j < cols; j += 16) {
            float *tile = to + j * 16;
            if (trans) split_tile(false, true, cols - j, nk - k, b + j * ldb + k, ldb, tile, part);
            else split_tile(true, true, cols - j, nk - k, b + k * ldb + j, ldb, tile, part);
        }
}

/* As gemm_pack_steps; from is on a step of the tiles. */
static void tile_pack_steps(const kern_gemm_unit *u, const float *b, int64_t from, int64_t to)
{
    const ll_gemm *g = u->g;
    const int64_t  nk = u->k1 - u->k0;
    for (int64_t k = from; k < to; k += TILE_STEPS)
        for (int64_t j = u->j0; j < u->j1; j += TILE_NR) {
            const int64_t cols = kern_least(u->j1 - j, TILE_NR);
            tile_pack_panel(kern_least(to - k, TILE_STEPS), cols, b + (u->k0 + k) * g->ldb + j,
                            g->ldb, false,
                            u->packed + tile_packed(nk, j - u->j0) + tile_packed(k, cols));
        }
}

static void tile_pack(const kern_gemm_unit *u, const float *b, int64_t first_panel,
                      int64_t n_panels)
{
    const ll_gemm *g = u->g;
    const int64_t  nk = u->k1 - u->k0;
    for (int64_t p = first_panel; p < first_panel + n_panels; p++) {
        const int64_t j = u->j0 + p * TILE_NR;
        const float  *from = g->b_trans ? b + j * g->ldb + u->k0 : b + u->k0 * g->ldb + j;
        tile_pack_panel(nk, kern_least(u->j1 - j, TILE_NR), from, g->ldb, g->b_trans,
                        u->packed + tile_packed(nk, p * TILE_NR));
    }
}

/* Rows i..i+rows-1 of op(A), as many as to has room for, inner steps k..k+kc-1, in blocks of
 * TILE_MR; behind their norm, with stats of those rows. some[b]: not all of the b-th block are
 * zeros. behind: room for 16 rows. */
static void tile_pack_rows(const ll_gemm *g, const float *a, int64_t i, int64_t rows, int64_t k,
                           int64_t kc, const float *stats, float *to, bool *some, float *behind)
{
    for (int64_t r = 0; r < rows; r += 16) {
        const int64_t block = kern_least(rows - r / TILE_MR * TILE_MR, TILE_MR);
        const int64_t part = kern_per(block, 16) * TILE_SIZE, n = kern_least(rows - r, 16);
        float        *tile = to + tile_packed(kc, r / TILE_MR * TILE_MR) + r % TILE_MR * 16;
        const float  *x = g->a_trans ? a + k * g->lda + i + r : a + (i + r) * g->lda + k;
        int64_t       ld = g->lda;
        if (stats != NULL) {
            for (int64_t q = 0; q < n; q++)
                norm_apply(g->a_norm, i + r + q, k, kc, x + q * ld, behind + q * TILE_ROW,
                           stats + 2 * (r + q));
            x = behind, ld = TILE_ROW;
        }
        bool *any = &some[r / TILE_MR];
        if (r % TILE_MR == 0) *any = false;
        for (int64_t q = 0; q < (g->a_trans ? kc : n) && !*any; q++)
            *any = !all_zero(g->a_trans ? n : kc, x + q * ld);
        for (int64_t s = 0; s < kc; s += TILE_STEPS, tile += TILE_PARTS * part)
            if (g->a_trans) split_tile(true, false, n, kc - s, x + s * ld, ld, tile, part);
            else split_tile(false, false, n, kc - s, x + s, ld, tile, part);
    }
}

/* --- the micro-kernel ------------------------------------------------------------------------- */

/* Tiles 0 to 3 are C's, two rows of two; 4 and 5 A's, 6 and 7 B's. */
typedef struct tile_shape {
    uint8_t  palette, start, zeros[14];
    uint16_t bytes[16]; /* of a row */
    uint8_t  rows[16];
} tile_shape;

/* Blocks of mr rows follow; no time is spent on rows that are not there. */
static void tile_begin(int64_t mr)
{
    const uint8_t first = (uint8_t)kern_least(mr, 16), second = (uint8_t)(mr > 16 ? mr - 16 : 16);
    tile_shape    s = { .palette = 1,
                        .rows = { first, first, second, second, first, second, 16, 16 } };
    for (int i = 0; i < 8; i++) s.bytes[i] = 64;
    __asm__ volatile("" ::"m"(s)); /* all of it: headers of gcc 12 name 8 bytes */
    _tile_loadconfig(&s);
}

#define TILE_LOAD(tile, from) _tile_loadd(tile, from, 64)

/* What is done beside a product, the part-th of six of every step of 32: the matrix unit and the
 * rest of the processor work at once, and see only so far ahead. */
typedef void (*beside_fn)(void *with, int64_t step, int part);

/* c (rows ldc apart) = or += a b over n times 32 inner steps, for high x wide tiles. */
VEC_INLINE void tile_sums(int high, int wide, int64_t n, const float *a, const float *b, float *c,
                          int64_t ldc, bool add, beside_fn beside, void *with)
{
    const int64_t a_part = high * TILE_SIZE, b_part = wide * TILE_SIZE;
    const int64_t row = ldc * (int64_t)sizeof *c;
    /* The smallest products first; one operand changes at a time. */
    enum { BOTH, A_ONLY, B_ONLY };
    static const struct {
        int64_t a, b;
        int     load;
    } order[] = { { 2, 0, BOTH },   { 1, 0, A_ONLY }, { 1, 1, B_ONLY },
                  { 0, 1, A_ONLY }, { 0, 2, B_ONLY }, { 0, 0, B_ONLY } };
    __asm__ volatile("" ::: "memory"); /* what was packed is in memory when tiles are loaded */
    if (add) {
        _tile_loadd(0, c, row);
        if (wide > 1) _tile_loadd(1, c + 16, row);
        if (high > 1) _tile_loadd(2, c + 16 * ldc, row);
        if (high > 1 && wide > 1) _tile_loadd(3, c + 16 * ldc + 16, row);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (int64_t step = 0; step < n; step++, a += TILE_PARTS * a_part, b += TILE_PARTS * b_part)
#pragma GCC unroll 6
        for (int p = 0; p < 6; p++) {
            const float *pa = a + order[p].a * a_part, *pb = b + order[p].b * b_part;
            if (order[p].load != B_ONLY) TILE_LOAD(4, pa);
            if (order[p].load != B_ONLY && high > 1) TILE_LOAD(5, pa + TILE_SIZE);
            if (order[p].load != A_ONLY) TILE_LOAD(6, pb);
            if (order[p].load != A_ONLY && wide > 1) TILE_LOAD(7, pb + TILE_SIZE);
            _tile_dpbf16ps(0, 4, 6);
            if (wide > 1) _tile_dpbf16ps(1, 4, 7);
            if (high > 1) _tile_dpbf16ps(2, 5, 6);
            if (high > 1 && wide > 1) _tile_dpbf16ps(3, 5, 7);
            beside(with, step, p);
        }
    _tile_stored(0, c, row);
    if (wide > 1) _tile_stored(1, c + 16, row);
    if (high > 1) _tile_stored(2, c + 16 * ldc, row);
    if (high > 1 && wide > 1) _tile_stored(3, c + 16 * ldc + 16, row);
}

/* The same for mr rows and cols columns; tiles are of that many rows (tile_begin). */
VEC_INLINE void tile_any_sums(int64_t mr, int64_t cols, int64_t kc, const float *a, const float *b,
                              float *c, int64_t ldc, bool add, beside_fn beside, void *with)
{
    const int64_t n = tile_steps(kc);
    if (mr > 16 && cols > 16) tile_sums(2, 2, n, a, b, c, ldc, add, beside, with);
    else if (mr > 16) tile_sums(2, 1, n, a, b, c, ldc, add, beside, with);
    else if (cols > 16) tile_sums(1, 2, n, a, b, c, ldc, add, beside, with);
    else tile_sums(1, 1, n, a, b, c, ldc, add, beside, with);
}

/* What follows a product, row by row. */
typedef struct tile_end {
    void (*rows)(const struct tile_end *e, int64_t from, int64_t to);
    float         *sums; /* [TILE_MR][TILE_NR] */
    int64_t        mr, done;
    micro_out      out;
    const ll_gemm *g;
    int64_t        i, j, at; /* row and column of C, their offset */
    const float   *stats;    /* of row i on */
    bool           last;     /* no inner steps are left */
    float         *packed;   /* where these are the inner steps of another product */
} tile_end;

/* The unit multiplies on while the rest of the processor ends the tile before and asks for memory.
 */
typedef struct tile_side {
    tile_end end;
    int64_t  rows;         /* ended at a time */
    ahead    tile, beside; /* what the tile at work will end in */
    float   *sums;         /* two of TILE_SUMS; one is the tile's before */
} tile_side;

static void end_some(tile_end *e, int64_t rows)
{
    const int64_t to = kern_least(e->done + rows, e->mr);
    if (e->done < to) e->rows(e, e->done, to);
    e->done = to;
}

VEC_INLINE void end_beside(void *with, int64_t step, int part)
{
    tile_side *side = with;
    (void)step;
    if (part < 5) return;
    fetch(&side->tile, side->tile.lines);
    fetch(&side->beside, side->beside.lines);
    end_some(&side->end, side->rows);
}

/* The product of a tile, which next (but for its sums, and c if they stay there) says what follows
 * of; tiles are of next->mr rows (tile_begin). */
static void tile_product(int64_t kc, const float *a, const float *b, const tile_end *next,
                         tile_side *side)
{
    float *c = side->end.sums == side->sums ? side->sums + TILE_SUMS : side->sums;
    side->rows = kern_per(TILE_MR, kern_most(tile_steps(kc), 1));
    tile_any_sums(next->mr, next->out.cols, kc, a, b, c, TILE_NR, false, end_beside, side);
    end_some(&side->end, TILE_MR);
    side->end = *next;
    side->end.sums = c;
    if (next->out.c == NULL) side->end.out.c = c; /* there they stay */
}

/* --- the unit --------------------------------------------------------------------------------- */

/* Rows of sums to where they belong. */
static void end_sums(const tile_end *e, int64_t from, int64_t to)
{
    const micro_out *o = &e->out;
    vec              bias[2];
    V_COLS(2) bias[j] = o->bias == NULL ? v_set(0.0f) : few(o->bias + 16 * j, o->cols - 16 * j);
    for (int64_t i = from; i < to; i++) {
        const vec acc[2] = { v_load(e->sums + i * TILE_NR), v_load(e->sums + i * TILE_NR + 16) };
        if (o->cols >= TILE_NR) micro_row(2, i, acc, bias, o);
        else micro_row_part(o->cols > 16 ? 2 : 1, i, acc, bias, o);
    }
}

/* Rows of C. */
static void end_rows(const tile_end *e, int64_t from, int64_t to)
{
    const ll_gemm *g = e->g;
    const int64_t  start = from * g->ldc;
    micro_out      rest = e->out;
    rest.c += start;
    end_sums(e, from, to);
    if (e->last) finish_tile(g, e->i, from, to - from, e->j, e->at + start, e->stats, &rest);
}

/* As block_columns: rows i.. against all columns of the unit, A packed. */
static void tile_columns(const kern_gemm_unit *u, float *c, int64_t c_item, int64_t i, int64_t rows,
                         int64_t k, int64_t kc, const float *a, const float *stats,
                         const bool *some, tile_side *side)
{
    const ll_gemm *g = u->g;
    const int64_t  nk = u->k1 - u->k0, times = kern_most(tile_steps(kc), 1);
    const int64_t  tiles = kern_per(rows, TILE_MR) * kern_per(u->j1 - u->j0, TILE_NR);
    const bool     last = k + kc == g->k, along = nk <= GEMM_FEW;
    int64_t        shape = 0, j = u->j0, r = 0;
    for (int64_t t = 0; t < tiles; t++) {
        const int64_t cols = kern_least(u->j1 - j, TILE_NR), mr = kern_least(rows - r, TILE_MR);
        const int64_t at = c_item + (i + r) * g->ldc + j;
        const float  *b = u->packed + tile_packed(nk, j - u->j0) + tile_packed(k - u->k0, cols);
        int64_t       follow;
        const float  *beside = residual_at(g, at, &follow);
        if (g->slope != NULL) beside = g->slope + at;
        const tile_end end = { .rows = end_rows,
                               .mr = mr,
                               .out = gemm_out(g, c, at, mr, j, cols, k, kc),
                               .g = g,
                               .i = i + r,
                               .j = j,
                               .at = at,
                               .stats = g->c_norm.like != NULL ? stats + 2 * r : NULL,
                               .last = last };
        side->tile = (ahead){
            .x = c + at, .rows = mr, .n = cols, .step = g->ldc, .lines = kern_per(mr * 2, times)
        };
        side->beside = side->tile;
        side->beside.x = beside;
        side->beside.rows = last && beside != NULL ? kern_least(mr, follow) : 0;
        if (mr != shape) tile_begin(mr), shape = mr;
        tile_product(some[r / TILE_MR] ? kc : 0, a + tile_packed(kc, r), b, &end, side);
        if (along) j += TILE_NR;
        else r += TILE_MR;
        if (j >= u->j1) j = u->j0, r += TILE_MR;
        if (r >= rows) r = 0, j += TILE_NR;
    }
    end_some(&side->end, TILE_MR);
    _tile_release();
}

/* As gemm_rows. */
static void tile_rows(const kern_gemm_unit *u, const float *a, float *c, int64_t c_item)
{
    const ll_gemm *g = u->g;
    tile_side      side = { .sums = u->tile + tile_packed(LL_KERN_KBLOCK, TILE_MC) };
    float         *behind = side.sums + 2 * TILE_SUMS;
    float          stats[2 * TILE_MC];
    bool           some[TILE_MC / TILE_MR];
    for (int64_t i = u->i0; i < u->i1; i += TILE_MC) {
        const int64_t rows = kern_least(u->i1 - i, TILE_MC);
        rows_stats(g, a, i, rows, stats);
        int64_t k = u->k0;
        do {
            const int64_t kc = kern_least(u->k1 - k, LL_KERN_KBLOCK);
            tile_pack_rows(g, a, i, rows, k, kc, g->a_norm != NULL ? stats : NULL, u->tile, some,
                           behind);
            if (g->sums != NULL && u->j0 == 0)
                sum_steps(g, i, rows, k, kc, a + k * g->lda + i, g->lda);
            tile_columns(u, c, c_item, i, rows, k, kc, u->tile, stats, some, &side);
            k += kc;
        } while (k < u->k1);
    }
}

/* --- two layers as one ------------------------------------------------------------------------ */

static void tile_pairs_pack(const ll_gemm *g, const float *b, float *packed)
{
    const kern_gemm_unit u = { .g = g, .j1 = g->n, .k1 = g->k, .packed = packed };
    tile_pack(&u, b, 0, kern_per(g->n, TILE_NR));
}

/* Rows of the inner layer, as 32 inner steps of the second. */
static void end_inner(const tile_end *e, int64_t from, int64_t to)
{
    const int64_t n = to - from, part = kern_per(e->mr, 16) * TILE_SIZE;
    float        *x = e->out.c + from * TILE_NR;
    end_sums(e, from, to);
    if (e->g->gelu) finish_gelu(n, TILE_NR, x, NULL, TILE_NR);
    for (int64_t i = from; i < to; i++) {
        vec parts[TILE_PARTS];
        split(v_load(e->out.c + i * TILE_NR), v_load(e->out.c + i * TILE_NR + 16), parts);
        for (int p = 0; p < TILE_PARTS; p++) v_store(e->packed + p * part + 16 * i, parts[p]);
    }
}

/* Columns k..k+kc-1 of the inner layer for all rows, packed to `to`. */
static void tile_inner(const kern_gemm_unit *up, int64_t rows, int64_t k, int64_t kc, float *to,
                       tile_side *side)
{
    const ll_gemm *g = up->g;
    int64_t        shape = 0;
    side->tile = side->beside = (ahead){ 0 }; /* they end where they are */
    for (int64_t s = 0; s < kc; s += TILE_STEPS)
        for (int64_t r = 0; r < rows; r += TILE_MR) {
            const int64_t  mr = kern_least(rows - r, TILE_MR), at = k + s;
            const float   *b = up->packed + tile_packed(g->k, at);
            const tile_end end = { .rows = end_inner,
                                   .mr = mr,
                                   .out = { .ldc = TILE_NR,
                                            .cols = TILE_NR,
                                            .bias = g->bias == NULL ? NULL : g->bias + at },
                                   .g = g,
                                   .packed = to + tile_packed(kc, r) + tile_packed(s, mr) };
            if (mr != shape) tile_begin(mr), shape = mr;
            tile_product(g->k, up->tile + tile_packed(g->k, r), b, &end, side);
        }
    end_some(&side->end, TILE_MR);
    _tile_release();
}

/* As mlp_rows. */
static void tile_mlp_rows(const kern_gemm_unit *up, const kern_gemm_unit *down, const float *a,
                          float *c)
{
    const ll_gemm *g = down->g;
    const int64_t  k0 = up->g->k;
    float         *inner = up->tile + tile_packed(LL_KERN_KBLOCK, KERN_MLP_ROWS);
    tile_side      side = { .sums = inner + tile_packed(LL_KERN_KBLOCK, KERN_MLP_ROWS) };
    float         *behind = side.sums; /* before there are any */
    bool           some[KERN_MLP_ROWS / TILE_MR];
    float          stats[2 * KERN_MLP_ROWS];
    for (int64_t i = up->i0; i < up->i1; i += KERN_MLP_ROWS) {
        const int64_t rows = kern_least(up->i1 - i, KERN_MLP_ROWS);
        rows_stats(up->g, a, i, rows, stats);
        tile_pack_rows(up->g, a, i, rows, 0, k0, up->g->a_norm != NULL ? stats : NULL, up->tile,
                       some, behind);
        memset(some, 1, sizeof some);
        for (int64_t k = 0; k < g->k; k += LL_KERN_KBLOCK) {
            const int64_t kc = kern_least(g->k - k, LL_KERN_KBLOCK);
            tile_inner(up, rows, k, kc, inner, &side);
            tile_columns(down, c, 0, i, rows, k, kc, inner, NULL, some, &side);
        }
    }
}
