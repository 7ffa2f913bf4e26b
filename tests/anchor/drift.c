/* Levels, slopes and the monitor in filter, smoother, paths and gradient: the dense definition, and
 * check values. */
#include "anchor_check.h"

#include "anchor/chain/chain.h"
#include "anchor/process/state.h"

#include <float.h>

static void check_near(const char *what, double x, double expected, double off)
{
    if (!(fabs(x - expected) <= off)) fail_msg("%s: %.9g, expected %.9g", what, x, expected);
}

static void roll_drift(dice *d, ll_anchor_kernel *k)
{
    k->drift = roll(d) < .5 ? LL_ANCHOR_LEVEL : LL_ANCHOR_SLOPE;
    k->start = roll(d) < .3 ? 25 : roll_log(d, .1, 25);
    k->q = roll_log(d, 1e-3, .1);
    k->v = roll_log(d, 1e-4, .02);
    k->damping = roll_log(d, 1e-3, 1);
}

/* The first reading is the first event. */
static problem roll_later(dice *d, size_t n, size_t n_query, double lo, double hi)
{
    problem p = roll_problem(d, n, n_query, lo, hi);
    p.y[0] = roll_normal(d);
    for (size_t q = 0; q < n_query; q++) p.tq[q] = fmax(p.tq[q], p.t[0]);
    return p;
}

static void smoother_equals_dense(void **state)
{
    (void)state;
    dice d = { 41 };
    for (int rep = 0; rep < 200; rep++) {
        ll_anchor_kernel k = roll_kernel(&d, 1e-4);
        problem p = roll_later(&d, 1 + (size_t)rep % 40, 9, rep % 2 ? .1 : 1e-3, rep % 2 ? 10 : 1);
        roll_drift(&d, &k);
        k.nu = pow(10.0, -(rep % 6));  /* against a level of variance 25 */
        for (size_t q = 0; q < 4; q++) /* just before a reading */
            p.tq[q] = fmax(p.t[q * (size_t)rep % p.w.n_obs] - roll_log(&d, 1e-9, 1e-2), p.t[0]);
        check_against_dense(&k, &p, NULL);
        problem_free(&p);
    }
}

static void check_filter(const ll_anchor_kernel *k, const problem *p)
{
    enum { MOST = 64 };
    const size_t nq = p->w.n_query, n = p->w.n_obs;
    double       mean[MOST], var[MOST], raise[MOST], ref, refv, ll, refll;
    double      *means[] = { mean }, *vars[] = { var };
    dense_monitor(k, &p->w, raise, NULL);
    CHECK_OK(ll_anchor_filter(k, &p->w, 1, means, vars, &ll));
    dense_raised(k, &p->w, NULL, raise, NULL, NULL, &refll);
    check_near("loglik", ll, refll, TOL * fmax(1, fabs(refll)));
    for (size_t q = 0; q < nq; q++) {
        bool             use[MOST];
        ll_anchor_window one = p->w;
        one.n_query = 1;
        one.t_query = &p->tq[q];
        one.n_obs = 0;
        for (size_t i = 0; i < n; i++) {
            use[i] = p->t[i] <= p->tq[q];
            if (use[i]) one.n_obs = i + 1;
        }
        const double by = dense_monitor(k, &one, raise, NULL);
        dense_raised(k, &one, use, raise, &ref, &refv, NULL);
        check_near("mean", mean[q], ref, TOL * fmax(fabs(ref), .1));
        check_near("variance", var[q], (refv + k->nu) * by, TOL * (refv + k->nu) * by);
    }
}

