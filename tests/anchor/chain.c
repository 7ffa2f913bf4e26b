#include "anchor/chain/chain.h"
#include "anchor/calibration.h"
#include "anchor/model.h"
#include "dense.h"

#include <omp.h>

enum { N = 3000, SERIES = 3 };
typedef struct world {
    double    t[SERIES][N], y[SERIES][N];
    ll_series s[SERIES];
} world;

/* Skewed values with a daily cycle over hours; the second series has other units, the third is
 * empty. Steps of 7 h make N rows span more than two years. */
static void world_init(world *wd, double step)
{
    dice d = { 31 };
    for (int e = 0; e < SERIES; e++) {
        for (int i = 0; i < N; i++) {
            wd->t[e][i] = 400000 + step * i;
            const double f = roll_normal(&d) + sin(6.283185307179586 * wd->t[e][i] / 24) +
                             cos(6.283185307179586 * wd->t[e][i] / 8766);
            wd->y[e][i] = roll(&d) < 0.1 || e == 2 ? NAN : exp(0.5 * f) * (e == 1 ? 30 : 1);
        }
        wd->s[e] = (ll_series){ .n = N, .t = wd->t[e], .y = wd->y[e] };
    }
}

static void yeo_johnson_and_back(void **state)
{
    (void)state;
    for (int l = 0; l <= 30; l++) {
        const double lambda = (l - 10) / 10.0;
        double       before = -INFINITY;
        for (double x = -5; x <= 5; x += 0.01) {
            const double v = ll_yeo_johnson(x, lambda), back = ll_yeo_johnson_back(v, lambda);
            assert_true(v > before);
            before = v;
            if (!(fabs(back - x) <= 1e-12 * fmax(1, fabs(x))))
                fail_msg("lambda %g, x %g: back %.17g", lambda, x, back);
            const double p = x >= 0 ? lambda : 2 - lambda; /* the definition */
            const double def = x >= 0 ? (p == 0 ? log(x + 1) : (pow(x + 1, p) - 1) / p)
                                      : -(p == 0 ? log(1 - x) : (pow(1 - x, p) - 1) / p);
            assert_true(fabs(v - def) <= 1e-12 * fmax(1, fabs(def)));
        }
    }
    assert_true(isinf(ll_yeo_johnson_back(1.5, -1)));
    assert_true(isnan(ll_yeo_johnson(NAN, .5)) && isnan(ll_yeo_johnson_back(NAN, .5)));
}

static void chain_and_back(void **state)
{
    (void)state;
    static world wd;
    for (int years = 0; years < 2; years++) {
        world_init(&wd, years ? 7 : 1);
        ll_chain *c = NULL;
        CHECK_OK(ll_chain_fit(wd.s, SERIES, &LL_CHAIN_DEFAULT, &c));
        assert_int_equal(c->n_climate, years ? 23 : 11);
        double sum = 0, square = 0, n = 0;
        for (size_t e = 0; e < 2; e++)
            for (size_t i = 0; i < N; i++) {
                const double y = wd.y[e][i], t = wd.t[e][i];
                const double z = ll_chain_z(c, e, y), u = ll_chain_u(c, e, t, z);
                assert_int_equal(isnan(u), isnan(y));
                if (isnan(y)) continue;
                sum += u, square += u * u, n += 1;
                if (fabs(z) == 5) continue; /* clipped for good */
                const double back = ll_chain_y_back(c, e, chain_z_back(c, e, t, u));
                if (!(fabs(back - y) <= 1e-10 * fabs(y))) fail_msg("%.17g, back %.17g", y, back);
            }
        assert_true(fabs(sum / n) < 0.02 && fabs(square / n - 1) < 0.01);
        assert_true(fabs(c->sd[1] / c->sd[0] / 30 - 1) < 0.1);     /* its own units */
        assert_true(c->mu[2] == c->mu[3] && c->sd[2] == c->sd[3]); /* empty: as all */
        assert_true(ll_chain_u(c, 2, 1, .3) == ll_chain_u(c, 99, 1, .3));
        assert_true(chain_z_back(c, 0, 0, 1e9) == 5.0);
        assert_true(chain_z_back(c, 0, 0, -1e9) == c->z_lo);
        double before = -INFINITY; /* quantiles keep their order */
        for (double u = -6; u < 6; u += 0.01) {
            const double z = chain_z_back(c, 0, 5, u);
            assert_true(z >= before);
            before = z;
        }
        ll_chain_destroy(c);
    }
}

static bool same_laws(const ll_law *a, const ll_law *b, size_t n)
{
    bool same = true;
    for (size_t i = 0; i < n; i++) same = same && a[i].mean == b[i].mean && a[i].sd == b[i].sd;
    return same;
}

/* u of all rows at once is that of each by itself, and an anchor that is given it uses it: it then
 * says the same as when it converts what it looks at. */
