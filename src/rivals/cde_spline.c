/* The paths of a Neural CDE: splines through what was observed, in double. */
#include "base/alloc.h"
#include "base/error.h"
#include "rivals/neuralcde.h"

#include <assert.h>

/* The knots of one variable. */
typedef struct knots {
    int64_t  n;
    int64_t *row;
    double  *y;
    double  *slope, *upper; /* of a natural spline; scratch */
} knots;

static void add_knot(knots *k, int64_t row, double y)
{
    k->row[k->n] = row;
    k->y[k->n++] = y;
}

/* What was observed, and the first and last of it at the first and last row. */
static void find_knots(const float *x, const float *m, int64_t rows, int64_t vars, int64_t v,
                       knots *k)
{
    k->n = 0;
    for (int64_t r = 0; r < rows; r++) {
        if (m[r * vars + v] == 0.0f) continue;
        if (k->n == 0 && r > 0) add_knot(k, 0, (double)x[r * vars + v]);
        add_knot(k, r, (double)x[r * vars + v]);
    }
    if (k->n > 0 && k->row[k->n - 1] < rows - 1) add_knot(k, rows - 1, k->y[k->n - 1]);
}

static double width_of(const knots *k, int64_t i) { return (double)(k->row[i + 1] - k->row[i]); }

/* The slopes of a natural cubic spline at its knots: a tridiagonal system. */
static void natural_slopes(knots *k)
{
    double before = 0.0; /* 1/h on the left, and 3 dy/h^2 */
    double pull = 0.0;
    for (int64_t i = 0; i < k->n; i++) {
        const bool   last = i == k->n - 1;
        const double h = last ? 0.0 : width_of(k, i);
        const double next = last ? 0.0 : 1.0 / h;
        const double push = last ? 0.0 : 3.0 * (k->y[i + 1] - k->y[i]) / (h * h);
        double       diagonal = 2.0 * (before + next), right = pull + push;
        if (i > 0) {
            diagonal -= before * k->upper[i - 1];
            right -= before * k->slope[i - 1];
        }
        k->upper[i] = next / diagonal;
        k->slope[i] = right / diagonal;
        before = next;
        pull = push;
    }
    for (int64_t i = k->n - 2; i >= 0; i--) k->slope[i] -= k->upper[i] * k->slope[i + 1];
}

typedef struct cubic { /* a + b v + c v^2 + d v^3 */
    double a, b, c, d;
} cubic;

/* Between knots i and i + 1, from u rows behind the former. */
static cubic natural_piece(const knots *k, int64_t i, double u)
{
    const double h = width_of(k, i), s = (k->y[i + 1] - k->y[i]) / h;
    const double g = k->slope[i], after = k->slope[i + 1];
    const cubic  p = { k->y[i], g, (3.0 * s - 2.0 * g - after) / h,
                       (g + after - 2.0 * s) / (h * h) };
    return (cubic){ p.a + u * (p.b + u * (p.c + u * p.d)), p.b + u * (2.0 * p.c + 3.0 * u * p.d),
                    p.c + 3.0 * u * p.d, p.d };
}

/* The slope of the broken line through the knots, on the interval behind a row. */
static double step_at(const knots *k, int64_t i)
{
    return (k->y[i + 1] - k->y[i]) / width_of(k, i);
}

static void fill_variable(ll_cde_spline kind, const knots *k, int64_t rows, int64_t vars, int64_t v,
                          double *const coeffs[4])
{
    int64_t i = 0;    /* the knot at or before the row */
    double  last = 0; /* the slope of the interval before */
    for (int64_t r = 0; r + 1 < rows; r++) {
        cubic p = { 0 };
        while (k->n > 0 && i + 2 < k->n && k->row[i + 1] <= r) i++;
        if (k->n > 0) {
            assert(k->row[i] <= r && r < k->row[i + 1]);
            const double u = (double)(r - k->row[i]);
            if (kind == LL_CDE_NATURAL) p = natural_piece(k, i, u);
            else {
                const double D = step_at(k, i), P = r == 0 ? D : last;
                p = (cubic){ k->y[i] + u * D, P, 2.0 * (D - P), P - D };
                last = D;
            }
        }
        const double value[] = { p.a, p.b, p.c, p.d };
        for (int j = 0; j < 4; j++) coeffs[j][r * vars + v] = value[j];
    }
}

llap_status ll_cde_coefficients(ll_cde_spline kind, const float *x, const float *m, int64_t rows,
                                int64_t vars, double *const coeffs[4])
{
    const size_t most = (size_t)rows + 2;
    knots        k = { .row = ll_new(most, sizeof *k.row), .y = ll_new(3 * most, sizeof *k.y) };
    llap_status st = k.row == NULL || k.y == NULL ? ll_fail(LLAP_ENOMEM, "out of memory") : LLAP_OK;
    if (st == LLAP_OK) {
        k.slope = k.y + most;
        k.upper = k.slope + most;
        for (int64_t v = 0; v < vars; v++) {
            find_knots(x, m, rows, vars, v, &k);
            if (kind == LL_CDE_NATURAL && rows > 1) natural_slopes(&k);
            fill_variable(kind, &k, rows, vars, v, coeffs);
        }
    }
    ll_free(k.row);
    ll_free(k.y);
    return st;
}

int64_t ll_cde_places(const ll_neuralcde_config *cfg, int64_t rows)
{
    return 3 * cfg->n_sub * (rows - 1) + 1;
}

void ll_cde_slopes(const ll_neuralcde_config *cfg, const double *const coeffs[4], int64_t rows,
                   int64_t vars, float *out)
{
    const int64_t each = 3 * cfg->n_sub, n = ll_cde_places(cfg, rows);
    for (int64_t i = 0; i < n * vars; i++) {
        int64_t row = i / vars / each;
        if (row > rows - 2) row = rows - 2; /* the last one is the end of an interval */
        const double  v = (double)(i / vars - row * each) / (double)each;
        const int64_t at = row * vars + i % vars;
        out[i] = (float)(coeffs[1][at] + 2.0 * coeffs[2][at] * v + 3.0 * coeffs[3][at] * v * v);
    }
}
