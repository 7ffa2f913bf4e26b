#include "predict/view/frame.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "base/time/time.h"
#include "data/clock.h"
#include "predict/view/known_series.h"
#include <assert.h>
#include <string.h>

llap_status ll_check_axis(const llap_model *m, const llap_panel *p)
{
    const ll_model_frame *f = &m->frame;
    if (p->axis.kind != f->axis)
        return ll_fail(LLAP_EINVAL, "the model was trained on %s, the data has %s",
                       f->axis == LL_AXIS_CALENDAR ? "calendar times" : "numbers as times",
                       p->axis.kind == LL_AXIS_CALENDAR ? "calendar times" : "numbers as times");
    if (f->axis == LL_AXIS_NUMBER && p->axis.unit_ns != f->axis_unit)
        return ll_fail(
            LLAP_EINVAL,
            "the times of the model's training are numbers of %g s, those of the data of "
            "%g s%s: read them with the time unit of training",
            1e-9 * (double)f->axis_unit, 1e-9 * (double)p->axis.unit_ns,
            *p->axis.unit == '\0' ? " (for want of a unit)" : "");
    return ll_panel_verify_all(p);
}

/* "a, b, c" into text[room], cut where it is full. */
static void list_names(char *text, size_t room, const char *const *name, const int64_t *index,
                       int64_t n)
{
    size_t at = 0;
    text[0] = '\0';
    for (int64_t i = 0; i < n && at < room; i++)
        at += (size_t)snprintf(text + at, room - at, "%s'%s'", i > 0 ? ", " : "",
                               ll_text_show(name[index == NULL ? i : index[i]]).text);
}

llap_status ll_target_columns(const llap_model *m, const llap_panel *p, int64_t *var)
{
    int64_t lacking = 0;
    for (int64_t i = 0; i < m->frame.n_targets; i++) {
        var[i] = ll_panel_find_var(p, m->frame.target[i]);
        if (var[i] < 0) var[lacking++] = i; /* already answered: lacking <= i */
    }
    if (lacking == 0) return LLAP_OK;
    char wanted[320], there[480];
    list_names(wanted, sizeof wanted, m->frame.target, var, lacking);
    list_names(there, sizeof there, p->var, NULL, p->n_vars);
    return ll_fail(LLAP_EINVAL,
                   "the model forecasts %s, which the data does not have; its columns are %s: "
                   "rename with `columns` new=old",
                   wanted, there);
}

/* Has at least every other entity with rows a window? */
static bool most_have_one(const ll_windows *w)
{
    int64_t entities = 0, with = 0;
    for (int64_t e = 0; e < w->panel->n_entities; e++)
        entities += w->panel->start[e] < w->panel->start[e + 1];
    for (int64_t i = 0; i < w->n; i++) with += i == 0 || w->at[i].entity != w->at[i - 1].entity;
    return 2 * with >= entities;
}

llap_status ll_frame_windows(const ll_model_frame *f, const llap_panel *p, const int64_t *target,
                             int64_t n_targets, ll_windows **out)
{
    ll_window_opts o = {
        .context_ns = f->context, .horizon_ns = f->horizon, .target = target, .n_targets = n_targets
    };
    llap_status st = ll_windows_create(p, &o, out);
    if (st == LLAP_OK && f->by_entity && !most_have_one(*out)) {
        ll_windows_destroy(*out);
        o.pad = true;
        st = ll_windows_create(p, &o, out);
    }
    if (st != LLAP_OK || f->by_entity) return st;
    ll_windows *w = *out;
    uint8_t    *covered = ll_new((size_t)w->n, sizeof *covered);
    int64_t    *last_row = ll_new((size_t)p->n_entities, sizeof *last_row);
    for (int64_t e = 0; last_row != NULL && e < p->n_entities; e++)
        last_row[e] = p->start[e] - 1 +
                      (f->n_known > 0 ? ll_observed_until(p, e, target, n_targets)
                                      : p->start[e + 1] - p->start[e]);
    if (covered == NULL || last_row == NULL) {
        ll_free(covered);
        ll_free(last_row);
        ll_windows_destroy(w);
        *out = NULL;
        return LLAP_ENOMEM;
    }
    for (int64_t i = 0; i < w->n; i++) {
        const int64_t last = p->time[last_row[w->at[i].entity]];
        covered[i] = ll_elapsed(ll_window_end(w, &w->at[i]), last) >= (uint64_t)f->horizon;
    }
    ll_windows_keep(w, covered);
    ll_free(covered);
    ll_free(last_row);
    return LLAP_OK;
}

/* By time: no window of one part sees a target time of another (data/windows/split.h, purged). */
static ll_part part_of(const ll_model_frame *f, const ll_windows *w, const ll_window *v,
                       const int64_t *entity)
{
    assert(!f->by_entity || f->part != NULL);
    if (f->by_entity)
        return entity[v->entity] < 0 ? LL_PART_TEST : (ll_part)f->part[entity[v->entity]];
    const int64_t *t = w->panel->time;
    const int64_t  first = t[ll_window_query(v)], last = t[ll_window_last(v)];
    if (last < f->val_start) return LL_PART_TRAIN;
    if (first >= f->test_start) return LL_PART_TEST;
    return first >= f->val_start && last < f->test_start ? LL_PART_VAL : LL_PART_PURGED;
}

/* Both lists are sorted bytewise. */
static void match_entities(const ll_model_frame *f, const llap_panel *p, int64_t *entity)
{
    for (int64_t e = 0, k = 0; e < p->n_entities; e++) {
        assert(e == 0 || strcmp(p->entity[e - 1], p->entity[e]) < 0);
        while (k < f->n_entities && strcmp(f->entity[k], p->entity[e]) < 0) k++;
        entity[e] = k < f->n_entities && strcmp(f->entity[k], p->entity[e]) == 0 ? k : -1;
    }
}

llap_status ll_frame_split(const ll_model_frame *f, const ll_windows *w, ll_split **out)
{
    *out = NULL;
    ll_split *s = ll_new(1, sizeof *s);
    int64_t  *entity = ll_new((size_t)w->panel->n_entities, sizeof *entity);
    if (s != NULL) s->part = ll_new((size_t)w->n, sizeof *s->part);
    if (s == NULL || entity == NULL || s->part == NULL) {
        ll_split_destroy(s);
        ll_free(entity);
        return LLAP_ENOMEM;
    }
    match_entities(f, w->panel, entity);
    s->n_windows = w->n;
    s->val_start = f->val_start;
    s->test_start = f->test_start;
    for (int64_t i = 0; i < w->n; i++) {
        s->part[i] = (uint8_t)part_of(f, w, &w->at[i], entity);
        assert(s->part[i] < LL_PART_COUNT);
        s->n[s->part[i]]++;
    }
    ll_free(entity);
    *out = s;
    return LLAP_OK;
}

void ll_frame_name_windows(const ll_model_frame *f, const int64_t *end, int64_t n, char *text,
                           size_t size)
{
    enum { NAMED = 4 };
    size_t at = strlen(text);
    for (int64_t i = 0; i < n && i < NAMED && at < size; i++) {
        char time[LL_TIME_TEXT_MAX];
        if (f->axis == LL_AXIS_CALENDAR) ll_time_format(end[i], NULL, 0, time);
        else snprintf(time, sizeof time, "%g", (double)end[i] / (double)f->axis_unit);
        at += (size_t)snprintf(text + at, size - at, "%s %s",
                               i == 0 ? "; windows that end at" : ",", time);
    }
    if (n > NAMED && at < size)
        snprintf(text + at, size - at, " and %lld more", (long long)n - NAMED);
}
