#include "read.h"

typedef struct impute_options {
    llap_impute_opts ask;
    llap_read_opts   read;
    cli_output       to;
} impute_options;

#define OPTIONS impute_options
/* clang-format off */
static const llap_option own[] = {
    CLI_OWN_OUTPUT("the filled gaps"),
    CLI_OWN_END,
};

static const cli_row rows[] = {
    CLI_OUTPUT_ROWS,
    { .table = llap_impute_options, .option = "only", .arg = "ENTITY,..." },
    { .table = llap_impute_options, .option = "quantiles" },
    { .table = llap_impute_options, .option = "causal" },
    { .table = llap_impute_options, .option = "all", .letter = 'a' },
    { .table = llap_impute_options, .option = "times" },
    { .table = llap_impute_options, .option = "static" },
    { .table = llap_impute_options, .option = "samples", .letter = 'n' },
    { .table = llap_impute_options, .option = "keep_samples" },
    CLI_READ_ROWS,
    { 0 },
};
/* clang-format on */

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const impute_options *o = opts;
    llap_impute_opts      ask = o->ask;
    llap_panel           *panel = NULL;
    llap_model           *model = NULL;
    llap_answer          *answer = NULL;
    llap_bar             *bar = NULL;
    cli_common            quiet;
    int                   rank;
    char                 *times = (char *)ask.times;
    if (ask.times != NULL && o->to.plot != NULL)
        return cli_usage("impute", "--plot draws the rows of the data, not those of --times");
    llap_status st = cli_join(&common, &quiet, &rank);
    ask.log = &common->log;
    if (st == LLAP_OK) st = cli_check_output(common, "impute", &o->to, n, operands);
    if (st == LLAP_OK) st = cli_spare("impute", o->to.file, 1, &times);
    if (st == LLAP_OK) st = cli_open(common, &o->read, n, operands, &model, &panel);
    if (st == LLAP_OK) {
        ask.progress = cli_progress(common, &bar);
        st = llap_impute(model, panel, &ask, &answer);
        llap_bar_destroy(bar);
    }
    if (st == LLAP_OK && rank == 0) st = cli_put_answer(common, answer, panel, &o->to);
    else llap_answer_destroy(answer);
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return st;
}

/* clang-format off */
const cli_command cmd_impute = {
    .name = "impute",
    .operands = "MODEL DATA...",
    .summary = "what was missing, with uncertainty",
    .text =
        "Fills the missing cells of the target variables at the rows of the data: mean\n"
        "and quantiles as CSV entity,time,variable,observed,mean,q0.025,... Each gap is\n"
        "filled from both sides, or with --causal from what came before it. With\n"
        "--keep-samples draws entity,time,variable,observed,sample,value: joint within a\n"
        "gap where the anchor fills it.",
    .example = "  llapdiff impute air.safetensors air.csv --grid 1h -o filled.csv",
    .min_operands = 2,
    .max_operands = -1,
    .rows = rows,
    .own = own,
    .parts = { { llap_impute_options, offsetof(OPTIONS, ask) }, { llap_read_options, offsetof(OPTIONS, read) } },
    .options_size = sizeof(impute_options),
    .run = run,
};
/* clang-format on */
