/* How restless a series is: where its readings have been far from what they would have been filled
 * by, a gap between them is wide open, too. */
#include "base/alloc.h"
#include "base/progress.h"
#include "fill/matched.h"

#include <math.h>

enum { SPAN = 72, COUNTS = 12, FAR = 4 }; /* hours; readings that the prior counts as; deviations */
static const double usual = 0.8;          /* mean distance of a normal value, in deviations */

/* Of a reading from what the others would fill; NaN: not read. */
static double away_of(ll_fill_smoother *s, const double *full, int64_t row)
{
    const ll_filling *f = s->f;
    const double      u = s->t->u[s->v * s->t->n_rows + row];
    ll_fill_cell      c;
    if (isnan(u)) return NAN;
    ll_fill_residuals(s, full, row, NAN, &c);
    const ll_fill_answer a = ll_fill_combine(f, ll_fill_cov(f, 1, s->v, 0, 0), s->t, s->v, row, &c);
    return fmin(fabs(u - a.mean) / a.sd, FAR);
}

/* Distances of the readings of v from what the others would fill; NaN: not read. */
static llap_status measure(const ll_filling *f, const ll_fill_table *t, const double *full,
                           int64_t v, llap_progress progress, double *away)
{
    const int64_t n = t->n_rows;
    ll_fill_lags  l;
    llap_status   st = LLAP_OK;
    ll_fill_lags_init(&l, &f->kernel[v], t->unit);
    for (int64_t r = 0; r < n && st == LLAP_OK; r += LL_FILL_AT_ONCE) {
        const int64_t end = n - r < LL_FILL_AT_ONCE ? n : r + LL_FILL_AT_ONCE;
#pragma omp parallel
        {
            ll_fill_smoother s;
            ll_fill_smoother_init(&s, f, &l, t, v);
#pragma omp for schedule(static)
            for (int64_t i = r; i < end; i++) away[i] = away_of(&s, full, i);
        }
        st = ll_report(progress,
                       &(llap_progress_event){ "filling", v, f->n_vars, "variables", f->name[v] });
    }
    return st;
}

/* Adds the sums of one side, weights falling with the distance in time, the row itself left out. */
static void add_side(const ll_fill_table *t, int64_t e, double span, bool after, const double *away,
                     double *sum, double *weight)
{
    const int64_t first = t->start[e], n = t->start[e + 1] - first;
    double        s = 0, w = 0;
    for (int64_t k = 0; k < n; k++) {
        const int64_t r = after ? t->start[e + 1] - 1 - k : first + k;
        const int64_t was = after ? r + 1 : r - 1;
        if (k > 0) {
            const double fall = exp(-fabs(t->t[r] - t->t[was]) / span);
            if (!isnan(away[was])) s += away[was], w += 1;
            s *= fall;
            w *= fall;
        }
        sum[r] += s;
        weight[r] += w;
    }
}

llap_status ll_fill_unrest(const ll_filling *f, ll_fill_table *t, const double *full,
                           llap_progress progress)
{
    const int64_t n = t->n_rows;
    const double  span = SPAN * (f->day ? 1 : f->step);
    double       *away = ll_new(2 * (size_t)n + 1, sizeof *away), *weight = away + n;
    double       *unrest = ll_new((size_t)(n * f->n_vars), sizeof *unrest);
    llap_status   st = away == NULL || unrest == NULL ? LLAP_ENOMEM : LLAP_OK;
    ll_free(t->unrest);
    t->unrest = NULL; /* measured without it */
    for (int64_t v = 0; v < f->n_vars && st == LLAP_OK; v++) {
        double *const to = unrest + v * n;
        for (int64_t r = 0; r < n; r++) to[r] = weight[r] = 0;
        if (f->target[v] >= 0) st = measure(f, t, full, v, progress, away);
        for (int64_t e = 0; f->target[v] >= 0 && st == LLAP_OK && e < t->n_entities; e++)
            for (int after = 0; after < 2; after++) add_side(t, e, span, after, away, to, weight);
        for (int64_t r = 0; r < n; r++) to[r] = (to[r] / usual + COUNTS) / (weight[r] + COUNTS);
    }
    if (st == LLAP_OK) t->unrest = unrest;
    else ll_free(unrest);
    ll_free(away);
    return st;
}
