/* Fitting the whole anchor model: candidates by chain and kappa, the best by validation. */
#include "anchor/chain/quantile.h"
#include "anchor/choose_kind.h"
#include "anchor/drift.h"
#include "anchor/known_choose.h"
#include "anchor/monitor_choose.h"
#include "anchor/static_choose.h"
#include "anchor/trial.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>

static const double INNOVATION_NU = 1e-5; /* least noise, where the unit is that of training */

/* Draws the windows of each step for ll_anchor_fit. */
typedef struct drawer {
    const ll_anchor_data       *data;
    const ll_anchor_model_opts *opts;
    const anchor_rows          *rows;
    anchor_cut                  how;
    ll_origin                  *origin; /* [n_rows] */
    anchor_batch                batch;
} drawer;

static llap_status draw(void *user, int64_t step, size_t n_rows, ll_anchor_window *out)
{
    drawer      *d = user;
    const ll_rng rng = ll_rng_make(d->opts->seed, LL_STREAM_FIT, 0, 0, (uint32_t)step);
    for (size_t i = 0; i < n_rows; i++)
        d->origin[i] = d->data->train[ll_rng_below(&rng, i, d->data->n_train)];
    anchor_batch_deinit(&d->batch);
    const llap_status st =
        anchor_batch_init(&d->batch, d->how, d->rows, d->data->n_series, d->origin, n_rows);
    for (size_t i = 0; st == LLAP_OK && i < n_rows; i++) out[i] = d->batch.window[i];
    return st;
}

static bool may_profile(const ll_anchor_model_opts *o)
{
    return o->chain.climate && o->chain.gap > 0.0 && o->chain.gap < 24.0;
}

/* Where series are pooled, static inputs are in a contest of their own. */
static bool may_tell(const ll_anchor_model_opts *o)
{
    return o->statics && o->chain.pooled && o->chain.curve != LL_CURVE_CLIPPED;
}

anchor_course anchor_course_of(const ll_anchor_model_opts *o, size_t n_series, bool validated)
{
    const bool    several = validated && n_series > 1 && n_series <= LL_ANCHOR_LINKED_MAX;
    const int     kernels = (o->chain.climate ? 2 : 1) * (o->kappa > 0.0 ? 1 : 2);
    anchor_course c;
    c.cycles = o->fit.n_steps * (validated ? kernels : 1);
    c.profile = c.cycles + (validated && o->cycles.n_terms > 0 ? o->fit.n_steps : 0);
    c.periods = c.profile + (validated && may_profile(o) ? anchor_drift_steps(o) : 0);
    c.known = c.periods + (validated ? anchor_period_kernels(o) * o->fit.n_steps : 0);
    c.drift = c.known + (validated && o->known ? ANCHOR_KNOWN * anchor_drift_steps(o) : 0);
    c.kinds = c.drift + (validated && o->chain.curve != LL_CURVE_CLIPPED
                             ? ANCHOR_DRIFTS * anchor_drift_steps(o)
                             : 0);
    c.statics = c.kinds + (validated ? anchor_kind_steps(o) : 0);
    c.link = c.statics + (validated && may_tell(o) ? ANCHOR_STATICS * anchor_drift_steps(o) : 0);
    c.filling = c.link + (o->link && several ? ANCHOR_LINKS : 0);
    c.neighbours = c.filling + o->fit.n_steps;
    c.week = c.neighbours + (o->neighbours_series && several ? 4 * ANCHOR_SCENES : 0);
    c.all =
        c.week + (validated && o->cycles.n_terms > 0 && may_profile(o) ? anchor_drift_steps(o) : 0);
    return c;
}

int64_t ll_anchor_model_steps(const ll_anchor_model_opts *o, size_t n_series, bool validated)
{
    return anchor_course_of(o, n_series, validated).all;
}

