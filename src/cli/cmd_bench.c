#include "cli.h"

#include <stdio.h>

typedef struct bench_options {
    const char *size, *only;
    int64_t     batch, samples, horizon;
    double      seconds;
} bench_options;

static const cli_option options[] = {
    { "size", 0, CLI_STRING, "tiny|small|paper", offsetof(bench_options, size),
      "network: of the default profile (tiny, small), or the reference at the paper's size\n"
      "(default small)",
      0, 0 },
    { "only", 0, CLI_STRING, "TEXT", offsetof(bench_options, only),
      "measurements whose name contains TEXT", 0, 0 },
    { "batch", 0, CLI_INT, "N", offsetof(bench_options, batch),
      "windows of a forward pass and of a training step (default 128, paper 10)", 1, 4096 },
    { "samples", 0, CLI_INT, "N", offsetof(bench_options, samples),
      "samples of a forecast (default 25)", 1, 10000 },
    { "horizon", 0, CLI_INT, "N", offsetof(bench_options, horizon),
      "query times of a forecast (default 168)", 1, 100000 },
    { "seconds", 0, CLI_REAL, "S", offsetof(bench_options, seconds),
      "about what each measurement may take; it runs twice at least (default 2)", 0, 3600 },
    { 0 },
};

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    (void)n, (void)operands;
    const bench_options *o = opts;
    llap_bench_opts      how = LLAP_BENCH_OPTS;
    char                *text = NULL;
    how.size = o->size;
    how.only = o->only;
    how.batch = o->batch;
    how.samples = o->samples;
    how.horizon = o->horizon;
    how.threads = common->threads;
    how.seconds = o->seconds;
    const llap_status st = llap_bench(&how, common->json, &text);
    if (st == LLAP_OK) fputs(text, stdout);
    if (st == LLAP_OK && common->json) fputc('\n', stdout);
    llap_text_free(text);
    return st;
}

extern const cli_command cmd_bench;
const cli_command        cmd_bench = {
           .name = "bench",
           .operands = "",
           .summary = "measure how fast the networks run on this machine",
           .text =
               "Times a forward pass, a training step, forecasts by every solver and list of steps, the\n"
                      "summarizer, the VAE's decoder and CSV reading, on weights and data of its own making.\n"
                      "Every run alternates with bare matrix products; printed are medians, spread, GFLOP/s\n"
                      "executed, their share of the bare products' rate, and memory.",
           .example = "  llapdiff bench --only forecast -j 1\n"
                             "  llapdiff bench --size paper --only 'ddim usual' --seconds 60",
           .options = options,
           .options_size = sizeof(bench_options),
           .defaults = &(const bench_options){ "small", NULL, 0, 25, 168, 2.0 },
           .run = run,
};
