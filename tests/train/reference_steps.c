/* Ten steps of each stage of the reference profile against the same by hand. */
#include "folder.h"
#include "hand.h"
#include "reference_panel.h"

#include "base/rng/rng.h"
#include "data/windows/loader.h"
#include "model/model.h"
#include "networks/latent.h"
#include "nn/optim.h"
#include "predict/view/frame.h"
#include "train/reference/reference.h"

/* ---- the data, by the data layer's own means ---- */

typedef struct view {
    llap_panel      *panel;
    ll_windows      *w;
    ll_split        *split;
    ll_scaling      *scaling;
    ll_scaled       *scaled;
    ll_example_list *rows;
    ll_loader       *loader;
} view;

static void view_init(view *v, const llap_model *m, llap_panel *p)
{
    static const int64_t target[] = { 0 };
    ll_loader_opts       lo = LL_LOADER_DEFAULT;
    lo.n_groups = GROUPS;
    lo.order = LL_ORDER_BATCHES;
    lo.seed = SEED;
    lo.threads = 0;
    lo.batch.diff = LL_DIFF_PLAIN;
    v->panel = p;
    CHECK_OK(ll_frame_windows(&m->frame, p, target, 1, &v->w));
    CHECK_OK(ll_frame_split(&m->frame, v->w, &v->split));
    CHECK_OK(ll_scaling_create(v->w, v->split, &LL_SCALING_DEFAULT, &v->scaling));
    CHECK_OK(ll_scaled_create(p, v->scaling, &v->scaled));
    CHECK_OK(ll_example_list_create(v->w, v->split, LL_PART_TRAIN, LL_VIEW_JOINT, &v->rows));
    CHECK_OK(ll_loader_create(v->rows, v->scaled, &lo, &v->loader));
    CHECK_OK(ll_loader_start(v->loader, 0));
}

static void view_deinit(view *v)
{
    ll_loader_destroy(v->loader);
    ll_example_list_destroy(v->rows);
    ll_scaled_destroy(v->scaled);
    ll_scaling_destroy(v->scaling);
    ll_split_destroy(v->split);
    ll_windows_destroy(v->w);
}

/* The batch of the next step; the test's panel has more than ten full ones. */
static const ll_batch *next(view *v)
{
    const ll_batch *b;
    CHECK_OK(ll_loader_next(v->loader, &b));
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
static void targets(const ll_batch *b, double *y, double *obs, double *ent)
{
    for (int64_t i = 0; i < b->n_examples * N * QUERIES; i++) {
        const int64_t row = i / (N * QUERIES), n = i / QUERIES % N, k = i % QUERIES;
        y[(row * QUERIES + k) * N + n] = (double)b->y[i];
        obs[(row * QUERIES + k) * N + n] = b->y_obs[i];
    }
    for (int64_t i = 0; i < b->n_examples * N; i++) ent[i] = b->valid[i];
}

static void history(const ll_batch *b, double *x, double *dx, double *seen, double *dt, double *ent)
{
    for (int64_t i = 0; i < b->n_examples * N * L; i++) {
        const int64_t to = (i / (N * L) * L + i % L) * N + i / L % N;
        dt[to] = (double)b->delta_t[i];
        for (int d = 0; d < D; d++) {
            x[to * D + d] = (double)b->v[i * D + d];
            dx[to * D + d] = (double)b->dv[i * D + d];
            seen[to * D + d] = b->x_obs[i * D + d];
        }
    }
    for (int64_t i = 0; i < b->n_examples * N; i++) ent[i] = b->valid[i];
}

static void put(double *to, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] = (double)x[i];
}

/* ---- the three stages ---- */

