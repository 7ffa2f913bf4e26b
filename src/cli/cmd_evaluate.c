#include "read.h"

#include <stdio.h>

typedef struct evaluate_options {
    cli_read    read;
    const char *device, *precision;
    const char *stride, *plot;
    int64_t     samples, bootstrap;
    int         split, task, by;
    bool        units, paper;
} evaluate_options;

static const cli_option options[] = {
    { "task", 0, CLI_CHOICE, "forecast|impute", offsetof(evaluate_options, task),
      "score forecasts, or the filling of gaps made on purpose (default forecast)", 0, 0 },
    { "split", 0, CLI_CHOICE, "test|val|train", offsetof(evaluate_options, split),
      "which part of the data to score (default test)", 0, 0 },
    { "stride", 0, CLI_STRING, "SPAN", offsetof(evaluate_options, stride),
      "least time between two forecasts of an entity (default 23 steps)", 0, 0 },
    { "samples", 'n', CLI_INT, "N", offsetof(evaluate_options, samples),
      "samples drawn per forecast (default 200)", 2, 100000 },
    { "by", 0, CLI_CHOICE, "all|step|variable|entity", offsetof(evaluate_options, by),
      "CRPS in finer pieces too", 0, 0 },
    { "bootstrap", 0, CLI_INT, "N", offsetof(evaluate_options, bootstrap),
      "draws behind the intervals of differences (default 1000; 0: no intervals)", 0, 1000000 },
    { "units", 0, CLI_FLAG, NULL, offsetof(evaluate_options, units),
      "the table in the units of the data, not in standard deviations of training", 0, 0 },
    { "paper", 0, CLI_FLAG, NULL, offsetof(evaluate_options, paper),
      "also CRPS and MSE as the paper's tables have them (25 samples, 200 pairs)", 0, 0 },
    { "device", 0, CLI_STRING, "DEVICE", offsetof(evaluate_options, device),
      "where networks compute: cpu, cuda, cuda:N or auto (default cpu)", 0, 0 },
    { "precision", 0, CLI_STRING, "KIND", offsetof(evaluate_options, precision),
      "of their products on a GPU: fp32, tf32 or bf16 (default fp32)", 0, 0 },
    { "plot", 0, CLI_STRING, "FILE", offsetof(evaluate_options, plot),
      "draw calibration (PIT, reliability): .png, .svg or .pdf", 0, 0 },
    CLI_READ_OPTIONS,
    { 0 },
};

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    static const char *const part[] = { "test", "val", "train" };
    static const char *const by[] = { "all", "step", "variable", "entity" };
    const evaluate_options  *o = opts;
    llap_panel              *panel = NULL;
    llap_model              *model = NULL;
    llap_bar                *bar = NULL;
    char                    *text = NULL, *as_json = NULL;
    llap_status              st = llap_model_load(operands[0], &model);
    if (st == LLAP_OK)
        st = cli_read_panel(common, "evaluate", &o->read, n - 1, operands + 1, &panel);
    if (st == LLAP_OK) {
        llap_evaluate_opts how = LLAP_EVALUATE_OPTS;
        how.task = o->task == 1 ? "impute" : "forecast";
        how.part = part[o->split];
        how.by = by[o->by];
        how.stride = o->stride;
        how.samples = o->samples;
        how.bootstrap = o->bootstrap == 0 ? -1 : o->bootstrap;
        how.seed = common->seed;
        how.units = o->units;
        how.paper = o->paper;
        how.log = &common->log;
        how.device = o->device;
        how.precision = o->precision;
        how.progress = cli_progress(common, &bar);
        how.as_json = o->plot != NULL ? &as_json : NULL;
        st = llap_evaluate(model, panel, &how, common->json, &text);
        llap_bar_destroy(bar);
    }
    if (st == LLAP_OK && o->plot != NULL) st = llap_plot_scores(as_json, o->plot);
    if (st == LLAP_OK) fputs(text, stdout);
    if (st == LLAP_OK && common->json) putchar('\n');
    llap_text_free(text);
    llap_text_free(as_json);
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
                      "to beat: the last value, a line, the season before, climatology, the readings and the "
                      "days of\n"
                      "the context, a first-order process, and the best point with its residual spread. CRPS "
                      "(fair,\n"
                      "all pairs), squared and absolute error in standard deviations of training, how often the "
                      "50,\n"
                      "80 and 95 % intervals held the truth, and by how much the model is better, with the 95 %\n"
                      "interval of a paired bootstrap over days (over entities where those were split). --json "
                      "has\n"
                      "everything: quantile losses, widths, PIT, energy score, by step, in the units of the "
                      "data.\n"
                      "With --task impute 30 % of the values are hidden and filled: by the model from both sides "
                      "and\n"
                      "from the past alone, by linear interpolation and the last value with their empirical "
                      "errors.",
           .example = "  llapdiff evaluate air.safetensors air.csv",
           .options = options,
           .min_operands = 2,
           .max_operands = -1,
           .options_size = sizeof(evaluate_options),
           .defaults = &(const evaluate_options){ .samples = 200, .bootstrap = 1000 },
           .run = run,
};
