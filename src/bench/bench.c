/* What `llapdiff bench` measures. Every measurement alternates with bare matrix products, so that
 * both see the same machine; medians are compared. */
#include <llapdiff/bench.h>

#include "backend/cpu/cpu.h"
#include "backend/device_memory.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json/json.h"
#include "base/options.h"
#include "base/progress.h"
#include "base/rng/rng.h"
#include "base/sort.h"
#include "base/time/time.h"
#include "bench/rig.h"
#include "data/csv/csv.h"
#include "predict/device.h"

#include <assert.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
    LEAST_RUNS = 3, /* or there is no spread */
    MOST_RUNS = 101,
    MOST_ROWS = 32,
    M = 2048,
    M_OF_TINY = 256, /* its own are smaller still */
    N = 1024,
    K = 256,
    M_OF_GPU = 1 << 17
};

typedef struct row { /* one measurement */
    char   name[48];
    int    runs, steps;
    double median, least, most; /* seconds */
    double flops;               /* of one run; 0: none to speak of */
    double share;               /* of the rate of bare products */
    double bytes;               /* read (csv), or kept by plans and parameters */
} row;

typedef struct bench {
    const llap_bench_opts *o;
    ll_rig_opts            base;
    ll_plan               *plan; /* the bare product */
    ll_run                *run;
    int64_t                m;              /* its rows */
    float                 *x, *w;          /* its operands */
    void                  *device_data[2]; /* where the backend computes, if that is elsewhere */
    double                 rate[MOST_RUNS], all_rates[MOST_ROWS];
    row                    row[MOST_ROWS];
    int                    n;
} bench;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double median(double *x, int n)
{
    ll_sort_doubles(x, (size_t)n);
    return 0.5 * (x[(n - 1) / 2] + x[n / 2]);
}

/* -------- bare products -------- */

/* x W^T of the shapes of a block's widest layer, nothing else: what all others are compared with.
 */
static llap_status bind_operand(bench *t, int i, const char *name, float *x, int64_t n)
{
    const ll_backend *b = t->base.backend;
    const size_t      n_bytes = (size_t)n * sizeof *x;
    if (b->memory == NULL) return ll_run_bind(t->run, name, x, n);
    llap_status st = ll_device_alloc(b, n_bytes, &t->device_data[i]);
    if (st == LLAP_OK) st = ll_device_put(b, t->device_data[i], x, n_bytes);
    return st == LLAP_OK ? ll_run_bind_device(t->run, name, t->device_data[i], n) : st;
}

static llap_status prepare_product(bench *t)
{
    ll_graph   *g;
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    t->m = t->base.backend->memory != NULL ? M_OF_GPU : t->base.size == LL_RIG_TINY ? M_OF_TINY : M;
    ll_tensor *x = ll_input(g, "x", LL_SHAPE(t->m, K)), *w = ll_input(g, "w", LL_SHAPE(N, K));
    ll_output(g, "y", ll_linear(g, x, w, NULL));
    const ll_plan_opts o = { .backend = t->base.backend, .n_threads = t->base.n_threads };
    st = ll_plan_create(g, &o, &t->plan);
    ll_graph_destroy(g);
    if (st == LLAP_OK) st = ll_run_create(t->plan, &t->run);
    t->x = ll_new_aligned((size_t)t->m * K, sizeof *t->x);
    t->w = ll_new_aligned((size_t)N * K, sizeof *t->w);
    if (st == LLAP_OK && (t->x == NULL || t->w == NULL)) st = LLAP_ENOMEM;
    const ll_rng r[2] = { ll_rng_make(1, LL_STREAM_TEST, 0, 0, 0),
                          ll_rng_make(1, LL_STREAM_TEST, 0, 0, 1) };
    if (st == LLAP_OK) ll_rng_fill_normal(&r[0], 0, (size_t)t->m * K, t->x);
    if (st == LLAP_OK) ll_rng_fill_normal(&r[1], 0, (size_t)N * K, t->w);
    if (st == LLAP_OK) st = bind_operand(t, 0, "x", t->x, t->m * K);
    if (st == LLAP_OK) st = bind_operand(t, 1, "w", t->w, (int64_t)N * K);
    return st;
}