static void by_hand_vae(const ll_network_config *c, view *v, double *loss)
{
    hand                h = { 0 };
    const int64_t       Z = c->vae.latent, cells = QUERIES * N * C;
    const ll_vae_config cfg = ll_network_vae(c, true);
    ll_vae_loss_config  lc = LL_VAE_LOSS_BASE;
    CHECK_OK(ll_graph_create(&h.g));
    const ll_shape     s = LL_SHAPE(GROUPS, QUERIES, N, C);
    const ll_vae_batch in = { .y = ll_input(h.g, "y", s),
                              .obs = ll_input(h.g, "obs", s),
                              .ent = ll_input(h.g, "ent", LL_SHAPE(GROUPS, N)),
                              .eps = ll_input(h.g, "eps", LL_SHAPE(GROUPS, QUERIES, Z)),
                              .view = { { ll_input(h.g, "u", s), ll_input(h.g, "n", s) } } };
    ll_scope_push(h.g, "vae");
    const ll_vae_terms t = ll_vae_loss(h.g, &cfg, &lc, &in);
    ll_scope_pop(h.g);
    ll_tensor *beta = ll_input(h.g, "beta", LL_SCALAR);
    hand_init(&h, ll_add(h.g, t.recon, ll_mul(h.g, beta, t.kl)), SEED);
    double *y = hand_in(&h, "y", GROUPS * cells), *obs = hand_in(&h, "obs", GROUPS * cells);
    double *ent = hand_in(&h, "ent", GROUPS * N), *eps = hand_in(&h, "eps", GROUPS * QUERIES * Z);
    double *u = hand_in(&h, "u", GROUPS * cells), *n = hand_in(&h, "n", GROUPS * cells);
    double *b_in = hand_in(&h, "beta", 1);
    for (int k = 0; k < TEN; k++) {
        const ll_batch *b = next(v);
        float           x[QUERIES * 64];
        targets(b, y, obs, ent);
        for (int i = 0; i < GROUPS; i++) {
            ll_rng r = ll_rng_make(SEED, LL_STREAM_NOISE, b->id[i], 0, (uint32_t)k);
            ll_rng_fill_normal(&r, 0, (size_t)(QUERIES * Z), x);
            put(eps + i * QUERIES * Z, x, QUERIES * Z);
            r = ll_rng_make(SEED, LL_STREAM_MASK, b->id[i], 1, (uint32_t)k);
            ll_rng_fill_uniform(&r, 0, (size_t)cells, x);
            put(u + i * cells, x, cells);
            r = ll_rng_make(SEED, LL_STREAM_NOISE, b->id[i], 1, (uint32_t)k);
            ll_rng_fill_normal(&r, 0, (size_t)cells, x);
            put(n + i * cells, x, cells);
        }
        /* 16 steps are epochs of one step: the weight of KL grows from the sixth on */
        *b_in = k + 1 <= 5 ? 0 : 1e-3 * (k + 1 - 5) / 25;
        loss[k] = hand_step(&h, k, 2e-3, (hand_optim){ .beta2 = 0.999, .decay = 1e-4 });
    }
    hand_deinit(&h);
}

static ll_summary summary_of(ll_graph *g, const ll_network_config *c, int64_t B, bool training)
{
    const ll_summarizer_config cfg = ll_network_summarizer(c, training);
    const ll_shape             s = LL_SHAPE(B, L, N, D);
    const ll_history           in = { .x = ll_input(g, "x", s),
                                      .dx = ll_input(g, "dx", s),
                                      .obs = ll_input(g, "seen", s),
                                      .ent = ll_input(g, "ent", LL_SHAPE(B, N)),
                                      .dt = ll_input(g, "dt", LL_SHAPE(B, L, N)) };
    ll_scope_push(g, "summarizer");
    const ll_summary out = ll_summarize(g, &cfg, &in);
    ll_scope_pop(g);
    return out;
}

