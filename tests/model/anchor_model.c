#include "model/anchor_model.h"
#include "anchor_dense.h"

#include <omp.h>

/* Three stations with a daily cycle, slow weather and noise; hours, a tenth missing. */
enum { N = 900, SERIES = 3, TRAIN = 600, VALID = 750, CONTEXT = 96, HORIZON = 12 };
typedef struct world {
    double      t[N], y[SERIES][N];
    llap_series s[SERIES];
    size_t      train_rows[SERIES];
    llap_origin train[SERIES * N], valid[SERIES * N];
    size_t      n_train, n_valid;
} world;

static world *world_make(void)
{
    static world wd;
    dice         d = { 51 };
    wd.n_train = wd.n_valid = 0;
    for (int i = 0; i < N; i++) wd.t[i] = 400000 + i;
    for (size_t e = 0; e < SERIES; e++) {
        double weather = 0;
        for (int i = 0; i < N; i++) {
            weather += -0.05 * weather + 0.3 * roll_normal(&d);
            const double f = sin(6.283185307179586 * i / 24) + weather + 0.1 * roll_normal(&d);
            wd.y[e][i] = roll(&d) < 0.1 ? NAN : 20 + 5 * (double)(e + 1) * f;
        }
        wd.s[e] = (llap_series){ N, wd.t, wd.y[e] };
        wd.train_rows[e] = TRAIN;
        for (int i = CONTEXT; i + HORIZON < TRAIN; i += 3)
            wd.train[wd.n_train++] = (llap_origin){ e, wd.t[i] };
        for (int i = TRAIN; i + HORIZON < VALID; i += 5)
            wd.valid[wd.n_valid++] = (llap_origin){ e, wd.t[i] };
    }
    return &wd;
}

static llap_anchor_data data_of(const world *wd)
{
    return (llap_anchor_data){ wd->s,       SERIES,    wd->train_rows, wd->train,
                               wd->n_train, wd->valid, wd->n_valid };
}

static llap_anchor_model_opts small_opts(void)
{
    llap_anchor_model_opts o = LLAP_ANCHOR_MODEL_DEFAULT;
    o.spec = (llap_anchor_spec){ .context = CONTEXT, .horizon = HORIZON };
    o.fit.n_steps = 30;
    o.fit.n_rows = 16;
    o.joint = true;
    return o;
}

/* Mean CRPS of forecasts at every fifth row of the test part. */
static double test_score(const llap_anchor_model *m, const world *wd)
{
    double sum = 0, n = 0;
    for (size_t e = 0; e < SERIES; e++)
        for (size_t i = VALID; i + HORIZON < N; i += 5) {
            llap_law            law[HORIZON];
            llap_anchor_request r = { .history = wd->s[e],
                                      .series = e,
                                      .origin = wd->t[i],
                                      .n_query = HORIZON,
                                      .t_query = wd->t + i + 1,
                                      .law = law };
            CHECK_OK(llap_anchor_model_forecast(m, &r, 1));
            for (size_t q = 0; q < HORIZON; q++) {
                const double z = llap_chain_z(m->chain, e, wd->y[e][i + 1 + q]);
                if (!isnan(z)) sum += llap_anchor_crps_z(m, &law[q], z, NULL), n += 1;
            }
        }
    return sum / n;
}

