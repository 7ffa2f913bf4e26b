/* What a GPU takes, in each precision:
 *
 *     gpu [DEVICE] ops        products, attentions and other ops at sizes of the paper's denoiser
 *     gpu [DEVICE] sample     whole samplings: reference profile at paper size, default profile
 *     gpu [DEVICE] train      training steps
 *     gpu [DEVICE] stages     training steps of the reference's first two stages, as on uci_air
 *     gpu [DEVICE] order      the order of an epoch, beside the cpu's
 *     gpu [DEVICE] profile    where the time of training steps goes, by op and shapes, in bf16
 *
 * A precision behind it, and a part of a name behind that, leave the others out; profile takes
 * another precision so.
 * Each is replayed from a recording; times are medians. Samplings include the first noise and the
 * copies there and back. */
#include "gpu.h"

#include "backend/cpu/cpu.h"
#include "backend/cuda/cuda.h"
#include "backend/device_memory.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"
#include "bench/rig.h"
#include "networks/summarizer.h"
#include "networks/vae.h"
#include "nn/optim.h"

#include <string.h>

/* -------- whole samplings and training steps -------- */

typedef struct work {
    const char *name;
    ll_rig_opts o;
} work;

static const work samplings[] = {
    { "paper, 1 x 1, 33 steps", { .size = LL_RIG_PAPER, .rows = 1, .samples = 1 } },
    { "paper, 1 x 25, 33 steps", { .size = LL_RIG_PAPER, .rows = 1, .samples = 25 } },
    { "paper, 15 x 25, 33 steps", { .size = LL_RIG_PAPER, .rows = 15, .samples = 25 } },
    { "paper, 1 x 25, dpm++ 10 steps",
      { .size = LL_RIG_PAPER,
        .rows = 1,
        .samples = 25,
        .solver = LL_SOLVER_DPMPP_2M,
        .steps = 10,
        .honest = true } },
    { "small, 1 x 25, 12 steps",
      { .size = LL_RIG_SMALL,
        .rows = 1,
        .samples = 25,
        .horizon = 24,
        .solver = LL_SOLVER_DPMPP_2M } },
    { "small, 1000 x 25, 12 steps",
      { .size = LL_RIG_SMALL,
        .rows = 1000,
        .samples = 25,
        .horizon = 24,
        .solver = LL_SOLVER_DPMPP_2M } },
};

static const work steps[] = {
    { "paper, batch 10", { .size = LL_RIG_PAPER, .rows = 10 } },
    { "paper, batch 64", { .size = LL_RIG_PAPER, .rows = 64 } },
    { "paper, batch 256", { .size = LL_RIG_PAPER, .rows = 256 } },
    { "small, batch 256", { .size = LL_RIG_SMALL, .rows = 256, .horizon = 24, .latent = 12 } },
};

/* Seconds of one run, by the clock, whatever is queued finished: the median of up to 15
 * measurements, fewer where they take long. */
static llap_status measure_rig(ll_rig *r, const ll_backend *b, int n, double *out)
{
    double      t[BENCH_REPEATS], all = 0.0;
    int         got = 0;
    llap_status st = LLAP_OK;
    for (int i = -3; got < BENCH_REPEATS && (got < 3 || all < 1.5) && st == LLAP_OK; i++) {
        const double start = bench_now();
        for (int k = 0; k < n && st == LLAP_OK; k++) st = ll_rig_run(r);
        if (st == LLAP_OK) st = ll_device_finish(b);
        if (i < 0) continue;
        t[got] = (bench_now() - start) / n;
        all += n * t[got++];
    }
    qsort(t, (size_t)got, sizeof *t, bench_compare);
    *out = st == LLAP_OK ? t[got / 2] : 0.0;
    return st;
}

static llap_status works(const char *device, const work *all, size_t n, ll_rig_what what,
                         const char *only, const char *name)
{
    printf("%-32s", "ms (TFLOP/s of products)");
    for (int p = 0; p < LL_PRECISION_COUNT; p++) printf(" %18s", ll_precision_names[p]);
    printf("\n");
    for (size_t i = 0; i < n; i++) {
        if (name != NULL && strstr(all[i].name, name) == NULL) continue;
        printf("%-32s", all[i].name);
        for (int p = 0; p < LL_PRECISION_COUNT; p++) {
            const ll_backend *b;
            ll_rig           *r = NULL;
            ll_rig_opts       o = all[i].o;
            double            t = 0.0;
            if (only != NULL && strcmp(only, ll_precision_names[p]) != 0) continue;
            llap_status st = ll_device_find(device, (ll_precision)p, &b);
            o.what = what;
            o.backend = b;
            if (st == LLAP_OK) st = ll_rig_create(&o, &r);
            if (st == LLAP_OK) st = measure_rig(r, b, what == LL_RIG_STEP ? 3 : 1, &t);
            if (st == LLAP_OK) printf(" %9.2f (%6.1f)", 1e3 * t, 2e-12 * ll_rig_products(r) / t);
            else printf(" %s", llap_error_detail());
            ll_rig_destroy(r);
            fflush(stdout);
            if (st != LLAP_OK && st != LLAP_ENOMEM) return st;
        }
        printf("\n");
    }
    return LLAP_OK;
}

