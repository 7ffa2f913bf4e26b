#include "anchor/chain/chain_climate.h"

#include "anchor/chain/known_fit.h"
#include "base/alloc.h"
#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const double HOURS_YEAR = 8766.0, RIDGE = 20.0, RIDGE_PERIODS = 2.0;
enum {
    CLIMATE_SHORT = 11,
    TERMS_MOST = 1 + 2 * LL_PERIODS_MAX * LL_PERIOD_HARMONICS /* more than the few of a calendar */
};
static_assert(TERMS_MOST >= LL_CLIMATE_MAX, "normal equations have room");

void chain_solve(double *A, double *b, int n)
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
    double A[TERMS_MOST * TERMS_MOST], b[TERMS_MOST];
} normal_equations;

double chain_penalty(const ll_chain *c, int term)
{
    return c->profile.daily > 0 && term < ll_chain_usual_terms(c)
               ? chain_weekly_penalty(c->profile, term)
           : c->periods.n > 0 ? RIDGE_PERIODS
                              : RIDGE;
}

static void ridge(const ll_chain *c, normal_equations *eq, double *coef)
{
    const int n = c->n_climate;
    assert(n > 0 && n <= TERMS_MOST);
    for (int i = 0; i < n; i++) eq->A[i * n + i] += chain_penalty(c, i);
    chain_solve(eq->A, eq->b, n);
    memcpy(coef, eq->b, (size_t)n * sizeof *coef);
}

static void fit_climate_coefficients(ll_chain *c, const chain_values *v, bool pooled)
{
    const int        n = c->n_climate;
    normal_equations all = { 0 };
    size_t           i = 0;
    for (size_t e = 0; e < c->n_series; e++) {
        normal_equations own = { 0 };
        for (; i < v->ends[e]; i++) {
            double term[TERMS_MOST];
            chain_terms(c, v->t[i], term);
            for (int j = 0; j < n; j++) {
                own.b[j] += term[j] * v->x[i];
                for (int k = 0; k <= j; k++) own.A[j * n + k] += term[j] * term[k];
            }
        }
        for (int j = 0; j < n * n; j++) all.A[j] += own.A[j];
        for (int j = 0; j < n; j++) all.b[j] += own.b[j];
        if (!pooled) ridge(c, &own, c->climate + e * (size_t)n);
    }
    double *together = c->climate + c->n_series * (size_t)n;
    ridge(c, &all, together);
    for (size_t e = 0; e < c->n_series; e++) {
        const bool empty = v->ends[e] == (e > 0 ? v->ends[e - 1] : 0);
        if (pooled || empty)
            memcpy(c->climate + e * (size_t)n, together, (size_t)n * sizeof *together);
    }
}

/* Which terms there are, and room for their coefficients. */
static llap_status set_terms(ll_chain *c, const chain_values *v, const ll_chain_opts *o)
{
    double first = INFINITY, last = -INFINITY;
    for (size_t i = 0; i < v->n; i++) {
        if (!isfinite(v->t[i]))
            return ll_fail(LLAP_EINVAL, "chain: the time of a training value is %g", v->t[i]);
        first = fmin(first, v->t[i]);
        last = fmax(last, v->t[i]);
    }
    const bool years = last - first >= 2.0 * HOURS_YEAR;
    c->n_climate = years ? LL_CLIMATE_MAX : CLIMATE_SHORT;
    if (o->periods.n > 0) {
        c->periods = o->periods;
        c->n_climate = ll_periods_count(&c->periods);
    } else if (o->profile) {
        c->profile = ll_weekly_of(o->gap, years);
        c->n_climate = ll_weekly_count(c->profile);
    }
    if (o->holidays != NULL && c->periods.n == 0) {
        c->n_climate += LL_HOLIDAY_TERMS;
        const llap_status st = ll_holidays_copy(o->holidays, &c->holidays);
        if (st != LLAP_OK) return st;
    }
    c->climate = ll_new((c->n_series + 1) * (size_t)c->n_climate, sizeof *c->climate);
    return c->climate == NULL ? LLAP_ENOMEM : LLAP_OK;
}

llap_status chain_fit_climate(ll_chain *c, const chain_values *v, const ll_chain_opts *o)
{
    const bool known = o->known.known != NULL;
    c->r_s = 1.0;
    if (!o->climate && !known) return LLAP_OK;
    llap_status st = o->climate ? set_terms(c, v, o) : LLAP_OK;
    const bool  pooled = o->pooled || o->one_climate;
    if (st == LLAP_OK && (known || c->holidays != NULL))
        st = chain_fit_known(c, v, &o->known, pooled);
    else if (st == LLAP_OK && c->profile.daily > 0) st = chain_fit_profile(c, v, pooled);
    else if (st == LLAP_OK) fit_climate_coefficients(c, v, pooled);
    if (st != LLAP_OK) return st;
    double mean = 0.0, var = 0.0;
    size_t e = 0;
    for (size_t i = 0; i < v->n; i++) {
        while (i >= v->ends[e]) e++;
        v->x[i] -= ll_chain_mean(c, e, v->in[e], v->t[i]);
        mean += v->x[i];
    }
    mean /= (double)v->n;
    assert(v->n > 0 && e < c->n_series);
    for (size_t i = 0; i < v->n; i++) var += (v->x[i] - mean) * (v->x[i] - mean);
    var /= (double)v->n;
    if (var > 0.0) c->r_s = sqrt(var);
    return LLAP_OK;
}
