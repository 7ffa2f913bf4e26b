#include "fill/matched.h"
#include "fill/need.h"
#include "fill/rest.h"

#include "base/alloc.h"
#include "base/eigen.h"
#include "base/progress.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { OF_GROUP = 500, OF_LENGTH = 200, OF_PAIR = 30 }; /* cells that a prior counts as */

static double hold(double x, double limit) { return fmin(fmax(x, -limit), limit); }

/* sum w x over the rows of a look. */
static double run_over(const ll_fill_look *k, const double *x)
{
    double sum = 0;
    for (int i = 0; i < k->n; i++) sum += k->w[i] * x[k->row[i]];
    return sum;
}

/* The same over the rows of a neighbour; where it has none the own value stands in. */
static double run_beside(const ll_fill_look *k, const double *x, const int32_t *same,
                         int64_t n_near)
{
    double sum = 0;
    for (int i = 0; i < k->n; i++) {
        const int32_t row = same[k->row[i] * n_near];
        sum += k->w[i] * x[row < 0 ? k->row[i] : row];
    }
    return sum;
}

/* The nearest two readings on each side. */
static void find_around(const ll_fill_look *k, int64_t row, int32_t *around)
{
    int n[2] = { 0 };
    for (int i = 0; i < 4; i++) around[i] = -1;
    for (int i = 0; i < k->n; i++) {
        const bool after = k->row[i] > row;
        if (n[after] < 2) around[2 * after + n[after]++] = k->row[i];
    }
}

void ll_fill_residuals(ll_fill_smoother *s, const double *full, int64_t row, double truth,
                       ll_fill_cell *out)
{
    const ll_filling    *f = s->f;
    const ll_fill_table *t = s->t;
    const int64_t        n = t->n_rows, v = s->v;
    ll_fill_look         look;
    ll_fill_smooth(s, row, &look);
    out->mean = look.mean;
    out->b = look.b;
    find_around(&look, row, out->around);
    out->d[0] = (truth - look.mean) / look.b;
    for (int64_t x = 0; x < f->n_vars; x++) {
        if (x == v) continue;
        const double now = t->u[x * n + row];
        double      *d = &out->d[x < v ? x + 1 : x];
        *d = isnan(now) ? NAN : (now - run_over(&look, full + x * n)) / look.b;
    }
    for (int64_t k = 0; k < f->n_near; k++) {
        const int32_t there = t->same[row * f->n_near + k];
        const double  now = there < 0 ? NAN : t->u[v * n + there];
        out->d[f->n_vars + k] =
            isnan(now) ? NAN
                       : (now - run_beside(&look, full + v * n, t->same + k, f->n_near)) / look.b;
    }
}

double *ll_fill_cov(const ll_filling *f, int pass, int64_t v, int64_t group, int length)
{
    const int64_t S = ll_fill_slots(f);
    assert(v < f->n_vars && group < f->n_groups && length >= 0 && length < LL_FILL_LENGTHS);
    return f->cov[pass] + ((v * f->n_groups + group) * LL_FILL_LENGTHS + length) * S * S;
}

int ll_fill_length(const ll_filling *f, const ll_fill_table *t, int64_t v, int64_t row,
                   const ll_fill_cell *c)
{
    const double days = 36 * (f->day ? 1 : f->step);
    const bool   before = c->around[0] >= 0 && t->t[row] - t->t[c->around[0]] <= days;
    const bool   after = c->around[2] >= 0 && t->t[c->around[2]] - t->t[row] <= days;
    return !before && !after ? 2 : c->b > f->far[v];
}

int64_t ll_fill_group(const ll_filling *f, const ll_fill_table *t, int64_t row)
{
    const int64_t e = t->known[t->entity[row]];
    return f->n_groups > 1 && e >= 0 ? e : f->n_groups - 1;
}

ll_fill_answer ll_fill_combine(const ll_filling *f, const double *cov, const ll_fill_table *t,
                               int64_t v, int64_t row, const ll_fill_cell *c)
{
    const int64_t S = ll_fill_slots(f);
    const int     length = ll_fill_length(f, t, v, row, c);
    cov += (ll_fill_group(f, t, row) * LL_FILL_LENGTHS + length) * S * S;
    int64_t at[LL_FILL_SLOTS];
    double  K[LL_FILL_SLOTS * LL_FILL_SLOTS], x[LL_FILL_SLOTS], m = 0, left = cov[0];
    int     n = 0;
    for (int64_t i = 1; i < S; i++)
        if (!isnan(c->d[i])) at[n++] = i;
    for (int i = 0; i < n; i++) {
        x[i] = cov[at[i]];
        for (int j = 0; j <= i; j++) K[i * n + j] = cov[at[i] * S + at[j]];
    }
    if (ll_fill_factor(K, n)) {
        ll_fill_solve(K, n, x);
        for (int i = 0; i < n; i++) {
            m += x[i] * hold(c->d[at[i]], 8);
            left -= x[i] * cov[at[i]];
        }
    }
    double sd = c->b * sqrt(fmax(left, 1e-4 * cov[0]));
    if (t->unrest != NULL) sd *= pow(t->unrest[v * t->n_rows + row], f->unrest[v]);
    return (ll_fill_answer){ c->mean + c->b * m, sd, length + (n == 0 ? LL_FILL_LENGTHS : 0) };
}

