/* The options of every command that reads data, and what they do. A command has an llap_read_opts
 * among its parts, and CLI_READ_ROWS among its rows. */
#ifndef LL_CLI_READ_H
#define LL_CLI_READ_H

#include "cli.h"

/* clang-format off */
#define CLI_READ_ROWS CLI_READ_ROWS_EVERY("every")
/* For commands that have an --every of their own. */
#define CLI_READ_ROWS_EVERY(spelt) \
    { .table = llap_read_options, .option = "entity", .arg = "COLUMN", .usual = true }, \
    { .table = llap_read_options, .option = "join" }, \
    { .table = llap_read_options, .option = "time", .arg = "COLUMN", .usual = true }, \
    { .table = llap_read_options, .option = "variable", .arg = "COLUMN" }, \
    { .table = llap_read_options, .option = "value", .arg = "COLUMN" }, \
    { .table = llap_read_options, .option = "time_format", .arg = "FORMAT" }, \
    { .table = llap_read_options, .option = "time_unit", .arg = "UNIT" }, \
    { .table = llap_read_options, .option = "zone", .arg = "ZONE", .usual = true }, \
    { .table = llap_read_options, .option = "start", .arg = "TIME" }, \
    { .table = llap_read_options, .option = "row_every", .arg = "DURATION", .name = spelt }, \
    { .table = llap_read_options, .option = "twice" }, \
    { .table = llap_read_options, .option = "separator" }, \
    { .table = llap_read_options, .option = "decimal" }, \
    { .table = llap_read_options, .option = "quote" }, \
    { .table = llap_read_options, .option = "form" }, \
    { .table = llap_read_options, .option = "header" }, \
    { .table = llap_read_options, .option = "skip_lines" }, \
    { .table = llap_read_options, .option = "comment" }, \
    { .table = llap_read_options, .option = "columns", .usual = true }, \
    { .table = llap_read_options, .option = "drop" }, \
    { .table = llap_read_options, .option = "missing", .usual = true }, \
    { .table = llap_read_options, .option = "codes" }, \
    { .table = llap_read_options, .option = "words" }, \
    { .table = llap_read_options, .option = "bad" }, \
    { .table = llap_read_options, .option = "duplicates" }, \
    { .table = llap_read_options, .option = "unordered" }, \
    { .table = llap_read_options, .option = "circular" }, \
    { .table = llap_read_options, .option = "coded" }, \
    { .table = llap_read_options, .option = "grid", .arg = "none|auto|DURATION", .usual = true }, \
    { .table = llap_read_options, .option = "bin" }, \
    { .table = llap_read_options, .option = "agg" }, \
    { .table = llap_read_options, .option = "fill" }, \
    { .table = llap_read_options, .option = "row_min", .arg = "SHARE" }, \
    { .table = llap_read_options, .option = "columns_kept" }, \
    { .table = llap_read_options, .option = "half" }
/* clang-format on */

/* Reads the files; caller owns *out (llap_panel_destroy). */
llap_status cli_read_panel(const cli_common *common, const llap_read_opts *how, int n, char **paths,
                           llap_panel **out);

/* MODEL DATA...: loads the one, reads the others; caller owns both, also after a failure. */
llap_status cli_open(const cli_common *common, const llap_read_opts *how, int n, char **operands,
                     llap_model **model, llap_panel **panel);

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

/* clang-format off */
#define CLI_OWN_OUTPUT(what) \
    { "output", LLAP_OPTION_FILE, offsetof(OPTIONS, to.file), NULL, "CSV file (default: standard output)", 0, 0, NULL, 0 }, \
    { "plot", LLAP_OPTION_FILE, offsetof(OPTIONS, to.plot), NULL, "draw " what ": .png, .svg, .pdf (pages of 12 series) or a folder/ (a picture of each entity)", 0, 0, NULL, 0 }
#define CLI_OUTPUT_ROWS { .option = "output", .letter = 'o' }, { .option = "plot" }
/* clang-format on */

/* Refuses what goes to one place twice or cannot be written; before the work. */
llap_status cli_check_output(const cli_common *common, const char *command, const cli_output *to,
                             int n, char **operands);

/* Refuses to write over what is read, a file or a table of a folder: data are not lost by a slip of
 * the hand. output may be NULL, and operands too. */
llap_status cli_spare(const char *command, const char *output, int n, char **operands);

/* Both paths lead to one file, that is there. */
bool cli_same_file(const char *a, const char *b);

/* Scenarios of a list "cold=cold.csv,warm=warm.csv"; without a name, that of the file. { 0 }
 * without a list. Caller owns them (cli_scenarios_free), also after a failure. */
enum { CLI_SCENARIOS = 16 };
typedef struct cli_scenarios {
    llap_scenario is[CLI_SCENARIOS];
    llap_panel   *panel[CLI_SCENARIOS];
    char         *text[CLI_SCENARIOS]; /* behind names and files */
    int64_t       n;
} cli_scenarios;

llap_status cli_read_scenarios(const cli_common *common, const char *command,
                               const llap_read_opts *how, const char *list, const cli_output *to,
                               cli_scenarios *out);
void        cli_scenarios_free(cli_scenarios *s);

/* Joins the processes of mpirun, of which the first one speaks, writes and hears signals: the
 * others get a *common that is quiet, in room, and write nothing. *rank is 0 where there are none.
 */
llap_status cli_join(const cli_common **common, cli_common *room, int *rank);

/* Draws the answer to a question about panel, writes it or, with --json, prints it; destroys it. */
llap_status cli_put_answer(const cli_common *common, llap_answer *a, const llap_panel *panel,
                           const cli_output *to);

#endif
