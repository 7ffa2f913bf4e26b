#include "read.h"

typedef struct poles_options {
    llap_pole_opts ask;
    llap_read_opts read;
    const char    *plot;
} poles_options;

#define OPTIONS poles_options
/* clang-format off */
static const llap_option own[] = {
    CLI_OWN(FILE, plot, "draw the pole plane: .png, .svg or .pdf"),
    CLI_OWN_END,
};

static const cli_row rows[] = {
    { .table = llap_pole_options, .option = "target", .letter = 't', .arg = "NAME" },
    { .table = llap_pole_options, .option = "noise", .arg = "SHARE" },
    { .table = llap_pole_options, .option = "entity", .arg = "ENTITY", .name = "of" },
    { .table = llap_pole_options, .option = "at", .arg = "TIME" },
    { .table = llap_pole_options, .option = "base" },
    { .table = llap_pole_options, .option = "channel" },
    { .table = llap_pole_options, .option = "transfer" },
    { .table = llap_pole_options, .option = "impulse" },
    { .table = llap_pole_options, .option = "realisation" },
    { .option = "plot" },
    CLI_READ_ROWS,
    { 0 },
};
/* clang-format on */

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const poles_options  *o = opts;
    llap_panel           *panel = NULL;
    llap_model           *model = NULL;
    char                 *text = NULL;
    const llap_pole_opts *ask = &o->ask;
    if (n == 1 && (ask->entity != NULL || ask->at != NULL))
        return cli_usage("poles", "--%s needs DATA", ask->entity ? "of" : "at");
    llap_status st = cli_open(common, &o->read, n, operands, &model, &panel);
    if (st == LLAP_OK) st = llap_model_poles(model, panel, ask, common->json, &text);
    cli_catch_signals();
    if (st == LLAP_OK && o->plot != NULL) st = llap_model_poles_plot(model, panel, ask, o->plot);
    if (st == LLAP_OK) cli_print_text(common, text);
    else llap_text_free(text);
    llap_panel_destroy(panel);
    llap_model_destroy(model);
    return st;
}

/* clang-format off */
const cli_command cmd_poles = {
    .name = "poles",
    .operands = "MODEL [DATA...]",
    .summary = "show the poles that a model has learned",
    .text =
        "Prints rate, frequency, half-life, period and energy of every mode: of each\n"
        "target's anchor, and of each network. With data, also the poles of networks\n"
        "given a history, and what remains of a mode from reading to reading over its\n"
        "gaps: multiplier, log-pole, and the second-order approximation by mean and\n"
        "variance of the gaps.",
    .example = "  llapdiff poles air.safetensors --plot poles.svg",
    .min_operands = 1,
    .max_operands = -1,
    .rows = rows,
    .own = own,
    .parts = { { llap_pole_options, offsetof(OPTIONS, ask) }, { llap_read_options, offsetof(OPTIONS, read) } },
    .options_size = sizeof(poles_options),
    .run = run,
};
/* clang-format on */
