#include "predict/rivals/rivals.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "base/time/civil.h"

#include <assert.h>
#include <math.h>
#include <string.h>

llap_status ll_rival_view_init(ll_rival_view *v, const ll_rival_model *r, const ll_model_frame *f,
                               const llap_panel *p)
{
    const int64_t F = r->task.vars, C = r->task.targets;
    const char  **name = ll_new((size_t)F, sizeof *name);
    int64_t      *number = ll_new((size_t)F, sizeof *number);
    *v = (ll_rival_view){ .r = r, .f = f, .p = p, .var = ll_new((size_t)F, sizeof *v->var) };
    llap_status st = name == NULL || number == NULL || v->var == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; i < F && st == LLAP_OK; i++) {
        name[i] = i < C ? f->target[i] : r->input[i - C];
        number[i] = i;
        v->var[i] = ll_panel_find_var(p, name[i]);
        if (v->var[i] < 0)
            st = ll_fail(LLAP_EINVAL, "the model looks at '%s', which the data does not have",
                         ll_text_show(name[i]).text);
    }
    const ll_scaling of_training = { .n_entities = f->n_entities,
                                     .n_features = F,
                                     .feature = number,
                                     .x_mean = r->mean,
                                     .x_std = r->sd,
                                     .clip = LL_SCALING_DEFAULT.clip };
    if (st == LLAP_OK) st = ll_scaling_transfer(&of_training, f->entity, name, p, &v->scaling);
    ll_free((void *)name);
    ll_free(number);
    return st;
}

void ll_rival_view_deinit(ll_rival_view *v)
{
    ll_scaling_destroy(v->scaling);
    ll_free(v->var);
    *v = (ll_rival_view){ 0 };
}

/* Steps from one time to a later one. */
static double steps(const ll_rival_view *v, int64_t from, int64_t to)
{
    return (double)ll_elapsed(from, to) / (double)v->f->step;
}

int64_t ll_rival_cell(const ll_rival_view *v, int64_t origin, int64_t time)
{
    const int64_t H = v->r->task.data.horizon;
    const double  at = round(steps(v, origin, time)) - 1.0;
    return at < 0 ? 0 : at >= (double)H ? H - 1 : (int64_t)at;
}

/* Sines and cosines of the calendar: hour, weekday and day of the year; of data by the day weekday,
 * day of the month and month. */
static void put_calendar(const ll_rival_view *v, int64_t time, float *to)
{
    const ll_rival_task *k = &v->r->task;
    if (k->calendar == 0) return;
    const ll_civil c = ll_civil_at(time, NULL);
    const double   turn = 2.0 * acos(-1.0);
    const double   hour = c.hour + c.minute / 60.0 + c.second / 3600.0, weekday = c.weekday / 7.0;
    double         part[3] = { hour / 24.0, weekday, c.yday / 365.25 };
    if (k->data.rhythm == LL_RIVAL_DAILY) {
        part[0] = weekday;
        part[1] = (c.day - 1) / (double)ll_days_in_month(c.year, c.month);
        part[2] = (c.month - 1) / 12.0;
    }
    for (int i = 0; i < 3; i++) {
        to[2 * i] = (float)sin(turn * part[i]);
        to[2 * i + 1] = (float)cos(turn * part[i]);
    }
}

/* The observed values of a row, over what is there. */
static void put_values(const ll_rival_view *v, int64_t entity, int64_t row, float *x, float *m)
{
    const int64_t     F = v->r->task.vars;
    const ll_scaling *s = v->scaling;
    for (int64_t i = 0; i < F; i++) {
        const float y = v->p->value[row * v->p->n_vars + v->var[i]];
        if (!ll_panel_observed(v->p, row, v->var[i]) || !isfinite(y)) continue;
        x[i] = ll_scale_value(y, s->x_mean[entity * F + i], s->x_std[entity * F + i], s->clip);
        m[i] = 1.0f;
    }
}

/* A row goes to the nearest step before the origin; of two the later reading stays. A row without
 * values is none. */
