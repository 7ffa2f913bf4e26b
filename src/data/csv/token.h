/* Cuts delimited text into records and fields: separators, quotes, line ends, nothing about what
 * the fields mean.
 *
 *     ll_csv_tokens t;
 *     st = ll_csv_tokens_init(&t, source, max_record);
 *     st = ll_csv_tokens_peek(&t, &text, &n, &all);       the first bytes, to choose a dialect
 *     t.dialect = (ll_csv_dialect){ ';', '"', '\n', "" };
 *     while ((st = ll_csv_tokens_next(&t)) == LLAP_OK && t.n_fields > 0)
 *         use(t.field[0].text, t.field[0].len, t.line);
 *     ll_csv_tokens_deinit(&t);
 *
 * A field may be quoted as a whole; a doubled quote inside is one quote, and separators and line
 * ends inside are text. A quote anywhere else is an ordinary character. A carriage return before
 * the line end belongs to it. A byte-order mark at the start is skipped. Bytes that are not UTF-8
 * are taken for Latin-1. Lines of comments are passed over whatever they hold. A record of no bytes
 * at all is passed over (and its line counted); so t.n_fields == 0 only at the end. LLAP_EFORMAT: a
 * NUL byte, an unclosed quote, text behind a closing quote. LLAP_ELIMIT: a record longer than
 * max_record bytes, or of more than LL_CSV_FIELDS fields. All name source and line.
 */
#ifndef LL_DATA_CSV_TOKEN_H
#define LL_DATA_CSV_TOKEN_H

#include "data/text/utf8.h"

#include <stdbool.h>
#include <stdint.h>

enum { LL_CSV_FIELDS = 1 << 20, LL_CSV_PEEK = 256 * 1024 };

typedef struct ll_csv_dialect {
    char separator;  /* ' ' means: any run of blanks and tabs */
    char quote;      /* '\0': none */
    char line_end;   /* '\n', or '\r' for files that have nothing else */
    char comment[3]; /* lines that begin with this are passed over: "#", "%", "//"; "": none */
} ll_csv_dialect;

typedef struct ll_csv_field {
    char    *text; /* not closed by a NUL; borrowed until the next record */
    uint32_t len;
    bool     quoted;
} ll_csv_field;

typedef struct ll_csv_tokens {
    ll_csv_dialect dialect;
    ll_csv_field  *field;
    size_t         n_fields;
    int64_t        line;          /* where this record begins, from 1 */
    int64_t        skipped_lines; /* empty ones so far */
    int64_t        comment_lines; /* passed over so far */

    ll_source     *source; /* the rest is the tokeniser's own */
    ll_utf8_reader bytes;
    char          *buffer;
    size_t         at, end, capacity, max_record, field_capacity;
    int64_t        next_line;
    bool           begun;  /* the first bytes are read */
    bool           at_end; /* the source has no more */
} ll_csv_tokens;

/* Borrows source until deinit. */
llap_status ll_csv_tokens_init(ll_csv_tokens *t, ll_source *source, size_t max_record);
void        ll_csv_tokens_deinit(ll_csv_tokens *t); /* { 0 } is fine */

/* The first LL_CSV_PEEK bytes behind the byte-order mark, or more where that is not three lines,
 * up to the longest record; they are not taken. *all when there is nothing behind. Only before the
 * first ll_csv_tokens_next. Borrowed until then. */
llap_status ll_csv_tokens_peek(ll_csv_tokens *t, const char **text, size_t *n, bool *all);
llap_status ll_csv_tokens_next(ll_csv_tokens *t);

/* ---- many lines at once ---- */

/* Whole lines without quotes, about want bytes of them, without taking them; *n == 0: there are
 * none here. Borrowed until the next call that reads. */
llap_status ll_csv_tokens_lines(ll_csv_tokens *t, size_t want, char **text, size_t *n);
void        ll_csv_tokens_take(ll_csv_tokens *t, size_t n_bytes, int64_t n_lines);

/* Cuts the line that begins at p into fields; returns its line end, or NULL when that does not come
 * before end, or a quote does, or fields run out (64 to spare are needed). Reads up to 63 bytes
 * beyond end, which lines of the tokeniser have. */
char *ll_csv_cut_line(char *p, char *end, const ll_csv_dialect *d, ll_csv_field *field,
                      size_t capacity, size_t *n_fields);

#endif
