/* Tables that are no text (data/arrow, data/sql), read by the rules of CSV: what the columns are,
 * words, codes for missing, long and wide form, messages. Such a table shows its first rows as text
 * and then gives all of them, cell by cell, to the reader of CSV.
 *
 *     const ll_csv_table t = { "frame", show_first_rows, give_rows, &frame };
 *     st = ll_csv_read_table(&t, &opts, &panel, &report); */
#ifndef LL_DATA_CSV_TABLE_H
#define LL_DATA_CSV_TABLE_H

#include "data/csv/reader.h"

typedef struct ll_csv_table {
    const char *name; /* for messages */
    /* The names of the columns and the first rows. What it puts into out->text ends with it. */
    llap_status (*sample)(void *user, ll_csv_sample *out);
    /* Gives the rows to r, as data/csv/reader.h says; r is bound. */
    llap_status (*rows)(void *user, ll_csv_reader *r);
    void *user;
} ll_csv_table;

/* Caller owns *out. report may be NULL. */
llap_status ll_csv_read_table(const ll_csv_table *t, const ll_csv_opts *o, llap_panel **out,
                              ll_csv_report *report);

#endif
