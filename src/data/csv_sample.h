/* The first lines of a file, cut into cells, with the dialect that cuts them best. What the schema
 * is found out from.
 *
 *     llap_csv_sample s;
 *     st = llap_csv_sample_init(&s, "air.csv", text, n, all, &opts);
 *     ... s.dialect, s.decimal, llap_csv_cell(&s, record, column) ...
 *     llap_csv_sample_deinit(&s); */
#ifndef LLAP_DATA_CSV_SAMPLE_H
#define LLAP_DATA_CSV_SAMPLE_H

#include "base/arena.h"
#include "base/text.h"
#include "data/csv.h"
#include "data/csv_token.h"

#include <stdio.h>
#include <string.h>

typedef struct llap_csv_record {
    const llap_csv_field *field;
    size_t                n;
    int64_t               line; /* of the file, from 1 */
} llap_csv_record;

typedef struct llap_csv_sample {
    llap_csv_dialect dialect;
    char             decimal;
    llap_csv_record *record;               /* whole ones only */
    size_t           n_records, n_columns; /* columns: of the longest record */
    bool             broken; /* a mistake, or a very long line, cut it short: reading will tell */
    llap_arena       text;
} llap_csv_sample;

/* text[0..n) are the first bytes of the file name, all of them when all is set; borrowed until
 * return. LLAP_EFORMAT: empty, or not text. The caller owns *s. */
llap_status llap_csv_sample_init(llap_csv_sample *s, const char *name, const char *text, size_t n,
                                 bool all, const llap_csv_opts *o);
void        llap_csv_sample_deinit(llap_csv_sample *s);

/* The cell without blanks around it; { "", 0 } where the record is too short. */
llap_csv_field llap_csv_cell(const llap_csv_sample *s, size_t record, size_t column);

/* Takes blanks off both ends of a field that is not quoted. */
static inline llap_csv_field llap_csv_trim(llap_csv_field f)
{
    if (f.quoted) return f;
    while (f.len > 0 && (f.text[0] == ' ' || f.text[0] == '\t')) f.text++, f.len--;
    while (f.len > 0 && (f.text[f.len - 1] == ' ' || f.text[f.len - 1] == '\t')) f.len--;
    return f;
}

static inline bool llap_csv_is(llap_csv_field f, const char *word)
{
    return strlen(word) == f.len && memcmp(f.text, word, f.len) == 0;
}

/* The cell for a message. */
static inline llap_text_shown llap_csv_show(llap_csv_field f)
{
    char text[120];
    snprintf(text, sizeof text, "%.*s", (int)(f.len < 119 ? f.len : 119), f.text);
    return llap_text_show(text);
}

/* NA, NaN, null and their like, in any case; also the empty field. */
bool llap_csv_is_missing_word(llap_csv_field f);

#endif
