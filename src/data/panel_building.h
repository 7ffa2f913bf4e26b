/* Inside the panel builder: what panel_builder.c, which takes rows and cells in, and
 * panel_finish.c, which puts them in order and makes the panel, share; not for others. */
#ifndef LL_DATA_PANEL_BUILDING_H
#define LL_DATA_PANEL_BUILDING_H

#include "data/events.h"
#include "data/panel_builder.h"
#include "data/text/names.h"

struct ll_panel_builder {
    ll_builder_opts   opts;
    ll_builder_counts counts;
    const ll_axis    *axis; /* while finishing, borrowed */
    ll_names          entities, vars;
    uint32_t         *var_order; /* asked for; NULL: none */
    int64_t          *newest;    /* [newest_capacity] latest time of each entity so far */
    uint32_t          newest_capacity, newest_n;

    ll_events rows;
    float    *value; /* [rows.capacity,stride] */
    int64_t   stride;

    ll_events cells;
    uint32_t *cell_var;
    float    *cell_value;

    struct ll_row_runs *runs; /* sorted rows on disk (panel_runs.h); NULL: none so far */
    int64_t             runs_rows, runs_cells; /* arrivals that they hold */
};

/* Sorts what is in memory, cells as rows; rows of one entity and time stay several. rank [number of
 * entities] in byte order of their names. arrival [rows]: which came first; NULL: as they are.
 * Caller owns it. */
llap_status ll_building_sort(ll_panel_builder *b, const uint32_t *rank, uint32_t **arrival);

/* Brings the rows into that order, which is used up. order [rows] */
llap_status ll_building_permute(ll_panel_builder *b, int64_t *order);

/* The ranks of the entities, and the entities by rank. The caller owns both (ll_free). */
llap_status ll_building_ranks(const ll_panel_builder *b, uint32_t **rank, uint32_t **sorted);

/* Room for n more rows (or one more cell), of entities up to this number, in memory or by sending
 * what is there to disk. */
llap_status ll_building_room(ll_panel_builder *b, int64_t n, uint32_t entity);
llap_status ll_building_cell_room(ll_panel_builder *b, uint32_t entity);

/* A value is given twice: counts it, and fails where that is asked for. */
llap_status ll_building_twice(ll_panel_builder *b, uint32_t entity, uint32_t var, int64_t time,
                              int64_t arrival);

/* The order of the columns, NULL: as they came. Borrowed from the builder. */
llap_status ll_building_columns(ll_panel_builder *b, const uint32_t **order);

/* Resizes one array of the builder in place, a T ** of any T; false when out of memory. */
bool ll_building_resize(void *array, int64_t n, size_t size);

/* Rows get as many values as there are variables now; room for so many rows, of entities up to this
 * number. */
llap_status ll_building_widen(ll_panel_builder *b);
llap_status ll_building_reserve(ll_panel_builder *b, int64_t capacity, uint32_t entity);

#endif
