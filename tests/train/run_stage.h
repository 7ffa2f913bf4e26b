/* A stage of training for tests: y = x w, learned with dropout; and a run of two. */
#ifndef LLAP_TESTS_TRAIN_RUN_STAGE_H
#define LLAP_TESTS_TRAIN_RUN_STAGE_H

#include "folder.h"

#include "backend/cpu/cpu.h"
#include "base/rng/rng.h"
#include "nn/async_results.h"
#include "nn/nn.h"
#include "nn/optim.h"
#include "oracles/plain_layers.h"
#include "train/run/run.h"

#include <unistd.h>

enum { B = 8, D = 6 };

/* ---- a stage: y = x w, learned with dropout ---- */

typedef struct net {
    ll_params       *params;
    ll_plan         *plan;
    ll_run          *run;
    float            x[B * D], y[B], lr;
    int32_t          step;
    int64_t          bad_from, bad_to; /* steps whose data is not finite */
    double           worse_after;      /* the score rises from there on; 0: never */
    bool             no_score;         /* it is not finite */
    int              wait_us;
    ll_async_results results;
    int              n_waits; /* for steps that nobody waited for at first */
} net;

static ll_tensor *describe(ll_graph *g)
{
    ll_tensor *x = ll_input(g, "x", LL_SHAPE(B, D));
    ll_tensor *h = ll_dropout(g, ll_tanh(g, ll_nn_linear(g, "in", x, 5)), 0.1);
    h = ll_nn_linear(g, "out", h, 1);
    return plain_mse(g, h, ll_input(g, "y", LL_SHAPE(B, 1)));
}

static llap_status net_init(net *n, uint64_t seed)
{
    ll_graph   *g = NULL;
    llap_status st = ll_graph_create(&g);
    if (st == LLAP_OK) {
        ll_tensor *loss = describe(g);
        ll_output(g, "loss", loss);
        ll_train_attr a = LL_TRAIN_DEFAULT;
        a.ema = 0.9;
        ll_nn_train(g, loss, &a);
        st = ll_params_create(g, &ll_backend_cpu, &n->params);
    }
    if (st == LLAP_OK)
        st = ll_plan_create(g, &(ll_plan_opts){ .backend = &ll_backend_cpu, .n_threads = 2 },
                            &n->plan);
    if (st == LLAP_OK) st = ll_run_create(n->plan, &n->run);
    if (st == LLAP_OK) st = ll_params_bind(n->params, LL_PARAMS_MODEL, n->plan, n->run);
    if (st == LLAP_OK) st = ll_run_bind(n->run, "x", n->x, B * D);
    if (st == LLAP_OK) st = ll_run_bind(n->run, "y", n->y, B);
    if (st == LLAP_OK) st = ll_run_bind(n->run, "lr", &n->lr, 1);
    if (st == LLAP_OK) st = ll_run_bind(n->run, "step", &n->step, 1);
    if (st == LLAP_OK) ll_params_init(n->params, seed);
    if (st == LLAP_OK) ll_params_start_ema(n->params);
    if (st == LLAP_OK) st = ll_async_results_init(&n->results, &ll_backend_cpu);
    n->lr = 0.01f;
    ll_graph_destroy(g);
    return st;
}

static void net_deinit(net *n)
{
    ll_run_destroy(n->run);
    ll_plan_release(n->plan);
    ll_params_destroy(n->params);
    ll_async_results_deinit(&n->results);
    *n = (net){ 0 };
}

static llap_status net_step(void *user, int64_t step, double *loss, double *norm)
{
    net         *n = user;
    const ll_rng r = ll_rng_make(1, LL_STREAM_TEST, 0, 0, (uint32_t)step);
    ll_rng_fill_normal(&r, 0, B * D, n->x);
    for (int b = 0; b < B; b++) n->y[b] = n->x[b * D] - 0.5f * n->x[b * D + 1];
    if (step >= n->bad_from && step < n->bad_to) n->x[3] = NAN;
    n->step = (int32_t)step + 1;
    const llap_status st = ll_run_exec(n->run);
    if (st != LLAP_OK) return st;
    if (n->wait_us > 0) usleep((useconds_t)n->wait_us);
    const float *found[] = { ll_run_output(n->run, "loss", NULL),
                             ll_run_output(n->run, "grad_norm", NULL) };
    if (loss == NULL) return ll_async_results_put(&n->results, step, found[0], found[1]);
    *loss = (double)*found[0];
    *norm = (double)*found[1];
    return LLAP_OK;
}

