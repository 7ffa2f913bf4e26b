/* The reference profile: gaps, switches, what is not finite, what fails. */
#include "lossless.h"
#include "reference_panel.h"

#include "base/scratch.h"
#include "model/model.h"
#include "predict/tables/answer.h"
#include "train/reference/reference.h"

#include <omp.h>
#include <unistd.h>

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
    llap_impute_opts o = { 0 };
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
        if (a->rows.time[k] < before)
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
            const int64_t row = a->rows.entity[k] * ROWS + a->rows.time[k] / HOUR;
            assert_true(a->rows.observed[k] == ll_panel_observed(p, row, 0));
            for (int q = 0; q < a->n_numbers; q++) {
                assert_true(isfinite(x[q]) && (q < 2 || x[q] >= x[q - 1]));
                if (a->rows.observed[k]) assert_true(x[q] == (double)p->value[row * D]);
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
    const ll_network_dims           d = { .entities = N, .inputs = D, .targets = C, .context = L };
    const ll_model_frame            f = { .n_targets = C,
                                          .n_entities = N,
                                          .target = target,
                                          .entity = entity,
                                          .axis = LL_AXIS_CALENDAR,
                                          .axis_unit = 1,
                                          .unit = HOUR,
                                          .context = L * HOUR,
                                          .horizon = QUERIES * HOUR,
                                          .step = HOUR,
                                          .val_start = 80 * HOUR,
                                          .test_start = 90 * HOUR };
    ll_network_config               c;
    llap_model                     *m = NULL;
    CHECK_OK(ll_network_config_named(LL_PROFILE_REFERENCE, LL_SIZE_TINY, &d, &c));
    c.denoiser.timesteps = 50;
    c.sampling.steps = 6;
    c.options.conditioning = conditioning;
    c.options.cond_adapter = adapter;
    if (identity) {
        c.options.latent = LL_LATENT_IDENTITY;
        c.denoiser.data_dim = N * C;
    }
    if (!conditioning) c.options.cond_norm = LL_COND_NORM_NONE;
    CHECK_OK(ll_model_create(&f, NULL, &m));
    CHECK_OK(ll_network_create(&c, inputs, &m->network));
    CHECK_OK(ll_network_start(m->network, 5, 1.0));
    return m;
}

static llap_answer *ahead(const llap_model *m, const llap_panel *p)
{
    llap_forecast_opts o = { 0 };
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
    const ll_param_info *p = ll_params_find(m->network->params, name);
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
    const size_t usual = ll_scratch_heap(0);
    save_trained(p, &o, in_folder("mapped"));
    setenv("TMPDIR", "/nowhere", 1);
    llap_model *m;
    CHECK_FAIL(llap_train(p, &o, &m), LLAP_ENOTFOUND, "/nowhere/llapdiff-"); /* it is used */
    unsetenv("TMPDIR");
    (void)ll_scratch_heap(usual);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_finite_is_named),
        cmocka_unit_test(gaps_are_filled_around_what_was_read),
        cmocka_unit_test(every_switch_forecasts_and_fills),
        cmocka_unit_test(latents_in_a_file_and_batches_made_ahead_change_nothing),
        cmocka_unit_test(failing_writes_lose_nothing),
        cmocka_unit_test(a_posterior_that_collapses_is_said),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
