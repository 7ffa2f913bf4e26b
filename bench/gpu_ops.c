/* What single ops take on a GPU, at sizes of the paper's denoiser. */
#include "gpu.h"

#include "backend/cuda/cuda.h"
#include "backend/device_memory.h"
#include "base/alloc.h"
#include "base/rng/rng.h"

static ll_tensor *square_linear(ll_graph *g)
{
    return ll_linear(g, gpu_in(g, "x", LL_SHAPE(12800, 256)), gpu_in(g, "w", LL_SHAPE(256, 256)),
                     gpu_in(g, "c", LL_SHAPE(256)));
}
static ll_tensor *wide_linear(ll_graph *g)
{
    return ll_gelu(g,
                   ll_linear(g, gpu_in(g, "x", LL_SHAPE(12800, 256)),
                             gpu_in(g, "w", LL_SHAPE(1024, 256)), gpu_in(g, "c", LL_SHAPE(1024))));
}
static ll_tensor *small_linear(ll_graph *g)
{
    return ll_linear(g, gpu_in(g, "x", LL_SHAPE(512, 256)), gpu_in(g, "w", LL_SHAPE(256, 256)),
                     gpu_in(g, "c", LL_SHAPE(256)));
}
static ll_tensor *weight_gradient(ll_graph *g)
{
    return ll_matmul(g, gpu_in(g, "x", LL_SHAPE(131072, 256)), true,
                     gpu_in(g, "w", LL_SHAPE(131072, 256)), false);
}
static ll_tensor *attention(ll_graph *g, int64_t b, int64_t lk)
{
    ll_tensor *q = gpu_in(g, "q", LL_SHAPE(b, 512, 256)), *k = gpu_in(g, "k", LL_SHAPE(b, lk, 256));
    return ll_attention(g, q, k, gpu_in(g, "v", LL_SHAPE(b, lk, 256)),
                        &(ll_attention_opts){ .n_heads = 4 });
}
static ll_tensor *self_attention(ll_graph *g) { return attention(g, 25, 512); }
static ll_tensor *one_attention(ll_graph *g) { return attention(g, 1, 512); }
static ll_tensor *attention_gradient(ll_graph *g)
{
    ll_tensor *x[] = { gpu_in(g, "q", LL_SHAPE(25, 512, 256)),
                       gpu_in(g, "k", LL_SHAPE(25, 512, 256)),
                       gpu_in(g, "v", LL_SHAPE(25, 512, 256)) };
    ll_tensor *y = ll_attention(g, x[0], x[1], x[2], &(ll_attention_opts){ .n_heads = 4 }), *d[3];
    ll_gradients(g, ll_sum(g, ll_mul(g, y, x[0]), LL_ALL_AXES), x, 3, d);
    return ll_add(g, d[0], ll_add(g, d[1], d[2]));
}
static ll_tensor *norm(ll_graph *g)
{
    return ll_layer_norm(g, gpu_in(g, "x", LL_SHAPE(12800, 256)), gpu_in(g, "w", LL_SHAPE(256)),
                         gpu_in(g, "c", LL_SHAPE(256)), 1e-5);
}
static ll_tensor *chain(ll_graph *g)
{
    ll_tensor *x = gpu_in(g, "x", LL_SHAPE(12800, 256)), *z = gpu_in(g, "z", LL_SHAPE(1, 256));
    return ll_mul(g, ll_tanh(g, ll_add(g, x, z)), ll_affine(g, x, 0.5, 0.1));
}
static ll_tensor *column_sum(ll_graph *g)
{
    return ll_sum(g, gpu_in(g, "x", LL_SHAPE(131072, 256)), LL_AXIS(0));
}
static ll_tensor *square_sum(ll_graph *g)
{
    return ll_sum(g, ll_square(g, gpu_in(g, "x", LL_SHAPE(1024, 256))), LL_ALL_AXES);
}

