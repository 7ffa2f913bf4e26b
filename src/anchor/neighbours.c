/* Filling with the help of the other series: what each of them reads at the time of a gap, against
 * what it would have said by itself. From both sides that is without its readings during the whole
 * gap: were all series read outside the gap with one kernel between times and one covariance
 * between series, the others' residuals at the same time would then be all that matters. From the
 * past it is without the reading itself. */
#include "anchor/process/state.h"
#include "anchor/window.h"
#include "base/alloc.h"
#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Row of the first reading at t; h->n: none. */
static size_t first_reading(const ll_series *h, double t)
{
    size_t i = anchor_after(h->t, h->n, nextafter(t, -INFINITY));
    while (i < h->n && h->t[i] == t && isnan(h->y[i])) i++;
    return i < h->n && h->t[i] == t ? i : h->n;
}

/* Rows after `low` and up to `high` of a series, glitches among them as missing: *out, whose
 * readings are y, which the caller owns. past: each is looked at with those before it alone. */
static llap_status without_glitches(const ll_anchor_model *m, size_t series, const ll_series *h,
                                    double low, double high, bool past, ll_series *out, double **y)
{
    const size_t first = anchor_after(h->t, h->n, low), end = anchor_after(h->t, h->n, high);
    const size_t n = end > first ? end - first : 0;
    bool        *drop = ll_new(n, sizeof *drop);
    *y = ll_new(n, sizeof **y);
    *out = (ll_series){ .n = n, .t = h->t + first, .y = *y, .in = h->in };
    const bool ok = drop != NULL && *y != NULL;
    if (ok) (past ? ll_chain_mark_past : ll_chain_mark)(m->chain, series, h->y + first, n, drop);
    for (size_t i = 0; ok && i < n; i++) (*y)[i] = drop[i] ? NAN : h->y[first + i];
    ll_free(drop);
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

/* ---- residuals from the past ---- */

static double clip(double r)
{
    return fmin(fmax(r, -ANCHOR_NEIGHBOURS_CLIP), ANCHOR_NEIGHBOURS_CLIP);
}

/* Of the first reading of a series at each of t [n] (increasing); NaN: none there. */
static llap_status past_residuals(const ll_anchor_model *m, size_t series, const ll_series *h,
                                  const double *t, size_t n, double *out)
{
    size_t      count = 0;
    size_t     *at = ll_new(n, sizeof *at);
    double     *u = ll_new(n, sizeof *u), *tq = ll_new(n, sizeof *tq), *y = NULL;
    ll_law     *law = ll_new(n, sizeof *law);
    ll_series   own = { 0 };
    llap_status st = at == NULL || u == NULL || tq == NULL || law == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK && n > 0)
        st = without_glitches(m, series, h, t[0] - m->spec.context, t[n - 1], true, &own, &y);
    for (size_t k = 0; st == LLAP_OK && k < n; k++) {
        const size_t i = first_reading(&own, t[k]);
        out[k] = NAN;
        if (i == own.n) continue;
        u[count] = ll_chain_u_given(m->chain, series, ll_chain_mean(m->chain, series, h->in, t[k]),
                                    ll_chain_z(m->chain, series, own.y[i]));
        tq[count] = t[k];
        at[count++] = k;
    }
    const ll_anchor_request r = {
        .history = *h, .series = series, .n_query = count, .t_query = tq, .law = law
    };
    if (st == LLAP_OK && count > 0) st = anchor_fill_before(m, &r);
    for (size_t i = 0; st == LLAP_OK && i < count; i++)
        out[at[i]] = clip((u[i] - law[i].mean) / law[i].sd);
    ll_free(at);
    ll_free(u);
    ll_free(y);
    ll_free(tq);
    ll_free(law);
    return st;
}

/* ---- residuals from both sides ---- */

enum { VIEW_MAX = 768, VIEW_ROWS = 160 };

/* The readings of one series over a stretch of time, and the law of f at each, given all. */
typedef struct view {
    size_t  n;
    double *t;     /* [n] distinct */
    double *alpha; /* [n] (y - mean) / noise, in w */
    double *cov;   /* [n,n] */
    double  noise;
} view;

