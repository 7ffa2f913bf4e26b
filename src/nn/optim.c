#include "nn/optim.h"

#include "base/alloc.h"

#include <math.h>

llap_tensor *llap_nn_global_norm(llap_graph *g, llap_tensor *const *x, int n)
{
    llap_tensor **there = llap_new((size_t)n + 1, sizeof *there);
    int           found = 0;
    if (there == NULL) {
        llap_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    for (int i = 0; i < n; i++)
        if (x[i] != NULL) there[found++] = x[i];
    llap_tensor *all = found == 0 ? llap_full(g, LLAP_SCALAR, 0.0) : llap_squares(g, there, found);
    llap_free(there);
    return llap_sqrt(g, all);
}

/* A state "PREFIX.X" beside the parameter X. */
static llap_tensor *beside(llap_graph *g, const char *prefix, llap_tensor *p)
{
    llap_scope_push(g, prefix);
    llap_tensor *s = llap_state(g, llap_tensor_name(p), llap_shape_of(p), LLAP_INIT_ZERO);
    llap_scope_pop(g);
    return s;
}

/* Spec 5.4.8; gives the new p. */
static llap_tensor *adamw(llap_graph *g, llap_tensor *p, llap_tensor *grad, llap_tensor *scale,
                          llap_tensor *lr, llap_tensor *step, const llap_train_attr *a)
{
    const llap_adamw_attr adam = { a->beta1, a->beta2, a->eps, a->weight_decay };
    llap_tensor          *m = beside(g, "adam.m", p), *v = beside(g, "adam.v", p);
    llap_tensor          *out[3] = { NULL, NULL, NULL };
    llap_adamw_step(g, p, m, v, grad, scale, lr, step, &adam, out);
    llap_update(g, p, out[0]);
    llap_update(g, m, out[1]);
    llap_update(g, v, out[2]);
    return out[0];
}

/* Spec 5.4.9: ema += (1 - decay) (p - ema) */
static void average(llap_graph *g, llap_tensor *p, llap_tensor *new_p, double decay)
{
    llap_tensor *ema = beside(g, "ema", p);
    llap_tensor *move = llap_scale(g, llap_sub(g, new_p, ema), 1.0 - decay);
    llap_update(g, ema, llap_add(g, ema, move));
}

void llap_nn_step(llap_graph *g, llap_tensor *loss, llap_tensor *const *param,
                  llap_tensor *const *grad, int n, const llap_train_attr *a)
{
    llap_tensor *lr = llap_input(g, "lr", LLAP_SCALAR);
    llap_tensor *step = llap_input_int(g, "step", LLAP_SCALAR);
    llap_tensor *norm = llap_nn_global_norm(g, grad, n);
    llap_tensor *one = llap_full(g, LLAP_SCALAR, 1.0), *scale = one;
    llap_output(g, "grad_norm", norm);
    if (a->clip > 0.0) { /* min(1, clip / (norm + 1e-6)) */
        llap_tensor *limit = llap_full(g, LLAP_SCALAR, a->clip);
        scale = llap_minimum(g, one, llap_div(g, limit, llap_affine(g, norm, 1.0, 1e-6)));
    }
    /* x - x is 0, or NaN where the loss or a gradient is not finite: the step is then left out. */
    llap_tensor *x = norm;
    if (loss != NULL) x = llap_add(g, norm, llap_reshape(g, loss, LLAP_SCALAR));
    scale = llap_add(g, scale, llap_sub(g, x, x));
    llap_note(g, "clip", scale);
    for (int i = 0; i < n && llap_graph_status(g) == LLAP_OK; i++) {
        llap_tensor *p = param[i];
        if (grad[i] != NULL) p = adamw(g, p, grad[i], scale, lr, step, a);
        if (a->ema > 0.0) average(g, param[i], p, a->ema);
    }
}

void llap_nn_train(llap_graph *g, llap_tensor *loss, const llap_train_attr *attr)
{
    const int     n = llap_graph_n_params(g);
    llap_tensor **param = llap_new(2 * (size_t)n + 1, sizeof *param), **grad = param + n;
    if (param == NULL) {
        llap_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return;
    }
    for (int i = 0; i < n; i++) param[i] = llap_graph_param(g, i);
    llap_gradients(g, loss, param, n, grad);
    llap_nn_step(g, loss, param, grad, n, attr);
    llap_free(param);
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
