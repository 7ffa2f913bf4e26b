#include "read.h"

#include <stdio.h>

typedef struct inspect_options {
    cli_read    read;
    const char *plot;
} inspect_options;

static const cli_option options[] = {
    CLI_READ_OPTIONS,
    { "plot", 0, CLI_STRING, "FILE", offsetof(inspect_options, plot),
      "draw coverage and gaps: .png, .svg or .pdf", 0, 0 },
    { 0 },
};

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const inspect_options *o = opts;
    llap_panel            *panel = NULL;
    char                  *text = NULL;
    llap_status            st = cli_read_panel(common, "inspect", &o->read, n, operands, &panel);
    if (st == LLAP_OK) st = llap_panel_inspect(panel, common->json, &text);
    if (st == LLAP_OK && o->plot != NULL) st = llap_panel_plot(panel, o->plot);
    if (st == LLAP_OK) fputs(text, stdout);
    llap_text_free(text);
    llap_panel_destroy(panel);
    return st;
}

extern const cli_command cmd_inspect;
const cli_command        cmd_inspect = {
           .name = "inspect",
           .operands = "DATA...",
           .summary = "look at data before training on it",
           .text = "Says how the files were understood, then: entities, rows, span, gaps, how much is "
                          "observed,\n"
                          "constants and outliers of each variable, and a grid, context and horizon that would "
                          "suit.\n"
                          "--plot draws which entity was observed when, and how long the gaps between rows are.",
           .example = "  llapdiff inspect stations/*.csv.gz --zone Europe/Rome",
           .options = options,
           .min_operands = 1,
           .max_operands = -1,
           .options_size = sizeof(inspect_options),
           .defaults = &(const inspect_options){ .read = { 0 } },
           .run = run,
};
