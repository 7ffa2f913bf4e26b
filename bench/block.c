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

static llap_tensor *dense(llap_graph *g, const char *name, llap_tensor *x, int64_t width)
{
    llap_scope_push(g, name);
    llap_tensor *w = llap_param(g, "weight", LLAP_SHAPE(width, llap_dim(x, -1)), LLAP_INIT_ZERO);
    llap_tensor *b = llap_param(g, "bias", LLAP_SHAPE(width), LLAP_INIT_ZERO);
    llap_tensor *y = llap_linear(g, x, w, b);
    llap_scope_pop(g);
    return y;
}

/* AdaLN from a table of scale and shift that is shared by all. */
static llap_tensor *ada(llap_graph *g, const char *name, llap_tensor *x)
{
    llap_tensor *ss = llap_input(g, name, LLAP_SHAPE(2 * WIDTH)), *p[2];
    llap_split_axis(g, ss, -1, 2, p);
    return llap_modulated_norm(g, x, p[0], p[1], 1e-5);
}

static llap_tensor *block(llap_graph *g, llap_tensor *theta, llap_tensor *summary, int i)
{
    const llap_attention_opts att = { .n_heads = HEADS };
    llap_tensor              *p[3], *kv[2];
    llap_scope_pushf(g, "blocks.%d", i);
    llap_tensor *pos = llap_param(g, "mode_pos", LLAP_SHAPE(TOKENS, WIDTH), LLAP_INIT_ZERO);
    llap_tensor *x = llap_add(g, dense(g, "coef2hid", theta, WIDTH), pos);
    llap_tensor *q = dense(g, "q", ada(g, "ss_q", x), WIDTH);
    llap_split_axis(g, dense(g, "kv", summary, 2 * WIDTH), -1, 2, kv); /* shared by the samples */
    x = llap_add(g, x, dense(g, "proj_cross", llap_attention(g, q, kv[0], kv[1], &att), WIDTH));
    llap_split_axis(g, dense(g, "qkv", ada(g, "ss_1", x), 3 * WIDTH), -1, 3, p);
    x = llap_add(g, x, dense(g, "proj", llap_attention(g, p[0], p[1], p[2], &att), WIDTH));
    llap_tensor *h = llap_gelu(g, dense(g, "mlp.0", ada(g, "ss_2", x), 4 * WIDTH));
    x = llap_add(g, x, dense(g, "mlp.3", h, WIDTH));
    theta = llap_add(g, theta, dense(g, "hid2coef", x, LATENT));
    llap_scope_pop(g);
    return theta;
}

static llap_status plan_stack(int samples, bool plain, int n_threads, llap_plan **out)
{
    llap_graph *g;
    llap_status st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    llap_tensor *theta = llap_input(g, "theta", LLAP_SHAPE(BATCH, samples, TOKENS, LATENT));
    llap_tensor *summary = llap_input(g, "summary", LLAP_SHAPE(BATCH, 1, SUMMARY, WIDTH));
    for (int i = 0; i < BLOCKS; i++) theta = block(g, theta, summary, i);
    llap_output(g, "theta", theta);
    st = llap_plan_create(g, &(llap_plan_opts){ &llap_backend_cpu, n_threads, plain }, out);
    llap_graph_destroy(g);
    return st;
}

static double seconds_of(llap_plan *p)
{
    llap_run     *r;
    static double t[BENCH_REPEATS];
    float        *memory[256];
    int           n = llap_plan_n_slots(p);
    if (n > 256 || llap_run_create(p, &r) != LLAP_OK) return -1.0;
    for (int i = 0; i < n; i++) {
        const llap_slot *s = llap_plan_slot(p, i);
        const int64_t    count = llap_shape_count(&s->shape);
        memory[i] = llap_new_aligned((size_t)count, sizeof **memory);
        if (memory[i] == NULL) return -1.0;
        for (int64_t k = 0; k < count; k++)
            memory[i][k] = 0.05f * (float)((k * 7919) % 31 - 15) / 15;
        (void)llap_run_bind(r, s->name, memory[i], count);
    }
    for (int i = 0; i < BENCH_REPEATS; i++) BENCH_TIME(t[i], (void)llap_run_exec(r));
    llap_run_destroy(r);
    for (int i = 0; i < n; i++) llap_free(memory[i]);
    return bench_median(t);
}

int main(void)
{
    llap_plan *one, *all, *plain;
    if (plan_stack(1, false, 1, &one) != LLAP_OK ||
        plan_stack(SAMPLES, false, 2, &all) != LLAP_OK ||
        plan_stack(SAMPLES, true, 2, &plain) != LLAP_OK) {
        printf("%s\n", llap_error_detail());
        return 1;
    }
    const double mb = 1e-6 * (double)llap_plan_workspace(all);
    printf("workspace, %d samples  %6.1f MB (limit 250), unplanned %.1f MB\n", SAMPLES, mb,
           1e-6 * (double)llap_plan_workspace(plain));
    printf("steps                  %6d, unfused %d\n", llap_plan_n_steps(all),
           llap_plan_n_steps(plain));
    const double t1 = seconds_of(one);
    printf("one sample             %6.1f ms\n", 1e3 * t1);
    llap_plan_release(one);
    llap_plan_release(all);
    llap_plan_release(plain);
    return mb <= 250.0 && t1 > 0.0 ? 0 : 1;
}
