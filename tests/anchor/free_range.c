/* What a chain and a filter do where training has not been: check values, and behaviour at the
 * ends. */
#include "anchor/chain/chain.h"
#include "anchor/chain/glitch.h"
#include "anchor/drift.h"
#include "anchor/model.h"
#include "bed.h"
#include "dense.h"

#include <float.h>

static void check_near(const char *what, double x, double expected, double off)
{
    if (!(fabs(x - expected) <= off)) fail_msg("%s: %.9g, expected %.9g", what, x, expected);
}

/* A chain of given numbers, of one series. */
static ll_chain plain(ll_curve curve, double *mu, double *sd)
{
    ll_chain c = PLAIN_CHAIN;
    c.curve = curve;
    c.mu = mu;
    c.sd = sd;
    return c;
}

static void tangent_tails(void **state)
{
    (void)state;
    double   mu = 0, sd = 1;
    ll_chain c = plain(LL_CURVE_TAILS, &mu, &sd);
    c.lambda = -.1;
    c.knot[0] = -.9;
    c.knot[1] = 2.1;
    const double z[] = { -3, -.9, 0, 1, 2.1, 4, 50 };
    const double T[] = { -5.61131, -1.356813, 0, .66967, 1.069746, 1.617084, 14.868429 };
    for (int i = 0; i < 7; i++) {
        check_near("T", ll_chain_bend(&c, 0, z[i]), T[i], 1e-6);
        check_near("and back", chain_z_back(&c, 0, 0, ll_chain_u(&c, 0, 0, z[i])), z[i],
                   1e-12 * (1 + fabs(z[i])));
    }
    const double v[] = { -3, 2, 3 }, back[] = { -1.711069, 5.329235, 8.80058 };
    for (int i = 0; i < 3; i++) check_near("inverse", chain_z_back(&c, 0, 0, v[i]), back[i], 1e-5);
    double before = -INFINITY; /* onto the whole line, strictly rising */
    for (double u = -1e6; u <= 1e6; u += 1e4) {
        const double at = chain_z_back(&c, 0, 0, u);
        assert_true(isfinite(at) && at > before);
        before = at;
    }
}

static void logarithm(void **state)
{
    (void)state;
    double   mu[] = { 3, 3 }, sd[] = { .5, .5 }, y_mu[] = { 20, 20 }, y_sd[] = { 10, 10 };
    ll_chain c = plain(LL_CURVE_LOG, mu, sd);
    c.y_0 = .2;
    c.y_mu = y_mu;
    c.y_sd = y_sd;
    for (double y = -3; y < 1e6; y = y < 1 ? y + .1 : y * 3) {
        const double z = ll_chain_z(&c, 0, y);
        if (y >= c.y_0) check_near("log", z, (log(y) - 3) / .5, 1e-12);
        check_near("and back", ll_chain_y_back(&c, 0, z), y, 1e-12 * fmax(1, fabs(y)));
        check_near("unit", ll_chain_unit(&c, 0, z), (y - 20) / 10, 1e-11 * fmax(1, fabs(y)));
    }
    check_near("its slope at y_0", (ll_chain_z(&c, 0, .2 + 1e-6) - ll_chain_z(&c, 0, .2)) / 1e-6,
               (ll_chain_z(&c, 0, .2) - ll_chain_z(&c, 0, .2 - 1e-6)) / 1e-6, 1e-3);
    assert_true(ll_chain_y_back(&c, 0, 1e9) <= (double)FLT_MAX);
    c.y_max = 50;
    assert_true(ll_chain_y_back(&c, 0, 1e9) == 50);
}

