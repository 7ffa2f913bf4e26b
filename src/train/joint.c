/* The joint law of a model: forecasts of all series from common origins, what they are wrong by at
 * common times, and the correlations of that. */
#include "train/joint.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/sort.h"
#include "predict/view/frame.h"
#include "predict/view/known_series.h"
#include "predict/view/series.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    WINDOWS = 16384, /* forecasts of a target, about so many */
    ORIGINS = 1024,
    FEWEST = 96, /* origins, most and least; linked series: */
    LINKED = 60,
    FEWEST_LINKED = 16,
    BINS = 32,    /* times of a forecast, at most */
    AT_ONCE = 128 /* forecasts that are asked for together */
};

/* Forecasts are cut into bins of a step of the frame; every thin-th is looked at. Column
 * (origin number) * n_bins + bin of the residuals belongs to one origin and bin. */
typedef struct look {
    llap_model       *m;
    const llap_panel *p;
    int64_t          *origin; /* [n] ticks */
    int64_t          *entity; /* [n] where entities are independent: whose; else NULL, all */
    int64_t           n, n_bins, thin;
    float            *residual; /* [series,n n_bins] */
} look;

static size_t n_columns(const look *l) { return (size_t)(l->n * l->n_bins); }

static void look_deinit(look *l)
{
    ll_free(l->origin);
    ll_free(l->entity);
    ll_free(l->residual);
}

/* ---- where forecasts are made ---- */

static int64_t origins_wanted(const llap_model *m)
{
    const int64_t n = m->frame.n_entities;
    bool          linked = false;
    for (int64_t c = 0; c < m->frame.n_targets; c++) linked |= m->anchor[c]->link.rank > 0;
    if (m->frame.by_entity) return ORIGINS;
    if (linked) { /* the cost of each grows with the cube of the series */
        const int64_t most = LINKED * 12 * 12 * 12 / (n * n * n);
        return most > LINKED ? LINKED : most < FEWEST_LINKED ? FEWEST_LINKED : most;
    }
    const int64_t most = WINDOWS / n;
    return most > ORIGINS ? ORIGINS : most < FEWEST ? FEWEST : most;
}

static bool is_seen(const ll_split *s, int64_t i)
{
    return s->part[i] == LL_PART_TRAIN || s->part[i] == LL_PART_VAL;
}

/* Evenly spread ones of the windows seen (independent entities), or of their different times. */
static llap_status pick_origins(look *l, const ll_windows *w, const ll_split *s)
{
    const bool apart = l->m->frame.by_entity;
    int64_t    n = 0, kept = 0;
    for (int64_t i = 0; i < w->n; i++) n += is_seen(s, i);
    int64_t *at = ll_new((size_t)n, sizeof *at), *of = ll_new((size_t)n, sizeof *of);
    l->origin = at;
    l->entity = of;
    if (at == NULL || of == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < w->n; i++) {
        if (!is_seen(s, i)) continue;
        of[kept] = w->at[i].entity;
        at[kept++] = ll_window_end(w, &w->at[i]);
    }
    if (!apart) {
        ll_free(of);
        l->entity = NULL;
        ll_sort_ints(at, (size_t)n);
        kept = 0;
        for (int64_t i = 0; i < n; i++)
            if (kept == 0 || at[i] > at[kept - 1]) at[kept++] = at[i];
    }
    const int64_t most = origins_wanted(l->m);
    l->n = kept < most ? kept : most;
    for (int64_t i = 0; i < l->n; i++) {
        at[i] = at[i * kept / l->n];
        if (apart) of[i] = of[i * kept / l->n];
    }
    return LLAP_OK;
}

static int64_t bin_of(const look *l, int64_t time)
{
    const int64_t step = l->m->frame.step;
    return time / step - (time % step < 0);
}

static llap_status look_init(look *l, llap_model *m, const llap_panel *p, const int64_t *var)
{
    const ll_model_frame *f = &m->frame;
    const int64_t         bins = (f->horizon + f->step - 1) / f->step + 1; /* one may be cut */
    ll_windows           *w = NULL;
    ll_split             *s = NULL;
    *l = (look){ .m = m, .p = p, .thin = (bins + BINS - 1) / BINS };
    l->n_bins = (bins + l->thin - 1) / l->thin;
    llap_status st = ll_frame_windows(f, p, var, f->n_targets, &w);
    if (st == LLAP_OK) st = ll_frame_split(f, w, &s);
    if (st == LLAP_OK) st = pick_origins(l, w, s);
    if (st == LLAP_OK) {
        const size_t all = ll_model_joint_series(f) * n_columns(l);
        l->residual = ll_new(all, sizeof *l->residual);
        if (l->residual == NULL) st = LLAP_ENOMEM;
        for (size_t i = 0; st == LLAP_OK && i < all; i++) l->residual[i] = NAN;
    }
    ll_split_destroy(s);
    ll_windows_destroy(w);
    return st;
}

/* ---- what they are wrong by ---- */