/* With the monitor on, and both scales. Thresholds are low, so that it strikes often. */
static void filter_equals_dense(void **state)
{
    (void)state;
    dice d = { 42 };
    for (int rep = 0; rep < 120; rep++) {
        ll_anchor_kernel k = roll_kernel(&d, 1e-3);
        problem          p = roll_later(&d, 5 + (size_t)rep % 20, 6, .1, 10);
        if (rep % 3) roll_drift(&d, &k);
        k.monitor = rep % 4 ? roll_log(&d, .3, 2) : 0;
        k.innovation = rep % 2;
        p.w.scale = roll_log(&d, .2, 3);
        p.w.start = rep % 5 ? 0 : roll_log(&d, .1, 9);
        check_filter(&k, &p);
        problem_free(&p);
    }
}

static void smoother_with_monitor_equals_dense(void **state)
{
    (void)state;
    dice d = { 43 };
    int  struck = 0;
    for (int rep = 0; rep < 120; rep++) {
        ll_anchor_kernel k = roll_kernel(&d, 1e-3);
        problem          p = roll_later(&d, 5 + (size_t)rep % 20, 8, .1, 10);
        double           raise[32];
        if (rep % 3) roll_drift(&d, &k);
        k.monitor = roll_log(&d, .3, 2);
        for (size_t q = 0; q < 3; q++) /* where little is left of the variance */
            p.tq[q] = fmax(p.t[q * (size_t)rep % p.w.n_obs] - roll_log(&d, 1e-9, 1e-3), p.t[0]);
        p.w.start = rep % 4 ? 0 : roll_log(&d, .1, 9);
        dense_monitor(&k, &p.w, raise, NULL);
        for (size_t i = 0; i < p.w.n_obs; i++) struck += raise[i] > 0;
        check_against_dense(&k, &p, raise);
        problem_free(&p);
    }
    assert_true(struck > 60);
}

static double loss_at(ll_anchor_kernel *k, const ll_anchor_window *w, size_t n, double *x,
                      double to, ll_anchor_loss_kind kind)
{
    ll_anchor_loss l;
    const double   old = *x;
    *x = to;
    CHECK_OK(ll_anchor_loss_gradient(k, w, n, kind, 1e-3, &l));
    *x = old;
    return l.sum;
}

static void gradient_equals_differences(void **state)
{
    (void)state;
    dice d = { 44 };
    for (int rep = 0; rep < 40; rep++) {
        ll_anchor_kernel k = roll_kernel(&d, 1e-2);
        ll_anchor_loss   l;
        ll_anchor_window w[3];
        problem          p[3];
        for (int i = 0; i < k.n_terms; i++) {
            k.rho[i] = roll_log(&d, 1e-2, 1);
            if (k.omega[i] > 0) k.omega[i] = roll_log(&d, .05, .6);
        }
        roll_drift(&d, &k);
        k.innovation = rep % 2;
        for (size_t i = 0; i < 3; i++) {
            p[i] = roll_problem(&d, 20 * i, 8, .1, 4);
            w[i] = p[i].w;
            w[i].scale = roll_log(&d, .3, 2);
        }
        for (int kind = LL_ANCHOR_CRPS; kind <= LL_ANCHOR_NLL; kind++) {
            CHECK_OK(ll_anchor_loss_gradient(&k, w, 3, (ll_anchor_loss_kind)kind, 1e-3, &l));
            double *const x[] = { &k.q, &k.v, &k.nu, &k.a[0], &k.rho[0] };
            const double  by[] = { l.d_q, l.d_v, l.d_nu, l.d_a[0], l.d_rho[0] };
            double        size = 0;
            for (int i = 0; i < 5; i++) size = fmax(size, fabs(by[i] * *x[i]));
            for (int i = 0; i < 5; i++) {
                if (i == 1 && k.drift != LL_ANCHOR_SLOPE) continue;
                const double at = *x[i], h = 1e-5 * at; /* z = 16 is a kink */
                double       v[4];
                for (int j = 0; j < 4; j++)
                    v[j] = loss_at(&k, w, 3, x[i], at + h * (j < 2 ? j - 2 : j - 1),
                                   (ll_anchor_loss_kind)kind);
                const double slope = (8 * (v[2] - v[1]) - (v[3] - v[0])) / (12 * h);
                if (!(fabs(slope - by[i]) * at <= 2e-7 * size))
                    fail_msg("rep %d, kind %d, number %d: %.12g, differences %.12g (size %g)", rep,
                             kind, i, by[i] * at, slope * at, size);
            }
        }
        for (size_t i = 0; i < 3; i++) problem_free(&p[i]);
    }
}

