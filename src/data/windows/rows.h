/* Rows: how windows go through the model. A row is what one forward pass sees at once.
 *
 * joint        a fixed network of sensors. The windows of one part that end their context at the
 *              same time and ask for the same query times form a row with a slot for every entity
 *              of the panel; absent entities leave their slot empty.
 * independent  patients, devices, customers. Each window is a row of one slot, on its own clock.
 *
 *     ll_rows *r;
 *     st = ll_rows_create(w, split, LL_PART_TRAIN, LL_VIEW_JOINT, &r);
 *     row i has the windows r->member[r->first[i]] .. r->member[r->first[i + 1] - 1]
 *
 * Rows are sorted by context end, then by query times; those of one context end form a group
 * (independent: each row is a group, sorted by context end, then entity). A batch takes whole
 * groups. */
#ifndef LL_DATA_WINDOWS_ROWS_H
#define LL_DATA_WINDOWS_ROWS_H

#include "data/windows/split.h"

typedef enum ll_row_view { LL_VIEW_JOINT, LL_VIEW_INDEPENDENT } ll_row_view;

typedef struct ll_rows {
    const ll_windows *windows; /* borrowed until destroyed */
    ll_row_view       view;
    int64_t           n_rows, n_groups;
    int64_t           n_slots; /* of a row: entities of the panel, or 1 */
    uint32_t         *member;  /* windows, row after row, by entity within a row */
    int64_t          *first;   /* [n_rows + 1] into member */
    int64_t          *group;   /* [n_groups + 1] first row of each group */
} ll_rows;

/* Caller owns *out; it borrows w until destroyed. */
llap_status ll_rows_create(const ll_windows *w, const ll_split *split, ll_part part,
                           ll_row_view view, ll_rows **out);
void        ll_rows_destroy(ll_rows *r); /* NULL is fine */

/* Batches of n_groups consecutive groups, the last may be short. */
static inline int64_t ll_rows_batches(const ll_rows *r, int64_t n_groups)
{
    return (r->n_groups + n_groups - 1) / n_groups;
}

/* Context end of a row. */
static inline int64_t ll_row_end(const ll_rows *r, int64_t row)
{
    return ll_window_end(r->windows, &r->windows->at[r->member[r->first[row]]]);
}

/* A number for the row that depends on its content only (context end, entities by name), never on
 * its place: the window id of the random numbers. */
uint64_t ll_row_id(const ll_rows *r, int64_t row);

#endif
