/* Gaps filled with the help of the other series. */
#include "anchor/window.h"
#include "world.h"

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

/* A model whose kernel is given; its chain is fitted to the world. */
static ll_anchor_model *plain_model(const world *wd)
{
    const ll_anchor_kernel k = ll_anchor_kernel_hourly();
    const ll_anchor_spec   spec = { .context = CONTEXT, .horizon = HORIZON };
    ll_chain              *c = NULL;
    ll_anchor_model       *m = NULL;
    CHECK_OK(ll_chain_fit(wd->s, SERIES, &LL_CHAIN_DEFAULT, &c));
    CHECK_OK(ll_anchor_model_create(&spec, c, &k, 4, &m));
    return m;
}

/* Residuals [SERIES] at row i of a gap of series 0, asked together with the piece [low, low + half)
 * of times. Returns how many were held to the dense law. */
static size_t check_row(const ll_anchor_model *m, const ll_series *s, int i, double low,
                        const double *residual)
{
    const double half = CONTEXT / 2, *t = s[0].t;
    int          a = i, b = i;
    size_t       checked = 0;
    while (isnan(s[0].y[a])) a--;
    while (isnan(s[0].y[b])) b++;
    for (size_t j = 1; j < SERIES; j++) {
        if (isnan(s[j].y[i])) {
            assert_true(isnan(residual[j]));
            continue;
        }
        size_t first = 0, last = N - 1; /* readings of j in the piece and half a piece around */
        while (isnan(s[j].y[first]) || t[first] < low - half / 2) first++;
        while (isnan(s[j].y[last]) || t[last] >= low + half + half / 2) last--;
        const double r0 =
            dense_residual(m, &s[j], j, t[i], t[first] - half, t[last] + half, t[a], t[b]);
        if (!(fabs(residual[j] - r0) < 1e-7)) fail_msg("row %d: %.12g, %.12g", i, residual[j], r0);
        checked++;
    }
    return checked;
}

/* What the others say about gaps of series 0 is what the dense law without the gap's readings does;
 * asked in one go or by itself it is the same, bit for bit. */
static void residuals_of_the_others(void **state)
{
    (void)state;
    static double    y[SERIES][N], all[N][SERIES], one[N][SERIES];
    static ll_law    law[N];
    const world     *wd = world_make();
    ll_series        s[SERIES];
    ll_anchor_model *m = plain_model(wd);
    const double     half = CONTEXT / 2, low = floor(wd->t[520] / half) * half;
    with_holes(wd, wd->y, y, s);
    for (int i = 510; i < 530; i++) y[0][i] = NAN; /* a long one */
    ll_anchor_request r = { .history = s[0], .n_query = N, .t_query = wd->t, .law = law, .all = s };
    seen              v = { .r = &r, .residual = all };
    CHECK_OK(anchor_neighbours_each(m, &r, 1, LL_ANCHOR_BOTH, see, &v));
    size_t checked = 0, missing = 0;
    r.n_query = 1;
    v.residual = one;
    for (int i = 0; i < N; i++) {
        missing += isnan(y[0][i]);
        if (!isnan(y[0][i]) || wd->t[i] < low || wd->t[i] >= low + half) continue;
        checked += check_row(m, s, i, low, all[i]);
        r.t_query = &wd->t[i];
        CHECK_OK(anchor_neighbours_each(m, &r, 1, LL_ANCHOR_BOTH, see, &v));
        assert_memory_equal(one[0], all[i], sizeof one[0]);
        v.n--;
    }
    assert_true(checked > 30 && v.n == missing); /* only what is not read */
    ll_anchor_model_destroy(m);
}

/* From the past, a residual is that of the forecast without the reading itself. */
static void residuals_from_the_past(void **state)
{
    (void)state;
    static double    y[SERIES][N], one[N][SERIES];
    ll_law           law[1];
    const world     *wd = world_make();
    ll_series        s[SERIES];
    ll_anchor_model *m = plain_model(wd);
    with_holes(wd, wd->y, y, s);
    for (int i = 510; i < 530; i++) y[0][i] = NAN;
    ll_anchor_request r = { .history = s[0], .n_query = 1, .law = law, .all = s };
    seen              v = { .r = &r, .residual = one };
    int               checked = 0;
    for (int i = 520; i < 523; i++) {
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
            const double u = ll_chain_u(m->chain, j, t, ll_chain_z(m->chain, j, y[j][i]));
            const double r0 = fmin(fmax((u - law[0].mean) / law[0].sd, -4), 4);
            assert_true(fabs(one[0][j] - r0) < 1e-9);
            checked++;
        }
    }
    assert_true(checked > 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residuals_of_the_others),
        cmocka_unit_test(residuals_from_the_past),
        cmocka_unit_test(law_given_the_others),
        cmocka_unit_test(filling_by_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
