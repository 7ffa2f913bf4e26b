#include "anchor/window.h"
#include "world.h"

#include <omp.h>

/* Mean CRPS of forecasts at every fifth row of the test part. */
static double test_score(const ll_anchor_model *m, const world *wd)
{
    double sum = 0, n = 0;
    for (size_t e = 0; e < SERIES; e++)
        for (size_t i = VALID; i + HORIZON < N; i += 5) {
            ll_law            law[HORIZON];
            ll_anchor_request r = { .history = wd->s[e],
                                    .series = e,
                                    .origin = wd->t[i],
                                    .n_query = HORIZON,
                                    .t_query = wd->t + i + 1,
                                    .law = law };
            CHECK_OK(ll_anchor_model_forecast(m, &r, 1));
            for (size_t q = 0; q < HORIZON; q++) {
                const double z = ll_chain_z(m->chain, e, wd->y[e][i + 1 + q]);
                if (!isnan(z)) sum += ll_anchor_crps_z(m, &law[q], z, NULL), n += 1;
            }
        }
    return sum / n;
}

static void fits_and_forecasts(void **state)
{
    (void)state;
    const world         *wd = world_make();
    const ll_anchor_data d = data_of(wd);
    ll_anchor_model_opts o = small_opts();
    ll_anchor_model     *m = NULL, *again = NULL;
    const int            usual = omp_get_max_threads();
    omp_set_num_threads(1);
    CHECK_OK(ll_anchor_model_fit(&d, &o, &m));
    omp_set_num_threads(3);
    CHECK_OK(ll_anchor_model_fit(&d, &o, &again));
    omp_set_num_threads(usual);
    check_same_kernel(&m->kernel, &again->kernel);
    check_same_kernel(&m->fill_kernel, &again->fill_kernel);
    assert_true(m->valid_crps == again->valid_crps);
    assert_memory_equal(&m->fill_both, &again->fill_both, sizeof m->fill_both);
    const double own = test_score(m, wd);
    ll_anchor_model_destroy(again);

    o.fit.n_steps = 1; /* hardly fitted */
    CHECK_OK(ll_anchor_model_fit(&d, &o, &again));
    const double start = test_score(again, wd);
    if (!(own < start) || !(own < 0.35)) fail_msg("CRPS %g, at the start %g", own, start);
    ll_anchor_model_destroy(again);
    ll_anchor_model_destroy(m);
}

/* A cycle of 37 hours is found where cycles of any length may be tried; one of a day needs none,
 * and the fit is then what it is without. */
static void cycles_of_any_length(void **state)
{
    (void)state;
    for (int daily = 0; daily < 2; daily++) {
        const world         *wd = world_of_period(daily ? 24 : 37);
        const ll_anchor_data d = data_of(wd);
        ll_anchor_model_opts o = small_opts();
        ll_anchor_model     *without = NULL, *with = NULL;
        o.fit.n_steps = 60;
        o.kappa = 4; /* one candidate each */
        o.chain.climate = o.link = false;
        CHECK_OK(ll_anchor_model_fit(&d, &o, &without));
        CHECK_OK(ll_anchor_kernel_spaced(8, CONTEXT, 4, &o.cycles));
        CHECK_OK(ll_anchor_model_fit(&d, &o, &with));
        if (daily) {
            check_same_kernel(&without->kernel, &with->kernel);
            check_same_kernel(&without->fill_kernel, &with->fill_kernel);
        } else {
            const double better = test_score(with, wd), worse = test_score(without, wd);
            int          best = 0;
            for (int i = 0; i < with->kernel.n_terms; i++)
                if (with->kernel.omega[i] > 0 &&
                    (best == 0 || with->kernel.a[i] > with->kernel.a[best]))
                    best = i;
            const double period = 6.283185307179586 / with->kernel.omega[best];
            if (!(better < 0.95 * worse) || !(fabs(period - 37) < 4))
                fail_msg("CRPS %g, without %g; period %g", better, worse, period);
            assert_true(with->valid_crps < 0.99 * without->valid_crps);
        }
        ll_anchor_model_destroy(without);
        ll_anchor_model_destroy(with);
    }
}

typedef struct scores { /* of candidates, by their notes: kernel.N */
    double crps[100], least;
} scores;

static llap_status keep_score(void *user, const char *fit, const ll_anchor_model *m)
{
    scores   *s = user;
    const int k = atoi(strchr(fit, '.') + 1);
    assert_true(k >= 0 && k < 100);
    s->crps[k] = m->valid_crps;
    s->least = fmin(s->least, m->valid_crps);
    return LLAP_OK;
}

