/* One reverse step of the reference denoiser: everything in one plan for every sample, against
 * halves and folded weights. Sizes of the paper by default, smaller with an argument: sampler
 * [poles]. */
#include "bench.h"

#include "backend/cpu/cpu.h"
#include "diffusion/denoiser_steps.h"

enum { RUNS = 3, HORIZON = 168, TOKENS = 336, SAMPLES = 5 };

static llap_status make_params(const ll_denoiser_config *c, ll_params **out)
{
    ll_graph   *g;
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    const ll_denoiser_in in = { .z = ll_input(g, "z", LL_SHAPE(1, 2, c->data_dim)),
                                .t = ll_input_int(g, "t", LL_SHAPE(1)),
                                .E = ll_input(g, "E", LL_SHAPE(1, 2, c->hidden_dim)) };
    ll_denoiser(g, c, &in);
    st = ll_params_create(g, &ll_backend_cpu, out);
    ll_graph_destroy(g);
    if (st == LLAP_OK) ll_params_init(*out, 1);
    return st == LLAP_OK ? ll_denoiser_init(*out, "", 1) : st;
}

static float tq[HORIZON], E[TOKENS * 256], x[SAMPLES * HORIZON * 24], pred[SAMPLES * HORIZON * 24];

int main(int argc, char **argv)
{
    static const char *names[] = { "one plan", "halves", "folded" };
    ll_denoiser_config c = LL_DENOISER_PAPER(24);
    ll_params         *params = NULL;
    double             t[3][RUNS], create[3];
    if (argc > 1) c.laplace_k = atoi(argv[1]);
    for (int i = 0; i < HORIZON; i++) tq[i] = 1.0f + (float)i;
    for (int i = 0; i < TOKENS * 256; i++) E[i] = (float)(i % 17) * 0.1f - 0.8f;
    for (int i = 0; i < SAMPLES * HORIZON * 24; i++) x[i] = (float)(i % 13) * 0.15f - 0.9f;
    if (make_params(&c, &params) != LLAP_OK) return 1;
    ll_denoiser_steps *d[3] = { NULL };
    for (int i = 0; i < 3; i++) {
        const ll_prepared_denoiser_opts o = { .extent = { 1, SAMPLES, HORIZON, 24 },
                                              .S = TOKENS,
                                              .backend = &ll_backend_cpu,
                                              .n_threads = 1,
                                              .whole = i == 0,
                                              .folded = i == 2,
                                              .sampler = LL_SAMPLER_REFERENCE };
        BENCH_TIME(create[i], if (ll_denoiser_steps_create(&c, params, &o, &d[i]) != LLAP_OK ||
                                  ll_denoiser_steps_windows(
                                      d[i], &(ll_prepared_denoiser_batch){ .tq = tq, .E = E }) !=
                                      LLAP_OK) return 1);
    }
    for (int r = 0; r < RUNS; r++)
        for (int i = 0; i < 3; i++) {
            const ll_predictor p = ll_denoiser_steps_predictor(d[i]);
            const ll_point     at = { .t = 500 - r };
            BENCH_TIME(t[i][r], (void)p.predict(p.user, r, &at, true, x, NULL, pred);
                       (void)p.predict(p.user, r, &at, false, x, NULL, pred));
        }
    for (int i = 0; i < 3; i++) {
        qsort(t[i], RUNS, sizeof **t, bench_compare);
        printf("%-9s %7.1f ms a step of both passes, %d samples (%.2f of one plan); ready in %.1f "
               "ms\n",
               names[i], 1e3 * t[i][RUNS / 2], SAMPLES, t[i][RUNS / 2] / t[0][RUNS / 2],
               1e3 * create[i]);
        ll_denoiser_steps_destroy(d[i]);
    }
    ll_params_destroy(params);
    return 0;
}
