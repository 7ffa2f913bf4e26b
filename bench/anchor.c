/* The anchor at the sizes of bms_air: 336 hours of context, 168 asked for, the kernel of eleven
 * states. Prints processor seconds and the cost of an event. */
#include "anchor/fit.h"
#include "anchor/process/process.h"
#include "bench.h"

#include <math.h>

enum { CONTEXT = 336, HORIZON = 168, WINDOWS = 292 * 12, LONG = 10000, ROWS = 48 };

static double           y[LONG + CONTEXT + HORIZON + WINDOWS], t[LONG], tq[HORIZON], jittered[LONG];
static double           mean[WINDOWS][HORIZON], var[WINDOWS][HORIZON];
static ll_anchor_window windows[WINDOWS];

static void make_data(void)
{
    unsigned long long s = 1;
    for (size_t i = 0; i < sizeof y / sizeof *y; i++) {
        s = s * 6364136223846793005ULL + 1442695040888963407ULL;
        const double u = (double)(s >> 11) * 0x1p-53;
        y[i] = u < 0.02 ? NAN : sin(0.2617993877991494 * (double)i) + 2 * u - 1;
        if (i < LONG) jittered[i] = (double)i + 0.9 * u;
    }
    for (int i = 0; i < LONG; i++) t[i] = i;
    for (int i = 0; i < HORIZON; i++) tq[i] = CONTEXT + i;
    for (int i = 0; i < WINDOWS; i++)
        windows[i] = (ll_anchor_window){ .n_obs = CONTEXT,
                                         .t = t,
                                         .y = y + i,
                                         .n_query = HORIZON,
                                         .t_query = tq,
                                         .target = y + i + CONTEXT };
}

static llap_status draw(void *user, int64_t step, size_t n_rows, ll_anchor_window *out)
{
    (void)user;
    for (size_t i = 0; i < n_rows; i++) out[i] = windows[((size_t)step * 911 + i * 73) % WINDOWS];
    return LLAP_OK;
}

static void filter_all(void)
{
    static double *means[WINDOWS], *vars[WINDOWS];
    for (int i = 0; i < WINDOWS; i++) means[i] = mean[i], vars[i] = var[i];
    const ll_anchor_kernel k = ll_anchor_kernel_hourly();
    if (ll_anchor_filter(&k, windows, WINDOWS, means, vars, NULL) != LLAP_OK) abort();
}

static void filter_long(const double *times)
{
    double                 ahead[HORIZON], *means[] = { mean[0] }, *vars[] = { var[0] };
    const ll_anchor_kernel k = ll_anchor_kernel_hourly();
    for (int i = 0; i < HORIZON; i++) ahead[i] = LONG + 1 + i;
    const ll_anchor_window w = {
        .n_obs = LONG, .t = times, .y = y, .n_query = HORIZON, .t_query = ahead
    };
    if (ll_anchor_filter(&k, &w, 1, means, vars, NULL) != LLAP_OK) abort();
}

static void smooth_long(const double *times)
{
    const ll_anchor_kernel k = ll_anchor_kernel_hourly();
    const ll_anchor_window w = {
        .n_obs = LONG, .t = times, .y = y, .n_query = LONG, .t_query = times
    };
    ll_anchor_posterior *p = NULL;
    if (ll_anchor_condition(&k, &w, &p) != LLAP_OK) abort();
    ll_anchor_posterior_destroy(p);
}

static void gradient_batch(const ll_anchor_kernel *k)
{
    ll_anchor_loss l;
    if (ll_anchor_loss_gradient(k, windows, ROWS, LL_ANCHOR_CRPS, 1e-3, &l) != LLAP_OK) abort();
}

int main(void)
{
    static double all[BENCH_REPEATS], grid[BENCH_REPEATS], loose[BENCH_REPEATS],
        smooth[BENCH_REPEATS], batch[BENCH_REPEATS], many[BENCH_REPEATS];
    const ll_anchor_kernel hourly = ll_anchor_kernel_hourly();
    ll_anchor_kernel       learnt;
    if (ll_anchor_kernel_spaced(8, CONTEXT, 8, &learnt) != LLAP_OK) abort();
    make_data();
    for (int r = 0; r < BENCH_REPEATS; r++) {
        BENCH_PROCESSOR(all[r], filter_all());
        BENCH_PROCESSOR(grid[r], filter_long(t));
        BENCH_PROCESSOR(loose[r], filter_long(jittered));
        BENCH_PROCESSOR(smooth[r], smooth_long(jittered));
        BENCH_PROCESSOR(batch[r], gradient_batch(&hourly));
        BENCH_PROCESSOR(many[r], gradient_batch(&learnt));
    }
    const double events = (double)WINDOWS * (CONTEXT + HORIZON);
    printf("%d windows of %d + %d forecast   %.3f s   %.0f ns an event\n", WINDOWS, CONTEXT,
           HORIZON, bench_median(all), bench_median(all) / events * 1e9);
    printf("%d readings filtered and forecast   %.2f ms on a grid, %.2f ms at irregular times\n",
           LONG, bench_median(grid) * 1e3, bench_median(loose) * 1e3);
    printf("%d readings smoothed at %d times   %.2f ms\n", LONG, LONG, bench_median(smooth) * 1e3);
    printf("gradient of %d windows   %.2f ms   %.2f times as long as their forecast\n", ROWS,
           bench_median(batch) * 1e3, bench_median(batch) * WINDOWS / ROWS / bench_median(all));
    printf("with learnt cycles, nineteen states   %.2f ms\n", bench_median(many) * 1e3);
    double             seconds;
    ll_anchor_kernel   k = ll_anchor_kernel_hourly();
    ll_anchor_fit_opts o = LL_ANCHOR_FIT_DEFAULT;
    BENCH_PROCESSOR(seconds, if (ll_anchor_fit(&k, &o, draw, NULL) != LLAP_OK) abort());
    printf("fit, %lld steps of %zu windows   %.2f s\n", (long long)o.n_steps, o.n_rows, seconds);
    return 0;
}
