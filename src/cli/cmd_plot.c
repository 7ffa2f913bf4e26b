#include "read.h"

#include <string.h>

typedef struct plot_options {
    llap_read_opts read;
    const char    *output, *only;
} plot_options;

#define OPTIONS plot_options
/* clang-format off */
static const llap_option own[] = {
    CLI_OWN(FILE, output, "the picture: .png, .svg or .pdf; of answers also a folder/, with a picture of each entity"),
    CLI_OWN(LIST, only, "entities of an answer to draw, such as a,b or 'north*' (default: all)"),
    CLI_OWN_END,
};

static const cli_row rows[] = {
    { .option = "output", .letter = 'o' },
    { .option = "only", .arg = "ENTITY,..." },
    CLI_READ_ROWS,
    { 0 },
};
/* clang-format on */

/* A table of forecasts or filled gaps beside the data that it is about. */
static llap_status plot_answer(const cli_common *common, const plot_options *o, int n,
                               char **operands)
{
    llap_panel  *panel = NULL;
    llap_answer *answer = NULL;
    llap_status  st = cli_read_panel(common, &o->read, n - 1, operands + 1, &panel);
    if (st == LLAP_OK) st = llap_answer_read(operands[0], panel, &answer);
    cli_catch_signals();
    if (st == LLAP_OK) st = llap_answer_plot_only(answer, panel, o->only, o->output);
    llap_answer_destroy(answer);
    llap_panel_destroy(panel);
    return st;
}

/* Reading and drawing are one call: what comes through a pipe may be waited for. */
static llap_status plot_log(const plot_options *o, const char *log)
{
    if (strcmp(log, "-") != 0) cli_catch_signals();
    return llap_plot_log(log, o->output);
}

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const plot_options *o = opts;
    if (o->output == NULL) return cli_usage("plot", "--output FILE is needed for the picture");
    const size_t len = strlen(operands[0]);
    if (n == 1 && o->only != NULL)
        return cli_usage("plot", "--only chooses entities of an answer: plot ANSWER.csv DATA...");
    if (n == 1 && len > 4 && strcmp(operands[0] + len - 4, ".csv") == 0)
        return cli_usage("plot", "expects the data behind %s too: plot %s DATA...", operands[0],
                         operands[0]);
    const llap_status st = n > 1 ? plot_answer(common, o, n, operands) : plot_log(o, operands[0]);
    if (st == LLAP_OK && common->json) cli_json_pair("picture", o->output);
    return st;
}

/* clang-format off */
const cli_command cmd_plot = {
    .name = "plot",
    .operands = "FILE [DATA...]",
    .summary = "draw a log, scores, or an answer",
    .text =
        "Draws a training log (train --log) as curves of loss and score, of anchors as a\n"
        "list of what was tried; what evaluate --json printed as calibration; and a table\n"
        "of forecasts or filled gaps beside the DATA that it is about. Colours are those\n"
        "of Okabe and Ito, told apart with every kind of colour vision.",
    .example =
        "  llapdiff plot next.csv air.csv -o next.svg\n"
        "  llapdiff plot run.log -o curves.png\n"
        "  llapdiff evaluate air.safetensors air.csv --json | llapdiff plot - -o fit.pdf",
    .min_operands = 1,
    .max_operands = -1,
    .rows = rows,
    .own = own,
    .parts = { { llap_read_options, offsetof(OPTIONS, read) } },
    .options_size = sizeof(plot_options),
    .run = run,
};
/* clang-format on */
