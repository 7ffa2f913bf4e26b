/* Prices are not to be forecast but for their spread, and any one period seems to say otherwise: in
 * a crash levels return, in a boom growth goes on. So a walk gives way only to what would have been
 * better in many periods, each after all that the fit had seen. */
#include "anchor/walk_choose.h"

#include "anchor/trial.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>

enum { ORIGINS = 128, WINDOWS_LEAST = 48, PERIODS_LEAST = 4 };
static const double WINS_LEAST = 0.75; /* share of the periods */

/* The data as they were half way through training, and what came after. */
typedef struct early {
    ll_anchor_data data;  /* without validation */
    size_t        *rows;  /* owned: data.train_rows */
    ll_origin     *train; /* owned: data.train */
    ll_origin     *later; /* owned, [WALK_PERIODS,ORIGINS] */
    size_t         n_later[WALK_PERIODS];
} early;

static void early_deinit(early *x)
{
    ll_free(x->rows);
    ll_free(x->train);
    ll_free(x->later);
}

/* Number of the period that t lies in, -1: none. */
static int period_of(double t, double from, double last)
{
    if (!(t >= from && t <= last)) return -1;
    const int k = (int)((t - from) / (last - from) * WALK_PERIODS);
    return k < WALK_PERIODS ? k : WALK_PERIODS - 1;
}

/* Origins from `from` on of series that the early fit has seen, ORIGINS of each period at most,
 * evenly spread. */
static llap_status take_later(early *x, const ll_anchor_data *d, double from, double last)
{
    size_t seen[WALK_PERIODS] = { 0 }, all[WALK_PERIODS] = { 0 };
    bool  *known = ll_new(d->n_series, sizeof *known);
    x->later = ll_new((size_t)WALK_PERIODS * ORIGINS, sizeof *x->later);
    if (known == NULL || x->later == NULL) {
        ll_free(known);
        return LLAP_ENOMEM;
    }
    for (size_t i = 0; i < x->data.n_train; i++) known[x->train[i].series] = true;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < d->n_train + d->n_valid; i++) {
            const ll_origin o = i < d->n_train ? d->train[i] : d->valid[i - d->n_train];
            const int       k = period_of(o.t, from, last);
            if (k < 0 || !known[o.series]) continue;
            if (pass == 0) {
                all[k]++;
                continue;
            }
            const size_t keep = all[k] < ORIGINS ? all[k] : ORIGINS, n = x->n_later[k];
            if (seen[k]++ == n * all[k] / keep && n < keep)
                x->later[k * ORIGINS + (int)n] = o, x->n_later[k]++;
        }
    ll_free(known);
    return LLAP_OK;
}

/* x->data.n_train 0: training is too short. */
static llap_status early_init(early *x, const ll_anchor_data *d, double horizon)
{
    double first = INFINITY, last = -INFINITY, end = -INFINITY;
    *x = (early){ .data = *d };
    for (size_t i = 0; i < d->n_train; i++) {
        first = fmin(first, d->train[i].t);
        last = fmax(last, d->train[i].t);
    }
    for (size_t i = 0; i < d->n_valid; i++) end = fmax(end, d->valid[i].t);
    const double half = (first + last + horizon) / 2.0;
    x->rows = ll_new(d->n_series, sizeof *x->rows);
    x->train = ll_new(d->n_train, sizeof *x->train);
    if (x->rows == NULL || x->train == NULL) return LLAP_ENOMEM;
    x->data.n_train = x->data.n_valid = 0;
    for (size_t i = 0; i < d->n_train; i++)
        if (d->train[i].t + horizon <= half) x->train[x->data.n_train++] = d->train[i];
    for (size_t e = 0; e < d->n_series; e++) {
        const size_t n = anchor_after(d->series[e].t, d->series[e].n, half);
        x->rows[e] = n < d->train_rows[e] ? n : d->train_rows[e];
    }
    x->data.train = x->train;
    x->data.train_rows = x->rows;
    if (x->data.n_train < WINDOWS_LEAST) x->data.n_train = 0;
    return x->data.n_train > 0 && end > half ? take_later(x, d, half, end) : LLAP_OK;
}