static ll_fill_answer answer(ll_fill_smoother *s, const double *full, int pass, int64_t row)
{
    const ll_filling    *f = s->f;
    const ll_fill_table *t = s->t;
    const int64_t        v = s->v;
    ll_fill_cell         c;
    ll_fill_residuals(s, full, row, NAN, &c);
    const ll_fill_answer a = ll_fill_combine(f, ll_fill_cov(f, pass, v, 0, 0), t, v, row, &c);
    if (pass == 0 || !f->rest || ll_fill_dead(&a)) return a;
    float x[LL_REST_COLUMNS];
    ll_rest_look(f, t, v, row, &c, &a, x);
    return ll_rest_answer(f, x, a);
}

void ll_fill_ask(const ll_filling *f, const ll_fill_table *t, const double *full, int64_t v,
                 const int64_t *row, int64_t n, ll_fill_answer *out)
{
    ll_fill_lags l;
    ll_fill_lags_init(&l, &f->kernel[v], t->unit);
#pragma omp parallel
    {
        ll_fill_smoother s;
        ll_fill_smoother_init(&s, f, &l, t, v);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n; i++) out[i] = answer(&s, full, 1, row[i]);
    }
}

/* One cell of a pass that is not read. */
static double fill_one(ll_fill_smoother *s, const double *was, int pass, int64_t row)
{
    ll_fill_look look;
    if (pass > 0) return answer(s, was, 0, row).mean;
    ll_fill_smooth(s, row, &look);
    return look.mean;
}

/* Rows first .. end - 1 of a variable. */
static void fill_rows(const ll_filling *f, const ll_fill_lags *l, const ll_fill_table *t,
                      const double *was, int pass, const uint8_t *need, int64_t v, int64_t first,
                      int64_t end, double *full)
{
    const int64_t n = t->n_rows;
    const uint8_t mark = pass > 0 ? LL_FILL_NEED_1 : LL_FILL_NEED_0;
#pragma omp parallel
    {
        ll_fill_smoother s;
        ll_fill_smoother_init(&s, f, l, t, v);
#pragma omp for schedule(static)
        for (int64_t i = first; i < end; i++) {
            const double u = t->u[v * n + i];
            const bool   idle = need != NULL && !(need[v * n + i] & mark);
            full[v * n + i] = !isnan(u) ? u : idle ? NAN : fill_one(&s, was, pass, i);
        }
    }
}

llap_status ll_fill_pass(const ll_filling *f, const ll_fill_table *t, int pass, const uint8_t *need,
                         llap_progress progress, double *full)
{
    const int64_t n = t->n_rows;
    const size_t  all = (size_t)(n * t->n_vars);
    double       *was = pass > 0 ? ll_new(all, sizeof *was) : NULL;
    llap_status   st = pass > 0 && was == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK && pass > 0) memcpy(was, full, all * sizeof *was);
    for (int64_t v = 0; v < f->n_vars && st == LLAP_OK; v++) {
        ll_fill_lags l;
        ll_fill_lags_init(&l, &f->kernel[v], t->unit);
        for (int64_t r = 0; r < n && st == LLAP_OK; r += LL_FILL_AT_ONCE) {
            const int64_t end = n - r < LL_FILL_AT_ONCE ? n : r + LL_FILL_AT_ONCE;
            fill_rows(f, &l, t, was, pass, need, v, r, end, full);
            st = ll_report(progress, &(llap_progress_event){ "filling", v, f->n_vars, "variables",
                                                             f->name[v] });
        }
    }
    ll_free(was);
    return st;
}

/* What answers about the cells asked of need; NULL: about any of targets. */
static void find_need(const ll_filling *f, const ll_fill_table *t, const uint8_t *asked,
                      uint8_t *need)
{
    const int64_t n = t->n_rows;
    for (int64_t i = 0; i < f->n_vars * n; i++)
        if (f->target[i / n] >= 0 && isnan(t->u[i]) && (asked == NULL || asked[i]))
            ll_fill_need_of(f, t, i / n, i % n, LL_FILL_NEED_1, need);
    ll_fill_need_unrest(f, t, need);
    ll_fill_need_before(f, t, need);
}

llap_status ll_fill_table_fill(const ll_filling *f, ll_fill_table *t, const uint8_t *asked,
                               llap_progress progress, double *full)
{
    uint8_t    *need = ll_new((size_t)(t->n_rows * t->n_vars) + 1, 1);
    llap_status st = need == NULL ? LLAP_ENOMEM : ll_fill_table_index(f, t);
    if (st == LLAP_OK) find_need(f, t, asked, need);
    for (int pass = 0; pass < 2 && st == LLAP_OK; pass++)
        st = ll_fill_pass(f, t, pass, need, progress, full);
    ll_free(need);
    return st == LLAP_OK ? ll_fill_unrest(f, t, full, progress) : st;
}