/* Where cycles were learnt, a weekly profile (7) is also fitted from the kernel before them (6),
 * and whoever comes later does no worse than the better by more than what it had to gain. */
static void a_profile_is_tried_from_before_learnt_cycles(void **state)
{
    (void)state;
    for (int daily = 0; daily < 2; daily++) {
        const world         *wd = world_of_period(daily ? 24 : 37);
        const ll_anchor_data d = data_of(wd);
        ll_anchor_model_opts o = small_opts();
        ll_anchor_model     *m = NULL;
        scores               s = { .least = INFINITY };
        for (int k = 0; k < 100; k++) s.crps[k] = NAN;
        o.fit.n_steps = 60;
        o.fit.watch.user = &s;
        o.fit.watch.scored = keep_score;
        o.kappa = 4;
        o.link = false;
        o.chain.gap = 1;
        CHECK_OK(ll_anchor_kernel_spaced(8, CONTEXT, 4, &o.cycles));
        CHECK_OK(ll_anchor_model_fit(&d, &o, &m));
        const double before =
            fmin(s.crps[0], s.crps[1]); /* without and with a climate; cycles: 2 */
        assert_int_equal(s.crps[2] < .95 * before, !daily);
        assert_false(isnan(s.crps[7]));
        assert_int_equal(isnan(s.crps[6]), daily);
        assert_true(m->valid_crps <= fmin(fmin(s.crps[6], s.crps[7]), s.crps[2]) / .94);
        ll_anchor_model_destroy(m);
    }
}

/* The answers are those of the posterior on the normalised window, taken back. */
static void forecast_is_the_posterior(void **state)
{
    (void)state;
    const world           *wd = world_make();
    ll_chain              *c = NULL;
    ll_anchor_model       *m = NULL;
    const ll_anchor_kernel k = ll_anchor_kernel_hourly();
    const ll_anchor_spec   spec = { .context = CONTEXT, .horizon = HORIZON, .max_obs = 40 };
    CHECK_OK(ll_chain_fit(wd->s, SERIES, &LL_CHAIN_DEFAULT, &c));
    CHECK_OK(ll_anchor_model_create(&spec, c, &k, 4, &m));
    const size_t now = 500;
    double       u[CONTEXT], w[CONTEXT], level, scale, mean[2], var[2];
    size_t       first = now + 1, seen = 0;
    while (seen < 40) seen += !isnan(wd->y[1][--first]);
    const size_t n = now + 1 - first;
    for (size_t i = 0; i < n; i++)
        u[i] = ll_chain_u(c, 1, wd->t[first + i], ll_chain_z(c, 1, wd->y[1][first + i]));
    ll_window_norm(u, n, 4, &level, &scale);
    for (size_t i = 0; i < n; i++) w[i] = (u[i] - level) / scale;
    const double           tq[] = { wd->t[now] + 7, wd->t[now] + 1.5 };
    const ll_anchor_window win = {
        .n_obs = n, .t = wd->t + first, .y = w, .n_query = 2, .t_query = tq
    };
    ll_anchor_posterior *post = NULL;
    CHECK_OK(ll_anchor_condition(&k, &win, &post));
    CHECK_OK(ll_anchor_marginals(post, LL_ANCHOR_NOISY, mean, var));
    ll_anchor_posterior_destroy(post);
    ll_law            law[2];
    ll_anchor_request r = { .history = wd->s[1],
                            .series = 1,
                            .origin = wd->t[now],
                            .n_query = 2,
                            .t_query = tq,
                            .law = law };
    CHECK_OK(ll_anchor_model_forecast(m, &r, 1));
    for (int q = 0; q < 2; q++) {
        assert_true(fabs(law[q].mean - (level + scale * mean[q])) < 1e-12);
        assert_true(fabs(law[q].sd - scale * sqrt(var[q])) < 1e-12);
        const double z = chain_z_back(c, 1, tq[q], law[q].mean + law[q].sd);
        assert_true(fabs(ll_anchor_quantile(m, 1, &law[q], 1.0) - ll_chain_y_back(c, 1, z)) < 1e-9);
    }
    ll_anchor_model_destroy(m);
}

