#include "read.h"

#include <stdio.h>

typedef struct poles_options {
    cli_read    read;
    const char *target, *plot, *of, *at;
    double      noise;
    int64_t     channel, transfer, impulse;
    bool        base, realisation;
} poles_options;

static const cli_option options[] = {
    { "target", 't', CLI_STRING, "NAME", offsetof(poles_options, target),
      "only the anchor of this variable", 0, 0 },
    { "noise", 0, CLI_REAL, "SHARE", offsetof(poles_options, noise),
      "where in the reverse process networks are asked: 1 noise, 0 data (default 0.5)", 0, 1 },
    { "of", 0, CLI_STRING, "ENTITY", offsetof(poles_options, of),
      "whose history moves the poles of networks (default: the first)", 0, 0 },
    { "at", 0, CLI_STRING, "TIME", offsetof(poles_options, at),
      "where that history ends (default: the entity's last row)", 0, 0 },
    { "base", 0, CLI_FLAG, NULL, offsetof(poles_options, base),
      "a network's poles as its parameters have them, moved by nothing", 0, 0 },
    { "channel", 0, CLI_INT, "N", offsetof(poles_options, channel),
      "latent channel of the residues (default 1)", 1, 65536 },
    { "transfer", 0, CLI_INT, "N", offsetof(poles_options, transfer),
      "N values of the transfer function G(i omega)", 1, 1e6 },
    { "impulse", 0, CLI_INT, "N", offsetof(poles_options, impulse),
      "N values of the impulse response over the horizon", 1, 1e6 },
    { "realisation", 0, CLI_FLAG, NULL, offsetof(poles_options, realisation),
      "the state-space form (A, B, C) of real blocks", 0, 0 },
    { "plot", 0, CLI_STRING, "FILE", offsetof(poles_options, plot),
      "draw the pole plane: .png, .svg or .pdf", 0, 0 },
    CLI_READ_OPTIONS,
    { 0 },
};

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const poles_options *o = opts;
    llap_panel          *panel = NULL;
    llap_model          *model = NULL;
    char                *text = NULL;
    llap_pole_opts       ask = LLAP_POLE_OPTS;
    ask.target = o->target;
    ask.noise = o->noise;
    ask.entity = o->of;
    ask.at = o->at;
    ask.base = o->base;
    ask.channel = o->channel - 1;
    ask.transfer = o->transfer;
    ask.impulse = o->impulse;
    ask.realisation = o->realisation;
    llap_status st = llap_model_load(operands[0], &model);
    if (st == LLAP_OK && n > 1)
        st = cli_read_panel(common, "poles", &o->read, n - 1, operands + 1, &panel);
    if (st == LLAP_OK) st = llap_model_poles(model, panel, &ask, common->json, &text);
    if (st == LLAP_OK && o->plot != NULL) st = llap_model_poles_plot(model, panel, &ask, o->plot);
    if (st == LLAP_OK) fputs(text, stdout);
    if (st == LLAP_OK && common->json) putchar('\n');
    llap_text_free(text);
    llap_panel_destroy(panel);
    llap_model_destroy(model);
    return st;
}

extern const cli_command cmd_poles;
const cli_command        cmd_poles = {
           .name = "poles",
           .operands = "MODEL [DATA...]",
           .summary = "show the poles that a model has learned",
           .text = "Prints rate, frequency, half-life, period and energy of every mode: of each target's "
                          "anchor,\n"
                          "and of each network. With data, also the poles of networks given a history, and what "
                          "remains of a mode from reading to reading "
                          "over its\n"
                          "gaps: multiplier, log-pole, and the second-order approximation by mean and variance "
                          "of the gaps.",
           .example = "  llapdiff poles air.safetensors --plot poles.svg",
           .options = options,
           .min_operands = 1,
           .max_operands = -1,
           .options_size = sizeof(poles_options),
           .defaults = &(const poles_options){ .noise = 0.5, .channel = 1 },
           .run = run,
};
