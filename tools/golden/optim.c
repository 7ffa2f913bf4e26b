/* Cases of the optimiser: c08_adamw_ema, c08_lr_schedules. */
#include "golden.h"

#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "nn/optim.h"
#include "nn/params.h"

#include <stdio.h>
#include <string.h>

static llap_status read_schedule(golden *c, llap_lr *lr)
{
    llap_status st = golden_int(c, "total_steps", &lr->total);
    if (st == LLAP_OK) st = golden_real(c, "warmup_frac", &lr->warmup);
    if (st == LLAP_OK) st = golden_real(c, "base_lr", &lr->base);
    if (st == LLAP_OK) st = golden_real(c, "min_lr", &lr->min);
    return st;
}

llap_status golden_schedules(golden *c)
{
    static const struct {
        const char  *tensor;
        llap_lr_kind kind;
    } all[] = { { "out.lr_constant", LLAP_LR_CONSTANT },
                { "out.lr_warmup_constant", LLAP_LR_WARMUP_CONSTANT },
                { "out.lr_warmup_cosine", LLAP_LR_WARMUP_COSINE } };
    llap_lr     lr = { 0 };
    llap_status st = read_schedule(c, &lr);
    for (int i = 0; i < 3 && st == LLAP_OK; i++) {
        const float *expected;
        int64_t      n;
        if (!golden_has(c, all[i].tensor)) continue;
        st = golden_floats(c, all[i].tensor, &expected, &n);
        if (st != LLAP_OK) break;
        float *found = llap_new((size_t)n, sizeof *found);
        if (found == NULL) return LLAP_ENOMEM;
        lr.kind = all[i].kind;
        for (int64_t k = 0; k < n; k++) found[k] = (float)llap_lr_at(&lr, k);
        golden_compare(c, all[i].tensor, found, n);
        llap_free(found);
    }
    return st;
}

enum { MAX_PARAMS = 16 };

typedef struct stepper {
    golden      *c;
    llap_graph  *g;
    llap_plan   *plan;
    llap_run    *run;
    llap_params *params;
    const char  *name[MAX_PARAMS]; /* "a" of in.p_a */
    int          n;
} stepper;

static void describe(stepper *s, const llap_train_attr *attr)
{
    llap_tensor *param[MAX_PARAMS], *grad[MAX_PARAMS];
    for (int i = 0; i < s->n; i++) {
        char       tensor[64];
        llap_shape shape = { 0 };
        snprintf(tensor, sizeof tensor, "in.p_%s", s->name[i]);
        (void)golden_shape(s->c, tensor, &shape);
        param[i] = llap_param(s->g, s->name[i], shape, LLAP_INIT_ZERO);
        snprintf(tensor, sizeof tensor, "g.%s", s->name[i]);
        grad[i] = llap_input(s->g, tensor, shape);
    }
    llap_nn_step(s->g, param, grad, s->n, attr);
    llap_tensor *clip = llap_noted(s->g, "clip");
    for (int i = 0; i < s->n; i++) {
        char name[64];
        snprintf(name, sizeof name, "clipped.%s", s->name[i]);
        llap_output(s->g, name, llap_mul(s->g, grad[i], clip));
    }
}

static llap_status load(stepper *s, const char *from, const char *name, const char *to)
{
    char         tensor[64];
    const float *data;
    int64_t      n;
    snprintf(tensor, sizeof tensor, "%s%s", from, name);
    llap_status            st = golden_floats(s->c, tensor, &data, &n);
    const llap_param_info *p = llap_params_find(s->params, to);
    if (st == LLAP_OK && p != NULL && p->count == n)
        memcpy(p->data, data, (size_t)n * sizeof *data);
    return st;
}

static void compare_state(stepper *s, const char *tensor, const char *state)
{
    const llap_param_info *p = llap_params_find(s->params, state);
    if (p != NULL && golden_has(s->c, tensor)) golden_compare(s->c, tensor, p->data, p->count);
}

static void compare_step(stepper *s, int k)
{
    for (int i = 0; i < s->n; i++) {
        char        tensor[64], state[64];
        const char *name = s->name[i];
        snprintf(tensor, sizeof tensor, "mid.clipped%d_%s", k, name);
        snprintf(state, sizeof state, "clipped.%s", name);
        llap_shape   shape = { 0 };
        const float *clipped = llap_run_output(s->run, state, &shape);
        if (golden_has(s->c, tensor))
            golden_compare(s->c, tensor, clipped, llap_shape_count(&shape));
        snprintf(tensor, sizeof tensor, "out.p%d_%s", k + 1, name);
        compare_state(s, tensor, name);
        static const char *const kinds[][2] = { { "ema", "ema" },
                                                { "m", "adam.m" },
                                                { "v", "adam.v" } };
        for (int j = 0; j < 3; j++) {
            snprintf(tensor, sizeof tensor, "out.%s%d_%s", kinds[j][0], k + 1, name);
            snprintf(state, sizeof state, "%s.%s", kinds[j][1], name);
            compare_state(s, tensor, state);
        }
    }
}

