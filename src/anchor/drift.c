/* Choosing how a series leaves the level of its window. On top of the best model without drift:
 *
 *     curve        drift (scale of the window)      in innovation scale
 *     tails        level, slope                     none, walk
 *     log          none, level, slope               level, walk
 *
 * A walk is a level and next to nothing else, for prices: the simplest of all, three numbers. It
 * has to be better on validation by no margin; whatever else replaces the best so far must gain
 * 1 %. Where much of validation lies outside the range of training, or the levels of most of its
 * windows do once climate and known inputs are off, a series that is always positive takes the best
 * of its logarithms unless that clearly loses: what grows goes on growing by shares. Where the
 * values themselves lie outside, the best logarithm is also tried without a climate.
 *
 * Validation is one period, and prices differ from period to period. Where a walk is not far from
 * what it chose, many periods are asked (walk_choose.c). */
#include "anchor/drift.h"

#include "anchor/chain/quantile.h"
#include "anchor/walk_choose.h"

#include "base/alloc.h"

#include <assert.h>
#include <math.h>

static const double GAIN = 0.01, LOG_LOSS = 0.03;    /* shares of the CRPS */
static const double OUT_SOME = 0.01, OUT_MUCH = 0.1; /* shares of validation values */
static const double LEVELS_MOST = 0.5;               /* share of validation windows */
static const double NEAR = 1.25; /* CRPS of a walk by that of what validation chose */
static const double LEVEL_START = 25.0, DAMPING = 0.02; /* damping times the horizon */

int64_t anchor_drift_steps(const ll_anchor_model_opts *o)
{
    return o->fit.n_steps > 1 ? o->fit.n_steps / 2 : 1;
}

/* ---- what the data say ---- */

static size_t train_rows(const ll_anchor_data *d, size_t e)
{
    return d->train_rows[e] < d->series[e].n ? d->train_rows[e] : d->series[e].n;
}

/* Share of the values that validation scores outside the range of training. */
static double share_outside(const ll_anchor_data *d, const ll_anchor_model *m)
{
    const ll_chain *c = m->chain;
    double          out = 0.0, n = 0.0;
    for (size_t i = 0; i < d->n_valid; i++) {
        const size_t     e = d->valid[i].series;
        const ll_series *s = &d->series[e];
        const size_t     end = anchor_after(s->t, s->n, d->valid[i].t + m->spec.horizon);
        for (size_t r = anchor_after(s->t, s->n, d->valid[i].t); r < end; r++) {
            if (isnan(s->y[r])) continue;
            n += 1.0;
            out += s->y[r] < c->low[e] || s->y[r] > c->high[e];
        }
    }
    return n > 0.0 ? out / n : 0.0;
}

/* Sums of u, and counts of readings, over the rows before each: [n + 1]. */
typedef struct running {
    double *sum, *count; /* owned through sum */
} running;

static llap_status running_init(running *r, const anchor_rows *rows)
{
    r->sum = ll_new(2 * (rows->n + 1), sizeof *r->sum);
    if (r->sum == NULL) return LLAP_ENOMEM;
    r->count = r->sum + rows->n + 1;
    for (size_t i = 0; i < rows->n; i++) {
        const bool read = !isnan(rows->z[i]) && !isnan(rows->u[i]);
        r->sum[i + 1] = r->sum[i] + (read ? rows->u[i] : 0.0);
        r->count[i + 1] = r->count[i] + read;
    }
    return LLAP_OK;
}

/* Mean of u over the context of an origin; NaN where it has no reading. */
static double level_at(const running *r, const anchor_rows *rows, double t, double context)
{
    const size_t end = anchor_after(rows->t, rows->n, t);
    const size_t first = anchor_after(rows->t, rows->n, t - context);
    const double n = r->count[end] - r->count[first];
    return n > 0.0 ? (r->sum[end] - r->sum[first]) / n : NAN;
}