/* Steps of one kind: the same op between the same shapes. */
typedef struct kind {
    ll_step_info info;
    double       seconds;
    int          count;
} kind;

static int by_time(const void *a, const void *b)
{
    const double x = ((const kind *)a)->seconds, y = ((const kind *)b)->seconds;
    return (x < y) - (x > y);
}

static int gather(const ll_plan *p, const double *seconds, kind *out)
{
    int n = 0;
    for (int i = 0; i < ll_plan_n_steps(p); i++) {
        const ll_step_info s = ll_plan_step_at(p, i);
        int                k = 0;
        while (k < n && !(out[k].info.op == s.op && ll_shape_equal(&out[k].info.in, &s.in) &&
                          ll_shape_equal(&out[k].info.out, &s.out)))
            k++;
        if (k == n) out[n++] = (kind){ .info = s };
        out[k].seconds += seconds[i];
        out[k].count++;
    }
    qsort(out, (size_t)n, sizeof *out, by_time);
    return n;
}

/* Steps of one run by op and shapes, each waited for. */
static llap_status profile_run(const char *name, ll_precision precision, const ll_plan *p,
                               ll_run *r)
{
    const int   n = ll_plan_n_steps(p);
    double     *seconds = ll_new((size_t)n, sizeof *seconds), all = 0.0;
    kind       *kinds = ll_new((size_t)n, sizeof *kinds);
    llap_status st = seconds == NULL || kinds == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int i = 0; i < 2 && st == LLAP_OK; i++) st = ll_run_exec_timed(r, seconds);
    for (int i = 0; i < n && st == LLAP_OK; i++) seconds[i] = 0.0;
    if (st == LLAP_OK) st = ll_run_exec_timed(r, seconds);
    for (int i = 0; i < n && st == LLAP_OK; i++) all += seconds[i];
    const int n_kinds = st == LLAP_OK ? gather(p, seconds, kinds) : 0;
    printf("%s %s: %d kernels, %.2f ms, %.1f MiB\n", name, ll_precision_names[precision], n,
           1e3 * all, (double)ll_plan_workspace(p) / 1048576.0);
    for (int i = 0; i < n_kinds; i++) {
        const ll_step_info *s = &kinds[i].info;
        char                x[LL_SHAPE_TEXT], y[LL_SHAPE_TEXT];
        printf("  %8.3f ms %4d x %-14s %s -> %s", 1e3 * kinds[i].seconds, kinds[i].count,
               ll_op_name(s->op), ll_shape_text(&s->in, x), ll_shape_text(&s->out, y));
        if (s->products > 0.0)
            printf(" (%.1f TFLOP/s)", 2e-12 * s->products * kinds[i].count / kinds[i].seconds);
        printf("\n");
    }
    ll_free(kinds);
    ll_free(seconds);
    return st;
}

static llap_status profile(const char *device, const work *w, ll_rig_what what,
                           ll_precision precision)
{
    const ll_backend *b;
    ll_rig           *r = NULL;
    ll_rig_opts       o = w->o;
    llap_status       st = ll_device_find(device, precision, &b);
    o.what = what;
    o.backend = b;
    if (st == LLAP_OK) st = ll_rig_create(&o, &r);
    if (st == LLAP_OK) st = profile_run(w->name, precision, ll_rig_plan(r), ll_rig_inner_run(r));
    ll_rig_destroy(r);
    return st;
}

/* -------- the reference's first two stages: one entity, 13 variables, batch 10 -------- */

enum { STAGE_ROWS = 10, STAGE_CONTEXT = 336, STAGE_HORIZON = 168, STAGE_INPUTS = 13 };

static ll_tensor *vae_loss(ll_graph *g)
{
    const ll_shape           cells = LL_SHAPE(STAGE_ROWS, STAGE_HORIZON, 1, 1);
    ll_vae_config            c = LL_VAE_PAPER;
    const ll_vae_loss_config loss = LL_VAE_LOSS_BASE;
    c.n_entities = 1;
    c.dropout = 0.1;
    const ll_vae_batch x = { .y = gpu_in(g, "y", cells),
                             .obs = gpu_in(g, "obs", cells),
                             .ent = gpu_in(g, "ent", LL_SHAPE(STAGE_ROWS, 1)),
                             .eps = gpu_in(g, "eps", LL_SHAPE(STAGE_ROWS, STAGE_HORIZON, c.latent)),
                             .view = { { gpu_in(g, "u", cells), gpu_in(g, "n", cells) } } };
    return ll_vae_loss(g, &c, &loss, &x).loss;
}

