/* Whether a series is left to a random walk: many periods decide. */
#include "bed.h"

#include "anchor/walk_choose.h"

#include <float.h>

/* Three rivals with so many per cent more than 1 in each period. */
static int verdict(const double more[WALK_RIVALS][WALK_PERIODS], size_t n, bool walks)
{
    double score[WALK_RIVALS * WALK_PERIODS];
    for (size_t k = 0; k < n * WALK_PERIODS; k++)
        score[k] = 1 + more[k / WALK_PERIODS][k % WALK_PERIODS] / 100;
    return anchor_walk_verdict(score, n, walks);
}

static void a_walk_gives_way_to_what_wins_in_many_periods(void **state)
{
    (void)state;
    const double crash[][WALK_PERIODS] = { { 4, -3, 5, 2, -2, 3, 1, -9 },
                                           { 0 },
                                           { 2, 1, 2, 1, 0, 1, 2, 1 } };
    const double steady[][WALK_PERIODS] = { { -4, -3, 1, -2, -5, -3, -1, -2 }, { 0 }, { 1 } };
    const double same[][WALK_PERIODS] = { { -1, 1, -1, 1, -1, 1, -1, .9 }, { 0 }, { 1 } };
    const double second[][WALK_PERIODS] = { { 3, 3, 3, 3, 3, 3, 3, 3 },
                                            { 2, 2, 2, 2, 2, 2, 2, 2 },
                                            { 1 } };
    double       few[][WALK_PERIODS] = { { 9, 9, 9 }, { 0 }, { 0 } };
    assert_int_equal(verdict(crash, 3, false), 1); /* one quarter is no evidence */
    assert_int_equal(verdict(steady, 3, false), 0);
    assert_int_equal(verdict(same, 2, false), 1);
    assert_int_equal(verdict(second, 3, false), 2);
    assert_int_equal(verdict(second, 3, true), 2); /* among walks: the better one */
    assert_int_equal(verdict(same, 2, true), 0);
    for (int k = 3; k < WALK_PERIODS; k++) few[0][k] = few[1][k] = few[2][k] = NAN;
    assert_int_equal(verdict(few, 3, false), 0); /* nothing to tell by */
    assert_int_equal(verdict(few, 3, true), 0);
}

/* A random walk of the logarithm that in the period of validation goes to and fro about one level.
 */
static void roll_prices(bed *b, uint64_t seed)
{
    dice   d = { seed };
    double x = 4, level = 0;
    for (int i = 0; i < ROWS; i++) {
        const double step = .03 * roll_normal(&d);
        if (i == ROWS * 7 / 10) level = x;
        if (i >= ROWS * 7 / 10 && i < ROWS * 8 / 10) x += .06 * (level - x);
        x += step;
        b->t[i] = i;
        b->y[i] = exp(x);
    }
}

static void prices_stay_a_walk_though_one_period_returns(void **state)
{
    (void)state;
    static const uint64_t seed[] = { 2, 4, 6 };
    static bed            b;
    int                   walks = 0;
    for (size_t k = 0; k < sizeof seed / sizeof *seed; k++) {
        roll_prices(&b, seed[k]);
        ll_anchor_model *m = fit_bed(&b, 60, 10, false);
        walks += m->kernel.n_terms == 1;
        ll_anchor_model_destroy(m);
    }
    assert_int_equal(walks, sizeof seed / sizeof *seed);
}

/* What always returns is no walk, also where it lies outside the range of training for a while. */
static void what_always_returns_is_no_walk(void **state)
{
    (void)state;
    static bed b;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        dice   d = { seed };
        double x = 0;
        for (int i = 0; i < ROWS; i++) {
            x = .93 * x + .03 * roll_normal(&d);
            b.t[i] = i;
            b.y[i] = exp(4 + x);
        }
        ll_anchor_model *m = fit_bed(&b, 60, 10, false);
        assert_true(m->kernel.n_terms > 1);
        ll_anchor_model_destroy(m);
    }
}

/* A walk has next to no noise: its forecast starts from the last reading. */
static void a_walk_starts_from_the_last_reading(void **state)
{
    (void)state;
    static bed b;
    dice       d = { 21 };
    double     x = 4;
    for (int i = 0; i < ROWS; i++) {
        b.t[i] = i;
        b.y[i] = exp(x += .01 * roll_normal(&d));
    }
    ll_anchor_model *m = fit_bed(&b, 60, 10, false);
    assert_int_equal(m->kernel.n_terms, 1);
    ll_law                  law;
    const double            tq = ROWS;
    const ll_anchor_request r = {
        .history = b.series, .origin = ROWS - 1, .n_query = 1, .t_query = &tq, .law = &law
    };
    CHECK_OK(ll_anchor_model_forecast(m, &r, 1));
    const double last = b.y[ROWS - 1];
    const double off = log(ll_anchor_quantile(m, 0, &law, 0) / last);
    assert_true(fabs(off) < .1 * .01); /* of a step */
    ll_anchor_model_destroy(m);
}

/* Two rivals on a short series, one step each. */
static llap_status choose_little(void *user)
{
    enum { FEW = 260, TRAIN = 200 };
    static bed b;
    dice       d = { 3 };
    size_t     n_train = 0, n_valid = 0;
    int       *won = user;
    for (int i = 0; i < FEW; i++) {
        b.t[i] = i;
        b.y[i] = 50 + roll_normal(&d);
        if (i >= 10 && i + 5 < TRAIN) b.train[n_train++] = (ll_origin){ 0, i };
        if (i >= TRAIN && i + 5 < FEW && i % 4 == 0) b.valid[n_valid++] = (ll_origin){ 0, i };
    }
    b.series = (ll_series){ .n = FEW, .t = b.t, .y = b.y };
    b.rows = TRAIN;
    ll_anchor_model_opts o = LL_ANCHOR_MODEL_DEFAULT;
    o.spec = (ll_anchor_spec){ .context = 10, .horizon = 5 };
    o.chain.curve = LL_CURVE_TAILS;
    o.chain.climate = false;
    o.fit.n_rows = 2;
    const ll_anchor_data d2 = { .series = &b.series,
                                .n_series = 1,
                                .train_rows = &b.rows,
                                .train = b.train,
                                .n_train = n_train,
                                .valid = b.valid,
                                .n_valid = n_valid };
    anchor_attempt       a[2] = { { .number = 60, .n_steps = 1, .chain = o.chain, .kappa = 4 } };
    a[0].start = (ll_anchor_kernel){ .n_terms = 1, .a = { .5 }, .rho = { 1 }, .nu = .5 };
    a[1] = a[0];
    a[1].number = 61;
    a[1].start = (ll_anchor_kernel){ .n_terms = 1, .a = { 1e-4 }, .rho = { .02 }, .nu = .01 };
    anchor_start_level(&a[1].start, &o.spec, false);
    a[1].start.innovation = true;
    return anchor_choose_walk(&d2, &o, a, 2, false, won);
}

static void failures(void **state)
{
    (void)state;
    int won = -1;
    check_every_failed_allocation(choose_little, &won);
    assert_int_equal(won, 0); /* it is noise about a level */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_gives_way_to_what_wins_in_many_periods),
        cmocka_unit_test(prices_stay_a_walk_though_one_period_returns),
        cmocka_unit_test(what_always_returns_is_no_walk),
        cmocka_unit_test(a_walk_starts_from_the_last_reading),
        cmocka_unit_test(failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
