/* The stages of the reference profile: ten steps of each against the same by hand, gaps, switches,
 * what is not finite, what fails. */
#include "apart.h"
#include "hand.h"
#include "lossless.h"

#include "base/rng.h"
#include "base/scratch.h"
#include "data/loader.h"
#include "model/latent.h"
#include "model/model.h"
#include "nn/optim.h"
#include "task/reference.h"
#include "task/task.h"

#include <omp.h>
#include <unistd.h>

enum { N = 2, ROWS = 121, L = 12, QUERIES = 4, D = 2, C = 1, GROUPS = 5, TEN = 10, SEED = 3 };
#define HOUR INT64_C(3600000000000)

/* Two stations on a grid, two variables, some values missing. */
static llap_panel *make_panel(void)
{
    static const char *const entity[] = { "a", "b" }, *const var[] = { "v", "w" };
    static const int64_t start[] = { 0, ROWS, 2 * ROWS };
    llap_panel_draft     d = { .axis = LLAP_AXIS_UTC,
                               .n_entities = N,
                               .n_vars = D,
                               .entity = entity,
                               .var = var,
                               .start = start };
    llap_panel          *p;
    CHECK_OK(llap_panel_create(&d, &p));
    for (int64_t i = 0; i < N * ROWS; i++) {
        d.time[i] = i % ROWS * HOUR;
        for (int64_t v = 0; v < D; v++) {
            if ((i * 7 + v * 3) % 11 == 0) continue;
            d.value[i * D + v] = (float)(sin(0.26 * (double)i) + 0.3 * cos(1.7 * (double)(i + v)));
            llap_bit_set(d.observed, i * D + v);
        }
    }
    return p;
}

static llap_train_opts options(const char *history)
{
    llap_train_opts o = LLAP_TRAIN_OPTS;
    o.target = "v", o.context = "12", o.horizon = "4";
    o.profile = "reference";
    o.steps = 50; /* 16, 10 and 50 */
    o.batch = GROUPS;
    o.seed = SEED;
    o.history = history;
    return o;
}

/* ---- the data, by the data layer's own means ---- */

typedef struct view {
    llap_panel   *panel;
    llap_windows *w;
    llap_split   *split;
    llap_scaling *scaling;
    llap_scaled  *scaled;
    llap_rows    *rows;
    llap_loader  *loader;
} view;

static void view_init(view *v, const llap_model *m, llap_panel *p)
{
    static const int64_t target[] = { 0 };
    llap_loader_opts     lo = LLAP_LOADER_DEFAULT;
    lo.n_groups = GROUPS;
    lo.order = LLAP_ORDER_BATCHES;
    lo.seed = SEED;
    lo.threads = 0;
    lo.batch.diff = LLAP_DIFF_PLAIN;
    v->panel = p;
    CHECK_OK(task_windows(&m->frame, p, target, 1, &v->w));
    CHECK_OK(task_split(&m->frame, v->w, &v->split));
    CHECK_OK(llap_scaling_create(v->w, v->split, &LLAP_SCALING_DEFAULT, &v->scaling));
    CHECK_OK(llap_scaled_create(p, v->scaling, &v->scaled));
    CHECK_OK(llap_rows_create(v->w, v->split, LLAP_PART_TRAIN, LLAP_VIEW_JOINT, &v->rows));
    CHECK_OK(llap_loader_create(v->rows, v->scaled, &lo, &v->loader));
    CHECK_OK(llap_loader_start(v->loader, 0));
}

static void view_deinit(view *v)
{
    llap_loader_destroy(v->loader);
    llap_rows_destroy(v->rows);
    llap_scaled_destroy(v->scaled);
    llap_scaling_destroy(v->scaling);
    llap_split_destroy(v->split);
    llap_windows_destroy(v->w);
}

/* The batch of the next step; the test's panel has more than ten full ones. */
static const llap_batch *next(view *v)
{
    const llap_batch *b;
    CHECK_OK(llap_loader_next(v->loader, &b));
    assert_non_null(b);
    return b;
}

static void check_losses(const char *log, const char *stage, const double *by_hand, int every)
{
    double found[TEN];
    read_losses(log, stage, found, TEN / every);
    for (int i = 0; i < TEN / every; i++) {
        double mean = 0;
        for (int k = 0; k < every; k++) mean += by_hand[i * every + k] / every;
        /* single against double precision, through ten steps of Adam */
        if (fabs(found[i] - mean) > 2e-4 * fabs(mean))
            fail_msg("%s, line %d: expected a loss of %.7g, found %.7g", stage, i, mean, found[i]);
    }
    assert_true(fabs(by_hand[TEN - 1] - by_hand[0]) >
                1e-3 * fabs(by_hand[0])); /* something was learned */
}

/* [B,h,N,C] from [B,N,h,C]. */
static void targets(const llap_batch *b, double *y, double *obs, double *ent)
{
    for (int64_t i = 0; i < b->n_rows * N * QUERIES; i++) {
        const int64_t row = i / (N * QUERIES), n = i / QUERIES % N, k = i % QUERIES;
        y[(row * QUERIES + k) * N + n] = (double)b->y[i];
        obs[(row * QUERIES + k) * N + n] = b->y_obs[i];
    }
    for (int64_t i = 0; i < b->n_rows * N; i++) ent[i] = b->valid[i];
}

