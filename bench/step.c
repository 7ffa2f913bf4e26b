/* A training step of a network: time in forwards, rate of the products, and where the time goes.
 *
 *     step [rows] [latent] [horizon] [threads] [small|paper] [all]     128 12 24 1 small */
#include "base/error.h"
#include "bench.h"
#include "task/rig.h"

#include <string.h>

enum { RUNS = 9 };

/* Time by op. */
static void by_op(const llap_plan *p, const double *seconds, double all)
{
    double sum[LLAP_OP_COUNT] = { 0 }, products[LLAP_OP_COUNT] = { 0 };
    for (int i = 0; i < llap_plan_n_steps(p); i++) {
        const llap_step_info s = llap_plan_step_at(p, i);
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
static void profile(const llap_plan *p, const double *seconds, double all)
{
    const int n = llap_plan_n_steps(p);
    double   *sum = calloc((size_t)n, sizeof *sum);
    int      *like = calloc((size_t)n, sizeof *like);
    for (int i = 0; i < n && sum != NULL && like != NULL; i++) {
        const llap_step_info a = llap_plan_step_at(p, i);
        int                  k = 0;
        for (; k < i; k++) {
            const llap_step_info b = llap_plan_step_at(p, k);
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
        const llap_step_info s = llap_plan_step_at(p, top);
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
    llap_rig_opts o = { .what = LLAP_RIG_FORWARD,
                        .size = LLAP_RIG_SMALL,
                        .rows = argc > 1 ? atoi(argv[1]) : 128,
                        .latent = argc > 2 ? atoi(argv[2]) : 12,
                        .horizon = argc > 3 ? atoi(argv[3]) : 24,
                        .n_threads = argc > 4 ? atoi(argv[4]) : 1 };
    if (argc > 5 && strcmp(argv[5], "paper") == 0) o.size = LLAP_RIG_PAPER;
    llap_rig   *forward = NULL, *step = NULL;
    double      t[2][RUNS] = { { 0 } }, all = 0.0, *seconds = NULL;
    llap_status st = llap_rig_create(&o, &forward);
    o.what = LLAP_RIG_STEP;
    if (st == LLAP_OK) st = llap_rig_create(&o, &step);
    if (st == LLAP_OK)
        seconds = calloc((size_t)llap_plan_n_steps(llap_rig_plan(step)), sizeof *seconds);
    for (int r = -1; r < RUNS && st == LLAP_OK && seconds != NULL; r++) { /* once to warm up */
        double *a = &t[0][r < 0 ? 0 : r], *b = &t[1][r < 0 ? 0 : r];
        BENCH_TIME(*a, st = llap_rig_run(forward));
        if (r < 0) st = llap_rig_run(step);
        else BENCH_TIME(*b, st = llap_run_exec_timed(llap_rig_inner_run(step), seconds));
        if (r >= 0) all += *b;
    }
    if (st != LLAP_OK || seconds == NULL) {
        fprintf(stderr, "%s\n", llap_error_detail());
        return 1;
    }
    for (int i = 0; i < 2; i++) qsort(t[i], RUNS, sizeof **t, bench_compare);
    const double     f = t[0][RUNS / 2], b = t[1][RUNS / 2];
    const llap_plan *p = llap_rig_plan(step);
    printf("%lld rows, Z=%lld, h=%lld, %d threads: forward %.1f ms, %.1f GFLOP/s; step %.1f ms "
           "(%.1f to %.1f), %.2f forwards, %.1f GFLOP/s, %d kernels, %.1f MB\n",
           (long long)o.rows, (long long)o.latent, (long long)o.horizon, o.n_threads, 1e3 * f,
           2e-9 * llap_rig_products(forward) / f, 1e3 * b, 1e3 * t[1][0], 1e3 * t[1][RUNS - 1],
           b / f, 2e-9 * llap_rig_products(step) / b, llap_plan_n_steps(p),
           1e-6 * (double)llap_plan_workspace(p));
    by_op(p, seconds, all);
    if (argc > 6) profile(p, seconds, all);
    free(seconds);
    llap_rig_destroy(forward);
    llap_rig_destroy(step);
    return 0;
}
