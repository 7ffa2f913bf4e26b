/* Whether periods that no calendar names help: their harmonics as a climate, and as the cycles of
 * the kernel. Validation decides. */
#include "anchor/chain/periods.h"
#include "anchor/drift.h"
#include "base/alloc.h"

#include <math.h>

static const double GAIN = 0.01; /* share of the CRPS that periods found must gain */

/* The periods of training, looked for in u before any climate is taken off. */
static llap_status find_periods(const ll_anchor_data *d, const ll_chain *c, ll_periods *out)
{
    ll_series *s = ll_new(d->n_series, sizeof *s);
    size_t     rows = 0;
    for (size_t e = 0; e < d->n_series; e++) rows += d->series[e].n;
    double     *u = ll_new(rows, sizeof *u), *to = u;
    bool       *drop = ll_new(rows, sizeof *drop);
    llap_status st = s == NULL || u == NULL || drop == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t e = 0; st == LLAP_OK && e < d->n_series; e++) {
        const ll_series *from = &d->series[e];
        const size_t     n = d->train_rows[e] < from->n ? d->train_rows[e] : from->n;
        ll_chain_mark(c, e, from->y, n, drop);
        s[e] = (ll_series){ .n = n, .t = from->t, .y = to };
        for (size_t i = 0; i < n; i++) {
            const double z = ll_chain_z(c, e, from->y[i]);
            const double t = from->t[i], climate = ll_chain_climate(c, e, t);
            to[i] = drop[i] || isnan(z) ? NAN : climate + c->r_s * ll_chain_u(c, e, t, z);
        }
        to += n;
    }
    if (st == LLAP_OK) st = ll_periods_find(s, d->n_series, out);
    ll_free(s);
    ll_free(u);
    ll_free(drop);
    return st;
}

/* The relaxations of a start, and as cycles the first period with its next two harmonics and the
 * second period. */
static ll_anchor_kernel kernel_of(ll_anchor_kernel start, const ll_periods *p, double context)
{
    static const int cycle[][2] = { { 0, 1 }, { 0, 2 }, { 0, 3 }, { 1, 1 } };
    ll_anchor_kernel k = start;
    int32_t          n = 0, first;
    for (int32_t i = 0; i < start.n_terms; i++) {
        if (start.omega[i] > 0.0) continue;
        k.a[n] = start.a[i];
        k.rho[n] = start.rho[i];
        k.omega[n++] = 0.0;
    }
    first = n;
    for (size_t i = 0; i < sizeof cycle / sizeof *cycle && n < LL_ANCHOR_MAX_TERMS; i++) {
        if (cycle[i][0] >= p->n || cycle[i][1] > p->harmonics[cycle[i][0]]) continue;
        k.rho[n] = 1.0 / (1.5 * context);
        k.omega[n++] = 6.283185307179586476925286766559 * cycle[i][1] / p->span[cycle[i][0]];
    }
    for (int32_t i = first; i < n; i++) k.a[i] = 0.4 / (double)(n - first);
    k.n_terms = n;
    return k;
}

int anchor_period_kernels(const ll_anchor_model_opts *o)
{
    if (!o->find_periods && o->periods.n == 0) return 0;
    return o->kappa > 0.0 ? 1 : 2;
}

llap_status anchor_choose_periods(const ll_anchor_data *d, ll_anchor_model_opts *o,
                                  ll_anchor_model **best)
{
    const int    first = 30; /* numbers below are those of other candidates: known inputs have 20 */
    const double kappas[] = { o->kappa > 0.0 ? o->kappa : 4.0, 200.0 };
    const int64_t    before = anchor_course_of(o, d->n_series, true).periods;
    ll_periods       p = o->periods;
    ll_anchor_model *with = NULL;
    llap_status      st = LLAP_OK;
    if (o->find_periods && p.n == 0) st = find_periods(d, (*best)->chain, &p);
    const ll_anchor_kernel start =
        kernel_of(o->start.n_terms > 0 ? o->start : ll_anchor_kernel_hourly(), &p, o->spec.context);
    for (int i = 0; st == LLAP_OK && p.n > 0 && i < anchor_period_kernels(o); i++) {
        ll_anchor_model *m = NULL;
        anchor_attempt   a = { .number = first + i,
                               .before = before + i * o->fit.n_steps,
                               .n_steps = o->fit.n_steps,
                               .chain = o->chain,
                               .kappa = kappas[i],
                               .start = start };
        a.chain.climate = true;
        a.chain.profile = false;
        a.chain.periods = p;
        a.chain.like = (*best)->chain;
        st = anchor_candidate(d, o, &a, &m);
        anchor_prefer(&with, m, 0.0);
    }
    /* Those that were given are used unless they harm. */
    if (!anchor_prefer(best, with, o->find_periods ? GAIN : 0.0)) return st;
    o->start = anchor_kernel_still((*best)->kernel);
    o->fit.learn_omega = false;
    return st;
}