static const gpu_job jobs[] = {
    { "linear [12800,256] -> 256", square_linear, 2.0 * 12800 * 256 * 256 },
    { "linear [12800,256] -> 1024, GELU", wide_linear, 2.0 * 12800 * 256 * 1024 },
    { "linear [512,256] -> 256", small_linear, 2.0 * 512 * 256 * 256 },
    { "[131072,256]^T [131072,256]", weight_gradient, 2.0 * 131072 * 256 * 256 },
    { "attention [25,512,256], 4 heads", self_attention, 4.0 * 25 * 512 * 512 * 256 },
    { "attention [1,512,256], 4 heads", one_attention, 4.0 * 512 * 512 * 256 },
    { "attention and gradient [25,512,256]", attention_gradient, 14.0 * 25 * 512 * 512 * 256 },
    { "norm [12800,256]", norm, 0 },
    { "chain of 4 [12800,256]", chain, 0 },
    { "sum of columns [131072,256]", column_sum, 0 },
    { "sum of squares [1024,256]", square_sum, 0 },
};

static llap_status bind_random(const ll_backend *b, ll_plan *p, ll_run *r, void **kept)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < ll_plan_n_slots(p) && st == LLAP_OK; i++) {
        const ll_slot *s = ll_plan_slot(p, i);
        const int64_t  n = ll_shape_count(&s->shape);
        const ll_rng   g = ll_rng_make(1, LL_STREAM_TEST, (uint64_t)i, 0, 0);
        float         *x = ll_new((size_t)n, sizeof *x);
        if (x == NULL) return LLAP_ENOMEM;
        ll_rng_fill_normal(&g, 0, (size_t)n, x);
        st = ll_device_alloc(b, (size_t)n * sizeof *x, &kept[i]);
        if (st == LLAP_OK) st = ll_device_put(b, kept[i], x, (size_t)n * sizeof *x);
        if (st == LLAP_OK) st = ll_run_bind_device(r, s->name, kept[i], n);
        ll_free(x);
    }
    return st;
}

llap_status gpu_measure(const ll_backend *b, ll_run *r, double *out)
{
    enum { EACH = 50 };
    double      t[BENCH_REPEATS];
    llap_status st = LLAP_OK;
    for (int k = 0; k < 5 && st == LLAP_OK; k++) st = ll_run_exec(r);
    if (st == LLAP_OK) st = ll_device_finish(b);
    for (int i = 0; i < BENCH_REPEATS && st == LLAP_OK; i++) {
        const double start = bench_now();
        for (int k = 0; k < EACH && st == LLAP_OK; k++) st = ll_run_exec(r);
        if (st == LLAP_OK) st = ll_device_finish(b);
        t[i] = (bench_now() - start) / EACH;
    }
    if (st == LLAP_OK) *out = bench_median(t);
    return st;
}

static llap_status run_job(const gpu_job *j, const ll_backend *b, double *seconds)
{
    ll_graph   *g;
    ll_plan    *p = NULL;
    ll_run     *r = NULL;
    void       *kept[8] = { NULL };
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    ll_output(g, "y", j->build(g));
    st = ll_plan_create(g, &(ll_plan_opts){ .backend = b, .n_threads = 1 }, &p);
    if (st == LLAP_OK) st = ll_run_create(p, &r);
    if (st == LLAP_OK) st = bind_random(b, p, r, kept);
    if (st == LLAP_OK) st = gpu_measure(b, r, seconds);
    ll_run_destroy(r);
    for (int i = 0; i < 8; i++) ll_device_release(b, kept[i]);
    ll_plan_release(p);
    ll_graph_destroy(g);
    return st;
}

llap_status gpu_ops(const char *device)
{
    printf("%-38s", "us (TFLOP/s)");
    for (int p = 0; p < LL_PRECISION_COUNT; p++) printf(" %16s", ll_precision_names[p]);
    printf("\n");
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        printf("%-38s", jobs[i].name);
        for (int p = 0; p < LL_PRECISION_COUNT; p++) {
            const ll_backend *b;
            double            t = 0.0;
            llap_status       st = ll_device_find(device, (ll_precision)p, &b);
            if (st == LLAP_OK) st = run_job(&jobs[i], b, &t);
            if (st != LLAP_OK) return st;
            printf(" %8.1f (%5.1f)", 1e6 * t, jobs[i].flops / t * 1e-12);
        }
        printf("\n");
        fflush(stdout);
    }
    return LLAP_OK;
}
