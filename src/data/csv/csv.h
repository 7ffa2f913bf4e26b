/* src/data/csv: delimited text to panels and back.
 *
 *   token.h           fields and records, nothing about meaning
 *   sample.h, marks.h, schema.h, words.h:
 *                     the first lines; points and thousands; what the columns are
 *   variables.h       cells to values; bad cells get their message here
 *   reader.h, bulk.h  records to rows; usual rows by several threads
 *   codes.h           what only all values together tell
 *   read.c            files to a panel
 *   statics.h         a table with one row an entity
 *   write.h           and back
 *
 * May touch: base, base/time, data. */

/* Reading panels from delimited text: what people call CSV, in all the ways they write it.
 *
 *     ll_csv_opts opts = LL_CSV_DEFAULT;           everything is found out
 *     ll_csv_report report;
 *     st = ll_csv_read((const char *[]){ "air.csv.gz" }, 1, &opts, &panel, &report);
 *     puts(report.decision[0]), puts(report.decision[1]);
 *
 * Forms. Wide: a row per time, a column per variable (entity,time,temp,wind). Long: a row per value
 * (entity,time,variable,value). The entity column may be absent; each file is then one entity,
 * named after the file, unless the files continue each other (2019.csv, 2020.csv). Several files
 * become one panel. A folder stands for the files in it (sorted; hidden ones and those that lack
 * the time column are left out with a warning). "-" is the standard input. gzip is known by its
 * bytes.
 *
 * Cells. Empty cells, NA, NaN, null and their like are missing, and so are the codes that files use
 * for it (-200, -9999 ...) where they stand apart from all other values. A cell that is neither
 * missing nor a number is an error with file, line and column. Infinite or too large values are
 * counted and stored as missing.
 *
 * Two lines in the report say what was decided; every decision is overruled by its option. */
#ifndef LL_DATA_CSV_CSV_H
#define LL_DATA_CSV_CSV_H

#include "base/time/zone.h"
#include "data/panel_builder.h"

#include <llapdiff/log.h>

typedef enum ll_choice { LL_AUTO, LL_YES, LL_NO } ll_choice;
typedef enum ll_csv_form { LL_CSV_AUTO, LL_CSV_WIDE, LL_CSV_LONG } ll_csv_form;

/* What becomes of a column whose cells are words. */
typedef enum ll_csv_text {
    LL_CSV_TEXT_AUTO,   /* as IGNORE; LLAP_EFORMAT where its words look like numbers */
    LL_CSV_TEXT_IGNORE, /* left out; a warning counts its cells */
    LL_CSV_TEXT_CODE,   /* 0, 1, ... in byte order of all its words */
    LL_CSV_TEXT_ERROR,
} ll_csv_text;

