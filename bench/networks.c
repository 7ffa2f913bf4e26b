/* Set-VAE and summarizer at paper size, one row of 9 entities: inference and a training step,
 * their workspace, and what a step costs in forwards; the parameter store from and to a file. */
#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "base/error.h"
#include "bench.h"
#include "model/summarizer.h"
#include "model/vae.h"
#include "nn/optim.h"
#include "nn/params.h"

#include <string.h>

enum { ROWS = 1, ENTITIES = 9, HORIZON = 96, CONTEXT = 336, FEATURES = 5 };

static llap_tensor *vae(llap_graph *g, bool train)
{
    llap_vae_config      cfg = LLAP_VAE_PAPER;
    const llap_shape     all = LLAP_SHAPE(ROWS, HORIZON, ENTITIES, 1);
    const llap_vae_batch b = { .y = llap_input(g, "y", all),
                               .obs = llap_input(g, "obs", all),
                               .ent = llap_input(g, "ent", LLAP_SHAPE(ROWS, ENTITIES)),
                               .eps = llap_input(g, "eps", LLAP_SHAPE(ROWS, HORIZON, cfg.latent)),
                               .view = {
                                   { llap_input(g, "u", all), llap_input(g, "noise", all) } } };
    cfg.n_entities = ENTITIES;
    cfg.dropout = train ? 0.1 : 0.0;
    if (train) return llap_vae_loss(g, &cfg, &LLAP_VAE_LOSS_BASE, &b).loss;
    const llap_vae_code code = llap_vae_encode(g, &cfg, llap_vae_tokens(g, b.y, b.obs), b.ent);
    return llap_vae_decode(g, &cfg, code.mu, b.ent);
}

static llap_tensor *summarizer(llap_graph *g, bool train)
{
    llap_summarizer_config cfg = LLAP_SUMMARIZER_PAPER;
    const llap_shape       all = LLAP_SHAPE(ROWS, CONTEXT, ENTITIES, FEATURES);
    const llap_history     h = { .x = llap_input(g, "x", all),
                                 .dx = llap_input(g, "dx", all),
                                 .ent = llap_input(g, "ent", LLAP_SHAPE(ROWS, ENTITIES)),
                                 .dt = llap_input(g, "dt", LLAP_SHAPE(ROWS, CONTEXT, ENTITIES)),
                                 .obs = llap_input(g, "obs", all) };
    cfg.n_entities = ENTITIES;
    cfg.features = FEATURES;
    cfg.context = cfg.tokens = CONTEXT;
    cfg.dropout = train ? 0.1 : 0.0;
    const llap_summary s = llap_summarize(g, &cfg, &h);
    if (!train) return s.context;
    const llap_summarizer_heads heads = llap_summarizer_decode(g, &cfg, s.context);
    return llap_summarizer_loss(g, &LLAP_SUMMARIZER_LOSS_BASE, &s, &heads, NULL).loss;
}

typedef struct ready {
    llap_params *params;
    llap_plan   *plan;
    llap_run    *run;
    void        *inputs;
} ready;

/* All inputs share one block of ones: every mask is set, times do not grow. */
static llap_status bind_ones(ready *r)
{
    const size_t count = (size_t)ROWS * CONTEXT * ENTITIES * FEATURES;
    float       *x = llap_new_aligned(count, sizeof *x);
    llap_status  st = x == NULL ? LLAP_ENOMEM : LLAP_OK;
    r->inputs = x;
    for (size_t i = 0; i < count && st == LLAP_OK; i++) x[i] = 1.0f;
    for (int i = 0; i < llap_plan_n_slots(r->plan) && st == LLAP_OK; i++) {
        const llap_slot *s = llap_plan_slot(r->plan, i);
        if (s->leaf == LLAP_LEAF_INPUT)
            st = llap_run_bind(r->run, s->name, x, llap_shape_count(&s->shape));
    }
    return st;
}

