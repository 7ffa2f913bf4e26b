#include "anchor/static_choose.h"

#include "anchor/drift.h"
#include "anchor/window.h"

#include <assert.h>
#include <math.h>

static anchor_attempt attempt_of(const ll_anchor_data *d, const ll_anchor_model_opts *o,
                                 const ll_anchor_model *best, int i)
{
    const int      first = 50; /* numbers below are those of other contests */
    anchor_attempt a = { .number = first + i,
                         .n_steps = anchor_drift_steps(o),
                         .chain = o->chain,
                         .kappa = best->kappa,
                         .start = best->kernel,
                         .learn_omega = o->fit.learn_omega };
    const bool     counts = best->chain->curve == LL_CURVE_COUNTS;
    a.before = anchor_course_of(o, d->n_series, true).statics + i * a.n_steps;
    a.start.monitor = 0.0;
    a.chain.curve = best->chain->curve;
    a.chain.climate = !counts && best->chain->n_climate > 0;
    a.chain.profile = !counts && best->chain->profile.daily > 0;
    a.chain.periods = best->chain->periods;
    if (best->chain->known == NULL) a.chain.known = (ll_known_opts){ 0 };
    if (best->chain->holidays == NULL) a.chain.holidays = NULL;
    a.chain.statics = d->statics;
    return a;
}

llap_status anchor_choose_statics(const ll_anchor_data *d, const ll_anchor_model_opts *o,
                                  ll_anchor_model **best)
{
    const double     gain = 0.01;
    ll_anchor_model *own = NULL, *other = NULL;
    anchor_attempt   a = attempt_of(d, o, *best, 0);
    assert(d->statics.n > 0 && d->n_valid > 0);
    if (!((*best)->valid_crps >= 0.0)) return LLAP_OK; /* nothing to choose by */
    llap_status st = anchor_candidate(d, o, &a, &own);
    if (st == LLAP_OK && own->chain->statics != NULL) {
        a = attempt_of(d, o, own, 1);
        a.kappa = own->chain->statics->kappa;
        st = anchor_candidate(d, o, &a, &other);
        if (st == LLAP_OK) anchor_prefer(&own, other, 0.0);
    }
    if (st == LLAP_OK) anchor_prefer(best, own, gain);
    else ll_anchor_model_destroy(own);
    return st == LLAP_ENUMERIC ? LLAP_OK : st;
}
