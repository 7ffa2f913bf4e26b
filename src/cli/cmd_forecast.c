#include "read.h"

typedef struct forecast_options {
    cli_read    read;
    const char *device, *precision;
    const char *at, *every, *times, *horizon, *step, *quantiles, *output, *plot;
    int64_t     samples;
    bool        total, keep_samples;
} forecast_options;

static const cli_option options[] = {
    { "at", 0, CLI_STRING, "TIME", offsetof(forecast_options, at),
      "forecast from this time (default: the last row of each entity)", 0, 0 },
    { "every", 0, CLI_STRING, "SPAN", offsetof(forecast_options, every),
      "a backtest: forecasts so far apart, from --at (default: where testing begins) on", 0, 0 },
    { "times", 0, CLI_STRING, "FILE", offsetof(forecast_options, times),
      "the times to forecast: a column time, and entity where they differ", 0, 0 },
    { "horizon", 0, CLI_STRING, "SPAN", offsetof(forecast_options, horizon),
      "how far ahead (default: as trained)", 0, 0 },
    { "step", 0, CLI_STRING, "SPAN", offsetof(forecast_options, step),
      "between forecast times (default: as trained)", 0, 0 },
    { "quantiles", 0, CLI_STRING, "LIST", offsetof(forecast_options, quantiles),
      "default 0.025,0.1,0.25,0.5,0.75,0.9,0.975", 0, 0 },
    { "samples", 'n', CLI_INT, "N", offsetof(forecast_options, samples),
      "sample paths (default 200); size anchor knows its quantiles without", 1, 1e6 },
    { "keep-samples", 0, CLI_FLAG, NULL, offsetof(forecast_options, keep_samples),
      "write the paths instead of their quantiles", 0, 0 },
    { "total", 0, CLI_FLAG, NULL, offsetof(forecast_options, total),
      "the sum over the horizon instead of each time", 0, 0 },
    { "output", 'o', CLI_STRING, "FILE", offsetof(forecast_options, output),
      "CSV file (default: standard output)", 0, 0 },
    { "plot", 0, CLI_STRING, "FILE", offsetof(forecast_options, plot),
      "draw the fan of the forecast: .png, .svg or .pdf", 0, 0 },
    { "device", 0, CLI_STRING, "DEVICE", offsetof(forecast_options, device),
      "where networks compute: cpu, cuda, cuda:N or auto (default cpu)", 0, 0 },
    { "precision", 0, CLI_STRING, "KIND", offsetof(forecast_options, precision),
      "of their products on a GPU: fp32, tf32 or bf16 (default fp32)", 0, 0 },
    CLI_READ_OPTIONS,
    { 0 },
};

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const forecast_options *o = opts;
    if (common->json && o->output != NULL)
        return cli_usage("forecast",
                         "--json prints to standard output and --output writes CSV: take one");
    llap_panel  *panel = NULL;
    llap_model  *model = NULL;
    llap_answer *answer = NULL;
    llap_status  st = llap_model_load(operands[0], &model);
    if (st == LLAP_OK)
        st = cli_read_panel(common, "forecast", &o->read, n - 1, operands + 1, &panel);
    if (st == LLAP_OK) {
        llap_forecast_opts ask = LLAP_FORECAST_OPTS;
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
        ask.device = o->device;
        ask.precision = o->precision;
        st = llap_forecast(model, panel, &ask, &answer);
    }
    if (st == LLAP_OK && o->plot != NULL) st = llap_answer_plot(answer, panel, o->plot);
    if (st == LLAP_OK) st = cli_print_answer(common, answer, o->output);
    llap_answer_destroy(answer);
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return st;
}

extern const cli_command cmd_forecast;
const cli_command        cmd_forecast = {
           .name = "forecast",
           .operands = "MODEL DATA...",
           .summary = "what comes next, with uncertainty",
           .text = "Forecasts every target of every entity from its latest context: mean and quantiles in "
                          "the\n"
                          "units of the data, as CSV entity,time,variable,mean,q0.025,...; with --keep-samples "
                          "joint\n"
                          "paths entity,time,variable,sample,value. With --every the forecasts that would "
                          "have been\n"
                          "made in the past, with their origin. Warns where the data differs from that of "
                          "training.",
           .example = "  llapdiff forecast air.safetensors air.csv --quantiles 0.1,0.5,0.9 -o next.csv",
           .options = options,
           .min_operands = 2,
           .max_operands = -1,
           .options_size = sizeof(forecast_options),
           .defaults = &(const forecast_options){ .read = { 0 } },
           .run = run,
};
