#include "anchor/window.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { WORTH_IT = 16384 }; /* rows that are shared out to threads */

static void rows_deinit(anchor_rows *r)
{
    if (r->target != r->u) ll_free(r->target);
    ll_free(r->z);
    ll_free(r->u);
    *r = (anchor_rows){ 0 };
}

static llap_status rows_init(anchor_rows *r, const ll_chain *c, size_t series, const ll_series *s)
{
    *r =
        (anchor_rows){ .chain = c, .series = series, .n = s->n, .t = s->t, .y = s->y, .in = s->in };
    r->z = ll_new(s->n, sizeof *r->z);
    r->u = ll_new(s->n, sizeof *r->u);
    r->target = c->curve == LL_CURVE_COUNTS ? ll_new(s->n, sizeof *r->target) : r->u;
    bool *drop = ll_new(s->n, sizeof *drop);
    if (r->z == NULL || r->u == NULL || r->target == NULL || drop == NULL) {
        ll_free(drop);
        rows_deinit(r);
        return LLAP_ENOMEM;
    }
    ll_chain_mark(c, series, s->y, s->n, drop);
#pragma omp parallel for schedule(static) if (s->n >= WORTH_IT)
    for (size_t i = 0; i < s->n; i++) {
        const double z = ll_chain_z(c, series, s->y[i]);
        r->u[i] = isnan(z)
                      ? NAN
                      : ll_chain_u_given(c, series, ll_chain_mean(c, series, s->in, s->t[i]), z);
        r->z[i] = isnan(z) || drop[i] ? NAN : ll_chain_unit_of(c, series, s->y[i]);
        if (r->target != r->u)
            r->target[i] = ll_chain_target(c, series, i, s->in, s->t[i], s->y[i]);
    }
    ll_free(drop);
    return LLAP_OK;
}

llap_status anchor_drop_glitches(const ll_chain *c, size_t series, const double *y, size_t n,
                                 double *u)
{
    if (c->glitch == NULL) return LLAP_OK;
    bool *drop = ll_new(n, sizeof *drop);
    if (drop == NULL) return LLAP_ENOMEM;
    ll_chain_mark(c, series, y, n, drop);
    for (size_t i = 0; i < n; i++)
        if (drop[i]) u[i] = NAN;
    ll_free(drop);
    return LLAP_OK;
}

void anchor_rows_destroy(anchor_rows *rows, size_t n)
{
    for (size_t e = 0; rows != NULL && e < n; e++) rows_deinit(&rows[e]);
    ll_free(rows);
}

llap_status anchor_rows_create(const ll_chain *c, const ll_series *s, size_t n, anchor_rows **out)
{
    anchor_rows *rows = ll_new(n, sizeof *rows);
    llap_status  st = rows == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t e = 0; e < n && st == LLAP_OK; e++) st = rows_init(&rows[e], c, e, &s[e]);
    if (st == LLAP_OK) *out = rows;
    else anchor_rows_destroy(rows, n);
    return st;
}

size_t anchor_after(const double *t, size_t n, double at) { return ll_count_upto(t, n, at); }

size_t anchor_first_row(const double *u, size_t first, size_t last, size_t max_obs)
{
    size_t seen = 0, i = last;
    assert(first <= last);
    while (i > first && (max_obs == 0 || seen < max_obs)) {
        i--;
        if (!isnan(u[i])) seen++;
    }
    return i;
}

void anchor_batch_deinit(anchor_batch *b)
{
    void *const arrays[] = { b->window, b->m,    b->s,   b->query, b->every,
                             b->in,     b->mean, b->var, b->again, b->numbers };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) ll_free(arrays[i]);
    *b = (anchor_batch){ 0 };
}

/* Rows of one window: context first .. now - 1, queries now .. end - 1. Of long ones some alone. */
typedef struct span {
    size_t first, now, end;
    size_t n_obs, dense;   /* rows of the context that are kept: of its readings the newest `dense`
                              all, older ones ever fewer; 0: all rows */
    size_t query, n_query; /* the first row asked about, and how many are, */
    size_t every;          /* so many rows apart */
} span;

