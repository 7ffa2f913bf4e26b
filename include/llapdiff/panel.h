/* A panel: what was measured. Each entity (station, patient, ticker) has its own rows at its own
 * times, one value or hole per variable. Immutable, but for llap_panel_append; any number of
 * threads may read it.
 *
 *     llap_read_opts how = { 0 };
 *     llap_panel    *panel = NULL;
 *     llap_status    st = llap_panel_read((const char *[]){ "air.csv.gz" }, 1, &how, &panel);
 *     ...
 *     llap_panel_destroy(panel); */
#ifndef LLAPDIFF_PANEL_H
#define LLAPDIFF_PANEL_H

#include <llapdiff/log.h>
#include <llapdiff/options.h>
#include <llapdiff/status.h>
#include <llapdiff/text.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llap_panel llap_panel;

/* What the times of a panel mean. They are always int64_t ticks; the axis says of what. The strings
 * are never NULL in what the library returns; in what it is given, NULL is "". */
typedef enum llap_time_kind {
    LLAP_TIME_CALENDAR, /* nanoseconds since 1970-01-01T00:00:00Z */
    LLAP_TIME_NUMBER,   /* plain numbers, times unit_ns */
} llap_time_kind;

typedef struct llap_time_axis {
    llap_time_kind kind;
    const char    *zone;    /* calendar: "UTC", "+08:00", "Asia/Shanghai"; "": none, as UTC */
    const char    *format;  /* calendar: how times are written, as for strptime; "": RFC 3339 */
    const char    *unit;    /* number: "s", "min", "h", "d"; "": unknown */
    int64_t        unit_ns; /* number: ticks of 1; 1000000000 where the unit is unknown */
} llap_time_axis;

/* What the options of llap_read_opts choose among. 0 is the default of each: what comes first, but
 * for form and header, which are found out. */
typedef enum llap_table_form {
    LLAP_TABLE_DEFAULT,
    LLAP_TABLE_WIDE, /* "wide": a row per time */
    LLAP_TABLE_LONG, /* "long": a row per value */
} llap_table_form;

typedef enum llap_read_header {
    LLAP_READ_HEADER_DEFAULT,
    LLAP_READ_HEADER_YES, /* "yes": the first line names the columns */
    LLAP_READ_HEADER_NO,  /* "no" */
} llap_read_header;

typedef enum llap_read_codes {
    LLAP_READ_CODES_DEFAULT,
    LLAP_READ_CODES_FIND, /* "find": -200, -9999 and the like mean missing where they stand apart
                             from all other values */
    LLAP_READ_CODES_KEEP, /* "keep": they are values */
} llap_read_codes;

typedef enum llap_read_words {
    LLAP_READ_WORDS_DEFAULT,
    LLAP_READ_WORDS_IGNORE, /* "ignore": columns of words are left out, with a warning */
    LLAP_READ_WORDS_CODE,   /* "code": they become 0, 1, ... */
    LLAP_READ_WORDS_ERROR,  /* "error" */
    LLAP_READ_WORDS_AUTO,   /* "auto", the default: "code" for two to 20 words that come again,
                               "ignore" for more; an error where they look like numbers */
} llap_read_words;

typedef enum llap_read_bad {
    LLAP_READ_BAD_DEFAULT,
    LLAP_READ_BAD_ERROR,   /* "error": a cell that cannot be read ends reading */
    LLAP_READ_BAD_MISSING, /* "missing": it is missing, and counted */
} llap_read_bad;

typedef enum llap_read_duplicates {
    LLAP_READ_DUPLICATES_DEFAULT,
    LLAP_READ_DUPLICATES_LAST,  /* "last": of values given twice the last stays and is counted */
    LLAP_READ_DUPLICATES_ERROR, /* "error" */
} llap_read_duplicates;

typedef enum llap_read_unordered {
    LLAP_READ_UNORDERED_DEFAULT,
    LLAP_READ_UNORDERED_SORT,  /* "sort": rows whose time goes back are sorted and counted */
    LLAP_READ_UNORDERED_ERROR, /* "error" */
} llap_read_unordered;

typedef enum llap_read_bin {
    LLAP_READ_BIN_DEFAULT,
    LLAP_READ_BIN_NEAREST, /* "nearest": a grid point takes the values nearest to it */
    LLAP_READ_BIN_FLOOR,   /* "floor": those from it up to the next */
    LLAP_READ_BIN_EXACT,   /* "exact": those at its very time; others are left out */
} llap_read_bin;