static void view_deinit(view *v)
{
    ll_free(v->t);
    ll_free(v->alpha);
    ll_free(v->cov);
    *v = (view){ 0 };
}

static llap_status view_init(view *v, const ll_anchor_model *m, size_t series, const ll_series *h,
                             double low, double high)
{
    *v = (view){ .noise = m->fill_kernel.nu + m->fill_kernel.jitter };
    const double      around = 0.5 * m->spec.context; /* as far as the laws look */
    ll_series         own;
    double           *y;
    const llap_status st =
        without_glitches(m, series, h, low - around, high + around, false, &own, &y);
    size_t       i = anchor_after(own.t, own.n, nextafter(low, -INFINITY));
    const size_t end = anchor_after(own.t, own.n, nextafter(high, -INFINITY));
    assert(i <= end);
    const size_t room = end - i < VIEW_MAX ? end - i : VIEW_MAX;
    v->t = ll_new(room, sizeof *v->t);
    v->alpha = ll_new(room, sizeof *v->alpha);
    const bool ok = st == LLAP_OK && v->t != NULL && v->alpha != NULL;
    for (; ok && i < end && v->n < room; i++)
        if (!isnan(y[i]) && (v->n == 0 || own.t[i] != v->t[v->n - 1])) v->t[v->n++] = own.t[i];
    ll_free(y);
    if (!ok) return LLAP_ENOMEM;
    v->cov = ll_new(v->n * v->n, sizeof *v->cov);
    if (v->cov == NULL) return LLAP_ENOMEM;
    if (v->n == 0) return LLAP_OK;
    const ll_anchor_request r = {
        .history = *h, .series = series, .n_query = v->n, .t_query = v->t
    };
    return anchor_read_again(m, &r, v->alpha, v->cov);
}

/* Room for the readings of a gap. */
typedef struct solve {
    double L[VIEW_MAX * VIEW_MAX], x[VIEW_MAX];
} solve;

/* Residuals of the view's readings first .. first + n - 1, each without all of them: with P their
 * covariance given all, A = (1 - P / noise) / noise is the inverse of what y has without them, and
 * A^-1 alpha is y less its mean. */
static bool leave_out(const view *v, size_t first, size_t n, solve *s, double *out)
{
    assert(n <= VIEW_MAX && first + n <= v->n && v->noise > 0.0);
    double *L = s->L, *x = s->x;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double a = -v->cov[(first + i) * v->n + first + j] / v->noise;
            a = (a + (i == j)) / v->noise;
            for (size_t l = 0; l < j; l++) a -= L[i * n + l] * L[j * n + l];
            if (i == j && !(a > 0.0)) return false;
            L[i * n + j] = i == j ? sqrt(a) : a / L[j * n + j];
        }
    for (size_t i = 0; i < n; i++) {
        x[i] = v->alpha[first + i];
        for (size_t l = 0; l < i; l++) x[i] -= L[i * n + l] * x[l];
        x[i] /= L[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t l = i + 1; l < n; l++) x[i] -= L[l * n + i] * x[l];
        x[i] /= L[i * n + i];
    }
    for (size_t i = 0; i < n; i++) { /* column i of the inverse of L: its square is the variance */
        double var = 0.0, column[VIEW_MAX];
        for (size_t k = i; k < n; k++) {
            double c = k == i;
            for (size_t l = i; l < k; l++) c -= L[k * n + l] * column[l];
            column[k] = c / L[k * n + k];
            var += column[k] * column[k];
        }
        out[i] = clip(x[i] / sqrt(var));
    }
    return true;
}

/* Residuals of all series but e at the times of e's gap between low and high: [n_series,VIEW_MAX],
 * first [n_series] the view's reading that each begins with, count [n_series]. */
typedef struct gap {
    double low, high;
    size_t first[LL_ANCHOR_LINKED_MAX], count[LL_ANCHOR_LINKED_MAX];
    double residual[LL_ANCHOR_LINKED_MAX * VIEW_MAX];
    solve  room;
} gap;

