/* Kinds of values: found by looking, and their links of a chain. */
#include "anchor/chain/chain_kinds.h"
#include "base/kind.h"
#include "dense.h"

enum { N = 600 };

/* A Poisson count by its definition: arrivals of rate 1 until m. */
static double roll_count(dice *d, double m)
{
    double y = -1, t = 0;
    for (; t <= m; y += 1) t -= log(1 - roll(d));
    return y;
}

static double z_back(const ll_chain *c, size_t e, double t, double u)
{
    return ll_chain_z_back_given(c, e, ll_chain_climate(c, e, t), u);
}

static ll_kind kind_of(const double *y, int n, bool *floored)
{
    ll_kind_look k = { 0 };
    ll_kind_start(&k);
    for (int i = 0; i < n; i++) ll_kind_add(&k, y[i]);
    const ll_kind kind = ll_kind_found(&k);
    *floored = ll_kind_floored(&k, kind);
    return kind;
}

static void found_by_looking(void **state)
{
    (void)state;
    double y[N];
    bool   floored;
    dice   d = { 3 };
    for (int i = 0; i < N; i++) y[i] = roll_count(&d, .5);
    assert_int_equal(kind_of(y, N, &floored), LL_KIND_COUNT);
    assert_true(floored);
    for (int i = 0; i < N; i++) y[i] = roll_count(&d, 12); /* next to no zeros, but as noisy */
    assert_int_equal(kind_of(y, N, &floored), LL_KIND_COUNT);
    assert_false(floored);
    for (int i = 0; i < N; i++) y[i] = roll_count(&d, 500);
    assert_int_equal(kind_of(y, N, &floored), LL_KIND_WHOLE);
    assert_false(floored);
    /* a temperature in whole degrees that stayed above 0 */
    for (int i = 0; i < N; i++) y[i] = floor(9 + 8 * sin(i * 6.2832 / 24) + roll_normal(&d));
    for (int i = 0; i < N; i++) y[i] = fmax(y[i], 1);
    assert_int_equal(kind_of(y, N, &floored), LL_KIND_WHOLE);
    assert_false(floored);
    for (int i = 0; i < N; i++) y[i] = 9 + 8 * sin(i * 6.2832 / 24) + roll(&d); /* as measured */
    assert_int_equal(kind_of(y, N, &floored), LL_KIND_ANY);
    assert_false(floored);
    for (int i = 0; i < N; i++) y[i] = i % 3 == 0 ? roll(&d) * 20 : 0; /* rain */
    assert_int_equal(kind_of(y, N, &floored), LL_KIND_POSITIVE);
    assert_true(floored);
    for (int i = 0; i < N; i++) y[i] = roll(&d);
    assert_int_equal(kind_of(y, N, &floored), LL_KIND_SHARE);
    assert_true(floored);
    for (int i = 0; i < N; i++) y[i] = .2 + .1 * roll(&d); /* within [0, 1] by chance */
    assert_int_equal(kind_of(y, N, &floored), LL_KIND_ANY);
    for (int i = 0; i < N; i++) y[i] = roll_count(&d, 3) - 2;
    assert_int_equal(kind_of(y, N, &floored), LL_KIND_WHOLE);
    assert_false(floored);
    assert_int_equal(kind_of(y, 10, &floored), LL_KIND_ANY);
}

static bool is_percentage(const double *y, int n)
{
    ll_kind_look k = { 0 };
    for (int i = 0; i < n; i++) ll_kind_add(&k, y[i]);
    return ll_kind_percentage(&k, ll_kind_found(&k));
}

static void percentages_are_noticed(void **state)
{
    (void)state;
    double y[N];
    dice   d = { 5 };
    for (int i = 0; i < N; i++) y[i] = fmin(30 + 80 * roll(&d), 100); /* a humidity */
    assert_true(is_percentage(y, N) && !is_percentage(y, 10));
    for (int i = 0; i < N; i++) y[i] = 2 + 97 * roll(&d);
    assert_true(is_percentage(y, N));
    y[7] = -1;
    assert_false(is_percentage(y, N));
    y[7] = 101;
    assert_false(is_percentage(y, N));
    for (int i = 0; i < N; i++) y[i] = 30 + 50 * roll(&d);
    assert_false(is_percentage(y, N));
    for (int i = 0; i < N; i++) y[i] = i % 2 == 0 ? 0 : floor(99 * roll(&d)); /* counts */
    assert_false(is_percentage(y, N));
}

