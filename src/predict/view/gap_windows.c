#include "predict/view/gap_windows.h"

#include "base/alloc.h"
#include "base/bisect.h"

#include <assert.h>
#include <stdlib.h>

enum { QUERIES_MAX = 512 };

typedef struct ground {
    const llap_model          *m;
    const llap_panel          *p;
    const uint8_t             *asked;
    const ll_gap_windows_opts *o;
    int64_t                    C;
} ground;

/* ---- series ---- */

typedef struct moment {
    int64_t time;
    uint8_t asked;
} moment;

static int by_time(const void *a, const void *b)
{
    const moment *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

/* Rows of entities first .. last - 1, targets c .. c_end - 1. */
static llap_status series_init(const ground *g, ll_gap_series *l, int64_t first, int64_t last,
                               int64_t c, int64_t c_end)
{
    const llap_panel *p = g->p;
    const int64_t     begin = p->start[first], n = p->start[last] - begin;
    moment           *at = ll_new((size_t)n, sizeof *at);
    l->time = ll_new((size_t)n, sizeof *l->time);
    l->asked = ll_new((size_t)n, sizeof *l->asked);
    const llap_status st =
        at == NULL || l->time == NULL || l->asked == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        at[i] = (moment){ .time = p->time[begin + i] };
        for (int64_t k = c; k < c_end; k++) at[i].asked |= g->asked[(begin + i) * g->C + k];
    }
    if (st == LLAP_OK && last - first > 1) qsort(at, (size_t)n, sizeof *at, by_time);
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        if (l->n == 0 || l->time[l->n - 1] != at[i].time) {
            assert(l->n == 0 || l->time[l->n - 1] < at[i].time);
            l->time[l->n] = at[i].time;
            l->asked[l->n++] = 0;
        }
        l->asked[l->n - 1] |= at[i].asked;
    }
    ll_free(at);
    return st;
}

static llap_status make_series(ll_gap_windows *s, const ground *g)
{
    const int64_t E = g->p->n_entities, each = g->o->grouping == LL_GAPS_BY_SERIES ? g->C : 1;
    llap_status   st = LLAP_OK;
    s->n_series = g->o->grouping == LL_GAPS_TOGETHER ? 1 : E * each;
    s->series = ll_new((size_t)s->n_series, sizeof *s->series);
    if (s->series == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < s->n_series && st == LLAP_OK; i++) {
        const int64_t e = i / each, c = i % each;
        s->series[i] = (ll_gap_series){ .entity = g->o->grouping == LL_GAPS_TOGETHER ? -1 : e,
                                        .target = g->o->grouping == LL_GAPS_BY_SERIES ? c : -1 };
        if (g->o->grouping == LL_GAPS_TOGETHER) st = series_init(g, &s->series[i], 0, E, 0, g->C);
        else if (each == 1) st = series_init(g, &s->series[i], e, e + 1, 0, g->C);
        else st = series_init(g, &s->series[i], e, e + 1, c, c + 1);
    }
    return st;
}

/* ---- windows ---- */

/* The first time of the series after t. */
static int64_t after(const ll_gap_series *l, int64_t t)
{
    return ll_first_after(l->time, 0, l->n, t);
}

/* The window that answers time number i of the series first. */
static ll_gap_window lay(const ll_gap_windows *all, const ground *g, int64_t which, int64_t i)
{
    const ll_gap_series *l = &all->series[which];
    const int64_t        L = g->m->frame.horizon, now = l->time[i];
    const bool           both = g->o->from == LL_ANCHOR_BOTH;
    const int64_t        before = both ? after(l, now - L / 4) - 1 : i - 1;
    ll_gap_window        s = { .series = which, .from = i, .to = i + 1, .first = i, .end = i + 1 };
    s.origin = before >= 0 && before < i ? l->time[before] : now - g->m->frame.step;
    if (now - s.origin > L) s.origin = now - g->m->frame.step;
    if (!both) return s;
    s.first = after(l, s.origin);
    s.end = after(l, s.origin + L);
    s.to = after(l, s.origin + L / 4 * 3);
    if (s.to <= i) s.to = i + 1;
    if (s.end - s.first > QUERIES_MAX) s.end = s.first + QUERIES_MAX;
    if (i >= s.end) { /* many rows before it: this one first */
        assert(i > 0);
        s.origin = l->time[i - 1];
        s.first = i;
        s.end = after(l, s.origin + L) < i + QUERIES_MAX ? after(l, s.origin + L) : i + QUERIES_MAX;
        if (s.end <= i) s.end = i + 1;
    }
    if (s.to > s.end) s.to = s.end;
    assert(s.first <= i && i < s.to && s.to <= s.end);
    return s;
}

static llap_status make_windows(ll_gap_windows *s, const ground *g)
{
    for (int64_t k = 0; k < s->n_series; k++)
        for (int64_t i = 0; i < s->series[k].n;) {
            if (!s->series[k].asked[i]) {
                i++;
                continue;
            }
            if (s->n == s->room) {
                const size_t   more = s->room == 0 ? 256 : 2 * s->room;
                ll_gap_window *grown = ll_grow(s->window, more, sizeof *grown);
                if (grown == NULL) return LLAP_ENOMEM;
                s->window = grown;
                s->room = more;
            }
            s->window[s->n] = lay(s, g, k, i);
            i = s->window[s->n++].to;
        }
    const size_t most = g->o->most;
    s->n_all = s->n;
    for (size_t i = 0; most > 0 && most < s->n && i < most; i++)
        s->window[i] = s->window[(size_t)((double)i * (double)s->n / (double)most)];
    if (most > 0 && most < s->n) s->n = most;
    for (size_t i = 0; i < s->n; i++)
        if (s->window[i].end - s->window[i].first > s->longest)
            s->longest = s->window[i].end - s->window[i].first;
    return LLAP_OK;
}

llap_status ll_gap_windows_init(ll_gap_windows *s, const llap_model *m, const llap_panel *p,
                                const uint8_t *asked, const ll_gap_windows_opts *o)
{
    const ground g = { m, p, asked, o, m->frame.n_targets };
    *s = (ll_gap_windows){ 0 };
    llap_status st = make_series(s, &g);
    if (st == LLAP_OK) st = make_windows(s, &g);
    if (st != LLAP_OK) ll_gap_windows_deinit(s);
    return st;
}

void ll_gap_windows_deinit(ll_gap_windows *s)
{
    for (int64_t i = 0; s->series != NULL && i < s->n_series; i++) {
        ll_free(s->series[i].time);
        ll_free(s->series[i].asked);
    }
    ll_free(s->series);
    ll_free(s->window);
    *s = (ll_gap_windows){ 0 };
}
