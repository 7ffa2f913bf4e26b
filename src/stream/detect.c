/* Judging the rows of a panel. */
#include "stream/detection.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "predict/tables/times.h"
#include "predict/view/frame.h"
#include "predict/view/only.h"
#include "predict/view/static_view.h"
#include "stream/learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void llap_detection_destroy(llap_detection *d)
{
    if (d == NULL) return;
    ll_free(d->alarm);
    ll_free(d->row);
    ll_free(d->first);
    ll_arena_deinit(&d->arena);
    ll_free(d);
}

static llap_status add_alarm(llap_detection *d, const llap_alarm *a, int64_t entity, int64_t target)
{
    if (d->info.alarms == d->room) {
        const int64_t more = 2 * d->room + 64;
        llap_alarm   *alarm = ll_grow(d->alarm, (size_t)more, sizeof *alarm);
        if (alarm == NULL) return LLAP_ENOMEM;
        d->alarm = alarm;
        d->room = more;
    }
    llap_alarm *to = &d->alarm[d->info.alarms++];
    *to = *a;
    to->entity = d->entity[entity];
    to->variable = d->target[target];
    return LLAP_OK;
}

/* Rows of one series from the first one judged on, and, where others went on, their end. */
static llap_status watch_series(llap_detection *d, const ll_scored *s, const llap_panel *p,
                                const ll_watching *of, int64_t e, int64_t c, int64_t end)
{
    const ll_watch_row *row = s->row + c * p->n_rows;
    const size_t        series = s->series.known[e];
    const int64_t       first = s->first[e], n = p->start[e + 1];
    ll_watched          w = { 0 };
    ll_watch_step       step;
    llap_status         st = LLAP_OK;
    ll_run_on(&w.runs, of->usual, series, row + p->start[e], (size_t)(first - p->start[e]));
    for (int64_t r = first; st == LLAP_OK && r < n; r++) {
        const ll_law *law = !isnan(row[r].x) ? &s->law[c * p->n_rows + r] : NULL;
        ll_watched_take(&w, of, series, &row[r], law, &step);
        if (step.ended) st = add_alarm(d, &step.end, e, c);
        if (d->row != NULL) d->row[c * p->n_rows + r] = step.judged;
    }
    d->info.judged += w.rows;
    if (st == LLAP_OK && n > p->start[e] && p->time[n - 1] < end && first < n) {
        ll_watched_clock(&w, of, series, end, &step);
        if (step.ended) st = add_alarm(d, &step.end, e, c);
    }
    if (st == LLAP_OK && w.open) st = add_alarm(d, &w.alarm, e, c);
    return st;
}

static int in_time(const void *a, const void *b)
{
    const llap_alarm *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    const int by_entity = strcmp(x->entity, y->entity);
    return by_entity != 0 ? by_entity : strcmp(x->variable, y->variable);
}

static llap_status copy_names(llap_detection *d, const llap_model *m, const llap_panel *p)
{
    d->info.entities = p->n_entities;
    d->info.variables = m->frame.n_targets;
    d->axis = p->axis;
    d->axis.zone = ll_arena_strndup(&d->arena, p->axis.zone, strlen(p->axis.zone));
    d->axis.format = ll_arena_strndup(&d->arena, p->axis.format, strlen(p->axis.format));
    d->axis.unit = ll_arena_strndup(&d->arena, p->axis.unit, strlen(p->axis.unit));
    d->entity = ll_arena_new(&d->arena, (size_t)p->n_entities, sizeof *d->entity);
    d->target = ll_arena_new(&d->arena, (size_t)m->frame.n_targets, sizeof *d->target);
    if (d->entity == NULL || d->target == NULL || d->axis.zone == NULL || d->axis.format == NULL ||
        d->axis.unit == NULL)
        return LLAP_ENOMEM;
    for (int64_t e = 0; e < p->n_entities; e++)
        if ((d->entity[e] = ll_arena_strndup(&d->arena, p->entity[e], strlen(p->entity[e]))) ==
            NULL)
            return LLAP_ENOMEM;
    for (int64_t c = 0; c < m->frame.n_targets; c++) {
        const char *name = m->frame.target[c];
        if ((d->target[c] = ll_arena_strndup(&d->arena, name, strlen(name))) == NULL)
            return LLAP_ENOMEM;
    }
    return LLAP_OK;
}

/* Where judging begins when nobody says so: with what training left for testing, or behind a third
 * of data that begins later. */
