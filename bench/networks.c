/* Set-VAE and summarizer at paper size, one row of 9 entities: inference and a training step,
 * their workspace, and what a step costs in forwards; the parameter store from and to a file. */
#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "base/error.h"
#include "bench.h"
#include "networks/summarizer.h"
#include "networks/vae.h"
#include "nn/optim.h"
#include "nn/params.h"

#include <string.h>

enum { ROWS = 1, ENTITIES = 9, HORIZON = 96, CONTEXT = 336, FEATURES = 5 };

static ll_tensor *vae(ll_graph *g, bool train)
{
    ll_vae_config      cfg = LL_VAE_PAPER;
    const ll_shape     all = LL_SHAPE(ROWS, HORIZON, ENTITIES, 1);
    const ll_vae_batch b = { .y = ll_input(g, "y", all),
                             .obs = ll_input(g, "obs", all),
                             .ent = ll_input(g, "ent", LL_SHAPE(ROWS, ENTITIES)),
                             .eps = ll_input(g, "eps", LL_SHAPE(ROWS, HORIZON, cfg.latent)),
                             .view = { { ll_input(g, "u", all), ll_input(g, "noise", all) } } };
    cfg.n_entities = ENTITIES;
    cfg.dropout = train ? 0.1 : 0.0;
    if (train) return ll_vae_loss(g, &cfg, &LL_VAE_LOSS_BASE, &b).loss;
    const ll_vae_code code = ll_vae_encode(g, &cfg, ll_vae_tokens(g, b.y, b.obs), b.ent);
    return ll_vae_decode(g, &cfg, code.mu, b.ent);
}

static ll_tensor *summarizer(ll_graph *g, bool train)
{
    ll_summarizer_config cfg = LL_SUMMARIZER_PAPER;
    const ll_shape       all = LL_SHAPE(ROWS, CONTEXT, ENTITIES, FEATURES);
    const ll_history     h = { .x = ll_input(g, "x", all),
                               .dx = ll_input(g, "dx", all),
                               .ent = ll_input(g, "ent", LL_SHAPE(ROWS, ENTITIES)),
                               .dt = ll_input(g, "dt", LL_SHAPE(ROWS, CONTEXT, ENTITIES)),
                               .obs = ll_input(g, "obs", all) };
    cfg.n_entities = ENTITIES;
    cfg.features = FEATURES;
    cfg.context = cfg.tokens = CONTEXT;
    cfg.dropout = train ? 0.1 : 0.0;
    const ll_summary s = ll_summarize(g, &cfg, &h);
    if (!train) return s.context;
    const ll_summarizer_heads heads = ll_summarizer_decode(g, &cfg, s.context);
    return ll_summarizer_loss(g, &LL_SUMMARIZER_LOSS_BASE, &s, &heads, NULL).loss;
}

typedef struct ready {
    ll_params *params;
    ll_plan   *plan;
    ll_run    *run;
    void      *inputs;
} ready;

/* All inputs share one block of ones: every mask is set, times do not grow. */
static llap_status bind_ones(ready *r)
{
    const size_t count = (size_t)ROWS * CONTEXT * ENTITIES * FEATURES;
    float       *x = ll_new_aligned(count, sizeof *x);
    llap_status  st = x == NULL ? LLAP_ENOMEM : LLAP_OK;
    r->inputs = x;
    for (size_t i = 0; i < count && st == LLAP_OK; i++) x[i] = 1.0f;
    for (int i = 0; i < ll_plan_n_slots(r->plan) && st == LLAP_OK; i++) {
        const ll_slot *s = ll_plan_slot(r->plan, i);
        if (s->leaf == LL_LEAF_INPUT)
            st = ll_run_bind(r->run, s->name, x, ll_shape_count(&s->shape));
    }
    return st;
}

