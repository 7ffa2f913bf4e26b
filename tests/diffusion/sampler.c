/* The reverse process: on a problem with a known answer, and on the network where nothing but a
 * window's own content may matter. Equality with the reference is llapdiff-golden's. */
#include "check.h"
#include "net.h"

#include "backend/cpu/cpu.h"
#include "diffusion/prepared_denoiser.h"

/* -------- a Gaussian, whose best denoiser and exact samples are known -------- */

enum { DIMS = 12 };

/* z0 ~ N(mean_k, deviation_k^2) for coordinate k */
static double mean_of(int64_t k) { return 0.3 * (double)(k % DIMS) - 1.5; }
static double deviation_of(int64_t k) { return 0.15 + 0.12 * (double)(k % DIMS); }

static llap_status predict_gaussian(void *user, int i, const ll_point *at, bool conditional,
                                    const float *x, const float *sc, float *pred)
{
    const int64_t n = *(const int64_t *)user;
    const double  a = (double)at->level.a, s = (double)at->level.s;
    (void)i;
    (void)conditional;
    (void)sc;
    for (int64_t k = 0; k < n; k++) {
        const double c = deviation_of(k) * deviation_of(k), m = mean_of(k);
        const double x0 = m + a * c / (a * a * c + s * s) * ((double)x[k] - a * m);
        const double eps = s > 0.0 ? ((double)x[k] - a * x0) / s : 0.0;
        pred[k] = (float)(a * eps - s * x0); /* v */
    }
    return LLAP_OK;
}

/* The sampler maps x_T to b + k x_T here, so that two runs tell the distribution it gives. The
 * result is its Wasserstein distance to the true one, over all coordinates. */
static double distance(ll_solver solver, const ll_points *list)
{
    const ll_extent       e = { 1, 1, 1, DIMS };
    int64_t               n = DIMS;
    const ll_predictor    p = { predict_gaussian, &n, false };
    const ll_sampler_opts o = { .solver = solver,
                                .predict = LL_PREDICT_V,
                                .guidance = { 1.0, 1.0 } };
    float                 zero[DIMS] = { 0 }, one[DIMS], at_zero[DIMS], at_one[DIMS];
    double                sum = 0.0;
    for (int k = 0; k < DIMS; k++) one[k] = 1.0f;
    CHECK_OK(ll_sample(&o, list, e, &p, &(ll_sample_io){ .init = zero }, at_zero));
    CHECK_OK(ll_sample(&o, list, e, &p, &(ll_sample_io){ .init = one }, at_one));
    for (int k = 0; k < DIMS; k++) {
        const double off = (double)at_zero[k] - mean_of(k);
        const double wide = fabs((double)at_one[k] - (double)at_zero[k]) - deviation_of(k);
        sum += off * off + wide * wide;
    }
    return sqrt(sum);
}

static void few_steps_of_second_order_equal_many_of_first(void **state)
{
    (void)state;
    ll_schedule *s;
    ll_points    few, ten, some, many, gathered, continuous;
    CHECK_OK(ll_schedule_create(LL_SCHEDULE_COSINE, 1000, &s));
    CHECK_OK(ll_points_honest(s, 8, &few));
    CHECK_OK(ll_points_honest(s, 10, &ten));
    CHECK_OK(ll_points_honest(s, 16, &some));
    CHECK_OK(ll_points_honest(s, 64, &many));
    CHECK_OK(ll_points_gathered(s, 10, &gathered));
    CHECK_OK(ll_points_continuous(12, 0.996, 0.012, false, &continuous));
    const double ddim_64 = distance(LL_SOLVER_DDIM, &many);
    const double ddim_8 = distance(LL_SOLVER_DDIM, &few);
    const double dpm_8 = distance(LL_SOLVER_DPMPP_2M, &few);
    const double dpm_64 = distance(LL_SOLVER_DPMPP_2M, &many);
    const double uni_16 = distance(LL_SOLVER_UNIPC, &some);
    const double uni_64 = distance(LL_SOLVER_UNIPC, &many);
    const double uni_10 = distance(LL_SOLVER_UNIPC, &ten);
    const double uni_gathered = distance(LL_SOLVER_UNIPC, &gathered);
    const double dpm_12 = distance(LL_SOLVER_DPMPP_2M, &continuous);
    print_message(
        "distance: ddim %.4f (8) %.4f (64), dpm++ %.4f (8) %.4f (64) %.4f (12 continuous), "
        "unipc %.4f (10) %.4f (16) %.4f (64) %.4f (10 gathered)\n",
        ddim_8, ddim_64, dpm_8, dpm_64, dpm_12, uni_10, uni_16, uni_64, uni_gathered);
    assert_true(dpm_8 <= ddim_64);
    assert_true(uni_16 <= ddim_64);
    assert_true(uni_gathered < uni_10 / 2.0);
    assert_true(uni_64 < dpm_64); /* of higher order where steps are small */
    assert_true(dpm_64 < ddim_64 / 4.0);
    assert_true(dpm_12 < ddim_8);
    ll_points_deinit(&few);
    ll_points_deinit(&ten);
    ll_points_deinit(&some);
    ll_points_deinit(&many);
    ll_points_deinit(&gathered);
    ll_points_deinit(&continuous);
    ll_schedule_destroy(s);
}

