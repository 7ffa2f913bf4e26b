/* Attention, the part compiled once per instruction set. One call does some queries of one head.
 * The scores of a few queries against all keys stay in the first cache; nothing larger is stored,
 * so there is no rescaling either: a row's maximum is known before its exponentials.
 *
 * Where the lengths of a query and of the longest key say that scores are small, as they are in
 * trained models, no maximum is needed: scores become powers of two in the registers in which they
 * are summed. A row goes that way or the other whatever rows are its neighbours. */

/* Scores are kept times log2(e), so that their exponential is a power of two. */
static const float LOG2_E = 1.44269504f;

/* Scores of at most this are small: weights between 2^-32 and 2^32 leave room for sums and values
 * of any sensible size. */
static const float ATTN_NEAR = 32.0f;

enum { ATTN_QB = 48 }; /* queries of a backward step: sums over queries run in these pieces */
static_assert(ATTN_QB % GEMM_MR == 0, "whole micro-kernel rows");

/* c [mr, n] = or += a b, b packed in panels of k steps; meanwhile soon (or NULL) is fetched. */
static void times_packed(int mr, int64_t k, const float *a, int64_t a_row, const float *packed,
                         int64_t n, float *c, int64_t ldc, ahead *soon)
{
    for (int64_t j = 0; j < n; j += GEMM_NR) {
        micro_out     o = { .c = c + j,
                            .ldc = ldc,
                            .cols = n - j < GEMM_NR ? n - j : GEMM_NR,
                            .ld_from = ldc,
                            .soon = soon };
        const int64_t width = o.cols <= 16 ? 16 : GEMM_NR;
        for (int64_t s = 0; s == 0 || s < k; s += LL_KERN_KBLOCK) {
            const int64_t kc = k - s < LL_KERN_KBLOCK ? k - s : LL_KERN_KBLOCK;
            o.from = s > 0 ? o.c : NULL;
            micro(mr, kc, a + s, a_row, packed + j * k + s * width, &o);
        }
    }
}

/* Rows that this head writes and the next one reads, asked for while this one is computed. */
enum { N_WRITTEN = 3, N_ROWS = 8 };
typedef struct next_rows {
    ahead   part[N_ROWS];
    int64_t lines; /* at a time */
    int     at;
} next_rows;

VEC_INLINE void fetch_next(next_rows *f)
{
    if (f->at == N_ROWS) return;
    fetch(&f->part[f->at], f->lines);
    f->at += f->part[f->at].row >= f->part[f->at].rows;
}

/* c [m, n] += a^T b, a [k, m] with rows a_step apart, k <= ATTN_QB. */
static void turned_times_packed(int64_t m, int64_t k, const float *a, int64_t a_step,
                                const float *packed, int64_t n, float *c, int64_t ldc, bool add,
                                next_rows *next)
{
    for (int64_t j = 0; j < n; j += GEMM_NR) {
        const int64_t cols = n - j < GEMM_NR ? n - j : GEMM_NR;
        for (int64_t i = 0; i < m; i += GEMM_MR) {
            const int64_t   mr = m - i < GEMM_MR ? m - i : GEMM_MR;
            float          *to = c + i * ldc + j;
            const micro_out o = {
                .c = to, .ldc = ldc, .cols = cols, .from = add ? to : NULL, .ld_from = ldc
            };
            fetch_next(next);
            micro_turned((int)mr, k, a + i, a_step, packed + j * k, &o);
        }
    }
}

static void pack_all(int64_t k, int64_t n, const float *b, int64_t ldb, bool trans, float *to)
{
    for (int64_t j = 0; j < n; j += GEMM_NR)
        pack_panel(k, n - j < GEMM_NR ? n - j : GEMM_NR, trans ? b + j * ldb : b + j, ldb, trans,
                   to + j * k);
}

/* to [rows][to_row] = by * from */
VEC_INLINE void copy_scaled(int64_t rows, int64_t n, const float *from, int64_t from_row, float by,
                            float *to, int64_t to_row)
{
    const vec s = v_set(by);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j += 16)
            v_st(to + i * to_row + j, n - j, v_mul(s, v_ld(from + i * from_row + j, n - j)));
}

/* y += by * x */
VEC_INLINE void row_fma_to(float *y, const float *x, float by, int64_t n)
{
    const vec s = v_set(by);
    for (int64_t j = 0; j < n; j += 16)
        v_st(y + j, n - j, v_fma(s, v_ld(x + j, n - j), v_ld(y + j, n - j)));
}

