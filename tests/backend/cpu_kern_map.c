/* Element-by-element kernels and sums against the C library in double. */
#include "kern_check.h"

#include <float.h>

static const int64_t lengths[] = { 0, 1, 15, 16, 33, 1000, 100003 };
enum { N_LENGTHS = sizeof lengths / sizeof lengths[0] };

typedef struct unary_case {
    ll_unary     op;
    int64_t      n;
    const float *x, *dy;
} unary_case;

static double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
static double bell(double x) { return exp(-x * x / 2) / sqrt(2 * M_PI); }
static double phi(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }

static double value(ll_unary op, double x)
{
    switch (op) {
    case LL_UNARY_NEG:
        return -x;
    case LL_UNARY_ABS:
        return fabs(x);
    case LL_UNARY_SQUARE:
        return x * x;
    case LL_UNARY_SQRT:
        return sqrt(x);
    case LL_UNARY_RSQRT:
        return 1 / sqrt(x);
    case LL_UNARY_RECIP:
        return 1 / x;
    case LL_UNARY_EXP:
        return exp(x);
    case LL_UNARY_LOG:
        return log(x);
    case LL_UNARY_SIN:
        return sin(x);
    case LL_UNARY_COS:
        return cos(x);
    case LL_UNARY_TANH:
        return tanh(x);
    case LL_UNARY_SIGMOID:
        return sigmoid(x);
    case LL_UNARY_SILU:
        return x * sigmoid(x);
    case LL_UNARY_SOFTPLUS:
        return x > 20 ? x : log1p(exp(x));
    case LL_UNARY_GELU:
        return x * phi(x);
    default:
        return NAN;
    }
}

static double slope(ll_unary op, double x)
{
    switch (op) {
    case LL_UNARY_NEG:
        return -1;
    case LL_UNARY_ABS:
        return x > 0 ? 1 : x < 0 ? -1 : 0;
    case LL_UNARY_SQUARE:
        return 2 * x;
    case LL_UNARY_SQRT:
        return 0.5 / sqrt(x);
    case LL_UNARY_RSQRT:
        return -0.5 / (x * sqrt(x));
    case LL_UNARY_RECIP:
        return -1 / (x * x);
    case LL_UNARY_EXP:
        return exp(x);
    case LL_UNARY_LOG:
        return 1 / x;
    case LL_UNARY_SIN:
        return cos(x);
    case LL_UNARY_COS:
        return -sin(x);
    case LL_UNARY_TANH:
        return 1 / (cosh(x) * cosh(x));
    case LL_UNARY_SIGMOID:
        return sigmoid(x) * sigmoid(-x);
    case LL_UNARY_SILU:
        return sigmoid(x) * (1 + x * sigmoid(-x));
    case LL_UNARY_SOFTPLUS:
        return x > 20 ? 1 : sigmoid(x);
    case LL_UNARY_GELU:
        return phi(x) + x * bell(x);
    default:
        return NAN;
    }
}

static bool positive_only(ll_unary op)
{
    return op == LL_UNARY_SQRT || op == LL_UNARY_RSQRT || op == LL_UNARY_LOG;
}

static void run_unary(const ll_kern *kn, const void *user, float *out)
{
    const unary_case *c = user;
    kn->isa->unary[c->op](c->n, c->x, out);
}

static void run_unary_grad(const ll_kern *kn, const void *user, float *out)
{
    const unary_case *c = user;
    kn->isa->unary_grad[c->op](c->n, c->x, c->dy, out);
}

/* Results below the smallest normal number (1.2e-38) may be lost: hence 1e-31. Relative: 4 units in
 * the last place (SLEEF's 1, and a few operations of ours). Slopes that cross zero (SiLU, GELU) are
 * exact against 1. */
