#include "anchor/model.h"
#include "anchor/window.h"
#include "dense.h"

#include <omp.h>

/* Three stations with a daily cycle, slow weather and noise; hours, a tenth missing. */
enum { N = 900, SERIES = 3, TRAIN = 600, VALID = 750, CONTEXT = 96, HORIZON = 12 };
typedef struct world {
    double    t[N], y[SERIES][N];
    ll_series s[SERIES];
    size_t    train_rows[SERIES];
    ll_origin train[SERIES * N], valid[SERIES * N];
    size_t    n_train, n_valid;
} world;

static world *world_of_period(double period)
{
    static world wd;
    dice         d = { 51 };
    wd.n_train = wd.n_valid = 0;
    for (int i = 0; i < N; i++) wd.t[i] = 400000 + i;
    for (size_t e = 0; e < SERIES; e++) {
        double weather = 0;
        for (int i = 0; i < N; i++) {
            weather += -0.05 * weather + 0.3 * roll_normal(&d);
            const double f = sin(6.283185307179586 * i / period) + weather + 0.1 * roll_normal(&d);
            wd.y[e][i] = roll(&d) < 0.1 ? NAN : 20 + 5 * (double)(e + 1) * f;
        }
        wd.s[e] = (ll_series){ .n = N, .t = wd.t, .y = wd.y[e] };
        wd.train_rows[e] = TRAIN;
        for (int i = CONTEXT; i + HORIZON < TRAIN; i += 3)
            wd.train[wd.n_train++] = (ll_origin){ e, wd.t[i] };
        for (int i = TRAIN; i + HORIZON < VALID; i += 5)
            wd.valid[wd.n_valid++] = (ll_origin){ e, wd.t[i] };
    }
    return &wd;
}

static world *world_make(void) { return world_of_period(24); }

static ll_anchor_data data_of(const world *wd)
{
    return (ll_anchor_data){ wd->s,       SERIES,    wd->train_rows, wd->train,
                             wd->n_train, wd->valid, wd->n_valid };
}

static ll_anchor_model_opts small_opts(void)
{
    ll_anchor_model_opts o = LL_ANCHOR_MODEL_DEFAULT;
    o.spec = (ll_anchor_spec){ .context = CONTEXT, .horizon = HORIZON };
    o.fit.n_steps = 30;
    o.fit.n_rows = 16;
    o.link = true;
    return o;
}

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
        const double z = ll_chain_z_back(c, 1, tq[q], law[q].mean + law[q].sd);
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

/* Readings of the world with three in ten gone, by series. */
static ll_series *with_holes(const world *wd, const double (*full)[N], double (*y)[N], ll_series *s)
{
    dice d = { 77 };
    for (size_t e = 0; e < SERIES; e++) {
        for (int i = 0; i < N; i++) y[e][i] = roll(&d) < 0.3 ? NAN : full[e][i];
        s[e] = (ll_series){ .n = N, .t = wd->t, .y = y[e] };
    }
    return s;
}

typedef struct seen {
    const ll_anchor_request *r;
    double (*residual)[SERIES]; /* by query of the one request */
    size_t n;
} seen;

static void see(void *user, size_t i, size_t q, const double *residual)
{
    seen *s = user;
    assert_true(i == 0);
    memcpy(s->residual[q], residual, sizeof s->residual[q]);
    s->n++;
}

/* By definition: the first reading of series j at t against its dense law given its rows within
 * (first, last] that `use` keeps, and the same normalised window. */
