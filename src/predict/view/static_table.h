/* The static inputs of a panel's entities: from a file of their own, or from columns of the data
 * that never change within an entity.
 *
 *     ll_static_table t;
 *     st = ll_static_table_init(&t, panel, "shops.csv" or "kind,size");         for training
 *     st = ll_static_table_for(&t, model, panel, file or NULL);                 for what it asks
 *     t.column[i].word[e] or t.column[i].number[e]
 *     ll_static_table_deinit(&t);                                  also after a failure */
#ifndef LL_PREDICT_VIEW_STATIC_TABLE_H
#define LL_PREDICT_VIEW_STATIC_TABLE_H

#include "data/csv/statics.h"
#include "model/model.h"

typedef struct ll_static_table {
    int32_t          n;
    const char      *name[LL_STATIC_COLUMNS];
    ll_static_column column[LL_STATIC_COLUMNS]; /* [n_entities of the panel] each */
    ll_csv_statics   file;
    ll_arena         room;
} ll_static_table;

/* Whether the text of the option names a file and not columns: it has a '/', or ends in .csv, .tsv,
 * .txt or .gz. That does not depend on which files there are. */
bool ll_static_is_file(const char *text);

/* A column of the file is of numbers where every cell is one, else of words. LLAP_EINVAL: a column
 * that the data does not have, or that changes within an entity. */
llap_status ll_static_table_init(ll_static_table *t, const llap_panel *p, const char *text);

/* All columns of the data that never change within an entity and differ between entities, numbers
 * and words, but variables of skip [n_skip] and words that are as good as names: fewer than two
 * entities share one. The first LL_STATIC_COLUMNS of them. */
llap_status ll_static_table_find(ll_static_table *t, const llap_panel *p, const int64_t *skip,
                                 int64_t n_skip);

/* The columns that the model names, from the file (NULL: none), else from the panel; one that is
 * nowhere is missing for all. LLAP_EINVAL, LLAP_EFORMAT: as above, or words for numbers. */
llap_status ll_static_table_for(ll_static_table *t, const llap_model *m, const llap_panel *p,
                                const char *path);
void        ll_static_table_deinit(ll_static_table *t); /* { 0 } is fine */

#endif
