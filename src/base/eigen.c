#include "base/eigen.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Turns rows and columns p and q of the symmetric A [n,n] so that A[p,q] becomes 0; V collects. */
static void turn(double *A, double *V, size_t n, size_t p, size_t q)
{
    assert(p < q && q < n);
    const double apq = A[p * n + q];
    if (fabs(apq) < 1e-14) return;
    const double half = (A[q * n + q] - A[p * n + p]) / (2.0 * apq);
    const double t = (half >= 0.0 ? 1.0 : -1.0) / (fabs(half) + sqrt(half * half + 1.0));
    const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
    for (size_t k = 0; k < n; k++) {
        const double x = A[k * n + p], y = A[k * n + q], v = V[k * n + p], w = V[k * n + q];
        A[k * n + p] = c * x - s * y;
        A[k * n + q] = s * x + c * y;
        V[k * n + p] = c * v - s * w;
        V[k * n + q] = s * v + c * w;
    }
    for (size_t k = 0; k < n; k++) {
        const double x = A[p * n + k], y = A[q * n + k];
        A[p * n + k] = c * x - s * y;
        A[q * n + k] = s * x + c * y;
    }
}

void ll_eigen_symmetric(double *A, double *V, size_t n)
{
    enum { SWEEPS = 12 };
    memset(V, 0, n * n * sizeof *V);
    for (size_t i = 0; i < n; i++) V[i * n + i] = 1.0;
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) turn(A, V, n, p, q);
}
