#include "cli.h"

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    (void)opts, (void)n;
    llap_model *model = NULL;
    char       *text = NULL;
    llap_status st = llap_model_load(operands[0], &model);
    if (st == LLAP_OK) st = llap_model_describe(model, common->json, &text);
    if (st == LLAP_OK) cli_print_text(common, text);
    else llap_text_free(text);
    llap_model_destroy(model);
    return st;
}

/* clang-format off */
const cli_command cmd_info = {
    .name = "info",
    .operands = "MODEL",
    .summary = "show what a model file holds",
    .text =
        "Prints targets, context, horizon, who answers (networks, anchor or both) and,\n"
        "for each target, its anchor: validation, and the poles that were learned with\n"
        "their half-lives and periods.",
    .example = "  llapdiff info air.safetensors --json",
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
/* clang-format on */