static void gap_set(gap *g, const view *v, size_t n_series, size_t e, double low, double high)
{
    g->low = low;
    assert(n_series <= LL_ANCHOR_LINKED_MAX && low < high);
    g->high = high;
    for (size_t j = 0; j < n_series; j++) {
        g->first[j] = anchor_after(v[j].t, v[j].n, low);
        g->count[j] = anchor_after(v[j].t, v[j].n, nextafter(high, -INFINITY)) - g->first[j];
        if (j == e ||
            !leave_out(&v[j], g->first[j], g->count[j], &g->room, g->residual + j * VIEW_MAX))
            g->count[j] = 0;
    }
}

static void gap_at(const gap *g, const view *v, size_t n_series, double t, double *out)
{
    for (size_t j = 0; j < n_series; j++) {
        const size_t k = anchor_after(v[j].t + g->first[j], g->count[j], t);
        assert(g->first[j] + g->count[j] <= v[j].n);
        const bool read = k > 0 && v[j].t[g->first[j] + k - 1] == t;
        out[j] = read ? g->residual[j * VIEW_MAX + k - 1] : NAN;
    }
}

/* ---- conditioning on them ---- */

/* Row k of the Cholesky factor L [.,ld] of a matrix's rows `of`; false: not positive definite. */
static bool factor_row(const double *cov, size_t n, const size_t *of, size_t k, double *L,
                       size_t ld)
{
    assert(k < ld && of[k] < n);
    for (size_t j = 0; j <= k; j++) {
        double s = cov[of[k] * n + of[j]];
        for (size_t l = 0; l < j; l++) s -= L[k * ld + l] * L[j * ld + l];
        if (j == k && !(s > 1e-9)) return false;
        L[k * ld + j] = j == k ? sqrt(s) : s / L[j * ld + j];
    }
    return true;
}

bool anchor_neighbours_definite(const double *cov, size_t n)
{
    enum { MAX = LL_ANCHOR_LINKED_MAX };
    double L[MAX * MAX];
    size_t of[MAX];
    bool   ok = n <= MAX;
    for (size_t k = 0; ok && k < n; k++) {
        of[k] = k;
        ok = factor_row(cov, n, of, k, L, MAX);
    }
    return ok;
}

void anchor_neighbours_law(const double *cov, size_t n_series, size_t e, const double *r,
                           const double *shape, ll_law *law)
{
    enum { MAX = LL_ANCHOR_LINKED_MAX };
    double L[MAX * MAX], white[MAX], mean = 0.0;
    size_t of[MAX], n = 0;
    assert(n_series <= MAX && e < n_series);
    for (size_t j = 0; j < n_series; j++) {
        if (j == e || isnan(r[j])) continue;
        of[n] = j;
        if (!factor_row(cov, n_series, of, n, L, MAX)) return;
        white[n] = r[j];
        for (size_t l = 0; l < n; l++) white[n] -= L[n * MAX + l] * white[l];
        white[n] /= L[n * MAX + n];
        n++;
    }
    of[n] = e;
    if (n == 0 || !factor_row(cov, n_series, of, n, L, MAX)) return;
    for (size_t l = 0; l < n; l++) mean += L[n * MAX + l] * white[l];
    law->mean += law->sd * mean;
    law->sd *= L[n * MAX + n];
    law->shape = shape;
}

/* ---- requests ---- */

/* All that requests of one `all` ask for. */
typedef struct group {
    const ll_anchor_model   *m;
    const ll_anchor_request *r;
    size_t                   n;
    double                  *t; /* [n_times] of all queries, increasing */
    size_t                   n_times;
    anchor_neighbours_visit  visit;
    void                    *user;
} group;