VEC_INLINE void row_add_to(float *y, const float *x, int64_t n)
{
    for (int64_t j = 0; j < n; j += 16)
        v_st(y + j, n - j, v_add(v_ld(y + j, n - j), v_ld(x + j, n - j)));
}

/* Bias and mask on the scores of query i. */
VEC_INLINE void score_row(const kern_attn_unit *u, int64_t i, float *s)
{
    const ll_attn *a = u->a;
    if (a->bias != NULL) {
        const ll_attn_at at = a->bias_at;
        row_fma_to(s, a->bias + u->b * at.batch + i * at.row + u->h * at.head, LOG2_E, a->nk);
    }
    if (a->key_pad != NULL) row_add_to(s, u->mask, a->nk);
}

VEC_INLINE bool drop_row(const kern_attn_unit *u, int64_t i)
{
    const ll_attn *a = u->a;
    if (a->drop.keep == NULL) return false;
    const uint64_t row = (uint64_t)((u->b * a->heads + u->h) * a->nq + i);
    a->drop.keep(a->drop.user, row * (uint64_t)a->nk, a->nk, u->keep);
    return true;
}

/* 0 or -inf per key; whether there is any of the latter. */
static bool fill_mask(const kern_attn_unit *u)
{
    const ll_attn *a = u->a;
    if (a->key_pad == NULL) return false;
    const unsigned char *pad = a->key_pad + u->b * a->key_pad_batch;
    bool                 some = false;
    for (int64_t j = 0; j < a->nk; j++) {
        u->mask[j] = pad[j] ? -INFINITY : 0.0f;
        some = some || pad[j];
    }
    return some;
}

/* Rows of a head lie far apart: asked for together, before they are needed one after the other. */
static void fetch_rows(const float *x, int64_t rows, int64_t step, int64_t d)
{
    enum { MOST = 256, LINE = 16 };
    for (int64_t i = 0; i < rows && i < MOST; i++)
        for (int64_t j = 0; j < d; j += LINE) __builtin_prefetch(x + i * step + j);
}

/* The largest squared length of the keys (of those without NaN: with it scores are NaN in any
 * case), or infinity where it does not say all of the scores. */
static float longest_key_of(const kern_attn_unit *u, const float *k)
{
    const ll_attn *a = u->a;
    if (fill_mask(u) || a->bias != NULL) return INFINITY;
    if (a->d > LL_KERN_KBLOCK || a->nk > NORM_PIECE) return INFINITY;
    float top = 0.0f;
    for (int64_t j = 0; j < a->nk; j++, k += a->k.row) top = fmaxf(top, (float)row_dot(k, k, a->d));
    return top;
}

/* Some queries. */
typedef struct query_block {
    int64_t i, mr;    /* the first, and how many */
    bool    near[16]; /* no score is larger than ATTN_NEAR */
    int64_t done;     /* so many scores are powers of two already */
    vec     sums[16]; /* of those */
} query_block;

/* Which of the queries at x have small scores, by the length of the longest key, squared; whether
 * all have. */
static bool all_near(const kern_attn_unit *u, float longest_key, const float *x, query_block *q)
{
    bool all = true;
    q->done = 0;
    for (int64_t r = 0; r < q->mr; r++, x += u->ld_q) {
        q->near[r] = (float)row_dot(x, x, u->a->d) * longest_key <= ATTN_NEAR * ATTN_NEAR;
        q->sums[r] = v_set(0.0f);
        all = all && q->near[r];
    }
    return all;
}

/* GEMM_MR queries whose scores are small: their powers of two, for whole panels of keys. */
static void near_scores(const kern_attn_unit *u, query_block *q, ahead *soon)
{
    const int64_t d = u->a->d, nk = u->a->nk, ls = u->ld_s;
    float        *s = u->s;
    for (; d > 0 && q->done + GEMM_NR <= nk; q->done += GEMM_NR, s += GEMM_NR) {
        vec acc[GEMM_MR][GEMM_NV];
        micro_sums(GEMM_MR, GEMM_NV, d, u->q, u->ld_q, 1, u->k_cols + q->done * d, soon, acc);
#pragma GCC unroll 16
        for (int i = 0; i < GEMM_MR; i++)
#pragma GCC unroll 4
            for (int j = 0; j < GEMM_NV; j++) {
                const vec e = v_exp2_near(acc[i][j]);
                v_store(s + i * ls + 16 * j, e);
                q->sums[i] = v_add(q->sums[i], e);
            }
    }
}

