/* Scoring a model on the part of the data that its training has not seen, beside the opponents that
 * any model has to beat, on the same windows and the same scale. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/text.h"
#include "data/naive.h"
#include "task/forecaster.h"
#include "task/metric.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR INT64_C(3600000000000)

enum { LEVELS = 3, DAYS = 14, BATCH = 256, SAMPLES = 200 };

static const double level[LEVELS] = { 0.5, 0.8, 0.95 };

typedef struct scores {
    llap_score model, day, naive[LLAP_NAIVE_COUNT];
    double     inside[LEVELS]; /* share of truths within the central intervals */
    int64_t    windows;
    bool       has_day;
} scores;

/* Of the wanted part only windows at least stride apart stay; the others count as purged. */
static void thin(const llap_windows *w, llap_split *s, llap_part part, int64_t stride)
{
    int64_t last = 0;
    int32_t entity = -1;
    for (int64_t i = 0; i < w->n; i++) {
        if (s->part[i] != part) continue;
        const int64_t end = llap_window_end(w, &w->at[i]);
        if (w->at[i].entity == entity && end - last < stride) {
            s->part[i] = LLAP_PART_PURGED;
            s->n[part]--;
            s->n[LLAP_PART_PURGED]++;
            continue;
        }
        entity = w->at[i].entity;
        last = end;
    }
}

static void add(llap_score *s, double crps, double error)
{
    s->crps += crps;
    s->mae += fabs(error);
    s->mse += error * error;
    s->n++;
}

static void finish(llap_score *s)
{
    const double n = s->n > 0 ? (double)s->n : NAN;
    s->crps /= n;
    s->mae /= n;
    s->mse /= n;
}

/* The value of a series at time t, or NaN. */
static double value_at(const llap_series *s, double t)
{
    size_t lo = 0, hi = s->n;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (s->t[mid] < t - 1e-6) lo = mid + 1;
        else hi = mid;
    }
    return lo < s->n && fabs(s->t[lo] - t) <= 1e-6 ? s->y[lo] : NAN;
}

/* The last days of the context as an ensemble of paths: member d is what was measured d days
 * before, at the same time of day. Fair CRPS. Without two members: not scored. */
static void add_day(llap_score *out, const llap_chain *c, size_t series, const llap_series *s,
                    double origin, double context, double t, double z)
{
    double       x[DAYS];
    int          n = 0;
    const double back = 24 * ceil((t - origin) / 24 - 1e-9);
    for (int d = 0; d < DAYS; d++) {
        const double at = t - back - 24 * d;
        const double y = at > origin - context ? value_at(s, at) : NAN;
        if (!isnan(y)) x[n++] = llap_chain_z(c, series, y);
    }
    if (n < 2) return;
    double mean = 0, away = 0, apart = 0;
    for (int i = 0; i < n; i++) {
        mean += x[i] / n;
        away += fabs(x[i] - z) / n;
        for (int k = 0; k < i; k++) apart += fabs(x[i] - x[k]);
    }
    add(out, away - apart / ((double)n * (n - 1)), z - mean);
}

/* The windows of a list as forecasters see them, [n] into w. */
static void ask_about(const llap_windows *all, const int64_t *list, int64_t n, task_window *w)
{
    for (int64_t i = 0; i < n; i++) {
        const llap_window *v = &all->at[list[i]];
        const int64_t      end = llap_window_query(v), origin = llap_window_end(all, v);
        w[i] = (task_window){ .entity = v->entity,
                              .first = v->first,
                              .end = end,
                              .origin = origin,
                              .n_query = v->n_query,
                              .time = all->panel->time + end,
                              .id = task_window_id(all->panel, v->entity, origin) };
    }
}

/* Members of one query in order, on the scale; room [f->n]. */
static void members_at(const task_forecast *f, int64_t n_query, int64_t q, const llap_chain *c,
                       size_t series, double *room)
{
    for (int64_t k = 0; k < f->n; k++) room[k] = llap_chain_z(c, series, f->value[k * n_query + q]);
    metric_sort(room, f->n);
}

