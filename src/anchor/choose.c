/* Fitting the whole anchor model: candidates by chain and kappa, the best by validation. */
#include "anchor/window.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* Draws the windows of each step for ll_anchor_fit. */
typedef struct drawer {
    const ll_anchor_data       *data;
    const ll_anchor_model_opts *opts;
    const anchor_rows          *rows;
    double                      kappa;
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
    const llap_status st = anchor_batch_init(&d->batch, &d->opts->spec, d->kappa, d->rows,
                                             d->data->n_series, d->origin, n_rows);
    for (size_t i = 0; st == LLAP_OK && i < n_rows; i++) out[i] = d->batch.window[i];
    return st;
}

anchor_course anchor_course_of(const ll_anchor_model_opts *o, size_t n_series, bool validated)
{
    const bool    several = validated && n_series > 1 && n_series <= LL_ANCHOR_LINKED_MAX;
    const int     kernels = (o->chain.climate ? 2 : 1) * (o->kappa > 0.0 ? 1 : 2);
    anchor_course c;
    c.cycles = o->fit.n_steps * (validated ? kernels : 1);
    c.link = c.cycles + (validated && o->cycles.n_terms > 0 ? o->fit.n_steps : 0);
    c.filling = c.link + (o->link && several ? ANCHOR_LINKS : 0);
    c.neighbours = c.filling + o->fit.n_steps;
    c.all = c.neighbours + (o->neighbours_series && several ? 4 * ANCHOR_SCENES : 0);
    return c;
}

int64_t ll_anchor_model_steps(const ll_anchor_model_opts *o, size_t n_series, bool validated)
{
    return anchor_course_of(o, n_series, validated).all;
}

static llap_status fit_kernel(const ll_anchor_data *data, const ll_anchor_model_opts *o,
                              const anchor_rows *rows, double kappa, const char *name,
                              int64_t before, ll_anchor_kernel *k)
{
    ll_anchor_fit_opts fit = o->fit;
    fit.name = name;
    fit.before = before;
    drawer d = { .data = data, .opts = o, .rows = rows, .kappa = kappa };
    d.origin = ll_new(o->fit.n_rows, sizeof *d.origin);
    if (d.origin == NULL) return LLAP_ENOMEM;
    *k = o->start.n_terms > 0 ? o->start : ll_anchor_kernel_hourly();
    const llap_status st = ll_anchor_fit(k, &fit, draw, &d);
    anchor_batch_deinit(&d.batch);
    ll_free(d.origin);
    return st;
}

/* Forecasts at origins where the truth is known. */
typedef struct trial {
    const anchor_rows *rows; /* [n_series] */
    const ll_origin   *origin;
    size_t             n;
    anchor_batch       batch;
} trial;

static llap_status trial_init(trial *t, const ll_anchor_model *m, const anchor_rows *rows,
                              size_t n_series, const ll_origin *origin, size_t n)
{
    *t = (trial){ .rows = rows, .origin = origin, .n = n };
    llap_status st = anchor_batch_init(&t->batch, &m->spec, m->kappa, rows, n_series, origin, n);
    if (st == LLAP_OK)
        st = ll_anchor_filter(&m->kernel, t->batch.window, n, t->batch.mean, t->batch.var, NULL);
    if (st != LLAP_OK) anchor_batch_deinit(&t->batch);
    return st;
}

static llap_status calibrate(ll_anchor_model *m, const trial *t, double near, double middle)
{
    const anchor_batch *b = &t->batch;
    size_t              n_query = 0, at = 0;
    for (size_t i = 0; i < t->n; i++) n_query += b->window[i].n_query;
    double    *lead = ll_new(n_query, sizeof *lead), *residual = ll_new(n_query, sizeof *residual);
    const bool ok = lead != NULL && residual != NULL;
    for (size_t i = 0; ok && i < t->n; i++)
        for (size_t q = 0; q < b->window[i].n_query; q++, at++) {
            lead[at] = b->window[i].t_query[q] - t->origin[i].t;
            residual[at] =
                (b->window[i].target[q] - b->mean[i][q]) / sqrt(fmax(b->var[i][q], m->var_floor));
        }
    const llap_status st =
        ok ? ll_calibration_fit(lead, residual, n_query, near, middle, 0.5, &m->calibration)
           : LLAP_ENOMEM;
    ll_free(lead);
    ll_free(residual);
    return st;
}

