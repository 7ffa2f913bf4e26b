#include "task/task.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/text.h"
#include "base/time.h"
#include "data/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

llap_status task_series_init(task_series *s, const llap_panel *p, int64_t var, int64_t unit)
{
    *s = (task_series){ .n = (size_t)p->n_entities };
    s->series = llap_new(s->n, sizeof *s->series);
    s->numbers = llap_new(2 * (size_t)p->n_rows, sizeof *s->numbers);
    if (s->series == NULL || s->numbers == NULL) {
        task_series_deinit(s);
        return LLAP_ENOMEM;
    }
    double *t = s->numbers, *y = s->numbers + p->n_rows;
    for (int64_t r = 0; r < p->n_rows; r++) {
        t[r] = (double)p->time[r] / (double)unit;
        y[r] = llap_panel_observed(p, r, var) ? (double)p->value[r * p->n_vars + var] : NAN;
    }
    for (size_t e = 0; e < s->n; e++) {
        const int64_t first = p->start[e];
        s->series[e] =
            (llap_series){ .n = (size_t)(p->start[e + 1] - first), .t = t + first, .y = y + first };
    }
    return LLAP_OK;
}

void task_series_deinit(task_series *s)
{
    llap_free(s->series);
    llap_free(s->numbers);
    *s = (task_series){ 0 };
}