static void score_window(const llap_model *m, int64_t target, int64_t var, const llap_panel *p,
                         const task_window *w, const task_forecast *f, const llap_series *s,
                         double *room, scores *out)
{
    const llap_chain *c = m->anchor[target]->chain;
    const int64_t     known = llap_model_entity(m, p->entity[w->entity]);
    const size_t      series = known < 0 ? SIZE_MAX : (size_t)known;
    for (int64_t q = 0; q < w->n_query; q++) {
        if (!llap_panel_observed(p, w->end + q, var)) continue;
        const double z = llap_chain_z(c, series, (double)p->value[(w->end + q) * p->n_vars + var]);
        members_at(f, w->n_query, q, c, series, room);
        add(&out->model, metric_crps(room, f->n, z, f->drawn), z - metric_mean(room, f->n));
        for (int k = 0; k < LEVELS; k++)
            out->inside[k] += z >= metric_quantile(room, f->n, 0.5 - 0.5 * level[k]) &&
                              z <= metric_quantile(room, f->n, 0.5 + 0.5 * level[k]);
        if (out->has_day)
            add_day(&out->day, c, series, s, llap_model_time(m, w->origin),
                    m->anchor[target]->spec.context, llap_model_time(m, w->time[q]), z);
    }
}

static void merge_by_time(const llap_windows *w, int64_t *from, int64_t *to, size_t n)
{
    if (n < 2) return;
    const size_t half = n / 2;
    merge_by_time(w, from, to, half);
    merge_by_time(w, from + half, to + half, n - half);
    memcpy(to, from, n * sizeof *to);
    size_t i = 0, j = half;
    for (size_t k = 0; k < n; k++) {
        const bool left = j == n || (i < half && llap_window_end(w, &w->at[to[i]]) <=
                                                     llap_window_end(w, &w->at[to[j]]));
        from[k] = left ? to[i++] : to[j++];
    }
}

/* Windows of the list in order of their origins; those of one origin stay in order. */
static llap_status sort_by_time(const llap_windows *w, int64_t *list, size_t n)
{
    int64_t *room = llap_new(n, sizeof *room);
    if (room == NULL) return LLAP_ENOMEM;
    merge_by_time(w, list, room, n);
    llap_free(room);
    return LLAP_OK;
}

/* Windows number first .. first + n - 1 of the list, all targets. */
static llap_status score_batch(const llap_model *m, const int64_t *var, const llap_windows *all,
                               const task_series *series, const task_forecaster *by,
                               const int64_t *list, int64_t n, scores *out)
{
    const task_ask ask = { .n_samples = SAMPLES, .seed = 1 };
    llap_arena     arena = { 0 };
    task_window   *w = llap_arena_new(&arena, (size_t)n, sizeof *w);
    task_forecast *f = llap_arena_new(&arena, (size_t)(n * by->n_targets), sizeof *f);
    double        *room = llap_arena_new(&arena, SAMPLES, sizeof *room);
    llap_status    st = w == NULL || f == NULL || room == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) {
        ask_about(all, list, n, w);
        st = by->forecast(by, &ask, w, n, &arena, f);
    }
    for (int64_t i = 0; st == LLAP_OK && i < n; i++)
        for (int64_t k = 0; k < by->n_targets; k++)
            score_window(m, k, var[k], all->panel, &w[i], &f[i * by->n_targets + k],
                         &series[k].series[w[i].entity], room, &out[k]);
    llap_arena_deinit(&arena);
    return st;
}

static llap_status score_model(const llap_model *m, const int64_t *var, const llap_windows *w,
                               const llap_split *split, llap_part part, llap_progress progress,
                               scores *out)
{
    const int64_t   n_targets = m->frame.n_targets;
    int64_t        *list = llap_new((size_t)split->n[part], sizeof *list);
    task_series    *series = llap_new((size_t)n_targets, sizeof *series);
    task_forecaster by = { 0 };
    llap_status     st = list == NULL || series == NULL ? LLAP_ENOMEM : LLAP_OK;
    int64_t         n = 0;
    for (int64_t k = 0; st == LLAP_OK && k < n_targets; k++)
        st = task_series_init(&series[k], w->panel, var[k], m->frame.unit);
    if (st == LLAP_OK) st = task_anchor_forecaster(m, w->panel, var, &by);
    for (int64_t i = 0; st == LLAP_OK && i < w->n; i++)
        if (split->part[i] == part) list[n++] = i;
    if (st == LLAP_OK) st = sort_by_time(w, list, (size_t)n);
    for (int64_t i = 0; st == LLAP_OK && i < n; i += BATCH) {
        const int64_t some = n - i < BATCH ? n - i : BATCH;
        st = score_batch(m, var, w, series, &by, list + i, some, out);
        if (st == LLAP_OK)
            st = llap_report(progress,
                             &(llap_progress_event){ "scoring", i + some, n, "windows", NULL });
    }
    for (int64_t k = 0; k < n_targets; k++) {
        out[k].windows = n;
        for (int i = 0; i < LEVELS; i++) out[k].inside[i] /= (double)out[k].model.n;
        finish(&out[k].model);
        finish(&out[k].day);
        if (series != NULL) task_series_deinit(&series[k]);
    }
    task_forecaster_deinit(&by);
    llap_free(series);
    llap_free(list);
    return st;
}

