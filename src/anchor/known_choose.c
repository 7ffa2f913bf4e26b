/* Whether known inputs help, and how their effects are fitted: rows alike (plain), or by what the
 * kernel has not foreseen (whitened); then also with their means over the day before. */
#include "anchor/known_choose.h"

#include "anchor/drift.h"
#include "base/alloc.h"

#include <assert.h>

void anchor_known_deinit(anchor_known *k)
{
    for (size_t e = 0; k->in != NULL && e < k->data.n_series; e++) ll_inputs_destroy(k->in[e]);
    ll_free(k->in);
    ll_free(k->series);
    ll_known_destroy(k->of);
}

static llap_status describe(anchor_known *k, const ll_anchor_data *d, bool daily)
{
    const double **t = ll_new(d->n_series, sizeof *t);
    size_t        *rows = ll_new(2 * d->n_series, sizeof *rows), *stride = rows + d->n_series;
    llap_status    st = t == NULL || rows == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t e = 0; st == LLAP_OK && e < d->n_series; e++) {
        t[e] = d->series[e].t;
        stride[e] = d->series[e].n;
        rows[e] = d->train_rows[e] < stride[e] ? d->train_rows[e] : stride[e];
    }
    const ll_known_data of = { .n_series = d->n_series,
                               .t = t,
                               .raw = d->known,
                               .rows = rows,
                               .stride = stride,
                               .n_columns = d->n_known };
    if (st == LLAP_OK) st = ll_known_fit_inputs(&of, daily, &k->of);
    ll_free(t);
    ll_free(rows);
    return st;
}

llap_status anchor_known_init(anchor_known *k, const ll_anchor_data *d,
                              const ll_anchor_model_opts *o)
{
    *k = (anchor_known){ .data = *d };
    if (d->known == NULL || d->n_known == 0) return LLAP_OK;
    llap_status st = describe(k, d, o->chain.gap > 0.0);
    if (st != LLAP_OK) return st;
    if (k->of->n == 0) {
        ll_known_destroy(k->of);
        k->of = NULL;
        return LLAP_OK;
    }
    k->series = ll_new(d->n_series, sizeof *k->series);
    k->in = ll_new(d->n_series, sizeof *k->in);
    if (k->series == NULL || k->in == NULL) return LLAP_ENOMEM;
    for (size_t e = 0; st == LLAP_OK && e < d->n_series; e++) {
        k->series[e] = d->series[e];
        st = ll_inputs_create(k->of, d->series[e].t, d->known[e], d->series[e].n, &k->in[e]);
        k->series[e].in = k->in[e];
    }
    k->data.series = k->series;
    return st;
}

/* Candidate number i, from the kernel of `from`; NULL where the fit fails. */
static llap_status try_one(const ll_anchor_data *d, const ll_anchor_model_opts *o, int i,
                           const ll_anchor_model *from, const ll_known_opts *known,
                           ll_anchor_model **out)
{
    const int      first = 20; /* numbers below are those of anchor/choose.c and anchor/drift.c */
    anchor_attempt a = { .number = first + i,
                         .n_steps = anchor_drift_steps(o),
                         .chain = o->chain,
                         .kappa = from->kappa,
                         .start = from->kernel,
                         .learn_omega = o->fit.learn_omega };
    a.before = anchor_course_of(o, d->n_series, true).known + i * a.n_steps;
    a.start.monitor = 0.0;
    a.chain.climate = from->chain->n_climate > 0;
    a.chain.profile = from->chain->profile.daily > 0;
    a.chain.periods = from->chain->periods;
    a.chain.known = *known;
    a.chain.like = from->chain;
    *out = NULL;
    const llap_status st = anchor_candidate(d, o, &a, out);
    return st == LLAP_ENUMERIC ? LLAP_OK : st;
}

llap_status anchor_choose_holidays(const ll_anchor_data *d, ll_anchor_model_opts *o,
                                   ll_anchor_model **best)
{
    const double     loss = 0.002;
    ll_anchor_model *other = NULL;
    if (!((*best)->valid_crps >= 0.0)) return LLAP_OK; /* nothing to choose by */
    o->chain.holidays = o->holidays;
    const llap_status st = try_one(d, o, 3, *best, &(ll_known_opts){ 0 }, &other);
    if (!anchor_prefer(best, other, -loss)) o->chain.holidays = NULL;
    return st;
}

llap_status anchor_choose_known(anchor_known *k, const ll_anchor_data *d, ll_anchor_model_opts *o,
                                ll_anchor_model **best)
{
    const double     gain = 0.01;
    ll_anchor_kernel whiten = (*best)->kernel;
    ll_known_opts    how = { .known = k->of };
    ll_anchor_model *own = NULL, *other = NULL;
    assert(k->of != NULL && *best != NULL);
    if (!((*best)->valid_crps >= 0.0)) return LLAP_OK; /* nothing to choose by */
    double      scale = 1.0; /* rows are whitened in the scale of the chain, not of a window */
    llap_status st = anchor_mean_scale(d, *best, &scale);
    anchor_kernel_scale(&whiten, scale);
    if (st == LLAP_OK) st = try_one(d, o, 0, *best, &how, &own);
    if (st == LLAP_OK) {
        how.whiten = &whiten;
        st = try_one(d, o, 1, *best, &how, &other);
        if (!anchor_prefer(&own, other, 0.0)) how.whiten = NULL;
    }
    if (st == LLAP_OK && own != NULL && k->of->daily) {
        how.slow = true;
        st = try_one(d, o, 2, own, &how, &other);
        how.slow = anchor_prefer(&own, other, gain);
    }
    if (st != LLAP_OK || !anchor_prefer(best, own, gain)) {
        if (st != LLAP_OK) ll_anchor_model_destroy(own);
        return st;
    }
    k->whiten = whiten;
    o->chain.known = how;
    if (how.whiten != NULL) o->chain.known.whiten = &k->whiten;
    return LLAP_OK;
}
