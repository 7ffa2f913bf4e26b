/* Layer norm and softmax, the part compiled once per instruction set. Long rows are summed in
 * pieces of NORM_PIECE, each in 16 lanes, the pieces in double: exact enough for any length. */

enum { NORM_PIECE = 4096 };

VEC_INLINE double row_sum(const float *x, int64_t n)
{
    double sum = 0.0;
    for (int64_t p = 0; p < n; p += NORM_PIECE) {
        const int64_t m = n - p < NORM_PIECE ? n - p : NORM_PIECE;
        vec           acc = v_set(0.0f);
        int64_t       i = 0;
        for (; i + 16 <= m; i += 16) acc = v_add(acc, v_load(x + p + i));
        if (i < m) acc = v_add(acc, v_loadn(x + p + i, m - i));
        sum += (double)v_sum(acc);
    }
    return sum;
}

/* Mean and 1/sqrt(variance + eps) of a row. */
VEC_INLINE void norm_stats(const float *x, int64_t n, float eps, float stats[2])
{
    const float mean = (float)(row_sum(x, n) / (double)n);
    const vec   mu = v_set(mean);
    double      sum = 0.0;
    for (int64_t p = 0; p < n; p += NORM_PIECE) {
        const int64_t m = n - p < NORM_PIECE ? n - p : NORM_PIECE;
        vec           acc = v_set(0.0f);
        int64_t       i = 0;
        for (; i + 16 <= m; i += 16) {
            const vec d = v_sub(v_load(x + p + i), mu);
            acc = v_fma(d, d, acc);
        }
        if (i < m) {
            const vec d = v_sub(v_loadn(x + p + i, m - i), v_keep(mu, m - i));
            acc = v_fma(d, d, acc);
        }
        sum += (double)v_sum(acc);
    }
    stats[0] = mean;
    stats[1] = 1.0f / sqrtf((float)(sum / (double)n) + eps);
}

VEC_INLINE vec norm_one(vec x, vec mean, vec rstd) { return v_mul(v_sub(x, mean), rstd); }

/* Columns j..j+n-1 of row `row`; x and y point at column j. */
VEC_INLINE void norm_apply(const ll_norm *p, int64_t row, int64_t j, int64_t n, const float *x,
                           float *y, const float stats[2])
{
    const vec    mean = v_set(stats[0]), rstd = v_set(stats[1]), one = v_set(1.0f);
    const float *scale = NULL, *shift = NULL;
    if (p->scale != NULL) {
        scale = p->scale + row / p->group * p->mod_ld + j;
        shift = p->shift + row / p->group * p->mod_ld + j;
    } else if (p->gain != NULL) {
        scale = p->gain + j;
        shift = p->bias + j;
    }
    for (int64_t i = 0; i < n; i += 16) {
        const int64_t m = v_left(n - i);
        vec           u = norm_one(v_ld(x + i, m), mean, rstd);
        if (scale != NULL) {
            vec g = v_ld(scale + i, m);
            if (p->scale != NULL) g = v_add(one, g);
            u = v_fma(u, g, v_ld(shift + i, m));
        }
        v_st(y + i, m, u);
    }
}

static void norm_rows(const ll_norm *p, int64_t first, int64_t rows, const float *x, float *y,
                      float *stats)
{
    for (int64_t i = first; i < first + rows; i++) {
        float s[2];
        norm_stats(x + i * p->n, p->n, p->eps, s);
        norm_apply(p, i, 0, p->n, x + i * p->n, y + i * p->n, s);
        if (stats != NULL) {
            stats[2 * i] = s[0];
            stats[2 * i + 1] = s[1];
        }
    }
}

/* The factor of u in row i, columns j..: gain, 1 + scale or 1. */
VEC_INLINE vec norm_factor(const ll_norm *p, int64_t i, int64_t j, int64_t n)
{
    if (p->scale != NULL)
        return v_add(v_set(1.0f), v_ld(p->scale + i / p->group * p->mod_ld + j, n));
    return p->gain != NULL ? v_ld(p->gain + j, n) : v_set(1.0f);
}

/* dx = r (g - mean(g) - u mean(g u)) + add, g = dy * factor; add may be NULL. */
VEC_INLINE void norm_dx_row(const ll_norm *p, int64_t row, const float *x, const float s[2],
                            const float *dy, const float *add, float *dx)
{
    const int64_t n = p->n;
    const vec     mean = v_set(s[0]), rstd = v_set(s[1]);
    double        sum_g = 0.0, sum_gu = 0.0;
    for (int64_t q = 0; q < n; q += NORM_PIECE) {
        vec           a = v_set(0.0f), b = a;
        const int64_t end = n - q < NORM_PIECE ? n : q + NORM_PIECE;
        for (int64_t j = q; j < end; j += 16) { /* lanes past the end have g = 0 */
            const vec g = v_mul(v_ld(dy + j, n - j), norm_factor(p, row, j, n - j));
            a = v_add(a, g);
            b = v_fma(g, norm_one(v_ld(x + j, n - j), mean, rstd), b);
        }
        sum_g += (double)v_sum(a);
        sum_gu += (double)v_sum(b);
    }
    const vec m_g = v_set((float)(sum_g / (double)n)), m_gu = v_set((float)(sum_gu / (double)n));
    for (int64_t j = 0; j < n; j += 16) {
        const vec g = v_mul(v_ld(dy + j, n - j), norm_factor(p, row, j, n - j));
        const vec u = norm_one(v_ld(x + j, n - j), mean, rstd);
        vec       d = v_mul(rstd, v_fnma(u, m_gu, v_sub(g, m_g)));
        if (add != NULL) d = v_add(d, v_ld(add + j, n - j));
        v_st(dx + j, n - j, d);
    }
}

