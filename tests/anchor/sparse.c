/* Contexts that are empty, short, far from all training, or next to a glitch. */
#include "anchor/process/linked.h"
#include "anchor/window.h"
#include "dense.h"

static void check_near(const char *what, double x, double expected, double off)
{
    if (!(fabs(x - expected) <= off)) fail_msg("%s: %.9g, expected %.9g", what, x, expected);
}

/* Without a reading a drift has no level yet: the law is that of training, of variance 1, or of the
 * terms where they have more. */
static void nothing_read(void **state)
{
    (void)state;
    const double           tq[] = { 5, 9, 200 }, loading[] = { .7, .7 };
    const double           t[] = { 0, 1, 2 }, y[] = { .3, .1, .2 };
    const ll_anchor_linked j = { .n = 2, .rank = 1, .loading = loading, .share = { 1 } };
    for (int drift = LL_ANCHOR_STILL; drift <= LL_ANCHOR_SLOPE; drift++)
        for (double a = .3; a < 2; a += 1.2) {
            const ll_anchor_kernel k = { .n_terms = 1,
                                         .a = { a },
                                         .rho = { .1 },
                                         .nu = .1,
                                         .jitter = 1e-4,
                                         .drift = (ll_anchor_drift)drift,
                                         .start = 25,
                                         .q = .2,
                                         .v = .01,
                                         .damping = .1,
                                         .monitor = 5,
                                         .innovation = drift == LL_ANCHOR_LEVEL };
            const double           expected = (drift == LL_ANCHOR_STILL ? a : fmax(a, 1)) + k.nu;
            /* In the joint law the other one, at the place of [0], is read. */
            ll_anchor_window w[2] = { { .n_obs = 3, .t = t, .y = y },
                                      { .n_query = 3, .t_query = tq } };
            double           m[3], v[3], cov[9], *mean[] = { m, m }, *var[] = { v, v };
            CHECK_OK(ll_anchor_filter(&k, &w[1], 1, mean, var, NULL));
            for (int q = 0; q < 3; q++) check_near("variance", v[q], expected, 1e-12);
            ll_anchor_posterior *post = NULL;
            CHECK_OK(ll_anchor_condition(&k, &w[1], &post));
            CHECK_OK(ll_anchor_marginals(post, LL_ANCHOR_NOISY, m, v));
            for (int q = 0; q < 3; q++) check_near("its path", v[q], expected, 1e-12);
            CHECK_OK(ll_anchor_covariance(post, LL_ANCHOR_LATENT, cov));
            check_near("covariance", cov[1],
                       a * exp(-.4) + (drift == LL_ANCHOR_STILL ? 0 : fmax(1 - a, 0)), 1e-12);
            ll_anchor_posterior_destroy(post);
            CHECK_OK(ll_anchor_linked_filter(&k, &j, w, 1, mean, var, NULL));
            if (drift == LL_ANCHOR_STILL)
                assert_true(v[0] < expected - .01 * a); /* it tells something */
            check_near("far from the other", v[2], expected, 1e-9);
            w[0].n_obs = 0;
            CHECK_OK(ll_anchor_linked_filter(&k, &j, w, 1, mean, var, NULL));
            for (int q = 0; q < 3; q++) check_near("linked", v[q], expected, 1e-12);
        }
}

/* Few readings do not say that the level is elsewhere; five do. */
static void few_readings_do_not_move_the_level(void **state)
{
    (void)state;
    const anchor_cut how = { .kappa = 4, .reach = 2 };
    const double     far[] = { 50, 50, 50, 50, 50 }, out[] = { 3, 3, 3, 3, 3, 3, 3, 3, 3, 3 };
    double           m, s, start;
    for (size_t n = 0; n < 5; n++) {
        anchor_norm(how, far, n, &m, &s, &start);
        assert_true(start == 0.0 && m == 50.0 * (double)n / ((double)n + 4.0));
    }
    anchor_norm(how, far, 5, &m, &s, &start);
    assert_true(start == 2500.0 && m == 50.0);
    anchor_norm(how, out, 10, &m, &s, &start); /* 30/18 is within reach */
    assert_true(start == 0.0 && m == 30.0 / 14.0);
}

/* ---- filling ---- */

enum { N = 240, GAP = 100, END = 160, SERIES = 2 };

