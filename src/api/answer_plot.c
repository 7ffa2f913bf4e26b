/* Answers as pictures: the rows of an answer, and the panel they are about, to fields of
 * plot/fan_plot.h. */
#include "folder.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "plot/fan_plot.h"
#include "plot/picture.h"
#include "predict/tables/answer.h"
#include "predict/view/only.h"

#include <llapdiff/model.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILLED_ROWS = 240, PATHS = 50 }; /* shown of a record with filled gaps; of draws */

typedef struct drawing {
    const llap_answer *a;
    const llap_panel  *p;
    ll_arena           arena;
    ll_fans            fans;
    int                low[LL_FAN_BANDS], high[LL_FAN_BANDS]; /* numbers of the rows */
    int                middle;
} drawing;

typedef struct plot_row {
    ll_answer_row is;
    const double *number;
} plot_row;

/* The rows of each line behind one another. */
static int compare_rows(const void *x, const void *y)
{
    const ll_answer_row *a = &((const plot_row *)x)->is, *b = &((const plot_row *)y)->is;
    if (a->entity != b->entity) return a->entity < b->entity ? -1 : 1;
    if (a->target != b->target) return a->target < b->target ? -1 : 1;
    if (a->origin != b->origin) return a->origin < b->origin ? -1 : 1;
    if (a->scenario != b->scenario) return a->scenario < b->scenario ? -1 : 1;
    if (a->sample != b->sample) return a->sample < b->sample ? -1 : 1;
    return (a->time > b->time) - (a->time < b->time);
}

/* Quantiles q and 1 - q are a band; 0.5, or the mean, is the line. */
static void choose_numbers(drawing *d)
{
    const llap_answer *a = d->a;
    d->middle = 0;
    d->fans.middle = (a->kind & LL_ANSWER_SAMPLES) != 0 ? NULL : "mean";
    for (int i = 0; i < a->n_quantiles; i++) {
        if (a->quantile[i] == 0.5) d->middle = 1 + i, d->fans.middle = "median";
        for (int k = i + 1; k < a->n_quantiles && d->fans.n_bands < LL_FAN_BANDS; k++) {
            if (fabs(a->quantile[i] + a->quantile[k] - 1) > 1e-9) continue;
            d->low[d->fans.n_bands] = 1 + i;
            d->high[d->fans.n_bands] = 1 + k;
            d->fans.cover[d->fans.n_bands++] = a->quantile[k] - a->quantile[i];
        }
    }
}

/* The measured values of a series within a stretch of time. */
static llap_status take_seen(drawing *d, ll_fan *fan, int64_t e, int64_t v, int64_t first,
                             int64_t last)
{
    const llap_panel *p = d->p;
    const size_t      room = (size_t)(p->start[e + 1] - p->start[e]);
    int64_t          *time = ll_arena_new(&d->arena, room, sizeof *time);
    double           *seen = ll_arena_new(&d->arena, room, sizeof *seen);
    if (time == NULL || seen == NULL) return LLAP_ENOMEM;
    for (int64_t r = p->start[e]; r < p->start[e + 1]; r++)
        if (p->time[r] >= first && p->time[r] <= last && ll_panel_observed(p, r, v)) {
            time[fan->n_seen] = p->time[r];
            seen[fan->n_seen++] = (double)p->value[r * p->n_vars + v];
        }
    fan->seen_time = time;
    fan->seen = seen;
    return LLAP_OK;
}

/* Room for the numbers of n times. */
static llap_status make_lines(drawing *d, ll_fan *fan, size_t n, int64_t **time, double **line)
{
    const size_t lines = 1 + 2 * (size_t)d->fans.n_bands;
    *time = ll_arena_new(&d->arena, n, sizeof **time);
    *line = ll_arena_new(&d->arena, lines * n, sizeof **line);
    if (*time == NULL || *line == NULL) return LLAP_ENOMEM;
    fan->n = (int64_t)n;
    fan->time = *time;
    fan->middle = *line;
    for (int b = 0; b < d->fans.n_bands; b++) {
        fan->low[b] = *line + (size_t)(1 + 2 * b) * n;
        fan->high[b] = *line + (size_t)(2 + 2 * b) * n;
    }
    return LLAP_OK;
}