static ll_chain *fit(const ll_series *s, size_t n, ll_curve curve, ll_chain_values v)
{
    ll_chain     *c = NULL;
    ll_chain_opts o = LL_CHAIN_DEFAULT;
    o.curve = curve;
    o.climate = false;
    o.values = v;
    CHECK_OK(ll_chain_fit(s, n, &o, &c));
    return c;
}

/* Three series, the last all zeros; twice as many on one day of the week. */
static void counts(void **state)
{
    (void)state;
    static double t[N], y[3][N];
    dice          d = { 4 };
    ll_series     s[3];
    const double  rate[] = { .5, 4, 0 };
    for (int e = 0; e < 3; e++) {
        s[e] = (ll_series){ .n = N, .t = t, .y = y[e] };
        for (int i = 0; i < N; i++) {
            t[i] = 24.0 * i;
            y[e][i] = rate[e] > 0 ? roll_count(&d, rate[e] * (i % 7 == 2 ? 2 : 1)) : 0;
        }
    }
    const ll_chain_values v = { .kind = LL_KIND_COUNT, .has_min = true, .week = 7 };
    ll_chain             *c = fit(s, 3, LL_CURVE_COUNTS, v);
    assert_true(c->glitch[0] >= 1000 && c->dispersion > 20 && c->rate[2] > 0 && c->rate[2] < .1);
    assert_true(fabs(c->week[2] / c->week[3] - 2) < .3);
    double sum = 0, square = 0, before = -INFINITY;
    for (int e = 0; e < 2; e++)
        for (int i = 0; i < N; i++) { /* targets are normal scores */
            const double u = ll_chain_target(c, (size_t)e, (size_t)i, NULL, t[i], y[e][i]);
            assert_true(u == ll_chain_target(c, (size_t)e, (size_t)i, NULL, t[i], y[e][i]));
            sum += u, square += u * u;
        }
    assert_true(fabs(sum / (2 * N)) < .08 && fabs(square / (2 * N) - 1) < .12);
    for (size_t e = 0; e <= 3; e++) /* the last is a series that training has not seen */
        for (double k = 0; k < 1e6; k = k < 9 ? k + 1 : 3 * k) {
            const double u = ll_chain_u(c, e, 48, ll_chain_z(c, e, k));
            assert_true(isfinite(u));
            assert_true(ll_chain_y_back(c, e, z_back(c, e, 48, u)) == k);
        }
    for (double u = -9; u < 40; u += .1) {
        const double k = ll_chain_y_back(c, 1, z_back(c, 1, 48, u));
        assert_true(k == floor(k) && k >= 0 && k >= before);
        before = k;
    }
    ll_chain_destroy(c);
    c = NULL; /* nothing but zeros has no law */
    ll_chain_opts o = LL_CHAIN_DEFAULT;
    o.curve = LL_CURVE_COUNTS;
    o.climate = false;
    o.values = v;
    assert_int_equal(ll_chain_fit(&s[2], 1, &o, &c), LLAP_EINVAL);
    assert_null(c);
}

static void between_bounds(void **state)
{
    (void)state;
    static double   t[N], y[N];
    dice            d = { 5 };
    const ll_series s = { .n = N, .t = t, .y = y };
    ll_chain_values v = { .has_min = true, .has_max = true, .min = -2, .max = 6 };
    for (int i = 0; i < N; i++) t[i] = i, y[i] = -2 + 8 / (1 + exp(-2 * roll_normal(&d)));
    ll_chain *c = fit(&s, 1, LL_CURVE_LOGIT, v);
    double    before = -2;
    assert_true(c->edge > 0 && c->edge <= 1e-3 && c->end[0] == 0 && c->end[1] == 1);
    for (int i = 0; i < N; i++) {
        const double z = ll_chain_z(c, 0, y[i]);
        assert_true(fabs(ll_chain_y_back(c, 0, z_back(c, 0, 0, ll_chain_u(c, 0, 0, z))) - y[i]) <
                    1e-9);
    }
    for (double u = -6; u <= 6; u += .1) {
        const double back = ll_chain_y_back(c, 0, z_back(c, 0, 0, u));
        assert_true(back > before && back < 6);
        before = back;
    }
    assert_true(isfinite(ll_chain_z(c, 0, -2)) && isfinite(ll_chain_z(c, 0, 7)));
    ll_chain_destroy(c);
    for (int i = 0; i < N; i++) y[i] = fmax(-2, fmin(6, floor(2 + 4 * roll_normal(&d)))); /* ends */
    v.kind = LL_KIND_WHOLE;
    c = fit(&s, 1, LL_CURVE_LOGIT, v);
    assert_true(c->end[0] > 0 && c->end[1] < 1);
    for (int k = -2; k <= 6; k++) assert_true(ll_chain_y_back(c, 0, ll_chain_z(c, 0, k)) == k);
    assert_true(ll_chain_y_back(c, 0, -1e9) == -2 && ll_chain_y_back(c, 0, 1e9) == 6);
    ll_chain_destroy(c);
}