static void history(const llap_batch *b, double *x, double *dx, double *seen, double *dt,
                    double *ent)
{
    for (int64_t i = 0; i < b->n_rows * N * L; i++) {
        const int64_t to = (i / (N * L) * L + i % L) * N + i / L % N;
        dt[to] = (double)b->delta_t[i];
        for (int d = 0; d < D; d++) {
            x[to * D + d] = (double)b->v[i * D + d];
            dx[to * D + d] = (double)b->dv[i * D + d];
            seen[to * D + d] = b->x_obs[i * D + d];
        }
    }
    for (int64_t i = 0; i < b->n_rows * N; i++) ent[i] = b->valid[i];
}

static void put(double *to, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] = (double)x[i];
}

/* ---- the three stages ---- */

static void by_hand_vae(const llap_network_config *c, view *v, double *loss)
{
    hand                  h = { 0 };
    const int64_t         Z = c->vae.latent, cells = QUERIES * N * C;
    const llap_vae_config cfg = llap_network_vae(c, true);
    llap_vae_loss_config  lc = LLAP_VAE_LOSS_BASE;
    CHECK_OK(llap_graph_create(&h.g));
    const llap_shape     s = LLAP_SHAPE(GROUPS, QUERIES, N, C);
    const llap_vae_batch in = { .y = llap_input(h.g, "y", s),
                                .obs = llap_input(h.g, "obs", s),
                                .ent = llap_input(h.g, "ent", LLAP_SHAPE(GROUPS, N)),
                                .eps = llap_input(h.g, "eps", LLAP_SHAPE(GROUPS, QUERIES, Z)),
                                .view = { { llap_input(h.g, "u", s), llap_input(h.g, "n", s) } } };
    llap_scope_push(h.g, "vae");
    const llap_vae_terms t = llap_vae_loss(h.g, &cfg, &lc, &in);
    llap_scope_pop(h.g);
    llap_tensor *beta = llap_input(h.g, "beta", LLAP_SCALAR);
    hand_init(&h, llap_add(h.g, t.recon, llap_mul(h.g, beta, t.kl)), SEED);
    double *y = hand_in(&h, "y", GROUPS * cells), *obs = hand_in(&h, "obs", GROUPS * cells);
    double *ent = hand_in(&h, "ent", GROUPS * N), *eps = hand_in(&h, "eps", GROUPS * QUERIES * Z);
    double *u = hand_in(&h, "u", GROUPS * cells), *n = hand_in(&h, "n", GROUPS * cells);
    double *b_in = hand_in(&h, "beta", 1);
    for (int k = 0; k < TEN; k++) {
        const llap_batch *b = next(v);
        float             x[QUERIES * 64];
        targets(b, y, obs, ent);
        for (int i = 0; i < GROUPS; i++) {
            llap_rng r = llap_rng_make(SEED, LLAP_STREAM_NOISE, b->id[i], 0, (uint32_t)k);
            llap_rng_fill_normal(&r, 0, (size_t)(QUERIES * Z), x);
            put(eps + i * QUERIES * Z, x, QUERIES * Z);
            r = llap_rng_make(SEED, LLAP_STREAM_MASK, b->id[i], 1, (uint32_t)k);
            llap_rng_fill_uniform(&r, 0, (size_t)cells, x);
            put(u + i * cells, x, cells);
            r = llap_rng_make(SEED, LLAP_STREAM_NOISE, b->id[i], 1, (uint32_t)k);
            llap_rng_fill_normal(&r, 0, (size_t)cells, x);
            put(n + i * cells, x, cells);
        }
        /* 16 steps are epochs of one step: the weight of KL grows from the sixth on */
        *b_in = k + 1 <= 5 ? 0 : 1e-3 * (k + 1 - 5) / 25;
        loss[k] = hand_step(&h, k, 2e-3, (hand_optim){ .beta2 = 0.999, .decay = 1e-4 });
    }
    hand_deinit(&h);
}

static llap_summary summary_of(llap_graph *g, const llap_network_config *c, int64_t B,
                               bool training)
{
    const llap_summarizer_config cfg = llap_network_summarizer(c, training);
    const llap_shape             s = LLAP_SHAPE(B, L, N, D);
    const llap_history           in = { .x = llap_input(g, "x", s),
                                        .dx = llap_input(g, "dx", s),
                                        .obs = llap_input(g, "seen", s),
                                        .ent = llap_input(g, "ent", LLAP_SHAPE(B, N)),
                                        .dt = llap_input(g, "dt", LLAP_SHAPE(B, L, N)) };
    llap_scope_push(g, "summarizer");
    const llap_summary out = llap_summarize(g, &cfg, &in);
    llap_scope_pop(g);
    return out;
}