static void put_numbers(const drawing *d, double *line, size_t n, size_t i, const double *r,
                        double measured)
{
    line[i] = r == NULL ? measured : r[d->middle];
    for (int b = 0; b < d->fans.n_bands; b++) {
        line[(size_t)(1 + 2 * b) * n + i] = r == NULL ? measured : r[d->low[b]];
        line[(size_t)(2 + 2 * b) * n + i] = r == NULL ? measured : r[d->high[b]];
    }
}

/* How many rows a path has, and how many paths are shown; quantiles are one. */
static bool count_paths(const drawing *d, const plot_row *row, size_t n, size_t *steps,
                        size_t *paths)
{
    const bool draws = (d->a->kind & LL_ANSWER_SAMPLES) != 0;
    *steps = n;
    if (draws)
        for (*steps = 1; *steps < n && row[*steps].is.sample == row[0].is.sample;) ++*steps;
    *paths = n / *steps < PATHS ? n / *steps : PATHS;
    return draws;
}

static void show_paths(ll_fan *fan, size_t paths, const double *line)
{
    fan->middle = NULL;
    fan->n_paths = (int64_t)paths;
    fan->path = line;
}

/* Lines of all scenarios; row [n] has them behind one another, each about the same times. */
static llap_status take_scenarios(drawing *d, ll_fan *fan, const plot_row *row, size_t n)
{
    const size_t     all = (size_t)d->a->n_scenarios, steps = n / all;
    const bool       band = d->fans.n_bands > 0;
    ll_fan_scenario *s = ll_arena_new(&d->arena, all, sizeof *s);
    double          *line = ll_arena_new(&d->arena, 3 * n, sizeof *line);
    if (s == NULL || line == NULL) return LLAP_ENOMEM;
    if (steps * all != n)
        return ll_fail(LLAP_EINVAL, "%zu rows of an entity: not as many in each of %zu scenarios",
                       n, all);
    for (size_t i = 0; i < n; i++) {
        if (row[i].is.time != row[i % steps].is.time || row[i].is.scenario != (int32_t)(i / steps))
            return ll_fail(LLAP_EINVAL, "scenarios are about different times");
        line[i] = row[i].number[d->middle];
        line[n + i] = band ? row[i].number[d->low[0]] : 0;
        line[2 * n + i] = band ? row[i].number[d->high[0]] : 0;
    }
    for (size_t k = 0; k < all; k++)
        s[k] = (ll_fan_scenario){ .middle = line + k * steps,
                                  .low = band ? line + n + k * steps : NULL,
                                  .high = band ? line + 2 * n + k * steps : NULL };
    fan->scenario = s;
    fan->middle = NULL;
    return LLAP_OK;
}

/* Three horizons of history, the forecast, and the truth as far as the panel has it. */
static llap_status forecast_fan(drawing *d, ll_fan *fan, const plot_row *row, size_t n, int64_t v)
{
    size_t      steps, paths;
    const bool  draws = count_paths(d, row, n, &steps, &paths);
    int64_t    *time;
    double     *line;
    llap_status st = make_lines(d, fan, draws ? steps * paths : n, &time, &line);
    if (st != LLAP_OK) return st;
    for (size_t i = 0; i < (draws ? steps * paths : n); i++) {
        time[i] = row[i].is.time;
        if (draws) line[i] = row[i].number[0];
        else put_numbers(d, line, n, i, row[i].number, 0);
    }
    if (d->a->n_scenarios > 0) {
        st = take_scenarios(d, fan, row, n);
        if (st != LLAP_OK) return st;
        steps = n / (size_t)d->a->n_scenarios;
    }
    fan->n = (int64_t)steps;
    if (draws) show_paths(fan, paths, line);
    fan->origin = row[0].is.origin;
    const int64_t last = row[steps - 1].is.time;
    int64_t       back; /* as far as can be said */
    if (__builtin_sub_overflow(last, fan->origin, &back) ||
        __builtin_mul_overflow(back, 3, &back) ||
        __builtin_sub_overflow(fan->origin, back, &fan->first))
        fan->first = INT64_MIN;
    fan->last = last;
    return take_seen(d, fan, row[0].is.entity, v, fan->first, last);
}

/* Where to look in a long record: the FILLED_ROWS rows that hold most answers, as long as two
 * thirds of them were measured, so that one sees gaps and not silence. */
