/* Examples: how windows go through the paper's networks. An example is what one forward pass sees
 * at once.
 *
 * joint        a fixed network of sensors. The windows of one part that end their context at the
 *              same time and ask for the same query times form an example with a slot for every
 *              entity of the panel; absent entities leave their slot empty.
 * independent  patients, devices, customers. Each window is an example of one slot, on its own
 *              clock.
 *
 *     ll_example_list *r;
 *     st = ll_example_list_create(w, split, LL_PART_TRAIN, LL_VIEW_JOINT, &r);
 *     example i has the windows r->member[r->first[i]] .. r->member[r->first[i + 1] - 1]
 *
 * Examples are sorted by context end, then by query times; those of one context end form a group
 * (independent: each example is a group, sorted by context end, then entity). A batch takes whole
 * groups. */
#ifndef LL_DATA_WINDOWS_EXAMPLES_H
#define LL_DATA_WINDOWS_EXAMPLES_H

#include "data/windows/split.h"

typedef enum ll_example_view { LL_VIEW_JOINT, LL_VIEW_INDEPENDENT } ll_example_view;

typedef struct ll_example_list {
    const ll_windows *windows; /* borrowed until destroyed */
    ll_example_view   view;
    int64_t           n_examples, n_groups;
    int64_t           n_slots; /* of an example: entities of the panel, or 1 */
    uint32_t         *member;  /* windows, one example after the other, by entity within one */
    int64_t          *first;   /* [n_examples + 1] into member */
    int64_t          *group;   /* [n_groups + 1] first example of each group */
} ll_example_list;

/* Caller owns *out; it borrows w until destroyed. */
llap_status ll_example_list_create(const ll_windows *w, const ll_split *split, ll_part part,
                                   ll_example_view view, ll_example_list **out);
void        ll_example_list_destroy(ll_example_list *r); /* NULL is fine */

/* Batches of n_groups consecutive groups, the last may be short. */
static inline int64_t ll_example_list_batches(const ll_example_list *r, int64_t n_groups)
{
    return (r->n_groups + n_groups - 1) / n_groups;
}

/* Context end of an example. */
static inline int64_t ll_example_list_end(const ll_example_list *r, int64_t i)
{
    return ll_window_end(r->windows, &r->windows->at[r->member[r->first[i]]]);
}

/* A number for the example that depends on its content only (context end, entities by name), never
 * on its place: the window id of the random numbers. */
uint64_t ll_example_list_id(const ll_example_list *r, int64_t i);

#endif
