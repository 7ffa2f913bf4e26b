/* How wide answers are: by what the closed form leaves of hidden cells, out of fold. */
#include "anchor/chain/quantile.h"
#include "base/alloc.h"
#include "base/progress.h"
#include "fill/fitting.h"

#include <math.h>

llap_status fill_report(const fitting *g, const char *what, int64_t v)
{
    return ll_report(g->d->progress,
                     &(llap_progress_event){ "filling", v, g->f->n_vars, "variables", what });
}

const double fill_level[LL_FILL_LEVELS] = { .025, .1, .25, .5, .75, .9, .975 };

double ll_fill_crps(const double *q, double truth)
{
    static const double c[LL_FILL_LEVELS] = { .05, .1125, .2, .25, .2, .1125, .05 };
    double              sum = 0;
    for (int i = 0; i < LL_FILL_LEVELS; i++) {
        const double off = truth - q[i];
        sum += c[i] / .975 * fmax(fill_level[i] * off, (fill_level[i] - 1) * off);
    }
    return 2 * sum;
}

/* Cell i of a target v, by the closed form; of training by covariances of the other blocks. */
static ll_fill_answer answer_of(const fitting *g, int64_t v, int64_t i)
{
    const cells  *s = &g->of[v];
    const int64_t S = ll_fill_slots(g->f), each = g->f->n_groups * LL_FILL_LENGTHS * S * S;
    const double *cov = g->d->train[s->row[i]] ? g->apart[v] + g->block[s->row[i]] * each
                                               : ll_fill_cov(g->f, 1, v, 0, 0);
    return ll_fill_combine(g->f, cov, &fill_copy_of(g, s, i)->t, v, s->row[i], &s->cell[i]);
}

/* The power of the unrest under which distances are most alike, by their mean logarithm. */
static double best_power(const double *z, const double *unrest, int64_t n)
{
    double best = 0, least = INFINITY;
    for (int k = 0; k <= 4; k++) {
        double sum = 0, grown = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += fabs(z[i]) / pow(unrest[i], k / 4.0);
            grown += k / 4.0 * log(unrest[i]);
        }
        const double loss = (double)n * log(sum / (double)n) + grown;
        if (loss < least - 2) least = loss, best = k / 4.0;
    }
    return best;
}

/* What is left of a cell, in units of its deviation. */
static double left_of(const cells *s, int64_t i)
{
    const ll_fill_cell *c = &s->cell[i];
    return (c->mean + c->b * c->d[0] - s->answer[i].mean) / s->answer[i].sd;
}

static llap_status answer_all(fitting *g, int64_t v)
{
    cells      *s = &g->of[v];
    llap_status st = LLAP_OK;
    s->answer = ll_new((size_t)s->n + 1, sizeof *s->answer);
    if (s->answer == NULL) return LLAP_ENOMEM;
    for (int64_t first = 0; first < s->n && st == LLAP_OK; first += LL_FILL_AT_ONCE) {
        const int64_t end = s->n - first < LL_FILL_AT_ONCE ? s->n : first + LL_FILL_AT_ONCE;
#pragma omp parallel for schedule(static)
        for (int64_t i = first; i < end; i++) s->answer[i] = answer_of(g, v, i);
        st = fill_report(g, "spread", v);
    }
    return st;
}

/* Answers of a target, and how their spread grows with unrest. */
static llap_status fit_unrest(fitting *g, int64_t v)
{
    const cells *s = &g->of[v];
    double      *z = ll_new(2 * (size_t)s->n + 2, sizeof *z), *unrest = z + s->n;
    g->f->unrest[v] = 0;
    const llap_status st = z == NULL ? LLAP_ENOMEM : answer_all(g, v);
    for (int64_t i = 0; i < s->n && st == LLAP_OK; i++) {
        const ll_fill_table *t = &fill_copy_of(g, s, i)->t;
        z[i] = left_of(s, i);
        unrest[i] = t->unrest[v * t->n_rows + s->row[i]];
    }
    if (s->n > 0 && st == LLAP_OK) g->f->unrest[v] = best_power(z, unrest, s->n);
    for (int64_t i = 0; i < s->n && st == LLAP_OK; i++)
        s->answer[i].sd *= pow(unrest[i], g->f->unrest[v]); /* as ll_fill_combine does */
    ll_free(z);
    return st;
}