/* ---- thinning ---- */

/* Readings of n that are kept where the newest `dense` all are: as far apart as they are old, in
 * units of that. A kernel forgets in the same way: what is old matters by its level and slow
 * cycles. */
static size_t next_age(size_t age, size_t dense) { return age + (age < dense ? 1 : age / dense); }

static size_t kept_of(size_t n, size_t dense)
{
    size_t kept = 0;
    for (size_t age = 0; age < n; age = next_age(age, dense)) kept++;
    return kept;
}

/* The most that keeps about `points` of n. */
static size_t dense_for(size_t n, size_t points)
{
    size_t low = 1, high = points;
    while (low < high) {
        const size_t mid = low + (high - low + 1) / 2;
        if (kept_of(n, mid) <= points) low = mid;
        else high = mid - 1;
    }
    return low;
}

/* Contexts of up to twice as many readings, and as many queries, stay whole. */
static void thin(span *s, const double *u, size_t points)
{
    const size_t n_query = s->end - s->now;
    size_t       seen = 0;
    s->n_obs = s->now - s->first;
    s->query = s->now;
    s->every = 1;
    s->n_query = n_query;
    if (points == 0) return;
    if (s->n_obs > 2 * points)
        for (size_t i = s->first; i < s->now; i++) seen += (size_t)!isnan(u[i]);
    if (seen > 2 * points) {
        s->dense = dense_for(seen, points);
        s->n_obs = kept_of(seen, s->dense);
    }
    if (n_query <= points) return;
    s->every = (2 * n_query + points - 1) / points;
    s->query += s->now % s->every; /* every lead is some window's */
    s->n_query = (n_query - s->now % s->every + s->every - 1) / s->every;
}

static span span_of(anchor_cut how, const anchor_rows *r, double t)
{
    const ll_anchor_spec *spec = how.spec;
    span                  s = { .first = anchor_after(r->t, r->n, t - spec->context),
                                .now = anchor_after(r->t, r->n, t),
                                .end = anchor_after(r->t, r->n, t + spec->horizon) };
    s.first = anchor_first_row(r->u, s.first, s.now, spec->max_obs);
    assert(s.first <= s.now && s.now <= s.end && s.end <= r->n);
    if (spec->max_query > 0 && s.end - s.now > spec->max_query) s.end = s.now + spec->max_query;
    thin(&s, r->u, how.points);
    return s;
}

static llap_status batch_arrays(anchor_batch *b, size_t n, size_t numbers)
{
    b->n = n;
    b->window = ll_new(n, sizeof *b->window);
    b->m = ll_new(n, sizeof *b->m);
    b->s = ll_new(n, sizeof *b->s);
    b->query = ll_new(n, sizeof *b->query);
    b->every = ll_new(n, sizeof *b->every);
    b->in = ll_new(n, sizeof *b->in);
    b->mean = ll_new(n, sizeof *b->mean);
    b->var = ll_new(n, sizeof *b->var);
    b->again = ll_new(n, sizeof *b->again);
    b->numbers = ll_new(numbers, sizeof *b->numbers);
    const bool ok = b->window != NULL && b->m != NULL && b->s != NULL && b->query != NULL &&
                    b->every != NULL && b->in != NULL && b->mean != NULL && b->var != NULL &&
                    b->again != NULL && b->numbers != NULL;
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

static double *take(double **at, size_t n)
{
    double *p = *at;
    *at += n;
    return p;
}

void anchor_norm(anchor_cut how, const double *u, size_t n, double *m, double *s, double *start)
{
    double       sum = 0.0, count = 0.0;
    const double kappa = how.kappa / (1.0 + how.kappa * how.loose);
    ll_window_norm(u, n, kappa, m, s);
    if (how.still) *s = 1.0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(u[i])) sum += u[i], count += 1.0;
    const double left = kappa / (count + kappa) / (how.innovation ? 1.0 : *s);
    *start = how.loose * left * left;
    if (!(how.reach > 0.0 && count >= 5.0 && anchor_far_out(sum, count) > how.reach)) return;
    *start = (sum / count) * (sum / count);
    ll_window_norm(u, n, 0.0, m, s);
    if (how.still) *s = 1.0;
}

