#include "cli.h"

#include <string.h>

typedef struct import_options {
    llap_import_opts how;
    const char      *output;
} import_options;

#define OPTIONS import_options
/* clang-format off */
static const llap_option own[] = {
    CLI_OWN(FILE, output, "the model file ('-': standard output, and nothing else there)"),
    CLI_OWN_END,
};

static const cli_row rows[] = {
    { .option = "output", .letter = 'o' },
    { .table = llap_import_options, .option = "horizon", .arg = "SPAN" },
    { .table = llap_import_options, .option = "step", .arg = "SPAN" },
    { .table = llap_import_options, .option = "targets", .letter = 't' },
    { .table = llap_import_options, .option = "inputs" },
    { .table = llap_import_options, .option = "entities" },
    { .table = llap_import_options, .option = "prediction" },
    { .table = llap_import_options, .option = "t_token" },
    { .table = llap_import_options, .option = "heads" },
    { .table = llap_import_options, .option = "context", .letter = 'c' },
    { 0 },
};
/* clang-format on */

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const import_options *o = opts;
    (void)n;
    if (o->output == NULL) return cli_usage("import", "--output FILE is needed");
    llap_import_opts how = o->how;
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
    .min_operands = 1,
    .max_operands = 1,
    .rows = rows,
    .own = own,
    .parts = { { llap_import_options, offsetof(OPTIONS, how) } },
    .options_size = sizeof(import_options),
    .run = run,
};
/* clang-format on */
