#include "read.h"

#include <string.h>

typedef struct forecast_options {
    llap_forecast_opts ask;
    llap_read_opts     read;
    const char        *with, *components, *scenario;
    cli_output         to;
} forecast_options;

#define OPTIONS forecast_options
/* clang-format off */
static const llap_option own[] = {
    CLI_OWN(LIST, with, "model files that answer together with MODEL, each an equal share of the samples"),
    CLI_OWN(LIST, scenario, "NAME=FILE,...: other values of the known inputs to come, an answer for each; may be repeated"),
    CLI_OWN_OUTPUT("the fan of the forecast"),
    CLI_OWN(FILE, components, "what the forecast is made of, of size anchor: .csv numbers; .png, .svg or .pdf, or a folder/, drawn"),
    CLI_OWN_END,
};

static const cli_row rows[] = {
    { .table = llap_forecast_options, .option = "horizon", .arg = "SPAN" },
    { .table = llap_forecast_options, .option = "step", .arg = "SPAN" },
    { .table = llap_forecast_options, .option = "at", .arg = "TIME" },
    { .table = llap_forecast_options, .option = "only", .arg = "ENTITY,..." },
    CLI_OUTPUT_ROWS,
    { .table = llap_forecast_options, .option = "quantiles" },
    { .table = llap_forecast_options, .option = "keep_samples" },
    { .table = llap_forecast_options, .option = "samples", .letter = 'n' },
    { .table = llap_forecast_options, .option = "every", .arg = "SPAN", .help = "backtest: a forecast in every such span, from --at on (default: the start of the test part)" },
    { .table = llap_forecast_options, .option = "times" },
    { .table = llap_forecast_options, .option = "static" },
    { .table = llap_forecast_options, .option = "total", .alone = "horizon" },
    { .option = "with" },
    { .option = "scenario", .arg = "NAME=FILE", .joins = true },
    { .option = "components" },
    CLI_READ_ROWS_EVERY("row-every"),
    { 0 },
};
/* clang-format on */

/* Level, seasons, inputs: numbers or a picture, by the end of the name. */
static bool is_table(const char *path)
{
    const size_t n = strlen(path);
    return strcmp(path, "-") == 0 || (n > 4 && strcmp(path + n - 4, ".csv") == 0);
}

static llap_status check_components(const forecast_options *o, int n, char **operands)
{
    const char *to = o->components;
    if (to == NULL) return LLAP_OK;
    llap_status st = cli_spare("forecast", to, n, operands);
    if (st != LLAP_OK) return st;
    if ((o->to.file != NULL && strcmp(to, o->to.file) == 0) ||
        (o->to.plot != NULL && strcmp(to, o->to.plot) == 0) ||
        (strcmp(to, "-") == 0 && o->to.file == NULL))
        return cli_usage("forecast", "--components and the forecast would go to one place: %s", to);
    return is_table(to) ? llap_answer_can_write(to) : llap_answer_can_plot(to);
}

static llap_status put_components(const llap_model *m, const llap_panel *p,
                                  const llap_forecast_opts *ask, const char *path)
{
    llap_components *c = NULL;
    llap_status      st = llap_forecast_components(m, p, ask, &c);
    if (st == LLAP_OK)
        st = is_table(path) ? llap_components_write(c, path) : llap_components_plot(c, path);
    llap_components_destroy(c);
    return st;
}

static llap_status check_scenarios(const forecast_options *o)
{
    if (o->components != NULL)
        return cli_usage("forecast", "--components shows one forecast: leave out --scenario, and "
                                     "give its values in the data");
    if (o->to.plot != NULL && o->ask.keep_samples)
        return cli_usage("forecast", "--plot draws quantiles of scenarios: leave out "
                                     "--keep-samples");
    return LLAP_OK;
}

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const forecast_options *o = opts;
    llap_forecast_opts      ask = o->ask;
    llap_panel             *panel = NULL;
    llap_model             *model = NULL;
    llap_answer            *answer = NULL;
    llap_bar               *bar = NULL;
    cli_mates               mates = { 0 };
    cli_scenarios           scenarios = { 0 };
    cli_common              quiet;
    int                     rank;
    char                   *times = (char *)ask.times;
    llap_status             st = cli_join(&common, &quiet, &rank);
    ask.log = &common->log;
    if (st == LLAP_OK) st = cli_check_output(common, "forecast", &o->to, n, operands);
    if (st == LLAP_OK && o->to.plot != NULL && ask.total >= LLAP_FORECAST_TOTAL_ENTITIES)
        st = cli_usage("forecast", "--plot draws entities: leave out --total entities or both");
    if (st == LLAP_OK) st = cli_spare("forecast", o->to.file, 1, &times);
    if (st == LLAP_OK) st = check_components(o, n, operands);
    if (st == LLAP_OK && o->scenario != NULL) st = check_scenarios(o);
    if (st == LLAP_OK) st = cli_open(common, &o->read, n, operands, &model, &panel);
    if (st == LLAP_OK) st = cli_load_mates("forecast", o->with, &mates);
    llap_read_opts how = o->read;
    if (st == LLAP_OK) how.levels = llap_model_levels(model);
    if (st == LLAP_OK)
        st = cli_read_scenarios(common, "forecast", &how, o->scenario, &o->to, &scenarios);
    if (st == LLAP_OK) {
        ask.scenarios = scenarios.is;
        ask.n_scenarios = scenarios.n;
        ask.with = (const llap_model *const *)mates.model;
        ask.n_with = mates.n;
        if (o->components != NULL && rank == 0)
            st = put_components(model, panel, &ask, o->components);
    }
    if (st == LLAP_OK) {
        ask.progress = cli_progress(common, &bar);
        st = llap_forecast(model, panel, &ask, &answer);
        llap_bar_destroy(bar);
    }
    if (st == LLAP_OK && rank == 0) st = cli_put_answer(common, answer, panel, &o->to);
    else llap_answer_destroy(answer);
    cli_mates_free(&mates);
    cli_scenarios_free(&scenarios);
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
        "the forecasts that would have been made in the past, with their origin; with\n"
        "--scenario an answer for each, with its name. Warns where the data differs from\n"
        "that of training.",
    .example = "  llapdiff forecast air.safetensors air.csv --quantiles 0.1,0.5,0.9 -o next.csv",
    .min_operands = 2,
    .max_operands = -1,
    .rows = rows,
    .own = own,
    .parts = { { llap_forecast_options, offsetof(OPTIONS, ask) }, { llap_read_options, offsetof(OPTIONS, read) } },
    .options_size = sizeof(forecast_options),
    .run = run,
};
/* clang-format on */
