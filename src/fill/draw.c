#include "fill/draw.h"

#include "base/alloc.h"
#include "base/eigen.h"
#include "base/rng/rng.h"
#include "fill/matched.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Holes that are drawn at once; those before them that a further piece of a gap goes on from. */
enum { PIECE = 192, GO_ON = 8, GIVEN = 2 * LL_FILL_AROUND + GO_ON };

void ll_fill_draws_deinit(ll_fill_draws *d)
{
    ll_free(d->place);
    ll_free(d->rank);
    *d = (ll_fill_draws){ 0 };
}

/* ---- a gap of one variable ---- */

typedef struct gap {
    const ll_filling         *f;
    const ll_fill_table      *t;
    const ll_fill_draws_opts *o;
    const ll_fill_draws      *d;
    ll_fill_lags              lags;
    int64_t                   v;
    float                    *score;                 /* [holes of all,n_samples] */
    double                    K[PIECE * PIECE];      /* of the holes, then its factor */
    double                    L[GIVEN * GIVEN];      /* of what is given */
    double                    cross[PIECE * GIVEN];  /* holes with what is given */
    double                    weight[PIECE * GIVEN]; /* cross L^-1 L^-T */
    int32_t                   given[GIVEN];          /* rows; the last n_before are holes */
    int                       n_given, n_before;
} gap;

/* The covariance of two cells of the variable. */
static double between(const gap *g, int32_t a, int32_t b)
{
    const double k = ll_fill_lag(&g->lags, fabs(g->t->t[a] - g->t->t[b]));
    return a == b ? k + g->f->kernel[g->v].nu : k;
}

/* Readings on both sides of a gap that begins at a row. */
static void find_given(gap *g, int64_t row)
{
    const ll_fill_table *t = g->t;
    const int64_t        e = t->entity[row], at = t->before[g->v * t->n_rows + row];
    const int32_t       *read = t->read + g->v * t->n_rows;
    const int64_t        last = t->n_rows - 1;
    const int64_t all = t->before[g->v * t->n_rows + last] + !isnan(t->u[g->v * t->n_rows + last]);
    g->n_given = g->n_before = 0;
    for (int64_t i = at - 1; i >= 0 && i >= at - LL_FILL_AROUND && read[i] >= t->start[e]; i--)
        g->given[g->n_given++] = read[i];
    for (int64_t i = at; i < all && i < at + LL_FILL_AROUND && read[i] < t->start[e + 1]; i++)
        g->given[g->n_given++] = read[i];
}

/* Deviation of a hole given the readings alone, which are the first of what is given. */
static double spread_of(const gap *g, int32_t row, const double *cross)
{
    double x[GIVEN], var = between(g, row, row);
    for (int i = 0; i < g->n_given - g->n_before; i++) {
        x[i] = cross[i];
        for (int j = 0; j < i; j++) x[i] -= g->L[i * g->n_given + j] * x[j];
        x[i] /= g->L[i * g->n_given + i];
        var -= x[i] * x[i];
    }
    return sqrt(fmax(var, 1e-9));
}

/* K becomes the factor of the covariance of the holes given the rest; sd: their deviations given
 * the readings. False: it is not positive definite. */
static bool condition(gap *g, const int32_t *row, int n, double *sd)
{
    const int m = g->n_given;
    for (int i = 0; i < m; i++)
        for (int j = 0; j <= i; j++) g->L[i * m + j] = between(g, g->given[i], g->given[j]);
    if (m > 0 && !ll_fill_factor(g->L, m)) return false;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++)
            g->cross[i * m + j] = g->weight[i * m + j] = between(g, row[i], g->given[j]);
        if (m > 0) ll_fill_solve(g->L, m, g->weight + i * m);
        for (int j = 0; j <= i; j++) {
            double k = between(g, row[i], row[j]);
            for (int l = 0; l < m; l++) k -= g->weight[i * m + l] * g->cross[j * m + l];
            g->K[i * n + j] = i == j ? fmax(k, 1e-9) * (1 + 1e-6) : k;
        }
        sd[i] = spread_of(g, row[i], g->cross + i * m);
    }
    return ll_fill_factor(g->K, n);
}

static float *score_of(const gap *g, int32_t row)
{
    return g->score + (int64_t)g->d->place[g->v * g->t->n_rows + row] * g->o->n_samples;
}

