#include "train/stack/set.h"

#include "base/alloc.h"
#include "base/progress.h"
#include "base/rng/rng.h"
#include "base/sort.h"
#include "predict/view/frame.h"
#include "predict/view/target_series.h"
#include "train/stack/inputs.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void ll_stack_set_deinit(ll_stack_set *f)
{
    ll_stack_view_deinit(&f->view);
    ll_stack_destroy(f->stack);
    ll_free(f->raw);
    ll_free(f->x);
    ll_free(f->law);
    ll_free(f->y);
    ll_free(f->rows);
    *f = (ll_stack_set){ 0 };
}

/* ---- neighbours ---- */

/* Whom each entity looks at, by the training part. */
static void find_neighbours(ll_stack_set *f, const llap_model *m)
{
    const ll_stack_layout *l = &f->stack->layout;
    if (l->entities == 0) return;
    double       first = INFINITY;
    const double end = ll_model_time(m, m->frame.val_start);
    for (int64_t i = 0; i < f->view.n_series; i++)
        if (f->view.series[i].n > 0) first = fmin(first, f->view.series[i].t[0]);
    const double every = fmax(5 * l->step, (end - first) / 4000);
    const double ahead = fmin(l->horizon / 2, 12 * l->step);
    for (int64_t c = 0; c < l->targets && isfinite(first); c++)
        ll_stack_neighbours(l, &f->view.source, c, first, end, every, fmax(ahead, l->step),
                            f->stack->neighbour + c * l->entities * LL_STACK_NEIGHBOURS);
}

/* ---- rows ---- */

typedef struct pick { /* a row: which reading from which window */
    int64_t window, row;
    int64_t target;
} pick;

/* Windows that may be learnt from: all their readings before the test part, or of entities that
 * are not left for it. */
static llap_status make_windows(const llap_model *m, const llap_panel *p, const int64_t *var,
                                ll_windows **out)
{
    const ll_model_frame *f = &m->frame;
    const ll_window_opts  o = { .context_ns = f->context,
                                .horizon_ns = f->horizon,
                                .pad = true,
                                .target = var,
                                .n_targets = f->n_targets };
    llap_status           st = f->by_entity ? ll_windows_create(p, &o, out)
                                            : ll_frame_windows(f, p, var, f->n_targets, out);
    if (st != LLAP_OK) return st;
    ll_windows *w = *out;
    uint8_t    *keep = ll_new((size_t)w->n + 1, sizeof *keep);
    for (int64_t i = 0; keep != NULL && i < w->n; i++) {
        const ll_window *v = &w->at[i];
        const double age = (double)ll_elapsed(p->time[p->start[v->entity]], ll_window_end(w, v)) /
                           (double)f->context;
        keep[i] = f->by_entity ? f->part[v->entity] <= LL_PART_VAL && age >= 0.45 && age <= 1.55
                               : p->time[ll_window_last(v)] < f->test_start;
    }
    if (keep != NULL) ll_windows_keep(w, keep);
    else st = LLAP_ENOMEM;
    ll_free(keep);
    return st;
}

/* Observed cells of each target up to each row of the panel: [targets,n_rows + 1]. */
static int64_t *count_cells(const llap_panel *p, const int64_t *var, int64_t C)
{
    int64_t *sum = ll_new((size_t)C, (size_t)(p->n_rows + 1) * sizeof *sum);
    for (int64_t c = 0; sum != NULL && c < C; c++)
        for (int64_t r = 0; r < p->n_rows; r++)
            sum[c * (p->n_rows + 1) + r + 1] =
                sum[c * (p->n_rows + 1) + r] + ll_panel_observed(p, r, var[c]);
    return sum;
}

