/* Residual networks of a small size for tests: data, training, samples. */
#ifndef LLAP_TESTS_RESIDUAL_RESIDUAL_NETWORKS_H
#define LLAP_TESTS_RESIDUAL_RESIDUAL_NETWORKS_H

#include "apart.h"

#include "base/rng/rng.h"
#include "residual/residual.h"

enum { N = 2, ROWS = 160, H = 6, WINDOWS = 12, BATCH = 4, STEPS = 5, SAMPLES = 5 };

static double           t[ROWS], y[N][ROWS], tq[WINDOWS][H];
static float            u[N][ROWS];
static const float     *columns[N][1];
static ll_record        record[N];
static ll_series        series[N];
static const ll_series *all_series[1] = { series };
static size_t           known[N] = { 0, 1 };
static ll_anchor_model *anchor;
static ll_feature_set  *set;
static ll_layout        layout;

static int set_up(void **state)
{
    (void)state;
    ll_chain              *chain = NULL;
    const ll_anchor_spec   spec = { .context = 24, .horizon = H };
    const ll_anchor_kernel k = ll_anchor_kernel_hourly();
    const ll_chain_opts    o = { .transform = true, .z_clip = 5 };
    ll_feature_example     row[WINDOWS];
    for (int e = 0; e < N; e++) {
        const ll_rng r = ll_rng_make(3, LL_STREAM_TEST, (uint64_t)e, 0, 0);
        for (uint64_t i = 0; i < ROWS; i++) {
            t[i] = (double)i;
            y[e][i] = 5 + e + sin(0.3 * (double)i) + 0.3 * (double)ll_rng_normal(&r, i);
        }
        series[e] = (ll_series){ .n = ROWS, .t = t, .y = y[e] };
        columns[e][0] = u[e];
        record[e] = (ll_record){ ROWS, t, columns[e] };
    }
    if (ll_chain_fit(series, N, &o, &chain) != LLAP_OK) return 1;
    for (int e = 0; e < N; e++)
        for (int i = 0; i < ROWS; i++)
            u[e][i] =
                (float)ll_chain_u(chain, (size_t)e, t[i], ll_chain_z(chain, (size_t)e, y[e][i]));
    if (ll_anchor_model_create(&spec, chain, &k, 4, &anchor) != LLAP_OK) return 1;
    for (int w = 0; w < WINDOWS; w++) {
        for (int q = 0; q < H; q++) tq[w][q] = 40.0 + 8 * w + q + 1;
        row[w] = (ll_feature_example){
            .origin = 40 + 8 * w, .n_query = H, .t_query = tq[w], .id = (uint64_t)w
        };
    }
    layout = (ll_layout){
        .view = LL_FEATURE_JOINT, .entities = N, .targets = 1, .horizon = H, .level = true
    };
    ll_feature_slots(24, 1, &layout);
    static const ll_anchor_model *anchors[1];
    anchors[0] = anchor;
    const ll_feature_source from = {
        .history = record, .known = known, .n = N, .anchor = anchors, .series = all_series
    };
    return ll_feature_set_create(&layout, &from, row, WINDOWS, &set) != LLAP_OK;
}

static int tear_down(void **state)
{
    (void)state;
    ll_feature_set_destroy(set);
    ll_anchor_model_destroy(anchor);
    return 0;
}

static bool no_dropout;

static double shift; /* what depends on one is computed in floats where rows are in device memory:
                        see below */
static int64_t batch = BATCH,
               at_once = 2; /* rows of a step, samples of a row that are drawn at once */
static ll_solver solver = LL_SOLVER_DPMPP_2M;

static ll_residual_config config(void)
{
    ll_residual_config c = {
        .layout = layout,
        .patches = LL_PATCH_DEFAULT(ll_feature_token_dim(&layout), layout.tokens),
        .denoiser = LL_DENOISER_DEFAULT(ll_feature_channels(&layout), ll_feature_query_dim(&layout))
    };
    c.patches.hidden_dim = c.denoiser.hidden_dim = 32;
    c.patches.num_heads = 4;
    c.patches.num_layers = c.denoiser.num_layers = 1;
    c.patches.entities = ll_feature_embeddings(&layout);
    c.denoiser.laplace_k = 4;
    if (no_dropout) c.patches.dropout = c.denoiser.dropout = c.denoiser.attn_dropout = 0.0;
    return c;
}

typedef struct trained {
    double     loss[STEPS], norm[STEPS];
    ll_params *params; /* of the trainer */
    float      x[WINDOWS * SAMPLES * H * N];
} trained;

/* A sampler of the trainer's average by two members, on that backend; index: all windows. */
static ll_residual_sampler *sampler_of(const ll_params *params, const ll_draw_plan *plan,
                                       uint32_t index[WINDOWS])
{
    const ll_residual_config c = config();
    const ll_residual_member m[2] = { { params, LL_PARAMS_EMA, NULL },
                                      { params, LL_PARAMS_EMA, NULL } };
    ll_residual_sampler     *s;
    for (uint32_t i = 0; i < WINDOWS; i++) index[i] = i;
    CHECK_OK(ll_residual_sampler_create(&c, m, 2, plan, &s));
    return s;
}

static ll_draw_plan plan_on(const ll_backend *b)
{
    return (ll_draw_plan){ .rows = 5,
                           .samples = at_once,
                           .h = H,
                           .solver = solver,
                           .steps = 4,
                           .first = 0.995,
                           .last = 0.005,
                           .n_threads = 1,
                           .backend = b };
}

/* Its samples; rows that went through at once. */
static int64_t draw(const ll_params *params, const ll_backend *b, float *out)
{
    const ll_draw_plan   o = plan_on(b);
    uint32_t             index[WINDOWS];
    ll_residual_sampler *s = sampler_of(params, &o, index);
    CHECK_OK(ll_residual_draw(s, set, index, WINDOWS, 7, SAMPLES, out));
    const int64_t rows = ll_residual_sampler_rows(s);
    ll_residual_sampler_destroy(s);
    return rows;
}

static llap_status start(const ll_backend *b, ll_residual_trainer **trainer)
{
    const ll_residual_config c = config();
    ll_residual_opts         o = LL_RESIDUAL_OPTS;
    o.batch = batch;
    o.steps = STEPS;
    o.warmup = 1;
    o.lr = 1e-3;
    o.backend = b;
    o.vary.noise = 0.1;
    o.vary.drop = 0.2;
    o.vary.shift = shift;
    return ll_residual_trainer_create(&c, set, &o, trainer);
}

static void train_steps(const ll_backend *b, trained *out, ll_residual_trainer **trainer)
{
    CHECK_OK(start(b, trainer));
    for (int i = 0; i < STEPS; i++)
        CHECK_OK(ll_residual_step(*trainer, i, &out->loss[i], &out->norm[i]));
    out->params = ll_residual_trainer_params(*trainer);
    CHECK_OK(ll_params_pull(out->params));
}

static inline void train(const ll_backend *b, trained *out, ll_residual_trainer **trainer)
{
    train_steps(b, out, trainer);
    draw(out->params, b, out->x);
}

static inline void device_data(const char *what, const ll_backend *b, double found, double expected,
                               double tol)
{
    if (!(fabs(found - expected) <= tol))
        fail_msg("%s on %s: expected %.9g, found %.9g", what, b->name, expected, found);
}

#endif