static llap_status run_product(const bench *t, double *seconds)
{
    const double start = now();
    llap_status  st = ll_run_exec(t->run);
    if (st == LLAP_OK) st = ll_device_finish(t->base.backend);
    *seconds = now() - start;
    return st;
}

/* The median of products that follow each other for 20 ms. The one before them is not counted: it
 * fetches its operands, which the measurement before it drove out of the caches. */
static llap_status product_rate(const bench *t, double *rate)
{
    double      seconds[MOST_RUNS], sum = 0.0;
    int         n = 0;
    llap_status st = run_product(t, &seconds[0]);
    while (st == LLAP_OK && sum < 0.02 && n < MOST_RUNS) {
        st = run_product(t, &seconds[n]);
        sum += seconds[n++];
    }
    if (st == LLAP_OK) *rate = 2.0 * (double)t->m * N * K / median(seconds, n);
    return st;
}

/* -------- one measurement -------- */

typedef llap_status (*run_fn)(void *user);

static llap_status measure(bench *t, run_fn run, void *user, row *r)
{
    double      seconds[MOST_RUNS];
    llap_status st = run(user); /* to warm up; on a GPU the second time is recorded */
    for (int i = 0; i < 2 && st == LLAP_OK && t->base.backend->memory != NULL; i++) st = run(user);
    const double start = now();
    for (r->runs = 0; st == LLAP_OK && r->runs < MOST_RUNS; r->runs++) {
        if (r->runs >= LEAST_RUNS && now() - start > t->o->seconds) break;
        st = product_rate(t, &t->rate[r->runs]);
        const double before = now();
        if (st == LLAP_OK) st = run(user);
        if (st == LLAP_OK) st = ll_device_finish(t->base.backend);
        seconds[r->runs] = now() - before;
    }
    if (st != LLAP_OK) return st;
    r->median = median(seconds, r->runs);
    r->least = seconds[0];
    r->most = seconds[r->runs - 1];
    t->all_rates[t->n] = median(t->rate, r->runs);
    return LLAP_OK;
}

static llap_status wanted(bench *t, const char *name, bool *is, row **out)
{
    *is = t->n < MOST_ROWS && (t->o->only == NULL || strstr(name, t->o->only) != NULL);
    if (!*is) return LLAP_OK;
    *out = &t->row[t->n];
    **out = (row){ .steps = 1 };
    snprintf((*out)->name, sizeof(*out)->name, "%s", name);
    return ll_report(t->o->progress, &(llap_progress_event){ .stage = name, .done = t->n });
}

static llap_status run_rig(void *user) { return ll_rig_run(user); }

static llap_status measure_rig(bench *t, const char *name, const ll_rig_opts *o)
{
    row        *r;
    bool        is;
    ll_rig     *rig = NULL;
    llap_status st = wanted(t, name, &is, &r);
    if (!is || st != LLAP_OK) return st;
    st = ll_rig_create(o, &rig);
    if (st == LLAP_OK) st = measure(t, run_rig, rig, r);
    if (st == LLAP_OK) {
        r->steps = ll_rig_steps(rig);
        r->flops = 2.0 * ll_rig_products(rig);
        r->share = r->flops / r->median / t->all_rates[t->n];
        r->bytes = (double)ll_rig_bytes(rig);
        t->n++;
    }
    ll_rig_destroy(rig);
    return st;
}

/* -------- forecasts: every solver, every list -------- */

static llap_status measure_forecasts(bench *t)
{
    static const int lists[] = { 0, 64, 16, 8 }; /* 0: the profile's own */
    llap_status      st = LLAP_OK;
    const bool       gpu = t->base.backend->memory != NULL; /* does not plan UniPC */
    for (int s = LL_SOLVER_DDIM; s <= LL_SOLVER_UNIPC - gpu && st == LLAP_OK; s++)
        for (size_t k = 0; k < sizeof lists / sizeof *lists && st == LLAP_OK; k++) {
            ll_rig_opts o = t->base;
            char        name[48], steps[16];
            o.what = LL_RIG_FORECAST;
            o.rows = 1;
            o.solver = (ll_solver)s;
            o.steps = lists[k];
            o.honest = lists[k] > 0;
            snprintf(steps, sizeof steps, "%d steps", lists[k]);
            snprintf(name, sizeof name, "forecast %s %s", ll_solver_names[s],
                     lists[k] == 0 ? "usual list" : steps);
            st = measure_rig(t, name, &o);
        }
    return st;
}

