/* src/data/sql: what a database answers to a query, as a panel.
 *
 *   read.c   rows of a query to the reader of CSV (data/csv/table.h)
 *
 * May touch: base, base/time, base/sql, data, data/csv.
 *
 * The panel is that of a CSV file with the same rows: NULL is an empty cell, a number is its
 * shortest text, true is 1, a time with its zone is RFC 3339 in UTC. Rows are read one by one, so
 * that memory holds the panel and a first sample of them. The connection cannot write. */
#ifndef LL_DATA_SQL_SQL_H
#define LL_DATA_SQL_SQL_H

#include "base/sql/url.h"
#include "data/csv/csv.h"

typedef struct ll_sql_source {
    const ll_sql_url *at;
    const char       *query;     /* NULL: at->query */
    bool              is_stream; /* entity, time in ticks, variable, value: of a store */
} ll_sql_source;

/* Caller owns *out. report may be NULL. LLAP_EUNSUPPORTED: no library for it; LLAP_EUNAVAILABLE,
 * LLAP_ENOTFOUND: the database; LLAP_EINVAL: the query; else as ll_csv_read. */
llap_status ll_sql_read(const ll_sql_source *from, const ll_csv_opts *o, llap_panel **out,
                        ll_csv_report *report);

#endif
