#include "cli.h"

#include <stdio.h>
#include <string.h>

typedef struct synth_options {
    llap_synth_sizes sizes;
    const char      *output;
    llap_table_form  form;
} synth_options;

#define OPTIONS synth_options
/* clang-format off */
static const char *const forms[] = { "", [LLAP_TABLE_WIDE] = "wide", [LLAP_TABLE_LONG] = "long", NULL };

static const llap_option own[] = {
    CLI_OWN(FILE, output, "CSV, or NetCDF where it ends in .nc (default: standard output)"),
    CLI_OWN_WORD(form, "wide", forms, "of the CSV: a row per time, or a row per value"),
    CLI_OWN_END,
};

static const cli_row rows[] = {
    { .table = llap_synth_options, .option = "kind" },
    { .table = llap_synth_options, .option = "entities" },
    { .table = llap_synth_options, .option = "variables" },
    { .table = llap_synth_options, .option = "rows" },
    { .option = "output", .letter = 'o' },
    { .option = "form" },
    { 0 },
};
/* clang-format on */

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    (void)n, (void)operands;
    const synth_options *o = opts;
    const bool           to_stdout = o->output == NULL || strcmp(o->output, "-") == 0;
    llap_panel          *panel = NULL;
    llap_panel_sizes     made;
    if (common->json && to_stdout)
        return cli_usage("synth", "--json says what was written, the data goes to --output FILE");
    llap_status st = llap_panel_synth(&o->sizes, &panel);
    if (!to_stdout) cli_catch_signals();
    if (st == LLAP_OK) st = llap_panel_write_as(panel, to_stdout ? "-" : o->output, o->form);
    if (st == LLAP_OK && common->json) {
        llap_panel_size(panel, &made);
        printf("{\"file\": ");
        cli_json_string(o->output);
        printf(", \"entities\": %lld, \"variables\": %lld, \"rows\": %lld, \"seed\": %s}\n",
               (long long)made.entities, (long long)made.variables, (long long)made.rows,
               cli_seed(llap_synth_options(), &o->sizes));
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
    .rows = rows,
    .own = own,
    .parts = { { llap_synth_options, offsetof(OPTIONS, sizes) } },
    .options_size = sizeof(synth_options),
    .run = run,
};
/* clang-format on */
