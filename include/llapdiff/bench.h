/* Unstable (see unstable.h): how fast this machine runs the networks, on weights and data of its
 * own making.
 *
 *     llap_bench_opts o = LLAP_BENCH_OPTS;
 *     o.size = "paper";
 *     char *text;
 *     if (llap_bench(&o, 0, &text) == LLAP_OK) fputs(text, stdout), llap_text_free(text); */
#ifndef LLAPDIFF_BENCH_H
#define LLAPDIFF_BENCH_H

#include <llapdiff/export.h>
#include <llapdiff/progress.h>
#include <llapdiff/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llap_bench_opts {
    const char   *size;    /* "tiny", "small" (default profile), "paper" (reference profile) */
    const char   *only;    /* measurements whose name contains this; NULL: all */
    int64_t       batch;   /* windows of a forward pass and of a training step; 0: 128, paper 10 */
    int64_t       samples; /* of a forecast */
    int64_t       horizon; /* query times */
    int64_t       threads; /* 0: as many as OpenMP has */
    double        seconds; /* about what each measurement may take; three runs at least */
    llap_progress progress;
    const char   *device;    /* "cpu", "cuda", "cuda:N", "auto"; NULL: cpu */
    const char   *precision; /* on a GPU: "fp32", "tf32", "bf16"; NULL: fp32 */
} llap_bench_opts;

#define LLAP_BENCH_OPTS                                               \
    {                                                                 \
        "small", NULL, 0, 25, 168, 0, 2.0, { NULL, NULL }, NULL, NULL \
    }

/* Denoiser forward (as in training: noising, nothing folded, the default profile with its
 * summarizer, loss), training step, forecasts by every solver and list of steps, VAE decoder,
 * summarizer, CSV reading: medians and spread, GFLOP/s executed and their share of the rate of bare
 * matrix products measured in between, memory; on a GPU only what runs there. The bare product is
 * our own of a large matrix and a weight that is packed in every call, as sgemm has to, by the same
 * device, precision and threads. Caller owns *text (llap_text_free): a table, or JSON. */
LLAP_API llap_status llap_bench(const llap_bench_opts *o, int json, char **text);

#ifdef __cplusplus
}
#endif

#endif