static int64_t richest(const llap_panel *p, int64_t e, const plot_row *row, size_t n)
{
    const int64_t end = p->start[e + 1];
    int64_t       best = p->start[e];
    size_t        most = 0, from = 0, to = 0;
    bool          gaps = false;
    for (int64_t r = p->start[e]; r + FILLED_ROWS <= end; r += FILLED_ROWS / 8) {
        while (from < n && row[from].is.time < p->time[r]) from++;
        while (to < n && row[to].is.time <= p->time[r + FILLED_ROWS - 1]) to++;
        const bool among = 3 * (to - from) <= FILLED_ROWS;
        if (gaps ? among && to - from > most : to - from > most || (among && to > from))
            gaps = among, most = to - from, best = r;
    }
    return best;
}

/* The band is closed where a value was measured. */
static llap_status filled_fan(drawing *d, ll_fan *fan, const plot_row *row, size_t n, int64_t v)
{
    const llap_panel *p = d->p;
    size_t            steps, paths;
    const bool        draws = count_paths(d, row, n, &steps, &paths);
    const int64_t     e = row[0].is.entity, first = richest(p, e, row, steps);
    int64_t           rows = p->start[e + 1] - first, *time;
    double           *line;
    if (rows > FILLED_ROWS) rows = FILLED_ROWS;
    llap_status st = make_lines(d, fan, (size_t)rows * paths, &time, &line);
    size_t      at = 0;
    for (int64_t i = 0; st == LLAP_OK && i < rows * (int64_t)paths; i++) {
        const int64_t r = first + i % rows;
        const size_t  k = (size_t)(i / rows);
        if (i % rows == 0) at = k * steps;
        time[i] = p->time[r];
        while (at < (k + 1) * steps && row[at].is.time < time[i]) at++;
        const bool   answered = at < (k + 1) * steps && row[at].is.time == time[i];
        const double measured =
            ll_panel_observed(p, r, v) ? (double)p->value[r * p->n_vars + v] : (double)NAN;
        if (draws) line[i] = answered ? row[at].number[0] : measured;
        else
            put_numbers(d, line, (size_t)rows, (size_t)i, answered ? row[at].number : NULL,
                        measured);
    }
    fan->n = rows;
    if (st == LLAP_OK && draws) show_paths(fan, paths, line);
    fan->origin = INT64_MAX;
    if (st == LLAP_OK) st = take_seen(d, fan, e, v, time[0], time[rows - 1]);
    return st;
}

/* The ends of the training range that the answers of a field reach beyond. */
static void set_range(const drawing *d, ll_fan *fan, const plot_row *row, size_t n)
{
    const llap_answer *a = d->a;
    const int64_t      at = row->is.entity * a->n_targets + row->is.target;
    if (a->low == NULL) return;
    fan->range[0] = a->low[at];
    fan->range[1] = a->high[at];
    for (size_t i = 0; i < n; i++) {
        fan->beyond[0] |= row[i].number[0] < a->low[at];
        fan->beyond[1] |= row[i].number[0] > a->high[at];
    }
}

/* "temp (K)" where the file says the unit: what the fans look for in a name. */
static const char *name_with_unit(drawing *d, int64_t variable)
{
    const char *name = d->p->var[variable];
    const char *unit = d->p->unit == NULL ? "" : d->p->unit[variable];
    return unit[0] == '\0' ? name : ll_arena_printf(&d->arena, "%s (%s)", name, unit);
}

/* Where the rows of row i's series and origin end. */
static size_t end_of(const plot_row *row, size_t n, size_t i)
{
    size_t to = i + 1;
    while (to < n && row[to].is.entity == row[i].is.entity &&
           row[to].is.target == row[i].is.target && row[to].is.origin == row[i].is.origin)
        to++;
    return to;
}

/* Fans of rows [n], at most so many. */
static llap_status make_fans(drawing *d, const plot_row *row, size_t n, int64_t most)
{
    const llap_answer *a = d->a;
    d->fans.n = 0;
    for (size_t i = 0; i < n; i = end_of(row, n, i)) d->fans.n++;
    d->fans.n_fans = d->fans.n < most ? d->fans.n : most;
    ll_fan     *fan = ll_arena_new(&d->arena, (size_t)d->fans.n_fans, sizeof *fan);
    llap_status st = fan == NULL ? LLAP_ENOMEM : LLAP_OK;
    d->fans.fan = fan;
    int64_t k = 0;
    for (size_t i = 0, to; st == LLAP_OK && k < d->fans.n_fans; i = to, k++) {
        const ll_answer_row *r = &row[i].is;
        to = end_of(row, n, i);
        ll_fan       *f = &fan[k];
        const int64_t v = ll_panel_find_var(d->p, a->target[r->target]);
        if (r->entity >= d->p->n_entities || v < 0 ||
            strcmp(d->p->entity[r->entity], a->entity[r->entity]) != 0)
            return ll_fail(LLAP_EINVAL, "the answer is not about this panel");
        f->entity = a->entity[r->entity];
        f->variable = name_with_unit(d, v);
        if (f->variable == NULL) return LLAP_ENOMEM;
        set_range(d, f, row + i, to - i);
        st = (a->kind & LL_ANSWER_IMPUTATION) != 0 ? filled_fan(d, f, row + i, to - i, v)
                                                   : forecast_fan(d, f, row + i, to - i, v);
    }
    return st;
}

