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

/* The command line, described by tables: parsing, --help, man pages and completions are derived
 * from them. A command is a row in cli_commands[] (main.c) and a file cmd_NAME.c that defines its
 * options struct, its table of options and a function that calls the library and prints the result.
 *
 *     typedef struct info_options { const char *tensor; int64_t limit; } info_options;
 *     #define OPTIONS info_options
 *     static const cli_option options[] = {
 *         TEXT("tensor", 't', "NAME", tensor, "only this one"),
 *         INT("limit", 0, "N", limit, 1, 99, "at most so many"),
 *         { 0 },
 *     };
 *
 * Results go to stdout, everything else to stderr. Commands see <llapdiff/llapdiff.h> only. */
#ifndef LL_CLI_CLI_H
#define LL_CLI_CLI_H

#include <llapdiff/llapdiff.h>
#include <llapdiff/unstable.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cli_type {
    CLI_FLAG,   /* bool: present or not */
    CLI_STRING, /* const char * */
    CLI_INT,    /* int64_t in min .. max */
    CLI_REAL,   /* double in min .. max */
    CLI_CHOICE, /* int: position in "a|b|c" */
} cli_type;

/* Common options that some commands have no use for. */
enum { CLI_SEED = 1, CLI_DEVICE = 2 };

typedef struct cli_option {
    const char *name;   /* without dashes; NULL ends a table */
    char        letter; /* short form, or 0 */
    cli_type    type;
    const char *arg;    /* how the value is called in the help: "FILE"; choices: "a|b|c" */
    size_t      offset; /* of its field in the options struct */
    const char *help;
    double      min, max; /* CLI_INT, CLI_REAL */
    unsigned    use;      /* common options: CLI_SEED, ... */
} cli_option;

/* Rows of a table whose fields are those of OPTIONS. */
/* clang-format off */
#define FLAG(name, letter, field, help)                { name, letter, CLI_FLAG,   NULL, offsetof(OPTIONS, field), help, 0, 0, 0 }
#define TEXT(name, letter, arg, field, help)           { name, letter, CLI_STRING, arg,  offsetof(OPTIONS, field), help, 0, 0, 0 }
#define CHOICE(name, letter, arg, field, help)         { name, letter, CLI_CHOICE, arg,  offsetof(OPTIONS, field), help, 0, 0, 0 }
#define INT(name, letter, arg, field, min, max, help)  { name, letter, CLI_INT,    arg,  offsetof(OPTIONS, field), help, min, max, 0 }
#define REAL(name, letter, arg, field, min, max, help) { name, letter, CLI_REAL,   arg,  offsetof(OPTIONS, field), help, min, max, 0 }
/* clang-format on */

/* What every command understands. */
typedef struct cli_common {
    bool        help, json, quiet;
    int64_t     threads; /* 0: as many as there are processors */
    int64_t     seed;
    const char *device, *precision; /* NULL: cpu, fp32 */
    const char *config;             /* file of further options, or NULL */
    const char *idle;               /* an option that was given and changes nothing, or NULL */
    llap_log    log;                /* to stderr; warnings only with --quiet */
} cli_common;

typedef struct cli_command {
    const char       *name;
    const char       *operands;                   /* "FILE...", "" for none */
    const char       *summary;                    /* one line */
    const char       *text;                       /* a paragraph or two */
    const char       *example;                    /* a command line and what it does */
    const cli_option *options;                    /* the command's own; { 0 } ends */
    int               min_operands, max_operands; /* max < 0: any number */
    unsigned          without; /* common options that change nothing here: CLI_SEED | ... */
    size_t            options_size;
    const void       *defaults; /* of that size */
    /* Returns the status that becomes the exit code. On failure the library's detail is printed by
     * main, unless it is empty. */
    llap_status (*run)(const cli_common *common, const void *options, int n, char **operands);
} cli_command;

extern const cli_command cmd_inspect, cmd_train, cmd_forecast, cmd_impute, cmd_evaluate, cmd_info,
    cmd_poles, cmd_import, cmd_export, cmd_plot, cmd_demo, cmd_synth, cmd_bench, cmd_version,
    cmd_help;

extern const cli_command *const cli_commands[]; /* NULL ends; main.c */
extern const cli_option         cli_common_options[];

/* parse.c: fills common and options (both hold their defaults); operands are moved to the front of
 * argv and counted. LLAP_EUSAGE after saying what is wrong; another code where it is the file of
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

/* help.c: everything on stdout, from the tables. */
void        cli_print_overview(void);
void        cli_print_help(const cli_command *command);
void        cli_print_manual(const cli_command *command); /* troff; NULL: the page of the program */
void        cli_print_json(const cli_command *command);   /* NULL: all commands */
llap_status cli_print_completion(const char *shell);

/* main.c. SIGINT, SIGTERM and SIGHUP end the program at once with exit code 3, as long as there is
 * nothing to tidy up. From cli_catch_signals on, which is called before anything is written, they
 * only ask: work ends at its next report (cli_progress), files are whole or not there. A second
 * SIGINT ends the program as it does any other. */
bool cli_stop_asked(void);
void cli_catch_signals(void);

/* A JSON string with its quotes, on stdout. */
void cli_json_string(const char *s);

void cli_json_pair(const char *key, const char *value); /* {"key": "value"} */

/* What the library says about something, as text or JSON: on stdout; frees it. */
void cli_print_text(const cli_common *common, char *text);

#endif
