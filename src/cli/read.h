/* The options of every command that reads data, and what they do. A command's options struct begins
 * with a cli_read, its table with CLI_READ_OPTIONS. */
#ifndef LL_CLI_READ_H
#define LL_CLI_READ_H

#include "cli.h"

typedef struct cli_read {
    const char *entity, *time, *variable, *value, *time_format, *time_unit, *zone;
    const char *separator, *decimal, *columns, *drop, *missing, *circular, *coded;
    const char *grid, *bin, *agg, *fill, *keep, *half;
    double      row_min;
    const char *form, *header, *quote, *codes, *words, *bad, *duplicates, *unordered, *twice;
    int64_t     skip_lines;
} cli_read;

#define CLI_READ_ROW(name, arg, field, help)                               \
    {                                                                      \
        name, 0, CLI_STRING, arg, offsetof(cli_read, field), help, 0, 0, 0 \
    }

/* clang-format off */
#define CLI_READ_OPTIONS                                                                               \
    CLI_READ_ROW("entity", "COLUMN", entity, "column of the entity; '' for none"),                     \
    CLI_READ_ROW("time", "COLUMN", time, "column of the time; parts joined by +, Date+Time"),          \
    CLI_READ_ROW("variable", "COLUMN", variable, "long form: column of the variable's name"),          \
    CLI_READ_ROW("value", "COLUMN", value, "long form: column of the value"),                          \
    CLI_READ_ROW("time-format", "FORMAT", time_format, "rfc3339, epoch, number, elapsed or strptime"), \
    CLI_READ_ROW("time-unit", "UNIT", time_unit, "of epochs and numbers: s, ms, min, h"),              \
    CLI_READ_ROW("zone", "ZONE", zone, "zone of times that name none: Europe/Rome, +08:00"),           \
    CLI_READ_ROW("twice", "error|earlier|later", twice, "times that this zone shows twice or never"),   \
    CLI_READ_ROW("separator", "CHAR", separator, "between fields; 'tab' for tabulators"),              \
    CLI_READ_ROW("decimal", "CHAR", decimal, "decimal point: . or ,"),                                 \
    CLI_READ_ROW("quote", "CHAR", quote, "around fields (default \")"),                                 \
    CLI_READ_ROW("form", "wide|long", form, "a row per time, or a row per value"),                     \
    CLI_READ_ROW("header", "yes|no", header, "whether the first line names the columns"),              \
    { "skip-lines", 0, CLI_INT, "N", offsetof(cli_read, skip_lines), "lines in front of the table",    \
      0, 1e9, 0 },                                                                                        \
    CLI_READ_ROW("columns", "LIST", columns, "variables to read; new=old renames"),                    \
    CLI_READ_ROW("drop", "LIST", drop, "variables to leave out"),                                      \
    CLI_READ_ROW("missing", "LIST", missing, "further words or numbers that mean missing"),            \
    CLI_READ_ROW("codes", "find|keep", codes, "whether -200, -9999 and the like mean missing"),        \
    CLI_READ_ROW("words", "ignore|code|error", words, "columns of words"),                             \
    CLI_READ_ROW("bad", "error|missing", bad, "cells that cannot be read"),                            \
    CLI_READ_ROW("duplicates", "last|error", duplicates, "values given twice"),                        \
    CLI_READ_ROW("unordered", "sort|error", unordered, "time that goes back"),                         \
    CLI_READ_ROW("circular", "LIST", circular, "columns of degrees or compass points"),                \
    CLI_READ_ROW("coded", "LIST", coded, "columns of words, coded 0, 1, ..."),                         \
    CLI_READ_ROW("grid", "none|auto|DURATION", grid, "put the rows on a grid (default none)"),         \
    CLI_READ_ROW("bin", "nearest|floor|exact", bin, "which values a grid point takes"),                \
    CLI_READ_ROW("agg", "mean|last", agg, "several values of one grid point"),                         \
    CLI_READ_ROW("fill", "none|forward", fill, "carry values forward; they stay unobserved"),          \
    { "row-min", 0, CLI_REAL, "SHARE", offsetof(cli_read, row_min),                                    \
      "drop rows with a smaller share of values", 0, 1, 0 },                                              \
    CLI_READ_ROW("keep", "all|common", keep, "all variables, or those that every entity has"),         \
    CLI_READ_ROW("half", "no|yes", half, "round values to half precision")
/* clang-format on */

/* Reads the files; caller owns *out (llap_panel_destroy). */
llap_status cli_read_panel(const cli_common *common, const char *command, const cli_read *r, int n,
                           char **paths, llap_panel **out);

/* MODEL DATA...: loads the one, reads the others; caller owns both, also after a failure. */
llap_status cli_open(const cli_common *common, const char *command, const cli_read *r, int n,
                     char **operands, llap_model **model, llap_panel **panel);

/* Models that answer together with the first, of a list "a.safetensors,b.safetensors"; { 0 }
 * without one. Caller owns them (cli_mates_free), also after a failure. */
enum { CLI_MATES = 16 };
typedef struct cli_mates {
    llap_model *model[CLI_MATES];
    int64_t     n;
} cli_mates;

llap_status cli_load_mates(const char *command, const char *list, cli_mates *out);
void        cli_mates_free(cli_mates *m);

/* A progress bar on stderr unless --quiet; *bar may be NULL. Caller destroys it. Work stops at its
 * next report where signals are caught and one came. */
llap_progress cli_progress(const cli_common *common, llap_bar **bar);

/* What becomes of an answer. */
typedef struct cli_output {
    const char *file; /* CSV; NULL or "-": standard output */
    const char *plot; /* a picture too; NULL: none */
} cli_output;

#define CLI_OUTPUT_OPTIONS(what)                                                 \
    TEXT("output", 'o', "FILE", to.file, "CSV file (default: standard output)"), \
        TEXT("plot", 0, "FILE", to.plot, "draw " what ": .png, .svg or .pdf")

/* Refuses what goes to one place twice or cannot be written; before the work. */
llap_status cli_check_output(const cli_common *common, const char *command, const cli_output *to,
                             int n, char **operands);

/* Refuses to write over what is read, a file or a table of a folder: data are not lost by a slip of
 * the hand. output may be NULL, and operands too. */
llap_status cli_spare(const char *command, const char *output, int n, char **operands);

/* Both paths lead to one file, that is there. */
bool cli_same_file(const char *a, const char *b);

/* Draws the answer to a question about panel, writes it or, with --json, prints it; destroys it. */
llap_status cli_put_answer(const cli_common *common, llap_answer *a, const llap_panel *panel,
                           const cli_output *to);

#endif