/* A target: series, what was read in u without glitches, and room for some forecasts. */
typedef struct target {
    int64_t           number;
    ll_panel_series   s;
    ll_series        *all;
    double           *u;   /* [n_rows] */
    double           *t;   /* [AT_ONCE,n_bins] queries, */
    int64_t          *row; /* their rows of the panel */
    ll_law           *law;
    ll_anchor_request r[AT_ONCE];
    int64_t           column[AT_ONCE], series[AT_ONCE];
    size_t            n;
} target;

static void target_destroy(target *x)
{
    if (x == NULL) return;
    ll_panel_series_deinit(&x->s);
    ll_free(x->all);
    ll_free(x->u);
    ll_free(x->t);
    ll_free(x->row);
    ll_free(x->law);
    ll_free(x);
}

static llap_status read_target(const look *l, int64_t c, int64_t var, target *x)
{
    const llap_panel *p = l->p;
    const ll_chain   *chain = l->m->anchor[c]->chain;
    const size_t      room = AT_ONCE * (size_t)l->n_bins;
    bool             *drop = ll_new((size_t)p->n_rows, sizeof *drop);
    x->number = c;
    x->u = ll_new((size_t)p->n_rows, sizeof *x->u);
    x->t = ll_new(room, sizeof *x->t);
    x->row = ll_new(room, sizeof *x->row);
    x->law = ll_new(room, sizeof *x->law);
    llap_status st =
        drop == NULL || x->u == NULL || x->t == NULL || x->row == NULL || x->law == NULL
            ? LLAP_ENOMEM
            : ll_panel_series_init(&x->s, p, var, l->m->frame.unit);
    if (st == LLAP_OK) st = ll_known_series(&x->s, l->m, c, p);
    if (st == LLAP_OK) st = ll_linked_series(l->m, c, p, &x->s, &x->all);
    for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++) {
        const ll_series *s = &x->s.series[e];
        double          *u = x->u + p->start[e];
        ll_chain_convert(chain, (size_t)e, s, NULL, u);
        ll_chain_mark(chain, (size_t)e, s->y, s->n, drop);
        for (size_t i = 0; i < s->n; i++)
            if (drop[i]) u[i] = NAN;
    }
    ll_free(drop);
    return st;
}

/* Asks for what has been gathered and keeps the residuals. */
static llap_status answer(look *l, target *x)
{
    const ll_anchor_model *a = l->m->anchor[x->number];
    const llap_status      st = ll_anchor_model_forecast(a, x->r, x->n);
    for (size_t i = 0; st == LLAP_OK && i < x->n; i++) {
        const int64_t first = bin_of(l, l->origin[x->column[i] / l->n_bins]);
        float        *to = l->residual + (size_t)x->series[i] * n_columns(l) + x->column[i];
        for (size_t q = 0; q < x->r[i].n_query; q++) {
            const int64_t row = x->row[i * (size_t)l->n_bins + q];
            const ll_law *law = &x->r[i].law[q];
            to[(bin_of(l, l->p->time[row]) - first) / l->thin] =
                ll_joint_clip((x->u[row] - law->mean) / law->sd);
        }
    }
    x->n = 0;
    return st;
}

/* A forecast of entity e from origin number i about its readings: the first of each bin. */
static llap_status ask(look *l, target *x, int64_t i, int64_t e)
{
    const llap_panel     *p = l->p;
    const ll_model_frame *f = &l->m->frame;
    const int64_t         origin = l->origin[i], first = bin_of(l, origin);
    const int64_t         C = f->n_targets, now = ll_panel_row_after(p, e, origin);
    const size_t          at = x->n * (size_t)l->n_bins;
    int64_t               last = -1, n = 0;
    if (now == p->start[e] || ll_elapsed(p->time[now - 1], origin) >= (uint64_t)f->context)
        return LLAP_OK; /* nothing to forecast from */
    for (int64_t row = now; row < p->start[e + 1]; row++) {
        if (ll_elapsed(origin, p->time[row]) > (uint64_t)f->horizon) break;
        if (!f->by_entity && p->time[row] >= f->test_start) break; /* not to be seen */
        const int64_t bin = bin_of(l, p->time[row]) - first;
        if (bin % l->thin != 0 || bin == last || isnan(x->u[row])) continue;
        last = bin;
        x->t[at + (size_t)n] = ll_model_time(l->m, p->time[row]);
        x->row[at + (size_t)n++] = row;
    }
    if (n == 0) return LLAP_OK;
    assert(n <= l->n_bins);
    x->column[x->n] = i * l->n_bins;
    x->series[x->n] = l->entity != NULL ? x->number : e * C + x->number;
    x->r[x->n++] = (ll_anchor_request){ .history = x->s.series[e],
                                        .series = (size_t)e,
                                        .origin = ll_model_time(l->m, origin),
                                        .n_query = (size_t)n,
                                        .t_query = x->t + at,
                                        .law = x->law + at,
                                        .all = x->all };
    return x->n < AT_ONCE ? LLAP_OK : answer(l, x);
}