static double dense_residual(const ll_anchor_model *m, const ll_series *h, size_t j, double t,
                             double first, double last, double low, double high)
{
    static double u[N], w[N];
    bool          use[N];
    size_t        from = anchor_after(h->t, h->n, first), n = anchor_after(h->t, h->n, last) - from;
    double        level, scale, mean, var, y = NAN;
    for (size_t i = 0; i < n; i++) {
        const double z = ll_chain_z(m->chain, j, h->y[from + i]);
        u[i] = isnan(z) ? NAN : ll_chain_u(m->chain, j, h->t[from + i], z);
    }
    ll_window_norm(u, n, m->kappa, &level, &scale);
    for (size_t i = 0; i < n; i++) {
        w[i] = (u[i] - level) / scale;
        use[i] = !(h->t[from + i] > low && h->t[from + i] < high);
        if (h->t[from + i] == t) y = w[i];
    }
    const ll_anchor_window win = {
        .n_obs = n, .t = h->t + from, .y = w, .n_query = 1, .t_query = &t
    };
    dense_posterior(&m->fill_kernel, &win, use, &mean, &var, NULL);
    const double noise = m->fill_kernel.nu + m->fill_kernel.jitter;
    return fmin(fmax((y - mean) / sqrt(var + noise), -ANCHOR_NEIGHBOURS_CLIP),
                ANCHOR_NEIGHBOURS_CLIP);
}

/* What the others say about gaps of series 0 is what the dense law without the gap's readings does;
 * asked in one go or by itself it is the same, bit for bit. */
static void residuals_of_the_others(void **state)
{
    (void)state;
    static double          y[SERIES][N], all[N][SERIES], one[N][SERIES];
    static ll_law          law[N];
    const world           *wd = world_make();
    ll_series              s[SERIES];
    ll_chain              *c = NULL;
    ll_anchor_model       *m = NULL;
    const ll_anchor_kernel k = ll_anchor_kernel_hourly();
    const ll_anchor_spec   spec = { .context = CONTEXT, .horizon = HORIZON };
    const double           half = CONTEXT / 2, low = floor(wd->t[520] / half) * half;
    CHECK_OK(ll_chain_fit(wd->s, SERIES, &LL_CHAIN_DEFAULT, &c));
    CHECK_OK(ll_anchor_model_create(&spec, c, &k, 4, &m));
    with_holes(wd, wd->y, y, s);
    for (int i = 510; i < 530; i++) y[0][i] = NAN; /* a long one */
    ll_anchor_request r = { .history = s[0], .n_query = N, .t_query = wd->t, .law = law, .all = s };
    seen              v = { .r = &r, .residual = all };
    CHECK_OK(anchor_neighbours_each(m, &r, 1, LL_ANCHOR_BOTH, see, &v));
    size_t checked = 0, missing = 0;
    for (int i = 0; i < N; i++) {
        const double t = wd->t[i];
        missing += isnan(y[0][i]);
        if (!isnan(y[0][i]) || t < low || t >= low + half) continue;
        int a = i, b = i;
        while (isnan(y[0][a])) a--;
        while (isnan(y[0][b])) b++;
        for (size_t j = 1; j < SERIES; j++) {
            if (isnan(y[j][i])) {
                assert_true(isnan(all[i][j]));
                continue;
            }
            size_t first = 0, last = N - 1; /* readings of j in the piece and half a piece around */
            while (isnan(y[j][first]) || wd->t[first] < low - half / 2) first++;
            while (isnan(y[j][last]) || wd->t[last] >= low + half + half / 2) last--;
            const double r0 = dense_residual(m, &s[j], j, t, wd->t[first] - half,
                                             wd->t[last] + half, wd->t[a], wd->t[b]);
            if (!(fabs(all[i][j] - r0) < 1e-7)) fail_msg("row %d: %.12g, %.12g", i, all[i][j], r0);
            checked++;
        }
        r.n_query = 1;
        r.t_query = &wd->t[i];
        v.residual = one;
        CHECK_OK(anchor_neighbours_each(m, &r, 1, LL_ANCHOR_BOTH, see, &v));
        assert_memory_equal(one[0], all[i], sizeof one[0]);
        v.n--;
    }
    assert_true(checked > 30 && v.n == missing); /* only what is not read */
    r.n_query = 1;
    for (int i = 520; i < 523; i++) { /* from the past: without the reading itself */
        r.t_query = &wd->t[i];
        CHECK_OK(anchor_neighbours_each(m, &r, 1, LL_ANCHOR_PAST, see, &v));
        for (size_t j = 1; j < SERIES; j++) {
            const double t = wd->t[i], before = nextafter(t, -INFINITY);
            if (isnan(y[j][i])) continue;
            ll_anchor_request own = { .history = s[j],
                                      .series = j,
                                      .origin = before,
                                      .n_query = 1,
                                      .t_query = &t,
                                      .law = law };
            CHECK_OK(ll_anchor_model_forecast(m, &own, 1));
            const double u = ll_chain_u(c, j, t, ll_chain_z(c, j, y[j][i]));
            const double r0 = fmin(fmax((u - law[0].mean) / law[0].sd, -4), 4);
            assert_true(fabs(one[0][j] - r0) < 1e-9);
        }
    }
    ll_anchor_model_destroy(m);
}

