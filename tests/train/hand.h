/* Training steps by hand: a graph on the ref backend gives loss and gradients in double, without
 * any joining of ops; clipping, AdamW and the moving average are written out. */
#ifndef LLAP_TESTS_TASK_HAND_H
#define LLAP_TESTS_TASK_HAND_H

#include "check.h"

#include "backend/ref/ref.h"
#include "base/file.h"
#include "base/json/json.h"
#include "nn/params.h"

typedef struct hand {
    ll_graph  *g;
    ll_params *p;
    ll_plan   *plan;
    ll_run    *run;
    double    *m, *v, *ema, *in[16]; /* the first three of all parameters, in their order */
    int        n_in;
    double     norm; /* of the last gradient, before clipping */
} hand;

typedef struct hand_optim {
    double beta2, decay, ema; /* beta1 is 0.9, clipping at 1, eps 1e-8; ema 0: none */
} hand_optim;

static void hand_init(hand *h, ll_tensor *loss, uint64_t seed)
{
    const int  n = ll_graph_n_params(h->g);
    ll_tensor *all[512];
    assert_true(2 * n <= 512);
    for (int i = 0; i < n; i++) all[i] = ll_graph_param(h->g, i);
    ll_gradients(h->g, loss, all, n, all + n);
    for (int i = 0; i < n; i++) {
        char name[128];
        snprintf(name, sizeof name, "grad %s", ll_tensor_name(all[i]));
        if (all[n + i] != NULL) ll_output(h->g, name, all[n + i]);
    }
    ll_output(h->g, "loss", loss);
    CHECK_OK(ll_params_create(h->g, &ll_backend_ref, &h->p));
    ll_params_init(h->p, seed);
    const ll_plan_opts o = { .backend = &ll_backend_ref, .n_threads = 1, .plain = true };
    CHECK_OK(ll_plan_create(h->g, &o, &h->plan));
    CHECK_OK(ll_run_create(h->plan, &h->run));
    CHECK_OK(ll_params_bind(h->p, LL_PARAMS_MODEL, h->plan, h->run));
    int64_t count = 0;
    for (int i = 0; i < ll_params_count(h->p); i++) count += ll_params_at(h->p, i)->count;
    h->m = ll_new((size_t)count, sizeof *h->m);
    h->v = ll_new((size_t)count, sizeof *h->v);
    h->ema = ll_new((size_t)count, sizeof *h->ema);
}

/* The averages start as the weights, which must be all drawn by now. */
static inline void hand_start_ema(hand *h)
{
    double *ema = h->ema;
    for (int i = 0; i < ll_params_count(h->p); i++) {
        const ll_param_info *x = ll_params_at(h->p, i);
        for (int64_t j = 0; j < x->count; j++)
            *ema++ = x->elem == LL_REAL ? ((const double *)x->data)[j] : 0;
    }
}

static double *hand_in(hand *h, const char *name, int64_t count)
{
    double *x = h->in[h->n_in++] = ll_new((size_t)count, sizeof *x);
    CHECK_OK(ll_run_bind(h->run, name, x, count));
    return x;
}

static void hand_deinit(hand *h)
{
    for (int i = 0; i < h->n_in; i++) ll_free(h->in[i]);
    ll_free(h->m);
    ll_free(h->v);
    ll_free(h->ema);
    ll_run_destroy(h->run);
    ll_plan_release(h->plan);
    ll_params_destroy(h->p);
    ll_graph_destroy(h->g);
    *h = (hand){ 0 };
}

/* Step number k, from 0: the loss before it. */
static double hand_step(hand *h, int64_t k, double lr, hand_optim o)
{
    const ll_param_info *rng = ll_params_find(h->p, "rng");
    if (rng != NULL) ((int32_t *)rng->data)[2] = (int32_t)k;
    CHECK_OK(ll_run_exec(h->run));
    const double loss = ((const double *)ll_run_output(h->run, "loss", NULL))[0];
    double       square = 0;
    h->norm = 0;
    for (int pass = 0; pass < 2; pass++) {
        const double clip = fmin(1.0, 1.0 / (h->norm + 1e-6));
        int64_t      at = 0;
        for (int i = 0; i < ll_params_count(h->p); i++) {
            const ll_param_info *x = ll_params_at(h->p, i);
            char                 name[128];
            snprintf(name, sizeof name, "grad %s", x->name);
            const double *g = ll_run_output(h->run, name, NULL);
            for (int64_t j = 0; g != NULL && j < x->count; j++) {
                if (pass == 0) {
                    square += g[j] * g[j];
                    continue;
                }
                double      *m = &h->m[at + j], *v = &h->v[at + j], *w = (double *)x->data + j;
                const double gj = clip * g[j], n = (double)k + 1;
                *w -= lr * o.decay * *w;
                *m = 0.9 * *m + 0.1 * gj;
                *v = o.beta2 * *v + (1 - o.beta2) * gj * gj;
                *w -= lr / (1 - pow(0.9, n)) * *m / (sqrt(*v) / sqrt(1 - pow(o.beta2, n)) + 1e-8);
            }
            for (int64_t j = 0; pass > 0 && o.ema > 0 && x->elem == LL_REAL && j < x->count; j++)
                h->ema[at + j] =
                    o.ema * h->ema[at + j] + (1 - o.ema) * ((const double *)x->data)[j];
            at += x->count;
        }
        h->norm = sqrt(square);
    }
    return loss;
}

/* Losses of a stage from the log; a line is the mean of the steps since the one before it. */
static inline void read_losses(const char *log, const char *stage, double *loss, int n)
{
    char  *text;
    size_t size;
    int    found = 0;
    CHECK_OK(ll_file_read(log, 1 << 20, &text, &size));
    for (char *line = strtok(text, "\n"); line != NULL && found < n; line = strtok(NULL, "\n")) {
        ll_json    *j;
        const char *name = "";
        CHECK_OK(ll_json_parse(line, strlen(line), "log", NULL, &j));
        CHECK_OK(ll_json_string(j, "stage", &name));
        if (strcmp(name, stage) == 0)
            CHECK_OK(ll_json_double(j, "loss", -1e9, 1e9, &loss[found++]));
        ll_json_destroy(j);
    }
    assert_int_equal(found, n);
    ll_free(text);
}

#endif
