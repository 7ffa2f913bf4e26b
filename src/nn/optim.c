#include "nn/optim.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

llap_tensor *llap_nn_global_norm(llap_graph *g, llap_tensor *const *x, int n)
{
    llap_tensor **square = llap_new((size_t)n + 1, sizeof *square);
    llap_tensor  *norm = NULL;
    int           found = 0;
    if (square == NULL) llap_graph_fail(g, LLAP_ENOMEM, "out of memory");
    for (int i = 0; i < n && square != NULL; i++) {
        if (x[i] == NULL) continue;
        llap_tensor *sum = llap_sum(g, llap_square(g, x[i]), LLAP_ALL_AXES);
        square[found++] = llap_reshape(g, sum, LLAP_SHAPE(1));
    }
    if (found > 0)
        norm = llap_sqrt(g, llap_sum(g, llap_concat(g, square, found, 0), LLAP_ALL_AXES));
    llap_free(square);
    return norm;
}

/* A state named "PREFIX.NAME" beside a parameter. */
static llap_tensor *beside(llap_graph *g, const char *prefix, llap_tensor *p)
{
    char name[512];
    snprintf(name, sizeof name, "%s.%s", prefix, llap_tensor_name(p));
    return llap_state(g, name, llap_shape_of(p), LLAP_INIT_ZERO);
}

/* Spec 5.4.8-9 for one parameter. */
static void step_one(llap_graph *g, llap_tensor *p, llap_tensor *grad, llap_tensor *scale,
                     llap_tensor *lr, llap_tensor *step, const llap_train_attr *a)
{
    const llap_adamw_attr adam = { a->beta1, a->beta2, a->eps, a->weight_decay };
    llap_tensor          *m = beside(g, "adam.m", p), *v = beside(g, "adam.v", p), *out[3];
    llap_adamw_step(g, p, m, v, grad, scale, lr, step, &adam, out);
    if (a->ema > 0.0) { /* ema += (1 - decay) (p - ema) */
        llap_tensor *ema = beside(g, "ema", p);
        llap_tensor *move = llap_scale(g, llap_sub(g, out[0], ema), 1.0 - a->ema);
        llap_update(g, ema, llap_add(g, ema, move));
    }
    llap_update(g, p, out[0]);
    llap_update(g, m, out[1]);
    llap_update(g, v, out[2]);
}

void llap_nn_step(llap_graph *g, llap_tensor *const *param, llap_tensor *const *grad, int n,
                  const llap_train_attr *a)
{
    llap_tensor *lr = llap_input(g, "lr", LLAP_SCALAR);
    llap_tensor *step = llap_input_int(g, "step", LLAP_SCALAR);
    llap_tensor *norm = llap_nn_global_norm(g, grad, n), *one = llap_full(g, LLAP_SCALAR, 1.0);
    if (norm == NULL) return;
    norm = llap_reshape(g, norm, LLAP_SCALAR);
    llap_output(g, "grad_norm", norm);
    llap_tensor *scale = one;
    if (a->clip > 0.0) { /* min(1, clip / (norm + 1e-6)) */
        llap_tensor *limit = llap_full(g, LLAP_SCALAR, a->clip);
        scale = llap_minimum(g, one, llap_div(g, limit, llap_affine(g, norm, 1.0, 1e-6)));
    }
    llap_note(g, "clip", scale);
    for (int i = 0; i < n && llap_graph_status(g) == LLAP_OK; i++)
        if (grad[i] != NULL) step_one(g, param[i], grad[i], scale, lr, step, a);
}

void llap_nn_train(llap_graph *g, llap_tensor *loss, const llap_train_attr *attr)
{
    const int     n = llap_graph_n_params(g);
    llap_tensor **all = llap_new(2 * (size_t)n + 1, sizeof *all);
    if (all == NULL) {
        llap_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return;
    }
    for (int i = 0; i < n; i++) all[i] = llap_graph_param(g, i);
    llap_gradients(g, loss, all, n, all + n);
    llap_nn_step(g, all, all + n, n, attr);
    llap_free(all);
}

void llap_nn_ema_start(const llap_params *p)
{
    for (int i = 0; i < llap_params_count(p); i++) {
        const llap_param_info *ema = llap_params_at(p, i);
        if (strncmp(ema->name, "ema.", 4) != 0) continue;
        const llap_param_info *from = llap_params_find(p, ema->name + 4);
        if (from != NULL && from->count == ema->count)
            memcpy(ema->data, from->data, (size_t)ema->count * sizeof(float));
    }
}

double llap_lr_at(const llap_lr *s, int64_t step)
{
    const double  floor_at = s->base > 0.0 ? s->min / s->base : 0.0;
    const int64_t warm = (int64_t)floor(s->warmup * (double)s->total);
    if (s->kind == LLAP_LR_CONSTANT) return s->base;
    if (step < warm) return s->base * fmax(floor_at, (double)(step + 1) / (double)warm);
    if (s->kind == LLAP_LR_WARMUP_CONSTANT) return s->base;
    const double rest = (double)(s->total - warm > 1 ? s->total - warm : 1);
    const double progress = fmin(1.0, (double)(step - warm) / rest);
    return s->base * fmax(floor_at, 0.5 * (1.0 + cos(3.14159265358979323846 * progress)));
}
