/* From a model file to being ready to sample: a reference model of the paper's size (NOAA-US: 45
 * stations, 5 features, context 336, horizon 168), its file in the page cache. */
#include "bench.h"

#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "base/error.h"
#include "diffusion/denoiser_steps.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 45, D = 5, CONTEXT = 336, HORIZON = 168 };

/* Time of the processor, which a busy machine does not stretch: all of this is one thread's work.
 */
static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static llap_model *make_model(void)
{
    static char          name[N][8];
    const char          *entity[N], *input[D], *target[] = { "a" };
    ll_network_config    c;
    llap_model          *m = NULL;
    const ll_model_frame f = { .n_targets = 1,
                               .n_entities = N,
                               .target = target,
                               .entity = entity,
                               .axis = LL_AXIS_NUMBER,
                               .axis_unit = 1,
                               .unit = 1,
                               .context = CONTEXT,
                               .horizon = HORIZON,
                               .step = 1 };
    for (int i = 0; i < N; i++) {
        snprintf(name[i], sizeof name[i], "s%02d", i);
        entity[i] = name[i];
        if (i < D) input[i] = name[i];
    }
    const ll_network_dims d = { .entities = N, .inputs = D, .targets = 1, .context = CONTEXT };
    if (ll_network_config_named(LL_PROFILE_REFERENCE, LL_SIZE_PAPER, &d, &c) != LLAP_OK ||
        ll_model_create(&f, NULL, &m) != LLAP_OK ||
        ll_network_create(&c, input, &m->network) != LLAP_OK ||
        ll_network_start(m->network, 1, 0) != LLAP_OK)
        return NULL;
    return m;
}

/* Plans, folded weights and memory for one window and 25 samples; nothing has run yet. */
static llap_status make_ready(const llap_model *m, ll_denoiser_steps **out)
{
    const ll_network_config        *c = &m->network->config;
    const ll_network_prefix         p = ll_network_prefix_of(c, 0);
    const ll_prepared_denoiser_opts o = { .extent = { 1, 25, HORIZON, c->denoiser.data_dim },
                                          .S = c->summarizer.tokens,
                                          .part = ll_network_part(c),
                                          .prefix = p.denoiser,
                                          .backend = &ll_backend_cpu,
                                          .n_threads = 2,
                                          .folded = true,
                                          .sampler = c->sampling.solver };
    return ll_denoiser_steps_create(&c->denoiser, m->network->params, &o, out);
}

int main(int argc, char **argv)
{
    char        own[] = "/tmp/llap-load-XXXXXX";
    const int   fd = argc > 1 ? 0 : mkstemp(own);
    const char *path = argc > 1 ? argv[1] : own; /* a file that is named stays */
    llap_model *m = make_model();
    if (fd < 0 || m == NULL || llap_model_save(m, path) != LLAP_OK) {
        fprintf(stderr, "%s\n", llap_error_detail());
        return 1;
    }
    llap_model_destroy(m);
    double load[BENCH_REPEATS], ready[BENCH_REPEATS], both[BENCH_REPEATS], cpu[BENCH_REPEATS];
    for (int i = 0; i < BENCH_REPEATS; i++) {
        ll_denoiser_steps *d = NULL;
        llap_status        st;
        const double       start = cpu_now();
        BENCH_TIME(load[i], st = llap_model_load(path, &m));
        BENCH_TIME(ready[i], if (st == LLAP_OK) st = make_ready(m, &d));
        both[i] = load[i] + ready[i];
        cpu[i] = cpu_now() - start;
        ll_denoiser_steps_destroy(d);
        llap_model_destroy(m);
        if (st != LLAP_OK) {
            fprintf(stderr, "%s\n", llap_error_detail());
            return 1;
        }
    }
    if (argc < 2) (void)unlink(own), close(fd);
    const double all[] = { bench_median(load), bench_median(ready), bench_median(both) };
    printf("paper size, warm: load %.1f ms, ready to sample %.1f, together %.1f; of the processor "
           "%.1f\n",
           1e3 * all[0], 1e3 * all[1], 1e3 * all[2], 1e3 * bench_median(cpu));
    return 0;
}
