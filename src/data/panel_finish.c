#include "data/panel_building.h"

#include "base/alloc.h"
#include "base/error.h"
#include "data/clock.h"
#include "data/panel_runs.h"

#include <assert.h>
#include <string.h>

enum { SPARSE = 1024, MANY_CELLS = 1 << 26 }; /* fewer values than one in SPARSE cells: a mistake */

/* ---- merging -------------------------------------------------------------------------------- */

llap_status ll_building_twice(ll_panel_builder *b, uint32_t entity, uint32_t var, int64_t time,
                              int64_t arrival)
{
    ll_builder_counts *c = &b->counts;
    /* the earliest arrival of all, whichever entity sorts first */
    if (c->duplicate_cells++ == 0 || arrival < c->first_duplicate) c->first_duplicate = arrival;
    if (b->opts.duplicates == LL_DUPLICATES_LAST) return LLAP_OK;
    return ll_fail(LLAP_EFORMAT, "entity '%s': '%s' is given twice for time %s",
                   b->entities.name[entity], b->vars.name[var], ll_clock_show(b->axis, time).text);
}

/* Puts the k-th cell into the last row if it belongs there, else into a new one, for which there is
 * room. */
static llap_status place_cell(ll_panel_builder *b, int64_t c)
{
    const uint32_t entity = ll_events_entity(&b->cells, c), var = b->cell_var[c];
    const int64_t  time = b->cells.time[c];
    ll_events     *rows = &b->rows;
    if (rows->n == 0 || rows->time[rows->n - 1] != time ||
        ll_events_entity(rows, rows->n - 1) != entity) {
        ll_events_put(rows, rows->n, entity);
        rows->time[rows->n++] = time;
        float *fresh = b->value + (rows->n - 1) * b->stride;
        for (int64_t v = 0; v < b->stride; v++) fresh[v] = NAN;
    }
    if (isnan(b->cell_value[c])) return LLAP_OK;
    float      *to = b->value + (rows->n - 1) * b->stride + var;
    llap_status st =
        isnan(*to) ? LLAP_OK : ll_building_twice(b, entity, var, time, b->runs_cells + c);
    if (st == LLAP_OK) *to = b->cell_value[c];
    return st;
}

/* Room for the rows of the cells. A column taken wrongly for the variables' names makes a row and a
 * variable of every cell: a small file would take all memory there is. */
static llap_status reserve_for_cells(ll_panel_builder *b, const int64_t *order)
{
    const ll_events *e = &b->cells;
    int64_t          n = 0;
    for (int64_t k = 0; k < e->n; k++) n += k == 0 || !ll_events_same(e, order, k - 1, k);
    if (b->stride > SPARSE && n > MANY_CELLS / b->stride &&
        (double)n * (double)b->stride > SPARSE * (double)e->n)
        return ll_fail(LLAP_ELIMIT,
                       "%lld variables in %lld rows, but only %lld values: not even one cell in "
                       "%d; is this the column of the variables?",
                       (long long)b->stride, (long long)n, (long long)e->n, SPARSE);
    return ll_building_reserve(b, b->rows.n + n, b->entities.n);
}

/* Turns the cells into rows in final order and gives their memory back. arrival (NULL: not asked
 * for): when each row came, the first of its cells; rows came before cells. Caller owns it. */
static llap_status cells_to_rows(ll_panel_builder *b, const uint32_t *rank, uint32_t **arrival)
{
    int64_t      *order;
    const int64_t before = b->rows.n;
    llap_status   st = ll_events_sort(&b->cells, rank, b->entities.n, &order);
    if (st == LLAP_OK) st = reserve_for_cells(b, order);
    if (st == LLAP_OK && arrival != NULL) {
        *arrival = ll_new((size_t)(before + b->cells.n), sizeof **arrival);
        if (*arrival == NULL) st = LLAP_ENOMEM;
        for (int64_t r = 0; r < before && st == LLAP_OK; r++) (*arrival)[r] = (uint32_t)r;
    }
    for (int64_t k = 0; k < b->cells.n && st == LLAP_OK; k++) {
        const int64_t c = order == NULL ? k : order[k], n = b->rows.n;
        st = place_cell(b, c);
        if (arrival != NULL && b->rows.n > n) (*arrival)[n] = (uint32_t)(before + c);
    }
    ll_free(order);
    if (st != LLAP_OK) return st;
    ll_events_deinit(&b->cells);
    ll_free(b->cell_var);
    ll_free(b->cell_value);
    b->cell_var = NULL;
    b->cell_value = NULL;
    return LLAP_OK;
}