static llap_status list_times(group *g)
{
    size_t n = 0, all = 0;
    for (size_t i = 0; i < g->n; i++) all += g->r[i].n_query;
    double *t = ll_new(all, sizeof *t);
    size_t *index = ll_new(2 * all, sizeof *index);
    g->t = ll_new(all, sizeof *g->t);
    const bool ok = t != NULL && index != NULL && g->t != NULL;
    for (size_t i = 0; ok && i < g->n; i++)
        for (size_t q = 0; q < g->r[i].n_query; q++, n++) {
            t[n] = g->r[i].t_query[q];
            index[n] = n;
        }
    if (ok) anchor_sort(t, index, index + all, all);
    for (size_t i = 0; ok && i < all; i++)
        if (g->n_times == 0 || t[index[i]] != g->t[g->n_times - 1])
            g->t[g->n_times++] = t[index[i]];
    ll_free(t);
    ll_free(index);
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

static llap_status visit_past(const group *g)
{
    const size_t n_series = g->m->chain->n_series;
    double      *table = ll_new(n_series * g->n_times, sizeof *table);
    int          worst = LLAP_OK;
    if (table == NULL) return LLAP_ENOMEM;
#pragma omp parallel for schedule(dynamic, 1) reduction(max : worst)
    for (size_t e = 0; e < n_series; e++) {
        const llap_status st =
            past_residuals(g->m, e, &g->r->all[e], g->t, g->n_times, table + e * g->n_times);
        if ((int)st > worst) worst = (int)st;
    }
    for (size_t i = 0; worst == LLAP_OK && i < g->n; i++)
        for (size_t q = 0; q < g->r[i].n_query; q++) {
            double       residual[LL_ANCHOR_LINKED_MAX];
            const double t = g->r[i].t_query[q];
            const size_t at = anchor_after(g->t, g->n_times, t) - 1;
            if (first_reading(&g->r[i].history, t) < g->r[i].history.n) continue;
            for (size_t j = 0; j < n_series; j++) residual[j] = table[j * g->n_times + at];
            g->visit(g->user, i, q, residual);
        }
    ll_free(table);
    return (llap_status)worst;
}

/* Of one request, the queries from low on and before high, which the views are for. */
static llap_status visit_gaps(const group *g, size_t i, const view *v, double low, double high)
{
    const ll_anchor_request *r = &g->r[i];
    const ll_series         *h = &r->history;
    const size_t             n_series = g->m->chain->n_series;
    gap                     *now = NULL;
    llap_status              st = LLAP_OK;
    for (size_t q = 0; st == LLAP_OK && q < r->n_query; q++) {
        const double t = r->t_query[q];
        double       residual[LL_ANCHOR_LINKED_MAX];
        if (!(t >= low && t < high) || first_reading(h, t) < h->n) continue;
        if (now == NULL) {
            now = ll_new(1, sizeof *now);
            if (now == NULL) return LLAP_ENOMEM;
            now->low = now->high = INFINITY;
        }
        if (!(t > now->low && t < now->high)) {
            size_t before = anchor_after(h->t, h->n, t), after = before;
            while (before > 0 && isnan(h->y[before - 1])) before--;
            while (after < h->n && isnan(h->y[after])) after++;
            gap_set(now, v, n_series, r->series, before > 0 ? h->t[before - 1] : -INFINITY,
                    after < h->n ? h->t[after] : INFINITY);
        }
        gap_at(now, v, n_series, t, residual);
        g->visit(g->user, i, q, residual);
    }
    ll_free(now);
    return st;
}

/* Pieces lie at fixed places, and each looks half a piece further to both sides, so that an answer
 * does not depend on what else is asked. */
static llap_status visit_piece(const group *g, view *v, double low, double length)
{
    const size_t n_series = g->m->chain->n_series;
    const double more = 0.5 * length;
    int          worst = LLAP_OK;
#pragma omp parallel for schedule(dynamic, 1) reduction(max : worst)
    for (size_t e = 0; e < n_series; e++) {
        const llap_status st =
            view_init(&v[e], g->m, e, &g->r->all[e], low - more, low + length + more);
        if ((int)st > worst) worst = (int)st;
    }
    if (worst == LLAP_OK) {
#pragma omp parallel for schedule(dynamic, 1) reduction(max : worst)
        for (size_t i = 0; i < g->n; i++) {
            const llap_status st = visit_gaps(g, i, v, low, low + length);
            if ((int)st > worst) worst = (int)st;
        }
    }
    for (size_t e = 0; e < n_series; e++) view_deinit(&v[e]);
    return (llap_status)worst;
}

/* Half a context, or less where that holds very many rows. */
static double piece_length(const ll_anchor_model *m, const ll_series *all)
{
    double length = 0.5 * m->spec.context;
    for (size_t e = 0; e < m->chain->n_series; e++) {
        const double n = (double)all[e].n;
        if (n > 2) length = fmin(length, VIEW_ROWS * (all[e].t[all[e].n - 1] - all[e].t[0]) / n);
    }
    return length > 0.0 ? length : 0.5 * m->spec.context;
}

static llap_status visit_both(const group *g)
{
    const double length = piece_length(g->m, g->r->all);
    view        *v = ll_new(g->m->chain->n_series, sizeof *v);
    llap_status  st = v == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t i = 0; st == LLAP_OK && i < g->n_times;) {
        const double low = floor(g->t[i] / length) * length;
        st = visit_piece(g, v, low, length);
        while (i < g->n_times && g->t[i] < low + length) i++;
    }
    ll_free(v);
    return st;
}