static void glitches(void **state)
{
    (void)state;
    const double y[] = { 1, 2, 1.5, 2.2, 90, 1.8, 2.1, 1.9, 80 };
    bool         drop[9];
    ll_glitch_mark(y, 9, (ll_glitch_rule){ 20, 1, 0 }, drop);
    for (int i = 0; i < 9; i++) assert_int_equal(drop[i], i == 4 || i == 8);
    ll_glitch_mark(y, 9, (ll_glitch_rule){ 20, 5, 0 }, drop);
    for (int i = 0; i < 9; i++) assert_int_equal(drop[i], i == 4);
    ll_glitch_mark(y, 9, (ll_glitch_rule){ 0, 1, 0 }, drop);
    for (int i = 0; i < 9; i++) assert_false(drop[i]);
    ll_glitch_mark(y + 4, 4, (ll_glitch_rule){ 20, 1, 0 }, drop); /* too few to say */
    for (int i = 0; i < 4; i++) assert_false(drop[i]);
    const double gaps[] = { 90, NAN, 2, 1.5, NAN, 2.2, 3, 2.5 }; /* the first of a window */
    ll_glitch_mark(gaps, 8, (ll_glitch_rule){ 20, 1, 0 }, drop);
    for (int i = 0; i < 8; i++) assert_int_equal(drop[i], i == 0);
}

/* What has risen above all of a training of positive values moves by shares of where it is now. */
static void limits_of_glitches_grow_with_the_level(void **state)
{
    (void)state;
    const double         y[] = { 100, 130, 95, 120, 1000, 110, 90, 125, 160 };
    const ll_glitch_rule stays = { 20, 1, 0 }, grows = { 20, 1, 50 };
    bool                 drop[9];
    ll_glitch_mark(y, 9, stays, drop);
    assert_true(drop[2] && drop[4] && drop[6] && drop[8]);
    ll_glitch_mark(y, 9, grows, drop);
    for (int i = 0; i < 9; i++) assert_int_equal(drop[i], i == 4);
    ll_glitch_mark_past(y, 9, grows, drop);
    for (int i = 0; i < 9; i++) assert_int_equal(drop[i], i == 4);
    double low[9], one[9]; /* within the range of training nothing changes */
    bool   same[9];
    for (int i = 0; i < 9; i++) low[i] = y[i] / 2.5, one[i] = -low[i];
    ll_glitch_mark(low, 9, stays, drop);
    ll_glitch_mark(low, 9, grows, same);
    assert_memory_equal(drop, same, sizeof drop);
    ll_glitch_mark(one, 9, grows, same); /* nor below 0 */
    assert_memory_equal(drop, same, sizeof drop);
}

/* A price that trains around 10 and ends around 200: steps of a tenth are no glitches there, and a
 * reading of 65535 is one. */
static void a_risen_price_has_no_glitches(void **state)
{
    (void)state;
    enum { N = 1000, TRAIN = 600 };
    static double t[N], y[N];
    static bool   drop[N];
    dice          d = { 11 };
    for (int i = 0; i < N; i++) {
        t[i] = i;
        y[i] = 10 * exp((i < TRAIN ? 0 : 3.0 * (i - TRAIN) / (N - TRAIN)) + .05 * roll_normal(&d));
    }
    const ll_series train = { .n = TRAIN, .t = t, .y = y };
    ll_chain_opts   o = LL_CHAIN_DEFAULT;
    ll_chain       *c = NULL;
    o.curve = LL_CURVE_TAILS;
    o.climate = false;
    CHECK_OK(ll_chain_fit(&train, 1, &o, &c));
    assert_true(c->glitch[0] > 0 && c->glitch[0] < 10);
    y[900] = 65535;
    ll_chain_mark(c, 0, y, N, drop);
    for (int i = 0; i < N; i++) assert_int_equal(drop[i], i == 900);
    ll_chain_destroy(c);
}