/* Numbers, in order, of the rows that are taken of so many. Caller owns *out. */
static llap_status draw_numbers(int64_t all, int64_t most, uint64_t seed, int64_t **out, int64_t *n)
{
    *n = all < most ? all : most;
    *out = ll_new((size_t)*n + 1, sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    const ll_rng r = ll_rng_make(seed, LL_STREAM_FIT, 0x737461636bu, 0, 0);
    for (int64_t i = 0; i < *n; i++)
        (*out)[i] = all <= most ? i : (int64_t)ll_rng_below(&r, (uint64_t)i, (uint64_t)all);
    ll_sort_ints(*out, (size_t)*n);
    return LLAP_OK;
}

/* Readings of all windows and targets, `most` of them drawn. Caller owns *out. */
static llap_status draw_rows(const ll_windows *w, const int64_t *var, int64_t C, uint64_t seed,
                             int64_t most, pick **out, int64_t *n)
{
    const llap_panel *p = w->panel;
    int64_t           all = 0, at = 0, *number = NULL, *sum = count_cells(p, var, C);
    if (sum == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < w->n; i++)
        for (int64_t c = 0; c < C; c++) {
            const int64_t *s = sum + c * (p->n_rows + 1);
            all += s[ll_window_last(&w->at[i]) + 1] - s[ll_window_query(&w->at[i])];
        }
    llap_status st = draw_numbers(all, most, seed, &number, n);
    *out = st == LLAP_OK ? ll_new((size_t)*n + 1, sizeof **out) : NULL;
    if (st == LLAP_OK && *out == NULL) st = LLAP_ENOMEM;
    all = 0;
    for (int64_t i = 0; i < w->n && st == LLAP_OK; i++)
        for (int64_t c = 0; c < C; c++) {
            const int64_t *s = sum + c * (p->n_rows + 1);
            int64_t        row = ll_window_query(&w->at[i]);
            const int64_t  first = s[row], end = s[ll_window_last(&w->at[i]) + 1];
            for (; at < *n && number[at] < all + end - first; at++) {
                while (s[row + 1] - first <= number[at] - all) row++;
                (*out)[at] = (pick){ .window = i, .row = row, .target = c };
            }
            all += end - first;
        }
    assert(st != LLAP_OK || at == *n);
    ll_free(number);
    ll_free(sum);
    return st;
}

/* ---- laws and columns ---- */

enum { LAWS_AT_ONCE = 2048 };

/* The anchor's laws of all rows. */
static llap_status ask_anchor(ll_stack_set *f, const llap_model *m, const ll_windows *w,
                              const pick *k, const ll_stack_set_opts *o)
{
    ll_target_series   s = { 0 };
    double            *t = ll_new((size_t)f->n + 1, sizeof *t);
    ll_anchor_request *r = ll_new(LAWS_AT_ONCE, sizeof *r);
    llap_status        st = t == NULL || r == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) st = ll_target_series_init(&s, m, w->panel, o->var, LL_SERIES_READINGS);
    for (int64_t c = 0; c < m->frame.n_targets && st == LLAP_OK; c++) {
        size_t n = 0;
        for (int64_t i = 0; i < f->n && st == LLAP_OK; i++) {
            if (k[i].target == c) {
                const ll_window *v = &w->at[k[i].window];
                t[i] = ll_model_time(m, w->panel->time[k[i].row]);
                r[n++] = (ll_anchor_request){ .history = s.target[c].series[v->entity],
                                              .series = s.known[v->entity],
                                              .origin = ll_model_time(m, ll_window_end(w, v)),
                                              .n_query = 1,
                                              .t_query = &t[i],
                                              .law = &f->law[i],
                                              .all = s.all[c] };
            }
            if (n == LAWS_AT_ONCE || (i == f->n - 1 && n > 0)) {
                st = ll_anchor_model_forecast(m->anchor[c], r, n);
                n = 0;
                if (st == LLAP_OK)
                    st = ll_report(o->progress, &(llap_progress_event){ "stack rows", i + 1, f->n,
                                                                        "rows", NULL });
            }
        }
    }
    ll_target_series_deinit(&s);
    ll_free(t);
    ll_free(r);
    return st;
}

double ll_stack_set_score(const void *set, int64_t i, double value)
{
    const ll_stack_set *f = set;
    return ll_stack_value_score(f->view.m, f->stack, f->raw[i].query.target, &f->law[i], value);
}

static void fill_rows(ll_stack_set *f, const llap_model *m, const ll_windows *w, const pick *k,
                      const int64_t *var)
{
    const llap_panel *p = w->panel;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < f->n; i++) {
        const ll_window     *v = &w->at[k[i].window];
        const int64_t        c = k[i].target;
        const double         y = (double)p->value[k[i].row * p->n_vars + var[c]];
        const ll_stack_query q =
            ll_stack_view_query(&f->view, c, v->entity, ll_model_time(m, ll_window_end(w, v)),
                                ll_model_time(m, p->time[k[i].row]), &f->law[i]);
        f->raw[i].x = f->x + i * f->view.columns;
        ll_stack_look(&f->stack->layout, &f->view.source, &q, &f->raw[i]);
        f->y[i] = ll_stack_value(m, f->stack, c, f->law[i].series, y);
        f->z[i] = fmin(fmax(ll_stack_set_score(f, i, f->y[i]), -LL_STACK_CLIP), LL_STACK_CLIP);
    }
}

/* ---- folds ---- */