static void by_hand_summarizer(const ll_network_config *c, view *v, double *loss)
{
    hand                            h = { 0 };
    const int64_t                   cells = GROUPS * L * N * D;
    const ll_summarizer_config      cfg = ll_network_summarizer(c, true);
    const ll_summarizer_loss_config lc = LL_SUMMARIZER_LOSS_BASE;
    CHECK_OK(ll_graph_create(&h.g));
    const ll_summary s = summary_of(h.g, c, GROUPS, true);
    ll_scope_push(h.g, "summarizer");
    const ll_summarizer_heads heads = ll_summarizer_decode(h.g, &cfg, s.context);
    ll_scope_pop(h.g);
    hand_init(&h, ll_summarizer_loss(h.g, &lc, &s, &heads, NULL).loss, SEED);
    ll_summarizer_start(h.p, &cfg, "summarizer.");
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
    const ll_network_config *c = &m->network->config;
    const ll_vae_config      vae = ll_network_vae(c, false);
    const int64_t            Z = vae.latent, SH = c->summarizer.tokens * c->summarizer.width;
    hand                     h = { 0 };
    ll_batch                 b = { 0 };
    ll_batch_opts            bo = LL_BATCH_DEFAULT;
    bo.diff = LL_DIFF_PLAIN;
    CHECK_OK(ll_graph_create(&h.g));
    ll_tensor *y = ll_input(h.g, "y", LL_SHAPE(1, QUERIES, N, C));
    ll_tensor *obs = ll_input(h.g, "obs", LL_SHAPE(1, QUERIES, N, C));
    ll_output(h.g, "E", summary_of(h.g, c, 1, false).context);
    ll_tensor *ent = ll_input(h.g, "ent", LL_SHAPE(1, N));
    ll_scope_push(h.g, "vae");
    ll_tensor *code = ll_vae_encode(h.g, &vae, ll_vae_tokens(h.g, y, obs), ent).mu;
    ll_scope_pop(h.g);
    ll_output(h.g, "mu", code);
    hand_init(&h, ll_sum(h.g, code, LL_ALL_AXES), SEED);
    for (int i = 0; i < ll_params_count(h.p); i++) {
        const ll_param_info *x = ll_params_at(h.p, i);
        const ll_param_info *from = ll_params_find(m->network->params, x->name);
        for (int64_t k = 0; from != NULL && k < x->count && x->elem == LL_REAL; k++)
            ll_param_set(h.p, x, k, ll_param_get(m->network->params, from, k));
    }
    double *iy = hand_in(&h, "y", QUERIES * N), *io = hand_in(&h, "obs", QUERIES * N);
    double *ie = hand_in(&h, "ent", N), *x = hand_in(&h, "x", L * N * D);
    double *dx = hand_in(&h, "dx", L * N * D), *seen = hand_in(&h, "seen", L * N * D);
    double *dt = hand_in(&h, "dt", L * N);
    for (int64_t i = 0; i < v->rows->n_examples; i++) {
        CHECK_OK(ll_batch_fill(&b, v->rows, v->scaled, &bo, &i, 1));
        targets(&b, iy, io, ie);
        history(&b, x, dx, seen, dt, ie);
        CHECK_OK(ll_run_exec(h.run));
        const double *z = ll_run_output(h.run, "mu", NULL), *e = ll_run_output(h.run, "E", NULL);
        for (int64_t k = 0; k < QUERIES * Z; k++) mu[i * QUERIES * Z + k] = (float)z[k];
        for (int64_t k = 0; k < SH; k++) E[i * SH + k] = e[k];
        for (int64_t k = 0; k < QUERIES; k++) {
            any[i * QUERIES + k] = b.any_obs[k];
            tq[i * QUERIES + k] = b.tau[k];
        }
        id[i] = b.id[0];
    }
    ll_batch_deinit(&b);
    hand_deinit(&h);
}

/* Each feature of the n summaries by its mean and deviation over them all. */
static void standardise(double *E, int64_t n, int64_t H)
{
    for (int64_t k = 0; k < H; k++) {
        double s = 0, q = 0;
        for (int64_t i = 0; i < n; i++) s += E[i * H + k] / (double)n;
        for (int64_t i = 0; i < n; i++) q += (E[i * H + k] - s) * (E[i * H + k] - s);
        q = sqrt(q / (double)n);
        for (int64_t i = 0; i < n; i++) E[i * H + k] = (E[i * H + k] - s) / (q + 1e-6);
    }
}

