#include "predict/components.h"

#include "anchor/components.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/options.h"
#include "base/text.h"
#include "base/time/civil.h"
#include "data/clock.h"
#include "predict/tables/answer.h"
#include "predict/tables/numbers.h"
#include "predict/view/frame.h"
#include "predict/view/queries.h"
#include "predict/view/static_view.h"
#include "predict/view/target_series.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* All components, of which a target may have some. */
enum { ALL = 4 * LL_COMPONENTS_MAX };

typedef struct work {
    const llap_model  *m;
    const llap_panel  *p;
    const ll_queries  *q;
    ll_target_series   series;
    ll_component_list *list;          /* [n_targets] */
    int32_t (*to)[LL_COMPONENTS_MAX]; /* [n_targets] columns of the table */
    ll_normal_scores score;
    int64_t          row;
    int32_t         *entity, *variable;
    int64_t         *origin, *time;
    double          *measured, *sum, *value;
    llap_components *out;
} work;

/* ---- names ---- */

typedef struct component_name {
    char text[96];
} component_name;

static bool is_fixed(const char *name)
{
    static const char *const fixed[] = { "level",    "daily",  "weekly",   "annual", "cycles",
                                         "holidays", "others", "rest",     "entity", "origin",
                                         "time",     "scale",  "variable", "sum",    "measured" };
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(fixed[i], name) == 0) return true;
    return false;
}

static component_name name_of(const llap_model *m, int64_t target, ll_component c)
{
    static const char *const names[] = {
        [LL_COMPONENT_LEVEL] = "level",   [LL_COMPONENT_DAILY] = "daily",
        [LL_COMPONENT_WEEKLY] = "weekly", [LL_COMPONENT_ANNUAL] = "annual",
        [LL_COMPONENT_CYCLES] = "cycles", [LL_COMPONENT_HOLIDAYS] = "holidays",
        [LL_COMPONENT_OTHERS] = "others", [LL_COMPONENT_REST] = "rest",
    };
    component_name n;
    if (c.kind == LL_COMPONENT_INPUT) {
        const char *known = m->frame.known[c.of];
        snprintf(n.text, sizeof n.text, "%.*s%s", (int)sizeof n.text - 16, known,
                 is_fixed(known) ? " (known)" : "");
    } else if (c.kind == LL_COMPONENT_PERIOD) {
        const bool   calendar = m->frame.axis == LL_AXIS_CALENDAR;
        const double unit = calendar ? (double)LL_NS_PER_HOUR : (double)m->frame.axis_unit;
        const double span = m->anchor[target]->chain->periods.span[c.of];
        snprintf(n.text, sizeof n.text, "cycle of %g%s", span * (double)m->frame.unit / unit,
                 calendar ? "h" : "");
    } else {
        snprintf(n.text, sizeof n.text, "%s", names[c.kind]);
    }
    return n;
}

/* The column of that name, a new one where there is none yet; -1: too many, or no memory. */
static int32_t column_of(ll_arena *a, const char **names, int64_t *n, const char *name)
{
    for (int32_t i = 0; i < *n; i++)
        if (strcmp(names[i], name) == 0) return i;
    if (*n == ALL) return -1;
    names[*n] = ll_arena_strndup(a, name, strlen(name));
    return names[*n] == NULL ? -1 : (int32_t)(*n)++;
}

/* The components of all targets, in the order of their kinds. */
static llap_status list_components(work *w)
{
    const llap_model *m = w->m;
    llap_components  *c = w->out;
    const size_t      C = (size_t)m->frame.n_targets;
    const char      **names = ll_arena_new(&c->arena, ALL, sizeof *names);
    const char      **scales = ll_arena_new(&c->arena, C, sizeof *scales);
    w->list = ll_new(C, sizeof *w->list);
    w->to = ll_new(C, sizeof *w->to);
    if (names == NULL || scales == NULL || w->list == NULL || w->to == NULL) return LLAP_ENOMEM;
    const bool hours = m->frame.axis == LL_AXIS_CALENDAR && m->frame.unit == LL_NS_PER_HOUR;
    for (size_t k = 0; k < C; k++) {
        ll_component_list_init(&w->list[k], m->anchor[k], hours);
        scales[k] = ll_component_scale_names[w->list[k].scale];
    }
    for (int kind = 0; kind <= LL_COMPONENT_REST; kind++)
        for (size_t k = 0; k < C; k++)
            for (int32_t i = 0; i < w->list[k].n; i++) {
                const ll_component is = w->list[k].is[i];
                if ((int)is.kind != kind) continue;
                w->to[k][i] = column_of(&c->arena, names, &c->view.n_components,
                                        name_of(m, (int64_t)k, is).text);
                if (w->to[k][i] < 0)
                    return c->view.n_components < ALL
                               ? LLAP_ENOMEM
                               : ll_fail(LLAP_ELIMIT, "more than %d different components", ALL);
            }
    c->view.components = names;
    c->view.scales = scales;
    return LLAP_OK;
}

