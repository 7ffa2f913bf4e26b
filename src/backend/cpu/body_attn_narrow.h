/* Attention of narrow heads, the part compiled once per instruction set. Sixteen queries are the
 * lanes of a vector: keys and values come as single numbers, maximum and sum of a query's weights
 * need no look at its neighbours, and no lane is empty where a head has fewer than sixteen numbers.
 * A query's answer does not depend on the others of its vector. */

/* Whether heads are of a width that is compiled here, whatever number of queries there is. */
VEC_INLINE bool is_narrow(const ll_attn *a)
{
    return (a->d == 4 || a->d == 8 || a->d == 16) && a->bias == NULL && a->drop.keep == NULL;
}

/* Rows of the keys that are not excluded, one behind the other; their number. */
static int64_t keep_keys(const kern_attn_unit *u, const float *k, const float *v)
{
    const ll_attn *a = u->a;
    int64_t        n = 0;
    for (int64_t j = 0; j < a->nk; j++) {
        if (a->key_pad != NULL && a->key_pad[u->b * a->key_pad_batch + j]) continue;
        v_st(u->k_cols + n * a->d, a->d, v_ld(k + j * a->k.row, a->d));
        v_st(u->v_rows + n * a->d, a->d, v_ld(v + j * a->v.row, a->d));
        n++;
    }
    return n;
}

/* Scores of `side` keys, the first of them at k, into s [side,16]; the largest so far. */
VEC_INLINE vec narrow_scores(int d, int side, const vec *q, const float *k, vec top, float *s)
{
    vec x[4];
    for (int i = 0; i < side; i++) x[i] = v_mul(q[0], v_set(k[i * d]));
#pragma GCC unroll 16
    for (int c = 1; c < d; c++)
        for (int i = 0; i < side; i++) x[i] = v_fma(q[c], v_set(k[i * d + c]), x[i]);
    for (int i = 0; i < side; i++) {
        v_store(s + 16 * i, x[i]);
        top = v_max(x[i], top);
    }
    return top;
}

/* Up to sixteen queries of d numbers against n keys. */
VEC_INLINE void narrow_queries(int d, const kern_attn_unit *u, int64_t n, int64_t rows,
                               const float *q, float *out, float *lse)
{
    const ll_attn *a = u->a;
    const vec      by = v_set(a->scale * LOG2_E), none = v_set(0.0f);
    vec            r[16], o[16], top = v_set(-INFINITY), sum = none;
    int64_t        j = 0;
    for (int i = 0; i < 16; i++) r[i] = i < rows ? v_ld(q + i * a->q.row, d) : none;
    v_transpose(r);
    for (int c = 0; c < d; c++) r[c] = v_mul(r[c], by);
    for (; j + 4 <= n; j += 4) top = narrow_scores(d, 4, r, u->k_cols + j * d, top, u->s + 16 * j);
    for (; j < n; j++) top = narrow_scores(d, 1, r, u->k_cols + j * d, top, u->s + 16 * j);
    top = v_pick(v_eq(top, v_set(-INFINITY)), none, top); /* no score left: all weights become 0 */
    for (int c = 0; c < 16; c++) o[c] = none;
    for (j = 0; j < n; j++) {
        const vec    e = v_exp2_down(v_sub(v_load(u->s + 16 * j), top));
        const float *v = u->v_rows + j * d;
        sum = v_add(sum, e);
#pragma GCC unroll 16
        for (int c = 0; c < d; c++) o[c] = v_fma(e, v_set(v[c]), o[c]);
    }
    const vmask empty = v_eq(sum, none);
    const vec   scale = v_pick(empty, none, v_div(v_set(1.0f), sum));
    for (int c = 0; c < d; c++) o[c] = v_mul(o[c], scale);
    v_transpose(o);
    for (int i = 0; i < rows; i++) v_st(out + i * a->o.row, d, o[i]);
    if (lse == NULL) return;
    const vec log2 = v_fma(v_log(sum), v_set(LOG2_E), top);
    v_st(lse, rows, v_pick(empty, v_set(INFINITY), log2)); /* then 2^(s - lse) is 0 */
}

/* Queries u->i0..i1, as attn_forward. */
static void narrow_forward(const kern_attn_unit *u, const float *q, const float *k, const float *v,
                           float *out, float *lse)
{
    const ll_attn *a = u->a;
    const int64_t  n = keep_keys(u, k, v);
    assert(is_narrow(a) && n <= a->nk);
    for (int64_t i = u->i0; i < u->i1; i += 16) {
        const int64_t rows = v_left(u->i1 - i);
        const float  *from = q + i * a->q.row;
        float        *to = out + i * a->o.row, *logs = lse == NULL ? NULL : lse + i;
        if (a->d == 4) narrow_queries(4, u, n, rows, from, to, logs);
        else if (a->d == 8) narrow_queries(8, u, n, rows, from, to, logs);
        else narrow_queries(16, u, n, rows, from, to, logs);
    }
}