/* A shift is no glitch from its third reading on, and glitches leave no trace in the scales. */
static void glitches_of_training(void **state)
{
    (void)state;
    enum { N = 1500 };
    static double t[N], y[N], clean[N];
    dice          d = { 5 };
    double        e = 0;
    for (int i = 0; i < N; i++) {
        e = .8 * e + .6 * roll_normal(&d);
        t[i] = i;
        y[i] = clean[i] = 20 + 4 * sin(i * 6.283185307179586 / 24) + e;
        if (i == 300 || i == 700 || i == 1250) y[i] = 65535, clean[i] = NAN;
    }
    const ll_series with = { .n = N, .t = t, .y = y }, without = { .n = N, .t = t, .y = clean };
    ll_chain_opts   o = LL_CHAIN_DEFAULT;
    ll_chain       *c = NULL, *ref = NULL;
    o.curve = LL_CURVE_TAILS;
    CHECK_OK(ll_chain_fit(&with, 1, &o, &c));
    CHECK_OK(ll_chain_fit(&without, 1, &o, &ref));
    assert_true(c->mu[0] == ref->mu[0] && c->sd[0] == ref->sd[0] && c->lambda == ref->lambda);
    assert_true(c->low[0] == ref->low[0] && c->high[1] == ref->high[1] && c->r_s == ref->r_s);
    assert_true(c->glitch_end == 1 && c->glitch[0] > 3 && c->glitch[0] < 100);
    bool drop[20];
    for (int now = 10; now <= 20; now++) { /* a shift of 1000 at row 10 of a context */
        double context[20];
        for (int i = 0; i < now; i++) context[i] = y[i] + (i >= 10 ? 1000 : 0);
        ll_chain_mark(c, 0, context, (size_t)now, drop);
        for (int i = 0; i < now; i++) assert_int_equal(drop[i], i >= 10 && now <= 12);
    }
    ll_chain_destroy(c);
    ll_chain_destroy(ref);
}

/* Numbers that answers beyond the training range come back to. */
static void no_walls(void **state)
{
    (void)state;
    enum { N = 400 };
    static double t[N], y[N];
    dice          d = { 6 };
    for (int i = 0; i < N; i++) t[i] = i, y[i] = exp(.5 * roll_normal(&d));
    const ll_series s = { .n = N, .t = t, .y = y };
    for (int curve = LL_CURVE_TAILS; curve <= LL_CURVE_LOG; curve++) {
        ll_chain     *c = NULL;
        ll_chain_opts o = { .curve = (ll_curve)curve,
                            .transform = LL_TRANSFORM_YEO_JOHNSON,
                            .z_clip = 5,
                            .values.free = true }; /* logarithms have a floor at 0 otherwise */
        CHECK_OK(ll_chain_fit(&s, 1, &o, &c));
        double sum = 0, square = 0;
        for (int i = 0; i < N; i++) {
            const double u = ll_chain_u(c, 0, t[i], ll_chain_z(c, 0, y[i]));
            sum += u, square += u * u;
        }
        assert_true(fabs(sum / N) < 1e-9 && fabs(square / N - 1) < 1e-9);
        for (double x = -30; x < 1000; x += 7.3) {
            const double u = ll_chain_u(c, 0, 0, ll_chain_z(c, 0, x));
            check_near("back", ll_chain_y_back(c, 0, chain_z_back(c, 0, 0, u)), x,
                       1e-9 * fmax(1, fabs(x)));
        }
        ll_chain_destroy(c);
    }
    y[7] = -1;
    ll_chain     *c = NULL;
    ll_chain_opts o = { .curve = LL_CURVE_LOG, .z_clip = 5 };
    CHECK_FAIL(ll_chain_fit(&s, 1, &o, &c), LLAP_EINVAL, "least training value is -1");
}

/* ---- the weekly profile ---- */

