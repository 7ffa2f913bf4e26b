#include "read.h"

#include <string.h>

typedef struct evaluate_options {
    cli_read    read;
    const char *stride, *plot, *with, *windows;
    int64_t     samples, bootstrap;
    int         split, task, by;
    bool        units, paper;
} evaluate_options;

#define OPTIONS evaluate_options
/* clang-format off */
static const cli_option options[] = {
    CHOICE("task",      0, "forecast|impute", task,
         "score forecasts, or the filling of gaps made on purpose (default forecast)"),
    CHOICE("split",     0, "test|val|train", split, "which part of the data to score (default test)"),
    TEXT("stride",      0, "SPAN", stride,
         "one forecast of an entity is scored in each such span (default 23 steps)"),
    INT("samples",      'n', "N", samples, 2, 100000, "samples drawn per forecast (default 200)"),
    CHOICE("by",        0, "all|step|variable|entity", by, "CRPS in finer pieces too"),
    INT("bootstrap",    0, "N", bootstrap, 0, 1000000,
         "draws behind the intervals of differences (default 1000; 0: no intervals)"),
    FLAG("units",       0, units,
         "the table in the units of the data, not in standard deviations of training"),
    FLAG("paper",       0, paper,
         "also CRPS and MSE as the paper's tables have them (25 samples, 200 pairs)"),
    TEXT("with",        0, "LIST", with,
         "model files that answer together with MODEL, each an equal share of the samples"),
    TEXT("windows",     0, "FILE", windows,
         "write what every window scored, as CSV: CRPS and squared error of model and opponents"),
    TEXT("plot",        0, "FILE", plot, "draw calibration (PIT, reliability): .png, .svg or .pdf"),
    CLI_READ_OPTIONS,
    { 0 },
};
/* clang-format on */

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    static const char *const part[] = { "test", "val", "train" };
    static const char *const by[] = { "all", "step", "variable", "entity" };
    const evaluate_options  *o = opts;
    llap_panel              *panel = NULL;
    llap_model              *model = NULL;
    llap_bar                *bar = NULL;
    char                    *text = NULL, *as_json = NULL;
    cli_mates                mates = { 0 };
    if (o->windows != NULL && strcmp(o->windows, "-") == 0)
        return cli_usage("evaluate", "--windows expects a file: standard output has the table");
    if (cli_spare("evaluate", o->windows, n, operands) != LLAP_OK) return LLAP_EUSAGE;
    if (cli_spare("evaluate", o->plot, n, operands) != LLAP_OK) return LLAP_EUSAGE;
    llap_status st = o->plot == NULL ? LLAP_OK : llap_plot_can_save(o->plot);
    if (st == LLAP_OK) st = cli_open(common, "evaluate", &o->read, n, operands, &model, &panel);
    if (st == LLAP_OK) st = cli_load_mates("evaluate", o->with, &mates);
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
        how.with = (const llap_model *const *)mates.model;
        how.n_with = mates.n;
        how.log = &common->log;
        how.device = common->device;
        how.precision = common->precision;
        how.progress = cli_progress(common, &bar);
        how.windows = o->windows;
        how.as_json = o->plot != NULL ? &as_json : NULL;
        if (o->windows != NULL) cli_catch_signals(); /* which it writes in the end */
        st = llap_evaluate(model, panel, &how, common->json, &text);
        llap_bar_destroy(bar);
    }
    cli_catch_signals();
    if (st == LLAP_OK && o->plot != NULL) st = llap_plot_scores(as_json, o->plot);
    if (st == LLAP_OK) cli_print_text(common, text);
    else llap_text_free(text);
    llap_text_free(as_json);
    cli_mates_free(&mates);
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return st;
}

/* clang-format off */
const cli_command cmd_evaluate = {
    .name = "evaluate",
    .operands = "MODEL DATA...",
    .summary = "score a model beside honest opponents",
    .text =
        "Forecasts the windows that training has not seen and scores them beside what any\n"
        "model has to beat: the last value, a line, the season before, climatology, the\n"
        "readings and the days of the context, a first-order process, and the best point\n"
        "with its residual spread. CRPS (fair, all pairs), squared and absolute error in\n"
        "standard deviations of training, how often the 50, 80 and 95 % intervals held\n"
        "the truth, and by how much the model is better, with the 95 % interval of a\n"
        "paired bootstrap over days (over entities where those were split). --json has\n"
        "everything: quantile losses, widths, PIT, energy score, by step, in the units of\n"
        "the data. With --task impute 30 % of the values are hidden and filled: by the\n"
        "model from both sides and from the past alone, by linear interpolation and the\n"
        "last value with their empirical errors; --stride, --samples and --with are of\n"
        "forecasts alone.",
    .example = "  llapdiff evaluate air.safetensors air.csv",
    .options = options,
    .min_operands = 2,
    .max_operands = -1,
    .options_size = sizeof(evaluate_options),
    .defaults = &(const evaluate_options){ .bootstrap = 1000 },
    .run = run,
};
/* clang-format on */
