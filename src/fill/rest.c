#include "fill/rest.h"

#include "base/alloc.h"
#include "base/sort.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { PLAIN = 20, AROUND = 4 };

int ll_rest_columns(const ll_filling *f) { return PLAIN + 2 * (int)(f->n_vars + f->n_near); }

/* The reading of a cell a day away, as far from M as it is. */
static double a_day_away(const ll_filling *f, const ll_fill_table *t, int64_t v, int64_t row,
                         double day, const ll_fill_answer *a)
{
    if (!f->day) return NAN;
    const int64_t r = ll_fill_row_at(t, t->entity[row], t->t[row] + 24 * day, f->step);
    return r < 0 ? NAN : (t->u[v * t->n_rows + r] - a->mean) / a->sd;
}

/* The straight line between the nearest readings, or the one that there is. */
static double line_at(const double *dt, const double *u)
{
    if (isnan(u[0]) || isnan(u[2])) return isnan(u[0]) ? u[2] : u[0];
    return u[0] + (u[2] - u[0]) * dt[0] / (dt[0] + dt[2]);
}

void ll_rest_look(const ll_filling *f, const ll_fill_table *t, int64_t v, int64_t row,
                  const ll_fill_cell *c, const ll_fill_answer *a, float *x)
{
    const int64_t n = t->n_rows, e = t->known[t->entity[row]];
    double        dt[AROUND], u[AROUND];
    int           read = 0;
    for (int i = 0; i < AROUND; i++) {
        const int32_t r = c->around[i];
        dt[i] = r < 0 ? NAN : fabs(t->t[r] - t->t[row]);
        u[i] = r < 0 ? NAN : (t->u[v * n + r] - a->mean) / a->sd;
    }
    const double plain[PLAIN] = { (double)v,
                                  e < 0 ? NAN : (double)e,
                                  a->mean,
                                  log(a->sd),
                                  log(c->b),
                                  (c->mean - a->mean) / a->sd,
                                  dt[0],
                                  dt[1],
                                  dt[2],
                                  dt[3],
                                  u[0],
                                  u[1],
                                  u[2],
                                  u[3],
                                  line_at(dt, u),
                                  a_day_away(f, t, v, row, -1, a),
                                  a_day_away(f, t, v, row, 1, a),
                                  f->day ? fmod(fmod(t->t[row], 24) + 24, 24) : NAN,
                                  t->unrest == NULL ? NAN : log(t->unrest[v * n + row]) };
    for (int64_t k = 0; k < f->n_vars + f->n_near; k++) {
        const int64_t slot = k >= f->n_vars ? k : k == v ? 0 : k < v ? k + 1 : k;
        const double  d = slot == 0 ? NAN : c->d[slot];
        const int64_t at =
            k < f->n_vars ? k * n + row : v * n + t->same[row * f->n_near + k - f->n_vars];
        read += !isnan(d);
        x[PLAIN + 2 * k] = (float)d;
        x[PLAIN + 2 * k + 1] = isnan(d) ? NAN : (float)t->u[at];
    }
    for (int i = 0; i < PLAIN - 1; i++) x[i] = (float)plain[i];
    x[PLAIN - 1] = (float)read;
}

ll_fill_answer ll_rest_answer(const ll_filling *f, const float *x, ll_fill_answer a)
{
    a.mean += a.sd * ll_trees_at(&f->trees[0], x);
    a.sd *= exp(ll_trees_at(&f->trees[1], x));
    return a;
}

/* ---- the fit ---- */

typedef struct model { /* one of the two: what it learns, and its answers */
    const ll_rest *r;
    ll_trees_loss  loss;
    const double  *y;
    double        *answer;
    uint8_t       *role;
    uint64_t       seed;
    llap_progress  progress;
} model;

static ll_trees_data data_of(const model *m)
{
    const ll_rest *r = m->r;
    return (ll_trees_data){ r->n, r->n_columns, r->x, m->y, r->weight, m->role, m->progress };
}

