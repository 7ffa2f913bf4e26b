#include "cli.h"

#include <string.h>

typedef struct import_options {
    const char *output, *horizon, *step, *targets, *inputs, *entities;
    int64_t     heads, context;
    int         prediction, t_token; /* 0: not said */
} import_options;

#define OPTIONS import_options
/* clang-format off */
static const cli_option options[] = {
    TEXT("output",       'o', "FILE", output, "the model file ('-': standard output, and nothing else there)"),
    TEXT("horizon",      0, "SPAN", horizon, "how far ahead it was trained for: 168 rows, or 7d"),
    TEXT("step",         0, "SPAN", step, "from row to row, such as 1h (default: times are plain numbers)"),
    TEXT("targets",      't', "LIST", targets, "names of the target variables, in their order"),
    TEXT("inputs",       0, "LIST", inputs, "names of the features of the history, in their order"),
    TEXT("entities",     0, "LIST", entities, "names of the entities, in the order of their embedding"),
    CHOICE("prediction", 0, "stated|v|x0|eps", prediction,
         "what the denoiser predicts, where its file does not say it"),
    CHOICE("t-token",    0, "both|residual|bias", t_token,
         "what differences do in the summarizer, where it has them"),
    INT("heads",         0, "N", heads, 1, 1024, "of attention (default 4)"),
    INT("context",       'c', "N", context, 1, 1e6,
         "rows looked back, where no tensor tells (default: as many as tokens)"),
    { 0 },
};
/* clang-format on */

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    static const char *const predictions[] = { NULL, "v", "x0", "eps" };
    static const char *const t_tokens[] = { NULL, "residual", "bias" };
    const import_options    *o = opts;
    (void)n;
    if (o->output == NULL) return cli_usage("import", "--output FILE is needed");
    llap_import_opts how = LLAP_IMPORT_OPTS;
    how.horizon = o->horizon;
    how.step = o->step;
    how.targets = o->targets;
    how.inputs = o->inputs;
    how.entities = o->entities;
    how.prediction = predictions[o->prediction];
    how.t_token = t_tokens[o->t_token];
    how.heads = o->heads;
    how.context = o->context;
    how.log = &common->log;
    llap_model *model = NULL;
    char       *text = NULL;
    llap_status st = llap_model_import(operands[0], &how, &model);
    cli_catch_signals();
    if (st == LLAP_OK) st = llap_model_save(model, o->output);
    if (st == LLAP_OK && strcmp(o->output, "-") != 0) {
        st = llap_model_describe(model, common->json, &text);
        if (st == LLAP_OK) cli_print_text(common, text);
    }
    llap_model_destroy(model);
    return st;
}

static const import_options defaults;

/* clang-format off */
const cli_command cmd_import = {
    .name = "import",
    .operands = "FOLDER",
    .summary = "make a model file of the reference implementation's artefacts",
    .text =
        "Reads denoiser.safetensors and, if they are there, vae.safetensors,\n"
        "summarizer.safetensors and statistics.safetensors, with the tensor names of the\n"
        "reference implementation. tools/pt2safetensors.py makes the first three of its\n"
        "checkpoints. Sizes and options come from the tensors. What export wrote needs no\n"
        "options.",
    .example = "  llapdiff import artefacts -o air.safetensors --step 1h --horizon 168 --targets NO2",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .options_size = sizeof(import_options),
    .defaults = &defaults,
    .without = CLI_SEED | CLI_DEVICE,
    .run = run,
};
/* clang-format on */
