#include "anchor/chain/chain.h"

#include "anchor/chain/chain_climate.h"
#include "base/alloc.h"

#include "anchor/chain/chain_kinds.h"
#include "anchor/chain/glitch.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

static const double HOURS_DAY = 24.0, HOURS_WEEK = 168.0, HOURS_YEAR = 8766.0;

double ll_yeo_johnson(double x, double lambda)
{
    const double power = x >= 0.0 ? lambda : 2.0 - lambda, grow = log1p(fabs(x));
    return copysign(power == 0.0 ? grow : expm1(power * grow) / power, x);
}

double ll_yeo_johnson_back(double v, double lambda)
{
    const double power = v >= 0.0 ? lambda : 2.0 - lambda, size = fabs(v);
    if (power * size <= -1.0) return copysign(INFINITY, v);
    return copysign(expm1(power == 0.0 ? size : log1p(power * size) / power), v);
}

void ll_window_norm(const double *u, size_t n, double kappa, double *m, double *s)
{
    double count = 0.0, sum = 0.0, square = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(u[i])) continue;
        count += 1.0;
        sum += u[i];
    }
    *m = sum / (count + kappa);
    for (size_t i = 0; i < n; i++)
        if (!isnan(u[i])) square += (u[i] - *m) * (u[i] - *m);
    *s = sqrt((square + 8.0) / (count + 8.0));
}

int ll_cycle_terms(double t, double period, int n, double *out)
{
    for (int k = 1; k <= n; k++) {
        /* Whole periods taken off first: the phase of an hour since 1970 keeps its digits. */
        const double phase = 6.283185307179586476925286766559 * k * (fmod(t, period) / period);
        *out++ = sin(phase);
        *out++ = cos(phase);
    }
    return 2 * n;
}

void ll_climate_terms(double t, int32_t n_terms, double *out)
{
    assert(n_terms == 11 || n_terms == 23);
    out[0] = 1.0;
    double *daily = out + 1;
    int     n = 1 + ll_cycle_terms(t, HOURS_DAY, 3, daily);
    n += ll_cycle_terms(t, HOURS_WEEK, 2, out + n);
    if (n == n_terms) return;
    double *annual = out + n;
    n += ll_cycle_terms(t, HOURS_YEAR, 2, annual);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++) out[n++] = annual[i] * daily[j];
}

int32_t ll_chain_usual_terms(const ll_chain *c)
{
    return c->n_climate - (c->holidays != NULL && c->n_climate > 0 ? LL_HOLIDAY_TERMS : 0);
}

void chain_terms(const ll_chain *c, double t, double *out)
{
    const int32_t n = ll_chain_usual_terms(c);
    double        shift = 0.0;
    if (n == 0) return;
    const bool holiday = c->holidays != NULL && ll_holiday_at(c->holidays, t, &shift);
    if (c->profile.daily > 0) ll_weekly_terms(c->profile, t + shift, out);
    else if (c->periods.n > 0) ll_periods_terms(&c->periods, t, out);
    else ll_climate_terms(t + shift, n, out);
    if (n < c->n_climate) memset(out + n, 0, LL_HOLIDAY_TERMS * sizeof *out);
    if (!holiday) return;
    out[n] = 1.0;
    ll_cycle_terms(t, HOURS_DAY, 6, out + n + 1);
}

double ll_chain_climate(const ll_chain *c, size_t e, double t)
{
    if (c->curve == LL_CURVE_COUNTS) return chain_count_mean(c, e, t);
    if (c->n_climate == 0) return 0.0;
    assert(c->n_climate <= LL_CLIMATE_ROOM && c->climate != NULL);
    const double *coef = ll_chain_coefficients(c, e);
    double        term[LL_CLIMATE_ROOM], sum = 0.0;
    chain_terms(c, t, term);
    for (int i = 0; i < c->n_climate; i++) sum += coef[i] * term[i];
    return sum;
}

