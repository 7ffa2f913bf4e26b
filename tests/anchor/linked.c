#include "anchor/process/linked.h"
#include "dense.h"

#include <omp.h>

#define TOL 1e-9

enum { MOST = 6, QUERIES = 7 };

/* Entities with their own problems and a random low-rank law between them. */
typedef struct family {
    ll_anchor_kernel k;
    ll_anchor_linked j;
    double           g[MOST * LL_ANCHOR_RANK_MAX];
    problem          p[MOST];
    ll_anchor_window w[MOST];
    double           m[MOST][QUERIES], v[MOST][QUERIES], *mean[MOST], *var[MOST];
} family;

static void family_init(family *f, dice *d, size_t n, size_t n_obs, double lo, double hi)
{
    *f = (family){ .k = roll_kernel(d, 1e-3) };
    f->j = (ll_anchor_linked){ .n = n, .rank = (size_t)(roll(d) * 3), .loading = f->g };
    for (int i = 0; i < f->k.n_terms; i++) f->j.share[i] = roll(d) < 0.3 ? 1.0 : roll(d);
    for (size_t e = 0; e < n; e++) {
        double *g = f->g + e * f->j.rank, sum = 0;
        for (size_t r = 0; r < f->j.rank; r++) g[r] = roll_normal(d), sum += g[r] * g[r];
        const double to = sqrt((0.2 + 0.75 * roll(d)) / sum);
        for (size_t r = 0; r < f->j.rank; r++) g[r] *= to;
        const size_t own = roll(d) < 0.15 ? 0 : n_obs;
        f->p[e] = roll_problem(d, own, QUERIES, lo, hi);
        if (e > 0 && own == f->p[0].w.n_obs && roll(d) < 0.5) /* common times */
            memcpy(f->p[e].t, f->p[0].t, own * sizeof(double));
        f->w[e] = f->p[e].w;
        f->mean[e] = f->m[e];
        f->var[e] = f->v[e];
    }
}

static void family_free(family *f)
{
    for (size_t e = 0; e < f->j.n; e++) problem_free(&f->p[e]);
}

static long double dense_between(const family *f, size_t e, size_t g, long double d)
{
    long double c = 0, sum = 0;
    for (size_t r = 0; r < f->j.rank; r++)
        c += (long double)f->g[e * f->j.rank + r] * f->g[g * f->j.rank + r];
    for (int i = 0; i < f->k.n_terms; i++)
        sum += (e == g ? 1.0L : f->j.share[i] * c) * f->k.a[i] * expl(-f->k.rho[i] * fabsl(d)) *
               cosl(f->k.omega[i] * d);
    return sum;
}

/* Covariance of the drift of entity e, which has no level where nothing of it is read. */
static long double drift_between(const family *f, size_t e, long double s, long double t)
{
    if (f->k.drift == LL_ANCHOR_STILL) return 0;
    for (size_t i = 0; i < f->w[e].n_obs; i++)
        if (!isnan(f->w[e].y[i])) return dense_drift(&f->k, s, t);
    return fmaxl(1 - dense_k(&f->k, 0), 0);
}

/* By the dense matrix: mean and variance of a new reading of entity e at time t given what any
 * entity has shown up to then; and the log density of what was shown. */
static void dense_joint(const family *f, size_t e, double t, double *mean, double *var, double *ll)
{
    enum { ALL = 400 };
    static long double L[ALL][ALL], alpha[ALL], b[ALL];
    size_t             of[ALL], n = 0;
    double             at[ALL], y[ALL];
    for (size_t g = 0; g < f->j.n; g++)
        for (size_t i = 0; i < f->w[g].n_obs; i++)
            if (!isnan(f->w[g].y[i]) && f->w[g].t[i] <= t) {
                of[n] = g;
                at[n] = f->w[g].t[i];
                y[n++] = f->w[g].y[i];
            }
    long double t1 = INFINITY;
    for (size_t g = 0; g < f->j.n; g++) t1 = fminl(t1, dense_first(&f->w[g]));
    long double sum = 0, m = 0, v = dense_between(f, e, e, 0) + f->k.nu;
    if (!isinf(t)) v += drift_between(f, e, t - t1, t - t1);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k <= i; k++) {
            long double s = dense_between(f, of[i], of[k], (long double)at[i] - at[k]);
            if (of[i] == of[k]) s += dense_drift(&f->k, at[i] - t1, at[k] - t1);
            if (i == k) s += (long double)f->k.nu + f->k.jitter;
            for (size_t l = 0; l < k; l++) s -= L[i][l] * L[k][l];
            L[i][k] = i == k ? sqrtl(s) : s / L[k][k];
        }
        long double s = y[i], c = isinf(t) ? 0 : dense_between(f, of[i], e, (long double)at[i] - t);
        if (of[i] == e && !isinf(t)) c += dense_drift(&f->k, at[i] - t1, t - t1);
        for (size_t l = 0; l < i; l++) s -= L[i][l] * alpha[l], c -= L[i][l] * b[l];
        alpha[i] = s / L[i][i];
        b[i] = c / L[i][i];
        m += alpha[i] * b[i];
        v -= b[i] * b[i];
        sum -=
            0.5L * alpha[i] * alpha[i] + logl(L[i][i]) + 0.5L * 1.8378770664093454835606594728112L;
    }
    *mean = (double)m;
    *var = (double)v;
    *ll = (double)sum;
}

