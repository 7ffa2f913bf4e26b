/* Training: clip, AdamW and EMA as part of the graph, and learning-rate schedules.
 *
 *     ll_nn_train(g, loss, &LL_TRAIN_DEFAULT);     adds gradients, clipping, the step, the EMA
 *
 * The run then has, beside what the loss needs:
 *     inputs    "lr" (one real), "step" (one whole number, 1 at the first step)
 *     states    "adam.m.X", "adam.v.X" for every parameter X, and with EMA "ema.X", which starts as
 *               a copy of X (ll_params_start_ema)
 *     output    "grad_norm", before clipping; not finite when any gradient is not
 * and updates them and every parameter. Where the norm or the loss is not finite, parameters and
 * moments stay as they are, so that one bad batch does not end a training. Call it outside all
 * scopes. */
#ifndef LL_NN_OPTIM_H
#define LL_NN_OPTIM_H

#include "graph/graph.h"

typedef struct ll_train_attr {
    double beta1, beta2, eps;
    double weight_decay; /* decoupled, on every parameter */
    double clip;         /* of the global gradient norm; 0: none */
    double ema;          /* decay; 0: no EMA */
    double ema_start;    /* not 0: the decay changes from step to step. What each step moves the
                            averages by, 1 less the decay, is then the input LL_EMA_RATE, which the
                            caller fills */
} ll_train_attr;

#define LL_TRAIN_DEFAULT                    \
    ((ll_train_attr){ .beta1 = 0.9,         \
                      .beta2 = 0.999,       \
                      .eps = 1e-8,          \
                      .weight_decay = 5e-4, \
                      .clip = 1.0,          \
                      .ema = 0.999 })

#define LL_EMA_RATE "ema_rate"

void ll_nn_train(ll_graph *g, ll_tensor *loss, const ll_train_attr *attr);

/* The same on given gradients: grad[i] belongs to param[i]. A NULL gradient leaves its parameter
 * and moments alone; its EMA moves on. loss may be NULL: only the norm counts. */
void ll_nn_step(ll_graph *g, ll_tensor *loss, ll_tensor *const *param, ll_tensor *const *grad,
                int n, const ll_train_attr *attr);

/* sqrt of the sum of all squares, a scalar; NULL ones are skipped. */
ll_tensor *ll_nn_global_norm(ll_graph *g, ll_tensor *const *x, int n);

/* -------- learning rate, docs/spec/model.md 5.4.10 -------- */

typedef enum ll_lr_kind {
    LL_LR_WARMUP_CONSTANT,
    LL_LR_WARMUP_COSINE,
    LL_LR_CONSTANT,
} ll_lr_kind;

typedef struct ll_lr {
    ll_lr_kind kind;
    double     base, min; /* rates; min bounds warm-up and decay from below */
    double     warmup;    /* part of total that is warm-up */
    int64_t    total;     /* steps */
} ll_lr;

double ll_lr_at(const ll_lr *s, int64_t step); /* step counts from 0 */

#endif
