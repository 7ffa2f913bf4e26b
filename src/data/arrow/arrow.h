/* src/data/arrow: tables in memory by the Arrow C data interface to panels.
 *
 *   type.h     what a column is, from its schema
 *   column.h   the cells of a column in one batch: numbers, texts, times
 *   read.c     batches to the reader of CSV (data/csv/table.h)
 *
 * May touch: base, base/time, data, data/csv. */
#ifndef LL_DATA_ARROW_ARROW_H
#define LL_DATA_ARROW_ARROW_H

#include "data/csv/csv.h"

#include <llapdiff/arrow.h>

/* Releases the stream in any case. Caller owns *out. report may be NULL. */
llap_status ll_arrow_read(struct ArrowArrayStream *stream, const ll_csv_opts *o, llap_panel **out,
                          ll_csv_report *report);

#endif