double ll_chain_mean(const ll_chain *c, size_t e, const ll_inputs *in, double t)
{
    const double climate = ll_chain_climate(c, e, t);
    return c->known == NULL ? climate : climate + ll_known_effect(c->known, in, t, -1);
}

double ll_chain_doubt(const ll_chain *c, const ll_inputs *in, double t)
{
    return c->known == NULL ? 0.0 : ll_known_doubt(c->known, in, t) / (c->r_s * c->r_s);
}

static double hold(double x, double lo, double hi) /* NaN stays */
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* log y, and below y_0 its tangent there. */
static double log_of(const ll_chain *c, double y)
{
    assert(c->y_0 > 0.0);
    y -= c->origin;
    return y < c->y_0 ? log(c->y_0) + (y - c->y_0) / c->y_0 : log(y);
}

static double exp_of(const ll_chain *c, double l)
{
    const double least = log(c->y_0);
    const double y = l < least ? c->y_0 * (1.0 + l - least) : exp(fmin(l, log((double)FLT_MAX)));
    return c->origin + y;
}

double ll_chain_z(const ll_chain *c, size_t e, double y)
{
    e = ll_chain_row(c, e);
    if (c->curve == LL_CURVE_LOG) return (log_of(c, y) - c->mu[e]) / c->sd[e];
    if (c->curve == LL_CURVE_LOGIT) return (chain_logit(c, y) - c->mu[e]) / c->sd[e];
    return hold((hold(y, c->y_lo, c->y_hi) - c->mu[e]) / c->sd[e], -c->z_clip, c->z_clip);
}

double ll_chain_y_back(const ll_chain *c, size_t e, double z)
{
    e = ll_chain_row(c, e);
    double y = c->mu[e] + c->sd[e] * z;
    if (c->curve == LL_CURVE_LOG) y = exp_of(c, y);
    if (c->curve == LL_CURVE_LOGIT) y = chain_logistic(c, y);
    return hold(chain_is_whole(c) ? floor(y + 0.5) : y, c->y_min, c->y_max);
}

const char *const ll_curve_names[] = { "clipped", "tails", "log", "logit", "counts", NULL };

const char *ll_curve_name(ll_curve c) { return ll_curve_names[c]; }

double ll_chain_unit_of(const ll_chain *c, size_t e, double y)
{
    if (c->curve == LL_CURVE_CLIPPED) return ll_chain_z(c, e, y);
    if (e > c->n_series) e = c->n_series;
    return c->y_mu != NULL ? (y - c->y_mu[e]) / c->y_sd[e] : (y - c->mu[e]) / c->sd[e];
}

double ll_chain_unit(const ll_chain *c, size_t e, double z)
{
    const bool bounded = isfinite(c->y_min) || isfinite(c->y_max) || chain_is_whole(c);
    if (c->curve == LL_CURVE_CLIPPED || (c->y_mu == NULL && !bounded)) return z;
    return ll_chain_unit_of(c, e, ll_chain_y_back(c, e, z));
}

static ll_glitch_rule rule_of(const ll_chain *c, size_t e)
{
    return (ll_glitch_rule){ .limit = c->glitch[e],
                             .end = c->glitch_end,
                             .top = c->low[e] > 0.0 ? c->high[e] : 0.0 };
}

void ll_chain_mark(const ll_chain *c, size_t e, const double *y, size_t n, bool *drop)
{
    if (e > c->n_series) e = c->n_series;
    if (c->glitch == NULL) memset(drop, 0, n * sizeof *drop);
    else ll_glitch_mark(y, n, rule_of(c, e), drop);
}

void ll_chain_mark_past(const ll_chain *c, size_t e, const double *y, size_t n, bool *drop)
{
    if (e > c->n_series) e = c->n_series;
    if (c->glitch == NULL) memset(drop, 0, n * sizeof *drop);
    else ll_glitch_mark_past(y, n, rule_of(c, e), drop);
}

