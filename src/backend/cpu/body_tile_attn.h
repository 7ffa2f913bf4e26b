/* Attention by the matrix unit, as body_attn.h has it, TILE_MR queries at a time: scores and
 * answers are products of tiles, weights are split as they are made. Where scores are small, the
 * weights of 32 keys are made beside the scores of the next 32. */

VEC_INLINE void nothing(void *with, int64_t step, int part) { (void)with, (void)step, (void)part; }

/* c (rows ldc apart) = a b for mr rows and all n columns of b, both packed with k inner steps. */
static void tile_times(int64_t mr, int64_t k, const float *a, const float *b, int64_t n, float *c,
                       int64_t ldc)
{
    for (int64_t j = 0; j < n; j += TILE_NR)
        tile_any_sums(mr, n - j, k, a, b + tile_packed(k, j), c + j, ldc, false, nothing, NULL);
}

static void tile_pack_all(int64_t k, int64_t n, const float *b, int64_t ldb, bool trans, float *to)
{
    for (int64_t j = 0; j < n; j += TILE_NR)
        tile_pack_panel(k, kern_least(n - j, TILE_NR), trans ? b + j * ldb : b + j, ldb, trans,
                        to + tile_packed(k, j));
}

/* One block of mr <= TILE_MR rows of k numbers. */
static void tile_pack_block(int64_t mr, int64_t k, const float *x, int64_t ld, float *to)
{
    const int64_t part = kern_per(mr, 16) * TILE_SIZE;
    for (int64_t s = 0; s < k; s += TILE_STEPS, to += TILE_PARTS * part)
        for (int64_t r = 0; r < mr; r += 16)
            split_tile(false, false, mr - r, k - s, x + r * ld + s, ld, to + r * 16, part);
}

/* Rows that are worked on beside four tiles, which a head has at least twelve times. */
enum { ROWS_BESIDE = 4 };
static_assert(TILE_MR / ROWS_BESIDE <= 6 * (KERN_NARROW / TILE_STEPS + 1), "all of a block");

/* Powers of two of small scores: TILE_MR queries, TILE_NR keys. */
typedef struct powers {
    float  *s; /* rows ld apart, or NULL */
    int64_t ld;
    vec     sums[TILE_MR]; /* added to */
    ahead  *soon;
} powers;

VEC_INLINE vec power(float *s)
{
    const vec e = v_exp2_near(v_load(s));
    v_store(s, e);
    return e;
}

VEC_INLINE void some_powers(void *with, int64_t step, int part)
{
    powers       *w = with;
    const int64_t row = (6 * step + part) * ROWS_BESIDE;
    if (part == 0) fetch_some(w->soon);
    if (row >= TILE_MR || w->s == NULL) return;
#pragma GCC unroll 4
    for (int64_t r = row; r < row + ROWS_BESIDE; r++) {
        const vec low = power(w->s + r * w->ld), high = power(w->s + r * w->ld + 16);
        w->sums[r] = v_add(v_add(w->sums[r], low), high);
    }
}

/* The weights of TILE_MR queries whose scores are small, and the sums of q[0] and q[1]. Those of a
 * panel of keys are made beside the scores of the next. */
static void tile_near_weights(const kern_attn_unit *u, query_block *q, const float *queries,
                              ahead *soon)
{
    const int64_t nk = u->a->nk, d = u->a->d, last = (nk - 1) / TILE_NR * TILE_NR;
    powers        w = { .ld = u->ld_s, .soon = soon };
    memset(w.sums, 0, sizeof w.sums);
    for (int64_t j = 0; j < nk; j += TILE_NR) {
        tile_any_sums(TILE_MR, nk - j, d, queries, u->k_cols + tile_packed(d, j), u->s + j, u->ld_s,
                      false, some_powers, &w);
        w.s = u->s + j;
    }
    for (int r = 0; r < TILE_MR; r++) q[r / 16].sums[r % 16] = w.sums[r];
    q[0].done = q[1].done = last;
}

