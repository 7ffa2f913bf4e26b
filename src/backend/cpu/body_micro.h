/* The micro-kernel of products, compiled once per instruction set: it holds GEMM_MR x GEMM_NV
 * vectors of C in registers and walks the inner index. Meanwhile it asks for memory that will be
 * needed. */

enum { GEMM_NR = 16 * GEMM_NV };

/* Lines of memory that are asked for while something else is computed: rows of n floats, step
 * apart. */
typedef struct ahead {
    const float *x;
    int64_t      rows, n, step;
    int64_t      row, col; /* the next one */
    int64_t      lines;    /* asked for at a time by fetch_some */
} ahead;

enum { N_AHEAD = 4, ASYNC_STEPS = 16 };

VEC_INLINE void fetch(ahead *f, int64_t lines)
{
    for (; lines > 0 && f->row < f->rows && f->n > 0; lines--) {
        __builtin_prefetch(f->x + f->row * f->step + f->col, 0, 2);
        f->col += 16;
        if (f->col >= f->n) f->col = 0, f->row++;
    }
}

/* A little of each. The processor waits for only so many lines at once: asked for all together,
 * they keep a micro-kernel from its operands until memory has answered. */
VEC_INLINE void fetch_some(ahead soon[N_AHEAD])
{
    for (int i = 0; i < N_AHEAD; i++) fetch(&soon[i], soon[i].lines);
}

typedef struct micro_out { /* where a micro-kernel leaves its result */
    float       *c;
    int64_t      ldc, cols;
    const float *from; /* added to it, or NULL; may be c */
    int64_t      ld_from;
    const float *bias;  /* of these columns, or NULL */
    const float *after; /* added last, laid out as c; or NULL */
    float *also; /* or NULL: a second result, also_from + a b; whole tiles of GEMM_NR columns */
    const float *also_from;
    ahead       *soon; /* N_AHEAD of them, or NULL; some are fetched every ASYNC_STEPS */
} micro_out;

/* For every vector of a row. */
#define V_COLS(nv) _Pragma("GCC unroll 4") for (int j = 0; j < (nv); j++)

/* acc += a b over n inner steps from the k-th on, for mr rows and nv vectors. Element (i, k) of a
 * is at i*a_row + k*a_step. */
VEC_INLINE void micro_steps(int mr, int nv, int64_t k, int64_t n, const float *a, int64_t a_row,
                            int64_t a_step, const float *b, vec acc[GEMM_MR][GEMM_NV])
{
    /* Four row pointers: rows between them are an offset of the instruction. */
    a += k * a_step;
    b += k * 16 * nv;
    const float *a0 = a, *a3 = a + 3 * a_row, *a6 = a + 6 * a_row, *a9 = a + 9 * a_row;
    for (k = 0; k < n; k++) {
        vec bv[GEMM_NV];
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++) bv[j] = v_load(b + 16 * j);
#pragma GCC unroll 16
        for (int i = 0; i < mr; i++) {
            const float *row = i < 3 ? a0 : i < 6 ? a3 : i < 9 ? a6 : a9;
            const vec    av = v_set(row[(i % 3) * a_row]);
#pragma GCC unroll 4
            for (int j = 0; j < nv; j++) acc[i][j] = v_fma(av, bv[j], acc[i][j]);
        }
        b += 16 * nv;
        a0 += a_step, a3 += a_step, a6 += a_step, a9 += a_step;
    }
}

/* acc = a b over kc inner steps; meanwhile soon (or NULL) is fetched. */
VEC_INLINE void micro_sums(int mr, int nv, int64_t kc, const float *a, int64_t a_row,
                           int64_t a_step, const float *b, ahead *soon, vec acc[GEMM_MR][GEMM_NV])
{
#pragma GCC unroll 16
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++) acc[i][j] = v_set(0.0f);
    int64_t k = 0;
    for (; soon != NULL && k + ASYNC_STEPS <= kc; k += ASYNC_STEPS) {
        fetch_some(soon);
        micro_steps(mr, nv, k, ASYNC_STEPS, a, a_row, a_step, b, acc);
    }
    micro_steps(mr, nv, k, kc - k, a, a_row, a_step, b, acc);
}

