#include "cli.h"

#include <string.h>

typedef struct help_options {
    bool        manual;
    const char *completion;
} help_options;

#define OPTIONS help_options
/* clang-format off */
static const cli_option options[] = {
    FLAG("man",          0, manual, "the manual page, as troff"),
    TEXT("completion",   0, "bash|zsh", completion, "a completion script for that shell"),
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
    else if (o->manual) cli_print_manual(command);
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
    .options = options,
    .max_operands = 1,
    .options_size = sizeof(help_options),
    .defaults = &(const help_options){ 0 },
    .without = CLI_SEED | CLI_DEVICE,
    .run = run,
};
/* clang-format on */
