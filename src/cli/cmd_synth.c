#include "cli.h"

typedef struct synth_options {
    int64_t     entities, variables, rows;
    const char *output, *form;
} synth_options;

static const cli_option options[] = {
    { "entities", 0, CLI_INT, "N", offsetof(synth_options, entities), "sensors (default 6)", 1,
      1e5 },
    { "variables", 0, CLI_INT, "N", offsetof(synth_options, variables),
      "variables of each (default 3)", 1, 1000 },
    { "rows", 0, CLI_INT, "N", offsetof(synth_options, rows),
      "hourly rows of each, before any are lost (default 2000)", 2, 1e7 },
    { "output", 'o', CLI_STRING, "FILE", offsetof(synth_options, output),
      "CSV, or NetCDF where it ends in .nc (default: standard output)", 0, 0 },
    { "form", 0, CLI_STRING, "wide|long", offsetof(synth_options, form),
      "of the CSV: a row per time, or a row per value (default wide)", 0, 0 },
    { 0 },
};

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    (void)n, (void)operands;
    const synth_options   *o = opts;
    const llap_synth_sizes sizes = { o->entities, o->variables, o->rows, common->seed };
    llap_panel            *panel = NULL;
    llap_status            st = llap_panel_synth(&sizes, &panel);
    if (st == LLAP_OK)
        st = llap_panel_write_as(panel, o->output == NULL ? "-" : o->output, o->form);
    llap_panel_destroy(panel);
    return st;
}

extern const cli_command cmd_synth;
const cli_command        cmd_synth = {
           .name = "synth",
           .operands = "",
           .summary = "make up an irregular panel with known truth",
           .text =
               "Writes a network of sensors that measure damped oscillations, some shared, with a daily\n"
                      "cycle and noise, at jittered times, with lost rows, lost cells, long gaps and dead "
                      "sensors.\n"
                      "The same --seed gives the same bytes.",
           .example = "  llapdiff synth --entities 4 --rows 1500 -o sensors.csv",
           .options = options,
           .options_size = sizeof(synth_options),
           .defaults = &(const synth_options){ 6, 3, 2000, NULL, NULL },
           .run = run,
};