llap_status anchor_levels_outside(const ll_anchor_data *d, const ll_anchor_model *m, double *out)
{
    anchor_rows *rows = NULL;
    double       outside = 0.0, n = 0.0;
    llap_status  st = anchor_rows_create(m->chain, d->series, d->n_series, &rows);
    double      *least = ll_new(2 * d->n_series, sizeof *least), *most = least + d->n_series;
    running     *r = ll_new(d->n_series, sizeof *r);
    if (st == LLAP_OK && (least == NULL || r == NULL)) st = LLAP_ENOMEM;
    for (size_t e = 0; st == LLAP_OK && e < d->n_series; e++) {
        least[e] = INFINITY;
        most[e] = -INFINITY;
        st = running_init(&r[e], &rows[e]);
    }
    for (size_t i = 0; st == LLAP_OK && i < d->n_train; i++) {
        const size_t e = d->train[i].series;
        const double level = level_at(&r[e], &rows[e], d->train[i].t, m->spec.context);
        least[e] = fmin(least[e], level); /* NaN is passed over */
        most[e] = fmax(most[e], level);
    }
    for (size_t i = 0; st == LLAP_OK && i < d->n_valid; i++) {
        const size_t e = d->valid[i].series;
        const double level = level_at(&r[e], &rows[e], d->valid[i].t, m->spec.context);
        if (isnan(level) || least[e] > most[e]) continue;
        n += 1.0;
        outside += level < least[e] || level > most[e];
    }
    *out = n > 0.0 ? outside / n : 0.0;
    for (size_t e = 0; r != NULL && e < d->n_series; e++) ll_free(r[e].sum);
    ll_free(r);
    ll_free(least);
    anchor_rows_destroy(rows, d->n_series);
    return st;
}

/* Mean square of the steps of u over their gaps in training, the largest held down; and the mean
 * gap. */
static llap_status step_variance(const ll_anchor_data *d, const ll_chain *c, double *out,
                                 double *gap)
{
    size_t rows = 0, n = 0;
    for (size_t e = 0; e < d->n_series; e++) rows += train_rows(d, e);
    double *x = ll_new(rows, sizeof *x), sum = 0.0, time = 0.0;
    if (x == NULL) return LLAP_ENOMEM;
    for (size_t e = 0; e < d->n_series; e++) {
        const ll_series *s = &d->series[e];
        double           last = NAN, at = 0.0;
        for (size_t i = 0; i < train_rows(d, e); i++) {
            if (isnan(s->y[i])) continue;
            const double u = ll_chain_u_given(c, e, ll_chain_mean(c, e, s->in, s->t[i]),
                                              ll_chain_z(c, e, s->y[i]));
            if (!isnan(last) && s->t[i] > at) {
                x[n++] = (u - last) * (u - last) / (s->t[i] - at);
                time += s->t[i] - at;
            }
            last = u;
            at = s->t[i];
        }
    }
    *out = *gap = 1.0;
    if (n > 0) {
        ll_sort_doubles(x, n);
        const double most = ll_quantile(x, n, .99);
        for (size_t i = 0; i < n; i++) sum += fmin(x[i], most);
        *out = fmax(sum / (double)n, 1e-12);
        *gap = time / (double)n;
    }
    ll_free(x);
    return LLAP_OK;
}

llap_status anchor_mean_scale(const ll_anchor_data *d, const ll_anchor_model *m, double *out)
{
    enum { WINDOWS = 64 };
    const size_t n = d->n_train < WINDOWS ? d->n_train : WINDOWS;
    ll_origin    origin[WINDOWS];
    anchor_batch b;
    anchor_rows *rows = NULL;
    double       sum = 0.0;
    for (size_t i = 0; i < n; i++) origin[i] = d->train[i * d->n_train / n];
    llap_status st = anchor_rows_create(m->chain, d->series, d->n_series, &rows);
    if (st == LLAP_OK)
        st = anchor_batch_init(&b, anchor_cut_of(m, NULL), rows, d->n_series, origin, n);
    if (st == LLAP_OK) {
        for (size_t i = 0; i < n; i++) sum += 2.0 * log(b.window[i].scale);
        assert(n > 0);
        *out = exp(sum / (double)n);
        anchor_batch_deinit(&b);
    }
    anchor_rows_destroy(rows, d->n_series);
    return st;
}

/* ---- candidates ---- */

enum kind { NONE, LEVEL, SLOPE, WALK };
enum { FIRST_NUMBER = 8, FIRST_EARLY = 60 }; /* others are those of other contests */

typedef struct what {
    ll_curve  curve;
    enum kind kind;
    bool      innovation;
    bool      without_climate; /* whatever the base has */
} what;

/* The best of a curve, walks and others apart. */
typedef struct place {
    ll_anchor_model *m; /* owned; NULL: none */
    what             is;
} place;

enum { TAILS_WALK, TAILS_OTHER, LOG_WALK, LOG_OTHER, PLACES };

typedef struct contest {
    const ll_anchor_data       *d;
    const ll_anchor_model_opts *o;
    const ll_anchor_model      *base;
    double                      scale;     /* of anchor_mean_scale */
    double                      step, gap; /* of step_variance */
    double                      out;       /* of share_outside */
    bool                        moved; /* most levels of validation lie outside those of training */
    bool                        positive;
    place                       best[PLACES];
} contest;

