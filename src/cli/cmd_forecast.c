#include "read.h"

typedef struct forecast_options {
    cli_read    read;
    const char *at, *every, *times, *horizon, *step, *quantiles, *with;
    cli_output  to;
    int64_t     samples;
    bool        total, keep_samples;
} forecast_options;

#define OPTIONS forecast_options
/* clang-format off */
static const cli_option options[] = {
    TEXT("at",             0, "TIME", at, "forecast from this time (default: the last row of each entity)"),
    TEXT("every",          0, "SPAN", every,
         "a backtest: forecasts so far apart, from --at (default: where testing begins) on"),
    TEXT("times",          0, "FILE", times,
         "the times to forecast: a column time, and entity where they differ"),
    TEXT("horizon",        0, "SPAN", horizon, "how far ahead (default: as trained)"),
    TEXT("step",           0, "SPAN", step, "between forecast times (default: as trained)"),
    TEXT("quantiles",      0, "LIST", quantiles, "default 0.025,0.1,0.25,0.5,0.75,0.9,0.975"),
    INT("samples",         'n', "N", samples, 1, 1e6,
         "sample paths (default 200); size anchor knows its quantiles without"),
    FLAG("keep-samples",   0, keep_samples, "write the paths instead of their quantiles"),
    FLAG("total",          0, total, "the sum over the horizon instead of each time"),
    TEXT("with",           0, "LIST", with,
         "model files that answer together with MODEL, each an equal share of the samples"),
    CLI_OUTPUT_OPTIONS("the fan of the forecast"),
    CLI_READ_OPTIONS,
    { 0 },
};
/* clang-format on */

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const forecast_options *o = opts;
    llap_forecast_opts      ask = LLAP_FORECAST_OPTS;
    llap_panel             *panel = NULL;
    llap_model             *model = NULL;
    llap_answer            *answer = NULL;
    llap_bar               *bar = NULL;
    cli_mates               mates = { 0 };
    ask.at = o->at;
    ask.every = o->every;
    ask.times = o->times;
    ask.horizon = o->horizon;
    ask.step = o->step;
    ask.quantiles = o->quantiles;
    ask.samples = o->samples;
    ask.total = o->total;
    ask.keep_samples = o->keep_samples;
    ask.seed = common->seed;
    ask.log = &common->log;
    ask.device = common->device;
    ask.precision = common->precision;
    char       *times = (char *)o->times;
    llap_status st = cli_check_output(common, "forecast", &o->to, n, operands);
    if (st == LLAP_OK) st = cli_spare("forecast", o->to.file, 1, &times);
    if (st == LLAP_OK) st = cli_open(common, "forecast", &o->read, n, operands, &model, &panel);
    if (st == LLAP_OK) st = cli_load_mates("forecast", o->with, &mates);
    if (st == LLAP_OK) {
        ask.with = (const llap_model *const *)mates.model;
        ask.n_with = mates.n;
        ask.progress = cli_progress(common, &bar);
        st = llap_forecast(model, panel, &ask, &answer);
        llap_bar_destroy(bar);
    }
    if (st == LLAP_OK) st = cli_put_answer(common, answer, panel, &o->to);
    cli_mates_free(&mates);
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return st;
}

/* clang-format off */
const cli_command cmd_forecast = {
    .name = "forecast",
    .operands = "MODEL DATA...",
    .summary = "what comes next, with uncertainty",
    .text =
        "Forecasts every target of every entity from its latest context: mean and\n"
        "quantiles in the units of the data, as CSV entity,time,variable,mean,q0.025,...;\n"
        "with --keep-samples joint paths entity,time,variable,sample,value. With --every\n"
        "the forecasts that would have been made in the past, with their origin. Warns\n"
        "where the data differs from that of training.",
    .example = "  llapdiff forecast air.safetensors air.csv --quantiles 0.1,0.5,0.9 -o next.csv",
    .options = options,
    .min_operands = 2,
    .max_operands = -1,
    .options_size = sizeof(forecast_options),
    .defaults = &(const forecast_options){ .read = { 0 } },
    .run = run,
};
/* clang-format on */
