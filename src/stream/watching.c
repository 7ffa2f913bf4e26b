#include "stream/watching.h"

#include "base/alloc.h"
#include "base/error.h"
#include "predict/view/frame.h"
#include "stream/alarm_text.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void ll_stream_watch_destroy(ll_stream_watch *w)
{
    if (w == NULL) return;
    for (int64_t c = 0; w->usual != NULL && c < w->n_targets; c++) ll_usual_deinit(&w->usual[c]);
    ll_free(w->usual);
    ll_free(w->series);
    ll_free(w->last);
    ll_free(w->judged);
    ll_free(w->any);
    ll_free(w->alarm);
    ll_free(w);
}

llap_status ll_stream_watch_create(const llap_model *m, const ll_detect_how *how,
                                   ll_stream_watch **out)
{
    *out = NULL;
    if (m->anchor == NULL)
        return ll_fail(LLAP_EUNSUPPORTED,
                       "a model of %s has no law of a single reading: watch with one of the "
                       "default profile",
                       m->rival != NULL ? m->rival->task.kind->title : "the reference profile");
    ll_stream_watch *w = ll_new(1, sizeof *w);
    if (w == NULL) return LLAP_ENOMEM;
    w->how = *how;
    w->n_targets = m->frame.n_targets;
    w->usual = ll_new((size_t)w->n_targets, sizeof *w->usual);
    if (w->usual == NULL) {
        ll_stream_watch_destroy(w);
        return LLAP_ENOMEM;
    }
    *out = w;
    return LLAP_OK;
}

/* Zeroed beyond what was there. */
static void *widen(void *p, int64_t from, int64_t to, size_t size)
{
    char *grown = ll_grow(p, (size_t)to, size);
    if (grown != NULL) memset(grown + (size_t)from * size, 0, (size_t)(to - from) * size);
    return grown;
}

llap_status ll_stream_watch_grow(ll_stream_watch *w, int64_t n)
{
    const size_t C = (size_t)w->n_targets;
    if (n <= w->room) return LLAP_OK;
    ll_watched *series = widen(w->series, w->room, n, C * sizeof *series);
    if (series != NULL) w->series = series;
    llap_judgement *last = series == NULL ? NULL : widen(w->last, w->room, n, C * sizeof *last);
    if (last != NULL) w->last = last;
    int64_t *judged = last == NULL ? NULL : widen(w->judged, w->room, n, sizeof *judged);
    if (judged != NULL) w->judged = judged;
    bool *any = judged == NULL ? NULL : widen(w->any, w->room, n, sizeof *any);
    if (any == NULL) return LLAP_ENOMEM;
    w->any = any;
    w->room = n;
    return LLAP_OK;
}

size_t ll_stream_watch_bytes(const ll_stream_watch *w)
{
    return (size_t)w->n_targets * (sizeof *w->series + sizeof *w->last) + sizeof *w->judged +
           sizeof *w->any;
}

void ll_stream_widen(llap_stream *s, const ll_detect_how *how)
{
    if (__builtin_add_overflow(s->shape.span, how->late, &s->shape.span) ||
        __builtin_add_overflow(s->shape.span, ll_watch_far(s->m), &s->shape.span))
        s->shape.span = INT64_MAX;
}

llap_status ll_stream_start_watch(llap_stream *s, ll_stream_watch *w)
{
    const llap_status st = ll_stream_watch_grow(w, s->room);
    if (st != LLAP_OK) {
        ll_stream_watch_destroy(w);
        return st;
    }
    s->watch = w;
    return LLAP_OK;
}

/* ---- judging ---- */

static void add_alarm(llap_stream *s, int64_t i, int64_t c, const llap_alarm *a)
{
    ll_stream_watch *w = s->watch;
    assert(w->n_alarms < w->alarms_room);
    llap_alarm *to = &w->alarm[w->n_alarms++];
    *to = *a;
    to->entity = s->name[i];
    to->variable = s->m->frame.target[c];
}