void anchor_start_level(ll_anchor_kernel *k, const ll_anchor_spec *spec, bool slope)
{
    const double h = spec->horizon;
    k->drift = slope ? LL_ANCHOR_SLOPE : LL_ANCHOR_LEVEL;
    k->start = LEVEL_START;
    k->q = 0.1 / h;
    k->v = slope ? 1e-3 / (h * h * h) : 0.0;
    k->damping = slope ? DAMPING / h : 0.0;
}

void anchor_kernel_scale(ll_anchor_kernel *k, double scale)
{
    for (int32_t i = 0; i < k->n_terms; i++) k->a[i] *= scale;
    k->nu *= scale;
    k->q *= scale;
}

static ll_anchor_kernel start_of(const contest *c, enum kind kind, bool innovation)
{
    ll_anchor_kernel k = anchor_kernel_still(c->base->kernel);
    if (kind == WALK) {
        const double jitter = k.jitter;
        k = (ll_anchor_kernel){ .n_terms = 1,
                                .a = { 1e-4 },
                                .rho = { 0.1 / c->base->spec.horizon },
                                .nu = 0.01 * c->step * c->gap,
                                .jitter = jitter };
    }
    if (kind != NONE) anchor_start_level(&k, &c->base->spec, kind == SLOPE);
    if (kind == WALK) k.q = 0.7 * c->step;
    k.innovation = innovation;
    if (innovation && kind != WALK) anchor_kernel_scale(&k, c->scale);
    return k;
}

/* number: as its notes have it; i: in the order of steps. */
static anchor_attempt attempt_of(const contest *c, int number, int i, what w)
{
    anchor_attempt a = {
        .number = number,
        .n_steps = anchor_drift_steps(c->o),
        .chain = c->o->chain,
        .kappa = c->base->kappa,
        .start = start_of(c, w.kind, w.innovation),
        .learn_omega = c->o->fit.learn_omega && w.kind != WALK,
    };
    assert(i >= 0 && i < ANCHOR_DRIFTS && a.n_steps > 0);
    a.before = anchor_course_of(c->o, c->d->n_series, true).drift + i * a.n_steps;
    a.chain.climate = c->base->chain->n_climate > 0 && !w.without_climate;
    a.chain.profile = c->base->chain->profile.daily > 0;
    a.chain.periods = c->base->chain->periods;
    a.chain.curve = w.curve;
    return a;
}

/* Candidate number i of the contest; *crps becomes its score. */
static llap_status try_one(contest *c, int i, what w, double *crps)
{
    ll_anchor_model *m = NULL;
    anchor_attempt   a = attempt_of(c, FIRST_NUMBER + i, i, w);
    a.chain.like = c->base->chain;
    const llap_status st = anchor_candidate(c->d, c->o, &a, &m);
    *crps = st == LLAP_OK && isfinite(m->valid_crps) ? m->valid_crps : INFINITY;
    if (st == LLAP_ENUMERIC) return LLAP_OK; /* no candidate: the base stays */
    if (st != LLAP_OK || isinf(*crps)) {
        ll_anchor_model_destroy(m);
        return st;
    }
    place *p = &c->best[2 * (w.curve == LL_CURVE_LOG) + (w.kind != WALK)];
    if (anchor_prefer(&p->m, m, 0.0)) p->is = w;
    return st;
}

static double crps_of(const ll_anchor_model *m) { return m == NULL ? INFINITY : m->valid_crps; }

/* The better of two places. */
static int better_of(const contest *c, int a, int b)
{
    return crps_of(c->best[b].m) < crps_of(c->best[a].m) ? b : a;
}

static llap_status try_tails(contest *c, bool *all)
{
    const what  more[] = { { LL_CURVE_TAILS, SLOPE, false, false },
                           { LL_CURVE_TAILS, WALK, true, false } };
    double      level = INFINITY, crps;
    llap_status st = try_one(c, 0, (what){ LL_CURVE_TAILS, LEVEL, false, false }, &level);
    if (st == LLAP_OK) st = try_one(c, 1, (what){ LL_CURVE_TAILS, NONE, true, false }, &crps);
    *all = c->out >= OUT_SOME || c->moved || level < c->base->valid_crps;
    for (int i = 0; st == LLAP_OK && *all && i < 2; i++) st = try_one(c, 2 + i, more[i], &crps);
    return st;
}

static llap_status try_logs(contest *c)
{
    const what  logs[] = { { LL_CURVE_LOG, NONE, false, false },
                           { LL_CURVE_LOG, LEVEL, false, false },
                           { LL_CURVE_LOG, SLOPE, false, false },
                           { LL_CURVE_LOG, WALK, true, false },
                           { LL_CURVE_LOG, LEVEL, true, false } };
    llap_status st = LLAP_OK;
    double      crps;
    for (int i = 0; st == LLAP_OK && i < (int)(sizeof logs / sizeof *logs); i++)
        st = try_one(c, 4 + i, logs[i], &crps);
    /* Of what grows, annual terms take part of the growth for a season. */
    if (st != LLAP_OK || !(c->out > OUT_MUCH) || c->base->chain->n_climate == 0) return st;
    const place *best = &c->best[better_of(c, LOG_WALK, LOG_OTHER)];
    if (best->m == NULL) return st;
    what w = best->is;
    w.without_climate = true;
    return try_one(c, 9, w, &crps);
}