/* Counts the values that rows of one entity and time share, before any row moves. */
static llap_status find_duplicates(ll_panel_builder *b, const int64_t *order)
{
    bool *seen = ll_new((size_t)b->stride, sizeof *seen); /* in the rows of this entity and time */
    if (seen == NULL) return LLAP_ENOMEM;
    const ll_events *e = &b->rows;
    llap_status      st = LLAP_OK;
    for (int64_t k = 1; k < e->n && st == LLAP_OK; k++) {
        if (order == NULL && e->time[k - 1] != e->time[k]) continue; /* nearly always, no call */
        if (!ll_events_same(e, order, k - 1, k)) continue;
        const int64_t r = order == NULL ? k : order[k], s = order == NULL ? k - 1 : order[k - 1];
        const bool    first = k == 1 || !ll_events_same(e, order, k - 2, k - 1);
        const float  *old = b->value + s * b->stride, *new = b->value + r * b->stride;
        b->counts.merged_rows++;
        for (int64_t v = 0; v < b->stride && st == LLAP_OK; v++) {
            seen[v] = (!first && seen[v]) || !isnan(old[v]);
            if (seen[v] && !isnan(new[v]))
                st = ll_building_twice(b, ll_events_entity(e, r), (uint32_t)v, e->time[r],
                                       b->runs_rows + r);
        }
    }
    ll_free(seen);
    return st;
}

/* Moves row order[k] to place k for all k, in place, along the cycles; order is used up. */
llap_status ll_building_permute(ll_panel_builder *b, int64_t *order)
{
    const size_t row_bytes = (size_t)b->stride * sizeof *b->value;
    float       *held = ll_new(1, row_bytes);
    if (held == NULL) return LLAP_ENOMEM;
    ll_events *e = &b->rows;
    for (int64_t i = 0; i < e->n; i++) {
        if (order[i] == i) continue;
        const uint32_t held_entity = ll_events_entity(e, i);
        const int64_t  held_time = e->time[i];
        memcpy(held, b->value + i * b->stride, row_bytes);
        int64_t to = i;
        for (int64_t from = order[to]; from != i; to = from, from = order[to]) {
            ll_events_put(e, to, ll_events_entity(e, from));
            e->time[to] = e->time[from];
            memcpy(b->value + to * b->stride, b->value + from * b->stride, row_bytes);
            order[to] = to;
        }
        ll_events_put(e, to, held_entity);
        e->time[to] = held_time;
        memcpy(b->value + to * b->stride, held, row_bytes);
        order[to] = to;
    }
    ll_free(held);
    return LLAP_OK;
}

/* Merges neighbours of one entity and time: what came later wins, missing erases nothing. */
static void merge_rows(ll_panel_builder *b)
{
    ll_events *e = &b->rows;
    int64_t    n = 0;
    for (int64_t r = 0; r < e->n; r++) {
        const float *from = b->value + r * b->stride;
        if (n > 0 && ll_events_same(e, NULL, n - 1, r)) {
            float *to = b->value + (n - 1) * b->stride;
            for (int64_t v = 0; v < b->stride; v++)
                if (!isnan(from[v])) to[v] = from[v];
            continue;
        }
        if (n < r) {
            ll_events_put(e, n, ll_events_entity(e, r));
            e->time[n] = e->time[r];
            memcpy(b->value + n * b->stride, from, (size_t)b->stride * sizeof *from);
        }
        n++;
    }
    e->n = n;
}

static llap_status order_rows(ll_panel_builder *b, const uint32_t *rank)
{
    int64_t    *order;
    llap_status st = ll_events_sort(&b->rows, rank, b->entities.n, &order);
    if (st == LLAP_OK) st = find_duplicates(b, order);
    if (st == LLAP_OK && order != NULL) st = ll_building_permute(b, order);
    ll_free(order);
    if (st == LLAP_OK && b->counts.merged_rows > 0) merge_rows(b);
    return st;
}

llap_status ll_panel_builder_order(ll_panel_builder *b, const uint32_t *order)
{
    if (!ll_building_resize(&b->var_order, b->vars.n, sizeof *order)) return LLAP_ENOMEM;
    memcpy(b->var_order, order, b->vars.n * sizeof *order);
    return LLAP_OK;
}

void ll_panel_builder_sort_vars(ll_panel_builder *b) { b->opts.sort_vars = true; }

/* ---- handing over --------------------------------------------------------------------------- */

/* Rewrites the columns so that variable order[v] becomes column v. */
static llap_status permute_columns(ll_panel_builder *b, const uint32_t *order)
{
    float *row = ll_new((size_t)b->stride, sizeof *row);
    if (row == NULL) return LLAP_ENOMEM;
    for (int64_t r = 0; r < b->rows.n; r++) {
        float *at = b->value + r * b->stride;
        for (int64_t v = 0; v < b->stride; v++) row[v] = at[order[v]];
        memcpy(at, row, (size_t)b->stride * sizeof *row);
    }
    ll_free(row);
    return LLAP_OK;
}

