/* A chain that was fitted on some of the series becomes one of all: what series have in common
 * stays, each gets its own level and spread. */
#include "anchor/chain/chain_kinds.h"
#include "anchor/chain/chain_scale.h"
#include "anchor/chain/glitch.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* [old + 1] becomes [n + 1], all of them what the last one was. */
static llap_status spread(double **x, size_t old, size_t n)
{
    if (*x == NULL) return LLAP_OK;
    const double pooled = (*x)[old];
    double      *more = ll_new(n + 1, sizeof *more);
    if (more == NULL) return LLAP_ENOMEM;
    for (size_t e = 0; e <= n; e++) more[e] = pooled;
    ll_free(*x);
    *x = more;
    return LLAP_OK;
}

llap_status ll_chain_widen(ll_chain *c, size_t n)
{
    double     **list[] = { &c->mu,   &c->sd,     &c->y_mu, &c->y_sd, &c->low,
                            &c->high, &c->glitch, &c->rate, &c->loose };
    const size_t old = c->n_series;
    llap_status  st = LLAP_OK;
    assert(c->n_more == 0);
    if (c->n_climate > 0 && !c->one_climate) {
        double *row = ll_new((size_t)c->n_climate, sizeof *row);
        if (row == NULL) return LLAP_ENOMEM;
        memcpy(row, c->climate + old * (size_t)c->n_climate, (size_t)c->n_climate * sizeof *row);
        ll_free(c->climate);
        c->climate = row;
        c->one_climate = true;
    }
    for (size_t i = 0; i < sizeof list / sizeof *list && st == LLAP_OK; i++)
        st = spread(list[i], old, n);
    if (st == LLAP_OK) c->n_series = n;
    return st;
}

/* Mean of a count, as chain_fit_counts has it. */
static double rate_of(const ll_chain *c, const double *y, size_t n)
{
    const double doubt = 2.0;
    double       sum = 0.0, count = 0.0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(y[i])) sum += y[i], count += 1.0;
    return (sum + doubt * c->rate[c->n_series]) / (count + doubt);
}

llap_status ll_chain_take(ll_chain *c, size_t e, const ll_series *train)
{
    assert(e < c->n_series && c->curve != LL_CURVE_CLIPPED);
    double     *y = ll_new(train->n, sizeof *y), limit[2], end;
    bool       *drop = ll_new(train->n, sizeof *drop), any = false;
    llap_status st = y == NULL || drop == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK && c->glitch[c->n_series] > 0.0)
        st = ll_glitch_fit(train, 1, false, c->kind == LL_KIND_COUNT, limit, &end);
    if (st == LLAP_OK && c->glitch[c->n_series] > 0.0) c->glitch[e] = limit[0];
    if (st == LLAP_OK) ll_chain_mark(c, e, train->y, train->n, drop);
    for (size_t i = 0; st == LLAP_OK && i < train->n; i++) {
        y[i] = drop[i] ? NAN : train->y[i];
        any = any || !isnan(y[i]);
    }
    if (any) {
        const ll_series s = { .n = train->n, .y = y };
        const bool      bent = c->y_mu != NULL;
        c->low[e] = INFINITY;
        c->high[e] = -INFINITY;
        for (size_t i = 0; i < s.n; i++) {
            c->low[e] = fmin(c->low[e], y[i]);
            c->high[e] = fmax(c->high[e], y[i]);
        }
        if (c->rate != NULL) c->rate[e] = rate_of(c, y, s.n);
        chain_scale_of(&s, bent ? &c->y_mu[e] : &c->mu[e], bent ? &c->y_sd[e] : &c->sd[e]);
        if (bent) { /* those of the logarithms or logits */
            c->mu[e] = 0.0;
            c->sd[e] = 1.0;
            for (size_t i = 0; i < s.n; i++) y[i] = ll_chain_z(c, e, y[i]);
            chain_scale_of(&s, &c->mu[e], &c->sd[e]);
        }
    }
    ll_free(y);
    ll_free(drop);
    return st;
}