/* The last of all steps has no noise: log(a / s) has no end there. */
static void all_steps_end_in_the_estimate(void **state)
{
    (void)state;
    ll_schedule *s;
    ll_points    all;
    CHECK_OK(ll_schedule_create(LL_SCHEDULE_COSINE, 50, &s));
    CHECK_OK(ll_points_reference(s, 64, LL_KARRAS_RHO, &all));
    assert_true(all.n == 50 && all.at[49].level.s == 0.0f);
    const double ddim = distance(LL_SOLVER_DDIM, &all);
    assert_true(distance(LL_SOLVER_DPMPP_2M, &all) < ddim);
    assert_true(distance(LL_SOLVER_UNIPC, &all) < ddim);
    ll_points_deinit(&all);
    ll_schedule_destroy(s);
}

/* n + 1 points, uniform in log(a / s) from -2 to 2 */
static ll_points uniform_points(int n)
{
    ll_points p = { .at = ll_new((size_t)n + 1, sizeof *p.at), .n = n + 1 };
    assert_non_null(p.at);
    for (int i = 0; i <= n; i++) {
        const double l = -2.0 + 4.0 * i / n, a = 1.0 / sqrt(1.0 + exp(-2.0 * l));
        p.at[i] = (ll_point){ .t = -1,
                              .time = 0.5,
                              .level = { (float)a, (float)sqrt(1.0 - a * a), (float)(a * a) } };
    }
    return p;
}

/* On the way of the exact flow, x = a m + sqrt(a^2 c + s^2) z for every level. */
static double flow(ll_level at, int64_t k)
{
    const double a = (double)at.a, s = (double)at.s, d = deviation_of(k);
    return a * mean_of(k) + sqrt(a * a * d * d + s * s);
}

typedef struct watched {
    int   last;
    float x[DIMS];
} watched;

static void keep_last(void *user, int i, const float *x, const float *pred_c, const float *pred_u)
{
    watched *w = user;
    (void)pred_c, (void)pred_u;
    if (i == w->last) memcpy(w->x, x, sizeof w->x);
}

/* The largest distance from the flow after n steps. */
static double strays(ll_solver solver, int n)
{
    ll_points             list = uniform_points(n);
    const ll_extent       e = { 1, 1, 1, DIMS };
    int64_t               count = DIMS;
    const ll_predictor    p = { predict_gaussian, &count, false };
    const ll_sampler_opts o = { .solver = solver,
                                .predict = LL_PREDICT_V,
                                .guidance = { 1.0, 1.0 } };
    watched               w = { .last = n };
    float                 init[DIMS], out[DIMS];
    double                most = 0.0;
    for (int k = 0; k < DIMS; k++) init[k] = (float)flow(list.at[0].level, k);
    const ll_sample_io io = { .init = init, .watch = keep_last, .watcher = &w };
    CHECK_OK(ll_sample(&o, &list, e, &p, &io, out));
    for (int k = 0; k < DIMS; k++)
        most = fmax(most, fabs((double)w.x[k] - flow(list.at[n].level, k)));
    ll_points_deinit(&list);
    return most;
}

/* Half the step: half the error of DDIM, a quarter of DPM-Solver++(2M)'s, an eighth of UniPC's of
 * order 2, whose corrector gives one order more (its paper, theorem 3.1). */