/* Moves the rows of x [its context] that are kept to its beginning, in their order; x may be the
 * times themselves copied, or anything that goes with them. */
static void keep_rows(const anchor_rows *r, span s, double *x)
{
    const double *u = r->u + s.first;
    const size_t  n_obs = s.now - s.first;
    size_t        age = 0, next = 0, k = 0; /* readings seen, the next that is kept, kept ones */
    if (s.dense == 0) return;
    /* newest first, into the end: no row goes to where another still waits */
    for (size_t j = n_obs; j-- > 0;) {
        if (isnan(u[j]) || age++ != next) continue;
        x[n_obs - ++k] = x[j];
        next = next_age(next, s.dense);
    }
    assert(k == s.n_obs);
    memmove(x, x + n_obs - k, k * sizeof *x);
}

/* Times of the context and of the queries: those of the series, or the ones that are kept. */
static void set_times(ll_anchor_window *w, const anchor_rows *r, span s, double **at)
{
    w->t = r->t + s.first;
    w->t_query = r->t + s.query;
    if (s.dense > 0) {
        double *t = take(at, s.now - s.first);
        memcpy(t, w->t, (s.now - s.first) * sizeof *t);
        keep_rows(r, s, t);
        w->t = t;
    }
    if (s.every > 1) {
        double *t = take(at, w->n_query);
        for (size_t j = 0; j < w->n_query; j++) t[j] = r->t[s.query + j * s.every];
        w->t_query = t;
    }
}

/* at: its part of the numbers; drop [rows of its context] is room. */
static void fill(anchor_batch *b, size_t i, const anchor_rows *r, span s, anchor_cut how,
                 double *at, bool *drop)
{
    const size_t n_obs = s.now - s.first, n_query = s.n_query;
    double      *w = take(&at, n_obs), *target = take(&at, n_query), scale, start;
    memcpy(w, r->u + s.first, n_obs * sizeof *w);
    if (r->chain->glitch != NULL) {
        ll_chain_mark(r->chain, r->series, r->y + s.first, n_obs, drop);
        for (size_t j = 0; j < n_obs; j++)
            if (drop[j]) w[j] = NAN;
    }
    how.loose = ll_chain_loose(r->chain, r->series);
    anchor_norm(how, w, n_obs, &b->m[i], &scale, &start); /* of all rows */
    b->s[i] = how.innovation ? 1.0 : scale;
    for (size_t j = 0; j < n_obs; j++) w[j] = (w[j] - b->m[i]) / b->s[i];
    for (size_t j = 0, q = s.query; j < n_query; j++, q += s.every)
        target[j] = isnan(r->z[q]) ? NAN : (r->target[q] - b->m[i]) / b->s[i];
    b->again[i] = r->target == r->u ? w : take(&at, n_obs);
    for (size_t j = 0; b->again[i] != w && j < n_obs; j++)
        b->again[i][j] = isnan(w[j]) ? NAN : (r->target[s.first + j] - b->m[i]) / b->s[i];
    keep_rows(r, s, w);
    if (b->again[i] != w) keep_rows(r, s, b->again[i]);
    b->window[i] = (ll_anchor_window){ .n_obs = s.n_obs,
                                       .y = w,
                                       .n_query = n_query,
                                       .target = target,
                                       .start = start,
                                       .scale = scale };
    set_times(&b->window[i], r, s, &at);
    b->query[i] = s.query;
    b->every[i] = s.every;
    b->in[i] = r->in;
    assert(!(scale <= 0.0) && i < b->n);
    b->mean[i] = take(&at, n_query);
    b->var[i] = take(&at, n_query);
}

