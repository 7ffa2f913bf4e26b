#include "cli.h"

#include <string.h>

typedef struct help_options {
    int         man;
    const char *completion;
} help_options;

#define OPTIONS help_options
/* clang-format off */
static const llap_option own[] = {
    CLI_OWN(FLAG, man, "the manual page, as troff"),
    CLI_OWN(TEXT, completion, "a completion script for that shell"),
    CLI_OWN_END,
};

static const cli_row rows[] = {
    { .option = "man" },
    { .option = "completion", .arg = "bash|zsh" },
    { 0 },
};
/* clang-format on */

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const help_options *o = opts;
    if (o->completion != NULL) return cli_print_completion(o->completion);
    const cli_command *command = NULL;
    for (const cli_command *const *c = cli_commands; n > 0 && *c != NULL; c++)
        if (strcmp((*c)->name, operands[0]) == 0) command = *c;
    if (n > 0 && command == NULL) return cli_usage("help", "no command '%s'", operands[0]);
    if (common->json) cli_print_json(command);
    else if (o->man) cli_print_manual(command);
    else if (command != NULL) cli_print_help(command);
    else cli_print_overview();
    return LLAP_OK;
}

/* clang-format off */
const cli_command cmd_help = {
    .name = "help",
    .operands = "[COMMAND]",
    .summary = "show the commands, or explain one",
    .text =
        "Prints the overview, or the help of COMMAND. With --man the manual page instead,\n"
        "with --completion a script for the shell.",
    .example = "  llapdiff help --man version | man -l -      read a manual page before installing",
    .max_operands = 1,
    .rows = rows,
    .own = own,
    .options_size = sizeof(help_options),
    .run = run,
};
/* clang-format on */