static void context_on_grid(const ll_rival_view *v, const ll_rival_window *w, ll_rival_example *e)
{
    const ll_rival_task *k = &v->r->task;
    const int64_t        K = k->data.context, F = k->vars;
    for (int64_t j = 0; j < K; j++) {
        e->at[j] = (float)(k->context - (double)(K - j));
        put_calendar(v, w->origin - (K - 1 - j) * v->f->step, e->calendar + j * k->calendar);
    }
    for (int64_t row = w->first; row < w->end; row++) {
        const double back = round(steps(v, v->p->time[row], w->origin));
        if (!(back < (double)K)) continue;
        const int64_t j = K - 1 - (int64_t)back;
        put_values(v, w->entity, row, e->x + j * F, e->m + j * F);
        for (int64_t i = 0; i < F; i++) e->row[j] = fmaxf(e->row[j], e->m[j * F + i]);
    }
}

/* The latest rows, the last one behind all others. */
static void context_of_rows(const ll_rival_view *v, const ll_rival_window *w, ll_rival_example *e)
{
    const ll_rival_task *k = &v->r->task;
    const int64_t        K = k->data.context, F = k->vars;
    const int64_t        n = w->end - w->first < K ? w->end - w->first : K, none = K - n;
    for (int64_t j = none; j < K; j++) {
        const int64_t row = w->end - K + j, time = v->p->time[row];
        e->row[j] = 1.0f;
        e->at[j] = (float)(k->context - 1.0 - steps(v, time, w->origin));
        put_calendar(v, time, e->calendar + j * k->calendar);
        put_values(v, w->entity, row, e->x + j * F, e->m + j * F);
    }
    for (int64_t j = 0; j < none; j++) e->at[j] = n > 0 ? e->at[none] : (float)(k->context - 1.0);
}

static void read_query(const ll_rival_view *v, const ll_rival_window *w, int64_t query,
                       int64_t cell, ll_rival_example *e)
{
    const int64_t F = v->r->task.vars;
    const int64_t row = w->read ? ll_panel_find_row(v->p, w->entity, w->time[query]) : -1;
    if (row >= 0) put_values(v, w->entity, row, e->y + cell * F, e->seen + cell * F);
}

static void queries_on_grid(const ll_rival_view *v, const ll_rival_window *w, ll_rival_example *e)
{
    const ll_rival_task *k = &v->r->task;
    for (int64_t r = 0; r < k->data.horizon; r++) {
        e->lead[r] = (float)(r + 1);
        put_calendar(v, w->origin + (r + 1) * v->f->step, e->query + r * k->calendar);
    }
    for (int64_t i = 0; i < w->n; i++) {
        const int64_t cell = ll_rival_cell(v, w->origin, w->time[i]);
        e->asked[cell] = 1.0f;
        read_query(v, w, i, cell, e);
    }
}

static void queries_of_rows(const ll_rival_view *v, const ll_rival_window *w, ll_rival_example *e)
{
    const ll_rival_task *k = &v->r->task;
    assert(w->n >= 1 && w->n <= k->data.horizon);
    for (int64_t r = 0; r < k->data.horizon; r++) {
        const int64_t i = r < w->n ? r : w->n - 1;
        e->lead[r] = (float)steps(v, w->origin, w->time[i]);
        put_calendar(v, w->time[i], e->query + r * k->calendar);
        e->asked[r] = r < w->n ? 1.0f : 0.0f;
        if (r < w->n) read_query(v, w, i, r, e);
    }
}

void ll_rival_view_example(const ll_rival_view *v, const ll_rival_window *w, ll_rival_example *e)
{
    const ll_rival_task *k = &v->r->task;
    ll_rival_example_clear(e, k);
    e->id = w->id;
    if (ll_rival_on_grid(k)) {
        context_on_grid(v, w, e);
        queries_on_grid(v, w, e);
    } else {
        context_of_rows(v, w, e);
        queries_of_rows(v, w, e);
    }
}