static llap_status run_steps(stepper *s, const llap_lr *schedule)
{
    float       norms[64] = { 0 }, lrs[64] = { 0 }, lr = 0.0f;
    int32_t     step = 0;
    int         k = 0;
    llap_status st = llap_run_bind(s->run, "lr", &lr, 1);
    if (st == LLAP_OK) st = llap_run_bind(s->run, "step", &step, 1);
    for (; k < 64 && st == LLAP_OK; k++) {
        char tensor[64], name[64];
        snprintf(tensor, sizeof tensor, "in.g%d_%s", k, s->name[0]);
        if (!golden_has(s->c, tensor)) break;
        for (int i = 0; i < s->n && st == LLAP_OK; i++) {
            const float *grad;
            int64_t      n;
            snprintf(tensor, sizeof tensor, "in.g%d_%s", k, s->name[i]);
            snprintf(name, sizeof name, "g.%s", s->name[i]);
            st = golden_floats(s->c, tensor, &grad, &n);
            if (st == LLAP_OK) st = llap_run_bind(s->run, name, (void *)(uintptr_t)grad, n);
        }
        lrs[k] = lr = (float)llap_lr_at(schedule, k);
        step = k + 1;
        if (st == LLAP_OK) st = llap_run_exec(s->run);
        if (st != LLAP_OK) return st;
        norms[k] = *(const float *)llap_run_output(s->run, "grad_norm", NULL);
        compare_step(s, k);
    }
    if (st == LLAP_OK) {
        golden_compare(s->c, "out.grad_norms", norms, k);
        golden_compare(s->c, "out.lrs", lrs, k);
    }
    return st;
}

static void find_names(stepper *s)
{
    for (size_t i = 0; i < llap_tensors_count(s->c->file) && s->n < MAX_PARAMS; i++) {
        const llap_tensor_info t = llap_tensors_at(s->c->file, i);
        if (strncmp(t.name, "in.p_", 5) == 0) s->name[s->n++] = t.name + 5;
    }
}

llap_status golden_adamw(golden *c)
{
    stepper         s = { .c = c };
    llap_lr         lr = { .kind = LLAP_LR_WARMUP_CONSTANT };
    llap_train_attr a = { 0 };
    llap_status     st = read_schedule(c, &lr);
    if (st == LLAP_OK) st = golden_real(c, "beta1", &a.beta1);
    if (st == LLAP_OK) st = golden_real(c, "beta2", &a.beta2);
    if (st == LLAP_OK) st = golden_real(c, "eps", &a.eps);
    if (st == LLAP_OK) st = golden_real(c, "weight_decay", &a.weight_decay);
    if (st == LLAP_OK) st = golden_real(c, "grad_clip", &a.clip);
    if (st == LLAP_OK) st = golden_real(c, "ema_decay", &a.ema);
    if (st == LLAP_OK) st = llap_graph_create(&s.g);
    if (st != LLAP_OK) return st;
    find_names(&s);
    describe(&s, &a);
    st = llap_plan_create(s.g, &(llap_plan_opts){ .backend = &llap_backend_cpu, .n_threads = 1 },
                          &s.plan);
    if (st == LLAP_OK) st = llap_params_create(s.g, &llap_backend_cpu, &s.params);
    if (st == LLAP_OK) st = llap_run_create(s.plan, &s.run);
    if (st == LLAP_OK) st = llap_params_bind(s.params, LLAP_PART_MODEL, s.plan, s.run);
    for (int i = 0; i < s.n && st == LLAP_OK; i++) {
        char ema[64];
        snprintf(ema, sizeof ema, "ema.%s", s.name[i]);
        st = load(&s, "in.p_", s.name[i], s.name[i]);
        if (st == LLAP_OK) st = load(&s, "in.ema0_", s.name[i], ema);
    }
    if (st == LLAP_OK) st = run_steps(&s, &lr);
    llap_run_destroy(s.run);
    llap_params_destroy(s.params);
    llap_plan_release(s.plan);
    llap_graph_destroy(s.g);
    return st;
}
