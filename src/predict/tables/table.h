/* A table of forecasts as a CSV file, record by record: commas, a header of names, numbers.
 *
 *     ll_table    t = { 0 };
 *     llap_status st = ll_table_open(&t, path);
 *     while (st == LLAP_OK && (st = ll_table_next(&t)) == LLAP_OK && t.tokens.n_fields > 0)
 *         st = ll_field_number(&t.tokens.field[3], &x);
 *     st = ll_table_fail(&t, path, st);        what is wrong, with file and line
 *     ll_table_close(&t);
 */
#ifndef LL_PREDICT_TABLES_TABLE_H
#define LL_PREDICT_TABLES_TABLE_H

#include "data/csv/token.h"

typedef struct ll_table {
    ll_csv_tokens tokens;
    ll_source    *source;
    bool          placed; /* the last record could not be cut: its detail has file and line */
} ll_table;

llap_status ll_table_open(ll_table *t, const char *path);
void        ll_table_close(ll_table *t); /* { 0 } is fine */

/* The next record: t->tokens.field; no fields: the end. */
llap_status ll_table_next(ll_table *t);

/* st, and where it has a detail without a place, that with file and line in front. */
llap_status ll_table_fail(const ll_table *t, const char *path, llap_status st);

bool ll_field_is(const ll_csv_field *f, const char *word);

/* "q0.025" in a header: a level within (0, 1); NaN: no quantile. */
double ll_field_level(const ll_csv_field *f);

/* The whole field as a number; infinite ones and "nan" too. LLAP_EFORMAT shows what was found. */
llap_status ll_field_number(const ll_csv_field *f, double *out);

#endif