/* Draws of n holes; deviations from the mean, given those of the piece before. */
static void draw_piece(gap *g, const int32_t *row, int n, double *before)
{
    const int64_t K = g->o->n_samples, e = g->t->entity[row[0]];
    const int     m = g->n_given;
    double        sd[PIECE], x[PIECE], y[PIECE];
    const bool    ok = condition(g, row, n, sd);
    for (int64_t k = 0; k < K; k++) {
        const ll_rng r = ll_rng_make(g->o->seed, LL_STREAM_NOISE, g->o->id[e * g->f->n_vars + g->v],
                                     (uint32_t)k, 8);
        for (int i = 0; i < n; i++)
            x[i] = (double)ll_rng_normal(&r, (uint64_t)(row[i] - g->t->start[e]));
        for (int i = 0; i < n; i++) {
            y[i] = ok ? 0 : x[i];
            for (int j = 0; ok && j <= i; j++) y[i] += g->K[i * n + j] * x[j];
            for (int j = 0; ok && j < g->n_before; j++)
                y[i] += g->weight[i * m + m - g->n_before + j] * before[k * GO_ON + j];
            score_of(g, row[i])[k] = (float)(ok ? y[i] / sd[i] : y[i]);
        }
        for (int j = 0; j < GO_ON && j < n; j++) before[k * GO_ON + j] = y[n - 1 - j];
    }
}

/* All gaps of a variable of an entity. before [n_samples,GO_ON] */
static void draw_series(gap *g, int64_t e, double *before)
{
    const ll_fill_table *t = g->t;
    const int64_t        n = t->n_rows;
    int32_t              row[PIECE];
    for (int64_t r = t->start[e]; r < t->start[e + 1];) {
        if (g->d->place[g->v * n + r] < 0) {
            r++;
            continue;
        }
        const int32_t same = t->before[g->v * n + r]; /* no reading between them */
        find_given(g, r);
        while (r < t->start[e + 1] && t->before[g->v * n + r] == same) {
            int m = 0;
            for (; r < t->start[e + 1] && t->before[g->v * n + r] == same && m < PIECE; r++)
                if (g->d->place[g->v * n + r] >= 0) row[m++] = (int32_t)r;
            if (m == 0) break;
            draw_piece(g, row, m, before);
            g->n_given -= g->n_before;
            g->n_before = m < GO_ON ? 0 : GO_ON;
            for (int j = 0; j < g->n_before; j++) g->given[g->n_given++] = row[m - 1 - j];
        }
    }
}

/* ---- variables of a row ---- */

/* Correlation of the matched residuals of two variables, [n_vars,n_vars]: that of long gaps. */
static void correlate(const ll_filling *f, double *R)
{
    const int64_t V = f->n_vars, S = ll_fill_slots(f);
    double        A[LL_FILL_VARS * LL_FILL_VARS], W[LL_FILL_VARS * LL_FILL_VARS];
    for (int64_t v = 0; v < V; v++)
        for (int64_t x = 0; x <= v; x++) {
            double sum = 0, n = 0;
            for (int side = 0; side < 2 && x < v; side++) {
                const int64_t own = side ? x : v, other = side ? v : x;
                const int64_t slot = other < own ? other + 1 : other;
                const double *c = ll_fill_cov(f, 1, own, f->n_groups - 1, 1);
                if (f->target[own] < 0 || !(c[0] > 0) || !(c[slot * S + slot] > 0)) continue;
                sum += c[slot] / sqrt(c[0] * c[slot * S + slot]);
                n++;
            }
            A[v * V + x] = A[x * V + v] = x == v ? 1 : n > 0 ? sum / n : 0;
        }
    ll_eigen_symmetric(A, W, (size_t)V);
    for (int64_t i = 0; i < V * V; i++) {
        R[i] = 0;
        for (int64_t k = 0; k < V; k++)
            R[i] += W[i / V * V + k] * fmax(A[k * V + k], 0.01) * W[i % V * V + k];
    }
}

/* The factor of the correlation of variables h [n] given those that are read: L [n,n]. */
static bool factor_row(const double *R, int64_t V, const int *h, int n, const int *a, int m,
                       double *L)
{
    double K[LL_FILL_VARS * LL_FILL_VARS], x[LL_FILL_VARS];
    for (int i = 0; i < m; i++)
        for (int j = 0; j <= i; j++) K[i * m + j] = R[a[i] * V + a[j]];
    if (m > 0 && !ll_fill_factor(K, m)) return false;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < m; k++) x[k] = R[h[i] * V + a[k]];
        if (m > 0) ll_fill_solve(K, m, x);
        for (int j = 0; j <= i; j++) {
            L[i * n + j] = R[h[i] * V + h[j]];
            for (int k = 0; k < m; k++) L[i * n + j] -= x[k] * R[h[j] * V + a[k]];
        }
        L[i * n + i] = fmax(L[i * n + i], 1e-6) * (1 + 1e-6);
    }
    if (!ll_fill_factor(L, n)) return false;
    for (int i = 0; i < n; i++) { /* to variance 1 */
        double own = 0;
        for (int j = 0; j <= i; j++) own += L[i * n + j] * L[i * n + j];
        for (int j = 0; j <= i; j++) L[i * n + j] /= sqrt(own);
    }
    return true;
}