static llap_status fit_kernel(const ll_anchor_data *data, const ll_anchor_model_opts *o,
                              const anchor_rows *rows, const anchor_attempt *a, const char *name,
                              ll_anchor_kernel *k)
{
    ll_anchor_fit_opts fit = o->fit;
    fit.name = name;
    fit.before = a->before;
    fit.n_steps = a->n_steps;
    fit.learn_omega = a->learn_omega;
    /* The floor is a share of the window's variance. In innovation scale, of all of training, it
     * would be as much as a walk moves in a step. */
    if (a->start.innovation) fit.nu_floor = fmin(fit.nu_floor, INNOVATION_NU);
    drawer d = { .data = data,
                 .opts = o,
                 .rows = rows,
                 .how = { .spec = &o->spec,
                          .points = o->points,
                          .kappa = a->kappa,
                          .innovation = a->start.innovation,
                          .still = a->chain.curve == LL_CURVE_COUNTS } };
    d.origin = ll_new(o->fit.n_rows, sizeof *d.origin);
    if (d.origin == NULL) return LLAP_ENOMEM;
    *k = a->start;
    const llap_status st = ll_anchor_fit(k, &fit, draw, &d);
    anchor_batch_deinit(&d.batch);
    ll_free(d.origin);
    return st;
}

static llap_status fit_chain(const ll_anchor_data *d, const ll_chain_opts *o, ll_chain **out)
{
    ll_series *train = ll_new(d->n_series, sizeof *train);
    if (train == NULL) return LLAP_ENOMEM;
    for (size_t e = 0; e < d->n_series; e++) {
        train[e] = d->series[e];
        if (d->train_rows[e] < train[e].n) train[e].n = d->train_rows[e];
    }
    const llap_status st = ll_chain_fit(train, d->n_series, o, out);
    ll_free(train);
    return st;
}

/* The longest window of validation: readings of context and horizon, rows as they are. */
static size_t longest(const ll_anchor_data *d, const ll_anchor_model_opts *o, size_t *ahead)
{
    size_t most = 0;
    *ahead = 0;
    for (size_t i = 0; i < d->n_valid; i++) {
        const ll_series *s = &d->series[d->valid[i].series];
        const size_t     now = anchor_after(s->t, s->n, d->valid[i].t);
        const size_t     n = now - anchor_after(s->t, s->n, d->valid[i].t - o->spec.context);
        const size_t     q = anchor_after(s->t, s->n, d->valid[i].t + o->spec.horizon) - now;
        most = n > most ? n : most;
        *ahead = q > *ahead ? q : *ahead;
    }
    return most;
}

/* Whether fits look at less of a window than forecasts do. */
static bool are_thinned(const ll_anchor_data *d, const ll_anchor_model_opts *o)
{
    size_t       ahead;
    const size_t most = longest(d, o, &ahead);
    return o->points > 0 && (most > 2 * o->points || ahead > o->points);
}

/* The validation windows that choose. Where fits look at thinned windows these are whole, as those
 * of forecasts, and fewer, with as many rows in all: neighbours of long windows hardly differ. The
 * caller owns *out. */
static llap_status choosing(const ll_anchor_data *d, const ll_anchor_model_opts *o, ll_origin **out,
                            size_t *n)
{
    enum { LEAST = 64 };
    size_t       ahead, keep = d->n_valid;
    const size_t rows = longest(d, o, &ahead) + ahead;
    if (are_thinned(d, o)) keep = d->n_valid * 2 * o->points / rows;
    if (keep < LEAST) keep = LEAST;
    if (keep > d->n_valid) keep = d->n_valid;
    *n = keep;
    *out = ll_new(keep, sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < keep; i++) (*out)[i] = d->valid[i * d->n_valid / keep];
    return LLAP_OK;
}

/* What validation says about a candidate, unless an earlier run has asked. Its calibration is left
 * to whoever is chosen. */
static llap_status score_candidate(ll_anchor_model *m, const ll_anchor_data *d,
                                   const ll_anchor_model_opts *o, const anchor_rows *rows,
                                   const char *name)
{
    const ll_anchor_watch *w = &o->fit.watch;
    char                   score_name[32];
    snprintf(score_name, sizeof score_name, "%s.score", name);
    if (d->n_valid == 0) return LLAP_OK;
    if (anchor_found(o, score_name, &m->valid_crps, 1))
        return isnan(m->valid_crps) /* nothing was known */
                   ? LLAP_OK
                   : anchor_note_check(score_name, "CRPS", &m->valid_crps, 1, 0, DBL_MAX);
    anchor_trial t;
    ll_origin   *origin;
    size_t       n;
    llap_status  st = choosing(d, o, &origin, &n);
    if (st == LLAP_OK) st = anchor_trial_init(&t, m, rows, d->n_series, origin, n, 0);
    if (st == LLAP_OK) {
        st = anchor_score(m, &t.batch, rows, origin, &m->valid_crps);
        anchor_trial_deinit(&t);
    }
    ll_free(origin);
    if (st == LLAP_OK) st = anchor_keep(o, score_name, &m->valid_crps, 1);
    if (st == LLAP_OK && w->scored != NULL) st = w->scored(w->user, name, m);
    return st;
}

