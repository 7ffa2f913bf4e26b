/* The words that files use for their columns. Lists are closed by NULL, in order of preference, in
 * lower case without blanks and marks. */
#ifndef LLAP_DATA_CSV_WORDS_H
#define LLAP_DATA_CSV_WORDS_H

#include "data/clock.h"

extern const char *const llap_csv_time_words[];
extern const char *const llap_csv_date_words[];
extern const char *const llap_csv_clock_words[]; /* beside a date */
extern const char *const llap_csv_entity_words[];
extern const char *const llap_csv_variable_words[];
extern const char *const llap_csv_value_words[];
extern const char *const llap_csv_counter_words[]; /* numbers of rows, no values */
extern const char *const llap_csv_part_words[LLAP_CLOCK_PARTS_MAX][5]; /* year, month, .. second */

/* Where the name of a column stands in the list, however it is written; -1: nowhere. */
int llap_csv_word(const char *name, const char *const *words);

/* The unit that a column of numbers of this name has, "min"; "": none. */
const char *llap_csv_unit_of(const char *name);

#endif