typedef enum llap_read_agg {
    LLAP_READ_AGG_DEFAULT,
    LLAP_READ_AGG_MEAN, /* "mean": several values of a grid point become their mean */
    LLAP_READ_AGG_LAST, /* "last": the last stays */
} llap_read_agg;

typedef enum llap_read_fill {
    LLAP_READ_FILL_DEFAULT,
    LLAP_READ_FILL_NONE,    /* "none" */
    LLAP_READ_FILL_FORWARD, /* "forward": missing cells take the last value before them and stay
                               unobserved */
} llap_read_fill;

typedef enum llap_read_columns_kept {
    LLAP_READ_COLUMNS_KEPT_DEFAULT,
    LLAP_READ_COLUMNS_KEPT_ALL,    /* "all" variables */
    LLAP_READ_COLUMNS_KEPT_COMMON, /* "common": those that every entity has */
} llap_read_columns_kept;

typedef enum llap_read_half {
    LLAP_READ_HALF_DEFAULT,
    LLAP_READ_HALF_NO,  /* "no" */
    LLAP_READ_HALF_YES, /* "yes": values rounded to half precision, as published panels are */
} llap_read_half;

typedef enum llap_read_twice {
    LLAP_READ_TWICE_DEFAULT,
    LLAP_READ_TWICE_ERROR,   /* "error": a time that the zone's clock shows twice or never */
    LLAP_READ_TWICE_EARLIER, /* "earlier": is the earlier of the two */
    LLAP_READ_TWICE_LATER,   /* "later" */
    LLAP_READ_TWICE_INFER, /* "infer", the default: the first of two equal hours is the earlier; an
                              error where the order of the rows does not tell */
} llap_read_twice;

typedef enum llap_read_join {
    LLAP_READ_JOIN_DEFAULT, /* files without an entity column are one series where all have the same
                               columns, names that differ in dates alone, and each goes on where the
                               one before ends; else one each */
    LLAP_READ_JOIN_YES,     /* "yes": they are; an error where they overlap */
    LLAP_READ_JOIN_NO,      /* "no": each is an entity */
} llap_read_join;

/* How files are read. Everything that is NULL or 0 is found out or has its default
 * (llap_read_options() in <llapdiff/options.h>); what was decided goes to the log in two lines.
 * Lists are separated by commas. Strings are borrowed until the call returns. */
typedef struct llap_read_opts {
    const char *entity;      /* column of the entity; "": none, all files are one series */
    const char *time;        /* column of the time, or parts joined by '+': "Date+Time" */
    const char *variable;    /* long form: column of the variable's name */
    const char *value;       /* long form: column of the value */
    const char *time_format; /* "rfc3339", "epoch", "number", "elapsed", or as for strptime */
    const char *time_unit;   /* of epochs and numbers: "s", "ms", "min", "h" */
    const char *zone;        /* of times that name none: "Europe/Rome", "+08:00" */
    const char *start;       /* of tables without a time: that of the first row, "2024-01-01" */
    const char *row_every;   /* and how far apart their rows are: "1h" */
    char        separator;
    char        decimal;
    char        quote;         /* 0: '"' */
    const char *comment;       /* what lines of comment begin with: "#"; "": there are none */
    const char *columns;       /* variables wanted, "new=old" renames */
    const char *drop;          /* variables not wanted */
    const char *missing;       /* further words or numbers that mean missing */
    const char *circular;      /* columns of degrees or compass points: sine and cosine */
    const char *coded;         /* columns of words: coded 0, 1, ... */
    const char *const *levels; /* llap_model_levels: words keep the codes that training gave them */
    const char *grid; /* "auto" or a duration: rows at every multiple; NULL, "none": as they are */
    llap_read_bin          bin;
    llap_read_agg          agg;
    llap_table_form        form;
    llap_read_header       header;
    llap_read_codes        codes;
    llap_read_words        words;
    llap_read_bad          bad;
    llap_read_duplicates   duplicates;
    llap_read_unordered    unordered;
    llap_read_fill         fill;
    llap_read_columns_kept columns_kept;
    llap_read_half         half;
    llap_read_twice        twice;
    llap_read_join         join;
    int64_t                skip_lines; /* in front of the table */
    double                 row_min; /* rows with a smaller share of values are dropped; 0: none */
    const llap_log        *log;
} llap_read_opts;