int ll_stack_fold_of(const ll_stack_folds *f, const char *entity, double origin)
{
    const ll_rng r = ll_rng_make(f->seed, LL_STREAM_FIT, ll_hash(0, entity, strlen(entity)), 0, 1);
    int          k = 0;
    if (f->by_entity) return (int)ll_rng_below(&r, 0, LL_STACK_FOLDS);
    while (k < LL_STACK_FOLDS - 1 && origin >= f->edge[k + 1]) k++;
    return k;
}

/* Where blocks of origins begin. */
static llap_status find_edges(ll_stack_set *f)
{
    double *o = ll_new((size_t)f->n + 1, sizeof *o), *edge = f->folds.edge;
    if (o == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < f->n; i++) o[i] = f->raw[i].query.origin;
    ll_sort_doubles(o, (size_t)f->n);
    edge[0] = -INFINITY;
    edge[LL_STACK_FOLDS] = INFINITY;
    for (int64_t k = 1; k < LL_STACK_FOLDS; k++) edge[k] = o[k * f->n / LL_STACK_FOLDS];
    ll_free(o);
    return LLAP_OK;
}

static llap_status make_folds(ll_stack_set *f, const llap_panel *p)
{
    const double *edge = f->folds.edge;
    uint8_t      *fold = ll_new((size_t)f->n + 1, sizeof *fold);
    llap_status   st = fold == NULL ? LLAP_ENOMEM : LLAP_OK;
    f->rows = ll_new(2 * LL_STACK_FOLDS, (size_t)(f->n + 1) * sizeof *f->rows);
    if (f->rows == NULL) st = LLAP_ENOMEM;
    if (st == LLAP_OK) st = find_edges(f);
    for (int64_t i = 0; i < f->n && st == LLAP_OK; i++) {
        const ll_stack_query *q = &f->raw[i].query;
        fold[i] = (uint8_t)ll_stack_fold_of(&f->folds, p->entity[q->entity], q->origin);
    }
    for (int k = 0; k < LL_STACK_FOLDS && st == LLAP_OK; k++) {
        int32_t *learn = f->rows + 2 * k * f->n, *held = learn + f->n;
        int64_t  n_learn = 0, n_held = 0;
        for (int64_t i = 0; i < f->n; i++) {
            const ll_stack_query *q = &f->raw[i].query;
            /* No answer of the block is about a time that was learnt from. */
            const bool apart = f->folds.by_entity || q->t < edge[k] ||
                               q->origin >= edge[k + 1] + f->stack->layout.horizon;
            if (fold[i] == k) held[n_held++] = (int32_t)i;
            else if (apart) learn[n_learn++] = (int32_t)i;
        }
        f->fold[k] = (ll_stack_fold){ n_learn, n_held, learn, held };
    }
    ll_free(fold);
    return st;
}

bool ll_stack_set_enough(const ll_stack_set *f)
{
    enum { LEARN = 200, HELD = 50 };
    for (int k = 0; k < LL_STACK_FOLDS; k++)
        if (f->fold[k].n_learn < LEARN || f->fold[k].n_held < HELD) return false;
    return true;
}

llap_status ll_stack_set_init(ll_stack_set *f, const llap_model *m, const llap_panel *p,
                              const ll_stack_set_opts *o)
{
    ll_windows *w = NULL;
    pick       *k = NULL;
    *f = (ll_stack_set){ 0 };
    llap_status st = ll_stack_inputs(m, p, o->var, &o->look, &f->stack);
    if (st == LLAP_OK) st = ll_stack_view_init(&f->view, m, f->stack, p);
    if (st == LLAP_OK) find_neighbours(f, m);
    if (st == LLAP_OK) st = make_windows(m, p, o->var, &w);
    if (st == LLAP_OK) st = draw_rows(w, o->var, m->frame.n_targets, o->seed, o->rows, &k, &f->n);
    if (st == LLAP_OK) {
        const size_t n = (size_t)f->n + 1;
        f->raw = ll_new(n, sizeof *f->raw);
        f->x = ll_new(n, (size_t)f->view.columns * sizeof *f->x);
        f->law = ll_new(n, sizeof *f->law);
        f->y = ll_new(n, 2 * sizeof *f->y);
        f->z = f->y == NULL ? NULL : f->y + n;
        if (f->raw == NULL || f->x == NULL || f->law == NULL || f->y == NULL) st = LLAP_ENOMEM;
    }
    if (st == LLAP_OK) st = ask_anchor(f, m, w, k, o);
    if (st == LLAP_OK) fill_rows(f, m, w, k, o->var);
    f->folds = (ll_stack_folds){ .by_entity = m->frame.by_entity, .seed = o->seed };
    if (st == LLAP_OK) st = make_folds(f, p);
    ll_windows_destroy(w);
    ll_free(k);
    return st;
}
