#include "anchor/chain/chain_kinds.h"

#include "anchor/chain/chain_static.h"
#include "anchor/chain/negbin.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"

#include <assert.h>
#include <math.h>

static double hold(double x, double lo, double hi) /* NaN stays */
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* ---- counts ---- */

/* The part of the week that t, in hours since 1970, lies in. */
static size_t part_of_week(const ll_chain *c, double t)
{
    if (c->n_week == 1) return 0;
    const double  hours = t - 168.0 * floor(t / 168.0);
    const int32_t part = (int32_t)(hours * c->n_week / 168.0);
    return (size_t)(part < c->n_week ? part : c->n_week - 1);
}

double chain_count_mean(const ll_chain *c, size_t e, double t)
{
    const double mean = c->rate[ll_chain_row(c, e)] * c->week[part_of_week(c, t)];
    return hold(mean, LL_NEGBIN_MEAN_LEAST, LL_NEGBIN_MEAN_MOST);
}

double chain_count_score(const ll_chain *c, size_t e, double mean, double z, double v)
{
    e = ll_chain_row(c, e);
    const ll_negbin law = { mean, c->dispersion };
    return ll_negbin_score(&law, floor(c->mu[e] + c->sd[e] * z + 0.5), v);
}

double chain_count_back(const ll_chain *c, size_t e, double mean, double u)
{
    e = ll_chain_row(c, e);
    const ll_negbin law = { mean, c->dispersion };
    return (ll_negbin_quantile(&law, u) - c->mu[e]) / c->sd[e];
}

double ll_chain_target(const ll_chain *c, size_t e, size_t row, const ll_inputs *in, double t,
                       double y)
{
    const double z = ll_chain_z(c, e, y);
    if (c->curve != LL_CURVE_COUNTS || isnan(z))
        return isnan(z) ? NAN : ll_chain_u_given(c, e, ll_chain_mean(c, e, in, t), z);
    const ll_rng rng = ll_rng_make(0, LL_STREAM_FIT, 2, (uint32_t)e, 0);
    const double v = (double)ll_rng_uniform(&rng, row) + 0x1p-25; /* within (0, 1) */
    return chain_count_score(c, e, chain_count_mean(c, e, t), z, v);
}

/* m_e = (sum y + 2 m)/(n + 2), m of all. */
static llap_status fit_rates(ll_chain *c, const ll_series *s, bool pooled)
{
    const double doubt = 2.0;
    double       sum = 0.0, n = 0.0;
    for (int pass = 0; pass < 2; pass++) {
        const double m = sum / n;
        for (size_t e = 0; e < c->n_series; e++) {
            double own = 0.0, count = 0.0;
            for (size_t i = 0; i < s[e].n; i++) {
                const double y = s[e].y[i];
                if (isnan(y)) continue;
                if (!(y >= 0.0 && y == floor(y) && y <= LL_NEGBIN_MEAN_MOST))
                    return ll_fail(LLAP_EINVAL, "chain: series %zu, row %zu: %g is no count", e, i,
                                   y);
                own += y;
                count += 1.0;
            }
            if (pass == 0) sum += own, n += count;
            else c->rate[e] = pooled ? m : (own + doubt * m) / (count + doubt);
        }
        if (!(sum > 0.0)) return ll_fail(LLAP_EINVAL, "chain: counts: all training values are 0");
    }
    c->rate[c->n_series] = sum / n;
    return LLAP_OK;
}

/* w = (sum y + 5)/(sum m_e + 5), over all series. */
static void fit_week(ll_chain *c, const ll_series *s, double *expected)
{
    const double doubt = 5.0;
    for (int32_t k = 0; k < c->n_week; k++) c->week[k] = expected[k] = doubt;
    for (size_t e = 0; e < c->n_series; e++)
        for (size_t i = 0; i < s[e].n; i++) {
            if (isnan(s[e].y[i])) continue;
            const size_t k = part_of_week(c, s[e].t[i]);
            c->week[k] += s[e].y[i];
            expected[k] += c->rate[e];
        }
    for (int32_t k = 0; k < c->n_week; k++) c->week[k] /= expected[k];
}