llap_status anchor_candidate(const ll_anchor_data *d, const ll_anchor_model_opts *o,
                             const anchor_attempt *a, ll_anchor_model **out)
{
    ll_chain        *chain = NULL;
    ll_anchor_kernel kernel;
    anchor_rows     *rows = NULL;
    ll_anchor_model *m = NULL;
    char             name[16];
    snprintf(name, sizeof name, "kernel.%d", a->number);
    llap_status st = fit_chain(d, &a->chain, &chain);
    if (st != LLAP_OK) return st;
    st = anchor_rows_create(chain, d->series, d->n_series, &rows);
    if (st == LLAP_OK) st = fit_kernel(d, o, rows, a, name, &kernel);
    if (st == LLAP_OK) {
        st = ll_anchor_model_create(&o->spec, chain, &kernel, a->kappa, &m);
        chain = NULL; /* taken */
    }
    if (st == LLAP_OK) m->var_floor = o->fit.var_floor;
    if (st == LLAP_OK && a->chain.curve != LL_CURVE_CLIPPED) st = anchor_set_monitor(m, d, o, rows);
    if (st == LLAP_OK) st = score_candidate(m, d, o, rows, name);
    anchor_rows_destroy(rows, d->n_series);
    ll_chain_destroy(chain);
    if (st == LLAP_OK) *out = m;
    else ll_anchor_model_destroy(m);
    return st;
}

bool anchor_prefer(ll_anchor_model **best, ll_anchor_model *other, double gain)
{
    if (other == NULL) return false;
    assert(best != NULL && *best != other && gain < 1.0);
    const bool better = *best == NULL || other->valid_crps < (*best)->valid_crps * (1.0 - gain);
    ll_anchor_model_destroy(better ? *best : other);
    if (better) *best = other;
    return better;
}

/* Shares that other choices than the local ones (level from the window, no climate) must gain on
 * validation. Less than a year of training has not seen every season, and a validation part behind
 * it says little about the season after it; from two years on the calendar is trusted unless it
 * harms. */
typedef struct demands {
    double climate, kappa;
} demands;

double anchor_train_span(const ll_anchor_data *d)
{
    double first = INFINITY, last = -INFINITY;
    for (size_t e = 0; e < d->n_series; e++) {
        const size_t n = d->train_rows[e] < d->series[e].n ? d->train_rows[e] : d->series[e].n;
        if (n == 0) continue;
        first = fmin(first, d->series[e].t[0]);
        last = fmax(last, d->series[e].t[n - 1]);
    }
    return last - first;
}

static demands demands_of(const ll_anchor_data *d)
{
    const double span = anchor_train_span(d);
    if (span < ANCHOR_YEAR) return (demands){ .climate = 0.04, .kappa = 0.04 };
    return (demands){ .climate = span < 2.0 * ANCHOR_YEAR ? 0.0 : -0.01 };
}

/* A whole fit from the start, number i of those. */
static anchor_attempt attempt_of(const ll_anchor_model_opts *o, int i, double kappa)
{
    return (anchor_attempt){
        .number = i,
        .before = i * o->fit.n_steps,
        .n_steps = o->fit.n_steps,
        .chain = o->chain,
        .kappa = kappa,
        .start = o->start.n_terms > 0 ? o->start : ll_anchor_kernel_hourly(),
        .learn_omega = o->fit.learn_omega,
    };
}

/* like: another candidate, or NULL. */
static llap_status best_kappa(const ll_anchor_data *d, const ll_anchor_model_opts *o, bool climate,
                              double gain, const ll_anchor_model *like, ll_anchor_model **best)
{
    const double kappas[] = { o->kappa > 0.0 ? o->kappa : 4.0, 200.0 };
    const int    n = o->kappa > 0.0 || d->n_valid == 0 ? 1 : 2;
    const int    first = !climate || d->n_valid == 0 ? 0 : n;
    llap_status  st = LLAP_OK;
    for (int k = 0; k < n && st == LLAP_OK; k++) {
        ll_anchor_model *m = NULL;
        anchor_attempt   a = attempt_of(o, first + k, kappas[k]);
        a.chain.climate = climate;
        if (like != NULL) a.chain.like = like->chain;
        else if (*best != NULL) a.chain.like = (*best)->chain;
        st = anchor_candidate(d, o, &a, &m);
        anchor_prefer(best, m, gain);
    }
    return st;
}