ll_law anchor_batch_law(const anchor_batch *b, const ll_anchor_model *m, size_t series, size_t i,
                        size_t q)
{
    assert(i < b->n && q < b->window[i].n_query && series <= m->chain->n_series);
    const double t = b->window[i].t_query[q];
    return (ll_law){
        .mean = b->m[i] + b->s[i] * b->mean[i][q],
        .sd = anchor_sd(b->s[i], fmax(b->var[i][q], anchor_floor(m)),
                        ll_chain_doubt(m->chain, b->in[i], t)),
        .climate = ll_chain_mean(m->chain, series, b->in[i], t),
        .series = series,
    };
}

/* Where each window begins in the numbers, and in the rows of all contexts. */
typedef struct layout {
    span   *span;         /* [n] */
    size_t *number, *row; /* [n + 1]; owned through number */
} layout;

static llap_status lay_out(layout *l, anchor_cut how, const anchor_rows *rows, size_t n_series,
                           const ll_origin *origin, size_t n)
{
    *l = (layout){ .span = ll_new(n, sizeof *l->span),
                   .number = ll_new(2 * (n + 1), sizeof *l->number) };
    if (l->span == NULL || l->number == NULL) return LLAP_ENOMEM;
    l->row = l->number + n + 1;
    for (size_t i = 0; i < n; i++)
        if (origin[i].series >= n_series || !isfinite(origin[i].t))
            return ll_fail(LLAP_EINVAL, "anchor: origin %zu: series %zu of %zu, time %g", i,
                           origin[i].series, n_series, origin[i].t);
    for (size_t i = 0; i < n; i++) {
        l->span[i] = span_of(how, &rows[origin[i].series], origin[i].t);
        const size_t n_obs = l->span[i].now - l->span[i].first;
        l->number[i + 1] = l->number[i] + 3 * n_obs + 4 * l->span[i].n_query;
        l->row[i + 1] = l->row[i] + n_obs;
    }
    return LLAP_OK;
}

llap_status anchor_batch_init(anchor_batch *b, anchor_cut how, const anchor_rows *rows,
                              size_t n_series, const ll_origin *origin, size_t n)
{
    *b = (anchor_batch){ 0 };
    layout      l;
    bool       *drop = NULL;
    llap_status st = lay_out(&l, how, rows, n_series, origin, n);
    if (st == LLAP_OK) st = batch_arrays(b, n, l.number[n]);
    if (st == LLAP_OK) {
        drop = ll_new(l.row[n], sizeof *drop);
        if (drop == NULL) st = LLAP_ENOMEM;
    }
    if (st == LLAP_OK) {
#pragma omp parallel for schedule(static) if (l.row[n] >= WORTH_IT)
        for (size_t i = 0; i < n; i++)
            fill(b, i, &rows[origin[i].series], l.span[i], how, b->numbers + l.number[i],
                 drop + l.row[i]);
    }
    ll_free(drop);
    ll_free(l.span);
    ll_free(l.number);
    if (st != LLAP_OK) anchor_batch_deinit(b);
    return st;
}

llap_status anchor_note_check(const char *note, const char *what, const double *v, size_t n,
                              double low, double high)
{
    for (size_t i = 0; i < n; i++)
        if (!(v[i] >= low && v[i] <= high))
            return ll_fail(LLAP_EFORMAT, "note '%s': %s: expected %g..%g, found %g", note, what,
                           low, high, v[i]);
    return LLAP_OK;
}

llap_status anchor_note_calibration(const char *note, const ll_calibration *c, double near,
                                    double middle)
{
    llap_status st = anchor_note_check(note, "calibration.edge", &c->edge[0], 1, near, near);
    if (st == LLAP_OK)
        st = anchor_note_check(note, "calibration.edge", &c->edge[1], 1, middle, middle);
    return st != LLAP_OK ? st
                         : anchor_note_check(note, "calibration.factor", &c->factor[0][0],
                                             LL_CALIBRATION_BUCKETS * LL_CALIBRATION_LEVELS,
                                             LL_CALIBRATION_LEAST, LL_CALIBRATION_MOST);
}
