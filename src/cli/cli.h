/* src/cli: the program. It sees include/llapdiff/ only, as any user of the library does.
 *
 *   cli.h            this file: tables of options
 *   main.c           the list of commands
 *   parse.c, help.c  command line and --config; help, manual pages, completions
 *   read.h           options of every command that reads data
 *   cmd_*.c          a command each
 *   demo_page.h      the demo's report
 *
 * May touch: include/llapdiff. */

/* The command line, described by tables: parsing, --config, --help, man pages and completions are
 * derived from them. What an option is, its type, range, default and meaning, is said by the tables
 * of the library (<llapdiff/options.h>); a command adds how it is spelt on the command line, and
 * options of its own. It is a row in commands[] (main.c) and a file cmd_NAME.c:
 *
 *     typedef struct poles_options {      all zero where nothing is given
 *         llap_pole_opts ask;
 *         const char    *plot;
 *     } poles_options;
 *     #define OPTIONS poles_options
 *     static const llap_option own[] = { CLI_OWN(FILE, plot, "draw the pole plane"), CLI_OWN_END };
 *     static const cli_row rows[] = {
 *         { .table = llap_pole_options, .option = "target", .letter = 't', .arg = "NAME" },
 *         { .option = "plot" },
 *         { 0 },
 *     };
 *     ... .own = own, .rows = rows, .parts = { { llap_pole_options, offsetof(OPTIONS, ask) } }
 *
 * Results go to stdout, everything else to stderr. Commands see <llapdiff/llapdiff.h> only. */
#ifndef LL_CLI_CLI_H
#define LL_CLI_CLI_H

#include <llapdiff/llapdiff.h>
#include <llapdiff/unstable.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef const llap_option *(*cli_table)(void);

/* How an option is spelt. */
typedef struct cli_row {
    cli_table   table;  /* of the library; NULL: the command's own */
    const char *option; /* its name there; NULL ends */
    char        letter; /* short form, or 0 */
    const char *arg;    /* how the value is called in the help; NULL: by its type, or its words */
    const char *name;   /* without dashes; NULL: that of the option with - for _ */
    const char *help;   /* instead of the option's, with the default; NULL: the option's */
    const char *alone;  /* word that the option means where none of its words follows; NULL: one
                           must */
    bool joins;         /* given again, the lists are joined */
    bool usual;         /* of reading: one that --help shows, and not --help-reading alone */
} cli_row;

/* Where in the options of a command the struct of a table lies. */
typedef struct cli_part {
    cli_table table; /* NULL: no more */
    size_t    offset;
} cli_part;

/* Options of a command itself; their fields are those of OPTIONS. */
/* clang-format off */
#define CLI_OWN(kind, field, help)               { #field, LLAP_OPTION_##kind, offsetof(OPTIONS, field), NULL, help, 0, 0, NULL, 0 }
#define CLI_OWN_WORD(field, usual, words, help)  { #field, LLAP_OPTION_WORD, offsetof(OPTIONS, field), usual, help, 0, 0, words, 0 }
#define CLI_OWN_INTEGER(field, usual, low, high, help) { #field, LLAP_OPTION_INTEGER, offsetof(OPTIONS, field), usual, help, low, high, NULL, 0 }
#define CLI_OWN_END                              { NULL, LLAP_OPTION_TEXT, 0, NULL, NULL, 0, 0, NULL, 0 }
/* clang-format on */

/* What every command understands. */
typedef struct cli_common {
    int             help, help_reading, json, quiet;
    int64_t         threads; /* 0: as many as there are processors */
    const char     *config;  /* file of further options, or NULL */
    const char     *idle;    /* an option that was given and changes nothing, or NULL */
    llap_log        log;     /* to stderr; warnings only with --quiet */
    llap_train_opts unused;  /* takes common options that the command has no use for */
} cli_common;

typedef struct cli_command {
    const char        *name;
    const char        *operands; /* "FILE...", "" for none */
    const char        *summary;  /* one line */
    const char        *text;     /* a paragraph or two */
    const char        *example;  /* a command line and what it does */
    const cli_row     *rows;     /* its options; { 0 } ends; NULL: none */
    const llap_option *own;      /* those that are not the library's; NULL: none */
    cli_part           parts[3]; /* { 0 } ends */
    int                min_operands, max_operands; /* max < 0: any number */
    size_t             options_size;               /* all zero unless given */
    /* Returns the status that becomes the exit code. On failure the library's detail is printed by
     * main, unless it is empty. */
    llap_status (*run)(const cli_common *common, const void *options, int n, char **operands);
} cli_command;