/* Gives the rows, now final, to a panel. sorted: entity ids in byte order of their names. */
static llap_status hand_over(ll_panel_builder *b, const ll_axis *axis, const uint32_t *sorted,
                             const uint32_t *var_order, llap_panel **out)
{
    const ll_events *e = &b->rows;
    const char     **entity = ll_new(b->entities.n, sizeof *entity);
    const char     **var = ll_new(b->vars.n, sizeof *var);
    int64_t         *start = ll_new((size_t)b->entities.n + 1, sizeof *start);
    llap_status      st = LLAP_ENOMEM;
    if (entity == NULL || var == NULL || start == NULL) goto done;
    int64_t row = 0, n = 0;
    for (uint32_t k = 0; k < b->entities.n; k++) {
        const int64_t first = row;
        while (row < e->n && ll_events_entity(e, row) == sorted[k]) row++;
        if (row == first) continue;
        entity[n] = b->entities.name[sorted[k]];
        start[++n] = row;
    }
    b->counts.empty_entities = (int64_t)b->entities.n - n;
    for (uint32_t v = 0; v < b->vars.n; v++)
        var[v] = b->vars.name[var_order == NULL ? v : var_order[v]];
    ll_free(b->rows.entity);
    b->rows.entity = NULL;
    if (!ll_building_resize(&b->rows.time, b->rows.n, sizeof *b->rows.time) ||
        !ll_building_resize(&b->value, b->rows.n * b->stride, sizeof *b->value))
        goto done;
    ll_panel_draft d;
    d = (ll_panel_draft){ .axis = *axis,
                          .n_entities = n,
                          .n_vars = b->vars.n,
                          .entity = entity,
                          .var = var,
                          .start = start };
    st = ll_panel_adopt(&d, b->rows.time, b->value, out);
    b->rows.time = NULL;
    b->value = NULL;
    b->rows.n = b->rows.capacity = 0;
done:
    ll_free(entity);
    ll_free(var);
    ll_free(start);
    return st;
}

llap_status ll_building_ranks(const ll_panel_builder *b, uint32_t **rank, uint32_t **sorted)
{
    *sorted = NULL;
    *rank = ll_new(b->entities.n, sizeof **rank);
    const llap_status st = *rank == NULL ? LLAP_ENOMEM : ll_names_sorted(&b->entities, sorted);
    if (st == LLAP_OK)
        for (uint32_t k = 0; k < b->entities.n; k++) (*rank)[(*sorted)[k]] = k;
    return st;
}

llap_status ll_building_sort(ll_panel_builder *b, const uint32_t *rank, uint32_t **arrival)
{
    int64_t    *order = NULL;
    llap_status st = LLAP_OK;
    *arrival = NULL;
    if (b->stride != b->vars.n) st = ll_building_widen(b);
    uint32_t *first = NULL; /* when rows of cells came */
    if (st == LLAP_OK && b->cells.n > 0) st = cells_to_rows(b, rank, &first);
    if (st == LLAP_OK) st = ll_events_sort(&b->rows, rank, b->entities.n, &order);
    if (st == LLAP_OK && (order != NULL || first != NULL)) {
        *arrival = ll_new((size_t)b->rows.n, sizeof **arrival);
        if (*arrival == NULL) st = LLAP_ENOMEM;
        for (int64_t k = 0; st == LLAP_OK && k < b->rows.n; k++) {
            const int64_t r = order == NULL ? k : order[k];
            (*arrival)[k] = first == NULL ? (uint32_t)r : first[r];
        }
        if (st == LLAP_OK && order != NULL) st = ll_building_permute(b, order);
    }
    ll_free(first);
    ll_free(order);
    return st;
}

/* All of it in its final order, one row an entity and time. */
static llap_status settle(ll_panel_builder *b, const uint32_t *rank)
{
    llap_status st = LLAP_OK;
    if (b->stride != b->vars.n) st = ll_building_widen(b);
    if (st == LLAP_OK && b->cells.n > 0) st = cells_to_rows(b, rank, NULL);
    if (st == LLAP_OK) st = order_rows(b, rank);
    return st;
}

llap_status ll_building_columns(ll_panel_builder *b, const uint32_t **order)
{
    llap_status st = LLAP_OK;
    if (b->opts.sort_vars && b->var_order == NULL) st = ll_names_sorted(&b->vars, &b->var_order);
    *order = b->var_order;
    return st;
}

llap_status ll_panel_builder_finish(ll_panel_builder *b, const ll_axis *axis, llap_panel **out)
{
    *out = NULL;
    b->axis = axis;
    uint32_t       *sorted, *rank;
    const uint32_t *order = NULL;
    llap_status     st = ll_building_ranks(b, &rank, &sorted);
    if (st == LLAP_OK) st = ll_building_columns(b, &order);
    if (st == LLAP_OK && b->runs != NULL) {
        st = ll_row_runs_merge(b, rank, sorted, order, out);
    } else if (st == LLAP_OK) {
        st = settle(b, rank);
        if (st == LLAP_OK && order != NULL) st = permute_columns(b, order);
        if (st == LLAP_OK) st = hand_over(b, axis, sorted, order, out);
    }
    ll_free(rank);
    ll_free(sorted);
    return st;
}