/* Each row of a series ends one alarm at most, and begins one. */
static llap_status alarms_fit(ll_stream_watch *w)
{
    const int64_t need = w->n_alarms + 2 * w->n_targets;
    if (need <= w->alarms_room) return LLAP_OK;
    llap_alarm *alarm = ll_grow(w->alarm, (size_t)(2 * need), sizeof *alarm);
    if (alarm == NULL) return LLAP_ENOMEM;
    w->alarm = alarm;
    w->alarms_room = 2 * need;
    return LLAP_OK;
}

static void note(llap_stream *s, int64_t i, int64_t c, const ll_watch_step *step)
{
    if (step->ended) add_alarm(s, i, c, &step->end);
    if (step->begun) add_alarm(s, i, c, &s->watch->series[i * s->watch->n_targets + c].alarm);
}

/* Law and scores of row at of one target, whose history has it. */
static llap_status look(const llap_stream *s, const ll_past *k, int64_t c, const ll_series *h,
                        size_t at, ll_watch_row *row, ll_law *law)
{
    const ll_anchor_model *a = s->m->anchor[c];
    const int64_t          far = ll_watch_far(s->m);
    llap_status            st = LLAP_OK;
    if (ll_elapsed(k->first, row->time) >= (uint64_t)far) {
        st = ll_score_far(a, h, k->series, at, ll_model_time(s->m, row->time - far), law);
        if (st == LLAP_OK) row->far = ll_reading_score(a, law, row->y);
    }
    if (st == LLAP_OK) st = ll_score_one(a, h, k->series, at, law);
    if (st == LLAP_OK) row->x = ll_reading_score(a, law, row->y);
    return st;
}

/* Laws [n_targets] and rows of row number at of entity i, where known inputs need the rows around
 * it. */
static llap_status look_around(const llap_stream *s, int64_t i, int64_t at, ll_watch_row *row,
                               ll_law *law)
{
    const ll_past   *k = &s->past[i];
    ll_target_series series = { 0 };
    llap_panel      *p = NULL;
    int64_t          before;
    llap_status      st = ll_stream_panel_of(s, i, &p, &before);
    if (st == LLAP_OK) st = ll_target_series_init(&series, s->m, p, s->target, LL_SERIES_READINGS);
    for (int64_t c = 0; st == LLAP_OK && c < s->shape.n_targets; c++) {
        const ll_series *h = &series.target[c].series[0];
        const ll_chain  *chain = s->m->anchor[c]->chain;
        if (isnan(row[c].y)) continue;
        row[c].u = ll_chain_u_given(chain, k->series,
                                    ll_chain_mean(chain, k->series, h->in, h->t[at + before]),
                                    ll_chain_z(chain, k->series, row[c].y));
        if (row[c].time != k->first) st = look(s, k, c, h, (size_t)(at + before), &row[c], &law[c]);
    }
    ll_target_series_deinit(&series);
    llap_panel_destroy(p);
    return st;
}

static bool has_known(const llap_stream *s)
{
    for (int64_t c = 0; c < s->shape.n_targets; c++)
        if (s->m->anchor[c]->chain->known != NULL) return true;
    return false;
}

/* The row of every target, and its law where it is read and is not the first of all. */
static llap_status look_at(const llap_stream *s, int64_t i, int64_t at, ll_watch_row *row,
                           ll_law *law)
{
    const ll_past *k = &s->past[i];
    const int64_t  time = k->time[k->from + at];
    llap_status    st = LLAP_OK;
    for (int64_t c = 0; c < s->shape.n_targets; c++) {
        const int64_t cell = c * k->room + k->from + at;
        row[c] =
            (ll_watch_row){ .time = time, .y = k->y[cell], .x = NAN, .far = NAN, .u = k->u[cell] };
    }
    if (has_known(s)) st = look_around(s, i, at, row, law);
    for (int64_t c = 0; st == LLAP_OK && c < s->shape.n_targets; c++) {
        const ll_series h = ll_past_series(k, &s->shape, c, at + 1);
        if (isnan(row[c].y) || time == k->first) continue;
        if (h.u != NULL) st = look(s, k, c, &h, (size_t)at, &row[c], &law[c]);
    }
    return st;
}