/* An option of a command, with all that is known about it. */
typedef struct cli_option {
    char               name[48]; /* without dashes */
    char               letter;   /* or 0 */
    char               arg[64];  /* "" of a flag */
    char               help[256];
    const llap_option *table, *option;
    const char        *alone; /* as in cli_row, as the next */
    bool               joins;
    size_t offset;     /* of the table's struct in the command's options, or in cli_common */
    bool   common;     /* the latter */
    bool   everywhere; /* every command has it */
    bool   idle;       /* this one has no use for it */
    bool   reading;    /* one of those that say how files are read */
    bool   usual;      /* as in cli_row */
} cli_option;

/* Option number i of the command: its own first, then those that all have. False: there are no
 * more. */
bool cli_option_at(const cli_command *c, size_t i, cli_option *out);

extern const cli_command cmd_inspect, cmd_train, cmd_forecast, cmd_impute, cmd_evaluate, cmd_info,
    cmd_poles, cmd_detect, cmd_watch, cmd_serve, cmd_import, cmd_export, cmd_plot, cmd_demo,
    cmd_synth, cmd_pack, cmd_bench, cmd_version, cmd_help;

extern const cli_command *const cli_commands[];    /* NULL ends; main.c */
extern const cli_row            cli_common_rows[]; /* of own options, or those of parts */
extern const llap_option        cli_common_own[];

/* Exit code of a command that succeeds: 0, unless it says otherwise. */
enum { CLI_ALARMS = 4 };
extern int cli_exit_code;

/* parse.c: fills common and options, which are all zero; operands are moved to the front of argv
 * and counted. LLAP_EUSAGE after saying what is wrong; another code where it is the file of
 * --config. */
llap_status cli_parse(const cli_command *command, int argc, char **argv, cli_common *common,
                      void *options, int *n_operands);

/* "llapdiff COMMAND: message" and a hint at --help, on stderr. Returns LLAP_EUSAGE. command may be
 * NULL. */
llap_status cli_usage(const char *command, const char *fmt, ...) LLAP_PRINTF(2, 3);

/* Says what the library found wrong about the value of an option, LLAP_EOPTION: with its dashes
 * where the command line has it, which is LLAP_EUSAGE; with its place where a --config file does,
 * and then that file is wrong: LLAP_EFORMAT. */
llap_status cli_wrong_option(const cli_command *command, const char *detail);

/* A message of the library as the program says it: options that it names in backticks, `columns`,
 * as they are spelt here, --columns. Longer than room is cut. */
enum { CLI_MESSAGE = 2048 };
void cli_spell(const cli_command *c, const char *text, char *out, size_t room);

/* help.c: everything on stdout, from the tables. */
void        cli_print_overview(void);
void        cli_print_help(const cli_command *command);
void        cli_print_help_reading(const cli_command *command);
void        cli_print_manual(const cli_command *command); /* troff; NULL: the page of the program */
void        cli_print_json(const cli_command *command);   /* NULL: all commands */
llap_status cli_print_completion(const char *shell);

/* main.c. SIGINT, SIGTERM and SIGHUP end the program at once with exit code 3, as long as there is
 * nothing to tidy up. From cli_catch_signals on, which is called before anything is written, they
 * only ask: work ends at its next report (cli_progress), files are whole or not there. A second
 * SIGINT ends the program as it does any other. */
bool cli_stop_asked(void);
void cli_catch_signals(void);
/* Of several processes, those that end when the first one does. */
void cli_ignore_signals(void);

/* notify.c. Tells the service manager that started the program, if one did ("READY=1"). */
void cli_notify(const char *state);
/* As many as the system allows: libraries that use select want the usual limit to be small. */
void cli_open_many_files(void);

/* A JSON string with its quotes, on stdout. */
void cli_json_string(const char *s);

void cli_json_pair(const char *key, const char *value); /* {"key": "value"} */

/* The seed that holds, as text: of a struct of the library whose table has one. Static. */
const char *cli_seed(const llap_option *table, const void *options);

/* What the library says about something, as text or JSON: on stdout; frees it. */
void cli_print_text(const cli_common *common, char *text);

#endif