/* The weights of queries i.., mr of them, in u->s; scale and lse as attn_weights has them. */
static void tile_weights(const kern_attn_unit *u, float longest_key, int64_t i, int64_t mr,
                         const float *queries, float scale[TILE_MR], float *lse, ahead *soon)
{
    const ll_attn *a = u->a;
    query_block    q[2];
    bool           near = mr == TILE_MR && a->nk > 0;
    for (int h = 0; h < 2; h++) {
        q[h].i = i + 16 * h;
        q[h].mr = kern_least(kern_most(mr - 16 * h, 0), 16);
        near = all_near(u, longest_key, u->q + 16 * h * u->ld_q, &q[h]) && near;
    }
    if (near) tile_near_weights(u, q, queries, soon);
    else tile_times(mr, a->d, queries, u->k_cols, a->nk, u->s, u->ld_s);
    for (int h = 0; h < 2; h++)
        attn_weights(u, &q[h], u->s + 16 * h * u->ld_s, scale + 16 * h, lse);
}

/* Rows of a block that are packed beside the products of those before them. */
typedef struct splits {
    const float *x; /* mr rows ld apart */
    int64_t      mr, ld, steps;
    float       *to;
    int64_t      done; /* of the rows of all steps, TILE_MR each */
} splits;

VEC_INLINE void some_splits(void *with, int64_t step, int sixth)
{
    const splits *w = with;
    const int64_t part = kern_per(w->mr, 16) * TILE_SIZE;
    const int64_t at = w->done + (6 * step + sixth) * ROWS_BESIDE;
    const int64_t s = at / TILE_MR, row = at % TILE_MR;
    const float  *x = w->x + row * w->ld + s * TILE_STEPS;
    float        *to = w->to + s * TILE_PARTS * part + row * 16;
    if (s >= w->steps || row >= w->mr) return;
#pragma GCC unroll 4
    for (int r = 0; r < ROWS_BESIDE; r++, x += w->ld, to += 16) {
        vec parts[TILE_PARTS];
        split_by(cut_of, v_load(x), v_load(x + 16), parts);
        for (int p = 0; p < TILE_PARTS; p++) v_store(to + p * part, parts[p]);
    }
}

enum { TILE_KEYS = 2 * TILE_STEPS }; /* of which weights are packed, in the first cache */

/* out [mr, d] = or += sums, panels of [TILE_MR][TILE_NR]; row r times by[r], or as they are. */
static void add_means(int64_t mr, int64_t d, const float *sums, bool add, const float *by,
                      float *out, int64_t ldo)
{
    for (int64_t r = 0; r < mr; r++)
        for (int64_t j = 0; j < d; j += 16) {
            float *to = out + r * ldo + j;
            vec    y = v_load(sums + j / TILE_NR * TILE_SUMS + r * TILE_NR + j % TILE_NR);
            if (add) y = v_add(v_ld(to, d - j), y);
            v_st(to, d - j, by == NULL ? y : v_mul(y, v_set(by[r])));
        }
}

/* out [mr, d] = x [mr, nk], rows ld_s apart, times b, which is packed; row r times by[r]. scratch:
 * TILE_KEYS packed columns of x twice, sums. */
static void tile_means(const kern_attn_unit *u, int64_t mr, float *x, const float *b,
                       const float *by, float *scratch, float *out, int64_t ldo)
{
    const int64_t d = u->a->d, nk = u->a->nk, size = tile_packed(TILE_KEYS, TILE_MR);
    float        *sums = scratch + 2 * size;
    splits        w = { x, mr, u->ld_s, kern_least(tile_steps(nk), 2), scratch, 0 };
    for (int64_t r = 0; r < mr; r++) /* they meet zeros */
        memset(x + r * u->ld_s + nk, 0, (size_t)(kern_up(nk, TILE_KEYS) - nk) * sizeof *x);
    for (int i = 0; i < 2 * TILE_MR / ROWS_BESIDE; i++) some_splits(&w, 0, i);
    for (int64_t s = 0; s == 0 || s < nk; s += TILE_KEYS) {
        const float  *now = w.to;
        const int64_t then = s + TILE_KEYS;
        const bool    last = then >= nk;
        w.x += TILE_KEYS, w.to = scratch + (now == scratch ? size : 0), w.done = 0;
        if (last) w.steps = 0;
        for (int64_t j = 0; j < d; j += TILE_NR, w.done += 12 * ROWS_BESIDE) {
            const int64_t cols = kern_least(d - j, TILE_NR);
            tile_any_sums(mr, cols, kern_least(nk - s, TILE_KEYS), now,
                          b + tile_packed(nk, j) + tile_packed(s, cols), sums + j * TILE_MR,
                          TILE_NR, s % LL_KERN_KBLOCK > 0, some_splits, &w);
        }
        if (last || then % LL_KERN_KBLOCK == 0) /* long sums run in blocks, as all do */
            add_means(mr, d, sums, s >= LL_KERN_KBLOCK, last ? by : NULL, out, ldo);
    }
}