static ll_tensor *summarizer_loss(ll_graph *g)
{
    const ll_shape       cells = LL_SHAPE(STAGE_ROWS, STAGE_CONTEXT, 1, STAGE_INPUTS);
    ll_summarizer_config c = LL_SUMMARIZER_PAPER;
    c.n_entities = 1;
    c.features = STAGE_INPUTS;
    c.context = c.tokens = STAGE_CONTEXT;
    c.dropout = 0.1;
    const ll_history                x = { .x = gpu_in(g, "x", cells),
                                          .dx = gpu_in(g, "dx", cells),
                                          .obs = gpu_in(g, "seen", cells),
                                          .ent = gpu_in(g, "ent", LL_SHAPE(STAGE_ROWS, 1)),
                                          .dt = gpu_in(g, "dt", LL_SHAPE(STAGE_ROWS, STAGE_CONTEXT, 1)) };
    const ll_summary                s = ll_summarize(g, &c, &x);
    const ll_summarizer_heads       heads = ll_summarizer_decode(g, &c, s.context);
    const ll_summarizer_loss_config loss = LL_SUMMARIZER_LOSS_BASE;
    return ll_summarizer_loss(g, &loss, &s, &heads, NULL).loss;
}

static const gpu_job stages[] = { { "vae, batch 10", vae_loss, 0 },
                                  { "summarizer, batch 10", summarizer_loss, 0 } };

/* Every input is 1, so that it counts whatever it is. */
static llap_status bind_ones(const ll_backend *b, ll_plan *p, ll_run *r, void **kept)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < ll_plan_n_slots(p) && st == LLAP_OK; i++) {
        const ll_slot *s = ll_plan_slot(p, i);
        const int64_t  n = ll_shape_count(&s->shape);
        if (s->leaf != LL_LEAF_INPUT) continue;
        float *x = ll_new((size_t)n, sizeof *x);
        if (x == NULL) return LLAP_ENOMEM;
        for (int64_t k = 0; k < n; k++)
            if (s->elem == LL_INT) ((int32_t *)x)[k] = 1;
            else x[k] = 1.0f;
        st = ll_device_alloc(b, (size_t)n * sizeof *x, &kept[i]);
        if (st == LLAP_OK) st = ll_device_put(b, kept[i], x, (size_t)n * sizeof *x);
        if (st == LLAP_OK) st = ll_device_finish(b);
        if (st == LLAP_OK) st = ll_run_bind_device(r, s->name, kept[i], n);
        ll_free(x);
    }
    return st;
}

/* Its time, or with no place for it a profile. */
static llap_status run_stage(const gpu_job *j, const char *device, ll_precision precision,
                             double *seconds)
{
    const ll_backend *b;
    ll_graph         *g = NULL;
    ll_plan          *p = NULL;
    ll_run           *r = NULL;
    ll_params        *params = NULL;
    void            **kept = NULL;
    llap_status       st = ll_device_find(device, precision, &b);
    if (st == LLAP_OK) st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    if (b == NULL) b = &ll_backend_cpu;
    ll_nn_train(g, j->build(g), &LL_TRAIN_DEFAULT);
    st = ll_params_create(g, b, &params);
    if (st == LLAP_OK) {
        ll_params_init(params, 1);
        st = ll_params_push(params);
    }
    const ll_plan_opts o = { .backend = b, .n_threads = 1, .beside = true };
    if (st == LLAP_OK) st = ll_plan_create(g, &o, &p);
    if (st == LLAP_OK) st = ll_run_create(p, &r);
    if (st == LLAP_OK) st = ll_params_bind(params, LL_PARAMS_MODEL, p, r);
    if (st == LLAP_OK) kept = ll_new((size_t)ll_plan_n_slots(p), sizeof *kept);
    if (st == LLAP_OK) st = kept == NULL ? LLAP_ENOMEM : bind_ones(b, p, r, kept);
    if (st == LLAP_OK)
        st = seconds != NULL ? gpu_measure(b, r, seconds) : profile_run(j->name, precision, p, r);
    ll_run_destroy(r);
    for (int i = 0; kept != NULL && i < ll_plan_n_slots(p); i++) ll_device_release(b, kept[i]);
    ll_free(kept);
    ll_plan_release(p);
    ll_params_destroy(params);
    ll_graph_destroy(g);
    return st;
}

