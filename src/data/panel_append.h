/* Rows that arrive: a panel grows in place.
 *
 *     st = ll_panel_append(p, rows, &moved);      rows: a small panel of the same variables
 *
 * Rows behind the last one of the last entity cost what they are. Rows of other entities, or
 * between those that are there, also move what lies behind them, once for all rows of a call; room
 * grows by half, so that allocations grow as the logarithm of the rows. */
#ifndef LL_DATA_PANEL_APPEND_H
#define LL_DATA_PANEL_APPEND_H

#include "data/panel.h"

/* Puts the rows into p: they replace values of the same entity and time, what they miss erases
 * nothing. moved: rows that went elsewhere in memory; NULL: not wanted. Whatever was borrowed from
 * p is gone, but p itself and the struct that llap_panel_view gave. After a failure p is as it was.
 * LLAP_ELIMIT: too many cells. */
llap_status ll_panel_append(llap_panel *p, const llap_panel *rows, int64_t *moved);

/* A panel of its own with the same content. Caller owns *out. */
llap_status ll_panel_copy(const llap_panel *p, llap_panel **out);

#endif
