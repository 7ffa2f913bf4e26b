/* The inner part of llap_csv_read: takes one source after the other into a builder. */
#ifndef LLAP_DATA_CSV_READER_H
#define LLAP_DATA_CSV_READER_H

#include "data/csv_schema.h"
#include "data/csv_variables.h"

/* Rows and lines keep pace but for empty lines and quoted line ends: one entry per change of step
 * leads from any row back to its file and line. */
typedef struct llap_csv_place {
    int64_t     arrival, line;
    const char *file; /* borrowed from the list of files */
} llap_csv_place;

typedef struct llap_csv_use { /* a column that is read */
    uint32_t column;
    uint32_t variable; /* of llap_csv_variables */
    uint32_t var;      /* of the builder */
    bool     plain;    /* numbers that are what they are: csv_bulk may read them */
    bool     nothing;  /* neither name nor content */
} llap_csv_use;

typedef struct llap_csv_reader {
    const llap_csv_opts *o;
    llap_csv_opts        settled; /* o, and what the first file decided */
    bool                 ready;   /* it has; the clock runs */
    llap_csv_report     *report;
    llap_panel_builder  *builder;
    llap_csv_variables   variables;
    char first_bad[256], first_infinite[256], first_outside[256]; /* where such cells came first */
    llap_clock clock;
    llap_arena text;

    llap_csv_place *place;
    size_t          n_places, place_capacity;
    int64_t         arrivals;

    /* the file being read */
    const char     *path;
    llap_csv_tokens tokens;
    llap_csv_schema schema;
    llap_csv_use   *use; /* [n_use] wide form */
    size_t          n_use;
    size_t          time_column[LLAP_CLOCK_PARTS_MAX], variable_column, value_column;
    size_t          entity_column; /* n_columns: none */
    float          *row;           /* [n_row] */
    uint32_t        n_row;
    uint32_t        entity;          /* of the row before */
    char            entity_text[64]; /* and its name, to know it again at once */
    size_t          entity_len;      /* SIZE_MAX: do not compare */
} llap_csv_reader;

/* o, report and builder are borrowed until deinit. The caller owns *r, also after a failure. */
llap_status llap_csv_reader_init(llap_csv_reader *r, const llap_csv_opts *o,
                                 llap_panel_builder *builder, llap_csv_report *report);
void        llap_csv_reader_deinit(llap_csv_reader *r);

/* Finds out what the source is, without reading it. Fixes the decisions for all files when it is
 * the first. path is borrowed until r's end, source until llap_csv_reader_leave. */
llap_status llap_csv_reader_enter(llap_csv_reader *r, const char *path, llap_source *source);
llap_status llap_csv_reader_records(llap_csv_reader *r);
void        llap_csv_reader_leave(llap_csv_reader *r); /* also after a failure */

/* Adds a wide row, whose line is r->tokens.line; entity is not looked at where files are entities.
 */
llap_status llap_csv_reader_row(llap_csv_reader *r, llap_csv_field entity, int64_t time,
                                const float *values);
/* Takes in the record that r->tokens holds. */
llap_status llap_csv_reader_record(llap_csv_reader *r);

/* "FILE:LINE" of a row's or cell's arrival number. */
void llap_csv_reader_place(const llap_csv_reader *r, int64_t arrival, char out[512]);

#endif