/* Slope of Yeo-Johnson, never 0. */
static double steepness(double z, double lambda)
{
    return pow(1.0 + fabs(z), z >= 0.0 ? lambda - 1.0 : 1.0 - lambda);
}

static double bend_with_tails(const ll_chain *c, double z)
{
    const double at = hold(z, c->knot[0], c->knot[1]), v = ll_yeo_johnson(at, c->lambda);
    return at == z ? v : v + steepness(at, c->lambda) * (z - at);
}

static double unbend_with_tails(const ll_chain *c, double v)
{
    for (int k = 0; k < 2; k++) {
        const double at = c->knot[k], beyond = v - ll_yeo_johnson(at, c->lambda);
        if (k == 0 ? beyond < 0.0 : beyond > 0.0) return at + beyond / steepness(at, c->lambda);
    }
    return ll_yeo_johnson_back(v, c->lambda);
}

static bool has_tails(const ll_chain *c)
{
    return c->curve == LL_CURVE_TAILS || c->curve == LL_CURVE_LOGIT;
}

double ll_chain_bend(const ll_chain *c, size_t e, double z)
{
    if (c->curve == LL_CURVE_LOG) return z;
    if (!c->asinh && !c->log1p)
        return has_tails(c) ? bend_with_tails(c, z) : ll_yeo_johnson(z, c->lambda);
    e = ll_chain_row(c, e);
    const double y = c->mu[e] + c->sd[e] * z;
    return c->asinh ? asinh(y) : copysign(log1p(fabs(y)), y);
}

static double unbend(const ll_chain *c, size_t e, double v)
{
    if (c->curve == LL_CURVE_LOG) return v;
    if (!c->asinh && !c->log1p)
        return has_tails(c) ? unbend_with_tails(c, v) : ll_yeo_johnson_back(v, c->lambda);
    e = ll_chain_row(c, e);
    const double y = c->asinh ? sinh(v) : copysign(expm1(fabs(v)), v);
    return (y - c->mu[e]) / c->sd[e];
}

double ll_chain_u_given(const ll_chain *c, size_t e, double climate, double z)
{
    if (c->curve == LL_CURVE_COUNTS) return chain_count_score(c, e, climate, z, 0.5);
    assert(c->g_s > 0.0 && c->r_s > 0.0);
    return ((ll_chain_bend(c, e, z) - c->g_m) / c->g_s - climate) / c->r_s;
}

double ll_chain_z_back_given(const ll_chain *c, size_t e, double climate, double u)
{
    if (c->curve == LL_CURVE_COUNTS) return chain_count_back(c, e, climate, u);
    const double z = unbend(c, e, (u * c->r_s + climate) * c->g_s + c->g_m);
    return c->curve == LL_CURVE_CLIPPED ? hold(z, c->z_lo, c->z_hi) : z;
}

double ll_chain_u(const ll_chain *c, size_t e, double t, double z)
{
    return ll_chain_u_given(c, e, ll_chain_climate(c, e, t), z);
}

void ll_chain_convert(const ll_chain *c, size_t e, const ll_series *s, double *z, double *u)
{
    for (size_t i = 0; i < s->n; i++) {
        const double x = ll_chain_z(c, e, s->y[i]);
        u[i] = isnan(x) ? NAN : ll_chain_u_given(c, e, ll_chain_mean(c, e, s->in, s->t[i]), x);
        if (z != NULL) z[i] = x;
    }
}

void ll_chain_destroy(ll_chain *c)
{
    if (c == NULL) return;
    double *const arrays[] = { c->mu,   c->sd,     c->climate, c->y_mu, c->y_sd, c->low,
                               c->high, c->glitch, c->rate,    c->week, c->loose };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) ll_free(arrays[i]);
    ll_holidays_destroy(c->holidays);
    ll_known_destroy(c->known);
    ll_statics_destroy(c->statics);
    ll_free(c);
}
