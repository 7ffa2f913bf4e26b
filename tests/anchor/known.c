/* Known inputs of an anchor: check values, filling, and one regression with the climate. */
#include "anchor/chain/known.h"
#include "anchor/chain/chain.h"
#include "anchor/chain/known_fit.h"
#include "base/rng/rng.h"
#include "check.h"

#include <stdlib.h>

static void check_near(const char *what, double x, double expected, double off)
{
    if (!(fabs(x - expected) <= off)) fail_msg("%s: %.9g, expected %.9g", what, x, expected);
}

static void spline_columns(void **state)
{
    (void)state;
    const double knot[] = { 0, 6, 12, 20, 25, 30 }, x[] = { 12, 40 };
    const double expected[][5] = { { .4, .064, .01, 0, 0 },
                                   { 1.333333, 1.805556, 1.245556, .765556, .25 } };
    double       c[5], low[5], high[5];
    for (int k = 0; k < 2; k++) {
        ll_spline_columns(knot, 6, x[k], c);
        for (int j = 0; j < 5; j++) check_near("column", c[j], expected[k][j], 1e-6);
    }
    ll_spline_columns(knot, 6, 31, low); /* straight lines beyond the last knot */
    ll_spline_columns(knot, 6, 51, high);
    ll_spline_columns(knot, 6, 41, c);
    for (int j = 0; j < 5; j++) check_near("line", c[j], 0.5 * (low[j] + high[j]), 1e-12);
    ll_spline_columns(knot, 2, 3, c); /* two knots: a straight line alone */
    check_near("line", c[0], 0.5, 1e-15);
}

static void whitened_rows(void **state)
{
    (void)state;
    const ll_anchor_kernel k = {
        .n_terms = 1, .a = { .5 }, .rho = { .1 }, .nu = .1, .jitter = 1e-4
    };
    const double    t[] = { 0, 1, 2, 4 }, u[] = { .3, .5, .2, 1 }, x[] = { 0, 1, 0, 2 };
    const double    of_u[] = { .387266, .538038, -.319117, 1.419686 };
    const double    of_x[] = { 0, 1.964872, -1.130812, 3.284079 };
    double          A[4] = { .5, 0, 0, .5 }, b[2] = { 0 };
    known_whitener *w = NULL;
    CHECK_OK(known_whitener_create(&k, 3, &w));
    for (int i = 0; i < 4; i++) {
        double row[] = { 1, x[i], u[i] };
        known_whiten(w, t[i], row);
        check_near("innovation of u", row[2], of_u[i], 1e-6);
        check_near("innovation of x", row[1], of_x[i], 1e-6);
        for (int j = 0; j < 2; j++) {
            b[j] += row[j] * row[2];
            for (int l = 0; l <= j; l++) A[j * 2 + l] += row[j] * row[l];
        }
    }
    chain_solve(A, b, 2);
    check_near("ridge", b[0], .214647, 1e-6);
    check_near("ridge", b[1], .344337, 1e-6);
    known_whitener_destroy(w);
}

/* One number with a straight effect of slope 2, usually 10, phi 0.9, variance 4. */
static ll_known *straight(void)
{
    ll_known *k = ll_new(1, sizeof *k);
    k->n_columns = k->n = 1;
    k->input = ll_new(1, sizeof *k->input);
    k->input[0] = (ll_known_input){
        .n_knots = 2, .knot = { 0, 20 }, .n_usual = 1, .usual = { 10 }, .phi = .9, .var = 4
    };
    k->n_terms = ll_known_count(k);
    k->beta = ll_new((size_t)k->n_terms, sizeof *k->beta);
    k->beta[0] = 2 * 20;
    return k;
}

static void missing_values_are_usual_ones_and_in_doubt(void **state)
{
    (void)state;
    ll_known    *k = straight();
    ll_inputs   *in = NULL;
    const double t[] = { 0, 1, 2, 3 }, raw[] = { NAN, 14, NAN, 12 };
    CHECK_OK(ll_inputs_create(k, t, raw, 4, &in));
    check_near("before any", ll_known_effect(k, in, -1, -1), 20, 1e-12);
    check_near("its doubt", ll_known_doubt(k, in, -1), 4 * 4, 1e-12);
    check_near("never known", ll_known_effect(k, NULL, 5, -1), 20, 1e-12);
    check_near("known", ll_known_effect(k, in, 1, -1), 28, 1e-12);
    check_near("no doubt", ll_known_doubt(k, in, 1), 0, 0);
    check_near("filled", ll_known_effect(k, in, 2, -1), 2 * (10 + 4 * .9), 1e-12);
    check_near("between rows", ll_known_effect(k, in, 2.5, -1), 2 * (10 + 4 * pow(.9, 1.5)), 1e-12);
    check_near("its doubt", ll_known_doubt(k, in, 2.5), 4 * 4 * (1 - pow(.9, 3)), 1e-12);
    check_near("later", ll_known_effect(k, in, 13, -1), 2 * (10 + 2 * pow(.9, 10)), 1e-12);
    check_near("its doubt", ll_known_doubt(k, in, 13), 4 * 4 * (1 - pow(.9, 20)), 1e-12);
    ll_inputs_destroy(in);
    CHECK_OK(ll_inputs_create(k, t, (double[]){ 12, 65535, 12, 14 }, 4, &in));
    check_near("a glitch", ll_known_effect(k, in, 1, -1), 2 * (10 + 2 * .9), 1e-12);
    ll_inputs_destroy(in);
    ll_known_destroy(k);
}