/* r = sum m^2 / sum((y - m)^2 - m): what the variance has beyond a Poisson law's. */
static void fit_dispersion(ll_chain *c, const ll_series *s)
{
    double squares = 0.0, beyond = 0.0;
    for (size_t e = 0; e < c->n_series; e++)
        for (size_t i = 0; i < s[e].n; i++) {
            if (isnan(s[e].y[i])) continue;
            const double m = chain_count_mean(c, e, s[e].t[i]), d = s[e].y[i] - m;
            squares += m * m;
            beyond += d * d - m;
        }
    c->dispersion = beyond > 0.0 ? hold(squares / beyond, LL_NEGBIN_R_LEAST, LL_NEGBIN_R_MOST)
                                 : LL_NEGBIN_R_MOST;
}

llap_status chain_fit_counts(ll_chain *c, const ll_series *s, const ll_chain_opts *o)
{
    const int32_t n_week = o->values.week;
    enum { WEEK_MOST = 168 };
    double expected[WEEK_MOST];
    assert(n_week == 1 || n_week == 7 || n_week == WEEK_MOST);
    c->n_week = n_week;
    c->rate = ll_new(c->n_series + 1, sizeof *c->rate);
    c->week = ll_new((size_t)n_week, sizeof *c->week);
    if (c->rate == NULL || c->week == NULL) return LLAP_ENOMEM;
    llap_status st = fit_rates(c, s, o->pooled && !chain_has_statics(o));
    if (st == LLAP_OK && chain_has_statics(o)) st = chain_take_statics(c, s, o);
    if (st != LLAP_OK) return st;
    fit_week(c, s, expected);
    fit_dispersion(c, s);
    c->curve = LL_CURVE_COUNTS;
    c->lambda = c->g_s = c->r_s = 1.0;
    if (c->y_min < 0.0) c->y_min = 0.0;
    return LLAP_OK;
}

/* ---- bounds ---- */

double chain_logit(const ll_chain *c, double y)
{
    const double x = hold((y - c->y_min) / (c->y_max - c->y_min), c->edge, 1.0 - c->edge);
    return log(x / (1.0 - x));
}

double chain_logistic(const ll_chain *c, double l)
{
    const double x = 1.0 / (1.0 + exp(-l));
    if (x <= c->end[0]) return c->y_min;
    return x >= c->end[1] ? c->y_max : c->y_min + (c->y_max - c->y_min) * x;
}

llap_status chain_fit_logit(ll_chain *c, const double *y, size_t n)
{
    const double many = .05, edge = 1e-3;
    double       at[2] = { 0.0, 0.0 }, least[2] = { 2.0 * edge, 2.0 * edge }, known = 0.0;
    double       nearest[2] = { 1.0, 1.0 };
    if (!isfinite(c->y_min) || !isfinite(c->y_max) || !(c->y_min < c->y_max))
        return ll_fail(LLAP_EINVAL, "chain: logit: expected two bounds, found %g and %g", c->y_min,
                       c->y_max);
    for (size_t i = 0; i < n; i++) {
        if (isnan(y[i])) continue;
        const double x = (y[i] - c->y_min) / (c->y_max - c->y_min);
        known += 1.0;
        for (int k = 0; k < 2; k++) {
            const double away = k == 0 ? x : 1.0 - x;
            if (!(away > 0.0)) at[k] += 1.0;
            else nearest[k] = fmin(nearest[k], away);
        }
    }
    for (int k = 0; k < 2; k++) least[k] = fmin(least[k], nearest[k]);
    c->edge = fmax(0.5 * fmin(least[0], least[1]), 1e-12);
    /* Mass at an end: whatever is nearer to it than half of the nearest value seen. */
    c->end[0] = at[0] > many * known ? 0.5 * nearest[0] : 0.0;
    c->end[1] = at[1] > many * known ? 1.0 - 0.5 * nearest[1] : 1.0;
    return LLAP_OK;
}

llap_status chain_fit_log(ll_chain *c, const double *y, size_t n, const ll_chain_values *values)
{
    double least = INFINITY, all = INFINITY;
    c->origin = values->given_min ? values->min : 0.0;
    for (size_t i = 0; i < n; i++) {
        all = fmin(all, y[i]); /* NaN is passed over */
        if (y[i] > c->origin) least = fmin(least, y[i]);
    }
    if (!(values->given_min ? all >= c->origin : all > c->origin) || !isfinite(least))
        return ll_fail(LLAP_EINVAL, "chain: log: the least training value is %g, not above %g", all,
                       c->origin);
    c->y_0 = 0.1 * (least - c->origin);
    if (!values->free && c->y_min < c->origin) c->y_min = c->origin;
    return LLAP_OK;
}