static llap_status judge_row(llap_stream *s, int64_t i, int64_t at, ll_watch_row *row, ll_law *law)
{
    ll_stream_watch *w = s->watch;
    llap_status      st = look_at(s, i, at, row, law);
    if (st == LLAP_OK) st = alarms_fit(w);
    if (st != LLAP_OK) return st;
    for (int64_t c = 0; c < w->n_targets; c++) {
        const ll_watching of = ll_watching_of(&w->usual[c], s->m->anchor[c], &w->how);
        ll_watch_step     step;
        ll_watched_take(&w->series[i * w->n_targets + c], &of, s->past[i].series, &row[c],
                        isnan(row[c].x) ? NULL : &law[c], &step);
        w->last[i * w->n_targets + c] = step.judged;
        note(s, i, c, &step);
    }
    w->judged[i] = row[0].time;
    w->any[i] = true;
    return LLAP_OK;
}

/* Those at or before `until`. */
static llap_status judge_until(llap_stream *s, int64_t i, int64_t until)
{
    ll_stream_watch *w = s->watch;
    const ll_past   *k = &s->past[i];
    const int64_t    end = ll_past_upto(k, until);
    int64_t          at = w->any[i] ? ll_past_upto(k, w->judged[i]) : 0;
    if (at >= end) return LLAP_OK;
    ll_watch_row *row = ll_new((size_t)w->n_targets, sizeof *row);
    ll_law       *law = ll_new((size_t)w->n_targets, sizeof *law);
    llap_status   st = row == NULL || law == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (; st == LLAP_OK && at < end; at++) st = judge_row(s, i, at, row, law);
    ll_free(row);
    ll_free(law);
    return st;
}

static int64_t before(int64_t time, int64_t span)
{
    int64_t out;
    return __builtin_sub_overflow(time, span, &out) ? INT64_MIN : out;
}

llap_status ll_stream_judge_rows(llap_stream *s, int64_t i)
{
    const ll_past *k = &s->past[i];
    if (k->n == 0) return LLAP_OK;
    return judge_until(s, i, before(k->time[k->from + k->n - 1], s->watch->how.late));
}

/* Rows at or before `until` are judged, and it is `now`. */
static llap_status settle(llap_stream *s, int64_t until, int64_t now)
{
    ll_stream_watch *w = s->watch;
    llap_status      st = LLAP_OK;
    if (w == NULL) return ll_fail(LLAP_EINVAL, "the stream does not judge its rows");
    for (int64_t i = 0; st == LLAP_OK && i < s->n; i++) {
        st = judge_until(s, i, until);
        if (st == LLAP_OK) st = alarms_fit(w);
        for (int64_t c = 0; st == LLAP_OK && c < w->n_targets; c++) {
            const ll_watching of = ll_watching_of(&w->usual[c], s->m->anchor[c], &w->how);
            ll_watch_step     step;
            ll_watched_clock(&w->series[i * w->n_targets + c], &of, s->past[i].series, now, &step);
            note(s, i, c, &step);
        }
    }
    return st;
}

llap_status llap_stream_clock(llap_stream *s, int64_t now)
{
    /* Who is silent is known of the time for which rows can no longer come. */
    const int64_t settled = s->watch == NULL ? now : before(now, s->watch->how.late);
    return settle(s, settled, settled);
}

llap_status llap_stream_settle(llap_stream *s) { return settle(s, INT64_MAX, s->latest); }

/* ---- beginning ---- */

static llap_status check_start(const llap_stream *s)
{
    if (s->watch != NULL) return ll_fail(LLAP_EINVAL, "the stream judges its rows already");
    return s->n == 0 ? LLAP_OK : ll_fail(LLAP_EINVAL, "the stream has rows already");
}

