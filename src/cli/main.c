#include "cli.h"

#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order in which one meets them. */
/* clang-format off */
const cli_command *const cli_commands[] = {
    &cmd_demo,
    &cmd_inspect, &cmd_pack, &cmd_train, &cmd_forecast, &cmd_impute, &cmd_evaluate,
    &cmd_detect, &cmd_watch, &cmd_serve,
    &cmd_info, &cmd_poles, &cmd_plot,
    &cmd_import, &cmd_export,
    &cmd_synth, &cmd_bench,
    &cmd_version, &cmd_help,
    NULL,
};

#define OPTIONS cli_common
const llap_option cli_common_own[] = {
    CLI_OWN(FLAG, help,  "show this help"),
    CLI_OWN(FLAG, help_reading, "show all options of how files are read"),
    CLI_OWN(FLAG, json,  "print the result as JSON"),
    CLI_OWN(FLAG, quiet, "no notes, no progress bar"),
    CLI_OWN_INTEGER(threads, NULL, 1, 4096, "threads to use (default: one per processor); results do not depend on it"),
    CLI_OWN(FILE, config, "further options, as a JSON object ('-': standard input); the command line wins"),
    CLI_OWN_END,
};

const cli_row cli_common_rows[] = {
    { .option = "help", .letter = 'h' },
    { .option = "help_reading" },
    { .option = "json" },
    { .option = "quiet", .letter = 'q' },
    { .option = "seed" },
    { .option = "threads", .letter = 'j' },
    { .option = "device", .arg = "DEVICE" },
    { .option = "precision", .arg = "KIND" },
    { .option = "config" },
    { 0 },
};
/* clang-format on */

static const cli_command *find_command(const char *name)
{
    /* The two options that people try first are commands in disguise. */
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) name = "version";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
    for (const cli_command *const *c = cli_commands; *c != NULL; c++)
        if (strcmp((*c)->name, name) == 0) return *c;
    return NULL;
}

static llap_status no_such_command(const char *word)
{
    enum { MOST = 64 };
    const char *names[MOST + 1] = { NULL };
    for (size_t i = 0; i < MOST && cli_commands[i] != NULL; i++) names[i] = cli_commands[i]->name;
    const char *near = llap_text_nearest(word, names);
    return cli_usage(NULL, "no command '%s'%s%s%s", word, near ? " (did you mean '" : "",
                     near ? near : "", near ? "'?)" : "");
}

int cli_exit_code;

/* ---- signals ---- */

static volatile sig_atomic_t caught, stop_asked;

static void on_signal(int number)
{
    static const char said[] = "llapdiff: interrupted\n";
    stop_asked = 1;
    if (caught && number == SIGINT) (void)alarm(1); /* somebody waits at the keyboard */
    if (caught) return;
    (void)!write(STDERR_FILENO, said, sizeof said - 1);
    _exit(llap_status_exit_code(LLAP_ECANCELLED));
}

/* A second after Ctrl-C the work has not come to where it looks at it: to a step that is long, or
 * to a pipe that nobody reads. A file that is being written is waited for. */
static void on_alarm(int number)
{
    static const char said[] =
        "llapdiff: stopped at once, in the middle of a long step; a training "
        "goes on from its last state\n";
    (void)number;
    if (llap_is_writing()) {
        (void)alarm(1);
        return;
    }
    (void)!write(STDERR_FILENO, said, sizeof said - 1);
    _exit(llap_status_exit_code(LLAP_ECANCELLED));
}

bool cli_stop_asked(void) { return stop_asked != 0; }

static void handle_signals(int flags)
{
    struct sigaction a = { .sa_handler = on_signal, .sa_flags = SA_RESTART | flags };
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    /* One cause may send a signal twice: timeout signals the whole group as well, and shell and
     * kernel both report a lost terminal (nohup ignores that). So only a second Ctrl-C kills. */
    struct sigaction old;
    a.sa_flags = SA_RESTART;
    sigaction(SIGTERM, &a, NULL);
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &a, NULL);
}

