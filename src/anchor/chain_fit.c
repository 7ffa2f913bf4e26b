#include "anchor/chain.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/sort.h"

#include <math.h>
#include <string.h>

static const double HOURS_YEAR = 8766.0, RIDGE = 20.0;
enum { CLIMATE_SHORT = 11 };

static double hold(double x, double lo, double hi) /* NaN stays */
{
    return x < lo ? lo : x > hi ? hi : x;
}

typedef struct moments {
    double n, mean, var; /* of the population */
} moments;

/* Two passes over f of all values of series first .. last - 1. */
static moments moments_of(const ll_series *s, size_t first, size_t last, double lo, double hi)
{
    moments m = { 0 };
    for (size_t e = first; e < last; e++)
        for (size_t i = 0; i < s[e].n; i++) {
            if (isnan(s[e].y[i])) continue;
            m.n += 1.0;
            m.mean += hold(s[e].y[i], lo, hi);
        }
    if (m.n == 0.0) return m;
    m.mean /= m.n;
    for (size_t e = first; e < last; e++)
        for (size_t i = 0; i < s[e].n; i++) {
            if (isnan(s[e].y[i])) continue;
            const double d = hold(s[e].y[i], lo, hi) - m.mean;
            m.var += d * d;
        }
    m.var /= m.n;
    return m;
}

static void set_scale(ll_chain *c, size_t e, moments m)
{
    c->mu[e] = m.mean;
    c->sd[e] = m.var > 0.0 ? sqrt(m.var) : 1.0;
}

static void fit_scale(ll_chain *c, const ll_series *s, bool pooled)
{
    const size_t n = c->n_series;
    set_scale(c, n, moments_of(s, 0, n, c->y_lo, c->y_hi));
    for (size_t e = 0; e < n; e++) {
        const moments m = moments_of(s, e, e + 1, c->y_lo, c->y_hi);
        set_scale(c, e, m);
        if (!pooled && m.n > 0.0) continue;
        c->mu[e] = c->mu[n];
        c->sd[e] = c->sd[n];
    }
}

/* Quantile of sorted x, linear between neighbours. */
static double quantile(const double *x, size_t n, double p)
{
    const double at = p * (double)(n - 1);
    const size_t i = (size_t)at;
    return i + 1 < n ? x[i] + (at - (double)i) * (x[i + 1] - x[i]) : x[n - 1];
}

/* The training values as one list: z of every observed row, in the order of the series. */
typedef struct values {
    size_t  n;
    double *x;    /* [n] y, then z, then v, then u */
    double *t;    /* [n] */
    size_t *ends; /* [n_series] */
} values;

static void values_deinit(values *v)
{
    ll_free(v->x);
    ll_free(v->t);
    ll_free(v->ends);
}

static llap_status values_init(values *v, const ll_series *s, size_t n_series)
{
    *v = (values){ 0 };
    for (size_t e = 0; e < n_series; e++)
        for (size_t i = 0; i < s[e].n; i++) {
            if (isinf(s[e].y[i]))
                return ll_fail(LLAP_EINVAL, "chain: series %zu, row %zu: value %g is not finite", e,
                               i, s[e].y[i]);
            if (!isnan(s[e].y[i])) v->n++;
        }
    if (v->n == 0) return ll_fail(LLAP_EINVAL, "chain: no training value in %zu series", n_series);
    v->x = ll_new(v->n, sizeof *v->x);
    v->t = ll_new(v->n, sizeof *v->t);
    v->ends = ll_new(n_series, sizeof *v->ends);
    if (v->x == NULL || v->t == NULL || v->ends == NULL) return LLAP_ENOMEM;
    size_t at = 0;
    for (size_t e = 0; e < n_series; e++) {
        for (size_t i = 0; i < s[e].n; i++) {
            if (isnan(s[e].y[i])) continue;
            v->x[at] = s[e].y[i];
            v->t[at++] = s[e].t[i];
        }
        v->ends[e] = at;
    }
    return LLAP_OK;
}

static llap_status fit_tails(ll_chain *c, const values *v, double tail)
{
    c->y_lo = -INFINITY;
    c->y_hi = INFINITY;
    if (!(tail > 0.0)) return LLAP_OK;
    double *sorted = ll_new(v->n, sizeof *sorted);
    if (sorted == NULL) return LLAP_ENOMEM;
    memcpy(sorted, v->x, v->n * sizeof *sorted);
    ll_sort_doubles(sorted, v->n);
    c->y_lo = quantile(sorted, v->n, tail);
    c->y_hi = quantile(sorted, v->n, 1.0 - tail);
    ll_free(sorted);
    return LLAP_OK;
}

