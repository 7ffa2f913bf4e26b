/* Two layers as one, the part compiled once per instruction set. The inner layer's product has
 * seven multiplications in place of eight (Strassen, in Winograd's form): rows 2i and 2i+1 of A,
 * the two halves of the inner index, and columns j and j + 32 of a group of 64 make matrices of 2 x
 * 2:
 *
 *     S1 = A21 + A22     T1 = B12 - B11     X   = A11 B11       C11 = X + A12 B21
 *     S2 = S1 - A11      T2 = B22 - T1      Y   = X + S2 T2     C12 = V + S4 B22
 *     S3 = A11 - A21     T3 = B22 - B12     V   = Y + S1 T1     C22 = V + S3 T3
 *     S4 = A12 - S2      T4 = B21 - T2      Z   = Y + S3 T3     C21 = Z + A22 T4
 *
 * Sums of B are made when it is packed, those of A when a block of rows is, those of C where the
 * micro-kernel adds anyway. Which rows and columns meet depends on nothing but their place, so that
 * a pair of rows has the same bits whatever other rows there are, with every instruction set.
 * (Seven pay where C stays in the second cache; behind results that go to memory they gave
 * nothing.)
 */

enum {
    PAIR_ROWS = KERN_MLP_ROWS / 2, /* pairs of rows packed at a time */
    PAIR_AS = KERN_PAIR_AS, /* floats of a packed pair: seven halves, and some not to be 2^n */
    PAIR_TILE = GEMM_MR * GEMM_NR
};
static_assert((int)PAIR_ROWS * (int)PAIR_AS + 4 * (int)PAIR_ROWS * (int)GEMM_NR <=
                  (int)KERN_PAIR_FLOATS,
              "workspace sizes of kern_gemm.c");

/* Parts of a packed pair, and of packed columns: those that meet have the same place. */
enum { A11_B11, A12_B21, S2_T2, S1_T1, S4_B22, S3_T3, A22_T4, N_PARTS };

/* Columns j.. and j + 32.. of B, stored [n,k]: to [N_PARTS][half][GEMM_NR]. */
static void pack_column_pair(const ll_gemm *g, const float *b, int64_t j, float *to)
{
    const int64_t half = g->k / 2, size = half * GEMM_NR;
    const float  *left = b + j * g->ldb, *right = left + KERN_PAIR_COLS / 2 * g->ldb;
    pack_panel(half, GEMM_NR, left, g->ldb, true, to + A11_B11 * size);
    pack_panel(half, GEMM_NR, left + half, g->ldb, true, to + A12_B21 * size);
    pack_panel(half, GEMM_NR, right, g->ldb, true, to + S1_T1 * size);
    pack_panel(half, GEMM_NR, right + half, g->ldb, true, to + S4_B22 * size);
    for (int64_t x = 0; x < size; x += 16, to += 16) {
        const vec b11 = v_load(to + A11_B11 * size), b21 = v_load(to + A12_B21 * size);
        const vec b12 = v_load(to + S1_T1 * size), b22 = v_load(to + S4_B22 * size);
        const vec t1 = v_sub(b12, b11), t2 = v_sub(b22, t1);
        v_store(to + S1_T1 * size, t1);
        v_store(to + S2_T2 * size, t2);
        v_store(to + S3_T3 * size, v_sub(b22, b12));
        v_store(to + A22_T4 * size, v_sub(b21, t2));
    }
}

static void pairs_pack(const ll_gemm *g, const float *b, float *packed)
{
    for (int64_t j = 0; j < g->n; j += KERN_PAIR_COLS)
        for (int64_t s = 0; s < KERN_PAIR_COLS / 2; s += GEMM_NR) {
            pack_column_pair(g, b, j + s, packed);
            packed += N_PARTS * g->k / 2 * GEMM_NR;
        }
}

/* Rows even and odd of A, of 2 half numbers, to [N_PARTS][half]. */
static void pack_row_pair(int64_t half, const float *even, const float *odd, float *to)
{
    for (int64_t x = 0; x < half; x += 16) {
        const int64_t n = v_left(half - x);
        const vec     a11 = v_ld(even + x, n), a12 = v_ld(even + half + x, n);
        const vec     a21 = v_ld(odd + x, n), a22 = v_ld(odd + half + x, n);
        const vec     s1 = v_add(a21, a22), s2 = v_sub(s1, a11);
        v_st(to + A11_B11 * half + x, n, a11);
        v_st(to + A12_B21 * half + x, n, a12);
        v_st(to + S2_T2 * half + x, n, s2);
        v_st(to + S1_T1 * half + x, n, s1);
        v_st(to + S4_B22 * half + x, n, v_sub(a12, s2));
        v_st(to + S3_T3 * half + x, n, v_sub(a11, a21));
        v_st(to + A22_T4 * half + x, n, a22);
    }
}

/* Rows i.. of A, two for each pair; behind their norm, if there is one. */
static void pack_pairs(const ll_gemm *g, const float *a, int64_t i, int64_t pairs, float *tile)
{
    float behind[2][LL_KERN_KBLOCK];
    for (int64_t r = 0; r < pairs; r++) {
        const float *row[2];
        for (int k = 0; k < 2; k++) {
            const int64_t at = i + 2 * r + k;
            row[k] = a + at * g->lda;
            if (g->a_norm == NULL) continue;
            float stats[2];
            norm_stats(row[k], g->k, g->a_norm->eps, stats);
            norm_apply(g->a_norm, at, 0, g->k, row[k], behind[k], stats);
            row[k] = behind[k];
        }
        pack_row_pair(g->k / 2, row[0], row[1], tile + r * PAIR_AS);
    }
}