/* The same with cycles of any length, where validation is clearly for them (*taken): they must gain
 * 1 %, and as much more as a climate must, since a few weeks of one season say as little about
 * them. o is then how the rest is fitted. */
static llap_status try_cycles(const ll_anchor_data *d, ll_anchor_model_opts *o, double more,
                              ll_anchor_model **best, bool *taken)
{
    const double     gain = 0.01 + fmax(more, 0.0);
    const int        i = (int)(anchor_course_of(o, d->n_series, true).cycles / o->fit.n_steps);
    ll_anchor_model *m = NULL;
    anchor_attempt   a = attempt_of(o, i, (*best)->kappa);
    a.start = o->cycles;
    a.learn_omega = true;
    a.chain.climate = (*best)->chain->n_climate > 0;
    a.chain.like = (*best)->chain;
    const llap_status st = anchor_candidate(d, o, &a, &m);
    *taken = anchor_prefer(best, m, gain);
    if (!*taken) return st;
    o->start = anchor_kernel_still((*best)->kernel);
    o->fit.learn_omega = true;
    return st;
}

/* A weekly profile, from the kernel `start`, beside the best so far; number and first step as its
 * notes have them. */
static llap_status fit_profile(const ll_anchor_data *d, const ll_anchor_model_opts *o, int number,
                               int64_t before, const ll_anchor_model *best,
                               const ll_anchor_kernel *start, ll_anchor_model **out)
{
    anchor_attempt a = attempt_of(o, number, best->kappa);
    a.before = before;
    a.n_steps = anchor_drift_steps(o);
    a.start = *start;
    a.start.monitor = 0.0;
    a.chain.climate = a.chain.profile = true;
    a.chain.like = best->chain;
    return anchor_candidate(d, o, &a, out);
}

/* A weekly profile, which must gain 1 %, and as much more as a climate must. Cycles that were
 * learnt have taken up the week, and do not always let go of it within the steps of a candidate: so
 * there the profile is also tried from the kernel before them (clock; NULL: none were learnt), with
 * the options that it was fitted by (how). If that wins, o is they. */
static llap_status try_profile(const ll_anchor_data *d, ll_anchor_model_opts *o,
                               const ll_anchor_model_opts *how, const ll_anchor_kernel *clock,
                               double more, ll_anchor_model **best)
{
    const double        gain = 0.01;
    const anchor_course c = anchor_course_of(o, d->n_series, true);
    ll_anchor_model    *with = NULL, *other = NULL;
    llap_status         st = fit_profile(d, o, 7, c.profile, *best, &(*best)->kernel, &with);
    if (st == LLAP_OK && clock != NULL) st = fit_profile(d, how, 6, c.week, *best, clock, &other);
    const bool from_clock = anchor_prefer(&with, other, 0.0);
    if (anchor_prefer(best, with, gain + fmax(more, 0.0)) && from_clock) *o = *how;
    return st;
}

static llap_status try_cycles_and_week(const ll_anchor_data *d, ll_anchor_model_opts *o,
                                       double more, ll_anchor_model **best)
{
    const ll_anchor_model_opts how = *o;
    const ll_anchor_kernel     clock = (*best)->kernel;
    llap_status                st = LLAP_OK;
    bool                       learnt = false;
    if (o->cycles.n_terms > 0) st = try_cycles(d, o, more, best, &learnt);
    if (st == LLAP_OK && may_profile(o))
        st = try_profile(d, o, &how, learnt ? &clock : NULL, more, best);
    return st;
}

/* The score that the choices were made by is that of some windows: this one is of all. */
static llap_status score_whole(ll_anchor_model *m, const anchor_rows *rows, const ll_anchor_data *d,
                               const anchor_trial *t)
{
    anchor_batch first = t->batch;
    first.n = d->n_valid;
    return anchor_score(m, &first, rows, d->valid, &m->valid_crps);
}

