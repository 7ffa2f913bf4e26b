#include "joint/joint.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void ll_joint_destroy(ll_joint *j)
{
    if (j == NULL) return;
    ll_free(j->correlation);
    ll_free(j->root);
    ll_free(j->loading);
    ll_free(j);
}

/* ---- checks ---- */

static llap_status check_correlation(const double *C, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (C[i * n + i] != 1.0)
            return ll_fail(LLAP_EFORMAT, "correlation of series %zu with itself is %g", i,
                           C[i * n + i]);
        for (size_t k = 0; k < i; k++)
            if (!(fabs(C[i * n + k]) <= 1.0) || C[i * n + k] != C[k * n + i])
                return ll_fail(LLAP_EFORMAT, "correlation of series %zu and %zu: found %g and %g",
                               i, k, C[i * n + k], C[k * n + i]);
    }
    return LLAP_OK;
}

static llap_status check_loading(const double *G, size_t n, size_t rank)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (size_t r = 0; r < rank; r++) sum += G[i * rank + r] * G[i * rank + r];
        if (!(sum <= 1.0))
            return ll_fail(LLAP_EFORMAT, "loadings of series %zu: squares sum to %g", i, sum);
    }
    return LLAP_OK;
}

/* Lower Cholesky factor of C; false: not positive definite. */
static bool factorise(const double *C, size_t n, double *L)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++) {
            double left = C[i * n + k];
            for (size_t j = 0; j < k; j++) left -= L[i * n + j] * L[k * n + j];
            if (k < i) L[i * n + k] = left / L[k * n + k];
            else if (!(left > 1e-9)) return false;
            else L[i * n + i] = sqrt(left);
        }
    return true;
}

static llap_status fill(ll_joint *j, double *numbers)
{
    if (j->n < 2 || j->n > LL_JOINT_MAX || (j->rank == 0 && j->n > LL_JOINT_DENSE) ||
        j->rank > LL_JOINT_FACTORS)
        return ll_fail(LLAP_EFORMAT,
                       "expected 2 to %d series and at most %d factors, found %zu "
                       "and %zu",
                       j->rank == 0 ? LL_JOINT_DENSE : LL_JOINT_MAX, LL_JOINT_FACTORS, j->n,
                       j->rank);
    if (j->rank > 0) {
        j->loading = numbers;
        return check_loading(numbers, j->n, j->rank);
    }
    j->correlation = numbers;
    const llap_status st = check_correlation(numbers, j->n);
    if (st != LLAP_OK) return st;
    j->root = ll_new(j->n, j->n * sizeof *j->root);
    if (j->root == NULL) return LLAP_ENOMEM;
    if (factorise(numbers, j->n, j->root)) return LLAP_OK;
    return ll_fail(LLAP_EFORMAT, "correlations of %zu series are not positive definite", j->n);
}

llap_status ll_joint_create(size_t n, size_t rank, double *numbers, ll_joint **out)
{
    *out = NULL;
    ll_joint *j = ll_new(1, sizeof *j);
    if (j == NULL) {
        ll_free(numbers);
        return LLAP_ENOMEM;
    }
    *j = (ll_joint){ .n = n, .rank = rank };
    const llap_status st = fill(j, numbers);
    if (j->loading == NULL && j->correlation == NULL) ll_free(numbers); /* sizes were refused */
    if (st == LLAP_OK) *out = j;
    else ll_joint_destroy(j);
    return st;
}

double ll_joint_correlation(const ll_joint *j, size_t s, size_t f)
{
    assert(s < j->n && f < j->n);
    if (j->rank == 0 || s == f) return s == f ? 1.0 : j->correlation[s * j->n + f];
    double sum = 0.0;
    for (size_t r = 0; r < j->rank; r++)
        sum += j->loading[s * j->rank + r] * j->loading[f * j->rank + r];
    return sum;
}

/* ---- draws ---- */

static void draw(uint64_t name, uint64_t seed, uint64_t time, size_t first, size_t n, float *out)
{
    const ll_rng r = ll_rng_make(seed, LL_STREAM_JOINT, ll_hash(name, &time, sizeof time), 0, 0);
    ll_rng_fill_normal(&r, first, n, out);
}

size_t ll_joint_rows(const ll_joint *j, size_t n_series)
{
    return j->rank > 0 ? j->rank : n_series;
}

void ll_joint_eta(const ll_joint *j, const uint64_t *name, uint64_t seed, uint64_t time,
                  size_t first, size_t n, size_t n_series, float *eta)
{
    assert(n_series <= j->n);
    for (size_t r = 0; r < ll_joint_rows(j, n_series); r++)
        draw(j->rank > 0 ? ll_hash(0, &r, sizeof r) : name[r], seed, time, first, n, eta + r * n);
}

static void add(double by, const float *x, size_t n, double *y)
{
    for (size_t k = 0; k < n; k++) y[k] += by * (double)x[k];
}

void ll_joint_xi(const ll_joint *j, size_t s, uint64_t name, uint64_t seed, uint64_t time,
                 size_t first, size_t n, const float *eta, double *xi)
{
    assert(s < j->n);
    memset(xi, 0, n * sizeof *xi);
    if (j->rank == 0) {
        for (size_t f = 0; f <= s; f++) add(j->root[s * j->n + f], eta + f * n, n, xi);
        return;
    }
    enum { AT_ONCE = 256 };
    double rest = 1.0;
    for (size_t r = 0; r < j->rank; r++) {
        const double g = j->loading[s * j->rank + r];
        rest -= g * g;
        add(g, eta + r * n, n, xi);
    }
    for (size_t done = 0; done < n; done += AT_ONCE) {
        float        own[AT_ONCE];
        const size_t some = n - done < AT_ONCE ? n - done : AT_ONCE;
        draw(name, seed, time, first + done, some, own);
        add(sqrt(fmax(rest, 0.0)), own, some, xi + done);
    }
}
