/* Cases of the optimiser: c08_adamw_ema, c08_lr_schedules. */
#include "golden.h"

#include "nn/optim.h"

#include <stdio.h>
#include <string.h>

static ll_lr read_schedule(golden *c, ll_lr_kind kind)
{
    return (ll_lr){ .kind = kind,
                    .base = golden_real(c, "base_lr"),
                    .min = golden_real(c, "min_lr"),
                    .warmup = golden_real(c, "warmup_frac"),
                    .total = golden_int(c, "total_steps") };
}

void golden_schedules(golden *c)
{
    static const struct {
        const char *tensor;
        ll_lr_kind  kind;
    } all[] = { { "out.lr_constant", LL_LR_CONSTANT },
                { "out.lr_warmup_constant", LL_LR_WARMUP_CONSTANT },
                { "out.lr_warmup_cosine", LL_LR_WARMUP_COSINE } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!golden_has(c, all[i].tensor)) continue;
        const ll_lr   lr = read_schedule(c, all[i].kind);
        const int64_t n = golden_dim(c, all[i].tensor, 0);
        double       *found = golden_new(c, n);
        for (int64_t k = 0; found != NULL && k < n; k++) found[k] = ll_lr_at(&lr, k);
        golden_compare(c, all[i].tensor, found, n, NULL);
    }
}

/* -------- c08_adamw_ema: in.p_X is a parameter X, in.gK_X its gradient at step K -------- */

enum { MAX_PARAMS = 16 };

typedef struct names {
    const char *name[MAX_PARAMS];
    int         n;
} names;

static names parameters(golden *c)
{
    names p = { .n = 0 };
    for (size_t i = 0; i < ll_tensors_count(c->file) && p.n < MAX_PARAMS; i++) {
        const ll_tensor_info t = ll_tensors_at(c->file, i);
        if (strncmp(t.name, "in.p_", 5) == 0) p.name[p.n++] = t.name + 5;
    }
    return p;
}

static void describe(golden *c, const names *p)
{
    const ll_train_attr attr = { .beta1 = golden_real(c, "beta1"),
                                 .beta2 = golden_real(c, "beta2"),
                                 .eps = golden_real(c, "eps"),
                                 .weight_decay = golden_real(c, "weight_decay"),
                                 .clip = golden_real(c, "grad_clip"),
                                 .ema = golden_real(c, "ema_decay") };
    ll_tensor          *param[MAX_PARAMS], *grad[MAX_PARAMS];
    char                name[96];
    for (int i = 0; i < p->n; i++) {
        snprintf(name, sizeof name, "in.p_%s", p->name[i]);
        const ll_shape shape = golden_shape(c, name);
        param[i] = ll_param(c->graph, p->name[i], shape, LL_INIT_ZERO);
        snprintf(name, sizeof name, "g_%s", p->name[i]);
        grad[i] = ll_input(c->graph, name, shape);
    }
    ll_nn_step(c->graph, NULL, param, grad, p->n, &attr);
    ll_tensor *clip = ll_noted(c->graph, "clip");
    for (int i = 0; i < p->n; i++) {
        snprintf(name, sizeof name, "clipped_%s", p->name[i]);
        ll_output(c->graph, name, ll_mul(c->graph, grad[i], clip));
    }
}

/* The array PREFIXX of the store begins as FROMX of the file. */
static void start(golden *c, const char *from, const char *prefix, const char *x)
{
    char tensor[96], name[96];
    snprintf(tensor, sizeof tensor, "%s%s", from, x);
    snprintf(name, sizeof name, "%s%s", prefix, x);
    const double *values = golden_values(c, tensor);
    if (c->status != LLAP_OK) return;
    const ll_param_info *p = ll_params_find(c->params, name);
    for (int64_t k = 0; k < p->count; k++) ll_param_set(c->params, p, k, values[k]);
}

/* The array PREFIXX of the store against STEMK_X of the file, if it has that. */
static void compare_state(golden *c, const char *stem, int k, const char *prefix, const char *x)
{
    char tensor[96], name[96];
    snprintf(tensor, sizeof tensor, "%s%d_%s", stem, k, x);
    snprintf(name, sizeof name, "%s%s", prefix, x);
    if (c->status != LLAP_OK || !golden_has(c, tensor)) return;
    const ll_param_info *p = ll_params_find(c->params, name);
    double              *found = golden_new(c, p->count);
    for (int64_t i = 0; found != NULL && i < p->count; i++)
        found[i] = ll_param_get(c->params, p, i);
    golden_compare(c, tensor, found, p->count, NULL);
}

static void compare_step(golden *c, int k, const names *p)
{
    char tensor[96], name[96];
    for (int i = 0; i < p->n; i++) {
        const char *x = p->name[i];
        int64_t     count = 0;
        snprintf(name, sizeof name, "clipped_%s", x);
        snprintf(tensor, sizeof tensor, "mid.clipped%d_%s", k, x);
        const double *clipped = golden_result(c, name, &count);
        golden_compare(c, tensor, clipped, count, NULL);
        compare_state(c, "out.p", k + 1, "", x);
        compare_state(c, "out.ema", k + 1, "ema.", x);
        compare_state(c, "out.m", k + 1, "adam.m.", x);
        compare_state(c, "out.v", k + 1, "adam.v.", x);
    }
}

static void one_step(golden *c, int k, double lr, const names *p)
{
    char tensor[96], name[96];
    for (int i = 0; i < p->n; i++) {
        snprintf(tensor, sizeof tensor, "in.g%d_%s", k, p->name[i]);
        snprintf(name, sizeof name, "g_%s", p->name[i]);
        const ll_shape shape = golden_shape(c, tensor);
        golden_bind_values(c, name, golden_values(c, tensor), ll_shape_count(&shape));
    }
    golden_bind_values(c, "lr", &lr, 1);
    golden_bind_values(c, "step", &(double){ k + 1 }, 1);
    golden_exec(c);
}

void golden_adamw(golden *c)
{
    const names p = parameters(c);
    const ll_lr schedule = read_schedule(c, LL_LR_WARMUP_CONSTANT);
    const int   n = (int)golden_dim(c, "out.lrs", 0);
    double     *lrs = golden_new(c, n), *norms = golden_new(c, n);
    int64_t     count = 0;
    describe(c, &p);
    golden_plan(c);
    for (int i = 0; i < p.n; i++) {
        start(c, "in.p_", "", p.name[i]);
        start(c, "in.ema0_", "ema.", p.name[i]);
    }
    for (int k = 0; k < n && c->status == LLAP_OK; k++) {
        lrs[k] = ll_lr_at(&schedule, k);
        one_step(c, k, lrs[k], &p);
        const double *norm = golden_result(c, "grad_norm", &count);
        if (norm != NULL) norms[k] = norm[0];
        compare_step(c, k, &p);
    }
    golden_compare(c, "out.lrs", lrs, n, NULL);
    golden_compare(c, "out.grad_norms", norms, n, NULL);
}