/* ---- rows ---- */

/* Rows of the panel in the context of forecast i: *first, and how many. */
static int64_t context_rows(const work *w, size_t i, int64_t *first)
{
    const llap_panel *p = w->p;
    const int64_t     e = w->q->entity[i], origin = w->q->origin[i];
    int64_t           n = 0;
    *first = p->start[e + 1];
    for (int64_t r = p->start[e + 1]; r-- > p->start[e];) {
        if (p->time[r] > origin) continue;
        if (ll_elapsed(p->time[r], origin) >= (uint64_t)w->m->frame.context) break;
        *first = r;
        n++;
    }
    return n;
}

static llap_status make_table(work *w)
{
    const ll_queries *q = w->q;
    ll_arena         *a = &w->out->arena;
    int64_t           n = 0, first;
    for (size_t i = 0; i < q->n; i++)
        n += context_rows(w, i, &first) + (int64_t)(q->first[i + 1] - q->first[i]);
    if (__builtin_mul_overflow(n, w->m->frame.n_targets, &n) || n > LL_ANSWER_ROWS_MAX)
        return ll_fail(LLAP_ELIMIT,
                       "the components would have more than %d rows; ask for fewer "
                       "forecasts",
                       LL_ANSWER_ROWS_MAX);
    const size_t rows = (size_t)n, width = (size_t)w->out->view.n_components;
    w->entity = ll_arena_new(a, rows, sizeof *w->entity);
    w->variable = ll_arena_new(a, rows, sizeof *w->variable);
    w->origin = ll_arena_new(a, rows, sizeof *w->origin);
    w->time = ll_arena_new(a, rows, sizeof *w->time);
    w->measured = ll_arena_new(a, rows, sizeof *w->measured);
    w->sum = ll_arena_new(a, rows, sizeof *w->sum);
    w->value = ll_arena_new(a, rows, width * sizeof *w->value);
    const bool ok = w->entity != NULL && w->variable != NULL && w->origin != NULL &&
                    w->time != NULL && w->measured != NULL && w->sum != NULL && w->value != NULL;
    w->out->view.n_rows = n;
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

static double mean_of(const void *user, const ll_anchor_model *m, const ll_law *law)
{
    double number = 0;
    ll_law_numbers(m, law->series, law, user, &number);
    return number;
}

/* What forecast i and a target are about: the context's times, then the queries'. */
static void put_times(work *w, size_t i, int64_t target, int64_t first, int64_t n_context)
{
    const ll_queries        *q = w->q;
    const llap_panel        *p = w->p;
    const ll_series         *s = &w->series.target[target].series[q->entity[i]];
    const size_t             series = w->series.known[q->entity[i]];
    const ll_anchor_model   *a = w->m->anchor[target];
    const ll_component_list *l = &w->list[target];
    const int64_t            n = n_context + (int64_t)(q->first[i + 1] - q->first[i]);
    for (int64_t k = 0; k < n; k++) {
        const int64_t at = w->row + k;
        const int64_t time =
            k < n_context ? p->time[first + k] : q->time[q->first[i] + (size_t)(k - n_context)];
        const int64_t row = k < n_context ? first + k : ll_panel_find_row(p, q->entity[i], time);
        w->entity[at] = (int32_t)q->entity[i];
        w->variable[at] = (int32_t)target;
        w->origin[at] = q->origin[i];
        w->time[at] = time;
        w->measured[at] = row < 0
                              ? (double)NAN
                              : ll_component_of(a, l, series, s->y[row - p->start[q->entity[i]]]);
    }
}

static llap_status put_forecast(work *w, size_t i, int64_t target)
{
    const ll_queries *q = w->q;
    int64_t           first;
    const int64_t     n_context = context_rows(w, i, &first);
    const size_t      ahead = q->first[i + 1] - q->first[i], n = (size_t)n_context + ahead;
    const size_t      own = (size_t)w->list[target].n, all = (size_t)w->out->view.n_components;
    ll_anchor_request r = { .history = w->series.target[target].series[q->entity[i]],
                            .series = w->series.known[q->entity[i]],
                            .origin = ll_model_time(w->m, q->origin[i]),
                            .all = w->series.all[target] };
    double           *t = ll_new(n, sizeof *t), *value = ll_new(n, own * sizeof *value);
    ll_law           *law = ll_new(n + ahead, sizeof *law);
    llap_status       st = t == NULL || value == NULL || law == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) {
        put_times(w, i, target, first, n_context);
        for (size_t k = 0; k < n; k++) t[k] = ll_model_time(w->m, w->time[(size_t)w->row + k]);
        r.n_query = ahead, r.t_query = t + n_context, r.law = law + n;
        st = ll_anchor_model_forecast(w->m->anchor[target], &r, 1);
    }
    if (st == LLAP_OK) {
        r.n_query = n, r.t_query = t, r.law = law;
        st = ll_anchor_components(w->m->anchor[target], &r, law + n, ahead, &w->list[target],
                                  mean_of, &w->score, w->sum + w->row, value);
    }
    for (size_t k = 0; st == LLAP_OK && k < n; k++) {
        double *to = w->value + ((size_t)w->row + k) * all;
        for (size_t c = 0; c < all; c++) to[c] = (double)NAN;
        for (size_t c = 0; c < own; c++) to[w->to[target][c]] = value[k * own + c];
    }
    if (st == LLAP_OK) w->row += (int64_t)n;
    ll_free(t);
    ll_free(value);
    ll_free(law);
    return st;
}