static void solvers_have_their_order(void **state)
{
    (void)state;
    const struct {
        ll_solver solver;
        double    low, high;
    } expected[] = { { LL_SOLVER_DDIM, 1.8, 2.2 },
                     { LL_SOLVER_DPMPP_2M, 3.6, 4.4 },
                     { LL_SOLVER_UNIPC, 6.5, 9.0 } };
    for (int i = 0; i < 3; i++) {
        const double coarse = strays(expected[i].solver, 20), fine = strays(expected[i].solver, 40);
        print_message("%s: %.2e, %.2e, ratio %.2f\n", ll_solver_names[expected[i].solver], coarse,
                      fine, coarse / fine);
        assert_true(coarse / fine > expected[i].low && coarse / fine < expected[i].high);
    }
}

/* With eta = 1 and own draws, samples have the distribution too: checks the noise. */
static void ancestral_samples_have_the_right_moments(void **state)
{
    (void)state;
    enum { R = 4000 };
    ll_schedule          *s;
    ll_points             list;
    const ll_extent       e = { 1, R, 1, DIMS };
    int64_t               n = (int64_t)R * DIMS;
    const ll_predictor    p = { predict_gaussian, &n, false };
    const ll_sampler_opts o = { .predict = LL_PREDICT_V, .guidance = { 1.0, 1.0 }, .eta = 1.0 };
    const uint64_t        window = 42;
    float                *x = ll_new((size_t)n, sizeof *x);
    assert_non_null(x);
    CHECK_OK(ll_schedule_create(LL_SCHEDULE_COSINE, 1000, &s));
    CHECK_OK(ll_points_honest(s, 100, &list));
    CHECK_OK(ll_sample(&o, &list, e, &p, &(ll_sample_io){ .seed = 3, .window = &window }, x));
    for (int k = 0; k < DIMS; k++) {
        double sum = 0.0, square = 0.0;
        for (int r = 0; r < R; r++) sum += (double)x[r * DIMS + k];
        for (int r = 0; r < R; r++) {
            const double d = (double)x[r * DIMS + k] - sum / R;
            square += d * d;
        }
        assert_true(fabs(sum / R - mean_of(k)) < 0.08 * deviation_of(k) + 0.01);
        assert_true(fabs(sqrt(square / R) / deviation_of(k) - 1.0) < 0.08);
    }
    ll_points_deinit(&list);
    ll_schedule_destroy(s);
    ll_free(x);
}

/* -------- the network -------- */

typedef struct world { /* a small model and windows */
    ll_denoiser_config c;
    ll_params         *params;
    ll_schedule       *s;
    ll_points          list;
    int64_t            B, h, S;
    float             *tq, *E, *E_raw;
    uint64_t           window[4];
} world;

static void make_world(world *w, uint64_t seed, bool options)
{
    *w = (world){ .c = { .data_dim = 3,
                         .hidden_dim = 8,
                         .num_layers = 2,
                         .num_heads = 2,
                         .laplace_k = 5,
                         .timesteps = 40,
                         .mlp_ratio = 4,
                         .cross_first = true,
                         .use_mlp_residual = true,
                         .summary_pool_mode = options ? LL_POOL_ATTN : LL_POOL_MEAN,
                         .self_conditioning = options,
                         .pole_pool_use_raw_summary = options,
                         .block_summary_adaln = options,
                         .analysis_summary_qk = options },
                  .B = 4,
                  .h = 6,
                  .S = 5 };
    ll_graph *g;
    CHECK_OK(ll_graph_create(&g));
    ll_denoiser(g, &w->c,
                &(ll_denoiser_in){ .z = ll_input(g, "z", LL_SHAPE(1, 2, 3)),
                                   .t = ll_input_int(g, "t", LL_SHAPE(1)),
                                   .E = ll_input(g, "E", LL_SHAPE(1, 2, 8)) });
    CHECK_OK(ll_params_create(g, &ll_backend_cpu, &w->params));
    ll_graph_destroy(g);
    ll_params_init(w->params, seed);
    CHECK_OK(ll_denoiser_init(w->params, "", seed));
    for (int i = 0; i < ll_params_count(w->params); i++) {
        const ll_param_info *p = ll_params_at(w->params, i);
        for (int64_t k = 0; k < p->count && p->leaf == LL_LEAF_PARAM; k++)
            ((float *)p->data)[k] += 0.2f * (float)net_normal(seed, p->name, k);
    }
    CHECK_OK(ll_schedule_create(LL_SCHEDULE_COSINE, 40, &w->s));
    CHECK_OK(ll_points_honest(w->s, 5, &w->list));
    const int64_t n_tokens = w->B * w->S * 8;
    w->tq = ll_new((size_t)(w->B * w->h), sizeof *w->tq);
    w->E = ll_new((size_t)n_tokens, sizeof *w->E);
    w->E_raw = ll_new((size_t)n_tokens, sizeof *w->E_raw);
    for (int64_t k = 0; k < w->B * w->h; k++) w->tq[k] = 1.0f + (float)(k % w->h);
    for (int64_t k = 0; k < n_tokens; k++) {
        w->E[k] = (float)net_normal(seed, "E", k);
        w->E_raw[k] = (float)net_normal(seed, "raw", k);
    }
    for (int b = 0; b < 4; b++) w->window[b] = 1000u + (uint64_t)(7 * b);
}

