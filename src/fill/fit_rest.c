/* Trees on what the closed form leaves of hidden cells, and whether they are used. */
#include "anchor/chain/quantile.h"
#include "base/alloc.h"
#include "fill/fitting.h"

#include <math.h>
#include <string.h>

enum { REST_LEAST = 2000 };

static void rest_deinit(ll_rest *r)
{
    void *const arrays[] = { r->x,      r->z,     r->weight,   r->train, r->half,
                             r->median, r->scale, r->distance, r->dead };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) ll_free(arrays[i]);
}

/* How many units of y a unit of z is, in deviations. */
static double unit_of(const ll_fill_scale *s, const ll_fill_answer *a)
{
    const double step = 0.01, up = ll_fill_scale_y(s, a->mean + step),
                 down = ll_fill_scale_y(s, a->mean - step);
    return fmax(a->sd * (up - down) / (2 * step * s->sd), 1e-6);
}

static void rest_cell(const fitting *g, int64_t v, int64_t i, ll_rest *r, int64_t at)
{
    const cells         *s = &g->of[v];
    const int64_t        row = s->row[i];
    const ll_fill_table *t = &fill_copy_of(g, s, i)->t;
    const ll_fill_answer a = s->answer[i];
    const double         week = g->f->day ? 168 : 168 * g->f->step;
    ll_rest_look(g->f, t, v, row, &s->cell[i], &a, r->x + at * r->n_columns);
    r->z[at] = (g->u[v * t->n_rows + row] - a.mean) / a.sd;
    r->weight[at] = unit_of(&g->f->scale[v], &a);
    r->train[at] = g->d->train[row];
    r->dead[at] = ll_fill_dead(&a);
    const int64_t block = g->d->by_entity ? t->entity[row] : (int64_t)floor(t->t[row] / week);
    r->half[at] = block % 2 != 0;
}

static llap_status rest_init(fitting *g, ll_rest *r)
{
    double sum = 0;
    *r = (ll_rest){ .n_columns = ll_rest_columns(g->f) };
    for (int64_t v = 0; v < g->f->n_vars; v++) r->n += g->f->target[v] >= 0 ? g->of[v].n : 0;
    const size_t n = (size_t)r->n + 1;
    r->x = ll_new(n, (size_t)r->n_columns * sizeof *r->x);
    r->z = ll_new(n, sizeof *r->z);
    r->weight = ll_new(n, sizeof *r->weight);
    r->train = ll_new(n, 1);
    r->half = ll_new(n, 1);
    r->dead = ll_new(n, 1);
    r->median = ll_new(n, sizeof *r->median);
    r->scale = ll_new(n, sizeof *r->scale);
    r->distance = ll_new(n, sizeof *r->distance);
    if (!r->x || !r->z || !r->weight || !r->train || !r->half || !r->median || !r->scale ||
        !r->distance || !r->dead)
        return LLAP_ENOMEM;
    for (int64_t v = 0, at = 0; v < g->f->n_vars; v++) {
        const int64_t all = g->of[v].n;
        if (g->f->target[v] < 0) continue;
        for (int64_t k = 0; k < all; k += LL_FILL_AT_ONCE) {
            const int64_t end = all - k < LL_FILL_AT_ONCE ? all : k + LL_FILL_AT_ONCE;
#pragma omp parallel for schedule(static)
            for (int64_t i = k; i < end; i++) rest_cell(g, v, i, r, at + i);
            const llap_status st = fill_report(g, "trees", v);
            if (st != LLAP_OK) return st;
        }
        at += all;
    }
    for (int64_t i = 0; i < r->n; i++) sum += r->weight[i];
    for (int64_t i = 0; i < r->n; i++) r->weight[i] *= (double)r->n / sum;
    return LLAP_OK;
}

