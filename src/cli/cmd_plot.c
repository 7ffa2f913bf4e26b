#include "read.h"

#include <string.h>

typedef struct plot_options {
    cli_read    read;
    const char *output;
} plot_options;

static const cli_option options[] = {
    { "output", 'o', CLI_STRING, "FILE", offsetof(plot_options, output),
      "the picture: .png, .svg or .pdf", 0, 0 },
    CLI_READ_OPTIONS,
    { 0 },
};

/* A table of forecasts or filled gaps beside the data that it is about. */
static llap_status plot_answer(const cli_common *common, const plot_options *o, int n,
                               char **operands)
{
    llap_panel  *panel = NULL;
    llap_answer *answer = NULL;
    llap_status  st = cli_read_panel(common, "plot", &o->read, n - 1, operands + 1, &panel);
    if (st == LLAP_OK) st = llap_answer_read(operands[0], panel, &answer);
    if (st == LLAP_OK) st = llap_answer_plot(answer, panel, o->output);
    llap_answer_destroy(answer);
    llap_panel_destroy(panel);
    return st;
}

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const plot_options *o = opts;
    if (o->output == NULL) return cli_usage("plot", "--output FILE is needed: the picture");
    if (common->json) return cli_usage("plot", "a picture is no JSON: leave out --json");
    if (n > 1) return plot_answer(common, o, n, operands);
    const size_t len = strlen(operands[0]);
    if (len > 4 && strcmp(operands[0] + len - 4, ".csv") == 0)
        return cli_usage("plot", "expects the data behind %s too: plot %s DATA...", operands[0],
                         operands[0]);
    return llap_plot_log(operands[0], o->output);
}

extern const cli_command cmd_plot;
const cli_command        cmd_plot = {
           .name = "plot",
           .operands = "FILE [DATA...]",
           .summary = "draw a log, scores, or an answer",
           .text = "Draws a training log (train --log) as curves of loss and score; what evaluate --json "
                          "printed\n"
                          "as calibration; and a table of forecasts or filled gaps beside the DATA that it is "
                          "about.\n"
                          "Colours are those of Okabe and Ito, told apart with every kind of colour vision.",
           .example = "  llapdiff plot next.csv air.csv -o next.svg\n"
                             "  llapdiff plot run.log -o curves.png\n"
                             "  llapdiff evaluate air.safetensors air.csv --json | llapdiff plot - -o fit.pdf",
           .options = options,
           .min_operands = 1,
           .max_operands = -1,
           .options_size = sizeof(plot_options),
           .defaults = &(const plot_options){ .output = NULL },
           .run = run,
};