/* As attn_forward. */
static void tile_attn_forward(const kern_attn_unit *u, const float *q, const float *k,
                              const float *v, float *out, float *lse)
{
    const ll_attn *a = u->a;
    const int64_t  d = a->d, nk = a->nk;
    if (nk > 0 && leaves_out(a, k, v)) {
        attn_of_zeros(u, out, lse);
        return;
    }
    float *scratch = u->block + tile_packed(d, TILE_MR);
    ahead  soon[N_AHEAD] = { [NEXT_KEYS] = rows_ahead(u->k_next, nk, d, a->k.row),
                             [NEXT_VALUES] = rows_ahead(u->v_next, nk, d, a->v.row) };
    fetch_rows(k, nk, a->k.row, d);
    fetch_rows(v, nk, a->v.row, d);
    fetch_rows(q + u->i0 * a->q.row, u->i1 - u->i0, a->q.row, d);
    tile_pack_all(d, nk, k, a->k.row, true, u->k_cols);
    tile_pack_all(nk, d, v, a->v.row, false, u->v_rows);
    const float longest_key = longest_key_of(u, k);
    for (int64_t i = u->i0; i < u->i1; i += TILE_MR) {
        const int64_t mr = kern_least(u->i1 - i, TILE_MR), then = i + TILE_MR;
        float         scale[TILE_MR], *o = out + i * a->o.row;
        if (i == u->i0 || mr < TILE_MR) tile_begin(mr);
        copy_scaled(mr, d, q + i * a->q.row, a->q.row, a->scale * LOG2_E, u->q, u->ld_q);
        tile_pack_block(mr, d, u->q, u->ld_q, u->block);
        soon[NEXT_QUERIES] =
            rows_ahead(q + then * a->q.row, kern_least(u->i1 - then, TILE_MR), d, a->q.row);
        soon[ANSWERS] = rows_ahead(o, mr, d, a->o.row);
        tile_weights(u, longest_key, i, mr, u->block, scale, lse, soon);
        tile_means(u, mr, u->s, u->v_rows, scale, scratch, o, a->o.row);
    }
    _tile_release();
}

/* --- the gradient ----------------------------------------------------------------------------- */

enum { TILE_QB = 64 }; /* queries of a step: sums over queries run in these pieces */

/* c [d, nk] = or += x^T p over rows (at most TILE_QB) queries; rows of p and c are u->ld_s and
 * u->ld_d apart. scratch: x^T, a panel of p, two tiles. */
static void tile_add_turned(const kern_attn_unit *u, int64_t rows, const float *x, int64_t ldx,
                            const float *p, float *c, bool add, float *scratch, next_rows *next)
{
    const int64_t d = u->a->d, nk = u->a->nk;
    float        *panel = scratch + tile_packed(rows, kern_up(d, TILE_MR));
    tile_side     side = { .sums = panel + tile_packed(rows, TILE_NR) };
    for (int64_t e = 0; e < d; e += TILE_MR) {
        const int64_t mr = kern_least(d - e, TILE_MR), part = kern_per(mr, 16) * TILE_SIZE;
        for (int64_t k = 0; k < rows; k += TILE_STEPS)
            for (int64_t r = 0; r < mr; r += 16)
                split_tile(true, false, mr - r, rows - k, x + k * ldx + e + r, ldx,
                           scratch + tile_packed(rows, e) + tile_packed(k, mr) + r * 16, part);
    }
    for (int64_t j = 0; j < nk; j += TILE_NR) {
        const int64_t cols = kern_least(nk - j, TILE_NR);
        tile_pack_panel(rows, cols, p + j, u->ld_s, false, panel);
        for (int64_t e = 0; e < d; e += TILE_MR) {
            const int64_t  mr = kern_least(d - e, TILE_MR);
            float         *to = c + e * u->ld_d + j;
            const tile_end end = { .rows = end_sums,
                                   .mr = mr,
                                   .out = { .c = to,
                                            .ldc = u->ld_d,
                                            .cols = cols,
                                            .from = add ? to : NULL,
                                            .ld_from = u->ld_d } };
            fetch_next(next);
            if (d % TILE_MR != 0) tile_begin(mr);
            tile_product(rows, scratch + tile_packed(rows, e), panel, &end, &side);
        }
    }
    end_some(&side.end, TILE_MR);
}