/* Both sides beat the past; queries in any order; a reading is known well at its own time. */
static void filling(void **state)
{
    (void)state;
    const world         *wd = world_make();
    const ll_anchor_data d = data_of(wd);
    ll_anchor_model_opts o = small_opts();
    ll_anchor_model     *m = NULL;
    CHECK_OK(ll_anchor_model_fit(&d, &o, &m));
    double        y[N], tq[N];
    size_t        n = 0;
    ll_law        law[N];
    const double *truth = wd->y[0];
    memcpy(y, truth, sizeof y);
    for (int i = N - 1; i >= VALID; i -= 4) { /* backwards */
        if (isnan(y[i])) continue;
        y[i] = NAN;
        tq[n++] = wd->t[i];
    }
    ll_anchor_request r = {
        .history = { .n = N, .t = wd->t, .y = y }, .n_query = n, .t_query = tq, .law = law
    };
    double crps[2] = { 0 };
    for (int from = 0; from < 2; from++) {
        CHECK_OK(ll_anchor_model_fill(m, &r, 1, from == 0 ? LL_ANCHOR_PAST : LL_ANCHOR_BOTH));
        for (size_t i = 0; i < n; i++) {
            const double z = ll_chain_z(m->chain, 0, truth[(size_t)(tq[i] - wd->t[0])]);
            crps[from] += ll_anchor_crps_z(m, &law[i], z, NULL) / (double)n;
        }
    }
    if (!(crps[1] < 0.85 * crps[0])) fail_msg("both sides %g, past %g", crps[1], crps[0]);
    ll_anchor_request none = {
        .history = { 0 }, .series = SIZE_MAX, .n_query = 1, .t_query = tq, .law = law
    };
    CHECK_OK(ll_anchor_model_fill(m, &none, 1, LL_ANCHOR_BOTH)); /* a new, empty series */
    assert_true(isfinite(law[0].mean) && law[0].sd > 0);
    tq[0] = NAN;
    CHECK_FAIL(ll_anchor_model_fill(m, &r, 1, LL_ANCHOR_BOTH), LLAP_EINVAL, "request 0: ");
    ll_anchor_model_destroy(m);
}

/* Covariance [n,n] of the readings of a gap of n rows of series 1, by the posterior of the window
 * around it, or of what lies before it. */
static void gap_covariance(const ll_anchor_model *m, const world *wd, const double *y, int first,
                           int n, bool both, double *cov)
{
    const int            before = both ? CONTEXT / 2 : CONTEXT;
    const int            n_obs = before + (both ? n + CONTEXT / 2 : 0);
    double               u[N], level, scale;
    ll_anchor_posterior *post = NULL;
    for (int i = 0; i < n_obs; i++) {
        const int at = first - before + i;
        u[i] = ll_chain_u(m->chain, 1, wd->t[at], ll_chain_z(m->chain, 1, y[at]));
    }
    ll_window_norm(u, (size_t)n_obs, 4, &level, &scale);
    for (int i = 0; i < n_obs; i++) u[i] = (u[i] - level) / scale;
    const ll_anchor_window win = { .n_obs = (size_t)n_obs,
                                   .t = wd->t + first - before,
                                   .y = u,
                                   .n_query = (size_t)n,
                                   .t_query = wd->t + first };
    CHECK_OK(ll_anchor_condition(&m->fill_kernel, &win, &post));
    CHECK_OK(ll_anchor_covariance(post, LL_ANCHOR_NOISY, cov));
    ll_anchor_posterior_destroy(post);
}

/* Draws within a gap are as the posterior has them together: correlations within five standard
 * errors, margins those of the laws. */
