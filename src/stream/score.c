#include "stream/score.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "stream/watch.h"

#include <assert.h>
#include <math.h>

enum { AT_ONCE = 2048 };

/* What is asked about row at: its law from the rows before it, were it missing. */
static ll_anchor_request request(const ll_series *history, size_t series, size_t at, ll_law *law)
{
    ll_anchor_request r = { .history = *history,
                            .series = series,
                            .origin = history->t[at],
                            .n_query = 1,
                            .t_query = &history->t[at],
                            .law = law };
    r.history.n = at;
    return r;
}

llap_status ll_score_one(const ll_anchor_model *a, const ll_series *history, size_t series,
                         size_t at, ll_law *law)
{
    const ll_anchor_request r = request(history, series, at, law);
    assert(at < history->n);
    return ll_anchor_model_fill(a, &r, 1, LL_ANCHOR_PAST);
}

int64_t ll_watch_gap(const llap_model *m)
{
    return m->frame.gap > 0 ? m->frame.gap : m->frame.step;
}

int64_t ll_watch_far(const llap_model *m)
{
    const int64_t FAR_GAPS = 24, gap = ll_watch_gap(m);
    return gap < m->frame.horizon / FAR_GAPS ? FAR_GAPS * gap : m->frame.horizon;
}

static ll_anchor_request from_far(const ll_series *history, size_t series, size_t at, double origin,
                                  ll_law *law)
{
    ll_anchor_request r = request(history, series, at, law);
    r.origin = origin;
    return r;
}

llap_status ll_score_far(const ll_anchor_model *a, const ll_series *history, size_t series,
                         size_t at, double origin, ll_law *law)
{
    const ll_anchor_request r = from_far(history, series, at, origin, law);
    assert(at < history->n);
    return ll_anchor_model_forecast(a, &r, 1);
}

/* The laws of readings list [n] (rows of the panel) of one target. */
static llap_status laws(const ll_scored *s, const llap_model *m, const llap_panel *p, int64_t c,
                        const int64_t *list, const int64_t *entity, size_t n, ll_law *law)
{
    ll_anchor_request *r = ll_new(n, sizeof *r);
    if (r == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < n; i++)
        r[i] = request(&s->series.target[c].series[entity[i]], s->series.known[entity[i]],
                       (size_t)(list[i] - p->start[entity[i]]), &law[i]);
    const llap_status st = ll_anchor_model_fill(m->anchor[c], r, n, LL_ANCHOR_PAST);
    ll_free(r);
    return st;
}

/* Scores of the same in forecasts made ll_watch_far before, where the entity had begun by then. */
static llap_status score_far(ll_scored *s, const llap_model *m, const llap_panel *p, int64_t c,
                             const int64_t *list, const int64_t *entity, size_t n, ll_law *law)
{
    const int64_t      far = ll_watch_far(m);
    size_t             k = 0;
    ll_anchor_request *r = ll_new(n, sizeof *r);
    if (r == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const int64_t first = p->start[entity[i]], time = p->time[list[i]];
        if (ll_elapsed(p->time[first], time) < (uint64_t)far) continue;
        r[k] = from_far(&s->series.target[c].series[entity[i]], s->series.known[entity[i]],
                        (size_t)(list[i] - first), ll_model_time(m, time - far), &law[k]);
        k++;
    }
    const llap_status st = ll_anchor_model_forecast(m->anchor[c], r, k);
    k = 0;
    for (size_t i = 0; st == LLAP_OK && i < n; i++) {
        ll_watch_row *row = &s->row[c * p->n_rows + list[i]];
        if (ll_elapsed(p->time[p->start[entity[i]]], row->time) < (uint64_t)far) continue;
        row->far = ll_reading_score(m->anchor[c], &law[k++], row->y);
    }
    ll_free(r);
    return st;
}

