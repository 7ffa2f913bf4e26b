/* Scoring a model on the part of the data that its training has not seen, beside the opponents that
 * any model has to beat, on the same windows and the same scale. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/text.h"
#include "data/naive.h"
#include "task/task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR INT64_C(3600000000000)

enum { LEVELS = 3, DAYS = 14, BATCH = 256 };

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

/* The windows number first .. first + n - 1 of `list`. */
static llap_status score_batch(const llap_model *m, int64_t target, const llap_windows *w,
                               const task_series *series, const llap_series *all,
                               const int64_t *known, const int64_t *list, size_t n, scores *out)
{
    const llap_anchor_model *a = m->anchor[target];
    size_t                   total = 0;
    for (size_t i = 0; i < n; i++) total += (size_t)w->at[list[i]].n_query;
    llap_anchor_request *r = llap_new(n, sizeof *r);
    llap_law            *law = llap_new(total, sizeof *law);
    llap_status          st = r == NULL || law == NULL ? LLAP_ENOMEM : LLAP_OK;
    size_t               at = 0;
    for (size_t i = 0; st == LLAP_OK && i < n; i++) {
        const llap_window *v = &w->at[list[i]];
        const llap_series *s = &series->series[v->entity];
        r[i] = (llap_anchor_request){
            .history = *s,
            .series = known[v->entity] < 0 ? SIZE_MAX : (size_t)known[v->entity],
            .origin = llap_model_time(m, llap_window_end(w, v)),
            .n_query = (size_t)v->n_query,
            .t_query = s->t + (llap_window_query(v) - w->panel->start[v->entity]),
            .law = law + at,
            .all = all,
        };
        at += r[i].n_query;
    }
    double edge[LEVELS];
    for (int k = 0; k < LEVELS; k++) edge[k] = task_normal_score(0.5 + 0.5 * level[k]);
    if (st == LLAP_OK) st = llap_anchor_model_forecast(a, r, n);
    for (size_t i = 0; st == LLAP_OK && i < n; i++) {
        const double *y = r[i].history.y + (r[i].t_query - r[i].history.t);
        for (size_t q = 0; q < r[i].n_query; q++) {
            if (isnan(y[q])) continue;
            double       mean;
            const double z = llap_chain_z(a->chain, r[i].series, y[q]);
            const double crps = llap_anchor_crps_z(a, &r[i].law[q], z, &mean);
            add(&out->model, crps, z - mean);
            for (int k = 0; k < LEVELS; k++) {
                const double x = edge[k];
                const double lo = llap_anchor_quantile_z(a, &r[i].law[q], -x);
                const double hi = llap_anchor_quantile_z(a, &r[i].law[q], x);
                out->inside[k] += z >= lo && z <= hi;
            }
            if (out->has_day)
                add_day(&out->day, a->chain, r[i].series, &r[i].history, r[i].origin,
                        a->spec.context, r[i].t_query[q], z);
        }
    }
    llap_free(r);
    llap_free(law);
    return st;
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

static llap_status score_model(const llap_model *m, int64_t target, int64_t var,
                               const llap_windows *w, const llap_split *split, llap_part part,
                               llap_progress progress, scores *out)
{
    const llap_panel *p = w->panel;
    task_series       series = { 0 };
    llap_series      *all = NULL;
    int64_t          *list = llap_new((size_t)split->n[part], sizeof *list);
    int64_t          *known = llap_new((size_t)p->n_entities, sizeof *known);
    llap_status       st = list == NULL || known == NULL ? LLAP_ENOMEM : LLAP_OK;
    size_t            n = 0;
    if (st == LLAP_OK) st = task_series_init(&series, p, var, m->frame.unit);
    if (st == LLAP_OK) st = task_linked(m, target, p, &series, &all);
    for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++)
        known[e] = llap_model_entity(m, p->entity[e]);
    for (int64_t i = 0; st == LLAP_OK && i < w->n; i++)
        if (split->part[i] == part) list[n++] = i;
    if (all != NULL) st = sort_by_time(w, list, n); /* forecasts of one time share their work */
    for (size_t i = 0; st == LLAP_OK && i < n; i += BATCH) {
        st = score_batch(m, target, w, &series, all, known, list + i, n - i < BATCH ? n - i : BATCH,
                         out);
        if (st == LLAP_OK)
            st = llap_report(progress, &(llap_progress_event){
                                           "scoring", (int64_t)(n - i < BATCH ? n : i + BATCH),
                                           (int64_t)n, "windows", NULL });
    }
    out->windows = (int64_t)n;
    for (int k = 0; k < LEVELS; k++) out->inside[k] /= (double)out->model.n;
    finish(&out->model);
    finish(&out->day);
    task_series_deinit(&series);
    llap_free(all);
    llap_free(list);
    llap_free(known);
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

static llap_status score_target(const llap_model *m, const llap_panel *p, int64_t target,
                                int64_t var, llap_part part, int64_t stride, llap_progress progress,
                                scores *out)
{
    llap_windows *w = NULL;
    llap_split   *split = NULL;
    *out = (scores){ .has_day = m->frame.axis == LLAP_AXIS_CALENDAR && m->frame.step <= 6 * HOUR };
    llap_status st = task_windows(&m->frame, p, &var, 1, &w);
    if (st == LLAP_OK) st = task_split(&m->frame, w, &split);
    if (st == LLAP_OK && split->n[part] == 0)
        st = llap_fail(LLAP_EINVAL,
                       "the data has no %s window: %lld were for training, %lld for "
                       "validation, %lld for testing",
                       llap_part_name(part), (long long)split->n[LLAP_PART_TRAIN],
                       (long long)split->n[LLAP_PART_VAL], (long long)split->n[LLAP_PART_TEST]);
    if (st == LLAP_OK) thin(w, split, part, stride);
    if (st == LLAP_OK) st = score_model(m, target, var, w, split, part, progress, out);
    if (st == LLAP_OK) st = score_naive(m, target, var, w, split, part, out);
    llap_split_destroy(split);
    llap_windows_destroy(w);
    return st == LLAP_OK ? st
                         : llap_fail_in(st, "%s", llap_text_show(m->frame.target[target]).text);
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
    for (int64_t i = 0; st == LLAP_OK && i < m->frame.n_targets; i++)
        st = score_target(m, panel, i, var[i], part, stride, o->progress, &s[i]);
    if (st == LLAP_OK) st = json ? report_json(m, s, text) : report_table(m, s, text);
    llap_free(s);
    llap_free(var);
    return st;
}
