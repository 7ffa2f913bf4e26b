/* Components as pictures: the rows of a table to the series of plot/component_plot.h. */
#include "folder.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "plot/component_plot.h"
#include "plot/picture.h"
#include "predict/components.h"

#include <math.h>
#include <string.h>

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

/* Series from row `first` on, all or those of one entity; *next: the row after them. */
static llap_status draw(const llap_components *c, int64_t first, bool one, const char *path,
                        int64_t *next)
{
    const llap_component_columns *v = &c->view;
    ll_component_plot             f = { .axis = c->axis };
    ll_arena                      arena = { 0 };
    ll_picture                    format;
    llap_status                   st = ll_picture_of(path, &format);
    int64_t                       room = 0, to;
    for (*next = first; *next < v->n_rows && (!one || v->entity[*next] == v->entity[first]);
         *next = to, f.all++)
        find_series(v, *next, &to);
    room = format == LL_PICTURE_PDF || f.all < LL_COMPONENT_SERIES ? f.all : LL_COMPONENT_SERIES;
    ll_component_series *series = ll_arena_new(&arena, (size_t)room + 1, sizeof *series);
    if (st == LLAP_OK && series == NULL) st = LLAP_ENOMEM;
    f.series = series;
    for (int64_t i = first; st == LLAP_OK && f.n < room; i = to) {
        find_series(v, i, &to);
        st = take_series(&arena, v, i, to, &series[f.n++]);
    }
    if (st == LLAP_OK) st = ll_plot_components(&f, path);
    ll_arena_deinit(&arena);
    return st;
}

static llap_status draw_folder(const llap_components *c, const char *folder)
{
    const llap_component_columns *v = &c->view;
    const size_t                  room = ll_folder_room(strlen(folder));
    char                         *path = ll_new(room, 1);
    bool                          made;
    llap_status                   st = path == NULL ? LLAP_ENOMEM : ll_folder_make(folder, &made);
    for (int64_t i = 0, to; st == LLAP_OK && i < v->n_rows; i = to) {
        ll_folder_file(folder, v->entities[v->entity[i]], v->entity[i], path, room);
        st = draw(c, i, true, path, &to);
    }
    ll_free(path);
    return st;
}

llap_status llap_components_plot(const llap_components *c, const char *path)
{
    int64_t end;
    return ll_folder_is(path) ? draw_folder(c, path) : draw(c, 0, false, path, &end);
}