static void by_hand_summarizer(const llap_network_config *c, view *v, double *loss)
{
    hand                              h = { 0 };
    const int64_t                     cells = GROUPS * L * N * D;
    const llap_summarizer_config      cfg = llap_network_summarizer(c, true);
    const llap_summarizer_loss_config lc = LLAP_SUMMARIZER_LOSS_BASE;
    CHECK_OK(llap_graph_create(&h.g));
    const llap_summary s = summary_of(h.g, c, GROUPS, true);
    llap_scope_push(h.g, "summarizer");
    const llap_summarizer_heads heads = llap_summarizer_decode(h.g, &cfg, s.context);
    llap_scope_pop(h.g);
    hand_init(&h, llap_summarizer_loss(h.g, &lc, &s, &heads).loss, SEED);
    llap_summarizer_start(h.p, &cfg, "summarizer.");
    double *x = hand_in(&h, "x", cells), *dx = hand_in(&h, "dx", cells);
    double *seen = hand_in(&h, "seen", cells), *dt = hand_in(&h, "dt", GROUPS * L * N);
    double *ent = hand_in(&h, "ent", GROUPS * N);
    for (int k = 0; k < TEN; k++) {
        history(next(v), x, dx, seen, dt, ent);
        loss[k] = hand_step(&h, k, 1e-3, (hand_optim){ .beta2 = 0.999, .decay = 1e-4 });
    }
    hand_deinit(&h);
}

/* Latents and summaries of all training rows by the trained networks, one row at a time. */
static void encode(const llap_model *m, view *v, float *mu, float *any, double *E, float *tq,
                   uint64_t *id)
{
    const llap_network_config *c = &m->network->config;
    const llap_vae_config      vae = llap_network_vae(c, false);
    const int64_t              Z = vae.latent, SH = c->summarizer.tokens * c->summarizer.width;
    hand                       h = { 0 };
    llap_batch                 b = { 0 };
    llap_batch_opts            bo = LLAP_BATCH_DEFAULT;
    bo.diff = LLAP_DIFF_PLAIN;
    CHECK_OK(llap_graph_create(&h.g));
    llap_tensor *y = llap_input(h.g, "y", LLAP_SHAPE(1, QUERIES, N, C));
    llap_tensor *obs = llap_input(h.g, "obs", LLAP_SHAPE(1, QUERIES, N, C));
    llap_output(h.g, "E", summary_of(h.g, c, 1, false).context);
    llap_tensor *ent = llap_input(h.g, "ent", LLAP_SHAPE(1, N));
    llap_scope_push(h.g, "vae");
    llap_tensor *code = llap_vae_encode(h.g, &vae, llap_vae_tokens(h.g, y, obs), ent).mu;
    llap_scope_pop(h.g);
    llap_output(h.g, "mu", code);
    hand_init(&h, llap_sum(h.g, code, LLAP_ALL_AXES), SEED);
    for (int i = 0; i < llap_params_count(h.p); i++) {
        const llap_param_info *x = llap_params_at(h.p, i);
        const llap_param_info *from = llap_params_find(m->network->params, x->name);
        for (int64_t k = 0; from != NULL && k < x->count && x->elem == LLAP_REAL; k++)
            llap_param_set(h.p, x, k, llap_param_get(m->network->params, from, k));
    }
    double *iy = hand_in(&h, "y", QUERIES * N), *io = hand_in(&h, "obs", QUERIES * N);
    double *ie = hand_in(&h, "ent", N), *x = hand_in(&h, "x", L * N * D);
    double *dx = hand_in(&h, "dx", L * N * D), *seen = hand_in(&h, "seen", L * N * D);
    double *dt = hand_in(&h, "dt", L * N);
    for (int64_t i = 0; i < v->rows->n_rows; i++) {
        CHECK_OK(llap_batch_fill(&b, v->rows, v->scaled, &bo, &i, 1));
        targets(&b, iy, io, ie);
        history(&b, x, dx, seen, dt, ie);
        CHECK_OK(llap_run_exec(h.run));
        const double *z = llap_run_output(h.run, "mu", NULL),
                     *e = llap_run_output(h.run, "E", NULL);
        for (int64_t k = 0; k < QUERIES * Z; k++) mu[i * QUERIES * Z + k] = (float)z[k];
        for (int64_t k = 0; k < SH; k++) E[i * SH + k] = e[k];
        for (int64_t k = 0; k < QUERIES; k++) {
            any[i * QUERIES + k] = b.any_obs[k];
            tq[i * QUERIES + k] = b.tau[k];
        }
        id[i] = b.id[0];
    }
    llap_batch_deinit(&b);
    hand_deinit(&h);
}