static void end_world(world *w)
{
    ll_params_destroy(w->params);
    ll_points_deinit(&w->list);
    ll_schedule_destroy(w->s);
    ll_free(w->tq);
    ll_free(w->E);
    ll_free(w->E_raw);
}

typedef struct manner { /* how to sample rows first .. first + n - 1 of the world */
    int64_t   first, n, R;
    uint32_t  first_sample;
    int       n_threads;
    bool      whole, folded;
    ll_solver solver;
} manner;

static llap_status make_denoise(const world *w, const manner *m, ll_prepared_denoiser **d)
{
    ll_prepared_denoiser_opts o = { .extent = { m->n, m->R, w->h, 3 },
                                    .S = w->S,
                                    .backend = &ll_backend_cpu,
                                    .n_threads = m->n_threads,
                                    .whole = m->whole,
                                    .folded = m->folded,
                                    .sampler = LL_SAMPLER_REFERENCE };
    o.sampler.solver = m->solver;
    o.sampler.self_condition = w->c.self_conditioning;
    return ll_prepared_denoiser_create(&w->c, w->params, &o, &w->list, d);
}

static llap_status sample_by(ll_prepared_denoiser *d, const world *w, const manner *m, float *out)
{
    const ll_prepared_denoiser_batch in = { .tq = w->tq + m->first * w->h,
                                            .E = w->E + m->first * w->S * 8,
                                            .E_raw = w->E_raw + m->first * w->S * 8 };
    const ll_sample_io               io = { .seed = 11,
                                            .window = w->window + m->first,
                                            .first_sample = m->first_sample };
    return ll_prepared_denoiser_sample(d, &in, &io, out);
}

static llap_status sample(const world *w, const manner *m, float *out)
{
    ll_prepared_denoiser *d;
    llap_status           st = make_denoise(w, m, &d);
    if (st == LLAP_OK) st = sample_by(d, w, m, out);
    ll_prepared_denoiser_destroy(d);
    return st;
}

/* What is kept from the second window on changes no bit, and goes when others ask for other times;
 * a window alone keeps nothing. */
static void tables_serve_the_next_windows(void **state)
{
    (void)state;
    const int64_t         order[] = { 3, 0, 1, 2, 1, 3, 1 };
    world                 w;
    ll_prepared_denoiser *d;
    float                 one[2 * 18], again[2 * 18];
    double                products[7];
    size_t                bytes[7];
    make_world(&w, 6, false);
    w.tq[2 * w.h] += 0.5f; /* the third window asks for another time */
    manner m = { 0, 1, 2, 0, 1, false, true, LL_SOLVER_DDIM };
    CHECK_OK(make_denoise(&w, &m, &d));
    for (int i = 0; i < 7; i++) {
        const double before = ll_prepared_denoiser_products(d);
        m.first = order[i];
        if (i == 6) ll_prepared_denoiser_forget(d);
        CHECK_OK(sample(&w, &m, one));
        CHECK_OK(sample_by(d, &w, &m, again));
        assert_memory_equal(one, again, sizeof one);
        products[i] = ll_prepared_denoiser_products(d) - before;
        bytes[i] = ll_prepared_denoiser_bytes(d);
    }
    assert_true(products[0] == products[1] && bytes[0] < bytes[1] && bytes[1] == bytes[2]);
    /* other times: what the step alone decides of the conditional pass is still there */
    assert_true(products[2] < products[3] && products[3] < products[0]);
    assert_true(products[4] == products[3] && products[5] == products[2]);
    assert_true(products[6] == products[0] && bytes[6] == bytes[0]);
    ll_prepared_denoiser_destroy(d);
    end_world(&w);
}

