/* From residuals to a joint law. */
#include "base/alloc.h"
#include "base/eigen.h"
#include "base/rng/rng.h"
#include "joint/joint.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const double KEPT = 0.95;        /* of every correlation */
static const double COMMUNALITY = 0.97; /* most of a series' variance that factors explain */
static const double MOST = 0.99;        /* of a correlation that was raised for its fading */

/* ---- correlations ---- */

static double correlation(const float *x, const float *y, size_t rows)
{
    double n = 0.0, xx = 0.0, yy = 0.0, xy = 0.0;
    for (size_t i = 0; i < rows; i++) {
        const double a = (double)x[i], b = (double)y[i];
        if (isnan(a) || isnan(b)) continue;
        n += 1.0;
        xx += a * a;
        yy += b * b;
        xy += a * b;
    }
    return n < LL_JOINT_COMMON || !(xx > 0.0) || !(yy > 0.0) ? 0.0 : xy / sqrt(xx * yy);
}

/* False: all are 0. */
static bool correlate(const float *residual, size_t rows, size_t n, const double *fade, double *C)
{
    int any = 0;
#pragma omp parallel for schedule(dynamic, 4) reduction(max : any)
    for (size_t i = 0; i < n; i++) {
        C[i * n + i] = 1.0;
        for (size_t k = 0; k < i; k++) {
            double c = correlation(residual + i * rows, residual + k * rows, rows);
            if (fade != NULL) c = fmax(-MOST, fmin(c / fade[i * n + k], MOST));
            C[i * n + k] = C[k * n + i] = KEPT * c;
            if (c != 0.0) any = 1;
        }
    }
    return any != 0;
}

/* ---- all of them ---- */

/* Raises eigenvalues to LL_JOINT_LEAST, and makes the diagonal 1 again. room [2,n,n]. */
static void raise(double *C, size_t n, double *room)
{
    double *A = room, *V = room + n * n, least = INFINITY;
    memcpy(A, C, n * n * sizeof *A);
    ll_eigen_symmetric(A, V, n);
    for (size_t i = 0; i < n; i++) least = fmin(least, A[i * n + i]);
    if (least >= LL_JOINT_LEAST) return;
    double *value = A; /* [n], the first row: it is read before it is written */
    for (size_t i = 0; i < n; i++) value[i] = fmax(A[i * n + i], LL_JOINT_LEAST);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++) {
            double sum = 0.0;
            for (size_t j = 0; j < n; j++) sum += value[j] * V[i * n + j] * V[k * n + j];
            C[i * n + k] = sum;
        }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            C[i * n + k] = C[k * n + i] = C[i * n + k] / sqrt(C[i * n + i] * C[k * n + k]);
    for (size_t i = 0; i < n; i++) C[i * n + i] = 1.0;
}

/* ---- factors ---- */

/* Columns of Q [n,rank] orthonormal (Gram and Schmidt, twice for the digits). */
static void orthonormal(double *Q, size_t n, size_t rank)
{
    for (size_t r = 0; r < rank; r++)
        for (int again = 0; again < 2; again++) {
            double norm = 0.0;
            for (size_t c = 0; c < r; c++) {
                double dot = 0.0;
                for (size_t i = 0; i < n; i++) dot += Q[i * rank + c] * Q[i * rank + r];
                for (size_t i = 0; i < n; i++) Q[i * rank + r] -= dot * Q[i * rank + c];
            }
            for (size_t i = 0; i < n; i++) norm += Q[i * rank + r] * Q[i * rank + r];
            norm = norm > 0.0 ? 1.0 / sqrt(norm) : 0.0;
            for (size_t i = 0; i < n; i++) Q[i * rank + r] *= norm;
        }
}

/* Y = C Q, with own [n] on the diagonal of C. */
static void apply(const double *C, const double *own, const double *Q, size_t n, size_t rank,
                  double *Y)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        double y[LL_JOINT_FACTORS] = { 0 };
        for (size_t k = 0; k < n; k++) {
            const double c = k == i ? own[i] : C[i * n + k];
            for (size_t r = 0; r < rank; r++) y[r] += c * Q[k * rank + r];
        }
        memcpy(Y + i * rank, y, rank * sizeof *y);
    }
}

/* Loadings whose products meet the correlations off the diagonal: the leading eigenvectors, found
 * by repeated multiplication, while the diagonal becomes what they explain. room [2,n,rank] + [n].
 */
static void find_factors(const double *C, size_t n, size_t rank, double *G, double *room)
{
    enum { ROUNDS = 60 };
    double      *Q = room, *Y = room + n * rank, *own = room + 2 * n * rank;
    const ll_rng rng = ll_rng_make(0, LL_STREAM_FIT, 0, 0, 0);
    for (size_t i = 0; i < n * rank; i++) Q[i] = (double)ll_rng_normal(&rng, i);
    for (size_t i = 0; i < n; i++) {
        own[i] = 0.0;
        for (size_t k = 0; k < n; k++)
            if (k != i) own[i] = fmax(own[i], fabs(C[i * n + k]));
    }
    orthonormal(Q, n, rank);
    for (int round = 0; round < ROUNDS; round++) {
        double value[LL_JOINT_FACTORS] = { 0 };
        apply(C, own, Q, n, rank, Y);
        for (size_t i = 0; i < n; i++)
            for (size_t r = 0; r < rank; r++) value[r] += Q[i * rank + r] * Y[i * rank + r];
        for (size_t i = 0; i < n; i++) {
            double sum = 0.0;
            for (size_t r = 0; r < rank; r++) {
                G[i * rank + r] = sqrt(fmax(value[r], 0.0)) * Q[i * rank + r];
                sum += G[i * rank + r] * G[i * rank + r];
            }
            own[i] = fmin(sum, COMMUNALITY);
            for (size_t r = 0; r < rank && sum > own[i]; r++) G[i * rank + r] *= sqrt(own[i] / sum);
        }
        memcpy(Q, Y, n * rank * sizeof *Q);
        orthonormal(Q, n, rank);
    }
}

/* ---- a law ---- */

float ll_joint_clip(double residual)
{
    if (isnan(residual)) return NAN; /* fmin and fmax would take the other number */
    return (float)fmax(-LL_JOINT_CLIP, fmin(residual, LL_JOINT_CLIP));
}

llap_status ll_joint_fit(const float *residual, size_t rows, size_t n, const double *fade,
                         ll_joint **out)
{
    *out = NULL;
    if (n < 2 || n > LL_JOINT_MAX) return LLAP_OK;
    const bool   dense = n <= LL_JOINT_DENSE;
    const size_t rank = dense ? 0 : LL_JOINT_FACTORS;
    double      *C = ll_new(n, n * sizeof *C), *G = NULL;
    double      *room = ll_new(dense ? 2 * n * n : n * (2 * rank + 1), sizeof *room);
    if (!dense) G = ll_new(n, rank * sizeof *G);
    llap_status st = C == NULL || room == NULL || (!dense && G == NULL) ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK && correlate(residual, rows, n, fade, C)) {
        if (dense) raise(C, n, room);
        else find_factors(C, n, rank, G, room);
        st = ll_joint_create(n, rank, dense ? C : G, out);
        *(dense ? &C : &G) = NULL; /* taken */
    }
    ll_free(C);
    ll_free(G);
    ll_free(room);
    return st;
}