/* ---- the verdict ---- */

/* What validation chooses: a place, or -1, the base. */
static int settle(const contest *c)
{
    const bool much = c->out > OUT_MUCH || c->moved;
    const int  tails = better_of(c, TAILS_WALK, TAILS_OTHER);
    const int  log = better_of(c, LOG_WALK, LOG_OTHER);
    const int  walk = better_of(c, TAILS_WALK, LOG_WALK);
    const int  other = better_of(c, TAILS_OTHER, LOG_OTHER);
    double     least = c->base->valid_crps;
    if (much && c->best[log].m != NULL &&
        crps_of(c->best[log].m) <= fmin(least, crps_of(c->best[tails].m)) * (1.0 + LOG_LOSS))
        return log;
    const bool gains = crps_of(c->best[other].m) < least * (1.0 - GAIN);
    if (gains) least = crps_of(c->best[other].m);
    if (crps_of(c->best[walk].m) < least) return walk;
    return gains ? other : -1;
}

/* Asks many periods where a walk is near to what validation has chosen. */
static llap_status settle_walks(const contest *c, int *chosen)
{
    const bool   walks = *chosen == TAILS_WALK || *chosen == LOG_WALK;
    const double most = NEAR * (*chosen < 0 ? c->base->valid_crps : crps_of(c->best[*chosen].m));
    const what   base = { c->base->chain->curve, NONE, false, false };
    int          at[WALK_RIVALS] = { *chosen }, won = 0;
    size_t       n = 1;
    for (int k = TAILS_WALK; k <= LOG_WALK; k += LOG_WALK - TAILS_WALK)
        if (k != *chosen && crps_of(c->best[k].m) <= most) at[n++] = k;
    if (n == 1 || c->o->chain.pooled) return LLAP_OK;
    anchor_attempt a[WALK_RIVALS];
    for (int k = 0; k < (int)n; k++)
        a[k] = attempt_of(c, FIRST_EARLY + k, ANCHOR_DRIFTS - WALK_RIVALS + k,
                          at[k] < 0 ? base : c->best[at[k]].is);
    const llap_status st = anchor_choose_walk(c->d, c->o, a, n, walks, &won);
    if (st == LLAP_OK) *chosen = at[won];
    return st;
}

/* Are all training values above 0, or not below the least value that the user gave? Counts have a
 * law of their own instead, and values between two bounds logits. */
static bool may_take_logs(const ll_chain_opts *o, double least)
{
    const ll_chain_values *v = &o->values;
    if (v->kind == LL_KIND_COUNT || (v->has_min && v->has_max)) return false;
    if (o->transform != LL_TRANSFORM_YEO_JOHNSON) return false;
    return v->given_min ? least >= v->min : least > 0.0;
}

llap_status anchor_choose_drift(const ll_anchor_data *d, const ll_anchor_model_opts *o,
                                ll_anchor_model **best)
{
    contest c = { .d = d, .o = o, .base = *best };
    bool    all = false;
    int     chosen = -1;
    if (isnan((*best)->valid_crps)) return LLAP_OK; /* nothing to choose by */
    c.out = share_outside(d, *best);
    c.positive = may_take_logs(&o->chain, (*best)->chain->low[d->n_series]);
    llap_status st = anchor_mean_scale(d, *best, &c.scale);
    if (st == LLAP_OK) st = step_variance(d, (*best)->chain, &c.step, &c.gap);
    if (st == LLAP_OK && c.positive && anchor_train_span(d) >= ANCHOR_YEAR) {
        double levels = 0.0;
        st = anchor_levels_outside(d, *best, &levels);
        c.moved = levels > LEVELS_MOST;
    }
    if (st == LLAP_OK) st = try_tails(&c, &all);
    if (st == LLAP_OK && all && c.positive) st = try_logs(&c);
    if (st == LLAP_OK) chosen = settle(&c);
    if (st == LLAP_OK) st = settle_walks(&c, &chosen);
    if (st == LLAP_OK && chosen >= 0) {
        ll_anchor_model_destroy(*best);
        *best = c.best[chosen].m;
        c.best[chosen].m = NULL;
    }
    for (int k = 0; k < PLACES; k++) ll_anchor_model_destroy(c.best[k].m);
    return st;
}
