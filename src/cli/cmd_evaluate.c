#include "read.h"

#include <stdio.h>

typedef struct evaluate_options {
    cli_read    read;
    const char *stride;
    int         split;
} evaluate_options;

static const cli_option options[] = {
    { "split", 0, CLI_CHOICE, "test|validation", offsetof(evaluate_options, split),
      "which part of the data to score (default test)", 0, 0 },
    { "stride", 0, CLI_STRING, "SPAN", offsetof(evaluate_options, stride),
      "least time between two forecasts of an entity (default 23 steps)", 0, 0 },
    CLI_READ_OPTIONS,
    { 0 },
};

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const evaluate_options *o = opts;
    llap_panel             *panel = NULL;
    llap_model             *model = NULL;
    llap_bar               *bar = NULL;
    char                   *text = NULL;
    llap_status             st = llap_model_load(operands[0], &model);
    if (st == LLAP_OK)
        st = cli_read_panel(common, "evaluate", &o->read, n - 1, operands + 1, &panel);
    if (st == LLAP_OK) {
        llap_evaluate_opts how = LLAP_EVALUATE_OPTS;
        how.part = o->split == 1 ? "validation" : "test";
        how.stride = o->stride;
        how.log = &common->log;
        how.progress = cli_progress(common, &bar);
        st = llap_evaluate(model, panel, &how, common->json, &text);
        llap_bar_destroy(bar);
    }
    if (st == LLAP_OK) fputs(text, stdout);
    if (st == LLAP_OK && common->json) putchar('\n');
    llap_text_free(text);
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return st;
}

extern const cli_command cmd_evaluate;
const cli_command        cmd_evaluate = {
           .name = "evaluate",
           .operands = "MODEL DATA...",
           .summary = "score a model beside honest opponents",
           .text =
               "Forecasts the windows that training has not seen and scores them beside what any model "
                      "has\n"
                      "to beat: the days of the context as an ensemble, climatology, the last value, and "
                      "others;\n"
                      "CRPS, absolute and squared error in standard deviations of training, and how often the\n"
                      "50, 80 and 95 % intervals held the truth.",
           .example = "  llapdiff evaluate air.safetensors air.csv",
           .options = options,
           .min_operands = 2,
           .max_operands = -1,
           .options_size = sizeof(evaluate_options),
           .defaults = &(const evaluate_options){ .read = { 0 } },
           .run = run,
};