llap_status anchor_neighbours_each(const ll_anchor_model *m, const ll_anchor_request *r, size_t n,
                                   ll_anchor_from from, anchor_neighbours_visit visit, void *user)
{
    group       g = { .m = m, .r = r, .n = n, .visit = visit, .user = user };
    llap_status st = list_times(&g);
    if (st == LLAP_OK) st = from == LL_ANCHOR_PAST ? visit_past(&g) : visit_both(&g);
    ll_free(g.t);
    /* Its detail may be another thread's. */
    return st == LLAP_OK ? st : ll_fail(st, "looking at the other series failed");
}

/* ---- filling ---- */

typedef struct mover {
    const ll_anchor_model   *m;
    const ll_anchor_request *r;
    ll_anchor_from           from;
} mover;

static void move_law(void *user, size_t i, size_t q, const double *residual)
{
    const mover                *v = user;
    const ll_anchor_neighbours *neighbours = &v->m->neighbours[v->from];
    anchor_neighbours_law(neighbours->cov, v->m->chain->n_series, v->r[i].series, residual,
                          neighbours->calibration.factor[0], &v->r[i].law[q]);
}

static bool has_neighbours(const ll_anchor_model *m, const ll_anchor_request *r)
{
    return r->all != NULL && r->series < m->chain->n_series;
}

static llap_status fill_alone(const ll_anchor_model *m, const ll_anchor_request *r, size_t n,
                              ll_anchor_from from)
{
    int worst = LLAP_OK;
    if (n == 1) {
        const llap_status st = anchor_fill_alone(m, r, from);
        return st == LLAP_OK ? st : ll_fail_in(st, "request 0");
    }
#pragma omp parallel for schedule(dynamic, 1) reduction(max : worst)
    for (size_t i = 0; i < n; i++) {
        const llap_status st = anchor_fill_alone(m, &r[i], from);
        if ((int)st > worst) worst = (int)st;
    }
    return worst == LLAP_OK ? LLAP_OK : ll_fail((llap_status)worst, "filling gaps failed");
}

llap_status ll_anchor_model_fill(const ll_anchor_model *m, const ll_anchor_request *r, size_t n,
                                 ll_anchor_from from)
{
    llap_status st = fill_alone(m, r, n, from);
    if (m->neighbours[from].cov == NULL) return st;
    for (size_t i = 0, end; st == LLAP_OK && i < n; i = end) {
        end = i + 1;
        if (!has_neighbours(m, &r[i])) continue;
        while (end < n && has_neighbours(m, &r[end]) && r[end].all == r[i].all) end++;
        mover v = { m, r + i, from };
        st = anchor_neighbours_each(m, r + i, end - i, from, move_law, &v);
    }
    return st;
}
