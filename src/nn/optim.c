#include "nn/optim.h"

#include "base/alloc.h"

#include <assert.h>
#include <math.h>

ll_tensor *ll_nn_global_norm(ll_graph *g, ll_tensor *const *x, int n)
{
    ll_tensor **there = ll_new((size_t)n + 1, sizeof *there);
    int         found = 0;
    if (there == NULL) {
        ll_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    for (int i = 0; i < n; i++)
        if (x[i] != NULL) there[found++] = x[i];
    ll_tensor *all = found == 0 ? ll_full(g, LL_SCALAR, 0.0) : ll_squares(g, there, found);
    ll_free(there);
    return ll_sqrt(g, all);
}

/* A state "PREFIX.X" beside the parameter X. */
static ll_tensor *beside(ll_graph *g, const char *prefix, ll_tensor *p)
{
    assert(p == NULL || ll_tensor_name(p)[0] != '\0'); /* a leaf */
    ll_scope_push(g, prefix);
    ll_tensor *s = ll_state(g, ll_tensor_name(p), ll_shape_of(p), LL_INIT_ZERO);
    ll_scope_pop(g);
    return s;
}

/* docs/spec/model.md 5.4.8; gives the new p. */
static ll_tensor *adamw(ll_graph *g, ll_tensor *p, ll_tensor *grad, ll_tensor *scale, ll_tensor *lr,
                        ll_tensor *step, const ll_train_attr *a)
{
    const ll_adamw_attr adam = { a->beta1, a->beta2, a->eps, a->weight_decay };
    ll_tensor          *m = beside(g, "adam.m", p), *v = beside(g, "adam.v", p);
    ll_tensor          *out[3] = { NULL, NULL, NULL };
    ll_adamw_step(g, p, m, v, grad, scale, lr, step, &adam, out);
    ll_update(g, p, out[0]);
    ll_update(g, m, out[1]);
    ll_update(g, v, out[2]);
    return out[0];
}

/* docs/spec/model.md 5.4.9: ema += (1 - decay) (p - ema) */
static void average(ll_graph *g, ll_tensor *p, ll_tensor *new_p, const ll_train_attr *a)
{
    ll_tensor *ema = beside(g, "ema", p), *away = ll_sub(g, new_p, ema);
    ll_tensor *move = a->ema_start > 0 ? ll_mul(g, away, ll_input(g, LL_EMA_RATE, LL_SCALAR))
                                       : ll_scale(g, away, 1.0 - a->ema);
    ll_update(g, ema, ll_add(g, ema, move));
}

void ll_nn_step(ll_graph *g, ll_tensor *loss, ll_tensor *const *param, ll_tensor *const *grad,
                int n, const ll_train_attr *a)
{
    ll_tensor *lr = ll_input(g, "lr", LL_SCALAR);
    ll_tensor *step = ll_input_int(g, "step", LL_SCALAR);
    ll_tensor *norm = ll_nn_global_norm(g, grad, n);
    ll_tensor *one = ll_full(g, LL_SCALAR, 1.0), *scale = one;
    ll_output(g, "grad_norm", norm);
    if (a->clip > 0.0) { /* min(1, clip / (norm + 1e-6)) */
        ll_tensor *limit = ll_full(g, LL_SCALAR, a->clip);
        scale = ll_minimum(g, one, ll_div(g, limit, ll_affine(g, norm, 1.0, 1e-6)));
    }
    /* x - x is 0, or NaN where the loss or a gradient is not finite: the step is then left out. */
    ll_tensor *x = norm;
    if (loss != NULL) x = ll_add(g, norm, ll_reshape(g, loss, LL_SCALAR));
    scale = ll_add(g, scale, ll_sub(g, x, x));
    ll_note(g, "clip", scale);
    for (int i = 0; i < n && ll_graph_status(g) == LLAP_OK; i++) {
        ll_tensor *p = param[i];
        if (grad[i] != NULL) p = adamw(g, p, grad[i], scale, lr, step, a);
        if (a->ema > 0.0) average(g, param[i], p, a);
    }
}

void ll_nn_train(ll_graph *g, ll_tensor *loss, const ll_train_attr *attr)
{
    const int   n = ll_graph_n_params(g);
    ll_tensor **param = ll_new(2 * (size_t)n + 1, sizeof *param), **grad = param + n;
    if (param == NULL) {
        ll_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return;
    }
    for (int i = 0; i < n; i++) param[i] = ll_graph_param(g, i);
    ll_gradients(g, loss, param, n, grad);
    ll_nn_step(g, loss, param, grad, n, attr);
    ll_free(param);
}

double ll_lr_at(const ll_lr *s, int64_t step)
{
    const double  floor_at = s->base > 0.0 ? s->min / s->base : 0.0;
    const int64_t warm = (int64_t)floor(s->warmup * (double)s->total);
    assert(step >= 0);
    if (s->kind == LL_LR_CONSTANT) return s->base;
    if (step < warm) return s->base * fmax(floor_at, (double)(step + 1) / (double)warm);
    if (s->kind == LL_LR_WARMUP_CONSTANT) return s->base;
    const double rest = (double)(s->total - warm > 1 ? s->total - warm : 1);
    const double progress = fmin(1.0, (double)(step - warm) / rest);
    return s->base * fmax(floor_at, 0.5 * (1.0 + cos(3.14159265358979323846 * progress)));
}
