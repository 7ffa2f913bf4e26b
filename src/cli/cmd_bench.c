#include "read.h"

typedef struct bench_options {
    llap_bench_opts how;
} bench_options;

/* clang-format off */
static const cli_row rows[] = {
    { .table = llap_bench_options, .option = "size" },
    { .table = llap_bench_options, .option = "only" },
    { .table = llap_bench_options, .option = "batch" },
    { .table = llap_bench_options, .option = "samples" },
    { .table = llap_bench_options, .option = "horizon" },
    { .table = llap_bench_options, .option = "seconds", .arg = "S" },
    { 0 },
};
/* clang-format on */

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    (void)n, (void)operands;
    llap_bench_opts how = ((const bench_options *)opts)->how;
    char           *text = NULL;
    llap_bar       *bar = NULL;
    how.threads = common->threads;
    how.progress = cli_progress(common, &bar);
    const llap_status st = llap_bench(&how, common->json, &text);
    llap_bar_destroy(bar);
    if (st == LLAP_OK) cli_print_text(common, text);
    return st;
}

/* clang-format off */
const cli_command cmd_bench = {
    .name = "bench",
    .operands = "",
    .summary = "measure how fast the networks run on this machine",
    .text =
        "Times a forward pass, a training step, forecasts by every solver and list of\n"
        "steps, the summarizer, the VAE's decoder and CSV reading, on weights and data of\n"
        "its own making. Printed are medians, spread, GFLOP/s executed, their share of the\n"
        "bare products' rate, and memory. Every run alternates with 20 ms of bare products,\n"
        "whose median counts: our own product of a large matrix and a weight that is\n"
        "packed in every call, as sgemm does it, by the same device, precision and\n"
        "threads. The forward pass is that of training without dropout and gradients: noise\n"
        "is added, nothing is folded, the default profile's summarizer is part of it, and\n"
        "it ends in the loss. On a GPU (--device) UniPC, which goes step by step there, and\n"
        "CSV reading are left out.",
    .example =
        "  llapdiff bench --only forecast -j 1\n"
        "  llapdiff bench --size paper --only 'ddim usual' --seconds 60\n"
        "  llapdiff bench --size paper --device cuda --precision bf16",
    .rows = rows,
    .parts = { { llap_bench_options, offsetof(bench_options, how) } },
    .options_size = sizeof(bench_options),
    .run = run,
};
/* clang-format on */
