#include "read.h"

typedef struct impute_options {
    cli_read    read;
    const char *quantiles, *output, *plot;
    bool        causal, all;
} impute_options;

static const cli_option options[] = {
    { "causal", 0, CLI_FLAG, NULL, offsetof(impute_options, causal),
      "from the past only (default: from both sides)", 0, 0 },
    { "all", 'a', CLI_FLAG, NULL, offsetof(impute_options, all),
      "write observed cells too, as they were measured", 0, 0 },
    { "quantiles", 0, CLI_STRING, "LIST", offsetof(impute_options, quantiles),
      "default 0.025,0.1,0.25,0.5,0.75,0.9,0.975", 0, 0 },
    { "output", 'o', CLI_STRING, "FILE", offsetof(impute_options, output),
      "CSV file (default: standard output)", 0, 0 },
    { "plot", 0, CLI_STRING, "FILE", offsetof(impute_options, plot),
      "draw the filled gaps: .png, .svg or .pdf", 0, 0 },
    CLI_READ_OPTIONS,
    { 0 },
};

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const impute_options *o = opts;
    if (common->json && o->output != NULL)
        return cli_usage("impute",
                         "--json prints to standard output and --output writes CSV: take one");
    llap_panel  *panel = NULL;
    llap_model  *model = NULL;
    llap_answer *answer = NULL;
    llap_status  st = llap_model_load(operands[0], &model);
    if (st == LLAP_OK) st = cli_read_panel(common, "impute", &o->read, n - 1, operands + 1, &panel);
    if (st == LLAP_OK) {
        llap_impute_opts ask = LLAP_IMPUTE_OPTS;
        ask.quantiles = o->quantiles;
        ask.causal = o->causal;
        ask.all = o->all;
        ask.log = &common->log;
        st = llap_impute(model, panel, &ask, &answer);
    }
    if (st == LLAP_OK && o->plot != NULL) st = llap_answer_plot(answer, panel, o->plot);
    if (st == LLAP_OK) st = cli_print_answer(common, answer, o->output);
    llap_answer_destroy(answer);
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return st;
}

extern const cli_command cmd_impute;
const cli_command        cmd_impute = {
           .name = "impute",
           .operands = "MODEL DATA...",
           .summary = "what was missing, with uncertainty",
           .text =
               "Fills the missing cells of the target variables at the rows of the data: mean and "
                      "quantiles\n"
                      "as CSV entity,time,variable,observed,mean,q0.025,... Each gap is filled from both sides,\n"
                      "or with --causal from what came before it.",
           .example = "  llapdiff impute air.safetensors air.csv --grid 1h -o filled.csv",
           .options = options,
           .min_operands = 2,
           .max_operands = -1,
           .options_size = sizeof(impute_options),
           .defaults = &(const impute_options){ .read = { 0 } },
           .run = run,
};
