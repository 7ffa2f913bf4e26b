#include "cli.h"

#include <stdio.h>
#include <string.h>

typedef struct synth_options {
    int64_t     entities, variables, rows;
    int         kind;
    const char *output, *form;
} synth_options;

#define OPTIONS synth_options
/* clang-format off */
static const cli_option options[] = {
    CHOICE("kind",      0, "oscillators|weather", kind,
         "damped oscillators, whose best forecast is known, or weather stations"),
    INT("entities",     0, "N", entities, 1, 1e5, "sensors (default 6)"),
    INT("variables",    0, "N", variables, 1, 1000, "variables of each (default 3; weather has 2)"),
    INT("rows",         0, "N", rows, 2, 1e7, "hourly rows of each, before any are lost (default 2000)"),
    TEXT("output",      'o', "FILE", output,
         "CSV, or NetCDF where it ends in .nc (default: standard output)"),
    TEXT("form",        0, "wide|long", form,
         "of the CSV: a row per time, or a row per value (default wide)"),
    { 0 },
};
/* clang-format on */

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    (void)n, (void)operands;
    const synth_options   *o = opts;
    const int64_t          variables = o->variables > 0 ? o->variables : o->kind == 1 ? 2 : 3;
    const llap_synth_sizes sizes = { o->entities, variables, o->rows, common->seed,
                                     o->kind == 1 ? "weather" : "oscillators" };
    const bool             to_stdout = o->output == NULL || strcmp(o->output, "-") == 0;
    llap_panel            *panel = NULL;
    llap_panel_sizes       made;
    if (common->json && to_stdout)
        return cli_usage("synth", "--json says what was written, the data goes to --output FILE");
    llap_status st = llap_panel_synth(&sizes, &panel);
    if (!to_stdout) cli_catch_signals();
    if (st == LLAP_OK) st = llap_panel_write_as(panel, to_stdout ? "-" : o->output, o->form);
    if (st == LLAP_OK && common->json) {
        llap_panel_size(panel, &made);
        printf("{\"file\": ");
        cli_json_string(o->output);
        printf(", \"entities\": %lld, \"variables\": %lld, \"rows\": %lld, \"seed\": %lld}\n",
               (long long)made.entities, (long long)made.variables, (long long)made.rows,
               (long long)common->seed);
    }
    llap_panel_destroy(panel);
    return st;
}

/* clang-format off */
const cli_command cmd_synth = {
    .name = "synth",
    .operands = "",
    .summary = "make up an irregular panel",
    .text =
        "Writes a network of sensors at jittered times, with lost rows, lost cells, long\n"
        "gaps and dead sensors: damped oscillations, some shared, with a daily cycle and\n"
        "noise, or weather stations with temperature and pressure that fronts pass one\n"
        "after the other. The same --seed gives the same bytes.",
    .example =
        "  llapdiff synth --entities 4 --rows 1500 -o sensors.csv\n"
        "  llapdiff synth --kind weather --entities 5 --rows 5000 -o weather.csv",
    .options = options,
    .options_size = sizeof(synth_options),
    .defaults = &(const synth_options){ .entities = 6, .rows = 2000 },
    .without = CLI_DEVICE,
    .run = run,
};
/* clang-format on */
