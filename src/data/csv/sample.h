/* The first lines of a file, cut into cells, with the dialect that cuts them best. What the schema
 * is found out from.
 *
 *     ll_csv_sample s;
 *     st = ll_csv_sample_init(&s, "air.csv", text, n, all, &opts);
 *     ... s.dialect, s.decimal, ll_csv_cell(&s, record, column) ...
 *     ll_csv_sample_deinit(&s); */
#ifndef LL_DATA_CSV_SAMPLE_H
#define LL_DATA_CSV_SAMPLE_H

#include "base/arena.h"
#include "base/text.h"
#include "data/csv/csv.h"
#include "data/csv/token.h"

#include <stdio.h>
#include <string.h>

typedef struct ll_csv_record {
    const ll_csv_field *field;
    size_t              n;
    int64_t             line; /* of the file, from 1 */
} ll_csv_record;

typedef struct ll_csv_sample {
    ll_csv_dialect dialect;
    char           decimal;
    ll_csv_record *record;               /* whole ones only */
    size_t         n_records, n_columns; /* columns: of the longest record */
    size_t         n_front;              /* records in front of the table, not among these */
    ll_csv_record  above[2];             /* the last lines of comment right above the table that
                                            cut into as many fields as its records do */
    size_t   n_above;
    bool     all;    /* the records are the whole file */
    bool     broken; /* a mistake, or a very long line, cut it short: reading will tell */
    ll_arena text, above_text;
} ll_csv_sample;

enum { LL_CSV_SUMMARY_MAX = 5 }; /* lines at the end that may sum up */

/* text[0..n) are the first bytes of the file name, all of them when all is set; borrowed until
 * return. LLAP_EFORMAT: empty, or not text. The caller owns *s. */
llap_status ll_csv_sample_init(ll_csv_sample *s, const char *name, const char *text, size_t n,
                               bool all, const ll_csv_opts *o);
void        ll_csv_sample_deinit(ll_csv_sample *s);

/* The cell without blanks around it; { "", 0 } where the record is too short. */
ll_csv_field ll_csv_cell(const ll_csv_sample *s, size_t record, size_t column);

/* Takes blanks off both ends of a field that is not quoted, those of print (U+00A0) too. */
static inline ll_csv_field ll_csv_trim(ll_csv_field f)
{
    if (f.quoted) return f;
    while (f.len > 1 && memcmp(f.text, "\xc2\xa0", 2) == 0) f.text += 2, f.len -= 2;
    while (f.len > 1 && memcmp(f.text + f.len - 2, "\xc2\xa0", 2) == 0) f.len -= 2;
    while (f.len > 0 && (f.text[0] == ' ' || f.text[0] == '\t')) f.text++, f.len--;
    while (f.len > 0 && (f.text[f.len - 1] == ' ' || f.text[f.len - 1] == '\t')) f.len--;
    return f;
}

/* The cell for a message. */
static inline ll_text_shown ll_csv_show(ll_csv_field f)
{
    char text[120];
    snprintf(text, sizeof text, "%.*s", (int)(f.len < 119 ? f.len : 119), f.text);
    return ll_text_show(text);
}

/* How many fields most records have, from the first one given on. */
size_t ll_csv_usual_fields(const ll_csv_sample *s, size_t first);

/* Whether a record that is not like the others, at the end of a file, sums it up: it says Total or
 * Mittelwert, or it is a line of text. */
bool ll_csv_is_summary(const ll_csv_field *field, size_t n_fields, size_t n_columns);

/* NA, NaN, null and their like, in any case; also the empty field. */
bool ll_csv_is_missing_word(ll_csv_field f);
/* The same, or a word that the options name. */
bool ll_csv_means_missing(const ll_csv_opts *o, ll_csv_field f);

#endif
