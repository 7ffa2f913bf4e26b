/* The variance that both sides leave, where it is so much smaller than what the past leaves that
 * b_0 - b N b (posterior.c) would be a difference of nearly equal numbers.
 *
 * Nothing is subtracted here. The past is kept as a root of its covariance, P = U^T U, the future
 * as a root of the information that it has by itself, M = R^T R; both move by orthogonal
 * transformations. With x = U^T xi the future says R U^T of xi, which was N(0, I), so that
 *
 *     T^T T = I + (R U^T)^T (R U^T)     variance = |T^-T phi|^2, phi = U h = [U_00, 0, ...]
 *
 * and u = h - N b, which covariances need, is U^-1 T^-1 T^-T phi. U is upper triangular and f the
 * first state, so an observation shrinks the first row of U and nothing else. O(J^3) an event:
 * taken for the few queries that need it. */
#include "anchor/process/state.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Reflections that make the first n columns of A [rows,cols] upper triangular. A column whose
 * square is too small for its digits, of a term long forgotten, counts as zero. */
static void triangulate(double *A, int rows, int cols, int n, int ld)
{
    assert(n <= cols && cols <= ld && cols <= 2 * ANCHOR_MAX_J);
    for (int k = 0; k < n && k < rows; k++) {
        double square = 0.0, w[2 * ANCHOR_MAX_J] = { 0 };
        for (int i = k; i < rows; i++) square += A[i * ld + k] * A[i * ld + k];
        const double norm = sqrt(square), first = A[k * ld + k];
        const double scale = square < 1e-290 ? 0.0 : 1.0 / (square + fabs(first) * norm);
        A[k * ld + k] = first + copysign(norm, first);
        for (int i = k; i < rows; i++)
            for (int j = k + 1; j < cols; j++) w[j] += A[i * ld + k] * A[i * ld + j];
        for (int i = k; i < rows; i++)
            for (int j = k + 1; j < cols; j++) A[i * ld + j] -= scale * A[i * ld + k] * w[j];
        A[k * ld + k] = -copysign(norm, first);
        for (int i = k + 1; i < rows; i++) A[i * ld + k] = 0.0;
    }
}

/* Deviations of independent noises by state: that of c of term i moves f too, that of the level
 * the slope as well. */
typedef struct noise {
    double sd[ANCHOR_MAX_J];
    double both; /* of the level's, on the slope */
} noise;

static noise noise_of(const anchor_system *sys, const double *grown)
{
    noise out = { .both = 0.0 };
    for (int i = 0; i < sys->n; i++) {
        const int s = anchor_sine(sys, i);
        out.sd[i] = sqrt(sys->a[i] * grown[i]);
        if (s >= 0) out.sd[s] = out.sd[i];
    }
    return out;
}

static noise noise_of_gap(const anchor_system *sys, const anchor_step *st)
{
    noise out = noise_of(sys, st->grown);
    if (sys->slope >= 0) out.both = anchor_slope_noise(sys, st, &out.sd[sys->slope]);
    return out;
}

/* A [2 J,J] below U: a row for each noise. */
static void noise_rows(const anchor_system *sys, const noise *by, double *A)
{
    const int J = sys->J;
    memset(A + J * J, 0, (size_t)(J * J) * sizeof *A);
    for (int i = 0; i < J; i++) {
        A[(J + i) * J + i] = by->sd[i];
        if (i < sys->n) A[(J + i) * J] = by->sd[i];
    }
    if (sys->slope >= 0) A[(J + sys->level) * J + sys->slope] = by->both;
}

/* U of the law at the first event. */
static void start_root(const anchor_system *sys, double *U)
{
    const int J = sys->J;
    double    A[2 * ANCHOR_MAX_J * ANCHOR_MAX_J] = { 0 };
    noise     by = noise_of(sys, sys->start);
    if (sys->slope >= 0) by.sd[sys->slope] = sqrt(sys->v / (2.0 * sys->damping));
    noise_rows(sys, &by, A);
    triangulate(A, 2 * J, J, J, J);
    memcpy(U, A, (size_t)(J * J) * sizeof *U);
}

/* U^T U <- F U^T U F^T + Q */
static void push_root(const anchor_system *sys, const anchor_step *st, double *U)
{
    const int   J = sys->J;
    double      A[2 * ANCHOR_MAX_J * ANCHOR_MAX_J];
    const noise by = noise_of_gap(sys, st);
    memcpy(A, U, (size_t)(J * J) * sizeof *A);
    for (int i = 0; i < J; i++) anchor_push(sys, st, A + i * J);
    noise_rows(sys, &by, A);
    triangulate(A, 2 * J, J, J, J);
    memcpy(U, A, (size_t)(J * J) * sizeof *U);
}

/* The same for what the monitor gives the level. */
static void raise_root(const anchor_system *sys, double var, double *U)
{
    const int J = sys->J;
    double    A[(ANCHOR_MAX_J + 1) * ANCHOR_MAX_J];
    memcpy(A, U, (size_t)(J * J) * sizeof *A);
    assert(sys->level > 0 && var > 0.0);
    memset(A + J * J, 0, (size_t)J * sizeof *A);
    A[J * J] = A[J * J + sys->level] = sqrt(var);
    triangulate(A, J + 1, J, J, J);
    memcpy(U, A, (size_t)(J * J) * sizeof *U);
}