/* Lists of strings end with NULL; a NULL list is empty. All strings are borrowed until return. */
typedef struct ll_csv_opts {
    char        separator;  /* 0: found out; ' ' is any run of blanks */
    char        quote;      /* 0: '"' */
    char        decimal;    /* 0: found out, '.' or ',' */
    ll_choice   header;     /* whether the first line names the columns; without: c1, c2, ... */
    const char *comment;    /* what lines of comment begin with: "#"; NULL: found out; "": none */
    int64_t     skip_lines; /* lines in front that do not belong to the table */

    ll_csv_form form;
    const char *entity;   /* column; "": none, all files are one series */
    const char *series;   /* what the one of a table in memory is called; NULL: "series" */
    ll_choice   join;     /* whether files without an entity column that continue each other are one
                             series; LL_YES: all of them, LLAP_EINVAL where they overlap */
    const char *time;     /* column, or two joined by '+': "Date+Time", or up to six parts:
                             "year+month+day+hour" */
    const char *variable; /* long form: column of the names */
    const char *value;    /* long form: column of the values */

    const char *start;       /* tables without a time: that of the first row of each entity, */
    int64_t     row_every;   /* and how far apart rows are, nanoseconds; 0 and NULL: there is one */
    const char *time_format; /* "rfc3339", "epoch" (with time_unit), "number" (with time_unit),
                                "elapsed" (HH:MM[:SS], hours beyond 24 too), or for strptime */
    const char *time_unit;   /* of epochs s, ms, us, ns; of numbers any duration: "min", "0.5h" */
    const char *zone;        /* of times that name none: "Europe/Rome", "+08:00"; else UTC */
    ll_wall     wall;        /* which of the two, of times that the zone shows twice or never */
    bool        infer_wall;  /* with LL_WALL_ERROR: of two equal hours of the wide form the first is
                                the earlier, where the rows of the entity go back by one */

    const char *const *columns;   /* variables wanted, in this order; "new=old" renames */
    const char *const *drop;      /* variables not wanted */
    const char *const *missing;   /* further words or numbers that mean missing */
    bool               no_codes;  /* do not look for -200, -9999 and the like */
    double             valid_min; /* values outside are missing, and counted */
    double             valid_max;
    const char *const *circular; /* columns of degrees or compass points (N, NNE): each becomes
                                    NAME_sin and NAME_cos */
    const char *const *coded;    /* columns of words to code, whatever text says */
    const char *const *levels;   /* "variable=word": columns of words whose codes are given, by the
                                    order of their levels; other words are missing */
    ll_csv_text text;
    uint32_t    few_words; /* LL_CSV_TEXT_AUTO: columns of at most so many different words are
                              coded; 0: none */
    bool          bad_is_missing;     /* cells that cannot be read are missing, and counted */
    bool          unordered_is_error; /* time going back within an entity */
    ll_duplicates duplicates;
    size_t        max_line;      /* bytes */
    int64_t       max_entities;  /* more is taken for a wrong entity column */
    int           threads;       /* that read one file; 0: one per processor, at most 8. The
                                    panel is the same for any number */
    struct ll_pack_writer *pack; /* ll_builder_opts */
    int64_t                memory;
    const llap_log        *log; /* warnings; NULL: only counted */
} ll_csv_opts;

#define LL_CSV_DEFAULT                            \
    ((ll_csv_opts){ .valid_min = -INFINITY,       \
                    .valid_max = INFINITY,        \
                    .max_line = (size_t)16 << 20, \
                    .max_entities = 1000000 })

enum { LL_CSV_TEXT_MAX = 1024 };

typedef struct ll_csv_report {
    char              decision[2][LL_CSV_TEXT_MAX]; /* how the files were understood */
    int64_t           files, lines;                 /* read */
    int64_t           skipped_files;                /* of folders, without the time column */
    int64_t           front_lines;                  /* records in front of the table */
    int64_t           comment_lines, summary_lines; /* passed over; the latter at the end */
    int64_t           header_lines;                 /* headers that came again */
    int64_t           empty_lines;                  /* also lines of separators only */
    int64_t           text_cells;                   /* words in columns left out */
    int64_t           grouped_cells;                /* 1,234.5 and its like */
    int64_t           strange_words;                /* that are no level */
    int64_t           bad_cells;      /* could not be read, taken as missing on request */
    int64_t           infinite_cells; /* inf, or too large for a float */
    int64_t           out_of_range;   /* outside valid_min .. valid_max */
    int64_t           coded_missing;  /* cells holding a code for missing */
    int64_t           warnings;       /* given to the log, or that would have been */
    ll_builder_counts rows;           /* what the builder counted */
} ll_csv_report;

/* Caller owns *out. report may be NULL. LLAP_ENOTFOUND, LLAP_EIO: a file cannot be read.
 * LLAP_EFORMAT: its content. LLAP_EINVAL: an option that does not fit; LLAP_EOPTION: that cannot
 * be. LLAP_ELIMIT. */
llap_status ll_csv_read(const char *const *paths, size_t n_paths, const ll_csv_opts *o,
                        llap_panel **out, ll_csv_report *report);

/* The same for one file in memory, plain or gzip; name stands for the path. */
llap_status ll_csv_read_memory(const char *name, const void *data, size_t n, const ll_csv_opts *o,
                               llap_panel **out, ll_csv_report *report);

#endif