static void check_family(family *f)
{
    double ll, loglik, m, v, size = sqrt((double)dense_k(&f->k, 0));
    CHECK_OK(ll_anchor_linked_filter(&f->k, &f->j, f->w, 1, f->mean, f->var, &loglik));
    dense_joint(f, 0, INFINITY, &m, &v, &ll);
    if (!(fabs(loglik - ll) <= TOL * fmax(1, fabs(ll))))
        fail_msg("loglik %.17g, %.17g", loglik, ll);
    for (size_t e = 0; e < f->j.n; e++)
        for (size_t q = 0; q < f->w[e].n_query; q++) {
            dense_joint(f, e, f->w[e].t_query[q], &m, &v, &ll);
            if (!(fabs(f->m[e][q] - m) <= TOL * fmax(size, fabs(m))) ||
                !(fabs(f->v[e][q] - v) <= TOL * v))
                fail_msg("entity %zu query %zu: %.17g %.17g, expected %.17g %.17g", e, q,
                         f->m[e][q], f->v[e][q], m, v);
        }
}

static void equals_the_dense_definition(void **state)
{
    (void)state;
    dice d = { 7 };
    for (int i = 0; i < 60; i++) {
        family f;
        family_init(&f, &d, 1 + (size_t)(roll(&d) * MOST), (size_t)(roll(&d) * 16),
                    i % 3 == 0 ? 1e-6 : 0.1, i % 3 == 0 ? 1e6 : 10);
        check_family(&f);
        family_free(&f);
    }
}

/* Each entity drifts by itself. */
static void drifts_equal_the_dense_definition(void **state)
{
    (void)state;
    dice d = { 17 };
    for (int i = 0; i < 40; i++) {
        family f;
        family_init(&f, &d, 1 + (size_t)(roll(&d) * MOST), (size_t)(roll(&d) * 16), 0.1, 10);
        f.k.drift = i % 2 ? LL_ANCHOR_LEVEL : LL_ANCHOR_SLOPE;
        f.k.start = roll_log(&d, .1, 25);
        f.k.q = roll_log(&d, 1e-3, .1);
        f.k.v = roll_log(&d, 1e-4, .02);
        f.k.damping = roll_log(&d, 1e-3, 1);
        check_family(&f);
        family_free(&f);
    }
}

/* The monitors of entities without a link strike as those of single series do. */
static void monitors_are_those_of_single_series(void **state)
{
    (void)state;
    dice d = { 18 };
    for (int i = 0; i < 20; i++) {
        family f;
        family_init(&f, &d, MOST, 30, 0.1, 10);
        memset(f.j.share, 0, sizeof f.j.share);
        f.k.monitor = roll_log(&d, .5, 2);
        f.k.innovation = i % 2;
        for (size_t e = 0; e < MOST; e++) {
            f.w[e].scale = roll_log(&d, .3, 2);
            f.w[e].start = e == 0 ? 3 : 0;
        }
        double m[MOST][QUERIES], v[MOST][QUERIES], *mean[MOST], *var[MOST];
        for (size_t e = 0; e < MOST; e++) mean[e] = m[e], var[e] = v[e];
        CHECK_OK(ll_anchor_linked_filter(&f.k, &f.j, f.w, 1, f.mean, f.var, NULL));
        CHECK_OK(ll_anchor_filter(&f.k, f.w, MOST, mean, var, NULL));
        for (size_t e = 0; e < MOST; e++)
            for (size_t q = 0; q < f.w[e].n_query; q++)
                if (!(fabs(m[e][q] - f.m[e][q]) <= TOL * fmax(1, fabs(m[e][q]))) ||
                    !(fabs(v[e][q] - f.v[e][q]) <= TOL * v[e][q]))
                    fail_msg("entity %zu query %zu: %.17g %.17g, alone %.17g %.17g", e, q,
                             f.m[e][q], f.v[e][q], m[e][q], v[e][q]);
        family_free(&f);
    }
}

/* Without a link between them entities answer as each alone, whatever their number. */
static void no_link_is_the_single_series(void **state)
{
    (void)state;
    dice   d = { 8 };
    family f;
    family_init(&f, &d, MOST, 30, 0.1, 10);
    memset(f.j.share, 0, sizeof f.j.share);
    CHECK_OK(ll_anchor_linked_filter(&f.k, &f.j, f.w, 1, f.mean, f.var, NULL));
    double m[MOST][QUERIES], v[MOST][QUERIES], *mean[MOST], *var[MOST];
    for (size_t e = 0; e < MOST; e++) mean[e] = m[e], var[e] = v[e];
    CHECK_OK(ll_anchor_filter(&f.k, f.w, MOST, mean, var, NULL));
    for (size_t e = 0; e < MOST; e++)
        for (size_t q = 0; q < QUERIES; q++) {
            assert_true(fabs(f.m[e][q] - m[e][q]) <= 1e-12 * fmax(1, fabs(m[e][q])));
            assert_true(fabs(f.v[e][q] - v[e][q]) <= 1e-12 * v[e][q]);
        }
    family_free(&f);
}

