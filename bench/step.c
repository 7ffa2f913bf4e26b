/* A training step of the default profile's network (denoiser and patch summarizer): time in
 * forwards, rate of the products, and where the time goes.
 *
 *     step [rows] [latent] [horizon] [threads] [all]       128 12 24 1 by default */
#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "base/error.h"
#include "bench.h"
#include "model/diffusion.h"
#include "model/patches.h"
#include "nn/optim.h"

#include <string.h>

enum { TOKENS = 56, RUNS = 9 };

typedef struct sizes {
    int64_t rows, Z, h;
    int     threads;
} sizes;

/* Rows of one entity have fewer features than rows of all (spec accuracy.md 4.6, 4.7). */
static llap_tensor *network(llap_graph *g, const sizes *s, bool train)
{
    const int64_t        F = 2 + 2 * s->Z, F_token = s->Z > 1 ? 8 * s->Z + 5 : 24;
    llap_denoiser_config c = LLAP_DENOISER_DEFAULT(s->Z, F);
    llap_patch_config    p = LLAP_PATCH_DEFAULT(F_token, TOKENS);
    llap_tensor         *pad = llap_input(g, "E_pad", LLAP_SHAPE(s->rows, TOKENS));
    llap_scope_push(g, "summary");
    llap_tensor *E = llap_patch_summary(
        g, &p,
        &(llap_patch_in){ .tokens = llap_input(g, "tokens", LLAP_SHAPE(s->rows, TOKENS, F_token)),
                          .pad = pad,
                          .training = train });
    llap_scope_pop(g);
    const llap_shape     z = LLAP_SHAPE(s->rows, s->h, s->Z), row = LLAP_SHAPE(s->rows, s->h);
    const llap_loss_in   in = { .z0 = llap_input(g, "z0", z),
                                .eps = llap_input(g, "eps", z),
                                .mask = llap_input(g, "mask", row),
                                .tq = llap_input(g, "tq", row),
                                .E = E,
                                .training = train,
                                .time = llap_input(g, "time", LLAP_SHAPE(s->rows)),
                                .f = llap_input(g, "f", LLAP_SHAPE(s->rows, s->h, F)),
                                .pad = llap_input(g, "pad", row),
                                .E_pad = pad };
    const llap_loss_opts o = { .predict = LLAP_PREDICT_V };
    return llap_diffusion_loss(g, &c, NULL, &o, &in);
}

typedef struct ready {
    llap_params *params;
    llap_plan   *plan;
    llap_run    *run;
    void        *input[16];
    int          n;
} ready;

static llap_status bind_inputs(ready *r)
{
    for (int i = 0; i < llap_plan_n_slots(r->plan); i++) {
        const llap_slot *s = llap_plan_slot(r->plan, i);
        if (s->leaf != LLAP_LEAF_INPUT) continue;
        const int64_t n = llap_shape_count(&s->shape);
        float        *x = r->input[r->n++] = llap_new_aligned((size_t)n, sizeof *x);
        if (x == NULL) return LLAP_ENOMEM;
        const bool none = strstr(s->name, "pad") != NULL || s->elem == LLAP_INT;
        for (int64_t k = 0; k < n; k++) x[k] = none ? 0.0f : 0.05f + 0.9f * (float)(k % 97) / 97;
        if (strcmp(s->name, "lr") == 0) x[0] = 1e-6f;
        if (strcmp(s->name, "step") == 0) *(int32_t *)(void *)x = 1;
        if (llap_run_bind(r->run, s->name, x, n) != LLAP_OK) return LLAP_EINVAL;
    }
    return LLAP_OK;
}

static llap_status make(const sizes *s, bool train, ready *r)
{
    llap_graph *g;
    llap_status st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    llap_tensor *loss = network(g, s, train);
    llap_output(g, "loss", loss);
    if (train) llap_nn_train(g, loss, &LLAP_TRAIN_DEFAULT);
    const llap_plan_opts o = { .backend = &llap_backend_cpu, .n_threads = s->threads };
    st = llap_params_create(g, &llap_backend_cpu, &r->params);
    if (st == LLAP_OK) st = llap_plan_create(g, &o, &r->plan);
    if (st == LLAP_OK) st = llap_run_create(r->plan, &r->run);
    if (st == LLAP_OK) llap_params_init(r->params, 1);
    if (st == LLAP_OK) st = llap_params_bind(r->params, LLAP_PART_MODEL, r->plan, r->run);
    if (st == LLAP_OK) st = bind_inputs(r);
    llap_graph_destroy(g);
    return st;
}

static void drop(ready *r)
{
    llap_run_destroy(r->run);
    llap_plan_release(r->plan);
    llap_params_destroy(r->params);
    for (int i = 0; i < r->n; i++) llap_free(r->input[i]);
}

