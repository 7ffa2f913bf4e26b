/* Eigenvalues of a symmetric matrix, by Jacobi's turns: slow, exact to rounding, the same bytes
 * everywhere. For a few hundred rows at most.
 *
 *     ll_eigen_symmetric(A, V, n);
 *     A[i * n + i]                     eigenvalue i, in no order
 *     V[0 * n + i], V[1 * n + i], ..   its eigenvector */
#ifndef LL_BASE_EIGEN_H
#define LL_BASE_EIGEN_H

#include <stddef.h>

/* A [n,n] is overwritten, its eigenvalues on the diagonal; V [n,n] gets eigenvectors as columns. */
void ll_eigen_symmetric(double *A, double *V, size_t n);

#endif