static void unary_ops(void **state)
{
    (void)state;
    static const float special[] = { 0.0f,  -0.0f,  1.0f,  -1.0f,  20.0f,
                                     20.5f, -60.0f, 60.0f, 500.0f, -500.0f };
    for (int op = 0; op < LL_UNARY_COUNT; op++)
        for (int l = 0; l < N_LENGTHS; l++) {
            const int64_t n = lengths[l];
            float        *x = draw(n, 4, 1), *dy = draw(n, 1, 2);
            for (int64_t i = 0; i < n && i < 10; i++) x[i] = special[i];
            for (int64_t i = 0; i < n && positive_only(op); i++) x[i] = fabsf(x[i]);
            const unary_case c = { op, n, x, dy };
            truth            y = truth_new(n), d = truth_new(n);
            for (int64_t i = 0; i < n; i++) {
                const double v = value(op, (double)x[i]), s = slope(op, (double)x[i]);
                truth_set(&y, i, (double)(float)v, fabs(v) + 1e-31);
                truth_set(&d, i, (double)(float)((double)dy[i] * s),
                          (fabs(s) + (op >= LL_UNARY_SILU ? 1 : 1e-31)) * fabs((double)dy[i]));
            }
            char name[40];
            snprintf(name, sizeof name, "unary %d, n %lld", op, (long long)n);
            check_kernel(name, run_unary, &c, &y, 4.8e-7);
            check_kernel(name, run_unary_grad, &c, &d, 5e-7);
            ll_free(x);
            ll_free(dy);
            truth_free(&y);
            truth_free(&d);
        }
}

/* Every float in a range of exponents would take long; a fine walk finds the worst error of what is
 * our own. */
static void gelu_error(const ll_kern *kn)
{
    enum { N = 1 << 20 };
    float *x = ll_new(N, sizeof *x), *y = ll_new(N, sizeof *y), *dy = ll_new(N, sizeof *dy);
    for (int64_t i = 0; i < N; i++) x[i] = -13.0f + 26.0f * (float)i / N, dy[i] = 1.0f;
    kn->isa->unary[LL_UNARY_GELU](N, x, y);
    double worst = 0.0;
    for (int64_t i = 0; i < N; i++) {
        const double want = value(LL_UNARY_GELU, (double)x[i]);
        worst = fmax(worst, fabs((double)y[i] - want) / (fabs(want) + 1e-31));
    }
    if (worst > 3.6e-7) /* 3 units in the last place */
        fail_msg("GELU, %s: relative error %.3g", ll_kern_name(kn), worst);
    kn->isa->unary_grad[LL_UNARY_GELU](N, x, dy, y);
    worst = 0.0;
    for (int64_t i = 0; i < N; i++) {
        const double want = slope(LL_UNARY_GELU, (double)x[i]);
        const double size = x[i] < -2.0f ? fabs(want) + 1e-31 : 1.0; /* it crosses zero at -0.75 */
        worst = fmax(worst, fabs((double)y[i] - want) / size);
    }
    if (worst > 3.6e-7) fail_msg("slope of GELU, %s: error %.3g", ll_kern_name(kn), worst);
    ll_free(x);
    ll_free(y);
    ll_free(dy);
}

static void gelu_error_everywhere(void **state)
{
    (void)state;
    each_kern(gelu_error);
}

/* NaN and infinities go where they should; in place; any position has the same bits. */
static void odd_numbers(const ll_kern *kn)
{
    float x[37], y[37], z[37];
    for (int op = 0; op < LL_UNARY_COUNT; op++) {
        for (int i = 0; i < 37; i++) x[i] = positive_only(op) ? 1.75f : -1.75f;
        x[20] = NAN;
        kn->isa->unary[op](37, x, y);
        assert_true(isnan(y[20]));
        for (int i = 0; i < 37; i++)
            if (i != 20) assert_memory_equal(&y[i], &y[0], sizeof y[0]);
        memcpy(z, x, sizeof z);
        kn->isa->unary[op](37, z, z);
        assert_memory_equal(y, z, 19 * sizeof *y);
        for (int n = 1; n < 37; n++) { /* the tail */
            kn->isa->unary[op](n, x, z);
            if (n != 21) assert_memory_equal(&z[n - 1], &y[n - 1], sizeof y[0]);
        }
    }
    x[0] = NAN, x[1] = INFINITY, x[2] = -INFINITY;
    kn->isa->clamp(3, -1, 2, x, y);
    assert_true(isnan(y[0]) && y[1] == 2.0f && y[2] == -1.0f);
    kn->isa->unary[LL_UNARY_EXP](3, x, y);
    assert_true(isnan(y[0]) && y[1] == INFINITY && y[2] == 0.0f);
    x[3] = 0.0f, x[4] = -0.0f, x[5] = -13.3f, x[6] = -FLT_MAX, x[7] = FLT_MAX, x[8] = 1e-30f;
    kn->isa->unary[LL_UNARY_GELU](9, x, y);
    assert_true(isnan(y[0]) && y[1] == INFINITY && isnan(y[2])); /* x Phi(x), as it stands */
    assert_true(y[3] == 0.0f && !signbit(y[3]) && y[4] == 0.0f && signbit(y[4]));
    assert_true(y[5] == 0.0f && y[6] == 0.0f && y[7] == FLT_MAX && y[8] == 0.5e-30f);
}