/* Scales of 1, a kernel that forgets within a few hours, a level that is held down much. */
static ll_anchor_model *plain_model(void)
{
    ll_chain *c = ll_new(1, sizeof *c);
    *c = PLAIN_CHAIN;
    c->n_series = SERIES;
    c->curve = LL_CURVE_TAILS;
    c->knot[0] = -2;
    c->knot[1] = 2;
    c->glitch_end = 1;
    double **const rows[] = { &c->mu, &c->sd, &c->low, &c->high, &c->glitch };
    for (int k = 0; k < 5; k++) {
        *rows[k] = ll_new(SERIES + 1, sizeof(double));
        for (int e = 0; e <= SERIES; e++) (*rows[k])[e] = k == 0 ? 0 : k == 4 ? 20 : 1;
    }
    const ll_anchor_spec   spec = { .context = 400, .horizon = 24 };
    const ll_anchor_kernel k = {
        .n_terms = 1, .a = { 1 }, .rho = { .3 }, .nu = .05, .jitter = 1e-4
    };
    ll_anchor_model *m = NULL;
    CHECK_OK(ll_anchor_model_create(&spec, c, &k, 200, &m));
    m->reach = 2;
    m->var_floor = 1e-3;
    return m;
}

typedef struct sensors {
    double    t[N], y[SERIES][N];
    ll_series s[SERIES];
} sensors;

static void sensors_init(sensors *x, double level)
{
    dice d = { 12 };
    for (int e = 0; e < SERIES; e++) {
        for (int i = 0; i < N; i++) {
            x->t[i] = i;
            x->y[e][i] = level + .5 * roll_normal(&d);
            if (e == 0 && i >= GAP && i < END) x->y[e][i] = NAN;
        }
        x->s[e] = (ll_series){ .n = N, .t = x->t, .y = x->y[e] };
    }
}

/* Beyond reach the level is the window's own, from both sides as from the past. */
static void gaps_far_out_have_their_own_level(void **state)
{
    (void)state;
    static sensors   x;
    ll_anchor_model *m = plain_model();
    const double     tq[] = { GAP + 20, GAP + 30, GAP + 40 };
    double           path[300], mean = 0;
    ll_law           law[3];
    sensors_init(&x, 10);
    const ll_anchor_request r = { .history = x.s[0], .n_query = 3, .t_query = tq, .law = law };
    for (int from = 0; from < 2; from++) {
        CHECK_OK(ll_anchor_model_fill(m, &r, 1, (ll_anchor_from)from));
        for (int q = 0; q < 3; q++) check_near("mean of a gap", law[q].mean, 10, .5);
    }
    CHECK_OK(ll_anchor_model_fill_paths(m, &r, LL_ANCHOR_BOTH, 1, 1, 100, path));
    for (int i = 0; i < 300; i++) mean += path[i] / 300;
    check_near("mean of its paths", mean, 10, .5);

    static double alpha[N], cov[N * N]; /* readings are left out one by one, to compare others by */
    const ll_anchor_request again = { .history = x.s[1], .n_query = N, .t_query = x.t };
    double                  sum = 0;
    CHECK_OK(anchor_read_again(m, &again, alpha, cov));
    for (int i = 0; i < N; i++) sum += alpha[i] / N;
    check_near("mean of what readings differ by", sum, 0, .02);
    ll_anchor_model_destroy(m);
}

/* What another series reads at the time of a gap does not count where it is a glitch. */
static void glitches_of_neighbours_do_not_count(void **state)
{
    (void)state;
    static sensors   x;
    ll_anchor_model *m = plain_model();
    const double     tq[] = { GAP + 5, GAP + 20 };
    sensors_init(&x, 0);
    for (int from = 0; from < 2; from++) {
        ll_law law[3][2];
        m->neighbours[from].calibration = ll_calibration_none(0, 0);
        m->neighbours[from].cov = ll_new(SERIES * SERIES, sizeof(double));
        for (int i = 0; i < SERIES * SERIES; i++) m->neighbours[from].cov[i] = i % 3 ? .9 : 1;
        for (int what = 0; what < 3; what++) { /* as it is, no reading, a glitch */
            const double kept = x.y[1][GAP + 20];
            if (what > 0) x.y[1][GAP + 20] = what == 1 ? NAN : 65535;
            const ll_anchor_request r = {
                .history = x.s[0], .n_query = 2, .t_query = tq, .law = law[what], .all = x.s
            };
            CHECK_OK(ll_anchor_model_fill(m, &r, 1, (ll_anchor_from)from));
            x.y[1][GAP + 20] = kept;
        }
        for (int q = 0; q < 2; q++)
            assert_true(law[1][q].mean == law[2][q].mean && law[1][q].sd == law[2][q].sd);
        assert_true(law[0][1].sd < .6 * law[1][1].sd); /* a reading does */
    }
    ll_anchor_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_read),
        cmocka_unit_test(few_readings_do_not_move_the_level),
        cmocka_unit_test(gaps_far_out_have_their_own_level),
        cmocka_unit_test(glitches_of_neighbours_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