static void weekly_profile(void **state)
{
    (void)state;
    enum { N = 24 * 7 * 30 };
    static double   t[N], y[N];
    const ll_weekly w = ll_weekly_of(1, true);
    double          term[LL_WEEKLY_MAX];
    const double    at = 438288.25;
    assert_int_equal(ll_weekly_count(w), LL_WEEKLY_MAX);
    assert_int_equal(ll_weekly_count(ll_weekly_of(6, false)), 1 + 4 + 2 * 12);
    ll_weekly_terms(w, at, term);
    for (int k = 1; k <= 12; k++)
        check_near("daily", term[2 * k - 1], sin(6.283185307179586 * k * fmod(at, 24) / 24), 1e-12);
    check_near("weekly 8", term[25 + 2 * 6], sin(6.283185307179586 * 8 * fmod(at, 168) / 168),
               1e-12);
    dice d = { 9 };
    for (int i = 0; i < N; i++) { /* an hour of the week that few harmonics cannot show */
        t[i] = 438288 + i;
        y[i] = (i % 168 == 37 ? 8 : 0) + (i / 24 % 7 >= 5 ? -4 : 0) + .3 * roll_normal(&d);
    }
    const ll_series s = { .n = N, .t = t, .y = y };
    ll_chain_opts   o = LL_CHAIN_DEFAULT;
    ll_chain       *few = NULL, *many = NULL;
    o.curve = LL_CURVE_TAILS;
    CHECK_OK(ll_chain_fit(&s, 1, &o, &few));
    o.profile = true;
    o.gap = 1;
    CHECK_OK(ll_chain_fit(&s, 1, &o, &many));
    assert_int_equal(many->n_climate, LL_WEEKLY_MAX - 12); /* less than two years */
    assert_true(many->r_s < .6 * few->r_s);
    for (int i = 0; i < 168; i++) { /* undone exactly */
        const double u = ll_chain_u(many, 0, t[i], ll_chain_z(many, 0, y[i]));
        check_near("back", ll_chain_y_back(many, 0, chain_z_back(many, 0, t[i], u)), y[i], 1e-9);
    }
    ll_chain_destroy(few);
    ll_chain_destroy(many);
    o.gap = 0;
    CHECK_FAIL(ll_chain_fit(&s, 1, &o, &many), LLAP_EINVAL, "gap of 0 to 24 hours");
}

/* ---- whole fits ---- */

/* Forecasts from row `now` on: median and 95 % interval of each. */
static void ask_bed(const bed *b, const ll_anchor_model *m, size_t now, size_t n, double *low,
                    double *median, double *high)
{
    ll_law                  law[32];
    const ll_anchor_request r = { .history = b->series,
                                  .origin = b->t[now],
                                  .n_query = n,
                                  .t_query = b->t + now + 1,
                                  .law = law };
    CHECK_OK(ll_anchor_model_forecast(m, &r, 1));
    for (size_t q = 0; q < n; q++) {
        double before = -INFINITY;
        for (double x = -2; x <= 2; x += .25) { /* no two quantiles are equal */
            const double y = ll_anchor_quantile(m, 0, &law[q], x);
            assert_true(y > before);
            before = y;
        }
        low[q] = ll_anchor_quantile(m, 0, &law[q], -1.96);
        median[q] = ll_anchor_quantile(m, 0, &law[q], 0);
        high[q] = ll_anchor_quantile(m, 0, &law[q], 1.96);
    }
}

/* After a shift below all that training has seen. */
static void a_level_shift_is_followed(void **state)
{
    (void)state;
    static bed b;
    dice       d = { 7 };
    double     low[12], median[12], high[12], inside = 0, n = 0, off = 0;
    for (int i = 0; i < ROWS; i++) {
        b.t[i] = 473352 + i;
        b.y[i] = 10 + 3 * sin(i * 6.283185307179586 / 24) + roll(&d) - .5 - (i > 1300 ? 6 : 0);
    }
    ll_anchor_model *m = fit_bed(&b, 48, 12, true);
    for (size_t now = 1303; now + 12 < ROWS; now += 5) {
        ask_bed(&b, m, now, 12, low, median, high);
        for (size_t q = 0; q < 12; q++) {
            const double y = b.y[now + 1 + q];
            n++;
            inside += y >= low[q] && y <= high[q];
            off += fabs(y - median[q]);
        }
    }
    assert_true(inside > .9 * n && off < .6 * n); /* the noise alone is .25 */
    ll_anchor_model_destroy(m);
}

/* Growth goes on as shares of the value, beyond the range of training. */
static void growth_goes_on(void **state)
{
    (void)state;
    static bed b;
    dice       d = { 1 };
    double     low[14], median[14], high[14], inside = 0, n = 0, off = 0;
    for (int i = 0; i < ROWS; i++) {
        b.t[i] = i;
        b.y[i] = 100 * exp(.6 * i / 365) * (1 + .04 * (roll(&d) - .5));
    }
    ll_anchor_model *m = fit_bed(&b, 56, 14, false);
    assert_int_equal(m->chain->curve, LL_CURVE_LOG);
    for (size_t now = 1300; now + 14 < ROWS; now += 5) {
        ask_bed(&b, m, now, 14, low, median, high);
        for (size_t q = 0; q < 14; q++) {
            const double y = b.y[now + 1 + q];
            assert_true(y > m->chain->high[0]);
            n++;
            inside += y >= low[q] && y <= high[q];
            off += fabs(y - median[q]) / y;
        }
    }
    assert_true(inside > .9 * n && off < .03 * n);
    ll_anchor_model_destroy(m);
}

