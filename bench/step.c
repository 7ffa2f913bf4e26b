/* A training step of a network: time in forwards, rate of the products, and where the time goes.
 *
 *     step [rows] [latent] [horizon] [threads] [small|paper] [all]     128 12 24 1 small */
#include "base/error.h"
#include "bench.h"
#include "bench/rig.h"

#include <string.h>

enum { RUNS = 9 };

/* Time by op. */
static void by_op(const ll_plan *p, const double *seconds, double all)
{
    double sum[LL_OP_COUNT] = { 0 }, products[LL_OP_COUNT] = { 0 };
    for (int i = 0; i < ll_plan_n_steps(p); i++) {
        const ll_step_info s = ll_plan_step_at(p, i);
        sum[s.op] += seconds[i];
        products[s.op] += RUNS * s.products;
    }
    for (int op = 0; op < LL_OP_COUNT; op++) {
        if (sum[op] < 0.005 * all) continue;
        printf("%5.1f %% %s", 100.0 * sum[op] / all, ll_op_name((ll_op)op));
        if (products[op] > 0.0) printf(" (%.1f GFLOP/s)", 2e-9 * products[op] / sum[op]);
        printf("\n");
    }
}

/* The largest parts, like steps together. */
static void profile(const ll_plan *p, const double *seconds, double all)
{
    const int n = ll_plan_n_steps(p);
    double   *sum = calloc((size_t)n, sizeof *sum);
    int      *like = calloc((size_t)n, sizeof *like);
    for (int i = 0; i < n && sum != NULL && like != NULL; i++) {
        const ll_step_info a = ll_plan_step_at(p, i);
        int                k = 0;
        for (; k < i; k++) {
            const ll_step_info b = ll_plan_step_at(p, k);
            if (a.op == b.op && ll_shape_equal(&a.in, &b.in) && ll_shape_equal(&a.out, &b.out))
                break;
        }
        sum[k] += seconds[i];
        like[k]++;
    }
    for (int turn = 0; turn < 30 && sum != NULL && like != NULL; turn++) {
        int top = 0;
        for (int i = 0; i < n; i++)
            if (sum[i] > sum[top]) top = i;
        const ll_step_info s = ll_plan_step_at(p, top);
        char               a[LL_SHAPE_TEXT], b[LL_SHAPE_TEXT];
        if (sum[top] <= 0.0) break;
        printf("  %5.1f %%  %2d x %-15s %s -> %s", 100.0 * sum[top] / all, like[top],
               ll_op_name(s.op), ll_shape_text(&s.in, a), ll_shape_text(&s.out, b));
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
    ll_rig_opts o = { .what = LL_RIG_FORWARD,
                      .size = LL_RIG_SMALL,
                      .rows = argc > 1 ? atoi(argv[1]) : 128,
                      .latent = argc > 2 ? atoi(argv[2]) : 12,
                      .horizon = argc > 3 ? atoi(argv[3]) : 24,
                      .n_threads = argc > 4 ? atoi(argv[4]) : 1 };
    if (argc > 5 && strcmp(argv[5], "paper") == 0) o.size = LL_RIG_PAPER;
    ll_rig     *forward = NULL, *step = NULL;
    double      t[2][RUNS] = { { 0 } }, all = 0.0, *seconds = NULL;
    llap_status st = ll_rig_create(&o, &forward);
    o.what = LL_RIG_STEP;
    if (st == LLAP_OK) st = ll_rig_create(&o, &step);
    if (st == LLAP_OK)
        seconds = calloc((size_t)ll_plan_n_steps(ll_rig_plan(step)), sizeof *seconds);
    for (int r = -1; r < RUNS && st == LLAP_OK && seconds != NULL; r++) { /* once to warm up */
        double *a = &t[0][r < 0 ? 0 : r], *b = &t[1][r < 0 ? 0 : r];
        BENCH_TIME(*a, st = ll_rig_run(forward));
        if (r < 0) st = ll_rig_run(step);
        else BENCH_TIME(*b, st = ll_run_exec_timed(ll_rig_inner_run(step), seconds));
        if (r >= 0) all += *b;
    }
    if (st != LLAP_OK || seconds == NULL) {
        fprintf(stderr, "%s\n", llap_error_detail());
        return 1;
    }
    for (int i = 0; i < 2; i++) qsort(t[i], RUNS, sizeof **t, bench_compare);
    const double   f = t[0][RUNS / 2], b = t[1][RUNS / 2];
    const ll_plan *p = ll_rig_plan(step);
    printf("%lld rows, Z=%lld, h=%lld, %d threads: forward %.1f ms, %.1f GFLOP/s; step %.1f ms "
           "(%.1f to %.1f), %.2f forwards, %.1f GFLOP/s, %d kernels, %.1f MB\n",
           (long long)o.rows, (long long)o.latent, (long long)o.horizon, o.n_threads, 1e3 * f,
           2e-9 * ll_rig_products(forward) / f, 1e3 * b, 1e3 * t[1][0], 1e3 * t[1][RUNS - 1], b / f,
           2e-9 * ll_rig_products(step) / b, ll_plan_n_steps(p),
           1e-6 * (double)ll_plan_workspace(p));
    by_op(p, seconds, all);
    if (argc > 6) profile(p, seconds, all);
    free(seconds);
    ll_rig_destroy(forward);
    ll_rig_destroy(step);
    return 0;
}
