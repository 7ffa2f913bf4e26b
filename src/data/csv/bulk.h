/* The usual rows of a wide file, read by several threads at once. Usual is: the right number of
 * fields, no quotes, one time column, and nothing but numbers and missing words in the others. What
 * is not usual is left to the reader, record by record, so that there is one place that knows what
 * to do about it, and the result is the same for any number of threads. */
#ifndef LL_DATA_CSV_BULK_H
#define LL_DATA_CSV_BULK_H

#include "data/csv/reader.h"

/* Reads on from where r's tokeniser is, until the end or until there are no usual rows. */
llap_status ll_csv_bulk_read(ll_csv_reader *r);

#endif