/* A silent entity is known through its neighbours, better than from nothing. */
static void neighbours_speak_for_the_silent(void **state)
{
    (void)state;
    const double     t[] = { 0, 1, 2, 3 }, y[] = { 1, 1.2, 1.1, 1.3 }, tq = 4, g[] = { .9, .9 };
    ll_anchor_kernel k = { .n_terms = 1, .a = { 1 }, .rho = { .05 }, .nu = .01 };
    ll_anchor_linked j = { .n = 2, .rank = 1, .loading = g, .share = { 1 } };
    ll_anchor_window w[] = { { .n_obs = 4, .t = t, .y = y }, { .n_query = 1, .t_query = &tq } };
    double           m, v, *mean[] = { NULL, &m }, *var[] = { NULL, &v };
    CHECK_OK(ll_anchor_linked_filter(&k, &j, w, 1, mean, var, NULL));
    assert_true(m > 0.8 && m < 1.3 && v < 0.6);
}

static void same_bytes_for_any_number_of_threads(void **state)
{
    (void)state;
    enum { GROUPS = 9 };
    static family f[GROUPS];
    dice          d = { 9 };
    for (int i = 0; i < GROUPS; i++) family_init(&f[i], &d, 4, 40, 0.1, 10);
    ll_anchor_window w[GROUPS * 4];
    double          *mean[GROUPS * 4], *var[GROUPS * 4], ll[2][GROUPS];
    double           first[GROUPS][2][MOST][QUERIES];
    const int        before = omp_get_max_threads();
    for (int run = 0; run < 2; run++) {
        for (int i = 0; i < GROUPS * 4; i++) {
            w[i] = f[i / 4].w[i % 4];
            mean[i] = f[i / 4].m[i % 4];
            var[i] = f[i / 4].v[i % 4];
        }
        omp_set_num_threads(run == 0 ? 1 : 5);
        CHECK_OK(ll_anchor_linked_filter(&f[0].k, &f[0].j, w, GROUPS, mean, var, ll[run]));
        for (int i = 0; i < GROUPS && run == 0; i++) {
            memcpy(first[i][0], f[i].m, sizeof f[i].m);
            memcpy(first[i][1], f[i].v, sizeof f[i].v);
        }
    }
    omp_set_num_threads(before);
    assert_memory_equal(ll[0], ll[1], sizeof ll[0]);
    for (int i = 0; i < GROUPS; i++) {
        assert_memory_equal(first[i][0], f[i].m, sizeof f[i].m);
        assert_memory_equal(first[i][1], f[i].v, sizeof f[i].v);
        family_free(&f[i]);
    }
}

static void mistakes_are_named(void **state)
{
    (void)state;
    const double     g[] = { .9, .5 };
    ll_anchor_kernel k = { .n_terms = 1, .a = { 1 }, .rho = { .05 }, .nu = .01 };
    ll_anchor_linked j = { .n = 1, .rank = 2, .loading = g, .share = { 1 } };
    CHECK_FAIL(ll_anchor_linked_filter(&k, &j, NULL, 0, NULL, NULL, NULL), LLAP_EINVAL,
               "entity 0: squared loadings sum to 1.06");
    j.rank = 1;
    j.share[0] = 1.5;
    CHECK_FAIL(ll_anchor_linked_filter(&k, &j, NULL, 0, NULL, NULL, NULL), LLAP_EINVAL,
               "share[0]: expected 0 to 1, found 1.5");
    j.n = LL_ANCHOR_LINKED_MAX + 1;
    CHECK_FAIL(ll_anchor_linked_filter(&k, &j, NULL, 0, NULL, NULL, NULL), LLAP_EINVAL,
               "expected 1 to 32 entities");
    j = (ll_anchor_linked){ .n = 1 };
    CHECK_OK(ll_anchor_linked_filter(&k, &j, NULL, 0, NULL, NULL, NULL));
    const double     back[] = { 2, 1 };
    ll_anchor_window w = { .n_obs = 2, .t = back, .y = back };
    CHECK_FAIL(ll_anchor_linked_filter(&k, &j, &w, 1, NULL, NULL, NULL), LLAP_EINVAL, "before");
}

static llap_status filter_once(void *user)
{
    family *f = user;
    return ll_anchor_linked_filter(&f->k, &f->j, f->w, 1, f->mean, f->var, NULL);
}

static void failing_allocations_are_survived(void **state)
{
    (void)state;
    dice   d = { 10 };
    family f;
    family_init(&f, &d, 3, 10, 0.1, 10);
    check_every_failed_allocation(filter_once, &f);
    family_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_dense_definition),
        cmocka_unit_test(drifts_equal_the_dense_definition),
        cmocka_unit_test(monitors_are_those_of_single_series),
        cmocka_unit_test(no_link_is_the_single_series),
        cmocka_unit_test(neighbours_speak_for_the_silent),
        cmocka_unit_test(same_bytes_for_any_number_of_threads),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(failing_allocations_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
