/* Which values of the passes answers look at, docs/spec/filling.md 4: those of a source at the
 * times of a cell's own readings, where the source is read at the cell's time. Where little is read
 * at one time, that is a small part of a table. */
#ifndef LL_FILL_NEED_H
#define LL_FILL_NEED_H

#include "fill/smooth.h"

/* Marks of a cell, [n_vars,n_rows]: its value after that pass is looked at. */
enum { LL_FILL_NEED_0 = 1, LL_FILL_NEED_1 = 2 };

/* Marks what an answer about a cell looks at, whether the cell is read or not. */
void ll_fill_need_of(const ll_filling *f, const ll_fill_table *t, int64_t v, int64_t row,
                     uint8_t mark, uint8_t *need);

/* Marks what pass 1 looks at of pass 0, for the cells whose value after pass 1 is needed. */
void ll_fill_need_before(const ll_filling *f, const ll_fill_table *t, uint8_t *need);

/* Marks what the unrest of all readings of targets looks at. */
void ll_fill_need_unrest(const ll_filling *f, const ll_fill_table *t, uint8_t *need);

#endif
