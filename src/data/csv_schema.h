/* What the columns of a file are: found out from its first lines and from the options.
 *
 *     llap_csv_schema s;
 *     st = llap_csv_schema_init(&s, "air.csv", &sample, &opts);
 *     s.column[0].role ... s.time_format ...
 *     llap_csv_schema_deinit(&s);
 *
 * Columns are known by their names first (time, date, station, parameter, value ... in the words
 * that files use) and by their content second. */
#ifndef LLAP_DATA_CSV_SCHEMA_H
#define LLAP_DATA_CSV_SCHEMA_H

#include "data/clock.h"
#include "data/csv_sample.h"

typedef enum llap_csv_role {
    LLAP_CSV_NUMBER,  /* a variable; 0, so that it is what a column is unless found otherwise */
    LLAP_CSV_WORDS,   /* words, to be left out or coded */
    LLAP_CSV_COUNTER, /* numbers the lines */
    LLAP_CSV_NOTHING, /* neither name nor content, or no part of the long form */
    LLAP_CSV_ENTITY,
    LLAP_CSV_TIME,     /* one of n_time, see part */
    LLAP_CSV_VARIABLE, /* long form */
    LLAP_CSV_VALUE,    /* long form */
} llap_csv_role;

typedef struct llap_csv_column {
    const char   *name; /* never NULL; c1, c2, ... where the file gives none */
    llap_csv_role role;
    int           part; /* of the time: 0 .. n_time - 1 */
} llap_csv_column;

typedef struct llap_csv_schema {
    llap_csv_dialect dialect;
    char             decimal;
    bool             header;
    bool             is_long;
    llap_csv_column *column;
    size_t           n_columns;
    int              n_time;                       /* columns that make up the time */
    bool             ambiguous;                    /* day and month could be the other way round */
    char             time_format[LLAP_CLOCK_TEXT]; /* as llap_clock_init takes it */
    char             time_unit[32];                /* "" : none */
    const char      *renamed; /* what a column is called whose name came before; NULL: none */
    llap_arena       text;
} llap_csv_schema;

/* LLAP_EFORMAT: no time column can be found; LLAP_EINVAL: an option names a column that is not
 * there. Both name the file and list its columns. The caller owns *s, also after a failure. */
llap_status llap_csv_schema_init(llap_csv_schema *s, const char *name,
                                 const llap_csv_sample *sample, const llap_csv_opts *o);
void        llap_csv_schema_deinit(llap_csv_schema *s);

/* ---- csv_timeguess.c ---- */

typedef struct llap_csv_timeguess {
    char format[LLAP_CLOCK_TEXT]; /* as llap_clock_init takes it */
    char unit[8];                 /* of an epoch, else "" */
    bool ambiguous;               /* another order of day and month reads as well */
} llap_csv_timeguess;

/* The format in which all cells of the column, from record first on, are times; false: there is
 * none. numbers: whether plain numbers and HH:MM may be times. */
bool llap_csv_guess_time(const llap_csv_sample *sample, size_t first, size_t column, bool numbers,
                         llap_csv_timeguess *out);

/* The same for a date in one column and a clock time in another, joined by a blank. */
bool llap_csv_guess_date_and_time(const llap_csv_sample *sample, size_t first, size_t date,
                                  size_t clock, llap_csv_timeguess *out);

#endif