void cli_catch_signals(void)
{
    if (caught) return;
    caught = 1;
    struct sigaction a = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
    sigemptyset(&a.sa_mask);
    sigaction(SIGALRM, &a, NULL);
    handle_signals((int)SA_RESETHAND);
}

void cli_ignore_signals(void)
{
    caught = 1;
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
}

/* Tells of options that have no effect here, and of the seed that is used where none was given. */
static void print_notes(const cli_command *command, const cli_common *common, const void *options)
{
    cli_option o;
    if (common->quiet) return;
    if (common->idle != NULL)
        fprintf(stderr, "llapdiff %s: --%s has no effect here\n", command->name, common->idle);
    for (size_t i = 0; cli_option_at(command, i, &o); i++) {
        const char *base = (const char *)options + o.offset;
        if (strcmp(o.name, "seed") == 0 && !o.idle && !llap_option_given(o.option, base))
            fprintf(stderr, "seed %s (default)\n", cli_seed(o.table, base));
    }
}

/* Log messages of the library, with options as they are spelt here. */
static void write_log(void *user, llap_log_level level, const char *message)
{
    char spelt[CLI_MESSAGE];
    cli_spell(user, message, spelt, sizeof spelt);
    llap_log_to_file(stderr, level, spelt);
}

static void print_failure(const cli_command *command)
{
    char spelt[CLI_MESSAGE];
    cli_spell(command, llap_error_detail(), spelt, sizeof spelt);
    fprintf(stderr, "llapdiff %s: %s\n", command->name, spelt);
}

static llap_status run_command(const cli_command *command, int argc, char **argv)
{
    cli_common common = {
        .log = { .level = LLAP_LOG_INFO, .sink = write_log, .user = (void *)command },
    };
    void *options = calloc(1, command->options_size + 1);
    if (options == NULL) {
        fputs("llapdiff: out of memory\n", stderr);
        return LLAP_ENOMEM;
    }
    int         n_operands = 0;
    llap_status st = cli_parse(command, argc, argv, &common, options, &n_operands);
    if (st == LLAP_OK && common.help_reading) {
        cli_print_help_reading(command);
    } else if (st == LLAP_OK && common.help) {
        cli_print_help(command);
    } else if (st == LLAP_OK) {
        if (common.threads > 0) omp_set_num_threads((int)common.threads);
        if (common.quiet) common.log.level = LLAP_LOG_WARNING;
        print_notes(command, &common, options);
        st = command->run(&common, options, n_operands, argv);
        if (st == LLAP_EOPTION) st = cli_wrong_option(command, llap_error_detail());
        else if (st != LLAP_OK && st != LLAP_EUSAGE && *llap_error_detail() != '\0')
            print_failure(command);
    }
    free(options);
    return st;
}

/* OpenMP's threads wait by spinning, and read at the start of the program whether they should not:
 * where the processors are busy, that makes a forecast ten times slower (docs/performance.md). So
 * the program starts again with their policy set, unless the user has set one. */
static void wait_without_spinning(char **argv)
{
    if (getenv("OMP_WAIT_POLICY") != NULL || getenv("GOMP_SPINCOUNT") != NULL) return;
    if (setenv("OMP_WAIT_POLICY", "passive", 1) == 0) (void)execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
    llap_status st;
    wait_without_spinning(argv);
    handle_signals(0);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is one that cannot be written */
    if (argc < 2) {
        cli_print_overview();
        st = LLAP_EUSAGE;
    } else {
        const cli_command *command = find_command(argv[1]);
        st = command == NULL ? no_such_command(argv[1]) : run_command(command, argc - 2, argv + 2);
    }
    /* A result that could not be written is not a success. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && st == LLAP_OK) {
        fputs("llapdiff: standard output: cannot be written\n", stderr);
        st = LLAP_EIO;
    }
    const int code = st == LLAP_OK ? cli_exit_code : llap_status_exit_code(st);
    llap_ranks_leave(code);
    return code;
}