static void by_hand_diffusion(const llap_model *m, view *v, double *loss)
{
    const llap_network_config *c = &m->network->config;
    const llap_schedule       *noise = m->network->schedule;
    const int64_t              Z = c->vae.latent, S = c->summarizer.tokens, H = c->summarizer.width;
    const int64_t              n = v->rows->n_rows, codes = QUERIES * Z, SH = S * H;
    const size_t               rows = (size_t)n;
    float                     *mu = llap_new(rows * (size_t)codes, sizeof *mu), mean[64], std[64];
    float                     *any = llap_new(rows * QUERIES, sizeof *any);
    float                     *tq = llap_new(rows * QUERIES, sizeof *tq);
    double                    *E = llap_new(rows * (size_t)SH, sizeof *E);
    uint64_t                  *id = llap_new(rows, sizeof *id);
    hand                       h = { 0 };
    llap_loss_opts             o = {
                    .predict = LLAP_PREDICT_V, .min_snr = true, .gamma = 5, .normalize = LLAP_WEIGHT_AUTO
    };
    encode(m, v, mu, any, E, tq, id);
    llap_latent_stats *stats;
    CHECK_OK(llap_latent_stats_create(1, Z, &stats));
    llap_latent_stats_add(stats, mu, any, n, QUERIES);
    llap_latent_stats_finish(stats, mean, std);
    llap_latent_stats_destroy(stats);
    for (int64_t k = 0; k < H; k++) { /* summaries by the statistics of training */
        double s = 0, q = 0;
        for (int64_t i = 0; i < n * S; i++) s += E[i * H + k] / (double)(n * S);
        for (int64_t i = 0; i < n * S; i++) q += (E[i * H + k] - s) * (E[i * H + k] - s);
        q = sqrt(q / (double)(n * S));
        for (int64_t i = 0; i < n * S; i++) E[i * H + k] = (E[i * H + k] - s) / (q + 1e-6);
    }
    CHECK_OK(llap_graph_create(&h.g));
    const llap_loss_in in = { .z0 = llap_input(h.g, "z0", LLAP_SHAPE(GROUPS, QUERIES, Z)),
                              .eps = llap_input(h.g, "eps", LLAP_SHAPE(GROUPS, QUERIES, Z)),
                              .t = llap_input_int(h.g, "t", LLAP_SHAPE(GROUPS)),
                              .mask = llap_input(h.g, "mask", LLAP_SHAPE(GROUPS, QUERIES)),
                              .tq = llap_input(h.g, "tq", LLAP_SHAPE(GROUPS, QUERIES)),
                              .E = llap_input(h.g, "E", LLAP_SHAPE(GROUPS, S, H)),
                              .conditional = llap_input(h.g, "c", LLAP_SHAPE(GROUPS)),
                              .training = true };
    llap_scope_push(h.g, "denoiser");
    llap_tensor *total = llap_diffusion_loss(h.g, &c->denoiser, noise, &o, &in);
    llap_scope_pop(h.g);
    hand_init(&h, total, SEED);
    CHECK_OK(llap_denoiser_init(h.p, "denoiser.", SEED));
    double *z0 = hand_in(&h, "z0", GROUPS * codes), *eps = hand_in(&h, "eps", GROUPS * codes);
    double *mask = hand_in(&h, "mask", GROUPS * QUERIES), *ie = hand_in(&h, "E", GROUPS * SH);
    double *itq = hand_in(&h, "tq", GROUPS * QUERIES), *flag = hand_in(&h, "c", GROUPS);
    int32_t t[GROUPS];
    CHECK_OK(llap_run_bind(h.run, "t", t, GROUPS));
    const int64_t  batches = (n + GROUPS - 1) / GROUPS;
    uint32_t       order[64];
    const llap_rng shuffle = llap_rng_make(SEED, LLAP_STREAM_SHUFFLE, 3, 0, 0);
    assert_true(n % GROUPS == 0 && batches <= 64 && batches > TEN);
    llap_rng_permute(&shuffle, (size_t)batches, order);
    for (int k = 0; k < TEN; k++) {
        for (int i = 0; i < GROUPS; i++) {
            const int64_t        row = order[k] * GROUPS + i;
            float                x[QUERIES * 64], f;
            const llap_draw_opts d = { .seed = SEED, .drop = 0.18 };
            llap_diffusion_draw(noise, &d, id[row], (uint32_t)k, &t[i], &f, x, (size_t)codes);
            flag[i] = (double)f;
            put(eps + i * codes, x, codes);
            put(mask + i * QUERIES, any + row * QUERIES, QUERIES);
            put(itq + i * QUERIES, tq + row * QUERIES, QUERIES);
            memcpy(ie + i * SH, E + row * SH, (size_t)SH * sizeof *E);
            for (int64_t j = 0; j < codes; j++)
                z0[i * codes + j] =
                    any[row * QUERIES + j / Z] > 0
                        ? ((double)mu[row * codes + j] - (double)mean[j % Z]) / (double)std[j % Z]
                        : 0;
        }
        /* warm-up over 0.095 of 50 steps: 4 of them */
        loss[k] = hand_step(&h, k, 1e-3 * (k < 4 ? (k + 1) / 4.0 : 1),
                            (hand_optim){ .beta2 = 0.999, .decay = 5e-4 });
    }
    hand_deinit(&h);
    llap_free(mu);
    llap_free(any);
    llap_free(tq);
    llap_free(E);
    llap_free(id);
}