static void fits_and_forecasts(void **state)
{
    (void)state;
    const world           *wd = world_make();
    const llap_anchor_data d = data_of(wd);
    llap_anchor_model_opts o = small_opts();
    llap_anchor_model     *m = NULL, *again = NULL;
    const int              usual = omp_get_max_threads();
    omp_set_num_threads(1);
    CHECK_OK(llap_anchor_model_fit(&d, &o, &m));
    omp_set_num_threads(3);
    CHECK_OK(llap_anchor_model_fit(&d, &o, &again));
    omp_set_num_threads(usual);
    check_same_kernel(&m->kernel, &again->kernel);
    check_same_kernel(&m->fill_kernel, &again->fill_kernel);
    assert_true(m->valid_crps == again->valid_crps);
    assert_memory_equal(&m->fill_both, &again->fill_both, sizeof m->fill_both);
    const double own = test_score(m, wd);
    llap_anchor_model_destroy(again);

    o.fit.n_steps = 1; /* hardly fitted */
    CHECK_OK(llap_anchor_model_fit(&d, &o, &again));
    const double start = test_score(again, wd);
    if (!(own < start) || !(own < 0.35)) fail_msg("CRPS %g, at the start %g", own, start);
    llap_anchor_model_destroy(again);
    llap_anchor_model_destroy(m);
}

/* The answers are those of the posterior on the normalised window, taken back. */
static void forecast_is_the_posterior(void **state)
{
    (void)state;
    const world             *wd = world_make();
    llap_chain              *c = NULL;
    llap_anchor_model       *m = NULL;
    const llap_anchor_kernel k = llap_anchor_kernel_hourly();
    const llap_anchor_spec   spec = { .context = CONTEXT, .horizon = HORIZON, .max_obs = 40 };
    CHECK_OK(llap_chain_fit(wd->s, SERIES, &LLAP_CHAIN_DEFAULT, &c));
    CHECK_OK(llap_anchor_model_create(&spec, c, &k, 4, &m));
    const size_t now = 500;
    double       u[CONTEXT], w[CONTEXT], level, scale, mean[2], var[2];
    size_t       first = now + 1, seen = 0;
    while (seen < 40) seen += !isnan(wd->y[1][--first]);
    const size_t n = now + 1 - first;
    for (size_t i = 0; i < n; i++)
        u[i] = llap_chain_u(c, 1, wd->t[first + i], llap_chain_z(c, 1, wd->y[1][first + i]));
    llap_window_norm(u, n, 4, &level, &scale);
    for (size_t i = 0; i < n; i++) w[i] = (u[i] - level) / scale;
    const double             tq[] = { wd->t[now] + 7, wd->t[now] + 1.5 };
    const llap_anchor_window win = { n, wd->t + first, w, 2, tq, NULL };
    llap_anchor_posterior   *post = NULL;
    CHECK_OK(llap_anchor_condition(&k, &win, &post));
    CHECK_OK(llap_anchor_marginals(post, LLAP_ANCHOR_NOISY, mean, var));
    llap_anchor_posterior_destroy(post);
    llap_law            law[2];
    llap_anchor_request r = { .history = wd->s[1],
                              .series = 1,
                              .origin = wd->t[now],
                              .n_query = 2,
                              .t_query = tq,
                              .law = law };
    CHECK_OK(llap_anchor_model_forecast(m, &r, 1));
    for (int q = 0; q < 2; q++) {
        assert_true(fabs(law[q].mean - (level + scale * mean[q])) < 1e-12);
        assert_true(fabs(law[q].sd - scale * sqrt(var[q])) < 1e-12);
        const double z = llap_chain_z_back(c, 1, tq[q], law[q].mean + law[q].sd);
        assert_true(fabs(llap_anchor_quantile(m, 1, &law[q], 1.0) - llap_chain_y_back(c, 1, z)) <
                    1e-9);
    }
    llap_anchor_model_destroy(m);
}