static void a_series_is_converted_once(void **state)
{
    (void)state;
    enum { ASKED = 40, FIRST = 1200 };
    static world           wd;
    static double          u[N], z[N], off[N];
    double                 path[2][ASKED];
    ll_law                 law[2][ASKED];
    ll_chain              *c = NULL;
    ll_anchor_model       *m = NULL;
    const ll_anchor_kernel k = ll_anchor_kernel_hourly();
    const ll_anchor_spec   spec = { .context = 200, .horizon = ASKED };
    world_init(&wd, 1);
    CHECK_OK(ll_chain_fit(wd.s, SERIES, &LL_CHAIN_DEFAULT, &c));
    CHECK_OK(ll_anchor_model_create(&spec, c, &k, 4, &m));
    ll_chain_convert(c, 1, &wd.s[1], z, u);
    for (int i = 0; i < N; i++) {
        off[i] = u[i] + 1.0;
        assert_true(isnan(u[i]) == isnan(wd.y[1][i]) && isnan(z[i]) == isnan(wd.y[1][i]));
        if (isnan(u[i])) continue;
        assert_true(z[i] == ll_chain_z(c, 1, wd.y[1][i]));
        assert_true(u[i] == ll_chain_u(c, 1, wd.t[1][i], z[i]));
    }
    const double *const of[] = { NULL, u, off };
    ll_anchor_request   r[3];
    for (int i = 0; i < 3; i++) {
        r[i] = (ll_anchor_request){ .history = wd.s[1],
                                    .series = 1,
                                    .origin = wd.t[1][FIRST - 1],
                                    .n_query = ASKED,
                                    .t_query = wd.t[1] + FIRST,
                                    .law = law[i > 0] };
        r[i].history.u = of[i];
    }
    for (int way = 0; way < 3; way++)
        for (int i = 0; i < 3; i++) {
            CHECK_OK(way == 0 ? ll_anchor_model_forecast(m, &r[i], 1)
                              : ll_anchor_model_fill(m, &r[i], 1, (ll_anchor_from)(way - 1)));
            if (i > 0) assert_true(same_laws(law[0], law[1], ASKED) == (i == 1));
        }
    for (int i = 0; i < 2; i++) {
        r[i].law = NULL;
        CHECK_OK(ll_anchor_model_paths(m, &r[i], 3, 4, 1, path[i]));
    }
    assert_memory_equal(path[0], path[1], sizeof path[0]);
    ll_anchor_model_destroy(m);
}

static void climate_finds_the_cycle(void **state)
{
    (void)state;
    static world wd;
    world_init(&wd, 1);
    ll_chain     *with = NULL, *without = NULL;
    ll_chain_opts o = LL_CHAIN_DEFAULT;
    CHECK_OK(ll_chain_fit(wd.s, SERIES, &o, &with));
    o.climate = false;
    CHECK_OK(ll_chain_fit(wd.s, SERIES, &o, &without));
    assert_true(without->r_s == 1.0 && without->n_climate == 0);
    assert_true(with->r_s < 0.92);
    /* f = log-normal of noise (variance 1), daily (1/2) and annual (about 1/2): the daily sine. */
    assert_true(fabs(with->climate[1] - 1 / sqrt(2)) < 0.15 && fabs(with->climate[2]) < 0.1);
    assert_true(with->lambda == without->lambda && with->lambda < 0.7); /* skewed to the right */
    ll_chain_destroy(with);
    ll_chain_destroy(without);
}

static void options(void **state)
{
    (void)state;
    static world wd;
    world_init(&wd, 1);
    ll_chain     *c = NULL;
    ll_chain_opts o = { .pooled = true, .z_clip = INFINITY, .tail = 0.01 };
    CHECK_OK(ll_chain_fit(wd.s, SERIES, &o, &c));
    assert_true(c->mu[0] == c->mu[1] && c->lambda == 1 && c->n_climate == 0);
    int64_t below = 0, n = 0;
    for (int e = 0; e < 2; e++)
        for (int i = 0; i < N; i++)
            if (!isnan(wd.y[e][i])) n++, below += wd.y[e][i] < c->y_lo;
    assert_true(llabs(below - n / 100) <= 1);
    assert_true(ll_chain_z(c, 0, 1e12) == ll_chain_z(c, 0, c->y_hi));
    assert_true(c->z_hi == ll_chain_z(c, 0, c->y_hi) + 0.2);
    ll_chain_destroy(c);
    const double t[] = { 0, 1 }, same[] = { 4, 4 }, none[] = { NAN, NAN }, inf[] = { 1, INFINITY };
    const ll_series constant = { .n = 2, .t = t, .y = same }, empty = { .n = 2, .t = t, .y = none },
                    bad = { .n = 2, .t = t, .y = inf };
    CHECK_OK(ll_chain_fit(&constant, 1, &LL_CHAIN_DEFAULT, &c));
    assert_true(ll_chain_u(c, 0, 0, ll_chain_z(c, 0, 4)) == 0.0);
    assert_true(ll_chain_y_back(c, 0, chain_z_back(c, 0, 0, 0)) == 4.0);
    ll_chain_destroy(c);
    CHECK_FAIL(ll_chain_fit(&empty, 1, &LL_CHAIN_DEFAULT, &c), LLAP_EINVAL, "no training value");
    CHECK_FAIL(ll_chain_fit(&bad, 1, &LL_CHAIN_DEFAULT, &c), LLAP_EINVAL, "row 1: value inf");
    o.tail = 0.5;
    CHECK_FAIL(ll_chain_fit(&constant, 1, &o, &c), LLAP_EINVAL, "tail < 0.5");
}