/* to [rows, n] = by times the transpose of x, rows of which are ld apart. */
static void copy_turned(int64_t rows, int64_t n, const float *x, int64_t ld, float by, float *to,
                        int64_t to_row)
{
    for (int64_t i = 0; i < rows; i += 16)
        for (int64_t j = 0; j < n; j += 16) {
            vec r[16];
            for (int k = 0; k < 16; k++)
                r[k] = v_mul(v_set(by), few(x + (j + k) * ld + i, j + k < n ? rows - i : 0));
            v_transpose(r);
            for (int64_t k = 0; k < 16 && i + k < rows; k++)
                v_st(to + (i + k) * to_row + j, n - j, r[k]);
        }
}

/* Scores and their gradients of queries i..i+rows-1, in u->s and u->dp. */
static void tile_scores_back(const kern_attn_unit *u, const kern_attn_grad *g, int64_t i,
                             int64_t rows)
{
    const ll_attn *a = u->a;
    const int64_t  d = a->d, ls = u->ld_s;
    for (int64_t r = 0; r < rows; r += TILE_MR) {
        const int64_t mr = kern_least(rows - r, TILE_MR);
        tile_begin(mr);
        tile_pack_block(mr, d, u->q + r * u->ld_q, u->ld_q, u->block);
        tile_times(mr, d, u->block, u->k_cols, a->nk, u->s + r * ls, ls);
        tile_pack_block(mr, d, g->doo + (i + r) * a->o.row, a->o.row, u->block);
        tile_times(mr, d, u->block, u->v_cols, a->nk, u->dp + r * ls, ls);
    }
    attn_rows_back(u, g, i, rows);
}

/* dq of queries i..i+rows-1. */
static void tile_queries_back(const kern_attn_unit *u, const kern_attn_grad *g, int64_t i,
                              int64_t rows)
{
    const ll_attn *a = u->a;
    float          by[TILE_MR];
    for (int r = 0; r < TILE_MR; r++) by[r] = a->scale;
    for (int64_t r = 0; r < rows; r += TILE_MR) {
        const int64_t mr = kern_least(rows - r, TILE_MR);
        tile_begin(mr);
        tile_means(u, mr, u->dp + r * u->ld_s, u->k_rows, by, u->block, g->dq + (i + r) * a->dq.row,
                   a->dq.row);
    }
}

/* As attn_backward. */
static void tile_attn_backward(const kern_attn_unit *u, const kern_attn_grad *g)
{
    const ll_attn *a = u->a;
    const int64_t  d = a->d, nk = a->nk;
    if (no_gradient(a, g)) return;
    next_rows next = rows_of_next(
        a, g, 2 * kern_per(nk, TILE_NR) * kern_per(d, TILE_MR) * kern_per(a->nq, TILE_QB));
    tile_pack_all(d, nk, g->k, a->k.row, true, u->k_cols);
    tile_pack_all(d, nk, g->v, a->v.row, true, u->v_cols);
    if (g->dq != NULL) tile_pack_all(nk, d, g->k, a->k.row, false, u->k_rows);
    fill_mask(u);
    for (int64_t i = 0; i == 0 || i < a->nq; i += TILE_QB) {
        const int64_t rows = kern_least(a->nq - i, TILE_QB);
        const float  *q = g->q + i * a->q.row, *doo = g->doo + i * a->o.row;
        copy_scaled(rows, d, q, a->q.row, a->scale * LOG2_E, u->q, u->ld_q);
        tile_scores_back(u, g, i, rows);
        tile_begin(TILE_MR);
        if (g->dv != NULL)
            tile_add_turned(u, rows, doo, a->o.row, u->s, u->dv, i > 0, u->block, &next);
        if (g->dk != NULL)
            tile_add_turned(u, rows, q, a->q.row, u->dp, u->dk, i > 0, u->block, &next);
        if (g->dq != NULL) tile_queries_back(u, g, i, rows);
    }
    _tile_release();
    if (g->dk != NULL) copy_turned(nk, d, u->dk, u->ld_d, a->scale, g->dk, a->dk.row);
    if (g->dv != NULL) copy_turned(nk, d, u->dv, u->ld_d, 1.0f, g->dv, a->dv.row);
}
