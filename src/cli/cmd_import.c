#include "cli.h"

#include <stdio.h>

typedef struct import_options {
    const char *output, *horizon, *step, *targets, *inputs, *entities;
    int64_t     heads, context;
    int         prediction, t_token; /* 0: not said */
} import_options;

static const cli_option options[] = {
    { "output", 'o', CLI_STRING, "FILE", offsetof(import_options, output), "the model file", 0, 0 },
    { "horizon", 0, CLI_STRING, "SPAN", offsetof(import_options, horizon),
      "how far ahead it was trained for: 168 rows, or 7d", 0, 0 },
    { "step", 0, CLI_STRING, "SPAN", offsetof(import_options, step),
      "from row to row, such as 1h (default: times are plain numbers)", 0, 0 },
    { "targets", 't', CLI_STRING, "LIST", offsetof(import_options, targets),
      "names of the target variables, in their order", 0, 0 },
    { "inputs", 0, CLI_STRING, "LIST", offsetof(import_options, inputs),
      "names of the features of the history, in their order", 0, 0 },
    { "entities", 0, CLI_STRING, "LIST", offsetof(import_options, entities),
      "names of the entities, in the order of their embedding", 0, 0 },
    { "prediction", 0, CLI_CHOICE, "stated|v|x0|eps", offsetof(import_options, prediction),
      "what the denoiser predicts, where its file does not say it", 0, 0 },
    { "t-token", 0, CLI_CHOICE, "both|residual|bias", offsetof(import_options, t_token),
      "what differences do in the summarizer, where it has them", 0, 0 },
    { "heads", 0, CLI_INT, "N", offsetof(import_options, heads), "of attention (default 4)", 1,
      1024 },
    { "context", 'c', CLI_INT, "N", offsetof(import_options, context),
      "rows looked back, where no tensor tells (default: as many as tokens)", 1, 1e6 },
    { 0 },
};

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
    if (st == LLAP_OK) st = llap_model_save(model, o->output);
    if (st == LLAP_OK) st = llap_model_describe(model, common->json, &text);
    if (st == LLAP_OK) fputs(text, stdout);
    if (st == LLAP_OK && common->json) putchar('\n');
    llap_text_free(text);
    llap_model_destroy(model);
    return st;
}

static const import_options defaults;

extern const cli_command cmd_import;
const cli_command        cmd_import = {
           .name = "import",
           .operands = "FOLDER",
           .summary = "make a model file of the reference implementation's artefacts",
           .text =
               "Reads denoiser.safetensors and, if they are there, vae.safetensors, "
                      "summarizer.safetensors\n"
                      "and statistics.safetensors, with the tensor names of the reference implementation.\n"
                      "tools/pt2safetensors.py makes the first three of its checkpoints. Sizes and options come\n"
                      "from the tensors. What export wrote needs no options.",
           .example =
               "  llapdiff import artefacts -o air.safetensors --step 1h --horizon 168 --targets NO2",
           .options = options,
           .min_operands = 1,
           .max_operands = 1,
           .options_size = sizeof(import_options),
           .defaults = &defaults,
           .run = run,
};
