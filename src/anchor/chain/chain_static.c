/* The scale of a series by its static inputs (statics.h): of every series where they are
 * independent, else of those that training has no reading of. */
#include "anchor/chain/chain_static.h"

#include "anchor/chain/negbin.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { READINGS = 8 }; /* that a series must have to count in the ridge */
static const double KAPPA_LEAST = .1, KAPPA_MOST = 1e4, LOOSE_MOST = 1e4;

static bool has_counts(const ll_chain_opts *o) { return o->curve == LL_CURVE_COUNTS; }

/* How many readings a series has, and whether they differ. */
static size_t count_values(const ll_series *s, bool *differ)
{
    double low = INFINITY, high = -INFINITY;
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (isnan(s->y[i])) continue;
        n++;
        low = fmin(low, s->y[i]);
        high = fmax(high, s->y[i]);
    }
    *differ = low < high;
    return n;
}

/* Series that the ridge is fitted on, into which [n_series] and use [n_series]. */
static size_t training_series(const ll_chain *c, const ll_series *s, bool counts, size_t *which,
                              bool *use)
{
    size_t m = 0;
    for (size_t e = 0; e < c->n_series; e++) {
        bool         differ;
        const size_t n = count_values(&s[e], &differ);
        use[e] = n >= READINGS && (differ || counts);
        if (use[e]) which[m++] = e;
    }
    return m;
}

/* Into level [m] and spread [m] what the ridges are to tell. */
static void measure(const ll_chain *c, ll_statics *s, bool counts, bool bent, const size_t *which,
                    size_t m, double *level, double *spread)
{
    s->log = counts || !bent;
    for (size_t i = 0; !counts && i < m; i++) s->log = s->log && c->mu[which[i]] > 0.0;
    for (size_t i = 0; i < m; i++) {
        const double x = counts ? c->rate[which[i]] : c->mu[which[i]];
        level[i] = s->log ? log(x) : x;
        spread[i] = counts ? 0.0 : log(c->sd[which[i]]);
    }
}

/* The scale of row e as they tell it. */
static void set_scale(ll_chain *c, const ll_statics *s, bool counts, size_t e, double level,
                      double spread)
{
    const double far = 80.0, most = 1e30; /* whatever a file says */
    const double x = s->log ? exp(fmin(fmax(level, -far), far)) : fmin(fmax(level, -most), most);
    if (counts) c->rate[e] = fmin(fmax(x, LL_NEGBIN_MEAN_LEAST), LL_NEGBIN_MEAN_MOST);
    else c->mu[e] = x, c->sd[e] = exp(fmin(fmax(spread, -far), far));
}

static void set_pooled(ll_chain *c, bool counts)
{
    const size_t n = c->n_series;
    for (size_t e = 0; e < n; e++) {
        if (counts) c->rate[e] = c->rate[n];
        else c->mu[e] = c->mu[n], c->sd[e] = c->sd[n];
    }
}

/* Variance within entities over tau^2, both in deviations that the others tell: loo [2,m]. */
static double kappa_of(const ll_statics *s, const double *spread, const double *loo, size_t m)
{
    double within = 0.0, between = 0.0;
    for (size_t i = 0; i < m; i++) {
        const double sd = exp(loo[m + i]), unit = s->log ? exp(loo[i]) : 1.0;
        within += exp(2.0 * (spread[i] - loo[m + i]));
        between += s->level.error * (unit / sd) * (unit / sd);
    }
    return fmin(fmax(within / between, KAPPA_LEAST), KAPPA_MOST);
}

/* Scores are measured alike whatever a series is thought to be like: by the deviation of all. */
static llap_status keep_unit(ll_chain *c)
{
    const size_t n = c->n_series;
    if (c->y_mu != NULL) return LLAP_OK;
    c->y_mu = ll_new(n + 1, sizeof *c->y_mu);
    c->y_sd = ll_new(n + 1, sizeof *c->y_sd);
    if (c->y_mu == NULL || c->y_sd == NULL) return LLAP_ENOMEM;
    for (size_t e = 0; e <= n; e++) c->y_mu[e] = c->mu[n], c->y_sd[e] = c->sd[n];
    return LLAP_OK;
}

/* number [4,m] is room for levels, spreads and what they are foretold as. */
static llap_status take(ll_chain *c, const ll_series *s, const ll_chain_opts *o,
                        const size_t *which, const bool *use, size_t m, double *number)
{
    const bool  counts = has_counts(o), bent = o->curve != LL_CURVE_TAILS;
    double     *level = number, *spread = number + m, *loo = number + 2 * m;
    ll_statics *of = NULL;
    llap_status st = ll_statics_describe(o->statics.column, o->statics.n, use, c->n_series, &of);
    if (st != LLAP_OK) return st;
    measure(c, of, counts, bent, which, m, level, spread);
    st = ll_statics_fit(of, o->statics.column, which, m, level, spread, loo);
    if (st != LLAP_OK || !ll_statics_help(of)) {
        ll_statics_destroy(of);
        if (o->pooled) set_pooled(c, counts);
        return st;
    }
    c->statics = of;
    of->every = o->pooled;
    if (!counts) of->kappa = kappa_of(of, spread, loo, m);
    if (of->every && !counts) st = keep_unit(c);
    for (size_t e = 0, i = 0; e < c->n_series; e++) {
        bool differ;
        if (of->every && use[e]) set_scale(c, of, counts, e, loo[i], loo[m + i]);
        i += use[e];
        if (use[e] || (!of->every && count_values(&s[e], &differ) > 0)) continue;
        const ll_static_guess g = ll_statics_guess(of, o->statics.column, e);
        set_scale(c, of, counts, e, g.level, g.spread);
    }
    return st;
}

