/* Components as pictures: the rows of a table to the series of plot/component_plot.h. */
#include "base/arena.h"
#include "plot/component_plot.h"
#include "predict/components.h"

#include <math.h>

/* Rows of one entity, origin and variable: from .. *to - 1. */
static void find_series(const llap_component_columns *v, int64_t from, int64_t *to)
{
    for (*to = from; *to < v->n_rows && v->entity[*to] == v->entity[from] &&
                     v->origin[*to] == v->origin[from] && v->variable[*to] == v->variable[from];)
        ++*to;
}

/* The components that the variable has, in lists of the arena. */
static llap_status take_series(ll_arena *a, const llap_component_columns *v, int64_t from,
                               int64_t to, ll_component_series *out)
{
    const size_t   n = (size_t)(to - from), all = (size_t)v->n_components;
    const char   **name = ll_arena_new(a, all, sizeof *name);
    const double **value = ll_arena_new(a, all, sizeof *value);
    double        *number = ll_arena_new(a, all * n, sizeof *number);
    if (name == NULL || value == NULL || number == NULL) return LLAP_ENOMEM;
    *out = (ll_component_series){ .entity = v->entities[v->entity[from]],
                                  .variable = v->variables[v->variable[from]],
                                  .scale = v->scales[v->variable[from]],
                                  .origin = v->origin[from],
                                  .n = (int64_t)n,
                                  .time = v->time + from,
                                  .measured = v->measured + from,
                                  .sum = v->sum + from,
                                  .name = name,
                                  .value = value };
    for (size_t c = 0; c < all; c++) {
        const double *column = v->value + (size_t)from * all + c;
        if (isnan(column[0])) continue; /* not one of this variable's */
        name[out->n_components] = v->components[c];
        value[out->n_components++] = number;
        for (size_t i = 0; i < n; i++) *number++ = column[i * all];
    }
    return LLAP_OK;
}

llap_status llap_components_plot(const llap_components *c, const char *path)
{
    const llap_component_columns *v = &c->view;
    ll_component_series           series[LL_COMPONENT_SERIES];
    ll_component_plot             f = { .axis = c->axis, .series = series };
    ll_arena                      arena = { 0 };
    llap_status                   st = LLAP_OK;
    for (int64_t i = 0, to; st == LLAP_OK && i < v->n_rows; i = to) {
        find_series(v, i, &to);
        if (f.n < LL_COMPONENT_SERIES) st = take_series(&arena, v, i, to, &series[f.n]);
        f.n++;
    }
    if (st == LLAP_OK) st = ll_plot_components(&f, path);
    ll_arena_deinit(&arena);
    return st;
}
