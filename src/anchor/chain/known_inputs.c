/* What the known columns of training are like: numbers, flags or categories, and what is usual. */
#include "anchor/chain/chain_climate.h"
#include "anchor/chain/known.h"
#include "anchor/chain/quantile.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const double HOURS_YEAR = 8766.0, RIDGE = 20.0;

/* Values of one column, sorted; NULL where there are none. Caller frees it. */
static llap_status sorted_values(const ll_known_data *d, int32_t column, double **out, size_t *n)
{
    size_t rows = 0;
    for (size_t e = 0; e < d->n_series; e++) rows += d->rows[e];
    *n = 0;
    *out = ll_new(rows, sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    for (size_t e = 0; e < d->n_series; e++) {
        const double *x = d->raw[e] + (size_t)column * d->stride[e];
        for (size_t r = 0; r < d->rows[e]; r++)
            if (!isnan(x[r])) (*out)[(*n)++] = x[r];
    }
    ll_sort_doubles(*out, *n);
    return LLAP_OK;
}

/* The different values, at most LL_KNOWN_LEVELS of them and whole: a flag or a category. Returns
 * their number; 0: a number. */
static int levels_of(const double *sorted, size_t n, double *level)
{
    int count = 0;
    for (size_t i = 0; i < n; i++) {
        if (count > 0 && sorted[i] == level[count - 1]) continue;
        if (count == LL_KNOWN_LEVELS || sorted[i] != floor(sorted[i])) return 0;
        level[count++] = sorted[i];
    }
    return count;
}

/* Equal knots are one; where fewer than three are left, a straight line over the range. */
static void set_knots(const double *sorted, size_t n, ll_known_input *in)
{
    static const double at[LL_KNOWN_KNOTS] = { .02, .15, .35, .65, .85, .98 };
    for (int k = 0; k < LL_KNOWN_KNOTS; k++) {
        const double q = ll_quantile(sorted, n, at[k]);
        if (in->n_knots == 0 || q > in->knot[in->n_knots - 1]) in->knot[in->n_knots++] = q;
    }
    if (in->n_knots >= 3) return;
    in->n_knots = 2;
    in->knot[0] = sorted[0];
    in->knot[1] = sorted[n - 1];
}

/* ---- what is usual ---- */

/* Value r of series e as the input has it; NaN: missing. */
static double value_of(const ll_known_data *d, const ll_known_input *in, size_t e, size_t r)
{
    const double x = d->raw[e][(size_t)in->column * d->stride[e] + r];
    return in->kind == LL_KNOWN_NUMBER || isnan(x) ? x : (double)(x == in->level);
}

static double mean_of(const ll_known_data *d, const ll_known_input *in)
{
    double sum = 0.0, n = 0.0;
    for (size_t e = 0; e < d->n_series; e++)
        for (size_t r = 0; r < d->rows[e]; r++) {
            const double x = value_of(d, in, e, r);
            if (!isnan(x)) sum += x, n += 1.0;
        }
    return sum / n;
}

/* A ridge of what is off the mean on the few terms of day, week and year. */
static void fit_usual(const ll_known_data *d, double mean, ll_known_input *in)
{
    const int n = in->n_usual;
    double    A[LL_CLIMATE_MAX * LL_CLIMATE_MAX] = { 0 }, term[LL_CLIMATE_MAX];
    assert(n >= 1 && n <= LL_CLIMATE_MAX);
    for (size_t e = 0; n > 1 && e < d->n_series; e++)
        for (size_t r = 0; r < d->rows[e]; r++) {
            const double x = value_of(d, in, e, r);
            if (isnan(x)) continue;
            ll_climate_terms(d->t[e][r], n, term);
            for (int i = 0; i < n; i++) {
                in->usual[i] += term[i] * (x - mean);
                for (int j = 0; j <= i; j++) A[i * n + j] += term[i] * term[j];
            }
        }
    for (int i = 0; i < n; i++) A[i * n + i] += RIDGE;
    if (n > 1) chain_solve(A, in->usual, n);
    in->usual[0] += mean;
}

static double off_usual(const ll_known_data *d, const ll_known_input *in, size_t e, size_t r)
{
    const double x = value_of(d, in, e, r);
    double       term[LL_CLIMATE_MAX], usual = in->usual[0];
    if (isnan(x)) return x;
    if (in->n_usual > 1) {
        usual = 0.0;
        ll_climate_terms(d->t[e][r], in->n_usual, term);
        for (int32_t i = 0; i < in->n_usual; i++) usual += in->usual[i] * term[i];
    }
    return x - usual;
}

/* Variance of what is off the usual, and its correlation from one known value to the next. */
static void fit_lag(const ll_known_data *d, ll_known_input *in)
{
    double n = 0.0, square = 0.0, pairs = 0.0, both = 0.0, a = 0.0, b = 0.0, gap = 0.0;
    for (size_t e = 0; e < d->n_series; e++) {
        double last = NAN, at = 0.0;
        for (size_t r = 0; r < d->rows[e]; r++) {
            const double x = off_usual(d, in, e, r), t = d->t[e][r];
            if (isnan(x)) continue;
            n += 1.0;
            square += x * x;
            if (!isnan(last) && t > at) {
                pairs += 1.0;
                both += x * last;
                a += x * x;
                b += last * last;
                gap += t - at;
            }
            last = x;
            at = t;
        }
    }
    in->var = square / n;
    const double r = a > 0.0 && b > 0.0 ? both / sqrt(a * b) : 0.0;
    in->phi = r > 0.0 && pairs > 0.0 ? pow(fmin(r, 1.0), pairs / gap) : 0.0;
}

static int32_t usual_terms(const ll_known_data *d, bool daily)
{
    double first = INFINITY, last = -INFINITY;
    if (!daily) return 1;
    for (size_t e = 0; e < d->n_series; e++) {
        if (d->rows[e] == 0) continue;
        first = fmin(first, d->t[e][0]);
        last = fmax(last, d->t[e][d->rows[e] - 1]);
    }
    return last - first >= 2.0 * HOURS_YEAR ? LL_CLIMATE_MAX : 11;
}

/* The inputs of one column behind those that are there. */
static llap_status add_column(const ll_known_data *d, int32_t column, int32_t n_usual, ll_known *k)
{
    double      level[LL_KNOWN_LEVELS], *x = NULL;
    size_t      n = 0;
    llap_status st = sorted_values(d, column, &x, &n);
    if (st == LLAP_OK && n > 0 && x[0] < x[n - 1]) {
        const int  count = levels_of(x, n, level);
        const bool binary = count == 2 && level[0] == 0.0 && level[1] == 1.0;
        for (int i = binary; i < (count == 0 ? 1 : count) && k->n < LL_KNOWN_INPUTS; i++) {
            ll_known_input *in = &k->input[k->n++];
            *in = (ll_known_input){ .column = column, .n_usual = n_usual };
            if (count > 0) {
                in->kind = LL_KNOWN_FLAG;
                in->level = level[i];
            } else {
                set_knots(x, n, in);
            }
            fit_usual(d, mean_of(d, in), in);
            fit_lag(d, in);
        }
    }
    ll_free(x);
    return st;
}

llap_status ll_known_fit_inputs(const ll_known_data *d, bool daily, ll_known **out)
{
    *out = NULL;
    ll_known *k = ll_new(1, sizeof *k);
    if (k == NULL) return LLAP_ENOMEM;
    k->n_columns = d->n_columns;
    k->daily = daily;
    k->input = ll_new(LL_KNOWN_INPUTS, sizeof *k->input);
    llap_status   st = k->input == NULL ? LLAP_ENOMEM : LLAP_OK;
    const int32_t n_usual = usual_terms(d, daily);
    for (int32_t c = 0; st == LLAP_OK && c < d->n_columns; c++) st = add_column(d, c, n_usual, k);
    if (st == LLAP_OK) *out = k;
    else ll_known_destroy(k);
    return st;
}