/* Time by op. */
static void by_op(const ready *r, const double *seconds, double all)
{
    double sum[LLAP_OP_COUNT] = { 0 }, products[LLAP_OP_COUNT] = { 0 };
    for (int i = 0; i < llap_plan_n_steps(r->plan); i++) {
        const llap_step_info s = llap_plan_step_at(r->plan, i);
        sum[s.op] += seconds[i];
        products[s.op] += RUNS * s.products;
    }
    for (int op = 0; op < LLAP_OP_COUNT; op++) {
        if (sum[op] < 0.005 * all) continue;
        printf("%5.1f %% %s", 100.0 * sum[op] / all, llap_op_name((llap_op)op));
        if (products[op] > 0.0) printf(" (%.1f GFLOP/s)", 2e-9 * products[op] / sum[op]);
        printf("\n");
    }
}

/* The largest parts, like steps together. */
static void profile(const ready *r, const double *seconds, double all)
{
    const int n = llap_plan_n_steps(r->plan);
    double   *sum = calloc((size_t)n, sizeof *sum);
    int      *like = calloc((size_t)n, sizeof *like);
    for (int i = 0; i < n && sum != NULL && like != NULL; i++) {
        const llap_step_info a = llap_plan_step_at(r->plan, i);
        int                  k = 0;
        for (; k < i; k++) {
            const llap_step_info b = llap_plan_step_at(r->plan, k);
            if (a.op == b.op && llap_shape_equal(&a.in, &b.in) && llap_shape_equal(&a.out, &b.out))
                break;
        }
        sum[k] += seconds[i];
        like[k]++;
    }
    for (int turn = 0; turn < 30 && sum != NULL && like != NULL; turn++) {
        int top = 0;
        for (int i = 0; i < n; i++)
            if (sum[i] > sum[top]) top = i;
        const llap_step_info s = llap_plan_step_at(r->plan, top);
        char                 a[LLAP_SHAPE_TEXT], b[LLAP_SHAPE_TEXT];
        if (sum[top] <= 0.0) break;
        printf("  %5.1f %%  %2d x %-15s %s -> %s", 100.0 * sum[top] / all, like[top],
               llap_op_name(s.op), llap_shape_text(&s.in, a), llap_shape_text(&s.out, b));
        if (s.products > 0.0)
            printf("  %.1f GFLOP/s", 2e-9 * s.products * like[top] * RUNS / sum[top]);
        printf("\n");
        sum[top] = 0.0;
    }
    free(sum);
    free(like);
}

int main(int argc, char **argv)
{
    const sizes s = { .rows = argc > 1 ? atoi(argv[1]) : 128,
                      .Z = argc > 2 ? atoi(argv[2]) : 12,
                      .h = argc > 3 ? atoi(argv[3]) : 24,
                      .threads = argc > 4 ? atoi(argv[4]) : 1 };
    ready       forward = { 0 }, step = { 0 };
    double      t[2][BENCH_REPEATS] = { { 0 } }, all = 0.0;
    llap_status st = make(&s, false, &forward);
    if (st == LLAP_OK) st = make(&s, true, &step);
    double *seconds =
        st == LLAP_OK ? calloc((size_t)llap_plan_n_steps(step.plan), sizeof *seconds) : NULL;
    for (int r = -1; r < RUNS && st == LLAP_OK && seconds != NULL; r++) { /* once to warm up */
        double *a = &t[0][r < 0 ? 0 : r], *b = &t[1][r < 0 ? 0 : r];
        BENCH_TIME(*a, st = llap_run_exec(forward.run));
        if (r < 0) st = llap_run_exec(step.run);
        else BENCH_TIME(*b, st = llap_run_exec_timed(step.run, seconds));
        if (r >= 0) all += *b;
    }
    if (st != LLAP_OK || seconds == NULL) {
        fprintf(stderr, "%s\n", llap_error_detail());
        return 1;
    }
    for (int i = 0; i < 2; i++) qsort(t[i], RUNS, sizeof **t, bench_compare);
    const double f = t[0][RUNS / 2], b = t[1][RUNS / 2];
    printf("%lld rows, Z=%lld, h=%lld, %d threads: forward %.1f ms, %.1f GFLOP/s; step %.1f ms "
           "(%.1f to %.1f), %.2f forwards, %.1f GFLOP/s, %d kernels, %.1f MB\n",
           (long long)s.rows, (long long)s.Z, (long long)s.h, s.threads, 1e3 * f,
           2e-9 * llap_plan_products(forward.plan) / f, 1e3 * b, 1e3 * t[1][0],
           1e3 * t[1][RUNS - 1], b / f, 2e-9 * llap_plan_products(step.plan) / b,
           llap_plan_n_steps(step.plan), 1e-6 * (double)llap_plan_workspace(step.plan));
    by_op(&step, seconds, all);
    if (argc > 5) profile(&step, seconds, all);
    free(seconds);
    drop(&forward);
    drop(&step);
    return 0;
}