/* R^T R <- F^T (M^-1 + Q)^-1 F, M = R^T R: the noise, N(0, I) times sd, is eliminated. */
static void pull_root(const anchor_system *sys, const anchor_step *st, double *R)
{
    const int   J = sys->J, ld = 2 * sys->J;
    double      A[4 * ANCHOR_MAX_J * ANCHOR_MAX_J];
    const noise by = noise_of_gap(sys, st);
    memset(A, 0, (size_t)(J * ld) * sizeof *A);
    for (int i = 0; i < J; i++) {
        double *row = A + (J + i) * ld, *r = R + i * J;
        A[i * ld + i] = 1.0;
        for (int j = 0; j < J; j++) row[j] = by.sd[j] * (j > 0 && j < sys->n ? r[0] + r[j] : r[j]);
        if (sys->slope >= 0) row[sys->level] += by.both * r[sys->slope];
        anchor_pull(sys, st, r);
        memcpy(row + J, r, (size_t)J * sizeof *r);
    }
    triangulate(A, 2 * J, ld, J, ld);
    for (int i = 0; i < J; i++) memcpy(R + i * J, A + (J + i) * ld + J, (size_t)J * sizeof *R);
}

/* R^T R <- (M^-1 + var g g^T)^-1, g of the level: one noise is eliminated. */
static void lower_root(const anchor_system *sys, double var, double *R)
{
    const int J = sys->J, ld = J + 1;
    double    A[(ANCHOR_MAX_J + 1) * (ANCHOR_MAX_J + 1)] = { 0 };
    assert(sys->level > 0 && var > 0.0);
    A[0] = 1.0;
    for (int i = 0; i < J; i++) {
        double *row = A + (1 + i) * ld, *r = R + i * J;
        row[0] = sqrt(var) * (r[0] + r[sys->level]);
        memcpy(row + 1, r, (size_t)J * sizeof *r);
    }
    triangulate(A, J + 1, ld, 1, ld);
    for (int i = 0; i < J; i++) memcpy(R + i * J, A + (1 + i) * ld + 1, (size_t)J * sizeof *R);
}

/* R^T R += h h^T / r */
static void gather_root(const anchor_system *sys, double *R)
{
    const int J = sys->J;
    double    A[(ANCHOR_MAX_J + 1) * ANCHOR_MAX_J];
    memset(A, 0, (size_t)J * sizeof *A);
    assert(sys->r > 0.0);
    A[0] = 1.0 / sqrt(sys->r);
    memcpy(A + J, R, (size_t)(J * J) * sizeof *R);
    triangulate(A, J + 1, J, J, J);
    memcpy(R, A, (size_t)(J * J) * sizeof *R);
}

/* x <- T^-T x, and x <- T^-1 x */
static void solve_lower(int J, const double *T, double *x)
{
    for (int i = 0; i < J; i++) {
        for (int j = 0; j < i; j++) x[i] -= T[j * J + i] * x[j];
        x[i] /= T[i * J + i];
    }
}
/* A level without variance has a pivot of 0, and nothing to say. */
static void solve_upper(int J, const double *T, double *x)
{
    for (int i = J; i-- > 0;) {
        for (int j = i + 1; j < J; j++) x[i] -= T[i * J + j] * x[j];
        x[i] = T[i * J + i] != 0.0 ? x[i] / T[i * J + i] : 0.0;
    }
}

static double combine(const anchor_system *sys, const double *U, const double *R, double *u)
{
    const int J = sys->J;
    double    T[2 * ANCHOR_MAX_J * ANCHOR_MAX_J];
    memset(T, 0, (size_t)(J * J) * sizeof *T);
    for (int i = 0; i < J; i++) {
        T[i * J + i] = 1.0;
        for (int j = 0; j < J; j++)
            T[(J + i) * J + j] = anchor_dot(J - j, R + i * J + j, U + j * J + j);
    }
    triangulate(T, 2 * J, J, J, J);
    memset(u, 0, (size_t)J * sizeof *u);
    u[0] = U[0];
    solve_lower(J, T, u);
    const double var = anchor_dot(J, u, u);
    solve_upper(J, T, u);
    solve_upper(J, U, u);
    return var;
}

/* U at the wanted queries, one behind the other. */
static void forward(const anchor_system *sys, const anchor_event *ev, const anchor_step *step,
                    size_t n, const bool *want, double *kept)
{
    const size_t size = (size_t)(sys->J * sys->J);
    double       U[ANCHOR_MAX_J * ANCHOR_MAX_J];
    start_root(sys, U);
    for (size_t k = 0; k < n; k++) {
        if (ev[k].gap > 0.0) push_root(sys, &step[k], U);
        if (ev[k].raise > 0.0) raise_root(sys, ev[k].raise, U);
        if (ev[k].query < 0) {
            const double shrink = sqrt(sys->r / (U[0] * U[0] + sys->r));
            for (int i = 0; i < sys->J; i++) U[i] *= shrink;
        } else if (want[ev[k].query]) {
            memcpy(kept, U, size * sizeof *U);
            kept += size;
        }
    }
}

llap_status anchor_root(const anchor_system *sys, const anchor_event *ev, const anchor_step *step,
                        size_t n, const bool *want, size_t n_want, double *var, double *u)
{
    const size_t size = (size_t)(sys->J * sys->J);
    double       R[ANCHOR_MAX_J * ANCHOR_MAX_J] = { 0 };
    double      *kept = ll_new(n_want * size, sizeof *kept);
    if (kept == NULL) return LLAP_ENOMEM;
    forward(sys, ev, step, n, want, kept);
    for (size_t k = n; k-- > 0 && n_want > 0;) {
        const int64_t q = ev[k].query;
        if (q < 0) {
            gather_root(sys, R);
        } else if (want[q]) {
            n_want--;
            var[q] = combine(sys, kept + n_want * size, R, u + q * sys->J);
        }
        if (ev[k].raise > 0.0) lower_root(sys, ev[k].raise, R);
        if (ev[k].gap > 0.0) pull_root(sys, &step[k], R);
    }
    assert(n_want == 0);
    ll_free(kept);
    return LLAP_OK;
}