static void window_norm(void **state)
{
    (void)state;
    const double u[] = { 1, NAN, 3, 5 };
    double       m, s;
    ll_window_norm(u, 4, 4, &m, &s);
    assert_true(m == 9.0 / 7);
    const double square = (1 - m) * (1 - m) + (3 - m) * (3 - m) + (5 - m) * (5 - m);
    assert_true(fabs(s - sqrt((square + 8) / 11)) < 1e-15);
    ll_window_norm(u + 1, 1, 4, &m, &s);
    assert_true(m == 0.0 && s == 1.0);
}

static bool all_factors(const double *f, double value)
{
    bool same = true;
    for (int l = 0; l < LL_CALIBRATION_LEVELS; l++) same = same && f[l] == value;
    return same;
}

/* Forecasts too narrow near, right in the middle, too wide far. */
static void calibration(void **state)
{
    (void)state;
    enum { M = 30000 };
    static double  lead[M], residual[M];
    dice           d = { 32 };
    ll_calibration c;
    for (int i = 0; i < M; i++) {
        lead[i] = 1 + (int)(168 * roll(&d));
        const double wrong = lead[i] <= 24 ? 1.6 : lead[i] <= 72 ? 1.0 : 0.8;
        residual[i] = roll(&d) < 0.05 ? NAN : wrong * roll_normal(&d);
    }
    CHECK_OK(ll_calibration_fit(lead, residual, M, 24, 72, 1.0, &c));
    assert_true(all_factors(ll_calibration_at(&c, 24), 1.6));
    assert_true(all_factors(ll_calibration_at(&c, 25), 1.0));
    assert_true(all_factors(ll_calibration_at(&c, 72), 1.0));
    assert_true(all_factors(ll_calibration_at(&c, 73), 0.8));
    for (int i = 0; i < M; i++) residual[i] = 1.02 * roll_normal(&d); /* too little to act on */
    CHECK_OK(ll_calibration_fit(lead, residual, M, 24, 72, 1.0, &c));
    for (int b = 0; b < 3; b++) assert_true(all_factors(c.factor[b], 1.0));
    memset(residual, 0, sizeof residual); /* a sensor that is stuck; files hold factors above 0 */
    CHECK_OK(ll_calibration_fit(lead, residual, M, 24, 72, 1.0, &c));
    for (int b = 0; b < 3; b++)
        for (int l = 0; l < LL_CALIBRATION_LEVELS; l++)
            assert_true(c.factor[b][l] >= LL_CALIBRATION_LEAST && c.factor[b][l] < 1);
}

/* Heavy tails: no factor suits all levels, the residuals' own quantiles do. */
static void calibration_of_shape(void **state)
{
    (void)state;
    enum { M = 20000 };
    static double  lead[M], residual[M];
    dice           d = { 33 };
    ll_calibration c;
    for (int i = 0; i < M; i++)
        residual[i] = roll_normal(&d) * (roll(&d) < 0.15 ? 3.0 : 0.6), lead[i] = 1;
    CHECK_OK(ll_calibration_fit(lead, residual, M, 24, 72, 1.0, &c));
    const double score[] = { 0.6744897501960817, 1.2815515655446004, 1.959963984540054 };
    const double share[] = { .5, .8, .95 };
    for (int j = 0; j < 3; j++) {
        const double reach = ll_calibration_bend(c.factor[0], score[j]);
        double       inside = 0;
        for (int i = 0; i < M; i++) inside += fabs(residual[i]) <= reach;
        assert_true(fabs(inside / M - share[j]) < 0.001);
        assert_true(ll_calibration_bend(c.factor[0], -score[j]) == -reach);
    }
    assert_true(all_factors(c.factor[1], c.factor[1][0])); /* nothing there to learn from */
    ll_calibration half, base;                             /* half of the way from the one factor */
    CHECK_OK(ll_calibration_fit(lead, residual, M, 24, 72, 0.5, &half));
    CHECK_OK(ll_calibration_fit(lead, residual, M, 24, 72, 0.0, &base));
    assert_true(all_factors(base.factor[0], base.factor[0][0]));
    for (int l = 0; l < LL_CALIBRATION_LEVELS; l++)
        assert_true(fabs(half.factor[0][l] - 0.5 * (base.factor[0][l] + c.factor[0][l])) < 1e-12);
    double before = -INFINITY;
    for (double x = -6; x < 6; x += 0.01) {
        const double bent = ll_calibration_bend(c.factor[0], x);
        assert_true(bent > before);
        before = bent;
    }
}

