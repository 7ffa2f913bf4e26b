/* Whether two panels are the same. */
#ifndef LLAP_TESTS_DATA_PANEL_EQUAL_H
#define LLAP_TESTS_DATA_PANEL_EQUAL_H

#include "data/panel.h"

#include <string.h>

static inline bool equal_names(const char *const *a, const char *const *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (strcmp(a[i], b[i]) != 0) return false;
    return true;
}

static inline bool equal_bytes(const void *a, const void *b, size_t n)
{
    return n == 0 || memcmp(a, b, n) == 0;
}

/* Names, axis, shape, times, values and observed bits all equal, values bit by bit (NaN = NaN). */
static inline bool panel_equal(const llap_panel *a, const llap_panel *b)
{
    if (a->n_entities != b->n_entities || a->n_vars != b->n_vars || a->n_rows != b->n_rows)
        return false;
    const ll_axis *x = &a->axis, *y = &b->axis;
    if (x->kind != y->kind || strcmp(x->zone, y->zone) != 0 || strcmp(x->format, y->format) != 0 ||
        strcmp(x->unit, y->unit) != 0 || x->unit_ns != y->unit_ns)
        return false;
    if (!equal_names(a->entity, b->entity, a->n_entities) ||
        !equal_names(a->var, b->var, a->n_vars))
        return false;
    const int64_t n_cells = a->n_rows * a->n_vars;
    if (!equal_bytes(a->start, b->start, ((size_t)a->n_entities + 1) * sizeof *a->start) ||
        !equal_bytes(a->time, b->time, (size_t)a->n_rows * sizeof *a->time) ||
        !equal_bytes(a->observed, b->observed, (size_t)(n_cells + 63) / 64 * sizeof *a->observed))
        return false;
    for (int64_t i = 0; i < n_cells; i++) {
        const float u = a->value[i], v = b->value[i];
        if (memcmp(&u, &v, sizeof u) != 0 && !(isnan(u) && isnan(v))) return false;
    }
    return true;
}

#endif
