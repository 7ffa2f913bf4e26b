/* Panels from arrays in memory. */
#include "base/error.h"
#include "base/text.h"
#include "data/clock.h"
#include "data/panel_append.h"
#include "data/panel_builder.h"

#include <string.h>

static llap_status add_names(ll_panel_builder *b, const char *const *var, size_t n)
{
    llap_status st = LLAP_OK;
    for (size_t v = 0; st == LLAP_OK && v < n; v++) {
        uint32_t id;
        st = ll_panel_builder_var(b, var[v], strlen(var[v]), &id);
        if (st == LLAP_OK && id != v)
            st = ll_fail(LLAP_EINVAL, "arrays: variable '%s' is given twice",
                         ll_text_show(var[v]).text);
    }
    return st;
}

static llap_status add_arrays(ll_panel_builder *b, const llap_arrays *a)
{
    llap_status st = LLAP_OK;
    for (size_t r = 0; st == LLAP_OK && r < a->n_rows; r++) {
        const char *name = a->entity == NULL ? "series" : a->entity[r];
        uint32_t    e;
        st = ll_panel_builder_entity(b, name, strlen(name), &e);
        if (st == LLAP_OK) st = ll_panel_builder_row(b, e, a->time[r], a->value + r * a->n_vars);
    }
    return st;
}

static llap_status build(const llap_arrays *a, const ll_axis *axis, llap_panel **out)
{
    *out = NULL;
    if (a->n_vars == 0 || a->var == NULL ||
        (a->n_rows > 0 && (a->time == NULL || a->value == NULL)))
        return ll_fail(LLAP_EINVAL, "arrays: expected names, times and values");
    ll_panel_builder *b = NULL;
    llap_status       st = ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b);
    if (st == LLAP_OK) st = add_names(b, a->var, a->n_vars);
    if (st == LLAP_OK) st = add_arrays(b, a);
    if (st == LLAP_OK) st = ll_panel_builder_finish(b, axis, out);
    ll_panel_builder_destroy(b);
    return st;
}

/* A unit that has a name has its length, too. */
static llap_status check_unit(const ll_axis *axis)
{
    ll_clock    c;
    llap_status st = ll_clock_init(&c, "number", axis->unit, NULL);
    if (st == LLAP_OK && c.unit_ns != axis->unit_ns)
        st = ll_fail(LLAP_EINVAL, "unit '%s' has %lld ns, found unit_ns %lld",
                     ll_text_show(axis->unit).text, (long long)c.unit_ns, (long long)axis->unit_ns);
    ll_clock_deinit(&c);
    return st;
}

/* The axis that the caller describes; it must be one that times can be written with. */
static llap_status read_axis(const llap_time_axis *from, ll_axis *out)
{
    ll_clock_writer w = { 0 };
    const bool      number = from->kind == LLAP_TIME_NUMBER;
    if (!number && from->kind != LLAP_TIME_CALENDAR)
        return ll_fail(LLAP_EINVAL, "arrays: axis: no such kind: %d", (int)from->kind);
    if (number && from->unit_ns <= 0)
        return ll_fail(LLAP_EINVAL, "arrays: axis: expected a positive unit_ns, found %lld",
                       (long long)from->unit_ns);
    *out = (ll_axis){ .kind = number ? LL_AXIS_NUMBER : LL_AXIS_CALENDAR,
                      .zone = from->zone == NULL ? "" : from->zone,
                      .format = from->format == NULL ? "" : from->format,
                      .unit = from->unit == NULL ? "" : from->unit,
                      .unit_ns = from->unit_ns > 0 ? from->unit_ns : 1 };
    llap_status st = ll_clock_writer_init(&w, out);
    ll_clock_writer_deinit(&w);
    if (st == LLAP_OK && number && *out->unit != '\0') st = check_unit(out);
    return st == LLAP_OK || st == LLAP_ENOMEM ? st : ll_fail_in(LLAP_EINVAL, "arrays: axis");
}

llap_status llap_panel_from_arrays(const llap_arrays *a, llap_panel **out)
{
    ll_axis axis = LL_AXIS_UTC;
    *out = NULL;
    const llap_status st = a->axis == NULL ? LLAP_OK : read_axis(a->axis, &axis);
    return st == LLAP_OK ? build(a, &axis, out) : st;
}

llap_status llap_panel_append(llap_panel *p, const llap_arrays *more)
{
    llap_panel *rows = NULL;
    if (more->n_vars != (size_t)p->n_vars)
        return ll_fail(LLAP_EINVAL, "arrays: expected %lld variables, found %zu",
                       (long long)p->n_vars, more->n_vars);
    for (size_t v = 0; more->var != NULL && v < more->n_vars; v++)
        if (strcmp(more->var[v], p->var[v]) != 0)
            return ll_fail(LLAP_EINVAL, "arrays: variable %zu: expected '%s', found '%s'", v + 1,
                           ll_text_show(p->var[v]).text, ll_text_show(more->var[v]).text);
    llap_status st = build(more, &p->axis, &rows);
    if (st == LLAP_OK) st = ll_panel_append(p, rows, NULL);
    llap_panel_destroy(rows);
    return st;
}

llap_status llap_panel_copy(const llap_panel *p, llap_panel **out) { return ll_panel_copy(p, out); }

void llap_panel_size(const llap_panel *p, llap_panel_sizes *out)
{
    *out = (llap_panel_sizes){ .entities = p->n_entities,
                               .variables = p->n_vars,
                               .rows = p->n_rows,
                               .first = INT64_MAX,
                               .last = INT64_MIN };
    for (int64_t r = 0; r < p->n_rows; r++) {
        if (p->time[r] < out->first) out->first = p->time[r];
        if (p->time[r] > out->last) out->last = p->time[r];
    }
}
