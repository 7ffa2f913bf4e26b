#include "read.h"

typedef struct inspect_options {
    llap_read_opts read;
    const char    *plot, *only;
} inspect_options;

#define OPTIONS inspect_options
/* clang-format off */
static const llap_option own[] = {
    CLI_OWN(FILE, plot, "draw coverage and gaps: .png, .svg or .pdf, or a folder/, with a picture of each entity"),
    CLI_OWN(LIST, only, "entities of the picture, such as a,b or 'north*' (default: all)"),
    CLI_OWN_END,
};

static const cli_row rows[] = {
    CLI_READ_ROWS,
    { .option = "plot" },
    { .option = "only", .arg = "ENTITY,..." },
    { 0 },
};
/* clang-format on */

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const inspect_options *o = opts;
    llap_panel            *panel = NULL;
    char                  *text = NULL;
    if (o->only != NULL && o->plot == NULL)
        return cli_usage("inspect", "--only chooses entities of the picture: give --plot too");
    llap_status st = cli_read_panel(common, &o->read, n, operands, &panel);
    if (st == LLAP_OK) st = llap_panel_inspect(panel, common->json, &text);
    cli_catch_signals();
    if (st == LLAP_OK && o->plot != NULL) st = llap_panel_plot_only(panel, o->only, o->plot);
    if (st == LLAP_OK) cli_print_text(common, text);
    else llap_text_free(text);
    llap_panel_destroy(panel);
    return st;
}

/* clang-format off */
const cli_command cmd_inspect = {
    .name = "inspect",
    .operands = "DATA...",
    .summary = "look at data before training on it",
    .text =
        "Says how the files were understood, then: entities, rows, span, gaps, how much\n"
        "is observed, constants and outliers of each variable, and a grid, context and\n"
        "horizon that would suit (--grid of all commands, --context and --horizon of\n"
        "train). --plot draws which entity was observed when, and how long the gaps\n"
        "between rows are, of all entities or of --only.",
    .example = "  llapdiff inspect stations/*.csv.gz --zone Europe/Rome",
    .min_operands = 1,
    .max_operands = -1,
    .rows = rows,
    .own = own,
    .parts = { { llap_read_options, offsetof(OPTIONS, read) } },
    .options_size = sizeof(inspect_options),
    .run = run,
};
/* clang-format on */
