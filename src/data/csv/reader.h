/* The inner part of ll_csv_read: takes one source after the other into a builder. */
#ifndef LL_DATA_CSV_READER_H
#define LL_DATA_CSV_READER_H

#include "data/csv/schema.h"
#include "data/csv/variables.h"
#include "data/panel_words.h"

/* Rows and lines keep pace but for empty lines and quoted line ends: one entry per change of step
 * leads from any row back to its file and line. */
typedef struct ll_csv_place {
    int64_t     arrival, line;
    const char *file; /* borrowed from the list of files */
} ll_csv_place;

typedef struct ll_csv_part { /* a file that is an entity */
    uint32_t    entity;
    uint64_t    columns; /* tells other columns apart */
    const char *path;
} ll_csv_part;

typedef struct ll_csv_fold { /* the last hour of an entity that the clock shows twice */
    int64_t     day, line;   /* of its first row */
    const char *path;        /* NULL: none yet */
    bool        told;        /* the time went back in it: the order shows which is which */
} ll_csv_fold;

typedef struct ll_csv_use { /* a column that is read */
    uint32_t column;
    uint32_t variable; /* of ll_csv_variables */
    uint32_t var;      /* of the builder */
    bool     plain;    /* numbers that are what they are: csv_bulk may read them */
    bool     nothing;  /* neither name nor content */
} ll_csv_use;

typedef struct ll_csv_reader {
    const ll_csv_opts *o;
    ll_csv_opts        settled; /* o, and what the first file decided */
    bool               ready;   /* it has; the clock runs */
    ll_csv_report     *report;
    ll_panel_builder  *builder;
    ll_csv_variables   variables;
    ll_word_notes      words; /* of the wide form, by variable */
    char first_bad[256], first_infinite[256], first_outside[256]; /* where such cells came first */
    char first_summary[512];
    ll_clock clock;
    ll_arena text;

    ll_csv_place *place;
    size_t        n_places, place_capacity;
    int64_t       arrivals;

    ll_csv_fold *fold; /* [n_folds] by entity */
    uint32_t     n_folds;
    ll_csv_part *part;
    size_t       n_parts, part_capacity;

    int64_t  start;   /* of rows without a time, and how many each entity has so far */
    int64_t *counted; /* [n_counted] */
    uint32_t n_counted;

    /* the file being read */
    int64_t       empty_before; /* lines in front of the first row, of rows without a time */
    char          held[512];    /* what is wrong with the first of the lines that may sum it up */
    int           n_held;
    const char   *path;
    bool          is_table; /* no text: cells are put into the fields of tokens */
    ll_csv_tokens tokens;
    ll_csv_schema schema;
    ll_csv_use   *use; /* [n_use] wide form */
    size_t        n_use;
    size_t        time_column[LL_CLOCK_PARTS_MAX], variable_column, value_column;
    size_t        entity_column; /* n_columns: none */
    float        *row;           /* [n_row] */
    uint32_t      n_row;
    uint32_t      entity;          /* of the row before */
    char          entity_text[64]; /* and its name, to know it again at once */
    size_t        entity_len;      /* SIZE_MAX: do not compare */
} ll_csv_reader;

/* o, report and builder are borrowed until deinit. The caller owns *r, also after a failure. */
llap_status ll_csv_reader_init(ll_csv_reader *r, const ll_csv_opts *o, ll_panel_builder *builder,
                               ll_csv_report *report);
void        ll_csv_reader_deinit(ll_csv_reader *r);

/* Finds out what the source is, without reading it. Fixes the decisions for all files when it is
 * the first. path is borrowed until r's end, source until ll_csv_reader_leave. */
llap_status ll_csv_reader_enter(ll_csv_reader *r, const char *path, ll_source *source);
llap_status ll_csv_reader_records(ll_csv_reader *r);
void        ll_csv_reader_leave(ll_csv_reader *r); /* also after a failure */

/* Adds a wide row, whose line is r->tokens.line; entity is not looked at where files are entities.
 */
llap_status ll_csv_reader_row(ll_csv_reader *r, ll_csv_field entity, int64_t time,
                              const float *values);
/* Takes in the record that r->tokens holds. */
llap_status ll_csv_reader_record(ll_csv_reader *r);
/* There are no more: those held back as lines that may sum up do. */
void ll_csv_reader_end_records(ll_csv_reader *r);

/* ---- a table that is no text (table.h): its cells one by one ----
 *
 *     ll_csv_reader_bind, then for each row, whose number is r->tokens.line:
 *         r->tokens.field[c] = text;                    of the cells that are read as text
 *         ll_csv_reader_time, ll_csv_reader_entity
 *         wide:  set r->row [r->n_row] to NAN; for each r->use ll_csv_reader_cell or _number;
 *                ll_csv_reader_put
 *         long:  ll_csv_reader_long
 *
 * or, where all cells are text, ll_csv_reader_record for each row and ll_csv_reader_end_records.
 */
llap_status ll_csv_reader_enter_table(ll_csv_reader *r, ll_source *name,
                                      const ll_csv_sample *sample);
llap_status ll_csv_reader_bind(ll_csv_reader *r);
llap_status ll_csv_reader_entity(ll_csv_reader *r, ll_csv_field name);
llap_status ll_csv_reader_cell(ll_csv_reader *r, const ll_csv_use *use);
/* of LL_CSV_VALUES and LL_CSV_CIRCULAR */
llap_status ll_csv_reader_number(ll_csv_reader *r, const ll_csv_use *use, double number);
llap_status ll_csv_reader_put(ll_csv_reader *r, int64_t time);
/* n wide rows of the entity r->entity, from line r->tokens.line on. Not where unordered_is_error.
 */
llap_status ll_csv_reader_rows(ll_csv_reader *r, int64_t n, const int64_t *time,
                               const float *values);
/* number: the value, where it is no text; else NULL */
llap_status ll_csv_reader_long(ll_csv_reader *r, int64_t time, const double *number);
/* Puts file, line and column in front of the failure's detail. */
llap_status ll_csv_reader_fail(const ll_csv_reader *r, size_t column, llap_status st);

/* ---- row_time.c ---- */

/* The time of the record; both[1] > both[0] where it may be either (choose_time then tells, which
 * needs r->entity, and leaves it in both[0]). */
llap_status ll_csv_reader_time(ll_csv_reader *r, int64_t both[2], bool *empty);
/* The same of a time on the clock of the zone, both[0], as a number. */
llap_status ll_csv_reader_clock_time(ll_csv_reader *r, int64_t both[2]);
llap_status ll_csv_reader_choose_time(ll_csv_reader *r, int64_t both[2]);
llap_status ll_csv_reader_count_time(ll_csv_reader *r, int64_t *out);
/* Fails where an hour that came twice on the clock came once in the file: which one is not told. */
llap_status ll_csv_reader_check_folds(const ll_csv_reader *r);

/* ---- extras.c ---- */

/* Counts a row or cell that arrived, from r->tokens.line. */
llap_status ll_csv_reader_note_place(ll_csv_reader *r);

/* ---- join.c ---- */

/* Makes one entity of the files that continue each other. said: what was joined, "" where nothing
 * was. */
llap_status ll_csv_reader_join(ll_csv_reader *r, char said[512]);

/* Gives the panel the units that headers say, and its columns of words. */
llap_status ll_csv_reader_units(const ll_csv_reader *r, llap_panel *p);
llap_status ll_csv_reader_words(const ll_csv_reader *r, llap_panel *p);

/* "FILE:LINE" of a row's or cell's arrival number. */
void ll_csv_reader_place(const ll_csv_reader *r, int64_t arrival, char out[512]);

#endif