llap_status llap_stream_judge(llap_stream *s, const llap_detect_opts *o)
{
    ll_detect_how    how;
    ll_stream_watch *w = NULL;
    llap_status      st = check_start(s);
    if (st == LLAP_OK) st = ll_detect_how_of(o, &how);
    if (st == LLAP_OK) st = ll_stream_watch_create(s->m, &how, &w);
    if (st == LLAP_OK) st = ll_learn_nothing(s->m, &how, w->usual);
    if (st == LLAP_OK) {
        ll_stream_widen(s, &how);
        return ll_stream_start_watch(s, w);
    }
    ll_stream_watch_destroy(w);
    return st;
}

/* Series stand where the rows that were learnt from have left them. */
static void run_on(llap_stream *s, const llap_panel *p, const ll_scored *scored)
{
    ll_stream_watch *w = s->watch;
    for (int64_t e = 0; e < p->n_entities; e++) {
        const int64_t i = ll_stream_find(s, p->entity[e], strlen(p->entity[e]));
        const int64_t first = p->start[e], n = p->start[e + 1] - first;
        if (i < 0 || n == 0) continue;
        for (int64_t c = 0; c < w->n_targets; c++)
            ll_run_on(&w->series[i * w->n_targets + c].runs, &w->usual[c], s->past[i].series,
                      scored->row + c * p->n_rows + first, (size_t)n);
        w->judged[i] = p->time[first + n - 1];
        w->any[i] = true;
    }
}

llap_status llap_stream_learn(llap_stream *s, const llap_panel *p, const llap_detect_opts *o)
{
    ll_detect_how    how;
    ll_scored        scored = { 0 };
    ll_stream_watch *w = NULL;
    int64_t         *var = ll_new((size_t)s->shape.n_targets, sizeof *var);
    llap_status      st = var == NULL ? LLAP_ENOMEM : check_start(s);
    if (st == LLAP_OK) st = ll_detect_how_of(o, &how);
    if (st == LLAP_OK) st = ll_check_axis(s->m, p);
    if (st == LLAP_OK) st = ll_target_columns(s->m, p, var);
    if (st == LLAP_OK) st = ll_stream_watch_create(s->m, &how, &w);
    if (st == LLAP_OK) st = ll_scored_init(&scored, s->m, p, var, INT64_MAX, o->progress);
    if (st == LLAP_OK) st = ll_learn(s->m, p, &scored, INT64_MAX, &how, w->usual);
    if (st == LLAP_OK) {
        ll_stream_widen(s, &how);
        st = llap_stream_take_panel(s, p);
    }
    if (st == LLAP_OK) {
        st = ll_stream_start_watch(s, w);
        w = NULL; /* taken */
    }
    if (st == LLAP_OK) run_on(s, p, &scored);
    ll_stream_watch_destroy(w);
    ll_scored_deinit(&scored);
    ll_free(var);
    return st;
}

/* ---- what was found ---- */

const llap_alarm *llap_stream_alarms(const llap_stream *s, int64_t *n)
{
    *n = s->watch == NULL ? 0 : s->watch->n_alarms;
    return s->watch == NULL ? NULL : s->watch->alarm;
}

void llap_stream_forget_alarms(llap_stream *s)
{
    if (s->watch != NULL) s->watch->n_alarms = 0;
}

const llap_judgement *llap_stream_judged(const llap_stream *s, const char *entity,
                                         const char *target)
{
    const int64_t i = ll_stream_find(s, entity, strlen(entity)), c = ll_model_target(s->m, target);
    if (s->watch == NULL || i < 0 || c < 0 || !s->watch->any[i]) return NULL;
    return &s->watch->last[i * s->watch->n_targets + c];
}

llap_status llap_stream_alarm_text(const llap_stream *s, const llap_alarm *a, int json, char **text)
{
    return (json ? ll_alarm_json : ll_alarm_line)(a, &s->axis, text);
}
