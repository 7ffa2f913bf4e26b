/* Whether, and how, the series of a model are linked: correlations of the training contexts, a few
 * factors of them, the best on validation or none. */
#include "anchor/chain/quantile.h"
#include "anchor/trial.h"
#include "base/alloc.h"
#include "base/eigen.h"
#include "base/error.h"
#include "base/sort.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum {
    TRAIN_TIMES = 96, /* contexts that correlations are taken from */
    VALID_MOST = 60,  /* forecasts of all series that the choice is made on, */
    VALID_LEAST = 16, /* fewer where there are many series: their cost grows with the cube */
    LEAST = 200,      /* readings in common, for a correlation */
    MOST = LL_ANCHOR_LINKED_MAX
};
#define GAIN 0.003      /* share that a link must gain on validation */
#define SHRINK 500.0    /* readings that a correlation of 0 is worth */
#define COMMUNALITY .97 /* most of a series' variance that others explain */

/* The windows of all series at the same few origins, group after group. */
typedef struct groups {
    size_t       n, n_series;
    ll_origin   *origin; /* [n,n_series] */
    anchor_batch batch;
} groups;

static void groups_deinit(groups *g)
{
    anchor_batch_deinit(&g->batch);
    ll_free(g->origin);
    *g = (groups){ 0 };
}

/* The different times among the origins [n], evenly spread ones where they are too many. */
static llap_status groups_init(groups *g, const ll_anchor_model *m, const anchor_rows *rows,
                               size_t n_series, const ll_origin *origin, size_t n, size_t most)
{
    *g = (groups){ .n_series = n_series };
    double *t = ll_new(n, sizeof *t);
    g->origin = ll_new(most * n_series, sizeof *g->origin);
    if (t == NULL || g->origin == NULL) {
        ll_free(t);
        groups_deinit(g);
        return LLAP_ENOMEM;
    }
    size_t times = 0;
    for (size_t i = 0; i < n; i++) t[i] = origin[i].t;
    ll_sort_doubles(t, n);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || t[i] > t[i - 1]) t[times++] = t[i];
    g->n = times < most ? times : most;
    assert(times <= n && g->n <= most);
    for (size_t i = 0; i < g->n * n_series; i++)
        g->origin[i] = (ll_origin){ i % n_series, t[i / n_series * times / g->n] };
    ll_free(t);
    const llap_status st = anchor_batch_init(&g->batch, anchor_cut_of(m, &m->kernel), rows,
                                             n_series, g->origin, g->n * n_series);
    if (st != LLAP_OK) groups_deinit(g);
    return st;
}

/* ---- correlations ---- */

typedef struct moments {
    double n, xx, yy, xy;
} moments;

static void add_common(moments *s, const ll_anchor_window *x, const ll_anchor_window *y)
{
    for (size_t i = 0, k = 0; i < x->n_obs && k < y->n_obs;) {
        if (x->t[i] < y->t[k]) i++;
        else if (x->t[i] > y->t[k]) k++;
        else {
            const double a = x->y[i++], b = y->y[k++];
            if (isnan(a) || isnan(b)) continue;
            s->n += 1;
            s->xx += a * a;
            s->yy += b * b;
            s->xy += a * b;
        }
    }
}

/* C [n_series,n_series] of the readings of the contexts, shrunk by their number. False: no two
 * series share enough times. */
static bool correlate(const groups *g, double *C)
{
    const size_t n = g->n_series;
    bool         any = false;
    for (size_t e = 0; e < n; e++) {
        C[e * n + e] = 1.0;
        for (size_t f = 0; f < e; f++) {
            moments s = { 0 };
            for (size_t i = 0; i < g->n; i++)
                add_common(&s, &g->batch.window[i * n + e], &g->batch.window[i * n + f]);
            const bool ok = s.n >= LEAST && s.xx > 0.0 && s.yy > 0.0;
            C[e * n + f] = C[f * n + e] =
                ok ? s.xy / sqrt(s.xx * s.yy) * s.n / (s.n + SHRINK) : 0.0;
            any = any || ok;
        }
    }
    return any;
}

/* From readings to the terms that are linked: the other terms, and noise, are of one series only
 * and have taken their part from its correlations. False: nothing is linked. */
static bool unmix(const ll_anchor_kernel *k, const double *share, const double *C, size_t n,
                  double *out)
{
    double all = k->nu, linked = 0.0;
    for (int32_t i = 0; i < k->n_terms; i++) {
        all += k->a[i];
        linked += share[i] * k->a[i];
    }
    for (size_t i = 0; i < n * n; i++)
        out[i] = fmax(-COMMUNALITY, fmin(C[i] * (all / linked), COMMUNALITY));
    return linked > 0.0;
}