static llap_status make(llap_tensor *(*network)(llap_graph *, bool), bool train, int n_threads,
                        ready *r)
{
    llap_graph *g;
    llap_status st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    llap_tensor *y = network(g, train);
    llap_output(g, "y", y);
    if (train) llap_nn_train(g, y, &LLAP_TRAIN_DEFAULT);
    const llap_plan_opts opts = { .backend = &llap_backend_cpu, .n_threads = n_threads };
    st = llap_params_create(g, &llap_backend_cpu, &r->params);
    if (st == LLAP_OK) st = llap_plan_create(g, &opts, &r->plan);
    if (st == LLAP_OK) st = llap_run_create(r->plan, &r->run);
    if (st == LLAP_OK) llap_params_init(r->params, 1);
    if (st == LLAP_OK) st = llap_params_bind(r->params, LLAP_PARAMS_MODEL, r->plan, r->run);
    if (st == LLAP_OK) st = bind_ones(r);
    llap_graph_destroy(g);
    return st;
}

static void drop(ready *r)
{
    llap_run_destroy(r->run);
    llap_plan_release(r->plan);
    llap_params_destroy(r->params);
    llap_free(r->inputs);
}

static llap_status measure(const char *name, llap_tensor *(*network)(llap_graph *, bool))
{
    ready       forward = { 0 }, step = { 0 };
    double      t[2][BENCH_REPEATS];
    llap_status st = make(network, false, 2, &forward);
    if (st == LLAP_OK) st = make(network, true, 2, &step);
    for (int r = -1; r < BENCH_REPEATS && st == LLAP_OK; r++) { /* once to warm up */
        double *a = &t[0][r < 0 ? 0 : r], *b = &t[1][r < 0 ? 0 : r];
        BENCH_TIME(*a, st = llap_run_exec(forward.run));
        if (st == LLAP_OK) BENCH_TIME(*b, st = llap_run_exec(step.run));
    }
    if (st == LLAP_OK)
        printf("%-10s forward %7.2f ms, %6.1f MB   training step %.2f forwards, %6.1f MB\n", name,
               1e3 * bench_median(t[0]), (double)llap_plan_workspace(forward.plan) / 1e6,
               bench_median(t[1]) / bench_median(t[0]),
               (double)llap_plan_workspace(step.plan) / 1e6);
    drop(&forward);
    drop(&step);
    return st;
}

/* A training summarizer with its pretraining heads (the largest store we have): file in memory. */
static llap_status measure_file(void)
{
    ready                r = { 0 };
    llap_tensors_writer *w = NULL;
    char                *bytes = NULL;
    size_t               n = 0;
    double               t[2][BENCH_REPEATS];
    llap_status          st = make(summarizer, true, 1, &r);
    if (st == LLAP_OK) st = llap_tensors_writer_create(&w);
    if (st == LLAP_OK) st = llap_params_save(r.params, LLAP_PARAMS_MODEL, "summarizer.", w);
    if (st == LLAP_OK) {
        FILE *stream = open_memstream(&bytes, &n);
        st = stream == NULL ? LLAP_ENOMEM : llap_tensors_writer_write(w, stream);
        if (stream != NULL) fclose(stream);
    }
    char *copy = st == LLAP_OK ? llap_new_aligned(n, 1) : NULL;
    for (int k = 0; k < BENCH_REPEATS && st == LLAP_OK && copy != NULL; k++) {
        llap_tensors *file = NULL;
        BENCH_TIME(t[0][k], memcpy(copy, bytes, n));
        BENCH_TIME(t[1][k], {
            st = llap_tensors_view(copy, n, "model", &file);
            if (st == LLAP_OK)
                st = llap_params_load(r.params, LLAP_PARAMS_MODEL, file,
                                      &(llap_load_opts){ .prefix = "summarizer." });
        });
        llap_tensors_close(file);
    }
    if (st == LLAP_OK && copy != NULL)
        printf("load       %.1f MB of parameters, checked: %.2f ms, %.2f copies of the memory\n",
               (double)n / 1e6, 1e3 * bench_median(t[1]), bench_median(t[1]) / bench_median(t[0]));
    llap_tensors_writer_destroy(w);
    llap_free(copy);
    free(bytes);
    drop(&r);
    return st;
}

int main(void)
{
    llap_status st = measure("vae", vae);
    if (st == LLAP_OK) st = measure("summarizer", summarizer);
    if (st == LLAP_OK) st = measure_file();
    if (st != LLAP_OK) fprintf(stderr, "%s\n", llap_error_detail());
    return st == LLAP_OK ? 0 : 1;
}
