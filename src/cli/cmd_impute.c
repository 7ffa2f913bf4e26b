#include "read.h"

typedef struct impute_options {
    cli_read    read;
    const char *quantiles, *times;
    cli_output  to;
    int64_t     samples;
    bool        causal, all, keep_samples;
} impute_options;

#define OPTIONS impute_options
/* clang-format off */
static const cli_option options[] = {
    FLAG("causal",         0, causal, "from the past only (default: from both sides)"),
    FLAG("all",            'a', all, "write observed cells too, as they were measured"),
    TEXT("times",          0, "FILE", times,
         "the times to answer about, instead of missing cells: a column time, and entity where they differ"),
    TEXT("quantiles",      0, "LIST", quantiles, "default 0.025,0.1,0.25,0.5,0.75,0.9,0.975"),
    INT("samples",         'n', "N", samples, 1, 1e6,
         "draws of a cell (default 48); size anchor knows its quantiles without"),
    FLAG("keep-samples",   0, keep_samples, "write the draws instead of their quantiles"),
    CLI_OUTPUT_OPTIONS("the filled gaps"),
    CLI_READ_OPTIONS,
    { 0 },
};
/* clang-format on */

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const impute_options *o = opts;
    llap_impute_opts      ask = LLAP_IMPUTE_OPTS;
    llap_panel           *panel = NULL;
    llap_model           *model = NULL;
    llap_answer          *answer = NULL;
    llap_bar             *bar = NULL;
    ask.quantiles = o->quantiles;
    ask.causal = o->causal;
    ask.all = o->all;
    ask.times = o->times;
    ask.samples = o->samples;
    ask.keep_samples = o->keep_samples;
    ask.seed = common->seed;
    ask.device = common->device;
    ask.precision = common->precision;
    ask.log = &common->log;
    char *times = (char *)o->times;
    if (o->times != NULL && o->to.plot != NULL)
        return cli_usage("impute", "--plot draws the rows of the data, not those of --times");
    llap_status st = cli_check_output(common, "impute", &o->to, n, operands);
    if (st == LLAP_OK) st = cli_spare("impute", o->to.file, 1, &times);
    if (st == LLAP_OK) st = cli_open(common, "impute", &o->read, n, operands, &model, &panel);
    if (st == LLAP_OK) {
        ask.progress = cli_progress(common, &bar);
        st = llap_impute(model, panel, &ask, &answer);
        llap_bar_destroy(bar);
    }
    if (st == LLAP_OK) st = cli_put_answer(common, answer, panel, &o->to);
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
    .options = options,
    .min_operands = 2,
    .max_operands = -1,
    .options_size = sizeof(impute_options),
    .defaults = &(const impute_options){ .read = { 0 } },
    .run = run,
};
/* clang-format on */