/* A window's samples have the same bits alone or among others, for any number of samples beside
 * them and any number of threads. */
static void only_a_windows_own_content_matters(void **state)
{
    (void)state;
    for (int options = 0; options < 2; options++) {
        world w;
        float all[4 * 3 * 18], one[18];
        make_world(&w, 5, options != 0);
        const manner together = { 0, 4, 3, 0, 1, false, true, LL_SOLVER_DDIM };
        CHECK_OK(sample(&w, &together, all));
        for (int threads = 1; threads <= 3; threads++) {
            float  again[4 * 3 * 18];
            manner m = together;
            m.n_threads = threads;
            CHECK_OK(sample(&w, &m, again));
            assert_memory_equal(all, again, sizeof all);
        }
        for (int64_t b = 0; b < 4; b++)
            for (uint32_t r = 0; r < 3; r++) {
                const manner alone = { b, 1, 1, r, 2, false, true, LL_SOLVER_DDIM };
                CHECK_OK(sample(&w, &alone, one));
                assert_memory_equal(one, all + (b * 3 + r) * 18, sizeof one);
            }
        end_world(&w);
    }
}

/* One plan, halves, folded halves; the same and different query times. */
static void plans_in_halves_equal_the_whole(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        for (int solver = 0; ll_solver_names[solver] != NULL; solver++) {
            world w;
            float whole[4 * 2 * 18], halves[4 * 2 * 18], folded[4 * 2 * 18];
            make_world(&w, 7 + (uint64_t)i, i % 2 == 1);
            if (i >= 2) w.tq[w.h] += 0.5f; /* the second window asks for another time */
            const manner m[] = { { 0, 4, 2, 0, 2, true, false, (ll_solver)solver },
                                 { 0, 4, 2, 0, 2, false, false, (ll_solver)solver },
                                 { 0, 4, 2, 0, 2, false, true, (ll_solver)solver } };
            CHECK_OK(sample(&w, &m[0], whole));
            CHECK_OK(sample(&w, &m[1], halves));
            CHECK_OK(sample(&w, &m[2], folded));
            for (int k = 0; k < 4 * 2 * 18; k++) {
                assert_true(fabs((double)(whole[k] - halves[k])) <= 1e-3);
                assert_true(fabs((double)(whole[k] - folded[k])) <= 1e-3);
            }
            end_world(&w);
        }
}

/* The ablation: one and several windows, one and several samples, the same and other times. */
static void plans_with_fixed_poles_equal_the_whole(void **state)
{
    (void)state;
    for (int i = 0; i < 16; i++) {
        const int64_t n = i & 1 ? 4 : 1, R = i & 2 ? 3 : 1;
        world         w;
        float         whole[4 * 3 * 18], halves[4 * 3 * 18], folded[4 * 3 * 18], moved[4 * 3 * 18];
        double        apart = 0.0;
        make_world(&w, 20 + (uint64_t)i, (i & 4) != 0);
        if (i & 8) w.tq[w.h] += 0.5f;
        const manner m[] = { { 0, n, R, 0, 2, true, false, LL_SOLVER_DDIM },
                             { 0, n, R, 0, 2, false, false, LL_SOLVER_DDIM },
                             { 0, n, R, 0, 2, false, true, LL_SOLVER_DDIM } };
        CHECK_OK(sample(&w, &m[0], moved));
        w.c.fixed_poles = true;
        CHECK_OK(sample(&w, &m[0], whole));
        CHECK_OK(sample(&w, &m[1], halves));
        CHECK_OK(sample(&w, &m[2], folded));
        for (int64_t k = 0; k < n * R * 18; k++) {
            assert_true(fabs((double)(whole[k] - halves[k])) <= 1e-3);
            assert_true(fabs((double)(whole[k] - folded[k])) <= 1e-3);
            apart = fmax(apart, fabs((double)(whole[k] - moved[k])));
        }
        assert_true(apart > 2e-3); /* the condition would have moved them */
        end_world(&w);
    }
}

