/* What the columns of a file are: found out from its first lines and from the options.
 *
 *     ll_csv_schema s;
 *     st = ll_csv_schema_init(&s, "air.csv", &sample, &opts);
 *     s.column[0].role ... s.time_format ...
 *     ll_csv_schema_deinit(&s);
 *
 * Columns are known by their names first (time, date, station, parameter, value ... in the words
 * that files use) and by their content second. */
#ifndef LL_DATA_CSV_SCHEMA_H
#define LL_DATA_CSV_SCHEMA_H

#include "data/clock.h"
#include "data/csv/sample.h"

typedef enum ll_csv_role {
    LL_CSV_NUMBER,  /* a variable; 0, so that it is what a column is unless found otherwise */
    LL_CSV_WORDS,   /* words, to be left out or coded */
    LL_CSV_COUNTER, /* numbers the lines */
    LL_CSV_NOTHING, /* neither name nor content, or no part of the long form */
    LL_CSV_ENTITY,
    LL_CSV_TIME,     /* one of n_time, see part */
    LL_CSV_VARIABLE, /* long form */
    LL_CSV_VALUE,    /* long form */
} ll_csv_role;

typedef struct ll_csv_column {
    const char *name; /* never NULL; c1, c2, ... where the file gives none */
    ll_csv_role role;
    int         part;  /* of the time: 0 .. n_time - 1 */
    bool        few;   /* its words are few and come again: they can be coded */
    bool        named; /* by the file */
    const char *unit;  /* what the header says of it; "": nothing */
} ll_csv_column;

typedef struct ll_csv_schema {
    ll_csv_dialect dialect;
    char           decimal;
    bool           header;
    bool           commented;  /* the header is a comment */
    size_t         n_front;    /* records in front of the table */
    int64_t        first_line; /* of data: titles and headers are in front */
    bool           is_long;
    ll_csv_column *column;
    size_t         n_columns;
    int            n_time;                     /* columns that make up the time */
    bool           ambiguous;                  /* day and month could be the other way round */
    char           time_format[LL_CLOCK_TEXT]; /* as ll_clock_init takes it */
    char           time_unit[32];              /* "" : none */
    const char    *renamed; /* what a column is called whose name came before; NULL: none */
    const char    *refusal; /* why no number can be trusted, as a message; NULL: nothing */
    ll_arena       text;
} ll_csv_schema;

/* LLAP_EFORMAT: no time column can be found; LLAP_EINVAL: an option names a column that is not
 * there. Both name the file and list its columns. The caller owns *s, also after a failure. */
llap_status ll_csv_schema_init(ll_csv_schema *s, const char *name, const ll_csv_sample *sample,
                               const ll_csv_opts *o);
void        ll_csv_schema_deinit(ll_csv_schema *s);

/* ---- refusal.c ---- */

/* Sets s->refusal where numbers of a wanted column can be read in two ways that differ, or where a
 * column of words would be left out that looks like numbers. first: record of data. */
llap_status ll_csv_find_refusal(ll_csv_schema *s, const char *file, const ll_csv_sample *sample,
                                size_t first, const ll_csv_opts *o);

/* ---- timeguess.c ---- */

typedef struct ll_csv_timeguess {
    char format[LL_CLOCK_TEXT]; /* as ll_clock_init takes it */
    char unit[8];               /* of an epoch, else "" */
    bool ambiguous;             /* another order of day and month reads as well */
} ll_csv_timeguess;

/* The format in which all cells of the column, from record first on, are times; false: there is
 * none. numbers: whether plain numbers and HH:MM may be times. */
bool ll_csv_guess_time(const ll_csv_sample *sample, size_t first, size_t column, bool numbers,
                       ll_csv_timeguess *out);

/* The same for a date in one column and a clock time in another, joined by a blank. */
bool ll_csv_guess_date_and_time(const ll_csv_sample *sample, size_t first, size_t date,
                                size_t clock, ll_csv_timeguess *out);

#endif