/* Of training, the cells of one half answered by trees that have learnt from the other. */
static llap_status answer_out_of_fold(const model *m, int64_t n_trees)
{
    const ll_rest *r = m->r;
    llap_status    st = LLAP_OK;
    for (int h = 0; h < 2 && st == LLAP_OK; h++) {
        ll_trees t = { 0 };
        for (int64_t i = 0; i < r->n; i++)
            m->role[i] =
                r->train[i] && !r->dead[i] && r->half[i] != h ? LL_TREES_LEARN : LL_TREES_IDLE;
        const ll_trees_data d = data_of(m);
        st = ll_trees_fit(&d, m->loss, n_trees, m->seed, &t);
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < (st == LLAP_OK ? r->n : 0); i++)
            if (r->train[i] && r->half[i] == h)
                m->answer[i] = ll_trees_at(&t, r->x + i * r->n_columns);
        ll_trees_deinit(&t);
    }
    return st;
}

/* Learns from training, stops by half of validation; answers about validation. */
static llap_status fit_model(const model *m, ll_trees *out)
{
    const ll_rest *r = m->r;
    for (int64_t i = 0; i < r->n; i++)
        m->role[i] = r->dead[i]        ? LL_TREES_IDLE
                     : r->train[i]     ? LL_TREES_LEARN
                     : r->half[i] == 0 ? LL_TREES_STOP
                                       : LL_TREES_IDLE;
    const ll_trees_data d = data_of(m);
    const llap_status   st = ll_trees_fit(&d, m->loss, 0, m->seed, out);
    if (st != LLAP_OK || out->n == 0) {
        for (int64_t i = 0; i < r->n; i++) m->answer[i] = (double)out->base;
        return st;
    }
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < r->n; i++)
        if (!r->train[i]) m->answer[i] = ll_trees_at(out, r->x + i * r->n_columns);
    return answer_out_of_fold(m, out->n);
}

/* Median of |z - median|. */
static llap_status middle_distance(const ll_rest *r, double *out)
{
    double *away = ll_new((size_t)r->n + 1, sizeof *away);
    if (away == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < r->n; i++) away[i] = fabs(r->z[i] - r->median[i]);
    ll_sort_doubles(away, (size_t)r->n);
    *out = away[r->n / 2];
    ll_free(away);
    return LLAP_OK;
}

llap_status ll_rest_fit(ll_rest *r, uint64_t seed, llap_progress progress, ll_trees *trees)
{
    double   middle = 0;
    uint8_t *role = ll_new((size_t)r->n + 1, 1);
    assert(trees[0].tree == NULL && trees[1].tree == NULL);
    llap_status st = role == NULL ? LLAP_ENOMEM : LLAP_OK;
    const model median = { r, LL_TREES_MEDIAN, r->z, r->median, role, seed, progress };
    const model scale = { r, LL_TREES_MEAN, r->distance, r->scale, role, seed + 1, progress };
    if (st == LLAP_OK) st = fit_model(&median, &trees[0]);
    if (st == LLAP_OK) st = middle_distance(r, &middle);
    for (int64_t i = 0; i < r->n && st == LLAP_OK; i++)
        r->distance[i] = log(fabs(r->z[i] - r->median[i]) + 0.05 * middle + 1e-12);
    if (st == LLAP_OK) st = fit_model(&scale, &trees[1]);
    for (int64_t i = 0; i < r->n && st == LLAP_OK; i++) r->scale[i] = exp(r->scale[i]);
    ll_free(role);
    return st;
}

llap_status ll_rest_refit(const ll_rest *r, uint64_t seed, llap_progress progress, ll_trees *trees)
{
    uint8_t *role = ll_new((size_t)r->n + 1, 1);
    if (role == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < r->n; i++) role[i] = r->dead[i] ? LL_TREES_IDLE : LL_TREES_LEARN;
    llap_status st = LLAP_OK;
    for (int k = 0; k < 2 && st == LLAP_OK; k++) {
        const model         m = { r,
                          k ? LL_TREES_MEAN : LL_TREES_MEDIAN,
                          k ? r->distance : r->z,
                                  NULL,
                                  role,
                                  seed + (uint64_t)k,
                                  progress };
        const ll_trees_data d = data_of(&m);
        const int64_t       n = trees[k].n;
        if (n == 0) continue;
        ll_trees_deinit(&trees[k]);
        st = ll_trees_fit(&d, m.loss, n, m.seed, &trees[k]);
    }
    ll_free(role);
    return st;
}