/* The conditional law, against the inverse of a 3 x 3 matrix by hand. */
static void law_given_the_others(void **state)
{
    (void)state;
    const double cov[9] = { 1.2, 0.5, 0.3, 0.5, 0.9, 0.4, 0.3, 0.4, 1.1 };
    const double r[3] = { 9, 1.5, -0.7 }, part[3] = { 9, 1.5, NAN }, none[3] = { 9, NAN, NAN };
    const double bad[4] = { 1, 1.5, 1.5, 1 }, shape[1] = { 1 };
    const double det = 0.9 * 1.1 - 0.16;
    const double g1 = (0.5 * 1.1 - 0.3 * 0.4) / det, g2 = (0.3 * 0.9 - 0.5 * 0.4) / det;
    ll_law       law = { .mean = 2, .sd = 3 };
    anchor_neighbours_law(cov, 3, 0, r, shape, &law);
    assert_true(fabs(law.mean - (2 + 3 * (g1 * 1.5 - g2 * 0.7))) < 1e-12);
    assert_true(fabs(law.sd - 3 * sqrt(1.2 - g1 * 0.5 - g2 * 0.3)) < 1e-12);
    assert_true(law.shape == shape);
    law = (ll_law){ .mean = 2, .sd = 3 };
    anchor_neighbours_law(cov, 3, 0, part, shape, &law);
    assert_true(fabs(law.mean - (2 + 3 * 0.5 / 0.9 * 1.5)) < 1e-12);
    assert_true(fabs(law.sd - 3 * sqrt(1.2 - 0.25 / 0.9)) < 1e-12);
    law = (ll_law){ .mean = 2, .sd = 3 };
    anchor_neighbours_law(cov, 3, 0, none, shape, &law);
    assert_true(law.mean == 2 && law.sd == 3 && law.shape == NULL);
    assert_true(anchor_neighbours_definite(cov, 3) && !anchor_neighbours_definite(bad, 2));
}

/* CRPS of series 0 filled where it has holes. */
static double filled_crps(const ll_anchor_model *m, const double *truth, const ll_series *s,
                          bool alone, ll_anchor_from from)
{
    static double tq[N];
    static ll_law law[N];
    size_t        n = 0;
    double        sum = 0;
    for (int i = VALID; i < N; i++)
        if (isnan(s[0].y[i]) && !isnan(truth[i])) tq[n++] = s[0].t[i];
    ll_anchor_request r = {
        .history = s[0], .n_query = n, .t_query = tq, .law = law, .all = alone ? NULL : s
    };
    CHECK_OK(ll_anchor_model_fill(m, &r, 1, from));
    for (size_t i = 0; i < n; i++) {
        const double z = ll_chain_z(m->chain, 0, truth[(size_t)(tq[i] - s[0].t[0])]);
        sum += ll_anchor_crps_z(m, &law[i], z, NULL) / (double)n;
    }
    return sum;
}