/* Reads CSV files (plain or gzip; wide or long) or NetCDF files into a panel; "-" is standard
 * input. One packed panel, a file or a folder, is opened and not read: its times and values are
 * mapped. One database is asked, and read as CSV of its rows would be: "sqlite:FILE" or
 * "postgresql://...", with "?query=SELECT ...", "?table=NAME" or, of what a server collected,
 * "?stream=NAME" (docs/data.md); a file of such a name is "./sqlite:...". Caller owns *out. */
LLAP_API llap_status llap_panel_read(const char *const *paths, size_t n_paths,
                                     const llap_read_opts *o, llap_panel **out);
/* The same of a CSV file in memory, plain or gzip, or of an Arrow stream there, by the rules of
 * llap_panel_from_arrow; it is borrowed until this returns. name stands for the path of CSV in
 * messages, and without an entity column its series is named after it; no file is opened. */
LLAP_API llap_status llap_panel_read_memory(const char *name, const void *bytes, size_t n,
                                            const llap_read_opts *o, llap_panel **out);
LLAP_API void        llap_panel_destroy(llap_panel *p); /* NULL is fine */

/* Rows in memory, in any order: one value or NaN (missing) for each variable. Rows of one entity
 * and time become one. Borrowed until the call returns. Zeroed members are left out:
 *
 *     const llap_arrays rows = { .n_rows = n, .n_vars = 1, .var = names, .time = t, .value = x };
 *
 * What llap_panel_view gives of a panel without filled cells becomes the same panel again. */
typedef struct llap_arrays {
    size_t             n_rows, n_vars;
    const char *const *var;    /* [n_vars] names, all different */
    const char *const *entity; /* [n_rows] the entity of each row; NULL: one, "series" */
    const int64_t     *time;   /* [n_rows] nanoseconds since 1970-01-01T00:00Z */
    const float       *value;  /* [n_rows,n_vars] row-major */

    const llap_time_axis *axis; /* NULL: time is nanoseconds since 1970-01-01T00:00Z, as above */
} llap_arrays;

LLAP_API llap_status llap_panel_from_arrays(const llap_arrays *a,
                                            llap_panel       **out); /* caller owns */

/* What a panel holds, as it lies in memory: nothing is copied. Everything is borrowed until the
 * panel is destroyed, the struct itself too. It may grow at its end, so programs use the pointer
 * and make no copy by size. All rows of a packed panel are looked at before they are shown: NULL
 * where they are not what was written (llap_error_detail says where).
 *     const llap_panel_columns *c = llap_panel_view(panel);
 *     for (int64_t e = 0; e < c->n_entities; e++)
 *         for (int64_t r = c->first[e]; r < c->first[e + 1]; r++)
 *             if (llap_cell_observed(c, r, 0))
 *                 use(c->entities[e], c->time[r], c->value[r * c->n_variables]);
 *
 * A cell is observed (its bit is set, its value finite), filled (the bit is not set, the value
 * finite: carried forward when the panel was read) or missing (the value is NaN). */
typedef struct llap_panel_columns {
    int64_t            n_entities, n_variables, n_rows;
    const char *const *entities;  /* [n_entities] names, increasing in byte order */
    const char *const *variables; /* [n_variables] names, all different */
    const int64_t     *first;    /* [n_entities + 1] rows of entity e: first[e] .. first[e + 1]-1 */
    const int64_t     *time;     /* [n_rows] ticks, strictly increasing within an entity */
    const float       *value;    /* [n_rows,n_variables] */
    const uint64_t    *observed; /* cell c = row * n_variables + variable is bit c % 64 of word
                                  * c / 64 */
    llap_time_axis axis;
} llap_panel_columns;

LLAP_API const llap_panel_columns *llap_panel_view(const llap_panel *p);

static inline int llap_cell_observed(const llap_panel_columns *c, int64_t row, int64_t variable)
{
    const uint64_t cell = (uint64_t)(row * c->n_variables + variable);
    return (int)(c->observed[cell / 64] >> (cell % 64) & 1);
}