/* One attempt on the early data, and its score in each period. */
static llap_status score_periods(const early *x, const ll_anchor_model_opts *o,
                                 const anchor_attempt *a, double *score)
{
    ll_anchor_model *m = NULL;
    anchor_rows     *rows = NULL;
    const size_t     n = x->data.n_series;
    llap_status      st = anchor_candidate(&x->data, o, a, &m);
    if (st == LLAP_ENUMERIC) return LLAP_OK; /* no scores */
    if (st == LLAP_OK) st = anchor_rows_create(m->chain, x->data.series, n, &rows);
    for (int k = 0; st == LLAP_OK && k < WALK_PERIODS; k++) {
        const ll_origin *at = x->later + (ptrdiff_t)k * ORIGINS;
        anchor_trial     t;
        if (x->n_later[k] == 0) continue;
        st = anchor_trial_init(&t, m, rows, n, at, x->n_later[k], o->points);
        if (st != LLAP_OK) break;
        st = anchor_score(m, &t.batch, rows, at, &score[k]);
        anchor_trial_deinit(&t);
    }
    anchor_rows_destroy(rows, n);
    ll_anchor_model_destroy(m);
    return st;
}

/* How a compares with b over the periods that both have: log(a/b). */
typedef struct comparison {
    double mean, error; /* its standard error; NaN: too few periods */
    double wins;        /* share of the periods in which a is better */
} comparison;

static comparison compare(const double *a, const double *b)
{
    double sum = 0.0, square = 0.0, n = 0.0, wins = 0.0;
    for (int k = 0; k < WALK_PERIODS; k++) {
        if (!(a[k] > 0.0 && b[k] > 0.0) || isinf(a[k]) || isinf(b[k])) continue;
        const double x = log(a[k] / b[k]);
        sum += x;
        square += x * x;
        n += 1.0;
        wins += x < 0.0;
    }
    if (n < PERIODS_LEAST) return (comparison){ NAN, NAN, 0.0 };
    return (comparison){ .mean = sum / n,
                         .error = sqrt(fmax(square - sum * sum / n, 0.0) / (n * (n - 1.0))),
                         .wins = wins / n };
}

int anchor_walk_verdict(const double *score, size_t n, bool walks)
{
    int best = walks ? 0 : 1;
    assert(n >= 2 && n <= WALK_RIVALS);
    for (int k = best + 1; k < (int)n; k++)
        if (compare(score + (ptrdiff_t)k * WALK_PERIODS, score + (ptrdiff_t)best * WALK_PERIODS)
                .mean < 0.0)
            best = k;
    if (walks) return best;
    const comparison c = compare(score, score + (ptrdiff_t)best * WALK_PERIODS);
    if (isnan(c.mean)) return 0;
    return c.mean + c.error < 0.0 && c.wins >= WINS_LEAST ? 0 : best;
}

llap_status anchor_choose_walk(const ll_anchor_data *d, const ll_anchor_model_opts *o,
                               const anchor_attempt *a, size_t n, bool walks, int *won)
{
    double      score[WALK_RIVALS * WALK_PERIODS];
    early       x;
    llap_status st = early_init(&x, d, o->spec.horizon);
    assert(n >= 2 && n <= WALK_RIVALS);
    *won = 0;
    for (int k = 0; k < WALK_RIVALS * WALK_PERIODS; k++) score[k] = NAN;
    for (size_t k = 0; st == LLAP_OK && x.later != NULL && k < n; k++)
        st = score_periods(&x, o, &a[k], score + k * WALK_PERIODS);
    if (st == LLAP_OK && x.later != NULL) *won = anchor_walk_verdict(score, n, walks);
    early_deinit(&x);
    return st;
}
