#include "cli.h"

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    (void)common, (void)opts, (void)n;
    llap_model *model = NULL;
    llap_status st = llap_model_load(operands[0], &model);
    if (st == LLAP_OK) st = llap_model_export(model, operands[1]);
    llap_model_destroy(model);
    return st;
}

extern const cli_command cmd_export;
const cli_command        cmd_export = {
           .name = "export",
           .operands = "MODEL FOLDER",
           .summary = "write a model as the reference implementation's artefacts",
           .text = "Writes vae.safetensors, summarizer.safetensors and denoiser.safetensors with the "
                          "tensor names\n"
                          "of the reference implementation, without the heads of pretraining, and "
                          "statistics.safetensors\n"
                          "with what these do not hold. import makes the same model of them again. For models of "
                          "the\n"
                          "reference profile.",
           .example = "  llapdiff export air.safetensors artefacts",
           .min_operands = 2,
           .max_operands = 2,
           .run = run,
};
