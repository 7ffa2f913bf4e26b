/* Sums, the part compiled once per instruction set. */

/* y[cols] = sum of rows rows of x, one after the other. */
static void sum_rows(int64_t rows, int64_t cols, const float *x, int64_t ld, float *y)
{
    for (int64_t j = 0; j < cols; j += 64) { /* four vectors: the adds of a row do not wait */
        vec acc[4] = { v_set(0.0f), v_set(0.0f), v_set(0.0f), v_set(0.0f) };
        if (cols - j >= 64) {
            for (int64_t i = 0; i < rows; i++)
#pragma GCC unroll 4
                for (int q = 0; q < 4; q++) acc[q] = v_add(acc[q], v_load(x + i * ld + j + 16 * q));
        } else {
            for (int64_t i = 0; i < rows; i++)
#pragma GCC unroll 4
                for (int q = 0; q < 4; q++) {
                    const int64_t n = cols - j - 16 * q;
                    if (n > 0) acc[q] = v_add(acc[q], v_ld(x + i * ld + j + 16 * q, n));
                }
        }
#pragma GCC unroll 4
        for (int q = 0; q < 4; q++) {
            const int64_t n = cols - j - 16 * q;
            if (n > 0) v_st(y + j + 16 * q, n, acc[q]);
        }
    }
}

/* y[cols] = or += sum of n pieces, ld apart, in double. */
static void sum_pieces(int64_t n, int64_t cols, const float *x, int64_t ld, bool accumulate,
                       float *y)
{
    for (int64_t j = 0; j < cols; j += 16) {
        const int64_t m = cols - j;
        vecd          acc = accumulate ? vd_wide(v_ld(y + j, m)) : vd_set(0.0);
        for (int64_t i = 0; i < n; i++) acc = vd_add(acc, vd_wide(v_ld(x + i * ld + j, m)));
        v_st(y + j, m, vd_narrow(acc));
    }
}

static double sum_all(int64_t n, const float *x)
{
    vecd acc = vd_set(0.0);
    for (int64_t i = 0; i < n; i += 16) acc = vd_add(acc, vd_wide(v_ld(x + i, n - i)));
    return vd_sum(acc);
}

static double sum_sq(int64_t n, const float *x)
{
    vecd acc = vd_set(0.0);
    for (int64_t i = 0; i < n; i += 16) {
        const vecd d = vd_wide(v_ld(x + i, n - i));
        acc = vd_add(acc, vd_mul(d, d));
    }
    return vd_sum(acc);
}

static void row_sums(int64_t rows, int64_t cols, const float *x, int64_t ld, float *y)
{
    for (int64_t i = 0; i < rows; i++) y[i] = (float)row_sum(x + i * ld, cols);
}