static llap_status make(ll_tensor *(*network)(ll_graph *, bool), bool train, int n_threads,
                        ready *r)
{
    ll_graph   *g;
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    ll_tensor *y = network(g, train);
    ll_output(g, "y", y);
    if (train) ll_nn_train(g, y, &LL_TRAIN_DEFAULT);
    const ll_plan_opts opts = { .backend = &ll_backend_cpu, .n_threads = n_threads };
    st = ll_params_create(g, &ll_backend_cpu, &r->params);
    if (st == LLAP_OK) st = ll_plan_create(g, &opts, &r->plan);
    if (st == LLAP_OK) st = ll_run_create(r->plan, &r->run);
    if (st == LLAP_OK) ll_params_init(r->params, 1);
    if (st == LLAP_OK) st = ll_params_bind(r->params, LL_PARAMS_MODEL, r->plan, r->run);
    if (st == LLAP_OK) st = bind_ones(r);
    ll_graph_destroy(g);
    return st;
}

static void drop(ready *r)
{
    ll_run_destroy(r->run);
    ll_plan_release(r->plan);
    ll_params_destroy(r->params);
    ll_free(r->inputs);
}

static llap_status measure(const char *name, ll_tensor *(*network)(ll_graph *, bool))
{
    ready       forward = { 0 }, step = { 0 };
    double      t[2][BENCH_REPEATS];
    llap_status st = make(network, false, 2, &forward);
    if (st == LLAP_OK) st = make(network, true, 2, &step);
    for (int r = -1; r < BENCH_REPEATS && st == LLAP_OK; r++) { /* once to warm up */
        double *a = &t[0][r < 0 ? 0 : r], *b = &t[1][r < 0 ? 0 : r];
        BENCH_TIME(*a, st = ll_run_exec(forward.run));
        if (st == LLAP_OK) BENCH_TIME(*b, st = ll_run_exec(step.run));
    }
    if (st == LLAP_OK)
        printf("%-10s forward %7.2f ms, %6.1f MB   training step %.2f forwards, %6.1f MB\n", name,
               1e3 * bench_median(t[0]), (double)ll_plan_workspace(forward.plan) / 1e6,
               bench_median(t[1]) / bench_median(t[0]), (double)ll_plan_workspace(step.plan) / 1e6);
    drop(&forward);
    drop(&step);
    return st;
}

/* A training summarizer with its pretraining heads (the largest store we have): file in memory. */
static llap_status measure_file(void)
{
    ready              r = { 0 };
    ll_tensors_writer *w = NULL;
    char              *bytes = NULL;
    size_t             n = 0;
    double             t[2][BENCH_REPEATS];
    llap_status        st = make(summarizer, true, 1, &r);
    if (st == LLAP_OK) st = ll_tensors_writer_create(&w);
    if (st == LLAP_OK) st = ll_params_save(r.params, LL_PARAMS_MODEL, "summarizer.", w);
    if (st == LLAP_OK) {
        FILE *stream = open_memstream(&bytes, &n);
        st = stream == NULL ? LLAP_ENOMEM : ll_tensors_writer_write(w, stream);
        if (stream != NULL) fclose(stream);
    }
    char *copy = st == LLAP_OK ? ll_new_aligned(n, 1) : NULL;
    for (int k = 0; k < BENCH_REPEATS && st == LLAP_OK && copy != NULL; k++) {
        ll_tensors *file = NULL;
        BENCH_TIME(t[0][k], memcpy(copy, bytes, n));
        BENCH_TIME(t[1][k], {
            st = ll_tensors_view(copy, n, "model", &file);
            if (st == LLAP_OK)
                st = ll_params_load(r.params, LL_PARAMS_MODEL, file,
                                    &(ll_load_opts){ .prefix = "summarizer." });
        });
        ll_tensors_close(file);
    }
    if (st == LLAP_OK && copy != NULL)
        printf("load       %.1f MB of parameters, checked: %.2f ms, %.2f copies of the memory\n",
               (double)n / 1e6, 1e3 * bench_median(t[1]), bench_median(t[1]) / bench_median(t[0]));
    ll_tensors_writer_destroy(w);
    ll_free(copy);
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
