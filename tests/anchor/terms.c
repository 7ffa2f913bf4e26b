/* Means of a forecast term by term: they add up, and each is what the dense definition says. */
#include "anchor_check.h"

#include "anchor/chain/chain_climate.h"

enum { MOST = 64 };

static void roll_any(dice *d, int rep, ll_anchor_kernel *k)
{
    *k = roll_kernel(d, 1e-3);
    if (rep % 3 == 0) return;
    k->drift = rep % 3 == 1 ? LL_ANCHOR_LEVEL : LL_ANCHOR_SLOPE;
    k->start = 25;
    k->q = .01;
    k->v = 1e-3;
    k->damping = .1;
}

static void they_add_up_to_the_mean_of_the_filter(void **state)
{
    (void)state;
    dice d = { 51 };
    for (int rep = 0; rep < 60; rep++) {
        ll_anchor_kernel k;
        problem          p = roll_problem(&d, 1 + (size_t)rep % 30, 9, .1, 5);
        double           mean[MOST], var[MOST], again[MOST], var_again[MOST], term[9 * MOST];
        roll_any(&d, rep, &k);
        k.monitor = rep % 2 ? 2 : 0;
        const size_t width = (size_t)k.n_terms + 1;
        CHECK_OK(ll_anchor_filter(&k, &p.w, 1, (double *[]){ mean }, (double *[]){ var }, NULL));
        CHECK_OK(ll_anchor_filter_terms(&k, &p.w, again, var_again, term));
        for (size_t q = 0; q < p.w.n_query; q++) {
            double sum = 0;
            for (size_t i = 0; i < width; i++) sum += term[q * width + i];
            assert_true(mean[q] == again[q] && var[q] == var_again[q]);
            if (!(fabs(sum - mean[q]) <= 1e-12 * fmax(1, fabs(mean[q])) + 1e-9))
                fail_msg("query %zu: terms sum to %.17g, the mean is %.17g", q, sum, mean[q]);
        }
        problem_free(&p);
    }
}

static double covariance(const ll_anchor_kernel *k, int i, double gap)
{
    return k->a[i] * exp(-k->rho[i] * fabs(gap)) * cos(k->omega[i] * gap);
}

/* Term i at a query after all readings: k_i(t - t_j) (K + r I)^-1 y. */
static void each_is_that_of_the_dense_definition(void **state)
{
    (void)state;
    enum { N = 12 };
    const double           t[N] = { 0, 1, 1.5, 3, 4, 7, 7.5, 8, 9, 12, 13, 15 }, tq = 17;
    const ll_anchor_kernel k = { .n_terms = 3,
                                 .a = { .5, .3, .4 },
                                 .rho = { .02, .3, .05 },
                                 .omega = { 0, 0, .7 },
                                 .nu = .05,
                                 .jitter = 1e-4 };
    double                 y[N], A[N * N], alpha[N], mean, var, term[4];
    for (int i = 0; i < N; i++) {
        alpha[i] = y[i] = sin(1.3 * i) + .2 * i;
        for (int j = 0; j < N; j++) {
            A[i * N + j] = i == j ? k.nu + k.jitter : 0;
            for (int l = 0; l < 3; l++) A[i * N + j] += covariance(&k, l, t[i] - t[j]);
        }
    }
    chain_solve(A, alpha, N);
    const ll_anchor_window w = { .n_obs = N, .t = t, .y = y, .n_query = 1, .t_query = &tq };
    CHECK_OK(ll_anchor_filter_terms(&k, &w, &mean, &var, term));
    for (int l = 0; l < 3; l++) {
        double expected = 0;
        for (int i = 0; i < N; i++) expected += covariance(&k, l, tq - t[i]) * alpha[i];
        if (!(fabs(term[l] - expected) < 1e-9)) fail_msg("%d: %g, not %g", l, term[l], expected);
    }
    assert_true(term[3] == 0); /* there is no level */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_add_up_to_the_mean_of_the_filter),
        cmocka_unit_test(each_is_that_of_the_dense_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