static llap_status put_rows(work *w)
{
    llap_status st = LLAP_OK;
    for (size_t i = 0; st == LLAP_OK && i < w->q->n; i++)
        for (int64_t k = 0; st == LLAP_OK && k < w->m->frame.n_targets; k++)
            st = put_forecast(w, i, k);
    assert(st != LLAP_OK || w->row == w->out->view.n_rows);
    return st;
}

/* Names and axis, and the columns as others see them. */
static llap_status finish(work *w)
{
    const ll_model_frame   *f = &w->m->frame;
    llap_components        *c = w->out;
    llap_component_columns *v = &c->view;
    llap_status st = ll_copy_names(&c->arena, w->p->entity, w->p->n_entities, &v->entities);
    if (st == LLAP_OK) st = ll_copy_names(&c->arena, f->target, f->n_targets, &v->variables);
    const char *const *text;
    const char *const  given[] = { w->p->axis.zone, w->p->axis.format, w->p->axis.unit };
    if (st == LLAP_OK) st = ll_copy_names(&c->arena, given, 3, &text);
    if (st != LLAP_OK) return st;
    c->axis = w->p->axis;
    c->axis.zone = text[0];
    c->axis.format = text[1];
    c->axis.unit = text[2];
    v->n_entities = w->p->n_entities;
    v->n_variables = f->n_targets;
    v->entity = w->entity;
    v->variable = w->variable;
    v->origin = w->origin;
    v->time = w->time;
    v->measured = w->measured;
    v->sum = w->sum;
    v->value = w->value;
    v->axis = ll_axis_show(&c->axis);
    return LLAP_OK;
}

static llap_status check_model(const llap_model *m, const llap_forecast_opts *o)
{
    const bool networks =
        m->stack != NULL || m->anchor == NULL ||
        (m->network != NULL && m->network->config.features.answer_source != LL_ANSWER_BY_ANCHOR);
    if (o->total != 0)
        return ll_fail(LLAP_EOPTION, "components: of single times, not of totals (total)");
    if (o->n_scenarios > 0)
        return ll_fail(LLAP_EOPTION, "components: of one course of the known inputs (scenarios)");
    if (!networks && o->n_with == 0) return LLAP_OK;
    return ll_fail(LLAP_EUNSUPPORTED,
                   "components: %s answer, and their answers have none: ask a model of size anchor",
                   networks ? "networks" : "several models");
}