/* Series that share their changes help each other; those that do not are left alone. */
static void filling_by_the_others(void **state)
{
    (void)state;
    static double        y[SERIES][N];
    world               *wd = world_make();
    const ll_anchor_data d = data_of(wd);
    ll_anchor_model_opts o = small_opts();
    ll_anchor_model     *m = NULL;
    ll_series            s[SERIES];
    o.link = false;
    o.neighbours_series = true;
    CHECK_OK(ll_anchor_model_fit(&d, &o, &m));
    assert_true(m->neighbours[LL_ANCHOR_PAST].cov == NULL &&
                m->neighbours[LL_ANCHOR_BOTH].cov == NULL);
    ll_anchor_model_destroy(m);
    dice di = { 9 };
    for (size_t e = 1; e < SERIES; e++)
        for (int i = 0; i < N; i++)
            if (!isnan(wd->y[0][i])) wd->y[e][i] = wd->y[0][i] + 0.5 * roll_normal(&di);
    CHECK_OK(ll_anchor_model_fit(&d, &o, &m));
    with_holes(wd, wd->y, y, s);
    for (int from = 0; from < 2; from++) {
        assert_non_null(m->neighbours[from].cov);
        const double alone = filled_crps(m, wd->y[0], s, true, (ll_anchor_from)from);
        const double with = filled_crps(m, wd->y[0], s, false, (ll_anchor_from)from);
        print_message("CRPS alone %.4f, with the others %.4f\n", alone, with);
        assert_true(with < 0.8 * alone);
    }
    ll_anchor_model_destroy(m);
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
    double                 tq[GAP + 1], cov[GAP * GAP], u[N];
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
        const int            before = both ? CONTEXT / 2 : CONTEXT;
        const int            n = before + (both ? GAP + CONTEXT / 2 : 0);
        double               level, scale;
        ll_anchor_posterior *post = NULL;
        for (int i = 0; i < n; i++) {
            const int at = FIRST - before + i;
            u[i] = ll_chain_u(c, 1, wd->t[at], ll_chain_z(c, 1, y[at]));
        }
        ll_window_norm(u, (size_t)n, 4, &level, &scale);
        for (int i = 0; i < n; i++) u[i] = (u[i] - level) / scale;
        const ll_anchor_window win = {
            .n_obs = (size_t)n, .t = wd->t + FIRST - before, .y = u, .n_query = GAP, .t_query = tq
        };
        CHECK_OK(ll_anchor_condition(&m->fill_kernel, &win, &post));
        CHECK_OK(ll_anchor_covariance(post, LL_ANCHOR_NOISY, cov));
        ll_anchor_posterior_destroy(post);
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

/* ---- a watch that keeps what was found, and stops ---- */

typedef struct keeper {
    struct {
        char   name[32];
        double v[300];
        size_t n;
    } note[16];
    size_t  n;
    int64_t left, done, most; /* steps until it stops, made, to make */
    int     scored;
} keeper;

static bool find_note(void *user, const char *name, double *v, size_t n)
{
    const keeper *x = user;
    for (size_t i = 0; i < x->n; i++) {
        if (strcmp(x->note[i].name, name) != 0) continue;
        assert_int_equal(x->note[i].n, n);
        memcpy(v, x->note[i].v, n * sizeof *v);
        return true;
    }
    return false;
}

static llap_status keep_note(void *user, const char *name, const double *v, size_t n)
{
    keeper *x = user;
    size_t  i = 0;
    while (i < x->n && strcmp(x->note[i].name, name) != 0) i++;
    assert_true(i < 16 && n <= 300 && strlen(name) < 32);
    if (i == x->n) x->n++;
    memcpy(x->note[i].name, name, strlen(name) + 1);
    memcpy(x->note[i].v, v, n * sizeof *v);
    x->note[i].n = n;
    return LLAP_OK;
}

static llap_status count_step(void *user, const char *fit, int64_t done, int64_t made, double loss)
{
    keeper *x = user;
    assert_int_equal(made > 0, strncmp(fit, "kernel", 6) == 0 || strcmp(fit, "filling") == 0);
    assert_int_equal(made > 0, !isnan(loss));
    assert_true(done > x->done && done <= x->most);
    x->done = done;
    return --x->left > 0 ? LLAP_OK : ll_fail(LLAP_ECANCELLED, "later");
}

static llap_status count_score(void *user, const char *fit, const ll_anchor_model *m)
{
    keeper *x = user;
    char    expected[32];
    snprintf(expected, sizeof expected, "kernel.%d", x->scored++);
    assert_string_equal(fit, expected);
    assert_true(m->valid_crps > 0);
    return LLAP_OK;
}

static void check_same_model(const ll_anchor_model *a, const ll_anchor_model *b)
{
    const size_t n = a->chain->n_series;
    check_same_kernel(&a->kernel, &b->kernel);
    check_same_kernel(&a->fill_kernel, &b->fill_kernel);
    assert_memory_equal(&a->calibration, &b->calibration, sizeof a->calibration);
    assert_memory_equal(&a->fill_past, &b->fill_past, sizeof a->fill_past);
    assert_memory_equal(&a->fill_both, &b->fill_both, sizeof a->fill_both);
    assert_true(a->valid_crps == b->valid_crps && a->kappa == b->kappa);
    assert_int_equal(a->link.rank, b->link.rank);
    assert_memory_equal(a->link.share, b->link.share, sizeof a->link.share);
    assert_memory_equal(a->loading, b->loading, n * a->link.rank * sizeof *a->loading);
    for (int from = 0; from < 2; from++) {
        assert_memory_equal(a->neighbours[from].cov, b->neighbours[from].cov,
                            n * n * sizeof(double));
        assert_memory_equal(&a->neighbours[from].calibration, &b->neighbours[from].calibration,
                            sizeof a->neighbours[from].calibration);
    }
}

/* One number of a note at a time; all else is as a fit has left it. */
static void check_damages(keeper *x, const ll_anchor_data *d, const ll_anchor_model_opts *o)
{
    enum { NUMBERS = 3 * LL_ANCHOR_MAX_TERMS + 3, EDGE = 2 + LL_ANCHOR_MAX_TERMS };
    static const struct {
        const char *note;
        size_t      at;
        double      value;
        const char *expected;
    } damages[] = {
        { "kernel.0", 0, -1, "note 'kernel.0': steps: expected 0..9, found -1" },
        { "kernel.0", 1, 10, "note 'kernel.0': moves: expected 0..9, found 10" },
        { "kernel.0", 2, NAN, "note 'kernel.0': late steps: expected 0..9, found nan" },
        { "kernel.4", 3, 47, "note 'kernel.4': numbers: expected -46..46, found 47" },
        { "kernel.4", 3 + NUMBERS, INFINITY, "note 'kernel.4': moments: expected " },
        { "kernel.4", 3 + 2 * NUMBERS, -1, "note 'kernel.4': squares: expected 0.." },
        { "filling", 3 + 3 * NUMBERS, 1e9, "note 'filling': sums: expected -" },
        { "kernel.1.score", 0, -1, "note 'kernel.1.score': CRPS: expected 0.." },
        { "link", 0, LL_ANCHOR_RANK_MAX + 1, "note 'link': rank: expected 0..2, found 3" },
        { "link", 1, NAN, "note 'link': CRPS: expected 0.." },
        { "link", 2, 1.5, "note 'link': joint anchor: share[0]: expected 0 to 1, found 1.5" },
        { "link", EDGE + 1, 1, "note 'link': calibration.edge: expected 72..72, found 1" },
        { "link", EDGE + 2, 0, "note 'link': calibration.factor: expected 1e-06..1e+06, found 0" },
        { "link", EDGE + 17, 2, "note 'link': joint anchor: entity 0: squared loadings sum to " },
        { "near.0", 0, 2, "note 'near.0': whether it pays: expected 0..1, found 2" },
        { "near.0", 2, 3, "note 'near.0': calibration.edge: expected 0..0, found 3" },
        { "near.1", 17, NAN, "note 'near.1': calibration.factor: expected 1e-06..1e+06, found" },
        { "near.1", 18, INFINITY, "note 'near.1': covariance: expected " },
        { "near.1", 19, 7, "note 'near.1': covariance: expected " },
        { "near.1", 18, -1, "note 'near.1': is no covariance of 3 entities" },
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        ll_anchor_model *m = NULL;
        size_t           k = 0;
        while (k < x->n && strcmp(x->note[k].name, damages[i].note) != 0) k++;
        assert_in_range(damages[i].at, 0, x->note[k].n - 1);
        const double was = x->note[k].v[damages[i].at];
        x->note[k].v[damages[i].at] = damages[i].value;
        CHECK_FAIL(ll_anchor_model_fit(d, o, &m), LLAP_EFORMAT, damages[i].expected);
        assert_null(m);
        x->note[k].v[damages[i].at] = was;
    }
}

/* All parts of a fit: five kernels and their scores, the link, filling, the other series. */
static void a_fit_goes_on_where_it_was_stopped(void **state)
{
    (void)state;
    static keeper        x;
    world               *wd = world_make();
    const ll_anchor_data d = data_of(wd);
    ll_anchor_model_opts o = small_opts();
    ll_anchor_model     *whole = NULL, *m = NULL;
    dice                 di = { 9 };
    for (size_t e = 1; e < SERIES; e++)
        for (int i = 0; i < N; i++)
            wd->y[e][i] = roll(&di) < 0.5 ? NAN : wd->y[0][i] + 0.5 * roll_normal(&di);
    o.fit.n_steps = 9;
    o.neighbours_series = true;
    CHECK_OK(ll_anchor_kernel_spaced(8, CONTEXT, 3, &o.cycles));
    CHECK_OK(ll_anchor_model_fit(&d, &o, &whole));
    assert_true(whole->link.rank > 0);
    assert_non_null(whole->neighbours[LL_ANCHOR_PAST].cov);
    assert_non_null(whole->neighbours[LL_ANCHOR_BOTH].cov);
    o.fit.watch = (ll_anchor_watch){
        .user = &x, .step = count_step, .scored = count_score, .find = find_note, .keep = keep_note
    };
    x.most = ll_anchor_model_steps(&o, SERIES, true);
    llap_status st = LLAP_ECANCELLED;
    int         runs = 0;
    for (; st == LLAP_ECANCELLED && runs < 300; runs++) {
        x.left = 7 + runs % 3 + (runs > 12 ? 98 : 0); /* of the last, a look at all is one piece */
        x.done = 0;
        st = ll_anchor_model_fit(&d, &o, &m);
    }
    CHECK_OK(st);
    assert_in_range(runs, 8, 100);
    assert_int_equal(x.done, x.most);
    assert_int_equal(x.scored, 5); /* each once */
    check_same_model(whole, m);
    ll_anchor_model_destroy(m);
    x.done = x.most; /* no step more */
    check_damages(&x, &d, &o);
    CHECK_OK(ll_anchor_model_fit(&d, &o, &m));
    check_same_model(whole, m);
    ll_anchor_model_destroy(m);
    ll_anchor_model_destroy(whole);
}

/* One kernel and that of filling: what is counted is made. */
static void without_validation_all_steps_are_made(void **state)
{
    (void)state;
    world               *wd = world_make();
    ll_anchor_data       d = data_of(wd);
    ll_anchor_model_opts o = small_opts();
    d.n_valid = 0;
    o.fit.n_steps = 3;
    o.link = o.neighbours_series = true;
    CHECK_OK(ll_anchor_kernel_spaced(8, CONTEXT, 3, &o.cycles));
    for (int climate = 0; climate < 2; climate++) {
        static keeper    x;
        ll_anchor_model *m = NULL;
        x = (keeper){ .left = 100, .most = ll_anchor_model_steps(&o, SERIES, false) };
        o.chain.climate = climate;
        o.fit.watch = (ll_anchor_watch){ .user = &x, .step = count_step, .keep = keep_note };
        CHECK_OK(ll_anchor_model_fit(&d, &o, &m));
        assert_int_equal(x.most, 2 * o.fit.n_steps);
        assert_int_equal(x.done, x.most);
        ll_anchor_model_destroy(m);
    }
}

static llap_status little_of_everything(void *user)
{
    enum { FEW = 150 };
    const world         *wd = user;
    const ll_origin     *valid = wd->train + 10;
    ll_series            s[SERIES];
    const ll_anchor_data d = { s, SERIES, wd->train_rows, wd->train, 2, valid, 2 };
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
    if (st == LLAP_OK) st = ll_anchor_model_calibrate(m, s, SERIES, valid, 2, 24, 72);
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
        cmocka_unit_test(forecast_is_the_posterior),
        cmocka_unit_test(filling),
        cmocka_unit_test(residuals_of_the_others),
        cmocka_unit_test(law_given_the_others),
        cmocka_unit_test(filling_by_the_others),
        cmocka_unit_test(paths_of_gaps_are_joint),
        cmocka_unit_test(a_fit_goes_on_where_it_was_stopped),
        cmocka_unit_test(without_validation_all_steps_are_made),
        cmocka_unit_test(failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