/* Scores without bias and mask. */
static void block_scores(const kern_attn_unit *u, float longest_key, query_block *q, ahead *soon)
{
    const ll_attn *a = u->a;
    if (all_near(u, longest_key, u->q, q) && q->mr == GEMM_MR) near_scores(u, q, soon);
    times_packed((int)q->mr, a->d, u->q, u->ld_q, u->k_cols + q->done * a->d, a->nk - q->done,
                 u->s + q->done, u->ld_s, soon);
}

/* s = 2^s from column j on; acc is the sum of those before, the result that of all. */
VEC_INLINE float row_near(float *s, int64_t j, int64_t n, vec acc)
{
    for (; j < n; j += 16) {
        const int64_t m = v_left(n - j);
        const vec     e = v_exp2_near(v_ld(s + j, m));
        v_st(s + j, m, e);
        acc = v_add(acc, m < 16 ? v_keep(e, m) : e);
    }
    return v_sum(acc);
}

/* The weights of these queries from their scores s, not yet divided by their sums: scale gets the
 * factors, lse (or NULL) the logarithms. */
VEC_INLINE void attn_weights(const kern_attn_unit *u, const query_block *q, float *s,
                             float scale[16], float *lse)
{
    const ll_attn *a = u->a;
    const int64_t  i = q->i;
    float          top[16] = { 0.0f }, sum[16] = { 0.0f };
    for (int64_t r = 0; r < q->mr; r++, s += u->ld_s) {
        if (q->near[r]) {
            sum[r] = row_near(s, q->done, a->nk, q->sums[r]);
        } else {
            score_row(u, i + r, s);
            top[r] = row_top(s, a->nk);
            if (top[r] == -INFINITY) top[r] = 0.0f; /* no key left: all of them become 0 */
            sum[r] = (float)row_exp(v_exp2_down, s, a->nk, top[r], s);
        }
        if (drop_row(u, i + r))
            for (int64_t j = 0; j < a->nk; j += 16)
                v_st(s + j, a->nk - j, v_mul(v_ld(s + j, a->nk - j), v_ld(u->keep + j, a->nk - j)));
    }
    const vec   all = v_load(sum), none = v_set(0.0f);
    const vmask empty = v_eq(all, none);
    v_store(scale, v_pick(empty, none, v_div(v_set(1.0f), all)));
    if (lse == NULL) return;
    const vec log2 = v_fma(v_log(all), v_set(LOG2_E), v_load(top));
    v_st(lse + i, q->mr, v_pick(empty, v_set(INFINITY), log2)); /* then 2^(s - lse) is 0 */
}

/* All rows are zeros. */
static bool zero_rows(const float *x, int64_t rows, int64_t step, int64_t d)
{
    int64_t i = 0;
    while (i < rows && all_zero(d, x + i * step)) i++;
    return i == rows;
}

/* Keys and values are zeros: a row of a batch that leaves this attention out. */
static bool leaves_out(const ll_attn *a, const float *k, const float *v)
{
    return a->key_pad == NULL && a->bias == NULL && zero_rows(k, a->nk, a->k.row, a->d) &&
           zero_rows(v, a->nk, a->v.row, a->d);
}

/* The answer to queries u->i0..i1 then, with the bits of the usual way. */
static void attn_of_zeros(const kern_attn_unit *u, float *out, float *lse)
{
    const ll_attn *a = u->a;
    const vec      log2 = v_mul(v_log(v_set((float)a->nk)), v_set(LOG2_E));
    for (int64_t i = u->i0; i < u->i1; i++)
        memset(out + i * a->o.row, 0, (size_t)a->d * sizeof *out);
    for (int64_t i = u->i0; i < u->i1 && lse != NULL; i += 16) v_st(lse + i, u->i1 - i, log2);
}

/* What is fetched while queries are answered; keys and values are those of the next head. */
enum { NEXT_QUERIES, ANSWERS, NEXT_KEYS, NEXT_VALUES };

static ahead rows_ahead(const float *x, int64_t rows, int64_t d, int64_t step)
{
    return (ahead){ .x = x, .rows = x == NULL ? 0 : rows, .n = d, .step = step, .lines = 1 };
}

#include "backend/cpu/body_attn_narrow.h"

