/* Functions of one and two arrays, element by element; the part compiled once per instruction set.
 */

typedef vec (*map1_fn)(vec);
typedef vec (*map2_fn)(vec, vec);

/* y = f(x); f is known to the compiler at each call and becomes part of the loop. */
VEC_INLINE void map1(map1_fn f, int64_t n, const float *x, float *y)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) v_store(y + i, f(v_load(x + i)));
    if (i < n) v_storen(y + i, n - i, f(v_loadn(x + i, n - i)));
}

/* dx = dy slope(x) */
VEC_INLINE void map1_grad(map1_fn slope, int64_t n, const float *x, const float *dy, float *dx)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) v_store(dx + i, v_mul(v_load(dy + i), slope(v_load(x + i))));
    if (i < n) v_storen(dx + i, n - i, v_mul(v_loadn(dy + i, n - i), slope(v_loadn(x + i, n - i))));
}

/* y = f(a, b); an operand with col 0 is one number for the whole row. */
VEC_INLINE void map2(map2_fn f, int64_t n, const float *a, int64_t a_col, const float *b,
                     int64_t b_col, float *y)
{
    if (n == 0) return;
    const vec a0 = v_set(a[0]), b0 = v_set(b[0]);
    for (int64_t i = 0; i < n; i += 16) {
        const int64_t m = v_left(n - i);
        const vec     x = a_col ? v_ld(a + i, m) : a0;
        v_st(y + i, m, f(x, b_col ? v_ld(b + i, m) : b0));
    }
}

/* --- functions ------------------------------------------------------------------------------ */

VEC_INLINE vec one(void) { return v_set(1.0f); }
VEC_INLINE vec f_square(vec x) { return v_mul(x, x); }
VEC_INLINE vec f_rsqrt(vec x) { return v_div(one(), v_sqrt(x)); }
VEC_INLINE vec f_recip(vec x) { return v_div(one(), x); }

/* Through e = e^-|x|, which cannot overflow: s(x) = 1/(1+e) or e/(1+e). */
VEC_INLINE vec f_sigmoid(vec x)
{
    const vec e = v_exp(v_neg(v_abs(x)));
    return v_div(v_pick(v_gt(v_set(0.0f), x), e, one()), v_add(one(), e));
}
VEC_INLINE vec f_silu(vec x) { return v_mul(x, f_sigmoid(x)); }
VEC_INLINE vec f_softplus(vec x)
{
    const vec limit = v_set(20.0f);
    return v_pick(v_gt(x, limit), x, v_log1p(v_exp(v_min(limit, x))));
}

/* --- slopes ----------------------------------------------------------------------------------- */

VEC_INLINE vec s_neg(vec x)
{
    (void)x;
    return v_set(-1.0f);
}
VEC_INLINE vec s_abs(vec x)
{
    const vec zero = v_set(0.0f);
    return v_pick(v_gt(x, zero), one(), v_pick(v_gt(zero, x), v_set(-1.0f), zero));
}
VEC_INLINE vec s_square(vec x) { return v_add(x, x); }
VEC_INLINE vec s_sqrt(vec x) { return v_div(v_set(0.5f), v_sqrt(x)); }
VEC_INLINE vec s_rsqrt(vec x) { return v_div(v_set(-0.5f), v_mul(x, v_sqrt(x))); }
VEC_INLINE vec s_recip(vec x) { return v_div(v_set(-1.0f), v_mul(x, x)); }
VEC_INLINE vec s_log(vec x) { return v_div(one(), x); }
VEC_INLINE vec s_cos(vec x) { return v_neg(v_sin(x)); }
VEC_INLINE vec s_tanh(vec x)
{
    /* 1 - tanh^2 = 4e/(1+e)^2 with e = e^(-2|x|): no cancellation far out. */
    const vec e = v_exp(v_mul(v_set(-2.0f), v_abs(x))), d = v_add(one(), e);
    return v_div(v_mul(v_set(4.0f), e), v_mul(d, d));
}
VEC_INLINE vec s_sigmoid(vec x)
{
    const vec e = v_exp(v_neg(v_abs(x))), d = v_add(one(), e);
    return v_div(e, v_mul(d, d));
}
VEC_INLINE vec s_silu(vec x)
{
    /* s (1 + x (1-s)), and 1-s(x) = s(-x) */
    return v_mul(f_sigmoid(x), v_fma(x, f_sigmoid(v_neg(x)), one()));
}
VEC_INLINE vec s_softplus(vec x) { return v_pick(v_gt(x, v_set(20.0f)), one(), f_sigmoid(x)); }

/* --- one function per table entry --------------------------------------------------------------
 */

static void map_neg(int64_t n, const float *x, float *y) { map1(v_neg, n, x, y); }
static void map_abs(int64_t n, const float *x, float *y) { map1(v_abs, n, x, y); }
static void map_square(int64_t n, const float *x, float *y) { map1(f_square, n, x, y); }
static void map_sqrt(int64_t n, const float *x, float *y) { map1(v_sqrt, n, x, y); }
static void map_rsqrt(int64_t n, const float *x, float *y) { map1(f_rsqrt, n, x, y); }
static void map_recip(int64_t n, const float *x, float *y) { map1(f_recip, n, x, y); }
static void map_exp(int64_t n, const float *x, float *y) { map1(v_exp, n, x, y); }
static void map_log(int64_t n, const float *x, float *y) { map1(v_log, n, x, y); }
static void map_sin(int64_t n, const float *x, float *y) { map1(v_sin, n, x, y); }
static void map_cos(int64_t n, const float *x, float *y) { map1(v_cos, n, x, y); }
static void map_tanh(int64_t n, const float *x, float *y) { map1(v_tanh, n, x, y); }
static void map_sigmoid(int64_t n, const float *x, float *y) { map1(f_sigmoid, n, x, y); }
static void map_silu(int64_t n, const float *x, float *y) { map1(f_silu, n, x, y); }
static void map_softplus(int64_t n, const float *x, float *y) { map1(f_softplus, n, x, y); }
static void map_gelu(int64_t n, const float *x, float *y)
{
    const int64_t most = n / (16 * VEC_SIDE) * 16 * VEC_SIDE;
    for (int64_t k = 0; k < most; k += 16 * VEC_SIDE) {
        vec z[VEC_SIDE];
        V_EACH(VEC_SIDE) z[i] = v_load(x + k + 16 * i);
        v_gelus(VEC_SIDE, z);
        V_EACH(VEC_SIDE) v_store(y + k + 16 * i, z[i]);
    }
    map1(v_gelu, n - most, x + most, y + most);
}