/* Of v where values are z. */
static moments moments_of_bent(const ll_chain *c, const values *z)
{
    moments m = { .n = (double)z->n };
    for (size_t i = 0, e = 0; i < z->n; i++) {
        while (i >= z->ends[e]) e++;
        m.mean += ll_chain_bend(c, e, z->x[i]);
    }
    m.mean /= m.n;
    for (size_t i = 0, e = 0; i < z->n; i++) {
        while (i >= z->ends[e]) e++;
        const double d = ll_chain_bend(c, e, z->x[i]) - m.mean;
        m.var += d * d;
    }
    m.var /= m.n;
    return m;
}

enum { N_LAMBDA = 31 };
static double lambda_at(int i) { return (i - 10) / 10.0; } /* -1.0, -0.9, .. 2.0 */

static void fit_lambda(ll_chain *c, const values *z, ll_transform transform)
{
    c->lambda = 1.0;
    c->log1p = transform == LL_TRANSFORM_LOG1P;
    c->asinh = transform == LL_TRANSFORM_ASINH;
    if (transform == LL_TRANSFORM_YEO_JOHNSON) {
        double grown = 0.0; /* log of the derivative is (lambda - 1) times this */
        double score[N_LAMBDA];
        int    best = 0;
        for (size_t i = 0; i < z->n; i++) grown += copysign(log1p(fabs(z->x[i])), z->x[i]);
#pragma omp parallel for schedule(dynamic, 1)
        for (int i = 0; i < N_LAMBDA; i++) {
            const moments m = moments_of_bent(&(ll_chain){ .lambda = lambda_at(i) }, z);
            score[i] = -0.5 * m.n * log(m.var) + (lambda_at(i) - 1.0) * grown;
        }
        for (int i = 1; i < N_LAMBDA; i++)
            if (score[i] > score[best]) best = i;
        if (isfinite(score[best])) c->lambda = lambda_at(best); /* not: all values are equal */
    }
    const moments m = moments_of_bent(c, z);
    c->g_m = m.mean;
    c->g_s = m.var > 0.0 ? sqrt(m.var) : 1.0;
}

/* Solves A x = b, A [n,n] symmetric positive definite, in place; b becomes x. */
static void solve(double *A, double *b, int n)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = A[i * n + j];
            for (int k = 0; k < j; k++) sum -= A[i * n + k] * A[j * n + k];
            A[i * n + j] = i == j ? sqrt(sum) : sum / A[j * n + j];
        }
        for (int k = 0; k < i; k++) b[i] -= A[i * n + k] * b[k];
        b[i] /= A[i * n + i];
    }
    for (int i = n; i-- > 0;) {
        for (int k = i + 1; k < n; k++) b[i] -= A[k * n + i] * b[k];
        b[i] /= A[i * n + i];
    }
}

typedef struct normal_equations {
    double A[LL_CLIMATE_MAX * LL_CLIMATE_MAX], b[LL_CLIMATE_MAX];
} normal_equations;

static void ridge(const ll_chain *c, normal_equations *eq, double *coef)
{
    const int n = c->n_climate;
    for (int i = 0; i < n; i++) eq->A[i * n + i] += RIDGE;
    solve(eq->A, eq->b, n);
    memcpy(coef, eq->b, (size_t)n * sizeof *coef);
}

static void fit_climate_coefficients(ll_chain *c, const values *v, bool pooled)
{
    const int        n = c->n_climate;
    normal_equations all = { 0 };
    size_t           i = 0;
    for (size_t e = 0; e < c->n_series; e++) {
        normal_equations own = { 0 };
        for (; i < v->ends[e]; i++) {
            double term[LL_CLIMATE_MAX];
            ll_climate_terms(v->t[i], n, term);
            for (int j = 0; j < n; j++) {
                own.b[j] += term[j] * v->x[i];
                for (int k = 0; k <= j; k++) own.A[j * n + k] += term[j] * term[k];
            }
        }
        for (int j = 0; j < n * n; j++) all.A[j] += own.A[j];
        for (int j = 0; j < n; j++) all.b[j] += own.b[j];
        ridge(c, &own, c->climate + e * (size_t)n);
    }
    double *together = c->climate + c->n_series * (size_t)n;
    ridge(c, &all, together);
    for (size_t e = 0; e < c->n_series; e++) {
        const bool empty = v->ends[e] == (e > 0 ? v->ends[e - 1] : 0);
        if (pooled || empty)
            memcpy(c->climate + e * (size_t)n, together, (size_t)n * sizeof *together);
    }
}

