/* What gpu.c and gpu_ops.c share: jobs, and how long one takes. */
#ifndef LLAP_BENCH_GPU_H
#define LLAP_BENCH_GPU_H

#include "bench.h"

#include "graph/plan.h"

typedef struct gpu_job { /* one op between inputs and "y", or a loss */
    const char *name;
    ll_tensor *(*build)(ll_graph *g);
    double flops;
} gpu_job;

static inline ll_tensor *gpu_in(ll_graph *g, const char *name, ll_shape s)
{
    return ll_input(g, name, s);
}

/* Seconds of one run. */
llap_status gpu_measure(const ll_backend *b, ll_run *r, double *out);

llap_status gpu_ops(const char *device);

#endif