/* Sum of CRPS of z over the known queries of window i. */
static double score_window(const ll_anchor_model *m, const trial *t, size_t i, int64_t *count)
{
    const anchor_batch *b = &t->batch;
    const size_t        series = t->origin[i].series;
    double              sum = 0.0;
    *count = 0;
    for (size_t q = 0; q < b->window[i].n_query; q++) {
        const double z = t->rows[series].z[b->query[i] + q], tq = b->window[i].t_query[q];
        if (isnan(z)) continue;
        const ll_law law = {
            .mean = b->m[i] + b->s[i] * b->mean[i][q],
            .sd = b->s[i] * sqrt(fmax(b->var[i][q], m->var_floor)),
            .climate = ll_chain_climate(m->chain, series, tq),
            .series = series,
        };
        sum += ll_anchor_crps_z(m, &law, z, NULL);
        ++*count;
    }
    return sum;
}

static llap_status score(ll_anchor_model *m, const trial *t)
{
    double    *part = ll_new(t->n, sizeof *part), sum = 0.0;
    int64_t   *count = ll_new(t->n, sizeof *count), known = 0;
    const bool ok = part != NULL && count != NULL;
    if (ok) {
#pragma omp parallel for schedule(dynamic, 8)
        for (int64_t i = 0; i < (int64_t)t->n; i++)
            part[i] = score_window(m, t, (size_t)i, &count[i]);
        for (size_t i = 0; i < t->n; i++) sum += part[i], known += count[i];
        m->valid_crps = sum / (double)known; /* NaN: nothing known */
    }
    ll_free(part);
    ll_free(count);
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

static llap_status validate(ll_anchor_model *m, const anchor_rows *rows, size_t n_series,
                            const ll_origin *origin, size_t n, double near, double middle)
{
    trial       t;
    llap_status st = trial_init(&t, m, rows, n_series, origin, n);
    if (st != LLAP_OK) return st;
    st = score(m, &t);
    if (st == LLAP_OK) st = calibrate(m, &t, near, middle);
    anchor_batch_deinit(&t.batch);
    return st;
}

llap_status ll_anchor_model_calibrate(ll_anchor_model *m, const ll_series *series, size_t n_series,
                                      const ll_origin *origin, size_t n, double near, double middle)
{
    anchor_rows *rows = NULL;
    llap_status  st = anchor_rows_create(m->chain, series, n_series, &rows);
    if (st == LLAP_OK) st = validate(m, rows, n_series, origin, n, near, middle);
    anchor_rows_destroy(rows, n_series);
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
    trial       t;
    llap_status st = trial_init(&t, m, rows, d->n_series, d->valid, d->n_valid);
    if (st != LLAP_OK) return st;
    st = score(m, &t);
    anchor_batch_deinit(&t.batch);
    if (st == LLAP_OK) st = anchor_keep(o, score_name, &m->valid_crps, 1);
    if (st == LLAP_OK && w->scored != NULL) st = w->scored(w->user, name, m);
    return st;
}

/* Candidate number i. Caller owns *out. */
static llap_status candidate(const ll_anchor_data *d, const ll_anchor_model_opts *o, int i,
                             const ll_chain_opts *chain_opts, double kappa, ll_anchor_model **out)
{
    ll_chain        *chain = NULL;
    ll_anchor_kernel kernel;
    anchor_rows     *rows = NULL;
    ll_anchor_model *m = NULL;
    char             name[16];
    const int64_t    before = i * o->fit.n_steps;
    snprintf(name, sizeof name, "kernel.%d", i);
    llap_status st = fit_chain(d, chain_opts, &chain);
    if (st != LLAP_OK) return st;
    st = anchor_rows_create(chain, d->series, d->n_series, &rows);
    if (st == LLAP_OK) st = fit_kernel(d, o, rows, kappa, name, before, &kernel);
    if (st == LLAP_OK) {
        st = ll_anchor_model_create(&o->spec, chain, &kernel, kappa, &m);
        chain = NULL; /* taken */
    }
    if (st == LLAP_OK) m->var_floor = o->fit.var_floor;
    if (st == LLAP_OK) st = score_candidate(m, d, o, rows, name);
    anchor_rows_destroy(rows, d->n_series);
    ll_chain_destroy(chain);
    if (st == LLAP_OK) *out = m;
    else ll_anchor_model_destroy(m);
    return st;
}

/* Keeps in *best the one that validation prefers: other must be better by the share `gain`, which
 * may be negative. Takes other and says whether it was. */
static bool prefer(ll_anchor_model **best, ll_anchor_model *other, double gain)
{
    if (other == NULL) return false;
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

static demands demands_of(const ll_anchor_data *d)
{
    const double year = 8766.0; /* hours */
    double       first = INFINITY, last = -INFINITY;
    for (size_t e = 0; e < d->n_series; e++) {
        const size_t n = d->train_rows[e] < d->series[e].n ? d->train_rows[e] : d->series[e].n;
        if (n == 0) continue;
        first = fmin(first, d->series[e].t[0]);
        last = fmax(last, d->series[e].t[n - 1]);
    }
    if (last - first < year) return (demands){ .climate = 0.04, .kappa = 0.04 };
    return (demands){ .climate = last - first < 2.0 * year ? 0.0 : -0.01 };
}

static llap_status best_kappa(const ll_anchor_data *d, const ll_anchor_model_opts *o, bool climate,
                              double gain, ll_anchor_model **best)
{
    const double  kappas[] = { o->kappa > 0.0 ? o->kappa : 4.0, 200.0 };
    const int     n = o->kappa > 0.0 || d->n_valid == 0 ? 1 : 2;
    const int     first = !climate || d->n_valid == 0 ? 0 : n;
    ll_chain_opts co = o->chain;
    llap_status   st = LLAP_OK;
    co.climate = climate;
    for (int k = 0; k < n && st == LLAP_OK; k++) {
        ll_anchor_model *m = NULL;
        st = candidate(d, o, first + k, &co, kappas[k], &m);
        prefer(best, m, gain);
    }
    return st;
}

/* The same with cycles of any length, where validation is clearly for them; o is then how the rest
 * is fitted. */
static llap_status try_cycles(const ll_anchor_data *d, ll_anchor_model_opts *o,
                              ll_anchor_model **best)
{
    const double           gain = 0.01;
    const ll_anchor_model *was = *best;
    ll_anchor_model_opts   other = *o;
    ll_anchor_model       *m = NULL;
    other.start = o->cycles;
    other.fit.learn_omega = true;
    other.chain.climate = was->chain->n_climate > 0;
    const int         i = (int)(anchor_course_of(o, d->n_series, true).cycles / o->fit.n_steps);
    const llap_status st = candidate(d, &other, i, &other.chain, was->kappa, &m);
    if (!prefer(best, m, gain)) return st;
    o->start = (*best)->kernel;
    o->fit.learn_omega = true;
    return st;
}

/* Calibrates on all seasons that are there, not on the few weeks that chose: those windows, and up
 * to seven times as many of training, as the parts of the data are. Fifteen numbers fitted to
 * thousands of windows know little of any one of them. docs/accuracy.md has what it brings. */
static llap_status calibrate_on_all(ll_anchor_model *m, const ll_anchor_data *d,
                                    const ll_anchor_model_opts *o)
{
    const size_t n_train = d->n_train < 7 * d->n_valid ? d->n_train : 7 * d->n_valid;
    const size_t n = d->n_valid + n_train;
    ll_origin   *origin = ll_new(n, sizeof *origin);
    anchor_rows *rows = NULL;
    trial        t;
    llap_status  st =
        origin == NULL ? LLAP_ENOMEM : anchor_rows_create(m->chain, d->series, d->n_series, &rows);
    for (size_t i = 0; st == LLAP_OK && i < n; i++)
        origin[i] =
            i < d->n_valid ? d->valid[i] : d->train[(i - d->n_valid) * d->n_train / n_train];
    if (st == LLAP_OK) st = trial_init(&t, m, rows, d->n_series, origin, n);
    if (st == LLAP_OK) {
        st = calibrate(m, &t, o->near, o->middle);
        anchor_batch_deinit(&t.batch);
    }
    anchor_rows_destroy(rows, d->n_series);
    ll_free(origin);
    return st;
}

llap_status ll_anchor_model_fit(const ll_anchor_data *d, const ll_anchor_model_opts *opts,
                                ll_anchor_model **out)
{
    ll_anchor_model_opts how = *opts, *o = &how;
    *out = NULL;
    if (d->n_train == 0) return ll_fail(LLAP_EINVAL, "anchor: no training window");
    const demands    ask = demands_of(d);
    const bool       choose = d->n_valid > 0;
    ll_anchor_model *best = NULL, *with = NULL;
    llap_status      st = LLAP_OK;
    if (!o->chain.climate || choose) st = best_kappa(d, o, false, ask.kappa, &best);
    if (st == LLAP_OK && o->chain.climate) st = best_kappa(d, o, true, ask.kappa, &with);
    prefer(&best, with, ask.climate);
    if (st == LLAP_OK && choose && o->cycles.n_terms > 0) st = try_cycles(d, o, &best);
    if (st == LLAP_OK && choose) st = calibrate_on_all(best, d, o);
    if (st == LLAP_OK && o->link) st = anchor_fit_linked(best, d, o);
    if (st == LLAP_OK) st = anchor_fit_filling(best, d, o);
    if (st == LLAP_OK && o->neighbours_series && choose) st = anchor_fit_neighbours(best, d, o);
    if (st == LLAP_OK) *out = best;
    else ll_anchor_model_destroy(best);
    return st;
}
