#include "read.h"

typedef struct bench_options {
    const char *size, *only;
    int64_t     batch, samples, horizon;
    double      seconds;
} bench_options;

#define OPTIONS bench_options
/* clang-format off */
static const cli_option options[] = {
    TEXT("size",      0, "tiny|small|paper", size,
         "network: of the default profile (tiny, small), or the reference at the paper's size\n(default small)"),
    TEXT("only",      0, "TEXT", only, "measurements whose name contains TEXT"),
    INT("batch",      0, "N", batch, 1, 4096,
         "windows of a forward pass and of a training step (default 128, paper 10)"),
    INT("samples",    0, "N", samples, 1, 10000, "samples of a forecast (default 25)"),
    INT("horizon",    0, "N", horizon, 1, 100000, "query times of a forecast (default 168)"),
    REAL("seconds",   0, "S", seconds, 0, 3600,
         "about what each measurement may take; three runs at least (default 2)"),
    { 0 },
};
/* clang-format on */

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    (void)n, (void)operands;
    const bench_options *o = opts;
    llap_bench_opts      how = LLAP_BENCH_OPTS;
    char                *text = NULL;
    llap_bar            *bar = NULL;
    how.size = o->size;
    how.only = o->only;
    how.batch = o->batch;
    how.samples = o->samples;
    how.horizon = o->horizon;
    how.threads = common->threads;
    how.seconds = o->seconds;
    how.device = common->device;
    how.precision = common->precision;
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
    .options = options,
    .options_size = sizeof(bench_options),
    .defaults = &(const bench_options){ "small", NULL, 0, 25, 168, 2.0 },
    .without = CLI_SEED,
    .run = run,
};
/* clang-format on */