static int64_t usual_start(const llap_model *m, const llap_panel *p)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (int64_t r = 0; r < p->n_rows; r++) {
        if (p->time[r] < first) first = p->time[r];
        if (p->time[r] > last) last = p->time[r];
    }
    const uint64_t span = first > last ? 0 : ll_elapsed(first, last);
    const int64_t  third = first > last ? 0 : (int64_t)((uint64_t)first + span / 3);
    if (m->frame.by_entity || m->frame.test_start > last) return third;
    return first < m->frame.test_start &&
                   ll_elapsed(first, m->frame.test_start) >= 2 * (uint64_t)m->frame.context
               ? m->frame.test_start
               : third;
}

static llap_status detect(const llap_model *m, const llap_panel *p, const llap_detect_opts *o,
                          const ll_detect_how *how, llap_detection *d)
{
    const int64_t C = m->frame.n_targets;
    int64_t      *var = ll_new((size_t)C, sizeof *var), end = INT64_MIN;
    ll_usual     *usual = ll_new((size_t)C, sizeof *usual);
    ll_scored     s = { 0 };
    llap_status   st = var == NULL || usual == NULL ? LLAP_ENOMEM : ll_target_columns(m, p, var);
    d->info.from = usual_start(m, p);
    if (st == LLAP_OK && o->from != NULL)
        st = ll_panel_time_parse(p, "from", o->from, &d->info.from);
    if (st == LLAP_OK) st = ll_scored_init(&s, m, p, var, d->info.from, o->progress);
    if (st == LLAP_OK) st = ll_learn(m, p, &s, d->info.from, how, usual);
    for (int64_t r = 0; r < p->n_rows; r++)
        if (p->time[r] > end) end = p->time[r];
    for (int64_t c = 0; st == LLAP_OK && c < C; c++) {
        const ll_watching of = ll_watching_of(&usual[c], m->anchor[c], how);
        d->info.learnt += usual[c].rows;
        for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++)
            if (ll_only_has(o->only, p->entity[e])) st = watch_series(d, &s, p, &of, e, c, end);
    }
    for (int64_t e = 0; st == LLAP_OK && d->row != NULL && e < p->n_entities; e++) {
        d->first[2 * e] = s.first[e];
        d->first[2 * e + 1] = p->start[e + 1];
    }
    for (int64_t c = 0; usual != NULL && c < C; c++) ll_usual_deinit(&usual[c]);
    ll_scored_deinit(&s);
    ll_free(usual);
    ll_free(var);
    return st;
}

static llap_status finish(llap_detection *d, const ll_detect_how *how)
{
    if (d->info.judged == 0)
        return ll_fail(LLAP_EINVAL, "no row at or after the time from which rows are judged");
    if (d->info.alarms > 0) qsort(d->alarm, (size_t)d->info.alarms, sizeof *d->alarm, in_time);
    d->info.wanted = how->rate;
    d->info.found = (double)d->info.alarms / (double)d->info.judged;
    return LLAP_OK;
}

llap_status llap_detect(const llap_model *model, const llap_panel *p, const llap_detect_opts *o,
                        llap_detection **out)
{
    ll_detect_how  how;
    ll_static_view v;
    *out = NULL;
    llap_status st = ll_detect_how_of(o, &how);
    if (st == LLAP_OK) st = ll_check_axis(model, p);
    if (st == LLAP_OK) st = ll_only_check(o->only, p);
    if (st != LLAP_OK) return st;
    llap_detection *d = ll_new(1, sizeof *d);
    if (d == NULL) return LLAP_ENOMEM;
    st = copy_names(d, model, p);
    d->n_rows = p->n_rows;
    if (st == LLAP_OK && o->rows) {
        d->row = ll_new((size_t)p->n_rows, (size_t)model->frame.n_targets * sizeof *d->row);
        d->first = ll_new((size_t)p->n_entities, 2 * sizeof *d->first);
        if (d->row == NULL || d->first == NULL) st = LLAP_ENOMEM;
    }
    if (st == LLAP_OK) {
        st = ll_static_view_init(&v, model, p, NULL, o->log);
        if (st == LLAP_OK) st = detect(v.m, p, o, &how, d);
        ll_static_view_deinit(&v);
    }
    if (st == LLAP_OK) st = finish(d, &how);
    if (st == LLAP_OK) *out = d;
    else llap_detection_destroy(d);
    return st;
}

const llap_detection_info *llap_detection_about(const llap_detection *d) { return &d->info; }

const llap_alarm *llap_detection_alarms(const llap_detection *d, int64_t *n)
{
    *n = d->info.alarms;
    return d->alarm;
}

const llap_judgement *llap_detection_rows(const llap_detection *d, int64_t entity, int64_t variable,
                                          int64_t *n)
{
    *n = 0;
    if (d->row == NULL || entity < 0 || entity >= d->info.entities || variable < 0 ||
        variable >= d->info.variables)
        return NULL;
    *n = d->first[2 * entity + 1] - d->first[2 * entity];
    return d->row + variable * d->n_rows + d->first[2 * entity];
}