/* -------- reading CSV -------- */

typedef struct csv_text {
    char  *text;
    size_t n;
    int    threads;
} csv_text;

static llap_status run_csv(void *user)
{
    const csv_text *c = user;
    ll_csv_opts     o = LL_CSV_DEFAULT;
    llap_panel     *p = NULL;
    o.threads = c->threads;
    const llap_status st = ll_csv_read_memory("made", c->text, c->n, &o, &p, NULL);
    llap_panel_destroy(p);
    return st;
}

/* A year of hourly rows of 10 stations and 12 variables with one decimal. */
static llap_status make_csv(csv_text *c)
{
    enum { HOURS = 8760, ROWS = 10 * HOURS, VARS = 12, WIDE = 120 };
    static const int64_t start_2021 = 1609459200;
    c->text = ll_new((size_t)ROWS * WIDE, 1);
    if (c->text == NULL) return LLAP_ENOMEM;
    char *p = c->text, *end = p + (size_t)ROWS * WIDE;
    p += snprintf(p, (size_t)(end - p), "entity,time,a,b,c,d,e,f,g,h,i,j,k,l\n");
    for (int r = 0; r < ROWS; r++) {
        char time[LL_TIME_TEXT_MAX];
        ll_time_format((start_2021 + r % HOURS * 3600) * 1000000000, NULL, 0, time);
        p += snprintf(p, (size_t)(end - p), "s%02d,%s", r / HOURS, time);
        for (int v = 0; v < VARS; v++)
            p += snprintf(p, (size_t)(end - p), ",%d.%d", (r * 7 + v * 131) % 1000, (r + v) % 10);
        *p++ = '\n';
    }
    c->n = (size_t)(p - c->text);
    return LLAP_OK;
}

static llap_status measure_csv(bench *t)
{
    csv_text    c = { .threads = t->base.n_threads };
    row        *r;
    bool        is;
    llap_status st = wanted(t, "csv reading", &is, &r);
    if (!is || st != LLAP_OK) return st;
    st = make_csv(&c);
    if (st == LLAP_OK) st = measure(t, run_csv, &c, r);
    if (st == LLAP_OK) {
        r->bytes = (double)c.n;
        t->n++;
    }
    ll_free(c.text);
    return st;
}

/* -------- results -------- */

static double peak_bytes(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return 1024.0 * (double)u.ru_maxrss;
}

static llap_status as_json(bench *t, char **text)
{
    ll_json_writer w = { .indent = 2 };
    size_t         n;
    ll_json_open(&w, NULL, '{');
    ll_json_put_string(&w, "size", ll_rig_sizes[t->base.size]);
    ll_json_put_int(&w, "threads", t->base.n_threads);
    ll_json_put_string(&w, "backend", t->base.backend->name);
    ll_json_put_string(&w, "cpu", ll_cpu_instructions());
    ll_json_put_double(&w, "product_gflops", 1e-9 * median(t->all_rates, t->n));
    ll_json_put_double(&w, "peak_mb", 1e-6 * peak_bytes());
    ll_json_open(&w, "measurements", '[');
    for (int i = 0; i < t->n; i++) {
        const row *r = &t->row[i];
        ll_json_open(&w, NULL, '{');
        ll_json_put_string(&w, "name", r->name);
        ll_json_put_int(&w, "runs", r->runs);
        ll_json_put_int(&w, "steps", r->steps);
        ll_json_put_double(&w, "median_s", r->median);
        ll_json_put_double(&w, "least_s", r->least);
        ll_json_put_double(&w, "most_s", r->most);
        if (r->flops > 0.0) {
            ll_json_put_double(&w, "gflops", 1e-9 * r->flops / r->median);
            ll_json_put_double(&w, "share_of_products", r->share);
        }
        ll_json_put_double(&w, "mb", 1e-6 * r->bytes);
        ll_json_close(&w, '}');
    }
    ll_json_close(&w, ']');
    ll_json_close(&w, '}');
    return ll_json_finish(&w, text, &n);
}