/* Prices are taken for walks: the simplest candidate has to be the better one, by no margin. On
 * these it is so by less than 1 %. */
static void prices_walk(void **state)
{
    (void)state;
    static const uint64_t seed[] = { 13, 15, 20 };
    static bed            b;
    int                   walks = 0;
    for (size_t k = 0; k < 3; k++) {
        dice   d = { seed[k] };
        double x = 4;
        for (int i = 0; i < ROWS; i++) {
            x += .01 * roll_normal(&d);
            b.t[i] = i;
            b.y[i] = exp(x);
        }
        ll_anchor_model *m = fit_bed(&b, 60, 10, false);
        const bool       walk = m->kernel.n_terms == 1;
        assert_true(!walk || (m->kernel.drift == LL_ANCHOR_LEVEL && m->kernel.innovation));
        walks += walk;
        ll_anchor_model_destroy(m);
    }
    assert_true(walks >= 2);
}

/* Share of the levels of validation outside those of training, and of the values. */
static double levels_outside(double growth, double *values)
{
    static double          t[1200], y[1200];
    static ll_origin       at[1200];
    const ll_series        s = { .n = 1200, .t = t, .y = y }, train = { .n = 900, .t = t, .y = y };
    const size_t           rows = 900;
    const ll_anchor_spec   spec = { .context = 14 * 24, .horizon = 24 };
    dice                   d = { 3 };
    ll_chain_opts          o = LL_CHAIN_DEFAULT;
    ll_chain              *c = NULL;
    ll_anchor_model       *m = NULL;
    const ll_anchor_kernel k = ll_anchor_kernel_hourly();
    double                 share = -1;
    o.curve = LL_CURVE_TAILS;
    o.climate = true;
    o.gap = 6;
    for (int i = 0; i < 1200; i++) {
        t[i] = 438288 + 6 * i;
        y[i] =
            50 + 12 * sin(t[i] * 6.283185307179586 / 24) + 3 * roll_normal(&d) + growth * i / 1200;
        at[i] = (ll_origin){ 0, t[i] };
    }
    CHECK_OK(ll_chain_fit(&train, 1, &o, &c));
    *values = 0;
    for (int i = 900; i < 1200; i++) *values += (y[i] < c->low[0] || y[i] > c->high[0]) / 300.0;
    CHECK_OK(ll_anchor_model_create(&spec, c, &k, 4, &m));
    const ll_anchor_data data = { .series = &s,
                                  .n_series = 1,
                                  .train_rows = &rows,
                                  .train = at + 56,
                                  .n_train = 840,
                                  .valid = at + 900,
                                  .n_valid = 296 };
    CHECK_OK(anchor_levels_outside(&data, m, &share));
    ll_anchor_model_destroy(m);
    return share;
}

/* Values stay within the range of training, because a season is larger than the growth. */
static void seasons_hide_no_growth(void **state)
{
    (void)state;
    double values;
    assert_true(levels_outside(0, &values) < .25 && values < .02);
    assert_true(levels_outside(9, &values) > .9 && values < .1);
    assert_true(levels_outside(-9, &values) > .9 && values < .1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tangent_tails),
        cmocka_unit_test(logarithm),
        cmocka_unit_test(glitches),
        cmocka_unit_test(limits_of_glitches_grow_with_the_level),
        cmocka_unit_test(a_risen_price_has_no_glitches),
        cmocka_unit_test(glitches_of_training),
        cmocka_unit_test(no_walls),
        cmocka_unit_test(weekly_profile),
        cmocka_unit_test(a_level_shift_is_followed),
        cmocka_unit_test(growth_goes_on),
        cmocka_unit_test(prices_walk),
        cmocka_unit_test(seasons_hide_no_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