/* One picture of rows [n]: all of them where it has pages. */
static llap_status draw_picture(drawing *d, const plot_row *row, size_t n, const char *path)
{
    ll_picture  format;
    llap_status st = ll_picture_of(path, &format);
    if (st == LLAP_OK)
        st = make_fans(d, row, n, format == LL_PICTURE_PDF ? INT64_MAX : LL_FAN_FIELDS);
    if (st == LLAP_OK) st = ll_plot_fans(&d->fans, path);
    ll_arena_deinit(&d->arena);
    d->arena = (ll_arena){ 0 };
    return st;
}

/* ---- a folder with a picture for each entity ---- */

static llap_status draw_folder(drawing *d, const plot_row *row, size_t n, const char *folder)
{
    bool         made;
    const size_t room = ll_folder_room(strlen(folder));
    char        *path = ll_new(room, 1);
    llap_status  st = path == NULL ? LLAP_ENOMEM : ll_folder_make(folder, &made);
    for (size_t i = 0, to; st == LLAP_OK && i < n; i = to) {
        const int32_t e = row[i].is.entity;
        for (to = i + 1; to < n && row[to].is.entity == e;) to++;
        ll_folder_file(folder, d->a->entity[e], e, path, room);
        st = draw_picture(d, row + i, to - i, path);
    }
    ll_free(path);
    return st;
}

llap_status llap_answer_can_plot(const char *path)
{
    bool made = false;
    if (!ll_folder_is(path)) return llap_plot_can_save(path);
    llap_status st = ll_folder_make(path, &made);
    if (st != LLAP_OK) return st;
    const size_t room = ll_folder_room(strlen(path));
    char        *file = ll_new(room, 1);
    if (file != NULL) ll_folder_file(path, "series", 0, file, room);
    st = file == NULL ? LLAP_ENOMEM : llap_plot_can_save(file);
    if (made) (void)rmdir(path);
    ll_free(file);
    return st;
}

llap_status llap_answer_plot_only(const llap_answer *a, const llap_panel *panel, const char *only,
                                  const char *path)
{
    drawing d = { .a = a,
                  .p = panel,
                  .fans = {
                      .axis = a->axis, .n_scenarios = a->n_scenarios, .scenarios = a->scenario } };
    if (a->n_scenarios > 0 && (a->kind & LL_ANSWER_SAMPLES) != 0)
        return ll_fail(LLAP_EUNSUPPORTED, "samples of scenarios are not drawn: ask for quantiles");
    llap_status st = ll_only_check(only, panel);
    if (st != LLAP_OK) return st;
    d.fans.kind = (a->kind & LL_ANSWER_IMPUTATION) != 0 ? LL_FAN_IMPUTATION : LL_FAN_FORECAST;
    plot_row *row = ll_new(a->n_rows, sizeof *row);
    size_t    n = 0;
    st = row == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t i = 0; st == LLAP_OK && i < a->n_rows; i++)
        if (ll_only_has(only, a->entity[a->rows.entity[i]]))
            row[n++] = (plot_row){ ll_answer_row_at(a, i), a->number + i * (size_t)a->n_numbers };
    if (st == LLAP_OK) {
        qsort(row, n, sizeof *row, compare_rows);
        choose_numbers(&d);
        st = ll_folder_is(path) ? draw_folder(&d, row, n, path) : draw_picture(&d, row, n, path);
    }
    ll_free(row);
    ll_arena_deinit(&d.arena);
    return st;
}

llap_status llap_answer_plot(const llap_answer *a, const llap_panel *panel, const char *path)
{
    return llap_answer_plot_only(a, panel, NULL, path);
}