/* ---- check values ---- */

static void slope_block(void **state)
{
    (void)state;
    const ll_anchor_kernel k = { .n_terms = 1,
                                 .a = { 1 },
                                 .rho = { 1 },
                                 .nu = .1,
                                 .drift = LL_ANCHOR_SLOPE,
                                 .q = .05,
                                 .v = .02,
                                 .damping = .3 };
    anchor_system          sys;
    anchor_step            st = { .gap = -1 };
    anchor_system_init(&sys, &k, false);
    anchor_step_set(&st, &sys, 2.5);
    check_near("h", st.h, 1.758778, 1e-6);
    check_near("g", st.g, .472367, 1e-6);
    check_near("Q of the level", st.grown[sys.level], .186606, 1e-6);
    check_near("Q of both", st.q_lb, .030933, 1e-6);
    check_near("Q of the slope", st.q_bb, .025896, 1e-6);
    for (double gap = 1e-6; gap < 10; gap *= 3) { /* no step where the series takes over */
        anchor_step_set(&st, &sys, gap);
        const long double x = .3L * gap;
        const long double exact = x - 2 * (1 - expl(-x)) + (1 - expl(-2 * x)) / 2;
        if (gap > .01) check_near("integral", st.q_ll * .027 / .02 / (double)exact, 1, 1e-9);
        else check_near("integral", st.q_ll / (.02 * gap * gap * gap / 3), 1, .3 * gap);
    }
}

typedef struct answer {
    double mean[2], var[2];
} answer;

/* The law in u of a context of readings u, with kappa 4 or 200. */
static answer ask(const ll_anchor_kernel *k, const double *t, const double *u, size_t n,
                  double kappa, const double *tq)
{
    double w[16], m, s, *means[1], *vars[1];
    answer a;
    ll_window_norm(u, n, kappa, &m, &s);
    const double by = k->innovation ? 1 : s;
    for (size_t i = 0; i < n; i++) w[i] = (u[i] - m) / by;
    const ll_anchor_window win = {
        .n_obs = n, .t = t, .y = w, .n_query = 2, .t_query = tq, .scale = s
    };
    means[0] = a.mean;
    vars[0] = a.var;
    CHECK_OK(ll_anchor_filter(k, &win, 1, means, vars, NULL));
    for (int q = 0; q < 2; q++) {
        a.mean[q] = m + by * a.mean[q];
        a.var[q] *= by * by;
    }
    return a;
}

static void check_answer(const char *what, answer a, double m0, double m1, double v0, double v1)
{
    check_near(what, a.mean[0], m0, 1e-6);
    check_near(what, a.mean[1], m1, 1e-6);
    check_near(what, a.var[0], v0, 1e-6);
    check_near(what, a.var[1], v1, 1e-6);
}

static void filter_check_values(void **state)
{
    (void)state;
    const double     t[] = { 0, 1, 2, 4 }, u[] = { .3, .5, .2, 1 }, tq[] = { 5, 10 };
    ll_anchor_kernel k = { .n_terms = 1, .a = { .5 }, .rho = { .1 }, .nu = .1, .jitter = 1e-4 };
    check_answer("none", ask(&k, t, u, 4, 4, tq), .713558, .531162, .176641, .337743);
    k.drift = LL_ANCHOR_LEVEL;
    k.start = 25;
    k.q = .02;
    check_answer("level", ask(&k, t, u, 4, 4, tq), .792006, .722428, .203131, .508338);
    k.innovation = true;
    check_answer("innovation", ask(&k, t, u, 4, 4, tq), .792006, .722428, .227605, .569585);
    k.innovation = false;
    k.drift = LL_ANCHOR_SLOPE;
    k.damping = .002;
    k.v = 4e-6;
    check_answer("slope", ask(&k, t, u, 4, 4, tq), .799583, .752773, .205363, .544373);
}