static void kept_positions_are_returned_as_given(void **state)
{
    (void)state;
    for (int solver = 0; ll_solver_names[solver] != NULL; solver++) {
        ll_schedule          *s;
        ll_points             list;
        const ll_extent       e = { 2, 3, 2, DIMS };
        int64_t               n = 2 * 3 * 2 * DIMS;
        const ll_predictor    p = { predict_gaussian, &n, false };
        const ll_sampler_opts o = { .solver = (ll_solver)solver, .guidance = { 1.0, 1.0 } };
        float                 y[2 * 2 * DIMS], out[2 * 3 * 2 * DIMS];
        uint8_t               keep[2 * 2 * DIMS]; /* each channel of each step by itself */
        for (int k = 0; k < 2 * 2 * DIMS; k++) {
            y[k] = 0.01f * (float)k;
            keep[k] = k % 3 == 0;
        }
        CHECK_OK(ll_schedule_create(LL_SCHEDULE_COSINE, 100, &s));
        CHECK_OK(ll_points_honest(s, 10, &list));
        CHECK_OK(ll_sample(&o, &list, e, &p, &(ll_sample_io){ .y_obs = y, .keep = keep }, out));
        for (int k = 0; k < 2 * 3 * 2 * DIMS; k++) {
            const int  row = k / (3 * 2 * DIMS), at = k % (2 * DIMS);
            const bool kept = keep[row * 2 * DIMS + at] != 0;
            assert_true((out[k] == y[row * 2 * DIMS + at]) == kept);
        }
        ll_points_deinit(&list);
        ll_schedule_destroy(s);
    }
}

/* -------- failures -------- */

static llap_status predict_nothing(void *user, int i, const ll_point *at, bool conditional,
                                   const float *x, const float *sc, float *pred)
{
    (void)user, (void)i, (void)at, (void)conditional, (void)x, (void)sc;
    pred[0] = NAN;
    return LLAP_OK;
}

static void wrong_options_and_predictions_are_named(void **state)
{
    (void)state;
    world              w;
    float              out[18];
    const ll_predictor p = { predict_nothing, NULL, false };
    const ll_extent    e = { 1, 1, 6, 3 };
    const ll_sample_io io = { 0 };
    ll_sampler_opts    o = LL_SAMPLER_DEFAULT;
    make_world(&w, 1, false);
    CHECK_FAIL(ll_sample(&o, &w.list, e, &p, &io, out), LLAP_ENUMERIC, "not finite");
    o.eta = 0.5;
    CHECK_FAIL(ll_sample(&o, &w.list, e, &p, &io, out), LLAP_EINVAL, "ddim");
    o.eta = -1.0;
    CHECK_FAIL(ll_sample(&o, &w.list, e, &p, &io, out), LLAP_EINVAL, "eta: expected 0..1");
    o = LL_SAMPLER_REFERENCE;
    o.guidance[1] = NAN;
    CHECK_FAIL(ll_sample(&o, &w.list, e, &p, &io, out), LLAP_EINVAL, "guidance");
    o.guidance[1] = 1.0;
    CHECK_FAIL(ll_sample(&o, &w.list, e, &p, &(ll_sample_io){ .y_obs = out }, out), LLAP_EINVAL,
               "both values and mask");
    CHECK_FAIL(ll_sample(&o, &w.list, (ll_extent){ 1, 0, 6, 3 }, &p, &io, out), LLAP_EINVAL,
               "[1,0,6,3]");
    end_world(&w);
}

static llap_status whole_sampling(void *user)
{
    float        out[2 * 18];
    const manner m = { 0, 2, 1, 0, 1, false, true, LL_SOLVER_UNIPC };
    return sample(user, &m, out);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    world w;
    make_world(&w, 2, false);
    w.c.num_layers = 1;
    check_every_failed_allocation(whole_sampling, &w);
    end_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_steps_of_second_order_equal_many_of_first),
        cmocka_unit_test(all_steps_end_in_the_estimate),
        cmocka_unit_test(solvers_have_their_order),
        cmocka_unit_test(ancestral_samples_have_the_right_moments),
        cmocka_unit_test(only_a_windows_own_content_matters),
        cmocka_unit_test(tables_serve_the_next_windows),
        cmocka_unit_test(plans_in_halves_equal_the_whole),
        cmocka_unit_test(plans_with_fixed_poles_equal_the_whole),
        cmocka_unit_test(kept_positions_are_returned_as_given),
        cmocka_unit_test(wrong_options_and_predictions_are_named),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