static llap_status net_results(void *user, int64_t first, int64_t n_steps, double *loss,
                               double *norm)
{
    net *n = user;
    n->n_waits++;
    return ll_async_results_get(&n->results, first, n_steps, loss, norm);
}

/* Some number of the weights that depends on all of the past; it need not mean anything. */
static llap_status net_evaluate(void *user, int64_t step, double *score)
{
    const net           *n = user;
    const ll_param_info *w = ll_params_find(n->params, "out.weight");
    *score = 1.0;
    for (int64_t k = 0; k < w->count; k++) *score += fabs(ll_param_get(n->params, w, k)) * 0.01;
    if (n->worse_after > 0) *score = fabs((double)step - n->worse_after);
    if (n->no_score) *score = NAN;
    return LLAP_OK;
}

static void net_fields(void *user, ll_json_writer *w)
{
    ll_json_put_double(w, "lr", (double)((net *)user)->lr);
}

/* ---- a run of two stages ---- */

typedef struct run_opts {
    ll_training_run_opts how;
    const char          *horizon, *device; /* facts */
    int64_t              n_steps;
    int                  wait_us;
    bool                 ends_early; /* the first stage: after 14 steps, the best were 7 */
    bool                 together;   /* several steps before anyone looks */
} run_opts;

static llap_status train(const run_opts *o, const char *model)
{
    const ll_run_fact  facts[] = { { "horizon", o->horizon == NULL ? "24" : o->horizon, false },
                                   { "device", o->device == NULL ? "cpu" : o->device, true } };
    net                a = { .wait_us = o->wait_us, .worse_after = o->ends_early ? 7 : 0 };
    net                b = { .wait_us = o->wait_us };
    ll_training_run   *t = NULL;
    ll_tensors_writer *w = NULL;
    ll_stage           s = LL_STAGE_DEFAULT;
    llap_status        st = net_init(&a, 1);
    if (st == LLAP_OK) st = net_init(&b, 2);
    if (st == LLAP_OK) st = ll_training_run_create(&o->how, facts, 2, &t);
    s.n_steps = o->n_steps;
    s.patience = o->ends_early;
    s.eval_every = 7;
    s.step = net_step;
    s.evaluate = net_evaluate;
    s.fields = net_fields;
    if (o->together) s.results = net_results;
    s.name = "first", s.user = &a, s.params = a.params;
    if (st == LLAP_OK) st = ll_training_run_stage(t, &s, NULL);
    s.name = "second", s.user = &b, s.params = b.params, s.evaluate = NULL;
    if (st == LLAP_OK) st = ll_training_run_stage(t, &s, NULL);
    if (st == LLAP_OK) st = ll_tensors_writer_create(&w);
    if (st == LLAP_OK) st = ll_params_save(a.params, LL_PARAMS_MODEL, "first.", w);
    if (st == LLAP_OK) st = ll_params_save(b.params, LL_PARAMS_MODEL, "second.", w);
    if (st == LLAP_OK) st = ll_params_save(b.params, LL_PARAMS_EMA, "ema.", w);
    if (st == LLAP_OK && model != NULL) st = ll_tensors_writer_save(w, model);
    ll_tensors_writer_destroy(w);
    ll_training_run_destroy(t);
    net_deinit(&a);
    net_deinit(&b);
    return st;
}

/* Stops after a number of reports. */
static int stop_after(void *user, const llap_progress_event *e)
{
    (void)e;
    return --*(int *)user == 0;
}

static const char *whole_run(int64_t n_steps, bool ends_early)
{
    const char *model = in_folder("whole.safetensors");
    run_opts    o = { .n_steps = n_steps,
                      .ends_early = ends_early,
                      .how = { .save_every = 1e9, .log = in_folder("whole.log") } };
    CHECK_OK(train(&o, model));
    return model;
}

static void keep_line(void *user, llap_log_level level, const char *message)
{
    (void)level;
    snprintf(user, 512, "%s", message);
}

#endif
