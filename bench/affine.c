/* How the cost of one reverse step grows with samples, query times and poles: intercepts and slopes
 * of straight lines through processor time (one thread, least of a few runs), the largest distance
 * from the line, and for poles the growth that the products predict (spec/model.md, section 9).
 *
 *     affine [small|paper] */
#include "base/error.h"
#include "bench.h"
#include "task/rig.h"

#include <math.h>
#include <string.h>

enum { POINTS = 4, RUNS = 3 };

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static llap_status cost(const llap_rig_opts *o, double *ms, double *products)
{
    llap_rig   *r = NULL;
    llap_status st = llap_rig_create(o, &r);
    if (st == LLAP_OK) st = llap_rig_run(r);
    *ms = HUGE_VAL;
    for (int i = 0; i < RUNS && st == LLAP_OK; i++) {
        const double start = cpu_now();
        st = llap_rig_run(r);
        *ms = fmin(*ms, 1e3 * (cpu_now() - start));
    }
    if (st == LLAP_OK) *products = llap_rig_products(r);
    llap_rig_destroy(r);
    return st;
}

typedef struct line {
    double intercept, slope, off; /* off: largest distance, as a part of the largest value */
} line;

static line fit(const double *x, const double *y)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0, top = 0;
    line   l = { 0 };
    for (int i = 0; i < POINTS; i++) {
        sx += x[i], sy += y[i], sxx += x[i] * x[i], sxy += x[i] * y[i];
        top = fmax(top, y[i]);
    }
    l.slope = (POINTS * sxy - sx * sy) / (POINTS * sxx - sx * sx);
    l.intercept = (sy - l.slope * sx) / POINTS;
    for (int i = 0; i < POINTS; i++)
        l.off = fmax(l.off, fabs(l.intercept + l.slope * x[i] - y[i]) / top);
    return l;
}

typedef enum axis { SAMPLES, QUERIES, POLES } axis;

static llap_status along(axis a, llap_rig_opts o, const int64_t *at)
{
    static const char *const names[] = { "samples", "query times", "poles" };
    double                   x[POINTS], ms[POINTS], products[POINTS];
    for (int i = 0; i < POINTS; i++) {
        *(a == SAMPLES ? &o.samples : a == QUERIES ? &o.horizon : &o.poles) = at[i];
        x[i] = (double)at[i];
        const llap_status st = cost(&o, &ms[i], &products[i]);
        if (st != LLAP_OK) return st;
    }
    const line t = fit(x, ms), p = fit(x, products);
    printf("%-11s  %.2f ms + %.4f ms each, off by %.1f %%;  products %.1f M + %.3f M each, off by "
           "%.1f %%\n",
           names[a], t.intercept, t.slope, 100 * t.off, 1e-6 * p.intercept, 1e-6 * p.slope,
           100 * p.off);
    for (int i = 0; i < POINTS; i++)
        printf("    %5.0f  %8.2f ms  %6.2f times the first, products %6.2f times\n", x[i], ms[i],
               ms[i] / ms[0], products[i] / products[0]);
    return LLAP_OK;
}

int main(int argc, char **argv)
{
    static const int64_t samples[] = { 1, 3, 5, 9 }, queries[] = { 24, 336, 672, 1344 };
    static const int64_t poles[] = { 32, 64, 128, 256 };
    const bool           paper = argc > 1 && strcmp(argv[1], "paper") == 0;
    const llap_rig_opts  o = { .what = LLAP_RIG_FORECAST,
                               .size = paper ? LLAP_RIG_PAPER : LLAP_RIG_SMALL,
                               .solver = LLAP_SOLVER_DDIM,
                               .first = 1,
                               .n_threads = 1 };
    printf("one step, %s, one thread, processor time, least of %d runs\n",
           paper ? "paper size, both passes" : "small", RUNS);
    llap_status st = along(SAMPLES, o, samples);
    if (st == LLAP_OK) st = along(QUERIES, o, queries);
    if (st == LLAP_OK) st = along(POLES, o, poles);
    if (st != LLAP_OK) fprintf(stderr, "%s\n", llap_error_detail());
    return st == LLAP_OK ? 0 : 1;
}
