#include "read.h"

#include <string.h>

typedef struct evaluate_options {
    llap_evaluate_opts how;
    llap_read_opts     read;
    const char        *with, *plot;
} evaluate_options;

#define OPTIONS evaluate_options
/* clang-format off */
static const llap_option own[] = {
    CLI_OWN(LIST, with, "model files that answer together with MODEL, each an equal share of the samples"),
    CLI_OWN(FILE, plot, "draw calibration (PIT, reliability): .png, .svg or .pdf"),
    CLI_OWN_END,
};

static const cli_row rows[] = {
    { .table = llap_evaluate_options, .option = "units" },
    { .table = llap_evaluate_options, .option = "by" },
    { .option = "plot" },
    { .table = llap_evaluate_options, .option = "only", .arg = "ENTITY,..." },
    { .table = llap_evaluate_options, .option = "task" },
    { .table = llap_evaluate_options, .option = "gaps" },
    { .table = llap_evaluate_options, .option = "hidden" },
    { .table = llap_evaluate_options, .option = "part", .name = "split" },
    { .table = llap_evaluate_options, .option = "stride", .arg = "SPAN" },
    { .table = llap_evaluate_options, .option = "samples", .letter = 'n' },
    { .table = llap_evaluate_options, .option = "total", .alone = "horizon" },
    { .table = llap_evaluate_options, .option = "season" },
    { .table = llap_evaluate_options, .option = "bootstrap" },
    { .table = llap_evaluate_options, .option = "paper" },
    { .option = "with" },
    { .table = llap_evaluate_options, .option = "against" },
    { .table = llap_evaluate_options, .option = "static" },
    { .table = llap_evaluate_options, .option = "keep" },
    { .table = llap_evaluate_options, .option = "keep_samples" },
    { .table = llap_evaluate_options, .option = "windows" },
    CLI_READ_ROWS,
    { 0 },
};
/* clang-format on */

/* What is written is a file of its own. */
static llap_status check_files(const evaluate_options *o, int n, char **operands)
{
    const struct {
        const char *name, *file;
    } written[] = { { "windows", o->how.windows }, { "keep", o->how.keep } };
    char *read[] = { (char *)o->how.against, (char *)o->how.hidden };
    if (o->how.keep != NULL &&
        (strcmp(o->how.keep, "all") == 0 || strcmp(o->how.keep, "common") == 0))
        return cli_usage("evaluate",
                         "--keep expects a file, found '%s' (which columns are read is "
                         "--columns-kept)",
                         o->how.keep);
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        const char *file = written[i].file;
        if (file != NULL && strcmp(file, "-") == 0)
            return cli_usage("evaluate", "--%s expects a file: standard output has the table",
                             written[i].name);
        if (cli_spare("evaluate", file, n, operands) != LLAP_OK) return LLAP_EUSAGE;
        for (int k = 0; k < 2; k++)
            if (read[k] != NULL && cli_spare("evaluate", file, 1, &read[k]) != LLAP_OK)
                return LLAP_EUSAGE;
    }
    return cli_spare("evaluate", o->plot, n, operands);
}

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const evaluate_options *o = opts;
    llap_evaluate_opts      how = o->how;
    llap_panel             *panel = NULL;
    llap_model             *model = NULL;
    llap_bar               *bar = NULL;
    char                   *table = NULL, *json = NULL;
    cli_mates               mates = { 0 };
    int                     rank;
    cli_common              quiet;
    if (check_files(o, n, operands) != LLAP_OK) return LLAP_EUSAGE;
    llap_status st = cli_join(&common, &quiet, &rank);
    if (st == LLAP_OK && o->plot != NULL) st = llap_plot_can_save(o->plot);
    if (st == LLAP_OK) st = cli_open(common, &o->read, n, operands, &model, &panel);
    if (st == LLAP_OK) st = cli_load_mates("evaluate", o->with, &mates);
    if (st == LLAP_OK) {
        how.with = (const llap_model *const *)mates.model;
        how.n_with = mates.n;
        how.log = &common->log;
        how.progress = cli_progress(common, &bar);
        if (how.windows != NULL || how.keep != NULL) cli_catch_signals(); /* both end whole */
        st = llap_evaluate(model, panel, &how, common->json ? NULL : &table,
                           common->json || o->plot != NULL ? &json : NULL);
        llap_bar_destroy(bar);
    }
    cli_catch_signals();
    if (st == LLAP_OK && rank == 0 && o->plot != NULL) st = llap_plot_scores(json, o->plot);
    if (st == LLAP_OK && rank == 0) cli_print_text(common, common->json ? json : table);
    else llap_text_free(table);
    if (st != LLAP_OK || rank > 0 || !common->json) llap_text_free(json);
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
        "model has to beat: the last value, a line, a drift, a walk of logarithms, the\n"
        "seasons before, climatology, the readings and the days of the context, a\n"
        "first-order process, and the best of the points. CRPS (fair, all pairs), squared and absolute error in\n"
        "standard deviations of training, how often the 50, 80 and 95 % intervals held\n"
        "the truth, and by how much the model is better, with the 95 % interval of a\n"
        "paired bootstrap over days (over entities where those were split). --json has\n"
        "everything: quantile losses, widths, PIT, energy score, by step, in the units of\n"
        "the data. With --task impute values are hidden and filled: by the model from both\n"
        "sides and from the past alone, by linear interpolation and the last value with\n"
        "their empirical errors; --stride, --samples and --with are of forecasts alone.\n"
        "--gaps says what is hidden: 30 % of the values of all columns (random), variables\n"
        "and whole rows for 6 to 48 hours and 10 % besides (outages), whole rows alone\n"
        "(rows), or one target of an entity for two weeks, then another (dead); --hidden\n"
        "FILE lists them one by one instead. --keep then lists the hidden values and what\n"
        "fills them.\n"
        "\n"
        "--against FILE scores forecasts of your own on the windows that they cover, of\n"
        "which every scored value must be answered. Columns entity, origin (the time of\n"
        "the last row that was known), time, variable, then value, or quantiles q0.1,...\n"
        "(and mean), or sample and value. --keep writes the model's forecasts so, and\n"
        "with them which windows are asked; --stride 1 asks from every row. Fills have no\n"
        "origin; they must answer all hidden values of an entity and a day.",
    .example = "  llapdiff evaluate air.safetensors air.csv\n"
               "  llapdiff evaluate air.safetensors air.csv --season 24h,7d --units\n"
               "  llapdiff evaluate air.safetensors air.csv --task impute --gaps outages\n"
               "  llapdiff evaluate air.safetensors air.csv --keep asked.csv\n"
               "  llapdiff evaluate air.safetensors air.csv --against mine.csv",
    .min_operands = 2,
    .max_operands = -1,
    .rows = rows,
    .own = own,
    .parts = { { llap_evaluate_options, offsetof(OPTIONS, how) }, { llap_read_options, offsetof(OPTIONS, read) } },
    .options_size = sizeof(evaluate_options),
    .run = run,
};
/* clang-format on */
