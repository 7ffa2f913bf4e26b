/* Candidates by the kind of the values, beside the ordinary chain, whose answers are rounded and
 * held within bounds anyhow:
 *
 *     counts       normal scores of a negative binomial law; no drift, then a level
 *     two bounds   logits, with the climate and level of the window of the best so far; likewise */
#include "anchor/choose_kind.h"

#include "anchor/drift.h"

#include <assert.h>
#include <math.h>

static const double GAIN = 0.01, COUNT_KAPPA = 200.0;
enum { CURVES = 2, DRIFTS = 2, FIRST_NUMBER = 40 }; /* numbers below are those of other contests */

static bool has_curve(const ll_anchor_model_opts *o, ll_curve curve)
{
    const ll_chain_values *v = &o->chain.values;
    if (o->chain.curve == LL_CURVE_CLIPPED || o->chain.transform != LL_TRANSFORM_YEO_JOHNSON)
        return false;
    if (curve == LL_CURVE_COUNTS) return v->kind == LL_KIND_COUNT;
    return v->has_min && v->has_max && v->min < v->max;
}

static int n_candidates(const ll_anchor_model_opts *o)
{
    return DRIFTS * (has_curve(o, LL_CURVE_COUNTS) + has_curve(o, LL_CURVE_LOGIT));
}

int64_t anchor_kind_steps(const ll_anchor_model_opts *o)
{
    return n_candidates(o) * anchor_drift_steps(o);
}

static anchor_attempt attempt_of(const ll_anchor_model_opts *o, const ll_anchor_model *best,
                                 ll_curve curve)
{
    const bool     counts = curve == LL_CURVE_COUNTS;
    anchor_attempt a = {
        .n_steps = anchor_drift_steps(o),
        .chain = o->chain,
        .kappa = !counts          ? best->kappa
                 : o->kappa > 0.0 ? o->kappa
                                  : COUNT_KAPPA,
        .start = o->start.n_terms > 0 ? o->start : ll_anchor_kernel_hourly(),
        .learn_omega = o->fit.learn_omega,
    };
    /* Logits are near to the chain of the best so far; a walk has no terms to begin with. */
    if (!counts && best->kernel.n_terms > 1) a.start = anchor_kernel_still(best->kernel);
    a.chain.curve = curve;
    a.chain.climate = !counts && best->chain->n_climate > 0;
    a.chain.profile = !counts && best->chain->profile.daily > 0;
    if (!counts) a.chain.periods = best->chain->periods;
    return a;
}

/* Both drifts of one curve, from step `before` on, as candidates number, number + 1; the second
 * begins where the first ended. */
static llap_status try_curve(const ll_anchor_data *d, const ll_anchor_model_opts *o,
                             const ll_anchor_model *best, ll_curve curve, int number,
                             int64_t before, ll_anchor_model **winner)
{
    anchor_attempt a = attempt_of(o, best, curve);
    for (int i = 0; i < DRIFTS; i++) {
        ll_anchor_model *m = NULL;
        a.number = number + i;
        a.before = before + i * a.n_steps;
        if (i == 1) anchor_start_level(&a.start, &o->spec, false);
        const llap_status st = anchor_candidate(d, o, &a, &m);
        if (st == LLAP_ENUMERIC || st == LLAP_EINVAL) return LLAP_OK; /* none, as where all are 0 */
        if (st != LLAP_OK) return st;
        a.start = anchor_kernel_still(m->kernel);
        if (isfinite(m->valid_crps)) anchor_prefer(winner, m, 0.0);
        else ll_anchor_model_destroy(m);
    }
    return LLAP_OK;
}

llap_status anchor_choose_kind(const ll_anchor_data *d, const ll_anchor_model_opts *o,
                               ll_anchor_model **best)
{
    static const ll_curve curves[CURVES] = { LL_CURVE_COUNTS, LL_CURVE_LOGIT };
    ll_anchor_model      *winner = NULL;
    llap_status           st = LLAP_OK;
    int64_t               before = anchor_course_of(o, d->n_series, true).kinds;
    assert(*best != NULL && d->n_valid > 0);
    if (isnan((*best)->valid_crps)) return LLAP_OK; /* nothing to choose by */
    for (int k = 0; k < CURVES && st == LLAP_OK; k++) {
        if (!has_curve(o, curves[k])) continue;
        st = try_curve(d, o, *best, curves[k], FIRST_NUMBER + DRIFTS * k, before, &winner);
        before += DRIFTS * anchor_drift_steps(o);
    }
    if (st == LLAP_OK) anchor_prefer(best, winner, GAIN);
    else ll_anchor_model_destroy(winner);
    return st;
}
