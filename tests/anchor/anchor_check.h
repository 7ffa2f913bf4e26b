/* Two-sided answers, covariances and paths held to the dense definition. */
#ifndef LLAP_TESTS_ANCHOR_CHECK_H
#define LLAP_TESTS_ANCHOR_CHECK_H

#include "dense.h"

#define TOL 1e-9

/* Largest |x - ref| against the largest |ref|. */
static inline void check_vector(const char *what, const double *x, const double *ref, size_t n,
                                double least)
{
    double worst = 0.0, size = least;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) fail_msg("%s[%zu] is %g", what, i, x[i]);
        worst = fmax(worst, fabs(x[i] - ref[i]));
        size = fmax(size, fabs(ref[i]));
    }
    if (!(worst <= TOL * size)) fail_msg("%s: off by %g of %g", what, worst, size);
}

static inline void check_cov(const char *what, const double *C, const double *ref, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const double size = sqrt(ref[i * n + i] * ref[j * n + j]);
            if (!(fabs(C[i * n + j] - ref[i * n + j]) <= TOL * size))
                fail_msg("%s[%zu,%zu]: %.17g, expected %.17g (size %g)", what, i, j, C[i * n + j],
                         ref[i * n + j], size);
        }
}

/* The covariance of paths, exactly: they are linear in the normals. */
static inline void path_covariance(const ll_anchor_posterior *p, const double *mean, size_t nq,
                                   double *C)
{
    const size_t nz = ll_anchor_path_normals(p);
    double      *z = calloc(nz + 1, sizeof *z), *path = calloc(nq + 1, sizeof *path);
    memset(C, 0, nq * nq * sizeof *C);
    CHECK_OK(ll_anchor_paths(p, LL_ANCHOR_NOISY, 1, z, path));
    check_vector("path without noise", path, mean, nq, 0.0);
    for (size_t i = 0; i < nz; i++) {
        z[i] = 1.0;
        CHECK_OK(ll_anchor_paths(p, LL_ANCHOR_NOISY, 1, z, path));
        z[i] = 0.0;
        for (size_t q = 0; q < nq; q++) path[q] -= mean[q];
        for (size_t q = 0; q < nq; q++)
            for (size_t r = 0; r < nq; r++) C[q * nq + r] += path[q] * path[r];
    }
    free(z);
    free(path);
}

static inline void check_against_dense(const ll_anchor_kernel *k, const problem *p,
                                       const double *raise)
{
    const size_t nq = p->w.n_query;
    double      *ref = calloc(nq + 1, sizeof *ref), *mean = calloc(nq + 1, sizeof *mean);
    double      *var = calloc(nq + 1, sizeof *var);
    double      *refC = calloc(nq * nq + 1, sizeof *refC), *C = calloc(nq * nq + 1, sizeof *C), ll;
    dense_raised(k, &p->w, NULL, raise, ref, refC, &ll);
    ll_anchor_posterior *post = NULL;
    CHECK_OK(ll_anchor_condition(k, &p->w, &post));
    const double size = fmax(fabs(ll), 1.0);
    if (!(fabs(ll_anchor_loglik(post) - ll) <= TOL * size))
        fail_msg("loglik %.17g, expected %.17g", ll_anchor_loglik(post), ll);
    CHECK_OK(ll_anchor_marginals(post, LL_ANCHOR_LATENT, mean, var));
    check_vector("mean", mean, ref, nq, 1e-3);
    for (size_t q = 0; q < nq; q++)
        if (!(fabs(var[q] - refC[q * nq + q]) <= TOL * refC[q * nq + q]))
            fail_msg("var[%zu] %.17g, expected %.17g", q, var[q], refC[q * nq + q]);
    CHECK_OK(ll_anchor_covariance(post, LL_ANCHOR_LATENT, C));
    check_cov("cov", C, refC, nq);
    for (size_t q = 0; q < nq; q++) refC[q * nq + q] += k->nu;
    CHECK_OK(ll_anchor_covariance(post, LL_ANCHOR_NOISY, C));
    check_cov("noisy cov", C, refC, nq);
    path_covariance(post, mean, nq, C);
    check_cov("path cov", C, refC, nq);
    ll_anchor_posterior_destroy(post);
    free(ref);
    free(mean);
    free(var);
    free(refC);
    free(C);
}

#endif