/* The opponents see the same scale as the model: z of its chain. */
static llap_status scale_by_chain(const llap_model *m, int64_t target, int64_t var,
                                  const llap_panel *p, llap_scaled **out)
{
    const size_t n = (size_t)p->n_rows;
    llap_scaled *s = *out = llap_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    *s = (llap_scaled){ .n_rows = p->n_rows, .n_features = 1, .n_targets = 1 };
    s->x = llap_new(n, sizeof *s->x);
    s->y = llap_new(n, sizeof *s->y);
    s->x_obs = llap_new(n, sizeof *s->x_obs);
    s->y_obs = llap_new(n, sizeof *s->y_obs);
    if (s->x == NULL || s->y == NULL || s->x_obs == NULL || s->y_obs == NULL) return LLAP_ENOMEM;
    for (int64_t e = 0; e < p->n_entities; e++) {
        const int64_t known = llap_model_entity(m, p->entity[e]);
        for (int64_t r = p->start[e]; r < p->start[e + 1]; r++) {
            if (!llap_panel_observed(p, r, var)) continue;
            s->x[r] = s->y[r] =
                (float)llap_chain_z(m->anchor[target]->chain, known < 0 ? SIZE_MAX : (size_t)known,
                                    (double)p->value[r * p->n_vars + var]);
            s->x_obs[r] = s->y_obs[r] = 1;
        }
    }
    return LLAP_OK;
}

static llap_status score_naive(const llap_model *m, int64_t target, int64_t var,
                               const llap_windows *w, const llap_split *split, llap_part part,
                               scores *out)
{
    llap_scaled  *scaled = NULL;
    llap_status   st = scale_by_chain(m, target, var, w->panel, &scaled);
    const int64_t season = m->frame.axis == LLAP_AXIS_CALENDAR && 24 * HOUR % m->frame.step == 0
                               ? 24 * HOUR / m->frame.step
                               : 1;
    if (st == LLAP_OK)
        st = llap_naive_scores(w, split, scaled,
                               &(llap_naive_opts){ .part = part, .period_rows = season },
                               out->naive);
    llap_scaled_destroy(scaled);
    return st;
}

static llap_status score_all(const llap_model *m, const llap_panel *p, const int64_t *var,
                             llap_part part, int64_t stride, llap_progress progress, scores *out)
{
    llap_windows *w = NULL;
    llap_split   *split = NULL;
    for (int64_t k = 0; k < m->frame.n_targets; k++)
        out[k].has_day = m->frame.axis == LLAP_AXIS_CALENDAR && m->frame.step <= 6 * HOUR;
    llap_status st = task_windows(&m->frame, p, var, m->frame.n_targets, &w);
    if (st == LLAP_OK) st = task_split(&m->frame, w, &split);
    if (st == LLAP_OK && split->n[part] == 0)
        st = llap_fail(LLAP_EINVAL,
                       "the data has no %s window: %lld were for training, %lld for "
                       "validation, %lld for testing",
                       llap_part_name(part), (long long)split->n[LLAP_PART_TRAIN],
                       (long long)split->n[LLAP_PART_VAL], (long long)split->n[LLAP_PART_TEST]);
    if (st == LLAP_OK) thin(w, split, part, stride);
    if (st == LLAP_OK) st = score_model(m, var, w, split, part, progress, out);
    for (int64_t k = 0; st == LLAP_OK && k < m->frame.n_targets; k++) {
        st = score_naive(m, k, var[k], w, split, part, &out[k]);
        if (st != LLAP_OK) llap_fail_in(st, "%s", llap_text_show(m->frame.target[k]).text);
    }
    llap_split_destroy(split);
    llap_windows_destroy(w);
    return st;
}

/* ---- the report ---- */