enum { N = 3000 };

/* Hours, a number and a category; what is explained goes by both and by the time of the day. */
static void make_rows(double *t, double *raw, double *y)
{
    const ll_rng r = ll_rng_make(3, LL_STREAM_TEST, 0, 0, 0);
    double       x = 0;
    for (uint64_t i = 0; i < N; i++) {
        t[i] = 4e5 + (double)i;
        x = .98 * x + .3 * (double)ll_rng_normal(&r, 3 * i);
        raw[i] = x;
        raw[N + i] = (double)(uint64_t)(3 * (double)ll_rng_uniform(&r, 3 * i + 1)); /* 0, 1, 2 */
        y[i] = 5 + sin(t[i] * .2617993878) + 2 * x + (raw[N + i] == 2) +
               .1 * (double)ll_rng_normal(&r, 3 * i + 2);
    }
}

/* The inputs of one series, its two columns behind one another. */
static ll_known *inputs_of(const double *t, const double *raw)
{
    const size_t        rows = N;
    const ll_known_data d = { .n_series = 1,
                              .t = (const double *const[]){ t },
                              .raw = (const double *const[]){ raw },
                              .rows = &rows,
                              .stride = &rows,
                              .n_columns = 2 };
    ll_known           *k = NULL;
    CHECK_OK(ll_known_fit_inputs(&d, true, &k));
    return k;
}

static void inputs_are_seen_for_what_they_are(void **state)
{
    (void)state;
    static double t[N], raw[2 * N], y[N];
    make_rows(t, raw, y);
    ll_known *k = inputs_of(t, raw);
    assert_int_equal(k->n, 4); /* the number, and one for each of three values */
    assert_int_equal(k->input[0].kind, LL_KNOWN_NUMBER);
    assert_int_equal(k->input[0].n_knots, 6);
    check_near("phi", k->input[0].phi, .98, .01);
    for (int i = 1; i < 4; i++) {
        assert_int_equal(k->input[i].kind, LL_KNOWN_FLAG);
        check_near("level", k->input[i].level, i - 1, 0);
    }
    assert_true(ll_known_takes(k, 0, 1.5) && !ll_known_takes(k, 0, 1e6));
    assert_true(ll_known_takes(k, 1, 2) && !ll_known_takes(k, 1, 3) && !ll_known_takes(k, 1, NAN));
    ll_known_destroy(k);
    for (size_t i = 0; i < N; i++) raw[i] = 7, raw[N + i] = (double)(i % 2);
    k = inputs_of(t, raw); /* what never changes is none; 0 and 1: a flag */
    assert_int_equal(k->n, 1);
    assert_int_equal(k->input[0].column, 1);
    check_near("level", k->input[0].level, 1, 0);
    assert_true(ll_known_takes(k, 1, 0) && ll_known_takes(k, 1, 1) && !ll_known_takes(k, 1, 2));
    ll_known_destroy(k);
}

/* What a chain leaves of the made-up rows, weighed one way or the other. */
static double rest_of(const ll_known *k, const ll_inputs *in, const double *t, const double *y,
                      const ll_anchor_kernel *whiten)
{
    const ll_series train = { .n = N, .t = t, .y = y, .in = in };
    ll_chain_opts   o = LL_CHAIN_DEFAULT;
    ll_chain       *c = NULL;
    double          sum = 0, u[N];
    o.curve = LL_CURVE_TAILS;
    o.transform = LL_TRANSFORM_NONE;
    o.known = (ll_known_opts){ .known = k, .whiten = whiten };
    CHECK_OK(ll_chain_fit(&train, 1, &o, &c));
    ll_chain_convert(c, 0, &train, NULL, u);
    for (size_t i = 0; i < N; i++) { /* and exactly back */
        const double z = ll_chain_z_back_given(c, 0, ll_chain_mean(c, 0, in, t[i]), u[i]);
        check_near("back", ll_chain_y_back(c, 0, z), y[i], 1e-9);
        sum += u[i] * u[i] * c->r_s * c->r_s * c->sd[0] * c->sd[0];
    }
    ll_chain_destroy(c);
    return sqrt(sum / N);
}

static void one_regression_explains_all(void **state)
{
    (void)state;
    static double t[N], raw[2 * N], y[N];
    ll_inputs    *in = NULL;
    make_rows(t, raw, y);
    ll_known *k = inputs_of(t, raw);
    CHECK_OK(ll_inputs_create(k, t, raw, N, &in));
    const ll_anchor_kernel kernel = {
        .n_terms = 1, .a = { .5 }, .rho = { .1 }, .nu = .1, .jitter = 1e-4
    };
    /* of a deviation of 3; the noise has .1, and the ridge shrinks */
    check_near("plain", rest_of(k, in, t, y, NULL), .15, .07);
    check_near("whitened", rest_of(k, in, t, y, &kernel), .12, .03);
    ll_inputs_destroy(in);
    ll_known_destroy(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spline_columns),
        cmocka_unit_test(whitened_rows),
        cmocka_unit_test(missing_values_are_usual_ones_and_in_doubt),
        cmocka_unit_test(inputs_are_seen_for_what_they_are),
        cmocka_unit_test(one_regression_explains_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