/* ---- factors ---- */

/* The largest `rank` eigenvalues of A as columns of g [n,rank]. */
static void leading(double *A, const double *V, size_t n, size_t rank, double *g)
{
    for (size_t r = 0; r < rank; r++) {
        size_t top = 0;
        for (size_t i = 1; i < n; i++)
            if (A[i * n + i] > A[top * n + top]) top = i;
        const double scale = sqrt(fmax(A[top * n + top], 0.0));
        for (size_t i = 0; i < n; i++) g[i * rank + r] = scale * V[i * n + top];
        A[top * n + top] = -INFINITY;
    }
}

/* Factors whose products meet the correlations off the diagonal: the diagonal is what the factors
 * themselves explain, found by repetition. room [2,n,n]. */
static void factors(const double *C, size_t n, size_t rank, double *g, double *room)
{
    enum { ROUNDS = 30 };
    double *A = room, *V = room + n * n, own[MOST];
    for (size_t i = 0; i < n; i++) {
        own[i] = 0.0;
        for (size_t k = 0; k < n; k++)
            if (k != i) own[i] = fmax(own[i], fabs(C[i * n + k]));
    }
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(A, C, n * n * sizeof *A);
        for (size_t i = 0; i < n; i++) A[i * n + i] = own[i];
        ll_eigen_symmetric(A, V, n);
        leading(A, V, n, rank, g);
        for (size_t i = 0; i < n; i++) {
            double sum = 0.0;
            for (size_t r = 0; r < rank; r++) sum += g[i * rank + r] * g[i * rank + r];
            own[i] = fmin(sum, COMMUNALITY);
            const double back = sum > own[i] ? sqrt(own[i] / sum) : 1.0;
            for (size_t r = 0; r < rank; r++) g[i * rank + r] *= back;
        }
    }
}

/* ---- the choice ---- */

/* Mean CRPS of all series under a link; the batch holds its forecasts. */
static llap_status score_link(const ll_anchor_model *m, const ll_anchor_linked *j, groups *g,
                              const anchor_rows *rows, double *crps)
{
    anchor_batch     *b = &g->batch;
    const llap_status st =
        ll_anchor_linked_filter(&m->kernel, j, b->window, g->n, b->mean, b->var, NULL);
    return st == LLAP_OK ? anchor_score(m, b, rows, g->origin, crps) : st;
}

/* Candidates: one or two factors, which link all terms or only those that last as long as the
 * horizon (what is quick is of the place). */
static llap_status choose_link(ll_anchor_model *m, const double *C, groups *valid,
                               const anchor_rows *rows, const ll_anchor_model_opts *o, double *room)
{
    const size_t     n = valid->n_series;
    ll_anchor_linked j = { .n = n }, best = j;
    double           g[MOST * LL_ANCHOR_RANK_MAX], alone, crps;
    const int64_t    before = anchor_course_of(o, n, true).link;
    llap_status      st = score_link(m, &j, valid, rows, &alone);
    double           least = alone * (1.0 - GAIN);
    for (size_t i = 0; st == LLAP_OK && i + 1 < ANCHOR_LINKS; i++) {
        st = anchor_tell(o, "link", before + (int64_t)i + 1);
        if (st != LLAP_OK) break;
        j = (ll_anchor_linked){ .n = n, .rank = 1 + i / 2, .loading = g };
        for (int32_t k = 0; k < m->kernel.n_terms; k++)
            j.share[k] = i % 2 == 0 || ll_anchor_half_life(m->kernel.rho[k]) >= m->spec.horizon;
        if (!unmix(&m->kernel, j.share, C, n, room)) continue;
        factors(room, n, j.rank, g, room + n * n);
        st = score_link(m, &j, valid, rows, &crps);
        if (st != LLAP_OK || !(crps < least)) continue;
        least = crps;
        best = j;
        best.loading = m->loading;
        memcpy(m->loading, g, n * j.rank * sizeof *g);
    }
    if (st != LLAP_OK || best.rank == 0) return st;
    m->link = best;
    m->valid_crps *= least / alone; /* of all validation windows, by what these few have gained */
    st = score_link(m, &best, valid, rows, &crps);
    return st != LLAP_OK ? st
                         : anchor_calibrate(m, &valid->batch, valid->origin, o->near, o->middle);
}

