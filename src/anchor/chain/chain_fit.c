#include "anchor/chain/chain_climate.h"
#include "anchor/chain/chain_kinds.h"
#include "anchor/chain/chain_scale.h"
#include "anchor/chain/chain_static.h"
#include "anchor/chain/glitch.h"
#include "anchor/chain/quantile.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/sort.h"

#include <assert.h>
#include <math.h>
#include <string.h>

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
    assert(e <= c->n_series && m.var >= 0.0);
    c->mu[e] = m.mean;
    c->sd[e] = m.var > 0.0 ? sqrt(m.var) : 1.0;
}

void chain_scale_of(const ll_series *s, double *mu, double *sd)
{
    const moments m = moments_of(s, 0, 1, -INFINITY, INFINITY);
    assert(m.n > 0.0);
    *mu = m.mean;
    *sd = m.var > 0.0 ? sqrt(m.var) : 1.0;
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

static void values_deinit(chain_values *v)
{
    ll_free(v->x);
    ll_free(v->t);
    ll_free(v->ends);
    ll_free(v->in);
}

static llap_status values_init(chain_values *v, const ll_series *s, size_t n_series)
{
    *v = (chain_values){ 0 };
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
    v->in = ll_new(n_series, sizeof *v->in);
    if (v->x == NULL || v->t == NULL || v->ends == NULL || v->in == NULL) return LLAP_ENOMEM;
    size_t at = 0;
    for (size_t e = 0; e < n_series; e++) {
        for (size_t i = 0; i < s[e].n; i++) {
            if (isnan(s[e].y[i])) continue;
            v->x[at] = s[e].y[i];
            v->t[at++] = s[e].t[i];
        }
        v->ends[e] = at;
        v->in[e] = s[e].in;
    }
    assert(at == v->n);
    return LLAP_OK;
}

static llap_status fit_tails(ll_chain *c, const chain_values *v, double tail)
{
    c->y_lo = -INFINITY;
    c->y_hi = INFINITY;
    if (!(tail > 0.0)) return LLAP_OK;
    double *sorted = ll_new(v->n, sizeof *sorted);
    if (sorted == NULL) return LLAP_ENOMEM;
    memcpy(sorted, v->x, v->n * sizeof *sorted);
    ll_sort_doubles(sorted, v->n);
    c->y_lo = ll_quantile(sorted, v->n, tail);
    c->y_hi = ll_quantile(sorted, v->n, 1.0 - tail);
    assert(c->y_lo <= c->y_hi);
    ll_free(sorted);
    return LLAP_OK;
}

/* Of v where values are z. */
static moments moments_of_bent(const ll_chain *c, const chain_values *z)
{
    moments m = { .n = (double)z->n };
    assert(z->n > 0);
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

/* The most likely one, or 1 where all values are equal. */
static double best_lambda(const chain_values *z)
{
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
    return isfinite(score[best]) ? lambda_at(best) : 1.0;
}

/* Knots of the tails, and lambda from values that no outlier rules: z held within +-5. */
static llap_status fit_tail_curve(ll_chain *c, const chain_values *z, const ll_chain_opts *o)
{
    const double at[] = { .05, .95 }, most = 5.0;
    chain_values held = *z;
    if (o->like != NULL && o->like->curve == c->curve) {
        c->lambda = o->like->lambda;
        memcpy(c->knot, o->like->knot, sizeof c->knot);
        return LLAP_OK;
    }
    held.x = ll_new(z->n, sizeof *held.x);
    if (held.x == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < z->n; i++) held.x[i] = hold(z->x[i], -most, most);
    if (o->transform == LL_TRANSFORM_YEO_JOHNSON) c->lambda = best_lambda(&held);
    memcpy(held.x, z->x, z->n * sizeof *held.x);
    ll_sort_doubles(held.x, z->n);
    for (int k = 0; k < 2; k++) c->knot[k] = ll_quantile(held.x, z->n, at[k]);
    assert(c->knot[0] <= c->knot[1]);
    ll_free(held.x);
    return LLAP_OK;
}

static llap_status fit_curve(ll_chain *c, const chain_values *z, const ll_chain_opts *o)
{
    const ll_transform transform = c->curve == LL_CURVE_LOG ? LL_TRANSFORM_NONE : o->transform;
    llap_status        st = LLAP_OK;
    c->lambda = 1.0;
    c->log1p = transform == LL_TRANSFORM_LOG1P;
    c->asinh = transform == LL_TRANSFORM_ASINH;
    if (c->curve != LL_CURVE_CLIPPED && c->curve != LL_CURVE_LOG) st = fit_tail_curve(c, z, o);
    else if (transform == LL_TRANSFORM_YEO_JOHNSON) c->lambda = best_lambda(z);
    const moments m = moments_of_bent(c, z);
    c->g_m = m.mean;
    c->g_s = m.var > 0.0 ? sqrt(m.var) : 1.0;
    return st;
}

/* The links behind z; v holds y of every training value. */
static llap_status fit_links(ll_chain *c, chain_values *v, const ll_chain_opts *o)
{
    double lo = INFINITY, hi = -INFINITY;
    size_t e = 0;
    for (size_t i = 0; i < v->n; i++) {
        while (i >= v->ends[e]) e++;
        v->x[i] = ll_chain_z(c, e, v->x[i]);
        lo = fmin(lo, v->x[i]);
        hi = fmax(hi, v->x[i]);
    }
    if (c->curve == LL_CURVE_CLIPPED) {
        c->z_lo = lo - 0.2;
        c->z_hi = isfinite(c->z_clip) ? c->z_clip : hi + 0.2;
    }
    const llap_status st = fit_curve(c, v, o);
    if (st != LLAP_OK) return st;
    e = 0;
    for (size_t i = 0; i < v->n; i++) {
        while (i >= v->ends[e]) e++;
        v->x[i] = (ll_chain_bend(c, e, v->x[i]) - c->g_m) / c->g_s;
    }
    return chain_fit_climate(c, v, o);
}

/* Range of the training values of each series; one without a value has that of all. */
static void fit_range(ll_chain *c, const ll_series *s, bool pooled)
{
    const size_t n = c->n_series;
    c->low[n] = INFINITY;
    c->high[n] = -INFINITY;
    for (size_t e = 0; e < n; e++) {
        c->low[e] = INFINITY;
        c->high[e] = -INFINITY;
        for (size_t i = 0; i < s[e].n; i++) {
            c->low[e] = fmin(c->low[e], s[e].y[i]); /* NaN is passed over */
            c->high[e] = fmax(c->high[e], s[e].y[i]);
        }
        c->low[n] = fmin(c->low[n], c->low[e]);
        c->high[n] = fmax(c->high[n], c->high[e]);
    }
    for (size_t e = 0; e < n; e++)
        if (pooled || c->low[e] > c->high[e]) c->low[e] = c->low[n], c->high[e] = c->high[n];
}

/* mu and sd of the logarithms or logits of y [rows] of s, in the place of those of y itself. */
static llap_status bend_first(ll_chain *c, const ll_series *s, double *y, size_t rows,
                              const ll_chain_opts *o)
{
    const size_t n = c->n_series;
    llap_status  st = o->curve == LL_CURVE_LOG ? chain_fit_log(c, y, rows, &o->values)
                                               : chain_fit_logit(c, y, rows);
    if (st != LLAP_OK) return st;
    c->y_mu = c->mu;
    c->y_sd = c->sd;
    c->mu = ll_new(n + 1, sizeof *c->mu);
    c->sd = ll_new(n + 1, sizeof *c->sd);
    double *const was = ll_new(rows, sizeof *was);
    if (c->mu == NULL || c->sd == NULL || was == NULL) {
        ll_free(was);
        return LLAP_ENOMEM;
    }
    for (size_t e = 0; e <= n; e++) c->sd[e] = 1.0; /* z is the logarithm itself, so far */
    memcpy(was, y, rows * sizeof *y);
    c->curve = o->curve;
    for (size_t i = 0; i < rows; i++) y[i] = ll_chain_z(c, 0, y[i]);
    fit_scale(c, s, o->pooled && !chain_has_statics(o));
    memcpy(y, was, rows * sizeof *y);
    ll_free(was);
    return chain_has_statics(o) ? chain_take_statics(c, s, o) : LLAP_OK;
}

/* Without walls: glitches are left out, nothing is clipped. y [rows] is room for the values. */
static llap_status fit_free(ll_chain *c, const ll_series *train, ll_series *s, double *y,
                            size_t rows, const ll_chain_opts *o)
{
    const size_t n = c->n_series;
    bool        *drop = ll_new(rows, sizeof *drop);
    llap_status  st = drop == NULL ? LLAP_ENOMEM : LLAP_OK;
    c->glitch_end = 1.0;
    if (st == LLAP_OK && o->like != NULL) {
        assert(o->like->n_series == n && o->like->glitch != NULL);
        memcpy(c->glitch, o->like->glitch, (n + 1) * sizeof *c->glitch);
        c->glitch_end = o->like->glitch_end;
    } else if (st == LLAP_OK && !o->values.keep_glitches) /* else all limits stay 0: none */
        st = ll_glitch_fit(train, n, o->pooled, o->values.kind == LL_KIND_COUNT, c->glitch,
                           &c->glitch_end);
    for (size_t e = 0, at = 0; st == LLAP_OK && e < n; at += train[e].n, e++) {
        s[e] = (ll_series){ .n = train[e].n, .t = train[e].t, .y = y + at, .in = train[e].in };
        ll_chain_mark(c, e, train[e].y, train[e].n, drop);
        for (size_t i = 0; i < train[e].n; i++) y[at + i] = drop[i] ? NAN : train[e].y[i];
    }
    ll_free(drop);
    if (st != LLAP_OK) return st;
    fit_range(c, s, o->pooled);
    const bool told = chain_has_statics(o) && o->curve == LL_CURVE_TAILS;
    fit_scale(c, s, o->pooled && !told);
    if (o->curve == LL_CURVE_COUNTS) st = chain_fit_counts(c, s, o);
    else if (o->curve != LL_CURVE_TAILS) st = bend_first(c, s, y, rows, o);
    else if (told) st = chain_take_statics(c, s, o);
    if (st == LLAP_OK && o->curve != LL_CURVE_COUNTS) {
        chain_values v;
        c->curve = o->curve;
        st = values_init(&v, s, n);
        if (st == LLAP_OK) st = fit_links(c, &v, o);
        values_deinit(&v);
    }
    return st == LLAP_OK ? chain_finish_statics(c, s, o) : st;
}

static llap_status fit_without_walls(ll_chain *c, const ll_series *train, const ll_chain_opts *o)
{
    const size_t n = c->n_series;
    size_t       rows = 0;
    for (size_t e = 0; e < n; e++) rows += train[e].n;
    c->z_clip = INFINITY;
    c->low = ll_new(n + 1, sizeof *c->low);
    c->high = ll_new(n + 1, sizeof *c->high);
    c->glitch = ll_new(n + 1, sizeof *c->glitch);
    ll_series *s = ll_new(n, sizeof *s);
    double    *y = ll_new(rows, sizeof *y);
    const bool ok =
        c->low != NULL && c->high != NULL && c->glitch != NULL && s != NULL && y != NULL;
    const llap_status st = ok ? fit_free(c, train, s, y, rows, o) : LLAP_ENOMEM;
    ll_free(s);
    ll_free(y);
    return st;
}

static llap_status fit_clipped(ll_chain *c, const ll_series *s, chain_values *v,
                               const ll_chain_opts *o)
{
    const llap_status st = fit_tails(c, v, o->tail);
    if (st != LLAP_OK) return st;
    fit_scale(c, s, o->pooled);
    return fit_links(c, v, o);
}

llap_status ll_chain_fit(const ll_series *train, size_t n, const ll_chain_opts *o, ll_chain **out)
{
    *out = NULL;
    if (!(o->z_clip > 0.0) || !(o->tail >= 0.0) || !(o->tail < 0.5))
        return ll_fail(LLAP_EINVAL,
                       "chain: expected z_clip > 0 and 0 <= tail < 0.5, "
                       "found %g and %g",
                       o->z_clip, o->tail);
    if (o->profile && !(o->gap > 0.0 && o->gap < 24.0))
        return ll_fail(LLAP_EINVAL, "chain: a profile needs a gap of 0 to 24 hours, found %g",
                       o->gap);
    chain_values v;
    ll_chain    *c = NULL;
    llap_status  st = values_init(&v, train, n);
    if (st == LLAP_OK) {
        c = ll_new(1, sizeof *c);
        if (c == NULL) st = LLAP_ENOMEM;
    }
    if (st == LLAP_OK) {
        c->n_series = n;
        c->z_clip = o->z_clip;
        c->y_min = o->values.has_min ? o->values.min : -INFINITY;
        c->y_max = o->values.has_max ? o->values.max : INFINITY;
        c->kind = o->values.kind;
        c->y_lo = -INFINITY;
        c->y_hi = INFINITY;
        c->mu = ll_new(n + 1, sizeof *c->mu);
        c->sd = ll_new(n + 1, sizeof *c->sd);
        st = c->mu == NULL || c->sd == NULL ? LLAP_ENOMEM
             : o->curve != LL_CURVE_CLIPPED ? fit_without_walls(c, train, o)
                                            : fit_clipped(c, train, &v, o);
    }
    values_deinit(&v);
    if (st == LLAP_OK) *out = c;
    else ll_chain_destroy(c);
    return st;
}
