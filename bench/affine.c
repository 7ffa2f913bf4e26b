/* How the cost of one reverse step grows with samples, query times and poles: lines through
 * processor time and products, for poles curves with a square (docs/spec/model.md 9), and how
 * far the points lie from them. One thread; points in turn, the least of a few runs.
 *
 *     affine [small|paper] */
#include "base/error.h"
#include "bench.h"
#include "bench/rig.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { POINTS = 4, RUNS = 15, TERMS = 3 };

typedef struct axis {
    const char *name;
    int64_t     at[POINTS];
    size_t      field; /* of ll_rig_opts */
    int         terms; /* 2: a line; 3: and a square */
    bool        first; /* a first window: nothing is kept */
} axis;

static const axis axes[] = {
    { "samples, first window", { 1, 5, 13, 25 }, offsetof(ll_rig_opts, samples), 2, true },
    { "samples, later windows", { 1, 3, 5, 9 }, offsetof(ll_rig_opts, samples), 2, false },
    { "samples, later windows", { 13, 17, 21, 25 }, offsetof(ll_rig_opts, samples), 2, false },
    { "query times", { 24, 336, 672, 1344 }, offsetof(ll_rig_opts, horizon), 2, false },
    { "poles", { 32, 64, 128, 256 }, offsetof(ll_rig_opts, poles), 3, false },
};

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static ll_rig_opts opts_at(const axis *a, ll_rig_opts o, int i)
{
    memcpy((char *)&o + a->field, &a->at[i], sizeof a->at[i]);
    return o;
}

static llap_status measure(const axis *a, ll_rig_opts o, double *ms, double *products)
{
    ll_rig     *r[POINTS] = { NULL };
    llap_status st = LLAP_OK;
    for (int i = 0; i < POINTS && st == LLAP_OK; i++) {
        const ll_rig_opts at = opts_at(a, o, i);
        st = ll_rig_create(&at, &r[i]);
        if (st == LLAP_OK) st = ll_rig_run(r[i]);
        ms[i] = HUGE_VAL;
    }
    for (int k = 0; k < RUNS * POINTS && st == LLAP_OK; k++) {
        const int i = k % POINTS;
        if (a->first) ll_rig_forget(r[i]);
        const double start = cpu_now();
        st = ll_rig_run(r[i]);
        ms[i] = fmin(ms[i], 1e3 * (cpu_now() - start));
        products[i] = 1e-6 * ll_rig_products(r[i]);
    }
    for (int i = 0; i < POINTS; i++) ll_rig_destroy(r[i]);
    return st;
}

/* What the network takes as it is written, nothing shared or folded. */
static llap_status count_written(const axis *a, ll_rig_opts o, double *products)
{
    llap_status st = LLAP_OK;
    o.whole = true;
    for (int i = 0; i < POINTS && st == LLAP_OK; i++) {
        const ll_rig_opts at = opts_at(a, o, i);
        ll_rig           *r;
        st = ll_rig_create(&at, &r);
        if (st == LLAP_OK) st = ll_rig_run(r);
        if (st == LLAP_OK) products[i] = 1e-6 * ll_rig_products(r);
        ll_rig_destroy(r);
    }
    return st;
}

typedef struct curve {
    double term[TERMS]; /* of 1, x, x^2 */
    double off;         /* largest distance of a point, as a part of its value */
} curve;

static double value(const curve *c, double x)
{
    return c->term[0] + x * (c->term[1] + x * c->term[2]);
}

/* Solves the n equations m [n,n+1]; the matrix is positive definite. */
static void solve(int n, double m[TERMS][TERMS + 1])
{
    for (int p = 0; p < n; p++)
        for (int i = 0; i < n; i++) {
            const double f = m[i][p] / m[p][p];
            for (int j = p; j <= n && i != p; j++) m[i][j] -= f * m[p][j];
        }
}

/* The least squares of distances as parts of the values. */
static curve fit(const axis *a, const double *y)
{
    const double top = (double)a->at[POINTS - 1];
    double       m[TERMS][TERMS + 1] = { 0 };
    curve        c = { 0 };
    for (int i = 0; i < POINTS; i++) {
        const double x = (double)a->at[i] / top, v[] = { 1, x, x * x };
        for (int p = 0; p < a->terms; p++) {
            for (int q = 0; q < a->terms; q++) m[p][q] += v[p] * v[q] / (y[i] * y[i]);
            m[p][a->terms] += v[p] / y[i];
        }
    }
    solve(a->terms, m);
    for (int p = 0; p < a->terms; p++) c.term[p] = m[p][a->terms] / m[p][p] / pow(top, p);
    for (int i = 0; i < POINTS; i++)
        c.off = fmax(c.off, fabs(value(&c, (double)a->at[i]) / y[i] - 1));
    return c;
}

static void print_curve(const axis *a, const char *what, const char *unit, const double *y)
{
    const curve c = fit(a, y);
    printf("    %-21s %8.2f + %.4f x", what, c.term[0], c.term[1]);
    if (a->terms == TERMS) printf(" + %.6f x^2", c.term[2]);
    printf(" %s, off by %.1f %%;  at the points", unit, 100 * c.off);
    for (int i = 0; i < POINTS; i++) printf(" %.2f", y[i]);
    putchar('\n');
}

static llap_status along(const axis *a, ll_rig_opts o)
{
    double            ms[POINTS], products[POINTS], written[POINTS];
    const llap_status st = measure(a, o, ms, products);
    if (st != LLAP_OK) return st;
    printf("%s:", a->name);
    for (int i = 0; i < POINTS; i++) printf(" %lld", (long long)a->at[i]);
    putchar('\n');
    print_curve(a, "time", "ms", ms);
    print_curve(a, "products", "M", products);
    if (a->terms < TERMS) return LLAP_OK;
    const llap_status counted = count_written(a, o, written);
    if (counted == LLAP_OK) print_curve(a, "products, as written", "M", written);
    return counted;
}

int main(int argc, char **argv)
{
    const bool        paper = argc > 1 && strcmp(argv[1], "paper") == 0;
    const ll_rig_opts o = { .what = LL_RIG_FORECAST,
                            .size = paper ? LL_RIG_PAPER : LL_RIG_SMALL,
                            .solver = LL_SOLVER_DDIM,
                            .first = 1,
                            .n_threads = 1 };
    llap_status       st = LLAP_OK;
    printf("one step, %s, one thread, processor time, least of %d runs\n",
           paper ? "paper size, both passes" : "small", RUNS);
    for (size_t i = 0; i < sizeof axes / sizeof *axes && st == LLAP_OK; i++)
        st = along(&axes[i], o);
    if (st != LLAP_OK) fprintf(stderr, "%s\n", llap_error_detail());
    return st == LLAP_OK ? 0 : 1;
}