static void grad_neg(int64_t n, const float *x, const float *dy, float *dx)
{
    map1_grad(s_neg, n, x, dy, dx);
}
static void grad_abs(int64_t n, const float *x, const float *dy, float *dx)
{
    map1_grad(s_abs, n, x, dy, dx);
}
static void grad_square(int64_t n, const float *x, const float *dy, float *dx)
{
    map1_grad(s_square, n, x, dy, dx);
}
static void grad_sqrt(int64_t n, const float *x, const float *dy, float *dx)
{
    map1_grad(s_sqrt, n, x, dy, dx);
}
static void grad_rsqrt(int64_t n, const float *x, const float *dy, float *dx)
{
    map1_grad(s_rsqrt, n, x, dy, dx);
}
static void grad_recip(int64_t n, const float *x, const float *dy, float *dx)
{
    map1_grad(s_recip, n, x, dy, dx);
}
static void grad_exp(int64_t n, const float *x, const float *dy, float *dx)
{
    map1_grad(v_exp, n, x, dy, dx);
}
static void grad_log(int64_t n, const float *x, const float *dy, float *dx)
{
    map1_grad(s_log, n, x, dy, dx);
}
static void grad_sin(int64_t n, const float *x, const float *dy, float *dx)
{
    map1_grad(v_cos, n, x, dy, dx);
}
static void grad_cos(int64_t n, const float *x, const float *dy, float *dx)
{
    map1_grad(s_cos, n, x, dy, dx);
}
static void grad_tanh(int64_t n, const float *x, const float *dy, float *dx)
{
    map1_grad(s_tanh, n, x, dy, dx);
}
static void grad_sigmoid(int64_t n, const float *x, const float *dy, float *dx)
{
    map1_grad(s_sigmoid, n, x, dy, dx);
}
static void grad_silu(int64_t n, const float *x, const float *dy, float *dx)
{
    map1_grad(s_silu, n, x, dy, dx);
}
static void grad_softplus(int64_t n, const float *x, const float *dy, float *dx)
{
    map1_grad(s_softplus, n, x, dy, dx);
}
static void grad_gelu(int64_t n, const float *x, const float *dy, float *dx)
{
    const int64_t most = n / (16 * VEC_SIDE) * 16 * VEC_SIDE;
    for (int64_t k = 0; k < most; k += 16 * VEC_SIDE) {
        vec z[VEC_SIDE];
        V_EACH(VEC_SIDE) z[i] = v_load(x + k + 16 * i);
        v_gelu_slopes(VEC_SIDE, z);
        V_EACH(VEC_SIDE) v_store(dx + k + 16 * i, v_mul(v_load(dy + k + 16 * i), z[i]));
    }
    map1_grad(v_gelu_slope, n - most, x + most, dy + most, dx + most);
}

static void row_add(int64_t n, const float *a, int64_t ac, const float *b, int64_t bc, float *y)
{
    map2(v_add, n, a, ac, b, bc, y);
}
static void row_sub(int64_t n, const float *a, int64_t ac, const float *b, int64_t bc, float *y)
{
    map2(v_sub, n, a, ac, b, bc, y);
}
static void row_mul(int64_t n, const float *a, int64_t ac, const float *b, int64_t bc, float *y)
{
    map2(v_mul, n, a, ac, b, bc, y);
}
static void row_div(int64_t n, const float *a, int64_t ac, const float *b, int64_t bc, float *y)
{
    map2(v_div, n, a, ac, b, bc, y);
}
static void row_max(int64_t n, const float *a, int64_t ac, const float *b, int64_t bc, float *y)
{
    map2(v_max, n, a, ac, b, bc, y);
}
static void row_min(int64_t n, const float *a, int64_t ac, const float *b, int64_t bc, float *y)
{
    map2(v_min, n, a, ac, b, bc, y);
}

static void clamp(int64_t n, float lo, float hi, const float *x, float *y)
{
    const vec low = v_set(lo), high = v_set(hi);
    for (int64_t i = 0; i < n; i += 16)
        v_st(y + i, n - i, v_min(high, v_max(low, v_ld(x + i, n - i))));
}

static void clamp_grad(int64_t n, float lo, float hi, const float *x, const float *dy, float *dx)
{
    const vec low = v_set(lo), high = v_set(hi), zero = v_set(0.0f);
    for (int64_t i = 0; i < n; i += 16) {
        const vec a = v_ld(x + i, n - i), d = v_ld(dy + i, n - i);
        v_st(dx + i, n - i, v_pick(v_ge(a, low), v_pick(v_ge(high, a), d, zero), zero));
    }
}

static void affine(int64_t n, float scale, float shift, const float *x, float *y)
{
    const vec a = v_set(scale), b = v_set(shift);
    for (int64_t i = 0; i < n; i += 16) v_st(y + i, n - i, v_add(v_mul(a, v_ld(x + i, n - i)), b));
}