static void monitor_check_values(void **state)
{
    (void)state;
    const double u[] = { .1, -.1, .2, 0, -.2, .1, 0, .1, 6.1, 5.9, 6.2 }, tq[] = { 11, 20 };
    double       t[11], w[11], m, s, a[11];
    for (int i = 0; i < 11; i++) t[i] = i;
    ll_anchor_kernel k = { .n_terms = 1, .a = { .05 }, .rho = { .01 }, .nu = .1, .jitter = 1e-4 };
    ll_window_norm(u, 11, 200, &m, &s);
    for (int i = 0; i < 11; i++) w[i] = (u[i] - m) / s;
    const ll_anchor_window win = { .n_obs = 11, .t = t, .y = w, .scale = s };
    const double expected[2][3] = { { 23.8055, 12.7364, 9.7951 }, { 23.8055, 12.7364, .6018 } };
    for (int on = 0; on < 2; on++) {
        k.monitor = on ? 5 : 0;
        CHECK_OK(ll_anchor_surprises(&k, &win, a));
        for (int i = 0; i < 3; i++) check_near("a", a[8 + i], expected[on][i], 1e-4);
    }
    check_answer("monitor", ask(&k, t, u, 11, 200, tq), 6.031631, 5.978843, .12163, .128154);
    k.innovation = true;
    check_answer("innovation", ask(&k, t, u, 11, 200, tq), 6.031631, 5.978843, .212712, .224121);
    k.innovation = false;
    k.monitor = 0;
    check_answer("without", ask(&k, t, u, 11, 200, tq), 1.741548, 1.599161, .674835, .713818);
}

static void refusals(void **state)
{
    (void)state;
    const double           t = 0, y = 1, tq = 1;
    const ll_anchor_window w = { .n_obs = 1, .t = &t, .y = &y, .n_query = 1, .t_query = &tq };
    double                 mean, var, *means[] = { &mean }, *vars[] = { &var };
    ll_anchor_kernel       k = ll_anchor_kernel_hourly(), bad;
    k.drift = LL_ANCHOR_SLOPE, k.q = k.v = k.damping = 1;
    CHECK_OK(ll_anchor_filter(&k, &w, 1, means, vars, NULL));
    bad = k, bad.q = 0;
    CHECK_FAIL(ll_anchor_filter(&bad, &w, 1, means, vars, NULL), LLAP_EINVAL, "expected q > 0");
    bad = k, bad.v = NAN;
    CHECK_FAIL(ll_anchor_filter(&bad, &w, 1, means, vars, NULL), LLAP_EINVAL, "expected v > 0");
    bad = k, bad.damping = -1;
    CHECK_FAIL(ll_anchor_filter(&bad, &w, 1, means, vars, NULL), LLAP_EINVAL, "damping > 0");
    bad = k, bad.start = INFINITY;
    CHECK_FAIL(ll_anchor_filter(&bad, &w, 1, means, vars, NULL), LLAP_EINVAL, "start >= 0");
    bad = k, bad.monitor = -1;
    CHECK_FAIL(ll_anchor_filter(&bad, &w, 1, means, vars, NULL), LLAP_EINVAL, "monitor >= 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smoother_equals_dense),
        cmocka_unit_test(filter_equals_dense),
        cmocka_unit_test(smoother_with_monitor_equals_dense),
        cmocka_unit_test(gradient_equals_differences),
        cmocka_unit_test(slope_block),
        cmocka_unit_test(filter_check_values),
        cmocka_unit_test(monitor_check_values),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
