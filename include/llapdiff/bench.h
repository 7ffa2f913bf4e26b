/* Unstable (see unstable.h): how fast this machine runs the networks, on weights and data of its
 * own making.
 *
 *     llap_bench_opts o = { .size = LLAP_BENCH_SIZE_PAPER };
 *     char *text;
 *     if (llap_bench(&o, 0, &text) == LLAP_OK) fputs(text, stdout), llap_text_free(text); */
#ifndef LLAPDIFF_BENCH_H
#define LLAPDIFF_BENCH_H

#include <llapdiff/export.h>
#include <llapdiff/options.h>
#include <llapdiff/progress.h>
#include <llapdiff/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum llap_bench_size {
    LLAP_BENCH_SIZE_DEFAULT,
    LLAP_BENCH_SIZE_TINY,  /* "tiny" and */
    LLAP_BENCH_SIZE_SMALL, /* "small" networks of the default profile; small is the default */
    LLAP_BENCH_SIZE_PAPER, /* "paper": the reference profile */
} llap_bench_size;

/* llap_bench_options() in <llapdiff/options.h> tells ranges and defaults. */
typedef struct llap_bench_opts {
    llap_bench_size size;
    const char     *only;  /* measurements whose name contains this; NULL: all */
    int64_t         batch; /* windows of a forward pass and of a training step; 0: 128, paper
                              10 */
    int64_t samples;       /* of a forecast; 0: 25 */
    int64_t horizon;       /* query times; 0: 168 */
    int64_t threads;       /* 0: as many as OpenMP has */
    double  seconds;       /* about how long each measurement may take; at least three runs. 0: 2;
                              LLAP_ZERO: 0 */
    llap_progress      progress;
    const char        *device; /* "cpu", "cuda", "cuda:N", "auto"; NULL: cpu */
    llap_gpu_precision precision;
} llap_bench_opts;

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