static llap_status measure_stages(const char *device, const char *only)
{
    llap_status st = LLAP_OK;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        for (int p = 0; p < LL_PRECISION_COUNT && st == LLAP_OK; p++) {
            double t = 0.0;
            if (only != NULL && strcmp(only, ll_precision_names[p]) != 0) continue;
            st = run_stage(&stages[i], device, (ll_precision)p, &t);
            if (st == LLAP_OK)
                printf("%-32s %s %9.2f ms\n", stages[i].name, ll_precision_names[p], 1e3 * t);
        }
    return st;
}

/* A forward pass, and the training steps of that name. */
static llap_status profiles(const char *device, const char *only, const char *name)
{
    const work  forward = { "paper, forward of 25 rows", { .size = LL_RIG_PAPER, .rows = 25 } };
    llap_status st = LLAP_OK;
    for (int p = 0; p < LL_PRECISION_COUNT && st == LLAP_OK; p++) {
        if (strcmp(only == NULL ? "bf16" : only, ll_precision_names[p]) != 0) continue;
        if (name == NULL || strstr(forward.name, name) != NULL)
            st = profile(device, &forward, LL_RIG_FORWARD, (ll_precision)p);
        for (size_t i = 0; i < sizeof steps / sizeof *steps && st == LLAP_OK; i++)
            if (name == NULL || strstr(steps[i].name, name) != NULL)
                st = profile(device, &steps[i], LL_RIG_STEP, (ll_precision)p);
        for (size_t i = 0; i < sizeof stages / sizeof *stages && st == LLAP_OK; i++)
            if (name == NULL || strstr(stages[i].name, name) != NULL)
                st = run_stage(&stages[i], device, (ll_precision)p, NULL);
    }
    return st;
}

/* -------- the order of an epoch -------- */

static llap_status order_once(const ll_backend *b, int64_t n, uint32_t epoch, void *out)
{
    const ll_rng      r = ll_rng_make(1, LL_STREAM_SHUFFLE, 0, 0, epoch);
    const llap_status st = ll_device_order(b, out, n, 1, &r, (uint32_t *)out + n);
    return st == LLAP_OK ? ll_device_finish(b) : st;
}

static llap_status measure_order(const char *device)
{
    static const int64_t size[] = { 6700, 100000, 1000000 };
    const ll_backend    *on[2] = { NULL, &ll_backend_cpu };
    llap_status          st = ll_device_find(device, LL_PRECISION_FP32, &on[0]);
    if (st == LLAP_OK && on[0] == NULL) on[0] = &ll_backend_cpu;
    for (size_t i = 0; i < sizeof size / sizeof *size && st == LLAP_OK; i++) {
        double t[2][BENCH_REPEATS];
        for (int k = 0; k < 2 && st == LLAP_OK; k++) {
            void        *out = NULL;
            const size_t bytes = 4 * (size_t)size[i] + ll_order_work(size[i]);
            st = ll_device_alloc(on[k], bytes, &out);
            for (uint32_t r = 0; r < BENCH_REPEATS + 3 && st == LLAP_OK; r++)
                BENCH_TIME(t[k][r % BENCH_REPEATS], st = order_once(on[k], size[i], r, out));
            ll_device_release(on[k], out);
        }
        if (st == LLAP_OK)
            printf("order of %8lld rows %9.3f ms, cpu %9.3f ms\n", (long long)size[i],
                   1e3 * bench_median(t[0]), 1e3 * bench_median(t[1]));
    }
    return st;
}

int main(int argc, char **argv)
{
    const char       *device = argc > 1 ? argv[1] : "cuda";
    const char       *what = argc > 2 ? argv[2] : "ops";
    llap_status       st = LLAP_EINVAL;
    const char       *only = argc > 3 ? argv[3] : NULL; /* one precision */
    const char       *name = argc > 4 ? argv[4] : NULL;
    const ll_backend *found;
    if (argc < 2 && ll_device_find(device, LL_PRECISION_FP32, &found) != LLAP_OK) {
        printf("nothing to measure: %s\n", llap_error_detail()); /* `make bench` runs everything */
        return 77;
    }
    if (strcmp(what, "ops") == 0) st = gpu_ops(device);
    if (strcmp(what, "sample") == 0)
        st = works(device, samplings, sizeof samplings / sizeof *samplings, LL_RIG_FORECAST, only,
                   name);
    if (strcmp(what, "train") == 0)
        st = works(device, steps, sizeof steps / sizeof *steps, LL_RIG_STEP, only, name);
    if (strcmp(what, "stages") == 0) st = measure_stages(device, only);
    if (strcmp(what, "order") == 0) st = measure_order(device);
    if (strcmp(what, "profile") == 0) st = profiles(device, only, name);
    if (st != LLAP_OK) fprintf(stderr, "gpu: %s\n", llap_error_detail());
    return llap_status_exit_code(st);
}