/* Rows first..: dx =, and sums [2][n] = over these rows of dy u and of dy. add, dx and sums may be
 * NULL. */
static void norm_grad_rows(const ll_norm *p, int64_t first, int64_t rows, const float *x,
                           const float *stats, const float *dy, const float *add, float *dx,
                           float *sums)
{
    const int64_t n = p->n;
    if (sums != NULL)
        for (int64_t j = 0; j < 2 * n; j += 16) v_st(sums + j, 2 * n - j, v_set(0.0f));
    for (int64_t i = first; i < first + rows; i++) {
        float        s[2];
        const float *xi = x + i * n, *di = dy + i * n;
        if (stats != NULL) s[0] = stats[2 * i], s[1] = stats[2 * i + 1];
        else norm_stats(xi, n, p->eps, s);
        if (sums != NULL) {
            const vec mean = v_set(s[0]), rstd = v_set(s[1]);
            for (int64_t j = 0; j < n; j += 16) {
                const vec d = v_ld(di + j, n - j), u = norm_one(v_ld(xi + j, n - j), mean, rstd);
                v_st(sums + j, n - j, v_fma(d, u, v_ld(sums + j, n - j)));
                v_st(sums + n + j, n - j, v_add(d, v_ld(sums + n + j, n - j)));
            }
        }
        if (dx != NULL) norm_dx_row(p, i, xi, s, di, add != NULL ? add + i * n : NULL, dx + i * n);
    }
}

/* --- softmax -----------------------------------------------------------------------------------
 */

VEC_INLINE float row_top(const float *x, int64_t n)
{
    vec     top = v_set(-INFINITY), more[3] = { top, top, top }; /* four at once: one would wait */
    int64_t i = 0;
    for (; i + 64 <= n; i += 64) {
        top = v_max(v_load(x + i), top);
        for (int k = 0; k < 3; k++) more[k] = v_max(v_load(x + i + 16 + 16 * k), more[k]);
    }
    top = v_max(v_max(top, more[0]), v_max(more[1], more[2]));
    for (; i + 16 <= n; i += 16) top = v_max(v_load(x + i), top);
    if (i < n && n > 16) { /* the last sixteen, some of them again */
        top = v_max(v_load(x + n - 16), top);
        i = n;
    }
    float rest = v_top(top);
    for (; i < n; i++) rest = x[i] > rest ? x[i] : rest;
    return rest;
}

/* y = f(x - top), returns the sum; f is v_exp_down or v_exp2_down. */
VEC_INLINE double row_exp(vec (*f)(vec), const float *x, int64_t n, float top, float *y)
{
    const vec t = v_set(top);
    double    sum = 0.0;
    for (int64_t p = 0; p < n; p += NORM_PIECE) {
        const int64_t m = n - p < NORM_PIECE ? n - p : NORM_PIECE;
        vec           acc = v_set(0.0f);
        int64_t       i = p;
        for (; i + 16 <= p + m; i += 16) {
            const vec e = f(v_sub(v_load(x + i), t));
            v_store(y + i, e);
            acc = v_add(acc, e);
        }
        if (i < p + m) {
            const int64_t left = p + m - i;
            const vec     e = v_keep(f(v_sub(v_loadn(x + i, left), t)), left);
            v_storen(y + i, left, e);
            acc = v_add(acc, e);
        }
        sum += (double)v_sum(acc);
    }
    return sum;
}

VEC_INLINE void row_scale(float *y, int64_t n, float by)
{
    const vec s = v_set(by);
    int64_t   i = 0;
    for (; i + 16 <= n; i += 16) v_store(y + i, v_mul(v_load(y + i), s));
    if (i < n) v_storen(y + i, n - i, v_mul(v_loadn(y + i, n - i), s));
}

static void softmax_rows(int64_t rows, int64_t n, const float *x, float *y)
{
    for (int64_t i = 0; i < rows; i++) {
        const float  top = row_top(x + i * n, n);
        const double sum =
            row_exp(v_exp_down, x + i * n, n, top == -INFINITY ? 0.0f : top, y + i * n);
        row_scale(y + i * n, n, sum == 0.0 ? 0.0f : (float)(1.0 / sum));
    }
}

VEC_INLINE double row_dot(const float *a, const float *b, int64_t n)
{
    double sum = 0.0;
    for (int64_t p = 0; p < n; p += NORM_PIECE) {
        const int64_t end = n - p < NORM_PIECE ? n : p + NORM_PIECE;
        vec           acc = v_set(0.0f);
        for (int64_t i = p; i < end; i += 16)
            acc = v_fma(v_ld(a + i, end - i), v_ld(b + i, end - i), acc);
        sum += (double)v_sum(acc);
    }
    return sum;
}

static void softmax_grad_rows(int64_t rows, int64_t n, const float *y, const float *dy, float *dx)
{
    for (int64_t r = 0; r < rows; r++) {
        const float *yr = y + r * n, *dr = dy + r * n;
        const vec    dot = v_set((float)row_dot(yr, dr, n));
        for (int64_t i = 0; i < n; i += 16)
            v_st(dx + r * n + i, n - i,
                 v_mul(v_ld(yr + i, n - i), v_sub(v_ld(dr + i, n - i), dot)));
    }
}
