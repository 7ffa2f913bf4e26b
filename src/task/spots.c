#include "task/spots.h"

#include "base/alloc.h"

#include <stdlib.h>

enum { QUERIES_MAX = 512 };

typedef struct ground {
    const llap_model      *m;
    const llap_panel      *p;
    const uint8_t         *asked;
    const task_spots_opts *o;
    int64_t                C;
} ground;

/* ---- lanes ---- */

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
static llap_status lane_init(const ground *g, task_lane *l, int64_t first, int64_t last, int64_t c,
                             int64_t c_end)
{
    const llap_panel *p = g->p;
    const int64_t     begin = p->start[first], n = p->start[last] - begin;
    moment           *at = llap_new((size_t)n, sizeof *at);
    l->time = llap_new((size_t)n, sizeof *l->time);
    l->asked = llap_new((size_t)n, sizeof *l->asked);
    const llap_status st =
        at == NULL || l->time == NULL || l->asked == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        at[i] = (moment){ .time = p->time[begin + i] };
        for (int64_t k = c; k < c_end; k++) at[i].asked |= g->asked[(begin + i) * g->C + k];
    }
    if (st == LLAP_OK && last - first > 1) qsort(at, (size_t)n, sizeof *at, by_time);
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        if (l->n == 0 || l->time[l->n - 1] != at[i].time) {
            l->time[l->n] = at[i].time;
            l->asked[l->n++] = 0;
        }
        l->asked[l->n - 1] |= at[i].asked;
    }
    llap_free(at);
    return st;
}

static llap_status make_lanes(task_spots *s, const ground *g)
{
    const int64_t E = g->p->n_entities, each = g->o->lanes == TASK_LANE_SERIES ? g->C : 1;
    llap_status   st = LLAP_OK;
    s->n_lanes = g->o->lanes == TASK_LANE_ALL ? 1 : E * each;
    s->lane = llap_new((size_t)s->n_lanes, sizeof *s->lane);
    if (s->lane == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < s->n_lanes && st == LLAP_OK; i++) {
        const int64_t e = i / each, c = i % each;
        s->lane[i] = (task_lane){ .entity = g->o->lanes == TASK_LANE_ALL ? -1 : e,
                                  .target = g->o->lanes == TASK_LANE_SERIES ? c : -1 };
        if (g->o->lanes == TASK_LANE_ALL) st = lane_init(g, &s->lane[i], 0, E, 0, g->C);
        else if (each == 1) st = lane_init(g, &s->lane[i], e, e + 1, 0, g->C);
        else st = lane_init(g, &s->lane[i], e, e + 1, c, c + 1);
    }
    return st;
}

/* ---- windows ---- */

/* The first time of the lane after t. */
static int64_t after(const task_lane *l, int64_t t)
{
    int64_t low = 0, high = l->n;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (l->time[mid] <= t) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* The window that answers time number i of the lane first. */
static task_spot lay(const task_spots *all, const ground *g, int64_t which, int64_t i)
{
    const task_lane *l = &all->lane[which];
    const int64_t    L = g->m->frame.horizon, now = l->time[i];
    const bool       both = g->o->from == LLAP_ANCHOR_BOTH;
    const int64_t    before = both ? after(l, now - L / 4) - 1 : i - 1;
    task_spot        s = { .lane = which, .from = i, .to = i + 1, .first = i, .end = i + 1 };
    s.origin = before >= 0 && before < i ? l->time[before] : now - g->m->frame.step;
    if (now - s.origin > L) s.origin = now - g->m->frame.step;
    if (!both) return s;
    s.first = after(l, s.origin);
    s.end = after(l, s.origin + L);
    s.to = after(l, s.origin + L / 4 * 3);
    if (s.to <= i) s.to = i + 1;
    if (s.end - s.first > QUERIES_MAX) s.end = s.first + QUERIES_MAX;
    if (i >= s.end) { /* many rows before it: this one first */
        s.origin = l->time[i - 1];
        s.first = i;
        s.end = after(l, s.origin + L) < i + QUERIES_MAX ? after(l, s.origin + L) : i + QUERIES_MAX;
        if (s.end <= i) s.end = i + 1;
    }
    if (s.to > s.end) s.to = s.end;
    return s;
}

static llap_status make_spots(task_spots *s, const ground *g)
{
    for (int64_t k = 0; k < s->n_lanes; k++)
        for (int64_t i = 0; i < s->lane[k].n;) {
            if (!s->lane[k].asked[i]) {
                i++;
                continue;
            }
            if (s->n == s->room) {
                const size_t more = s->room == 0 ? 256 : 2 * s->room;
                task_spot   *grown = llap_grow(s->spot, more, sizeof *grown);
                if (grown == NULL) return LLAP_ENOMEM;
                s->spot = grown;
                s->room = more;
            }
            s->spot[s->n] = lay(s, g, k, i);
            i = s->spot[s->n++].to;
        }
    const size_t most = g->o->most;
    s->n_all = s->n;
    for (size_t i = 0; most > 0 && most < s->n && i < most; i++)
        s->spot[i] = s->spot[(size_t)((double)i * (double)s->n / (double)most)];
    if (most > 0 && most < s->n) s->n = most;
    for (size_t i = 0; i < s->n; i++)
        if (s->spot[i].end - s->spot[i].first > s->longest)
            s->longest = s->spot[i].end - s->spot[i].first;
    return LLAP_OK;
}

llap_status task_spots_init(task_spots *s, const llap_model *m, const llap_panel *p,
                            const uint8_t *asked, const task_spots_opts *o)
{
    const ground g = { m, p, asked, o, m->frame.n_targets };
    *s = (task_spots){ 0 };
    llap_status st = make_lanes(s, &g);
    if (st == LLAP_OK) st = make_spots(s, &g);
    if (st != LLAP_OK) task_spots_deinit(s);
    return st;
}

void task_spots_deinit(task_spots *s)
{
    for (int64_t i = 0; s->lane != NULL && i < s->n_lanes; i++) {
        llap_free(s->lane[i].time);
        llap_free(s->lane[i].asked);
    }
    llap_free(s->lane);
    llap_free(s->spot);
    *s = (task_spots){ 0 };
}

int64_t task_row_at(const llap_panel *p, int64_t entity, int64_t time)
{
    int64_t low = p->start[entity], high = p->start[entity + 1];
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (p->time[mid] < time) low = mid + 1;
        else high = mid;
    }
    return low < p->start[entity + 1] && p->time[low] == time ? low : -1;
}
