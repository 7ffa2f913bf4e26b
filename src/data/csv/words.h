/* The words that files use for their columns. Lists are closed by NULL, in order of preference, in
 * lower case without blanks and marks. */
#ifndef LL_DATA_CSV_WORDS_H
#define LL_DATA_CSV_WORDS_H

#include "data/clock.h"

extern const char *const ll_csv_time_words[];
extern const char *const ll_csv_date_words[];
extern const char *const ll_csv_clock_words[]; /* beside a date */
extern const char *const ll_csv_entity_words[];
extern const char *const ll_csv_variable_words[];
extern const char *const ll_csv_value_words[];
extern const char *const ll_csv_counter_words[];                   /* numbers of rows, no values */
extern const char *const ll_csv_part_words[LL_CLOCK_PARTS_MAX][6]; /* year, month, .. second */

/* Where the name of a column stands in the list, however it is written; -1: nowhere. */
int ll_csv_word(const char *name, const char *const *words);

/* The unit that a column of numbers of this name has, "min"; "": none. */
const char *ll_csv_unit_of(const char *name);

#endif