static llap_status components(const llap_model *m, const llap_panel *p, const llap_forecast_opts *o,
                              int64_t *var, llap_components *out)
{
    ll_queries  q = { 0 };
    work        w = { .m = m, .p = p, .q = &q, .out = out };
    llap_status st = ll_target_columns(m, p, var);
    ll_normal_scores_init(&w.score, NULL, 0);
    if (st == LLAP_OK) st = ll_queries_init(&q, m, p, var, o);
    if (st == LLAP_OK) st = ll_target_series_init(&w.series, m, p, var, LL_SERIES_READINGS);
    if (st == LLAP_OK) st = list_components(&w);
    if (st == LLAP_OK) st = make_table(&w);
    if (st == LLAP_OK) st = put_rows(&w);
    if (st == LLAP_OK) st = finish(&w);
    ll_target_series_deinit(&w.series);
    ll_queries_deinit(&q);
    ll_free(w.list);
    ll_free(w.to);
    return st;
}

llap_status llap_forecast_components(const llap_model *m, const llap_panel *panel,
                                     const llap_forecast_opts *given, llap_components **out)
{
    llap_forecast_opts o;
    *out = NULL;
    llap_status st = llap_options_resolve(llap_forecast_options(), given, &o, sizeof o);
    if (st == LLAP_OK) st = check_model(m, &o);
    if (st == LLAP_OK) st = ll_check_axis(m, panel);
    if (st != LLAP_OK) return st;
    o.log = NULL; /* llap_forecast warns */
    llap_components *c = ll_new(1, sizeof *c);
    int64_t         *var = ll_new((size_t)m->frame.n_targets, sizeof *var);
    ll_static_view   v;
    st = c == NULL || var == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) {
        st = ll_static_view_init(&v, m, panel, o.statics, o.log);
        if (st == LLAP_OK) st = components(v.m, panel, &o, var, c);
        ll_static_view_deinit(&v);
    }
    ll_free(var);
    if (st == LLAP_OK) *out = c;
    else llap_components_destroy(c);
    return st;
}

void llap_components_destroy(llap_components *c)
{
    if (c == NULL) return;
    ll_arena_deinit(&c->arena);
    ll_free(c);
}

const llap_component_columns *llap_components_view(const llap_components *c) { return &c->view; }

/* ---- the file ---- */

static void put_number(FILE *f, double x)
{
    if (isnan(x)) fputc(',', f);
    else fprintf(f, ",%.7g", x);
}

static llap_status put_lines(FILE *f, const llap_components *c, const ll_clock_writer *clock)
{
    const llap_component_columns *v = &c->view;
    fputs("entity,origin,time,variable,scale,measured,sum", f);
    for (int64_t k = 0; k < v->n_components; k++) {
        fputc(',', f);
        ll_csv_put_field(f, v->components[k]);
    }
    fputc('\n', f);
    for (int64_t i = 0; i < v->n_rows; i++) {
        char        text[2][LL_TIMEFMT_TEXT_MAX];
        size_t      n[2] = { 0 };
        llap_status st = ll_clock_write(clock, v->origin[i], text[0], &n[0]);
        if (st == LLAP_OK) st = ll_clock_write(clock, v->time[i], text[1], &n[1]);
        if (st != LLAP_OK) return st;
        ll_csv_put_field(f, v->entities[v->entity[i]]);
        fprintf(f, ",%.*s,%.*s,", (int)n[0], text[0], (int)n[1], text[1]);
        ll_csv_put_field(f, v->variables[v->variable[i]]);
        fprintf(f, ",%s", v->scales[v->variable[i]]);
        put_number(f, v->measured[i]);
        put_number(f, v->sum[i]);
        for (int64_t k = 0; k < v->n_components; k++)
            put_number(f, v->value[i * v->n_components + k]);
        fputc('\n', f);
    }
    return LLAP_OK;
}

llap_status llap_components_write(const llap_components *c, const char *path)
{
    ll_clock_writer clock;
    ll_writer       w = { 0 };
    llap_status     st = ll_clock_writer_init(&clock, &c->axis);
    if (st == LLAP_OK) st = ll_writer_open(ll_file_or_stdout(path), &w);
    if (st == LLAP_OK) st = put_lines(w.stream, c, &clock);
    if (st == LLAP_OK) st = ll_writer_commit(&w);
    ll_writer_abort(&w);
    ll_clock_writer_deinit(&clock);
    return st;
}