/* Queries u->i0..i1. k and v are those of this head. */
static void attn_forward(const kern_attn_unit *u, const float *q, const float *k, const float *v,
                         float *out, float *lse)
{
    const ll_attn *a = u->a;
    const int64_t  d = a->d, nk = a->nk;
    if (is_narrow(a)) {
        narrow_forward(u, q, k, v, out, lse);
        return;
    }
    if (nk > 0 && leaves_out(a, k, v)) {
        attn_of_zeros(u, out, lse);
        return;
    }
    fetch_rows(k, nk, a->k.row, d);
    fetch_rows(v, nk, a->v.row, d);
    fetch_rows(q + u->i0 * a->q.row, u->i1 - u->i0, a->q.row, d);
    pack_all(d, nk, k, a->k.row, true, u->k_cols);
    pack_all(nk, d, v, a->v.row, false, u->v_rows);
    const float longest_key = longest_key_of(u, k);
    ahead       soon[N_AHEAD] = { [NEXT_KEYS] = rows_ahead(u->k_next, nk, d, a->k.row),
                                  [NEXT_VALUES] = rows_ahead(u->v_next, nk, d, a->v.row) };
    for (query_block b = { .i = u->i0 }; b.i < u->i1; b.i += GEMM_MR) {
        float         scale[16];
        float        *o = out + b.i * a->o.row;
        const int64_t then = b.i + GEMM_MR;
        b.mr = kern_least(u->i1 - b.i, GEMM_MR);
        copy_scaled(b.mr, d, q + b.i * a->q.row, a->q.row, a->scale * LOG2_E, u->q, u->ld_q);
        soon[NEXT_QUERIES] =
            rows_ahead(q + then * a->q.row, kern_least(u->i1 - then, GEMM_MR), d, a->q.row);
        soon[ANSWERS] = rows_ahead(o, b.mr, d, a->o.row);
        block_scores(u, longest_key, &b, soon);
        attn_weights(u, &b, u->s, scale, lse);
        times_packed((int)b.mr, nk, u->s, u->ld_s, u->v_rows, d, o, a->o.row, soon);
        for (int64_t r = 0; r < b.mr; r++) row_scale(o + r * a->o.row, d, scale[r]);
    }
}

/* From scores s and dp = do v^T of query i: s becomes the weights that met v, dp the gradient of
 * the scores. */
VEC_INLINE void softmax_back(const kern_attn_unit *u, int64_t i, float lse, float dot, float *s,
                             float *dp)
{
    const int64_t nk = u->a->nk;
    const bool    dropped = drop_row(u, i);
    const vec     l = v_set(lse), w = v_set(dot);
    for (int64_t j = 0; j < nk; j += 16) {
        const int64_t n = v_left(nk - j);
        const vec     p = v_exp2_down(v_sub(v_ld(s + j, n), l));
        vec           g = v_ld(dp + j, n), met = p;
        if (dropped) {
            const vec keep = v_ld(u->keep + j, n);
            g = v_mul(g, keep);
            met = v_mul(p, keep);
        }
        v_st(s + j, n, met);
        v_st(dp + j, n, v_mul(p, v_sub(g, w)));
    }
}

/* From products to scores and their gradients, queries i..i+rows-1, in u->s and u->dp. */
static void attn_rows_back(const kern_attn_unit *u, const kern_attn_grad *g, int64_t i,
                           int64_t rows)
{
    const ll_attn *a = u->a;
    const int64_t  d = a->d, nk = a->nk, ls = u->ld_s;
    for (int64_t r = 0; r < rows; r++) {
        const float dot = (float)row_dot(g->doo + (i + r) * a->o.row, g->o + (i + r) * a->o.row, d);
        score_row(u, i + r, u->s + r * ls);
        softmax_back(u, i + r, g->lse[i + r], dot, u->s + r * ls, u->dp + r * ls);
        if (g->dbias != NULL) row_add_to(g->dbias + (i + r) * a->bias_at.row, u->dp + r * ls, nk);
    }
}

static void attn_scores_back(const kern_attn_unit *u, const kern_attn_grad *g, int64_t i,
                             int64_t rows)
{
    const ll_attn *a = u->a;
    const int64_t  d = a->d, nk = a->nk, ls = u->ld_s;
    for (int64_t r = 0; r < rows; r += GEMM_MR) {
        const int     mr = (int)(rows - r < GEMM_MR ? rows - r : GEMM_MR);
        const int64_t at = r * ls;
        times_packed(mr, d, u->q + r * u->ld_q, u->ld_q, u->k_cols, nk, u->s + at, ls, NULL);
        times_packed(mr, d, g->doo + (i + r) * a->o.row, a->o.row, u->v_cols, nk, u->dp + at, ls,
                     NULL);
    }
    attn_rows_back(u, g, i, rows);
}

