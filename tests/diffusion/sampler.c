/* The reverse process on the network, where nothing but a window's own content may matter. Equality
 * with the reference is llapdiff-golden's. */
#include "gaussian.h"
#include "net.h"

#include "backend/cpu/cpu.h"
#include "diffusion/prepared_denoiser.h"

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