/* Puts laws and scores of a part of one target's readings. */
static llap_status score_part(ll_scored *s, const llap_model *m, const llap_panel *p, int64_t c,
                              const int64_t *list, const int64_t *entity, size_t n, ll_law *law)
{
    llap_status st = score_far(s, m, p, c, list, entity, n, law);
    if (st == LLAP_OK) st = laws(s, m, p, c, list, entity, n, law);
    for (size_t i = 0; st == LLAP_OK && i < n; i++) {
        ll_watch_row *row = &s->row[c * p->n_rows + list[i]];
        row->x = ll_reading_score(m->anchor[c], &law[i], row->y);
        if (list[i] >= s->first[entity[i]]) s->law[c * p->n_rows + list[i]] = law[i];
    }
    return st;
}

static void set_rows(ll_scored *s, const llap_panel *p, int64_t c)
{
    for (int64_t e = 0; e < p->n_entities; e++) {
        const ll_series *h = &s->series.target[c].series[e];
        for (int64_t r = p->start[e]; r < p->start[e + 1]; r++)
            s->row[c * p->n_rows + r] = (ll_watch_row){ .time = p->time[r],
                                                        .y = h->y[r - p->start[e]],
                                                        .x = NAN,
                                                        .far = NAN,
                                                        .u = h->u[r - p->start[e]] };
    }
}

static llap_status score_target(ll_scored *s, const llap_model *m, const llap_panel *p, int64_t c,
                                llap_progress progress)
{
    int64_t     list[AT_ONCE], entity[AT_ONCE];
    ll_law     *law = ll_new(AT_ONCE, sizeof *law);
    size_t      n = 0;
    llap_status st = law == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) set_rows(s, p, c);
    for (int64_t e = 0; e < p->n_entities && st == LLAP_OK; e++)
        for (int64_t r = p->start[e]; r < p->start[e + 1] && st == LLAP_OK; r++) {
            /* Of the first row nothing is known but the climate. */
            if (!isnan(s->row[c * p->n_rows + r].y) && r > p->start[e]) {
                list[n] = r;
                entity[n++] = e;
            }
            if (n < AT_ONCE) continue;
            st = ll_report(progress, &(llap_progress_event){ "detect", c * p->n_rows + r,
                                                             m->frame.n_targets * p->n_rows,
                                                             "readings", m->frame.target[c] });
            if (st == LLAP_OK) st = score_part(s, m, p, c, list, entity, n, law);
            n = 0;
        }
    if (st == LLAP_OK && n > 0) st = score_part(s, m, p, c, list, entity, n, law);
    ll_free(law);
    return st;
}

llap_status ll_scored_init(ll_scored *s, const llap_model *m, const llap_panel *p,
                           const int64_t *var, int64_t from, llap_progress progress)
{
    const size_t C = (size_t)m->frame.n_targets, R = (size_t)p->n_rows;
    *s = (ll_scored){ 0 };
    if (m->anchor == NULL)
        return ll_fail(LLAP_EUNSUPPORTED,
                       "a model of %s has no law of a single reading: detect with one of the "
                       "default profile",
                       m->rival != NULL ? m->rival->task.kind->title : "the reference profile");
    llap_status st = ll_target_series_init(&s->series, m, p, var, LL_SERIES_CONVERTED);
    s->row = ll_new(R, C * sizeof *s->row);
    s->law = ll_new(R, C * sizeof *s->law);
    s->first = ll_new((size_t)p->n_entities, sizeof *s->first);
    if (s->row == NULL || s->law == NULL || s->first == NULL) st = LLAP_ENOMEM;
    for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++) {
        s->first[e] = p->start[e];
        while (s->first[e] < p->start[e + 1] && p->time[s->first[e]] < from) s->first[e]++;
    }
    for (int64_t c = 0; st == LLAP_OK && c < m->frame.n_targets; c++)
        st = score_target(s, m, p, c, progress);
    return st;
}

void ll_scored_deinit(ll_scored *s)
{
    ll_target_series_deinit(&s->series);
    ll_free(s->row);
    ll_free(s->law);
    ll_free(s->first);
    *s = (ll_scored){ 0 };
}