static void same_bytes_for_any_threads(void **state)
{
    (void)state;
    static world wd;
    world_init(&wd, 1);
    const int usual = omp_get_max_threads();
    ll_chain *c[2];
    for (int i = 0; i < 2; i++) {
        omp_set_num_threads(i == 0 ? 1 : 4);
        CHECK_OK(ll_chain_fit(wd.s, SERIES, &LL_CHAIN_DEFAULT, &c[i]));
    }
    omp_set_num_threads(usual);
    assert_memory_equal(c[0]->climate, c[1]->climate, 4 * 11 * sizeof(double));
    assert_true(c[0]->lambda == c[1]->lambda && c[0]->g_m == c[1]->g_m && c[0]->r_s == c[1]->r_s);
    ll_chain_destroy(c[0]);
    ll_chain_destroy(c[1]);
}

static llap_status fit_once(void *user)
{
    const world  *wd = user;
    ll_chain     *c = NULL;
    ll_chain_opts o = LL_CHAIN_DEFAULT;
    o.tail = 0.001;
    const llap_status st = ll_chain_fit(wd->s, SERIES, &o, &c);
    ll_chain_destroy(c);
    return st;
}

static void failing_allocations(void **state)
{
    (void)state;
    static world wd;
    world_init(&wd, 1);
    check_every_failed_allocation(fit_once, &wd);
}

/* Every transform is undone exactly, and answers stay within what was said. */
static void transforms_and_bounds(void **state)
{
    (void)state;
    enum { ROWS = 60 };
    double t[ROWS], y[ROWS], large[ROWS];
    for (int i = 0; i < ROWS; i++) t[i] = i, y[i] = exp(0.07 * i) - 1;
    for (int i = 0; i < ROWS; i++) large[i] = 100 * y[i] - 7;
    const ll_series s[2] = { { .n = ROWS, .t = t, .y = y }, { .n = ROWS, .t = t, .y = large } };
    for (int k = LL_TRANSFORM_NONE; k <= LL_TRANSFORM_ASINH; k++) {
        const ll_chain_opts o = { .transform = (ll_transform)k, .z_clip = 5 };
        ll_chain           *c = NULL;
        CHECK_OK(ll_chain_fit(s, 2, &o, &c));
        for (int i = 0; i < 2 * ROWS; i++) {
            const size_t e = (size_t)(i / ROWS);
            const double x = s[e].y[i % ROWS], z = ll_chain_z(c, e, x);
            const double u = ll_chain_u(c, e, t[i % ROWS], z);
            assert_float_equal(ll_chain_y_back(c, e, chain_z_back(c, e, t[i % ROWS], u)), x,
                               1e-9 * (1 + fabs(x)));
        }
        const double z = ll_chain_z(c, 0, 40.0), z_large = ll_chain_z(c, 1, 40.0);
        const double v[] = { z, NAN, log1p(40.0), asinh(40.0) }; /* the last two: of the value */
        if (k != LL_TRANSFORM_YEO_JOHNSON) assert_float_equal(ll_chain_bend(c, 0, z), v[k], 1e-12);
        if (k > LL_TRANSFORM_YEO_JOHNSON) { /* whatever the scale of its series */
            assert_float_equal(ll_chain_bend(c, 1, z_large), v[k], 1e-12);
            assert_float_equal(ll_chain_bend(c, 1, ll_chain_z(c, 1, -5.0)),
                               k == LL_TRANSFORM_ASINH ? asinh(-5.0) : -log1p(5.0), 1e-12);
        }
        c->y_min = 0;
        c->y_max = 30;
        assert_float_equal(ll_chain_y_back(c, 0, -5), 0, 0);
        assert_float_equal(ll_chain_y_back(c, 0, 5), 30, 0);
        ll_chain_destroy(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_and_bounds),
        cmocka_unit_test(yeo_johnson_and_back),
        cmocka_unit_test(chain_and_back),
        cmocka_unit_test(a_series_is_converted_once),
        cmocka_unit_test(climate_finds_the_cycle),
        cmocka_unit_test(options),
        cmocka_unit_test(window_norm),
        cmocka_unit_test(calibration),
        cmocka_unit_test(calibration_of_shape),
        cmocka_unit_test(same_bytes_for_any_threads),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