llap_status fill_quantiles_of(const double *x, const int8_t *kind, int64_t n, fill_quantiles *q)
{
    enum { FEW = 100 };
    double *those = ll_new((size_t)n + 1, sizeof *those);
    if (those == NULL) return LLAP_ENOMEM;
    for (int k = 0; k < LL_FILL_KINDS; k++) {
        int64_t count = 0;
        for (int wider = 0; wider < 3 && count < FEW; wider++) { /* any length, then all */
            count = 0;
            for (int64_t i = 0; i < n; i++)
                if (wider == 2 || kind[i] == k ||
                    (wider == 1 && kind[i] / LL_FILL_LENGTHS == k / LL_FILL_LENGTHS))
                    those[count++] = x[i];
            if (wider == 0) q->n[k] = (double)count;
        }
        ll_sort_doubles(those, (size_t)count);
        for (int i = 0; i < LL_FILL_LEVELS; i++)
            q->at[k][i] = count > 0 ? ll_quantile(those, (size_t)count, fill_level[i]) : 0;
    }
    ll_free(those);
    return LLAP_OK;
}

void fill_quantiles_take(const ll_filling *f, const fill_quantiles *q, double *out)
{
    double dead[2][LL_FILL_LEVELS] = { { 0 } }, n[2] = { 0 };
    for (int64_t v = 0; v < f->n_vars; v++)
        for (int i = 0; f->target[v] >= 0 && i < 2; i++) {
            const int k = (i + 1) * LL_FILL_LENGTHS - 1;
            n[i] += q[v].n[k];
            for (int l = 0; l < LL_FILL_LEVELS; l++) dead[i][l] += q[v].n[k] * q[v].at[k][l];
        }
    for (int64_t i = 0; i < f->n_vars * LL_FILL_KINDS * LL_FILL_LEVELS; i++) {
        const int64_t v = i / (LL_FILL_KINDS * LL_FILL_LEVELS);
        const int     k = (int)(i / LL_FILL_LEVELS % LL_FILL_KINDS), l = (int)(i % LL_FILL_LEVELS);
        const int     none = k / LL_FILL_LENGTHS;
        if (f->target[v] < 0) continue;
        out[i] = k % LL_FILL_LENGTHS == LL_FILL_LENGTHS - 1 && n[none] > 0 ? dead[none][l] / n[none]
                                                                           : q[v].at[k][l];
    }
}

/* Quantiles of (u - mean) / sd over all hidden cells. */
static llap_status fit_quantiles(fitting *g, int64_t v, fill_quantiles *q)
{
    const cells *s = &g->of[v];
    double      *z = ll_new((size_t)s->n + 1, sizeof *z);
    int8_t      *kind = ll_new((size_t)s->n + 1, 1);
    llap_status  st = z == NULL || kind == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; i < s->n && st == LLAP_OK; i++) {
        z[i] = left_of(s, i);
        kind[i] = (int8_t)s->answer[i].kind;
    }
    if (st == LLAP_OK) st = fill_quantiles_of(z, kind, s->n, q);
    ll_free(z);
    ll_free(kind);
    return st;
}

/* CRPS of hidden validation cells, in deviations of training; *n counts them. */
static double score_cells(const fitting *g, int64_t v, double *n)
{
    const ll_fill_scale *s = &g->f->scale[v];
    double               sum = 0;
    for (int64_t i = 0; i < g->of[v].n; i++) {
        const int64_t row = g->of[v].row[i];
        double        q[LL_FILL_LEVELS];
        if (g->d->train[row]) continue;
        ll_fill_quantiles(g->f, v, &g->of[v].answer[i], q);
        for (int k = 0; k < LL_FILL_LEVELS; k++) q[k] = ll_fill_scale_y(s, q[k]) / s->sd;
        sum += ll_fill_crps(q, g->d->table.u[v * g->d->table.n_rows + row] / s->sd);
        ++*n;
    }
    return sum;
}

/* How wide answers are, and how good they are on validation. */
llap_status fill_fit_spread(fitting *g, double *score)
{
    const ll_filling *f = g->f;
    fill_quantiles    q[LL_FILL_VARS] = { 0 };
    double            sum = 0, n = 0;
    llap_status       st = LLAP_OK;
    for (int c = 0; c < g->n_copies && st == LLAP_OK; c++)
        st = ll_fill_unrest(f, &g->copy[c].t, g->copy[c].full, g->d->progress);
    for (int64_t v = 0; v < f->n_vars && st == LLAP_OK; v++) {
        if (f->target[v] < 0) continue;
        st = fit_unrest(g, v);
        if (st == LLAP_OK) st = fit_quantiles(g, v, &q[v]);
        if (st == LLAP_OK) st = fill_report(g, "spread", v + 1);
    }
    if (st == LLAP_OK) fill_quantiles_take(f, q, f->quantile);
    for (int64_t v = 0; v < f->n_vars && st == LLAP_OK; v++)
        if (f->target[v] >= 0) sum += score_cells(g, v, &n);
    *score = n > 0 ? sum / n : NAN;
    return st;
}