/* Calibrates on all seasons that are there, not on the few weeks that chose: those windows, and up
 * to seven times as many of training, as the parts of the data are. Fifteen numbers fitted to
 * thousands of windows know little of any one of them. docs/accuracy.md has what it brings. Long
 * windows have many values each: there are as many of training as of validation then. */
static llap_status calibrate_on_all(ll_anchor_model *m, const ll_anchor_data *d,
                                    const ll_anchor_model_opts *o)
{
    const bool   thinned = are_thinned(d, o);
    const size_t most = (thinned ? 1 : 7) * d->n_valid;
    const size_t n_train = d->n_train < most ? d->n_train : most;
    const size_t n = d->n_valid + n_train;
    ll_origin   *origin = ll_new(n, sizeof *origin);
    anchor_rows *rows = NULL;
    anchor_trial t;
    llap_status  st =
        origin == NULL ? LLAP_ENOMEM : anchor_rows_create(m->chain, d->series, d->n_series, &rows);
    for (size_t i = 0; st == LLAP_OK && i < n; i++)
        origin[i] =
            i < d->n_valid ? d->valid[i] : d->train[(i - d->n_valid) * d->n_train / n_train];
    if (st == LLAP_OK) st = anchor_trial_init(&t, m, rows, d->n_series, origin, n, 0);
    if (st == LLAP_OK) {
        if (thinned) st = score_whole(m, rows, d, &t);
        if (st == LLAP_OK) st = anchor_calibrate(m, &t.batch, origin, o->near, o->middle);
        anchor_trial_deinit(&t);
    }
    anchor_rows_destroy(rows, d->n_series);
    ll_free(origin);
    return st;
}

/* The contest itself. */
static llap_status fit_best(const ll_anchor_data *d, ll_anchor_model_opts *o, anchor_known *known,
                            ll_anchor_model **out)
{
    const demands    ask = demands_of(d);
    const bool       choose = d->n_valid > 0;
    ll_anchor_model *best = NULL, *with = NULL;
    llap_status      st = LLAP_OK;
    if (!o->chain.climate || choose) st = best_kappa(d, o, false, ask.kappa, NULL, &best);
    if (st == LLAP_OK && o->chain.climate) st = best_kappa(d, o, true, ask.kappa, best, &with);
    anchor_prefer(&best, with, ask.climate);
    if (st == LLAP_OK && choose) st = try_cycles_and_week(d, o, ask.climate, &best);
    if (st == LLAP_OK && choose && anchor_period_kernels(o) > 0)
        st = anchor_choose_periods(d, o, &best);
    if (st == LLAP_OK && choose && o->holidays != NULL && best->chain->n_climate > 0 &&
        best->chain->periods.n == 0)
        st = anchor_choose_holidays(d, o, &best);
    if (st == LLAP_OK && choose && known->of != NULL) st = anchor_choose_known(known, d, o, &best);
    if (st == LLAP_OK && choose && o->chain.curve != LL_CURVE_CLIPPED)
        st = anchor_choose_drift(d, o, &best);
    if (st == LLAP_OK && choose) st = anchor_choose_kind(d, o, &best);
    if (st == LLAP_OK && choose && may_tell(o)) st = anchor_choose_statics(d, o, &best);
    if (st == LLAP_OK && choose) st = calibrate_on_all(best, d, o);
    if (st == LLAP_OK && o->link) st = anchor_fit_linked(best, d, o);
    if (st == LLAP_OK) st = anchor_fit_filling(best, d, o);
    if (st == LLAP_OK && o->neighbours_series && choose) st = anchor_fit_neighbours(best, d, o);
    if (st == LLAP_OK) *out = best;
    else ll_anchor_model_destroy(best);
    return st;
}

llap_status ll_anchor_model_fit(const ll_anchor_data *d, const ll_anchor_model_opts *opts,
                                ll_anchor_model **out)
{
    ll_anchor_model_opts how = *opts;
    anchor_known         known;
    *out = NULL;
    if (d->n_train == 0) return ll_fail(LLAP_EINVAL, "anchor: no training window");
    how.statics = d->statics.n > 0;
    if (!how.chain.pooled && how.chain.curve != LL_CURVE_CLIPPED) how.chain.statics = d->statics;
    llap_status st = anchor_known_init(&known, d, &how);
    if (st == LLAP_OK) st = fit_best(&known.data, &how, &known, out);
    anchor_known_deinit(&known);
    return st;
}