/* ---- covariances ---- */

llap_status ll_fill_moments_init(ll_fill_moments *m, const ll_filling *f)
{
    const int64_t S = ll_fill_slots(f);
    const size_t  n = (size_t)(f->n_groups * LL_FILL_LENGTHS * S * S);
    *m = (ll_fill_moments){ .n_groups = f->n_groups, .slots = S };
    m->sum = ll_new(n, sizeof *m->sum);
    m->n = ll_new(n, sizeof *m->n);
    return m->sum == NULL || m->n == NULL ? LLAP_ENOMEM : LLAP_OK;
}

void ll_fill_moments_deinit(ll_fill_moments *m)
{
    ll_free(m->sum);
    ll_free(m->n);
}

void ll_fill_moments_merge(ll_fill_moments *m, const ll_fill_moments *more)
{
    const int64_t n = m->n_groups * LL_FILL_LENGTHS * m->slots * m->slots;
    assert(m->n_groups == more->n_groups && m->slots == more->slots);
    for (int64_t i = 0; i < n; i++) m->sum[i] += more->sum[i], m->n[i] += more->n[i];
}

void ll_fill_moments_add(ll_fill_moments *m, int64_t group, int length, const double *d)
{
    const int64_t S = m->slots, at = (group * LL_FILL_LENGTHS + length) * S * S;
    for (int64_t i = 0; i < S; i++)
        for (int64_t j = 0; j <= i && !isnan(d[i]); j++) {
            if (isnan(d[j])) continue;
            m->sum[at + i * S + j] += hold(d[i], 6) * hold(d[j], 6);
            m->n[at + i * S + j]++;
        }
}

/* Mean of one element: of a length of a group, drawn to that of the group, and that to the mean of
 * all. *all: cells behind the latter. */
static double mean_of(const ll_fill_moments *m, int64_t group, int length, int64_t element,
                      double *all)
{
    const int64_t each = m->slots * m->slots;
    double        sum = 0, n = 0;       /* of the group */
    double        those = 0, count = 0; /* of that length */
    double        total = 0;
    *all = 0;
    for (int64_t g = 0; g < m->n_groups; g++)
        for (int b = 0; b < LL_FILL_LENGTHS; b++) {
            const int64_t at = (g * LL_FILL_LENGTHS + b) * each + element;
            const bool    dead = b == LL_FILL_LENGTHS - 1; /* few events of many cells */
            if (!dead) total += m->sum[at], *all += m->n[at];
            if (g != group && group != m->n_groups - 1) continue;
            if (!dead) sum += m->sum[at], n += m->n[at];
            if (b == length) those += m->sum[at], count += m->n[at];
        }
    if (*all == 0) return 0;
    const double pooled = total / *all;
    const double own = (sum + OF_GROUP * pooled) / (n + OF_GROUP);
    return (those + OF_LENGTH * own) / (count + OF_LENGTH);
}

/* Correlations with eigenvalues of at least a floor. */
static void make_definite(double *R, int64_t S)
{
    double A[LL_FILL_SLOTS * LL_FILL_SLOTS], V[LL_FILL_SLOTS * LL_FILL_SLOTS];
    memcpy(A, R, (size_t)(S * S) * sizeof *A);
    ll_eigen_symmetric(A, V, (size_t)S);
    for (int64_t i = 0; i < S; i++)
        for (int64_t j = 0; j < S; j++) {
            double sum = 0;
            for (int64_t k = 0; k < S; k++)
                sum += V[i * S + k] * fmax(A[k * S + k], 0.003) * V[j * S + k];
            R[i * S + j] = sum;
        }
}

void ll_fill_moments_cov(const ll_fill_moments *m, int64_t group, int length, double *cov)
{
    const int64_t S = m->slots;
    double        sd[LL_FILL_SLOTS], scale[LL_FILL_SLOTS], n;
    assert(S <= LL_FILL_SLOTS && group < m->n_groups);
    for (int64_t i = 0; i < S; i++) {
        sd[i] = sqrt(mean_of(m, group, length, i * S + i, &n));
        if (!(sd[i] > 1e-6)) sd[i] = 1;
    }
    for (int64_t i = 0; i < S; i++)
        for (int64_t j = 0; j <= i; j++) {
            double r = hold(mean_of(m, group, length, i * S + j, &n) / (sd[i] * sd[j]), 0.999);
            r *= 0.98 * n / (n + OF_PAIR);
            cov[i * S + j] = cov[j * S + i] = i == j ? 1 : r;
        }
    make_definite(cov, S);
    for (int64_t i = 0; i < S; i++) scale[i] = sd[i] / sqrt(cov[i * S + i]);
    for (int64_t i = 0; i < S * S; i++) cov[i] *= scale[i / S] * scale[i % S];
}