static void ten_steps_of_each_stage(void **state)
{
    (void)state;
    char        log[64];
    llap_panel *p = make_panel();
    llap_model *m;
    view        v;
    double      loss[TEN];
    snprintf(log, sizeof log, "%s/log", folder);
    llap_train_opts o = options(log);
    CHECK_OK(llap_train(p, &o, &m));
    const llap_network_config *c = &m->network->config;
    view_init(&v, m, p);
    by_hand_vae(c, &v, loss);
    check_losses(log, "vae", loss, 1);
    CHECK_OK(llap_loader_start(v.loader, 0));
    by_hand_summarizer(c, &v, loss);
    check_losses(log, "summarizer", loss, 1);
    by_hand_diffusion(m, &v, loss);
    check_losses(log, "denoiser", loss, 5);
    view_deinit(&v);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

static void what_is_not_finite_is_named(void **state)
{
    (void)state;
    llap_panel     *p = make_panel();
    llap_model     *m;
    llap_train_opts o = options(NULL);
    o.lr = 1e30; /* the first step throws the weights out of single precision */
    CHECK_FAIL(llap_train(p, &o, &m), LLAP_ENUMERIC, "vae: step ");
    assert_non_null(strstr(llap_error_detail(), "gradient of 'vae."));
    assert_non_null(strstr(llap_error_detail(), "; windows that end at 1970-01-0"));
    assert_non_null(strstr(llap_error_detail(), "8 such steps were skipped"));
    llap_panel_destroy(p);
}

/* ---- gaps ---- */

static llap_answer *fill(const llap_model *m, const llap_panel *p, int causal)
{
    llap_impute_opts o = LLAP_IMPUTE_OPTS;
    llap_answer     *a = NULL;
    o.all = 1;
    o.causal = causal;
    CHECK_OK(llap_impute(m, p, &o, &a));
    return a;
}

/* Do both say the same about target v at all rows of times t < before? */
static bool same_before(const llap_answer *a, const llap_answer *b, int64_t before)
{
    const size_t n = (size_t)a->n_numbers;
    bool         same = true;
    assert_int_equal(a->n_rows, b->n_rows);
    for (size_t k = 0; k < a->n_rows; k++)
        if (a->row[k].time < before)
            same = same && memcmp(a->number + k * n, b->number + k * n, n * sizeof(double)) == 0;
    return same;
}

static void gaps_are_filled_around_what_was_read(void **state)
{
    (void)state;
    enum { LATE = 111 }; /* at 110 there is a gap */
    llap_panel     *p = make_panel(), *other = make_panel();
    llap_model     *m;
    llap_train_opts o = options(NULL);
    const int       threads = omp_get_max_threads();
    o.steps = 20;
    CHECK_OK(llap_train(p, &o, &m));
    m->network->config.sampling.steps = 6; /* quick */
    for (int64_t i = 0; i < N * ROWS; i++)
        if (i % ROWS >= LATE) ((float *)other->value)[i * D] += 1.0f;
    for (int causal = 0; causal < 2; causal++) {
        llap_answer *a = fill(m, p, causal), *c = fill(m, other, causal);
        omp_set_num_threads(threads == 1 ? 2 : 1);
        llap_answer *b = fill(m, p, causal);
        omp_set_num_threads(threads);
        assert_true(same_before(a, b, INT64_MAX));
        assert_true(same_before(a, c, LATE * HOUR) ==
                    (causal != 0)); /* later readings count, or not */
        for (size_t k = 0; k < a->n_rows; k++) {
            const double *x = a->number + k * (size_t)a->n_numbers;
            const int64_t row = a->row[k].entity * ROWS + a->row[k].time / HOUR;
            assert_true(a->row[k].observed == llap_panel_observed(p, row, 0));
            for (int q = 0; q < a->n_numbers; q++) {
                assert_true(isfinite(x[q]) && (q < 2 || x[q] >= x[q - 1]));
                if (a->row[k].observed) assert_true(x[q] == (double)p->value[row * D]);
            }
        }
        llap_answer_destroy(a);
        llap_answer_destroy(b);
        llap_answer_destroy(c);
    }
    llap_model_destroy(m);
    llap_panel_destroy(p);
    llap_panel_destroy(other);
}

/* ---- the switches that only imported models have ---- */

static llap_model *make_model(bool identity, bool conditioning, bool adapter)
{
    static const char *const entity[] = { "a", "b" }, *const target[] = { "v" },
                             *const inputs[] = { "v", "w" };
    const llap_network_dims         d = { .entities = N, .inputs = D, .targets = C, .context = L };
    const llap_model_frame          f = { .n_targets = C,
                                          .n_entities = N,
                                          .target = target,
                                          .entity = entity,
                                          .axis = LLAP_AXIS_CALENDAR,
                                          .axis_unit = 1,
                                          .unit = HOUR,
                                          .context = L * HOUR,
                                          .horizon = QUERIES * HOUR,
                                          .step = HOUR,
                                          .val_start = 80 * HOUR,
                                          .test_start = 90 * HOUR };
    llap_network_config             c;
    llap_model                     *m = NULL;
    CHECK_OK(llap_network_config_named(LLAP_PROFILE_REFERENCE, LLAP_SIZE_TINY, &d, &c));
    c.denoiser.timesteps = 50;
    c.sampling.steps = 6;
    c.options.conditioning = conditioning;
    c.options.cond_adapter = adapter;
    if (identity) {
        c.options.latent = LLAP_LATENT_IDENTITY;
        c.denoiser.data_dim = N * C;
    }
    if (!conditioning) c.options.cond_norm = LLAP_COND_NORM_NONE;
    CHECK_OK(llap_model_create(&f, NULL, &m));
    CHECK_OK(llap_network_create(&c, inputs, &m->network));
    CHECK_OK(llap_network_start(m->network, 5, 1.0));
    return m;
}

static llap_answer *ahead(const llap_model *m, const llap_panel *p)
{
    llap_forecast_opts o = LLAP_FORECAST_OPTS;
    llap_answer       *a = NULL;
    o.samples = 8;
    CHECK_OK(llap_forecast(m, p, &o, &a));
    assert_int_equal(a->n_rows, N * QUERIES);
    for (size_t k = 0; k < a->n_rows * (size_t)a->n_numbers; k++)
        assert_true(isfinite(a->number[k]));
    return a;
}

static bool equal(const llap_answer *a, const llap_answer *b)
{
    return same_before(a, b, INT64_MAX);
}

static void set_all(llap_model *m, const char *name, float x)
{
    const llap_param_info *p = llap_params_find(m->network->params, name);
    assert_non_null(p);
    for (int64_t k = 0; k < p->count; k++) ((float *)p->data)[k] = x;
}

static void every_switch_forecasts_and_fills(void **state)
{
    (void)state;
    llap_panel *p = make_panel(), *other = make_panel();
    for (int64_t i = 0; i < N * ROWS * D; i++) ((float *)other->value)[i] *= 0.5f;
    for (int i = 0; i < 4; i++) {
        const bool   conditioning = i % 2 == 0;
        llap_model  *m = make_model(i / 2 > 0, conditioning, false);
        llap_answer *a = ahead(m, p), *b = ahead(m, other), *g = fill(m, p, 0);
        assert_true(equal(a, b) == !conditioning); /* without a summary the past says nothing */
        llap_answer_destroy(a);
        llap_answer_destroy(b);
        llap_answer_destroy(g);
        llap_model_destroy(m);
    }
    for (int identity = 0; identity < 2; identity++) {
        llap_model  *plain = make_model(identity, true, false);
        llap_model  *m = make_model(identity, true, true);
        llap_answer *a = ahead(plain, p), *b = ahead(m, p);
        set_all(m, "denoiser.cond_adapter.fuse.4.weight", 0); /* an adapter that adds nothing */
        set_all(m, "denoiser.cond_adapter.fuse.4.bias", 0);
        llap_answer *c = ahead(m, p);
        assert_false(equal(a, b));
        assert_true(equal(a, c));
        llap_answer_destroy(a);
        llap_answer_destroy(b);
        llap_answer_destroy(c);
        llap_model_destroy(plain);
        llap_model_destroy(m);
    }
    llap_panel_destroy(p);
    llap_panel_destroy(other);
}

/* ---- what does not fit, what does not learn ---- */

static void latents_in_a_file_and_batches_made_ahead_change_nothing(void **state)
{
    (void)state;
    llap_panel     *p = make_panel();
    llap_train_opts o = options(NULL);
    o.steps = 20;
    save_trained(p, &o, in_folder("whole"));
    const size_t usual = llap_scratch_heap(0);
    save_trained(p, &o, in_folder("mapped"));
    setenv("TMPDIR", "/nowhere", 1);
    llap_model *m;
    CHECK_FAIL(llap_train(p, &o, &m), LLAP_ENOTFOUND, "/nowhere/llapdiff-"); /* it is used */
    unsetenv("TMPDIR");
    (void)llap_scratch_heap(usual);
    check_same_file(in_folder("whole"), in_folder("mapped"));
    for (int i = -1; i < 3; i += 3) { /* none ahead, two threads; 0 was the run above */
        const int threads = omp_get_max_threads();
        o.prefetch = i;
        omp_set_num_threads(i < 0 ? 1 : 2);
        save_trained(p, &o, in_folder("other"));
        omp_set_num_threads(threads);
        check_same_file(in_folder("whole"), in_folder("other"));
    }
    llap_panel_destroy(p);
}

static void failing_writes_lose_nothing(void **state)
{
    (void)state;
    llap_panel     *p = make_panel();
    llap_train_opts o = options(NULL);
    check_lossless(p, o, 9);
    llap_panel_destroy(p);
}

static void count_collapses(void *user, llap_log_level level, const char *message)
{
    *(int *)user += level == LLAP_LOG_WARNING &&
                    strstr(message, "vae: the posterior has collapsed after step ") != NULL;
}

/* Targets without any information: the code learns to be noise. */
static void a_posterior_that_collapses_is_said(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* what is learned is the same there, many times slower */
#endif
    int      said[2] = { 0 };
    llap_log log = { .level = LLAP_LOG_WARNING, .sink = count_collapses };
    for (int flat = 0; flat < 2; flat++) {
        llap_panel     *p = make_panel();
        llap_model     *m;
        llap_train_opts o = options(NULL);
        o.steps = flat ? 1200 : 300, o.lr = 3e-3;
        for (int64_t i = 0; flat && i < N * ROWS; i++) ((float *)p->value)[i * D] = 1.0f;
        log.user = &said[flat];
        o.log = &log;
        CHECK_OK(llap_train(p, &o, &m));
        llap_model_destroy(m);
        llap_panel_destroy(p);
    }
    assert_int_equal(said[0], 0);
    assert_true(said[1] > 0);
}

/* Paths of the second window's entity behind its last rows. */
static void paths_of(const llap_model *m, const llap_panel *p, const llap_backend *b, double *out)
{
    const int64_t   var = 0;
    task_forecaster f = { 0 };
    task_forecast   answer;
    llap_arena      arena = { 0 };
    int64_t         time[QUERIES];
    const int64_t   origin = p->time[ROWS - QUERIES - 1];
    for (int k = 0; k < QUERIES; k++) time[k] = origin + (k + 1) * HOUR;
    const task_window w = { .first = 0,
                            .end = ROWS - QUERIES,
                            .origin = origin,
                            .n_query = QUERIES,
                            .time = time,
                            .id = task_window_id(p, 0, origin) };
    CHECK_OK(task_model_forecaster(m, p, &var, b, NULL, &f));
    CHECK_OK(f.forecast(&f, &(task_ask){ .n_samples = TEN, .seed = 7 }, &w, 1, &arena, &answer));
    memcpy(out, answer.value, TEN * QUERIES * sizeof *out);
    llap_arena_deinit(&arena);
    task_forecaster_deinit(&f);
}

static void same_networks(const llap_model *a, const llap_model *b)
{
    for (int i = 0; i < llap_params_count(a->network->params); i++) {
        const llap_param_info *x = llap_params_at(a->network->params, i),
                              *y = llap_params_find(b->network->params, x->name);
        if (memcmp(x->data, y->data, (size_t)x->count * sizeof(float)) != 0)
            fail_msg("'%s' is another one", x->name);
    }
}

/* From the third stage's first step on: an allocation, after so many copies. */
static int refuse_once(void *user, const llap_progress_event *e)
{
    if (strcmp(e->stage, "denoiser") == 0 && e->done == 0) {
        apart_state.after_copies = *(int *)user;
        apart_state.n_refused = 1;
    }
    return 0;
}

/* All three stages and forecasts on a backend with memory of its own: the same numbers, also where
 * they begin with the networks of a model. */
static void behind_a_wall(void **state)
{
    (void)state;
    const llap_backend b = apart_backend();
    const int64_t      var = 0;
    llap_panel        *p = make_panel();
    llap_train_opts    o = options(NULL);
    llap_model        *here, *there;
    double             expected[TEN * QUERIES], found[TEN * QUERIES], top = 0, worst = 0;
    int                copies;
    CHECK_OK(llap_train(p, &o, &here));
    CHECK_OK(task_reference_train(p, &o, NULL, &here->frame, &var, &b, &there));
    same_networks(here, there);
    paths_of(here, p, &llap_backend_cpu, expected);
    paths_of(here, p, &b, found);
    for (int k = 0; k < TEN * QUERIES; k++) {
        top = fmax(top, fabs(expected[k]));
        worst = fmax(worst, fabs(expected[k] - found[k]));
    }
    assert_true(top > 0 && worst < 1e-5 * top); /* sums in another order */
    llap_model_destroy(there);
    /* No room for something once the denoiser's steps go together: they go on one by one, or with
     * rows that stay here. */
    o.progress = (llap_progress){ refuse_once, &copies };
    for (copies = 1; apart_state.n_refused == 0; copies += 2) {
        CHECK_OK(task_reference_train(p, &o, NULL, &here->frame, &var, &b, &there));
        same_networks(here, there);
        llap_model_destroy(there);
        assert_true(copies > 1 || apart_state.n_refused == 0);
    }
    apart_state.n_refused = apart_state.after_copies = 0;
    o.progress = (llap_progress){ 0 };
    CHECK_OK(llap_model_save(here, in_folder("from.safetensors")));
    llap_model_destroy(here);
    o.from = in_folder("from.safetensors");
    o.steps = 6;
    CHECK_OK(llap_train(p, &o, &here));
    CHECK_OK(task_reference_train(p, &o, NULL, &here->frame, &var, &b, &there));
    same_networks(here, there);
    llap_model_destroy(here);
    llap_model_destroy(there);
    llap_panel_destroy(p);
}

/* Stops in the middle of the third stage. */
static int stop_the_denoiser(void *user, const llap_progress_event *e)
{
    (void)user;
    return strcmp(e->stage, "denoiser") == 0 && e->done >= 7;
}

static void copy_file(const char *from, const char *to)
{
    llap_map m;
    CHECK_OK(llap_map_open(from, &m));
    FILE *f = fopen(to, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(m.data, 1, m.size, f), m.size);
    fclose(f);
    llap_map_close(&m);
}

/* A state of the cpu goes on behind a wall, and the other way round, to the same numbers; steps
 * that are not finite are told there as here. */
static void states_cross_a_wall(void **state)
{
    (void)state;
    const llap_backend        b = apart_backend();
    const llap_backend *const on[] = { &llap_backend_cpu, &b };
    const int64_t             var = 0;
    llap_panel               *p = make_panel();
    llap_train_opts           o = options(NULL);
    llap_model               *whole, *m;
    char                      said[2][LLAP_DETAIL_MAX], kept[300];
    CHECK_OK(llap_train(p, &o, &whole));
    snprintf(kept, sizeof kept, "%s", in_folder("kept.state"));
    o.state = in_folder("w.state");
    for (int i = 0; i < 2; i++) {
        o.progress = (llap_progress){ stop_the_denoiser, NULL };
        o.resume = 0;
        const llap_status st = task_reference_train(p, &o, NULL, &whole->frame, &var, on[i], &m);
        assert_int_equal(st, LLAP_ECANCELLED);
        copy_file(o.state, kept);
        o.progress = (llap_progress){ 0 };
        o.resume = 1;
        CHECK_OK(task_reference_train(p, &o, NULL, &whole->frame, &var, on[1 - i], &m));
        same_networks(whole, m);
        llap_model_destroy(m);
        unlink(o.state);
    }
    for (int i = 0; i < 2; i++) {
        copy_file(kept, o.state);
        o.lr = 1e30;
        CHECK_FAIL(task_reference_train(p, &o, NULL, &whole->frame, &var, on[i], &m), LLAP_ENUMERIC,
                   "denoiser: step ");
        snprintf(said[i], sizeof said[i], "%s", llap_error_detail());
        unlink(o.state);
    }
    assert_string_equal(said[0], said[1]);
    assert_non_null(strstr(said[0], "gradient of 'denoiser."));
    assert_non_null(strstr(said[0], "; windows that end at 1970-01-0"));
    unlink(kept);
    llap_model_destroy(whole);
    llap_panel_destroy(p);
}

enum { MANY = 25 };
static size_t little;  /* bytes that an allocation may have in the third stage; 0: any */
static int    refused; /* so many of them once its steps go together */

static int take_memory(void *user, const llap_progress_event *e)
{
    (void)user;
    if (refused > 0 && strcmp(e->stage, "denoiser") == 0 && e->done == 0) {
        apart_state.after_copies = 1;
        apart_state.n_refused = refused;
    }
    apart_state.limit = strcmp(e->stage, "latents of validation") == 0 ? little : apart_state.limit;
    return 0;
}

static void keep_pieces(void *user, llap_log_level level, const char *message)
{
    (void)level;
    if (strstr(message, "pieces") != NULL) snprintf(user, 256, "%s", message);
}

/* The losses of the third stage's checks; said is what was said of pieces. */
static llap_status denoiser_losses(const llap_panel *p, const llap_model *like, double *loss,
                                   char *said)
{
    static const char  text[] = "{ \"network\": { \"denoiser\": { \"dropout\": 0, "
                                "\"attn_dropout\": 0 } } }";
    const llap_backend b = apart_backend();
    const llap_log     log = { .level = LLAP_LOG_WARNING, .sink = keep_pieces, .user = said };
    const int64_t      var = 0;
    llap_train_opts    o = options(in_folder("pieces.log"));
    llap_model        *m = NULL;
    llap_json         *j;
    char               line[2048];
    CHECK_OK(llap_json_parse(text, strlen(text), "quiet", NULL, &j));
    o.batch = MANY;
    o.progress = (llap_progress){ take_memory, NULL };
    o.log = &log;
    said[0] = '\0';
    const llap_status st = task_reference_train(p, &o, j, &like->frame, &var, &b, &m);
    apart_state.limit = 0;
    llap_model_destroy(m);
    llap_json_destroy(j);
    FILE *f = fopen(in_folder("pieces.log"), "r");
    assert_non_null(f);
    for (int n = 0; st == LLAP_OK && n < TEN && fgets(line, sizeof line, f) != NULL;)
        if (strstr(line, "\"denoiser\"") != NULL)
            loss[n++] = strtod(strstr(line, "\"loss\":") + 7, NULL);
    fclose(f);
    return st;
}

/* However often there is no room: the same losses, or none; but for the order of sums, and for one
 * power iteration of spectral norms where a piece has rows of one kind alone. */
static void refusals_change_nothing(const llap_panel *p, const llap_model *like,
                                    const double *expected)
{
    double      found[TEN];
    char        said[256];
    llap_status st = LLAP_OK;
    for (refused = 1; st == LLAP_OK; refused += 3) {
        st = denoiser_losses(p, like, found, said);
        for (int i = 0; i < TEN && st == LLAP_OK; i++)
            if (!(fabs(found[i] - expected[i]) < 2e-4 * expected[i]))
                fail_msg("%d refused: loss %d is %.9g, it was %.9g", refused, i, found[i],
                         expected[i]);
        if (refused == 1) assert_true(st == LLAP_OK && apart_state.n_refused == 0);
    }
    assert_int_equal(st, LLAP_ENOMEM);
    apart_state.n_refused = apart_state.after_copies = refused = 0;
}

/* The denoiser's batches in halves, where there is no room for more. */
static void little_memory_is_enough(void **state)
{
    (void)state;
    llap_panel     *p = make_panel();
    llap_train_opts o = options(NULL);
    llap_model     *m;
    double          whole[TEN], split[TEN];
    char            said[256] = "";
    CHECK_OK(llap_train(p, &o, &m));
    CHECK_OK(denoiser_losses(p, m, whole, said));
    assert_string_equal(said, "");
    for (little = (size_t)1 << 23; said[0] == '\0'; little -= little / 8)
        CHECK_OK(denoiser_losses(p, m, split, said));
    assert_string_equal(said, "denoiser: apart: too little memory for batches of 25: they go in 2 "
                              "pieces");
    for (int i = 0; i < TEN; i++) /* sums in another order */
        if (!(fabs(split[i] - whole[i]) < 1e-5 * whole[i]))
            fail_msg("loss %d: %.9g in pieces, %.9g at once", i, split[i], whole[i]);
    little = 1;
    assert_int_equal(denoiser_losses(p, m, split, said), LLAP_ENOMEM);
    little = 0;
    refusals_change_nothing(p, m, whole);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_steps_of_each_stage),
        cmocka_unit_test(what_is_not_finite_is_named),
        cmocka_unit_test(behind_a_wall),
        cmocka_unit_test(states_cross_a_wall),
        cmocka_unit_test(little_memory_is_enough),
        cmocka_unit_test(gaps_are_filled_around_what_was_read),
        cmocka_unit_test(every_switch_forecasts_and_fills),
        cmocka_unit_test(latents_in_a_file_and_batches_made_ahead_change_nothing),
        cmocka_unit_test(failing_writes_lose_nothing),
        cmocka_unit_test(a_posterior_that_collapses_is_said),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