llap_status chain_take_statics(ll_chain *c, const ll_series *s, const ll_chain_opts *o)
{
    size_t     *which = ll_new(c->n_series, sizeof *which);
    bool       *use = ll_new(c->n_series, sizeof *use);
    double     *number = NULL;
    llap_status st = which == NULL || use == NULL ? LLAP_ENOMEM : LLAP_OK;
    assert(o->statics.n > 0 && c->statics == NULL);
    if (st == LLAP_OK) {
        const size_t m = training_series(c, s, has_counts(o), which, use);
        number = ll_new(4 * m, sizeof *number);
        if (number == NULL) st = LLAP_ENOMEM;
        else if (m >= LL_STATIC_ENTITIES) st = take(c, s, o, which, use, m, number);
        else if (o->pooled) set_pooled(c, has_counts(o));
    }
    ll_free(which);
    ll_free(use);
    ll_free(number);
    return st;
}

/* Variance in u of the level of row e, where var is that of what the ridge tells. */
static double loose_of(const ll_chain *c, size_t e, double var)
{
    double slope;
    if (c->curve == LL_CURVE_COUNTS) {
        const double m = c->rate[e];
        slope = m / sqrt(m + m * m / c->dispersion);
    } else {
        const double unit = c->statics->log ? fabs(c->mu[e]) : 1.0;
        const double bend = ll_chain_bend(c, e, .5) - ll_chain_bend(c, e, -.5);
        slope = bend * unit / (c->sd[e] * c->g_s * c->r_s);
    }
    return fmin(var * slope * slope, LOOSE_MOST);
}

llap_status chain_finish_statics(ll_chain *c, const ll_series *s, const ll_chain_opts *o)
{
    const size_t n = c->n_series;
    double       sum = 0.0;
    if (c->statics == NULL) return LLAP_OK;
    if (c->curve == LL_CURVE_COUNTS) { /* normal scores: the variance within is 1 */
        for (size_t e = 0; e < n; e++) sum += loose_of(c, e, c->statics->level.error) / (double)n;
        c->statics->kappa = fmin(fmax(1.0 / sum, KAPPA_LEAST), KAPPA_MOST);
    }
    if (c->statics->every) return LLAP_OK; /* the kernel is fitted to levels that are told */
    c->loose = ll_new(n + 1, sizeof *c->loose);
    if (c->loose == NULL) return LLAP_ENOMEM;
    for (size_t e = 0; e < n; e++) {
        bool differ;
        if (count_values(&s[e], &differ) == 0)
            c->loose[e] = loose_of(c, e, ll_statics_guess(c->statics, o->statics.column, e).var);
    }
    return LLAP_OK;
}

/* A copy of v [n] with room for more behind it; NULL stays. */
static llap_status longer(double **v, size_t n, size_t more)
{
    if (*v == NULL) return LLAP_OK;
    double *copy = ll_new(n + more, sizeof *copy);
    if (copy == NULL) return LLAP_ENOMEM;
    memcpy(copy, *v, n * sizeof *copy);
    for (size_t i = n; i < n + more; i++) copy[i] = (*v)[n - 1]; /* as all pooled */
    *v = copy;
    return LLAP_OK;
}

void ll_chain_more_destroy(ll_chain *c)
{
    if (c == NULL) return;
    ll_free(c->mu);
    ll_free(c->sd);
    ll_free(c->rate);
    ll_free(c->loose);
    ll_free(c);
}

llap_status ll_chain_more(const ll_chain *c, const ll_static_column *column, const size_t *which,
                          size_t n, ll_chain **out)
{
    const size_t rows = c->n_series + 1;
    *out = NULL;
    assert(c->statics != NULL && c->n_more == 0);
    ll_chain *m = ll_new(1, sizeof *m);
    if (m == NULL) return LLAP_ENOMEM;
    *m = *c;
    m->mu = m->sd = m->rate = m->loose = NULL; /* whatever of them is set is m's own */
    struct {
        double **to, *from;
    } each[] = {
        { &m->mu, c->mu }, { &m->sd, c->sd }, { &m->rate, c->rate }, { &m->loose, c->loose }
    };
    llap_status st = LLAP_OK;
    for (size_t i = 0; st == LLAP_OK && i < sizeof each / sizeof *each; i++) {
        double *v = each[i].from;
        st = longer(&v, rows, n);
        if (st == LLAP_OK) *each[i].to = v;
    }
    m->n_more = n;
    for (size_t i = 0; st == LLAP_OK && i < n; i++) {
        const ll_static_guess g = ll_statics_guess(c->statics, column, which[i]);
        set_scale(m, c->statics, c->curve == LL_CURVE_COUNTS, rows + i, g.level, g.spread);
        if (m->loose != NULL) m->loose[rows + i] = loose_of(m, rows + i, g.var);
    }
    if (st == LLAP_OK) *out = m;
    else ll_chain_more_destroy(m);
    return st;
}