static void as_table(bench *t, FILE *f)
{
    fprintf(f, "size %s, %d threads, %s, %s; bare products %.1f GFLOP/s\n\n",
            ll_rig_sizes[t->base.size], t->base.n_threads, ll_cpu_instructions(),
            t->base.backend->name, 1e-9 * median(t->all_rates, t->n));
    fprintf(f, "%-28s %6s %10s %10s %10s %5s %8s %9s %8s\n", "", "steps", "median ms", "least",
            "most", "runs", "GFLOP/s", "of bare", "MB");
    for (int i = 0; i < t->n; i++) {
        const row *r = &t->row[i];
        fprintf(f, "%-28s %6d %10.2f %10.2f %10.2f %5d", r->name, r->steps, 1e3 * r->median,
                1e3 * r->least, 1e3 * r->most, r->runs);
        if (r->flops > 0.0)
            fprintf(f, " %8.1f %7.0f %%", 1e-9 * r->flops / r->median, 100.0 * r->share);
        else fprintf(f, " %8s %9s", "", "");
        fprintf(f, " %8.1f\n", 1e-6 * r->bytes);
    }
    fprintf(f, "\nMB: plans and parameters, or what was read. The process took %.0f MB at most.\n",
            1e-6 * peak_bytes());
}

static llap_status as_text(bench *t, char **text)
{
    size_t            n;
    ll_memory_file    to;
    const llap_status st = ll_memory_file_open(&to);
    if (st == LLAP_OK) as_table(t, to.stream);
    return ll_memory_file_close(&to, st, text, &n);
}

static llap_status measure_all(bench *t)
{
    ll_rig_opts o = t->base;
    o.what = LL_RIG_FORWARD;
    llap_status st = measure_rig(t, "denoiser forward", &o);
    o.what = LL_RIG_STEP;
    if (st == LLAP_OK) st = measure_rig(t, "training step", &o);
    if (st == LLAP_OK) st = measure_forecasts(t);
    o.rows = 1;
    o.what = LL_RIG_SUMMARY;
    if (st == LLAP_OK) st = measure_rig(t, "summarizer", &o);
    o.what = LL_RIG_DECODE;
    if (st == LLAP_OK) st = measure_rig(t, "vae decoding", &o);
    if (st == LLAP_OK && o.backend->memory == NULL) st = measure_csv(t);
    if (st == LLAP_OK && t->n == 0)
        st = ll_fail(LLAP_EOPTION, "only: no measurement has '%s' in its name", t->o->only);
    return st;
}

llap_status llap_bench(const llap_bench_opts *given, int json, char **text)
{
    static const ll_rig_size size[] = { [LLAP_BENCH_SIZE_TINY] = LL_RIG_TINY,
                                        [LLAP_BENCH_SIZE_SMALL] = LL_RIG_SMALL,
                                        [LLAP_BENCH_SIZE_PAPER] = LL_RIG_PAPER };
    llap_bench_opts          o;
    *text = NULL;
    llap_status st = llap_options_resolve(llap_bench_options(), given, &o, sizeof o);
    if (st != LLAP_OK) return st;
    bench *t = ll_new(1, sizeof *t);
    if (t == NULL) return LLAP_ENOMEM;
    assert(o.size > 0 && o.samples > 0 && o.horizon > 0);
    t->o = &o;
    t->base.size = size[o.size];
    t->base.n_threads = o.threads > 0 ? (int)o.threads : omp_get_max_threads();
    t->base.rows = o.batch > 0 ? o.batch : o.size == LLAP_BENCH_SIZE_PAPER ? 10 : 128;
    t->base.samples = o.samples;
    t->base.horizon = o.horizon;
    st = ll_backend_choose(o.device, o.precision, &t->base.backend);
    if (t->base.backend == NULL) t->base.backend = &ll_backend_cpu;
    if (st == LLAP_OK) st = prepare_product(t);
    if (st == LLAP_OK) st = measure_all(t);
    if (st == LLAP_OK) st = json ? as_json(t, text) : as_text(t, text);
    ll_run_destroy(t->run);
    ll_plan_release(t->plan);
    for (int i = 0; i < 2; i++) ll_device_release(t->base.backend, t->device_data[i]);
    ll_free(t->x);
    ll_free(t->w);
    ll_free(t);
    return st;
}
