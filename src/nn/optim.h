/* Training: clip, AdamW and EMA as part of the graph, and learning-rate schedules.
 *
 *     llap_nn_train(g, loss, &LLAP_TRAIN_DEFAULT);     adds gradients, clipping, the step, the EMA
 *
 * The run then has, beside what the loss needs:
 *     inputs    "lr" (one real), "step" (one whole number, 1 at the first step)
 *     states    "adam.m.X", "adam.v.X" for every parameter X, and with EMA "ema.X", which starts as
 *               a copy of X (llap_params_start_ema)
 *     output    "grad_norm", before clipping; not finite when any gradient is not
 * and updates them and every parameter. Where the norm or the loss is not finite, parameters and
 * moments stay as they are, so that one bad batch does not end a training. Call it outside all
 * scopes. */
#ifndef LLAP_NN_OPTIM_H
#define LLAP_NN_OPTIM_H

#include "graph/graph.h"

typedef struct llap_train_attr {
    double beta1, beta2, eps;
    double weight_decay; /* decoupled, on every parameter */
    double clip;         /* of the global gradient norm; 0: none */
    double ema;          /* decay; 0: no EMA */
} llap_train_attr;

#define LLAP_TRAIN_DEFAULT                    \
    ((llap_train_attr){ .beta1 = 0.9,         \
                        .beta2 = 0.999,       \
                        .eps = 1e-8,          \
                        .weight_decay = 5e-4, \
                        .clip = 1.0,          \
                        .ema = 0.999 })

void llap_nn_train(llap_graph *g, llap_tensor *loss, const llap_train_attr *attr);

/* The same on given gradients: grad[i] belongs to param[i]. A NULL gradient leaves its parameter
 * and moments alone; its EMA moves on. loss may be NULL: only the norm counts. */
void llap_nn_step(llap_graph *g, llap_tensor *loss, llap_tensor *const *param,
                  llap_tensor *const *grad, int n, const llap_train_attr *attr);

/* sqrt of the sum of all squares, a scalar; NULL ones are skipped. */
llap_tensor *llap_nn_global_norm(llap_graph *g, llap_tensor *const *x, int n);

/* -------- learning rate, spec 5.4.10 -------- */

typedef enum llap_lr_kind {
    LLAP_LR_WARMUP_CONSTANT,
    LLAP_LR_WARMUP_COSINE,
    LLAP_LR_CONSTANT,
} llap_lr_kind;

typedef struct llap_lr {
    llap_lr_kind kind;
    double       base, min; /* rates; min bounds warm-up and decay from below */
    double       warmup;    /* part of total that is warm-up */
    int64_t      total;     /* steps */
} llap_lr;

double llap_lr_at(const llap_lr *s, int64_t step); /* step counts from 0 */

#endif