static void describe_diffusion(hand *h, const ll_network_config *c, const ll_schedule *noise)
{
    const int64_t      Z = c->vae.latent, S = c->summarizer.tokens, H = c->summarizer.width;
    const ll_loss_opts o = {
        .predict = LL_PREDICT_V, .min_snr = true, .gamma = 5, .normalize = LL_WEIGHT_AUTO
    };
    CHECK_OK(ll_graph_create(&h->g));
    const ll_loss_in in = { .z0 = ll_input(h->g, "z0", LL_SHAPE(GROUPS, QUERIES, Z)),
                            .eps = ll_input(h->g, "eps", LL_SHAPE(GROUPS, QUERIES, Z)),
                            .t = ll_input_int(h->g, "t", LL_SHAPE(GROUPS)),
                            .mask = ll_input(h->g, "mask", LL_SHAPE(GROUPS, QUERIES)),
                            .tq = ll_input(h->g, "tq", LL_SHAPE(GROUPS, QUERIES)),
                            .E = ll_input(h->g, "E", LL_SHAPE(GROUPS, S, H)),
                            .conditional = ll_input(h->g, "c", LL_SHAPE(GROUPS)),
                            .training = true };
    ll_scope_push(h->g, "denoiser");
    ll_tensor *total = ll_diffusion_loss(h->g, &c->denoiser, noise, &o, &in);
    ll_scope_pop(h->g);
    hand_init(h, total, SEED);
    CHECK_OK(ll_denoiser_init(h->p, "denoiser.", SEED));
}

static void by_hand_diffusion(const llap_model *m, view *v, double *loss)
{
    const ll_network_config *c = &m->network->config;
    const ll_schedule       *noise = m->network->schedule;
    const int64_t            Z = c->vae.latent, S = c->summarizer.tokens, H = c->summarizer.width;
    const int64_t            n = v->rows->n_examples, codes = QUERIES * Z, SH = S * H;
    const size_t             rows = (size_t)n;
    float                   *mu = ll_new(rows * (size_t)codes, sizeof *mu), mean[64], std[64];
    float                   *any = ll_new(rows * QUERIES, sizeof *any);
    float                   *tq = ll_new(rows * QUERIES, sizeof *tq);
    double                  *E = ll_new(rows * (size_t)SH, sizeof *E);
    uint64_t                *id = ll_new(rows, sizeof *id);
    hand                     h = { 0 };
    encode(m, v, mu, any, E, tq, id);
    ll_latent_stats *stats;
    CHECK_OK(ll_latent_stats_create(1, Z, &stats));
    ll_latent_stats_add(stats, mu, any, n, QUERIES);
    ll_latent_stats_finish(stats, mean, std);
    ll_latent_stats_destroy(stats);
    standardise(E, n * S, H);
    describe_diffusion(&h, c, noise);
    double *z0 = hand_in(&h, "z0", GROUPS * codes), *eps = hand_in(&h, "eps", GROUPS * codes);
    double *mask = hand_in(&h, "mask", GROUPS * QUERIES), *ie = hand_in(&h, "E", GROUPS * SH);
    double *itq = hand_in(&h, "tq", GROUPS * QUERIES), *flag = hand_in(&h, "c", GROUPS);
    int32_t t[GROUPS];
    CHECK_OK(ll_run_bind(h.run, "t", t, GROUPS));
    const int64_t batches = (n + GROUPS - 1) / GROUPS;
    uint32_t      order[64];
    const ll_rng  shuffle = ll_rng_make(SEED, LL_STREAM_SHUFFLE, 3, 0, 0);
    assert_true(n % GROUPS == 0 && batches <= 64 && batches > TEN);
    ll_rng_permute(&shuffle, (size_t)batches, order);
    for (int k = 0; k < TEN; k++) {
        for (int i = 0; i < GROUPS; i++) {
            const int64_t      row = order[k] * GROUPS + i;
            float              x[QUERIES * 64], f;
            const ll_draw_opts d = { .seed = SEED, .drop = 0.18 };
            ll_diffusion_draw(noise, &d, id[row], (uint32_t)k, &t[i], &f, x, (size_t)codes);
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
    ll_free(mu);
    ll_free(any);
    ll_free(tq);
    ll_free(E);
    ll_free(id);
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
    const ll_network_config *c = &m->network->config;
    view_init(&v, m, p);
    by_hand_vae(c, &v, loss);
    check_losses(log, "vae", loss, 1);
    CHECK_OK(ll_loader_start(v.loader, 0));
    by_hand_summarizer(c, &v, loss);
    check_losses(log, "summarizer", loss, 1);
    by_hand_diffusion(m, &v, loss);
    check_losses(log, "denoiser", loss, 5);
    view_deinit(&v);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(ten_steps_of_each_stage) };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