static void clear_rows(float *x, int64_t rows, int64_t step, int64_t d)
{
    for (int64_t i = 0; x != NULL && i < rows; i++) memset(x + i * step, 0, (size_t)d * sizeof *x);
}

/* A row of a batch that has no loss: zeros. */
static bool no_gradient(const ll_attn *a, const kern_attn_grad *g)
{
    if (!zero_rows(g->doo, a->nq, a->o.row, a->d)) return false;
    clear_rows(g->dq, a->nq, a->dq.row, a->d);
    clear_rows(g->dk, a->nk, a->dk.row, a->d);
    clear_rows(g->dv, a->nk, a->dv.row, a->d);
    return true;
}

/* They are asked for in so many tiles; what this head reads now, if nobody has. */
static next_rows rows_of_next(const ll_attn *a, const kern_attn_grad *g, int64_t tiles)
{
    const float *const x[N_ROWS] = { g->dq,      g->dk,      g->dv,      g->next[0],
                                     g->next[1], g->next[2], g->next[3], g->next[4] };
    const float *const now[] = { g->q, g->k, g->v, g->o, g->doo };
    const int64_t      nq = a->nq, nk = a->nk, rows[N_ROWS] = { nq, nk, nk, nq, nk, nk, nq, nq };
    const int64_t      step[N_ROWS] = { a->dq.row, a->dk.row, a->dv.row, a->q.row,
                                        a->k.row,  a->v.row,  a->o.row,  a->o.row };
    next_rows          f = { .lines =
                                 kern_per((4 * nq + 4 * nk) * kern_per(a->d, 16), kern_most(tiles, 1)) };
    for (int k = 0; k < N_ROWS; k++) f.part[k] = rows_ahead(x[k], rows[k], a->d, step[k]);
    for (int k = N_WRITTEN; k < N_ROWS && g->first; k++)
        fetch_rows(now[k - N_WRITTEN], rows[k], step[k], a->d);
    return f;
}

/* All queries of one head: dq =, dk =, dv =, dbias +=; any may be NULL. */
static void attn_backward(const kern_attn_unit *u, const kern_attn_grad *g)
{
    const ll_attn *a = u->a;
    const int64_t  d = a->d, nk = a->nk, ls = u->ld_s;
    if (no_gradient(a, g)) return;
    next_rows next = rows_of_next(
        a, g, 2 * kern_per(nk, GEMM_MR) * kern_per(d, GEMM_NR) * kern_per(a->nq, ATTN_QB));
    pack_all(d, nk, g->k, a->k.row, true, u->k_cols);
    pack_all(d, nk, g->v, a->v.row, true, u->v_cols);
    if (g->dq != NULL) pack_all(nk, d, g->k, a->k.row, false, u->k_rows);
    fill_mask(u);
    for (int64_t i = 0; i == 0 || i < a->nq; i += ATTN_QB) {
        const int64_t rows = a->nq - i < ATTN_QB ? a->nq - i : ATTN_QB;
        copy_scaled(rows, d, g->q + i * a->q.row, a->q.row, a->scale * LOG2_E, u->q, u->ld_q);
        attn_scores_back(u, g, i, rows);
        if (g->dv != NULL) {
            pack_all(rows, d, g->doo + i * a->o.row, a->o.row, false, u->block);
            turned_times_packed(nk, rows, u->s, ls, u->block, d, u->dv, u->ld_d, i > 0, &next);
        }
        if (g->dk != NULL) {
            pack_all(rows, d, g->q + i * a->q.row, a->q.row, false, u->block);
            turned_times_packed(nk, rows, u->dp, ls, u->block, d, u->dk, u->ld_d, i > 0, &next);
        }
        if (g->dq == NULL) continue;
        for (int64_t r = 0; r < rows; r += GEMM_MR) {
            const int mr = (int)(rows - r < GEMM_MR ? rows - r : GEMM_MR);
            float    *dq = g->dq + (i + r) * a->dq.row;
            times_packed(mr, nk, u->dp + r * ls, ls, u->k_rows, d, dq, a->dq.row, NULL);
            for (int k = 0; k < mr; k++) row_scale(dq + k * a->dq.row, d, a->scale);
        }
    }
    if (g->dk != NULL) copy_scaled(nk, d, u->dk, u->ld_d, a->scale, g->dk, a->dk.row);
    if (g->dv != NULL) copy_scaled(nk, d, u->dv, u->ld_d, 1.0f, g->dv, a->dv.row);
}