/* Both sides beat the past; queries in any order; a reading is known well at its own time. */
static void filling(void **state)
{
    (void)state;
    const world           *wd = world_make();
    const llap_anchor_data d = data_of(wd);
    llap_anchor_model_opts o = small_opts();
    llap_anchor_model     *m = NULL;
    CHECK_OK(llap_anchor_model_fit(&d, &o, &m));
    double        y[N], tq[N];
    size_t        n = 0;
    llap_law      law[N];
    const double *truth = wd->y[0];
    memcpy(y, truth, sizeof y);
    for (int i = N - 1; i >= VALID; i -= 4) { /* backwards */
        if (isnan(y[i])) continue;
        y[i] = NAN;
        tq[n++] = wd->t[i];
    }
    llap_anchor_request r = { .history = { N, wd->t, y }, .n_query = n, .t_query = tq, .law = law };
    double              crps[2] = { 0 };
    for (int from = 0; from < 2; from++) {
        CHECK_OK(llap_anchor_model_fill(m, &r, 1, from == 0 ? LLAP_ANCHOR_PAST : LLAP_ANCHOR_BOTH));
        for (size_t i = 0; i < n; i++) {
            const double z = llap_chain_z(m->chain, 0, truth[(size_t)(tq[i] - wd->t[0])]);
            crps[from] += llap_anchor_crps_z(m, &law[i], z, NULL) / (double)n;
        }
    }
    if (!(crps[1] < 0.85 * crps[0])) fail_msg("both sides %g, past %g", crps[1], crps[0]);
    llap_anchor_request none = {
        .history = { 0, NULL, NULL }, .series = SIZE_MAX, .n_query = 1, .t_query = tq, .law = law
    };
    CHECK_OK(llap_anchor_model_fill(m, &none, 1, LLAP_ANCHOR_BOTH)); /* a new, empty series */
    assert_true(isfinite(law[0].mean) && law[0].sd > 0);
    tq[0] = NAN;
    CHECK_FAIL(llap_anchor_model_fill(m, &r, 1, LLAP_ANCHOR_BOTH), LLAP_EINVAL, "request 0: ");
    llap_anchor_model_destroy(m);
}

static llap_status little_of_everything(void *user)
{
    const world           *wd = user;
    const llap_anchor_data d = {
        wd->s, SERIES, wd->train_rows, wd->train, wd->n_train, wd->valid, 2
    };
    llap_anchor_model_opts o = small_opts();
    llap_anchor_model     *m = NULL;
    llap_law               law[3];
    o.fit.n_steps = 1;
    o.fit.n_rows = 2;
    o.kappa = 4;
    o.chain.climate = false;
    llap_status         st = llap_anchor_model_fit(&d, &o, &m);
    llap_anchor_request r = {
        .history = wd->s[0], .origin = wd->t[200], .n_query = 3, .t_query = wd->t + 201, .law = law
    };
    if (st == LLAP_OK) st = llap_anchor_model_forecast(m, &r, 1);
    if (st == LLAP_OK) st = llap_anchor_model_fill(m, &r, 1, LLAP_ANCHOR_PAST);
    if (st == LLAP_OK) st = llap_anchor_model_fill(m, &r, 1, LLAP_ANCHOR_BOTH);
    if (st == LLAP_OK) st = llap_anchor_model_calibrate(m, wd->s, SERIES, wd->valid, 2, 24, 72);
    llap_anchor_model_destroy(m);
    return st;
}

static void failures(void **state)
{
    (void)state;
    world                 *wd = world_make();
    llap_anchor_data       d = data_of(wd);
    llap_anchor_model_opts o = small_opts();
    llap_anchor_model     *m = NULL;
    check_every_failed_allocation(little_of_everything, wd);
    d.n_train = 0;
    CHECK_FAIL(llap_anchor_model_fit(&d, &o, &m), LLAP_EINVAL, "no training window");
    d = data_of(wd);
    wd->train[0].series = 7;
    d.n_train = 1;
    CHECK_FAIL(llap_anchor_model_fit(&d, &o, &m), LLAP_EINVAL, "series 7 of 3");
    wd->train[0].series = 0;
    o.spec.horizon = 0;
    CHECK_FAIL(llap_anchor_model_fit(&d, &o, &m), LLAP_EINVAL, "horizon > 0");
    assert_null(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_and_forecasts),
        cmocka_unit_test(forecast_is_the_posterior),
        cmocka_unit_test(filling),
        cmocka_unit_test(failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
