#include "anchor/process/process.h"

#include "base/error.h"

#include <assert.h>
#include <math.h>

static const double TWO_PI = 6.283185307179586476925286766559;

ll_anchor_kernel ll_anchor_kernel_hourly(void)
{
    return (ll_anchor_kernel){
        .n_terms = 7,
        .a = { .3, .3, .2, .2, .1, .05, .05 },
        .rho = { 1.0 / 500, 1.0 / 36, 1.0 / 5, 1.0 / 500, 1.0 / 500, 1.0 / 500, 1.0 / 1000 },
        .omega = { 0, 0, 0, TWO_PI / 24, TWO_PI / 12, TWO_PI / 8, TWO_PI / 168 },
        .nu = .05,
        .jitter = 1e-4,
    };
}

/* The relaxations of the hourly start were 1.5 contexts, a tenth of one, and five steps; the
 * cycles decayed over 1.5 contexts. */
llap_status ll_anchor_kernel_spaced(double shortest, double span, int32_t n_cycles,
                                    ll_anchor_kernel *out)
{
    if (!(shortest > 0.0) || !(span > shortest) || !isfinite(span))
        return ll_fail(LLAP_EINVAL, "anchor: expected 0 < shortest < span, found %g and %g",
                       shortest, span);
    if (n_cycles < 0 || n_cycles > LL_ANCHOR_MAX_TERMS - 3)
        return ll_fail(LLAP_EINVAL, "anchor: expected 0 to %d cycles, found %d",
                       LL_ANCHOR_MAX_TERMS - 3, (int)n_cycles);
    *out = (ll_anchor_kernel){
        .n_terms = 3 + n_cycles,
        .a = { .3, .3, .2 },
        .rho = { 1.0 / (1.5 * span), 10.0 / span, 1.0 / (2.5 * shortest) },
        .nu = .05,
        .jitter = 1e-4,
    };
    for (int32_t i = 0; i < n_cycles; i++) {
        const double at = n_cycles == 1 ? 0.5 : (double)i / (n_cycles - 1);
        out->a[3 + i] = 0.4 / n_cycles;
        out->rho[3 + i] = 1.0 / (1.5 * span);
        out->omega[3 + i] = TWO_PI / (span * pow(shortest / span, at));
    }
    return LLAP_OK;
}

static llap_status check_term(const ll_anchor_kernel *k, int32_t i)
{
    const struct {
        const char *name;
        double      value;
        bool        positive;
    } field[] = { { "a", k->a[i], true },
                  { "rho", k->rho[i], true },
                  { "omega", k->omega[i], false } };
    for (size_t f = 0; f < sizeof field / sizeof *field; f++) {
        const double v = field[f].value;
        if (isfinite(v) && (field[f].positive ? v > 0.0 : v >= 0.0)) continue;
        return ll_fail(LLAP_EINVAL, "anchor kernel: term %d: expected %s %s 0, found %g", (int)i,
                       field[f].name, field[f].positive ? ">" : ">=", v);
    }
    return LLAP_OK;
}

static llap_status check_drift(const ll_anchor_kernel *k)
{
    const bool level = k->drift != LL_ANCHOR_STILL, slope = k->drift == LL_ANCHOR_SLOPE;
    const struct {
        const char *name;
        double      value;
        bool        used, positive;
    } field[] = { { "start", k->start, level, false },
                  { "q", k->q, level, true },
                  { "v", k->v, slope, true },
                  { "damping", k->damping, slope, true },
                  { "monitor", k->monitor, true, false } };
    if (k->drift < LL_ANCHOR_STILL || k->drift > LL_ANCHOR_SLOPE)
        return ll_fail(LLAP_EINVAL, "anchor kernel: no drift of number %d", (int)k->drift);
    for (size_t f = 0; f < sizeof field / sizeof *field; f++) {
        const double v = field[f].value;
        if (!field[f].used || (isfinite(v) && (field[f].positive ? v > 0.0 : v >= 0.0))) continue;
        return ll_fail(LLAP_EINVAL, "anchor kernel: expected %s %s 0, found %g", field[f].name,
                       field[f].positive ? ">" : ">=", v);
    }
    return LLAP_OK;
}

llap_status ll_anchor_kernel_check(const ll_anchor_kernel *k)
{
    if (k->n_terms < 1 || k->n_terms > LL_ANCHOR_MAX_TERMS)
        return ll_fail(LLAP_EINVAL, "anchor kernel: expected 1 to %d terms, found %d",
                       LL_ANCHOR_MAX_TERMS, (int)k->n_terms);
    for (int32_t i = 0; i < k->n_terms; i++) {
        const llap_status st = check_term(k, i);
        if (st != LLAP_OK) return st;
    }
    if (!(k->nu >= 0.0) || !(k->jitter >= 0.0) || !(k->nu + k->jitter > 0.0) ||
        !isfinite(k->nu + k->jitter))
        return ll_fail(LLAP_EINVAL,
                       "anchor kernel: expected nu >= 0, jitter >= 0, nu + jitter > 0, "
                       "found nu %g, jitter %g",
                       k->nu, k->jitter);
    return check_drift(k);
}

const char *ll_anchor_drift_name(ll_anchor_drift d)
{
    static const char *const names[] = { "none", "level", "slope" };
    assert((size_t)d < sizeof names / sizeof *names);
    return names[d];
}

double ll_anchor_half_life(double rho) { return 0.69314718055994530941723212145818 / rho; }

double ll_anchor_crps(double y, double mean, double sd, double *d_mean, double *d_sd)
{
    static const double INV_SQRT_PI = 0.56418958354775628694807945156077;
    const double        z = (y - mean) / sd;
    const double        pdf = 0.3989422804014326779399460599343819 * exp(-0.5 * z * z);
    const double        both = erf(z * 0.70710678118654752440084436210485); /* 2 Phi(z) - 1 */
    if (d_mean != NULL) *d_mean = -both;
    if (d_sd != NULL) *d_sd = 2.0 * pdf - INV_SQRT_PI;
    return sd * (z * both + 2.0 * pdf - INV_SQRT_PI);
}