static void join_row(const ll_filling *f, const ll_fill_table *t, const ll_fill_draws *d,
                     const double *R, int64_t row, float *score)
{
    const int64_t N = t->n_rows, K = d->n_samples;
    int           h[LL_FILL_VARS], a[LL_FILL_VARS], n = 0, m = 0;
    double        L[LL_FILL_VARS * LL_FILL_VARS];
    for (int v = 0; v < f->n_vars; v++) {
        if (d->place[v * N + row] >= 0) h[n++] = v;
        else if (!isnan(t->u[v * N + row])) a[m++] = v;
    }
    if (n < 2 || !factor_row(R, f->n_vars, h, n, a, m, L)) return;
    for (int64_t k = 0; k < K; k++)
        for (int i = n - 1; i >= 0; i--) { /* those before it are still their own */
            double sum = 0;
            for (int j = 0; j <= i; j++)
                sum += L[i * n + j] * (double)score[d->place[h[j] * N + row] * K + k];
            score[d->place[h[i] * N + row] * K + k] = (float)sum;
        }
}

/* ---- all of it ---- */

typedef struct ranked {
    float   x;
    int32_t k;
} ranked;

static int by_size(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->x < y->x ? -1 : x->x > y->x ? 1 : (x->k > y->k) - (x->k < y->k);
}

static void find_ranks(const float *score, int64_t n, ranked *room, int32_t *rank)
{
    for (int64_t k = 0; k < n; k++) room[k] = (ranked){ score[k], (int32_t)k };
    qsort(room, (size_t)n, sizeof *room, by_size);
    for (int64_t i = 0; i < n; i++) rank[room[i].k] = (int32_t)i;
}

static void list_holes(ll_fill_draws *d, const ll_filling *f, const ll_fill_table *t,
                       const uint8_t *wanted)
{
    for (int64_t i = 0; i < t->n_vars * t->n_rows; i++) {
        const bool hole = f->used[i / t->n_rows] && wanted[i] && isnan(t->u[i]);
        d->place[i] = hole ? (int32_t)d->n++ : -1;
    }
}

static llap_status draw_entity(const ll_fill_draws *d, const ll_filling *f, const ll_fill_table *t,
                               const ll_fill_draws_opts *o, const double *R, int64_t e,
                               float *score)
{
    gap    *g = ll_new(1, sizeof *g);
    double *before = ll_new((size_t)o->n_samples, GO_ON * sizeof *before);
    ranked *room = ll_new((size_t)o->n_samples, sizeof *room);
    if (g == NULL || before == NULL || room == NULL) {
        ll_free(g);
        ll_free(before);
        ll_free(room);
        return LLAP_ENOMEM;
    }
    for (int64_t v = 0; v < f->n_vars; v++) {
        if (!f->used[v]) continue;
        *g = (gap){ .f = f, .t = t, .o = o, .d = d, .v = v, .score = score };
        ll_fill_lags_init(&g->lags, &f->kernel[v], t->unit);
        draw_series(g, e, before);
    }
    for (int64_t r = t->start[e]; r < t->start[e + 1]; r++) {
        join_row(f, t, d, R, r, score);
        for (int64_t v = 0; v < f->n_vars; v++) {
            const int64_t at = d->place[v * t->n_rows + r];
            if (at >= 0)
                find_ranks(score + at * o->n_samples, o->n_samples, room,
                           d->rank + at * o->n_samples);
        }
    }
    ll_free(g);
    ll_free(before);
    ll_free(room);
    return LLAP_OK;
}

llap_status ll_fill_draws_init(ll_fill_draws *d, const ll_filling *f, const ll_fill_table *t,
                               const ll_fill_draws_opts *o)
{
    double R[LL_FILL_VARS * LL_FILL_VARS];
    int    worst = LLAP_OK;
    assert(o->n_samples >= 1 && t->before != NULL);
    *d = (ll_fill_draws){ .n_samples = o->n_samples };
    d->place = ll_new((size_t)(t->n_vars * t->n_rows) + 1, sizeof *d->place);
    if (d->place == NULL) return LLAP_ENOMEM;
    list_holes(d, f, t, o->wanted);
    const size_t room = (size_t)d->n * (size_t)o->n_samples + 1;
    float       *score = ll_new(room, sizeof *score);
    d->rank = ll_new(room, sizeof *d->rank);
    if (score == NULL || d->rank == NULL) worst = LLAP_ENOMEM;
    else correlate(f, R);
    const int64_t n = worst == LLAP_OK ? t->n_entities : 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(max : worst)
    for (int64_t e = 0; e < n; e++) {
        const int st = (int)draw_entity(d, f, t, o, R, e, score);
        if (st > worst) worst = st;
    }
    ll_free(score);
    if (worst != LLAP_OK) ll_fill_draws_deinit(d);
    return (llap_status)worst;
}