static llap_status measure(look *l, int64_t c, int64_t var)
{
    target     *x = ll_new(1, sizeof *x);
    llap_status st = x == NULL ? LLAP_ENOMEM : read_target(l, c, var, x);
    for (int64_t i = 0; st == LLAP_OK && i < l->n; i++) {
        if (l->entity != NULL) st = ask(l, x, i, l->entity[i]);
        for (int64_t e = 0; st == LLAP_OK && l->entity == NULL && e < l->p->n_entities; e++)
            st = ask(l, x, i, e);
    }
    if (st == LLAP_OK && x->n > 0) st = answer(l, x);
    target_destroy(x);
    return st;
}

/* ---- fading ---- */

enum { GRID = 64 }; /* readings, and queries, of a usual window */

/* How scores are made of normals in a usual window of a target: K [GRID,GRID], row q has what score
 * q is made of. */
static llap_status usual(const llap_model *m, int64_t c, double *K)
{
    const ll_anchor_model *a = m->anchor[c];
    double                 t[GRID], y[GRID] = { 0 }, tq[GRID], one[GRID * GRID] = { 0 };
    double                 scores[GRID * GRID];
    ll_anchor_posterior   *post = NULL;
    const double           step = a->spec.horizon / GRID;
    for (int i = 0; i < GRID; i++) {
        t[i] = (i + 1 - GRID) * a->spec.context / GRID;
        tq[i] = (i + 1) * step;
        one[i * GRID + i] = 1.0;
    }
    const ll_anchor_window w = { .n_obs = GRID, .t = t, .y = y, .n_query = GRID, .t_query = tq };
    llap_status            st = ll_anchor_condition(&a->kernel, &w, &post);
    if (st == LLAP_OK) st = ll_anchor_innovate(post, GRID, one, scores);
    for (int q = 0; st == LLAP_OK && q < GRID; q++)
        for (int i = 0; i < GRID; i++) K[q * GRID + i] = scores[i * GRID + q];
    ll_anchor_posterior_destroy(post);
    return st;
}

/* What two targets keep of a correlation of their normals, on average over the horizon: [C,C]. */
static llap_status fade_targets(const llap_model *m, double *fade)
{
    const int64_t C = m->frame.n_targets;
    const double  least = 0.25;
    double       *K = ll_new((size_t)C, GRID * GRID * sizeof *K);
    llap_status   st = K == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t c = 0; st == LLAP_OK && c < C; c++) st = usual(m, c, K + c * GRID * GRID);
    for (int64_t c = 0; st == LLAP_OK && c < C; c++)
        for (int64_t d = 0; d < C; d++) {
            double sum = 0.0;
            for (int64_t i = 0; i < GRID * GRID; i++)
                sum += K[c * GRID * GRID + i] * K[d * GRID * GRID + i];
            fade[c * C + d] = c == d ? 1.0 : fmax(least, fmin(sum / GRID, 1.0));
        }
    ll_free(K);
    return st;
}

/* The same of all series, [n,n]; *out NULL: one target fades nothing. */
static llap_status fade_series(const llap_model *m, size_t n, double **out)
{
    const size_t C = (size_t)m->frame.n_targets;
    *out = NULL;
    if (C == 1) return LLAP_OK;
    double *of = ll_new(C, C * sizeof *of);
    *out = ll_new(n, n * sizeof **out);
    llap_status st = of == NULL || *out == NULL ? LLAP_ENOMEM : fade_targets(m, of);
    for (size_t i = 0; st == LLAP_OK && i < n; i++)
        for (size_t k = 0; k < n; k++) (*out)[i * n + k] = of[i % C * C + k % C];
    ll_free(of);
    return st;
}

/* ---- the law ---- */

static void say(const llap_log *log, const ll_joint *j, size_t n, size_t most_series)
{
    double sum = 0.0, most = 0.0;
    if (n > most_series)
        ll_logf(log, LLAP_LOG_WARNING,
                "more than %zu series: paths of different ones are drawn independently",
                most_series);
    if (j == NULL) return;
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            const double c = ll_joint_correlation(j, i, k);
            sum += c;
            if (fabs(c) > fabs(most)) most = c;
        }
    ll_logf(log, LLAP_LOG_INFO,
            "joint law of %zu series: correlation of forecast errors %.2f on average, %.2f at most",
            n, sum / (0.5 * (double)n * (double)(n - 1)), most);
}

llap_status ll_train_joint(llap_model *m, const llap_panel *p, const int64_t *var,
                           const llap_log *log)
{
    const size_t n = ll_model_joint_series(&m->frame);
    look         l = { 0 };
    double      *fade = NULL;
    assert(m->joint == NULL && m->anchor != NULL);
    const size_t most = m->frame.by_entity ? LL_JOINT_DENSE : LL_JOINT_MAX;
    if (n < 2 || n > most) {
        say(log, NULL, n, most);
        return LLAP_OK;
    }
    llap_status st = look_init(&l, m, p, var);
    for (int64_t c = 0; st == LLAP_OK && c < m->frame.n_targets; c++) st = measure(&l, c, var[c]);
    if (st == LLAP_OK) st = fade_series(m, n, &fade);
    if (st == LLAP_OK) st = ll_joint_fit(l.residual, n_columns(&l), n, fade, &m->joint);
    if (st == LLAP_OK) say(log, m->joint, n, most);
    ll_free(fade);
    look_deinit(&l);
    return st;
}