llap_status task_linked(const llap_model *m, int64_t target, const llap_panel *p,
                        const task_series *s, llap_series **out)
{
    *out = NULL;
    if (m->anchor == NULL) return LLAP_OK;
    const llap_anchor_model *a = m->anchor[target];
    if (a->joint.rank == 0 && a->near[0].cov == NULL && a->near[1].cov == NULL) return LLAP_OK;
    *out = llap_new((size_t)m->frame.n_entities, sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    for (int64_t e = 0; e < p->n_entities; e++) {
        const int64_t known = llap_model_entity(m, p->entity[e]);
        if (known >= 0) (*out)[known] = s->series[e];
    }
    return LLAP_OK;
}

llap_status task_span(const char *what, const char *text, const llap_axis *axis, int64_t step,
                      int64_t *ticks)
{
    char           *end;
    const long long rows = strtoll(text, &end, 10);
    if (*text != '\0' && *end == '\0') {
        if (rows < 1)
            return llap_fail(LLAP_EOPTION, "%s: expected at least 1 row, found %s", what, text);
        if (__builtin_mul_overflow((int64_t)rows, step, ticks))
            return llap_fail(LLAP_EOPTION, "%s: %s rows are longer than all of time", what, text);
        return LLAP_OK;
    }
    const llap_status st = llap_duration_parse(text, strlen(text), ticks);
    if (st != LLAP_OK) return llap_fail_in(LLAP_EOPTION, "%s", what);
    if (axis->kind == LLAP_AXIS_NUMBER && *axis->unit == '\0')
        return llap_fail(
            LLAP_EINVAL,
            "%s: '%s' is a duration, but the times of the data are numbers of an unknown "
            "unit: say which (time unit), or give a number of steps",
            what, llap_text_show(text).text);
    if (*ticks <= 0) return llap_fail(LLAP_EOPTION, "%s: '%s' is not positive", what, text);
    return LLAP_OK;
}

llap_status task_check_axis(const llap_model *m, const llap_panel *p)
{
    const llap_model_frame *f = &m->frame;
    if (p->axis.kind != f->axis)
        return llap_fail(LLAP_EINVAL, "the model was trained on %s, the data has %s",
                         f->axis == LLAP_AXIS_CALENDAR ? "calendar times" : "numbers as times",
                         p->axis.kind == LLAP_AXIS_CALENDAR ? "calendar times"
                                                            : "numbers as times");
    if (f->axis == LLAP_AXIS_NUMBER && p->axis.unit_ns != f->axis_unit)
        return llap_fail(
            LLAP_EINVAL,
            "the times of the model's training are numbers of %g s, those of the data of "
            "%g s%s: read them with the time unit of training",
            1e-9 * (double)f->axis_unit, 1e-9 * (double)p->axis.unit_ns,
            *p->axis.unit == '\0' ? " (for want of a unit)" : "");
    return LLAP_OK;
}

llap_status task_find_entity(const llap_panel *p, const char *name, size_t n, int64_t *out)
{
    char start[256]; /* enough to show */
    *out = llap_panel_find_entity_n(p, name, n);
    if (*out >= 0) return LLAP_OK;
    snprintf(start, sizeof start, "%.*s", (int)(n < sizeof start ? n : sizeof start), name);
    return llap_fail(LLAP_EINVAL, "the data has no entity '%s'", llap_text_show(start).text);
}

/* "a, b, c" into text[room], cut where it is full. */
static void list_names(char *text, size_t room, const char *const *name, const int64_t *index,
                       int64_t n)
{
    size_t at = 0;
    text[0] = '\0';
    for (int64_t i = 0; i < n && at < room; i++)
        at += (size_t)snprintf(text + at, room - at, "%s'%s'", i > 0 ? ", " : "",
                               llap_text_show(name[index == NULL ? i : index[i]]).text);
}

llap_status task_columns(const llap_model *m, const llap_panel *p, int64_t *var)
{
    int64_t lacking = 0;
    for (int64_t i = 0; i < m->frame.n_targets; i++) {
        var[i] = llap_panel_find_var(p, m->frame.target[i]);
        if (var[i] < 0) var[lacking++] = i; /* already answered: lacking <= i */
    }
    if (lacking == 0) return LLAP_OK;
    char wanted[320], there[480];
    list_names(wanted, sizeof wanted, m->frame.target, var, lacking);
    list_names(there, sizeof there, p->var, NULL, p->n_vars);
    return llap_fail(LLAP_EINVAL,
                     "the model forecasts %s, which the data does not have; its columns are %s: "
                     "rename with --columns new=old",
                     wanted, there);
}

llap_status task_quantiles(const char *text, double out[TASK_QUANTILES], int *n)
{
    static const double usual[] = { 0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975 };
    *n = 0;
    if (text == NULL) {
        memcpy(out, usual, sizeof usual);
        *n = sizeof usual / sizeof *usual;
        return LLAP_OK;
    }
    for (const char *p = text;;) {
        char        *end;
        const double q = strtod(p, &end);
        if (end == p || (*end != ',' && *end != '\0'))
            return llap_fail(LLAP_EOPTION,
                             "quantiles: expected numbers separated by commas, found '%s'",
                             llap_text_show(text).text);
        if (!(q > 0 && q < 1))
            return llap_fail(LLAP_EOPTION, "quantiles: expected numbers between 0 and 1, found %g",
                             q);
        if (*n > 0 && q <= out[*n - 1])
            return llap_fail(LLAP_EOPTION, "quantiles: %g does not come after %g in order", q,
                             out[*n - 1]);
        if (*n == TASK_QUANTILES)
            return llap_fail(LLAP_EOPTION, "quantiles: more than %d", TASK_QUANTILES);
        out[(*n)++] = q;
        if (*end == '\0') return LLAP_OK;
        p = end + 1;
    }
}

/* Halley's method on the distribution function, from a start that is right in the tails. */
double task_normal_score(double p)
{
    const double tail = fmin(p, 1 - p);
    double       x = -sqrt(-2 * log(2 * tail)); /* of the lower tail */
    for (int i = 0; i < 12; i++) {
        const double error = 0.5 * erfc(-x / sqrt(2.0)) - tail;
        const double u = error * sqrt(2 * acos(-1.0)) * exp(0.5 * x * x);
        x -= u / (1 + 0.5 * x * u);
    }
    return p < 0.5 ? x : -x;
}

void task_scores_init(task_scores *s, const double *quantile, int n_quantiles)
{
    s->n_quantiles = n_quantiles;
    for (int i = 0; i < n_quantiles; i++) s->quantile[i] = task_normal_score(quantile[i]);
    for (int i = 0; i < TASK_POINTS; i++) s->point[i] = task_normal_score((i + 0.5) / TASK_POINTS);
}

void task_law_numbers(const llap_anchor_model *a, size_t series, const llap_law *law,
                      const task_scores *s, double *number)
{
    double sum = 0;
    for (int i = 0; i < TASK_POINTS; i++) sum += llap_anchor_quantile(a, series, law, s->point[i]);
    number[0] = sum / TASK_POINTS;
    for (int i = 0; i < s->n_quantiles; i++)
        number[1 + i] = llap_anchor_quantile(a, series, law, s->quantile[i]);
}

/* Has at least every other entity with rows a window? */
static bool most_have_one(const llap_windows *w)
{
    int64_t entities = 0, with = 0;
    for (int64_t e = 0; e < w->panel->n_entities; e++)
        entities += w->panel->start[e] < w->panel->start[e + 1];
    for (int64_t i = 0; i < w->n; i++) with += i == 0 || w->at[i].entity != w->at[i - 1].entity;
    return 2 * with >= entities;
}

llap_status task_windows(const llap_model_frame *f, const llap_panel *p, const int64_t *target,
                         int64_t n_targets, llap_windows **out)
{
    llap_window_opts o = {
        .context_ns = f->context, .horizon_ns = f->horizon, .target = target, .n_targets = n_targets
    };
    llap_status st = llap_windows_create(p, &o, out);
    if (st == LLAP_OK && f->by_entity && !most_have_one(*out)) {
        llap_windows_destroy(*out);
        o.pad = true;
        st = llap_windows_create(p, &o, out);
    }
    if (st != LLAP_OK || f->by_entity) return st;
    llap_windows *w = *out;
    uint8_t      *covered = llap_new((size_t)w->n, sizeof *covered);
    if (covered == NULL) {
        llap_windows_destroy(w);
        *out = NULL;
        return LLAP_ENOMEM;
    }
    for (int64_t i = 0; i < w->n; i++) {
        const int64_t last = p->time[p->start[w->at[i].entity + 1] - 1];
        covered[i] = llap_elapsed(llap_window_end(w, &w->at[i]), last) >= (uint64_t)f->horizon;
    }
    llap_windows_keep(w, covered);
    llap_free(covered);
    return LLAP_OK;
}

/* By time: no window of one part sees a target time of another (data/split.h, purged). */
static llap_part part_of(const llap_model_frame *f, const llap_windows *w, const llap_window *v,
                         const int64_t *entity)
{
    if (f->by_entity)
        return entity[v->entity] < 0 ? LLAP_PART_TEST : (llap_part)f->part[entity[v->entity]];
    const int64_t *t = w->panel->time;
    const int64_t  first = t[llap_window_query(v)], last = t[llap_window_last(v)];
    if (last < f->val_start) return LLAP_PART_TRAIN;
    if (first >= f->test_start) return LLAP_PART_TEST;
    return first >= f->val_start && last < f->test_start ? LLAP_PART_VAL : LLAP_PART_PURGED;
}

/* Both lists are sorted bytewise. */
static void match_entities(const llap_model_frame *f, const llap_panel *p, int64_t *entity)
{
    for (int64_t e = 0, k = 0; e < p->n_entities; e++) {
        while (k < f->n_entities && strcmp(f->entity[k], p->entity[e]) < 0) k++;
        entity[e] = k < f->n_entities && strcmp(f->entity[k], p->entity[e]) == 0 ? k : -1;
    }
}

llap_status task_split(const llap_model_frame *f, const llap_windows *w, llap_split **out)
{
    *out = NULL;
    llap_split *s = llap_new(1, sizeof *s);
    int64_t    *entity = llap_new((size_t)w->panel->n_entities, sizeof *entity);
    if (s != NULL) s->part = llap_new((size_t)w->n, sizeof *s->part);
    if (s == NULL || entity == NULL || s->part == NULL) {
        llap_split_destroy(s);
        llap_free(entity);
        return LLAP_ENOMEM;
    }
    match_entities(f, w->panel, entity);
    s->n_windows = w->n;
    s->val_start = f->val_start;
    s->test_start = f->test_start;
    for (int64_t i = 0; i < w->n; i++) {
        s->part[i] = (uint8_t)part_of(f, w, &w->at[i], entity);
        s->n[s->part[i]]++;
    }
    llap_free(entity);
    *out = s;
    return LLAP_OK;
}

void task_name_windows(const llap_model_frame *f, const int64_t *end, int64_t n, char *text,
                       size_t size)
{
    enum { NAMED = 4 };
    size_t at = strlen(text);
    for (int64_t i = 0; i < n && i < NAMED && at < size; i++) {
        char time[LLAP_TIME_TEXT_MAX];
        if (f->axis == LLAP_AXIS_CALENDAR) llap_time_format(end[i], NULL, 0, time);
        else snprintf(time, sizeof time, "%g", (double)end[i] / (double)f->axis_unit);
        at += (size_t)snprintf(text + at, size - at, "%s %s",
                               i == 0 ? "; windows that end at" : ",", time);
    }
    if (n > NAMED && at < size)
        snprintf(text + at, size - at, " and %lld more", (long long)n - NAMED);
}