/* Quantiles of one variable's (z - median)/scale, whose cells begin at `first`. */
static llap_status rest_quantiles(const fitting *g, const ll_rest *r, int64_t v, int64_t first,
                                  fill_quantiles *q)
{
    const int64_t n = g->of[v].n;
    double       *x = ll_new((size_t)n + 1, sizeof *x);
    int8_t       *kind = ll_new((size_t)n + 1, 1);
    llap_status   st = x == NULL || kind == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        x[i] = r->z[first + i];
        if (!r->dead[first + i]) x[i] = (x[i] - r->median[first + i]) / r->scale[first + i];
        kind[i] = (int8_t)g->of[v].answer[i].kind;
    }
    if (st == LLAP_OK) st = fill_quantiles_of(x, kind, n, q);
    ll_free(x);
    ll_free(kind);
    return st;
}

/* Sums of CRPS over the cells of validation of the half that nothing was stopped by, but dead ones,
 * or over all: without the trees, and with them and the quantiles q [n_vars,kinds,levels]. */
static void rest_scores(const fitting *g, const ll_rest *r, const double *q, bool all, double *sum)
{
    sum[0] = sum[1] = sum[2] = 0;
    for (int64_t v = 0, at = 0; v < g->f->n_vars; v++) {
        const ll_fill_scale *s = &g->f->scale[v];
        for (int64_t i = 0; g->f->target[v] >= 0 && i < g->of[v].n; i++, at++) {
            const double truth = g->d->table.u[v * g->d->table.n_rows + g->of[v].row[i]] / s->sd;
            const bool   dead = r->dead[at]; /* trees leave them alone */
            if (r->train[at] || (!all && (dead || r->half[at] == 0))) continue;
            const ll_fill_answer a = g->of[v].answer[i];
            for (int k = 0; k < 2; k++) {
                const double *level_of =
                    (k ? q : g->f->quantile) + (v * LL_FILL_KINDS + a.kind) * LL_FILL_LEVELS;
                const double mean = a.mean + (k && !dead ? a.sd * r->median[at] : 0);
                const double sd = a.sd * (k && !dead ? r->scale[at] : 1);
                double       y[LL_FILL_LEVELS];
                for (int l = 0; l < LL_FILL_LEVELS; l++)
                    y[l] = ll_fill_scale_y(s, mean + sd * level_of[l]) / s->sd;
                sum[k] += ll_fill_crps(y, truth);
            }
            sum[2]++;
        }
    }
}

/* Quantiles of all variables, as a filling keeps them. */
static llap_status all_quantiles(const fitting *g, const ll_rest *r, double *out)
{
    fill_quantiles q[LL_FILL_VARS] = { 0 };
    llap_status    st = LLAP_OK;
    for (int64_t v = 0, at = 0; v < g->f->n_vars && st == LLAP_OK; v++) {
        if (g->f->target[v] < 0) continue;
        st = rest_quantiles(g, r, v, at, &q[v]);
        at += g->of[v].n;
    }
    if (st == LLAP_OK) fill_quantiles_take(g->f, q, out);
    return st;
}

llap_status fill_fit_rest(fitting *g, double *score)
{
    const size_t n = (size_t)g->f->n_vars * LL_FILL_KINDS * LL_FILL_LEVELS;
    ll_rest      r;
    double       sum[3];
    double      *q = ll_new(n, sizeof *q);
    llap_status  st = rest_init(g, &r);
    if (st == LLAP_OK && q == NULL) st = LLAP_ENOMEM;
    if (st == LLAP_OK && r.n >= REST_LEAST)
        st = ll_rest_fit(&r, g->d->seed, g->d->progress, g->f->trees);
    if (st == LLAP_OK && g->f->trees[0].n > 0) {
        st = all_quantiles(g, &r, q);
        if (st == LLAP_OK) rest_scores(g, &r, q, false, sum);
        g->f->rest = st == LLAP_OK && sum[1] < 0.995 * sum[0];
    }
    if (st == LLAP_OK) { /* of the same cells with trees and without */
        rest_scores(g, &r, g->f->rest ? q : g->f->quantile, true, sum);
        if (sum[2] > 0) *score = sum[g->f->rest] / sum[2];
    }
    if (g->f->rest) {
        memcpy(g->f->quantile, q, n * sizeof *q);
        st = ll_rest_refit(&r, g->d->seed, g->d->progress, g->f->trees);
    } else {
        ll_trees_deinit(&g->f->trees[0]);
        ll_trees_deinit(&g->f->trees[1]);
    }
    rest_deinit(&r);
    ll_free(q);
    return st;
}
