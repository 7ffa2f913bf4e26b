/* src/joint: how the series of a model move together.
 *
 *   joint.h        this file: the law, its draws, how it is found
 *   joint.c        checks and draws
 *   correlation.c  from residuals to a law
 *
 * May touch: base, base/rng. */

/* A joint law: the correlation of what forecasts of several series are wrong by at the same time.
 * A path of series s is made of one normal for each time, xi_s(t). Alone, they are drawn
 * independently; by a law they are mixed from those of all series,
 *
 *     xi_s(t) = sum_f L_sf eta_f(t),   C = L L^T
 *
 * so each xi_s stays a sequence of independent normals, and no law of one series changes. With
 * more than LL_JOINT_DENSE series there are factors: C is G G^T and a rest of each series' own.
 *
 *     ll_joint *j = NULL;
 *     st = ll_joint_fit(residual, rows, n, NULL, &j);                  NULL: all are independent
 *     ll_joint_eta(j, name, seed, time, 0, 100, n, eta);             of paths 0 .. 99
 *     ll_joint_xi(j, s, name[s], seed, time, 0, 100, eta, xi);
 *     ll_joint_destroy(j);
 *
 * eta is drawn from (seed, joint, hash of name and time), element k for path k: it depends neither
 * on how many series or paths are asked for, nor on threads. */
#ifndef LL_JOINT_JOINT_H
#define LL_JOINT_JOINT_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LL_JOINT_DENSE = 256,  /* series whose correlations are all kept */
    LL_JOINT_FACTORS = 8,  /* for more */
    LL_JOINT_MAX = 2048,   /* more are independent */
    LL_JOINT_COMMON = 100, /* values that two series must have at common times */
};

typedef struct ll_joint {
    size_t  n;           /* series, 2 .. LL_JOINT_MAX */
    size_t  rank;        /* factors; 0: all correlations are kept */
    double *correlation; /* [n,n]; NULL where there are factors */
    double *root;        /* [n,n] lower triangle L; likewise */
    double *loading;     /* [n,rank] G, squares of a row sum to 1 at most; NULL without factors */
} ll_joint;

/* Correlations [n,n] or, rank > 0, loadings [n,rank], of a file; takes numbers, also on failure.
 * Caller owns *out. LLAP_EFORMAT says why they are no law: sizes, symmetry, a diagonal that is not
 * 1, not positive definite, a row of loadings that is too long. */
llap_status ll_joint_create(size_t n, size_t rank, double *numbers, ll_joint **out);
void        ll_joint_destroy(ll_joint *j); /* NULL is fine */

/* The correlation of two series. */
double ll_joint_correlation(const ll_joint *j, size_t s, size_t f);

/* How many rows eta has for series 0 .. n_series - 1: theirs, or the factors. */
size_t ll_joint_rows(const ll_joint *j, size_t n_series);
/* The normals of one time that series share, for paths first .. first + n - 1: eta
 * [ll_joint_rows(),n]. name [j->n]: a hash of each series' name. */
void ll_joint_eta(const ll_joint *j, const uint64_t *name, uint64_t seed, uint64_t time,
                  size_t first, size_t n, size_t n_series, float *eta);
/* Those of series s: xi [n]. */
void ll_joint_xi(const ll_joint *j, size_t s, uint64_t name, uint64_t seed, uint64_t time,
                 size_t first, size_t n, const float *eta, double *xi);

/* ---- finding one ---- */

#define LL_JOINT_CLIP 4.0
/* A residual held within +-LL_JOINT_CLIP; NaN, which is not known, stays NaN. */
float ll_joint_clip(double residual);

/* residual [n,rows]: what forecasts of each series were wrong by, in their deviations, held within
 * +-LL_JOINT_CLIP; NaN: not known; a column belongs to one origin and time. Correlations are about
 * 0, where forecasts have their mean, of the columns that both series know, and 0 where those are
 * fewer than LL_JOINT_COMMON. fade [n,n]: what the paths of two series keep of a correlation of
 * their normals, in (0, 1]; NULL: all. Shrunk by .95, eigenvalues at least 1e-3. Caller owns *out;
 * NULL: nothing is correlated, or there are more than LL_JOINT_MAX series. */
llap_status ll_joint_fit(const float *residual, size_t rows, size_t n, const double *fade,
                         ll_joint **out);

/* What a file's correlation may miss 1 by. */
#define LL_JOINT_LEAST 1e-3 /* eigenvalue */

#endif