/* ---- what was found, as a watch keeps it ---- */

/* Doubles alone; g [n_series,rank] follows. */
typedef struct finding {
    double         rank, crps, share[LL_ANCHOR_MAX_TERMS];
    ll_calibration calibration;
} finding;

enum { FINDING = sizeof(finding) / sizeof(double), ROOM = MOST * LL_ANCHOR_RANK_MAX };

static llap_status keep_link(const ll_anchor_model *m, size_t n, const ll_anchor_model_opts *o)
{
    double  v[FINDING + ROOM] = { 0 };
    finding f = { (double)m->link.rank, m->valid_crps, { 0 }, m->calibration };
    memcpy(f.share, m->link.share, sizeof f.share);
    memcpy(v, &f, sizeof f);
    memcpy(v + FINDING, m->loading, n * m->link.rank * sizeof *v);
    return anchor_keep(o, "link", v, FINDING + n * LL_ANCHOR_RANK_MAX);
}

/* *found false: it is not there. */
static llap_status take_link(ll_anchor_model *m, size_t n, const ll_anchor_model_opts *o,
                             bool *found)
{
    double  v[FINDING + ROOM];
    finding f;
    *found = anchor_found(o, "link", v, FINDING + n * LL_ANCHOR_RANK_MAX);
    if (!*found) return LLAP_OK;
    memcpy(&f, v, sizeof f);
    llap_status st = anchor_note_check("link", "rank", &f.rank, 1, 0, LL_ANCHOR_RANK_MAX);
    if (st != LLAP_OK || f.rank == 0) return st;
    ll_anchor_linked j = { .n = n, .rank = (size_t)f.rank, .loading = v + FINDING };
    memcpy(j.share, f.share, sizeof j.share);
    if (ll_anchor_linked_check(&j, m->kernel.n_terms) != LLAP_OK)
        st = ll_fail_in(LLAP_EFORMAT, "note 'link'");
    if (st == LLAP_OK) st = anchor_note_check("link", "CRPS", &f.crps, 1, 0, DBL_MAX);
    if (st == LLAP_OK) st = anchor_note_calibration("link", &f.calibration, o->near, o->middle);
    if (st != LLAP_OK) return st;
    memcpy(m->loading, v + FINDING, n * j.rank * sizeof *v);
    m->link = j;
    m->link.loading = m->loading;
    m->valid_crps = f.crps;
    m->calibration = f.calibration;
    return LLAP_OK;
}

static size_t valid_times(size_t n_series)
{
    const size_t times = (size_t)VALID_MOST * 12 * 12 * 12 / (n_series * n_series * n_series);
    return times > VALID_MOST ? VALID_MOST : times < VALID_LEAST ? VALID_LEAST : times;
}

static llap_status fit_link(ll_anchor_model *m, const ll_anchor_data *d,
                            const ll_anchor_model_opts *o)
{
    const size_t n = d->n_series;
    anchor_rows *rows = NULL;
    groups       train = { 0 }, valid = { 0 };
    double      *room = ll_new(4 * n * n, sizeof *room);
    llap_status st = room == NULL ? LLAP_ENOMEM : anchor_rows_create(m->chain, d->series, n, &rows);
    if (st == LLAP_OK) st = groups_init(&train, m, rows, n, d->train, d->n_train, TRAIN_TIMES);
    if (st == LLAP_OK) st = groups_init(&valid, m, rows, n, d->valid, d->n_valid, valid_times(n));
    if (st == LLAP_OK && correlate(&train, room))
        st = choose_link(m, room, &valid, rows, o, room + n * n);
    groups_deinit(&train);
    groups_deinit(&valid);
    anchor_rows_destroy(rows, n);
    ll_free(room);
    return st;
}

llap_status anchor_fit_linked(ll_anchor_model *m, const ll_anchor_data *d,
                              const ll_anchor_model_opts *o)
{
    const size_t n = d->n_series;
    if (n < 2 || n > MOST || d->n_valid == 0) return LLAP_OK;
    m->loading = ll_new(n * LL_ANCHOR_RANK_MAX, sizeof *m->loading);
    if (m->loading == NULL) return LLAP_ENOMEM;
    bool        found;
    llap_status st = take_link(m, n, o, &found);
    if (st == LLAP_OK && !found) {
        st = fit_link(m, d, o);
        if (st == LLAP_OK) st = keep_link(m, n, o);
    }
    if (m->link.rank == 0) {
        ll_free(m->loading);
        m->loading = NULL;
    }
    return st;
}