/* The part-th product of mr pairs of rows, packed at a, and a pair of columns, packed at b: C at c,
 * bias of its columns, sums between in tiles. */
static void pair_product(const ll_gemm *g, int part, int mr, const float *a, const float *b,
                         const float *bias, float *c, float *tiles)
{
    const int64_t half = g->k / 2, row = 2 * g->ldc, right = KERN_PAIR_COLS / 2;
    float        *x = tiles, *y = x + PAIR_TILE, *v = y + PAIR_TILE, *z = v + PAIR_TILE;
    const float  *bias2 = bias == NULL ? NULL : bias + right;
    float        *c12 = c + right, *c21 = c + g->ldc, *c22 = c21 + right;
    micro_out     o = { .ldc = GEMM_NR, .cols = GEMM_NR, .ld_from = GEMM_NR };
    switch (part) {
    case A11_B11:
        o.c = x;
        break;
    case A12_B21:
        o.c = c, o.ldc = row, o.from = x, o.bias = bias;
        break;
    case S2_T2:
        o.c = y, o.from = x;
        break;
    case S1_T1:
        o.c = v, o.from = y;
        break;
    case S4_B22:
        o.c = c12, o.ldc = row, o.from = v, o.bias = bias2;
        break;
    case S3_T3:
        o.c = c22, o.ldc = row, o.from = v, o.bias = bias2, o.also = z, o.also_from = y;
        break;
    default:
        o.c = c21, o.ldc = row, o.from = z, o.bias = bias;
    }
    micro(mr, half, a + part * half, PAIR_AS, b + part * half * GEMM_NR, &o);
}

/* The rows of A after row i and the pairs that begin there. */
static ahead pairs_after(const kern_gemm_unit *u, const float *a, int64_t i)
{
    const ll_gemm *g = u->g;
    i += 2 * PAIR_ROWS;
    return (ahead){
        .x = a + i * g->lda, .rows = kern_least(u->i1 - i, 2 * PAIR_ROWS), .n = g->k, .step = g->lda
    };
}

/* Columns j0..j1 (whole groups) of packed pairs of rows, to c, which begins at column j0. */
static void pair_columns(const kern_gemm_unit *u, int64_t pairs, int64_t j0, int64_t j1, float *c,
                         ahead *next, ahead *columns)
{
    const ll_gemm *g = u->g;
    const int64_t  right = KERN_PAIR_COLS / 2, products = N_PARTS * kern_per(pairs, GEMM_MR);
    const float   *b = u->packed + j0 / 2 * N_PARTS * g->k / 2;
    float         *tiles = u->tile + PAIR_ROWS * PAIR_AS;
    const int64_t  lines = kern_per(kern_most(next->rows, 0) * next->n / 16,
                                    products * g->n / (2 * GEMM_NR)); /* for each */
    const int64_t  part_lines = kern_per(g->k / 2 * GEMM_NR / 16, kern_per(pairs, GEMM_MR));
    for (int64_t j = j0; j < j1; j += GEMM_NR) {
        if (j % KERN_PAIR_COLS >= right) continue;
        const float *bias = g->bias == NULL ? NULL : g->bias + j;
        for (int part = 0; part < N_PARTS; part++)
            for (int64_t r = 0; r < pairs; r += GEMM_MR) {
                fetch(next, lines);
                fetch(columns, part_lines);
                pair_product(g, part, (int)kern_least(pairs - r, GEMM_MR), u->tile + r * PAIR_AS, b,
                             bias, c + 2 * r * g->ldc + j - j0, tiles + r * 4 * GEMM_NR);
            }
        for (int64_t side = j - j0; g->gelu && side <= j - j0 + right; side += right)
            finish(g, 2 * pairs, GEMM_NR, c + side, 0);
        b += N_PARTS * g->k / 2 * GEMM_NR;
    }
}

/* Two layers, the inner one of rows that are in the second cache: its columns, LL_KERN_KBLOCK at
 * a time, are inner steps of the second layer, whose result is C. */
static void mlp_rows(const kern_gemm_unit *up, const kern_gemm_unit *down, const float *a, float *c)
{
    const ll_gemm *g = down->g;
    ll_gemm        to_tile = *up->g;
    kern_gemm_unit first = *up;
    first.g = &to_tile;
    to_tile.ldc = GEMM_AS;
    for (int64_t i = up->i0; i < up->i1; i += 2 * PAIR_ROWS) {
        const int64_t rows = kern_least(up->i1 - i, 2 * PAIR_ROWS);
        const int64_t part = to_tile.k / 2 * GEMM_NR, all = to_tile.n * to_tile.k / 4 * N_PARTS;
        bool          some[KERN_MLP_ROWS / GEMM_MR];
        ahead         next = pairs_after(up, a, i), none = { 0 };
        ahead         columns = { .x = up->packed + part, .rows = 1, .n = all - part };
        memset(some, 1, sizeof some);
        pack_pairs(up->g, a, i, rows / 2, up->tile);
        for (int64_t k = 0; k < g->k; k += LL_KERN_KBLOCK) {
            const int64_t kc = kern_least(g->k - k, LL_KERN_KBLOCK);
            pair_columns(&first, rows / 2, k, k + kc, down->tile, &next, &columns);
            block_columns(down, c, 0, i, rows, k, kc, NULL, some, &none);
        }
    }
}