/* A large count is a sale, an absurd one a glitch. */
static void absurd_counts_are_left_out(void **state)
{
    (void)state;
    static double         t[N], y[N];
    dice                  d = { 8 };
    const ll_series       s = { .n = N, .t = t, .y = y };
    const ll_chain_values v = { .kind = LL_KIND_COUNT, .has_min = true, .week = 7 };
    for (int i = 0; i < N; i++) t[i] = i, y[i] = roll(&d) < .3;
    y[100] = 65535;
    y[200] = 90;
    ll_chain *c = fit(&s, 1, LL_CURVE_COUNTS, v);
    bool      drop[N];
    ll_chain_mark(c, 0, y, N, drop);
    for (int i = 0; i < N; i++) assert_int_equal(drop[i], i == 100);
    assert_true(c->mu[0] < 1.0 && c->sd[0] < 10.0);
    ll_chain_destroy(c);
}

/* log(y - a) where the user gave a, also with values at it; and a floor below logarithms. */
static void above_a_bound(void **state)
{
    (void)state;
    static double   t[N], y[N];
    dice            d = { 6 };
    const ll_series s = { .n = N, .t = t, .y = y };
    ll_chain_values v = { .has_min = true, .given_min = true, .min = 10 };
    for (int i = 0; i < N; i++) t[i] = i, y[i] = i % 50 == 0 ? 10 : 10 + exp(roll_normal(&d));
    ll_chain *c = fit(&s, 1, LL_CURVE_LOG, v);
    assert_true(c->origin == 10 && c->y_0 > 0);
    for (int i = 0; i < N; i++)
        assert_true(fabs(ll_chain_y_back(c, 0, ll_chain_z(c, 0, y[i])) - y[i]) < 1e-12 * y[i]);
    assert_true(ll_chain_y_back(c, 0, -1e9) == 10);
    ll_chain_destroy(c);
    for (int i = 0; i < N; i++) y[i] = exp(roll_normal(&d));
    v = (ll_chain_values){ 0 };
    c = fit(&s, 1, LL_CURVE_LOG, v);
    assert_true(ll_chain_y_back(c, 0, -1e9) == 0);
    ll_chain_destroy(c);
    v.free = true;
    c = fit(&s, 1, LL_CURVE_LOG, v);
    assert_true(ll_chain_y_back(c, 0, -1e3) < 0);
    ll_chain_destroy(c);
}

/* The unit of scores: answers as they come back, truth as it was measured. */
static void units(void **state)
{
    (void)state;
    static double   t[N], y[N];
    dice            d = { 7 };
    const ll_series s = { .n = N, .t = t, .y = y };
    ll_chain_values v = { .kind = LL_KIND_WHOLE, .has_max = true, .max = 505 };
    for (int i = 0; i < N; i++) t[i] = i, y[i] = floor(500 + 3 * roll_normal(&d));
    ll_chain *c = fit(&s, 1, LL_CURVE_TAILS, v);
    assert_true(ll_chain_y_back(c, 0, ll_chain_z(c, 0, 499.7)) == 500);
    assert_true(ll_chain_unit(c, 0, ll_chain_z(c, 0, 499.7)) == (500 - c->mu[0]) / c->sd[0]);
    assert_true(ll_chain_unit(c, 0, ll_chain_z(c, 0, 520)) == (505 - c->mu[0]) / c->sd[0]);
    assert_true(ll_chain_unit_of(c, 0, 520) == (520 - c->mu[0]) / c->sd[0]);
    ll_chain_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_by_looking),
        cmocka_unit_test(percentages_are_noticed),
        cmocka_unit_test(counts),
        cmocka_unit_test(between_bounds),
        cmocka_unit_test(absurd_counts_are_left_out),
        cmocka_unit_test(above_a_bound),
        cmocka_unit_test(units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
