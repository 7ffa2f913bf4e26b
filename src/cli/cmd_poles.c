#include "read.h"

typedef struct poles_options {
    cli_read    read;
    const char *target, *plot, *of, *at;
    double      noise;
    int64_t     channel, transfer, impulse;
    bool        base, realisation;
} poles_options;

#define OPTIONS poles_options
/* clang-format off */
static const cli_option options[] = {
    TEXT("target",        't', "NAME", target, "only the anchor of this variable"),
    REAL("noise",         0, "SHARE", noise, 0, 1,
         "where in the reverse process networks are asked: 1 noise, 0 data (default 0.5)"),
    TEXT("of",            0, "ENTITY", of, "whose history moves the poles of networks (default: the first)"),
    TEXT("at",            0, "TIME", at, "where that history ends (default: the entity's last row)"),
    FLAG("base",          0, base, "a network's poles as its parameters have them, moved by nothing"),
    INT("channel",        0, "N", channel, 1, 65536, "latent channel of the residues (default 1)"),
    INT("transfer",       0, "N", transfer, 1, 1e6, "N values of the transfer function G(i omega)"),
    INT("impulse",        0, "N", impulse, 1, 1e6, "N values of the impulse response over the horizon"),
    FLAG("realisation",   0, realisation, "the state-space form (A, B, C) of real blocks"),
    TEXT("plot",          0, "FILE", plot, "draw the pole plane: .png, .svg or .pdf"),
    CLI_READ_OPTIONS,
    { 0 },
};
/* clang-format on */

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const poles_options *o = opts;
    llap_panel          *panel = NULL;
    llap_model          *model = NULL;
    char                *text = NULL;
    llap_pole_opts       ask = LLAP_POLE_OPTS;
    if (n == 1 && (o->of != NULL || o->at != NULL))
        return cli_usage("poles", "--%s is about DATA, and there is none", o->of ? "of" : "at");
    ask.target = o->target;
    ask.noise = o->noise;
    ask.entity = o->of;
    ask.at = o->at;
    ask.base = o->base;
    ask.channel = o->channel - 1;
    ask.transfer = o->transfer;
    ask.impulse = o->impulse;
    ask.realisation = o->realisation;
    llap_status st = cli_open(common, "poles", &o->read, n, operands, &model, &panel);
    if (st == LLAP_OK) st = llap_model_poles(model, panel, &ask, common->json, &text);
    cli_catch_signals();
    if (st == LLAP_OK && o->plot != NULL) st = llap_model_poles_plot(model, panel, &ask, o->plot);
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
    .options = options,
    .min_operands = 1,
    .max_operands = -1,
    .options_size = sizeof(poles_options),
    .defaults = &(const poles_options){ .noise = 0.5, .channel = 1 },
    .without = CLI_SEED | CLI_DEVICE,
    .run = run,
};
/* clang-format on */