static void odd_numbers_everywhere(void **state)
{
    (void)state;
    each_kern(odd_numbers);
}

/* --- two operands -------------------------------------------------------------------------------
 */

/* An operand seen as [rows,cols]: element (i,j) at i*row + j*col, col 0 or 1. */
typedef struct step {
    int64_t row, col;
} step;

typedef struct binary_case {
    ll_binary    op;
    int64_t      rows, cols;
    const float *a, *b;
    step         as, bs;
} binary_case;

static void run_binary(const ll_kern *kn, const void *user, float *out)
{
    const binary_case *c = user;
    for (int64_t i = 0; i < c->rows; i++)
        kn->isa->binary[c->op](c->cols, c->a + i * c->as.row, c->as.col, c->b + i * c->bs.row,
                               c->bs.col, out + i * c->cols);
}

static double combine(ll_binary op, double a, double b)
{
    switch (op) {
    case LL_BINARY_ADD:
        return a + b;
    case LL_BINARY_SUB:
        return a - b;
    case LL_BINARY_MUL:
        return a * b;
    case LL_BINARY_DIV:
        return a / b;
    case LL_BINARY_MAX:
        return fmax(a, b);
    default:
        return fmin(a, b);
    }
}

static void binary_ops(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = { { 1, 1 },   { 1, 0 },     { 3, 7 },
                                        { 64, 33 }, { 2, 20003 }, { 700, 40 } };
    for (int op = 0; op < LL_BINARY_COUNT; op++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            for (int how = 0; how < 16; how++) {
                const int64_t rows = sizes[s][0], cols = sizes[s][1];
                const step    steps[4] = { { cols, 1 }, { 0, 1 }, { 1, 0 }, { 0, 0 } };
                float        *a = draw(rows * cols + 1, 1, 3), *b = draw(rows * cols + 1, 1, 4);
                binary_case   c = { op, rows, cols, a, b, steps[how / 4], steps[how % 4] };
                truth         t = truth_new(rows * cols);
                for (int64_t i = 0; i < t.n; i++) {
                    const int64_t r = i / cols, j = i % cols;
                    const double  v = combine(op, (double)a[r * c.as.row + j * c.as.col],
                                              (double)b[r * c.bs.row + j * c.bs.col]);
                    truth_set(&t, i, (double)(float)v, 0.0); /* correctly rounded: equal */
                }
                check_kernel("binary", run_binary, &c, &t, 0.0);
                ll_free(a);
                ll_free(b);
                truth_free(&t);
            }
}

/* --- sums ----------------------------------------------------------------------------------------
 */

typedef struct sum_case {
    int64_t      rows, cols;
    const float *x;
    bool         flag;
} sum_case;

static void run_col_sum(const ll_kern *kn, const void *user, float *out)
{
    const sum_case *c = user;
    void           *work = work_new(ll_kern_col_sum_work(kn, c->rows, c->cols));
    for (int64_t j = 0; j < c->cols; j++) out[j] = c->flag ? 1.0f : NAN;
    ll_kern_col_sum(kn, c->rows, c->cols, c->x, c->cols + 2, c->flag, out, work);
    work_free(work);
}

static void run_row_sum(const ll_kern *kn, const void *user, float *out)
{
    const sum_case *c = user;
    ll_kern_row_sum(kn, c->rows, c->cols, c->x, c->cols + 2, out);
}

static void run_totals(const ll_kern *kn, const void *user, float *out)
{
    const sum_case *c = user;
    const int64_t   n = c->rows * (c->cols + 2);
    void           *work = work_new(ll_kern_sum_work(kn, n));
    out[0] = (float)ll_kern_sum(kn, n, c->x, work);
    out[1] = (float)ll_kern_sum_sq(kn, n, c->x, work);
    work_free(work);
}

static void sums(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = { { 0, 3 },    { 1, 1 },     { 3, 7 },
                                        { 129, 65 }, { 1000, 40 }, { 2, 50003 } };
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int flag = 0; flag < 2; flag++) {
            const int64_t rows = sizes[s][0], cols = sizes[s][1], n = rows * (cols + 2);
            float        *x = draw(n, 1, 5);
            sum_case      c = { rows, cols, x, flag };
            truth         col = truth_new(cols), row = truth_new(rows), all = truth_new(2);
            for (int64_t j = 0; j < cols; j++) truth_set(&col, j, flag ? 1.0 : 0.0, 1.0);
            for (int i = 0; i < 2; i++) truth_set(&all, i, 0.0, 1e-30);
            for (int64_t i = 0; i < n; i++) {
                const double  v = (double)x[i], add[] = { v, v * v };
                const int64_t r = i / (cols + 2), j = i % (cols + 2);
                for (int q = 0; q < 2; q++) all.want[q] += add[q], all.size[q] += fabs(add[q]);
                if (j >= cols) continue;
                col.want[j] += v, col.size[j] += fabs(v);
                row.want[r] += v, row.size[r] += fabs(v);
            }
            check_kernel("col_sum", run_col_sum, &c, &col, 1e-6);
            check_kernel("row_sum", run_row_sum, &c, &row, 1e-6);
            check_kernel("totals", run_totals, &c, &all, 1e-7);
            truth *all_t[] = { &col, &row, &all };
            for (int i = 0; i < 3; i++) truth_free(all_t[i]);
            ll_free(x);
        }
}

