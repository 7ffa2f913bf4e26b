/* Several panels as one: entities, times and variables by name, the observed values of all.
 *
 *     st = ll_panels_merge(panels, n, &(ll_merge_opts){ .drop = drop }, &one);
 *
 * A value given twice is dealt with as by the builder, the panels in order. Carried values stay
 * behind. */
#ifndef LL_DATA_PANEL_MERGE_H
#define LL_DATA_PANEL_MERGE_H

#include "data/panel_builder.h"

/* Lists end with NULL; a NULL list is empty. All borrowed until return. */
typedef struct ll_merge_opts {
    ll_duplicates      duplicates;
    const char *const *drop;    /* variables not wanted */
    const char *const *missing; /* numbers that mean missing */
} ll_merge_opts;

/* Caller owns *out. LLAP_EINVAL: none, axes that do not fit together, a variable to drop that is in
 * none, a word for missing that is no number. */
llap_status ll_panels_merge(const llap_panel *const *p, size_t n, const ll_merge_opts *o,
                            llap_panel **out);

#endif