/* v holds u; r_s becomes the deviation of what the calendar does not explain. */
static llap_status fit_climate(ll_chain *c, const values *v, const ll_chain_opts *o)
{
    c->r_s = 1.0;
    if (!o->climate) return LLAP_OK;
    double first = INFINITY, last = -INFINITY;
    for (size_t i = 0; i < v->n; i++) {
        if (!isfinite(v->t[i]))
            return ll_fail(LLAP_EINVAL, "chain: the time of a training value is %g", v->t[i]);
        first = fmin(first, v->t[i]);
        last = fmax(last, v->t[i]);
    }
    const bool years = last - first >= 2.0 * HOURS_YEAR;
    c->n_climate = years ? LL_CLIMATE_MAX : CLIMATE_SHORT;
    c->climate = ll_new((c->n_series + 1) * (size_t)c->n_climate, sizeof *c->climate);
    if (c->climate == NULL) return LLAP_ENOMEM;
    fit_climate_coefficients(c, v, o->pooled);
    double mean = 0.0, var = 0.0;
    size_t e = 0;
    for (size_t i = 0; i < v->n; i++) {
        while (i >= v->ends[e]) e++;
        v->x[i] -= ll_chain_climate(c, e, v->t[i]);
        mean += v->x[i];
    }
    mean /= (double)v->n;
    for (size_t i = 0; i < v->n; i++) var += (v->x[i] - mean) * (v->x[i] - mean);
    var /= (double)v->n;
    if (var > 0.0) c->r_s = sqrt(var);
    return LLAP_OK;
}

static llap_status fit(ll_chain *c, const ll_series *s, values *v, const ll_chain_opts *o)
{
    llap_status st = fit_tails(c, v, o->tail);
    if (st != LLAP_OK) return st;
    fit_scale(c, s, o->pooled);
    double lo = INFINITY, hi = -INFINITY;
    size_t e = 0;
    for (size_t i = 0; i < v->n; i++) {
        while (i >= v->ends[e]) e++;
        v->x[i] = ll_chain_z(c, e, v->x[i]);
        lo = fmin(lo, v->x[i]);
        hi = fmax(hi, v->x[i]);
    }
    c->z_lo = lo - 0.2;
    c->z_hi = isfinite(c->z_clip) ? c->z_clip : hi + 0.2;
    fit_lambda(c, v, o->transform);
    e = 0;
    for (size_t i = 0; i < v->n; i++) {
        while (i >= v->ends[e]) e++;
        v->x[i] = (ll_chain_bend(c, e, v->x[i]) - c->g_m) / c->g_s;
    }
    return fit_climate(c, v, o);
}

llap_status ll_chain_fit(const ll_series *train, size_t n, const ll_chain_opts *o, ll_chain **out)
{
    *out = NULL;
    if (!(o->z_clip > 0.0) || !(o->tail >= 0.0) || !(o->tail < 0.5))
        return ll_fail(LLAP_EINVAL,
                       "chain: expected z_clip > 0 and 0 <= tail < 0.5, "
                       "found %g and %g",
                       o->z_clip, o->tail);
    values      v;
    ll_chain   *c = NULL;
    llap_status st = values_init(&v, train, n);
    if (st == LLAP_OK) {
        c = ll_new(1, sizeof *c);
        if (c == NULL) st = LLAP_ENOMEM;
    }
    if (st == LLAP_OK) {
        c->n_series = n;
        c->z_clip = o->z_clip;
        c->y_min = -INFINITY;
        c->y_max = INFINITY;
        c->mu = ll_new(n + 1, sizeof *c->mu);
        c->sd = ll_new(n + 1, sizeof *c->sd);
        st = c->mu == NULL || c->sd == NULL ? LLAP_ENOMEM : fit(c, train, &v, o);
    }
    values_deinit(&v);
    if (st == LLAP_OK) *out = c;
    else ll_chain_destroy(c);
    return st;
}
