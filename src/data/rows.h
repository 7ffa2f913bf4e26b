/* Rows: how windows go through the model. A row is what one forward pass sees at once.
 *
 * joint        a fixed network of sensors. The windows of one part that end their context at the
 *              same time and ask for the same query times form a row with a slot for every entity
 *              of the panel; absent entities leave their slot empty.
 * independent  patients, devices, customers. Each window is a row of one slot, on its own clock.
 *
 *     llap_rows *r;
 *     st = llap_rows_create(w, split, LLAP_PART_TRAIN, LLAP_VIEW_JOINT, &r);
 *     row i has the windows r->member[r->first[i]] .. r->member[r->first[i + 1] - 1]
 *
 * Rows are sorted by context end, then by query times; those of one context end form a group
 * (independent: each row is a group, sorted by context end, then entity). A batch takes whole
 * groups. */
#ifndef LLAP_DATA_ROWS_H
#define LLAP_DATA_ROWS_H

#include "data/split.h"

typedef enum llap_row_view { LLAP_VIEW_JOINT, LLAP_VIEW_INDEPENDENT } llap_row_view;

typedef struct llap_rows {
    const llap_windows *windows; /* borrowed until destroyed */
    llap_row_view       view;
    int64_t             n_rows, n_groups;
    int64_t             n_slots; /* of a row: entities of the panel, or 1 */
    uint32_t           *member;  /* windows, row after row, by entity within a row */
    int64_t            *first;   /* [n_rows + 1] into member */
    int64_t            *group;   /* [n_groups + 1] first row of each group */
} llap_rows;

/* Caller owns *out; it borrows w until destroyed. */
llap_status llap_rows_create(const llap_windows *w, const llap_split *split, llap_part part,
                             llap_row_view view, llap_rows **out);
void        llap_rows_destroy(llap_rows *r); /* NULL is fine */

/* Batches of n_groups consecutive groups, the last may be short. */
static inline int64_t llap_rows_batches(const llap_rows *r, int64_t n_groups)
{
    return (r->n_groups + n_groups - 1) / n_groups;
}

/* Context end of a row. */
static inline int64_t llap_row_end(const llap_rows *r, int64_t row)
{
    return llap_window_end(r->windows, &r->windows->at[r->member[r->first[row]]]);
}

/* A number for the row that depends on its content only (context end, entities by name), never on
 * its place: the window id of the random numbers. */
uint64_t llap_row_id(const llap_rows *r, int64_t row);

#endif
