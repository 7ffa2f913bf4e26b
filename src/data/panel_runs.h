/* Inside the panel builder: rows that did not fit into memory. Each time memory is full, its rows
 * are sorted and go to a file without a name beside the panel that is being packed: a run. At the
 * end all runs are merged into the packed panel, in one pass; not for others.
 *
 * Rows of one entity and time are put together in the order of their arrival, as in memory. */
#ifndef LL_DATA_PANEL_RUNS_H
#define LL_DATA_PANEL_RUNS_H

#include "data/panel_building.h"

typedef struct ll_row_runs ll_row_runs;

/* What is in memory becomes a run. */
llap_status ll_row_runs_spill(ll_panel_builder *b);

/* Takes what is left in memory too. rank, sorted: ll_building_ranks; order: ll_building_columns.
 * Caller owns *out. */
llap_status ll_row_runs_merge(ll_panel_builder *b, const uint32_t *rank, const uint32_t *sorted,
                              const uint32_t *order, llap_panel **out);

/* What the functions of panel_builder.h do, of all runs. */
llap_status ll_row_runs_visit(ll_row_runs *r, void (*see)(void *user, uint32_t var, float *x),
                              void        *user);
llap_status ll_row_runs_join(ll_panel_builder *b, const uint32_t *to);
void        ll_row_runs_spans(const ll_row_runs *r, ll_builder_span *out, uint32_t n);

void ll_row_runs_destroy(ll_row_runs *r); /* NULL is fine */

#endif