static void paths_of_gaps_are_joint(void **state)
{
    (void)state;
    enum { GAP = 5, PATHS = 4000, FIRST = 500 };
    const world           *wd = world_make();
    const ll_anchor_kernel k = ll_anchor_kernel_hourly();
    const ll_anchor_spec   spec = { .context = CONTEXT, .horizon = HORIZON };
    ll_chain              *c = NULL;
    ll_anchor_model       *m = NULL;
    static double          y[N], path[PATHS * (GAP + 1)], few[3 * (GAP + 1)];
    double                 tq[GAP + 1], cov[GAP * GAP];
    ll_law                 law[GAP + 1];
    CHECK_OK(ll_chain_fit(wd->s, SERIES, &LL_CHAIN_DEFAULT, &c));
    CHECK_OK(ll_anchor_model_create(&spec, c, &k, 4, &m));
    memcpy(y, wd->y[1], sizeof y);
    for (int i = 0; i <= GAP; i++) { /* a gap, and one reading that is lost long after it */
        tq[i] = wd->t[FIRST + (i < GAP ? i : 3 * CONTEXT)];
        y[FIRST + (i < GAP ? i : 3 * CONTEXT)] = NAN;
    }
    y[FIRST + GAP] = 20;
    ll_anchor_request r = { .history = { .n = N, .t = wd->t, .y = y },
                            .series = 1,
                            .n_query = GAP + 1,
                            .t_query = tq,
                            .law = law };
    for (int both = 0; both < 2; both++) {
        const ll_anchor_from from = both ? LL_ANCHOR_BOTH : LL_ANCHOR_PAST;
        gap_covariance(m, wd, y, FIRST, GAP, both, cov);
        CHECK_OK(ll_anchor_model_fill(m, &r, 1, from));
        CHECK_OK(ll_anchor_model_fill_paths(m, &r, from, 3, 9, PATHS, path));
        CHECK_OK(ll_anchor_model_fill_paths(m, &r, from, 3, 9, 3, few));
        assert_memory_equal(path, few, sizeof few);
        for (size_t i = 0; i < PATHS * (GAP + 1); i++) { /* as scores of the laws */
            const size_t q = i % (GAP + 1);
            const double x = ll_chain_u(c, 1, tq[q], ll_chain_z(c, 1, path[i]));
            path[i] = (x - law[q].mean) / law[q].sd;
        }
        for (int a = 0; a <= GAP; a++)
            for (int b = 0; b <= GAP; b++) {
                double sum = 0, expected = a == b;
                for (size_t i = 0; i < PATHS; i++)
                    sum += path[i * (GAP + 1) + (size_t)a] * path[i * (GAP + 1) + (size_t)b];
                if (a < GAP && b < GAP)
                    expected = cov[a * GAP + b] / sqrt(cov[a * GAP + a] * cov[b * GAP + b]);
                if (fabs(sum / PATHS - expected) > 5 * 1.5 / sqrt(PATHS))
                    fail_msg("%d: %d, %d: %g, not %g", both, a, b, sum / PATHS, expected);
            }
    }
    ll_anchor_model_destroy(m);
}

static llap_status little_of_everything(void *user)
{
    enum { FEW = 150 };
    const world         *wd = user;
    const ll_origin     *valid = wd->train + 10;
    ll_series            s[SERIES];
    const ll_anchor_data d = { s, SERIES, wd->train_rows, wd->train, 2, valid, 2, NULL, 0, { 0 } };
    ll_anchor_model_opts o = small_opts();
    ll_anchor_model     *m = NULL;
    ll_law               law[3];
    for (size_t e = 0; e < SERIES; e++) s[e] = (ll_series){ .n = FEW, .t = wd->t, .y = wd->y[e] };
    o.fit.n_steps = 1;
    o.fit.n_rows = 2;
    o.kappa = 4;
    o.chain.climate = false;
    o.neighbours_series = true;
    llap_status       st = ll_anchor_model_fit(&d, &o, &m);
    ll_anchor_request r = {
        .history = s[0], .origin = wd->t[130], .n_query = 3, .t_query = wd->t + 131, .law = law
    };
    if (st == LLAP_OK) st = ll_anchor_model_forecast(m, &r, 1);
    if (st == LLAP_OK) st = ll_anchor_model_fill(m, &r, 1, LL_ANCHOR_PAST);
    if (st == LLAP_OK) st = ll_anchor_model_fill(m, &r, 1, LL_ANCHOR_BOTH);
    double path[6];
    if (st == LLAP_OK) st = ll_anchor_model_fill_paths(m, &r, LL_ANCHOR_BOTH, 1, 1, 2, path);
    ll_anchor_model_destroy(m);
    return st;
}

static void failures(void **state)
{
    (void)state;
    world               *wd = world_make();
    ll_anchor_data       d = data_of(wd);
    ll_anchor_model_opts o = small_opts();
    ll_anchor_model     *m = NULL;
    check_every_failed_allocation(little_of_everything, wd);
    d.n_train = 0;
    CHECK_FAIL(ll_anchor_model_fit(&d, &o, &m), LLAP_EINVAL, "no training window");
    d = data_of(wd);
    wd->train[0].series = 7;
    d.n_train = 1;
    CHECK_FAIL(ll_anchor_model_fit(&d, &o, &m), LLAP_EINVAL, "series 7 of 3");
    wd->train[0].series = 0;
    o.spec.horizon = 0;
    CHECK_FAIL(ll_anchor_model_fit(&d, &o, &m), LLAP_EINVAL, "horizon > 0");
    assert_null(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_and_forecasts),
        cmocka_unit_test(cycles_of_any_length),
        cmocka_unit_test(a_profile_is_tried_from_before_learnt_cycles),
        cmocka_unit_test(forecast_is_the_posterior),
        cmocka_unit_test(filling),
        cmocka_unit_test(paths_of_gaps_are_joint),
        cmocka_unit_test(failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