/* Row i of a whole tile: c = acc (+ from) (+ bias) (+ after), also = also_from + acc. */
VEC_INLINE void micro_row(int nv, int64_t i, const vec *acc, const vec *bias, const micro_out *o)
{
    const int64_t at = i * o->ldc, from = i * o->ld_from, also = i * GEMM_NR;
    vec           y[GEMM_NV];
    V_COLS(nv) y[j] = acc[j];
    if (o->from != NULL) V_COLS(nv) y[j] = v_add(v_load(o->from + from + 16 * j), y[j]);
    if (o->bias != NULL) V_COLS(nv) y[j] = v_add(y[j], bias[j]);
    if (o->after != NULL) V_COLS(nv) y[j] = v_add(y[j], v_load(o->after + at + 16 * j));
    V_COLS(nv) v_store(o->c + at + 16 * j, y[j]);
    if (o->also == NULL) return;
    V_COLS(nv)
    v_store(o->also + also + 16 * j, v_add(v_load(o->also_from + also + 16 * j), acc[j]));
}

/* The same where not all of its columns are real; without also. */
VEC_INLINE void micro_row_part(int nv, int64_t i, const vec *acc, const vec *bias,
                               const micro_out *o)
{
    V_COLS(nv)
    {
        const int64_t left = v_left(o->cols - 16 * j), at = i * o->ldc + 16 * j;
        vec           y = acc[j];
        if (o->from != NULL) y = v_add(v_ld(o->from + i * o->ld_from + 16 * j, left), y);
        if (o->bias != NULL) y = v_add(y, bias[j]);
        if (o->after != NULL) y = v_add(y, v_ld(o->after + at, left));
        v_st(o->c + at, left, y);
    }
}

/* c = a b and what follows, cols numbers of the nv vectors are real. */
VEC_INLINE void micro_any(int mr, int nv, int64_t kc, const float *a, int64_t a_row, int64_t a_step,
                          const float *b, const micro_out *o)
{
    const bool whole = o->cols >= 16 * nv; /* nearly always */
    vec        acc[GEMM_MR][GEMM_NV], bias[GEMM_NV];
    micro_sums(mr, nv, kc, a, a_row, a_step, b, mr == GEMM_MR ? o->soon : NULL, acc);
    V_COLS(nv) bias[j] = v_set(0.0f);
    if (o->bias != NULL) V_COLS(nv) bias[j] = v_ld(o->bias + 16 * j, v_left(o->cols - 16 * j));
#pragma GCC unroll 16
    for (int i = 0; i < mr; i++)
        if (whole) micro_row(nv, i, acc[i], bias, o);
        else micro_row_part(nv, i, acc[i], bias, o);
}

/* The same with the shape known to the compiler. */
VEC_INLINE void micro_rows(int nv, int mr, int64_t kc, const float *a, int64_t a_row,
                           int64_t a_step, const float *b, const micro_out *o)
{
#define ROWS(n)                                       \
    case n:                                           \
        micro_any(n, nv, kc, a, a_row, a_step, b, o); \
        break
    switch (mr) {
#if GEMM_MR >= 12
        ROWS(12);
        ROWS(11);
        ROWS(10);
        ROWS(9);
        ROWS(8);
        ROWS(7);
#endif
#if GEMM_MR >= 6
        ROWS(6);
        ROWS(5);
#endif
        ROWS(4);
        ROWS(3);
        ROWS(2);
    default:
        micro_any(1, nv, kc, a, a_row, a_step, b, o);
    }
#undef ROWS
}

/* Rows of A side by side. */
static void micro(int mr, int64_t kc, const float *a, int64_t a_row, const float *b,
                  const micro_out *o)
{
    if (GEMM_NV > 1 && o->cols > 16) micro_rows(GEMM_NV, mr, kc, a, a_row, 1, b, o);
    else micro_rows(1, mr, kc, a, a_row, 1, b, o);
}

/* A's columns side by side: A is the transpose of what lies in memory. */
static void micro_turned(int mr, int64_t kc, const float *a, int64_t a_step, const float *b,
                         const micro_out *o)
{
    if (GEMM_NV > 1 && o->cols > 16) micro_rows(GEMM_NV, mr, kc, a, 1, a_step, b, o);
    else micro_rows(1, mr, kc, a, 1, a_step, b, o);
}