static void put_score(llap_json_writer *w, const char *key, const llap_score *s)
{
    llap_json_open(w, key, '{');
    llap_json_put_double(w, "crps", s->crps);
    llap_json_put_double(w, "mae", s->mae);
    llap_json_put_double(w, "mse", s->mse);
    llap_json_put_int(w, "n", s->n);
    llap_json_close(w, '}');
}

static llap_status report_json(const llap_model *m, const scores *s, char **text)
{
    llap_json_writer w = { .indent = 2 };
    size_t           n;
    llap_json_open(&w, NULL, '{');
    for (int64_t i = 0; i < m->frame.n_targets; i++) {
        llap_json_open(&w, m->frame.target[i], '{');
        llap_json_put_int(&w, "windows", s[i].windows);
        put_score(&w, "model", &s[i].model);
        if (s[i].has_day) put_score(&w, "context_days", &s[i].day);
        for (int k = 0; k < LLAP_NAIVE_COUNT; k++)
            put_score(&w, llap_naive_name((llap_naive)k), &s[i].naive[k]);
        llap_json_open(&w, "coverage", '{');
        for (int k = 0; k < LEVELS; k++) {
            char key[16];
            snprintf(key, sizeof key, "%g", level[k]);
            llap_json_put_double(&w, key, s[i].inside[k]);
        }
        llap_json_close(&w, '}');
        llap_json_close(&w, '}');
    }
    llap_json_close(&w, '}');
    return llap_json_finish(&w, text, &n);
}

static void print_score(FILE *f, const char *name, const llap_score *s)
{
    if (s->n > 0) fprintf(f, "  %-20s %8.4f %8.4f %8.4f\n", name, s->crps, s->mae, s->mse);
}

static llap_status report_table(const llap_model *m, const scores *s, char **text)
{
    char  *buffer = NULL;
    size_t n = 0;
    FILE  *f = open_memstream(&buffer, &n);
    if (f == NULL) return llap_fail(LLAP_ENOMEM, "out of memory");
    for (int64_t i = 0; i < m->frame.n_targets; i++) {
        fprintf(f, "%s: %lld values of %lld windows, in standard deviations of training\n",
                m->frame.target[i], (long long)s[i].model.n, (long long)s[i].windows);
        fprintf(f, "  %-20s %8s %8s %8s\n", "", "CRPS", "MAE", "MSE");
        print_score(f, "model", &s[i].model);
        if (s[i].has_day) print_score(f, "context_days", &s[i].day);
        for (int k = 0; k < LLAP_NAIVE_COUNT; k++)
            print_score(f, llap_naive_name((llap_naive)k), &s[i].naive[k]);
        fprintf(f, "  intervals hold       ");
        for (int k = 0; k < LEVELS; k++)
            fprintf(f, "%s%.0f %% in %.1f %%", k > 0 ? ", " : "", 100 * level[k],
                    100 * s[i].inside[k]);
        fprintf(f, "\n");
    }
    const bool ok = fclose(f) == 0;
    *text = ok ? llap_strndup(buffer, n) : NULL;
    free(buffer);
    return *text == NULL ? LLAP_ENOMEM : LLAP_OK;
}

llap_status llap_evaluate(const llap_model *m, const llap_panel *panel, const llap_evaluate_opts *o,
                          int json, char **text)
{
    *text = NULL;
    llap_part part = LLAP_PART_TEST;
    if (o->part != NULL && strcmp(o->part, "validation") == 0) part = LLAP_PART_VAL;
    else if (o->part != NULL && strcmp(o->part, "test") != 0)
        return llap_fail(LLAP_EINVAL, "part: expected test or validation, found '%s'",
                         llap_text_show(o->part).text);
    int64_t stride;
    if (__builtin_mul_overflow(23, m->frame.step, &stride)) stride = INT64_MAX;
    llap_status st = task_check_axis(m, panel);
    if (st != LLAP_OK) return st;
    int64_t *var = llap_new((size_t)m->frame.n_targets, sizeof *var);
    scores  *s = llap_new((size_t)m->frame.n_targets, sizeof *s);
    st = var == NULL || s == NULL ? LLAP_ENOMEM : task_columns(m, panel, var);
    if (st == LLAP_OK && o->stride != NULL)
        st = task_span("stride", o->stride, &panel->axis, m->frame.step, &stride);
    if (st == LLAP_OK) st = score_all(m, panel, var, part, stride, o->progress, s);
    if (st == LLAP_OK) st = json ? report_json(m, s, text) : report_table(m, s, text);
    llap_free(s);
    llap_free(var);
    return st;
}