/* Puts further rows into p, for observations that arrive; they replace values of the same entity
 * and time, and what they miss erases nothing. The variables are those of p, in their order, and so
 * is the axis (that of more is not looked at). Entities may be new.
 *
 * Rows behind the last one of the last entity, so all that arrive for a single series, cost what
 * they are, however long p is. Others move in memory what lies behind them, once a call: give the
 * rows of all entities together.
 *
 * The one function that changes a panel: nobody else may use p meanwhile, and whatever was borrowed
 * from it is gone: arrays and names of its view, inspections, answers that are still to be drawn
 * beside it. The pointer that llap_panel_view gave stays and shows what p is now. Who needs the
 * panel as it was makes a copy before. After a failure p is as it was. */
LLAP_API llap_status llap_panel_append(llap_panel *p, const llap_arrays *more);
LLAP_API llap_status llap_panel_copy(const llap_panel *p, llap_panel **out); /* caller owns */

typedef struct llap_panel_sizes {
    int64_t entities, variables, rows;
    int64_t first, last; /* times, nanoseconds; first > last without rows */
} llap_panel_sizes;

LLAP_API void llap_panel_size(const llap_panel *p, llap_panel_sizes *out);

/* Packed panels: sorted and checksummed rows in a file, or in a folder of shards (shard_rows), that
 * are mapped when they are opened: the data need not fit into memory, and opening takes as long for
 * 10 GB as for 10 MB. Rows beyond `memory` are sorted in a file beside `to`, which is there at the
 * end or not at all. The format: docs/spec/pack.md. Whoever changes or shortens the file while it
 * is mapped ends the process that reads it; a new one is written beside it and renamed. */
typedef struct llap_pack_opts {
    int64_t memory;     /* megabytes; 0: 1000 */
    int64_t shard_rows; /* 0: one file */
} llap_pack_opts;

/* made: what it holds; NULL: not wanted. Grids are for reading: LLAP_EOPTION. */
LLAP_API llap_status llap_panel_pack(const char *const *paths, size_t n_paths,
                                     const llap_read_opts *o, const llap_pack_opts *how,
                                     const char *to, llap_panel_sizes *made);

/* Writes CSV (wide), NetCDF where the path ends in .nc, or a packed panel (.panel); reading gives
 * the panel back. Replaces the file as a whole. "-": CSV to standard output. */
LLAP_API llap_status llap_panel_write(const llap_panel *p, const char *path);
/* The same with a choice of form for CSV, wide by default. */
LLAP_API llap_status llap_panel_write_as(const llap_panel *p, const char *path,
                                         llap_table_form form);

/* What the panel is like: entities, span, gaps, coverage, suggestions; for people or as JSON.
 * Caller owns *text (llap_text_free). */
LLAP_API llap_status llap_panel_inspect(const llap_panel *p, int json, char **text);

/* Draws it: which entity was observed when, and how long the gaps between rows are. PNG, SVG or PDF
 * as the path ends; replaces the file as a whole. LLAP_EOPTION: another end. LLAP_EUNSUPPORTED:
 * built without cairo. */
LLAP_API llap_status llap_panel_plot(const llap_panel *p, const char *path);
/* The same of some entities: names separated by commas, with * and ?; NULL: all. A PDF has a page
 * more for every 60 where there are more; where path is a folder, or ends in /, an SVG for each
 * entity appears in it, named after the entity. */
LLAP_API llap_status llap_panel_plot_only(const llap_panel *p, const char *only, const char *path);

typedef enum llap_synth_kind {
    LLAP_SYNTH_KIND_DEFAULT,
    LLAP_SYNTH_KIND_OSCILLATORS, /* "oscillators": damped ones, shared and own, a daily cycle and
                               noise; the best forecast is known. The default */
    LLAP_SYNTH_KIND_WEATHER, /* "weather": stations with temperature and pressure, fronts and clouds
                              */
} llap_synth_kind;

/* A made-up network of sensors, with jittered timestamps, lost rows and cells, long gaps and dead
 * sensors. */
typedef struct llap_synth_sizes {
    int64_t         entities;  /* 0: 6 */
    int64_t         variables; /* 0: 3; weather has 2 */
    int64_t         rows;      /* of an entity, before any are lost; 0: 2000 */
    int64_t         seed;      /* 0: 1; LLAP_ZERO: 0 */
    llap_synth_kind kind;
} llap_synth_sizes;

LLAP_API llap_status llap_panel_synth(const llap_synth_sizes *o,
                                      llap_panel            **out); /* caller owns */

#ifdef __cplusplus
}
#endif

#endif