/* --- the small ones
 * ------------------------------------------------------------------------------- */

static void keep_thirds(const void *user, uint64_t first, int64_t n, float *scale)
{
    (void)user;
    for (int64_t j = 0; j < n; j++) scale[j] = (first + (uint64_t)j) % 3 ? 1.5f : 0.0f;
}

static void small_ones(const ll_kern *kn)
{
    enum { N = 30011 };
    float *x = draw(N, 1, 8), *y = ll_new(N, sizeof *y), *dy = draw(N, 1, 9);
    kn->isa->clamp(N, -0.5f, 1.0f, x, y);
    for (int i = 0; i < N; i++) assert_true(y[i] == fminf(fmaxf(x[i], -0.5f), 1.0f));
    kn->isa->clamp_grad(N, -0.5f, 1.0f, x, dy, y);
    for (int i = 0; i < N; i++) assert_true(y[i] == (x[i] >= -0.5f && x[i] <= 1.0f ? dy[i] : 0.0f));
    kn->isa->affine(N, 0.1f, 0.7f, x, y);
    for (int i = 0; i < N; i++) {
        const float product = 0.1f * x[i];
        assert_true(y[i] == product + 0.7f);
    }
    const ll_kern_drop drop = { keep_thirds, NULL };
    ll_kern_dropout(kn, drop, 4, N, x, y);
    for (int i = 0; i < N; i++) assert_true(y[i] == ((i + 4) % 3 ? 1.5f * x[i] : 0.0f * x[i]));
    ll_free(x);
    ll_free(y);
    ll_free(dy);
}

static void small_ones_everywhere(void **state)
{
    (void)state;
    each_kern(small_ones);
}

static void picking(void **state)
{
    (void)state;
    ll_kern kn = ll_kern_best(0);
    assert_true(kn.n_threads >= 1);
    assert_non_null(ll_kern_name(&kn));
    assert_true(ll_kern_pick("portable", 2, &kn));
    assert_string_equal(ll_kern_name(&kn), "portable");
    assert_int_equal(kn.n_threads, 2);
    assert_false(ll_kern_pick("abacus", 1, &kn));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picking),
        cmocka_unit_test(unary_ops),
        cmocka_unit_test(gelu_error_everywhere),
        cmocka_unit_test(odd_numbers_everywhere),
        cmocka_unit_test(binary_ops),
        cmocka_unit_test(sums),
        cmocka_unit_test(small_ones_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
