/* A table of what never changes: one row an entity, its name and then numbers and words.
 *
 *     ll_csv_statics s;
 *     st = ll_csv_statics_read("shops.csv", panel, &s);
 *     s.word[c][e]                 of column c and entity e of the panel, NULL: missing
 *     ll_csv_statics_deinit(&s);                                  also after a failure
 *
 * The entity is in the column of that name, or in the first. Entities that the panel does not have
 * are passed over. */
#ifndef LL_DATA_CSV_STATICS_H
#define LL_DATA_CSV_STATICS_H

#include "base/arena.h"
#include "data/panel.h"

typedef struct ll_csv_statics {
    size_t        n; /* columns but that of the entity */
    const char  **name;
    const char ***word;                 /* [n][n_entities] */
    int64_t      *line;                 /* [n_entities] where it was given; 0: not */
    int64_t       n_found, n_elsewhere; /* entities of the panel, and others */
    ll_arena      text;
} ll_csv_statics;

/* LLAP_EFORMAT: no table, an entity given twice; LLAP_EINVAL: none of the panel's entities. */
llap_status ll_csv_statics_read(const char *path, const llap_panel *p, ll_csv_statics *out);
void        ll_csv_statics_deinit(ll_csv_statics *s); /* { 0 } is fine */

#endif
