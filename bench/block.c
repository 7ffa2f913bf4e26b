/* The denoiser's block stack at paper size (512 modal tokens, width 256, 4 heads, 336 summary
 * tokens, 5 blocks), inference, 25 samples of one window: workspace and time; the same unplanned.
 */
#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "bench.h"
#include "graph/plan.h"

#include <string.h>

enum {
    BATCH = 1,
    SAMPLES = 25,
    TOKENS = 512,
    WIDTH = 256,
    HEADS = 4,
    SUMMARY = 336,
    LATENT = 24,
    BLOCKS = 5
};

static ll_tensor *dense(ll_graph *g, const char *name, ll_tensor *x, int64_t width)
{
    ll_scope_push(g, name);
    ll_tensor *w = ll_param(g, "weight", LL_SHAPE(width, ll_dim(x, -1)), LL_INIT_ZERO);
    ll_tensor *b = ll_param(g, "bias", LL_SHAPE(width), LL_INIT_ZERO);
    ll_tensor *y = ll_linear(g, x, w, b);
    ll_scope_pop(g);
    return y;
}

/* AdaLN from a table of scale and shift that is shared by all. */
static ll_tensor *ada(ll_graph *g, const char *name, ll_tensor *x)
{
    ll_tensor *ss = ll_input(g, name, LL_SHAPE(2 * WIDTH)), *p[2];
    ll_split_axis(g, ss, -1, 2, p);
    return ll_modulated_norm(g, x, p[0], p[1], 1e-5);
}

static ll_tensor *block(ll_graph *g, ll_tensor *theta, ll_tensor *summary, int i)
{
    const ll_attention_opts att = { .n_heads = HEADS };
    ll_tensor              *p[3], *kv[2];
    ll_scope_pushf(g, "blocks.%d", i);
    ll_tensor *pos = ll_param(g, "mode_pos", LL_SHAPE(TOKENS, WIDTH), LL_INIT_ZERO);
    ll_tensor *x = ll_add(g, dense(g, "coef2hid", theta, WIDTH), pos);
    ll_tensor *q = dense(g, "q", ada(g, "ss_q", x), WIDTH);
    ll_split_axis(g, dense(g, "kv", summary, 2 * WIDTH), -1, 2, kv); /* shared by the samples */
    x = ll_add(g, x, dense(g, "proj_cross", ll_attention(g, q, kv[0], kv[1], &att), WIDTH));
    ll_split_axis(g, dense(g, "qkv", ada(g, "ss_1", x), 3 * WIDTH), -1, 3, p);
    x = ll_add(g, x, dense(g, "proj", ll_attention(g, p[0], p[1], p[2], &att), WIDTH));
    ll_tensor *h = ll_gelu(g, dense(g, "mlp.0", ada(g, "ss_2", x), 4 * WIDTH));
    x = ll_add(g, x, dense(g, "mlp.3", h, WIDTH));
    theta = ll_add(g, theta, dense(g, "hid2coef", x, LATENT));
    ll_scope_pop(g);
    return theta;
}

static llap_status plan_stack(int samples, bool plain, int n_threads, ll_plan **out)
{
    ll_graph   *g;
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    ll_tensor *theta = ll_input(g, "theta", LL_SHAPE(BATCH, samples, TOKENS, LATENT));
    ll_tensor *summary = ll_input(g, "summary", LL_SHAPE(BATCH, 1, SUMMARY, WIDTH));
    for (int i = 0; i < BLOCKS; i++) theta = block(g, theta, summary, i);
    ll_output(g, "theta", theta);
    st = ll_plan_create(
        g, &(ll_plan_opts){ .backend = &ll_backend_cpu, .n_threads = n_threads, .plain = plain },
        out);
    ll_graph_destroy(g);
    return st;
}

static double seconds_of(ll_plan *p)
{
    ll_run       *r;
    static double t[BENCH_REPEATS];
    float        *memory[256];
    int           n = ll_plan_n_slots(p);
    if (n > 256 || ll_run_create(p, &r) != LLAP_OK) return -1.0;
    for (int i = 0; i < n; i++) {
        const ll_slot *s = ll_plan_slot(p, i);
        const int64_t  count = ll_shape_count(&s->shape);
        memory[i] = ll_new_aligned((size_t)count, sizeof **memory);
        if (memory[i] == NULL) return -1.0;
        for (int64_t k = 0; k < count; k++)
            memory[i][k] = 0.05f * (float)((k * 7919) % 31 - 15) / 15;
        (void)ll_run_bind(r, s->name, memory[i], count);
    }
    for (int i = 0; i < BENCH_REPEATS; i++) BENCH_TIME(t[i], (void)ll_run_exec(r));
    ll_run_destroy(r);
    for (int i = 0; i < n; i++) ll_free(memory[i]);
    return bench_median(t);
}

int main(void)
{
    ll_plan *one, *all, *plain;
    if (plan_stack(1, false, 1, &one) != LLAP_OK ||
        plan_stack(SAMPLES, false, 2, &all) != LLAP_OK ||
        plan_stack(SAMPLES, true, 2, &plain) != LLAP_OK) {
        printf("%s\n", llap_error_detail());
        return 1;
    }
    const double mb = 1e-6 * (double)ll_plan_workspace(all);
    printf("workspace, %d samples  %6.1f MB (limit 250), unplanned %.1f MB\n", SAMPLES, mb,
           1e-6 * (double)ll_plan_workspace(plain));
    printf("steps                  %6d, unfused %d\n", ll_plan_n_steps(all),
           ll_plan_n_steps(plain));
    const double t1 = seconds_of(one);
    printf("one sample             %6.1f ms\n", 1e3 * t1);
    ll_plan_release(one);
    ll_plan_release(all);
    ll_plan_release(plain);
    return mb <= 250.0 && t1 > 0.0 ? 0 : 1;
}
